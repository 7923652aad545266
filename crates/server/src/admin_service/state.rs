//! State of the administration service between calls, and the arguments of its handlers.

use std::sync::Arc;

use super::recent_compactions::RecentCompactions;
use crate::base::context::Context;
use crate::base::request_context;

/// State of the administration service between calls.
pub(crate) struct AdminService {
    /// State shared with the other services.
    pub(super) context: Arc<Context>,
    pub(super) recent_compactions: RecentCompactions,
}

impl AdminService {
    /// Returns the state of a service that has compacted nothing.
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self { context, recent_compactions: RecentCompactions::default() }
    }
}

/// Service, server and peer of a request.
pub(super) type RequestContext<'a> = request_context::RequestContext<'a, AdminService>;
