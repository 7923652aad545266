//! Generated messages: a few users have most of them, several are sent in one millisecond, some are
//! sent twice by a double click, some arrive late, and a tenth of the items are edits.

use messages::{Edit, Message};

use crate::random::Random;
use crate::recipe::{Load, T0};

/// 100 million messages per day, the tutorial's rate.
const MESSAGES_PER_SECOND: u64 = 1_157;
/// Messages of one user in the mean.
const MESSAGES_PER_USER: u64 = 20;
const MAX_USERS: u64 = 10_000_000;
const HOUR_MS: u64 = 3_600_000;
/// Messages back to which an edit reaches.
const MAX_EDIT_DISTANCE: u64 = 50;

/// Item of the generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// Message to send.
    Send(Message),
    /// Edit of an earlier message.
    Edit(Edit),
}

/// Generator of items by their numbers.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    load: Load,
}

impl Generator {
    /// Creates the generator of a load.
    pub fn new(load: Load) -> Self {
        Self { load }
    }

    /// Returns the number of users, at least 4.
    pub fn users(&self) -> u64 {
        (self.load.items / MESSAGES_PER_USER).clamp(4, MAX_USERS)
    }

    /// Returns the name of a user; user 0 has the most messages. Some names begin with others, and
    /// some contain the character that text keys use between fields.
    pub fn user(&self, number: u64) -> String {
        if number % 5 == 4 {
            format!("user_{}_{number}", number / 5)
        } else {
            format!("user_{number}")
        }
    }

    /// Returns an item.
    pub fn item(&self, number: u64) -> Item {
        match self.edited(number) {
            None => Item::Send(self.message(number)),
            Some(target) => Item::Edit(Edit {
                message: self.message(target),
                // After the last time of sending, and different for each edit.
                at_ms: T0 + milliseconds(HOUR_MS + number),
                body: format!("{} (edit {number})", self.body(target)),
            }),
        }
    }

    /// Returns the number of the message that an item edits; `None` for an item that is a message.
    fn edited(&self, number: u64) -> Option<u64> {
        let mut random = Random::new(self.load.seed, 1, number);
        if number == 0 || !random.one_in(10) {
            return None;
        }
        let distance = 1 + random.below(number.min(MAX_EDIT_DISTANCE));
        let target = number - distance;
        // An edit of an edit would be an edit of the same message; a message is simpler.
        self.edited(target).is_none().then_some(target)
    }

    /// Returns the message of an item that is one.
    fn message(&self, number: u64) -> Message {
        let mut random = Random::new(self.load.seed, 2, number);
        let is_double_click = number > 0 && random.one_in(16) && self.edited(number - 1).is_none();
        let (sender, receiver, sent_ms) =
            self.envelope(if is_double_click { number - 1 } else { number });
        Message { sender, receiver, sent_ms, id: number, body: self.body(number), edited_ms: None }
    }

    /// Returns sender, receiver and time of sending.
    fn envelope(&self, number: u64) -> (String, String, i64) {
        let mut random = Random::new(self.load.seed, 3, number);
        let users = self.users();
        let sender = random.zipf(users);
        let receiver = match random.zipf(users) {
            same if same == sender => (sender + 1) % users,
            other => other,
        };
        let late_ms = if random.one_in(100) { random.below(HOUR_MS) } else { 0 };
        let sent_ms =
            T0 + milliseconds(number * 1000 / MESSAGES_PER_SECOND) - milliseconds(late_ms);
        (self.user(sender), self.user(receiver), sent_ms)
    }

    fn body(&self, number: u64) -> String {
        const WORDS: [&str; 12] = [
            "lunch", "at", "noon", "see", "the", "report", "thanks", "call", "me", "later", "fine",
            "today",
        ];
        let mut random = Random::new(self.load.seed, 4, number);
        let count = 2 + random.below(12);
        let words: Vec<&str> = (0..count)
            .map(|_| WORDS[usize::try_from(random.below(WORDS.len() as u64)).unwrap_or(0)])
            .collect();
        words.join(" ")
    }
}

fn milliseconds(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn generator() -> Generator {
        Generator::new(Load { seed: 1, items: 2_000 })
    }

    #[test]
    fn items_contain_what_a_check_needs() {
        let items: Vec<Item> = (0..2_000).map(|number| generator().item(number)).collect();
        let sent: Vec<&Message> = items
            .iter()
            .filter_map(|item| match item {
                Item::Send(message) => Some(message),
                Item::Edit(_) => None,
            })
            .collect();
        let mut same = HashMap::new();
        for message in &sent {
            let Message { sender, receiver, sent_ms, .. } = message;
            *same.entry((sender, receiver, sent_ms)).or_insert(0) += 1;
        }
        let doubles = same.values().filter(|count| **count > 1).count();
        let edits = items.len() - sent.len();
        let late = sent.windows(2).filter(|pair| pair[0].sent_ms > pair[1].sent_ms).count();
        assert!(
            doubles > 50 && (100..250).contains(&edits) && late > 10,
            "{doubles} {edits} {late}"
        );
        assert!(sent.iter().all(|message| message.sender != message.receiver));
        let first = sent.iter().filter(|message| message.receiver == "user_0").count();
        assert!(first > sent.len() / 20, "{first}");
    }

    #[test]
    fn edits_follow_their_messages_at_different_times() {
        let mut times = HashMap::new();
        for number in 0..2_000 {
            if let Item::Edit(Edit { message, at_ms, .. }) = generator().item(number) {
                assert_eq!(generator().item(message.id), Item::Send(message.clone()));
                assert!(message.id < number && at_ms > message.sent_ms);
                assert!(times.insert(at_ms, number).is_none());
            }
        }
    }
}
