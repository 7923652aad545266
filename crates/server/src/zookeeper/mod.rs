//! ZooKeeper endpoint: the requests and znodes with which HBase's clients look up a cluster.
//!
//! ```text
//! connection.rs         packets, responses, timeouts   sessions.rs    ids, passwords, timeouts
//! handlers.rs           responses to requests          znode_tree.rs  server's own znodes
//! four_letter_words.rs  ruok, srvr, mntr               znodes.rs      client-created znodes
//! state.rs              state of all connections
//! ```

mod connection;
mod four_letter_words;
mod handlers;
mod sessions;
mod state;
#[cfg(test)]
mod tests;
mod znode_tree;
mod znodes;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use halite_types::ErrorKind;
use tokio::task::JoinSet;

use self::connection::Connection;
use self::state::ZooKeeperState;
use crate::base::context::Context;
use crate::base::shutdown::Shutdown;
use crate::outside::{Listener, Stream};

/// Pause before the next accept if the operating system has no free sockets.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves clients until shutdown.
pub(crate) async fn serve(listener: Listener, context: Arc<Context>, mut shutdown: Shutdown) {
    let shared = Arc::new(ZooKeeperState::new(context));
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
    // Responses are computed at once and clients do not wait longer, so nothing is lost with the
    // connections.
    connections.shutdown().await;
}

fn begin(
    stream: Stream,
    peer: SocketAddr,
    shared: &Arc<ZooKeeperState>,
    connections: &mut JoinSet<()>,
) {
    let metrics = &shared.context.metrics.zookeeper;
    if connections.len() >= shared.context.config.limits.max_connections {
        metrics.connections_rejected.add(1);
        tracing::warn!(
            %peer,
            "refused a ZooKeeper connection: too many are open (max-connections)"
        );
        return;
    }
    let Some(account) = shared.context.buffers.connect(peer.ip()) else {
        metrics.connections_rejected.add(1);
        tracing::warn!(
            %peer,
            "ZooKeeper connection refused: its address has max-connections-per-address open"
        );
        return;
    };
    let Ok(local) = stream.local_addr() else { return };
    // Responses are small and clients wait for them; without the option they arrive a little later.
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
