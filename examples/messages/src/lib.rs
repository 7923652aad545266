//! Messages between users: those a user received, those they sent, and conversations, newest first
//! and by page; edits as versions.
//!
//! `keys.rs` declares the three tables, [`Mailbox`] writes, repairs and reads them. The code uses the
//! public API only.
#![forbid(unsafe_code)]

mod keys;
mod mailbox;
mod message;

pub use keys::{ConversationKey, InboxKey, OutboxKey, TABLES};
pub use mailbox::{Mailbox, PageRequest};
pub use message::{Edit, Message, Version};
