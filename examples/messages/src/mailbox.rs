//! Writes and reads of the three tables.

use std::ops::Range;
use std::sync::Arc;

use halite::rowkey::typed::TsMillis;
use halite::rowkey::{KeyBuf, PageToken, Plan, Scatter, ScatterOptions};
use halite::{
    BlockingCluster, BlockingTable, CheckAndMutate, CompareOp, Condition, Error, Get, Put, Result,
    Row, RowOp, Scan, block_on, declare_tables,
};

use crate::keys::{BODY, ConversationKey, FAMILY, InboxKey, OutboxKey, TABLES, VERSIONS, pair};
use crate::{Edit, Message, Version};

/// Mailboxes of all users, on any cluster. Cheap to clone.
#[derive(Clone)]
pub struct Mailbox {
    pub(crate) inbox: BlockingTable,
    pub(crate) outbox: BlockingTable,
    pub(crate) convo: BlockingTable,
}

/// Part of a list: times, size, and where the page before ended.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// Times of sending, from the first (inclusive) to the last (exclusive).
    pub sent_ms: Range<i64>,
    /// Maximum messages of a page, above 0.
    pub limit: usize,
    /// Token of the page before; `None` for the first page.
    pub after: Option<PageToken>,
}

impl PageRequest {
    /// Returns the request of the newest messages of all times.
    pub fn newest(limit: usize) -> Self {
        Self { sent_ms: 0..i64::MAX, limit, after: None }
    }
}

/// Messages, newest first.
#[derive(Clone, Debug)]
pub struct Page {
    /// Messages.
    pub messages: Vec<Message>,
    /// Token for the next page; `None` if this one is not full, so that none follows.
    pub next: Option<PageToken>,
    /// Rows that the table returned for it.
    pub examined: u64,
}

impl Mailbox {
    /// Opens the tables of a namespace, and creates those that do not exist.
    ///
    /// # Errors
    /// As [`declare_tables`].
    pub fn open(cluster: &BlockingCluster, namespace: &str) -> Result<Self> {
        declare_tables(cluster, namespace, TABLES)?;
        let table = |name: &str| cluster.table(&format!("{namespace}:{name}"));
        Ok(Self {
            inbox: table(InboxKey::TABLE)?,
            outbox: table(OutboxKey::TABLE)?,
            convo: table(ConversationKey::TABLE)?,
        })
    }

    /// Sends messages. The outbox is written first: after a failure [`Self::repair`] finds there
    /// what the other two tables lack. Sending a message again has no effect.
    ///
    /// # Errors
    /// `InvalidRequest` for an invalid message, before any is written; otherwise as
    /// [`BlockingTable::batch`].
    pub fn send(&self, messages: &[Message]) -> Result<()> {
        if messages.is_empty() {
            return Ok(());
        }
        messages.iter().try_for_each(Message::check)?;
        write(&self.outbox, puts(messages, Message::outbox_key)?)?;
        write(&self.inbox, puts(messages, Message::inbox_key)?)?;
        write(&self.convo, puts(messages, Message::conversation_key)?)
    }

    /// Gives messages other texts, as new versions. Returns for each edit `true` if its message
    /// exists; otherwise nothing is written.
    ///
    /// # Errors
    /// `InvalidRequest` for an edit that is not after the sending of its message, before any is
    /// written; otherwise as [`BlockingTable::batch`].
    pub fn edit(&self, edits: &[Edit]) -> Result<Vec<bool>> {
        if edits.is_empty() {
            return Ok(Vec::new());
        }
        edits.iter().try_for_each(Edit::check)?;
        let checks = edits.iter().map(Edit::in_outbox).collect::<Result<Vec<RowOp>>>()?;
        let mut exist = Vec::with_capacity(edits.len());
        for result in self.outbox.batch(checks)? {
            exist.push(result?.processed);
        }
        let existing = || edits.iter().zip(&exist).filter(|(_, exists)| **exists);
        for (table, key) in [
            (&self.inbox, Message::inbox_key as fn(&Message) -> Result<KeyBuf>),
            (&self.convo, Message::conversation_key),
        ] {
            let puts = existing().map(|(edit, _)| Ok(edit.put(key(&edit.message)?).into()));
            write(table, puts.collect::<Result<_>>()?)?;
        }
        Ok(exist)
    }

    /// Returns messages that a user received, newest first.
    ///
    /// # Errors
    /// As [`Scatter::new`] and [`Scatter::next`].
    pub fn received(&self, user: &str, request: &PageRequest) -> Result<Page> {
        let scan = InboxKey::scan().receiver(user).ts(times(request)).limit(request.limit);
        page(&self.inbox, scan.plan()?, request, Message::from_inbox)
    }

    /// Returns messages that a user sent, newest first.
    ///
    /// # Errors
    /// As [`Self::received`].
    pub fn sent(&self, user: &str, request: &PageRequest) -> Result<Page> {
        let scan = OutboxKey::scan().sender(user).ts(times(request)).limit(request.limit);
        page(&self.outbox, scan.plan()?, request, Message::from_outbox)
    }

    /// Returns messages between two users in both directions, newest first.
    ///
    /// # Errors
    /// As [`Self::received`].
    pub fn conversation(&self, a: &str, b: &str, request: &PageRequest) -> Result<Page> {
        let (one, other) = pair(a, b);
        let scan = ConversationKey::scan().one(one).other(other).ts(times(request));
        page(&self.convo, scan.limit(request.limit).plan()?, request, Message::from_conversation)
    }

    /// Returns the texts of a message in its receiver's inbox, the newest first; at most ten. Empty
    /// if it does not exist.
    ///
    /// # Errors
    /// As [`BlockingTable::get`].
    pub fn history(&self, message: &Message) -> Result<Vec<Version>> {
        let row = self.inbox.get(Get::new(message.inbox_key()?).versions(VERSIONS))?;
        let version = |cell: halite::CellRef<'_>| Version {
            at_ms: cell.timestamp(),
            body: String::from_utf8_lossy(cell.value()).into_owned(),
        };
        Ok(row.iter().map(version).collect())
    }
}

fn times(request: &PageRequest) -> Range<TsMillis> {
    TsMillis(request.sent_ms.start)..TsMillis(request.sent_ms.end)
}

impl Edit {
    fn check(&self) -> Result<()> {
        let Self { message, at_ms, .. } = self;
        message.check()?;
        if *at_ms > message.sent_ms {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "message {}: it is edited at {at_ms} ms, and was sent at {} ms; use a later time",
            message.id, message.sent_ms
        )))
    }

    fn put(&self, key: KeyBuf) -> Put {
        Put::new(key).add_at(FAMILY, BODY, self.at_ms, &self.body)
    }

    /// Returns the write of the outbox, which is applied if the message exists.
    fn in_outbox(&self) -> Result<RowOp> {
        let exists = Condition::Column {
            family: FAMILY.into(),
            qualifier: BODY.into(),
            op: CompareOp::NotEqual,
            value: None,
        };
        let key = self.message.outbox_key()?;
        Ok(CheckAndMutate::new(key.to_vec(), exists, self.put(key)).into())
    }
}

/// Returns the puts of messages in one table. Their cells have the time of sending, so that writing
/// them again changes nothing.
fn puts(messages: &[Message], key: fn(&Message) -> Result<KeyBuf>) -> Result<Vec<RowOp>> {
    let put = |message: &Message| -> Result<RowOp> {
        Ok(Put::new(key(message)?).add_at(FAMILY, BODY, message.sent_ms, &message.body).into())
    };
    messages.iter().map(put).collect()
}

fn write(table: &BlockingTable, ops: Vec<RowOp>) -> Result<()> {
    table.batch(ops)?.into_iter().try_for_each(|result| result.map(drop))
}

/// Reads a page: one range of one table, and not more rows than the page has.
fn page(
    table: &BlockingTable,
    plan: Plan,
    request: &PageRequest,
    message: fn(&Row) -> Result<Message>,
) -> Result<Page> {
    let (table, options) = (Arc::clone(table.inner()), ScatterOptions::default());
    let after = request.after.as_ref();
    let mut rows = Scatter::new(table, Arc::new(plan), Scan::all(), &options, after)?;
    let mut messages = Vec::with_capacity(request.limit.min(1000));
    let mut last = None;
    while let Some(row) = block_on(rows.next())? {
        messages.push(message(&row)?);
        last = Some(row);
    }
    let next = last.filter(|_| messages.len() == request.limit).map(|row| rows.token_of(&row));
    Ok(Page { messages, next, examined: rows.examined() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: u64, sender: &str, receiver: &str, sent_ms: i64) -> Message {
        let body = format!("text {id}");
        let (sender, receiver) = (sender.to_owned(), receiver.to_owned());
        Message { sender, receiver, sent_ms, id, body, edited_ms: None }
    }

    fn ids(page: &Page) -> Vec<u64> {
        page.messages.iter().map(|message| message.id).collect()
    }

    /// Opens mailboxes in a store of their own, which is deleted with the directory.
    fn open() -> (tempfile::TempDir, Mailbox) {
        let directory = tempfile::tempdir().unwrap();
        let store = halite::open(directory.path()).unwrap();
        let mailbox = Mailbox::open(&store, "messages").unwrap();
        (directory, mailbox)
    }

    #[test]
    fn message_sent_twice_is_one() {
        let (_directory, mailbox) = open();
        let sent = [message(1, "ada", "grace", 5), message(2, "grace", "ada", 6)];
        mailbox.send(&sent).unwrap();
        mailbox.send(&sent).unwrap();
        let newest = PageRequest::newest(10);
        assert_eq!(mailbox.received("grace", &newest).unwrap().messages, sent[..1]);
        assert_eq!(ids(&mailbox.sent("grace", &newest).unwrap()), [2]);
        assert_eq!(ids(&mailbox.conversation("grace", "ada", &newest).unwrap()), [2, 1]);
    }

    #[test]
    fn edit_of_unknown_message_writes_nothing() {
        let (_directory, mailbox) = open();
        let known = message(1, "ada", "grace", 5);
        mailbox.send(std::slice::from_ref(&known)).unwrap();
        let edit = |message: &Message| Edit {
            message: message.clone(),
            at_ms: 9,
            body: "other text".to_owned(),
        };
        let unknown = message(2, "ada", "grace", 5);
        let edited = mailbox.edit(&[edit(&known), edit(&unknown)]).unwrap();
        assert_eq!(edited, [true, false]);
        let texts: Vec<_> = mailbox.history(&known).unwrap();
        assert_eq!(texts.iter().map(|text| text.at_ms).collect::<Vec<_>>(), [9, 5]);
        assert!(mailbox.history(&unknown).unwrap().is_empty());
        let page = mailbox.received("grace", &PageRequest::newest(10)).unwrap();
        assert_eq!((ids(&page), page.messages[0].edited_ms), (vec![1], Some(9)));
    }

    #[test]
    fn repair_completes_message_that_is_only_in_outbox() {
        let (_directory, mailbox) = open();
        let lost = message(1, "ada", "grace", 5);
        write(&mailbox.outbox, puts(std::slice::from_ref(&lost), Message::outbox_key).unwrap())
            .unwrap();
        assert!(mailbox.received("grace", &PageRequest::newest(10)).unwrap().messages.is_empty());
        assert_eq!(mailbox.repair(6).unwrap(), 0, "it was sent before");
        assert_eq!(mailbox.repair(0).unwrap(), 2);
        assert_eq!(mailbox.received("grace", &PageRequest::newest(10)).unwrap().messages, [lost]);
        assert_eq!(mailbox.repair(0).unwrap(), 0);
    }

    #[test]
    fn names_and_times_that_are_no_key_are_refused() {
        let (_directory, mailbox) = open();
        for bad in
            [message(1, "", "grace", 5), message(1, "ada", "a\0b", 5), message(1, "a", "b", -1)]
        {
            assert!(mailbox.send(&[message(2, "ada", "grace", 5), bad]).is_err());
        }
        let early = Edit { message: message(2, "ada", "grace", 5), at_ms: 5, body: String::new() };
        assert!(mailbox.edit(&[early]).is_err());
        assert!(mailbox.sent("ada", &PageRequest::newest(10)).unwrap().messages.is_empty());
    }
}
