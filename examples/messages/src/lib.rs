//! Messages between users: those a user received, those they sent, and conversations, newest first
//! and by page; edits as versions.
//!
//! `keys.rs` declares the three tables, [`Mailbox`] writes and reads them, and `repair.rs` completes
//! messages whose sender stopped between the writes. The code uses the public API only.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod keys;
mod mailbox;
mod message;
mod repair;

pub use keys::{ConversationKey, InboxKey, OutboxKey, TABLES};
pub use mailbox::{Mailbox, Page, PageRequest};
pub use message::{Edit, Message, Version};
