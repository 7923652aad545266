//! Arguments of a handler: the server, the peer, and a way to start a procedure.

use std::sync::Arc;

use bytes::Bytes;
use halite_engine::Engine;
use halite_types::TableName;
use halite_types::schema::SYSTEM_NAMESPACE;
use halite_wire::service;

use super::errors::{namespace_not_found, not_disabled, not_enabled, table_not_found};
use super::names::is_meta;
use super::procedures::{Nonce, Submission};
use crate::call::{Call, CallError, Peer, Reply};
use crate::context::Context;

/// Server and peer of a request.
#[derive(Clone, Copy)]
pub(crate) struct RequestContext<'a> {
    pub(crate) context: &'a Arc<Context>,
    pub(crate) peer: &'a Peer,
    /// Size of the request in bytes.
    bytes: usize,
}

/// Destination of the report of a failed procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// In the reply to the call that submits it, if the failure is known by then.
    InCall,
    /// Only in the result of the procedure.
    InResult,
}

impl<'a> RequestContext<'a> {
    pub(crate) fn new(context: &'a Arc<Context>, call: &'a Call) -> Self {
        Self { context, peer: &call.peer, bytes: call.held_bytes() }
    }

    pub(crate) fn engine(&self) -> &'a Arc<Engine> {
        &self.context.engine
    }

    /// Answers a call with the handler of its method.
    pub(crate) fn serve<C: service::RpcMethod>(
        self,
        call: &Call,
        handler: impl FnOnce(&Self, &C::Request) -> Result<C::Response, CallError>,
    ) -> Result<Reply, CallError>
    where
        C::Response: 'static,
    {
        Ok(Reply::new(handler(&self, &call.message()?)?))
    }

    /// Returns the id of the procedure that an earlier copy of the request started. A handler must
    /// not validate such a request again: its change may already be applied, and the check would
    /// fail.
    pub(crate) fn repeated(&self, nonce: Nonce) -> Option<u64> {
        self.context.master.procedures.started_by(nonce)
    }

    /// Starts a procedure, on a table if one is given, and returns its id.
    ///
    /// # Errors
    /// Too many procedures; with [`Failure::InCall`] also the error of the procedure itself.
    pub(crate) fn start(
        &self,
        name: &'static str,
        table: Option<&TableName>,
        nonce: Nonce,
        failure: Failure,
        work: impl FnOnce(&Engine) -> Result<(), CallError> + Send + 'static,
    ) -> Result<u64, CallError> {
        let procedures = &self.context.master.procedures;
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
pub(crate) fn nonce(group: u64, number: u64) -> Nonce {
    Nonce { group, number }
}

/// Checks that a table exists, whatever its state; `hbase:meta` always does.
pub(crate) fn check_exists(engine: &Engine, table: &TableName) -> Result<(), CallError> {
    if is_meta(table) || engine.is_enabled(table).is_ok() {
        Ok(())
    } else {
        Err(table_not_found(table))
    }
}

/// Checks that a table exists and is enabled.
pub(crate) fn check_enabled(engine: &Engine, table: &TableName) -> Result<(), CallError> {
    check_exists(engine, table)?;
    if is_meta(table) || engine.is_enabled(table)? { Ok(()) } else { Err(not_enabled(table)) }
}

/// Checks that a table may be dropped or truncated: it exists, is disabled, and is not
/// `hbase:meta`.
pub(crate) fn check_modifiable(engine: &Engine, table: &TableName) -> Result<(), CallError> {
    if is_meta(table) {
        return Err(CallError::do_not_retry("Can't modify catalog tables"));
    }
    check_exists(engine, table)?;
    if engine.is_enabled(table)? { Err(not_disabled(table)) } else { Ok(()) }
}

/// Checks that a namespace exists.
pub(crate) fn check_namespace(engine: &Engine, name: &str) -> Result<(), CallError> {
    let is_there =
        name == SYSTEM_NAMESPACE || engine.namespaces().iter().any(|(known, _)| known == name);
    if is_there { Ok(()) } else { Err(namespace_not_found(name)) }
}
