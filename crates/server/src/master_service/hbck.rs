//! `HbckService`: repairs of the catalog, which is one checksummed file and needs none. Operations
//! that other calls also offer are performed.

use std::collections::HashMap;

use halite_wire::proto as pb;

use pb::table_state::State;

use super::describe;
use super::request_context::{Failure, RequestContext};
use super::state::procedures::Nonce;
use super::{regions, tables};
use crate::base::call::CallError;
use crate::base::errors::not_supported;
use crate::base::names::{encoded_name, table_name};

/// HBase's value instead of the id of a procedure that could not be started: -1.
const NO_PROCEDURE: u64 = u64::MAX;

/// Handles `RunHbckChore`: a search for inconsistencies, which do not occur.
pub(super) fn run_chore(
    _: &RequestContext<'_>,
    _: &pb::RunHbckChoreRequest,
) -> Result<pb::RunHbckChoreResponse, CallError> {
    Ok(pb::RunHbckChoreResponse { ran: true })
}

/// Handles `FixMeta`. `hbase:meta` is computed and always consistent.
pub(super) fn fix_meta(
    _: &RequestContext<'_>,
    _: &pb::FixMetaRequest,
) -> Result<pb::FixMetaResponse, CallError> {
    Ok(pb::FixMetaResponse {})
}

/// Handles `Assigns`: returns an id for each region, -1 for one that cannot be assigned.
pub(super) fn assigns(
    request_context: &RequestContext<'_>,
    request: &pb::AssignsRequest,
) -> Result<pb::AssignsResponse, CallError> {
    let assign = |region: &pb::RegionSpecifier| {
        regions::assign(
            request_context,
            &pb::AssignRegionRequest { region: region.clone(), r#override: request.r#override },
        )
    };
    Ok(pb::AssignsResponse {
        pid: for_each_region(request_context, &request.region, |region| assign(region).is_ok())?,
    })
}

/// Handles `Unassigns`, like [`assigns`].
pub(super) fn unassigns(
    request_context: &RequestContext<'_>,
    request: &pb::UnassignsRequest,
) -> Result<pb::UnassignsResponse, CallError> {
    let unassign = |region: &pb::RegionSpecifier| {
        regions::unassign(
            request_context,
            &pb::UnassignRegionRequest { region: region.clone(), ..Default::default() },
        )
    };
    Ok(pb::UnassignsResponse {
        pid: for_each_region(request_context, &request.region, |region| unassign(region).is_ok())?,
    })
}

/// Applies `work` once to each existing region among `regions`. Returns for each named one -1 or
/// the id of a procedure that has nothing left to do. All share one id, so that a large request
/// does not evict the outcomes of other procedures.
fn for_each_region(
    request_context: &RequestContext<'_>,
    regions: &[pb::RegionSpecifier],
    work: impl Fn(&pb::RegionSpecifier) -> bool,
) -> Result<Vec<u64>, CallError> {
    let tables = request_context.engine().descriptors();
    let there = tables
        .iter()
        .flat_map(|table| request_context.engine().regions(table.name()).unwrap_or_default());
    // A request may name any number of regions that do not exist.
    let mut done: HashMap<String, Option<bool>> =
        there.map(|region| (region.encoded_name, None)).collect();
    let is_done = regions.iter().map(|region| {
        let known = encoded_name(region).ok().and_then(|name| done.get_mut(&name));
        known.is_some_and(|known| *known.get_or_insert_with(|| work(region)))
    });
    let is_done: Vec<bool> = is_done.collect();
    let id = if is_done.contains(&true) {
        request_context.start(
            "TransitRegionStateProcedure",
            None,
            Nonce::default(),
            Failure::InResult,
            |_| Ok(()),
        )?
    } else {
        NO_PROCEDURE
    };
    Ok(is_done.into_iter().map(|is_done| if is_done { id } else { NO_PROCEDURE }).collect())
}

/// Handles `BypassProcedure`. No procedure is ever stuck, so none is bypassed.
pub(super) fn bypass(
    _: &RequestContext<'_>,
    request: &pb::BypassProcedureRequest,
) -> Result<pb::BypassProcedureResponse, CallError> {
    Ok(pb::BypassProcedureResponse { bypassed: vec![false; request.proc_id.len()] })
}

/// Handles `ScheduleServerCrashProcedure`. No server of this cluster is dead.
pub(super) fn server_crash(
    _: &RequestContext<'_>,
    request: &pb::ScheduleServerCrashProcedureRequest,
) -> Result<pb::ScheduleServerCrashProcedureResponse, CallError> {
    Ok(pb::ScheduleServerCrashProcedureResponse {
        pid: vec![NO_PROCEDURE; request.server_name.len()],
    })
}

/// Handles `ScheduleSCPsForUnknownServers`. No server is unknown.
pub(super) fn unknown_servers(
    _: &RequestContext<'_>,
    _: &pb::ScheduleScPsForUnknownServersRequest,
) -> Result<pb::ScheduleScPsForUnknownServersResponse, CallError> {
    Ok(pb::ScheduleScPsForUnknownServersResponse { pid: Vec::new() })
}

/// Handles `SetTableStateInMeta`. The state in the catalog is the state of the table, so the table
/// is enabled or disabled. Returns the previous state.
pub(super) fn table_state(
    request_context: &RequestContext<'_>,
    request: &pb::SetTableStateInMetaRequest,
) -> Result<pb::GetTableStateResponse, CallError> {
    let name = table_name(&request.table_name)?;
    let before = describe::state(
        request_context,
        &pb::GetTableStateRequest { table_name: request.table_name.clone() },
    )?;
    match (before.table_state.state(), request.table_state.state()) {
        (State::Disabled, State::Enabled) => {
            tables::check_space(request_context.context, &name)?;
            request_context.engine().enable_table(&name)?;
        }
        (State::Enabled, State::Disabled) => request_context.engine().disable_table(&name)?,
        (_, State::Enabled | State::Disabled) => {}
        _ => {
            return Err(CallError::do_not_retry(
                "a table is enabled or disabled here, with nothing between; give ENABLED or \
                 DISABLED",
            ));
        }
    }
    Ok(before)
}

/// Handles `SetRegionStateInMeta`. The state of a region follows from that of its table.
pub(super) fn region_state(
    _: &RequestContext<'_>,
    _: &pb::SetRegionStateInMetaRequest,
) -> Result<pb::SetRegionStateInMetaResponse, CallError> {
    Err(not_supported("SetRegionStateInMeta (enable or disable the table)"))
}
