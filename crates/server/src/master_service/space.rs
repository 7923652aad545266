//! What tables and namespaces take on the disk, and how that stands to their limits.
//!
//! As HBase's `QuotaObserverChore` finds it, and at once instead of every few minutes. What comes of a limit that is passed
//! is decided in `quota/space.rs`.

use std::collections::BTreeMap;

use bytes::Bytes;
use halite_types::{Result as StoreResult, TableName};
use halite_wire::convert::schema::table_name_to_proto;
use halite_wire::proto as pb;
use pb::get_quota_states_response::{NamespaceQuotaSnapshot, TableQuotaSnapshot};
use prost::Message;

use super::asked::Asked;
use super::quotas;
use crate::call::Fault;
use crate::context::Context;
use crate::quota;

/// Measures the tables anew, if there are limits of space or were, and writes down what is found, for clients that read it there.
///
/// # Errors
/// What reading `hbase:quota` meets, or writing there.
pub(crate) fn measure(context: &Context) -> StoreResult<()> {
    if context.quota.wants_sizes(&context.engine) {
        context.quota.measure(&context.engine, &quotas::stored(context)?);
        let sizes = quota::sizes(&context.engine);
        let measured = of_tables(context, &sizes)?.into_iter().map(|(name, snapshot)| (name, Bytes::from(snapshot.encode_to_vec())));
        quotas::note_usage(context, &measured.collect())?;
    }
    Ok(())
}

fn sizes_of_tables(asked: &Asked<'_>) -> BTreeMap<TableName, u64> {
    quota::sizes(asked.engine())
}

/// `GetSpaceQuotaRegionSizes`: what the files of each table take.
pub(super) fn sizes(asked: &Asked<'_>, _: &pb::GetSpaceQuotaRegionSizesRequest) -> Result<pb::GetSpaceQuotaRegionSizesResponse, Fault> {
    let message = |(name, size): (TableName, u64)| pb::get_space_quota_region_sizes_response::RegionSizes {
        table_name: Some(table_name_to_proto(&name)),
        size: Some(size),
    };
    Ok(pb::GetSpaceQuotaRegionSizesResponse { sizes: sizes_of_tables(asked).into_iter().map(message).collect() })
}

/// `GetQuotaStates`: every table and namespace with a limit of space.
pub(super) fn states(asked: &Asked<'_>, _: &pb::GetQuotaStatesRequest) -> Result<pb::GetQuotaStatesResponse, Fault> {
    let sizes = sizes_of_tables(asked);
    let of_namespace = |namespace: &str| sizes.iter().filter(|(name, _)| name.namespace() == namespace).map(|(_, size)| size).sum();
    let namespaces = quotas::of_all(asked.context, "n.")?.into_iter().filter_map(|(namespace, quotas)| {
        let snapshot = quotas.space.map(|limit| measured(&limit, of_namespace(&namespace)));
        snapshot.map(|snapshot| NamespaceQuotaSnapshot { namespace: Some(namespace), snapshot: Some(snapshot) })
    });
    let tables = of_tables(asked.context, &sizes)?
        .into_iter()
        .map(|(name, snapshot)| TableQuotaSnapshot { table_name: Some(table_name_to_proto(&name)), snapshot: Some(snapshot) });
    Ok(pb::GetQuotaStatesResponse { table_snapshots: tables.collect(), ns_snapshots: namespaces.collect() })
}

/// `GetSpaceQuotaSnapshots` of a region server: every table with a limit of space.
pub(crate) fn snapshots(asked: &Asked<'_>, _: &pb::GetSpaceQuotaSnapshotsRequest) -> Result<pb::GetSpaceQuotaSnapshotsResponse, Fault> {
    let tables = of_tables(asked.context, &sizes_of_tables(asked))?.into_iter().map(|(name, snapshot)| {
        pb::get_space_quota_snapshots_response::TableQuotaSnapshot { table_name: Some(table_name_to_proto(&name)), snapshot: Some(snapshot) }
    });
    Ok(pb::GetSpaceQuotaSnapshotsResponse { snapshots: tables.collect() })
}

fn of_tables(context: &Context, sizes: &BTreeMap<TableName, u64>) -> StoreResult<Vec<(TableName, pb::SpaceQuotaSnapshot)>> {
    let of_table = |(name, quotas): (String, pb::Quotas)| {
        let (name, limit) = (name.parse::<TableName>().ok()?, quotas.space?);
        let size = sizes.get(&name).copied().unwrap_or(0);
        Some((name, measured(&limit, size)))
    };
    Ok(quotas::of_all(context, "t.")?.into_iter().filter_map(of_table).collect())
}

fn measured(limit: &pb::SpaceQuota, size: u64) -> pb::SpaceQuotaSnapshot {
    let in_violation = size > limit.soft_limit();
    let violation_policy = limit.violation_policy.filter(|_| in_violation);
    pb::SpaceQuotaSnapshot {
        quota_status: Some(pb::SpaceQuotaStatus { violation_policy, in_violation: Some(in_violation) }),
        quota_usage: Some(size),
        quota_limit: limit.soft_limit,
    }
}
