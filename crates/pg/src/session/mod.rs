//! Session of a client: its statements, portals, settings and transaction.
//!
//! ```text
//! command.rs      statements that are the session's own: SET, BEGIN, FETCH ..
//! commands.rs     what they do                settings.rs   settings of PostgreSQL's clients
//! statement.rs    a statement, prepared       portal.rs     a running one, and its rows
//! simple.rs       Query                       extended.rs   Parse, Bind, Describe, Execute ..
//! labels.rs       names of columns            transaction.rs  BEGIN, COMMIT, savepoints
//! copy.rs         COPY in both directions
//! failure.rs      why a message failed        kept.rs       what is kept by name, and its bytes
//! saved.rs        settings to which a transaction goes back
//! ```

mod command;
mod commands;
mod copy;
mod extended;
mod failure;
mod kept;
mod labels;
mod portal;
mod saved;
pub(crate) mod settings;
mod simple;
mod statement;
mod transaction;

use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};
use std::time::{Duration, Instant};

use halite_sql::{Access, Settings as SqlSettings, SqlContext};

use crate::catalog::{self, Caller};
use crate::config::Limits;
use crate::connection::io::Channel;
use crate::connection::{CancelEntry, Shared};
use crate::error::{
    IDLE_SESSION, IDLE_TRANSACTION, LIMIT_EXCEEDED, NOT_IN_ENCODING, OUT_OF_MEMORY,
    PROTOCOL_VIOLATION, PgError, Result,
};
use crate::wire::backend::{Severity, TransactionState};
use crate::wire::{Backend, Message};
pub(crate) use failure::Failure;
use kept::Kept;
use portal::Portal;
use settings::{IDLE_TIMEOUT, IDLE_TRANSACTION_TIMEOUT, Settings, read_ms};
use statement::Statement;
use transaction::Transaction;

/// Why a cursor has no rows that was not used for long.
const UNUSED: &str = "the cursor was not used for as long as idle_in_transaction_session_timeout \
                      says, and has ended; declare it again";

/// How long a session may idle.
struct IdleTimeout {
    setting: &'static str,
    code: &'static str,
    time: Duration,
}

/// Session after the login.
pub(crate) struct Session {
    sql: SqlContext,
    limits: Limits,
    /// Defaults of the settings of SQL, which RESET brings back.
    defaults: SqlSettings,
    settings: Arc<RwLock<Settings>>,
    transaction: Transaction,
    statements: Kept<Arc<Statement>>,
    portals: Kept<Portal>,
    /// `true` after an error of the extended protocol, up to the next Sync.
    is_skipping: bool,
    /// `true` once the client was told that the session is ready.
    is_idle: bool,
    entry: CancelEntry,
}

impl Session {
    /// Starts a session. The first messages to the client are left in `out`.
    ///
    /// # Errors
    /// A parameter of the startup that cannot be, with severity `Fatal`.
    pub(crate) fn start(
        shared: &Shared,
        access: Access,
        parameters: &[(String, String)],
        entry: CancelEntry,
        out: &mut Backend,
    ) -> Result<Self> {
        let limits = shared.limits.clone();
        let user = parameters.iter().find(|(name, _)| name == "user");
        let user = user.map_or("", |(_, user)| user.as_str());
        let sql = shared.sql.another().with_access(access);
        let settings = Arc::new(RwLock::new(Settings::new(user)));
        let sql = sql.with_name(entry.number, user);
        let caller = Caller { user: user.to_owned(), access, cancels: shared.cancels.clone() };
        let sql = catalog::with_functions(sql, &caller, entry.number, &settings);
        let change = |settings: &mut SqlSettings| {
            settings.statement_timeout = limits.statement_timeout;
            settings.max_rows_examined = limits.max_rows_examined;
            Ok(())
        };
        sql.change(change)?;
        let mut session = Self {
            defaults: sql.settings(),
            sql,
            limits,
            settings,
            transaction: Transaction::default(),
            statements: Kept::default(),
            portals: Kept::default(),
            is_skipping: false,
            is_idle: true,
            entry,
        };
        session.set_at_start(parameters).map_err(PgError::into_fatal)?;
        session.settings().report_all(out);
        out.key_data(session.entry.number, session.entry.secret);
        out.ready(session.transaction.state());
        Ok(session)
    }

    /// Returns what ends its statements and itself.
    pub(crate) fn entry(&self) -> &CancelEntry {
        &self.entry
    }

    /// Returns the settings of PostgreSQL.
    fn settings(&self) -> RwLockWriteGuard<'_, Settings> {
        self.settings.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works off messages to the end of the session.
    pub(crate) async fn run(mut self, mut channel: Channel) {
        if channel.flush().await.is_err() {
            return;
        }
        loop {
            let message = self.next_message(&mut channel).await;
            let done = match message {
                Ok(Some(Message::Terminate) | None) => break,
                Ok(Some(message)) => self.work_off(message, &mut channel).await,
                Err(error) => Err(error.into()),
            };
            match done {
                Ok(()) => {}
                Err(Failure::Gone) => return,
                // The client receives the reason why the session ends.
                Err(Failure::Error(error)) => {
                    error.write(&mut channel.out, "", "");
                    break;
                }
            }
        }
        // Scans end before the client is waited for.
        self.portals.clear();
        channel.close().await;
    }

    /// Waits for the next message, not longer than the session may idle.
    async fn next_message(&mut self, channel: &mut Channel) -> Result<Option<Message>> {
        let idle = if self.is_idle { self.idle_timeout() } else { None };
        let end = idle.as_ref().and_then(|idle| Instant::now().checked_add(idle.time));
        let message = loop {
            let wake = [end, self.end_unused()].into_iter().flatten().min();
            let next = channel.next();
            let Some(wake) = wake else { break next.await };
            if let Ok(message) = tokio::time::timeout_at(wake.into(), next).await {
                break message;
            }
            if let Some(idle) = &idle
                && end.is_some_and(|end| end <= Instant::now())
            {
                let text = format!("nothing came for as long as {} says", idle.setting);
                return Err(PgError::fatal(idle.code, text));
            }
        };
        self.is_idle = matches!(message, Ok(Some(Message::Query(_) | Message::Sync)));
        message
    }

    fn idle_timeout(&self) -> Option<IdleTimeout> {
        let (setting, code) = match self.transaction.state() {
            TransactionState::Idle => (IDLE_TIMEOUT, IDLE_SESSION),
            _ => (IDLE_TRANSACTION_TIMEOUT, IDLE_TRANSACTION),
        };
        Some(IdleTimeout { setting, code, time: self.timeout(setting)? })
    }

    fn timeout(&self, setting: &str) -> Option<Duration> {
        let ms = self.settings().get(setting).and_then(read_ms)?;
        (ms > 0).then(|| Duration::from_millis(ms))
    }

    /// Ends cursors that outlive their transaction and have not been used for as long as one may
    /// idle, and returns when the next one has not.
    fn end_unused(&mut self) -> Option<Instant> {
        let is_held = |portal: &Portal| portal.is_held && portal.is_running();
        if !self.portals.iter_mut().any(|(_, portal)| is_held(portal)) {
            return None;
        }
        let timeout = self.timeout(IDLE_TRANSACTION_TIMEOUT)?;
        let (now, mut next, mut ended) = (Instant::now(), None, Vec::new());
        for (name, portal) in self.portals.iter_mut().filter(|(_, portal)| is_held(portal)) {
            let Some(end) = portal.used.checked_add(timeout) else { continue };
            if end <= now {
                portal.fail(UNUSED);
                ended.push(name.to_owned());
            } else {
                next = Some(next.map_or(end, |next: Instant| next.min(end)));
            }
        }
        ended.iter().for_each(|name| self.count_waiting(name));
        next
    }

    /// Works off a message. Errors of statements have been told already; what is returned ends the
    /// session.
    async fn work_off(&mut self, message: Message, channel: &mut Channel) -> Result<(), Failure> {
        match message {
            Message::Sync => {
                self.is_skipping = false;
                self.end_of_series();
                channel.out.ready(self.transaction.state());
                Ok(channel.flush().await?)
            }
            // The rest of a series after an error.
            _ if self.is_skipping => Ok(()),
            Message::TooLarge { kind, bytes } => {
                let shown = char::from(kind).escape_default();
                let text = format!("message {shown} has {bytes} bytes, which is over the limit");
                self.passed_over(kind, &PgError::new(LIMIT_EXCEEDED, text), channel).await
            }
            Message::NoText { kind, at } => {
                let text = format!(
                    "byte {at} of the text is not UTF-8, which the client announces to send; SET \
                     client_encoding and convert there"
                );
                self.passed_over(kind, &PgError::new(NOT_IN_ENCODING, text), channel).await
            }
            Message::NoMemory { kind } => {
                let text = "large messages of all connections fill their memory; send it again";
                self.passed_over(kind, &PgError::new(OUT_OF_MEMORY, text), channel).await
            }
            Message::Query(text) => {
                self.query(&text, channel).await?;
                self.end_of_series();
                channel.out.ready(self.transaction.state());
                Ok(channel.flush().await?)
            }
            Message::Flush => Ok(channel.flush().await?),
            // Those of a COPY that has failed already.
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => Ok(()),
            Message::Password(_) | Message::Terminate => {
                Err(PgError::fatal(PROTOCOL_VIOLATION, "the login is over").into())
            }
            message => match self.extended(message, channel).await {
                Ok(()) => Ok(channel.flush_if_full().await?),
                // A client may wait for it before it sends the Sync.
                Err(Failure::Error(error)) if error.severity != Severity::Fatal => {
                    self.is_skipping = true;
                    Ok(channel.flush().await?)
                }
                Err(failure) => Err(failure),
            },
        }
    }

    /// Tells of a message that was passed over.
    async fn passed_over(
        &mut self,
        kind: u8,
        error: &PgError,
        channel: &mut Channel,
    ) -> Result<(), Failure> {
        if matches!(kind, b'd' | b'c' | b'f') {
            // Of a COPY that has failed already: no Sync follows it.
            return Ok(());
        }
        error.write(&mut channel.out, "", "");
        self.transaction.fail();
        // A series continues to its Sync; a Query is one by itself.
        if kind == b'Q' {
            channel.out.ready(self.transaction.state());
            self.is_idle = true;
        } else {
            self.is_skipping = true;
        }
        Ok(channel.flush().await?)
    }

    /// Checks that the session may keep `bytes` bytes more, in place of `instead`.
    ///
    /// # Errors
    /// `53200`.
    fn check_kept(&self, bytes: usize, instead: usize) -> Result<()> {
        let limit = self.limits.max_kept_bytes;
        let kept = self.statements.bytes().saturating_add(self.portals.bytes());
        let wanted = kept.saturating_sub(instead).saturating_add(bytes);
        if wanted <= limit {
            return Ok(());
        }
        Err(PgError::new(
            OUT_OF_MEMORY,
            format!(
                "prepared statements and portals of this connection would have {wanted} bytes, and \
                 the limit is {limit}; close some first"
            ),
        ))
    }

    /// Portals end with their transaction, which is the series of messages outside of BEGIN.
    fn end_of_series(&mut self) {
        if !self.transaction.is_open() {
            self.portals.retain(|_, portal| portal.is_held);
        }
    }
}
