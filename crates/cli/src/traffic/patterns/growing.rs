//! Tables that grow at the end: a log of events, and a queue of tasks, which also shrinks at the
//! start.

use halite::Bytes;

use super::operation::{NewRow, Operation};
use super::pattern::{KeyWriter, Pattern, PatternConfig};
use crate::bench::SeededRng;

/// Tasks that one scan of a queue finds, which are then deleted.
const FETCHED_TASKS: u64 = 200;

/// Log of events with rising numbers.
pub(super) struct Events {
    keys: KeyWriter,
    chance: SeededRng,
    rows: u64,
    next: u64,
}

impl Events {
    /// Continues after the events that the table has.
    pub(super) fn new(keys: KeyWriter, config: &PatternConfig) -> Self {
        let chance = SeededRng::new(config.seed);
        Self { keys, chance, rows: config.rows, next: config.numbers.end.max(config.rows) }
    }
}

impl Pattern for Events {
    fn row(&self, event: u64) -> NewRow {
        const KINDS: [&str; 4] = ["login", "view", "order", "logout"];
        let kind = KINDS[usize::try_from(event % 4).unwrap_or(0)];
        NewRow::new(self.keys.numbered(event))
            .with("kind", kind)
            .with("source", format!("web-{}", event % 12))
    }

    fn next(&mut self) -> Operation {
        if self.chance.below(100) < 85 {
            self.next += 1;
            Operation::Put(self.row(self.next - 1))
        } else {
            let event = self.chance.below(self.next);
            Operation::Get(self.keys.numbered(event))
        }
    }

    fn splits(&self, regions: u64) -> Option<Vec<Bytes>> {
        Some(self.keys.numbered_splits(self.rows, regions))
    }
}

/// Queue of tasks: put at the end, found from the start, deleted.
pub(super) struct Tasks {
    keys: KeyWriter,
    rows: u64,
    /// First task that is not deleted.
    head: u64,
    /// Number of the next new task.
    tail: u64,
    /// Operations of the current round that are done: a scan, and then a put and a delete of each
    /// task that it found.
    step: u64,
}

impl Tasks {
    /// Continues with the tasks that the table has.
    pub(super) fn new(keys: KeyWriter, config: &PatternConfig) -> Self {
        let std::ops::Range { start, end } = config.numbers;
        Self { keys, rows: config.rows, head: start, tail: end.max(start + config.rows), step: 0 }
    }
}

impl Pattern for Tasks {
    fn row(&self, task: u64) -> NewRow {
        NewRow::new(self.keys.numbered(task)).with("what", format!("send mail {task}"))
    }

    fn next(&mut self) -> Operation {
        let fetched = FETCHED_TASKS.min(self.rows / 2);
        let step = self.step;
        self.step = (step + 1) % (1 + 2 * fetched);
        match step {
            0 => Operation::Scan {
                start: Bytes::new(),
                rows: usize::try_from(fetched).unwrap_or(usize::MAX),
            },
            step if step % 2 == 1 => {
                self.tail += 1;
                Operation::Put(self.row(self.tail - 1))
            }
            _ => {
                self.head += 1;
                Operation::Delete(self.keys.numbered(self.head - 1))
            }
        }
    }

    fn splits(&self, regions: u64) -> Option<Vec<Bytes>> {
        Some(self.keys.numbered_splits(self.rows, regions))
    }
}
