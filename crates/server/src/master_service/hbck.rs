//! `HbckService`: repairs of the catalog, which is one file under a checksum here and needs none. What can be done by other
//! calls too is done.

use halite_wire::proto as pb;

use pb::table_state::State;

use super::asked::{Asked, Failure};
use super::describe;
use super::faults::not_offered;
use super::names::table_name;
use super::procedures::Nonce;
use super::regions;
use crate::call::Fault;

/// What HBase gives instead of the id of a procedure that could not be started: -1.
const NO_PROCEDURE: u64 = u64::MAX;

/// `RunHbckChore`: a look for what is inconsistent, and there is nothing.
pub(super) fn run_chore(_: &Asked<'_>, _: &pb::RunHbckChoreRequest) -> Result<pb::RunHbckChoreResponse, Fault> {
    Ok(pb::RunHbckChoreResponse { ran: true })
}

/// `FixMeta`: `hbase:meta` is computed and always fits.
pub(super) fn fix_meta(_: &Asked<'_>, _: &pb::FixMetaRequest) -> Result<pb::FixMetaResponse, Fault> {
    Ok(pb::FixMetaResponse {})
}

/// `Assigns`: an id for each region, -1 for one that cannot be assigned.
pub(super) fn assigns(asked: &Asked<'_>, request: &pb::AssignsRequest) -> Result<pb::AssignsResponse, Fault> {
    let assign =
        |region: &pb::RegionSpecifier| regions::assign(asked, &pb::AssignRegionRequest { region: region.clone(), r#override: request.r#override });
    let pid = request.region.iter().map(|region| done(asked, assign(region).is_ok())).collect::<Result<_, _>>()?;
    Ok(pb::AssignsResponse { pid })
}

/// `Unassigns`: as [`assigns`].
pub(super) fn unassigns(asked: &Asked<'_>, request: &pb::UnassignsRequest) -> Result<pb::UnassignsResponse, Fault> {
    let unassign =
        |region: &pb::RegionSpecifier| regions::unassign(asked, &pb::UnassignRegionRequest { region: region.clone(), ..Default::default() });
    let pid = request.region.iter().map(|region| done(asked, unassign(region).is_ok())).collect::<Result<_, _>>()?;
    Ok(pb::UnassignsResponse { pid })
}

/// The id of a procedure that has nothing left to do, if what it is for was possible.
fn done(asked: &Asked<'_>, is_done: bool) -> Result<u64, Fault> {
    if !is_done {
        return Ok(NO_PROCEDURE);
    }
    asked.start("TransitRegionStateProcedure", None, Nonce::default(), Failure::InResult, |_| Ok(()))
}

/// `BypassProcedure`: none is ever stuck, so none is passed by.
pub(super) fn bypass(_: &Asked<'_>, request: &pb::BypassProcedureRequest) -> Result<pb::BypassProcedureResponse, Fault> {
    Ok(pb::BypassProcedureResponse { bypassed: vec![false; request.proc_id.len()] })
}

/// `ScheduleServerCrashProcedure`: no server of this cluster is dead.
pub(super) fn server_crash(
    _: &Asked<'_>,
    request: &pb::ScheduleServerCrashProcedureRequest,
) -> Result<pb::ScheduleServerCrashProcedureResponse, Fault> {
    Ok(pb::ScheduleServerCrashProcedureResponse { pid: vec![NO_PROCEDURE; request.server_name.len()] })
}

/// `ScheduleSCPsForUnknownServers`: none is unknown.
pub(super) fn unknown_servers(
    _: &Asked<'_>,
    _: &pb::ScheduleScPsForUnknownServersRequest,
) -> Result<pb::ScheduleScPsForUnknownServersResponse, Fault> {
    Ok(pb::ScheduleScPsForUnknownServersResponse { pid: Vec::new() })
}

/// `SetTableStateInMeta`: the state in the catalog is the state of the table, so it is enabled or disabled. Gives what it was.
pub(super) fn table_state(asked: &Asked<'_>, request: &pb::SetTableStateInMetaRequest) -> Result<pb::GetTableStateResponse, Fault> {
    let name = table_name(&request.table_name)?;
    let before = describe::state(asked, &pb::GetTableStateRequest { table_name: request.table_name.clone() })?;
    match (before.table_state.state(), request.table_state.state()) {
        (State::Disabled, State::Enabled) => asked.engine().enable_table(&name)?,
        (State::Enabled, State::Disabled) => asked.engine().disable_table(&name)?,
        (_, State::Enabled | State::Disabled) => {}
        _ => return Err(Fault::do_not_retry("a table is enabled or disabled here, with nothing between; give ENABLED or DISABLED")),
    }
    Ok(before)
}

/// `SetRegionStateInMeta`: the state of a region follows from that of its table.
pub(super) fn region_state(_: &Asked<'_>, _: &pb::SetRegionStateInMetaRequest) -> Result<pb::SetRegionStateInMetaResponse, Fault> {
    Err(not_offered("SetRegionStateInMeta (enable or disable the table)"))
}
