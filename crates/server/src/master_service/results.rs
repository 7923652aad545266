//! Results of procedures.

use halite_wire::exception::Exception;
use halite_wire::proto as pb;
use pb::get_procedure_result_response::State;

use super::request_context::RequestContext;
use super::state::procedures::Procedure;
use crate::base::call::CallError;

/// Source of a failure in HBase's `ForeignExceptionMessage`.
const SOURCE: &str = "halite";

/// Handles `getProcedureResult`. An id that is unknown, or no longer known, is not an error.
pub(super) fn result(
    request_context: &RequestContext<'_>,
    request: &pb::GetProcedureResultRequest,
) -> Result<pb::GetProcedureResultResponse, CallError> {
    let Some(procedure) = request_context.state.procedures.find(request.proc_id) else {
        return Ok(pb::GetProcedureResultResponse {
            state: State::NotFound.into(),
            ..Default::default()
        });
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

/// Converts a failure to the message in results of procedures.
fn foreign(exception: &Exception) -> pb::ForeignExceptionMessage {
    let generic = pb::GenericExceptionMessage {
        class_name: Some(exception.class().to_owned()),
        message: Some(exception.message().to_owned()),
        ..Default::default()
    };
    pb::ForeignExceptionMessage {
        source: Some(SOURCE.to_owned()),
        generic_exception: Some(generic),
    }
}

/// Handles `GetProcedures`: returns those that wait or run. It omits the details that HBase's
/// classes store: shells before 2.5 exit when they receive details of an unknown type.
pub(super) fn list(
    request_context: &RequestContext<'_>,
    _: &pb::GetProceduresRequest,
) -> Result<pb::GetProceduresResponse, CallError> {
    let all = request_context.state.procedures.all();
    let procedure = all
        .iter()
        .filter(|(_, procedure)| procedure.outcome.is_none())
        .map(|(id, procedure)| message(*id, procedure))
        .collect();
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

/// Handles `AbortProcedure`. No procedure is aborted, since a running one ends within a short time.
pub(super) fn abort(
    _: &RequestContext<'_>,
    _: &pb::AbortProcedureRequest,
) -> Result<pb::AbortProcedureResponse, CallError> {
    Ok(pb::AbortProcedureResponse { is_procedure_aborted: false })
}
