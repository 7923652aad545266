//! Aggregates with other inputs.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};

/// Returns a plan whose aggregates have the inputs that `instead` returns, or else their own.
pub(super) fn replace_inputs(
    plan: Arc<dyn ExecutionPlan>,
    instead: impl Fn(&AggregateExec) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>>,
) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    let changed = plan.transform_up(|node| {
        let any: &dyn Any = node.as_ref();
        let Some(aggregate) = any.downcast_ref::<AggregateExec>() else {
            return Ok(Transformed::no(node));
        };
        match instead(aggregate)? {
            Some(input) => Ok(Transformed::yes(with_input(&node, input)?)),
            None => Ok(Transformed::no(node)),
        }
    })?;
    Ok(changed.data)
}

/// Returns a node with another input.
pub(super) fn with_input(
    node: &Arc<dyn ExecutionPlan>,
    input: Arc<dyn ExecutionPlan>,
) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    with_inputs(node, vec![input])
}

/// Returns a node with other inputs.
pub(super) fn with_inputs(
    node: &Arc<dyn ExecutionPlan>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Arc::clone(node).replace_children(inputs, options)
}
