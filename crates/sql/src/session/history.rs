//! What a statement asks for behind a table: versions, times, bucket rows.

use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::sql::sqlparser::ast::{
    Expr as SqlExpr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
};

use crate::error::{Result, SqlError, SqlState};
use crate::names::is_mark;
use crate::parse::{AS_OF_HINT, BUCKETS_HINT, VERSIONS_HINT};
use crate::scan::history::History;
use crate::types::timestamp_type;

/// Number that `parse/history.rs` writes for VERSIONS ALL.
const ALL: i64 = -1;

/// Returns `true` for what `parse/history.rs` makes of words of this dialect, and for marks of
/// tables.
pub(super) fn is_hint(hint: &SqlExpr) -> bool {
    let known = [VERSIONS_HINT, AS_OF_HINT, BUCKETS_HINT];
    is_mark(hint)
        || matches!(hint, SqlExpr::Function(function)
            if known.contains(&function.name.to_string().as_str()))
}

/// Returns `true` for the hint that asks for bucket rows instead of points.
pub(super) fn is_buckets(hint: &SqlExpr) -> bool {
    matches!(hint, SqlExpr::Function(function) if function.name.to_string() == BUCKETS_HINT)
}

/// Returns what the hints of a table ask for.
///
/// # Errors
/// A number of versions or a time that is none.
pub(super) fn of_hints(
    hints: &[SqlExpr],
    context: &mut dyn RelationPlannerContext,
) -> DataFusionResult<History> {
    let mut all = History::default();
    for hint in hints {
        let SqlExpr::Function(function) = hint else { continue };
        if is_mark(hint) {
            continue;
        }
        let values = arguments(function)
            .into_iter()
            .map(|argument| constant(argument, context))
            .collect::<DataFusionResult<Vec<_>>>()?;
        let history = match (function.name.to_string().as_str(), values.as_slice()) {
            (VERSIONS_HINT, [count]) => History { versions: Some(number(count)?), times: None },
            (VERSIONS_HINT, [count, from, to]) => History {
                versions: Some(number(count)?),
                times: Some((time_ms(from)?, time_ms(to)?)),
            },
            (_, [time]) => History::until(time_ms(time)?),
            _ => History::default(),
        };
        all = all.and(history);
    }
    Ok(all)
}

fn arguments(function: &Function) -> Vec<SqlExpr> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    let plain = list.args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    plain.collect()
}

/// Returns the value of an expression without columns.
fn constant(
    expr: SqlExpr,
    context: &mut dyn RelationPlannerContext,
) -> DataFusionResult<ScalarValue> {
    let text = expr.to_string();
    let planned = context.sql_to_expr(expr, &DFSchema::empty())?;
    let known = SimplifyContext::builder().with_current_time().build();
    match ExprSimplifier::new(known).simplify(planned)? {
        Expr::Literal(value, _) => Ok(value),
        _ => Err(SqlError::new(
            SqlState::InvalidValue,
            format!("VERSIONS and AS OF take constants, and {text} is none"),
        )
        .into()),
    }
}

/// Returns a number of versions.
fn number(value: &ScalarValue) -> Result<u32> {
    let wrong = || {
        SqlError::new(
            SqlState::InvalidValue,
            format!("VERSIONS {value}: a number from 1 on is expected, or ALL"),
        )
    };
    match value {
        ScalarValue::Int64(Some(ALL)) => Ok(u32::MAX),
        ScalarValue::Int64(Some(count @ 1..)) => u32::try_from(*count).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

/// Returns a time in milliseconds since 1970: of a timestamp, a number of them, or text.
fn time_ms(value: &ScalarValue) -> Result<i64> {
    let wrong = || {
        SqlError::new(
            SqlState::InvalidValue,
            format!(
                "{value} is no time: a timestamp is expected, as in AS OF TIMESTAMP \
                 '2024-03-15 08:00:00', or milliseconds since 1970"
            ),
        )
    };
    if let ScalarValue::Int64(Some(time)) = value {
        return Ok(*time);
    }
    match value.cast_to(&timestamp_type()).map_err(|_| wrong())? {
        ScalarValue::TimestampMillisecond(Some(time), _) => Ok(time),
        _ => Err(wrong()),
    }
}
