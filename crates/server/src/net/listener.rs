//! RPC listener: accepts connections on the two RPC ports, within the limit.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::connection;
use super::port::Port;
use crate::base::shutdown::Shutdown;
use crate::outside::{Listener, Stream};
use crate::services::Services;

/// Pause before the next accept if the operating system has no free sockets.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves clients until shutdown, and then until every connection has ended.
pub(crate) async fn serve(
    listener: Listener,
    port: Port,
    services: Arc<Services>,
    mut shutdown: Shutdown,
) {
    let context = Arc::clone(&services.context);
    let permits = Arc::new(Semaphore::new(context.config.limits.max_connections));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = shutdown.requested() => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(?port, %error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        context.metrics.connections_accepted.add(1);
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
            context.metrics.connections_rejected.add(1);
            tracing::warn!(
                ?port,
                limit = context.config.limits.max_connections,
                "a connection is refused: max-connections are open"
            );
            continue;
        };
        let Some(account) = context.buffers.connect(address.ip()) else {
            context.metrics.connections_rejected.add(1);
            let limit = context.config.limits.max_connections_per_address;
            tracing::warn!(
                ?port,
                %address,
                limit,
                "connection refused: its address has max-connections-per-address open"
            );
            continue;
        };
        prepare(&stream);
        let (services, shutdown) = (Arc::clone(&services), shutdown.clone());
        connections.spawn(async move {
            let _counted = services.context.metrics.connections.count_one();
            connection::serve(stream, port, &services, account, shutdown).await;
            drop(permit);
        });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Sets the socket options: small responses are sent at once, and a vanished peer is detected.
fn prepare(stream: &Stream) {
    if let (Err(error), _) | (_, Err(error)) = (stream.set_nodelay(), stream.set_keepalive()) {
        // The connection works without the option.
        tracing::debug!(%error, "a socket option could not be set");
    }
}
