//! Work that takes its time: it is begun by a call, and asked about until it is done; most of it is a procedure of the master.

use std::time::Duration;

use halite_types::{Error, ErrorKind, Result};
use halite_wire::exception::Exception;
use halite_wire::proto as pb;
use halite_wire::service::MasterGetProcedureResult;
use pb::get_procedure_result_response::State;

use super::master;
use crate::deadline::Deadline;
use crate::shared::Shared;

/// How long to wait before a procedure is asked about again: this, and then twice as long each time.
const PAUSES: Pauses = Pauses { first: Duration::from_millis(5), most: Duration::from_secs(1) };

/// How long to wait before something is asked about again: the first time, and at most.
#[derive(Clone, Copy)]
pub(super) struct Pauses {
    pub(super) first: Duration,
    pub(super) most: Duration,
}

/// Waiting for something that is asked about again and again.
pub(super) struct Waiting {
    deadline: Deadline,
    next: Duration,
    most: Duration,
}

impl Waiting {
    pub(super) fn new(deadline: Deadline, pauses: Pauses) -> Self {
        Self { deadline, next: pauses.first, most: pauses.most }
    }

    /// Waits until it is to be asked about again, twice as long each time.
    ///
    /// # Errors
    /// `Io` if the time is over by then; `text` tells of it, after so many milliseconds.
    pub(super) async fn pause(&mut self, text: impl FnOnce(u64) -> String) -> Result<()> {
        if self.deadline.is_over_after(self.next) {
            return Err(Error::new(ErrorKind::Io, text(self.deadline.elapsed_ms())));
        }
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(self.most);
        Ok(())
    }
}

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
    let mut waiting = Waiting::new(shared.deadline(), PAUSES);
    loop {
        let answer = master::call::<MasterGetProcedureResult>(shared, &pb::GetProcedureResultRequest { proc_id }).await?;
        match answer.state() {
            // The master forgets procedures some time after their end, and those that failed it keeps as long.
            State::Finished | State::NotFound => {
                let failed = answer.exception.as_ref().map(|exception| Error::from(&Exception::from_foreign(exception)).at(what));
                return failed.map_or(Ok(()), Err);
            }
            State::Running => {
                let text = |ms| format!("{what}: procedure {proc_id} is not done after {ms} ms; it goes on, look at list_procedures");
                waiting.pause(text).await?;
            }
        }
    }
}
