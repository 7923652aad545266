//! The services and methods of HBase. Generated from the .proto files by `cargo xtask codegen`: change those, not this.

use super::RpcMethod;
use crate::proto as pb;

/// A service: what a connection is opened to, or an endpoint called through one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// `AccessControlService`, 5 methods.
    AccessControl,
    /// `AdminService`, 27 methods.
    Admin,
    /// `AggregateService`, 7 methods.
    Aggregate,
    /// `AuthenticationService`, 2 methods.
    Authentication,
    /// `BootstrapNodeService`, 1 methods.
    BootstrapNode,
    /// `ClientMetaService`, 5 methods.
    ClientMeta,
    /// `ClientService`, 9 methods.
    Client,
    /// `ConnectionRegistryService`, 1 methods.
    ConnectionRegistry,
    /// `HbckService`, 9 methods.
    Hbck,
    /// `LockService`, 2 methods.
    Lock,
    /// `MasterService`, 111 methods.
    Master,
    /// `MultiRowMutationService`, 1 methods.
    MultiRowMutation,
}

impl Service {
    /// All of them, by name.
    pub const ALL: &'static [Self] = &[
        Self::AccessControl,
        Self::Admin,
        Self::Aggregate,
        Self::Authentication,
        Self::BootstrapNode,
        Self::ClientMeta,
        Self::Client,
        Self::ConnectionRegistry,
        Self::Hbck,
        Self::Lock,
        Self::Master,
        Self::MultiRowMutation,
    ];

    /// The name on the wire, without a package.
    pub fn name(self) -> &'static str {
        match self {
            Self::AccessControl => "AccessControlService",
            Self::Admin => "AdminService",
            Self::Aggregate => "AggregateService",
            Self::Authentication => "AuthenticationService",
            Self::BootstrapNode => "BootstrapNodeService",
            Self::ClientMeta => "ClientMetaService",
            Self::Client => "ClientService",
            Self::ConnectionRegistry => "ConnectionRegistryService",
            Self::Hbck => "HbckService",
            Self::Lock => "LockService",
            Self::Master => "MasterService",
            Self::MultiRowMutation => "MultiRowMutationService",
        }
    }

    /// Returns `true` if it is called through `ExecService`, `ExecRegionServerService` or `ExecMasterService`.
    pub fn is_endpoint(self) -> bool {
        matches!(self, Self::AccessControl | Self::Aggregate | Self::Authentication | Self::MultiRowMutation)
    }

    /// Its methods.
    pub fn methods(self) -> &'static [Method] {
        match self {
            Self::AccessControl => &[
                Method::AccessControlGrant,
                Method::AccessControlRevoke,
                Method::AccessControlGetUserPermissions,
                Method::AccessControlCheckPermissions,
                Method::AccessControlHasPermission,
            ],
            Self::Admin => &[
                Method::AdminGetRegionInfo,
                Method::AdminGetStoreFile,
                Method::AdminGetOnlineRegion,
                Method::AdminOpenRegion,
                Method::AdminWarmupRegion,
                Method::AdminCloseRegion,
                Method::AdminFlushRegion,
                Method::AdminCompactionSwitch,
                Method::AdminCompactRegion,
                Method::AdminReplicateWALEntry,
                Method::AdminReplay,
                Method::AdminRollWALWriter,
                Method::AdminGetServerInfo,
                Method::AdminStopServer,
                Method::AdminUpdateFavoredNodes,
                Method::AdminUpdateConfiguration,
                Method::AdminGetRegionLoad,
                Method::AdminClearCompactionQueues,
                Method::AdminClearRegionBlockCache,
                Method::AdminGetSpaceQuotaSnapshots,
                Method::AdminExecuteProcedures,
                Method::AdminGetSlowLogResponses,
                Method::AdminGetLargeLogResponses,
                Method::AdminClearSlowLogsResponses,
                Method::AdminGetLogEntries,
                Method::AdminGetCachedFilesList,
                Method::AdminReplicateToReplica,
            ],
            Self::Aggregate => &[
                Method::AggregateGetMax,
                Method::AggregateGetMin,
                Method::AggregateGetSum,
                Method::AggregateGetRowNum,
                Method::AggregateGetAvg,
                Method::AggregateGetStd,
                Method::AggregateGetMedian,
            ],
            Self::Authentication => &[
                Method::AuthenticationGetAuthenticationToken,
                Method::AuthenticationWhoAmI,
            ],
            Self::BootstrapNode => &[
                Method::BootstrapNodeGetAllBootstrapNodes,
            ],
            Self::ClientMeta => &[
                Method::ClientMetaGetClusterId,
                Method::ClientMetaGetActiveMaster,
                Method::ClientMetaGetMasters,
                Method::ClientMetaGetMetaRegionLocations,
                Method::ClientMetaGetBootstrapNodes,
            ],
            Self::Client => &[
                Method::ClientGet,
                Method::ClientMutate,
                Method::ClientScan,
                Method::ClientBulkLoadHFile,
                Method::ClientPrepareBulkLoad,
                Method::ClientCleanupBulkLoad,
                Method::ClientExecService,
                Method::ClientExecRegionServerService,
                Method::ClientMulti,
            ],
            Self::ConnectionRegistry => &[
                Method::ConnectionRegistryGetConnectionRegistry,
            ],
            Self::Hbck => &[
                Method::HbckSetTableStateInMeta,
                Method::HbckSetRegionStateInMeta,
                Method::HbckAssigns,
                Method::HbckUnassigns,
                Method::HbckBypassProcedure,
                Method::HbckScheduleServerCrashProcedure,
                Method::HbckScheduleSCPsForUnknownServers,
                Method::HbckRunHbckChore,
                Method::HbckFixMeta,
            ],
            Self::Lock => &[
                Method::LockRequestLock,
                Method::LockLockHeartbeat,
            ],
            Self::Master => &[
                Method::MasterGetSchemaAlterStatus,
                Method::MasterGetTableDescriptors,
                Method::MasterListTableDescriptorsByState,
                Method::MasterGetTableNames,
                Method::MasterListTableNamesByState,
                Method::MasterGetClusterStatus,
                Method::MasterIsMasterRunning,
                Method::MasterAddColumn,
                Method::MasterDeleteColumn,
                Method::MasterModifyColumn,
                Method::MasterMoveRegion,
                Method::MasterMergeTableRegions,
                Method::MasterAssignRegion,
                Method::MasterUnassignRegion,
                Method::MasterOfflineRegion,
                Method::MasterSplitRegion,
                Method::MasterTruncateRegion,
                Method::MasterDeleteTable,
                Method::MasterTruncateTable,
                Method::MasterEnableTable,
                Method::MasterDisableTable,
                Method::MasterModifyTable,
                Method::MasterFlushTable,
                Method::MasterCreateTable,
                Method::MasterShutdown,
                Method::MasterStopMaster,
                Method::MasterIsMasterInMaintenanceMode,
                Method::MasterBalance,
                Method::MasterSetBalancerRunning,
                Method::MasterIsBalancerEnabled,
                Method::MasterSetSplitOrMergeEnabled,
                Method::MasterIsSplitOrMergeEnabled,
                Method::MasterNormalize,
                Method::MasterSetNormalizerRunning,
                Method::MasterIsNormalizerEnabled,
                Method::MasterRunCatalogScan,
                Method::MasterEnableCatalogJanitor,
                Method::MasterIsCatalogJanitorEnabled,
                Method::MasterRunCleanerChore,
                Method::MasterSetCleanerChoreRunning,
                Method::MasterIsCleanerChoreEnabled,
                Method::MasterExecMasterService,
                Method::MasterSnapshot,
                Method::MasterGetCompletedSnapshots,
                Method::MasterDeleteSnapshot,
                Method::MasterIsSnapshotDone,
                Method::MasterRestoreSnapshot,
                Method::MasterSwitchSnapshotCleanup,
                Method::MasterIsSnapshotCleanupEnabled,
                Method::MasterExecProcedure,
                Method::MasterExecProcedureWithRet,
                Method::MasterIsProcedureDone,
                Method::MasterModifyNamespace,
                Method::MasterCreateNamespace,
                Method::MasterDeleteNamespace,
                Method::MasterGetNamespaceDescriptor,
                Method::MasterListNamespaceDescriptors,
                Method::MasterListTableDescriptorsByNamespace,
                Method::MasterListTableNamesByNamespace,
                Method::MasterGetTableState,
                Method::MasterSetQuota,
                Method::MasterGetLastMajorCompactionTimestamp,
                Method::MasterGetLastMajorCompactionTimestampForRegion,
                Method::MasterGetProcedureResult,
                Method::MasterGetSecurityCapabilities,
                Method::MasterAbortProcedure,
                Method::MasterGetProcedures,
                Method::MasterGetLocks,
                Method::MasterAddReplicationPeer,
                Method::MasterRemoveReplicationPeer,
                Method::MasterEnableReplicationPeer,
                Method::MasterDisableReplicationPeer,
                Method::MasterGetReplicationPeerConfig,
                Method::MasterUpdateReplicationPeerConfig,
                Method::MasterListReplicationPeers,
                Method::MasterIsReplicationPeerEnabled,
                Method::MasterReplicationPeerModificationSwitch,
                Method::MasterGetReplicationPeerModificationProcedures,
                Method::MasterIsReplicationPeerModificationEnabled,
                Method::MasterListDecommissionedRegionServers,
                Method::MasterDecommissionRegionServers,
                Method::MasterRecommissionRegionServer,
                Method::MasterGetSpaceQuotaRegionSizes,
                Method::MasterGetQuotaStates,
                Method::MasterClearDeadServers,
                Method::MasterSwitchRpcThrottle,
                Method::MasterIsRpcThrottleEnabled,
                Method::MasterSwitchExceedThrottleQuota,
                Method::MasterGrant,
                Method::MasterRevoke,
                Method::MasterGetUserPermissions,
                Method::MasterHasUserPermissions,
                Method::MasterListNamespaces,
                Method::MasterGetLogEntries,
                Method::MasterModifyTableStoreFileTracker,
                Method::MasterModifyColumnStoreFileTracker,
                Method::MasterFlushMasterStore,
                Method::MasterTransitReplicationPeerSyncReplicationState,
                Method::MasterGetRSGroupInfo,
                Method::MasterGetRSGroupInfoOfTable,
                Method::MasterGetRSGroupInfoOfServer,
                Method::MasterMoveServers,
                Method::MasterAddRSGroup,
                Method::MasterRemoveRSGroup,
                Method::MasterBalanceRSGroup,
                Method::MasterListRSGroupInfos,
                Method::MasterRemoveServers,
                Method::MasterListTablesInRSGroup,
                Method::MasterGetConfiguredNamespacesAndTablesInRSGroup,
                Method::MasterRenameRSGroup,
                Method::MasterUpdateRSGroupConfig,
            ],
            Self::MultiRowMutation => &[
                Method::MultiRowMutationMutateRows,
            ],
        }
    }
}

/// A method of a service. The variant is the service's name without `Service`, then the method's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `Grant` of `AccessControlService`: `GrantRequest` to `GrantResponse`.
    AccessControlGrant,
    /// `Revoke` of `AccessControlService`: `RevokeRequest` to `RevokeResponse`.
    AccessControlRevoke,
    /// `GetUserPermissions` of `AccessControlService`: `GetUserPermissionsRequest` to `GetUserPermissionsResponse`.
    AccessControlGetUserPermissions,
    /// `CheckPermissions` of `AccessControlService`: `CheckPermissionsRequest` to `CheckPermissionsResponse`.
    AccessControlCheckPermissions,
    /// `HasPermission` of `AccessControlService`: `HasPermissionRequest` to `HasPermissionResponse`.
    AccessControlHasPermission,
    /// `GetRegionInfo` of `AdminService`: `GetRegionInfoRequest` to `GetRegionInfoResponse`.
    AdminGetRegionInfo,
    /// `GetStoreFile` of `AdminService`: `GetStoreFileRequest` to `GetStoreFileResponse`.
    AdminGetStoreFile,
    /// `GetOnlineRegion` of `AdminService`: `GetOnlineRegionRequest` to `GetOnlineRegionResponse`.
    AdminGetOnlineRegion,
    /// `OpenRegion` of `AdminService`: `OpenRegionRequest` to `OpenRegionResponse`.
    AdminOpenRegion,
    /// `WarmupRegion` of `AdminService`: `WarmupRegionRequest` to `WarmupRegionResponse`.
    AdminWarmupRegion,
    /// `CloseRegion` of `AdminService`: `CloseRegionRequest` to `CloseRegionResponse`.
    AdminCloseRegion,
    /// `FlushRegion` of `AdminService`: `FlushRegionRequest` to `FlushRegionResponse`.
    AdminFlushRegion,
    /// `CompactionSwitch` of `AdminService`: `CompactionSwitchRequest` to `CompactionSwitchResponse`.
    AdminCompactionSwitch,
    /// `CompactRegion` of `AdminService`: `CompactRegionRequest` to `CompactRegionResponse`.
    AdminCompactRegion,
    /// `ReplicateWALEntry` of `AdminService`: `ReplicateWalEntryRequest` to `ReplicateWalEntryResponse`.
    AdminReplicateWALEntry,
    /// `Replay` of `AdminService`: `ReplicateWalEntryRequest` to `ReplicateWalEntryResponse`.
    AdminReplay,
    /// `RollWALWriter` of `AdminService`: `RollWalWriterRequest` to `RollWalWriterResponse`.
    AdminRollWALWriter,
    /// `GetServerInfo` of `AdminService`: `GetServerInfoRequest` to `GetServerInfoResponse`.
    AdminGetServerInfo,
    /// `StopServer` of `AdminService`: `StopServerRequest` to `StopServerResponse`.
    AdminStopServer,
    /// `UpdateFavoredNodes` of `AdminService`: `UpdateFavoredNodesRequest` to `UpdateFavoredNodesResponse`.
    AdminUpdateFavoredNodes,
    /// `UpdateConfiguration` of `AdminService`: `UpdateConfigurationRequest` to `UpdateConfigurationResponse`.
    AdminUpdateConfiguration,
    /// `GetRegionLoad` of `AdminService`: `GetRegionLoadRequest` to `GetRegionLoadResponse`.
    AdminGetRegionLoad,
    /// `ClearCompactionQueues` of `AdminService`: `ClearCompactionQueuesRequest` to `ClearCompactionQueuesResponse`.
    AdminClearCompactionQueues,
    /// `ClearRegionBlockCache` of `AdminService`: `ClearRegionBlockCacheRequest` to `ClearRegionBlockCacheResponse`.
    AdminClearRegionBlockCache,
    /// `GetSpaceQuotaSnapshots` of `AdminService`: `GetSpaceQuotaSnapshotsRequest` to `GetSpaceQuotaSnapshotsResponse`.
    AdminGetSpaceQuotaSnapshots,
    /// `ExecuteProcedures` of `AdminService`: `ExecuteProceduresRequest` to `ExecuteProceduresResponse`.
    AdminExecuteProcedures,
    /// `GetSlowLogResponses` of `AdminService`: `SlowLogResponseRequest` to `SlowLogResponses`.
    AdminGetSlowLogResponses,
    /// `GetLargeLogResponses` of `AdminService`: `SlowLogResponseRequest` to `SlowLogResponses`.
    AdminGetLargeLogResponses,
    /// `ClearSlowLogsResponses` of `AdminService`: `ClearSlowLogResponseRequest` to `ClearSlowLogResponses`.
    AdminClearSlowLogsResponses,
    /// `GetLogEntries` of `AdminService`: `LogRequest` to `LogEntry`.
    AdminGetLogEntries,
    /// `GetCachedFilesList` of `AdminService`: `GetCachedFilesListRequest` to `GetCachedFilesListResponse`.
    AdminGetCachedFilesList,
    /// `ReplicateToReplica` of `AdminService`: `ReplicateWalEntryRequest` to `ReplicateWalEntryResponse`.
    AdminReplicateToReplica,
    /// `GetMax` of `AggregateService`: `AggregateRequest` to `AggregateResponse`.
    AggregateGetMax,
    /// `GetMin` of `AggregateService`: `AggregateRequest` to `AggregateResponse`.
    AggregateGetMin,
    /// `GetSum` of `AggregateService`: `AggregateRequest` to `AggregateResponse`.
    AggregateGetSum,
    /// `GetRowNum` of `AggregateService`: `AggregateRequest` to `AggregateResponse`.
    AggregateGetRowNum,
    /// `GetAvg` of `AggregateService`: `AggregateRequest` to `AggregateResponse`.
    AggregateGetAvg,
    /// `GetStd` of `AggregateService`: `AggregateRequest` to `AggregateResponse`.
    AggregateGetStd,
    /// `GetMedian` of `AggregateService`: `AggregateRequest` to `AggregateResponse`.
    AggregateGetMedian,
    /// `GetAuthenticationToken` of `AuthenticationService`: `GetAuthenticationTokenRequest` to `GetAuthenticationTokenResponse`.
    AuthenticationGetAuthenticationToken,
    /// `WhoAmI` of `AuthenticationService`: `WhoAmIRequest` to `WhoAmIResponse`.
    AuthenticationWhoAmI,
    /// `GetAllBootstrapNodes` of `BootstrapNodeService`: `GetAllBootstrapNodesRequest` to `GetAllBootstrapNodesResponse`.
    BootstrapNodeGetAllBootstrapNodes,
    /// `GetClusterId` of `ClientMetaService`: `GetClusterIdRequest` to `GetClusterIdResponse`.
    ClientMetaGetClusterId,
    /// `GetActiveMaster` of `ClientMetaService`: `GetActiveMasterRequest` to `GetActiveMasterResponse`.
    ClientMetaGetActiveMaster,
    /// `GetMasters` of `ClientMetaService`: `GetMastersRequest` to `GetMastersResponse`.
    ClientMetaGetMasters,
    /// `GetMetaRegionLocations` of `ClientMetaService`: `GetMetaRegionLocationsRequest` to `GetMetaRegionLocationsResponse`.
    ClientMetaGetMetaRegionLocations,
    /// `GetBootstrapNodes` of `ClientMetaService`: `GetBootstrapNodesRequest` to `GetBootstrapNodesResponse`.
    ClientMetaGetBootstrapNodes,
    /// `Get` of `ClientService`: `GetRequest` to `GetResponse`.
    ClientGet,
    /// `Mutate` of `ClientService`: `MutateRequest` to `MutateResponse`.
    ClientMutate,
    /// `Scan` of `ClientService`: `ScanRequest` to `ScanResponse`.
    ClientScan,
    /// `BulkLoadHFile` of `ClientService`: `BulkLoadHFileRequest` to `BulkLoadHFileResponse`.
    ClientBulkLoadHFile,
    /// `PrepareBulkLoad` of `ClientService`: `PrepareBulkLoadRequest` to `PrepareBulkLoadResponse`.
    ClientPrepareBulkLoad,
    /// `CleanupBulkLoad` of `ClientService`: `CleanupBulkLoadRequest` to `CleanupBulkLoadResponse`.
    ClientCleanupBulkLoad,
    /// `ExecService` of `ClientService`: `CoprocessorServiceRequest` to `CoprocessorServiceResponse`.
    ClientExecService,
    /// `ExecRegionServerService` of `ClientService`: `CoprocessorServiceRequest` to `CoprocessorServiceResponse`.
    ClientExecRegionServerService,
    /// `Multi` of `ClientService`: `MultiRequest` to `MultiResponse`.
    ClientMulti,
    /// `GetConnectionRegistry` of `ConnectionRegistryService`: `GetConnectionRegistryRequest` to `GetConnectionRegistryResponse`.
    ConnectionRegistryGetConnectionRegistry,
    /// `SetTableStateInMeta` of `HbckService`: `SetTableStateInMetaRequest` to `GetTableStateResponse`.
    HbckSetTableStateInMeta,
    /// `SetRegionStateInMeta` of `HbckService`: `SetRegionStateInMetaRequest` to `SetRegionStateInMetaResponse`.
    HbckSetRegionStateInMeta,
    /// `Assigns` of `HbckService`: `AssignsRequest` to `AssignsResponse`.
    HbckAssigns,
    /// `Unassigns` of `HbckService`: `UnassignsRequest` to `UnassignsResponse`.
    HbckUnassigns,
    /// `BypassProcedure` of `HbckService`: `BypassProcedureRequest` to `BypassProcedureResponse`.
    HbckBypassProcedure,
    /// `ScheduleServerCrashProcedure` of `HbckService`: `ScheduleServerCrashProcedureRequest` to `ScheduleServerCrashProcedureResponse`.
    HbckScheduleServerCrashProcedure,
    /// `ScheduleSCPsForUnknownServers` of `HbckService`: `ScheduleScPsForUnknownServersRequest` to `ScheduleScPsForUnknownServersResponse`.
    HbckScheduleSCPsForUnknownServers,
    /// `RunHbckChore` of `HbckService`: `RunHbckChoreRequest` to `RunHbckChoreResponse`.
    HbckRunHbckChore,
    /// `FixMeta` of `HbckService`: `FixMetaRequest` to `FixMetaResponse`.
    HbckFixMeta,
    /// `RequestLock` of `LockService`: `LockRequest` to `LockResponse`.
    LockRequestLock,
    /// `LockHeartbeat` of `LockService`: `LockHeartbeatRequest` to `LockHeartbeatResponse`.
    LockLockHeartbeat,
    /// `GetSchemaAlterStatus` of `MasterService`: `GetSchemaAlterStatusRequest` to `GetSchemaAlterStatusResponse`.
    MasterGetSchemaAlterStatus,
    /// `GetTableDescriptors` of `MasterService`: `GetTableDescriptorsRequest` to `GetTableDescriptorsResponse`.
    MasterGetTableDescriptors,
    /// `ListTableDescriptorsByState` of `MasterService`: `ListTableDescriptorsByStateRequest` to `ListTableDescriptorsByStateResponse`.
    MasterListTableDescriptorsByState,
    /// `GetTableNames` of `MasterService`: `GetTableNamesRequest` to `GetTableNamesResponse`.
    MasterGetTableNames,
    /// `ListTableNamesByState` of `MasterService`: `ListTableNamesByStateRequest` to `ListTableNamesByStateResponse`.
    MasterListTableNamesByState,
    /// `GetClusterStatus` of `MasterService`: `GetClusterStatusRequest` to `GetClusterStatusResponse`.
    MasterGetClusterStatus,
    /// `IsMasterRunning` of `MasterService`: `IsMasterRunningRequest` to `IsMasterRunningResponse`.
    MasterIsMasterRunning,
    /// `AddColumn` of `MasterService`: `AddColumnRequest` to `AddColumnResponse`.
    MasterAddColumn,
    /// `DeleteColumn` of `MasterService`: `DeleteColumnRequest` to `DeleteColumnResponse`.
    MasterDeleteColumn,
    /// `ModifyColumn` of `MasterService`: `ModifyColumnRequest` to `ModifyColumnResponse`.
    MasterModifyColumn,
    /// `MoveRegion` of `MasterService`: `MoveRegionRequest` to `MoveRegionResponse`.
    MasterMoveRegion,
    /// `MergeTableRegions` of `MasterService`: `MergeTableRegionsRequest` to `MergeTableRegionsResponse`.
    MasterMergeTableRegions,
    /// `AssignRegion` of `MasterService`: `AssignRegionRequest` to `AssignRegionResponse`.
    MasterAssignRegion,
    /// `UnassignRegion` of `MasterService`: `UnassignRegionRequest` to `UnassignRegionResponse`.
    MasterUnassignRegion,
    /// `OfflineRegion` of `MasterService`: `OfflineRegionRequest` to `OfflineRegionResponse`.
    MasterOfflineRegion,
    /// `SplitRegion` of `MasterService`: `SplitTableRegionRequest` to `SplitTableRegionResponse`.
    MasterSplitRegion,
    /// `TruncateRegion` of `MasterService`: `TruncateRegionRequest` to `TruncateRegionResponse`.
    MasterTruncateRegion,
    /// `DeleteTable` of `MasterService`: `DeleteTableRequest` to `DeleteTableResponse`.
    MasterDeleteTable,
    /// `truncateTable` of `MasterService`: `TruncateTableRequest` to `TruncateTableResponse`.
    MasterTruncateTable,
    /// `EnableTable` of `MasterService`: `EnableTableRequest` to `EnableTableResponse`.
    MasterEnableTable,
    /// `DisableTable` of `MasterService`: `DisableTableRequest` to `DisableTableResponse`.
    MasterDisableTable,
    /// `ModifyTable` of `MasterService`: `ModifyTableRequest` to `ModifyTableResponse`.
    MasterModifyTable,
    /// `FlushTable` of `MasterService`: `FlushTableRequest` to `FlushTableResponse`.
    MasterFlushTable,
    /// `CreateTable` of `MasterService`: `CreateTableRequest` to `CreateTableResponse`.
    MasterCreateTable,
    /// `Shutdown` of `MasterService`: `ShutdownRequest` to `ShutdownResponse`.
    MasterShutdown,
    /// `StopMaster` of `MasterService`: `StopMasterRequest` to `StopMasterResponse`.
    MasterStopMaster,
    /// `IsMasterInMaintenanceMode` of `MasterService`: `IsInMaintenanceModeRequest` to `IsInMaintenanceModeResponse`.
    MasterIsMasterInMaintenanceMode,
    /// `Balance` of `MasterService`: `BalanceRequest` to `BalanceResponse`.
    MasterBalance,
    /// `SetBalancerRunning` of `MasterService`: `SetBalancerRunningRequest` to `SetBalancerRunningResponse`.
    MasterSetBalancerRunning,
    /// `IsBalancerEnabled` of `MasterService`: `IsBalancerEnabledRequest` to `IsBalancerEnabledResponse`.
    MasterIsBalancerEnabled,
    /// `SetSplitOrMergeEnabled` of `MasterService`: `SetSplitOrMergeEnabledRequest` to `SetSplitOrMergeEnabledResponse`.
    MasterSetSplitOrMergeEnabled,
    /// `IsSplitOrMergeEnabled` of `MasterService`: `IsSplitOrMergeEnabledRequest` to `IsSplitOrMergeEnabledResponse`.
    MasterIsSplitOrMergeEnabled,
    /// `Normalize` of `MasterService`: `NormalizeRequest` to `NormalizeResponse`.
    MasterNormalize,
    /// `SetNormalizerRunning` of `MasterService`: `SetNormalizerRunningRequest` to `SetNormalizerRunningResponse`.
    MasterSetNormalizerRunning,
    /// `IsNormalizerEnabled` of `MasterService`: `IsNormalizerEnabledRequest` to `IsNormalizerEnabledResponse`.
    MasterIsNormalizerEnabled,
    /// `RunCatalogScan` of `MasterService`: `RunCatalogScanRequest` to `RunCatalogScanResponse`.
    MasterRunCatalogScan,
    /// `EnableCatalogJanitor` of `MasterService`: `EnableCatalogJanitorRequest` to `EnableCatalogJanitorResponse`.
    MasterEnableCatalogJanitor,
    /// `IsCatalogJanitorEnabled` of `MasterService`: `IsCatalogJanitorEnabledRequest` to `IsCatalogJanitorEnabledResponse`.
    MasterIsCatalogJanitorEnabled,
    /// `RunCleanerChore` of `MasterService`: `RunCleanerChoreRequest` to `RunCleanerChoreResponse`.
    MasterRunCleanerChore,
    /// `SetCleanerChoreRunning` of `MasterService`: `SetCleanerChoreRunningRequest` to `SetCleanerChoreRunningResponse`.
    MasterSetCleanerChoreRunning,
    /// `IsCleanerChoreEnabled` of `MasterService`: `IsCleanerChoreEnabledRequest` to `IsCleanerChoreEnabledResponse`.
    MasterIsCleanerChoreEnabled,
    /// `ExecMasterService` of `MasterService`: `CoprocessorServiceRequest` to `CoprocessorServiceResponse`.
    MasterExecMasterService,
    /// `Snapshot` of `MasterService`: `SnapshotRequest` to `SnapshotResponse`.
    MasterSnapshot,
    /// `GetCompletedSnapshots` of `MasterService`: `GetCompletedSnapshotsRequest` to `GetCompletedSnapshotsResponse`.
    MasterGetCompletedSnapshots,
    /// `DeleteSnapshot` of `MasterService`: `DeleteSnapshotRequest` to `DeleteSnapshotResponse`.
    MasterDeleteSnapshot,
    /// `IsSnapshotDone` of `MasterService`: `IsSnapshotDoneRequest` to `IsSnapshotDoneResponse`.
    MasterIsSnapshotDone,
    /// `RestoreSnapshot` of `MasterService`: `RestoreSnapshotRequest` to `RestoreSnapshotResponse`.
    MasterRestoreSnapshot,
    /// `SwitchSnapshotCleanup` of `MasterService`: `SetSnapshotCleanupRequest` to `SetSnapshotCleanupResponse`.
    MasterSwitchSnapshotCleanup,
    /// `IsSnapshotCleanupEnabled` of `MasterService`: `IsSnapshotCleanupEnabledRequest` to `IsSnapshotCleanupEnabledResponse`.
    MasterIsSnapshotCleanupEnabled,
    /// `ExecProcedure` of `MasterService`: `ExecProcedureRequest` to `ExecProcedureResponse`.
    MasterExecProcedure,
    /// `ExecProcedureWithRet` of `MasterService`: `ExecProcedureRequest` to `ExecProcedureResponse`.
    MasterExecProcedureWithRet,
    /// `IsProcedureDone` of `MasterService`: `IsProcedureDoneRequest` to `IsProcedureDoneResponse`.
    MasterIsProcedureDone,
    /// `ModifyNamespace` of `MasterService`: `ModifyNamespaceRequest` to `ModifyNamespaceResponse`.
    MasterModifyNamespace,
    /// `CreateNamespace` of `MasterService`: `CreateNamespaceRequest` to `CreateNamespaceResponse`.
    MasterCreateNamespace,
    /// `DeleteNamespace` of `MasterService`: `DeleteNamespaceRequest` to `DeleteNamespaceResponse`.
    MasterDeleteNamespace,
    /// `GetNamespaceDescriptor` of `MasterService`: `GetNamespaceDescriptorRequest` to `GetNamespaceDescriptorResponse`.
    MasterGetNamespaceDescriptor,
    /// `ListNamespaceDescriptors` of `MasterService`: `ListNamespaceDescriptorsRequest` to `ListNamespaceDescriptorsResponse`.
    MasterListNamespaceDescriptors,
    /// `ListTableDescriptorsByNamespace` of `MasterService`: `ListTableDescriptorsByNamespaceRequest` to `ListTableDescriptorsByNamespaceResponse`.
    MasterListTableDescriptorsByNamespace,
    /// `ListTableNamesByNamespace` of `MasterService`: `ListTableNamesByNamespaceRequest` to `ListTableNamesByNamespaceResponse`.
    MasterListTableNamesByNamespace,
    /// `GetTableState` of `MasterService`: `GetTableStateRequest` to `GetTableStateResponse`.
    MasterGetTableState,
    /// `SetQuota` of `MasterService`: `SetQuotaRequest` to `SetQuotaResponse`.
    MasterSetQuota,
    /// `getLastMajorCompactionTimestamp` of `MasterService`: `MajorCompactionTimestampRequest` to `MajorCompactionTimestampResponse`.
    MasterGetLastMajorCompactionTimestamp,
    /// `getLastMajorCompactionTimestampForRegion` of `MasterService`: `MajorCompactionTimestampForRegionRequest` to `MajorCompactionTimestampResponse`.
    MasterGetLastMajorCompactionTimestampForRegion,
    /// `getProcedureResult` of `MasterService`: `GetProcedureResultRequest` to `GetProcedureResultResponse`.
    MasterGetProcedureResult,
    /// `getSecurityCapabilities` of `MasterService`: `SecurityCapabilitiesRequest` to `SecurityCapabilitiesResponse`.
    MasterGetSecurityCapabilities,
    /// `AbortProcedure` of `MasterService`: `AbortProcedureRequest` to `AbortProcedureResponse`.
    MasterAbortProcedure,
    /// `GetProcedures` of `MasterService`: `GetProceduresRequest` to `GetProceduresResponse`.
    MasterGetProcedures,
    /// `GetLocks` of `MasterService`: `GetLocksRequest` to `GetLocksResponse`.
    MasterGetLocks,
    /// `AddReplicationPeer` of `MasterService`: `AddReplicationPeerRequest` to `AddReplicationPeerResponse`.
    MasterAddReplicationPeer,
    /// `RemoveReplicationPeer` of `MasterService`: `RemoveReplicationPeerRequest` to `RemoveReplicationPeerResponse`.
    MasterRemoveReplicationPeer,
    /// `EnableReplicationPeer` of `MasterService`: `EnableReplicationPeerRequest` to `EnableReplicationPeerResponse`.
    MasterEnableReplicationPeer,
    /// `DisableReplicationPeer` of `MasterService`: `DisableReplicationPeerRequest` to `DisableReplicationPeerResponse`.
    MasterDisableReplicationPeer,
    /// `GetReplicationPeerConfig` of `MasterService`: `GetReplicationPeerConfigRequest` to `GetReplicationPeerConfigResponse`.
    MasterGetReplicationPeerConfig,
    /// `UpdateReplicationPeerConfig` of `MasterService`: `UpdateReplicationPeerConfigRequest` to `UpdateReplicationPeerConfigResponse`.
    MasterUpdateReplicationPeerConfig,
    /// `ListReplicationPeers` of `MasterService`: `ListReplicationPeersRequest` to `ListReplicationPeersResponse`.
    MasterListReplicationPeers,
    /// `IsReplicationPeerEnabled` of `MasterService`: `GetReplicationPeerStateRequest` to `GetReplicationPeerStateResponse`.
    MasterIsReplicationPeerEnabled,
    /// `ReplicationPeerModificationSwitch` of `MasterService`: `ReplicationPeerModificationSwitchRequest` to `ReplicationPeerModificationSwitchResponse`.
    MasterReplicationPeerModificationSwitch,
    /// `GetReplicationPeerModificationProcedures` of `MasterService`: `GetReplicationPeerModificationProceduresRequest` to `GetReplicationPeerModificationProceduresResponse`.
    MasterGetReplicationPeerModificationProcedures,
    /// `IsReplicationPeerModificationEnabled` of `MasterService`: `IsReplicationPeerModificationEnabledRequest` to `IsReplicationPeerModificationEnabledResponse`.
    MasterIsReplicationPeerModificationEnabled,
    /// `ListDecommissionedRegionServers` of `MasterService`: `ListDecommissionedRegionServersRequest` to `ListDecommissionedRegionServersResponse`.
    MasterListDecommissionedRegionServers,
    /// `DecommissionRegionServers` of `MasterService`: `DecommissionRegionServersRequest` to `DecommissionRegionServersResponse`.
    MasterDecommissionRegionServers,
    /// `RecommissionRegionServer` of `MasterService`: `RecommissionRegionServerRequest` to `RecommissionRegionServerResponse`.
    MasterRecommissionRegionServer,
    /// `GetSpaceQuotaRegionSizes` of `MasterService`: `GetSpaceQuotaRegionSizesRequest` to `GetSpaceQuotaRegionSizesResponse`.
    MasterGetSpaceQuotaRegionSizes,
    /// `GetQuotaStates` of `MasterService`: `GetQuotaStatesRequest` to `GetQuotaStatesResponse`.
    MasterGetQuotaStates,
    /// `ClearDeadServers` of `MasterService`: `ClearDeadServersRequest` to `ClearDeadServersResponse`.
    MasterClearDeadServers,
    /// `SwitchRpcThrottle` of `MasterService`: `SwitchRpcThrottleRequest` to `SwitchRpcThrottleResponse`.
    MasterSwitchRpcThrottle,
    /// `IsRpcThrottleEnabled` of `MasterService`: `IsRpcThrottleEnabledRequest` to `IsRpcThrottleEnabledResponse`.
    MasterIsRpcThrottleEnabled,
    /// `SwitchExceedThrottleQuota` of `MasterService`: `SwitchExceedThrottleQuotaRequest` to `SwitchExceedThrottleQuotaResponse`.
    MasterSwitchExceedThrottleQuota,
    /// `Grant` of `MasterService`: `GrantRequest` to `GrantResponse`.
    MasterGrant,
    /// `Revoke` of `MasterService`: `RevokeRequest` to `RevokeResponse`.
    MasterRevoke,
    /// `GetUserPermissions` of `MasterService`: `GetUserPermissionsRequest` to `GetUserPermissionsResponse`.
    MasterGetUserPermissions,
    /// `HasUserPermissions` of `MasterService`: `HasUserPermissionsRequest` to `HasUserPermissionsResponse`.
    MasterHasUserPermissions,
    /// `ListNamespaces` of `MasterService`: `ListNamespacesRequest` to `ListNamespacesResponse`.
    MasterListNamespaces,
    /// `GetLogEntries` of `MasterService`: `LogRequest` to `LogEntry`.
    MasterGetLogEntries,
    /// `ModifyTableStoreFileTracker` of `MasterService`: `ModifyTableStoreFileTrackerRequest` to `ModifyTableStoreFileTrackerResponse`.
    MasterModifyTableStoreFileTracker,
    /// `ModifyColumnStoreFileTracker` of `MasterService`: `ModifyColumnStoreFileTrackerRequest` to `ModifyColumnStoreFileTrackerResponse`.
    MasterModifyColumnStoreFileTracker,
    /// `FlushMasterStore` of `MasterService`: `FlushMasterStoreRequest` to `FlushMasterStoreResponse`.
    MasterFlushMasterStore,
    /// `TransitReplicationPeerSyncReplicationState` of `MasterService`: `TransitReplicationPeerSyncReplicationStateRequest` to `TransitReplicationPeerSyncReplicationStateResponse`.
    MasterTransitReplicationPeerSyncReplicationState,
    /// `GetRSGroupInfo` of `MasterService`: `GetRsGroupInfoRequest` to `GetRsGroupInfoResponse`.
    MasterGetRSGroupInfo,
    /// `GetRSGroupInfoOfTable` of `MasterService`: `GetRsGroupInfoOfTableRequest` to `GetRsGroupInfoOfTableResponse`.
    MasterGetRSGroupInfoOfTable,
    /// `GetRSGroupInfoOfServer` of `MasterService`: `GetRsGroupInfoOfServerRequest` to `GetRsGroupInfoOfServerResponse`.
    MasterGetRSGroupInfoOfServer,
    /// `MoveServers` of `MasterService`: `MoveServersRequest` to `MoveServersResponse`.
    MasterMoveServers,
    /// `AddRSGroup` of `MasterService`: `AddRsGroupRequest` to `AddRsGroupResponse`.
    MasterAddRSGroup,
    /// `RemoveRSGroup` of `MasterService`: `RemoveRsGroupRequest` to `RemoveRsGroupResponse`.
    MasterRemoveRSGroup,
    /// `BalanceRSGroup` of `MasterService`: `BalanceRsGroupRequest` to `BalanceRsGroupResponse`.
    MasterBalanceRSGroup,
    /// `ListRSGroupInfos` of `MasterService`: `ListRsGroupInfosRequest` to `ListRsGroupInfosResponse`.
    MasterListRSGroupInfos,
    /// `RemoveServers` of `MasterService`: `RemoveServersRequest` to `RemoveServersResponse`.
    MasterRemoveServers,
    /// `ListTablesInRSGroup` of `MasterService`: `ListTablesInRsGroupRequest` to `ListTablesInRsGroupResponse`.
    MasterListTablesInRSGroup,
    /// `GetConfiguredNamespacesAndTablesInRSGroup` of `MasterService`: `GetConfiguredNamespacesAndTablesInRsGroupRequest` to `GetConfiguredNamespacesAndTablesInRsGroupResponse`.
    MasterGetConfiguredNamespacesAndTablesInRSGroup,
    /// `RenameRSGroup` of `MasterService`: `RenameRsGroupRequest` to `RenameRsGroupResponse`.
    MasterRenameRSGroup,
    /// `UpdateRSGroupConfig` of `MasterService`: `UpdateRsGroupConfigRequest` to `UpdateRsGroupConfigResponse`.
    MasterUpdateRSGroupConfig,
    /// `MutateRows` of `MultiRowMutationService`: `MutateRowsRequest` to `MutateRowsResponse`.
    MultiRowMutationMutateRows,
}

impl Method {
    /// The service it belongs to.
    pub fn service(self) -> Service {
        match self {
            Self::AccessControlGrant
            | Self::AccessControlRevoke
            | Self::AccessControlGetUserPermissions
            | Self::AccessControlCheckPermissions
            | Self::AccessControlHasPermission => Service::AccessControl,
            Self::AdminGetRegionInfo
            | Self::AdminGetStoreFile
            | Self::AdminGetOnlineRegion
            | Self::AdminOpenRegion
            | Self::AdminWarmupRegion
            | Self::AdminCloseRegion
            | Self::AdminFlushRegion
            | Self::AdminCompactionSwitch
            | Self::AdminCompactRegion
            | Self::AdminReplicateWALEntry
            | Self::AdminReplay
            | Self::AdminRollWALWriter
            | Self::AdminGetServerInfo
            | Self::AdminStopServer
            | Self::AdminUpdateFavoredNodes
            | Self::AdminUpdateConfiguration
            | Self::AdminGetRegionLoad
            | Self::AdminClearCompactionQueues
            | Self::AdminClearRegionBlockCache
            | Self::AdminGetSpaceQuotaSnapshots
            | Self::AdminExecuteProcedures
            | Self::AdminGetSlowLogResponses
            | Self::AdminGetLargeLogResponses
            | Self::AdminClearSlowLogsResponses
            | Self::AdminGetLogEntries
            | Self::AdminGetCachedFilesList
            | Self::AdminReplicateToReplica => Service::Admin,
            Self::AggregateGetMax
            | Self::AggregateGetMin
            | Self::AggregateGetSum
            | Self::AggregateGetRowNum
            | Self::AggregateGetAvg
            | Self::AggregateGetStd
            | Self::AggregateGetMedian => Service::Aggregate,
            Self::AuthenticationGetAuthenticationToken
            | Self::AuthenticationWhoAmI => Service::Authentication,
            Self::BootstrapNodeGetAllBootstrapNodes => Service::BootstrapNode,
            Self::ClientMetaGetClusterId
            | Self::ClientMetaGetActiveMaster
            | Self::ClientMetaGetMasters
            | Self::ClientMetaGetMetaRegionLocations
            | Self::ClientMetaGetBootstrapNodes => Service::ClientMeta,
            Self::ClientGet
            | Self::ClientMutate
            | Self::ClientScan
            | Self::ClientBulkLoadHFile
            | Self::ClientPrepareBulkLoad
            | Self::ClientCleanupBulkLoad
            | Self::ClientExecService
            | Self::ClientExecRegionServerService
            | Self::ClientMulti => Service::Client,
            Self::ConnectionRegistryGetConnectionRegistry => Service::ConnectionRegistry,
            Self::HbckSetTableStateInMeta
            | Self::HbckSetRegionStateInMeta
            | Self::HbckAssigns
            | Self::HbckUnassigns
            | Self::HbckBypassProcedure
            | Self::HbckScheduleServerCrashProcedure
            | Self::HbckScheduleSCPsForUnknownServers
            | Self::HbckRunHbckChore
            | Self::HbckFixMeta => Service::Hbck,
            Self::LockRequestLock
            | Self::LockLockHeartbeat => Service::Lock,
            Self::MasterGetSchemaAlterStatus
            | Self::MasterGetTableDescriptors
            | Self::MasterListTableDescriptorsByState
            | Self::MasterGetTableNames
            | Self::MasterListTableNamesByState
            | Self::MasterGetClusterStatus
            | Self::MasterIsMasterRunning
            | Self::MasterAddColumn
            | Self::MasterDeleteColumn
            | Self::MasterModifyColumn
            | Self::MasterMoveRegion
            | Self::MasterMergeTableRegions
            | Self::MasterAssignRegion
            | Self::MasterUnassignRegion
            | Self::MasterOfflineRegion
            | Self::MasterSplitRegion
            | Self::MasterTruncateRegion
            | Self::MasterDeleteTable
            | Self::MasterTruncateTable
            | Self::MasterEnableTable
            | Self::MasterDisableTable
            | Self::MasterModifyTable
            | Self::MasterFlushTable
            | Self::MasterCreateTable
            | Self::MasterShutdown
            | Self::MasterStopMaster
            | Self::MasterIsMasterInMaintenanceMode
            | Self::MasterBalance
            | Self::MasterSetBalancerRunning
            | Self::MasterIsBalancerEnabled
            | Self::MasterSetSplitOrMergeEnabled
            | Self::MasterIsSplitOrMergeEnabled
            | Self::MasterNormalize
            | Self::MasterSetNormalizerRunning
            | Self::MasterIsNormalizerEnabled
            | Self::MasterRunCatalogScan
            | Self::MasterEnableCatalogJanitor
            | Self::MasterIsCatalogJanitorEnabled
            | Self::MasterRunCleanerChore
            | Self::MasterSetCleanerChoreRunning
            | Self::MasterIsCleanerChoreEnabled
            | Self::MasterExecMasterService
            | Self::MasterSnapshot
            | Self::MasterGetCompletedSnapshots
            | Self::MasterDeleteSnapshot
            | Self::MasterIsSnapshotDone
            | Self::MasterRestoreSnapshot
            | Self::MasterSwitchSnapshotCleanup
            | Self::MasterIsSnapshotCleanupEnabled
            | Self::MasterExecProcedure
            | Self::MasterExecProcedureWithRet
            | Self::MasterIsProcedureDone
            | Self::MasterModifyNamespace
            | Self::MasterCreateNamespace
            | Self::MasterDeleteNamespace
            | Self::MasterGetNamespaceDescriptor
            | Self::MasterListNamespaceDescriptors
            | Self::MasterListTableDescriptorsByNamespace
            | Self::MasterListTableNamesByNamespace
            | Self::MasterGetTableState
            | Self::MasterSetQuota
            | Self::MasterGetLastMajorCompactionTimestamp
            | Self::MasterGetLastMajorCompactionTimestampForRegion
            | Self::MasterGetProcedureResult
            | Self::MasterGetSecurityCapabilities
            | Self::MasterAbortProcedure
            | Self::MasterGetProcedures
            | Self::MasterGetLocks
            | Self::MasterAddReplicationPeer
            | Self::MasterRemoveReplicationPeer
            | Self::MasterEnableReplicationPeer
            | Self::MasterDisableReplicationPeer
            | Self::MasterGetReplicationPeerConfig
            | Self::MasterUpdateReplicationPeerConfig
            | Self::MasterListReplicationPeers
            | Self::MasterIsReplicationPeerEnabled
            | Self::MasterReplicationPeerModificationSwitch
            | Self::MasterGetReplicationPeerModificationProcedures
            | Self::MasterIsReplicationPeerModificationEnabled
            | Self::MasterListDecommissionedRegionServers
            | Self::MasterDecommissionRegionServers
            | Self::MasterRecommissionRegionServer
            | Self::MasterGetSpaceQuotaRegionSizes
            | Self::MasterGetQuotaStates
            | Self::MasterClearDeadServers
            | Self::MasterSwitchRpcThrottle
            | Self::MasterIsRpcThrottleEnabled
            | Self::MasterSwitchExceedThrottleQuota
            | Self::MasterGrant
            | Self::MasterRevoke
            | Self::MasterGetUserPermissions
            | Self::MasterHasUserPermissions
            | Self::MasterListNamespaces
            | Self::MasterGetLogEntries
            | Self::MasterModifyTableStoreFileTracker
            | Self::MasterModifyColumnStoreFileTracker
            | Self::MasterFlushMasterStore
            | Self::MasterTransitReplicationPeerSyncReplicationState
            | Self::MasterGetRSGroupInfo
            | Self::MasterGetRSGroupInfoOfTable
            | Self::MasterGetRSGroupInfoOfServer
            | Self::MasterMoveServers
            | Self::MasterAddRSGroup
            | Self::MasterRemoveRSGroup
            | Self::MasterBalanceRSGroup
            | Self::MasterListRSGroupInfos
            | Self::MasterRemoveServers
            | Self::MasterListTablesInRSGroup
            | Self::MasterGetConfiguredNamespacesAndTablesInRSGroup
            | Self::MasterRenameRSGroup
            | Self::MasterUpdateRSGroupConfig => Service::Master,
            Self::MultiRowMutationMutateRows => Service::MultiRowMutation,
        }
    }

    /// The name on the wire; case matters.
    pub fn name(self) -> &'static str {
        match self {
            Self::AccessControlGrant => "Grant",
            Self::AccessControlRevoke => "Revoke",
            Self::AccessControlGetUserPermissions => "GetUserPermissions",
            Self::AccessControlCheckPermissions => "CheckPermissions",
            Self::AccessControlHasPermission => "HasPermission",
            Self::AdminGetRegionInfo => "GetRegionInfo",
            Self::AdminGetStoreFile => "GetStoreFile",
            Self::AdminGetOnlineRegion => "GetOnlineRegion",
            Self::AdminOpenRegion => "OpenRegion",
            Self::AdminWarmupRegion => "WarmupRegion",
            Self::AdminCloseRegion => "CloseRegion",
            Self::AdminFlushRegion => "FlushRegion",
            Self::AdminCompactionSwitch => "CompactionSwitch",
            Self::AdminCompactRegion => "CompactRegion",
            Self::AdminReplicateWALEntry => "ReplicateWALEntry",
            Self::AdminReplay => "Replay",
            Self::AdminRollWALWriter => "RollWALWriter",
            Self::AdminGetServerInfo => "GetServerInfo",
            Self::AdminStopServer => "StopServer",
            Self::AdminUpdateFavoredNodes => "UpdateFavoredNodes",
            Self::AdminUpdateConfiguration => "UpdateConfiguration",
            Self::AdminGetRegionLoad => "GetRegionLoad",
            Self::AdminClearCompactionQueues => "ClearCompactionQueues",
            Self::AdminClearRegionBlockCache => "ClearRegionBlockCache",
            Self::AdminGetSpaceQuotaSnapshots => "GetSpaceQuotaSnapshots",
            Self::AdminExecuteProcedures => "ExecuteProcedures",
            Self::AdminGetSlowLogResponses => "GetSlowLogResponses",
            Self::AdminGetLargeLogResponses => "GetLargeLogResponses",
            Self::AdminClearSlowLogsResponses => "ClearSlowLogsResponses",
            Self::AdminGetLogEntries => "GetLogEntries",
            Self::AdminGetCachedFilesList => "GetCachedFilesList",
            Self::AdminReplicateToReplica => "ReplicateToReplica",
            Self::AggregateGetMax => "GetMax",
            Self::AggregateGetMin => "GetMin",
            Self::AggregateGetSum => "GetSum",
            Self::AggregateGetRowNum => "GetRowNum",
            Self::AggregateGetAvg => "GetAvg",
            Self::AggregateGetStd => "GetStd",
            Self::AggregateGetMedian => "GetMedian",
            Self::AuthenticationGetAuthenticationToken => "GetAuthenticationToken",
            Self::AuthenticationWhoAmI => "WhoAmI",
            Self::BootstrapNodeGetAllBootstrapNodes => "GetAllBootstrapNodes",
            Self::ClientMetaGetClusterId => "GetClusterId",
            Self::ClientMetaGetActiveMaster => "GetActiveMaster",
            Self::ClientMetaGetMasters => "GetMasters",
            Self::ClientMetaGetMetaRegionLocations => "GetMetaRegionLocations",
            Self::ClientMetaGetBootstrapNodes => "GetBootstrapNodes",
            Self::ClientGet => "Get",
            Self::ClientMutate => "Mutate",
            Self::ClientScan => "Scan",
            Self::ClientBulkLoadHFile => "BulkLoadHFile",
            Self::ClientPrepareBulkLoad => "PrepareBulkLoad",
            Self::ClientCleanupBulkLoad => "CleanupBulkLoad",
            Self::ClientExecService => "ExecService",
            Self::ClientExecRegionServerService => "ExecRegionServerService",
            Self::ClientMulti => "Multi",
            Self::ConnectionRegistryGetConnectionRegistry => "GetConnectionRegistry",
            Self::HbckSetTableStateInMeta => "SetTableStateInMeta",
            Self::HbckSetRegionStateInMeta => "SetRegionStateInMeta",
            Self::HbckAssigns => "Assigns",
            Self::HbckUnassigns => "Unassigns",
            Self::HbckBypassProcedure => "BypassProcedure",
            Self::HbckScheduleServerCrashProcedure => "ScheduleServerCrashProcedure",
            Self::HbckScheduleSCPsForUnknownServers => "ScheduleSCPsForUnknownServers",
            Self::HbckRunHbckChore => "RunHbckChore",
            Self::HbckFixMeta => "FixMeta",
            Self::LockRequestLock => "RequestLock",
            Self::LockLockHeartbeat => "LockHeartbeat",
            Self::MasterGetSchemaAlterStatus => "GetSchemaAlterStatus",
            Self::MasterGetTableDescriptors => "GetTableDescriptors",
            Self::MasterListTableDescriptorsByState => "ListTableDescriptorsByState",
            Self::MasterGetTableNames => "GetTableNames",
            Self::MasterListTableNamesByState => "ListTableNamesByState",
            Self::MasterGetClusterStatus => "GetClusterStatus",
            Self::MasterIsMasterRunning => "IsMasterRunning",
            Self::MasterAddColumn => "AddColumn",
            Self::MasterDeleteColumn => "DeleteColumn",
            Self::MasterModifyColumn => "ModifyColumn",
            Self::MasterMoveRegion => "MoveRegion",
            Self::MasterMergeTableRegions => "MergeTableRegions",
            Self::MasterAssignRegion => "AssignRegion",
            Self::MasterUnassignRegion => "UnassignRegion",
            Self::MasterOfflineRegion => "OfflineRegion",
            Self::MasterSplitRegion => "SplitRegion",
            Self::MasterTruncateRegion => "TruncateRegion",
            Self::MasterDeleteTable => "DeleteTable",
            Self::MasterTruncateTable => "truncateTable",
            Self::MasterEnableTable => "EnableTable",
            Self::MasterDisableTable => "DisableTable",
            Self::MasterModifyTable => "ModifyTable",
            Self::MasterFlushTable => "FlushTable",
            Self::MasterCreateTable => "CreateTable",
            Self::MasterShutdown => "Shutdown",
            Self::MasterStopMaster => "StopMaster",
            Self::MasterIsMasterInMaintenanceMode => "IsMasterInMaintenanceMode",
            Self::MasterBalance => "Balance",
            Self::MasterSetBalancerRunning => "SetBalancerRunning",
            Self::MasterIsBalancerEnabled => "IsBalancerEnabled",
            Self::MasterSetSplitOrMergeEnabled => "SetSplitOrMergeEnabled",
            Self::MasterIsSplitOrMergeEnabled => "IsSplitOrMergeEnabled",
            Self::MasterNormalize => "Normalize",
            Self::MasterSetNormalizerRunning => "SetNormalizerRunning",
            Self::MasterIsNormalizerEnabled => "IsNormalizerEnabled",
            Self::MasterRunCatalogScan => "RunCatalogScan",
            Self::MasterEnableCatalogJanitor => "EnableCatalogJanitor",
            Self::MasterIsCatalogJanitorEnabled => "IsCatalogJanitorEnabled",
            Self::MasterRunCleanerChore => "RunCleanerChore",
            Self::MasterSetCleanerChoreRunning => "SetCleanerChoreRunning",
            Self::MasterIsCleanerChoreEnabled => "IsCleanerChoreEnabled",
            Self::MasterExecMasterService => "ExecMasterService",
            Self::MasterSnapshot => "Snapshot",
            Self::MasterGetCompletedSnapshots => "GetCompletedSnapshots",
            Self::MasterDeleteSnapshot => "DeleteSnapshot",
            Self::MasterIsSnapshotDone => "IsSnapshotDone",
            Self::MasterRestoreSnapshot => "RestoreSnapshot",
            Self::MasterSwitchSnapshotCleanup => "SwitchSnapshotCleanup",
            Self::MasterIsSnapshotCleanupEnabled => "IsSnapshotCleanupEnabled",
            Self::MasterExecProcedure => "ExecProcedure",
            Self::MasterExecProcedureWithRet => "ExecProcedureWithRet",
            Self::MasterIsProcedureDone => "IsProcedureDone",
            Self::MasterModifyNamespace => "ModifyNamespace",
            Self::MasterCreateNamespace => "CreateNamespace",
            Self::MasterDeleteNamespace => "DeleteNamespace",
            Self::MasterGetNamespaceDescriptor => "GetNamespaceDescriptor",
            Self::MasterListNamespaceDescriptors => "ListNamespaceDescriptors",
            Self::MasterListTableDescriptorsByNamespace => "ListTableDescriptorsByNamespace",
            Self::MasterListTableNamesByNamespace => "ListTableNamesByNamespace",
            Self::MasterGetTableState => "GetTableState",
            Self::MasterSetQuota => "SetQuota",
            Self::MasterGetLastMajorCompactionTimestamp => "getLastMajorCompactionTimestamp",
            Self::MasterGetLastMajorCompactionTimestampForRegion => "getLastMajorCompactionTimestampForRegion",
            Self::MasterGetProcedureResult => "getProcedureResult",
            Self::MasterGetSecurityCapabilities => "getSecurityCapabilities",
            Self::MasterAbortProcedure => "AbortProcedure",
            Self::MasterGetProcedures => "GetProcedures",
            Self::MasterGetLocks => "GetLocks",
            Self::MasterAddReplicationPeer => "AddReplicationPeer",
            Self::MasterRemoveReplicationPeer => "RemoveReplicationPeer",
            Self::MasterEnableReplicationPeer => "EnableReplicationPeer",
            Self::MasterDisableReplicationPeer => "DisableReplicationPeer",
            Self::MasterGetReplicationPeerConfig => "GetReplicationPeerConfig",
            Self::MasterUpdateReplicationPeerConfig => "UpdateReplicationPeerConfig",
            Self::MasterListReplicationPeers => "ListReplicationPeers",
            Self::MasterIsReplicationPeerEnabled => "IsReplicationPeerEnabled",
            Self::MasterReplicationPeerModificationSwitch => "ReplicationPeerModificationSwitch",
            Self::MasterGetReplicationPeerModificationProcedures => "GetReplicationPeerModificationProcedures",
            Self::MasterIsReplicationPeerModificationEnabled => "IsReplicationPeerModificationEnabled",
            Self::MasterListDecommissionedRegionServers => "ListDecommissionedRegionServers",
            Self::MasterDecommissionRegionServers => "DecommissionRegionServers",
            Self::MasterRecommissionRegionServer => "RecommissionRegionServer",
            Self::MasterGetSpaceQuotaRegionSizes => "GetSpaceQuotaRegionSizes",
            Self::MasterGetQuotaStates => "GetQuotaStates",
            Self::MasterClearDeadServers => "ClearDeadServers",
            Self::MasterSwitchRpcThrottle => "SwitchRpcThrottle",
            Self::MasterIsRpcThrottleEnabled => "IsRpcThrottleEnabled",
            Self::MasterSwitchExceedThrottleQuota => "SwitchExceedThrottleQuota",
            Self::MasterGrant => "Grant",
            Self::MasterRevoke => "Revoke",
            Self::MasterGetUserPermissions => "GetUserPermissions",
            Self::MasterHasUserPermissions => "HasUserPermissions",
            Self::MasterListNamespaces => "ListNamespaces",
            Self::MasterGetLogEntries => "GetLogEntries",
            Self::MasterModifyTableStoreFileTracker => "ModifyTableStoreFileTracker",
            Self::MasterModifyColumnStoreFileTracker => "ModifyColumnStoreFileTracker",
            Self::MasterFlushMasterStore => "FlushMasterStore",
            Self::MasterTransitReplicationPeerSyncReplicationState => "TransitReplicationPeerSyncReplicationState",
            Self::MasterGetRSGroupInfo => "GetRSGroupInfo",
            Self::MasterGetRSGroupInfoOfTable => "GetRSGroupInfoOfTable",
            Self::MasterGetRSGroupInfoOfServer => "GetRSGroupInfoOfServer",
            Self::MasterMoveServers => "MoveServers",
            Self::MasterAddRSGroup => "AddRSGroup",
            Self::MasterRemoveRSGroup => "RemoveRSGroup",
            Self::MasterBalanceRSGroup => "BalanceRSGroup",
            Self::MasterListRSGroupInfos => "ListRSGroupInfos",
            Self::MasterRemoveServers => "RemoveServers",
            Self::MasterListTablesInRSGroup => "ListTablesInRSGroup",
            Self::MasterGetConfiguredNamespacesAndTablesInRSGroup => "GetConfiguredNamespacesAndTablesInRSGroup",
            Self::MasterRenameRSGroup => "RenameRSGroup",
            Self::MasterUpdateRSGroupConfig => "UpdateRSGroupConfig",
            Self::MultiRowMutationMutateRows => "MutateRows",
        }
    }
}

/// The types of [`Method::AccessControlGrant`].
#[derive(Clone, Copy, Debug)]
pub struct AccessControlGrant;

impl RpcMethod for AccessControlGrant {
    const METHOD: Method = Method::AccessControlGrant;
    type Request = pb::GrantRequest;
    type Response = pb::GrantResponse;
}

/// The types of [`Method::AccessControlRevoke`].
#[derive(Clone, Copy, Debug)]
pub struct AccessControlRevoke;

impl RpcMethod for AccessControlRevoke {
    const METHOD: Method = Method::AccessControlRevoke;
    type Request = pb::RevokeRequest;
    type Response = pb::RevokeResponse;
}

/// The types of [`Method::AccessControlGetUserPermissions`].
#[derive(Clone, Copy, Debug)]
pub struct AccessControlGetUserPermissions;

impl RpcMethod for AccessControlGetUserPermissions {
    const METHOD: Method = Method::AccessControlGetUserPermissions;
    type Request = pb::GetUserPermissionsRequest;
    type Response = pb::GetUserPermissionsResponse;
}

/// The types of [`Method::AccessControlCheckPermissions`].
#[derive(Clone, Copy, Debug)]
pub struct AccessControlCheckPermissions;

impl RpcMethod for AccessControlCheckPermissions {
    const METHOD: Method = Method::AccessControlCheckPermissions;
    type Request = pb::CheckPermissionsRequest;
    type Response = pb::CheckPermissionsResponse;
}

/// The types of [`Method::AccessControlHasPermission`].
#[derive(Clone, Copy, Debug)]
pub struct AccessControlHasPermission;

impl RpcMethod for AccessControlHasPermission {
    const METHOD: Method = Method::AccessControlHasPermission;
    type Request = pb::HasPermissionRequest;
    type Response = pb::HasPermissionResponse;
}

/// The types of [`Method::AdminGetRegionInfo`].
#[derive(Clone, Copy, Debug)]
pub struct AdminGetRegionInfo;

impl RpcMethod for AdminGetRegionInfo {
    const METHOD: Method = Method::AdminGetRegionInfo;
    type Request = pb::GetRegionInfoRequest;
    type Response = pb::GetRegionInfoResponse;
}

/// The types of [`Method::AdminGetStoreFile`].
#[derive(Clone, Copy, Debug)]
pub struct AdminGetStoreFile;

impl RpcMethod for AdminGetStoreFile {
    const METHOD: Method = Method::AdminGetStoreFile;
    type Request = pb::GetStoreFileRequest;
    type Response = pb::GetStoreFileResponse;
}

/// The types of [`Method::AdminGetOnlineRegion`].
#[derive(Clone, Copy, Debug)]
pub struct AdminGetOnlineRegion;

impl RpcMethod for AdminGetOnlineRegion {
    const METHOD: Method = Method::AdminGetOnlineRegion;
    type Request = pb::GetOnlineRegionRequest;
    type Response = pb::GetOnlineRegionResponse;
}

/// The types of [`Method::AdminOpenRegion`].
#[derive(Clone, Copy, Debug)]
pub struct AdminOpenRegion;

impl RpcMethod for AdminOpenRegion {
    const METHOD: Method = Method::AdminOpenRegion;
    type Request = pb::OpenRegionRequest;
    type Response = pb::OpenRegionResponse;
}

/// The types of [`Method::AdminWarmupRegion`].
#[derive(Clone, Copy, Debug)]
pub struct AdminWarmupRegion;

impl RpcMethod for AdminWarmupRegion {
    const METHOD: Method = Method::AdminWarmupRegion;
    type Request = pb::WarmupRegionRequest;
    type Response = pb::WarmupRegionResponse;
}

/// The types of [`Method::AdminCloseRegion`].
#[derive(Clone, Copy, Debug)]
pub struct AdminCloseRegion;

impl RpcMethod for AdminCloseRegion {
    const METHOD: Method = Method::AdminCloseRegion;
    type Request = pb::CloseRegionRequest;
    type Response = pb::CloseRegionResponse;
}

/// The types of [`Method::AdminFlushRegion`].
#[derive(Clone, Copy, Debug)]
pub struct AdminFlushRegion;

impl RpcMethod for AdminFlushRegion {
    const METHOD: Method = Method::AdminFlushRegion;
    type Request = pb::FlushRegionRequest;
    type Response = pb::FlushRegionResponse;
}

/// The types of [`Method::AdminCompactionSwitch`].
#[derive(Clone, Copy, Debug)]
pub struct AdminCompactionSwitch;

impl RpcMethod for AdminCompactionSwitch {
    const METHOD: Method = Method::AdminCompactionSwitch;
    type Request = pb::CompactionSwitchRequest;
    type Response = pb::CompactionSwitchResponse;
}

/// The types of [`Method::AdminCompactRegion`].
#[derive(Clone, Copy, Debug)]
pub struct AdminCompactRegion;

impl RpcMethod for AdminCompactRegion {
    const METHOD: Method = Method::AdminCompactRegion;
    type Request = pb::CompactRegionRequest;
    type Response = pb::CompactRegionResponse;
}

/// The types of [`Method::AdminReplicateWALEntry`].
#[derive(Clone, Copy, Debug)]
pub struct AdminReplicateWALEntry;

impl RpcMethod for AdminReplicateWALEntry {
    const METHOD: Method = Method::AdminReplicateWALEntry;
    type Request = pb::ReplicateWalEntryRequest;
    type Response = pb::ReplicateWalEntryResponse;
}

/// The types of [`Method::AdminReplay`].
#[derive(Clone, Copy, Debug)]
pub struct AdminReplay;

impl RpcMethod for AdminReplay {
    const METHOD: Method = Method::AdminReplay;
    type Request = pb::ReplicateWalEntryRequest;
    type Response = pb::ReplicateWalEntryResponse;
}

/// The types of [`Method::AdminRollWALWriter`].
#[derive(Clone, Copy, Debug)]
pub struct AdminRollWALWriter;

impl RpcMethod for AdminRollWALWriter {
    const METHOD: Method = Method::AdminRollWALWriter;
    type Request = pb::RollWalWriterRequest;
    type Response = pb::RollWalWriterResponse;
}

/// The types of [`Method::AdminGetServerInfo`].
#[derive(Clone, Copy, Debug)]
pub struct AdminGetServerInfo;

impl RpcMethod for AdminGetServerInfo {
    const METHOD: Method = Method::AdminGetServerInfo;
    type Request = pb::GetServerInfoRequest;
    type Response = pb::GetServerInfoResponse;
}

/// The types of [`Method::AdminStopServer`].
#[derive(Clone, Copy, Debug)]
pub struct AdminStopServer;

impl RpcMethod for AdminStopServer {
    const METHOD: Method = Method::AdminStopServer;
    type Request = pb::StopServerRequest;
    type Response = pb::StopServerResponse;
}

/// The types of [`Method::AdminUpdateFavoredNodes`].
#[derive(Clone, Copy, Debug)]
pub struct AdminUpdateFavoredNodes;

impl RpcMethod for AdminUpdateFavoredNodes {
    const METHOD: Method = Method::AdminUpdateFavoredNodes;
    type Request = pb::UpdateFavoredNodesRequest;
    type Response = pb::UpdateFavoredNodesResponse;
}

/// The types of [`Method::AdminUpdateConfiguration`].
#[derive(Clone, Copy, Debug)]
pub struct AdminUpdateConfiguration;

impl RpcMethod for AdminUpdateConfiguration {
    const METHOD: Method = Method::AdminUpdateConfiguration;
    type Request = pb::UpdateConfigurationRequest;
    type Response = pb::UpdateConfigurationResponse;
}

/// The types of [`Method::AdminGetRegionLoad`].
#[derive(Clone, Copy, Debug)]
pub struct AdminGetRegionLoad;

impl RpcMethod for AdminGetRegionLoad {
    const METHOD: Method = Method::AdminGetRegionLoad;
    type Request = pb::GetRegionLoadRequest;
    type Response = pb::GetRegionLoadResponse;
}

/// The types of [`Method::AdminClearCompactionQueues`].
#[derive(Clone, Copy, Debug)]
pub struct AdminClearCompactionQueues;

impl RpcMethod for AdminClearCompactionQueues {
    const METHOD: Method = Method::AdminClearCompactionQueues;
    type Request = pb::ClearCompactionQueuesRequest;
    type Response = pb::ClearCompactionQueuesResponse;
}

/// The types of [`Method::AdminClearRegionBlockCache`].
#[derive(Clone, Copy, Debug)]
pub struct AdminClearRegionBlockCache;

impl RpcMethod for AdminClearRegionBlockCache {
    const METHOD: Method = Method::AdminClearRegionBlockCache;
    type Request = pb::ClearRegionBlockCacheRequest;
    type Response = pb::ClearRegionBlockCacheResponse;
}

/// The types of [`Method::AdminGetSpaceQuotaSnapshots`].
#[derive(Clone, Copy, Debug)]
pub struct AdminGetSpaceQuotaSnapshots;

impl RpcMethod for AdminGetSpaceQuotaSnapshots {
    const METHOD: Method = Method::AdminGetSpaceQuotaSnapshots;
    type Request = pb::GetSpaceQuotaSnapshotsRequest;
    type Response = pb::GetSpaceQuotaSnapshotsResponse;
}

/// The types of [`Method::AdminExecuteProcedures`].
#[derive(Clone, Copy, Debug)]
pub struct AdminExecuteProcedures;

impl RpcMethod for AdminExecuteProcedures {
    const METHOD: Method = Method::AdminExecuteProcedures;
    type Request = pb::ExecuteProceduresRequest;
    type Response = pb::ExecuteProceduresResponse;
}

/// The types of [`Method::AdminGetSlowLogResponses`].
#[derive(Clone, Copy, Debug)]
pub struct AdminGetSlowLogResponses;

impl RpcMethod for AdminGetSlowLogResponses {
    const METHOD: Method = Method::AdminGetSlowLogResponses;
    type Request = pb::SlowLogResponseRequest;
    type Response = pb::SlowLogResponses;
}

/// The types of [`Method::AdminGetLargeLogResponses`].
#[derive(Clone, Copy, Debug)]
pub struct AdminGetLargeLogResponses;

impl RpcMethod for AdminGetLargeLogResponses {
    const METHOD: Method = Method::AdminGetLargeLogResponses;
    type Request = pb::SlowLogResponseRequest;
    type Response = pb::SlowLogResponses;
}

/// The types of [`Method::AdminClearSlowLogsResponses`].
#[derive(Clone, Copy, Debug)]
pub struct AdminClearSlowLogsResponses;

impl RpcMethod for AdminClearSlowLogsResponses {
    const METHOD: Method = Method::AdminClearSlowLogsResponses;
    type Request = pb::ClearSlowLogResponseRequest;
    type Response = pb::ClearSlowLogResponses;
}

/// The types of [`Method::AdminGetLogEntries`].
#[derive(Clone, Copy, Debug)]
pub struct AdminGetLogEntries;

impl RpcMethod for AdminGetLogEntries {
    const METHOD: Method = Method::AdminGetLogEntries;
    type Request = pb::LogRequest;
    type Response = pb::LogEntry;
}

/// The types of [`Method::AdminGetCachedFilesList`].
#[derive(Clone, Copy, Debug)]
pub struct AdminGetCachedFilesList;

impl RpcMethod for AdminGetCachedFilesList {
    const METHOD: Method = Method::AdminGetCachedFilesList;
    type Request = pb::GetCachedFilesListRequest;
    type Response = pb::GetCachedFilesListResponse;
}

/// The types of [`Method::AdminReplicateToReplica`].
#[derive(Clone, Copy, Debug)]
pub struct AdminReplicateToReplica;

impl RpcMethod for AdminReplicateToReplica {
    const METHOD: Method = Method::AdminReplicateToReplica;
    type Request = pb::ReplicateWalEntryRequest;
    type Response = pb::ReplicateWalEntryResponse;
}

/// The types of [`Method::AggregateGetMax`].
#[derive(Clone, Copy, Debug)]
pub struct AggregateGetMax;

impl RpcMethod for AggregateGetMax {
    const METHOD: Method = Method::AggregateGetMax;
    type Request = pb::AggregateRequest;
    type Response = pb::AggregateResponse;
}

/// The types of [`Method::AggregateGetMin`].
#[derive(Clone, Copy, Debug)]
pub struct AggregateGetMin;

impl RpcMethod for AggregateGetMin {
    const METHOD: Method = Method::AggregateGetMin;
    type Request = pb::AggregateRequest;
    type Response = pb::AggregateResponse;
}

/// The types of [`Method::AggregateGetSum`].
#[derive(Clone, Copy, Debug)]
pub struct AggregateGetSum;

impl RpcMethod for AggregateGetSum {
    const METHOD: Method = Method::AggregateGetSum;
    type Request = pb::AggregateRequest;
    type Response = pb::AggregateResponse;
}

/// The types of [`Method::AggregateGetRowNum`].
#[derive(Clone, Copy, Debug)]
pub struct AggregateGetRowNum;

impl RpcMethod for AggregateGetRowNum {
    const METHOD: Method = Method::AggregateGetRowNum;
    type Request = pb::AggregateRequest;
    type Response = pb::AggregateResponse;
}

/// The types of [`Method::AggregateGetAvg`].
#[derive(Clone, Copy, Debug)]
pub struct AggregateGetAvg;

impl RpcMethod for AggregateGetAvg {
    const METHOD: Method = Method::AggregateGetAvg;
    type Request = pb::AggregateRequest;
    type Response = pb::AggregateResponse;
}

/// The types of [`Method::AggregateGetStd`].
#[derive(Clone, Copy, Debug)]
pub struct AggregateGetStd;

impl RpcMethod for AggregateGetStd {
    const METHOD: Method = Method::AggregateGetStd;
    type Request = pb::AggregateRequest;
    type Response = pb::AggregateResponse;
}

/// The types of [`Method::AggregateGetMedian`].
#[derive(Clone, Copy, Debug)]
pub struct AggregateGetMedian;

impl RpcMethod for AggregateGetMedian {
    const METHOD: Method = Method::AggregateGetMedian;
    type Request = pb::AggregateRequest;
    type Response = pb::AggregateResponse;
}

/// The types of [`Method::AuthenticationGetAuthenticationToken`].
#[derive(Clone, Copy, Debug)]
pub struct AuthenticationGetAuthenticationToken;

impl RpcMethod for AuthenticationGetAuthenticationToken {
    const METHOD: Method = Method::AuthenticationGetAuthenticationToken;
    type Request = pb::GetAuthenticationTokenRequest;
    type Response = pb::GetAuthenticationTokenResponse;
}

/// The types of [`Method::AuthenticationWhoAmI`].
#[derive(Clone, Copy, Debug)]
pub struct AuthenticationWhoAmI;

impl RpcMethod for AuthenticationWhoAmI {
    const METHOD: Method = Method::AuthenticationWhoAmI;
    type Request = pb::WhoAmIRequest;
    type Response = pb::WhoAmIResponse;
}

/// The types of [`Method::BootstrapNodeGetAllBootstrapNodes`].
#[derive(Clone, Copy, Debug)]
pub struct BootstrapNodeGetAllBootstrapNodes;

impl RpcMethod for BootstrapNodeGetAllBootstrapNodes {
    const METHOD: Method = Method::BootstrapNodeGetAllBootstrapNodes;
    type Request = pb::GetAllBootstrapNodesRequest;
    type Response = pb::GetAllBootstrapNodesResponse;
}

/// The types of [`Method::ClientMetaGetClusterId`].
#[derive(Clone, Copy, Debug)]
pub struct ClientMetaGetClusterId;

impl RpcMethod for ClientMetaGetClusterId {
    const METHOD: Method = Method::ClientMetaGetClusterId;
    type Request = pb::GetClusterIdRequest;
    type Response = pb::GetClusterIdResponse;
}

/// The types of [`Method::ClientMetaGetActiveMaster`].
#[derive(Clone, Copy, Debug)]
pub struct ClientMetaGetActiveMaster;

impl RpcMethod for ClientMetaGetActiveMaster {
    const METHOD: Method = Method::ClientMetaGetActiveMaster;
    type Request = pb::GetActiveMasterRequest;
    type Response = pb::GetActiveMasterResponse;
}

/// The types of [`Method::ClientMetaGetMasters`].
#[derive(Clone, Copy, Debug)]
pub struct ClientMetaGetMasters;

impl RpcMethod for ClientMetaGetMasters {
    const METHOD: Method = Method::ClientMetaGetMasters;
    type Request = pb::GetMastersRequest;
    type Response = pb::GetMastersResponse;
}

/// The types of [`Method::ClientMetaGetMetaRegionLocations`].
#[derive(Clone, Copy, Debug)]
pub struct ClientMetaGetMetaRegionLocations;

impl RpcMethod for ClientMetaGetMetaRegionLocations {
    const METHOD: Method = Method::ClientMetaGetMetaRegionLocations;
    type Request = pb::GetMetaRegionLocationsRequest;
    type Response = pb::GetMetaRegionLocationsResponse;
}

/// The types of [`Method::ClientMetaGetBootstrapNodes`].
#[derive(Clone, Copy, Debug)]
pub struct ClientMetaGetBootstrapNodes;

impl RpcMethod for ClientMetaGetBootstrapNodes {
    const METHOD: Method = Method::ClientMetaGetBootstrapNodes;
    type Request = pb::GetBootstrapNodesRequest;
    type Response = pb::GetBootstrapNodesResponse;
}

/// The types of [`Method::ClientGet`].
#[derive(Clone, Copy, Debug)]
pub struct ClientGet;

impl RpcMethod for ClientGet {
    const METHOD: Method = Method::ClientGet;
    type Request = pb::GetRequest;
    type Response = pb::GetResponse;
}

/// The types of [`Method::ClientMutate`].
#[derive(Clone, Copy, Debug)]
pub struct ClientMutate;

impl RpcMethod for ClientMutate {
    const METHOD: Method = Method::ClientMutate;
    type Request = pb::MutateRequest;
    type Response = pb::MutateResponse;
}

/// The types of [`Method::ClientScan`].
#[derive(Clone, Copy, Debug)]
pub struct ClientScan;

impl RpcMethod for ClientScan {
    const METHOD: Method = Method::ClientScan;
    type Request = pb::ScanRequest;
    type Response = pb::ScanResponse;
}

/// The types of [`Method::ClientBulkLoadHFile`].
#[derive(Clone, Copy, Debug)]
pub struct ClientBulkLoadHFile;

impl RpcMethod for ClientBulkLoadHFile {
    const METHOD: Method = Method::ClientBulkLoadHFile;
    type Request = pb::BulkLoadHFileRequest;
    type Response = pb::BulkLoadHFileResponse;
}

/// The types of [`Method::ClientPrepareBulkLoad`].
#[derive(Clone, Copy, Debug)]
pub struct ClientPrepareBulkLoad;

impl RpcMethod for ClientPrepareBulkLoad {
    const METHOD: Method = Method::ClientPrepareBulkLoad;
    type Request = pb::PrepareBulkLoadRequest;
    type Response = pb::PrepareBulkLoadResponse;
}

/// The types of [`Method::ClientCleanupBulkLoad`].
#[derive(Clone, Copy, Debug)]
pub struct ClientCleanupBulkLoad;

impl RpcMethod for ClientCleanupBulkLoad {
    const METHOD: Method = Method::ClientCleanupBulkLoad;
    type Request = pb::CleanupBulkLoadRequest;
    type Response = pb::CleanupBulkLoadResponse;
}

/// The types of [`Method::ClientExecService`].
#[derive(Clone, Copy, Debug)]
pub struct ClientExecService;

impl RpcMethod for ClientExecService {
    const METHOD: Method = Method::ClientExecService;
    type Request = pb::CoprocessorServiceRequest;
    type Response = pb::CoprocessorServiceResponse;
}

/// The types of [`Method::ClientExecRegionServerService`].
#[derive(Clone, Copy, Debug)]
pub struct ClientExecRegionServerService;

impl RpcMethod for ClientExecRegionServerService {
    const METHOD: Method = Method::ClientExecRegionServerService;
    type Request = pb::CoprocessorServiceRequest;
    type Response = pb::CoprocessorServiceResponse;
}

/// The types of [`Method::ClientMulti`].
#[derive(Clone, Copy, Debug)]
pub struct ClientMulti;

impl RpcMethod for ClientMulti {
    const METHOD: Method = Method::ClientMulti;
    type Request = pb::MultiRequest;
    type Response = pb::MultiResponse;
}

/// The types of [`Method::ConnectionRegistryGetConnectionRegistry`].
#[derive(Clone, Copy, Debug)]
pub struct ConnectionRegistryGetConnectionRegistry;

impl RpcMethod for ConnectionRegistryGetConnectionRegistry {
    const METHOD: Method = Method::ConnectionRegistryGetConnectionRegistry;
    type Request = pb::GetConnectionRegistryRequest;
    type Response = pb::GetConnectionRegistryResponse;
}

/// The types of [`Method::HbckSetTableStateInMeta`].
#[derive(Clone, Copy, Debug)]
pub struct HbckSetTableStateInMeta;

impl RpcMethod for HbckSetTableStateInMeta {
    const METHOD: Method = Method::HbckSetTableStateInMeta;
    type Request = pb::SetTableStateInMetaRequest;
    type Response = pb::GetTableStateResponse;
}

/// The types of [`Method::HbckSetRegionStateInMeta`].
#[derive(Clone, Copy, Debug)]
pub struct HbckSetRegionStateInMeta;

impl RpcMethod for HbckSetRegionStateInMeta {
    const METHOD: Method = Method::HbckSetRegionStateInMeta;
    type Request = pb::SetRegionStateInMetaRequest;
    type Response = pb::SetRegionStateInMetaResponse;
}

/// The types of [`Method::HbckAssigns`].
#[derive(Clone, Copy, Debug)]
pub struct HbckAssigns;

impl RpcMethod for HbckAssigns {
    const METHOD: Method = Method::HbckAssigns;
    type Request = pb::AssignsRequest;
    type Response = pb::AssignsResponse;
}

/// The types of [`Method::HbckUnassigns`].
#[derive(Clone, Copy, Debug)]
pub struct HbckUnassigns;

impl RpcMethod for HbckUnassigns {
    const METHOD: Method = Method::HbckUnassigns;
    type Request = pb::UnassignsRequest;
    type Response = pb::UnassignsResponse;
}

/// The types of [`Method::HbckBypassProcedure`].
#[derive(Clone, Copy, Debug)]
pub struct HbckBypassProcedure;

impl RpcMethod for HbckBypassProcedure {
    const METHOD: Method = Method::HbckBypassProcedure;
    type Request = pb::BypassProcedureRequest;
    type Response = pb::BypassProcedureResponse;
}

/// The types of [`Method::HbckScheduleServerCrashProcedure`].
#[derive(Clone, Copy, Debug)]
pub struct HbckScheduleServerCrashProcedure;

impl RpcMethod for HbckScheduleServerCrashProcedure {
    const METHOD: Method = Method::HbckScheduleServerCrashProcedure;
    type Request = pb::ScheduleServerCrashProcedureRequest;
    type Response = pb::ScheduleServerCrashProcedureResponse;
}

/// The types of [`Method::HbckScheduleSCPsForUnknownServers`].
#[derive(Clone, Copy, Debug)]
pub struct HbckScheduleSCPsForUnknownServers;

impl RpcMethod for HbckScheduleSCPsForUnknownServers {
    const METHOD: Method = Method::HbckScheduleSCPsForUnknownServers;
    type Request = pb::ScheduleScPsForUnknownServersRequest;
    type Response = pb::ScheduleScPsForUnknownServersResponse;
}

/// The types of [`Method::HbckRunHbckChore`].
#[derive(Clone, Copy, Debug)]
pub struct HbckRunHbckChore;

impl RpcMethod for HbckRunHbckChore {
    const METHOD: Method = Method::HbckRunHbckChore;
    type Request = pb::RunHbckChoreRequest;
    type Response = pb::RunHbckChoreResponse;
}

/// The types of [`Method::HbckFixMeta`].
#[derive(Clone, Copy, Debug)]
pub struct HbckFixMeta;

impl RpcMethod for HbckFixMeta {
    const METHOD: Method = Method::HbckFixMeta;
    type Request = pb::FixMetaRequest;
    type Response = pb::FixMetaResponse;
}

/// The types of [`Method::LockRequestLock`].
#[derive(Clone, Copy, Debug)]
pub struct LockRequestLock;

impl RpcMethod for LockRequestLock {
    const METHOD: Method = Method::LockRequestLock;
    type Request = pb::LockRequest;
    type Response = pb::LockResponse;
}

/// The types of [`Method::LockLockHeartbeat`].
#[derive(Clone, Copy, Debug)]
pub struct LockLockHeartbeat;

impl RpcMethod for LockLockHeartbeat {
    const METHOD: Method = Method::LockLockHeartbeat;
    type Request = pb::LockHeartbeatRequest;
    type Response = pb::LockHeartbeatResponse;
}

/// The types of [`Method::MasterGetSchemaAlterStatus`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetSchemaAlterStatus;

impl RpcMethod for MasterGetSchemaAlterStatus {
    const METHOD: Method = Method::MasterGetSchemaAlterStatus;
    type Request = pb::GetSchemaAlterStatusRequest;
    type Response = pb::GetSchemaAlterStatusResponse;
}

/// The types of [`Method::MasterGetTableDescriptors`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetTableDescriptors;

impl RpcMethod for MasterGetTableDescriptors {
    const METHOD: Method = Method::MasterGetTableDescriptors;
    type Request = pb::GetTableDescriptorsRequest;
    type Response = pb::GetTableDescriptorsResponse;
}

/// The types of [`Method::MasterListTableDescriptorsByState`].
#[derive(Clone, Copy, Debug)]
pub struct MasterListTableDescriptorsByState;

impl RpcMethod for MasterListTableDescriptorsByState {
    const METHOD: Method = Method::MasterListTableDescriptorsByState;
    type Request = pb::ListTableDescriptorsByStateRequest;
    type Response = pb::ListTableDescriptorsByStateResponse;
}

/// The types of [`Method::MasterGetTableNames`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetTableNames;

impl RpcMethod for MasterGetTableNames {
    const METHOD: Method = Method::MasterGetTableNames;
    type Request = pb::GetTableNamesRequest;
    type Response = pb::GetTableNamesResponse;
}

/// The types of [`Method::MasterListTableNamesByState`].
#[derive(Clone, Copy, Debug)]
pub struct MasterListTableNamesByState;

impl RpcMethod for MasterListTableNamesByState {
    const METHOD: Method = Method::MasterListTableNamesByState;
    type Request = pb::ListTableNamesByStateRequest;
    type Response = pb::ListTableNamesByStateResponse;
}

/// The types of [`Method::MasterGetClusterStatus`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetClusterStatus;

impl RpcMethod for MasterGetClusterStatus {
    const METHOD: Method = Method::MasterGetClusterStatus;
    type Request = pb::GetClusterStatusRequest;
    type Response = pb::GetClusterStatusResponse;
}

/// The types of [`Method::MasterIsMasterRunning`].
#[derive(Clone, Copy, Debug)]
pub struct MasterIsMasterRunning;

impl RpcMethod for MasterIsMasterRunning {
    const METHOD: Method = Method::MasterIsMasterRunning;
    type Request = pb::IsMasterRunningRequest;
    type Response = pb::IsMasterRunningResponse;
}

/// The types of [`Method::MasterAddColumn`].
#[derive(Clone, Copy, Debug)]
pub struct MasterAddColumn;

impl RpcMethod for MasterAddColumn {
    const METHOD: Method = Method::MasterAddColumn;
    type Request = pb::AddColumnRequest;
    type Response = pb::AddColumnResponse;
}

/// The types of [`Method::MasterDeleteColumn`].
#[derive(Clone, Copy, Debug)]
pub struct MasterDeleteColumn;

impl RpcMethod for MasterDeleteColumn {
    const METHOD: Method = Method::MasterDeleteColumn;
    type Request = pb::DeleteColumnRequest;
    type Response = pb::DeleteColumnResponse;
}

/// The types of [`Method::MasterModifyColumn`].
#[derive(Clone, Copy, Debug)]
pub struct MasterModifyColumn;

impl RpcMethod for MasterModifyColumn {
    const METHOD: Method = Method::MasterModifyColumn;
    type Request = pb::ModifyColumnRequest;
    type Response = pb::ModifyColumnResponse;
}

/// The types of [`Method::MasterMoveRegion`].
#[derive(Clone, Copy, Debug)]
pub struct MasterMoveRegion;

impl RpcMethod for MasterMoveRegion {
    const METHOD: Method = Method::MasterMoveRegion;
    type Request = pb::MoveRegionRequest;
    type Response = pb::MoveRegionResponse;
}

/// The types of [`Method::MasterMergeTableRegions`].
#[derive(Clone, Copy, Debug)]
pub struct MasterMergeTableRegions;

impl RpcMethod for MasterMergeTableRegions {
    const METHOD: Method = Method::MasterMergeTableRegions;
    type Request = pb::MergeTableRegionsRequest;
    type Response = pb::MergeTableRegionsResponse;
}

/// The types of [`Method::MasterAssignRegion`].
#[derive(Clone, Copy, Debug)]
pub struct MasterAssignRegion;

impl RpcMethod for MasterAssignRegion {
    const METHOD: Method = Method::MasterAssignRegion;
    type Request = pb::AssignRegionRequest;
    type Response = pb::AssignRegionResponse;
}

/// The types of [`Method::MasterUnassignRegion`].
#[derive(Clone, Copy, Debug)]
pub struct MasterUnassignRegion;

impl RpcMethod for MasterUnassignRegion {
    const METHOD: Method = Method::MasterUnassignRegion;
    type Request = pb::UnassignRegionRequest;
    type Response = pb::UnassignRegionResponse;
}

/// The types of [`Method::MasterOfflineRegion`].
#[derive(Clone, Copy, Debug)]
pub struct MasterOfflineRegion;

impl RpcMethod for MasterOfflineRegion {
    const METHOD: Method = Method::MasterOfflineRegion;
    type Request = pb::OfflineRegionRequest;
    type Response = pb::OfflineRegionResponse;
}

/// The types of [`Method::MasterSplitRegion`].
#[derive(Clone, Copy, Debug)]
pub struct MasterSplitRegion;

impl RpcMethod for MasterSplitRegion {
    const METHOD: Method = Method::MasterSplitRegion;
    type Request = pb::SplitTableRegionRequest;
    type Response = pb::SplitTableRegionResponse;
}

/// The types of [`Method::MasterTruncateRegion`].
#[derive(Clone, Copy, Debug)]
pub struct MasterTruncateRegion;

impl RpcMethod for MasterTruncateRegion {
    const METHOD: Method = Method::MasterTruncateRegion;
    type Request = pb::TruncateRegionRequest;
    type Response = pb::TruncateRegionResponse;
}

/// The types of [`Method::MasterDeleteTable`].
#[derive(Clone, Copy, Debug)]
pub struct MasterDeleteTable;

impl RpcMethod for MasterDeleteTable {
    const METHOD: Method = Method::MasterDeleteTable;
    type Request = pb::DeleteTableRequest;
    type Response = pb::DeleteTableResponse;
}

/// The types of [`Method::MasterTruncateTable`].
#[derive(Clone, Copy, Debug)]
pub struct MasterTruncateTable;

impl RpcMethod for MasterTruncateTable {
    const METHOD: Method = Method::MasterTruncateTable;
    type Request = pb::TruncateTableRequest;
    type Response = pb::TruncateTableResponse;
}

/// The types of [`Method::MasterEnableTable`].
#[derive(Clone, Copy, Debug)]
pub struct MasterEnableTable;

impl RpcMethod for MasterEnableTable {
    const METHOD: Method = Method::MasterEnableTable;
    type Request = pb::EnableTableRequest;
    type Response = pb::EnableTableResponse;
}

/// The types of [`Method::MasterDisableTable`].
#[derive(Clone, Copy, Debug)]
pub struct MasterDisableTable;

impl RpcMethod for MasterDisableTable {
    const METHOD: Method = Method::MasterDisableTable;
    type Request = pb::DisableTableRequest;
    type Response = pb::DisableTableResponse;
}

/// The types of [`Method::MasterModifyTable`].
#[derive(Clone, Copy, Debug)]
pub struct MasterModifyTable;

impl RpcMethod for MasterModifyTable {
    const METHOD: Method = Method::MasterModifyTable;
    type Request = pb::ModifyTableRequest;
    type Response = pb::ModifyTableResponse;
}

/// The types of [`Method::MasterFlushTable`].
#[derive(Clone, Copy, Debug)]
pub struct MasterFlushTable;

impl RpcMethod for MasterFlushTable {
    const METHOD: Method = Method::MasterFlushTable;
    type Request = pb::FlushTableRequest;
    type Response = pb::FlushTableResponse;
}

/// The types of [`Method::MasterCreateTable`].
#[derive(Clone, Copy, Debug)]
pub struct MasterCreateTable;

impl RpcMethod for MasterCreateTable {
    const METHOD: Method = Method::MasterCreateTable;
    type Request = pb::CreateTableRequest;
    type Response = pb::CreateTableResponse;
}

/// The types of [`Method::MasterShutdown`].
#[derive(Clone, Copy, Debug)]
pub struct MasterShutdown;

impl RpcMethod for MasterShutdown {
    const METHOD: Method = Method::MasterShutdown;
    type Request = pb::ShutdownRequest;
    type Response = pb::ShutdownResponse;
}

/// The types of [`Method::MasterStopMaster`].
#[derive(Clone, Copy, Debug)]
pub struct MasterStopMaster;

impl RpcMethod for MasterStopMaster {
    const METHOD: Method = Method::MasterStopMaster;
    type Request = pb::StopMasterRequest;
    type Response = pb::StopMasterResponse;
}

/// The types of [`Method::MasterIsMasterInMaintenanceMode`].
#[derive(Clone, Copy, Debug)]
pub struct MasterIsMasterInMaintenanceMode;

impl RpcMethod for MasterIsMasterInMaintenanceMode {
    const METHOD: Method = Method::MasterIsMasterInMaintenanceMode;
    type Request = pb::IsInMaintenanceModeRequest;
    type Response = pb::IsInMaintenanceModeResponse;
}

/// The types of [`Method::MasterBalance`].
#[derive(Clone, Copy, Debug)]
pub struct MasterBalance;

impl RpcMethod for MasterBalance {
    const METHOD: Method = Method::MasterBalance;
    type Request = pb::BalanceRequest;
    type Response = pb::BalanceResponse;
}

/// The types of [`Method::MasterSetBalancerRunning`].
#[derive(Clone, Copy, Debug)]
pub struct MasterSetBalancerRunning;

impl RpcMethod for MasterSetBalancerRunning {
    const METHOD: Method = Method::MasterSetBalancerRunning;
    type Request = pb::SetBalancerRunningRequest;
    type Response = pb::SetBalancerRunningResponse;
}

/// The types of [`Method::MasterIsBalancerEnabled`].
#[derive(Clone, Copy, Debug)]
pub struct MasterIsBalancerEnabled;

impl RpcMethod for MasterIsBalancerEnabled {
    const METHOD: Method = Method::MasterIsBalancerEnabled;
    type Request = pb::IsBalancerEnabledRequest;
    type Response = pb::IsBalancerEnabledResponse;
}

/// The types of [`Method::MasterSetSplitOrMergeEnabled`].
#[derive(Clone, Copy, Debug)]
pub struct MasterSetSplitOrMergeEnabled;

impl RpcMethod for MasterSetSplitOrMergeEnabled {
    const METHOD: Method = Method::MasterSetSplitOrMergeEnabled;
    type Request = pb::SetSplitOrMergeEnabledRequest;
    type Response = pb::SetSplitOrMergeEnabledResponse;
}

/// The types of [`Method::MasterIsSplitOrMergeEnabled`].
#[derive(Clone, Copy, Debug)]
pub struct MasterIsSplitOrMergeEnabled;

impl RpcMethod for MasterIsSplitOrMergeEnabled {
    const METHOD: Method = Method::MasterIsSplitOrMergeEnabled;
    type Request = pb::IsSplitOrMergeEnabledRequest;
    type Response = pb::IsSplitOrMergeEnabledResponse;
}

/// The types of [`Method::MasterNormalize`].
#[derive(Clone, Copy, Debug)]
pub struct MasterNormalize;

impl RpcMethod for MasterNormalize {
    const METHOD: Method = Method::MasterNormalize;
    type Request = pb::NormalizeRequest;
    type Response = pb::NormalizeResponse;
}

/// The types of [`Method::MasterSetNormalizerRunning`].
#[derive(Clone, Copy, Debug)]
pub struct MasterSetNormalizerRunning;

impl RpcMethod for MasterSetNormalizerRunning {
    const METHOD: Method = Method::MasterSetNormalizerRunning;
    type Request = pb::SetNormalizerRunningRequest;
    type Response = pb::SetNormalizerRunningResponse;
}

/// The types of [`Method::MasterIsNormalizerEnabled`].
#[derive(Clone, Copy, Debug)]
pub struct MasterIsNormalizerEnabled;

impl RpcMethod for MasterIsNormalizerEnabled {
    const METHOD: Method = Method::MasterIsNormalizerEnabled;
    type Request = pb::IsNormalizerEnabledRequest;
    type Response = pb::IsNormalizerEnabledResponse;
}

/// The types of [`Method::MasterRunCatalogScan`].
#[derive(Clone, Copy, Debug)]
pub struct MasterRunCatalogScan;

impl RpcMethod for MasterRunCatalogScan {
    const METHOD: Method = Method::MasterRunCatalogScan;
    type Request = pb::RunCatalogScanRequest;
    type Response = pb::RunCatalogScanResponse;
}

/// The types of [`Method::MasterEnableCatalogJanitor`].
#[derive(Clone, Copy, Debug)]
pub struct MasterEnableCatalogJanitor;

impl RpcMethod for MasterEnableCatalogJanitor {
    const METHOD: Method = Method::MasterEnableCatalogJanitor;
    type Request = pb::EnableCatalogJanitorRequest;
    type Response = pb::EnableCatalogJanitorResponse;
}

/// The types of [`Method::MasterIsCatalogJanitorEnabled`].
#[derive(Clone, Copy, Debug)]
pub struct MasterIsCatalogJanitorEnabled;

impl RpcMethod for MasterIsCatalogJanitorEnabled {
    const METHOD: Method = Method::MasterIsCatalogJanitorEnabled;
    type Request = pb::IsCatalogJanitorEnabledRequest;
    type Response = pb::IsCatalogJanitorEnabledResponse;
}

/// The types of [`Method::MasterRunCleanerChore`].
#[derive(Clone, Copy, Debug)]
pub struct MasterRunCleanerChore;

impl RpcMethod for MasterRunCleanerChore {
    const METHOD: Method = Method::MasterRunCleanerChore;
    type Request = pb::RunCleanerChoreRequest;
    type Response = pb::RunCleanerChoreResponse;
}

/// The types of [`Method::MasterSetCleanerChoreRunning`].
#[derive(Clone, Copy, Debug)]
pub struct MasterSetCleanerChoreRunning;

impl RpcMethod for MasterSetCleanerChoreRunning {
    const METHOD: Method = Method::MasterSetCleanerChoreRunning;
    type Request = pb::SetCleanerChoreRunningRequest;
    type Response = pb::SetCleanerChoreRunningResponse;
}

/// The types of [`Method::MasterIsCleanerChoreEnabled`].
#[derive(Clone, Copy, Debug)]
pub struct MasterIsCleanerChoreEnabled;

impl RpcMethod for MasterIsCleanerChoreEnabled {
    const METHOD: Method = Method::MasterIsCleanerChoreEnabled;
    type Request = pb::IsCleanerChoreEnabledRequest;
    type Response = pb::IsCleanerChoreEnabledResponse;
}

/// The types of [`Method::MasterExecMasterService`].
#[derive(Clone, Copy, Debug)]
pub struct MasterExecMasterService;

impl RpcMethod for MasterExecMasterService {
    const METHOD: Method = Method::MasterExecMasterService;
    type Request = pb::CoprocessorServiceRequest;
    type Response = pb::CoprocessorServiceResponse;
}

/// The types of [`Method::MasterSnapshot`].
#[derive(Clone, Copy, Debug)]
pub struct MasterSnapshot;

impl RpcMethod for MasterSnapshot {
    const METHOD: Method = Method::MasterSnapshot;
    type Request = pb::SnapshotRequest;
    type Response = pb::SnapshotResponse;
}

/// The types of [`Method::MasterGetCompletedSnapshots`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetCompletedSnapshots;

impl RpcMethod for MasterGetCompletedSnapshots {
    const METHOD: Method = Method::MasterGetCompletedSnapshots;
    type Request = pb::GetCompletedSnapshotsRequest;
    type Response = pb::GetCompletedSnapshotsResponse;
}

/// The types of [`Method::MasterDeleteSnapshot`].
#[derive(Clone, Copy, Debug)]
pub struct MasterDeleteSnapshot;

impl RpcMethod for MasterDeleteSnapshot {
    const METHOD: Method = Method::MasterDeleteSnapshot;
    type Request = pb::DeleteSnapshotRequest;
    type Response = pb::DeleteSnapshotResponse;
}

/// The types of [`Method::MasterIsSnapshotDone`].
#[derive(Clone, Copy, Debug)]
pub struct MasterIsSnapshotDone;

impl RpcMethod for MasterIsSnapshotDone {
    const METHOD: Method = Method::MasterIsSnapshotDone;
    type Request = pb::IsSnapshotDoneRequest;
    type Response = pb::IsSnapshotDoneResponse;
}

/// The types of [`Method::MasterRestoreSnapshot`].
#[derive(Clone, Copy, Debug)]
pub struct MasterRestoreSnapshot;

impl RpcMethod for MasterRestoreSnapshot {
    const METHOD: Method = Method::MasterRestoreSnapshot;
    type Request = pb::RestoreSnapshotRequest;
    type Response = pb::RestoreSnapshotResponse;
}

/// The types of [`Method::MasterSwitchSnapshotCleanup`].
#[derive(Clone, Copy, Debug)]
pub struct MasterSwitchSnapshotCleanup;

impl RpcMethod for MasterSwitchSnapshotCleanup {
    const METHOD: Method = Method::MasterSwitchSnapshotCleanup;
    type Request = pb::SetSnapshotCleanupRequest;
    type Response = pb::SetSnapshotCleanupResponse;
}

/// The types of [`Method::MasterIsSnapshotCleanupEnabled`].
#[derive(Clone, Copy, Debug)]
pub struct MasterIsSnapshotCleanupEnabled;

impl RpcMethod for MasterIsSnapshotCleanupEnabled {
    const METHOD: Method = Method::MasterIsSnapshotCleanupEnabled;
    type Request = pb::IsSnapshotCleanupEnabledRequest;
    type Response = pb::IsSnapshotCleanupEnabledResponse;
}

/// The types of [`Method::MasterExecProcedure`].
#[derive(Clone, Copy, Debug)]
pub struct MasterExecProcedure;

impl RpcMethod for MasterExecProcedure {
    const METHOD: Method = Method::MasterExecProcedure;
    type Request = pb::ExecProcedureRequest;
    type Response = pb::ExecProcedureResponse;
}

/// The types of [`Method::MasterExecProcedureWithRet`].
#[derive(Clone, Copy, Debug)]
pub struct MasterExecProcedureWithRet;

impl RpcMethod for MasterExecProcedureWithRet {
    const METHOD: Method = Method::MasterExecProcedureWithRet;
    type Request = pb::ExecProcedureRequest;
    type Response = pb::ExecProcedureResponse;
}

/// The types of [`Method::MasterIsProcedureDone`].
#[derive(Clone, Copy, Debug)]
pub struct MasterIsProcedureDone;

impl RpcMethod for MasterIsProcedureDone {
    const METHOD: Method = Method::MasterIsProcedureDone;
    type Request = pb::IsProcedureDoneRequest;
    type Response = pb::IsProcedureDoneResponse;
}

/// The types of [`Method::MasterModifyNamespace`].
#[derive(Clone, Copy, Debug)]
pub struct MasterModifyNamespace;

impl RpcMethod for MasterModifyNamespace {
    const METHOD: Method = Method::MasterModifyNamespace;
    type Request = pb::ModifyNamespaceRequest;
    type Response = pb::ModifyNamespaceResponse;
}

/// The types of [`Method::MasterCreateNamespace`].
#[derive(Clone, Copy, Debug)]
pub struct MasterCreateNamespace;

impl RpcMethod for MasterCreateNamespace {
    const METHOD: Method = Method::MasterCreateNamespace;
    type Request = pb::CreateNamespaceRequest;
    type Response = pb::CreateNamespaceResponse;
}

/// The types of [`Method::MasterDeleteNamespace`].
#[derive(Clone, Copy, Debug)]
pub struct MasterDeleteNamespace;

impl RpcMethod for MasterDeleteNamespace {
    const METHOD: Method = Method::MasterDeleteNamespace;
    type Request = pb::DeleteNamespaceRequest;
    type Response = pb::DeleteNamespaceResponse;
}

/// The types of [`Method::MasterGetNamespaceDescriptor`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetNamespaceDescriptor;

impl RpcMethod for MasterGetNamespaceDescriptor {
    const METHOD: Method = Method::MasterGetNamespaceDescriptor;
    type Request = pb::GetNamespaceDescriptorRequest;
    type Response = pb::GetNamespaceDescriptorResponse;
}

/// The types of [`Method::MasterListNamespaceDescriptors`].
#[derive(Clone, Copy, Debug)]
pub struct MasterListNamespaceDescriptors;

impl RpcMethod for MasterListNamespaceDescriptors {
    const METHOD: Method = Method::MasterListNamespaceDescriptors;
    type Request = pb::ListNamespaceDescriptorsRequest;
    type Response = pb::ListNamespaceDescriptorsResponse;
}

/// The types of [`Method::MasterListTableDescriptorsByNamespace`].
#[derive(Clone, Copy, Debug)]
pub struct MasterListTableDescriptorsByNamespace;

impl RpcMethod for MasterListTableDescriptorsByNamespace {
    const METHOD: Method = Method::MasterListTableDescriptorsByNamespace;
    type Request = pb::ListTableDescriptorsByNamespaceRequest;
    type Response = pb::ListTableDescriptorsByNamespaceResponse;
}

/// The types of [`Method::MasterListTableNamesByNamespace`].
#[derive(Clone, Copy, Debug)]
pub struct MasterListTableNamesByNamespace;

impl RpcMethod for MasterListTableNamesByNamespace {
    const METHOD: Method = Method::MasterListTableNamesByNamespace;
    type Request = pb::ListTableNamesByNamespaceRequest;
    type Response = pb::ListTableNamesByNamespaceResponse;
}

/// The types of [`Method::MasterGetTableState`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetTableState;

impl RpcMethod for MasterGetTableState {
    const METHOD: Method = Method::MasterGetTableState;
    type Request = pb::GetTableStateRequest;
    type Response = pb::GetTableStateResponse;
}

/// The types of [`Method::MasterSetQuota`].
#[derive(Clone, Copy, Debug)]
pub struct MasterSetQuota;

impl RpcMethod for MasterSetQuota {
    const METHOD: Method = Method::MasterSetQuota;
    type Request = pb::SetQuotaRequest;
    type Response = pb::SetQuotaResponse;
}

/// The types of [`Method::MasterGetLastMajorCompactionTimestamp`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetLastMajorCompactionTimestamp;

impl RpcMethod for MasterGetLastMajorCompactionTimestamp {
    const METHOD: Method = Method::MasterGetLastMajorCompactionTimestamp;
    type Request = pb::MajorCompactionTimestampRequest;
    type Response = pb::MajorCompactionTimestampResponse;
}

/// The types of [`Method::MasterGetLastMajorCompactionTimestampForRegion`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetLastMajorCompactionTimestampForRegion;

impl RpcMethod for MasterGetLastMajorCompactionTimestampForRegion {
    const METHOD: Method = Method::MasterGetLastMajorCompactionTimestampForRegion;
    type Request = pb::MajorCompactionTimestampForRegionRequest;
    type Response = pb::MajorCompactionTimestampResponse;
}

/// The types of [`Method::MasterGetProcedureResult`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetProcedureResult;

impl RpcMethod for MasterGetProcedureResult {
    const METHOD: Method = Method::MasterGetProcedureResult;
    type Request = pb::GetProcedureResultRequest;
    type Response = pb::GetProcedureResultResponse;
}

/// The types of [`Method::MasterGetSecurityCapabilities`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetSecurityCapabilities;

impl RpcMethod for MasterGetSecurityCapabilities {
    const METHOD: Method = Method::MasterGetSecurityCapabilities;
    type Request = pb::SecurityCapabilitiesRequest;
    type Response = pb::SecurityCapabilitiesResponse;
}

/// The types of [`Method::MasterAbortProcedure`].
#[derive(Clone, Copy, Debug)]
pub struct MasterAbortProcedure;

impl RpcMethod for MasterAbortProcedure {
    const METHOD: Method = Method::MasterAbortProcedure;
    type Request = pb::AbortProcedureRequest;
    type Response = pb::AbortProcedureResponse;
}

/// The types of [`Method::MasterGetProcedures`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetProcedures;

impl RpcMethod for MasterGetProcedures {
    const METHOD: Method = Method::MasterGetProcedures;
    type Request = pb::GetProceduresRequest;
    type Response = pb::GetProceduresResponse;
}

/// The types of [`Method::MasterGetLocks`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetLocks;

impl RpcMethod for MasterGetLocks {
    const METHOD: Method = Method::MasterGetLocks;
    type Request = pb::GetLocksRequest;
    type Response = pb::GetLocksResponse;
}

/// The types of [`Method::MasterAddReplicationPeer`].
#[derive(Clone, Copy, Debug)]
pub struct MasterAddReplicationPeer;

impl RpcMethod for MasterAddReplicationPeer {
    const METHOD: Method = Method::MasterAddReplicationPeer;
    type Request = pb::AddReplicationPeerRequest;
    type Response = pb::AddReplicationPeerResponse;
}

/// The types of [`Method::MasterRemoveReplicationPeer`].
#[derive(Clone, Copy, Debug)]
pub struct MasterRemoveReplicationPeer;

impl RpcMethod for MasterRemoveReplicationPeer {
    const METHOD: Method = Method::MasterRemoveReplicationPeer;
    type Request = pb::RemoveReplicationPeerRequest;
    type Response = pb::RemoveReplicationPeerResponse;
}

/// The types of [`Method::MasterEnableReplicationPeer`].
#[derive(Clone, Copy, Debug)]
pub struct MasterEnableReplicationPeer;

impl RpcMethod for MasterEnableReplicationPeer {
    const METHOD: Method = Method::MasterEnableReplicationPeer;
    type Request = pb::EnableReplicationPeerRequest;
    type Response = pb::EnableReplicationPeerResponse;
}

/// The types of [`Method::MasterDisableReplicationPeer`].
#[derive(Clone, Copy, Debug)]
pub struct MasterDisableReplicationPeer;

impl RpcMethod for MasterDisableReplicationPeer {
    const METHOD: Method = Method::MasterDisableReplicationPeer;
    type Request = pb::DisableReplicationPeerRequest;
    type Response = pb::DisableReplicationPeerResponse;
}

/// The types of [`Method::MasterGetReplicationPeerConfig`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetReplicationPeerConfig;

impl RpcMethod for MasterGetReplicationPeerConfig {
    const METHOD: Method = Method::MasterGetReplicationPeerConfig;
    type Request = pb::GetReplicationPeerConfigRequest;
    type Response = pb::GetReplicationPeerConfigResponse;
}

/// The types of [`Method::MasterUpdateReplicationPeerConfig`].
#[derive(Clone, Copy, Debug)]
pub struct MasterUpdateReplicationPeerConfig;

impl RpcMethod for MasterUpdateReplicationPeerConfig {
    const METHOD: Method = Method::MasterUpdateReplicationPeerConfig;
    type Request = pb::UpdateReplicationPeerConfigRequest;
    type Response = pb::UpdateReplicationPeerConfigResponse;
}

/// The types of [`Method::MasterListReplicationPeers`].
#[derive(Clone, Copy, Debug)]
pub struct MasterListReplicationPeers;

impl RpcMethod for MasterListReplicationPeers {
    const METHOD: Method = Method::MasterListReplicationPeers;
    type Request = pb::ListReplicationPeersRequest;
    type Response = pb::ListReplicationPeersResponse;
}

/// The types of [`Method::MasterIsReplicationPeerEnabled`].
#[derive(Clone, Copy, Debug)]
pub struct MasterIsReplicationPeerEnabled;

impl RpcMethod for MasterIsReplicationPeerEnabled {
    const METHOD: Method = Method::MasterIsReplicationPeerEnabled;
    type Request = pb::GetReplicationPeerStateRequest;
    type Response = pb::GetReplicationPeerStateResponse;
}

/// The types of [`Method::MasterReplicationPeerModificationSwitch`].
#[derive(Clone, Copy, Debug)]
pub struct MasterReplicationPeerModificationSwitch;

impl RpcMethod for MasterReplicationPeerModificationSwitch {
    const METHOD: Method = Method::MasterReplicationPeerModificationSwitch;
    type Request = pb::ReplicationPeerModificationSwitchRequest;
    type Response = pb::ReplicationPeerModificationSwitchResponse;
}

/// The types of [`Method::MasterGetReplicationPeerModificationProcedures`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetReplicationPeerModificationProcedures;

impl RpcMethod for MasterGetReplicationPeerModificationProcedures {
    const METHOD: Method = Method::MasterGetReplicationPeerModificationProcedures;
    type Request = pb::GetReplicationPeerModificationProceduresRequest;
    type Response = pb::GetReplicationPeerModificationProceduresResponse;
}

/// The types of [`Method::MasterIsReplicationPeerModificationEnabled`].
#[derive(Clone, Copy, Debug)]
pub struct MasterIsReplicationPeerModificationEnabled;

impl RpcMethod for MasterIsReplicationPeerModificationEnabled {
    const METHOD: Method = Method::MasterIsReplicationPeerModificationEnabled;
    type Request = pb::IsReplicationPeerModificationEnabledRequest;
    type Response = pb::IsReplicationPeerModificationEnabledResponse;
}

/// The types of [`Method::MasterListDecommissionedRegionServers`].
#[derive(Clone, Copy, Debug)]
pub struct MasterListDecommissionedRegionServers;

impl RpcMethod for MasterListDecommissionedRegionServers {
    const METHOD: Method = Method::MasterListDecommissionedRegionServers;
    type Request = pb::ListDecommissionedRegionServersRequest;
    type Response = pb::ListDecommissionedRegionServersResponse;
}

/// The types of [`Method::MasterDecommissionRegionServers`].
#[derive(Clone, Copy, Debug)]
pub struct MasterDecommissionRegionServers;

impl RpcMethod for MasterDecommissionRegionServers {
    const METHOD: Method = Method::MasterDecommissionRegionServers;
    type Request = pb::DecommissionRegionServersRequest;
    type Response = pb::DecommissionRegionServersResponse;
}

/// The types of [`Method::MasterRecommissionRegionServer`].
#[derive(Clone, Copy, Debug)]
pub struct MasterRecommissionRegionServer;

impl RpcMethod for MasterRecommissionRegionServer {
    const METHOD: Method = Method::MasterRecommissionRegionServer;
    type Request = pb::RecommissionRegionServerRequest;
    type Response = pb::RecommissionRegionServerResponse;
}

/// The types of [`Method::MasterGetSpaceQuotaRegionSizes`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetSpaceQuotaRegionSizes;

impl RpcMethod for MasterGetSpaceQuotaRegionSizes {
    const METHOD: Method = Method::MasterGetSpaceQuotaRegionSizes;
    type Request = pb::GetSpaceQuotaRegionSizesRequest;
    type Response = pb::GetSpaceQuotaRegionSizesResponse;
}

/// The types of [`Method::MasterGetQuotaStates`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetQuotaStates;

impl RpcMethod for MasterGetQuotaStates {
    const METHOD: Method = Method::MasterGetQuotaStates;
    type Request = pb::GetQuotaStatesRequest;
    type Response = pb::GetQuotaStatesResponse;
}

/// The types of [`Method::MasterClearDeadServers`].
#[derive(Clone, Copy, Debug)]
pub struct MasterClearDeadServers;

impl RpcMethod for MasterClearDeadServers {
    const METHOD: Method = Method::MasterClearDeadServers;
    type Request = pb::ClearDeadServersRequest;
    type Response = pb::ClearDeadServersResponse;
}

/// The types of [`Method::MasterSwitchRpcThrottle`].
#[derive(Clone, Copy, Debug)]
pub struct MasterSwitchRpcThrottle;

impl RpcMethod for MasterSwitchRpcThrottle {
    const METHOD: Method = Method::MasterSwitchRpcThrottle;
    type Request = pb::SwitchRpcThrottleRequest;
    type Response = pb::SwitchRpcThrottleResponse;
}

/// The types of [`Method::MasterIsRpcThrottleEnabled`].
#[derive(Clone, Copy, Debug)]
pub struct MasterIsRpcThrottleEnabled;

impl RpcMethod for MasterIsRpcThrottleEnabled {
    const METHOD: Method = Method::MasterIsRpcThrottleEnabled;
    type Request = pb::IsRpcThrottleEnabledRequest;
    type Response = pb::IsRpcThrottleEnabledResponse;
}

/// The types of [`Method::MasterSwitchExceedThrottleQuota`].
#[derive(Clone, Copy, Debug)]
pub struct MasterSwitchExceedThrottleQuota;

impl RpcMethod for MasterSwitchExceedThrottleQuota {
    const METHOD: Method = Method::MasterSwitchExceedThrottleQuota;
    type Request = pb::SwitchExceedThrottleQuotaRequest;
    type Response = pb::SwitchExceedThrottleQuotaResponse;
}

/// The types of [`Method::MasterGrant`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGrant;

impl RpcMethod for MasterGrant {
    const METHOD: Method = Method::MasterGrant;
    type Request = pb::GrantRequest;
    type Response = pb::GrantResponse;
}

/// The types of [`Method::MasterRevoke`].
#[derive(Clone, Copy, Debug)]
pub struct MasterRevoke;

impl RpcMethod for MasterRevoke {
    const METHOD: Method = Method::MasterRevoke;
    type Request = pb::RevokeRequest;
    type Response = pb::RevokeResponse;
}

/// The types of [`Method::MasterGetUserPermissions`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetUserPermissions;

impl RpcMethod for MasterGetUserPermissions {
    const METHOD: Method = Method::MasterGetUserPermissions;
    type Request = pb::GetUserPermissionsRequest;
    type Response = pb::GetUserPermissionsResponse;
}

/// The types of [`Method::MasterHasUserPermissions`].
#[derive(Clone, Copy, Debug)]
pub struct MasterHasUserPermissions;

impl RpcMethod for MasterHasUserPermissions {
    const METHOD: Method = Method::MasterHasUserPermissions;
    type Request = pb::HasUserPermissionsRequest;
    type Response = pb::HasUserPermissionsResponse;
}

/// The types of [`Method::MasterListNamespaces`].
#[derive(Clone, Copy, Debug)]
pub struct MasterListNamespaces;

impl RpcMethod for MasterListNamespaces {
    const METHOD: Method = Method::MasterListNamespaces;
    type Request = pb::ListNamespacesRequest;
    type Response = pb::ListNamespacesResponse;
}

/// The types of [`Method::MasterGetLogEntries`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetLogEntries;

impl RpcMethod for MasterGetLogEntries {
    const METHOD: Method = Method::MasterGetLogEntries;
    type Request = pb::LogRequest;
    type Response = pb::LogEntry;
}

/// The types of [`Method::MasterModifyTableStoreFileTracker`].
#[derive(Clone, Copy, Debug)]
pub struct MasterModifyTableStoreFileTracker;

impl RpcMethod for MasterModifyTableStoreFileTracker {
    const METHOD: Method = Method::MasterModifyTableStoreFileTracker;
    type Request = pb::ModifyTableStoreFileTrackerRequest;
    type Response = pb::ModifyTableStoreFileTrackerResponse;
}

/// The types of [`Method::MasterModifyColumnStoreFileTracker`].
#[derive(Clone, Copy, Debug)]
pub struct MasterModifyColumnStoreFileTracker;

impl RpcMethod for MasterModifyColumnStoreFileTracker {
    const METHOD: Method = Method::MasterModifyColumnStoreFileTracker;
    type Request = pb::ModifyColumnStoreFileTrackerRequest;
    type Response = pb::ModifyColumnStoreFileTrackerResponse;
}

/// The types of [`Method::MasterFlushMasterStore`].
#[derive(Clone, Copy, Debug)]
pub struct MasterFlushMasterStore;

impl RpcMethod for MasterFlushMasterStore {
    const METHOD: Method = Method::MasterFlushMasterStore;
    type Request = pb::FlushMasterStoreRequest;
    type Response = pb::FlushMasterStoreResponse;
}

/// The types of [`Method::MasterTransitReplicationPeerSyncReplicationState`].
#[derive(Clone, Copy, Debug)]
pub struct MasterTransitReplicationPeerSyncReplicationState;

impl RpcMethod for MasterTransitReplicationPeerSyncReplicationState {
    const METHOD: Method = Method::MasterTransitReplicationPeerSyncReplicationState;
    type Request = pb::TransitReplicationPeerSyncReplicationStateRequest;
    type Response = pb::TransitReplicationPeerSyncReplicationStateResponse;
}

/// The types of [`Method::MasterGetRSGroupInfo`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetRSGroupInfo;

impl RpcMethod for MasterGetRSGroupInfo {
    const METHOD: Method = Method::MasterGetRSGroupInfo;
    type Request = pb::GetRsGroupInfoRequest;
    type Response = pb::GetRsGroupInfoResponse;
}

/// The types of [`Method::MasterGetRSGroupInfoOfTable`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetRSGroupInfoOfTable;

impl RpcMethod for MasterGetRSGroupInfoOfTable {
    const METHOD: Method = Method::MasterGetRSGroupInfoOfTable;
    type Request = pb::GetRsGroupInfoOfTableRequest;
    type Response = pb::GetRsGroupInfoOfTableResponse;
}

/// The types of [`Method::MasterGetRSGroupInfoOfServer`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetRSGroupInfoOfServer;

impl RpcMethod for MasterGetRSGroupInfoOfServer {
    const METHOD: Method = Method::MasterGetRSGroupInfoOfServer;
    type Request = pb::GetRsGroupInfoOfServerRequest;
    type Response = pb::GetRsGroupInfoOfServerResponse;
}

/// The types of [`Method::MasterMoveServers`].
#[derive(Clone, Copy, Debug)]
pub struct MasterMoveServers;

impl RpcMethod for MasterMoveServers {
    const METHOD: Method = Method::MasterMoveServers;
    type Request = pb::MoveServersRequest;
    type Response = pb::MoveServersResponse;
}

/// The types of [`Method::MasterAddRSGroup`].
#[derive(Clone, Copy, Debug)]
pub struct MasterAddRSGroup;

impl RpcMethod for MasterAddRSGroup {
    const METHOD: Method = Method::MasterAddRSGroup;
    type Request = pb::AddRsGroupRequest;
    type Response = pb::AddRsGroupResponse;
}

/// The types of [`Method::MasterRemoveRSGroup`].
#[derive(Clone, Copy, Debug)]
pub struct MasterRemoveRSGroup;

impl RpcMethod for MasterRemoveRSGroup {
    const METHOD: Method = Method::MasterRemoveRSGroup;
    type Request = pb::RemoveRsGroupRequest;
    type Response = pb::RemoveRsGroupResponse;
}

/// The types of [`Method::MasterBalanceRSGroup`].
#[derive(Clone, Copy, Debug)]
pub struct MasterBalanceRSGroup;

impl RpcMethod for MasterBalanceRSGroup {
    const METHOD: Method = Method::MasterBalanceRSGroup;
    type Request = pb::BalanceRsGroupRequest;
    type Response = pb::BalanceRsGroupResponse;
}

/// The types of [`Method::MasterListRSGroupInfos`].
#[derive(Clone, Copy, Debug)]
pub struct MasterListRSGroupInfos;

impl RpcMethod for MasterListRSGroupInfos {
    const METHOD: Method = Method::MasterListRSGroupInfos;
    type Request = pb::ListRsGroupInfosRequest;
    type Response = pb::ListRsGroupInfosResponse;
}

/// The types of [`Method::MasterRemoveServers`].
#[derive(Clone, Copy, Debug)]
pub struct MasterRemoveServers;

impl RpcMethod for MasterRemoveServers {
    const METHOD: Method = Method::MasterRemoveServers;
    type Request = pb::RemoveServersRequest;
    type Response = pb::RemoveServersResponse;
}

/// The types of [`Method::MasterListTablesInRSGroup`].
#[derive(Clone, Copy, Debug)]
pub struct MasterListTablesInRSGroup;

impl RpcMethod for MasterListTablesInRSGroup {
    const METHOD: Method = Method::MasterListTablesInRSGroup;
    type Request = pb::ListTablesInRsGroupRequest;
    type Response = pb::ListTablesInRsGroupResponse;
}

/// The types of [`Method::MasterGetConfiguredNamespacesAndTablesInRSGroup`].
#[derive(Clone, Copy, Debug)]
pub struct MasterGetConfiguredNamespacesAndTablesInRSGroup;

impl RpcMethod for MasterGetConfiguredNamespacesAndTablesInRSGroup {
    const METHOD: Method = Method::MasterGetConfiguredNamespacesAndTablesInRSGroup;
    type Request = pb::GetConfiguredNamespacesAndTablesInRsGroupRequest;
    type Response = pb::GetConfiguredNamespacesAndTablesInRsGroupResponse;
}

/// The types of [`Method::MasterRenameRSGroup`].
#[derive(Clone, Copy, Debug)]
pub struct MasterRenameRSGroup;

impl RpcMethod for MasterRenameRSGroup {
    const METHOD: Method = Method::MasterRenameRSGroup;
    type Request = pb::RenameRsGroupRequest;
    type Response = pb::RenameRsGroupResponse;
}

/// The types of [`Method::MasterUpdateRSGroupConfig`].
#[derive(Clone, Copy, Debug)]
pub struct MasterUpdateRSGroupConfig;

impl RpcMethod for MasterUpdateRSGroupConfig {
    const METHOD: Method = Method::MasterUpdateRSGroupConfig;
    type Request = pb::UpdateRsGroupConfigRequest;
    type Response = pb::UpdateRsGroupConfigResponse;
}

/// The types of [`Method::MultiRowMutationMutateRows`].
#[derive(Clone, Copy, Debug)]
pub struct MultiRowMutationMutateRows;

impl RpcMethod for MultiRowMutationMutateRows {
    const METHOD: Method = Method::MultiRowMutationMutateRows;
    type Request = pb::MutateRowsRequest;
    type Response = pb::MutateRowsResponse;
}
