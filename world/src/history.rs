//! What everybody asked for and was told, row by row.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::rc::Rc;

use crate::check::{Op, Verdict, check};
use crate::model::{Answer, Asked, State};

/// The history, which all programs write to.
pub type Told = Rc<RefCell<History>>;

/// Operations on one row after which it is left alone, and those among them that were not answered: a row's history is to be short
/// enough to be searched.
const OPS_MAX: usize = 70;
const UNANSWERED_MAX: usize = 6;

/// Everything that was asked for and told.
#[derive(Default)]
pub struct History {
    /// The rows by key.
    rows: BTreeMap<String, Row>,
    /// Keys that are worked on.
    active: Vec<String>,
    /// Rows so far.
    count: u32,
    /// Moments so far.
    moments: u64,
    /// Values so far.
    values: u32,
    /// What happened, in order: the same for the same seed.
    pub log: Vec<String>,
    /// What cannot be.
    pub wrong: Vec<String>,
    /// Calls, and those that failed.
    pub calls: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Rows that scans gave.
    pub scanned: u64,
    /// Scans that came to their end.
    pub scans: u64,
    /// What the administrator did.
    pub changes: u64,
    /// Callers that have finished.
    pub finished: usize,
    /// The trouble is over: whatever is called now must succeed.
    pub is_healed: bool,
    /// The auditor has seen everything.
    pub is_over: bool,
}

#[derive(Default)]
struct Row {
    ops: Vec<Op>,
    changes: usize,
    unanswered: usize,
    /// What it held when it was read last.
    seen: State,
}

/// An operation under way.
pub struct Ticket {
    key: String,
    at: usize,
}

impl History {
    /// A moment of its own.
    pub fn moment(&mut self) -> u64 {
        self.moments += 1;
        self.moments
    }

    /// A value that nobody else has.
    pub fn value(&mut self) -> u32 {
        self.values += 1;
        self.values
    }

    /// Notes what happened.
    pub fn note(&mut self, what: impl Into<String>) {
        let (moment, now) = (self.moment(), turmoil::sim_elapsed().unwrap_or_default().as_millis());
        self.log.push(format!("{moment:6} {now:6} ms  {}", what.into()));
    }

    /// The key of a row that is worked on, by chance.
    pub fn key(&mut self, rng: &mut fastrand::Rng, active: usize) -> String {
        let rows = &self.rows;
        let is_fresh = |key: &String| rows.get(key).is_none_or(|row| row.changes < OPS_MAX && row.unanswered < UNANSWERED_MAX);
        self.active.retain(is_fresh);
        while self.active.len() < active {
            self.count += 1;
            let key = format!("{}{:03}", char::from(b'a' + rng.u8(..26)), self.count);
            self.rows.insert(key.clone(), Row::default());
            self.active.push(key);
        }
        self.active[rng.usize(..self.active.len())].clone()
    }

    /// All keys there ever were.
    pub fn keys(&self) -> Vec<String> {
        self.rows.keys().cloned().collect()
    }

    /// What a row held when it was read last, as far as anybody knows.
    pub fn seen(&self, key: &str) -> State {
        self.rows.get(key).map(|row| row.seen.clone()).unwrap_or_default()
    }

    /// Somebody asks for something.
    pub fn ask(&mut self, key: &str, asked: Asked) -> Ticket {
        let called = self.moment();
        let row = self.rows.entry(key.to_owned()).or_default();
        row.changes += usize::from(!asked.changes.is_empty());
        row.unanswered += usize::from(!asked.changes.is_empty());
        row.ops.push(Op { called, answered: None, asked, behind: None });
        Ticket { key: key.to_owned(), at: row.ops.len() - 1 }
    }

    /// What was asked for.
    pub fn asked(&self, ticket: &Ticket) -> Option<&Asked> {
        Some(&self.rows.get(&ticket.key)?.ops.get(ticket.at)?.asked)
    }

    /// Somebody is answered. What a patient client is told of values is the row's own at some later moment of the call, and that a
    /// condition did not hold need not be the last word of an earlier try.
    pub fn answer(&mut self, ticket: &Ticket, answer: Answer, is_patient: bool) {
        let moment = self.moment();
        let Some(row) = self.rows.get_mut(&ticket.key) else { return };
        row.unanswered -= usize::from(!row.ops[ticket.at].asked.changes.is_empty());
        let op = &mut row.ops[ticket.at];
        let called = op.called;
        let read = |changes, condition, answer, behind| Op { called, answered: Some(moment), asked: Asked { changes, condition, answer }, behind };
        match answer {
            Answer::Values(..) if is_patient => {
                (op.answered, op.asked.answer) = (Some(moment), Answer::Done);
                row.ops.push(read(Vec::new(), None, answer, Some(ticket.at)));
            }
            Answer::Held(false) if is_patient => {
                let condition = op.asked.condition;
                row.ops.push(read(Vec::new(), condition, answer, None));
            }
            answer => (op.answered, op.asked.answer) = (Some(moment), answer),
        }
    }

    /// A row was read in a call that began then.
    pub fn read(&mut self, key: &str, called: u64, state: State) {
        let answered = Some(self.moment());
        let row = self.rows.entry(key.to_owned()).or_default();
        row.seen = state.clone();
        row.ops.push(Op { called, answered, asked: Asked::row(state), behind: None });
    }

    /// A number that two runs share if everything in them was the same.
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.log, &self.wrong).hash(&mut hasher);
        for (key, row) in &self.rows {
            format!("{key} {:?}", row.ops).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Whether what was told of each row can be true; what cannot be goes to `wrong`.
    pub fn check(&mut self) {
        for (key, row) in &self.rows {
            match check(&row.ops) {
                Verdict::Linearizable => {}
                Verdict::TooHard => self.wrong.push(format!("row {key}: the search was given up after too many states")),
                Verdict::Impossible { placed, left, state } => self.wrong.push(tell(key, &row.ops, &placed, &left, &state)),
            }
        }
    }

    /// Rows there ever were, and operations on them.
    pub fn counts(&self) -> (usize, usize) {
        (self.rows.len(), self.rows.values().map(|row| row.ops.len()).sum())
    }
}

/// The end of the longest order of a row's history, and what does not fit behind it.
fn tell(key: &str, ops: &[Op], placed: &[usize], left: &[usize], state: &State) -> String {
    let line = |at: &usize| {
        let op = &ops[*at];
        let answered = op.answered.map_or("never".to_owned(), |answered| answered.to_string());
        format!("\n      {:6} to {answered:6}  {:?}", op.called, op.asked)
    };
    let shown = |some: &[usize]| some.iter().map(line).collect::<String>();
    let mut left = left.to_vec();
    left.sort_by_key(|at| ops[*at].answered);
    left.truncate(8);
    let last = &placed[placed.len().saturating_sub(12)..];
    format!("row {key}: no order explains its answers; it holds {state:?} after{}\n    and then none of these fits:{}", shown(last), shown(&left))
}
