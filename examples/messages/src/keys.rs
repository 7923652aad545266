//! The tables and their keys.

use halite::rowkey::KeyBuf;
use halite::rowkey::typed::TsMillis;
use halite::{Error, Result, RowKey};

use crate::Message;

/// Family of all three tables.
pub(crate) const FAMILY: &str = "m";
/// Column of the text.
pub(crate) const BODY: &str = "b";
/// Edits that are retained, the newest first.
pub(crate) const VERSIONS: u32 = 10;

/// The tables: one for each query, because a table has one order of its rows.
pub const TABLES: &[&str] =
    &[InboxKey::CREATE_TABLE, OutboxKey::CREATE_TABLE, ConversationKey::CREATE_TABLE];

/// Key of `inbox`: the receiver, and their messages newest first.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "inbox",
    salt(16, by = "receiver"),
    columns = "body STRING FAMILY m QUALIFIER b VERSIONS 10",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (received: receiver = ? AND ts IN RANGE ORDER BY ts DESC LIMIT 50)
      SPLIT BY SALT"
)]
pub struct InboxKey<'a> {
    pub receiver: &'a str,
    /// Time of sending.
    #[key(desc)]
    pub ts: TsMillis,
    pub sender: &'a str,
    /// Id: two messages of one millisecond are two rows.
    pub id: u64,
}

/// Key of `outbox`: the sender, and their messages newest first.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "outbox",
    salt(16, by = "sender"),
    columns = "body STRING FAMILY m QUALIFIER b VERSIONS 10",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (sent: sender = ? AND ts IN RANGE ORDER BY ts DESC LIMIT 50)
      SPLIT BY SALT"
)]
pub struct OutboxKey<'a> {
    pub sender: &'a str,
    /// Time of sending.
    #[key(desc)]
    pub ts: TsMillis,
    pub receiver: &'a str,
    pub id: u64,
}

/// Key of `convo`: two users, the lesser name first, and their messages newest first.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "convo",
    salt(16, by = "one, other"),
    columns = "body STRING FAMILY m QUALIFIER b VERSIONS 10",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (conversation: one = ? AND other = ? AND ts IN RANGE ORDER BY ts DESC LIMIT 50)
      SPLIT BY SALT"
)]
pub struct ConversationKey<'a> {
    pub one: &'a str,
    pub other: &'a str,
    /// Time of sending.
    #[key(desc)]
    pub ts: TsMillis,
    /// Sending user: one of the two.
    pub sender: &'a str,
    pub id: u64,
}

/// Returns two names in the order of a conversation's key.
pub(crate) fn pair<'a>(a: &'a str, b: &'a str) -> (&'a str, &'a str) {
    if a <= b { (a, b) } else { (b, a) }
}

impl Message {
    fn ts(&self) -> TsMillis {
        TsMillis(self.sent_ms)
    }

    pub(crate) fn inbox_key(&self) -> Result<KeyBuf> {
        let Self { receiver, sender, id, .. } = self;
        Ok(InboxKey { receiver, ts: self.ts(), sender, id: *id }.encode()?)
    }

    pub(crate) fn outbox_key(&self) -> Result<KeyBuf> {
        let Self { receiver, sender, id, .. } = self;
        Ok(OutboxKey { sender, ts: self.ts(), receiver, id: *id }.encode()?)
    }

    pub(crate) fn conversation_key(&self) -> Result<KeyBuf> {
        let (one, other) = pair(&self.sender, &self.receiver);
        let key = ConversationKey { one, other, ts: self.ts(), sender: &self.sender, id: self.id };
        Ok(key.encode()?)
    }

    /// Rejects names and times that cannot be part of a key.
    pub(crate) fn check(&self) -> Result<()> {
        let is_name = |name: &str| !name.is_empty() && !name.contains('\0');
        if is_name(&self.sender) && is_name(&self.receiver) && self.sent_ms >= 0 {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "message {}: use names that are not empty and have no zero byte, and times since 1970",
            self.id
        )))
    }
}
