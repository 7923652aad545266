//! Sums of whole numbers that their type cannot hold are errors, and not other numbers:
//! DataFusion's own plans wrap around. `sum.rs` is the sum of a column.

use std::any::Any;
use std::sync::Arc;

use datafusion::arrow::compute::kernels::numeric::{add, mul, sub};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::common::{DFSchema, internal_err};
use datafusion::error::Result;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr as LogicalBinary, ColumnarValue, Expr, ExprSchemable as _, LogicalPlan, Operator,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr::expressions::BinaryExpr;
use datafusion::physical_expr_common::datum::apply;
use datafusion::physical_plan::PhysicalExpr;
use datafusion::scalar::ScalarValue;

use super::growth::{Budget, bounded};

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

/// Returns a plan in which such arithmetic is by functions that fail, and functions that make
/// large values are bounded, before constants are computed.
///
/// # Errors
/// What is wrong with the types of the plan.
pub(crate) fn checked_plan(state: &SessionState, plan: LogicalPlan) -> Result<LogicalPlan> {
    // The types of both sides are known, and the same, from here on.
    let plan = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {})?;
    let budget = Budget::of_plan(&plan)?;
    let checked = plan.transform_up_with_subqueries(|plan| {
        let names = NamePreserver::new(&plan);
        let mut schema = merge_schema(&plan.inputs());
        schema.merge(plan.schema());
        let checked = plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let checked = expr.transform_up(|expr| {
                let summed = by_function(expr, &schema);
                Ok(summed.transform_data(|expr| Ok(bounded(expr, &schema, &budget)))?)
            })?;
            Ok(checked.update_data(|expr| name.restore(expr)))
        })?;
        if !checked.transformed {
            return Ok(checked);
        }
        checked.map_data(LogicalPlan::recompute_schema)
    })?;
    Ok(checked.data)
}

fn by_function(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let is_whole = |side: &Expr| side.get_type(schema).is_ok_and(|ty| ty.is_integer());
    match expr {
        Expr::BinaryExpr(LogicalBinary { left, op, right })
            if matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply)
                && is_whole(&left)
                && is_whole(&right) =>
        {
            // Long chains of constants stay flat.
            if let Some(value) = folded(op, &left, &right) {
                return Transformed::yes(Expr::Literal(value, None));
            }
            let function = ScalarUDF::new_from_impl(Checked::new(op));
            Transformed::yes(function.call(vec![*left, *right]))
        }
        Expr::Negative(inner) if is_whole(&inner) => {
            let zero = inner.get_type(schema).and_then(|ty| ScalarValue::new_zero(&ty));
            let Ok(zero) = zero else { return Transformed::no(Expr::Negative(inner)) };
            let function = ScalarUDF::new_from_impl(Checked::new(Operator::Minus));
            Transformed::yes(function.call(vec![Expr::Literal(zero, None), *inner]))
        }
        other => Transformed::no(other),
    }
}

/// Returns the result of constants, unless it fails.
fn folded(op: Operator, left: &Expr, right: &Expr) -> Option<ScalarValue> {
    let (Expr::Literal(left, _), Expr::Literal(right, _)) = (left, right) else { return None };
    let sides = [left, right].map(|side| ColumnarValue::Scalar(side.clone()));
    match computed(op, &sides[0], &sides[1]).ok()? {
        ColumnarValue::Scalar(value) => Some(value),
        ColumnarValue::Array(_) => None,
    }
}

fn computed(op: Operator, left: &ColumnarValue, right: &ColumnarValue) -> Result<ColumnarValue> {
    match op {
        Operator::Plus => apply(left, right, add),
        Operator::Minus => apply(left, right, sub),
        _ => apply(left, right, mul),
    }
}

/// Sum, difference or product of whole numbers of one type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    op: Operator,
    signature: Signature,
}

impl Checked {
    fn new(op: Operator) -> Self {
        Self { op, signature: Signature::any(2, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &'static str {
        match self.op {
            Operator::Plus => "checked_add",
            Operator::Minus => "checked_sub",
            _ => "checked_mul",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments.first().cloned().unwrap_or(DataType::Null))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = arguments.args.as_slice() else {
            return internal_err!("a sum has two sides");
        };
        computed(self.op, left, right)
    }
}
