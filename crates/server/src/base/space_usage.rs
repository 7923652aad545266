//! Disk usage of tables and namespaces against their limits.
//!
//! The results are those of HBase's `QuotaObserverChore`, but immediate instead of every few
//! minutes. `quota/space.rs` decides the effect of an exceeded limit.

use std::collections::BTreeMap;

use halite_types::{Result as StoreResult, TableName};
use halite_wire::proto as pb;

use crate::base::context::Context;
use crate::base::quota_table::quotas_by_prefix;

/// Returns the usage of all tables with a space limit. `sizes` are the sizes of all tables in
/// bytes.
///
/// # Errors
/// Errors of reading `hbase:quota`.
pub(crate) fn table_snapshots(
    context: &Context,
    sizes: &BTreeMap<TableName, u64>,
) -> StoreResult<Vec<(TableName, pb::SpaceQuotaSnapshot)>> {
    let of_table = |(name, quotas): (String, pb::Quotas)| {
        let (name, limit) = (name.parse::<TableName>().ok()?, quotas.space?);
        let size = sizes.get(&name).copied().unwrap_or(0);
        Some((name, quota_snapshot(&limit, size)))
    };
    Ok(quotas_by_prefix(context, "t.")?.into_iter().filter_map(of_table).collect())
}

/// Returns the usage of a subject with this limit and size in bytes.
pub(crate) fn quota_snapshot(limit: &pb::SpaceQuota, size: u64) -> pb::SpaceQuotaSnapshot {
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
