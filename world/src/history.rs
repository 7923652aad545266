//! History of all requests and results, by row.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::rc::Rc;

use crate::check::{HistoryOp, Verdict, check};
use crate::model::{Observation, RowRequest, RowState};

/// History that all programs write to.
pub type SharedHistory = Rc<RefCell<History>>;

/// Operations per row, and unanswered ones among them, after which the row is retired: its history
/// must be short enough to be searched.
const MAX_OPS: usize = 70;
const MAX_UNANSWERED: usize = 6;

/// Requests and results of all programs.
#[derive(Default)]
pub struct History {
    /// Rows by key.
    rows: BTreeMap<String, Row>,
    /// Keys in use.
    active: Vec<String>,
    /// Rows so far.
    count: u32,
    /// Moments so far.
    moments: u64,
    /// Values so far.
    values: u32,
    /// Events in order, equal for equal seeds.
    pub log: Vec<String>,
    /// Impossible results.
    pub violations: Vec<String>,
    /// Calls.
    pub calls: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Rows returned by scans.
    pub scanned_rows: u64,
    /// Scans that completed.
    pub scans: u64,
    /// Changes by the administrator.
    pub changes: u64,
    /// Callers that have finished.
    pub finished: usize,
    /// Faults are over: every call from now on must succeed.
    pub is_healed: bool,
    /// The auditor has finished.
    pub is_over: bool,
}

#[derive(Default)]
struct Row {
    ops: Vec<HistoryOp>,
    changes: usize,
    unanswered: usize,
    /// Contents at the last read.
    last_read: RowState,
}

/// Operation in progress.
pub struct Ticket {
    key: String,
    index: usize,
}

impl History {
    /// Returns a unique moment.
    pub fn moment(&mut self) -> u64 {
        self.moments += 1;
        self.moments
    }

    /// Returns a unique value.
    pub fn value(&mut self) -> u32 {
        self.values += 1;
        self.values
    }

    /// Records an event.
    pub fn record(&mut self, what: impl Into<String>) {
        let (moment, now) = (self.moment(), turmoil::sim_elapsed().unwrap_or_default().as_millis());
        self.log.push(format!("{moment:6} {now:6} ms  {}", what.into()));
    }

    /// Returns the random key of a row in use.
    pub fn random_key(&mut self, rng: &mut fastrand::Rng, active: usize) -> String {
        let rows = &self.rows;
        let is_fresh = |key: &String| {
            rows.get(key).is_none_or(|row| row.changes < MAX_OPS && row.unanswered < MAX_UNANSWERED)
        };
        self.active.retain(is_fresh);
        while self.active.len() < active {
            self.count += 1;
            let key = format!("{}{:03}", char::from(b'a' + rng.u8(..26)), self.count);
            self.rows.insert(key.clone(), Row::default());
            self.active.push(key);
        }
        self.active[rng.usize(..self.active.len())].clone()
    }

    /// Returns all keys that ever existed.
    pub fn keys(&self) -> Vec<String> {
        self.rows.keys().cloned().collect()
    }

    /// Returns the contents of a row at the last read, as far as known.
    pub fn last_read(&self, key: &str) -> RowState {
        self.rows.get(key).map(|row| row.last_read.clone()).unwrap_or_default()
    }

    /// Records a request.
    pub fn begin(&mut self, key: &str, request: RowRequest) -> Ticket {
        let called = self.moment();
        let row = self.rows.entry(key.to_owned()).or_default();
        row.changes += usize::from(!request.changes.is_empty());
        row.unanswered += usize::from(!request.changes.is_empty());
        row.ops.push(HistoryOp { called, returned: None, request, after: None });
        Ticket { key: key.to_owned(), index: row.ops.len() - 1 }
    }

    /// Returns the request of an operation.
    pub fn request(&self, ticket: &Ticket) -> Option<&RowRequest> {
        Some(&self.rows.get(&ticket.key)?.ops.get(ticket.index)?.request)
    }

    /// Records a reply. The values returned to a patient client are those of the row at some later
    /// moment of the call. A failed condition may be the result of a retry after an earlier try was
    /// applied.
    pub fn finish(&mut self, ticket: &Ticket, answer: Observation, is_patient: bool) {
        let moment = self.moment();
        let Some(row) = self.rows.get_mut(&ticket.key) else { return };
        row.unanswered -= usize::from(!row.ops[ticket.index].request.changes.is_empty());
        let op = &mut row.ops[ticket.index];
        let called = op.called;
        let read = |changes, condition, answer, after| HistoryOp {
            called,
            returned: Some(moment),
            request: RowRequest { changes, condition, observation: answer },
            after,
        };
        match answer {
            Observation::Values(..) if is_patient => {
                (op.returned, op.request.observation) = (Some(moment), Observation::Done);
                row.ops.push(read(Vec::new(), None, answer, Some(ticket.index)));
            }
            Observation::Held(false) if is_patient => {
                let condition = op.request.condition;
                row.ops.push(read(Vec::new(), condition, answer, None));
            }
            answer => (op.returned, op.request.observation) = (Some(moment), answer),
        }
    }

    /// Records a read of a row in a call that started at `called`.
    pub fn read(&mut self, key: &str, called: u64, state: RowState) {
        let answered = Some(self.moment());
        let row = self.rows.entry(key.to_owned()).or_default();
        row.last_read = state.clone();
        row.ops.push(HistoryOp {
            called,
            returned: answered,
            request: RowRequest::row(state),
            after: None,
        });
    }

    /// Returns a number that is equal for two runs with equal events.
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.log, &self.violations).hash(&mut hasher);
        for (key, row) in &self.rows {
            format!("{key} {:?}", row.ops).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Checks the results of each row; impossible ones are added to `violations`.
    pub fn check(&mut self) {
        for (key, row) in &self.rows {
            match check(&row.ops) {
                Verdict::Linearizable => {}
                Verdict::GaveUp => self
                    .violations
                    .push(format!("row {key}: the search was abandoned after too many states")),
                Verdict::Impossible { placed, left, state } => {
                    self.violations.push(format_violation(key, &row.ops, &placed, &left, &state));
                }
            }
        }
    }

    /// Returns the numbers of rows and of operations on them.
    pub fn counts(&self) -> (usize, usize) {
        (self.rows.len(), self.rows.values().map(|row| row.ops.len()).sum())
    }
}

/// Formats the end of the longest order of a row's history, and the operations that do not fit
/// after it.
fn format_violation(
    key: &str,
    ops: &[HistoryOp],
    placed: &[usize],
    left: &[usize],
    state: &RowState,
) -> String {
    let line = |index: &usize| {
        let op = &ops[*index];
        let answered = op.returned.map_or("never".to_owned(), |answered| answered.to_string());
        format!("\n      {:6} to {answered:6}  {:?}", op.called, op.request)
    };
    let shown = |some: &[usize]| some.iter().map(line).collect::<String>();
    let mut left = left.to_vec();
    left.sort_by_key(|index| ops[*index].returned);
    left.truncate(8);
    let last = &placed[placed.len().saturating_sub(12)..];
    format!(
        "row {key}: no order explains its results; its state is {state:?} after{}\n    and none of \
         these operations fits next:{}",
        shown(last),
        shown(&left)
    )
}
