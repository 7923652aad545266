//! Dispatch of methods to their handlers.

use std::sync::Arc;

use halite_wire::service::{self, Method};

use super::state::{AdminService, RequestContext};
use super::{maintenance, regions, server, slow_log, space};
use crate::base::call::{Call, CallError, Reply};
use crate::base::routes::{reply_or_not_supported, routes};

/// Answers a call of `AdminService`. May block: it runs on a separate thread.
pub(crate) fn answer(service: &Arc<AdminService>, call: &Call) -> Result<Reply, CallError> {
    let reply = routes! { RequestContext::new(service, &service.context, call), call;
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
        AdminGetSpaceQuotaSnapshots => space::snapshots,
        AdminGetSlowLogResponses => slow_log::slow_calls,
        AdminGetLargeLogResponses => slow_log::large_calls,
        AdminClearSlowLogsResponses => slow_log::clear,
        AdminGetLogEntries => slow_log::log_entries,
        AdminGetCachedFilesList => server::cached_files,
    };
    reply_or_not_supported(call, reply)
}
