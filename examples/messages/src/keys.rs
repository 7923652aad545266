//! The tables and their keys.

use halite::RowKey;
use halite::rowkey::KeyBuf;
use halite::rowkey::typed::TsMillis;
use halite::{Error, Result};

use crate::Message;

/// Family of all three tables.
pub(crate) const FAMILY: &str = "m";
/// Column of the text.
pub(crate) const BODY: &str = "b";
/// Edits that are retained, the newest first.
pub(crate) const VERSIONS: u32 = 10;

/// The tables: one for each query, because a table has one order of its rows.
pub const TABLES: &str = "
CREATE TABLE inbox (
  body STRING FAMILY m QUALIFIER b VERSIONS 10,
  ROW KEY (SALT(16 BY receiver), receiver STRING, ts TIMESTAMP DESC, sender STRING, id U64)
) WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
  WITH QUERIES (received: receiver = ? AND ts IN RANGE ORDER BY ts DESC LIMIT 50)
  SPLIT BY SALT;

CREATE TABLE outbox (
  body STRING FAMILY m QUALIFIER b VERSIONS 10,
  ROW KEY (SALT(16 BY sender), sender STRING, ts TIMESTAMP DESC, receiver STRING, id U64)
) WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
  WITH QUERIES (sent: sender = ? AND ts IN RANGE ORDER BY ts DESC LIMIT 50)
  SPLIT BY SALT;

CREATE TABLE convo (
  body STRING FAMILY m QUALIFIER b VERSIONS 10,
  ROW KEY (SALT(16 BY one, other), one STRING, other STRING, ts TIMESTAMP DESC, sender STRING, id U64)
) WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
  WITH QUERIES (conversation: one = ? AND other = ? AND ts IN RANGE ORDER BY ts DESC LIMIT 50)
  SPLIT BY SALT;
";

/// Key of `inbox`: the receiver, and their messages newest first.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "inbox", salt(16, by = "receiver"))]
pub struct InboxKey<'a> {
    /// Receiving user.
    pub receiver: &'a str,
    /// Time of sending.
    #[key(desc)]
    pub ts: TsMillis,
    /// Sending user.
    pub sender: &'a str,
    /// Id: two messages of one millisecond are two rows.
    pub id: u64,
}

/// Key of `outbox`: the sender, and their messages newest first.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "outbox", salt(16, by = "sender"))]
pub struct OutboxKey<'a> {
    /// Sending user.
    pub sender: &'a str,
    /// Time of sending.
    #[key(desc)]
    pub ts: TsMillis,
    /// Receiving user.
    pub receiver: &'a str,
    /// Id.
    pub id: u64,
}

/// Key of `convo`: two users, the lesser name first, and their messages newest first.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "convo", salt(16, by = "one, other"))]
pub struct ConversationKey<'a> {
    /// Lesser of the two names.
    pub one: &'a str,
    /// Greater of the two names.
    pub other: &'a str,
    /// Time of sending.
    #[key(desc)]
    pub ts: TsMillis,
    /// Sending user: one of the two.
    pub sender: &'a str,
    /// Id.
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

    /// Rejects names that cannot be part of a key.
    pub(crate) fn check(&self) -> Result<()> {
        for (role, name) in [("sender", &self.sender), ("receiver", &self.receiver)] {
            if name.is_empty() || name.contains('\0') {
                return Err(Error::invalid(format!(
                    "message {}: {role} {name:?} is empty or contains a zero byte; use a name \
                     of other characters",
                    self.id
                )));
            }
        }
        if self.sent_ms < 0 {
            return Err(Error::invalid(format!(
                "message {}: it was sent at {} ms, before 1970; use the time of sending",
                self.id, self.sent_ms
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use halite::rowkey::language::{Statement, statements};

    use super::*;

    #[test]
    fn derived_keys_are_those_of_the_tables() {
        let declared: Vec<(String, String)> = statements(TABLES)
            .unwrap()
            .into_iter()
            .map(|statement| match statement {
                Statement::CreateTable(table) => {
                    (table.descriptor.name().to_string(), table.key.to_string())
                }
                other => panic!("{other:?}"),
            })
            .collect();
        let derived = [
            (InboxKey::TABLE, InboxKey::SCHEMA),
            (OutboxKey::TABLE, OutboxKey::SCHEMA),
            (ConversationKey::TABLE, ConversationKey::SCHEMA),
        ];
        assert_eq!(declared, derived.map(|(table, key)| (table.to_owned(), key.to_owned())));
    }
}
