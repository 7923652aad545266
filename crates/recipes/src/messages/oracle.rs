//! Model of the mailboxes in memory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use messages::{Edit, Message, Version};

use super::design::List;
use super::generator::Item;

/// Sender, receiver, time of sending and id.
type MessageId = (String, String, i64, u64);

/// Messages with all their texts.
#[derive(Clone, Debug, Default)]
pub(super) struct Oracle {
    messages: BTreeMap<MessageId, BTreeMap<i64, String>>,
}

impl Oracle {
    /// Applies an item.
    pub(super) fn apply(&mut self, item: &Item) {
        match item {
            Item::Send(message) => {
                let versions = self.messages.entry(id(message)).or_default();
                versions.insert(message.sent_ms, message.body.clone());
            }
            Item::Edit(Edit { message, at_ms, body }) => {
                if let Some(versions) = self.messages.get_mut(&id(message)) {
                    versions.insert(*at_ms, body.clone());
                }
            }
        }
    }

    /// Returns every message as it was sent, with its texts, the newest first.
    pub(super) fn histories(&self) -> impl Iterator<Item = (Message, Vec<Version>)> {
        self.messages.iter().map(|(id, versions)| {
            let version =
                |(at_ms, body): (&i64, &String)| Version { at_ms: *at_ms, body: body.clone() };
            (newest(id, versions), versions.iter().rev().map(version).collect())
        })
    }

    /// Returns the lists of all users, each in the order of its table.
    pub(super) fn lists(&self) -> HashMap<List, Vec<Message>> {
        let mut lists: HashMap<List, Vec<Message>> = HashMap::new();
        for (id, versions) in &self.messages {
            let message = newest(id, versions);
            for list in lists_of(&message) {
                lists.entry(list).or_default().push(message.clone());
            }
        }
        for (list, messages) in &mut lists {
            messages.sort_by_key(|message| {
                let Message { sender, receiver, sent_ms, id, .. } = message.clone();
                let other = if matches!(list, List::Sent(_)) { receiver } else { sender };
                (Reverse(sent_ms), other, id)
            });
        }
        lists
    }
}

/// Returns the lists that contain a message.
pub(super) fn lists_of(message: &Message) -> [List; 3] {
    let (a, b) = (message.sender.clone(), message.receiver.clone());
    let conversation = if a <= b {
        List::Conversation(a.clone(), b.clone())
    } else {
        List::Conversation(b.clone(), a.clone())
    };
    [List::Sent(a), List::Received(b), conversation]
}

fn id(message: &Message) -> MessageId {
    (message.sender.clone(), message.receiver.clone(), message.sent_ms, message.id)
}

fn newest(
    (sender, receiver, sent_ms, id): &MessageId,
    versions: &BTreeMap<i64, String>,
) -> Message {
    let (at_ms, body) = versions.last_key_value().map_or((*sent_ms, ""), |(at, body)| (*at, body));
    Message {
        sender: sender.clone(),
        receiver: receiver.clone(),
        sent_ms: *sent_ms,
        id: *id,
        body: body.to_owned(),
        edited_ms: (at_ms != *sent_ms).then_some(at_ms),
    }
}
