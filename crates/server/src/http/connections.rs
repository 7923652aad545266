//! Connections of HTTP clients: their number, their age, and slow ones.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::task::JoinSet;

use super::patient_stream::PatientStream;
use crate::base::buffers::Buffers;
use crate::base::shutdown::Shutdown;
use crate::outside::{Listener, Stream};

/// Maximum concurrent connections; more wait.
const MAX_CONNECTIONS: usize = 64;

/// Maximum connections of one address among them; more are closed.
const MAX_CONNECTIONS_PER_ADDRESS: usize = MAX_CONNECTIONS / 2;

/// Time that a client may take to send a request, and to send the next one.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum age of a connection, active or not.
const MAX_CONNECTION_AGE: Duration = Duration::from_mins(10);

/// Pause before the next accept if the operating system has no free sockets.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves clients until shutdown, each connection with the router for the local address that the
/// client connected to.
pub(super) async fn serve(
    listener: Listener,
    router_for: impl Fn(SocketAddr) -> Router,
    mut shutdown: Shutdown,
) {
    let addresses = Buffers::for_connections(MAX_CONNECTIONS_PER_ADDRESS);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = shutdown.requested() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                Ok((stream, peer)) => {
                    let Some(account) = addresses.connect(peer.ip()) else { continue };
                    let Ok(local) = stream.local_addr() else { continue };
                    let router = router_for(local);
                    connections.spawn(async move {
                        serve_connection(stream, router).await;
                        drop(account);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "accepting a connection to the web page");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    connections.shutdown().await;
}

async fn serve_connection(stream: Stream, router: Router) {
    let service = TowerToHyperService::new(router);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .serve_connection(TokioIo::new(PatientStream::new(stream)), service);
    match tokio::time::timeout(MAX_CONNECTION_AGE, connection).await {
        Ok(Ok(())) | Err(_) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a connection to the web page broke"),
    }
}
