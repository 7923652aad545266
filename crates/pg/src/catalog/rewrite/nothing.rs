//! Queries of tables that never have rows.

use std::collections::BTreeSet;

use halite_sql::datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, JoinOperator, Query, Select,
    SelectItem, SetExpr, TableFactor, TableWithJoins, Value,
};

use super::super::columns::{self, catalog_table};
use super::forms::{has_aggregate, last, null, null_list};

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
            select.selection = Some(Expr::Value(Value::Boolean(false).into()));
        }
        _ => {}
    }
}

/// Replaces a query for a value that has no rows by null, and a test of its rows by false.
pub(super) fn simplify_expr(expr: &mut Expr) {
    let body = |query: &Query| matches!(query.body.as_ref(), SetExpr::Select(select) if has_no_rows(select));
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
    select.from.is_empty()
        && matches!(&select.selection, Some(Expr::Value(value)) if value.value == Value::Boolean(false))
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
