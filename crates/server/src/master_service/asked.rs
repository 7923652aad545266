//! What a handler is given: the server, who asks, and how to start a procedure.

use std::sync::Arc;

use bytes::Bytes;
use halite_engine::Engine;
use halite_types::TableName;
use halite_types::schema::SYSTEM_NAMESPACE;
use halite_wire::service;

use super::faults::{namespace_not_found, not_disabled, not_enabled, table_not_found};
use super::names::is_meta;
use super::procedures::{Nonce, Submission};
use crate::call::{Call, Fault, Peer, Reply};
use crate::context::Context;

/// Who asks whom.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) context: &'a Arc<Context>,
    pub(crate) peer: &'a Peer,
    /// Bytes of the request.
    bytes: usize,
}

/// Where a failure of a procedure shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// In the answer to the call that submits it, if it is known by then.
    InCall,
    /// In the result of the procedure only.
    InResult,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(context: &'a Arc<Context>, call: &'a Call) -> Self {
        Self { context, peer: &call.peer, bytes: call.bytes_held() }
    }

    pub(crate) fn engine(&self) -> &'a Arc<Engine> {
        &self.context.engine
    }

    /// Answers with the handler of a method.
    pub(crate) fn serve<C: service::Call>(
        self,
        call: &Call,
        handler: impl FnOnce(&Self, &C::Request) -> Result<C::Response, Fault>,
    ) -> Result<Reply, Fault>
    where
        C::Response: 'static,
    {
        Ok(Reply::new(handler(&self, &call.message()?)?))
    }

    /// The procedure that the same request has started before. What it asked for may be done by now, so that it would be
    /// refused if it were looked at again.
    pub(crate) fn repeated(&self, nonce: Nonce) -> Option<u64> {
        self.context.master.procedures.started_by(nonce)
    }

    /// Starts a procedure on a table, or on none, and gives its id.
    ///
    /// # Errors
    /// Too many procedures; with [`Failure::InCall`] what the procedure itself met.
    pub(crate) fn start(
        &self,
        name: &'static str,
        table: Option<&TableName>,
        nonce: Nonce,
        failure: Failure,
        work: impl FnOnce(&Engine) -> Result<(), Fault> + Send + 'static,
    ) -> Result<u64, Fault> {
        let procedures = &self.context.master.procedures;
        let engine = Arc::clone(self.engine());
        let submission = Submission { name, table: table.cloned(), nonce, owner: self.peer.user.clone(), bytes: self.bytes };
        let id = procedures.submit(submission, move || work(&engine).map(|()| Bytes::new()))?;
        let outcome = procedures.find(id).and_then(|procedure| procedure.outcome);
        match outcome {
            Some(Err(exception)) if failure == Failure::InCall => Err(exception.into()),
            _ => Ok(id),
        }
    }
}

/// A nonce as requests carry it.
pub(crate) fn nonce(group: u64, number: u64) -> Nonce {
    Nonce { group, number }
}

/// Checks that a table is there, whatever its state; `hbase:meta` always is.
pub(crate) fn check_exists(engine: &Engine, table: &TableName) -> Result<(), Fault> {
    if is_meta(table) || engine.is_enabled(table).is_ok() { Ok(()) } else { Err(table_not_found(table)) }
}

/// Checks that a table is there and enabled.
pub(crate) fn check_enabled(engine: &Engine, table: &TableName) -> Result<(), Fault> {
    check_exists(engine, table)?;
    if is_meta(table) || engine.is_enabled(table)? { Ok(()) } else { Err(not_enabled(table)) }
}

/// Checks that a table is one that may be dropped or truncated: there, disabled, and not `hbase:meta`.
pub(crate) fn check_modifiable(engine: &Engine, table: &TableName) -> Result<(), Fault> {
    if is_meta(table) {
        return Err(Fault::do_not_retry("Can't modify catalog tables"));
    }
    check_exists(engine, table)?;
    if engine.is_enabled(table)? { Err(not_disabled(table)) } else { Ok(()) }
}

/// Checks that a namespace is there.
pub(crate) fn check_namespace(engine: &Engine, name: &str) -> Result<(), Fault> {
    let is_there = name == SYSTEM_NAMESPACE || engine.namespaces().iter().any(|(known, _)| known == name);
    if is_there { Ok(()) } else { Err(namespace_not_found(name)) }
}
