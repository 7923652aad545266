//! Numbers and secrets of sessions, by which another connection cancels their statement.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::users::random;

/// Sessions that can be cancelled.
#[derive(Default)]
pub(crate) struct Cancels {
    sessions: Arc<Mutex<HashMap<u32, Session>>>,
    next: AtomicU32,
}

struct Session {
    secret: u32,
    cancel: watch::Sender<()>,
}

/// Entry of a session, which goes with it.
pub(crate) struct CancelEntry {
    pub(crate) number: u32,
    pub(crate) secret: u32,
    /// Changes when the running statement is to end.
    pub(crate) cancelled: watch::Receiver<()>,
    sessions: Arc<Mutex<HashMap<u32, Session>>>,
}

impl Cancels {
    /// Adds a session.
    ///
    /// # Errors
    /// A system without randomness.
    pub(crate) fn enter(&self) -> Result<CancelEntry, String> {
        let secret = u32::from_be_bytes(random()?);
        let (cancel, cancelled) = watch::channel(());
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        // Clients show the number as that of a process, which is positive.
        let number = loop {
            let number = (self.next.fetch_add(1, Ordering::Relaxed) & 0x7fff_ffff) + 1;
            if !sessions.contains_key(&number) {
                break number;
            }
        };
        sessions.insert(number, Session { secret, cancel });
        let sessions = Arc::clone(&self.sessions);
        Ok(CancelEntry { number, secret, cancelled, sessions })
    }

    /// Ends the running statement of a session, if the secret is its.
    pub(crate) fn cancel(&self, number: u32, secret: u32) {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.get(&number).filter(|session| session.secret == secret) {
            session.cancel.send_replace(());
        }
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
        let (one, other) = (cancels.enter().unwrap(), cancels.enter().unwrap());
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
}
