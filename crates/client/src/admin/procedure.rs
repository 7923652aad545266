//! Work of the master's that takes its time: it is begun by a call, and asked about until it is done.

use std::time::Duration;

use halite_types::{Error, ErrorKind, Result};
use halite_wire::exception::Exception;
use halite_wire::proto as pb;
use halite_wire::service::MasterGetProcedureResult;
use pb::get_procedure_result_response::State;

use super::master;
use crate::shared::Shared;

/// How long to wait before a procedure is asked about again: this, and then twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The group and number that make a call known when it comes twice.
pub(super) fn nonces(shared: &Shared) -> (Option<u64>, Option<u64>) {
    (Some(shared.nonces.group()), Some(shared.nonces.next()))
}

/// Waits until a procedure is done; `what` says for texts what it does.
///
/// # Errors
/// What it failed with; `Io` if it is not done within the time of an operation.
pub(super) async fn finish(shared: &Shared, id: Option<u64>, what: &str) -> Result<()> {
    let Some(proc_id) = id else { return Ok(()) };
    let deadline = shared.deadline();
    let mut pause = FIRST_PAUSE;
    loop {
        let answer = master::call::<MasterGetProcedureResult>(shared, &pb::GetProcedureResultRequest { proc_id }).await?;
        match answer.state() {
            // The master forgets procedures some time after their end, and those that failed it keeps as long.
            State::Finished | State::NotFound => {
                let failed = answer.exception.as_ref().map(|exception| Error::from(&Exception::from_foreign(exception)).at(what));
                return failed.map_or(Ok(()), Err);
            }
            State::Running if deadline.is_over_after(pause) => {
                let ms = deadline.elapsed_ms();
                let text = format!("{what}: procedure {proc_id} is not done after {ms} ms; it goes on, look at list_procedures");
                return Err(Error::new(ErrorKind::Io, text));
            }
            State::Running => tokio::time::sleep(pause).await,
        }
        pause = (pause * 2).min(PAUSE_MAX);
    }
}
