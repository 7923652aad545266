//! Writes and reads of the three tables.

use std::ops::Range;
use std::sync::Arc;

use halite::rowkey::typed::TsMillis;
use halite::rowkey::{Page, PageToken};
use halite::{
    BlockingCluster, BlockingTable, CheckAndMutate, CompareOp, Condition, Error, Get, Outbox, Put,
    Result, RowOp, block_on, declare_tables,
};

use crate::keys::{BODY, ConversationKey, FAMILY, InboxKey, OutboxKey, TABLES, VERSIONS, pair};
use crate::{Edit, Message, Version};

/// Mailboxes of all users, on any cluster. Cheap to clone.
#[derive(Clone)]
pub struct Mailbox {
    inbox: BlockingTable,
    outbox: BlockingTable,
    convo: BlockingTable,
    /// Writes to all three.
    writes: Arc<Outbox>,
}

/// Part of a list: times, size, and where the page before ended.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// Times of sending, from the first (inclusive) to the last (exclusive), the same in all pages.
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

    fn times(&self) -> Range<TsMillis> {
        TsMillis(self.sent_ms.start)..TsMillis(self.sent_ms.end)
    }
}

impl Mailbox {
    /// Opens the tables of a namespace, and creates those that do not exist.
    pub fn open(cluster: &BlockingCluster, namespace: &str) -> Result<Self> {
        declare_tables(cluster, namespace, &TABLES.concat())?;
        let table = |name: &str| cluster.table(&format!("{namespace}:{name}"));
        let (inbox, outbox, convo) =
            (table(InboxKey::TABLE)?, table(OutboxKey::TABLE)?, table(ConversationKey::TABLE)?);
        let writes = Outbox::new(outbox.inner().clone())
            .versions(VERSIONS)
            .copy_cells_to(inbox.inner().clone(), |row| {
                Ok(Message::from_outbox(row)?.inbox_key()?.into())
            })
            .copy_cells_to(convo.inner().clone(), |row| {
                Ok(Message::from_outbox(row)?.conversation_key()?.into())
            });
        Ok(Self { inbox, outbox, convo, writes: Arc::new(writes) })
    }

    /// Sends messages. The outbox is written first: after a failure [`Self::repair`] finds there
    /// what the other two tables lack. Sending a message again has no effect.
    ///
    /// # Errors
    /// `InvalidRequest` for an invalid message, before any is written; otherwise as
    /// [`Outbox::send`].
    pub fn send(&self, messages: &[Message]) -> Result<()> {
        messages.iter().try_for_each(Message::check)?;
        // Cells have the time of sending, so that writing them again changes nothing.
        let put = |Message { sent_ms, body, .. }: &Message, key| {
            RowOp::from(Put::new(key).add_at(FAMILY, BODY, *sent_ms, body))
        };
        let puts = messages.iter().map(|message| Ok(put(message, message.outbox_key()?)));
        block_on(self.writes.send(puts.collect::<Result<_>>()?)).map(drop)
    }

    /// Gives messages other texts, as new versions. Returns for each edit `true` if its message
    /// exists; otherwise nothing is written.
    ///
    /// # Errors
    /// `InvalidRequest` for an edit that is not after the sending of its message, before any is
    /// written; otherwise as [`Outbox::send`].
    pub fn edit(&self, edits: &[Edit]) -> Result<Vec<bool>> {
        block_on(self.writes.send(edits.iter().map(Edit::in_outbox).collect::<Result<_>>()?))
    }

    /// Completes messages and edits whose sender stopped between the writes, of the time since
    /// `since_ms`. That is the time of the messages: leave as much room before it as messages arrive
    /// late. Returns the number of cells that were missing. It runs when a sender restarts,
    /// or every few minutes; others may send meanwhile.
    pub fn repair(&self, since_ms: i64) -> Result<u64> {
        Ok(block_on(self.writes.repair(since_ms))?.missing)
    }

    /// Returns messages that a user received, newest first.
    pub fn received(&self, user: &str, request: &PageRequest) -> Result<Page<Message>> {
        let scan = InboxKey::scan().receiver(user).ts(request.times()).limit(request.limit);
        let page = self.inbox.page(scan.plan()?, request.after.as_ref())?;
        page.try_map(|row| Message::from_inbox(&row))
    }

    /// Returns messages that a user sent, newest first.
    pub fn sent(&self, user: &str, request: &PageRequest) -> Result<Page<Message>> {
        let scan = OutboxKey::scan().sender(user).ts(request.times()).limit(request.limit);
        let page = self.outbox.page(scan.plan()?, request.after.as_ref())?;
        page.try_map(|row| Message::from_outbox(&row))
    }

    /// Returns messages between two users in both directions, newest first.
    pub fn conversation(&self, a: &str, b: &str, request: &PageRequest) -> Result<Page<Message>> {
        let (one, other) = pair(a, b);
        let scan = ConversationKey::scan().one(one).other(other).ts(request.times());
        let page = self.convo.page(scan.limit(request.limit).plan()?, request.after.as_ref())?;
        page.try_map(|row| Message::from_conversation(&row))
    }

    /// Returns the texts of a message in its receiver's inbox, the newest first; at most ten. Empty
    /// if it does not exist.
    pub fn history(&self, message: &Message) -> Result<Vec<Version>> {
        let row = self.inbox.get(Get::new(message.inbox_key()?).versions(VERSIONS))?;
        let version = |cell: halite::CellRef<'_>| Version {
            at_ms: cell.timestamp(),
            body: String::from_utf8_lossy(cell.value()).into_owned(),
        };
        Ok(row.iter().map(version).collect())
    }
}

impl Edit {
    /// Returns the write of the outbox, which is applied if the message exists.
    fn in_outbox(&self) -> Result<RowOp> {
        let Self { message, at_ms, body } = self;
        message.check()?;
        if *at_ms <= message.sent_ms {
            let Message { id, sent_ms, .. } = message;
            return Err(Error::invalid(format!(
                "message {id}: it is edited at {at_ms} ms, and was sent at {sent_ms} ms; use a later \
                 time"
            )));
        }
        let exists = Condition::Column {
            family: FAMILY.into(),
            qualifier: BODY.into(),
            op: CompareOp::NotEqual,
            value: None,
        };
        let key = message.outbox_key()?;
        let put = Put::new(key.to_vec()).add_at(FAMILY, BODY, *at_ms, body);
        Ok(CheckAndMutate::new(key, exists, put).into())
    }
}
