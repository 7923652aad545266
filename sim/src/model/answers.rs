//! The right answers to a read, of which doubtful cells allow more than one.

use std::collections::BTreeSet;

use bytes::Bytes;
use halite_types::Selection;

use super::{Family, Model, ModelCell, Question, Rules, visible};

/// More doubtful cells than this in one answer are not worked through.
const DOUBTFUL_MAX: usize = 10;

/// A value that a read returns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// Family.
    pub family: Bytes,
    /// Qualifier.
    pub qualifier: Bytes,
    /// Timestamp.
    pub timestamp: i64,
    /// Value.
    pub value: Bytes,
}

impl Seen {
    pub(super) fn new(family: &Bytes, cell: &ModelCell) -> Self {
        Self { family: family.clone(), qualifier: cell.qualifier.clone(), timestamp: cell.timestamp, value: cell.value.clone() }
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
    pub fn answers(&self, row: &[u8], selection: &Selection, now: i64) -> Vec<(Bytes, Answers)> {
        let nothing = Family::new();
        let cells = |family: &Bytes| self.rows.get(row).and_then(|row| row.get(family)).unwrap_or(&nothing);
        let answer = |(family, rules): (&Bytes, &Rules)| {
            let answers = match Question::of(selection, family, now) {
                Some(question) => answers(family, rules, cells(family), &question),
                None => Answers::Among(BTreeSet::from([Vec::new()])),
            };
            (family.clone(), answers)
        };
        self.rules.iter().map(answer).collect()
    }

    /// Every cell of a family of a row as it was written, for a person who looks for what went wrong: when it was
    /// written, counted in writes and drops, and since when it may have been dropped.
    pub fn history(&self, row: &[u8], family: &[u8]) -> String {
        let cells = self.rows.get(row).and_then(|row| row.get(family)).into_iter().flatten();
        let doubt = |cell: &ModelCell| cell.doubtful.map_or_else(String::new, |moment| format!(", in doubt since {moment}"));
        let value = |cell: &ModelCell| halite_types::key::print_bytes(&cell.value[..cell.value.len().min(16)]);
        let ttl = |cell: &ModelCell| cell.ttl_ms.map_or_else(String::new, |ttl| format!(" for {ttl} ms"));
        let line = |cell: &ModelCell| {
            let qualifier = halite_types::key::print_bytes(&cell.qualifier);
            format!("\n    {}: {qualifier}@{} {} {}{}{}", cell.born, cell.timestamp, cell.kind.name(), value(cell), ttl(cell), doubt(cell))
        };
        cells.map(line).collect()
    }

    /// The cells that a raw read of all versions of a row must return, and those that it may return; markers have
    /// empty values.
    pub fn raw(&self, row: &[u8], now: i64) -> (BTreeSet<Seen>, BTreeSet<Seen>) {
        let (mut must, mut may) = (BTreeSet::new(), BTreeSet::new());
        for (family, cells) in self.rows.get(row).into_iter().flatten() {
            let rules = &self.rules[family];
            for cell in cells {
                let is_same = |other: &ModelCell| (&other.qualifier, other.timestamp, other.kind) == (&cell.qualifier, cell.timestamp, cell.kind);
                let rewritten = cells.iter().any(|other| is_same(other) && other.born > cell.born);
                if cell.doubtful.is_none() && !rewritten && !rules.is_expired(cell, now) && !cell.is_over(now) {
                    must.insert(Seen::new(family, cell));
                }
                may.insert(Seen::new(family, cell));
            }
        }
        (must, may)
    }
}

/// Whether a read has more than one right answer.
pub(super) fn has_doubts(rules: &Rules, cells: &Family, question: &Question) -> bool {
    !answers(&Bytes::new(), rules, cells, question).is_certain()
}

fn answers(family: &Bytes, rules: &Rules, cells: &Family, question: &Question) -> Answers {
    let doubtful = doubtful_cells(rules, cells, question);
    if doubtful.len() > DOUBTFUL_MAX {
        return Answers::Unknown;
    }
    let mut answers = BTreeSet::new();
    for choice in 0_u32..1 << doubtful.len() {
        let dropped: Vec<&ModelCell> = doubtful.iter().enumerate().filter(|(bit, _)| choice >> bit & 1 == 1).map(|(_, cell)| *cell).collect();
        let is_dropped = |cell: &ModelCell| dropped.iter().any(|dropped| std::ptr::eq(*dropped, cell));
        if keeps_order(&dropped, cells, |cell| {
            is_dropped(cell) || (cell.doubtful.is_some() && !doubtful.iter().any(|other| std::ptr::eq(*other, cell)))
        }) {
            let seen = visible(rules, cells.iter().filter(|cell| !is_dropped(cell)), question);
            answers.insert(seen.into_iter().map(|cell| Seen::new(family, cell)).collect());
        }
    }
    Answers::Among(answers)
}

/// Whether every dropped marker had nothing left to hide of what was written before it, or may go before that.
fn keeps_order(dropped: &[&ModelCell], cells: &Family, may_be_dropped: impl Fn(&ModelCell) -> bool) -> bool {
    let left = |marker: &ModelCell| cells.iter().any(|put| put.born <= marker.born && put.is_put() && marker.hides(put) && !may_be_dropped(put));
    !dropped.iter().any(|marker| !marker.early && left(marker))
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
    if !question.asks_for(&put.qualifier) || !question.range.contains(put.timestamp) || put.is_over(question.now) || hidden_for_sure(put) {
        return false;
    }
    let stands_before = |other: &&ModelCell| {
        let same_column = other.is_put() && other.qualifier == put.qualifier && other.timestamp > put.timestamp;
        same_column && other.doubtful.is_none() && question.range.contains(other.timestamp) && !other.is_over(question.now) && !hidden_perhaps(other)
    };
    let newer: BTreeSet<i64> = cells.iter().filter(stands_before).map(|other| other.timestamp).collect();
    let expired = rules.is_expired(put, question.now) && newer.len() >= rules.min_versions;
    newer.len() < rules.versions.min(question.versions) && !expired
}
