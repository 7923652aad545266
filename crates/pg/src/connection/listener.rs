//! Accepts sockets, as many as may log in at a time.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::{Shared, startup};
use crate::error::{PgError, TOO_MANY_CONNECTIONS};
use crate::wire::Backend;

/// Time after an error of accepting, such as no more files.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves connections until the server stops, and waits for them to end.
pub(crate) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut stopping = shared.stopping.clone();
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            // Those that have ended are forgotten.
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            _ = stopping.wait_for(|is_stopping| *is_stopping) => break,
        };
        match accepted {
            Ok((socket, _)) => accept(socket, &shared, &mut connections),
            Err(error) => {
                tracing::warn!("accepting a connection for SQL: {error}");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

fn accept(socket: TcpStream, shared: &Arc<Shared>, connections: &mut JoinSet<()>) {
    let Some(entrant) = shared.entrants.enter() else {
        refuse(&socket, shared);
        return;
    };
    // Small messages go back and forth; waiting to collect more of them only delays.
    let _ = socket.set_nodelay(true);
    let shared = Arc::clone(shared);
    connections.spawn(async move { startup::serve(socket, entrant, &shared).await });
}

/// Tells why, as far as that goes without waiting.
fn refuse(socket: &TcpStream, shared: &Shared) {
    let limit = shared.limits.max_logins;
    let mut out = Backend::default();
    let text = format!("{limit} connections log in, which is the limit; try again in a moment");
    PgError::fatal(TOO_MANY_CONNECTIONS, text).write(&mut out, "", "");
    let _ = socket.try_write(out.buffer());
}
