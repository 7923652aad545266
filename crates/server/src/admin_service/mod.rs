//! What a region server answers about its regions: figures, flushes, compactions.
//!
//! The master's port serves it too, as HBase's does: clients ask it about the region that stands for a table's large
//! values, which is part of the table here.
//!
//! ```text
//! regions.rs   which regions there are, and what they are    upkeep.rs   flushes, compactions, caches
//! server.rs    the server itself, its log, its slow calls    requested.rs  compactions asked for a moment ago
//! ```
#![allow(clippy::unnecessary_wraps, clippy::trivially_copy_pass_by_ref, reason = "the handlers in one table have one shape")]

mod regions;
pub(crate) mod requested;
mod server;
#[cfg(test)]
mod tests;
mod upkeep;

use std::sync::Arc;

use halite_wire::service::{self, Method};

use crate::call::{Call, Fault, Reply};
use crate::context::Context;
use crate::master_service::asked::Asked;
use crate::master_service::faults::not_offered;
use crate::master_service::routes::routes;
use crate::master_service::space;

/// Answers a call of `AdminService`. May take its time: it has a thread of its own.
pub(crate) fn call(context: &Arc<Context>, call: &Call) -> Result<Reply, Fault> {
    routes! { Asked::new(context, call), call;
        AdminGetRegionInfo => regions::info,
        AdminGetOnlineRegion => regions::online,
        AdminGetRegionLoad => regions::loads,
        AdminGetStoreFile => regions::store_files,
        AdminFlushRegion => upkeep::flush,
        AdminCompactRegion => upkeep::compact,
        AdminCompactionSwitch => upkeep::compaction_switch,
        AdminClearCompactionQueues => upkeep::clear_compaction_queues,
        AdminClearRegionBlockCache => upkeep::clear_block_cache,
        AdminRollWALWriter => upkeep::roll_log,
        AdminGetServerInfo => server::info,
        AdminStopServer => server::stop,
        AdminUpdateConfiguration => server::update_configuration,
        AdminGetSpaceQuotaSnapshots => space::snapshots,
        AdminGetSlowLogResponses => server::slow_calls,
        AdminGetLargeLogResponses => server::slow_calls,
        AdminClearSlowLogsResponses => server::clear_slow_calls,
        AdminGetLogEntries => server::log_entries,
        AdminGetCachedFilesList => server::cached_files,
    }
}
