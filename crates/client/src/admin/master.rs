//! A call to the active master: found through the registry, and again when it has changed.

use std::sync::{Arc, Mutex, PoisonError};

use halite_types::Result;
use halite_wire::exception::{Action, ExceptionKind};
use halite_wire::service::{Call, Service};

use crate::connection::Server;
use crate::deadline::Deadline;
use crate::failure::{Cause, Failure};
use crate::retry::{self, Work};
use crate::shared::Shared;

/// The master that was active last.
#[derive(Default)]
pub(crate) struct Master(Mutex<Option<Arc<Server>>>);

impl Master {
    fn known(&self) -> Option<Arc<Server>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn find(&self, shared: &Shared, deadline: &Deadline) -> Result<Arc<Server>, Failure> {
        if let Some(server) = self.known() {
            return Ok(server);
        }
        let name = shared.registry.master(&shared.config, &shared.servers, deadline).await?;
        let server = shared.servers.get(&name, Service::Master);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&server));
        Ok(server)
    }

    /// Forgets who was active, unless the master says itself that it is and the call is at fault.
    fn note(&self, failure: &Failure, server: &Arc<Server>) {
        let stands = match &failure.cause {
            Cause::Exception(exception) => {
                !matches!(exception.kind(), Some(ExceptionKind::ServerNotRunningYet)) && failure.action() != Action::DropServer
            }
            Cause::Final(_) => true,
            Cause::Unreachable(_) | Cause::Lost(_) | Cause::Late(_) => false,
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !stands && known.as_ref().is_some_and(|known| Arc::ptr_eq(known, server)) {
            *known = None;
        }
    }
}

/// Calls the active master.
///
/// # Errors
/// What it answers, or why it cannot be asked.
pub(super) async fn call<C: Call>(shared: &Shared, request: &C::Request) -> Result<C::Response>
where
    C::Request: Sync,
    C::Response: Send,
{
    let mut call = MasterCall::<C> { shared, request };
    retry::run(&shared.config, &shared.deadline(), &mut call).await.map_err(Failure::into_error)
}

struct MasterCall<'a, C: Call> {
    shared: &'a Shared,
    request: &'a C::Request,
}

impl<C: Call> Work for MasterCall<'_, C>
where
    C::Request: Sync,
    C::Response: Send,
{
    type Output = C::Response;

    async fn attempt(&mut self, deadline: &Deadline) -> Result<C::Response, Failure> {
        let master = &self.shared.master;
        let server = master.find(self.shared, deadline).await?;
        let answered = server.ask::<C>(&self.shared.config, self.request, None, deadline.call()).await;
        let (response, _) = answered.map_err(|failure| {
            master.note(&failure, &server);
            failure.at(format!("master {server}, {}", C::METHOD.name()))
        })?;
        Ok(response)
    }
}
