//! Comparisons of row values, as conditions on each of their fields.
//!
//! `(a, b) > (x, y)` is `a > x OR a = x AND b > y`, also where a field is null: DataFusion would
//! compare structures, whose nulls have an order and whose texts are no times. The ranges of keys
//! follow from the conditions on fields.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Spanned as _,
    UnaryOperator, Value, visit_expressions, visit_expressions_mut,
};

use crate::error::{Result, SqlError, SqlState};

/// Fields of a row value.
const MAX_FIELDS: usize = 16;
/// Row values of a list; longer lists of constants are looked up by DataFusion, except those of NOT
/// IN, where null fields of a structure would be values.
const MAX_ROWS: usize = 64;

/// Rewrites a comparison of row values.
///
/// # Errors
/// `Syntax` for row values of different lengths.
pub(super) fn rewrite(expr: &mut Expr) -> Result<()> {
    let written = match expr {
        Expr::BinaryOp { left, op, right } => compared(left, op, right)?,
        Expr::Between { expr: of, negated, low, high } => {
            let low = compared(of, &BinaryOperator::GtEq, low)?;
            let high = compared(of, &BinaryOperator::LtEq, high)?;
            let both = low.zip(high).map(|(low, high)| nested(and(low, high)));
            let negated = *negated;
            both.map(|both| if negated { not(both) } else { both })
        }
        Expr::InList { expr: of, list, negated } => {
            let negated = *negated;
            if list.len() > MAX_ROWS && !negated && list.iter().all(is_constant) {
                return Ok(());
            }
            listed(of, list)?.map(|any| if negated { not(nested(any)) } else { nested(any) })
        }
        _ => None,
    };
    if let Some(written) = written {
        *expr = written;
    }
    Ok(())
}

/// Rewrites long lists too, where null differs from false.
///
/// # Errors
/// As [`rewrite`].
pub(super) fn rewrite_lists(expr: &mut Expr) -> Result<()> {
    let flow = visit_expressions_mut(expr, |expr| {
        let Expr::InList { expr: of, list, negated } = expr else {
            return ControlFlow::Continue(());
        };
        match listed(of, list) {
            Ok(None) => {}
            Ok(Some(any)) => {
                *expr = if *negated { not(nested(any)) } else { nested(any) };
            }
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    });
    match flow {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn listed(of: &Expr, list: &[Expr]) -> Result<Option<Expr>> {
    let mut rows = Vec::with_capacity(list.len());
    for item in list {
        match compared(of, &BinaryOperator::Eq, item)? {
            Some(row) => rows.push(row),
            None => return Ok(None),
        }
    }
    Ok(any_of(rows))
}

/// Returns the OR of conditions, as a tree whose depth is small.
fn any_of(mut terms: Vec<Expr>) -> Option<Expr> {
    if terms.len() < 2 {
        return terms.pop();
    }
    let rest = terms.split_off(terms.len() / 2);
    Some(nested(or(any_of(terms)?, any_of(rest)?)))
}

/// Returns the condition on the fields of two row values; `None` where there are none.
fn compared(left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<Option<Expr>> {
    let is_comparison = matches!(
        op,
        BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
    );
    let (Some(one), Some(other)) = (fields(left), fields(right)) else { return Ok(None) };
    if !is_comparison {
        return Ok(None);
    }
    if one.len() != other.len() {
        let place = right.span().start;
        let what = format!(
            "row values of {} and {} fields are compared: {left} {op} {right}",
            one.len(),
            other.len()
        );
        return Err(SqlError::new(SqlState::Syntax, what).at(place.line, place.column));
    }
    if one.len() > MAX_FIELDS {
        let what = format!("row values of over {MAX_FIELDS} fields are compared");
        return Err(SqlError::unsupported(what));
    }
    if let Some(field) = one.iter().chain(&other).find(|field| !may_be_written_twice(field)) {
        let what = format!(
            "{field} is a field of a row value that is compared: compute it in a subquery of FROM, \
             or compare the fields one by one"
        );
        let place = field.span().start;
        return Err(SqlError::unsupported(what).at(place.line, place.column));
    }
    let pairs: Vec<(&Expr, &Expr)> = one.into_iter().zip(other).collect();
    Ok(match op {
        BinaryOperator::Eq => {
            let equal = pairs.iter().map(|(one, other)| binary(one, op.clone(), other));
            equal.reduce(and).map(nested)
        }
        BinaryOperator::NotEq => {
            let differ = pairs.iter().map(|(one, other)| binary(one, op.clone(), other));
            differ.reduce(or).map(nested)
        }
        _ => in_order(&pairs, op),
    })
}

/// Returns the condition of `<`, `<=`, `>` or `>=`.
fn in_order(pairs: &[(&Expr, &Expr)], op: &BinaryOperator) -> Option<Expr> {
    let strict = match op {
        BinaryOperator::Lt | BinaryOperator::LtEq => BinaryOperator::Lt,
        _ => BinaryOperator::Gt,
    };
    let ((one, other), rest) = pairs.split_first()?;
    if rest.is_empty() {
        return Some(binary(one, op.clone(), other));
    }
    let equal = binary(one, BinaryOperator::Eq, other);
    let behind = and(equal, in_order(rest, op)?);
    Some(nested(or(binary(one, strict, other), nested(behind))))
}

/// Returns the fields of `(a, b)` or `ROW(a, b)`.
fn fields(expr: &Expr) -> Option<Vec<&Expr>> {
    match expr {
        Expr::Tuple(fields) => Some(fields.iter().collect()),
        Expr::Nested(inner) => fields(inner),
        Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("row") => {
            let FunctionArguments::List(list) = &function.args else { return None };
            let of = list.args.iter().map(|arg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
                _ => None,
            });
            of.collect()
        }
        _ => None,
    }
}

/// Returns `true` if an expression has one value, and is short enough to be written twice.
fn may_be_written_twice(expr: &Expr) -> bool {
    /// Functions that have another value each time.
    const VOLATILE: [&str; 3] = ["random", "uuid", "gen_random_uuid"];
    /// Expressions in one another; row values in row values would double each time.
    const MOST: usize = 64;

    let mut count = 0;
    let flow = visit_expressions(expr, |expr| {
        count += 1;
        let is_kept = match expr {
            Expr::Function(function) => {
                let name = function.name.to_string();
                !VOLATILE.iter().any(|of| name.eq_ignore_ascii_case(of))
                    && !name.eq_ignore_ascii_case("row")
            }
            Expr::Tuple(_) | Expr::Subquery(_) | Expr::InSubquery { .. } | Expr::Exists { .. } => {
                false
            }
            _ => true,
        };
        if is_kept && count <= MOST { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    flow.is_continue()
}

/// Returns `true` for a row value of constants without null.
fn is_constant(row: &Expr) -> bool {
    let is_value = |field: &Expr| match field {
        Expr::Value(value) => !matches!(value.value, Value::Null | Value::Placeholder(_)),
        Expr::UnaryOp { expr, .. } => matches!(&**expr, Expr::Value(_)),
        Expr::TypedString(_) => true,
        _ => false,
    };
    fields(row).is_some_and(|fields| fields.into_iter().all(is_value))
}

fn binary(left: &Expr, op: BinaryOperator, right: &Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left.clone()), op, right: Box::new(right.clone()) }
}

fn and(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op: BinaryOperator::And, right: Box::new(right) }
}

fn or(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op: BinaryOperator::Or, right: Box::new(right) }
}

fn not(expr: Expr) -> Expr {
    Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(expr) }
}

fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn written(text: &str) -> Result<String> {
        let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text);
        let mut expr = parser.and_then(|mut parser| parser.parse_expr()).expect("an expression");
        rewrite(&mut expr)?;
        Ok(expr.to_string())
    }

    #[test]
    fn row_values_are_compared_field_by_field() {
        for (text, expected) in [
            ("(a, b) > (1, $2)", "(a > 1 OR (a = 1 AND b > $2))"),
            ("(a, b, c) <= (1, 2, 3)", "(a < 1 OR (a = 1 AND (b < 2 OR (b = 2 AND c <= 3))))"),
            ("ROW(a, b) = (1, 2)", "(a = 1 AND b = 2)"),
            ("(a, b) <> (1, 2)", "(a <> 1 OR b <> 2)"),
            ("(a, b) IN ((1, 2), (3, 4))", "(((a = 1 AND b = 2) OR (a = 3 AND b = 4)))"),
            ("(a, b) NOT IN ((1, 2))", "NOT ((a = 1 AND b = 2))"),
            ("(lower(a), b) <> ('x', 5)", "(lower(a) <> 'x' OR b <> 5)"),
            ("(a) > (1)", "(a) > (1)"),
        ] {
            assert_eq!(written(text).as_deref(), Ok(expected), "{text}");
        }
        let between = written("(a, b) BETWEEN (1, 2) AND (3, 4)").expect("a condition");
        assert!(between.starts_with("((a > 1 OR ") && between.contains(" AND (a < 3 OR "));
        for text in
            ["(a, b) > (random(), 2)", "(a, (b, c)) = (1, (2, 3))", "(a, (SELECT 1)) = (1, 1)"]
        {
            let error = written(text).expect_err("a field that has to be computed once");
            assert_eq!(error.state, SqlState::NotSupported, "{text}");
        }
        let rows = |last: &str| format!("(a, b) IN ({}{last})", "(1, 2), ".repeat(64));
        assert!(written(&rows("(3, 4)")).is_ok_and(|text| text.starts_with("(a, b) IN")));
        assert!(written(&rows("(3, NULL)")).is_ok_and(|text| !text.starts_with("(a, b) IN")));
        let error = written("(a, b) > (1, 2, 3)").expect_err("another length");
        assert_eq!((error.state, error.position), (SqlState::Syntax, Some((1, 11))));
    }
}
