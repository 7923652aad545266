//! ON CONFLICT DO UPDATE: a row that is there is read, its new values are computed, and they are
//! written if it still is as it was read. Counters alone are incremented without reading.

use datafusion::arrow::array::RecordBatch;
use datafusion::prelude::SessionContext;
use datafusion::scalar::ScalarValue;
use halite_rowkey::value::Value;
use halite_types::{Bytes, Row};

use super::counters::{CounterSteps, steps};
use super::excluded::{default_text, qualify, schema};
use super::exprs::{BoundExprs, Parameters, RowExprs};
use super::guard::all_of;
use super::parsed::{Names, has_query, named};
use super::returning::RowImage;
use super::row::{ColumnValue, if_absent, if_matches};
use super::running::Running;
use super::sets::{check_set, check_sets_cells, set_twice};
use super::sink::Sink;
use super::source::{Assigned, InputRow, SentRow, is_default, value_in};
use super::syntax::ConflictUpdate;
use super::target::{CHUNK_ROWS, WriteColumn, WriteTarget};
use super::tries::{MAX_TRIES, contention, pause};
use super::values::{arrays, batch_of};
use crate::catalog::HaliteCatalog;
use crate::catalog::shape::Source;
use crate::error::{Result, SqlError};
use crate::session::settings::BadCells;

/// Rows that were changed.
#[derive(Default)]
pub(super) struct Changed {
    pub(super) written: u64,
    /// What RETURNING shows of them, by their place in the statement.
    pub(super) images: Vec<(usize, RowImage)>,
}

/// Planned `DO UPDATE SET ..`.
pub(super) struct ConflictPlan {
    /// What is set, in the order of the expressions.
    sets: Vec<WriteColumn>,
    /// Values, then the condition if there is one.
    exprs: RowExprs,
    has_condition: bool,
    /// Columns that expressions name, by position.
    columns: Vec<usize>,
    /// What is added to counters, if nothing else happens.
    pub(super) steps: Option<CounterSteps>,
    /// `true` if a row that is not there stays so.
    pub(super) is_only: bool,
}

impl ConflictPlan {
    pub(super) async fn new(
        session: &SessionContext,
        catalog: &HaliteCatalog,
        target: &WriteTarget,
        clause: ConflictUpdate,
        given: &[WriteColumn],
    ) -> Result<Self> {
        let ConflictUpdate { key: _, assignments, selection: condition, is_only } = clause;
        let mut sets = Vec::with_capacity(assignments.len());
        let mut texts = Vec::with_capacity(assignments.len() + 1);
        for (name, expr) in assignments {
            let column = target.column(&name)?;
            check_set(target, column, &name)?;
            if sets.contains(&column) {
                return Err(set_twice(&name));
            }
            sets.push(column);
            texts.push(match (is_default(&expr), column) {
                (true, WriteColumn::Column(at)) => default_text(target, at)?,
                _ => expr,
            });
        }
        check_sets_cells(sets.iter().copied())?;
        let has_condition = condition.is_some();
        texts.extend(condition);
        if has_query(texts.iter()) {
            let text = "a query in DO UPDATE: compute it in the SELECT that is inserted";
            return Err(SqlError::unsupported(text));
        }
        let mut texts = named(catalog, texts, Vec::new()).await?;
        qualify(target, &mut texts)?;
        let mut names = Names::default();
        texts.iter().for_each(|expr| names.add(expr));
        let is_named = |at: &usize| {
            let column = &target.shape.columns[*at];
            matches!(column.source, Source::Key(_) | Source::Cell { .. })
                && names.0.contains(&column.name.to_lowercase())
        };
        let columns: Vec<usize> = (0..target.shape.columns.len()).filter(is_named).collect();
        let state = session.state();
        let steps = if has_condition || is_only {
            None
        } else {
            steps(&state, target, &sets, &texts, given)?
        };
        let exprs = RowExprs::plan(&state, texts, schema(target, &columns)?)?;
        Ok(Self { sets, exprs, has_condition, columns, steps, is_only })
    }

    pub(super) fn parameters(&self, known: &mut Parameters) -> Result<()> {
        if let Some(steps) = &self.steps {
            steps.parameters(known)?;
        }
        self.exprs.parameters(known)
    }

    /// Writes rows that are there. Returns those that were written, with their values of `shown`
    /// columns if they are given.
    pub(super) async fn run(
        &self,
        running: &Running,
        target: &WriteTarget,
        mut rows: Vec<SentRow>,
        shown: Option<&[usize]>,
    ) -> Result<Changed> {
        let is_shown = |at: &usize| shown.is_some_and(|shown| shown.contains(at));
        let is_read = |at: &usize| self.columns.contains(at) || is_shown(at);
        let update = RunningUpdate {
            plan: self,
            exprs: self.exprs.bind(running)?,
            target,
            read: target.cells().filter(is_read).collect(),
            bad_cells: running.statement.settings.bad_cells,
            returns: shown.is_some(),
        };
        let mut changed = Changed::default();
        for attempt in 0..MAX_TRIES {
            if rows.is_empty() {
                return Ok(changed);
            }
            pause(attempt).await;
            let mut sink = Sink::new(target, &running.statement);
            let mut waiting = rows.into_iter().peekable();
            let mut pushed = Ok(());
            while pushed.is_ok() && waiting.peek().is_some() {
                let chunk: Vec<SentRow> = waiting.by_ref().take(CHUNK_ROWS).collect();
                pushed = update.write_chunk(chunk, &mut sink).await;
            }
            sink.finish(pushed).await?;
            rows = Vec::new();
            for ((sent, image), result) in sink.take_done() {
                if result.processed {
                    changed.written += 1;
                    changed.images.extend(image.map(|image| (sent.at, image)));
                } else {
                    rows.push(sent);
                }
            }
        }
        if rows.is_empty() { Ok(changed) } else { Err(contention(target, rows.len())) }
    }
}

/// Running update of rows that are there.
struct RunningUpdate<'r> {
    plan: &'r ConflictPlan,
    exprs: BoundExprs,
    target: &'r WriteTarget,
    /// Columns that are read, by position.
    read: Vec<usize>,
    bad_cells: BadCells,
    /// `true` if RETURNING shows the rows.
    returns: bool,
}

/// Row that is there.
struct FoundRow {
    sent: SentRow,
    input: InputRow<'static>,
    row: Row,
    /// Values of the columns that are read.
    current: Vec<ColumnValue<'static>>,
}

impl RunningUpdate<'_> {
    async fn write_chunk(
        &self,
        rows: Vec<SentRow>,
        sink: &mut Sink<'_, (SentRow, Option<RowImage>)>,
    ) -> Result<()> {
        let target = self.target;
        let witness = target.expect_witness()?;
        let gets = rows.iter().map(|sent| {
            let get = target.get(&sent.row, &self.read);
            get.column(witness.family.clone(), witness.qualifier.clone())
        });
        let rows_now = target.table.get_all(gets.collect()).await?;
        sink.count_read(rows_now.len());
        let mut found = Vec::with_capacity(rows.len());
        for (sent, row) in rows.into_iter().zip(rows_now) {
            let input = sent.input.as_deref().cloned().unwrap_or_else(|| InputRow::of([]));
            if row.cell(&witness.family, &witness.qualifier).is_some() {
                let current = target.values_of(&row, &self.read, self.bad_cells)?;
                found.push(FoundRow { sent, input, row, current });
            } else if !self.plan.is_only {
                let op = target.mutation(&sent.row, &input.values, input.times, false)?;
                let op = target.with_marker(&sent.row, op, input.times, false)?;
                let op = if_absent(witness, &sent.row, op);
                let row = sent.row.clone();
                let image = self.returns.then(|| RowImage { row, values: input.values });
                sink.push((sent, image), op).await?;
            }
        }
        let results = self.exprs.evaluate(&self.both_rows(&found)?)?;
        for (at, found) in found.into_iter().enumerate() {
            let result = |of: usize| ScalarValue::try_from_array(&results[of], at);
            let sets = &self.plan.sets;
            if self.plan.has_condition && result(sets.len())? != ScalarValue::Boolean(Some(true)) {
                continue;
            }
            let assigned = sets
                .iter()
                .enumerate()
                .map(|(of, column)| {
                    let value = result(of)?;
                    Ok(Assigned::of(target, *column, &value)?.into_owned())
                })
                .collect::<Result<Vec<_>>>()?;
            self.push(found, InputRow::of(assigned), sink).await?;
        }
        Ok(())
    }

    /// Returns what the expressions see: the columns of the rows that are there, then those given.
    fn both_rows(&self, found: &[FoundRow]) -> Result<RecordBatch> {
        let (shape, columns) = (&self.target.shape, &self.plan.columns);
        let current_rows = found.iter().map(|found| {
            let current = |at: &usize| {
                let is_cell = shape.columns[*at].cell.is_some();
                value_in(if is_cell { &found.current } else { &found.input.values }, *at)
            };
            columns.iter().map(current).collect()
        });
        let mut arrays_of = arrays(shape, columns, current_rows)?;
        let given = |found: &FoundRow| -> Vec<Value<'static>> {
            columns.iter().map(|at| value_in(&found.input.values, *at).clone()).collect()
        };
        let given: Vec<Vec<Value<'static>>> = found.iter().map(given).collect();
        arrays_of.extend(arrays(shape, columns, given.iter().map(|row| row.iter().collect()))?);
        batch_of(self.plan.exprs.schema.as_arrow(), arrays_of, found.len())
    }

    async fn push(
        &self,
        found: FoundRow,
        new: InputRow<'static>,
        sink: &mut Sink<'_, (SentRow, Option<RowImage>)>,
    ) -> Result<()> {
        let FoundRow { sent, input, row, current } = found;
        let target = self.target;
        let Some(op) = target.mutation(&sent.row, &new.values, new.times, true)? else {
            return Ok(());
        };
        let tests = self.read.iter().filter_map(|at| target.as_in(*at, &row)).collect();
        let op = if_matches(all_of(tests), &sent.row, op);
        let image = self.returns.then(|| {
            let mut values = new.values;
            values.extend(current);
            values.extend(key_values(target, &input));
            RowImage { row: Bytes::copy_from_slice(row.key()), values }
        });
        sink.push((sent, image), op).await
    }
}

/// Returns the fields of the key among the values that are given.
fn key_values(target: &WriteTarget, input: &InputRow<'static>) -> Vec<ColumnValue<'static>> {
    let is_key = |at: usize| matches!(target.shape.columns[at].source, Source::Key(_));
    input.values.iter().filter(|(at, _)| is_key(*at)).cloned().collect()
}
