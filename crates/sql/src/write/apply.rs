//! Changes of rows by UPDATE and DELETE.
//!
//! Where the scan checks every condition by itself, its filter is the condition of each write, and
//! whole keys are written without reading. Where DataFusion checks some, a row is written if the
//! columns that the statement names still are as they were read; rows that changed meanwhile are
//! selected again.

use std::collections::HashSet;

use datafusion::arrow::array::{AsArray as _, RecordBatch};
use datafusion::logical_expr::LogicalPlan;
use halite_types::{Bytes, Filter};

use super::candidate::Candidate;
use super::change::ChangePlan;
use super::memory::{KeptMemory, bytes_of_row};
use super::returning::RowImage;
use super::running::Running;
use super::select::{self, ExactScan, ReadyQuery, exact_scan, scans_of};
use super::sink::Sink;
use super::source::InputRow;
use super::target::{CHUNK_ROWS, WriteColumn};
use super::tries::{MAX_TRIES, contention, pause};
use crate::error::Result;
use crate::session::settings::Direct;

/// What happens to each row.
pub(super) enum Change {
    Delete,
    Update {
        /// Values that do not depend on the row.
        constants: InputRow<'static>,
        /// What the computed values are of.
        computed: Vec<WriteColumn>,
        /// What is added to counters.
        added: Vec<(usize, i64)>,
    },
}

/// Row that was sent.
pub(super) struct SentChange {
    pub(super) row: Bytes,
    pub(super) image: Option<RowImage>,
}

/// Running UPDATE or DELETE.
pub(super) struct Changes<'r> {
    pub(super) plan: &'r ChangePlan,
    pub(super) change: Change,
    pub(super) running: &'r Running,
    pub(super) memory: KeptMemory,
}

/// Rows that are still to be written.
enum Wanted {
    All,
    /// As many, whichever the query finds now.
    Some(usize),
    /// These.
    These(HashSet<Bytes>),
}

/// One run of the query.
#[derive(Default)]
struct Pass {
    /// How the rows are found, if the scan decides which they are.
    exact: Option<ExactScan>,
    /// Rows that have come, where one may come again.
    seen: HashSet<Bytes>,
    /// Rows that were written, where LIMIT may take them again.
    taken: HashSet<Bytes>,
    written: u64,
    images: Vec<RowImage>,
    /// Rows that changed before they were written.
    changed: Vec<Bytes>,
}

impl Changes<'_> {
    /// Changes the rows of a query; returns their number, and their images for RETURNING.
    pub(super) async fn run(&self, select: LogicalPlan) -> Result<(u64, Vec<RowImage>)> {
        let (mut written, mut images) = (0, Vec::new());
        let mut wanted = Wanted::All;
        let mut taken = HashSet::new();
        for attempt in 0..MAX_TRIES {
            pause(attempt).await;
            let pass = self.pass(select.clone(), &wanted, taken).await?;
            taken = pass.taken;
            written += pass.written;
            images.extend(pass.images);
            if pass.changed.is_empty() {
                return Ok((written, images));
            }
            wanted = if self.plan.has_limit {
                Wanted::Some(pass.changed.len())
            } else {
                Wanted::These(pass.changed.into_iter().collect())
            };
        }
        let rows = match &wanted {
            Wanted::All => 0,
            Wanted::Some(rows) => *rows,
            Wanted::These(rows) => rows.len(),
        };
        Err(contention(&self.plan.target, rows))
    }

    /// Runs the query once. Rows of `taken` were written by runs before it, and are among the rows
    /// of its LIMIT.
    async fn pass(
        &self,
        select: LogicalPlan,
        wanted: &Wanted,
        taken: HashSet<Bytes>,
    ) -> Result<Pass> {
        let target = &self.plan.target;
        if let Some((points, exact)) = self.direct_points(wanted).await {
            let mut pass = Pass { exact: Some(exact), taken, ..Pass::default() };
            let mut sink = Sink::new(target, &self.running.statement);
            let pushed = self.push_points(points, &mut sink, &pass).await;
            sink.finish(pushed).await?;
            self.take_done(&mut sink, &mut pass)?;
            return Ok(pass);
        }
        let query = select::physical(self.running, select).await?;
        let exact = if self.plan.depends_on_rows() {
            None
        } else {
            exact_scan(&query.physical, target.table.name(), self.plan.has_limit)
        };
        let mut pass = Pass { exact, taken, ..Pass::default() };
        let mut sink = Sink::new(target, &self.running.statement);
        let pushed = self.push_rows(query, wanted, &mut sink, &mut pass).await;
        sink.finish(pushed).await?;
        self.take_done(&mut sink, &mut pass)?;
        Ok(pass)
    }

    /// Returns the whole keys that the conditions give, without a plan of DataFusion, if nothing
    /// but the conditions decides what is written.
    async fn direct_points(&self, wanted: &Wanted) -> Option<(Vec<Bytes>, ExactScan)> {
        let is_direct = self.running.statement.settings.direct == Direct::On;
        if !is_direct || self.plan.depends_on_rows() || !matches!(wanted, Wanted::All) {
            return None;
        }
        let bound = self.plan.direct.as_ref()?.bind(&self.running.values).await?;
        let mut exact = ExactScan::of(&bound.spec, self.plan.has_limit)?;
        Some((exact.points.take()?, exact))
    }

    /// Returns the keys that the conditions give, if each is whole and nothing else is a condition.
    pub(super) async fn whole_keys(&self) -> Result<Option<Vec<Bytes>>> {
        if let Some((points, exact)) = self.direct_points(&Wanted::All).await {
            return Ok(exact.condition.is_none().then_some(points));
        }
        let query = select::physical(self.running, self.plan.select.clone()).await?;
        if query.physical.name() == "EmptyExec" {
            return Ok(Some(Vec::new()));
        }
        let exact = exact_scan(&query.physical, self.plan.target.table.name(), false);
        Ok(exact.filter(|exact| exact.condition.is_none()).and_then(|exact| exact.points))
    }

    async fn push_points(
        &self,
        points: Vec<Bytes>,
        sink: &mut Sink<'_, SentChange>,
        pass: &Pass,
    ) -> Result<()> {
        for row in points {
            let op = self.exact_op(&row, pass.condition(), false)?;
            sink.push(SentChange { row, image: None }, op).await?;
        }
        Ok(())
    }

    async fn push_rows(
        &self,
        query: ReadyQuery,
        wanted: &Wanted,
        sink: &mut Sink<'_, SentChange>,
        pass: &mut Pass,
    ) -> Result<()> {
        let points = pass.exact.as_mut().and_then(|exact| exact.points.take());
        if let Some(points) = points {
            self.push_points(points, sink, pass).await?;
        } else {
            let table = self.plan.target.table.name();
            let reads_itself = scans_of(&query.physical, table) > 1;
            let mut rows = query.run(&self.running.statement)?;
            let batches = if reads_itself { self.memory.all(&mut rows).await? } else { Vec::new() };
            let mut batches = batches.into_iter();
            loop {
                let batch = match batches.next() {
                    Some(batch) => Some(batch),
                    None if reads_itself => None,
                    None => rows.next().await?,
                };
                let Some(batch) = batch else { break };
                self.push_batch(&batch, wanted, sink, pass).await?;
                self.take_done(sink, pass)?;
            }
        }
        Ok(())
    }

    fn take_done(&self, sink: &mut Sink<'_, SentChange>, pass: &mut Pass) -> Result<()> {
        for (sent, result) in sink.take_done() {
            if result.processed {
                pass.written += 1;
                if let Some(image) = sent.image {
                    self.memory.take(image.bytes())?;
                    pass.images.push(image);
                }
                if self.plan.has_limit {
                    self.memory.take(bytes_of_row(&sent.row, &[]))?;
                    pass.taken.insert(sent.row);
                }
            } else if pass.exact.is_none() || self.plan.has_limit {
                self.memory.take(bytes_of_row(&sent.row, &[]))?;
                pass.changed.push(sent.row);
            }
            // Otherwise the row no longer satisfies the condition, which is the statement's own.
        }
        Ok(())
    }

    async fn push_batch(
        &self,
        batch: &RecordBatch,
        wanted: &Wanted,
        sink: &mut Sink<'_, SentChange>,
        pass: &mut Pass,
    ) -> Result<()> {
        let rows = batch.column(0).as_binary_view();
        let mut candidates = Vec::new();
        for at in 0..batch.num_rows() {
            let row = Bytes::copy_from_slice(rows.value(at));
            let is_wanted = match wanted {
                Wanted::All => true,
                Wanted::Some(most) => pass.seen.len() < *most,
                Wanted::These(rows) => rows.contains(&row),
            };
            let tracks = self.plan.joins || matches!(wanted, Wanted::Some(_));
            if !is_wanted || pass.taken.contains(&row) || tracks && !pass.seen.insert(row.clone()) {
                continue;
            }
            if tracks {
                self.memory.take(bytes_of_row(&row, &[]))?;
            }
            if pass.exact.is_some() {
                let op = self.exact_op(&row, pass.condition(), true)?;
                sink.push(SentChange { row, image: None }, op).await?;
            } else {
                candidates.push(self.candidate(batch, at, row)?);
            }
        }
        let mut candidates = candidates.into_iter().peekable();
        while candidates.peek().is_some() {
            let chunk: Vec<Candidate> = candidates.by_ref().take(CHUNK_ROWS).collect();
            self.push_chunk(chunk, sink, &mut pass.changed).await?;
        }
        Ok(())
    }
}

impl Pass {
    /// Returns the conditions on cells that the regions check.
    fn condition(&self) -> Option<&Filter> {
        self.exact.as_ref()?.condition.as_ref()
    }
}
