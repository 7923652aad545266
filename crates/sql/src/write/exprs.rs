//! Expressions of a statement, planned once and evaluated when the values of its parameters are
//! known: constants of VALUES and SET, and expressions over the columns of rows at hand.

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::common::{DFSchema, DFSchemaRef};
use datafusion::error::DataFusionError;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::expr::{Placeholder, ScalarFunction};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{Expr, Volatility};
use datafusion::physical_plan::PhysicalExpr;
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::{self, ExprWithAlias};

use super::running::Running;
use crate::error::{Result, SqlError, SqlState};
use crate::session::growth::bounded_expr;
use crate::session::literals::with_types;
use crate::session::overflow::{checked_expr, rounded_expr};
use crate::session::parameters::{Types, number};

/// Parameters by their number, with the fields that they meet, as far as they are known.
pub(super) type Parameters = Types;

/// Expressions over rows of one schema.
#[derive(Clone, Debug)]
pub(super) struct RowExprs {
    pub(super) exprs: Vec<Expr>,
    pub(super) schema: DFSchemaRef,
}

impl RowExprs {
    /// Plans expressions whose names are those of the catalog.
    pub(super) fn plan(
        state: &SessionState,
        exprs: Vec<ast::Expr>,
        schema: DFSchema,
    ) -> Result<Self> {
        let plan = |expr| plan_one(state, expr, &schema);
        let exprs = exprs.into_iter().map(plan).collect::<Result<_>>()?;
        Ok(Self { exprs, schema: Arc::new(schema) })
    }

    /// Returns the fields of the values.
    pub(super) fn fields(&self) -> Result<Vec<Arc<Field>>> {
        use datafusion::logical_expr::ExprSchemable as _;
        self.exprs.iter().map(|expr| Ok(expr.to_field(self.schema.as_ref())?.1)).collect()
    }

    /// Adds the parameters to those that are known.
    pub(super) fn parameters(&self, known: &mut Parameters) -> Result<()> {
        self.exprs.iter().try_for_each(|expr| collect_parameters(expr, known))
    }

    /// Fills in parameters.
    pub(super) fn bind(&self, running: &Running) -> Result<BoundExprs> {
        let bind = |expr: &Expr| {
            let expr = filled(expr.clone(), &running.values)?;
            physical(running, expr, &self.schema)
        };
        Ok(BoundExprs(self.exprs.iter().map(bind).collect::<Result<_>>()?))
    }
}

/// Expressions that can be evaluated.
pub(super) struct BoundExprs(Vec<Arc<dyn PhysicalExpr>>);

impl BoundExprs {
    /// Returns a value for each row and expression.
    pub(super) fn evaluate(&self, rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let evaluate =
            |expr: &Arc<dyn PhysicalExpr>| Ok(expr.evaluate(rows)?.into_array(rows.num_rows())?);
        self.0.iter().map(evaluate).collect()
    }
}

/// Plans one expression.
pub(super) fn plan_one(state: &SessionState, expr: ast::Expr, schema: &DFSchema) -> Result<Expr> {
    let expr = ExprWithAlias { expr, alias: None };
    let expr = state.create_logical_expr_from_sql_expr(expr, schema)?;
    let (expr, _) = expr.infer_placeholder_types(schema)?;
    let typed = expr.transform_up(|expr| Ok(Transformed::yes(with_types(expr, schema)?)))?;
    Ok(typed.data)
}

/// Sets the type of a parameter that is a whole expression.
pub(super) fn typed_parameter(expr: Expr, field: &Field) -> Expr {
    match expr {
        Expr::Placeholder(Placeholder { id, field: None }) => {
            let field = Arc::new(field.clone().with_nullable(true));
            Expr::Placeholder(Placeholder::new_with_field(id, Some(field)))
        }
        other => other,
    }
}

/// Returns an expression that can be evaluated. Functions that tell the time have that of the
/// statement: DataFusion gives them theirs when it optimizes a query, and this is none.
fn physical(running: &Running, expr: Expr, schema: &DFSchemaRef) -> Result<Arc<dyn PhysicalExpr>> {
    let state = running.state();
    let context = SimplifyContext::builder()
        .with_schema(Arc::clone(schema))
        .with_config_options(Arc::clone(state.config_options()))
        .with_query_execution_start_time(state.execution_props().query_execution_start_time)
        .build();
    let timed = expr.transform_up(|expr| match expr {
        Expr::ScalarFunction(ScalarFunction { func, args })
            if func.signature().volatility == Volatility::Stable =>
        {
            Ok(match func.simplify(args, &context)? {
                ExprSimplifyResult::Simplified(value) => Transformed::yes(value),
                ExprSimplifyResult::Original(args) => {
                    Transformed::no(Expr::ScalarFunction(ScalarFunction { func, args }))
                }
            })
        }
        other => Ok(Transformed::no(other)),
    })?;
    let expr = bounded_expr(rounded_expr(timed.data, schema)?, schema)?;
    Ok(checked_expr(state.create_physical_expr(expr, schema)?)?)
}

/// Adds the parameters of an expression to those that are known.
///
/// # Errors
/// `UndefinedParameter` for a parameter that is none of `$1`, `$2` ..
pub(super) fn collect_parameters(expr: &Expr, known: &mut Parameters) -> Result<()> {
    expr.apply(|expr| {
        if let Expr::Placeholder(placeholder) = expr {
            let entry = known.entry(number_of(placeholder)?).or_default();
            if entry.is_none() {
                entry.clone_from(&placeholder.field);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

fn number_of(placeholder: &Placeholder) -> Result<usize> {
    number(placeholder).ok_or_else(|| {
        let text = format!("{} is no parameter; they are $1, $2 and so on", placeholder.id);
        SqlError::new(SqlState::UndefinedParameter, text)
    })
}

/// Returns the value of a parameter.
fn value_of<'v>(placeholder: &Placeholder, values: &'v [ScalarValue]) -> Result<&'v ScalarValue> {
    values.get(number_of(placeholder)? - 1).ok_or_else(|| {
        let text = format!("there is no value for {}; bind one", placeholder.id);
        SqlError::new(SqlState::UndefinedParameter, text)
    })
}

/// Fills in the parameters of an expression.
fn filled(expr: Expr, values: &[ScalarValue]) -> Result<Expr> {
    let filled = expr.transform_up(|expr| match expr {
        Expr::Placeholder(placeholder) => {
            let value = value_of(&placeholder, values)?;
            Ok(Transformed::yes(Expr::Literal(value.clone(), None)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(filled.data)
}

/// Returns the value of a constant expression.
pub(super) fn constant<'v>(running: &'v Running, expr: &'v Expr) -> Result<Cow<'v, ScalarValue>> {
    let expr = match expr {
        Expr::Literal(value, _) => return Ok(Cow::Borrowed(value)),
        Expr::Placeholder(placeholder) => {
            return value_of(placeholder, &running.values).map(Cow::Borrowed);
        }
        other => filled(other.clone(), &running.values)?,
    };
    let physical = physical(running, expr, &Arc::new(DFSchema::empty()))?;
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let one = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
        .map_err(DataFusionError::from)?;
    let array = physical.evaluate(&one)?.into_array(1)?;
    Ok(Cow::Owned(ScalarValue::try_from_array(&array, 0)?))
}
