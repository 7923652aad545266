//! History of users: what a user did, newest first, all of it or between two times.
//!
//! [`OperationKey`] declares the key, [`History`] writes and reads the table. The code uses the
//! public API only.
#![forbid(unsafe_code)]

mod history;
mod key;

pub use history::{History, PageRequest};
pub use key::{OperationKey, USER_CHARS, user_id};

/// What a user did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// User, as [`user_id`] returns it.
    pub user: String,
    /// Time in milliseconds since 1970, 0 or more.
    pub at_ms: i64,
    /// Number that no other operation of the user in this millisecond has.
    pub sequence: u32,
    /// Kind, such as `login`.
    pub kind: String,
    /// Further text; may be empty.
    pub detail: String,
}
