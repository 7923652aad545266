//! A message, and its conversion from rows.

use halite::{Error, Result, Row};

use crate::keys::{BODY, ConversationKey, FAMILY, InboxKey, OutboxKey};

/// Message with its newest text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// User who sent it; not empty, without zero bytes.
    pub sender: String,
    /// User who receives it; not empty, without zero bytes.
    pub receiver: String,
    /// Time of sending in milliseconds since 1970, 0 or more.
    pub sent_ms: i64,
    /// Number that no other message between these users in this millisecond has.
    pub id: u64,
    pub body: String,
    /// Time of the last edit in milliseconds since 1970; `None` for a message as it was sent.
    pub edited_ms: Option<i64>,
}

/// New text of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub message: Message,
    /// Time in milliseconds since 1970, after sending; each version of a message has a time of its
    /// own.
    pub at_ms: i64,
    pub body: String,
}

/// Text of a message since a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Time of sending or of the edit, in milliseconds since 1970.
    pub at_ms: i64,
    pub body: String,
}

impl Message {
    /// Returns the message of a row of `inbox`.
    pub(crate) fn from_inbox(row: &Row) -> Result<Self> {
        let key = InboxKey::decode(row.key())?;
        Self::from_parts(row, key.sender, key.receiver, key.ts.0, key.id)
    }

    /// Returns the message of a row of `outbox`.
    pub(crate) fn from_outbox(row: &Row) -> Result<Self> {
        let key = OutboxKey::decode(row.key())?;
        Self::from_parts(row, key.sender, key.receiver, key.ts.0, key.id)
    }

    /// Returns the message of a row of `convo`.
    pub(crate) fn from_conversation(row: &Row) -> Result<Self> {
        let key = ConversationKey::decode(row.key())?;
        let receiver = if key.sender == key.one { key.other } else { key.one };
        Self::from_parts(row, key.sender, receiver, key.ts.0, key.id)
    }

    fn from_parts(row: &Row, sender: &str, receiver: &str, sent_ms: i64, id: u64) -> Result<Self> {
        let cell = row.cell(FAMILY, BODY).ok_or_else(|| {
            Error::invalid(format!(
                "message {id} of {sender}: its row has no cell {FAMILY}:{BODY}; delete the row, or \
                 send the message again"
            ))
        })?;
        let at_ms = cell.timestamp();
        Ok(Self {
            sender: sender.to_owned(),
            receiver: receiver.to_owned(),
            sent_ms,
            id,
            body: String::from_utf8_lossy(cell.value()).into_owned(),
            edited_ms: (at_ms != sent_ms).then_some(at_ms),
        })
    }
}
