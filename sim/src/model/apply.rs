//! Effects of a write on the model, and its result.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::key::to_string_binary;
use halite_types::{
    CellRef, CellType, CheckAndMutate, CompareOp, Condition, Delete, ErrorKind, LATEST_TIMESTAMP,
    RowOp, TimeRange,
};

use super::results::{VisibleCell, has_doubts};
use super::{Model, ModelCell, PackedName, ReadQuery, visible};

/// Cells that a write adds, and its result.
#[derive(Clone, Debug)]
pub struct Effect {
    row: Bytes,
    cells: Vec<(PackedName, ModelCell)>,
    /// New values of an increment or append, in order.
    pub result: Vec<VisibleCell>,
    /// `true` if the condition held, or there was none.
    pub processed: bool,
    /// `true` if nothing it read was doubtful.
    pub certain: bool,
}

impl Effect {
    /// Returns the row it changes.
    pub fn row(&self) -> &Bytes {
        &self.row
    }

    /// Returns `true` if it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", to_string_binary(&self.row))?;
        for (family, cell) in &self.cells {
            write!(
                f,
                " {family}:{}@{} {} {}",
                cell.column,
                cell.timestamp,
                cell.kind.name(),
                to_string_binary(&cell.value[..cell.value.len().min(16)])
            )?;
        }
        Ok(())
    }
}

/// Error kind with which a write must be rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedError(pub ErrorKind);

impl Model {
    /// Returns the effect of a write that is applied now.
    ///
    /// # Errors
    /// Returns the kind of error that the write must return instead.
    pub fn effect(&self, op: &RowOp, now: i64) -> Result<Effect, ExpectedError> {
        let mut effect = Effect {
            row: op.row().clone(),
            cells: Vec::new(),
            result: Vec::new(),
            processed: true,
            certain: true,
        };
        let planned = Planner { model: self, now, checked: now, effect: &mut effect }.plan(op);
        // A doubtful read may return another value, and then the write is not rejected.
        if effect.certain {
            planned?;
        }
        effect.result.sort_by_key(|seen| (seen.family, seen.qualifier));
        Ok(effect)
    }

    /// Applies an effect returned by [`Model::effect`].
    pub fn apply(&mut self, effect: &Effect) {
        self.moment += 1;
        let born = self.moment;
        let row = Arc::make_mut(self.rows.entry(effect.row.clone()).or_default());
        for (family, cell) in &effect.cells {
            row.entry(*family).or_default().push(ModelCell { born, ..cell.clone() });
        }
    }
}

impl Model {
    /// As [`Model::apply`], for a write that may or may not exist.
    pub fn apply_uncertain(&mut self, effect: &Effect) {
        let mut effect = effect.clone();
        for (_, cell) in &mut effect.cells {
            cell.doubtful = cell.doubtful.or(Some(self.moment));
            cell.early = true;
        }
        self.apply(&effect);
    }
}

/// Merges the effects of one call. Its operations may be committed as one, and then only the last
/// of several cells with the same key and timestamp remains, so the others are doubtful.
pub fn merge_batch(effects: &mut [Effect]) {
    for at in 0..effects.len() {
        let (head, later) = effects[at..].split_first_mut().expect("there is one");
        let is_same = |a: &(PackedName, ModelCell), b: &(PackedName, ModelCell)| {
            (a.0, a.1.column, a.1.timestamp, a.1.kind) == (b.0, b.1.column, b.1.timestamp, b.1.kind)
        };
        let of_row =
            || later.iter().filter(|other| other.row == head.row).flat_map(|other| &other.cells);
        for cell in &mut head.cells {
            if of_row().any(|other| is_same(other, cell)) {
                cell.1.doubtful = Some(0);
            }
        }
    }
}

struct Planner<'a> {
    model: &'a Model,
    now: i64,
    /// Timestamp of a put without one: now, or the timestamp of the checked cell if that is newer.
    checked: i64,
    effect: &'a mut Effect,
}

impl Planner<'_> {
    fn plan(&mut self, op: &RowOp) -> Result<(), ExpectedError> {
        match op {
            RowOp::Put(put) => put.mutation().cells().iter().try_for_each(|cell| {
                let timestamp = if cell.timestamp() == LATEST_TIMESTAMP {
                    self.checked
                } else {
                    cell.timestamp()
                };
                self.write(cell, timestamp, cell.value())
            }),
            RowOp::Delete(delete) => self.delete(delete),
            RowOp::Increment(increment) => {
                self.increment(increment.mutation().cells().iter(), increment.time_range)
            }
            RowOp::Append(append) => {
                self.append(append.mutation().cells().iter(), append.time_range)
            }
            RowOp::Mutate(all) => all.ops.iter().try_for_each(|op| self.plan(op)),
            RowOp::CheckAndMutate(check) => self.check_and_mutate(check),
        }
    }

    fn write(
        &mut self,
        cell: CellRef<'_>,
        timestamp: i64,
        value: &[u8],
    ) -> Result<(), ExpectedError> {
        let family = PackedName::new(cell.family());
        if !self.model.rules.contains_key(&family) {
            return Err(ExpectedError(ErrorKind::NoSuchFamily));
        }
        let cell = ModelCell {
            column: PackedName::new(cell.qualifier()),
            timestamp: if timestamp == LATEST_TIMESTAMP { self.now } else { timestamp },
            kind: cell.cell_type().unwrap_or(CellType::Put),
            value: Bytes::copy_from_slice(value),
            ttl_ms: cell.ttl_ms(),
            born: 0,
            doubtful: None,
            early: false,
        };
        self.effect.cells.push((family, cell));
        Ok(())
    }

    fn delete(&mut self, delete: &Delete) -> Result<(), ExpectedError> {
        if delete.mutation().cells().is_empty() {
            let timestamp =
                if delete.timestamp == LATEST_TIMESTAMP { self.now } else { delete.timestamp };
            for family in self.model.rules.keys() {
                let kind = CellType::DeleteFamily;
                let (column, value) = (PackedName::new(b""), Bytes::new());
                let marker = ModelCell {
                    column,
                    timestamp,
                    kind,
                    value,
                    ttl_ms: None,
                    born: 0,
                    doubtful: None,
                    early: false,
                };
                self.effect.cells.push((*family, marker));
            }
            return Ok(());
        }
        for cell in delete.mutation().cells() {
            let mut timestamp = cell.timestamp();
            if timestamp == LATEST_TIMESTAMP && cell.cell_type() == Some(CellType::Delete) {
                timestamp = self
                    .newest(cell.family(), cell.qualifier(), TimeRange::all())
                    .map_or(self.now, |newest| newest.timestamp);
            }
            self.write(cell, timestamp, b"")?;
        }
        Ok(())
    }

    fn increment<'c>(
        &mut self,
        cells: impl Iterator<Item = CellRef<'c>>,
        range: TimeRange,
    ) -> Result<(), ExpectedError> {
        for cell in cells {
            let current = self.newest(cell.family(), cell.qualifier(), range);
            let number = |bytes: &[u8]| {
                <[u8; 8]>::try_from(bytes)
                    .map(i64::from_be_bytes)
                    .map_err(|_| ExpectedError(ErrorKind::InvalidRequest))
            };
            let sum = match &current {
                Some(current) => number(&current.value)?.wrapping_add(number(cell.value())?),
                None => number(cell.value())?,
            };
            self.rewrite(cell, current.as_ref(), &sum.to_be_bytes())?;
        }
        Ok(())
    }

    fn append<'c>(
        &mut self,
        cells: impl Iterator<Item = CellRef<'c>>,
        range: TimeRange,
    ) -> Result<(), ExpectedError> {
        for cell in cells {
            let current = self.newest(cell.family(), cell.qualifier(), range);
            let mut value =
                current.as_ref().map_or_else(Vec::new, |current| current.value.to_vec());
            value.extend_from_slice(cell.value());
            self.rewrite(cell, current.as_ref(), &value)?;
        }
        Ok(())
    }

    /// Writes a new value, at least a millisecond after the previous one, unless that is 20 to 40
    /// ms ahead of the clock.
    fn rewrite(
        &mut self,
        cell: CellRef<'_>,
        current: Option<&ModelCell>,
        value: &[u8],
    ) -> Result<(), ExpectedError> {
        let timestamp = match current.map(|current| current.timestamp) {
            None => self.now,
            Some(old) if (20..40).contains(&old.saturating_sub(self.now)) => old,
            Some(old) => self.now.max(old.saturating_add(1)),
        };
        self.write(cell, timestamp, value)?;
        self.effect
            .result
            .extend(self.effect.cells.last().map(|(family, cell)| VisibleCell::new(*family, cell)));
        Ok(())
    }

    fn check_and_mutate(&mut self, check: &CheckAndMutate) -> Result<(), ExpectedError> {
        let Condition::Column { family, qualifier, op, value } = &check.condition else {
            return Err(ExpectedError(ErrorKind::Unsupported));
        };
        if !self.model.rules.contains_key(&PackedName::new(family)) {
            return Err(ExpectedError(ErrorKind::NoSuchFamily));
        }
        let current = self.newest(family, qualifier, check.time_range);
        // No value and an empty value are equal; the comparison is of the given value with the
        // stored one.
        let given = value.clone().unwrap_or_default();
        self.effect.processed = match &current {
            None => given.is_empty() && *op != CompareOp::NotEqual,
            Some(current) if given.is_empty() => {
                current.value.is_empty() == (*op != CompareOp::NotEqual)
            }
            Some(current) => op.accepts(given.cmp(&current.value)),
        };
        if !self.effect.processed {
            return Ok(());
        }
        // A put must not sort after the checked cell, even if the clock was set back.
        self.checked = current.map_or(self.now, |current| self.now.max(current.timestamp));
        self.plan(&check.then)
    }

    /// Returns the value of a column as a read sees it.
    fn newest(&mut self, family: &[u8], qualifier: &[u8], range: TimeRange) -> Option<ModelCell> {
        let family = PackedName::new(family);
        let rules = self.model.rules.get(&family)?;
        let cells = self.model.rows.get(&self.effect.row)?.get(&family)?;
        let question = ReadQuery::one_column(qualifier, range, self.now);
        self.effect.certain &= !has_doubts(rules, cells, &question);
        visible(rules, cells.iter(), &question).first().map(|cell| (*cell).clone())
    }
}
