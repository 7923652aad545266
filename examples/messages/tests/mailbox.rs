//! Mailboxes from outside.
#![allow(clippy::unwrap_used, reason = "tests are short and fail by panic")]

use halite::Put;
use halite::rowkey::Page;
use halite::rowkey::typed::TsMillis;
use messages::{Edit, Mailbox, Message, OutboxKey, PageRequest};

fn message(id: u64, sender: &str, receiver: &str, sent_ms: i64) -> Message {
    let body = format!("text {id}");
    let (sender, receiver) = (sender.to_owned(), receiver.to_owned());
    Message { sender, receiver, sent_ms, id, body, edited_ms: None }
}

fn ids(page: &Page<Message>) -> Vec<u64> {
    page.items.iter().map(|message| message.id).collect()
}

/// Opens mailboxes in a store of their own, which is deleted with the directory.
fn open() -> (tempfile::TempDir, halite::Store, Mailbox) {
    let directory = tempfile::tempdir().unwrap();
    let store = halite::open(directory.path()).unwrap();
    let mailbox = Mailbox::open(&store, "messages").unwrap();
    (directory, store, mailbox)
}

#[test]
fn message_sent_twice_is_one() {
    let (_directory, _store, mailbox) = open();
    let sent = [message(1, "ada", "grace", 5), message(2, "grace", "ada", 6)];
    mailbox.send(&sent).unwrap();
    mailbox.send(&sent).unwrap();
    let newest = PageRequest::newest(10);
    assert_eq!(mailbox.received("grace", &newest).unwrap().items, sent[..1]);
    assert_eq!(ids(&mailbox.sent("grace", &newest).unwrap()), [2]);
    assert_eq!(ids(&mailbox.conversation("grace", "ada", &newest).unwrap()), [2, 1]);
}

#[test]
fn edit_of_unknown_message_writes_nothing() {
    let (_directory, _store, mailbox) = open();
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
    assert_eq!((ids(&page), page.items[0].edited_ms), (vec![1], Some(9)));
}

#[test]
fn edit_before_the_sending_is_refused_with_both_times() {
    let (_directory, _store, mailbox) = open();
    let sent = message(1, "ada", "grace", 5);
    mailbox.send(std::slice::from_ref(&sent)).unwrap();
    let edit = Edit { message: sent, at_ms: 5, body: "other text".to_owned() };
    let error = mailbox.edit(&[edit]).unwrap_err().to_string();
    let expected = "message 1: it is edited at 5 ms, and was sent at 5 ms; use a later time";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn repair_completes_message_that_is_only_in_outbox() {
    let (_directory, store, mailbox) = open();
    let lost = message(1, "ada", "grace", 5);
    let (sender, receiver, ts, id) = ("ada", "grace", TsMillis(5), 1);
    let row = OutboxKey { sender, ts, receiver, id }.encode().unwrap();
    let outbox = store.table("messages:outbox").unwrap();
    outbox.put(Put::new(row).add_at("m", "b", 5, &lost.body)).unwrap();
    assert!(mailbox.received("grace", &PageRequest::newest(10)).unwrap().items.is_empty());
    assert_eq!(mailbox.repair(6).unwrap(), 0, "it was sent before");
    assert_eq!(mailbox.repair(0).unwrap(), 2);
    assert_eq!(mailbox.received("grace", &PageRequest::newest(10)).unwrap().items, [lost]);
    assert_eq!(mailbox.repair(0).unwrap(), 0);
}

#[test]
fn names_and_times_that_are_no_key_are_refused() {
    let (_directory, _store, mailbox) = open();
    for bad in [message(1, "", "grace", 5), message(1, "ada", "a\0b", 5), message(1, "a", "b", -1)]
    {
        assert!(mailbox.send(&[message(2, "ada", "grace", 5), bad]).is_err());
    }
    let early = Edit { message: message(2, "ada", "grace", 5), at_ms: 5, body: String::new() };
    assert!(mailbox.edit(&[early]).is_err());
    assert!(mailbox.sent("ada", &PageRequest::newest(10)).unwrap().items.is_empty());
}
