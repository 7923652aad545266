//! Queries of tables that never have rows.
//!
//! What a client prepared has as many parameters as before, of the types of the columns that they
//! are compared with.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use halite_sql::datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    JoinOperator, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins, Value, Visit,
    Visitor,
};

use super::super::columns::{self, catalog_table};
use super::forms::{cast, has_aggregate, last, null, null_list};

/// Replaces what has no rows by a query of nothing with as many columns.
pub(super) fn simplify_query(query: &mut Query) {
    simplify(&mut query.body);
    // Orders of no rows may name what is no longer there.
    if matches!(query.body.as_ref(), SetExpr::Select(select) if is_nothing(select)) {
        query.order_by = None;
    }
}

fn simplify(body: &mut SetExpr) {
    match body {
        SetExpr::SetOperation { left, right, .. } => {
            simplify(left);
            simplify(right);
        }
        SetExpr::Select(select) if has_no_rows(select) => {
            let parameters = parameters_of(select.as_ref());
            let mut names = BTreeSet::new();
            for (item, at) in select.projection.iter_mut().zip(1..) {
                let mut alias = name_of(item);
                if !names.insert(alias.value.clone()) {
                    alias = Ident::with_quote('"', format!("{}_{at}", alias.value));
                }
                *item = SelectItem::ExprWithAlias { expr: null(), alias };
            }
            select.distinct = None;
            select.from.clear();
            select.selection = Some(never(parameters));
        }
        _ => {}
    }
}

/// Replaces a query for a value that has no rows by null, and a test of its rows by false.
pub(super) fn simplify_expr(expr: &mut Expr) {
    let body = |query: &Query| {
        matches!(query.body.as_ref(), SetExpr::Select(select) if has_no_rows(select))
            && parameters_of(query).is_empty()
    };
    match expr {
        Expr::Subquery(query) if body(query) => *expr = null(),
        Expr::Exists { subquery, negated } if body(subquery) => {
            let value = *negated;
            *expr = Expr::Value(Value::Boolean(value).into());
        }
        Expr::InSubquery { subquery, negated, .. } if body(subquery) => {
            let value = *negated;
            *expr = Expr::Value(Value::Boolean(value).into());
        }
        // ARRAY(SELECT ..) of no rows.
        Expr::Function(function) if last(&function.name) == "array" => {
            if matches!(&function.args, FunctionArguments::Subquery(query) if body(query)) {
                *expr = null_list();
            }
        }
        _ => {}
    }
}

/// Returns `true` for what a query of no rows was replaced by.
fn is_nothing(select: &Select) -> bool {
    select.from.is_empty() && select.selection.as_ref().is_some_and(is_never)
}

/// Returns a condition of no row, with these parameters in it.
fn never(parameters: BTreeMap<String, DataType>) -> Expr {
    let and = |left: Expr, (name, ty): (String, DataType)| {
        let parameter = Expr::Value(Value::Placeholder(name).into());
        let compared = binary(parameter, BinaryOperator::Eq, cast(null(), ty));
        binary(left, BinaryOperator::And, compared)
    };
    parameters.into_iter().fold(Expr::Value(Value::Boolean(false).into()), and)
}

fn is_never(condition: &Expr) -> bool {
    match condition {
        Expr::Value(value) => value.value == Value::Boolean(false),
        Expr::BinaryOp { left, op: BinaryOperator::And, .. } => is_never(left),
        _ => false,
    }
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

/// Returns the parameters of a part of a statement with their types.
fn parameters_of(part: &impl Visit) -> BTreeMap<String, DataType> {
    let mut found = Parameters::default();
    let _ = part.visit(&mut found);
    found.0
}

#[derive(Default)]
struct Parameters(BTreeMap<String, DataType>);

impl Visitor for Parameters {
    type Break = ();

    // A comparison is visited before the parameter in it.
    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let (parameter, ty) = match expr {
            Expr::BinaryOp { left, right, .. } => match (parameter(left), parameter(right)) {
                (Some(name), None) => (Some(name), column_type(right)),
                (None, Some(name)) => (Some(name), column_type(left)),
                _ => (None, None),
            },
            Expr::Cast { expr, data_type, .. } => (parameter(expr), Some(data_type.clone())),
            other => (parameter(other), None),
        };
        if let Some(name) = parameter {
            self.0.entry(name.to_owned()).or_insert(ty.unwrap_or(DataType::Text));
        }
        ControlFlow::Continue(())
    }
}

fn parameter(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Placeholder(name) => Some(name),
            _ => None,
        },
        Expr::Nested(inner) => parameter(inner),
        _ => None,
    }
}

/// Returns the type of a column of the catalog.
fn column_type(expr: &Expr) -> Option<DataType> {
    let name = match expr {
        Expr::Identifier(name) => name,
        Expr::CompoundIdentifier(parts) => parts.last()?,
        _ => return None,
    };
    Some(match columns::type_of(&name.value.to_ascii_lowercase())? {
        "i" => DataType::BigInt(None),
        "b" => DataType::Boolean,
        _ => DataType::Text,
    })
}

/// Returns `true` if a table that never has rows decides that the query has none.
fn has_no_rows(select: &Select) -> bool {
    let is_star = |item: &SelectItem| {
        matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
    };
    !select.projection.iter().any(is_star)
        && !has_aggregate(select)
        && select.from.iter().any(without_rows)
}

fn without_rows(from: &TableWithJoins) -> bool {
    // Rows of the first table stay, unless a join needs those of both.
    let mut is_empty = is_empty(&from.relation);
    for join in &from.joins {
        match &join.join_operator {
            JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::CrossJoin(_) => {
                is_empty |= self::is_empty(&join.relation);
            }
            JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => {}
            _ => return false,
        }
    }
    is_empty
}

fn is_empty(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Table { name, args: None, .. } => {
            catalog_table(name).is_some_and(columns::is_empty)
        }
        // unnest(c.reloptions) of a list that is always null.
        TableFactor::Table { name, args: Some(args), .. } if last(name) == "unnest" => {
            matches!(
                args.args.as_slice(),
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(list))] if is_null_list(list)
            )
        }
        TableFactor::Function { name, args, .. } if last(name) == "unnest" => {
            matches!(
                args.as_slice(),
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(list))] if is_null_list(list)
            )
        }
        TableFactor::UNNEST { array_exprs, .. } => array_exprs.iter().all(is_null_list),
        _ => false,
    }
}

fn is_null_list(expr: &Expr) -> bool {
    match expr {
        Expr::CompoundIdentifier(parts) => {
            parts.last().is_some_and(|column| columns::is_null_list(&column.value))
        }
        _ => false,
    }
}

/// Returns the name of a column of a result.
fn name_of(item: &SelectItem) -> Ident {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => alias.clone(),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => name.clone(),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
            parts.last().cloned().unwrap_or_else(|| Ident::with_quote('"', "?column?"))
        }
        _ => Ident::with_quote('"', "?column?"),
    }
}
