//! Parameters of a planned query: their types, and their values.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::common::{DFSchema, ParamValues, ScalarValue};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::expr::{Cast, Placeholder};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable as _, LogicalPlan};

use crate::error::{Result, SqlError, SqlState};

/// Parameters of a statement, as many as a message of PostgreSQL's protocol can count.
const MAX_PARAMETERS: usize = 32_767;

/// Types of the parameters by number; `None` where the statement does not tell.
pub(crate) type Types = BTreeMap<usize, Option<FieldRef>>;

/// Returns the parameters up to the last one; text where the statement does not tell a type.
pub(crate) fn fields_of(found: &Types) -> Vec<FieldRef> {
    let count = found.keys().next_back().copied().unwrap_or(0);
    let parameter = |number: usize| match found.get(&number) {
        Some(Some(field)) => Arc::new(field.as_ref().clone().with_name(format!("${number}"))),
        _ => text(number),
    };
    (1..=count).map(parameter).collect()
}

/// Gives parameters the types that the caller knows, of which there may be more than parameters.
pub(super) fn with_known(
    mut parameters: Vec<FieldRef>,
    known: &[Option<DataType>],
) -> Vec<FieldRef> {
    parameters.extend((parameters.len() + 1..=known.len()).map(text));
    for (at, (parameter, given)) in parameters.iter_mut().zip(known).enumerate() {
        if let Some(given) = given {
            *parameter = Arc::new(Field::new(format!("${}", at + 1), given.clone(), true));
        }
    }
    parameters
}

fn text(number: usize) -> FieldRef {
    Arc::new(Field::new(format!("${number}"), DataType::Utf8View, true))
}

/// Returns a plan with values in place of its parameters.
///
/// # Errors
/// `UndefinedParameter` for a parameter without a value.
pub(crate) fn bound(logical: LogicalPlan, values: Vec<ScalarValue>) -> Result<LogicalPlan> {
    let found = types_of(&logical)?;
    let Some(most) = found.keys().next_back() else { return Ok(logical) };
    if *most > values.len() {
        return Err(SqlError::new(
            SqlState::UndefinedParameter,
            format!("parameter ${most} has no value; {} were given", values.len()),
        ));
    }
    let plan = logical.replace_params_with_values(&ParamValues::from(values))?;
    // Numbers of rows are of one type, whatever a client sends them as.
    let plan = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Limit(mut limit) => {
            for rows in [&mut limit.skip, &mut limit.fetch].into_iter().flatten() {
                as_rows(rows)?;
            }
            Ok(Transformed::yes(LogicalPlan::Limit(limit)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

fn as_rows(expr: &mut Expr) -> DataFusionResult<()> {
    if let Expr::Literal(value, _) = expr
        && value.data_type() != DataType::Int64
    {
        *value = value.cast_to(&DataType::Int64)?;
    }
    Ok(())
}

/// Returns the numbers of the parameters, with the types of what they meet first.
pub(crate) fn types_of(logical: &LogicalPlan) -> Result<Types> {
    let mut found = Types::new();
    let mut wrong = None;
    logical.apply_with_subqueries(|plan| {
        let is_limit = matches!(plan, LogicalPlan::Limit(_));
        let schema = merge_schema(&plan.inputs());
        plan.apply_expressions(|expr| {
            expr.apply(|expr| {
                let (placeholder, context) = match expr {
                    Expr::Placeholder(placeholder) => {
                        let rows = Field::new("", DataType::Int64, true);
                        (placeholder, is_limit.then(|| Arc::new(rows)))
                    }
                    Expr::Cast(Cast { expr, field }) => match expr.as_ref() {
                        Expr::Placeholder(placeholder) => (placeholder, Some(Arc::clone(field))),
                        _ => return Ok(TreeNodeRecursion::Continue),
                    },
                    // `c = ANY($1)`: a list of values of c.
                    Expr::ScalarFunction(function) if function.name() == "array_has" => {
                        let [Expr::Placeholder(placeholder), of] = function.args.as_slice() else {
                            return Ok(TreeNodeRecursion::Continue);
                        };
                        (placeholder, list_of(of, &schema))
                    }
                    _ => return Ok(TreeNodeRecursion::Continue),
                };
                match number(placeholder) {
                    Some(number) => {
                        let known = found.entry(number).or_default();
                        if known.is_none() {
                            *known = placeholder.field.clone().or(context);
                        }
                    }
                    None => wrong = Some(placeholder.id.clone()),
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    match wrong {
        None => Ok(found),
        Some(id) => Err(SqlError::new(
            SqlState::UndefinedParameter,
            format!("{id} is no parameter; they are $1, $2 and so on up to ${MAX_PARAMETERS}"),
        )),
    }
}

/// Returns the type of a list of values of an expression.
fn list_of(expr: &Expr, schema: &DFSchema) -> Option<FieldRef> {
    let (_, of) = expr.to_field(schema).ok()?;
    let item = of.as_ref().clone().with_name(Field::LIST_FIELD_DEFAULT_NAME).with_nullable(true);
    Some(Arc::new(Field::new("", DataType::List(Arc::new(item)), true)))
}

/// Returns the number of a parameter; `None` for one that is none of `$1`, `$2` and so on.
pub(crate) fn number(placeholder: &Placeholder) -> Option<usize> {
    let number = placeholder.id.strip_prefix('$')?.parse().ok()?;
    (1..=MAX_PARAMETERS).contains(&number).then_some(number)
}
