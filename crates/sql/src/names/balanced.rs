//! Long chains of AND and OR as trees of little depth.
//!
//! The type of an operator is found from those of its operands again at each level, so that
//! planning `a AND b AND c ..` as it is parsed, each operator around the one before it, takes the
//! square of its length. The order of the terms stays.

use std::convert::Infallible;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Statement, Value, VisitMut, VisitorMut,
};

/// Terms from which on a chain becomes a tree.
const MIN_TERMS: usize = 16;

/// Changes the long chains of a statement.
pub(super) fn rewrite(statement: &mut Statement) {
    let ControlFlow::Continue(()) = VisitMut::visit(statement, &mut Balance);
}

struct Balance;

impl VisitorMut for Balance {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        for of in [BinaryOperator::And, BinaryOperator::Or] {
            if terms(expr, &of) >= MIN_TERMS {
                balance(expr, &of);
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the number of terms of a chain.
fn terms(mut expr: &Expr, of: &BinaryOperator) -> usize {
    let mut terms = 1;
    while let Expr::BinaryOp { left, op, .. } = expr
        && op == of
    {
        terms += 1;
        expr = left;
    }
    terms
}

fn balance(expr: &mut Expr, of: &BinaryOperator) {
    let mut rest = std::mem::replace(expr, Expr::value(Value::Null));
    let mut terms = Vec::new();
    loop {
        match rest {
            Expr::BinaryOp { left, op, right } if op == *of => {
                terms.push(*right);
                rest = *left;
            }
            first => {
                terms.push(first);
                break;
            }
        }
    }
    terms.reverse();
    if let Some(tree) = tree(terms, of) {
        *expr = tree;
    }
}

/// Returns the tree of some terms, in their order.
fn tree(mut terms: Vec<Expr>, of: &BinaryOperator) -> Option<Expr> {
    while terms.len() > 1 {
        let mut pairs = Vec::with_capacity(terms.len().div_ceil(2));
        let mut left = terms.into_iter();
        while let Some(one) = left.next() {
            pairs.push(match left.next() {
                Some(other) => {
                    Expr::BinaryOp { left: Box::new(one), op: of.clone(), right: Box::new(other) }
                }
                None => one,
            });
        }
        terms = pairs;
    }
    terms.pop()
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::Statement as DfStatement;

    use super::*;
    use crate::parse::{parse_query, tokens_of};

    fn depth(expr: &Expr) -> usize {
        match expr {
            Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
                1 + depth(left).max(depth(right))
            }
            _ => 0,
        }
    }

    #[test]
    fn long_chains_keep_their_terms_in_order() {
        struct Deepest(usize);
        impl VisitorMut for Deepest {
            type Break = Infallible;

            fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
                self.0 = self.0.max(depth(expr));
                ControlFlow::Continue(())
            }
        }
        for (of, terms, most) in [(" AND ", 1001, 10), (" OR ", 100, 7), (" AND ", 15, 14)] {
            let text = (0..terms).map(|at| format!("a{at}")).collect::<Vec<_>>().join(of);
            let sql = format!("SELECT 1 WHERE {text}");
            let parsed = parse_query(tokens_of(&sql).expect("tokens")).expect("a query");
            let DfStatement::Statement(mut statement) = parsed else { panic!("{sql}") };
            rewrite(&mut statement);
            assert_eq!(statement.to_string(), sql);
            let mut deepest = Deepest(0);
            let _ = VisitMut::visit(statement.as_mut(), &mut deepest);
            assert_eq!(deepest.0, most, "{terms} terms");
        }
    }
}
