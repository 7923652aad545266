//! The recipe on its tables: items written, queries answered, and the comparison with the model.

use std::io::Write;
use std::ops::Range;
use std::sync::atomic::AtomicU64;

use anyhow::Result;
use messages::Message;

use super::design::{Design, List};
use super::generator::{Generator, Item};
use super::oracle::lists_of;
use super::{load, verify};
use crate::bench::Part;
use crate::explain::NamedQuery;
use crate::paging::{ALL_TIMES, Position, verify_while_writing};
use crate::recipe::{Application, Load, Outcome, T0, Verified};

/// Messages shown of a list.
const SHOWN_MESSAGES: usize = 5;

/// Mailboxes with the generator of their messages.
pub(super) struct MessagesApplication {
    pub(super) design: Box<dyn Design>,
    pub(super) generator: Generator,
    pub(super) seed: u64,
    /// Number of the next item that a measurement writes.
    pub(super) next_item: AtomicU64,
}

impl MessagesApplication {
    pub(super) fn new(design: Box<dyn Design>, load: Load) -> Self {
        Self {
            design,
            generator: Generator::new(load),
            seed: load.seed,
            next_item: AtomicU64::new(load.items),
        }
    }

    /// Returns the two users with the most messages.
    fn busiest(&self) -> (String, String) {
        (self.generator.user(0), self.generator.user(1))
    }
}

impl Application for MessagesApplication {
    fn write(&self, items: Range<u64>) -> Result<()> {
        let (mut messages, mut edits) = (Vec::new(), Vec::new());
        for number in items {
            match self.generator.item(number) {
                Item::Send(message) => messages.push(message),
                Item::Edit(edit) => edits.push(edit),
            }
        }
        // Edits follow the messages, which may be among these.
        self.design.send(&messages)?;
        self.design.edit(&edits)
    }

    fn answer(&self, out: &mut dyn Write) -> Result<()> {
        let (one, other) = self.busiest();
        let lists = [
            (format!("{one} received"), List::Received(one.clone())),
            (format!("{one} sent"), List::Sent(one.clone())),
            (format!("{one} and {other}"), List::Conversation(one, other)),
        ];
        for (title, list) in lists {
            let mut position = Position::default();
            for page in 1..=2 {
                let read = self.design.page(&list, ALL_TIMES, SHOWN_MESSAGES, &position)?;
                writeln!(out, "{title}, page {page}: {} rows examined", read.examined)?;
                read.items.iter().try_for_each(|message| print(message, out))?;
                position = position.after(&read);
            }
            writeln!(out)?;
        }
        self.print_history(out)
    }

    fn queries(&self) -> Vec<NamedQuery> {
        let (one, other) = self.busiest();
        let query = |name, question, table, conditions| NamedQuery {
            name,
            question,
            table,
            conditions,
            limit: Some(load::PAGE_MESSAGES),
        };
        let last = format!("ts<{}", T0 + 1_000);
        vec![
            query(
                "received",
                format!("what {one} received, newest first"),
                "inbox",
                vec![format!("receiver={one}")],
            ),
            query(
                "next page",
                format!("what {one} received before a time"),
                "inbox",
                vec![format!("receiver={one}"), last],
            ),
            query("sent", format!("what {one} sent"), "outbox", vec![format!("sender={one}")]),
            query(
                "conversation",
                format!("what {one} and {other} wrote to each other"),
                "convo",
                vec![format!("one={one}"), format!("other={other}")],
            ),
        ]
    }

    fn next_item(&self) -> &AtomicU64 {
        &self.next_item
    }

    fn operate(&self, number: u64, part: Part, outcome: &mut Outcome) -> Result<()> {
        load::operate(self, number, part, outcome)
    }

    fn repair(&self) -> Result<u64> {
        self.design.repair()
    }

    fn verify(&self, written: u64) -> Result<Verified> {
        let oracle = verify::model(&*self.design, &self.generator, written)?;
        verify::verify(&*self.design, &oracle)
    }

    fn verify_while_writing(&self, items: Range<u64>) -> Result<Verified> {
        let before = verify::model(&*self.design, &self.generator, items.start)?;
        let touches = |number, list: &List| match self.generator.item(number) {
            Item::Send(message) => lists_of(&message).contains(list),
            Item::Edit(_) => false,
        };
        let write = |number| self.write(number..number + 1);
        verify_while_writing(&*self.design, &before.lists(), items, touches, write)
    }
}

impl MessagesApplication {
    /// Prints the texts of the first message that was edited.
    fn print_history(&self, out: &mut dyn Write) -> Result<()> {
        let edited = (0..1000).find_map(|number| match self.generator.item(number) {
            Item::Edit(edit) => Some(edit.message),
            Item::Send(_) => None,
        });
        let Some(message) = edited else { return Ok(()) };
        writeln!(out, "versions of message {}, newest first", message.id)?;
        for version in self.design.history(&message)? {
            writeln!(out, "  {:>8} s  {}", (version.at_ms - T0) / 1000, version.body)?;
        }
        Ok(())
    }
}

/// Prints a message, with its time in seconds since the first.
fn print(message: &Message, out: &mut dyn Write) -> Result<()> {
    let Message { sender, receiver, sent_ms, body, edited_ms, .. } = message;
    let edited = if edited_ms.is_some() { ", edited" } else { "" };
    let (seconds, millis) = ((sent_ms - T0).div_euclid(1000), (sent_ms - T0).rem_euclid(1000));
    writeln!(out, "  {seconds:>6}.{millis:03} s  {sender} to {receiver}: {body}{edited}")?;
    Ok(())
}
