//! The right answers to a read, of which doubtful cells allow more than one.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::{CellType, Selection};

use super::{Family, Model, ModelCell, Name, Question, Rules, count_different, visible};

/// More doubtful cells than this in one answer are not worked through.
const DOUBTFUL_MAX: usize = 8;

/// A value that a read returns, or a marker that a raw one does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// Family.
    pub family: Name,
    /// Qualifier.
    pub qualifier: Name,
    /// Timestamp.
    pub timestamp: i64,
    /// Put, or which marker.
    pub kind: CellType,
    /// Value.
    pub value: Bytes,
}

impl Seen {
    pub(super) fn new(family: Name, cell: &ModelCell) -> Self {
        Self { family, qualifier: cell.column, timestamp: cell.timestamp, kind: cell.kind, value: cell.value.clone() }
    }
}

/// The right answers for one family of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answers {
    /// Any of these.
    Among(BTreeSet<Vec<Seen>>),
    /// Too many to work through.
    Unknown,
}

impl Answers {
    /// Whether this answer is right.
    pub fn admit(&self, answer: &[Seen]) -> bool {
        match self {
            Self::Among(answers) => answers.contains(answer),
            Self::Unknown => true,
        }
    }

    /// Whether there is exactly one.
    pub fn is_certain(&self) -> bool {
        matches!(self, Self::Among(answers) if answers.len() == 1)
    }
}

impl Model {
    /// The right answers for a row, family by family; families that are not asked for answer nothing.
    pub fn answers(&self, row: &[u8], selection: &Selection, now: i64) -> Vec<(Name, Answers)> {
        let nothing = Family::new();
        let cells = |family: &Name| self.rows.get(row).and_then(|row| row.get(family)).unwrap_or(&nothing);
        let answer = |(family, rules): (&Name, &Rules)| {
            let answers = match Question::of(selection, &rules.family, now) {
                Some(question) => answers(*family, rules, cells(family), &question),
                None => Answers::Among(BTreeSet::from([Vec::new()])),
            };
            (*family, answers)
        };
        self.rules.iter().map(answer).collect()
    }

    /// Every cell of a family of a row as it was written, for a person who looks for what went wrong: when it was
    /// written, counted in writes and drops, and since when it may have been dropped.
    pub fn history(&self, row: &[u8], family: Name) -> String {
        let cells = self.rows.get(row).and_then(|row| row.get(&family)).into_iter().flatten();
        let doubt = |cell: &ModelCell| cell.doubtful.map_or_else(String::new, |moment| format!(", in doubt since {moment}"));
        let value = |cell: &ModelCell| halite_types::key::print_bytes(&cell.value[..cell.value.len().min(16)]);
        let ttl = |cell: &ModelCell| cell.ttl_ms.map_or_else(String::new, |ttl| format!(" for {ttl} ms"));
        let line = |cell: &ModelCell| {
            format!("\n    {}: {}@{} {} {}{}{}", cell.born, cell.column, cell.timestamp, cell.kind.name(), value(cell), ttl(cell), doubt(cell))
        };
        cells.map(line).collect()
    }

    /// The cells of a row that were not found are there or not: of those whose time is over and of those that another one of the
    /// same time hides nobody can tell.
    pub fn doubt_missing(&mut self, row: &Bytes, is_found: impl Fn(&Seen) -> bool) {
        let Some(families) = self.rows.get_mut(row) else { return };
        for (family, cells) in Arc::make_mut(families) {
            for cell in cells.iter_mut().filter(|cell| !is_found(&Seen::new(*family, cell))) {
                cell.doubtful = cell.doubtful.or(Some(self.moment));
                cell.early = true;
            }
        }
    }

    /// The cells that a raw read of all versions of a row must return, and those that it may return; markers have
    /// empty values.
    pub fn raw(&self, row: &[u8], now: i64) -> (BTreeSet<Seen>, BTreeSet<Seen>) {
        let (mut must, mut may) = (BTreeSet::new(), BTreeSet::new());
        for (family, cells) in self.rows.get(row).into_iter().flat_map(|row| row.iter()) {
            let rules = &self.rules[family];
            for cell in cells {
                let is_same = |other: &ModelCell| (other.column, other.timestamp, other.kind) == (cell.column, cell.timestamp, cell.kind);
                let rewritten = cells.iter().any(|other| is_same(other) && other.born > cell.born);
                if cell.doubtful.is_none() && !rewritten && !rules.is_expired(cell, now) && !cell.is_over(now) {
                    must.insert(Seen::new(*family, cell));
                }
                may.insert(Seen::new(*family, cell));
            }
        }
        (must, may)
    }
}

/// Whether a read has more than one right answer.
pub(super) fn has_doubts(rules: &Rules, cells: &Family, question: &Question) -> bool {
    !answers(Name::new(b""), rules, cells, question).is_certain()
}

fn answers(family: Name, rules: &Rules, cells: &Family, question: &Question) -> Answers {
    let doubtful = doubtful_cells(rules, cells, question);
    if doubtful.len() > DOUBTFUL_MAX {
        return Answers::Unknown;
    }
    let places: Vec<Option<usize>> = cells.iter().map(|cell| doubtful.iter().position(|other| std::ptr::eq(*other, cell))).collect();
    let orders: Vec<Order> = doubtful.iter().map(|cell| Order::of(cell, cells, &places)).collect();
    let mut answers = BTreeSet::new();
    for choice in (0_u32..1 << doubtful.len()).filter(|choice| orders.iter().enumerate().all(|(bit, order)| order.allows(bit, *choice))) {
        let is_dropped = |at: usize| places[at].is_some_and(|bit| choice >> bit & 1 == 1);
        let kept = cells.iter().enumerate().filter(|(at, _)| !is_dropped(*at)).map(|(_, cell)| cell);
        let seen = visible(rules, kept, question);
        answers.insert(seen.into_iter().map(|cell| Seen::new(family, cell)).collect());
    }
    Answers::Among(answers)
}

/// What must be gone before a doubtful cell: a marker goes only when nothing is left of what it hid when it was written.
#[derive(Default)]
struct Order {
    /// Something that is there for sure.
    never: bool,
    /// Of the doubtful cells that make a difference, these, as bits.
    after: u32,
}

impl Order {
    fn of(cell: &ModelCell, cells: &Family, places: &[Option<usize>]) -> Self {
        let mut order = Self::default();
        if cell.is_put() || cell.early {
            return order;
        }
        for (put, place) in cells.iter().zip(places).filter(|(put, _)| put.is_put() && put.born <= cell.born && cell.hides(put)) {
            match place {
                Some(bit) => order.after |= 1 << bit,
                None => order.never |= put.doubtful.is_none(),
            }
        }
        order
    }

    fn allows(&self, bit: usize, choice: u32) -> bool {
        choice >> bit & 1 == 0 || (!self.never && self.after & !choice == 0)
    }
}

/// The doubtful cells that make a difference to an answer.
fn doubtful_cells<'a>(rules: &Rules, cells: &'a Family, question: &Question) -> Vec<&'a ModelCell> {
    let matters = |cell: &ModelCell| cell.is_put() && may_be_seen(rules, cell, cells, question);
    let hides_some = |marker: &ModelCell| cells.iter().any(|put| marker.hides(put) && matters(put));
    let chosen = |cell: &&ModelCell| cell.doubtful.is_some() && if cell.is_put() { matters(cell) } else { hides_some(cell) };
    cells.iter().filter(chosen).collect()
}

/// Whether some choice of dropped cells lets the put be seen.
fn may_be_seen(rules: &Rules, put: &ModelCell, cells: &Family, question: &Question) -> bool {
    let sees = |marker: &ModelCell| !rules.keeps_deleted || question.range.contains(marker.timestamp);
    let hidden_for_sure = |put: &ModelCell| cells.iter().any(|marker| marker.doubtful.is_none() && marker.hides(put) && sees(marker));
    let hidden_perhaps = |put: &ModelCell| cells.iter().any(|marker| marker.hides(put) && sees(marker));
    if !question.asks_for(put.column) || !question.range.contains(put.timestamp) || put.is_over(question.now) || hidden_for_sure(put) {
        return false;
    }
    let stands_before = |other: &&ModelCell| {
        let same_column = other.is_put() && other.column == put.column && other.timestamp > put.timestamp;
        same_column && other.doubtful.is_none() && question.range.contains(other.timestamp) && !other.is_over(question.now) && !hidden_perhaps(other)
    };
    let newer = count_different(cells.iter().filter(stands_before).map(|other| other.timestamp));
    let expired = rules.is_expired(put, question.now) && newer >= rules.min_versions;
    newer < rules.versions.min(question.versions) && !expired
}
