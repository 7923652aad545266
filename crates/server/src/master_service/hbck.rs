//! `HbckService`: repairs of the catalog, which is one file under a checksum here and needs none. What can be done by other
//! calls too is done.

use std::collections::HashMap;

use halite_wire::proto as pb;

use pb::table_state::State;

use super::asked::{Asked, Failure};
use super::describe;
use super::faults::not_offered;
use super::names::{encoded_name, table_name};
use super::procedures::Nonce;
use super::{regions, tables};
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
    Ok(pb::AssignsResponse { pid: of_each(asked, &request.region, |region| assign(region).is_ok())? })
}

/// `Unassigns`: as [`assigns`].
pub(super) fn unassigns(asked: &Asked<'_>, request: &pb::UnassignsRequest) -> Result<pb::UnassignsResponse, Fault> {
    let unassign =
        |region: &pb::RegionSpecifier| regions::unassign(asked, &pb::UnassignRegionRequest { region: region.clone(), ..Default::default() });
    Ok(pb::UnassignsResponse { pid: of_each(asked, &request.region, |region| unassign(region).is_ok())? })
}

/// Does something with each region that there is, once, and gives for each that is named the id of a procedure that has nothing left to
/// do, or -1. It is the same one for all: what procedures came to is kept for others, too.
fn of_each(asked: &Asked<'_>, regions: &[pb::RegionSpecifier], work: impl Fn(&pb::RegionSpecifier) -> bool) -> Result<Vec<u64>, Fault> {
    let tables = asked.engine().descriptors();
    let there = tables.iter().flat_map(|table| asked.engine().regions(table.name()).unwrap_or_default());
    // Of those that are not there a request may name any number.
    let mut done: HashMap<String, Option<bool>> = there.map(|region| (region.encoded_name, None)).collect();
    let is_done = regions.iter().map(|region| {
        let known = encoded_name(region).ok().and_then(|name| done.get_mut(&name));
        known.is_some_and(|known| *known.get_or_insert_with(|| work(region)))
    });
    let is_done: Vec<bool> = is_done.collect();
    let id = if is_done.contains(&true) {
        asked.start("TransitRegionStateProcedure", None, Nonce::default(), Failure::InResult, |_| Ok(()))?
    } else {
        NO_PROCEDURE
    };
    Ok(is_done.into_iter().map(|is_done| if is_done { id } else { NO_PROCEDURE }).collect())
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
        (State::Disabled, State::Enabled) => {
            tables::check_space(asked.context, &name)?;
            asked.engine().enable_table(&name)?;
        }
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
