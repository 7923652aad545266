//! Sums of whole numbers that their type cannot hold are errors, and not other numbers:
//! DataFusion's own plans wrap around. `sum.rs` is the sum of a column. Casts to whole numbers round.

use std::any::Any;
use std::sync::Arc;

use datafusion::arrow::compute::kernels::numeric::{add, mul, sub};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::common::{DFSchema, internal_err};
use datafusion::error::Result;
use datafusion::execution::session_state::SessionState;
use datafusion::functions::math::expr_fn::round;
use datafusion::logical_expr::expr::Cast;
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

use super::correlated::{as_not_exists, check, named};
use super::functions::shown_as_text;
use super::growth::{Budget, bounded};
use super::in_lists::{Apart, Use, separated};
use super::statement::StatementContext;

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

/// Returns a plan in which such arithmetic is by functions that fail, functions that make large
/// values are bounded, and lists of values are as the optimizer may combine them, before constants
/// are computed.
///
/// # Errors
/// What is wrong with the types of the plan.
pub(crate) fn checked_plan(state: &SessionState, plan: LogicalPlan) -> Result<LogicalPlan> {
    // The types of both sides are known, and the same, from here on.
    let plan = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {})?;
    let budget = Budget::new(state.config().get_extension::<StatementContext>());
    plan.apply_with_subqueries(|plan| {
        plan.apply_expressions(|expr| check(expr).map(|()| TreeNodeRecursion::Continue))
    })?;
    let plan = plan.transform_up_with_subqueries(named)?.data;
    let checked = plan.transform_up_with_subqueries(|plan| {
        let names = NamePreserver::new(&plan);
        let mut schema = merge_schema(&plan.inputs());
        schema.merge(plan.schema());
        let used = match plan {
            LogicalPlan::Filter(_) => Use::Condition,
            _ => Use::Value,
        };
        let checked = plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let written = match used {
                Use::Condition => as_not_exists(expr, &schema)?,
                Use::Value => Transformed::no(expr),
            };
            let separated = written.transform_data(|expr| separated(expr, used, &schema))?;
            let (is_separated, expr) = (separated.transformed, separated.data);
            let checked = expr.transform_up(|expr| {
                let summed = by_function(expr, &schema);
                let shown = summed.transform_data(|expr| Ok(shown_as_text(expr, &schema)))?;
                let rounded = shown.transform_data(|expr| Ok(rounded(expr, &schema)))?;
                rounded.transform_data(|expr| Ok(bounded(expr, &schema, &budget)))
            })?;
            let mut checked = checked.update_data(|expr| name.restore(expr));
            checked.transformed |= is_separated;
            Ok(checked)
        })?;
        if !checked.transformed {
            return Ok(checked);
        }
        checked.map_data(LogicalPlan::recompute_schema)
    })?;
    Ok(checked.data)
}

/// Returns an expression that is no part of a plan with fractions rounded before they are cast to
/// whole numbers.
///
/// # Errors
/// None in practice.
pub(crate) fn rounded_expr(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let as_statements_do = |expr| {
        let shown = shown_as_text(expr, schema);
        shown.transform_data(|expr| Ok(rounded(expr, schema)))
    };
    Ok(expr.transform_up(as_statements_do)?.data)
}

/// Returns the text of an expression, with operators where there are functions of theirs.
pub(crate) fn shown(expr: &Expr) -> String {
    let operators = expr.clone().transform_up(|expr| {
        if let Some(argument) = Apart::argument(&expr) {
            return Ok(Transformed::yes(argument.clone()));
        }
        match (Arithmetic::of(&expr).cloned(), expr) {
            (Some(known), Expr::ScalarFunction(function)) => {
                Ok(known.operators(function.args).map_or_else(
                    || Transformed::no(Expr::Literal(ScalarValue::Null, None)),
                    Transformed::yes,
                ))
            }
            (_, expr) => Ok(Transformed::no(expr)),
        }
    });
    operators.map_or_else(|_| expr.to_string(), |operators| operators.data.to_string())
}

/// Rounds a fraction that is cast to a whole number, as PostgreSQL does; DataFusion cuts it off.
fn rounded(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match expr {
        Expr::Cast(cast)
            if cast.field.data_type().is_integer()
                && cast.expr.get_type(schema).is_ok_and(|ty| has_fraction(&ty)) =>
        {
            let expr = Box::new(round(vec![*cast.expr]));
            Transformed::yes(Expr::Cast(Cast { expr, field: cast.field }))
        }
        other => Transformed::no(other),
    }
}

fn has_fraction(ty: &DataType) -> bool {
    ty.is_floating() || matches!(ty, DataType::Decimal128(_, 1..) | DataType::Decimal256(_, 1..))
}

/// Makes one function of an operator and those of its sides, which are functions already.
fn by_function(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match expr {
        Expr::BinaryExpr(LogicalBinary { left, op, right })
            if matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply) =>
        {
            let Some(ty) = whole_type(&left, schema)
                .filter(|ty| whole_type(&right, schema).is_some_and(|other| other == *ty))
            else {
                return Transformed::no(Expr::BinaryExpr(LogicalBinary { left, op, right }));
            };
            // Long chains of constants stay flat.
            if let Some(value) = folded(op, &left, &right) {
                return Transformed::yes(Expr::Literal(value, None));
            }
            Transformed::yes(Arithmetic::joined(*left, op, *right, ty))
        }
        Expr::Negative(inner) => {
            let ty = whole_type(&inner, schema);
            let Some((ty, zero)) =
                ty.and_then(|ty| ScalarValue::new_zero(&ty).ok().map(|zero| (ty, zero)))
            else {
                return Transformed::no(Expr::Negative(inner));
            };
            let zero = Expr::Literal(zero, None);
            Transformed::yes(Arithmetic::joined(zero, Operator::Minus, *inner, ty))
        }
        other => Transformed::no(other),
    }
}

/// Returns the type of an expression of whole numbers. That of a function of ours is known, so that
/// the types of a long chain are not computed again for each of its operators.
fn whole_type(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    match Arithmetic::of(expr) {
        Some(known) => Some(known.ty.clone()),
        None => expr.get_type(schema).ok().filter(DataType::is_integer),
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

/// Sums, differences and products of whole numbers of one type, as one function of all their
/// operands: the types and names of nested functions would be computed again at each level.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Arithmetic {
    /// In the order of a stack machine.
    steps: Vec<Step>,
    ty: DataType,
    signature: Signature,
}

/// Step of a stack machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// Pushes the next argument.
    Argument,
    /// Pops two values and pushes their result.
    Operator(Operator),
}

impl Arithmetic {
    /// Returns the function of an expression, if it is one.
    fn of(expr: &Expr) -> Option<&Self> {
        match expr {
            Expr::ScalarFunction(function) => function.func.inner().downcast_ref(),
            _ => None,
        }
    }

    /// Returns an operator over both sides.
    fn joined(left: Expr, op: Operator, right: Expr, ty: DataType) -> Expr {
        let (mut steps, mut args) = Self::parts(left);
        let (of_right, args_of_right) = Self::parts(right);
        steps.extend(of_right);
        args.extend(args_of_right);
        steps.push(Step::Operator(op));
        let signature = Signature::variadic_any(Volatility::Immutable);
        ScalarUDF::new_from_impl(Self { steps, ty, signature }).call(args)
    }

    /// Returns the operators over the operands.
    fn operators(&self, args: Vec<Expr>) -> Option<Expr> {
        let (mut stack, mut args) = (Vec::new(), args.into_iter());
        for step in &self.steps {
            let expr = match step {
                Step::Argument => args.next()?,
                Step::Operator(op) => {
                    let (right, left) = (stack.pop()?, stack.pop()?);
                    Expr::BinaryExpr(LogicalBinary::new(Box::new(left), *op, Box::new(right)))
                }
            };
            stack.push(expr);
        }
        stack.pop()
    }

    fn parts(side: Expr) -> (Vec<Step>, Vec<Expr>) {
        match (Self::of(&side).map(|known| known.steps.clone()), side) {
            (Some(steps), Expr::ScalarFunction(function)) => (steps, function.args),
            (_, other) => (vec![Step::Argument], vec![other]),
        }
    }
}

impl ScalarUDFImpl for Arithmetic {
    fn name(&self) -> &'static str {
        "arithmetic"
    }

    /// Tells it from other operators over the same operands.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let operators = self.operators(args.to_vec());
        Ok(operators.map_or_else(String::new, |expr| format!("checked({})", expr.schema_name())))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.ty.clone())
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (mut stack, mut args) = (Vec::new(), arguments.args.into_iter());
        for step in &self.steps {
            let value = match step {
                Step::Argument => args.next(),
                Step::Operator(op) => match (stack.pop(), stack.pop()) {
                    (Some(right), Some(left)) => Some(computed(*op, &left, &right)?),
                    _ => None,
                },
            };
            let Some(value) = value else { return internal_err!("an operator has two sides") };
            stack.push(value);
        }
        let Some(value) = stack.pop() else { return internal_err!("arithmetic has a result") };
        Ok(value)
    }
}
