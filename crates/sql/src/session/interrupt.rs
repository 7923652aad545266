//! Statements that end when their reader is gone.
//!
//! A plan runs in a task of its own, so that who waits for its rows can stop waiting at any moment.
//! Joins without a key can compute for minutes before they give a row, or anyone else a turn; their
//! conditions look whether the statement has ended, and their rows count toward the turn.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder, SortMergeJoinExec,
};
use futures::StreamExt as _;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::rounds;
use super::statement::StatementContext;
use crate::error::{Result, SqlError, SqlState};

/// Batches that are computed ahead of their reader.
const BATCHES_AHEAD: usize = 1;

/// Plan that runs. Dropping it before its end ends the statement.
pub(crate) struct Running {
    batches: mpsc::Receiver<DataFusionResult<RecordBatch>>,
    task: JoinHandle<()>,
    statement: Arc<StatementContext>,
}

impl Running {
    /// Begins to run, in a task of the caller's runtime.
    pub(crate) fn new(
        mut rows: SendableRecordBatchStream,
        statement: Arc<StatementContext>,
    ) -> Self {
        let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
        let task = tokio::spawn(async move {
            while let Some(batch) = rows.next().await {
                let is_last = batch.is_err();
                if sender.send(batch).await.is_err() || is_last {
                    return;
                }
            }
        });
        Self { batches, task, statement }
    }

    /// Returns the next batch; `None` at the end.
    ///
    /// # Errors
    /// The error that ended the plan.
    pub(crate) async fn next(&mut self) -> Result<Option<RecordBatch>> {
        match self.batches.recv().await {
            Some(batch) => Ok(Some(batch?)),
            // The end, unless the task did not come to it.
            None => match (&mut self.task).await {
                Ok(()) => Ok(None),
                Err(_) => Err(SqlError::new(
                    SqlState::Internal,
                    "running the statement failed; please report it",
                )),
            },
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A statement that writes may run several plans, one after the other.
        if !self.task.is_finished() {
            self.statement.end();
            self.task.abort();
        }
    }
}

/// Lets the joins of a plan end with their statement, and recursive queries after 10,000 rounds.
///
/// # Errors
/// None that a plan of DataFusion's has.
pub(crate) fn interruptible(
    plan: Arc<dyn ExecutionPlan>,
    statement: &Arc<StatementContext>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan.transform_up(|plan| {
        let join: Arc<dyn ExecutionPlan> = match plan.downcast_ref::<NestedLoopJoinExec>() {
            Some(join) => match join.filter() {
                Some(filter) => {
                    let filter = watched(filter, statement);
                    Arc::new(
                        NestedLoopJoinExecBuilder::from(join).with_filter(Some(filter)).build()?,
                    )
                }
                None => Arc::clone(&plan),
            },
            None if is_join(plan.as_ref()) => Arc::clone(&plan),
            None => return Ok(Transformed::no(plan)),
        };
        Ok(Transformed::yes(Arc::new(CooperativeExec::new(join))))
    })?;
    rounds::limited(plan.data)
}

fn is_join(plan: &dyn ExecutionPlan) -> bool {
    plan.is::<CrossJoinExec>() || plan.is::<HashJoinExec>() || plan.is::<SortMergeJoinExec>()
}

fn watched(filter: &JoinFilter, statement: &Arc<StatementContext>) -> JoinFilter {
    let condition =
        Watched { condition: Arc::clone(filter.expression()), statement: Arc::clone(statement) };
    JoinFilter::new(
        Arc::new(condition),
        filter.column_indices().to_vec(),
        Arc::clone(filter.schema()),
    )
}

/// Condition that fails once its statement has ended.
#[derive(Debug)]
struct Watched {
    condition: Arc<dyn PhysicalExpr>,
    statement: Arc<StatementContext>,
}

impl PartialEq for Watched {
    fn eq(&self, other: &Self) -> bool {
        self.condition.eq(&other.condition) && Arc::ptr_eq(&self.statement, &other.statement)
    }
}

impl Eq for Watched {}

impl Hash for Watched {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.condition.hash(state);
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt(out)
    }
}

impl PhysicalExpr for Watched {
    fn data_type(&self, schema: &Schema) -> DataFusionResult<DataType> {
        self.condition.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> DataFusionResult<bool> {
        self.condition.nullable(schema)
    }

    fn return_field(&self, schema: &Schema) -> DataFusionResult<FieldRef> {
        self.condition.return_field(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> DataFusionResult<ColumnarValue> {
        if self.statement.has_ended() {
            return Err(SqlError::new(SqlState::Cancelled, "the statement has ended").into());
        }
        self.condition.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.condition]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> DataFusionResult<Arc<dyn PhysicalExpr>> {
        let condition = children.pop().unwrap_or_else(|| Arc::clone(&self.condition));
        Ok(Arc::new(Self { condition, statement: Arc::clone(&self.statement) }))
    }

    fn fmt_sql(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt_sql(out)
    }
}
