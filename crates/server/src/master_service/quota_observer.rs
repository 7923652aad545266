//! Disk usage of tables and namespaces against their limits.
//!
//! The results are those of HBase's `QuotaObserverChore`, but immediate instead of every few
//! minutes. `quota/space.rs` decides the effect of an exceeded limit.

use std::collections::BTreeMap;

use bytes::Bytes;
use halite_types::{Result as StoreResult, TableName};
use halite_wire::convert::schema::table_name_to_proto;
use halite_wire::proto as pb;
use pb::get_quota_states_response::{NamespaceQuotaSnapshot, TableQuotaSnapshot};
use prost::Message;

use super::quotas;
use super::request_context::RequestContext;
use crate::call::CallError;
use crate::context::Context;
use crate::quota;

/// Measures the tables again, if space limits exist or existed, and writes the results for clients
/// to read.
///
/// # Errors
/// Errors of reading or writing `hbase:quota`.
pub(crate) fn measure(context: &Context) -> StoreResult<()> {
    if context.quota.needs_table_sizes(&context.engine) {
        context.quota.measure(&context.engine, &quotas::stored(context)?);
        let sizes = quota::sizes(&context.engine);
        let measured = table_snapshots(context, &sizes)?
            .into_iter()
            .map(|(name, snapshot)| (name, Bytes::from(snapshot.encode_to_vec())));
        quotas::record_usage(context, &measured.collect())?;
    }
    Ok(())
}

fn table_sizes(asked: &RequestContext<'_>) -> BTreeMap<TableName, u64> {
    quota::sizes(asked.engine())
}

/// Handles `GetSpaceQuotaRegionSizes`: returns the size of the files of each table.
pub(super) fn sizes(
    asked: &RequestContext<'_>,
    _: &pb::GetSpaceQuotaRegionSizesRequest,
) -> Result<pb::GetSpaceQuotaRegionSizesResponse, CallError> {
    let message =
        |(name, size): (TableName, u64)| pb::get_space_quota_region_sizes_response::RegionSizes {
            table_name: Some(table_name_to_proto(&name)),
            size: Some(size),
        };
    Ok(pb::GetSpaceQuotaRegionSizesResponse {
        sizes: table_sizes(asked).into_iter().map(message).collect(),
    })
}

/// Handles `GetQuotaStates`: returns all tables and namespaces with a space limit.
pub(super) fn states(
    asked: &RequestContext<'_>,
    _: &pb::GetQuotaStatesRequest,
) -> Result<pb::GetQuotaStatesResponse, CallError> {
    let sizes = table_sizes(asked);
    let of_namespace = |namespace: &str| {
        sizes.iter().filter(|(name, _)| name.namespace() == namespace).map(|(_, size)| size).sum()
    };
    let namespaces = quotas::quotas_by_prefix(asked.context, "n.")?.into_iter().filter_map(
        |(namespace, quotas)| {
            let snapshot =
                quotas.space.map(|limit| quota_snapshot(&limit, of_namespace(&namespace)));
            snapshot.map(|snapshot| NamespaceQuotaSnapshot {
                namespace: Some(namespace),
                snapshot: Some(snapshot),
            })
        },
    );
    let tables = table_snapshots(asked.context, &sizes)?.into_iter().map(|(name, snapshot)| {
        TableQuotaSnapshot {
            table_name: Some(table_name_to_proto(&name)),
            snapshot: Some(snapshot),
        }
    });
    Ok(pb::GetQuotaStatesResponse {
        table_snapshots: tables.collect(),
        ns_snapshots: namespaces.collect(),
    })
}

/// Handles `GetSpaceQuotaSnapshots` of a region server: returns all tables with a space limit.
pub(crate) fn snapshots(
    asked: &RequestContext<'_>,
    _: &pb::GetSpaceQuotaSnapshotsRequest,
) -> Result<pb::GetSpaceQuotaSnapshotsResponse, CallError> {
    let tables =
        table_snapshots(asked.context, &table_sizes(asked))?.into_iter().map(|(name, snapshot)| {
            pb::get_space_quota_snapshots_response::TableQuotaSnapshot {
                table_name: Some(table_name_to_proto(&name)),
                snapshot: Some(snapshot),
            }
        });
    Ok(pb::GetSpaceQuotaSnapshotsResponse { snapshots: tables.collect() })
}

fn table_snapshots(
    context: &Context,
    sizes: &BTreeMap<TableName, u64>,
) -> StoreResult<Vec<(TableName, pb::SpaceQuotaSnapshot)>> {
    let of_table = |(name, quotas): (String, pb::Quotas)| {
        let (name, limit) = (name.parse::<TableName>().ok()?, quotas.space?);
        let size = sizes.get(&name).copied().unwrap_or(0);
        Some((name, quota_snapshot(&limit, size)))
    };
    Ok(quotas::quotas_by_prefix(context, "t.")?.into_iter().filter_map(of_table).collect())
}

fn quota_snapshot(limit: &pb::SpaceQuota, size: u64) -> pb::SpaceQuotaSnapshot {
    let in_violation = size > limit.soft_limit();
    let violation_policy = limit.violation_policy.filter(|_| in_violation);
    pb::SpaceQuotaSnapshot {
        quota_status: Some(pb::SpaceQuotaStatus {
            violation_policy,
            in_violation: Some(in_violation),
        }),
        quota_usage: Some(size),
        quota_limit: limit.soft_limit,
    }
}
