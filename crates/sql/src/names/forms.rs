//! Forms of PostgreSQL that DataFusion's planner reads otherwise, or not at all.
//!
//! `'\xff'::bytea` is the byte ff, `AT TIME ZONE` converts in both directions, columns of one name
//! may be selected twice, `^@` is `starts_with`, a time may end with its minute, patterns of
//! `to_char` are those of PostgreSQL, and EXISTS may be in SELECT.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, GroupByExpr, Ident, LimitClause, ObjectName, OrderByExpr, OrderByKind,
    Query, Select, SelectItem, SetExpr, Statement, TableAlias, TableFactor, TableWithJoins,
    UnaryOperator, Value, VisitMut, VisitorMut, visit_expressions,
};

use super::{row_values, time_patterns};
use crate::error::{Result, SqlError, SqlState};
use crate::session::functions::{AT_TIME_ZONE, TO_BYTES, read_bytes};

/// Follows the name of a column that another column of the same SELECT has too.
pub(crate) const AGAIN: char = '\u{1}';

/// Returns the schema with the names that the statement gives, if it gives one twice.
pub(crate) fn with_plain_names(schema: &SchemaRef) -> SchemaRef {
    if !schema.fields().iter().any(|field| field.name().contains(AGAIN)) {
        return Arc::clone(schema);
    }
    let plain = |field: &FieldRef| {
        let name = field.name().split(AGAIN).next().unwrap_or_default();
        Arc::new(field.as_ref().clone().with_name(name))
    };
    let fields: Vec<FieldRef> = schema.fields().iter().map(plain).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Changes a statement.
///
/// # Errors
/// `InvalidValue` for a literal that is no value of the type it is cast to.
pub(super) fn rewrite(statement: &mut Statement) -> Result<()> {
    match VisitMut::visit(statement, &mut Forms) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Gives casts of columns in SELECT the names of these, as they are in the tables. As in
/// PostgreSQL, ORDER BY means the cast where a term is the name alone. Where one means the column,
/// or another one has the name, the cast has one that differs.
pub(super) fn name_casts(statement: &mut Statement) {
    struct Casts;

    impl VisitorMut for Casts {
        type Break = ();

        fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
            let terms = match query.order_by.as_ref().map(|order| &order.kind) {
                Some(OrderByKind::Expressions(terms)) => terms.as_slice(),
                _ => &[],
            };
            if let SetExpr::Select(select) = query.body.as_mut() {
                name_casts_of(select, terms);
            }
            ControlFlow::Continue(())
        }
    }

    let _ = VisitMut::visit(statement, &mut Casts);
}

fn name_casts_of(select: &mut Select, order: &[OrderByExpr]) {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for item in &select.projection {
        let name = match item {
            SelectItem::UnnamedExpr(expr) => last_name(expr),
            SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.as_str()),
            // It may have any.
            _ => return,
        };
        *names.entry(name.unwrap_or_default().to_owned()).or_default() += 1;
    }
    let is_meant = |name: &str| {
        let is_it =
            |term: &OrderByExpr| matches!(&term.expr, Expr::Identifier(of) if of.value == name);
        order.iter().all(|term| is_it(term) || !mentions(term, name))
    };
    for (at, item) in select.projection.iter_mut().enumerate() {
        let SelectItem::UnnamedExpr(expr) = item else { continue };
        let Some(mut alias) = column_of_cast(expr) else { continue };
        if names.get(&alias.value) != Some(&1) || !is_meant(&alias.value) {
            alias.value = format!("{}{AGAIN}{at}", alias.value);
        }
        *item = SelectItem::ExprWithAlias { expr: take(expr), alias };
    }
}

/// Returns `true` if a term has a column of this name.
fn mentions(term: &OrderByExpr, name: &str) -> bool {
    let found = visit_expressions(&term.expr, |expr| match expr {
        Expr::Identifier(of) if of.value == name => ControlFlow::Break(()),
        Expr::CompoundIdentifier(of) if of.last().is_some_and(|last| last.value == name) => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

struct Forms;

impl VisitorMut for Forms {
    type Break = SqlError;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                if let Err(error) = row_values::rewrite_lists(expr) {
                    return ControlFlow::Break(error);
                }
                if let ControlFlow::Break(error) = VisitMut::visit(expr, &mut Counted) {
                    return ControlFlow::Break(error);
                }
            }
        }
        name_apart(&mut select.projection);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        match expr {
            Expr::Cast { expr: inner, data_type: DataType::Bytea, .. } => match literal(inner) {
                Some(text) => match read_bytes(&text) {
                    Ok(bytes) => {
                        let digits = hex(&bytes);
                        *expr = Expr::value(Value::HexStringLiteral(digits));
                    }
                    Err(what) => {
                        return ControlFlow::Break(SqlError::new(SqlState::InvalidValue, what));
                    }
                },
                None => *expr = call(TO_BYTES, vec![take(inner)]),
            },
            Expr::Cast { expr: inner, data_type: DataType::Timestamp(digits, _), .. } => {
                if let Some(text) = literal(inner) {
                    as_milliseconds(&text, digits);
                    if let Some(time) = with_seconds(&text) {
                        **inner = Expr::value(Value::SingleQuotedString(time));
                    }
                }
            }
            Expr::TypedString(typed) => {
                if let DataType::Timestamp(digits, _) = &mut typed.data_type
                    && let Value::SingleQuotedString(text) = &typed.value.value
                {
                    as_milliseconds(text, digits);
                    if let Some(time) = with_seconds(text) {
                        typed.value.value = Value::SingleQuotedString(time);
                    }
                }
            }
            Expr::IsNull(inner)
            | Expr::IsNotNull(inner)
            | Expr::IsFalse(inner)
            | Expr::IsNotTrue(inner)
            | Expr::IsUnknown(inner)
            | Expr::IsNotUnknown(inner) => {
                if let Err(error) = row_values::rewrite_lists(inner) {
                    return ControlFlow::Break(error);
                }
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr: inner } => {
                if let Err(error) = row_values::rewrite_lists(inner) {
                    return ControlFlow::Break(error);
                }
                if let Some(opposite) = opposite(inner) {
                    *expr = opposite;
                }
            }
            Expr::Function(function) => {
                if let Err(error) = time_patterns::rewrite(function) {
                    return ControlFlow::Break(error);
                }
            }
            // It is read as the type of the column that it is compared with, or written to.
            Expr::Cast { expr: inner, data_type, .. } if is_of_column(data_type) => {
                if let Expr::Value(_) = inner.as_ref() {
                    *expr = take(inner);
                }
            }
            Expr::AtTimeZone { timestamp, time_zone } => {
                *expr = call(AT_TIME_ZONE, vec![take(timestamp), take(time_zone)]);
            }
            Expr::BinaryOp { left, op: BinaryOperator::PGStartsWith, right } => {
                *expr = call("starts_with", vec![take(left), take(right)]);
            }
            _ => {
                if let Err(error) = row_values::rewrite(expr) {
                    return ControlFlow::Break(error);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the comparison that is true where this one is false, whose sides are of the types that
/// they are in a comparison: DataFusion looks for those of NOT before.
fn opposite(expr: &mut Expr) -> Option<Expr> {
    match expr {
        Expr::Nested(inner) => opposite(inner).map(|opposite| Expr::Nested(Box::new(opposite))),
        Expr::BinaryOp { left, op, right } => {
            let op = match op {
                BinaryOperator::Eq => BinaryOperator::NotEq,
                BinaryOperator::NotEq => BinaryOperator::Eq,
                BinaryOperator::Lt => BinaryOperator::GtEq,
                BinaryOperator::LtEq => BinaryOperator::Gt,
                BinaryOperator::Gt => BinaryOperator::LtEq,
                BinaryOperator::GtEq => BinaryOperator::Lt,
                _ => return None,
            };
            Some(Expr::BinaryOp { left: Box::new(take(left)), op, right: Box::new(take(right)) })
        }
        _ => None,
    }
}

/// Gives a time milliseconds, as those of cells have, if it is one that nanoseconds do not reach.
fn as_milliseconds(text: &str, digits: &mut Option<u64>) {
    let year = text.get(..4).and_then(|year| year.parse::<u32>().ok());
    if digits.is_none() && year.is_some_and(|year| !(1678..2262).contains(&year)) {
        *digits = Some(3);
    }
}

/// Returns `true` for types that DataFusion does not know and values of columns have.
fn is_of_column(data_type: &DataType) -> bool {
    match data_type {
        DataType::Uuid => true,
        DataType::Custom(name, _) => name.to_string().eq_ignore_ascii_case("inet"),
        _ => false,
    }
}

/// Returns a time whose text ends with its minute, such as `2024-03-15 10:00`, with seconds.
fn with_seconds(text: &str) -> Option<String> {
    let is_time = text.len() == "2024-03-15 10:00".len()
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            10 => byte == b' ' || byte == b'T',
            13 => byte == b':',
            _ => byte.is_ascii_digit(),
        });
    is_time.then(|| format!("{text}:00"))
}

fn hex(bytes: &[u8]) -> String {
    let digit = |digit: u8| char::from_digit(u32::from(digit), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Reads EXISTS of a SELECT list as a count: DataFusion plans it as a condition of WHERE only,
/// where it becomes a join.
struct Counted;

impl VisitorMut for Counted {
    type Break = SqlError;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        if let Expr::Exists { subquery, negated } = expr {
            let op = if *negated { BinaryOperator::Eq } else { BinaryOperator::Gt };
            let query = std::mem::replace(subquery, Box::new(empty_query()));
            *expr = Expr::Subquery(Box::new(counting(*query, op)));
        }
        ControlFlow::Continue(())
    }
}

fn counting(mut query: Query, op: BinaryOperator) -> Query {
    // What asks for the outer row cannot be below a limit, and a first row is a row.
    if takes_a_row(&query) {
        query.limit_clause = None;
    }
    let number = Expr::value(Value::Number("0".into(), false));
    let star = FunctionArg::Unnamed(FunctionArgExpr::Wildcard);
    let count = called("count", vec![star]);
    let compared = Expr::BinaryOp { left: Box::new(count), op, right: Box::new(number) };
    let item = SelectItem::UnnamedExpr(compared);
    if let SetExpr::Select(select) = query.body.as_mut()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && is_plain(select)
    {
        select.projection = vec![item];
        query.order_by = None;
        return query;
    }
    let mut outer = empty_query();
    if let SetExpr::Select(select) = outer.body.as_mut() {
        select.projection = vec![item];
        let alias = TableAlias {
            explicit: true,
            name: Ident::with_quote('"', "exists"),
            columns: Vec::new(),
            at: None,
        };
        let relation = TableFactor::Derived {
            lateral: false,
            subquery: Box::new(query),
            alias: Some(alias),
            sample: None,
        };
        select.from = vec![TableWithJoins { relation, joins: Vec::new() }];
    }
    outer
}

/// Returns `true` if LIMIT leaves a query at least one of its rows.
fn takes_a_row(query: &Query) -> bool {
    let Some(LimitClause::LimitOffset { limit: Some(limit), offset: None, limit_by }) =
        &query.limit_clause
    else {
        return false;
    };
    let Expr::Value(value) = limit else { return false };
    let Value::Number(text, _) = &value.value else { return false };
    limit_by.is_empty() && text.parse::<u64>().is_ok_and(|rows| rows > 0)
}

/// Returns `true` if a SELECT has as many rows as its FROM and WHERE.
fn is_plain(select: &Select) -> bool {
    let groups = match &select.group_by {
        GroupByExpr::Expressions(exprs, modifiers) => !exprs.is_empty() || !modifiers.is_empty(),
        GroupByExpr::All(_) => true,
    };
    let is_value = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            matches!(expr, Expr::Value(_) | Expr::Identifier(_) | Expr::CompoundIdentifier(_))
        }
        SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => true,
        SelectItem::ExprWithAliases { .. } => false,
    };
    !groups
        && select.having.is_none()
        && select.distinct.is_none()
        && select.qualify.is_none()
        && select.top.is_none()
        && select.projection.iter().all(is_value)
}

/// Returns `SELECT`, to be filled in.
pub(crate) fn empty_query() -> Query {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;
    Parser::new(&PostgreSqlDialect {})
        .try_with_sql("SELECT 1")
        .and_then(|mut parser| parser.parse_query())
        .map(|query| *query)
        .expect("a query of the program is one")
}

/// Gives columns that would have one name a name each.
fn name_apart(projection: &mut [SelectItem]) {
    let is_all = |item: &SelectItem| {
        matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
    };
    let has_all = projection.iter().any(is_all);
    let mut seen = BTreeSet::new();
    for (at, item) in projection.iter_mut().enumerate() {
        let name = match item {
            SelectItem::UnnamedExpr(expr) => name_of(expr),
            SelectItem::ExprWithAlias { alias, .. } => alias.value.clone(),
            _ => continue,
        };
        let is_among_all =
            has_all && matches!(item, SelectItem::UnnamedExpr(expr) if is_name(expr));
        if seen.insert(name.clone()) && !is_among_all {
            continue;
        }
        let again = |name: &str| Ident::with_quote('"', format!("{name}{AGAIN}{at}"));
        match item {
            SelectItem::UnnamedExpr(expr) => {
                let alias = match expr {
                    Expr::CompoundIdentifier(parts) => {
                        again(parts.last().map_or(name.as_str(), |part| part.value.as_str()))
                    }
                    _ => again(&name),
                };
                *item = SelectItem::ExprWithAlias { expr: take(expr), alias };
            }
            SelectItem::ExprWithAlias { alias, .. } => *alias = again(&name),
            _ => {}
        }
    }
}

/// Returns what DataFusion names a column after: a cast has the name of what is cast, a subquery
/// that of its column.
fn name_of(expr: &Expr) -> String {
    match expr {
        Expr::Subquery(query) => match query.body.as_ref() {
            SetExpr::Select(select) => match select.projection.first() {
                Some(SelectItem::UnnamedExpr(item)) => name_of(item),
                Some(SelectItem::ExprWithAlias { alias, .. }) => alias.value.clone(),
                _ => expr.to_string(),
            },
            _ => expr.to_string(),
        },
        Expr::Identifier(name) => name.value.clone(),
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => name_of(inner),
        Expr::TypedString(typed) => typed.value.to_string(),
        other => other.to_string(),
    }
}

/// Returns the name of the column that is cast.
fn column_of_cast(expr: &Expr) -> Option<Ident> {
    match expr {
        Expr::Nested(inner) => column_of_cast(inner),
        Expr::Cast { expr: inner, .. } if is_name(inner) => {
            Some(Ident::with_quote('"', last_name(inner)?))
        }
        _ => None,
    }
}

fn last_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Identifier(name) => Some(&name.value),
        Expr::CompoundIdentifier(names) => Some(&names.last()?.value),
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => last_name(inner),
        _ => None,
    }
}

/// Returns `true` for a column, as it is or cast.
fn is_name(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => true,
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => is_name(inner),
        _ => false,
    }
}

fn literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => {
                Some(text.clone())
            }
            _ => None,
        },
        _ => None,
    }
}

fn take(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, Expr::value(Value::Null))
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    let args = args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)));
    called(name, args.collect())
}

fn called(name: &str, args: Vec<FunctionArg>) -> Expr {
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args,
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}
