//! Aggregates that the regions of a table compute: the leaf of a plan in place of a partial
//! aggregate and its scan.
//!
//! Where the table computes none, and where a key or a cell that is none of its type has to end the
//! statement with its place, the partial aggregate runs over the rows.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, PlanProperties, ReplaceChildrenOptions,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning};
use futures::{StreamExt as _, TryStreamExt as _};
use halite_rowkey::UndecodableRows;
use halite_types::{
    AggregatedColumn, Aggregates, Aggregation, ColumnAggregates, CountedKeys, Filter, RowRange,
    Scan, ScanMeter,
};

use super::exec::{ScanExec, ScanFigures, as_scan, micros};
use super::spec::ScanSpec;
use crate::session::settings::BadCells;
use crate::session::statement::StatementContext;

/// Ranges that are added up at once for one scan.
const RANGES_AT_ONCE: usize = 16;

/// What the regions compute.
#[derive(Clone)]
pub(crate) struct RegionAggregates {
    /// State of each aggregate, in their order.
    pub(crate) states: Vec<State>,
    /// Columns that are added up.
    pub(crate) columns: Vec<AggregatedColumn>,
    /// Positions of those that are counters, which are never null.
    pub(crate) counters: Vec<usize>,
    /// Keys that count.
    pub(crate) keys: Option<CountedKeys>,
    /// The aggregates, for EXPLAIN.
    pub(crate) shown: String,
}

/// State of a partial aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Number of rows.
    Rows,
    /// Number of cells of a column, by its position among those that are added up.
    Values(usize),
    /// Sum, least and greatest number of a column. Of a counter a missing cell is 0.
    Sum(NumberColumn),
    Min(NumberColumn),
    Max(NumberColumn),
}

/// Column of numbers, by its position among those that are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberColumn {
    pub(crate) at: usize,
    pub(crate) is_counter: bool,
}

/// Leaf that has the regions of a table compute a partial aggregate, a row for each partition.
pub(crate) struct AggregatedExec {
    /// The partial aggregate over the rows of its scan.
    by_rows: Arc<dyn ExecutionPlan>,
    scan: Arc<dyn ExecutionPlan>,
    computed: Arc<RegionAggregates>,
    properties: Arc<PlanProperties>,
    /// A partition was computed by its rows.
    has_read_rows: Arc<AtomicBool>,
}

impl AggregatedExec {
    /// Creates the leaf in place of `by_rows`, a partial aggregate whose input is `scan`.
    pub(crate) fn new(
        by_rows: Arc<dyn ExecutionPlan>,
        scan: Arc<dyn ExecutionPlan>,
        computed: RegionAggregates,
    ) -> Self {
        let partitions = scan.properties().output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(by_rows.schema()),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self {
            by_rows,
            scan,
            computed: Arc::new(computed),
            properties: Arc::new(properties),
            has_read_rows: Arc::default(),
        }
    }

    /// Returns the scan whose rows are aggregated.
    pub(crate) fn scan(&self) -> &Arc<dyn ExecutionPlan> {
        &self.scan
    }

    /// Returns a line about the aggregates.
    pub(crate) fn line(&self) -> String {
        let shown = &self.computed.shown;
        if self.has_read_rows.load(Ordering::Relaxed) {
            format!("aggregate of the rows, which no region computed: {shown}")
        } else {
            format!("aggregate in the regions: {shown}")
        }
    }
}

impl fmt::Debug for AggregatedExec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_as(DisplayFormatType::Verbose, out)
    }
}

impl DisplayAs for AggregatedExec {
    fn fmt_as(&self, format: DisplayFormatType, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "AggregatedExec: {}, ", self.computed.shown)?;
        as_scan(self.scan.as_ref()).map_or(Ok(()), |scan| scan.fmt_as(format, out))
    }
}

impl ExecutionPlan for AggregatedExec {
    fn name(&self) -> &'static str {
        "AggregatedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
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

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let schema = self.by_rows.schema();
        let Some(scan) = as_scan(self.scan.as_ref()) else {
            return self.by_rows.execute(partition, context);
        };
        let run = Run::new(scan, partition, &self.computed, &context);
        let (by_rows, has_read_rows) = (Arc::clone(&self.by_rows), Arc::clone(&self.has_read_rows));
        let state_schema = Arc::clone(&schema);
        let rows = futures::stream::once(async move {
            let rows: SendableRecordBatchStream = if let Some(sum) = run.aggregates().await? {
                let batch = run.computed.batch(&state_schema, &sum)?;
                let one = futures::stream::iter([Ok(batch)]);
                Box::pin(RecordBatchStreamAdapter::new(state_schema, one))
            } else {
                has_read_rows.store(true, Ordering::Relaxed);
                by_rows.execute(partition, context)?
            };
            Ok::<_, DataFusionError>(rows)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows.try_flatten())))
    }
}

/// Returns the aggregates of regions that a node of a plan is.
pub(crate) fn as_aggregated(plan: &dyn ExecutionPlan) -> Option<&AggregatedExec> {
    (plan as &dyn Any).downcast_ref()
}

/// A partition that is computed.
struct Run {
    spec: Arc<ScanSpec>,
    figures: Arc<ScanFigures>,
    /// Partitions of the scan.
    parts: usize,
    computed: Arc<RegionAggregates>,
    statement: Arc<StatementContext>,
    /// Ends what regions still do when the statement has ended.
    meter: MeterOfRun,
    started: Instant,
}

struct MeterOfRun(Arc<ScanMeter>);

impl Drop for MeterOfRun {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Run {
    fn new(
        scan: &ScanExec,
        partition: usize,
        computed: &Arc<RegionAggregates>,
        context: &TaskContext,
    ) -> Self {
        let statement = StatementContext::of(context);
        Self {
            spec: Arc::clone(scan.parts.get(partition).unwrap_or(&scan.spec)),
            figures: Arc::clone(&scan.figures),
            parts: scan.parts.len().max(1),
            computed: Arc::clone(computed),
            meter: MeterOfRun(scan.figures.new_meter(&statement)),
            statement,
            started: Instant::now(),
        }
    }

    /// Returns the aggregates; `None` if the rows have to be read.
    async fn aggregates(&self) -> crate::Result<Option<Aggregates>> {
        let (spec, computed) = (&self.spec, &self.computed);
        let of = |range| Aggregation {
            scan: Scan { range, meter: Some(Arc::clone(&self.meter.0)), ..counted(&spec.template) },
            columns: computed.columns.clone(),
            keys: computed.keys.clone(),
        };
        let mut sum = of(RowRange::all()).of_nothing();
        let at_once = RANGES_AT_ONCE.div_ceil(self.parts);
        let table = &spec.target.table;
        let by_region = spec.ranges_by_region();
        self.statement.add_regions(Some(by_region.len() as u64));
        let mut ranges = futures::stream::iter(by_region)
            .map(|range| table.aggregate(of(range)))
            .buffer_unordered(at_once);
        let mut counted = 0;
        while let Some(part) = ranges.next().await {
            let examined = self.meter.0.examined();
            self.count(examined - std::mem::replace(&mut counted, examined))?;
            match part? {
                Some(part) => sum.add(&part),
                None => return Ok(None),
            }
        }
        if self.has_odd_ones(&sum) {
            return Ok(None);
        }
        self.end(&sum);
        Ok(Some(sum))
    }

    /// Counts rows that regions examined.
    fn count(&self, rows: u64) -> crate::Result<()> {
        self.figures.examined.fetch_add(rows, Ordering::Relaxed);
        self.figures.all_us.fetch_max(micros(self.started.elapsed()), Ordering::Relaxed);
        self.statement.count(rows, &self.spec)
    }

    /// Returns `true` if a key or a cell ends the statement. The rows are read to tell which.
    fn has_odd_ones(&self, sum: &Aggregates) -> bool {
        let fails = self.statement.settings.bad_cells == BadCells::Fail;
        let of_column = |(at, column): (usize, &ColumnAggregates)| {
            column.other_bytes > 0 && (fails || self.computed.counters.contains(&at))
        };
        sum.other_keys > 0 && self.spec.unreadable == UndecodableRows::Fail
            || sum.columns.iter().enumerate().any(of_column)
    }

    fn end(&self, sum: &Aggregates) {
        let bad: u64 = sum.columns.iter().map(|column| column.other_bytes).sum();
        let figures = &self.figures;
        figures.returned.fetch_add(sum.rows, Ordering::Relaxed);
        figures.left_out.fetch_add(sum.other_keys, Ordering::Relaxed);
        figures.bad.fetch_add(bad, Ordering::Relaxed);
        figures.end_part(self.parts, self.spec.target.table.name(), &self.statement);
    }
}

/// Returns a scan of the same rows. Values that are not sent need not be left out.
fn counted(scan: &Scan) -> Scan {
    let mut scan = scan.clone();
    if let Some(Filter::All(filters)) = &mut scan.selection.filter
        && let [Filter::FirstKeyOnly, Filter::KeyOnly(_)] = filters.as_slice()
    {
        scan.selection.filter = Some(Filter::FirstKeyOnly);
    }
    scan
}

impl RegionAggregates {
    /// Returns the states as the row of a partial aggregate.
    fn batch(&self, schema: &SchemaRef, sum: &Aggregates) -> DataFusionResult<RecordBatch> {
        let states = self.states.iter().zip(schema.fields()).map(|(state, field)| {
            let value = match state.value(sum) {
                number @ ScalarValue::Int64(_) => number.cast_to(field.data_type())?,
                value => value,
            };
            value.to_array()
        });
        let arrays: Vec<ArrayRef> = states.collect::<DataFusionResult<_>>()?;
        Ok(RecordBatch::try_new(Arc::clone(schema), arrays)?)
    }
}

impl State {
    fn value(self, sum: &Aggregates) -> ScalarValue {
        let count = |rows: u64| ScalarValue::Int64(i64::try_from(rows).ok());
        let column = |at: usize| sum.columns.get(at).copied().unwrap_or_default();
        // Rows without a cell of a counter have a 0.
        let zero = |column: NumberColumn| {
            let values = sum.columns.get(column.at).map_or(0, |column| column.values);
            (column.is_counter && values < sum.rows).then_some(0)
        };
        let of_both = |number: Option<i64>, zero: Option<i64>| number.into_iter().chain(zero);
        match self {
            Self::Rows => count(sum.rows),
            Self::Values(at) => count(column(at).values),
            Self::Sum(of) => {
                let is_null = column(of.at).values == 0 && zero(of).is_none();
                ScalarValue::Decimal128((!is_null).then_some(column(of.at).sum), 38, 0)
            }
            Self::Min(of) => ScalarValue::Int64(of_both(column(of.at).min, zero(of)).min()),
            Self::Max(of) => ScalarValue::Int64(of_both(column(of.at).max, zero(of)).max()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_cells_of_counters_are_zeros_and_of_others_nothing() {
        let column = |values, sum, min, max| ColumnAggregates {
            values,
            sum,
            min,
            max,
            ..ColumnAggregates::default()
        };
        let sum = Aggregates {
            rows: 3,
            other_keys: 0,
            columns: vec![column(2, 7, Some(3), Some(4)), column(0, 0, None, None)],
        };
        let of = |at, is_counter| NumberColumn { at, is_counter };
        let number = ScalarValue::Int64;
        let decimal = |sum| ScalarValue::Decimal128(sum, 38, 0);
        assert_eq!(State::Rows.value(&sum), number(Some(3)));
        assert_eq!(State::Values(0).value(&sum), number(Some(2)));
        assert_eq!(State::Min(of(0, false)).value(&sum), number(Some(3)));
        assert_eq!(State::Min(of(0, true)).value(&sum), number(Some(0)));
        assert_eq!(State::Max(of(1, false)).value(&sum), number(None));
        assert_eq!(State::Max(of(1, true)).value(&sum), number(Some(0)));
        assert_eq!(State::Sum(of(0, false)).value(&sum), decimal(Some(7)));
        assert_eq!(State::Sum(of(1, false)).value(&sum), decimal(None));
        assert_eq!(State::Sum(of(1, true)).value(&sum), decimal(Some(0)));
    }
}
