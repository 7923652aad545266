//! Functions whose results are larger than what they are given: their sizes are bounded before they
//! are computed.
//!
//! `repeat('x', 1000000000)` is a constant that the optimizer would compute, in memory that no pool
//! knows. A plan has a budget for its constants, and each call one for the rows of a batch.

mod sizes;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::common::{DFSchema, ExprSchema};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    BinaryExpr as LogicalBinary, ColumnarValue, Expr, ExprSchemable as _, LogicalPlan, Operator,
    ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr::expressions::{BinaryExpr, Column};
use datafusion::physical_plan::PhysicalExpr as _;

use crate::error::{SqlError, SqlState};
use sizes::{Growth, growth_of};

/// Bytes that the constants of a statement may be computed to, all together.
const CONSTANT_BYTES: u64 = 64 << 20;
/// Bytes of the results of all such calls of a statement for one batch of rows.
const BATCH_BYTES: u64 = 512 << 20;

/// Bytes that the functions of one statement may make.
#[derive(Debug)]
pub(super) struct Budget {
    constants_left: AtomicU64,
    per_call: u64,
}

impl Budget {
    fn new(calls: u64) -> Arc<Self> {
        let constants_left = AtomicU64::new(CONSTANT_BYTES);
        Arc::new(Self { constants_left, per_call: BATCH_BYTES / calls.max(1) })
    }

    /// Creates the budget of a plan.
    ///
    /// # Errors
    /// None in practice.
    pub(super) fn of_plan(plan: &LogicalPlan) -> Result<Arc<Self>> {
        let mut calls = 0;
        plan.apply_with_subqueries(|plan| {
            plan.apply_expressions(|expr| {
                expr.apply(|expr| {
                    calls += u64::from(is_growing(expr));
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        Ok(Self::new(calls))
    }

    /// Takes the bytes of one call.
    fn take(&self, name: &str, bytes: u64, is_constant: bool) -> Result<()> {
        let refused = |most: u64| {
            let what = if is_constant { "constants" } else { "its results for a batch of rows" };
            let text = format!(
                "{name} would make {bytes} bytes, and {what} may have {most}: make shorter values"
            );
            Err(SqlError::new(SqlState::LimitExceeded, text).into())
        };
        if !is_constant {
            return if bytes > self.per_call { refused(self.per_call) } else { Ok(()) };
        }
        let taken =
            self.constants_left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        taken.map_or_else(refused, |_| Ok(()))
    }
}

fn is_growing(expr: &Expr) -> bool {
    match expr {
        Expr::ScalarFunction(function) => growth_of(function.func.name()).is_some(),
        Expr::BinaryExpr(LogicalBinary { op, .. }) => *op == Operator::StringConcat,
        _ => false,
    }
}

/// Bounds one expression, whose parts are bounded.
pub(super) fn bounded(
    expr: Expr,
    schema: &dyn ExprSchema,
    budget: &Arc<Budget>,
) -> Transformed<Expr> {
    let wrapped = |inner: Arc<ScalarUDF>, growth, args| {
        let bounded = Bounded { inner, growth, budget: Arc::clone(budget) };
        let func = Arc::new(ScalarUDF::new_from_impl(bounded));
        Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args }))
    };
    let is_text = |side: &Expr| {
        side.get_type(schema)
            .is_ok_and(|ty| matches!(ty, DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8))
    };
    match expr {
        Expr::ScalarFunction(ScalarFunction { func, args }) => match growth_of(func.name()) {
            // Plans of subqueries may be walked twice.
            Some(growth) if func.inner().downcast_ref::<Bounded>().is_none() => {
                wrapped(func, growth, args)
            }
            _ => Transformed::no(Expr::ScalarFunction(ScalarFunction { func, args })),
        },
        Expr::BinaryExpr(LogicalBinary { left, op: Operator::StringConcat, right })
            if is_text(&left) && left.get_type(schema).ok() == right.get_type(schema).ok() =>
        {
            let joined = Arc::new(ScalarUDF::new_from_impl(Joined::new()));
            wrapped(joined, Growth::Inputs, vec![*left, *right])
        }
        other => Transformed::no(other),
    }
}

/// Bounds an expression that is no part of a plan.
///
/// # Errors
/// None in practice.
pub(crate) fn bounded_expr(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let mut calls = 0;
    expr.apply(|expr| {
        calls += u64::from(is_growing(expr));
        Ok(TreeNodeRecursion::Continue)
    })?;
    if calls == 0 {
        return Ok(expr);
    }
    let budget = Budget::new(calls);
    Ok(expr.transform_up(|expr| Ok(bounded(expr, schema, &budget)))?.data)
}

/// Function that looks at the size of its result first.
#[derive(Debug)]
struct Bounded {
    inner: Arc<ScalarUDF>,
    growth: Growth,
    budget: Arc<Budget>,
}

impl PartialEq for Bounded {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl Eq for Bounded {}

impl std::hash::Hash for Bounded {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let bytes = sizes::bytes(self.growth, &args.args, rows);
        self.budget.take(self.name(), bytes, is_constant)?;
        self.inner.invoke_with_args(args)
    }
}

/// `||` of text.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Joined {
    signature: Signature,
}

impl Joined {
    fn new() -> Self {
        Self { signature: Signature::any(2, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Joined {
    fn name(&self) -> &'static str {
        "text_concat"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let side = |at: usize| {
            let ty = types.get(at).cloned().unwrap_or(DataType::Null);
            (Arc::new(Column::new(&at.to_string(), at)), Field::new(at.to_string(), ty, true))
        };
        let ((left, left_field), (right, right_field)) = (side(0), side(1));
        let schema = Schema::new(vec![left_field, right_field]);
        BinaryExpr::new(left, Operator::StringConcat, right).data_type(&schema)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = arguments.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { arguments.number_rows };
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let arrays = arrays.into_iter().map(|array| match array.len() {
            1 if rows != 1 => {
                datafusion::common::ScalarValue::try_from_array(&array, 0)?.to_array_of_size(rows)
            }
            _ => Ok(array),
        });
        let named = arrays.enumerate().map(|(at, array)| Ok((at.to_string(), array?, true)));
        let batch = RecordBatch::try_from_iter_with_nullable(named.collect::<Result<Vec<_>>>()?)?;
        let (left, right) = (Arc::new(Column::new("0", 0)), Arc::new(Column::new("1", 1)));
        let joined = BinaryExpr::new(left, Operator::StringConcat, right).evaluate(&batch)?;
        if !is_constant {
            return Ok(joined);
        }
        let array = joined.into_array(1)?;
        Ok(ColumnarValue::Scalar(datafusion::common::ScalarValue::try_from_array(&array, 0)?))
    }
}
