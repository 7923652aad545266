//! Interface of a design of mailboxes: what the generator writes and what the check reads.

use std::ops::Range;

use anyhow::Result;
use halite::rowkey::Page;
use messages::{Edit, Mailbox, Message, PageRequest, Version};

use crate::paging::{Lists, Position};
use crate::recipe::Site;

/// List of messages, newest first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum List {
    /// Messages that a user received.
    Received(String),
    /// Messages that a user sent.
    Sent(String),
    /// Messages between two users, the lesser name first.
    Conversation(String, String),
}

/// Design of mailboxes.
pub trait Design: Lists<List = List, Item = Message> + Send + Sync {
    /// Sends messages.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn send(&self, messages: &[Message]) -> Result<()>;

    /// Gives messages other texts.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn edit(&self, edits: &[Edit]) -> Result<()>;

    /// Returns the texts of a message, the newest first.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn history(&self, message: &Message) -> Result<Vec<Version>>;

    /// Completes interrupted writes. Returns the number of completed cells.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn repair(&self) -> Result<u64>;
}

/// Opens the design of `examples/messages`.
pub(super) fn mailbox(site: &Site) -> Result<Box<dyn Design>> {
    Ok(Box::new(Mailbox::open(&site.cluster, &site.namespace)?))
}

impl Lists for Mailbox {
    type List = List;
    type Item = Message;

    fn page(
        &self,
        list: &List,
        at_ms: Range<i64>,
        limit: usize,
        position: &Position,
    ) -> Result<Page<Message>> {
        let request = PageRequest { sent_ms: at_ms, limit, after: position.after.clone() };
        Ok(match list {
            List::Received(user) => self.received(user, &request)?,
            List::Sent(user) => self.sent(user, &request)?,
            List::Conversation(one, other) => self.conversation(one, other, &request)?,
        })
    }

    fn identity(&self, message: &Message) -> (i64, u64) {
        (message.sent_ms, message.id)
    }
}

impl Design for Mailbox {
    fn send(&self, messages: &[Message]) -> Result<()> {
        Ok(Self::send(self, messages)?)
    }

    fn edit(&self, edits: &[Edit]) -> Result<()> {
        Self::edit(self, edits)?;
        Ok(())
    }

    fn history(&self, message: &Message) -> Result<Vec<Version>> {
        Ok(Self::history(self, message)?)
    }

    fn repair(&self) -> Result<u64> {
        Ok(Self::repair(self, 0)?)
    }
}
