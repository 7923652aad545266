//! PostgreSQL's protocol, version 3: bytes of messages in both directions.
//!
//! `cursor.rs` reads fields of a message and never beyond its end, `frontend.rs` reads the messages
//! of clients, `frames.rs` reads them from a socket within limits, `backend.rs` writes ours.

pub(crate) mod backend;
pub(crate) mod cursor;
pub(crate) mod frames;
pub(crate) mod frontend;

pub(crate) use backend::Backend;
pub(crate) use cursor::{Cursor, Malformed};
pub(crate) use frontend::{Message, Target};
