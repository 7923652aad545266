//! State of the administration service between calls, and the arguments of its handlers.

use super::recent_compactions::RecentCompactions;
use crate::base::request_context;

/// State of the administration service between calls.
#[derive(Debug, Default)]
pub(crate) struct AdminService {
    pub(super) recent_compactions: RecentCompactions,
}

/// Service, server and peer of a request.
pub(super) type RequestContext<'a> = request_context::RequestContext<'a, AdminService>;
