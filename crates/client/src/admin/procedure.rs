//! Long operations: a call starts them, and the client polls until they are done. Most are
//! procedures of the master.

use std::time::Duration;

use halite_types::{Error, ErrorKind, Result};
use halite_wire::exception::Exception;
use halite_wire::proto as pb;
use halite_wire::service::MasterGetProcedureResult;
use pb::get_procedure_result_response::State;

use super::master;
use crate::deadline::Deadline;
use crate::shared::ClientInner;

/// Poll interval of procedures: the initial one, which doubles up to the maximum.
const POLL_INTERVAL: PollInterval =
    PollInterval { first: Duration::from_millis(5), max: Duration::from_secs(1) };

/// Poll interval: initial and maximum.
#[derive(Clone, Copy)]
pub(super) struct PollInterval {
    pub(super) first: Duration,
    pub(super) max: Duration,
}

/// Waits between polls of an operation.
pub(super) struct Poller {
    deadline: Deadline,
    next: Duration,
    max: Duration,
}

impl Poller {
    pub(super) fn new(deadline: Deadline, pauses: PollInterval) -> Self {
        Self { deadline, next: pauses.first, max: pauses.max }
    }

    /// Waits until the next poll, twice as long each time.
    ///
    /// # Errors
    /// `Io` if the deadline passes before that; `text` formats the message, given the elapsed
    /// milliseconds.
    pub(super) async fn pause(&mut self, text: impl FnOnce(u64) -> String) -> Result<()> {
        if self.deadline.is_over_after(self.next) {
            return Err(Error::new(ErrorKind::Io, text(self.deadline.elapsed_ms())));
        }
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(self.max);
        Ok(())
    }
}

/// Returns the group and number that identify a repeated call.
pub(super) fn nonces(shared: &ClientInner) -> (Option<u64>, Option<u64>) {
    (Some(shared.nonces.group()), Some(shared.nonces.next()))
}

/// Waits until a procedure is done; `operation` describes the operation in messages.
///
/// # Errors
/// The error of the procedure; `Io` if it is not done within the operation timeout.
pub(super) async fn finish(shared: &ClientInner, id: Option<u64>, operation: &str) -> Result<()> {
    let Some(proc_id) = id else { return Ok(()) };
    let mut waiting = Poller::new(shared.deadline(), POLL_INTERVAL);
    loop {
        let answer = master::call::<MasterGetProcedureResult>(
            shared,
            &pb::GetProcedureResultRequest { proc_id },
        )
        .await?;
        match answer.state() {
            // The master evicts procedures some time after their end, and retains failed ones as
            // long.
            State::Finished | State::NotFound => {
                let failed = answer.exception.as_ref().map(|exception| {
                    Error::from(&Exception::from_foreign(exception)).at(operation)
                });
                return failed.map_or(Ok(()), Err);
            }
            State::Running => {
                let text = |ms| {
                    format!(
                        "{operation}: procedure {proc_id} is not finished after {ms} ms and \
                         continues; see list_procedures"
                    )
                };
                waiting.pause(text).await?;
            }
        }
    }
}
