//! Region server's administration service: region metrics, flushes, compactions.
//!
//! The master's port serves it too, as in HBase: clients send it requests about the region that
//! represents a table's large values. In Halite these are part of the table.
//!
//! ```text
//! regions.rs   list and details of regions            maintenance.rs         flushes, compactions, caches
//! server.rs    server info, its log, its slow calls   recent_compactions.rs  recently requested compactions
//! ```
#![allow(
    clippy::unnecessary_wraps,
    clippy::trivially_copy_pass_by_ref,
    reason = "the handlers in one table have one shape"
)]

mod maintenance;
pub(crate) mod recent_compactions;
mod regions;
mod server;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use halite_wire::service::{self, Method};

use crate::call::{Call, CallError, Reply};
use crate::context::Context;
use crate::master_service::errors::not_supported;
use crate::master_service::quota_observer;
use crate::master_service::request_context::RequestContext;
use crate::master_service::routes::routes;

/// Answers a call of `AdminService`. May block: it runs on a separate thread.
pub(crate) fn call(context: &Arc<Context>, call: &Call) -> Result<Reply, CallError> {
    routes! { RequestContext::new(context, call), call;
        AdminGetRegionInfo => regions::info,
        AdminGetOnlineRegion => regions::online,
        AdminGetRegionLoad => regions::loads,
        AdminGetStoreFile => regions::store_files,
        AdminFlushRegion => maintenance::flush,
        AdminCompactRegion => maintenance::compact,
        AdminCompactionSwitch => maintenance::compaction_switch,
        AdminClearCompactionQueues => maintenance::clear_compaction_queues,
        AdminClearRegionBlockCache => maintenance::clear_block_cache,
        AdminRollWALWriter => maintenance::roll_wal,
        AdminGetServerInfo => server::info,
        AdminStopServer => server::stop,
        AdminUpdateConfiguration => server::update_configuration,
        AdminGetSpaceQuotaSnapshots => quota_observer::snapshots,
        AdminGetSlowLogResponses => server::slow_calls,
        AdminGetLargeLogResponses => server::slow_calls,
        AdminClearSlowLogsResponses => server::clear_slow_calls,
        AdminGetLogEntries => server::log_entries,
        AdminGetCachedFilesList => server::cached_files,
    }
}
