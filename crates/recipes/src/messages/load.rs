//! Operations of a measurement: half of them send or edit, the others read a page of a user.

use std::sync::atomic::Ordering;

use anyhow::Result;

use super::application::MessagesApplication;
use super::design::List;
use super::generator::Item;
use crate::bench::Part;
use crate::paging::{ALL_TIMES, Position};
use crate::random::Random;
use crate::recipe::Outcome;

/// Messages of a page.
pub(super) const PAGE_MESSAGES: usize = 50;
/// Purpose of the random numbers.
const OPERATIONS: u64 = 10;

/// Executes one operation.
pub(super) fn operate(
    application: &MessagesApplication,
    number: u64,
    part: Part,
    outcome: &mut Outcome,
) -> Result<()> {
    let mut random = Random::new(application.seed, OPERATIONS, number);
    let kind = part.draw(&mut random, 100, 50..100);
    if kind < 50 {
        outcome.begin(0);
        return send(application, outcome);
    }
    let users = application.generator.users();
    let user = application.generator.user(random.zipf(users));
    if kind < 90 {
        let pages = if kind >= 80 { 2 } else { 1 };
        outcome.begin(pages);
        return read(application, &List::Received(user), pages, outcome);
    }
    outcome.begin(3);
    let other = application.generator.user(random.zipf(users));
    let (one, other) = if user <= other { (user, other) } else { (other, user) };
    read(application, &List::Conversation(one, other), 1, outcome)
}

/// Writes the next item.
fn send(application: &MessagesApplication, outcome: &mut Outcome) -> Result<()> {
    let item = application.next_item.fetch_add(1, Ordering::Relaxed);
    match application.generator.item(item) {
        Item::Send(message) => application.design.send(&[message])?,
        // Its message may be in progress in another thread; then there is nothing to edit yet.
        Item::Edit(edit) => application.design.edit(&[edit]).map(drop)?,
    }
    outcome.returned = 1;
    Ok(())
}

/// Reads the first pages of a list.
fn read(
    application: &MessagesApplication,
    list: &List,
    pages: usize,
    outcome: &mut Outcome,
) -> Result<()> {
    let mut position = Position::default();
    for _ in 0..pages {
        let page = application.design.page(list, ALL_TIMES, PAGE_MESSAGES, &position)?;
        outcome.returned += page.items.len() as u64;
        position = position.after(&page);
        if position.after.is_none() {
            break;
        }
    }
    Ok(())
}
