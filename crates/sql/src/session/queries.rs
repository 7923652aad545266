//! Statements that run and those that ran last, of all sessions of one cluster: what
//! `halite.queries` shows.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::statement::StatementContext;
use crate::error::SqlState;

/// Statements that are remembered after their end.
const MAX_ENDED: usize = 1000;
/// Bytes of the text of one.
const MAX_TEXT_BYTES: usize = 4096;

/// Statements of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    next: AtomicU64,
    lists: Mutex<Lists>,
}

#[derive(Debug, Default)]
struct Lists {
    running: BTreeMap<u64, Arc<Entry>>,
    ended: VecDeque<QueryLine>,
}

/// Who runs statements.
#[derive(Clone, Debug)]
pub(crate) struct Who {
    /// Number of the session, as that of a process; 0 where a program is the only one.
    pub(crate) session: u32,
    pub(crate) user: Arc<str>,
}

impl Default for Who {
    fn default() -> Self {
        Self { session: 0, user: Arc::from("") }
    }
}

/// What has become of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryState {
    /// It is being planned, or reads and writes.
    Running,
    /// It waits for its reader to ask for more rows.
    Waiting,
    /// It came to its end.
    Done,
    /// It ended by an error.
    Failed(SqlState),
    /// Its reader left it before its end: it was cancelled, or the rest was not wanted.
    Stopped,
}

impl QueryState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Failed(_) => "failed",
            Self::Stopped => "stopped",
        }
    }
}

/// Statement as the table shows it.
#[derive(Clone, Debug)]
pub(crate) struct QueryLine {
    pub(crate) id: u64,
    pub(crate) who: Who,
    /// Text, of which the end may be cut off.
    pub(crate) text: Arc<str>,
    pub(crate) began: SystemTime,
    /// Time to now, or to its end.
    pub(crate) took: Duration,
    pub(crate) state: QueryState,
    pub(crate) rows_examined: u64,
    pub(crate) rows_returned: u64,
    pub(crate) rows_written: u64,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    who: Who,
    text: Arc<str>,
    began: SystemTime,
    started: Instant,
    statement: Arc<StatementContext>,
    is_waiting: AtomicBool,
}

impl Entry {
    fn line(&self, state: QueryState) -> QueryLine {
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        QueryLine {
            id: self.id,
            who: self.who.clone(),
            text: Arc::clone(&self.text),
            began: self.began,
            took: self.started.elapsed(),
            state,
            rows_examined: number(&self.statement.examined).max(self.statement.meter.examined()),
            rows_returned: number(&self.statement.returned),
            rows_written: number(&self.statement.written),
        }
    }
}

impl Queries {
    /// Adds a statement that begins.
    pub(crate) fn begin(
        self: &Arc<Self>,
        who: &Who,
        text: &str,
        statement: &Arc<StatementContext>,
    ) -> Query {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let entry = Arc::new(Entry {
            id,
            who: who.clone(),
            text: Arc::from(&text[..text.floor_char_boundary(MAX_TEXT_BYTES)]),
            began: SystemTime::now(),
            started: Instant::now(),
            statement: Arc::clone(statement),
            is_waiting: AtomicBool::new(false),
        });
        self.lists().running.insert(id, Arc::clone(&entry));
        Query { queries: Arc::clone(self), entry, state: QueryState::Stopped, is_forgotten: false }
    }

    /// Returns those that run and those that ran last, in the order in which they began.
    pub(crate) fn lines(&self) -> Vec<QueryLine> {
        let lists = self.lists();
        let running = lists.running.values().map(|entry| {
            let is_waiting = entry.is_waiting.load(Ordering::Relaxed);
            entry.line(if is_waiting { QueryState::Waiting } else { QueryState::Running })
        });
        let mut lines: Vec<QueryLine> = lists.ended.iter().cloned().chain(running).collect();
        lines.sort_unstable_by_key(|line| line.id);
        lines
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Statement of the lists. Dropping it ends it.
pub(crate) struct Query {
    queries: Arc<Queries>,
    entry: Arc<Entry>,
    state: QueryState,
    is_forgotten: bool,
}

impl fmt::Debug for Query {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Query").field(&self.entry.id).finish()
    }
}

impl Query {
    /// Remembers whether it waits for its reader.
    pub(super) fn set_waiting(&self, is_waiting: bool) {
        self.entry.is_waiting.store(is_waiting, Ordering::Relaxed);
    }

    /// Takes it out of the lists.
    pub(super) fn forget(mut self) {
        self.is_forgotten = true;
    }

    /// Ends it in a state.
    pub(super) fn end(mut self, state: QueryState) {
        self.state = state;
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        let line = self.entry.line(self.state);
        let mut lists = self.queries.lists();
        lists.running.remove(&self.entry.id);
        if self.is_forgotten {
            return;
        }
        if lists.ended.len() >= MAX_ENDED {
            lists.ended.pop_front();
        }
        lists.ended.push_back(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_statements_are_remembered_with_their_states() {
        let queries = Arc::new(Queries::default());
        let begin = |text: &str| queries.begin(&Who::default(), text, &Arc::default());
        let (one, two) = (begin("one"), begin("two"));
        two.end(QueryState::Done);
        one.set_waiting(true);
        let three = begin(&"\u{e9}".repeat(4000));
        let shown: Vec<_> = queries.lines().iter().map(|line| (line.id, line.state)).collect();
        let (waiting, running) = (QueryState::Waiting, QueryState::Running);
        assert_eq!(shown, [(1, waiting), (2, QueryState::Done), (3, running)]);
        assert_eq!(queries.lines()[2].text.len(), MAX_TEXT_BYTES);
        drop((one, three));
        (0..MAX_ENDED - 1).for_each(|_| begin("more").end(QueryState::Done));
        let lines = queries.lines();
        assert_eq!(lines.len(), MAX_ENDED);
        assert_eq!((lines[0].id, lines[0].state), (3, QueryState::Stopped));
    }
}
