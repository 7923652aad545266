//! Connections: from a socket to messages and back.
//!
//! ```text
//! listener.rs   accepts sockets        startup.rs   TLS, login, cancel requests
//! tls.rs        certificate and key    login.rs     SCRAM over messages
//! io.rs         messages of a session in both directions, and what interrupts a statement
//! cancel.rs     numbers and secrets of the sessions
//! ```

mod cancel;
pub(crate) mod io;
pub(crate) mod listener;
mod login;
mod startup;
mod tls;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use halite_sql::SqlContext;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use crate::config::{Config, Limits};
use crate::users::Users;
pub(crate) use cancel::{CancelEntry, Cancels, Signal, Signalled};

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
    /// One for each connection.
    slots: Arc<Semaphore>,
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
            stopping,
            is_full_logged: AtomicBool::new(false),
        })
    }
}
