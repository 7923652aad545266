//! State of the client service between calls.

use std::sync::Arc;

use super::scanner::OpenScanner;
use crate::base::context::Context;
use crate::base::scanners::ScannerRegistry;

/// State of the client service between calls.
pub(crate) struct ClientService {
    /// State shared with the other services.
    pub(crate) context: Arc<Context>,
    pub(crate) scanners: ScannerRegistry<OpenScanner>,
}

impl ClientService {
    /// Returns the state of a service without open scanners.
    pub(crate) fn new(context: Arc<Context>) -> Self {
        let options = context.engine.options();
        let memory_bytes = options.global_memstore_bytes.saturating_add(options.block_cache_bytes);
        let scanners = ScannerRegistry::new(&context.config.limits, memory_bytes);
        Self { context, scanners }
    }
}
