//! First messages of a connection: TLS, a request to cancel, or the login of a session.

use std::io;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

use super::ending::Ending;
use super::entrants::Entrant;
use super::io::{Channel, Socket};
use super::{Shared, login};
use crate::error::{INTERNAL, NOT_AUTHORIZED, PROTOCOL_VIOLATION, PgError};
use crate::session::Session;
use crate::wire::Backend;
use crate::wire::frames::{self, FrameLimits};
use crate::wire::frontend::Startup;

/// Time for which a large message waits until others have been worked off.
const MEMORY_WAIT: Duration = Duration::from_secs(5);

/// Time in which an error before the login is taken.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// Session to start.
struct Requested {
    socket: Box<dyn Socket>,
    minor: u16,
    parameters: Vec<(String, String)>,
}

/// Session that has started.
struct Started {
    channel: Channel,
    session: Session,
    /// Its place among the sessions.
    slot: OwnedSemaphorePermit,
}

/// Serves one connection to its end.
pub(super) async fn serve(socket: TcpStream, mut entrant: Entrant, shared: &Shared) {
    let mut stopping = shared.stopping.clone();
    let login = tokio::time::timeout(shared.limits.login, log_in(socket, shared));
    let ended = tokio::select! {
        ended = login => ended,
        () = entrant.displaced() => return,
        _ = stopping.wait_for(|is_stopping| *is_stopping) => return,
    };
    // Who does not log in within the time is not told.
    let Ok(Ok(Some(Started { channel, session, slot }))) = ended else { return };
    drop(entrant);
    session.run(channel).await;
    drop(slot);
}

async fn log_in(socket: TcpStream, shared: &Shared) -> io::Result<Option<Started>> {
    let ending = Ending::of(&socket);
    let Some(requested) = requested(socket, shared).await? else { return Ok(None) };
    let Requested { mut socket, minor, parameters } = requested;
    let mut out = Backend::default();
    let options: Vec<&str> = parameters
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| name.starts_with("_pq_."))
        .collect();
    if minor > 0 || !options.is_empty() {
        out.negotiate(&options);
    }
    let access = match login::prove(&mut socket, &mut out, shared.users.as_ref(), &parameters).await
    {
        Ok(access) => access,
        Err(login::Failed::Socket(error)) => return Err(error),
        Err(login::Failed::Refused(error)) => {
            error.write(&mut out, "", "");
            return refuse(socket, out).await.map(|()| None);
        }
    };
    let slot = match shared.slot(access) {
        Ok(slot) => slot,
        Err(error) => {
            error.write(&mut out, "", "");
            return refuse(socket, out).await.map(|()| None);
        }
    };
    let user = parameters.iter().find(|(name, _)| name == "user");
    let user = user.map_or("", |(_, user)| user.as_str());
    let entry = shared.cancels.enter(user).map_err(|what| PgError::fatal(INTERNAL, what));
    let started =
        entry.and_then(|entry| Session::start(shared, access, &parameters, entry, &mut out));
    match started {
        Ok(session) => {
            let limits = FrameLimits {
                max_bytes: shared.limits.max_message_bytes,
                stall: shared.limits.stall,
                memory_wait: MEMORY_WAIT,
                budget: std::sync::Arc::clone(&shared.budget),
            };
            let stopping = shared.stopping.clone();
            let mut channel = Channel::new(socket, ending, limits, session.entry(), stopping);
            channel.out = out;
            Ok(Some(Started { channel, session, slot }))
        }
        Err(error) => {
            error.write(&mut out, "", "");
            refuse(socket, out).await.map(|()| None)
        }
    }
}

/// Reads first messages up to the one that starts a session; `None` if there is none to start.
async fn requested(socket: TcpStream, shared: &Shared) -> io::Result<Option<Requested>> {
    let mut socket: Box<dyn Socket> = Box::new(socket);
    let (mut is_encrypted, mut has_asked_tls, mut has_asked_gss) = (false, false, false);
    loop {
        let Some(body) = frames::read_startup(&mut socket).await? else { return Ok(None) };
        let mut out = Backend::default();
        match Startup::read(body) {
            Ok(Startup::Tls) if !has_asked_tls => {
                has_asked_tls = true;
                if let Some(tls) = &shared.tls {
                    out.accepted();
                    socket.write_all(out.buffer()).await?;
                    socket = Box::new(tls.accept(socket).await?);
                    is_encrypted = true;
                } else {
                    out.refused();
                    socket.write_all(out.buffer()).await?;
                }
            }
            Ok(Startup::Gss) if !has_asked_gss => {
                has_asked_gss = true;
                out.refused();
                socket.write_all(out.buffer()).await?;
            }
            Ok(Startup::Cancel { connection, secret }) => {
                shared.cancels.cancel(connection, secret);
                return Ok(None);
            }
            Ok(Startup::Session { .. }) if shared.needs_tls && !is_encrypted => {
                let text = "this server needs TLS; connect with sslmode=require";
                PgError::fatal(NOT_AUTHORIZED, text).write(&mut out, "", "");
                return refuse(socket, out).await.map(|()| None);
            }
            Ok(Startup::Session { minor, parameters }) => {
                return Ok(Some(Requested { socket, minor, parameters }));
            }
            Ok(Startup::Tls | Startup::Gss) => {
                let text = "encryption was requested twice";
                PgError::fatal(PROTOCOL_VIOLATION, text).write(&mut out, "", "");
                return refuse(socket, out).await.map(|()| None);
            }
            Err(error) => {
                PgError::fatal(PROTOCOL_VIOLATION, error.to_string()).write(&mut out, "", "");
                return refuse(socket, out).await.map(|()| None);
            }
        }
    }
}

/// Sends an error and closes.
async fn refuse(mut socket: Box<dyn Socket>, mut out: Backend) -> io::Result<()> {
    let sending = async {
        socket.write_all_buf(out.buffer()).await?;
        socket.shutdown().await
    };
    tokio::time::timeout(SEND_TIMEOUT, sending).await.unwrap_or(Ok(()))
}
