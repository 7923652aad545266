//! Parts of a table that are read at once.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};

use super::inputs::{replace_inputs, with_input, with_inputs};
use crate::scan::exec::{ScanExec, as_scan};

/// Parts of one scan, which share its memory and its reads in flight.
const MAX_PARTS: usize = 16;
/// Aggregates whose value depends on no order of the rows.
const UNORDERED: [&str; 10] =
    ["count", "sum", "min", "max", "avg", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"];

/// Divides the scan below a partial aggregate, and those of a join by hashing, into parts of their
/// regions, where no order of the rows is needed. Later rules gather the parts.
#[derive(Debug)]
pub(crate) struct ScanParts;

impl PhysicalOptimizerRule for ScanParts {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let processors = config.execution.target_partitions;
        let plan = replace_inputs(plan, |aggregate| {
            if needs_no_order(aggregate) {
                in_parts(aggregate.input(), processors)
            } else {
                Ok(None)
            }
        })?;
        joined_in_parts(plan, processors)
    }

    fn name(&self) -> &'static str {
        "ScanParts"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns `true` for the first half of an aggregate that hashes its groups. Groups in the order of
/// the key need no memory as they are.
fn needs_no_order(aggregate: &AggregateExec) -> bool {
    let is_unordered = |name: &str| UNORDERED.contains(&name);
    *aggregate.mode() == AggregateMode::Partial
        && aggregate.mode().input_mode() == AggregateInputMode::Raw
        && *aggregate.input_order_mode() == InputOrderMode::Linear
        && aggregate
            .aggr_expr()
            .iter()
            .all(|one| is_unordered(one.fun().name()) && one.order_bys().is_empty())
}

/// Returns a plan whose joins by hashing read their tables in parts: the rows of such a join come
/// in any order.
fn joined_in_parts(
    plan: Arc<dyn ExecutionPlan>,
    processors: usize,
) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    let divided = plan.transform_up(|node| {
        let any: &dyn Any = node.as_ref();
        if !any.is::<HashJoinExec>() {
            return Ok(Transformed::no(node));
        }
        let mut sides = Vec::new();
        let mut is_divided = false;
        for side in node.children() {
            let parts = in_parts(side, processors)?;
            is_divided |= parts.is_some();
            sides.push(parts.unwrap_or_else(|| Arc::clone(side)));
        }
        Ok(if is_divided {
            Transformed::yes(with_inputs(&node, sides)?)
        } else {
            Transformed::no(node)
        })
    })?;
    Ok(divided.data)
}

/// Returns the same rows in parts; `None` if they are not those of a scan, or not worth it.
fn in_parts(
    node: &Arc<dyn ExecutionPlan>,
    processors: usize,
) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = as_scan(node.as_ref()) {
        let most = match scan.spec.max_parts {
            0 => processors,
            most => most,
        };
        let parts = scan.spec.parts(most.min(MAX_PARTS).min(scan.spec.scan_concurrency));
        let divided = || {
            let scan = ScanExec::in_parts(Arc::clone(&scan.spec), parts.clone());
            Arc::new(scan) as Arc<dyn ExecutionPlan>
        };
        return Ok((!parts.is_empty()).then(divided));
    }
    let any: &dyn Any = node.as_ref();
    let passes_rows = any.is::<FilterExec>() || any.is::<ProjectionExec>();
    let [input] = node.children().into_iter().collect::<Vec<_>>()[..] else { return Ok(None) };
    if !passes_rows {
        return Ok(None);
    }
    in_parts(input, processors)?.map(|input| with_input(node, input)).transpose()
}
