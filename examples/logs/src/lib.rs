//! Logs: lines of programs, by host and event or by time, under each of five keys.
//!
//! [`TABLES`] declares the five keys and [`Layout`] names them; [`Logs`] writes and reads all of
//! them by the same code, since a key is known by its declaration. The code uses the public API
//! only.
#![forbid(unsafe_code)]

mod key;
mod logs;
mod place;
mod repair;

pub use key::{Layout, TABLES};
pub use logs::{Found, Logs, Question};

/// Line of a log. Lines are ordered newest first, then by host, event and sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Host, not empty.
    pub host: String,
    /// Kind of the line, such as `http.error`, not empty.
    pub event: String,
    /// Time in milliseconds since 1970, 0 or more.
    pub at_ms: i64,
    /// Number that no other line of the host, event and time has.
    pub sequence: u32,
    pub message: String,
}

impl Line {
    pub(crate) fn order(&self) -> impl Ord + '_ {
        (std::cmp::Reverse(self.at_ms), &self.host, &self.event, self.sequence)
    }
}
