//! What a statement asks of a table, and the key that would serve it.

use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use halite_rowkey::KeySchema;
use halite_rowkey::plan::{Asked, Predicate, Question, serving_key};

use super::spec::ScanSpec;
use crate::catalog::shape::{ShapeColumn, Source, TableShape};
use crate::explain::Sorted;
use crate::pushdown::comparison::{Test, comparison};

/// Adds the columns that a condition compares with constants, and how.
pub(super) fn add_asked(shape: &TableShape, condition: &Expr, asked: &mut Vec<(usize, Predicate)>) {
    if let Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) = condition {
        add_asked(shape, left, asked);
        add_asked(shape, right, asked);
        return;
    }
    if let Some(found) = comparison(shape, condition)
        && let Test::Is(predicate) = found.test
    {
        asked.push((found.column, predicate));
    }
}

impl ScanSpec {
    /// Returns the key that would serve the statement, where that of the table does not: where the
    /// whole table is read, or its rows are sorted. `None` without a condition or an order that a key
    /// could serve.
    pub(crate) fn serving_key(&self, sorted: &Sorted) -> Option<KeySchema> {
        let shape = &self.target.shape;
        if !shape.is_declared || shape.is_cells() || self.first_of.is_some() {
            return None;
        }
        if !self.plan.is_full_scan() && sorted.by.is_empty() {
            return None;
        }
        let mut question = Question::of_key(&shape.key, &self.plan.query().conditions);
        question.is_limited = sorted.is_limited;
        for (at, predicate) in &self.asked {
            if let Some(column) = may_be_field(&shape.columns[*at]) {
                question.add(column, predicate);
            }
        }
        let of_order =
            |&(at, order)| Some((may_be_field(&shape.columns[*self.columns.get(at)?])?, order));
        question.order = sorted.by.iter().map(of_order).collect::<Option<_>>().unwrap_or_default();
        serving_key(&shape.key, &question)
    }
}

/// Returns a column whose values a key could have.
fn may_be_field(column: &ShapeColumn) -> Option<Asked> {
    let is_value = match column.source {
        Source::Key(_) => true,
        // What is counted changes, and the key of a row does not.
        Source::Cell { .. } => !column.is_counter() && !column.is_extra,
        _ => false,
    };
    is_value.then(|| Asked { name: column.name.clone(), ty: column.ty })
}
