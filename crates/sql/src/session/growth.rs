//! Functions whose results are larger than what they are given, or whose time grows with the
//! product of their arguments: both are bounded before they are computed.
//!
//! `repeat('x', 1000000000)` is a constant that the optimizer would compute, in memory that no pool
//! knows. A plan has a budget for its constants, and each call one for the rows of a batch.
//! `levenshtein` of two such texts would take days, which nothing could end.

mod sizes;

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, LargeStringArray, LargeStringBuilder};
use datafusion::arrow::compute::{cast, concat};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::common::{DFSchema, ExprSchema};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    BinaryExpr as LogicalBinary, ColumnarValue, Expr, ExprSchemable as _, Operator,
    ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::statement::StatementContext;
use crate::error::{SqlError, SqlState};
use sizes::{Growth, Product, growth_of, product_of};

/// Bytes that the constants of a statement may be computed to, all together.
const CONSTANT_BYTES: u64 = 64 << 20;
/// Bytes of the results of all such calls of a statement for one batch of rows.
const BATCH_BYTES: u64 = 512 << 20;

/// Steps of one call for one row, and of all constants of a statement, about a tenth of a second.
const MAX_STEPS: u64 = 1 << 26;
/// Steps between two looks whether the statement has ended.
const STEPS_AT_ONCE: u64 = 1 << 24;

/// What the functions of one statement may make and take.
#[derive(Debug)]
pub(super) struct Budget {
    constants_left: AtomicU64,
    steps_left: AtomicU64,
    /// The statement, if it is one that may be cancelled while rows are computed.
    statement: Option<Arc<StatementContext>>,
    /// Functions that share the bytes of a batch.
    calls: AtomicU64,
}

impl Budget {
    pub(super) fn new(statement: Option<Arc<StatementContext>>) -> Arc<Self> {
        Arc::new(Self {
            constants_left: AtomicU64::new(CONSTANT_BYTES),
            steps_left: AtomicU64::new(MAX_STEPS),
            statement,
            calls: AtomicU64::new(0),
        })
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
            let most = BATCH_BYTES / self.calls.load(Ordering::Relaxed).max(1);
            return if bytes > most { refused(most) } else { Ok(()) };
        }
        let taken =
            self.constants_left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        taken.map_or_else(refused, |_| Ok(()))
    }

    /// Takes the steps of one call.
    fn take_steps(&self, name: &str, steps: &[u64], is_constant: bool) -> Result<()> {
        let most = steps.iter().copied().max().unwrap_or_default();
        let is_left = || {
            let left = &self.steps_left;
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(most))
                .is_ok()
        };
        if most <= MAX_STEPS && (!is_constant || is_left()) {
            return Ok(());
        }
        let what = if is_constant { "the constants of a statement" } else { "one row" };
        let text = format!(
            "{name} would take {most} steps, and {what} may take {MAX_STEPS}: give it shorter values"
        );
        Err(SqlError::new(SqlState::LimitExceeded, text).into())
    }

    fn check_running(&self) -> Result<()> {
        match &self.statement {
            Some(statement) if statement.has_ended() => {
                Err(SqlError::new(SqlState::Cancelled, "the statement has ended").into())
            }
            _ => Ok(()),
        }
    }
}

/// What of a function is bounded.
#[derive(Clone, Copy, Debug)]
enum Bound {
    /// Bytes of its results.
    Bytes(Growth),
    /// Steps that it takes.
    Steps(Product),
}

fn bound_of(name: &str) -> Option<Bound> {
    growth_of(name).map(Bound::Bytes).or_else(|| product_of(name).map(Bound::Steps))
}

/// Bounds one expression, whose parts are bounded.
pub(super) fn bounded(
    expr: Expr,
    schema: &dyn ExprSchema,
    budget: &Arc<Budget>,
) -> Transformed<Expr> {
    match expr {
        Expr::ScalarFunction(ScalarFunction { func, args }) => match bound_of(func.name()) {
            // Plans of subqueries may be walked twice.
            Some(bound) if func.inner().downcast_ref::<Bounded>().is_none() => {
                if let Bound::Bytes(_) = bound {
                    budget.calls.fetch_add(1, Ordering::Relaxed);
                }
                Transformed::yes(wrapped(func, bound, args, budget))
            }
            _ => Transformed::no(Expr::ScalarFunction(ScalarFunction { func, args })),
        },
        Expr::BinaryExpr(LogicalBinary { left, op: Operator::StringConcat, right }) => {
            let ty = text_type(&left, schema);
            let Some(ty) = ty.filter(|ty| text_type(&right, schema).as_ref() == Some(ty)) else {
                let op = Operator::StringConcat;
                return Transformed::no(Expr::BinaryExpr(LogicalBinary { left, op, right }));
            };
            if joined_of(&left).is_none() && joined_of(&right).is_none() {
                budget.calls.fetch_add(1, Ordering::Relaxed);
            }
            let (mut args, of_right) = (joined_args(*left), joined_args(*right));
            args.extend(of_right);
            let joined = Arc::new(ScalarUDF::new_from_impl(Joined::new(ty)));
            Transformed::yes(wrapped(joined, Bound::Bytes(Growth::Inputs), args, budget))
        }
        other => Transformed::no(other),
    }
}

fn wrapped(inner: Arc<ScalarUDF>, bound: Bound, args: Vec<Expr>, budget: &Arc<Budget>) -> Expr {
    let bounded = Bounded { inner, bound, budget: Arc::clone(budget) };
    let func = Arc::new(ScalarUDF::new_from_impl(bounded));
    Expr::ScalarFunction(ScalarFunction { func, args })
}

/// Returns the `||` that an expression is.
fn joined_of(expr: &Expr) -> Option<&Joined> {
    let Expr::ScalarFunction(function) = expr else { return None };
    let bounded: &Bounded = function.func.inner().downcast_ref()?;
    bounded.inner.inner().downcast_ref()
}

/// Returns what is joined: one `||` of many texts has their types computed once.
fn joined_args(side: Expr) -> Vec<Expr> {
    match (joined_of(&side).is_some(), side) {
        (true, Expr::ScalarFunction(function)) => function.args,
        (_, other) => vec![other],
    }
}

fn text_type(expr: &Expr, schema: &dyn ExprSchema) -> Option<DataType> {
    match joined_of(expr) {
        Some(joined) => Some(joined.ty.clone()),
        None => expr.get_type(schema).ok().filter(is_text),
    }
}

fn is_text(ty: &DataType) -> bool {
    matches!(ty, DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8)
}

/// Bounds an expression that is no part of a plan.
///
/// # Errors
/// None in practice.
pub(crate) fn bounded_expr(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let budget = Budget::new(None);
    Ok(expr.transform_up(|expr| Ok(bounded(expr, schema, &budget)))?.data)
}

/// Function that looks at the size of its result, or at its steps, first.
#[derive(Debug)]
struct Bounded {
    inner: Arc<ScalarUDF>,
    bound: Bound,
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
        match self.bound {
            Bound::Bytes(growth) => {
                let bytes = sizes::bytes(growth, &args.args, rows);
                self.budget.take(self.name(), bytes, is_constant)?;
                self.inner.invoke_with_args(args)
            }
            Bound::Steps(product) => {
                let steps = sizes::steps(product, &args.args, rows);
                self.budget.take_steps(self.name(), &steps, is_constant)?;
                let all = steps.iter().copied().fold(0, u64::saturating_add);
                if is_constant || all <= STEPS_AT_ONCE {
                    return self.inner.invoke_with_args(args);
                }
                // The rows of a batch may take minutes.
                let is_query = self.budget.statement.is_some();
                aside(is_query, || self.by_parts(&steps, &args))
            }
        }
    }
}

impl Bounded {
    /// Computes some rows at a time, and looks before them whether the statement has ended.
    fn by_parts(&self, steps: &[u64], args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mut parts = Vec::new();
        let mut start = 0;
        while start < steps.len() {
            self.budget.check_running()?;
            let mut sum = 0u64;
            let is_next = |row: &&u64| {
                sum = sum.saturating_add(**row);
                sum <= STEPS_AT_ONCE
            };
            let rows = steps[start..].iter().take_while(is_next).count().max(1);
            let part = |arg: &ColumnarValue| match arg {
                ColumnarValue::Array(array) => ColumnarValue::Array(array.slice(start, rows)),
                ColumnarValue::Scalar(value) => ColumnarValue::Scalar(value.clone()),
            };
            let of_rows = ScalarFunctionArgs {
                args: args.args.iter().map(part).collect(),
                arg_fields: args.arg_fields.clone(),
                number_rows: rows,
                return_field: Arc::clone(&args.return_field),
                config_options: Arc::clone(&args.config_options),
            };
            parts.push(self.inner.invoke_with_args(of_rows)?.into_array(rows)?);
            start += rows;
        }
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(concat(&parts)?))
    }
}

/// Runs long work. The other tasks of this thread go on meanwhile, if it is one of a runtime that
/// can give them another.
fn aside<T>(is_query: bool, work: impl FnOnce() -> T) -> T {
    match Handle::try_current() {
        Ok(handle) if is_query && handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            tokio::task::block_in_place(work)
        }
        _ => work(),
    }
}

/// `||` of texts of one type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Joined {
    ty: DataType,
    signature: Signature,
}

impl Joined {
    fn new(ty: DataType) -> Self {
        Self { ty, signature: Signature::variadic_any(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Joined {
    fn name(&self) -> &'static str {
        "text_concat"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.ty.clone())
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = arguments.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { arguments.number_rows };
        let mut texts = Vec::with_capacity(arguments.args.len());
        for arg in &arguments.args {
            texts.push(cast(&arg.to_array(rows)?, &DataType::LargeUtf8)?);
        }
        let texts: Vec<&LargeStringArray> = texts.iter().map(AsArray::as_string).collect();
        let mut joined = LargeStringBuilder::new();
        for row in 0..rows {
            if texts.iter().any(|text| text.is_null(row)) {
                joined.append_null();
                continue;
            }
            for text in &texts {
                // What is written belongs to the value that is appended next, and cannot fail.
                let _ = joined.write_str(text.value(row));
            }
            joined.append_value("");
        }
        let array = cast(&(Arc::new(joined.finish()) as ArrayRef), &self.ty)?;
        if !is_constant {
            return Ok(ColumnarValue::Array(array));
        }
        Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?))
    }
}
