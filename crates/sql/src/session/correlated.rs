//! Queries that ask something of the outer row, as DataFusion plans them right.
//!
//! Of `v NOT IN (q)` it would join the rows of the query, and leave out the outer row if any of
//! them is null, also one that the query does not have for this outer row; with an equality besides
//! it fails. A row satisfies the condition if for no row of `q` the comparison with `v` is true or
//! null, which is what is written instead. And it does not find columns that it moves out of a
//! query in FROM, whose name hides them.

use std::sync::Arc;

use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ExprSchema as _, TableReference};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::{
    BinaryExpr, Expr, LogicalPlan, LogicalPlanBuilder, Operator, Projection, Subquery, binary_expr,
};

use crate::error::SqlError;

/// Name of the column that is compared.
const ITEM: &str = "\u{1}item";

/// Returns a plan in which the columns of a query in FROM have its name, if it asks something of an
/// outer row, without a step that only names them.
///
/// # Errors
/// None in practice.
pub(super) fn named(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::SubqueryAlias(of) = &plan else { return Ok(Transformed::no(plan)) };
    // LATERAL is another matter.
    let is_lateral = matches!(*of.input, LogicalPlan::Subquery(_));
    if is_lateral || of.input.all_out_ref_exprs().is_empty() {
        return Ok(Transformed::no(plan));
    }
    let column = |(table, field): (Option<&TableReference>, &FieldRef)| {
        let column = Expr::Column(Column::from((table, field)));
        column.alias_qualified(Some(of.alias.clone()), field.name())
    };
    let columns = of.input.schema().iter().map(column).collect();
    let projection = Projection::try_new(columns, Arc::clone(&of.input))?;
    Ok(Transformed::yes(LogicalPlan::Projection(projection)))
}

/// Refuses subqueries of the outer row of which DataFusion moves conditions to where they mean
/// something else.
///
/// # Errors
/// `NotSupported`, with another way.
pub(super) fn check(expr: &Expr) -> Result<()> {
    expr.apply(|expr| {
        let (subquery, is_set) = match expr {
            Expr::Exists(exists) => (&exists.subquery, true),
            Expr::InSubquery(of) => (&of.subquery, true),
            Expr::ScalarSubquery(subquery) => (subquery, false),
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        if !subquery.outer_ref_columns.is_empty() {
            check_rows(&subquery.subquery, is_set)?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

fn check_rows(rows: &LogicalPlan, is_set: bool) -> Result<()> {
    let mut aggregates = 0;
    rows.apply(|plan| {
        let asks = |input: &LogicalPlan| !input.all_out_ref_exprs().is_empty();
        let what = match plan {
            LogicalPlan::Window(window) if asks(&window.input) => {
                "a window function in a subquery of the outer row: compute it in WITH, of all rows, \
                 and compare the rows of that"
            }
            LogicalPlan::Limit(limit) if is_set && limit.skip.is_some() && asks(&limit.input) => {
                "OFFSET in a subquery of the outer row below IN or EXISTS: compare count(*) of it"
            }
            LogicalPlan::Aggregate(aggregate)
                if aggregate.group_expr.is_empty() && asks(&aggregate.input) =>
            {
                aggregates += 1;
                if !is_set && aggregates < 2 {
                    return Ok(TreeNodeRecursion::Continue);
                }
                "an aggregate without GROUP BY in a subquery of the outer row below IN or EXISTS: \
                 compare its value, as in v = (SELECT max(w) ..)"
            }
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        Err(SqlError::unsupported(format!("{what} (DataFusion would answer another question)")).into())
    })?;
    Ok(())
}

/// Returns a condition that rows have to satisfy, of which such parts are written so.
///
/// # Errors
/// None in practice: the columns of the condition are those of the schema.
pub(super) fn as_not_exists(condition: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            let left = as_not_exists(*left, schema)?;
            let right = as_not_exists(*right, schema)?;
            let is_changed = left.transformed || right.transformed;
            let both = binary_expr(left.data, Operator::And, right.data);
            Ok(Transformed::new_transformed(both, is_changed))
        }
        Expr::InSubquery(of) if of.negated && !of.subquery.outer_ref_columns.is_empty() => {
            Ok(Transformed::yes(no_row_is_equal(of, schema)?))
        }
        other => Ok(Transformed::no(other)),
    }
}

fn no_row_is_equal(of: InSubquery, schema: &DFSchema) -> Result<Expr> {
    let Subquery { subquery, mut outer_ref_columns, spans } = of.subquery;
    let outer = of.expr.transform_up(|expr| match expr {
        Expr::Column(column) => {
            let field = Arc::clone(schema.field_from_column(&column)?);
            let outer = Expr::OuterReferenceColumn(field, column);
            outer_ref_columns.push(outer.clone());
            Ok(Transformed::yes(outer))
        }
        other => Ok(Transformed::no(other)),
    })?;
    // The outer row may have columns of the same name, from which this one differs.
    let item = Expr::Column(Column::from(subquery.schema().qualified_field(0)));
    let rows = LogicalPlanBuilder::from(Arc::unwrap_or_clone(subquery));
    let rows = rows.project([item.alias(ITEM)])?;
    let item = Expr::Column(Column::new_unqualified(ITEM));
    let equal = Expr::IsNotFalse(Box::new(binary_expr(item, Operator::Eq, outer.data)));
    let rows = rows.filter(equal)?.build()?;
    let subquery = Subquery { subquery: Arc::new(rows), outer_ref_columns, spans };
    Ok(Expr::Exists(Exists { subquery, negated: true }))
}
