//! Columns that are read of the first rows of an order only: the scan reads the columns that decide
//! which rows these are, and gets of their keys read the others.
//!
//! A row that is deleted in between is left out. Of one that is changed in between, the columns of
//! the scan are as the scan read them, and the others as the get does.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array as _, ArrayRef, AsArray as _, RecordBatch, RecordBatchOptions, UInt32Array,
};
use datafusion::arrow::compute::{concat_batches, take};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, PlanProperties, ReplaceChildrenOptions,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning};
use futures::TryStreamExt as _;
use halite_types::{Bytes, Get};

use super::decode::RowDecoder;
use super::spec::ScanSpec;
use crate::error::{Result, SqlError, SqlState};
use crate::session::statement::StatementContext;

/// Keys that are read by one call, at most and at first: nothing is known of the rows then.
const GETS: usize = 256;
const FIRST_GETS: usize = 8;
/// Bytes of a batch by which the keys of the next call are counted.
const BATCH_BYTES: usize = 1 << 20;

/// Where a column of the answer comes from, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The scan.
    Early(usize),
    /// The gets.
    Late(usize),
}

/// What is read of the first rows.
#[derive(Clone)]
pub(crate) struct LateColumns {
    /// Scan of the columns that gets read.
    pub(crate) spec: Arc<ScanSpec>,
    /// Columns of the answer.
    pub(crate) origins: Vec<Origin>,
    pub(crate) schema: SchemaRef,
    /// Position of the key of the row among the columns of the scan.
    pub(crate) row: usize,
    /// Rows at most.
    pub(crate) fetch: usize,
}

impl LateColumns {
    /// Returns the order of the rows of the input by the columns of the answer, if it has one.
    fn order_of(&self, input: &dyn ExecutionPlan) -> Option<Vec<PhysicalSortExpr>> {
        let column = |term: &PhysicalSortExpr| {
            let any: &dyn std::any::Any = term.expr.as_ref();
            let from = any.downcast_ref::<Column>()?.index();
            let at = self.origins.iter().position(|origin| *origin == Origin::Early(from))?;
            let column = Arc::new(Column::new(self.schema.field(at).name(), at));
            Some(PhysicalSortExpr::new(column, term.options))
        };
        let known: Vec<_> =
            input.properties().output_ordering()?.iter().map_while(column).collect();
        (!known.is_empty()).then_some(known)
    }
}

/// Reads the other columns of the rows of its input, which are few and in order.
pub(crate) struct LateColumnsExec {
    input: Arc<dyn ExecutionPlan>,
    late: Arc<LateColumns>,
    properties: Arc<PlanProperties>,
}

impl LateColumnsExec {
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, late: Arc<LateColumns>) -> Self {
        let orders = late.order_of(input.as_ref());
        let properties = PlanProperties::new(
            EquivalenceProperties::new_with_orderings(Arc::clone(&late.schema), orders),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { input, late, properties: Arc::new(properties) }
    }

    /// Returns the same over another input.
    fn over(self: Arc<Self>, mut inputs: Vec<Arc<dyn ExecutionPlan>>) -> Arc<dyn ExecutionPlan> {
        match inputs.pop() {
            Some(input) => Arc::new(Self::new(input, Arc::clone(&self.late))),
            None => self,
        }
    }
}

impl fmt::Debug for LateColumnsExec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_as(DisplayFormatType::Verbose, out)
    }
}

impl DisplayAs for LateColumnsExec {
    fn fmt_as(&self, _: DisplayFormatType, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.late.spec.schema.fields().iter();
        let names: Vec<&str> = fields.map(|field| field.name().as_str()).collect();
        write!(
            out,
            "late columns {} of table {}, by gets of at most {} row(s)",
            names.join(", "),
            self.late.spec.target.table.name(),
            self.late.fetch
        )
    }
}

impl ExecutionPlan for LateColumnsExec {
    fn name(&self) -> &'static str {
        "LateColumnsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(self.over(children))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(self.over(children))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let statement = StatementContext::of(&context);
        let input = self.input.execute(partition, context)?;
        let (late, early) = (Arc::clone(&self.late), self.input.schema());
        let opened = futures::stream::once(async move {
            let rows: Vec<RecordBatch> = input.try_collect().await?;
            let rows = concat_batches(&early, &rows)?;
            Ok::<_, DataFusionError>(LateReader { late, rows, at: 0, gets: FIRST_GETS, statement })
        });
        let rows = opened
            .map_ok(|reader| {
                futures::stream::try_unfold(reader, |mut reader| async move {
                    let batch = reader.next_batch().await.map_err(DataFusionError::from)?;
                    Ok(batch.map(|batch| (batch, reader)))
                })
            })
            .try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.late.schema), rows)))
    }
}

/// Running gets.
struct LateReader {
    late: Arc<LateColumns>,
    /// Rows of the scan.
    rows: RecordBatch,
    /// Rows that were read so far.
    at: usize,
    /// Keys of the next call.
    gets: usize,
    statement: Arc<StatementContext>,
}

impl LateReader {
    /// Returns the next rows that are still there; `None` at the end.
    async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while self.at < self.rows.num_rows() {
            let count = self.gets.min(self.rows.num_rows() - self.at);
            let early = self.rows.slice(self.at, count);
            self.at += count;
            let batch = self.read(&early).await?;
            let row_bytes = batch.get_array_memory_size() / batch.num_rows().max(1);
            self.gets = (BATCH_BYTES / row_bytes.max(1)).clamp(1, GETS);
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    async fn read(&self, early: &RecordBatch) -> Result<RecordBatch> {
        let spec = &self.late.spec;
        let keys = early.column(self.late.row).as_binary_view();
        let get = |at| {
            let mut get = Get::new(Bytes::copy_from_slice(keys.value(at)));
            get.selection = spec.template.selection.clone();
            get
        };
        let table = &spec.target.table;
        let found = table.get_all((0..keys.len()).map(get).collect()).await?;
        self.statement.count(keys.len() as u64, spec)?;
        let mut decoder = RowDecoder::new(Arc::clone(spec), self.statement.settings.bad_cells);
        let mut kept: Vec<u32> = Vec::with_capacity(found.len());
        for (at, row) in (0..).zip(&found) {
            if !row.is_empty() {
                decoder.push(row)?;
                kept.push(at);
            }
        }
        self.statement.notice_bad_cells(decoder.bad(), table.name());
        let late = decoder.finish()?;
        let rows = kept.len();
        let kept = UInt32Array::from(kept);
        let array = |origin: &Origin| -> Result<ArrayRef> {
            Ok(match origin {
                Origin::Early(at) => {
                    take(early.column(*at), &kept, None).map_err(DataFusionError::from)?
                }
                Origin::Late(at) => ArrayRef::clone(late.column(*at)),
            })
        };
        let arrays = self.late.origins.iter().map(array).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.late.schema), arrays, &options)
            .map_err(|error| SqlError::new(SqlState::Internal, error.to_string()))
    }
}
