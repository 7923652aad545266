//! Columns that a filter leaves out.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};

/// Lets a projection choose among all columns of a filter below it, which chose some itself.
///
/// `DataFusion` moves a projection below such a filter as if the filter had left all columns where
/// they are, and then finds others there: `SELECT b, w FROM t WHERE b <> 8 ORDER BY b, a`, where the
/// sort that needed `a` is gone because the rows are in order.
#[derive(Debug)]
pub(crate) struct WholeFilters;

impl PhysicalOptimizerRule for WholeFilters {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let whole = plan.transform_up(|plan| {
            Ok(match over_whole(plan.as_ref())? {
                Some(changed) => Transformed::yes(changed),
                None => Transformed::no(plan),
            })
        })?;
        Ok(whole.data)
    }

    fn name(&self) -> &'static str {
        "WholeFilters"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns a projection over a filter with all its columns; `None` if the plan is none over one
/// without.
fn over_whole(plan: &dyn ExecutionPlan) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    let Some(projection) = plan.downcast_ref::<ProjectionExec>() else { return Ok(None) };
    let Some(filter) = projection.input().downcast_ref::<FilterExec>() else { return Ok(None) };
    let Some(kept) = filter.projection() else { return Ok(None) };
    let below = filter.input().schema();
    let exprs = projection.expr().iter().map(|one| {
        let expr = Arc::clone(&one.expr).transform_up(|expr| {
            let Some(column) = expr.downcast_ref::<Column>() else {
                return Ok(Transformed::no(expr));
            };
            let at = *kept.get(column.index()).ok_or_else(|| {
                DataFusionError::Internal(format!("{column} is no column of its filter"))
            })?;
            let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(below.field(at).name(), at));
            Ok(Transformed::yes(column))
        })?;
        Ok(ProjectionExpr { expr: expr.data, alias: one.alias.clone() })
    });
    let exprs = exprs.collect::<DataFusionResult<Vec<_>>>()?;
    let whole = FilterExecBuilder::from(filter).apply_projection(None)?.build()?;
    Ok(Some(Arc::new(ProjectionExec::try_new(exprs, Arc::new(whole))?)))
}
