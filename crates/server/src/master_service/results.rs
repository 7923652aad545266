//! What became of procedures.

use halite_wire::exception::Exception;
use halite_wire::proto as pb;
use pb::get_procedure_result_response::State;

use super::asked::Asked;
use super::procedures::Procedure;
use crate::call::Fault;

/// What HBase writes where it says who tells of a failure.
const SOURCE: &str = "halite";

/// `getProcedureResult`: an id that is not known, or not any more, is no error.
pub(super) fn result(asked: &Asked<'_>, request: &pb::GetProcedureResultRequest) -> Result<pb::GetProcedureResultResponse, Fault> {
    let Some(procedure) = asked.context.master.procedures.find(request.proc_id) else {
        return Ok(pb::GetProcedureResultResponse { state: State::NotFound.into(), ..Default::default() });
    };
    let state = if procedure.outcome.is_some() { State::Finished } else { State::Running };
    let mut response = pb::GetProcedureResultResponse {
        state: state.into(),
        submitted_time: Some(procedure.submitted_ms),
        last_update: Some(procedure.updated_ms),
        ..Default::default()
    };
    match procedure.outcome {
        Some(Ok(result)) => response.result = Some(result).filter(|result| !result.is_empty()),
        Some(Err(exception)) => response.exception = Some(foreign(&exception)),
        None => {}
    }
    Ok(response)
}

/// A failure as the results of procedures tell it.
fn foreign(exception: &Exception) -> pb::ForeignExceptionMessage {
    let generic = pb::GenericExceptionMessage {
        class_name: Some(exception.class().to_owned()),
        message: Some(exception.message().to_owned()),
        ..Default::default()
    };
    pb::ForeignExceptionMessage { source: Some(SOURCE.to_owned()), generic_exception: Some(generic) }
}

/// `GetProcedures`: those that wait or run. They come without the details that HBase's classes keep: shells of before 2.5
/// end when they meet details of a type they do not know.
pub(super) fn list(asked: &Asked<'_>, _: &pb::GetProceduresRequest) -> Result<pb::GetProceduresResponse, Fault> {
    let all = asked.context.master.procedures.all();
    let procedure = all.iter().filter(|(_, procedure)| procedure.outcome.is_none()).map(|(id, procedure)| message(*id, procedure)).collect();
    Ok(pb::GetProceduresResponse { procedure })
}

fn message(id: u64, procedure: &Procedure) -> pb::Procedure {
    pb::Procedure {
        class_name: format!("org.apache.hadoop.hbase.master.procedure.{}", procedure.name),
        proc_id: id,
        submitted_time: procedure.submitted_ms,
        owner: Some(procedure.owner.clone()),
        state: pb::ProcedureState::Runnable.into(),
        last_update: procedure.updated_ms,
        ..Default::default()
    }
}

/// `AbortProcedure`: none is, since what has begun comes to its end within a short time.
pub(super) fn abort(_: &Asked<'_>, _: &pb::AbortProcedureRequest) -> Result<pb::AbortProcedureResponse, Fault> {
    Ok(pb::AbortProcedureResponse { is_procedure_aborted: false })
}
