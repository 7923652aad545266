//! State of a log that waits for disk space, and the errors of failed writes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use halite_types::{Error, ErrorKind};

use crate::heal::Healed;

/// State of a stalled log: `true` while a group waits for disk space, and the error of its last
/// attempt.
#[derive(Default)]
pub(super) struct Stall {
    pub(super) is_on: AtomicBool,
    pub(super) error: Mutex<Option<Error>>,
}

impl Stall {
    /// Returns the error while the log is stalled.
    pub(super) fn error(&self) -> Option<Error> {
        if !self.is_on.load(Ordering::Acquire) {
            return None;
        }
        self.error.lock().healed().clone()
    }

    pub(super) fn set(&self, error: Option<Error>) {
        let is_on = error.is_some();
        *self.error.lock().healed() = error;
        self.is_on.store(is_on, Ordering::Release);
    }
}

/// Returns `true` if a call failed for lack of disk space and may be retried once there is some.
pub(super) fn is_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
}

/// Returns the error of a log that cannot continue.
pub(super) fn stopped(what: &str, error: std::io::Error) -> Error {
    let error = Error::io(what, error);
    let text = format!(
        "{}; writing has stopped, reads continue; close the store, fix the cause and open it again",
        error.message()
    );
    Error::new(ErrorKind::Stopped, text).with_source(error)
}

/// Returns the error of a failed write: `DiskFull` for lack of disk space, after which the log
/// continues, else `Stopped`.
pub(super) fn unwritten(what: &str, error: std::io::Error) -> Error {
    if !is_full(&error) {
        return stopped(what, error);
    }
    Error::new(ErrorKind::DiskFull, format!("{what}: {error}; make room on the disk"))
        .with_source(error)
}

/// As [`unwritten`], for a segment that contains nothing yet. A shortage of descriptors or memory
/// is also temporary in this case.
pub(super) fn not_begun(what: &str, error: std::io::Error) -> Error {
    use rustix::io::Errno;
    match Errno::from_io_error(&error) {
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => Error::new(
            ErrorKind::Busy,
            format!("{what}: {error}; close connections, or give the process more (ulimit -n)"),
        )
        .with_source(error),
        _ => unwritten(what, error),
    }
}

/// Returns `true` if a group of writes can be retried after this error.
pub(super) fn may_be_tried_again(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::DiskFull | ErrorKind::Busy)
}

/// Returns the error for writes that arrive while the log is stalled.
pub(super) fn refusal(cause: &Error) -> Error {
    let text = format!(
        "writes are refused, reads go on, and writes go on by themselves when the log can be \
         written: {}",
        cause.message()
    );
    Error::new(cause.kind(), text).with_source(cause.clone())
}

/// Returns the error of a write that the log has accepted and cannot write yet. Its kind is that of
/// a failed file, because a caller that repeats the write may apply it twice.
pub(super) fn undecided(cause: &Error) -> Error {
    let text = format!(
        "{}; whether this write takes effect is not known yet: the log writes it as soon as it \
         can, if the process lives until then",
        cause.message()
    );
    Error::new(ErrorKind::Io, text).with_source(cause.clone())
}

pub(super) fn undecided_if_stalled(error: Error) -> Error {
    if may_be_tried_again(&error) { undecided(&error) } else { error }
}
