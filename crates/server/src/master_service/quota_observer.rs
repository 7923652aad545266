//! Handlers that return the disk usage of tables and namespaces against their limits, and the chore
//! that measures it.

use std::collections::BTreeMap;

use bytes::Bytes;
use halite_types::{Result as StoreResult, TableName};
use halite_wire::convert::schema::table_name_to_proto;
use halite_wire::proto as pb;
use pb::get_quota_states_response::{NamespaceQuotaSnapshot, TableQuotaSnapshot};
use prost::Message;

use super::quotas;
use super::request_context::RequestContext;
use super::state::Master;
use crate::base::call::CallError;
use crate::base::space_usage::{quota_snapshot, table_snapshots};
use crate::base::{quota, quota_table};

/// Measures the tables again, if space limits exist or existed, and writes the results for clients
/// to read.
///
/// # Errors
/// Errors of reading or writing `hbase:quota`.
pub(crate) fn measure(master: &Master) -> StoreResult<()> {
    let context = &master.context;
    if context.quota.needs_table_sizes(&context.engine) {
        context.quota.measure(&context.engine, &quota_table::stored(context)?);
        let sizes = quota::sizes(&context.engine);
        let measured = table_snapshots(context, &sizes)?
            .into_iter()
            .map(|(name, snapshot)| (name, Bytes::from(snapshot.encode_to_vec())));
        quotas::record_usage(master, &measured.collect())?;
    }
    Ok(())
}

fn table_sizes(request_context: &RequestContext<'_>) -> BTreeMap<TableName, u64> {
    quota::sizes(request_context.engine())
}

/// Handles `GetSpaceQuotaRegionSizes`: returns the size of the files of each table.
pub(super) fn sizes(
    request_context: &RequestContext<'_>,
    _: &pb::GetSpaceQuotaRegionSizesRequest,
) -> Result<pb::GetSpaceQuotaRegionSizesResponse, CallError> {
    let message =
        |(name, size): (TableName, u64)| pb::get_space_quota_region_sizes_response::RegionSizes {
            table_name: Some(table_name_to_proto(&name)),
            size: Some(size),
        };
    Ok(pb::GetSpaceQuotaRegionSizesResponse {
        sizes: table_sizes(request_context).into_iter().map(message).collect(),
    })
}

/// Handles `GetQuotaStates`: returns all tables and namespaces with a space limit.
pub(super) fn states(
    request_context: &RequestContext<'_>,
    _: &pb::GetQuotaStatesRequest,
) -> Result<pb::GetQuotaStatesResponse, CallError> {
    let sizes = table_sizes(request_context);
    let of_namespace = |namespace: &str| {
        sizes.iter().filter(|(name, _)| name.namespace() == namespace).map(|(_, size)| size).sum()
    };
    let namespaces = quota_table::quotas_by_prefix(request_context.context, "n.")?
        .into_iter()
        .filter_map(|(namespace, quotas)| {
            let snapshot =
                quotas.space.map(|limit| quota_snapshot(&limit, of_namespace(&namespace)));
            snapshot.map(|snapshot| NamespaceQuotaSnapshot {
                namespace: Some(namespace),
                snapshot: Some(snapshot),
            })
        });
    let tables =
        table_snapshots(request_context.context, &sizes)?.into_iter().map(|(name, snapshot)| {
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
