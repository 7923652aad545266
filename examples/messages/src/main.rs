//! Three users exchange messages: `cargo run -p halite-example-messages [DIR]`.

use std::io::Write as _;

use halite::rowkey::Page;
use messages::{Edit, Mailbox, Message, PageRequest};

/// 2024-03-15T00:00:00Z.
const T0: i64 = 1_710_460_800_000;
const MINUTE_MS: i64 = 60_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).map_or_else(
        || std::env::temp_dir().join(format!("halite-messages-{}", std::process::id())),
        Into::into,
    );
    let store = halite::open(directory)?;
    let mailbox = Mailbox::open(&store, "messages")?;

    let message = |id: u64, sender: &str, receiver: &str, minute: i64, body: &str| Message {
        sender: sender.into(),
        receiver: receiver.into(),
        sent_ms: T0 + minute * MINUTE_MS,
        id,
        body: body.into(),
        edited_ms: None,
    };
    let lunch = message(1, "ada", "grace", 0, "Lunch at twelve?");
    mailbox.send(&[
        lunch.clone(),
        message(2, "grace", "ada", 1, "Gladly."),
        message(3, "alan", "grace", 2, "The tape is in room 5."),
        // A double click: the same users in the same millisecond, and still two messages.
        message(4, "ada", "grace", 3, "See you"),
        message(5, "ada", "grace", 3, "See you"),
    ])?;
    let later =
        Edit { message: lunch.clone(), at_ms: T0 + 4 * MINUTE_MS, body: "Lunch at one?".into() };
    mailbox.edit(&[later])?;

    let first = mailbox.received("grace", &PageRequest::newest(2))?;
    print("grace received, page 1", &first)?;
    let next = PageRequest { after: first.next, ..PageRequest::newest(2) };
    print("grace received, page 2", &mailbox.received("grace", &next)?)?;
    print("ada sent", &mailbox.sent("ada", &PageRequest::newest(10))?)?;
    print("ada and grace", &mailbox.conversation("grace", "ada", &PageRequest::newest(10))?)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "versions of message 1")?;
    for version in mailbox.history(&lunch)? {
        writeln!(out, "  minute {}: {}", (version.at_ms - T0) / MINUTE_MS, version.body)?;
    }
    Ok(store.close()?)
}

fn print(title: &str, page: &Page<Message>) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{title} ({} rows examined)", page.examined)?;
    for Message { sender, receiver, sent_ms, id, body, edited_ms } in &page.items {
        let edited = if edited_ms.is_some() { ", edited" } else { "" };
        let minute = (sent_ms - T0) / MINUTE_MS;
        writeln!(out, "  minute {minute}: {sender} to {receiver}, message {id}: {body}{edited}")?;
    }
    Ok(())
}
