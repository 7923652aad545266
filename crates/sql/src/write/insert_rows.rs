//! Rows that INSERT and UPSERT write.

use std::collections::HashSet;

use datafusion::arrow::array::RecordBatch;
use halite_types::Bytes;

use super::insert::{Conflict, InsertPlan};
use super::returning::{Returning, RowImage};
use super::row::if_absent;
use super::running::{Running, Written};
use super::sink::Sink;
use super::source::{InputRow, SentRow, row_of};
use super::target::WriteTarget;
use crate::catalog::shape::Source;
use crate::error::{Result, SqlError, SqlState};
use crate::session::settings::BadCells;

/// Running INSERT or UPSERT.
pub(super) struct InsertRun<'r> {
    plan: &'r InsertPlan,
    running: &'r Running,
    /// `true` if a row that is there is not written over.
    looks: bool,
    sink: Sink<'r, SentRow>,
    sent: usize,
    written: u64,
    returned: Vec<(usize, RowImage)>,
    conflicts: Vec<SentRow>,
    /// Rows that ON CONFLICT DO UPDATE may change, which it does once.
    keys: HashSet<Bytes>,
}

impl<'r> InsertRun<'r> {
    pub(super) fn new(plan: &'r InsertPlan, running: &'r Running, looks: bool) -> Self {
        Self {
            plan,
            running,
            looks,
            sink: Sink::new(&plan.target, &running.statement),
            sent: 0,
            written: 0,
            returned: Vec::new(),
            conflicts: Vec::new(),
            keys: HashSet::new(),
        }
    }

    pub(super) async fn push_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        for at in 0..batch.num_rows() {
            let row = row_of(&self.plan.target, &self.plan.columns, batch, at)?;
            self.push(row).await?;
        }
        Ok(())
    }

    pub(super) async fn push(&mut self, mut input: InputRow<'_>) -> Result<()> {
        let (plan, target) = (self.plan, &self.plan.target);
        plan.with_defaults(&mut input, self.looks);
        target.assign_numbers(&input.values).await?;
        let row = target.key(&input.values)?;
        let at = self.sent;
        self.sent += 1;
        if let Conflict::Update(conflict) = &plan.on_conflict {
            let sent =
                SentRow { at, row: row.clone(), input: Some(Box::new(input.clone().into_owned())) };
            // Counters alone are added to, whether the row is there or not.
            if plan.returning.is_none()
                && let Some(steps) = &conflict.steps
                && let Some(op) = steps.increment(self.running, target, &row, &input)?
            {
                self.sink.push(sent, op).await?;
                return self.take_done();
            }
            if !self.keys.insert(row.clone()) {
                return Err(self.twice_error(&row));
            }
            if conflict.is_only {
                self.conflicts.push(sent);
                return Ok(());
            }
        }
        let op = target.mutation(&row, &input.values, input.times, !self.looks)?;
        let stays = !self.looks && target.leaves_cells(&input.values, input.times)?;
        let op = target.with_marker(&row, op, input.times, stays)?;
        let op = if self.looks { if_absent(target.expect_witness()?, &row, op) } else { op };
        let is_kept = plan.returning.is_some() || matches!(plan.on_conflict, Conflict::Update(_));
        let input = is_kept.then(|| Box::new(input.into_owned()));
        self.sink.push(SentRow { at, row, input }, op).await?;
        self.take_done()
    }

    /// Looks at the results so far.
    fn take_done(&mut self) -> Result<()> {
        let mut existing = None;
        for (sent, result) in self.sink.take_done() {
            if result.processed {
                self.written += 1;
                if let Some(input) = sent.input.filter(|_| self.plan.returning.is_some()) {
                    let image = RowImage { row: sent.row, values: input.values };
                    self.returned.push((sent.at, image));
                }
            } else if let Conflict::Update(_) = self.plan.on_conflict {
                self.conflicts.push(sent);
            } else if let Conflict::Fail = self.plan.on_conflict {
                existing.get_or_insert(sent.row);
            }
        }
        match existing {
            Some(row) => Err(self.exists_error(&row)),
            None => Ok(()),
        }
    }

    fn twice_error(&self, row: &[u8]) -> SqlError {
        let target = &self.plan.target;
        let text = format!(
            "ON CONFLICT DO UPDATE cannot change the row {} of table {} a second time; group the \
             rows by key first",
            target.row_text(row),
            target.table.name()
        );
        SqlError::new(SqlState::Cardinality, text)
    }

    fn exists_error(&self, row: &[u8]) -> SqlError {
        let target = &self.plan.target;
        let text = format!(
            "table {} has the row {} already: UPSERT writes over it, ON CONFLICT DO NOTHING leaves \
             it",
            target.table.name(),
            target.row_text(row)
        );
        SqlError::new(SqlState::RowExists, text)
    }

    /// Writes the rest and returns what was written. `pushed` is how the rows ended; after an error
    /// those in flight are waited for, so that they are counted.
    pub(super) async fn finish(mut self, pushed: Result<()>) -> Result<Written> {
        self.sink.finish(pushed).await?;
        self.take_done()?;
        if let Conflict::Update(conflict) = &self.plan.on_conflict {
            let rows = std::mem::take(&mut self.conflicts);
            let target = &self.plan.target;
            let shown = self.plan.returning.as_ref().map_or(&[][..], |one| &one.columns);
            let done = conflict.run(self.running, target, rows, shown);
            let done = done.await?;
            self.written += done.len() as u64;
            self.returned.extend(done);
        }
        let returned = match &self.plan.returning {
            Some(returning) => {
                self.returned.sort_by_key(|(at, _)| *at);
                let mut images: Vec<RowImage> = std::mem::take(&mut self.returned)
                    .into_iter()
                    .map(|(_, image)| image)
                    .collect();
                let target = &self.plan.target;
                let bad_cells = self.running.statement.settings.bad_cells;
                if !self.looks {
                    read_back(target, returning, &mut images, bad_cells).await?;
                }
                Some(returning.rows(self.running, target, &images)?)
            }
            None => None,
        };
        Ok(Written { tag: format!("INSERT 0 {}", self.written), returned })
    }
}

/// Reads the columns that UPSERT was not given.
async fn read_back(
    target: &WriteTarget,
    returning: &Returning,
    images: &mut [RowImage],
    bad_cells: BadCells,
) -> Result<()> {
    for image in images {
        let is_missing = |at: &usize| {
            let is_cell = matches!(target.shape.columns[*at].source, Source::Cell { .. });
            is_cell && !image.values.iter().any(|(given, _)| given == at)
        };
        let missing: Vec<usize> = returning.columns.iter().copied().filter(is_missing).collect();
        if missing.is_empty() {
            continue;
        }
        let rows = target.table.get_all(vec![target.get(&image.row, &missing)]).await?;
        if let Some(row) = rows.first() {
            image.values.extend(target.values_of(row, &missing, bad_cells)?);
        }
    }
    Ok(())
}
