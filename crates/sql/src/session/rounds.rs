//! Limit of the rounds of recursive queries, which DataFusion runs as long as they have rows.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{
    ChildrenPropertiesMode, PlanProperties, ReplaceChildrenOptions,
};
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};

use crate::error::{Result, SqlError, SqlState};

/// Rounds of one recursive query in a statement.
const MAX_ROUNDS: u64 = 10_000;

/// Name of the node, which EXPLAIN leaves out.
pub(crate) const NAME: &str = "RoundsExec";

/// Ends the recursive queries of a plan after 10,000 rounds.
///
/// # Errors
/// None that a plan of DataFusion's has.
pub(super) fn limited(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan.transform_up(|plan| {
        let Some(query) = plan.downcast_ref::<RecursiveQueryExec>() else {
            return Ok(Transformed::no(plan));
        };
        let counted = RoundsExec {
            name: query.name().to_owned(),
            input: Arc::clone(query.recursive_term()),
            rounds: Arc::default(),
        };
        let children = vec![Arc::clone(query.static_term()), Arc::new(counted) as _];
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        Ok(Transformed::yes(plan.replace_children(children, options)?))
    })?;
    Ok(plan.data)
}

/// The term of a recursive query that is executed in each round.
#[derive(Debug)]
struct RoundsExec {
    /// Name of the query.
    name: String,
    input: Arc<dyn ExecutionPlan>,
    /// Rounds so far; each of them has a plan of its own.
    rounds: Arc<AtomicU64>,
}

impl DisplayAs for RoundsExec {
    fn fmt_as(&self, _: DisplayFormatType, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{NAME}: at most {MAX_ROUNDS}")
    }
}

impl ExecutionPlan for RoundsExec {
    fn name(&self) -> &'static str {
        NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let input = children.pop().unwrap_or_else(|| Arc::clone(&self.input));
        let (name, rounds) = (self.name.clone(), Arc::clone(&self.rounds));
        Ok(Arc::new(Self { name, input, rounds }))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        if self.rounds.fetch_add(1, Ordering::Relaxed) >= MAX_ROUNDS {
            return Err(SqlError::new(
                SqlState::LimitExceeded,
                format!(
                    "the recursive query {} has rows after {MAX_ROUNDS} rounds: end it by a \
                     condition, as in WHERE depth < 100, or by UNION in place of UNION ALL where \
                     rows come again",
                    self.name
                ),
            )
            .into());
        }
        self.input.execute(partition, context)
    }
}
