//! Arguments of a handler: the state of its service, the server and the peer.

use std::sync::Arc;

use halite_engine::Engine;
use halite_wire::service;

use crate::base::call::{Call, CallError, Peer, Reply};
use crate::base::context::Context;

/// Server and peer of a request to a service with the state `S`.
pub(crate) struct RequestContext<'a, S> {
    /// State of the service.
    pub(crate) state: &'a Arc<S>,
    pub(crate) context: &'a Arc<Context>,
    pub(crate) peer: &'a Peer,
    /// Size of the request in bytes.
    pub(crate) bytes: usize,
}

impl<'a, S> RequestContext<'a, S> {
    pub(crate) fn new(state: &'a Arc<S>, context: &'a Arc<Context>, call: &'a Call) -> Self {
        Self { state, context, peer: &call.peer, bytes: call.held_bytes() }
    }

    pub(crate) fn engine(&self) -> &'a Arc<Engine> {
        &self.context.engine
    }

    /// Answers a call with the handler of its method.
    pub(crate) fn serve<C: service::RpcMethod>(
        &self,
        call: &Call,
        handler: impl FnOnce(&Self, &C::Request) -> Result<C::Response, CallError>,
    ) -> Result<Reply, CallError>
    where
        C::Response: 'static,
    {
        Ok(Reply::new(handler(self, &call.message()?)?))
    }
}
