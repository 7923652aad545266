//! Dispatch of methods to their handlers.

use std::sync::Arc;

use halite_wire::service::{self, Method};

use super::request_context::RequestContext;
use super::state::Master;
use super::{
    access, describe, families, flush, hbck, locks, namespaces, peers, quota_observer, quotas,
    regions, results, servers, snapshots, status, switches, tables,
};
use crate::base::call::{Call, CallError, Reply};
use crate::base::routes::{reply_or_not_supported, routes};

/// Answers a call of `MasterService`, `HbckService` or `LockService`. May block: it runs on a
/// separate thread.
pub(crate) fn answer(master: &Arc<Master>, call: &Call) -> Result<Reply, CallError> {
    let request_context = &RequestContext::new(master, &master.context, call);
    let reply = schema_calls(request_context, call)
        .or_else(|| region_calls(request_context, call))
        .or_else(|| cluster_calls(request_context, call))
        .or_else(|| control_calls(request_context, call))
        .or_else(|| repair_calls(request_context, call));
    reply_or_not_supported(call, reply)
}

/// Tables and namespaces.
fn schema_calls(
    request_context: &RequestContext<'_>,
    call: &Call,
) -> Option<Result<Reply, CallError>> {
    routes! { request_context, call;
        MasterCreateTable => tables::create,
        MasterDeleteTable => tables::delete,
        MasterEnableTable => tables::enable,
        MasterDisableTable => tables::disable,
        MasterTruncateTable => tables::truncate,
        MasterModifyTable => tables::modify,
        MasterAddColumn => families::add,
        MasterModifyColumn => families::modify,
        MasterDeleteColumn => families::delete,
        MasterModifyTableStoreFileTracker => families::modify_table_tracker,
        MasterModifyColumnStoreFileTracker => families::modify_family_tracker,
        MasterGetTableDescriptors => describe::descriptors,
        MasterGetTableNames => describe::names,
        MasterGetTableState => describe::state,
        MasterListTableDescriptorsByNamespace => describe::descriptors_by_namespace,
        MasterListTableNamesByNamespace => describe::names_by_namespace,
        MasterListTableDescriptorsByState => describe::descriptors_by_state,
        MasterListTableNamesByState => describe::names_by_state,
        MasterGetSchemaAlterStatus => describe::alter_status,
        MasterCreateNamespace => namespaces::create,
        MasterModifyNamespace => namespaces::modify,
        MasterDeleteNamespace => namespaces::delete,
        MasterGetNamespaceDescriptor => namespaces::descriptor,
        MasterListNamespaceDescriptors => namespaces::descriptors,
        MasterListNamespaces => namespaces::names,
    }
}

/// Regions, procedures and snapshots.
fn region_calls(
    request_context: &RequestContext<'_>,
    call: &Call,
) -> Option<Result<Reply, CallError>> {
    routes! { request_context, call;
        MasterSplitRegion => regions::split,
        MasterMergeTableRegions => regions::merge,
        MasterTruncateRegion => regions::truncate,
        MasterMoveRegion => regions::move_region,
        MasterAssignRegion => regions::assign,
        MasterUnassignRegion => regions::unassign,
        MasterOfflineRegion => regions::offline,
        MasterGetLastMajorCompactionTimestamp => regions::table_compacted,
        MasterGetLastMajorCompactionTimestampForRegion => regions::region_compacted,
        MasterGetProcedureResult => results::result,
        MasterGetProcedures => results::list,
        MasterAbortProcedure => results::abort,
        MasterGetLocks => locks::list,
        MasterFlushTable => flush::table,
        MasterExecProcedure => flush::exec,
        MasterExecProcedureWithRet => flush::exec_with_answer,
        MasterIsProcedureDone => flush::is_done,
        MasterSnapshot => snapshots::take,
        MasterIsSnapshotDone => snapshots::is_done,
        MasterGetCompletedSnapshots => snapshots::list,
        MasterDeleteSnapshot => snapshots::delete,
        MasterRestoreSnapshot => snapshots::restore,
    }
}

/// The cluster and its switches.
fn cluster_calls(
    request_context: &RequestContext<'_>,
    call: &Call,
) -> Option<Result<Reply, CallError>> {
    routes! { request_context, call;
        MasterGetClusterStatus => status::cluster_status,
        MasterIsMasterRunning => servers::is_running,
        MasterIsMasterInMaintenanceMode => servers::is_in_maintenance,
        MasterGetSecurityCapabilities => servers::capabilities,
        MasterShutdown => servers::shutdown,
        MasterStopMaster => servers::stop,
        MasterListDecommissionedRegionServers => servers::decommissioned,
        MasterDecommissionRegionServers => servers::decommission,
        MasterRecommissionRegionServer => servers::recommission,
        MasterClearDeadServers => servers::clear_dead,
        MasterFlushMasterStore => servers::flush_store,
        MasterExecMasterService => servers::endpoint,
        MasterGetLogEntries => servers::log_entries,
        MasterBalance => switches::balance,
        MasterSetBalancerRunning => switches::set_balancer,
        MasterIsBalancerEnabled => switches::is_balancer_on,
        MasterSetSplitOrMergeEnabled => switches::set_split_or_merge,
        MasterIsSplitOrMergeEnabled => switches::is_split_or_merge_on,
        MasterNormalize => switches::normalize,
        MasterSetNormalizerRunning => switches::set_normalizer,
        MasterIsNormalizerEnabled => switches::is_normalizer_on,
        MasterRunCatalogScan => switches::run_catalog_scan,
        MasterEnableCatalogJanitor => switches::set_catalog_janitor,
        MasterIsCatalogJanitorEnabled => switches::is_catalog_janitor_on,
        MasterRunCleanerChore => switches::run_cleaner,
        MasterSetCleanerChoreRunning => switches::set_cleaner,
        MasterIsCleanerChoreEnabled => switches::is_cleaner_on,
        MasterSwitchSnapshotCleanup => switches::set_snapshot_cleanup,
        MasterIsSnapshotCleanupEnabled => switches::is_snapshot_cleanup_on,
    }
}

/// Quotas, replication peers and permissions.
fn control_calls(
    request_context: &RequestContext<'_>,
    call: &Call,
) -> Option<Result<Reply, CallError>> {
    routes! { request_context, call;
        MasterSetQuota => quotas::set,
        MasterGetQuotaStates => quota_observer::states,
        MasterGetSpaceQuotaRegionSizes => quota_observer::sizes,
        MasterSwitchRpcThrottle => quotas::set_throttle,
        MasterIsRpcThrottleEnabled => quotas::is_throttle_on,
        MasterSwitchExceedThrottleQuota => quotas::set_exceed,
        MasterAddReplicationPeer => peers::add,
        MasterRemoveReplicationPeer => peers::remove,
        MasterEnableReplicationPeer => peers::enable,
        MasterDisableReplicationPeer => peers::disable,
        MasterUpdateReplicationPeerConfig => peers::update,
        MasterGetReplicationPeerConfig => peers::config,
        MasterListReplicationPeers => peers::list,
        MasterIsReplicationPeerEnabled => peers::is_enabled,
        MasterReplicationPeerModificationSwitch => peers::set_modification,
        MasterIsReplicationPeerModificationEnabled => peers::is_modification_on,
        MasterGetReplicationPeerModificationProcedures => peers::procedures,
        MasterGrant => access::grant,
        MasterRevoke => access::revoke,
        MasterGetUserPermissions => access::permissions,
        MasterHasUserPermissions => access::has_permissions,
    }
}

/// Repairs, and locks held by clients.
fn repair_calls(
    request_context: &RequestContext<'_>,
    call: &Call,
) -> Option<Result<Reply, CallError>> {
    routes! { request_context, call;
        HbckSetTableStateInMeta => hbck::table_state,
        HbckSetRegionStateInMeta => hbck::region_state,
        HbckAssigns => hbck::assigns,
        HbckUnassigns => hbck::unassigns,
        HbckBypassProcedure => hbck::bypass,
        HbckScheduleServerCrashProcedure => hbck::server_crash,
        HbckScheduleSCPsForUnknownServers => hbck::unknown_servers,
        HbckRunHbckChore => hbck::run_chore,
        HbckFixMeta => hbck::fix_meta,
        LockRequestLock => locks::request,
        LockLockHeartbeat => locks::heartbeat,
    }
}
