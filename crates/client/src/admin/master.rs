//! Calls to the active master, which is located through the registry, again after a change.

use std::sync::{Arc, Mutex, PoisonError};

use halite_types::Result;
use halite_wire::exception::{ExceptionKind, RetryAction};
use halite_wire::service::{RpcMethod, Service};

use crate::connection::ServerConnection;
use crate::deadline::Deadline;
use crate::error::{RpcError, RpcErrorKind};
use crate::retry::{self, Retryable};
use crate::shared::ClientInner;

/// Last active master.
#[derive(Default)]
pub(crate) struct ActiveMaster(Mutex<Option<Arc<ServerConnection>>>);

impl ActiveMaster {
    fn cached(&self) -> Option<Arc<ServerConnection>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn find(
        &self,
        shared: &ClientInner,
        deadline: &Deadline,
    ) -> Result<Arc<ServerConnection>, RpcError> {
        if let Some(server) = self.cached() {
            return Ok(server);
        }
        let name = shared.registry.master(&shared.config, &shared.connections, deadline).await?;
        let server = shared.connections.get(&name, Service::Master);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&server));
        Ok(server)
    }

    /// Evicts the active master, unless its own response shows that it is active and the call
    /// failed.
    fn record_failure(&self, failure: &RpcError, server: &Arc<ServerConnection>) {
        let stands = match &failure.kind {
            RpcErrorKind::Exception(exception) => {
                !matches!(exception.kind(), Some(ExceptionKind::ServerNotRunningYet))
                    && failure.action() != RetryAction::DropServer
            }
            RpcErrorKind::Final(_) => true,
            RpcErrorKind::Unreachable(_) | RpcErrorKind::Lost(_) | RpcErrorKind::TimedOut(_) => {
                false
            }
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
/// Its exception, or the reason why it cannot be called.
pub(super) async fn call<C: RpcMethod>(
    shared: &ClientInner,
    request: &C::Request,
) -> Result<C::Response>
where
    C::Request: Sync,
    C::Response: Send,
{
    let mut call = MasterCall::<C> { shared, request };
    retry::retry(&shared.config, &shared.deadline(), &mut call).await.map_err(RpcError::into_error)
}

struct MasterCall<'a, C: RpcMethod> {
    shared: &'a ClientInner,
    request: &'a C::Request,
}

impl<C: RpcMethod> Retryable for MasterCall<'_, C>
where
    C::Request: Sync,
    C::Response: Send,
{
    type Output = C::Response;

    async fn attempt(&mut self, deadline: &Deadline) -> Result<C::Response, RpcError> {
        let master = &self.shared.master;
        let server = master.find(self.shared, deadline).await?;
        let answered =
            server.call::<C>(&self.shared.config, self.request, None, deadline.call()).await;
        let (response, _) = answered.map_err(|failure| {
            master.record_failure(&failure, &server);
            failure.at(format!("master {server}, {}", C::METHOD.name()))
        })?;
        Ok(response)
    }
}
