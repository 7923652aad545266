//! Numbers and secrets of sessions, by which another connection cancels their statement or ends
//! them.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::users::random;

/// Sessions that can be cancelled. A clone has the same.
#[derive(Clone, Default)]
pub(crate) struct Cancels {
    sessions: Arc<Mutex<HashMap<u32, Session>>>,
    next: Arc<AtomicU32>,
}

impl fmt::Debug for Cancels {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Cancels").finish_non_exhaustive()
    }
}

struct Session {
    secret: u32,
    user: String,
    cancel: watch::Sender<()>,
    terminate: watch::Sender<bool>,
}

/// What a signal ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Signal {
    /// The running statement.
    Statement,
    /// The session itself.
    Session,
}

/// Result of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signalled {
    Done,
    /// The session is one of another user, whose sessions the sender may not end.
    Refused,
    /// There is no such session.
    Unknown,
}

/// Entry of a session, which goes with it.
pub(crate) struct CancelEntry {
    pub(crate) number: u32,
    pub(crate) secret: u32,
    /// Changes when the running statement is to end.
    pub(crate) cancelled: watch::Receiver<()>,
    /// `true` once the session is to end.
    pub(crate) terminated: watch::Receiver<bool>,
    sessions: Arc<Mutex<HashMap<u32, Session>>>,
}

impl Cancels {
    /// Adds a session of a user.
    ///
    /// # Errors
    /// A system without randomness.
    pub(crate) fn enter(&self, user: &str) -> Result<CancelEntry, String> {
        let secret = u32::from_be_bytes(random()?);
        let (cancel, cancelled) = watch::channel(());
        let (terminate, terminated) = watch::channel(false);
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        // Clients show the number as that of a process, which is positive.
        let number = loop {
            let number = (self.next.fetch_add(1, Ordering::Relaxed) & 0x7fff_ffff) + 1;
            if !sessions.contains_key(&number) {
                break number;
            }
        };
        let user = user.to_owned();
        sessions.insert(number, Session { secret, user, cancel, terminate });
        let sessions = Arc::clone(&self.sessions);
        Ok(CancelEntry { number, secret, cancelled, terminated, sessions })
    }

    /// Ends the running statement of a session, if the secret is its.
    pub(crate) fn cancel(&self, number: u32, secret: u32) {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.get(&number).filter(|session| session.secret == secret) {
            session.cancel.send_replace(());
        }
    }

    /// Tells a session to end something. `of` is the user whose sessions may be told; `None` for
    /// all.
    pub(crate) fn signal(&self, number: u32, signal: Signal, of: Option<&str>) -> Signalled {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(session) = sessions.get(&number) else { return Signalled::Unknown };
        if of.is_some_and(|user| user != session.user) {
            return Signalled::Refused;
        }
        match signal {
            Signal::Statement => session.cancel.send_replace(()),
            Signal::Session => drop(session.terminate.send_replace(true)),
        }
        Signalled::Done
    }
}

impl Drop for CancelEntry {
    fn drop(&mut self) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_secret_cancels() {
        let cancels = Cancels::default();
        let (one, other) = (cancels.enter("a").unwrap(), cancels.enter("b").unwrap());
        assert_ne!(one.number, other.number);
        cancels.cancel(one.number, one.secret ^ 1);
        assert!(!one.cancelled.has_changed().unwrap());
        cancels.cancel(one.number, one.secret);
        assert!(one.cancelled.has_changed().unwrap());
        assert!(!other.cancelled.has_changed().unwrap());
        let number = one.number;
        drop(one);
        cancels.cancel(number, 0);
        assert_eq!(cancels.sessions.lock().unwrap().len(), 1);
    }

    #[test]
    fn signals_reach_sessions_of_the_user() {
        let cancels = Cancels::default();
        let entry = cancels.enter("ann").unwrap();
        let signal = |of| cancels.signal(entry.number, Signal::Session, of);
        assert_eq!(signal(Some("bob")), Signalled::Refused);
        assert!(!*entry.terminated.borrow());
        assert_eq!(signal(Some("ann")), Signalled::Done);
        assert!(*entry.terminated.borrow());
        assert_eq!(cancels.signal(entry.number, Signal::Statement, None), Signalled::Done);
        assert!(entry.cancelled.has_changed().unwrap());
        let unknown = cancels.signal(entry.number + 1, Signal::Session, None);
        assert_eq!(unknown, Signalled::Unknown);
    }
}
