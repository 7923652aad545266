//! Handler that returns the disk usage of tables against their limits.

use halite_wire::convert::schema::table_name_to_proto;
use halite_wire::proto as pb;

use super::state::RequestContext;
use crate::base::call::CallError;
use crate::base::quota;
use crate::base::space_usage::table_snapshots;

/// Handles `GetSpaceQuotaSnapshots`: returns all tables with a space limit.
pub(super) fn snapshots(
    request_context: &RequestContext<'_>,
    _: &pb::GetSpaceQuotaSnapshotsRequest,
) -> Result<pb::GetSpaceQuotaSnapshotsResponse, CallError> {
    let tables = table_snapshots(request_context.context, &quota::sizes(request_context.engine()))?
        .into_iter()
        .map(|(name, snapshot)| pb::get_space_quota_snapshots_response::TableQuotaSnapshot {
            table_name: Some(table_name_to_proto(&name)),
            snapshot: Some(snapshot),
        });
    Ok(pb::GetSpaceQuotaSnapshotsResponse { snapshots: tables.collect() })
}
