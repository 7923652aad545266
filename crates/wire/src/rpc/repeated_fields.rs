//! The repeated fields of messages, by their numbers. Generated from the .proto files by `cargo xtask codegen`: change those, not this.

use bytes::Bytes;
use halite_types::Row;

use super::decoded_size::{RepeatedField, largest, many, numbers, one};
use crate::proto as pb;

pub(super) const COLUMN: &[RepeatedField] = &[
    many::<Bytes>(2, &[]),
];

pub(super) const SCAN: &[RepeatedField] = &[
    many::<pb::Column>(1, COLUMN),
    many::<pb::NameBytesPair>(2, &[]),
    many::<pb::ColumnFamilyTimeRange>(19, &[]),
];

pub(super) const AGGREGATE_REQUEST: &[RepeatedField] = &[
    one(2, SCAN),
];

pub(super) const GLOBAL_PERMISSION: &[RepeatedField] = &[
    numbers(1, size_of::<i32>()),
];

pub(super) const NAMESPACE_PERMISSION: &[RepeatedField] = &[
    numbers(2, size_of::<i32>()),
];

pub(super) const TABLE_PERMISSION: &[RepeatedField] = &[
    numbers(4, size_of::<i32>()),
];

pub(super) const PERMISSION: &[RepeatedField] = &[
    one(2, GLOBAL_PERMISSION),
    one(3, NAMESPACE_PERMISSION),
    one(4, TABLE_PERMISSION),
];

pub(super) const USERS_AND_PERMISSIONS_USER_PERMISSIONS: &[RepeatedField] = &[
    many::<pb::Permission>(2, PERMISSION),
];

pub(super) const USERS_AND_PERMISSIONS: &[RepeatedField] = &[
    many::<pb::users_and_permissions::UserPermissions>(1, USERS_AND_PERMISSIONS_USER_PERMISSIONS),
];

pub(super) const SNAPSHOT_DESCRIPTION: &[RepeatedField] = &[
    one(7, USERS_AND_PERMISSIONS),
];

pub(super) const DELETE_SNAPSHOT_REQUEST: &[RepeatedField] = &[
    one(1, SNAPSHOT_DESCRIPTION),
];

pub(super) const REGION_LOAD: &[RepeatedField] = &[
    many::<pb::StoreSequenceId>(18, &[]),
];

pub(super) const USER_LOAD: &[RepeatedField] = &[
    many::<pb::ClientMetrics>(2, &[]),
];

pub(super) const SERVER_LOAD: &[RepeatedField] = &[
    many::<pb::RegionLoad>(5, REGION_LOAD),
    many::<pb::Coprocessor>(6, &[]),
    many::<pb::ReplicationLoadSource>(10, &[]),
    many::<pb::UserLoad>(12, USER_LOAD),
    many::<pb::ServerTask>(15, &[]),
];

pub(super) const LIVE_SERVER_INFO: &[RepeatedField] = &[
    one(2, SERVER_LOAD),
];

pub(super) const CLUSTER_STATUS: &[RepeatedField] = &[
    many::<pb::LiveServerInfo>(2, LIVE_SERVER_INFO),
    many::<pb::ServerName>(3, &[]),
    many::<pb::RegionInTransition>(4, &[]),
    many::<pb::Coprocessor>(6, &[]),
    many::<pb::ServerName>(8, &[]),
    many::<pb::ServerName>(11, &[]),
    many::<pb::TableRegionStatesCount>(12, &[]),
    many::<pb::ServerTask>(13, &[]),
    many::<pb::ServerName>(14, &[]),
];

pub(super) const GET_CLUSTER_STATUS_RESPONSE: &[RepeatedField] = &[
    one(1, CLUSTER_STATUS),
];

pub(super) const GET_COMPLETED_SNAPSHOTS_RESPONSE: &[RepeatedField] = &[
    many::<pb::SnapshotDescription>(1, SNAPSHOT_DESCRIPTION),
];

pub(super) const GET_REGION_LOAD_RESPONSE: &[RepeatedField] = &[
    many::<pb::RegionLoad>(1, REGION_LOAD),
];

pub(super) const GET: &[RepeatedField] = &[
    many::<pb::Column>(2, COLUMN),
    many::<pb::NameBytesPair>(3, &[]),
    many::<pb::ColumnFamilyTimeRange>(13, &[]),
];

pub(super) const GET_REQUEST: &[RepeatedField] = &[
    one(2, GET),
];

pub(super) const RESULT: &[RepeatedField] = &[
    many::<pb::Cell>(1, &[]),
];

pub(super) const GET_RESPONSE: &[RepeatedField] = &[
    one(1, RESULT),
];

pub(super) const COLUMN_FAMILY_SCHEMA: &[RepeatedField] = &[
    many::<pb::BytesBytesPair>(2, &[]),
    many::<pb::NameStringPair>(3, &[]),
];

pub(super) const TABLE_SCHEMA: &[RepeatedField] = &[
    many::<pb::BytesBytesPair>(2, &[]),
    many::<pb::ColumnFamilySchema>(3, COLUMN_FAMILY_SCHEMA),
    many::<pb::NameStringPair>(4, &[]),
];

pub(super) const GET_TABLE_DESCRIPTORS_RESPONSE: &[RepeatedField] = &[
    many::<pb::TableSchema>(1, TABLE_SCHEMA),
];

pub(super) const IS_SNAPSHOT_DONE_REQUEST: &[RepeatedField] = &[
    one(1, SNAPSHOT_DESCRIPTION),
];

pub(super) const LOCK_REQUEST: &[RepeatedField] = &[
    many::<pb::RegionInfo>(4, &[]),
];

pub(super) const MUTATION_PROTO_COLUMN_VALUE: &[RepeatedField] = &[
    many::<pb::mutation_proto::column_value::QualifierValue>(2, &[]),
];

pub(super) const MUTATION_PROTO: &[RepeatedField] = &[
    many::<pb::mutation_proto::ColumnValue>(3, MUTATION_PROTO_COLUMN_VALUE),
    many::<pb::NameBytesPair>(5, &[]),
];

pub(super) const ACTION: &[RepeatedField] = &[
    one(2, MUTATION_PROTO),
    one(3, GET),
];

pub(super) const REGION_ACTION: &[RepeatedField] = &[
    many::<pb::Action>(3, ACTION),
];

pub(super) const MULTI_REQUEST: &[RepeatedField] = &[
    many::<pb::RegionAction>(1, REGION_ACTION),
];

pub(super) const RESULT_OR_EXCEPTION: &[RepeatedField] = &[
    one(2, RESULT),
];

pub(super) const REGION_ACTION_RESULT: &[RepeatedField] = &[
    many::<pb::ResultOrException>(1, RESULT_OR_EXCEPTION),
];

pub(super) const MULTI_REGION_LOAD_STATS: &[RepeatedField] = &[
    many::<pb::RegionSpecifier>(1, &[]),
    many::<pb::RegionLoadStats>(2, &[]),
];

pub(super) const MULTI_RESPONSE: &[RepeatedField] = &[
    many::<pb::RegionActionResult>(1, REGION_ACTION_RESULT),
    one(3, MULTI_REGION_LOAD_STATS),
];

pub(super) const MUTATE_REQUEST: &[RepeatedField] = &[
    one(2, MUTATION_PROTO),
];

pub(super) const MUTATE_RESPONSE: &[RepeatedField] = &[
    one(1, RESULT),
];

pub(super) const MUTATE_ROWS_REQUEST: &[RepeatedField] = &[
    many::<pb::MutationProto>(1, MUTATION_PROTO),
    many::<pb::Condition>(5, &[]),
];

pub(super) const RESTORE_SNAPSHOT_REQUEST: &[RepeatedField] = &[
    one(1, SNAPSHOT_DESCRIPTION),
];

pub(super) const SCAN_REQUEST: &[RepeatedField] = &[
    one(2, SCAN),
];

pub(super) const SCAN_METRICS: &[RepeatedField] = &[
    many::<pb::NameInt64Pair>(1, &[]),
];

pub(super) const SCAN_RESPONSE: &[RepeatedField] = &[
    numbers(1, size_of::<u32>() + size_of::<Row>()),
    many::<(pb::Result, Row)>(5, RESULT),
    numbers(7, size_of::<bool>()),
    one(10, SCAN_METRICS),
    many::<pb::QueryMetrics>(13, &[]),
];

pub(super) const SNAPSHOT_REQUEST: &[RepeatedField] = &[
    one(1, SNAPSHOT_DESCRIPTION),
];

/// Memory in bytes of the largest element of the messages of methods without a table.
pub(super) const LARGEST_OTHER_ELEMENT: usize = largest(&[
    size_of::<Bytes>(),
    size_of::<String>(),
    size_of::<pb::Any>(),
    size_of::<pb::Attribute>(),
    size_of::<pb::BytesBytesPair>(),
    size_of::<pb::CloseRegionRequest>(),
    size_of::<pb::Column>(),
    size_of::<pb::ColumnFamilySchema>(),
    size_of::<pb::ColumnFamilyTimeRange>(),
    size_of::<pb::FamilyScope>(),
    size_of::<pb::GetMastersResponseEntry>(),
    size_of::<pb::LockedResource>(),
    size_of::<pb::NameBytesPair>(),
    size_of::<pb::NameStringPair>(),
    size_of::<pb::NamespaceDescriptor>(),
    size_of::<pb::OpenRegionRequest>(),
    size_of::<pb::Permission>(),
    size_of::<pb::Procedure>(),
    size_of::<pb::RegionExceptionMessage>(),
    size_of::<pb::RegionInfo>(),
    size_of::<pb::RegionLocation>(),
    size_of::<pb::RegionSpecifier>(),
    size_of::<pb::RegionSpecifierAndState>(),
    size_of::<pb::RemoteProcedureRequest>(),
    size_of::<pb::ReplicationPeerDescription>(),
    size_of::<pb::RsGroupInfo>(),
    size_of::<pb::ServerName>(),
    size_of::<pb::SlowLogPayload>(),
    size_of::<pb::StackTraceElementMessage>(),
    size_of::<pb::TableCf>(),
    size_of::<pb::TableName>(),
    size_of::<pb::TableSchema>(),
    size_of::<pb::UserPermission>(),
    size_of::<pb::Uuid>(),
    size_of::<pb::WalEntry>(),
    size_of::<pb::bulk_load_h_file_request::FamilyPath>(),
    size_of::<pb::get_quota_states_response::NamespaceQuotaSnapshot>(),
    size_of::<pb::get_quota_states_response::TableQuotaSnapshot>(),
    size_of::<pb::get_space_quota_region_sizes_response::RegionSizes>(),
    size_of::<pb::get_space_quota_snapshots_response::TableQuotaSnapshot>(),
    size_of::<pb::open_region_request::RegionOpenInfo>(),
    size_of::<pb::update_favored_nodes_request::RegionUpdateInfo>(),
    size_of::<pb::users_and_permissions::UserPermissions>(),
]);
