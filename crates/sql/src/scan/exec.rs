//! Execution of a scan: the rows of its plan, in batches.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use datafusion::arrow::array::RecordBatch;
use datafusion::common::Statistics;
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, PlanProperties, ReplaceChildrenOptions,
};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, SortOrderPushdownResult,
};
use futures::TryStreamExt as _;
use halite_rowkey::scatter::{Scatter, ScatterOptions, UndecodableRows};
use halite_types::{ErrorKind, Row, Scan, ScanMeter, TableName};

use super::decode::RowDecoder;
use super::joined::{Narrowed, names_key, narrowed};
use super::order::properties;
use super::spec::ScanSpec;
use crate::error::{SqlError, SqlState};
use crate::session::statement::StatementContext;

/// Rows of a batch, and of the first one, which a reader waits for.
const BATCH_ROWS: usize = 8192;
const FIRST_BATCH_ROWS: usize = 64;
/// Rows between two looks for more urgent work: some tens of microseconds.
const YIELD_ROWS: usize = 128;
/// Bytes of cells after which a batch ends.
const BATCH_BYTES: usize = 1 << 20;

/// What a scan did.
#[derive(Debug, Default)]
pub(crate) struct ScanFigures {
    /// Rows that regions examined, and rows that were got.
    pub(crate) examined: AtomicU64,
    /// Rows that the table returned.
    pub(crate) received: AtomicU64,
    /// Rows that the scan returned.
    pub(crate) returned: AtomicU64,
    /// Rows left out because their keys are none of the schema.
    pub(crate) left_out: AtomicU64,
    /// Microseconds until the first row, and until the end.
    pub(crate) first_row_us: AtomicU64,
    pub(crate) all_us: AtomicU64,
    /// Cells that were none of their column's type and became null.
    pub(crate) bad: AtomicU64,
    /// Partitions that were read to their end.
    pub(crate) ended: AtomicU64,
    /// Bytes of the cells that the table returned.
    pub(crate) bytes: AtomicU64,
    /// Keys or ranges that the values of a join's other side left.
    pub(super) narrowed: Mutex<Option<Narrowed>>,
    /// Meters of its parts that were opened.
    meters: Mutex<Vec<Arc<ScanMeter>>>,
}

/// Leaf of a physical plan that reads a table.
pub(crate) struct ScanExec {
    pub(crate) spec: Arc<ScanSpec>,
    pub(crate) figures: Arc<ScanFigures>,
    /// Filters of joins, whose values come when the other side has been read.
    pub(crate) joined: Vec<Arc<dyn PhysicalExpr>>,
    /// Parts of the scan that are read at once; empty for the scan as a whole.
    pub(crate) parts: Vec<Arc<ScanSpec>>,
    properties: Arc<PlanProperties>,
}

impl ScanExec {
    pub(crate) fn new(spec: ScanSpec) -> Self {
        Self::in_parts(Arc::new(spec), Vec::new())
    }

    /// Creates the scan of `spec` in parts, which together are all of it.
    pub(crate) fn in_parts(spec: Arc<ScanSpec>, parts: Vec<Arc<ScanSpec>>) -> Self {
        let properties = PlanProperties::new(
            properties(&spec),
            Partitioning::UnknownPartitioning(parts.len().max(1)),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            spec,
            figures: Arc::default(),
            joined: Vec::new(),
            parts,
            properties: Arc::new(properties),
        }
    }

    /// Returns the same scan with another limit and direction.
    pub(crate) fn replanned(&self, limit: Option<usize>, reverse: bool) -> DataFusionResult<Self> {
        let joined = self.joined.clone();
        Ok(Self { joined, ..Self::new(self.spec.replanned(limit, reverse)?) })
    }

    /// Returns `true` if the rows come in an order.
    pub(crate) fn satisfies(&self, order: &[PhysicalSortExpr]) -> DataFusionResult<bool> {
        self.properties.eq_properties.ordering_satisfy(order.to_vec())
    }
}

impl fmt::Debug for ScanExec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_as(DisplayFormatType::Verbose, out)
    }
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, _: DisplayFormatType, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = &self.spec.plan;
        write!(
            out,
            "ScanExec: {}, ranges={}, fan_out={}",
            self.spec.target.table.name(),
            plan.ranges().count(),
            plan.fan_out()
        )?;
        match plan.query().limit {
            Some(limit) => write!(out, ", limit={limit}"),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for ScanExec {
    fn name(&self) -> &'static str {
        "ScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        each: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        for filter in &self.joined {
            if each(filter)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn reset_state(self: Arc<Self>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        // A join that runs again, in a recursive query, no longer tells its values.
        Ok(Arc::new(Self::in_parts(Arc::clone(&self.spec), self.parts.clone())))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let statement = StatementContext::of(&context);
        let (spec, figures) = (Arc::clone(&self.spec), Arc::clone(&self.figures));
        let spec = self.parts.get(partition).map_or(spec, Arc::clone);
        let parts = self.parts.len().max(1);
        let joined = self.joined.clone();
        let opened = futures::stream::once(async move {
            let spec = narrowed(spec, &joined, &figures).await;
            Reader::open(&spec, &figures, statement, parts).map_err(DataFusionError::from)
        });
        let rows = opened
            .map_ok(|reader| {
                futures::stream::try_unfold(reader, |mut reader| async move {
                    let batch = reader.next_batch().await.map_err(DataFusionError::from)?;
                    Ok(batch.map(|batch| (batch, reader)))
                })
            })
            .try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.spec.schema), rows)))
    }

    fn partition_statistics(&self, of: Option<usize>) -> DataFusionResult<Arc<Statistics>> {
        let parts = of.map_or(1, |_| self.parts.len().max(1));
        let num_rows = Precision::Inexact(self.spec.estimated_rows().div_ceil(parts));
        let unknown = Statistics::new_unknown(&self.spec.schema);
        Ok(Arc::new(Statistics { num_rows, ..unknown }))
    }

    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        pushed: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> DataFusionResult<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let filters = pushed.parent_filters.iter().map(|pushed| &pushed.filter);
        // The join compares the rows all the same.
        let unchecked = vec![PushedDown::No; pushed.parent_filters.len()];
        let answer = FilterPushdownPropagation::with_parent_pushdown_result(unchecked);
        if phase != FilterPushdownPhase::Post || !self.spec.is_plain_scan() {
            return Ok(answer);
        }
        let more = filters.filter(|filter| names_key(&self.spec, filter)).cloned();
        let joined: Vec<_> = self.joined.iter().cloned().chain(more).collect();
        if joined.len() == self.joined.len() {
            return Ok(answer);
        }
        let figures = Arc::clone(&self.figures);
        let same = Self::in_parts(Arc::clone(&self.spec), self.parts.clone());
        let scan = Self { figures, joined, ..same };
        Ok(answer.with_updated_node(Arc::new(scan)))
    }

    fn fetch(&self) -> Option<usize> {
        self.spec.plan.query().limit
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        if !self.spec.is_row_by_row() || self.spec.first_of.is_some() {
            // The limit is one of versions or cells, or of groups.
            return None;
        }
        let query = self.spec.plan.query();
        let limit = match (query.limit, limit) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Some(Arc::new(self.replanned(limit, query.reverse).ok()?))
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
    ) -> DataFusionResult<SortOrderPushdownResult<Arc<dyn ExecutionPlan>>> {
        let query = self.spec.plan.query();
        // The first rows from the other end are other rows.
        let reversible = query.limit.is_none() && self.spec.first_of.is_none();
        let same = self.replanned(query.limit, query.reverse)?;
        if same.satisfies(order)? {
            return Ok(SortOrderPushdownResult::Exact { inner: Arc::new(same) });
        }
        let other = self.replanned(query.limit, !query.reverse)?;
        if reversible && other.satisfies(order)? {
            return Ok(SortOrderPushdownResult::Exact { inner: Arc::new(other) });
        }
        Ok(SortOrderPushdownResult::Unsupported)
    }
}

/// Running scan, or a part of one.
pub(crate) struct Reader {
    spec: Arc<ScanSpec>,
    figures: Arc<ScanFigures>,
    /// Parts of the scan.
    parts: usize,
    /// Rows left out so far.
    left_out: u64,
    statement: Arc<StatementContext>,
    scatter: Scatter,
    decoder: RowDecoder,
    /// Rows that have arrived and are in no batch.
    rows: std::vec::IntoIter<Row>,
    batch_rows: usize,
    started: Instant,
    ended: bool,
    /// Rows that regions examined for the scan.
    meter: Arc<ScanMeter>,
    /// Rows that the guard of the statement has counted, and rows of the scatter.
    counted: u64,
    received: u64,
    /// Bytes of their cells.
    bytes: u64,
}

impl Reader {
    /// Opens a scan, or one of the `parts` of a scan, which share what one scan may hold and have
    /// in flight.
    ///
    /// # Errors
    /// None in practice: the plan is one of the table.
    pub(crate) fn open(
        spec: &Arc<ScanSpec>,
        figures: &Arc<ScanFigures>,
        statement: Arc<StatementContext>,
        parts: usize,
    ) -> crate::Result<Self> {
        let spec = Arc::clone(spec);
        let whole = ScatterOptions::default();
        let options = ScatterOptions {
            concurrency: (spec.scan_concurrency / parts).max(1),
            buffer_bytes: whole.buffer_bytes / parts,
            undecodable_rows: spec.unreadable,
            first_of: spec.first_of.as_ref().map(|first| first.groups),
            point_runs: spec.point_runs().unwrap_or_default(),
        };
        let meter = figures.new_meter(&statement);
        statement.add_regions(spec.region_ends());
        let scatter = Scatter::new(
            Arc::clone(&spec.target.table),
            Arc::clone(&spec.plan),
            Scan { meter: Some(Arc::clone(&meter)), ..spec.template.clone() },
            &options,
            None,
        )?;
        let decoder = RowDecoder::new(Arc::clone(&spec), statement.settings.bad_cells);
        Ok(Self {
            spec,
            figures: Arc::clone(figures),
            parts,
            left_out: 0,
            statement,
            scatter,
            decoder,
            rows: Vec::new().into_iter(),
            batch_rows: FIRST_BATCH_ROWS,
            started: Instant::now(),
            ended: false,
            meter,
            counted: 0,
            received: 0,
            bytes: 0,
        })
    }

    /// Returns the next batch; `None` at the end.
    ///
    /// # Errors
    /// What ended the scan: an error of the table, a cell or a key that is none of its type, a
    /// guard of the statement.
    pub(crate) async fn next_batch(&mut self) -> crate::Result<Option<RecordBatch>> {
        while !self.ended && self.decoder.rows() < self.batch_rows {
            let Some(row) = self.rows.next() else {
                // What has arrived is not kept back until more does.
                if self.decoder.rows() > 0 && self.batch_rows == FIRST_BATCH_ROWS {
                    break;
                }
                self.receive().await?;
                continue;
            };
            self.decoder.push(&row)?;
            if self.decoder.rows().is_multiple_of(YIELD_ROWS) {
                // A thread with more urgent work would wait for the end of the time slice.
                std::thread::yield_now();
            }
            if self.decoder.bytes() >= BATCH_BYTES {
                break;
            }
        }
        self.batch_rows = BATCH_ROWS;
        if self.decoder.rows() == 0 {
            return Ok(None);
        }
        self.figures.returned.fetch_add(self.decoder.rows() as u64, Ordering::Relaxed);
        self.decoder.finish().map(Some)
    }

    /// Returns the error of the scan; that of a key, which `halite.unreadable_keys` lets end it, as
    /// a value that is none.
    fn scan_error(&self, error: halite_types::Error) -> SqlError {
        let is_of_key = self.spec.unreadable == UndecodableRows::Fail
            && error.kind() == ErrorKind::InvalidRequest;
        if !is_of_key {
            return error.into();
        }
        let remedy = "SET halite.unreadable_keys = 'count' leaves such rows out";
        SqlError::new(SqlState::InvalidValue, format!("{error}; {remedy}"))
    }

    async fn receive(&mut self) -> crate::Result<()> {
        let rows = self.scatter.next_rows().await;
        self.count()?;
        let rows = rows.map_err(|error| self.scan_error(error))?;
        let elapsed = micros(self.started.elapsed());
        if self.figures.received.load(Ordering::Relaxed) == 0 {
            self.figures.first_row_us.store(elapsed, Ordering::Relaxed);
        }
        self.figures.all_us.fetch_max(elapsed, Ordering::Relaxed);
        let left_out = self.scatter.left_out() - self.left_out;
        self.left_out += left_out;
        self.figures.left_out.fetch_add(left_out, Ordering::Relaxed);
        if rows.is_empty() {
            self.end();
        }
        self.rows = rows.into_iter();
        Ok(())
    }

    /// Counts rows that were examined. A table that does not count them examined those that it
    /// returned; rows that are got are not counted by a meter.
    fn count(&mut self) -> crate::Result<()> {
        let received = self.scatter.examined();
        let more = received - std::mem::replace(&mut self.received, received);
        self.figures.received.fetch_add(more, Ordering::Relaxed);
        let bytes = self.scatter.bytes();
        let more = bytes - std::mem::replace(&mut self.bytes, bytes);
        self.figures.bytes.fetch_add(more, Ordering::Relaxed);
        let examined = self.meter.examined().max(received);
        let more = examined - std::mem::replace(&mut self.counted, examined);
        self.figures.examined.fetch_add(more, Ordering::Relaxed);
        self.statement.count(more, &self.spec)
    }

    fn end(&mut self) {
        self.ended = true;
        self.figures.bad.fetch_add(self.decoder.bad(), Ordering::Relaxed);
        let table = self.spec.target.table.name();
        self.figures.end_part(self.parts, table, &self.statement);
    }
}

impl ScanFigures {
    /// Creates the meter of a part that is opened.
    pub(super) fn new_meter(&self, statement: &StatementContext) -> Arc<ScanMeter> {
        let meter = Arc::new(ScanMeter::part_of(&statement.meter));
        let mut meters = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        meters.push(Arc::clone(&meter));
        meter
    }

    /// Returns the meters of the parts that were opened.
    pub(crate) fn meters(&self) -> Vec<Arc<ScanMeter>> {
        self.meters.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts a part that was read to its end. The last of `parts` tells for all.
    pub(super) fn end_part(&self, parts: usize, table: &TableName, statement: &StatementContext) {
        let others = self.ended.fetch_add(1, Ordering::AcqRel);
        if others + 1 < parts as u64 {
            return;
        }
        let left_out = self.left_out.load(Ordering::Relaxed);
        if left_out > 0 {
            statement.notice(format!(
                "{left_out} row(s) of table {table} were left out, because their keys are not of \
                 its ROW KEY; SET halite.unreadable_keys = 'null' shows them with _row"
            ));
        }
        statement.notice_bad_cells(self.bad.load(Ordering::Relaxed), table);
    }
}

/// A store that looks for rows on another thread, and finds none, stops.
impl Drop for Reader {
    fn drop(&mut self) {
        self.meter.stop();
    }
}

pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Returns the scan that a node of a plan is.
pub(crate) fn as_scan(plan: &dyn ExecutionPlan) -> Option<&ScanExec> {
    (plan as &dyn Any).downcast_ref()
}

impl StatementContext {
    /// Tells of cells that became null.
    pub(super) fn notice_bad_cells(&self, cells: u64, table: &TableName) {
        if cells > 0 {
            self.notice(format!(
                "{cells} cell(s) of table {table} are not of the type of their column, and are NULL"
            ));
        }
    }
}
