//! Connections: from a socket to messages and back.
//!
//! ```text
//! listener.rs   accepts sockets        startup.rs   TLS, login, cancel requests
//! entrants.rs   those that have not logged in
//! tls.rs        certificate and key    login.rs     SCRAM over messages
//! io.rs         messages of a session in both directions, and what interrupts a statement
//! ending.rs     end of a connection behind messages that wait
//! cancel.rs     numbers and secrets of the sessions
//! ```

mod cancel;
mod ending;
mod entrants;
pub(crate) mod io;
pub(crate) mod listener;
mod login;
mod startup;
mod tls;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use halite_sql::{Access, SqlContext};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use crate::config::{Config, Limits};
use crate::error::{PgError, TOO_MANY_CONNECTIONS};
use crate::users::Users;
pub(crate) use cancel::{CancelEntry, Cancels, Signal, Signalled};
use entrants::Entrants;

/// Time that a login may take when others wait for its place.
const LOGIN_GRACE: Duration = Duration::from_secs(1);

/// What the connections share.
pub(crate) struct Shared {
    /// Session from which those of the connections are made.
    pub(crate) sql: SqlContext,
    pub(crate) limits: Limits,
    users: Option<Users>,
    tls: Option<TlsAcceptor>,
    /// `true` if clients have to ask for TLS.
    needs_tls: bool,
    pub(crate) cancels: Cancels,
    /// KiB of large messages.
    budget: Arc<Semaphore>,
    /// One for each session.
    slots: Arc<Semaphore>,
    /// Those beyond, for admins who have proved that they are.
    admin_slots: Arc<Semaphore>,
    entrants: Entrants,
    /// `true` once the server stops.
    stopping: watch::Receiver<bool>,
    /// `true` after the first refused connection was logged.
    is_full_logged: AtomicBool,
}

impl Shared {
    /// Reads the files for TLS.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub(crate) fn new(
        sql: SqlContext,
        config: &Config,
        stopping: watch::Receiver<bool>,
    ) -> Result<Self, String> {
        config.check()?;
        let kib = config.limits.max_buffered_bytes.max(config.limits.max_message_bytes) / 1024 + 1;
        Ok(Self {
            sql,
            limits: config.limits.clone(),
            users: config.users.clone(),
            tls: config.tls.as_ref().map(tls::acceptor).transpose()?,
            needs_tls: !config.address.ip().is_loopback(),
            cancels: Cancels::default(),
            budget: Arc::new(Semaphore::new(kib)),
            slots: Arc::new(Semaphore::new(config.limits.max_connections)),
            admin_slots: Arc::new(Semaphore::new(config.limits.admin_connections)),
            entrants: Entrants::new(config.limits.max_logins, LOGIN_GRACE),
            stopping,
            is_full_logged: AtomicBool::new(false),
        })
    }

    /// Takes a place for a session.
    ///
    /// # Errors
    /// `53300` if all are taken.
    fn slot(&self, access: Access) -> Result<OwnedSemaphorePermit, PgError> {
        let take = |slots: &Arc<Semaphore>| Arc::clone(slots).try_acquire_owned().ok();
        let is_admin = access == Access::Admin && self.users.is_some();
        let slot =
            take(&self.slots).or_else(|| if is_admin { take(&self.admin_slots) } else { None });
        slot.ok_or_else(|| {
            let limit = self.limits.max_connections;
            if !self.is_full_logged.swap(true, Ordering::Relaxed) {
                tracing::warn!("connections for SQL are refused, as {limit} are open");
            }
            let text = format!("{limit} connections are open, which is the limit; try again later");
            PgError::fatal(TOO_MANY_CONNECTIONS, text)
        })
    }
}
