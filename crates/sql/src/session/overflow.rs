//! Sums that their type cannot hold are errors, and not other numbers: DataFusion's own plans wrap
//! around, and a statement that writes would store that.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::error::Result;
use datafusion::physical_expr::expressions::BinaryExpr;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};

/// Returns an expression whose arithmetic fails instead of wrapping around.
///
/// # Errors
/// None in practice: the parts of the expression stay as they are.
pub(crate) fn checked_expr(expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
    let checked = expr.transform_up(|expr| {
        let Some(binary) = (expr.as_ref() as &dyn Any).downcast_ref::<BinaryExpr>() else {
            return Ok(Transformed::no(expr));
        };
        let (left, right) = (Arc::clone(binary.left()), Arc::clone(binary.right()));
        let checked = BinaryExpr::new(left, *binary.op(), right).with_fail_on_overflow(true);
        Ok(Transformed::yes(Arc::new(checked) as Arc<dyn PhysicalExpr>))
    })?;
    Ok(checked.data)
}

/// Returns a plan whose computed columns are such expressions.
///
/// # Errors
/// None in practice: the types of the columns stay as they are.
pub(crate) fn checked_plan(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let checked = plan.transform_up(|plan| {
        let Some(projection) = (plan.as_ref() as &dyn Any).downcast_ref::<ProjectionExec>() else {
            return Ok(Transformed::no(plan));
        };
        let exprs = projection
            .expr()
            .iter()
            .map(|one| {
                let expr = checked_expr(Arc::clone(&one.expr))?;
                Ok(ProjectionExpr { expr, alias: one.alias.clone() })
            })
            .collect::<Result<Vec<_>>>()?;
        let projection = ProjectionExec::try_new(exprs, Arc::clone(projection.input()))?;
        Ok(Transformed::yes(Arc::new(projection) as Arc<dyn ExecutionPlan>))
    })?;
    Ok(checked.data)
}
