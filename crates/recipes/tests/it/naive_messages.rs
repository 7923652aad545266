//! The check of messages fails for each mistake of the tutorials.

use std::ops::Range;

use anyhow::Result;
use halite::rowkey::Page;
use halite::{BlockingTable, Bytes, FamilyDescriptor, Put, Row, Scan, TableDescriptor, block_on};
use halite_recipes::messages::{Design, List, MESSAGES};
use halite_recipes::paging::{Lists, Position};
use halite_recipes::{Load, Site};
use messages::{ConversationKey, Edit, InboxKey, Mailbox, Message, OutboxKey, Version};

use crate::backends;
use crate::tables::any_token;

/// Mistake in a design that is otherwise that of the recipe.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    /// E06: received messages are scanned from the user's first row, with a limit and no stop row.
    NoStopRow,
    /// E11, E25: names are joined by a character that they contain.
    Delimiter,
    /// E32: the key is receiver, time and sender.
    NoId,
    /// E21: sent messages are looked for in the table keyed by receiver.
    SentFromInbox,
    /// The inbox is written first, and nothing repairs interrupted writes.
    NoRepair,
    /// Pages by offset.
    Offset,
    /// An edit replaces the text instead of adding a version.
    Overwrite,
    /// E01: a range of reversed times from its earlier to its later end.
    ReversedBounds,
}

struct Naive {
    mistake: Mistake,
    mailbox: Mailbox,
    inbox: BlockingTable,
    outbox: BlockingTable,
    convo: BlockingTable,
    /// Received messages under text keys.
    text: BlockingTable,
}

impl Naive {
    fn open(site: &Site, mistake: Mistake) -> Result<Box<dyn Design>> {
        let mailbox = Mailbox::open(&site.cluster, &site.namespace)?;
        let name = format!("{}:text", site.namespace);
        if !site.cluster.table_exists(&name)? {
            let family = FamilyDescriptor::new("m").versions(10);
            site.cluster.create_table(TableDescriptor::new(name.parse()?).family(family), &[])?;
        }
        let table = |name: &str| site.cluster.table(&format!("{}:{name}", site.namespace));
        let (inbox, outbox, convo) = (table("inbox")?, table("outbox")?, table("convo")?);
        Ok(Box::new(Self { mistake, mailbox, inbox, outbox, convo, text: table("text")? }))
    }

    fn text_key(&self, message: &Message) -> String {
        let Message { receiver, sender, sent_ms, id, .. } = message;
        let reversed = i64::MAX - sent_ms;
        match self.mistake {
            Mistake::NoId => format!("{receiver}_{reversed:019}_{sender}"),
            _ => format!("{receiver}_{reversed:019}_{sender}_{id:08}"),
        }
    }

    fn put_text(&self, message: &Message, at_ms: i64, body: &str) -> Result<()> {
        let put = Put::new(self.text_key(message))
            .add_at("m", "from", message.sent_ms, &message.sender)
            .add_at("m", "to", message.sent_ms, &message.receiver)
            .add_at("m", "sent", message.sent_ms, message.sent_ms.to_be_bytes())
            .add_at("m", "id", message.sent_ms, message.id.to_be_bytes())
            .add_at("m", "b", at_ms, body);
        Ok(self.text.put(put)?)
    }

    /// Returns a page of received messages from the table of text keys.
    fn text_page(
        &self,
        user: &str,
        sent_ms: &Range<i64>,
        limit: usize,
        read: usize,
    ) -> Result<Page<Message>> {
        let prefix = format!("{user}_");
        let scan = match self.mistake {
            Mistake::NoStopRow => Scan::all().start(prefix),
            _ => Scan::prefix(prefix),
        };
        let mut messages = Vec::new();
        for row in self.text.scan(scan) {
            let message = text_message(&row?);
            if sent_ms.contains(&message.sent_ms) {
                messages.push(message);
            }
        }
        let messages: Vec<_> = messages.into_iter().skip(read).take(limit).collect();
        Ok(page_of(messages, limit))
    }
}

fn text_message(row: &Row) -> Message {
    let text = |column: &str| String::from_utf8(row.value("m", column).unwrap().to_vec()).unwrap();
    let sent_ms = i64::from_be_bytes(row.value("m", "sent").unwrap().try_into().unwrap());
    let at_ms = row.cell("m", "b").unwrap().timestamp();
    Message {
        sender: text("from"),
        receiver: text("to"),
        sent_ms,
        id: u64::from_be_bytes(row.value("m", "id").unwrap().try_into().unwrap()),
        body: text("b"),
        edited_ms: (at_ms != sent_ms).then_some(at_ms),
    }
}

/// Returns a page whose cost is not the mistake.
fn page_of(messages: Vec<Message>, limit: usize) -> Page<Message> {
    let next = (messages.len() == limit).then(any_token);
    Page { examined: messages.len() as u64, items: messages, next }
}

impl Lists for Naive {
    type List = List;
    type Item = Message;

    fn page(
        &self,
        list: &List,
        sent_ms: Range<i64>,
        limit: usize,
        position: &Position,
    ) -> Result<Page<Message>> {
        let all = Position::default();
        match (self.mistake, list) {
            (Mistake::NoStopRow | Mistake::Delimiter | Mistake::NoId, List::Received(user)) => {
                self.text_page(user, &sent_ms, limit, position.read)
            }
            (Mistake::SentFromInbox, List::Sent(user)) => {
                let scan = InboxKey::scan().sender(&user[..]);
                let mut rows = scan.rows(self.inbox.inner().clone())?;
                while block_on(rows.next())?.is_some() {}
                let page = self.mailbox.page(list, sent_ms, limit, position)?;
                Ok(Page { examined: rows.examined(), ..page })
            }
            (Mistake::Offset, _) => {
                let messages = self.mailbox.page(list, sent_ms, 1_000_000, &all)?.items;
                let messages = messages.into_iter().skip(position.read).take(limit).collect();
                Ok(page_of(messages, limit))
            }
            (Mistake::ReversedBounds, List::Received(user)) if sent_ms.end != i64::MAX => {
                let bound = |ms: i64| -> Result<Bytes> {
                    let ts = halite::rowkey::typed::TsMillis(ms);
                    Ok(InboxKey { receiver: user, ts, sender: "", id: 0 }.encode()?.into())
                };
                let scan = Scan::range(bound(sent_ms.start)?, bound(sent_ms.end)?);
                let rows = self.inbox.scan(scan).collect::<halite::Result<Vec<Row>>>()?;
                assert!(rows.is_empty(), "such a range contains nothing");
                Ok(page_of(Vec::new(), limit))
            }
            _ => self.mailbox.page(list, sent_ms, limit, position),
        }
    }

    fn identity(&self, message: &Message) -> (i64, u64) {
        self.mailbox.identity(message)
    }
}

impl Design for Naive {
    fn send(&self, messages: &[Message]) -> Result<()> {
        for message in messages {
            let Message { sender, receiver, sent_ms, id, body, .. } = message;
            let ts = halite::rowkey::typed::TsMillis(*sent_ms);
            let put = |key: halite::rowkey::KeyBuf| Put::new(key).add_at("m", "b", *sent_ms, body);
            let (one, other) =
                if sender <= receiver { (sender, receiver) } else { (receiver, sender) };
            self.inbox.put(put(InboxKey { receiver, ts, sender, id: *id }.encode()?))?;
            self.outbox.put(put(OutboxKey { sender, ts, receiver, id: *id }.encode()?))?;
            self.convo.put(put(ConversationKey { one, other, ts, sender, id: *id }.encode()?))?;
            self.put_text(message, *sent_ms, body)?;
        }
        Ok(())
    }

    fn edit(&self, edits: &[Edit]) -> Result<()> {
        for edit in edits {
            let Edit { message, at_ms, body } = edit;
            if self.mistake == Mistake::Overwrite {
                self.put_text(message, message.sent_ms, body)?;
                self.send(&[Message { body: body.clone(), ..message.clone() }])?;
                continue;
            }
            self.put_text(message, *at_ms, body)?;
            self.mailbox.edit(std::slice::from_ref(edit))?;
        }
        Ok(())
    }

    fn history(&self, message: &Message) -> Result<Vec<Version>> {
        Ok(self.mailbox.history(message)?)
    }

    fn repair(&self) -> Result<u64> {
        if self.mistake == Mistake::NoRepair { Ok(0) } else { Design::repair(&self.mailbox) }
    }
}

/// Checks a design whose writer stops after `batches`, and returns why it fails.
fn failure(design: fn(&Site) -> Result<Box<dyn Design>>, batches: u64) -> String {
    let load = Load { seed: 5, items: 200 };
    let checked = backends::check_embedded(&MESSAGES.with_design(design), load, batches);
    format!("{:#}", checked.expect_err("the check finds the mistake"))
}

/// Batches of a message of these designs.
const BATCHES: u64 = 4;

#[test]
fn e06_scan_without_stop_row_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::NoStopRow), 40 * BATCHES);
    assert!(why.contains("Received(") && why.contains("expected"), "{why}");
}

#[test]
fn e11_delimiter_inside_names_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::Delimiter), 40 * BATCHES);
    assert!(why.contains("Received(\"user_"), "{why}");
}

#[test]
fn e32_key_without_id_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::NoId), 40 * BATCHES);
    assert!(why.contains("Received("), "{why}");
}

#[test]
fn e21_sent_messages_from_inbox_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::SentFromInbox), 40 * BATCHES);
    assert!(why.contains("Sent(") && why.contains("examined"), "{why}");
}

#[test]
fn p02_inbox_first_without_repair_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::NoRepair), 40 * BATCHES + 1);
    assert!(why.contains("after a crash at messages 40"), "{why}");
}

#[test]
fn p09_pages_by_offset_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::Offset), 40 * BATCHES);
    assert!(why.contains("pages repeat"), "{why}");
}

#[test]
fn p02_edit_that_overwrites_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::Overwrite), 40 * BATCHES);
    assert!(why.contains("expected") || why.contains("its texts are"), "{why}");
}

#[test]
fn e01_reversed_bounds_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::ReversedBounds), 40 * BATCHES);
    assert!(why.contains("0 items, expected"), "{why}");
}
