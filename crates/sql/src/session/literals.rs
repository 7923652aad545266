//! Text that is compared with a UUID, an address or a time is read as one, and `\x0aff` that is compared
//! with bytes as those, before DataFusion would compare the bytes of the text. Numbers that are
//! compared with a `DECIMAL` are decimals.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::common::{DFSchema, ExprSchema as _};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::expr::{Between, InList};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;
use halite_rowkey::value::{FieldType, TimeUnit, Value};

use super::decimals::decimal;
use crate::error::{SqlError, SqlState};
use crate::session::functions::read_bytes;
use crate::types::literals::{parsed, text_of};
use crate::types::{TYPE_KEY, arrow_type};

/// Rule that reads such text.
#[derive(Debug)]
pub(super) struct TypedLiterals;

impl AnalyzerRule for TypedLiterals {
    fn name(&self) -> &'static str {
        "typed_literals"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> DataFusionResult<LogicalPlan> {
        let typed = plan.transform_up_with_subqueries(|plan| {
            let schema = Arc::new(merge_schema(&plan.inputs()));
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let typed =
                    expr.transform_up(|expr| Ok(Transformed::yes(with_types(expr, &schema)?)))?;
                Ok(typed.update_data(|expr| name.restore(expr)))
            })
        })?;
        Ok(typed.data)
    }
}

/// Reads constants of one expression as the type that they are compared with.
pub(crate) fn with_types(expr: Expr, schema: &DFSchema) -> DataFusionResult<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) => {
            let (left, right) = match (type_of(&left, schema), type_of(&right, schema)) {
                (Some(ty), _) => (left, Box::new(read(*right, ty)?)),
                (_, Some(ty)) => (Box::new(read(*left, ty)?), right),
                (None, None) => (left, right),
            };
            Ok(Expr::BinaryExpr(BinaryExpr { left, op, right }))
        }
        Expr::InList(InList { expr, list, negated }) => {
            let list = match type_of(&expr, schema) {
                Some(ty) => {
                    list.into_iter().map(|item| read(item, ty)).collect::<Result<_, _>>()?
                }
                None => list,
            };
            Ok(Expr::InList(InList { expr, list, negated }))
        }
        Expr::Between(Between { expr, negated, low, high }) => {
            let (low, high) = match type_of(&expr, schema) {
                Some(ty) => (Box::new(read(*low, ty)?), Box::new(read(*high, ty)?)),
                None => (low, high),
            };
            Ok(Expr::Between(Between { expr, negated, low, high }))
        }
        other => Ok(other),
    }
}

fn is_comparison(op: Operator) -> bool {
    matches!(
        op,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom
    )
}

/// Returns the type of a column whose values have a text form of ours, or are decimals.
fn type_of(expr: &Expr, schema: &DFSchema) -> Option<FieldType> {
    let Expr::Column(column) = expr else { return None };
    let field = schema.field_from_column(column).ok()?;
    if matches!(field.data_type(), DataType::Decimal128(..)) {
        return Some(FieldType::Decimal);
    }
    match field.metadata().get(TYPE_KEY).map(String::as_str) {
        Some("UUID") => Some(FieldType::Uuid),
        Some("IPV4") => Some(FieldType::Ipv4),
        Some("IPV6") => Some(FieldType::Ipv6),
        Some("TIMESTAMP") => Some(FieldType::Timestamp(TimeUnit::Millis)),
        Some("TIMESTAMP(us)") => Some(FieldType::Timestamp(TimeUnit::Micros)),
        Some("TIMESTAMP(ns)") => Some(FieldType::Timestamp(TimeUnit::Nanos)),
        Some(bytes) if bytes == "BYTES" || bytes.starts_with("BYTES(") => Some(FieldType::Bytes),
        _ => None,
    }
}

fn read(expr: Expr, ty: FieldType) -> DataFusionResult<Expr> {
    if ty == FieldType::Decimal {
        return Ok(decimal(&expr).map_or(expr, |value| Expr::Literal(value, None)));
    }
    let Expr::Literal(value, _) = &expr else { return Ok(expr) };
    let Some(text) = text_of(value) else { return Ok(expr) };
    let invalid = |what| SqlError::new(SqlState::InvalidValue, what);
    if ty == FieldType::Bytes {
        // Other text is its bytes.
        if !text.starts_with("\\x") {
            return Ok(expr);
        }
        let bytes = read_bytes(text).map_err(invalid)?;
        return Ok(Expr::Literal(ScalarValue::BinaryView(Some(bytes)), None));
    }
    if let FieldType::Timestamp(unit) = ty {
        return Ok(time(value, text, unit).map_or(expr, |value| Expr::Literal(value, None)));
    }
    let value = parsed(ty, text).map_err(invalid)?;
    Ok(Expr::Literal(value, None))
}

/// Returns text as a time if rows are written by it and DataFusion cannot read it, such as a time
/// without seconds, or compares it as nanoseconds that there are not.
fn time(value: &ScalarValue, text: &str, unit: TimeUnit) -> Option<ScalarValue> {
    let ty = FieldType::Timestamp(unit);
    if let Ok(read) = value.cast_to(&arrow_type(ty)) {
        let nanoseconds = arrow_type(FieldType::Timestamp(TimeUnit::Nanos));
        return Some(read).filter(|read| read.cast_to(&nanoseconds).is_err());
    }
    let Ok(Value::Signed(number)) = ty.parse(text) else { return None };
    let zone = Some(Arc::from("UTC"));
    Some(match unit {
        TimeUnit::Millis => ScalarValue::TimestampMillisecond(Some(number), zone),
        TimeUnit::Micros => ScalarValue::TimestampMicrosecond(Some(number), zone),
        TimeUnit::Nanos => ScalarValue::TimestampNanosecond(Some(number), zone),
    })
}
