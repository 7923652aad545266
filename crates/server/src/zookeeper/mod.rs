//! The ZooKeeper endpoint: the requests and znodes that HBase's clients look a cluster up with.
//!
//! ```text
//! connection.rs   packets in, answers out, silence     sessions.rs  ids, passwords, timeouts
//! answers.rs      request to reply                      tree.rs      the znodes
//! words.rs        ruok, srvr, mntr                      znodes.rs    those that clients have made
//! ```

mod answers;
mod connection;
mod sessions;
#[cfg(test)]
mod tests;
mod tree;
mod words;
mod znodes;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use halite_types::ErrorKind;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use self::connection::Connection;
use self::sessions::Sessions;
use crate::context::Context;
use crate::outside::{Instant, Listener, Stream};
use crate::shutdown::Shutdown;

/// Packets of unusual size, up to 1 MiB each, that may be on their way on all connections together.
const LARGE_PACKETS: usize = 32;

/// How long to wait before accepting again when the system has no more sockets.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What all connections share.
struct Shared {
    context: Arc<Context>,
    sessions: Sessions,
    large_packets: Arc<Semaphore>,
    started: Instant,
}

impl Shared {
    fn new(context: Arc<Context>) -> Self {
        let sessions = Sessions::new(context.start_code);
        Self { context, sessions, large_packets: Arc::new(Semaphore::new(LARGE_PACKETS)), started: Instant::now() }
    }
}

/// Serves clients until everything is to end.
pub(crate) async fn serve(listener: Listener, context: Arc<Context>, mut shutdown: Shutdown) {
    let shared = Arc::new(Shared::new(context));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = shutdown.requested() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => begin(stream, peer, &shared, &mut connections),
                Err(error) => {
                    tracing::warn!(%error, "accepting a ZooKeeper connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    // Nobody waits for an answer for longer than it takes to compute it, so nothing is lost with the connections.
    connections.shutdown().await;
}

fn begin(stream: Stream, peer: SocketAddr, shared: &Arc<Shared>, connections: &mut JoinSet<()>) {
    let metrics = &shared.context.metrics.zookeeper;
    if connections.len() >= shared.context.config.limits.connections_max {
        metrics.connections_refused.add(1);
        tracing::warn!(%peer, "refused a ZooKeeper connection: too many are open (connections_max)");
        return;
    }
    let Some(account) = shared.context.buffers.connect(peer.ip()) else {
        metrics.connections_refused.add(1);
        tracing::warn!(%peer, "ZooKeeper connection refused: its address has max-connections-per-address open");
        return;
    };
    let Ok(local) = stream.local_addr() else { return };
    // Answers are small and waited for; if the socket will not have it, they come a little later.
    let _ = stream.set_nodelay();
    let shared = Arc::clone(shared);
    connections.spawn(async move {
        let _counted = shared.context.metrics.zookeeper.connections.count_one();
        match Connection::new(stream, local, Arc::clone(&shared), &account).serve().await {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::InvalidRequest => {
                tracing::warn!(%peer, %error, "closed a ZooKeeper connection for what it sent");
            }
            Err(error) => tracing::debug!(%peer, %error, "a ZooKeeper connection broke"),
        }
    });
}
