//! One row of UPDATE or DELETE, and the operation that changes it.

use datafusion::arrow::array::RecordBatch;
use datafusion::scalar::ScalarValue;
use halite_rowkey::value::Value;
use halite_types::op::{Delete, Increment, RowMutations, RowOp};
use halite_types::{Bytes, Filter, Row};

use super::apply::{Change, Changes, SentChange};
use super::guard::all_of;
use super::returning::RowImage;
use super::row::{ColumnValue, if_matches};
use super::sink::Sink;
use super::source::{Assigned, InputRow};
use super::target::WriteTarget;
use super::values::assign;
use crate::catalog::shape::Source;
use crate::error::{Result, SqlError, SqlState};
use crate::session::settings::BadCells;

/// Row that the query found.
pub(super) struct Candidate {
    row: Bytes,
    /// Values of the columns that are read.
    read: Vec<ColumnValue<'static>>,
    /// Computed values.
    computed: Vec<Assigned<'static>>,
}

impl Changes<'_> {
    pub(super) fn candidate(
        &self,
        batch: &RecordBatch,
        at: usize,
        row: Bytes,
    ) -> Result<Candidate> {
        let target = &self.plan.target;
        let scalar = |column: usize| ScalarValue::try_from_array(batch.column(column), at);
        let mut read = Vec::with_capacity(self.plan.read.len());
        for (place, column) in self.plan.read.iter().enumerate() {
            let of = &target.shape.columns[*column];
            let value = scalar(1 + place)?;
            read.push((*column, assign(&of.name, of.ty, &value)?.into_owned()));
        }
        let first = 1 + self.plan.read.len();
        let computed = match &self.change {
            Change::Update { computed, .. } => computed
                .iter()
                .enumerate()
                .map(|(place, column)| {
                    let value = scalar(first + place)?;
                    Ok(Assigned::of(target, *column, &value)?.into_owned())
                })
                .collect::<Result<Vec<_>>>()?,
            Change::Delete => Vec::new(),
        };
        Ok(Candidate { row, read, computed })
    }

    /// Sends rows under the condition that they still are as they were read.
    pub(super) async fn push_chunk(
        &self,
        chunk: Vec<Candidate>,
        sink: &mut Sink<'_, SentChange>,
        changed: &mut Vec<Bytes>,
    ) -> Result<()> {
        let target = &self.plan.target;
        let bad_cells = self.running.statement.settings.bad_cells;
        // Null may be a cell that is none of its column's type.
        let may_be_bad = |at: &usize| {
            let is_null = |(column, value): &ColumnValue<'_>| column == at && value.is_null();
            bad_cells == BadCells::Null && chunk.iter().any(|one| one.read.iter().any(is_null))
        };
        let is_other = |at: &usize| {
            matches!(target.shape.columns[*at].source, Source::Cell { .. })
                && (!target.is_canonical(*at) || may_be_bad(at))
        };
        let others: Vec<usize> = self.plan.read.iter().copied().filter(is_other).collect();
        let raw: Vec<Row> = if others.is_empty() {
            Vec::new()
        } else {
            let gets = chunk.iter().map(|one| target.get(&one.row, &others)).collect();
            target.table.get_all(gets).await?
        };
        sink.count_read(raw.len());
        for (at, candidate) in chunk.into_iter().enumerate() {
            let mut tests: Vec<Filter> = candidate
                .read
                .iter()
                .filter(|(column, _)| !others.contains(column))
                .filter_map(|(column, value)| target.has_value(*column, value))
                .collect();
            if let Some(raw) = raw.get(at) {
                if !is_same(target, raw, &candidate.read, &others, bad_cells)? {
                    changed.push(candidate.row);
                    continue;
                }
                tests.extend(others.iter().filter_map(|column| target.as_in(*column, raw)));
            }
            let new = match &self.change {
                Change::Delete => None,
                Change::Update { constants, .. } => {
                    let mut new = InputRow::of(candidate.computed);
                    new.values.extend(constants.values.iter().cloned());
                    new.times.ts = new.times.ts.or(constants.times.ts);
                    new.times.ttl_ms = new.times.ttl_ms.or(constants.times.ttl_ms);
                    Some(new)
                }
            };
            let op = self.op(&candidate.row, new.as_ref())?;
            let op = if_matches(all_of(tests), &candidate.row, op);
            let image = self.plan.returning.is_some().then(|| {
                let mut values = new.map_or_else(Vec::new, |new| new.values);
                values.extend(candidate.read);
                RowImage { row: candidate.row.clone(), values }
            });
            sink.push(SentChange { row: candidate.row, image }, op).await?;
        }
        Ok(())
    }

    /// Returns the write of a row under the conditions of the statement. `is_found` is `true` if
    /// the row was read, so that it is there unless it was deleted meanwhile.
    pub(super) fn exact_op(
        &self,
        row: &Bytes,
        condition: Option<&Filter>,
        is_found: bool,
    ) -> Result<RowOp> {
        let new = match &self.change {
            Change::Delete => None,
            Change::Update { constants, .. } => Some(constants),
        };
        let op = self.op(row, new)?;
        Ok(match (condition, &self.change) {
            (Some(condition), _) => if_matches(condition.clone(), row, op),
            // The key is all of the condition, and deleting nothing does nothing.
            (None, Change::Delete) if !(is_found && self.plan.has_limit) => op,
            (None, _) => if_matches(Filter::FirstKeyOnly, row, op),
        })
    }

    /// Returns what is done to a row.
    fn op(&self, row: &Bytes, new: Option<&InputRow<'_>>) -> Result<RowOp> {
        let (Change::Update { added, .. }, Some(new)) = (&self.change, new) else {
            return Ok(Delete::new(row.clone()).into());
        };
        let target = &self.plan.target;
        let written = target.mutation(row, &new.values, new.times, true)?;
        if added.is_empty() {
            return written
                .ok_or_else(|| SqlError::new(SqlState::Internal, "UPDATE would write no cell"));
        }
        let mut increment = Increment::new(row.clone());
        increment.return_results = false;
        for (at, amount) in added {
            if let Source::Cell { family, qualifier } = &target.shape.columns[*at].source {
                increment = increment.add(family, qualifier, *amount);
            }
        }
        Ok(match written {
            None => increment.into(),
            Some(RowOp::Mutate(group)) => group.add(increment).into(),
            Some(other) => RowMutations::new(row.clone()).add(other).add(increment).into(),
        })
    }
}

/// Returns `true` if columns of a row have the values that the query found.
fn is_same(
    target: &WriteTarget,
    row: &Row,
    read: &[ColumnValue<'_>],
    columns: &[usize],
    bad_cells: BadCells,
) -> Result<bool> {
    let now = target.values_of(row, columns, bad_cells)?;
    Ok(now.iter().all(|(at, value)| {
        let before = read.iter().find(|(column, _)| column == at).map(|(_, value)| value);
        before.is_some_and(|before| same_value(before, value))
    }))
}

fn same_value(one: &Value<'_>, other: &Value<'_>) -> bool {
    one.compare(other).is_eq()
}
