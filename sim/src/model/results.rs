//! Correct results of a read, of which doubtful cells allow several.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::{CellType, Selection};

use super::{
    Family, FamilyRules, Model, ModelCell, PackedName, ReadQuery, count_different, visible,
};

/// Maximum number of doubtful cells in one result; more are not enumerated.
const MAX_DOUBTFUL: usize = 8;

/// Value returned by a read, or marker returned by a raw read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VisibleCell {
    /// Family.
    pub family: PackedName,
    /// Qualifier.
    pub qualifier: PackedName,
    /// Timestamp.
    pub timestamp: i64,
    /// Put, or the kind of marker.
    pub kind: CellType,
    /// Value.
    pub value: Bytes,
}

impl VisibleCell {
    pub(super) fn new(family: PackedName, cell: &ModelCell) -> Self {
        Self {
            family,
            qualifier: cell.column,
            timestamp: cell.timestamp,
            kind: cell.kind,
            value: cell.value.clone(),
        }
    }
}

/// Correct results for one family of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcceptedResults {
    /// Any of these.
    Among(BTreeSet<Vec<VisibleCell>>),
    /// Too many to enumerate.
    Unknown,
}

impl AcceptedResults {
    /// Returns `true` if this result is correct.
    pub fn accepts(&self, answer: &[VisibleCell]) -> bool {
        match self {
            Self::Among(answers) => answers.contains(answer),
            Self::Unknown => true,
        }
    }

    /// Returns `true` if there is exactly one correct result.
    pub fn is_certain(&self) -> bool {
        matches!(self, Self::Among(answers) if answers.len() == 1)
    }
}

impl Model {
    /// Returns the correct results for a row by family; families that are not requested have an
    /// empty result.
    pub fn accepted_results(
        &self,
        row: &[u8],
        selection: &Selection,
        now: i64,
    ) -> Vec<(PackedName, AcceptedResults)> {
        let nothing = Family::new();
        let cells = |family: &PackedName| {
            self.rows.get(row).and_then(|row| row.get(family)).unwrap_or(&nothing)
        };
        let answer = |(family, rules): (&PackedName, &FamilyRules)| {
            let answers = match ReadQuery::for_family(selection, &rules.family, now) {
                Some(question) => accepted_results(*family, rules, cells(family), &question),
                None => AcceptedResults::Among(BTreeSet::from([Vec::new()])),
            };
            (*family, answers)
        };
        self.rules.iter().map(answer).collect()
    }

    /// Formats every written cell of a row's family, for debugging: the time of the write, counted
    /// in writes and drops, and the time from which it may have been dropped.
    pub fn history(&self, row: &[u8], family: PackedName) -> String {
        let cells = self.rows.get(row).and_then(|row| row.get(&family)).into_iter().flatten();
        let doubt = |cell: &ModelCell| {
            cell.doubtful.map_or_else(String::new, |moment| format!(", uncertain since {moment}"))
        };
        let value = |cell: &ModelCell| {
            halite_types::key::to_string_binary(&cell.value[..cell.value.len().min(16)])
        };
        let ttl =
            |cell: &ModelCell| cell.ttl_ms.map_or_else(String::new, |ttl| format!(" for {ttl} ms"));
        let line = |cell: &ModelCell| {
            format!(
                "\n    {}: {}@{} {} {}{}{}",
                cell.born,
                cell.column,
                cell.timestamp,
                cell.kind.name(),
                value(cell),
                ttl(cell),
                doubt(cell)
            )
        };
        cells.map(line).collect()
    }

    /// Marks the missing cells of a row as doubtful: whether an expired cell still exists is
    /// unknown, and likewise a cell hidden by another one with the same timestamp.
    pub fn doubt_missing(&mut self, row: &Bytes, is_found: impl Fn(&VisibleCell) -> bool) {
        let Some(families) = self.rows.get_mut(row) else { return };
        for (family, cells) in Arc::make_mut(families) {
            for cell in cells.iter_mut().filter(|cell| !is_found(&VisibleCell::new(*family, cell)))
            {
                cell.doubtful = cell.doubtful.or(Some(self.moment));
                cell.early = true;
            }
        }
    }

    /// Returns the cells that a raw read of all versions of a row must return, and those that it
    /// may return; markers have empty values.
    pub fn raw(&self, row: &[u8], now: i64) -> (BTreeSet<VisibleCell>, BTreeSet<VisibleCell>) {
        let (mut must, mut may) = (BTreeSet::new(), BTreeSet::new());
        for (family, cells) in self.rows.get(row).into_iter().flat_map(|row| row.iter()) {
            let rules = &self.rules[family];
            for cell in cells {
                let is_same = |other: &ModelCell| {
                    (other.column, other.timestamp, other.kind)
                        == (cell.column, cell.timestamp, cell.kind)
                };
                let rewritten = cells.iter().any(|other| is_same(other) && other.born > cell.born);
                if cell.doubtful.is_none()
                    && !rewritten
                    && !rules.is_expired(cell, now)
                    && !cell.is_expired(now)
                {
                    must.insert(VisibleCell::new(*family, cell));
                }
                may.insert(VisibleCell::new(*family, cell));
            }
        }
        (must, may)
    }
}

/// Returns `true` if a read has several correct results.
pub(super) fn has_doubts(rules: &FamilyRules, cells: &Family, question: &ReadQuery) -> bool {
    !accepted_results(PackedName::new(b""), rules, cells, question).is_certain()
}

fn accepted_results(
    family: PackedName,
    rules: &FamilyRules,
    cells: &Family,
    question: &ReadQuery,
) -> AcceptedResults {
    let doubtful = doubtful_cells(rules, cells, question);
    if doubtful.len() > MAX_DOUBTFUL {
        return AcceptedResults::Unknown;
    }
    let places: Vec<Option<usize>> = cells
        .iter()
        .map(|cell| doubtful.iter().position(|other| std::ptr::eq(*other, cell)))
        .collect();
    let orders: Vec<DropOrder> =
        doubtful.iter().map(|cell| DropOrder::for_cell(cell, cells, &places)).collect();
    let mut answers = BTreeSet::new();
    for choice in (0_u32..1 << doubtful.len())
        .filter(|choice| orders.iter().enumerate().all(|(bit, order)| order.allows(bit, *choice)))
    {
        let is_dropped = |index: usize| places[index].is_some_and(|bit| choice >> bit & 1 == 1);
        let kept =
            cells.iter().enumerate().filter(|(index, _)| !is_dropped(*index)).map(|(_, cell)| cell);
        let seen = visible(rules, kept, question);
        answers.insert(seen.into_iter().map(|cell| VisibleCell::new(family, cell)).collect());
    }
    AcceptedResults::Among(answers)
}

/// Cells that must be dropped before a doubtful cell: a marker is dropped only after everything
/// that it hid when it was written.
#[derive(Default)]
struct DropOrder {
    /// Set if one of them certainly exists.
    never: bool,
    /// Relevant doubtful cells that must be dropped first, as bits.
    after: u32,
}

impl DropOrder {
    fn for_cell(cell: &ModelCell, cells: &Family, places: &[Option<usize>]) -> Self {
        let mut order = Self::default();
        if cell.is_put() || cell.early {
            return order;
        }
        for (put, place) in cells
            .iter()
            .zip(places)
            .filter(|(put, _)| put.is_put() && put.born <= cell.born && cell.hides(put))
        {
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

/// Returns the doubtful cells that affect a result.
fn doubtful_cells<'a>(
    rules: &FamilyRules,
    cells: &'a Family,
    question: &ReadQuery,
) -> Vec<&'a ModelCell> {
    let matters = |cell: &ModelCell| cell.is_put() && may_be_visible(rules, cell, cells, question);
    let hides_some = |marker: &ModelCell| cells.iter().any(|put| marker.hides(put) && matters(put));
    let chosen = |cell: &&ModelCell| {
        cell.doubtful.is_some() && if cell.is_put() { matters(cell) } else { hides_some(cell) }
    };
    cells.iter().filter(chosen).collect()
}

/// Returns `true` if some choice of dropped cells makes the put visible.
fn may_be_visible(
    rules: &FamilyRules,
    put: &ModelCell,
    cells: &Family,
    question: &ReadQuery,
) -> bool {
    let sees =
        |marker: &ModelCell| !rules.keeps_deleted || question.range.contains(marker.timestamp);
    let hidden_for_sure = |put: &ModelCell| {
        cells.iter().any(|marker| marker.doubtful.is_none() && marker.hides(put) && sees(marker))
    };
    let hidden_perhaps =
        |put: &ModelCell| cells.iter().any(|marker| marker.hides(put) && sees(marker));
    if !question.includes(put.column)
        || !question.range.contains(put.timestamp)
        || put.is_expired(question.now)
        || hidden_for_sure(put)
    {
        return false;
    }
    let stands_before = |other: &&ModelCell| {
        let same_column =
            other.is_put() && other.column == put.column && other.timestamp > put.timestamp;
        same_column
            && other.doubtful.is_none()
            && question.range.contains(other.timestamp)
            && !other.is_expired(question.now)
            && !hidden_perhaps(other)
    };
    let newer = count_different(cells.iter().filter(stands_before).map(|other| other.timestamp));
    let expired = rules.is_expired(put, question.now) && newer >= rules.min_versions;
    newer < rules.versions.min(question.versions) && !expired
}
