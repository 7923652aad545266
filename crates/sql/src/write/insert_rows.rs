//! Rows that INSERT and UPSERT write.

use std::collections::HashSet;

use datafusion::arrow::array::RecordBatch;
use halite_types::Bytes;

use super::conflict::ConflictPlan;
use super::insert::{Conflict, InsertPlan};
use super::memory::{KeptMemory, bytes_of_row};
use super::returning::{Returning, RowImage};
use super::row::if_absent;
use super::running::{Running, Written};
use super::sink::Sink;
use super::source::{InputRow, SentRow, row_of};
use super::target::{CHUNK_ROWS, WriteTarget};
use crate::catalog::shape::Source;
use crate::error::{Result, SqlError, SqlState};
use crate::session::settings::BadCells;

/// Rows that are there, which ON CONFLICT DO UPDATE changes together.
const CONFLICT_ROWS: usize = 4 * CHUNK_ROWS;

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
    /// Bytes of those.
    conflict_bytes: usize,
    pub(super) memory: KeptMemory,
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
            conflict_bytes: 0,
            memory: running.memory(),
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
            self.memory.take(bytes_of_row(&row, &[]))?;
            if conflict.is_only {
                self.add_conflict(sent)?;
                return self.change_some(conflict).await;
            }
        }
        let op = target.mutation(&row, &input.values, input.times, !self.looks)?;
        let stays = !self.looks && target.leaves_cells(&input.values, input.times)?;
        let op = target.with_marker(&row, op, input.times, stays)?;
        let op = if self.looks { if_absent(target.expect_witness()?, &row, op) } else { op };
        let is_kept = plan.returning.is_some() || matches!(plan.on_conflict, Conflict::Update(_));
        let input = is_kept.then(|| Box::new(input.into_owned()));
        self.sink.push(SentRow { at, row, input }, op).await?;
        self.take_done()?;
        match &plan.on_conflict {
            Conflict::Update(conflict) => self.change_some(conflict).await,
            Conflict::Fail | Conflict::Nothing => Ok(()),
        }
    }

    fn add_conflict(&mut self, sent: SentRow) -> Result<()> {
        let bytes = sent.input.as_ref().map_or(0, |input| bytes_of_row(&sent.row, &input.values));
        self.memory.take(bytes)?;
        self.conflict_bytes += bytes;
        self.conflicts.push(sent);
        Ok(())
    }

    /// Changes rows that are there when there are many.
    async fn change_some(&mut self, conflict: &ConflictPlan) -> Result<()> {
        if self.conflicts.len() < CONFLICT_ROWS {
            return Ok(());
        }
        // What is in flight would wait meanwhile.
        self.sink.drain().await?;
        self.take_done()?;
        self.change(conflict).await
    }

    /// Changes the rows that are there.
    async fn change(&mut self, conflict: &ConflictPlan) -> Result<()> {
        let rows = std::mem::take(&mut self.conflicts);
        let shown = self.plan.returning.as_ref().map(|one| &one.columns[..]);
        let done = conflict.run(self.running, &self.plan.target, rows, shown).await?;
        self.written += done.written;
        for (at, image) in done.images {
            self.keep(at, image)?;
        }
        self.memory.give_back(std::mem::take(&mut self.conflict_bytes));
        Ok(())
    }

    /// Keeps a row for RETURNING.
    fn keep(&mut self, at: usize, image: RowImage) -> Result<()> {
        self.memory.take(image.bytes())?;
        self.returned.push((at, image));
        Ok(())
    }

    /// Looks at the results so far.
    fn take_done(&mut self) -> Result<()> {
        let mut existing = None;
        for (sent, result) in self.sink.take_done() {
            if result.processed {
                self.written += 1;
                if let Some(input) = sent.input.filter(|_| self.plan.returning.is_some()) {
                    let image = RowImage { row: sent.row, values: input.values };
                    self.keep(sent.at, image)?;
                }
            } else if let Conflict::Update(_) = self.plan.on_conflict {
                self.add_conflict(sent)?;
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
            self.change(conflict).await?;
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
