//! Arguments of a handler of the master, and a way to start a procedure.

use std::sync::Arc;

use bytes::Bytes;
use halite_engine::Engine;
use halite_types::TableName;

use super::state::Master;
use super::state::procedures::{Nonce, Submission};
use crate::base::call::CallError;
use crate::base::request_context;

/// Master, server and peer of a request.
pub(super) type RequestContext<'a> = request_context::RequestContext<'a, Master>;

/// Destination of the report of a failed procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// In the reply to the call that submits it, if the failure is known by then.
    InCall,
    /// Only in the result of the procedure.
    InResult,
}

impl RequestContext<'_> {
    /// Returns the id of the procedure that an earlier copy of the request started. A handler must
    /// not validate such a request again: its change may already be applied, and the check would
    /// fail.
    pub(super) fn repeated(&self, nonce: Nonce) -> Option<u64> {
        self.state.procedures.started_by(nonce)
    }

    /// Starts a procedure, on a table if one is given, and returns its id.
    ///
    /// # Errors
    /// Too many procedures; with [`Failure::InCall`] also the error of the procedure itself.
    pub(super) fn start(
        &self,
        name: &'static str,
        table: Option<&TableName>,
        nonce: Nonce,
        failure: Failure,
        work: impl FnOnce(&Engine) -> Result<(), CallError> + Send + 'static,
    ) -> Result<u64, CallError> {
        let procedures = &self.state.procedures;
        let engine = Arc::clone(self.engine());
        let submission = Submission {
            name,
            table: table.cloned(),
            nonce,
            owner: self.peer.user.clone(),
            bytes: self.bytes,
        };
        let id = procedures.submit(submission, move || work(&engine).map(|()| Bytes::new()))?;
        let outcome = procedures.find(id).and_then(|procedure| procedure.outcome);
        match outcome {
            Some(Err(exception)) if failure == Failure::InCall => Err(exception.into()),
            _ => Ok(id),
        }
    }
}

/// Returns the nonce with these fields of a request.
pub(super) fn nonce(group: u64, number: u64) -> Nonce {
    Nonce { group, number }
}
