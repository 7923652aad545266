//! Comparisons with the rows of a subquery: IN, ANY and ALL.
//!
//! DataFusion answers `e IN (SELECT ..)` as a join, whose result is never null. That is right where
//! a row is wanted only if it is true: in a condition, AND and OR of conditions, and NOT IN as a
//! condition of its own. In all other places it becomes a CASE here that may be null. The subquery
//! of ANY and ALL gets a name of its own: DataFusion would take columns of the outer query for
//! those of a subquery over the same table.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, JoinConstraint, OrderByKind, Query, Select, SelectItem, SetExpr,
    Statement, TableFactor, UnaryOperator, Value, Visit, VisitMut, Visitor, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::columns::constraint_of;
use super::forms::empty_query;
use crate::error::{Result, SqlError, SqlState};

/// `e IN (q)`, with a null where no row is equal and one, or `e`, is null.
const IS_IN: &str = "CASE \
     WHEN \"\u{1}e\" IS NULL THEN \
         CASE WHEN EXISTS (SELECT 1 FROM \"\u{1}q\") THEN CAST(NULL AS BOOLEAN) \
         ELSE false END \
     WHEN EXISTS (SELECT 1 FROM \"\u{1}q\" WHERE \"\u{1}set\".\"\u{1}item\" = \"\u{1}e\") THEN true \
     WHEN EXISTS (SELECT 1 FROM \"\u{1}q\" WHERE \"\u{1}set\".\"\u{1}item\" IS NULL) \
         THEN CAST(NULL AS BOOLEAN) \
     ELSE false END";
/// The rows of a subquery, under a name of their own.
const ROWS: &str = "(SELECT 1) AS \"\u{1}set\" (\"\u{1}item\")";
/// That name.
const ROWS_NAME: &str = "\u{1}set";
/// The subquery of ANY or ALL.
const APART: &str = "(SELECT * FROM \"\u{1}q\")";
/// Name that becomes the expression on the left side.
const LEFT: &str = "\u{1}e";

/// Those of a statement that become a CASE, each of which has its subquery three times.
const MAX_CASES: usize = 256;

/// Changes a statement.
///
/// # Errors
/// `LimitExceeded` for many of them in one another.
pub(super) fn rewrite(statement: &mut Statement) -> Result<()> {
    let mut sets = Sets { cases: 0 };
    match VisitMut::visit(statement, &mut sets) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(SqlError::new(
            SqlState::LimitExceeded,
            format!(
                "over {MAX_CASES} conditions with IN (SELECT ..) are values, or below NOT or OR; \
                 compute some of them in WITH"
            ),
        )),
    }
}

/// What is done with a condition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Rows are taken if it is true, together with conditions beside it.
    Condition,
    /// As well, or if another one is true.
    Alternative,
    /// Its value is used, so that null differs from false.
    Value,
}

/// Visitor of the queries of a statement.
struct Sets {
    /// Number of those that became a CASE.
    cases: usize,
}

impl Sets {
    /// Ends the visit of a statement with too many.
    fn flow(&self) -> ControlFlow<()> {
        if self.cases > MAX_CASES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn condition(&mut self, expr: &mut Expr, place: Place) {
        as_in(expr);
        match expr {
            Expr::Nested(inner) => self.condition(inner, place),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                self.condition(left, place);
                self.condition(right, place);
            }
            Expr::BinaryOp { left, op: BinaryOperator::Or, right } => {
                let place = if place == Place::Condition { Place::Alternative } else { place };
                self.condition(left, place);
                self.condition(right, place);
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr: inner } => match negated(inner) {
                Some(written) => {
                    *expr = written;
                    self.condition(expr, place);
                }
                None => self.condition(inner, Place::Value),
            },
            Expr::InSubquery { negated, .. } => {
                let may_be_join = match place {
                    Place::Condition => true,
                    Place::Alternative => !*negated,
                    Place::Value => false,
                };
                if !may_be_join {
                    self.as_case(expr);
                }
            }
            other => self.value(other),
        }
    }

    /// Rewrites an expression of which the value is used, apart from the subqueries in it.
    fn value(&mut self, expr: &mut Expr) {
        struct Values<'s> {
            sets: &'s mut Sets,
            /// Depth of the queries that are visited.
            depth: usize,
        }

        impl VisitorMut for Values<'_> {
            type Break = ();

            fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Self::Break> {
                self.depth += 1;
                ControlFlow::Continue(())
            }

            fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Self::Break> {
                self.depth -= 1;
                ControlFlow::Continue(())
            }

            fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
                if self.depth == 0 {
                    as_in(expr);
                    self.sets.as_case(expr);
                }
                self.sets.flow()
            }
        }

        // The visitor around sees the limit.
        let _ = VisitMut::visit(expr, &mut Values { sets: self, depth: 0 });
    }

    /// Writes IN as a CASE. Row values stay: DataFusion refuses them.
    fn as_case(&mut self, expr: &mut Expr) {
        let Expr::InSubquery { expr: left, subquery, negated } = expr else { return };
        if is_row(left) || self.cases > MAX_CASES {
            return;
        }
        self.cases += 1;
        let mut case = parsed(IS_IN);
        fill(&mut case, &Expr::Nested(left.clone()), subquery);
        *expr = if *negated {
            Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(Expr::Nested(Box::new(case))) }
        } else {
            case
        };
    }
}

impl VisitorMut for Sets {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        if let Some(order) = &mut query.order_by
            && let OrderByKind::Expressions(terms) = &mut order.kind
        {
            terms.iter_mut().for_each(|term| self.value(&mut term.expr));
        }
        self.flow()
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        for item in &mut select.projection {
            match item {
                SelectItem::ExprWithAlias { expr, .. } => self.value(expr),
                SelectItem::UnnamedExpr(expr) => {
                    let name = has_set(expr).then(|| expr.to_string());
                    self.value(expr);
                    if let Some(name) = name {
                        let alias = Ident::with_quote('"', name);
                        *item = SelectItem::ExprWithAlias { expr: take(expr), alias };
                    }
                }
                _ => {}
            }
        }
        for expr in [&mut select.selection, &mut select.having].into_iter().flatten() {
            self.condition(expr, Place::Condition);
        }
        for join in select.from.iter_mut().flat_map(|from| &mut from.joins) {
            if let Some(JoinConstraint::On(expr)) = constraint_of(&mut join.join_operator) {
                self.condition(expr, Place::Condition);
            }
        }
        self.flow()
    }
}

/// Returns `true` if there is IN, ANY or ALL of a subquery outside of the subqueries.
fn has_set(expr: &Expr) -> bool {
    struct Found(usize);

    impl Visitor for Found {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.0 -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let is_set =
                matches!(expr, Expr::InSubquery { .. } | Expr::AnyOp { .. } | Expr::AllOp { .. });
            if is_set && self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }

    Visit::visit(expr, &mut Found(0)).is_break()
}

/// Returns the opposite of IN or NOT IN.
fn negated(expr: &mut Expr) -> Option<Expr> {
    as_in(expr);
    match expr {
        Expr::Nested(inner) => negated(inner),
        Expr::InSubquery { negated, .. } => {
            *negated = !*negated;
            Some(take(expr))
        }
        _ => None,
    }
}

/// Writes `= ANY` as IN and `<> ALL` as NOT IN, of a subquery or of ARRAY. Gives the subquery of another operator its name.
fn as_in(expr: &mut Expr) {
    let (left, op, right, is_any) = match expr {
        Expr::AnyOp { left, compare_op, right, .. } => (left, compare_op, right, true),
        Expr::AllOp { left, compare_op, right } => (left, compare_op, right, false),
        _ => return,
    };
    if let Expr::Array(array) = right.as_mut()
        && let Some(negated) = is_negated_in(op, is_any)
        && !array.elem.is_empty()
        && !array.elem.iter().any(|item| matches!(item, Expr::Array(_)))
    {
        let (of, list) = (Box::new(take(left)), std::mem::take(&mut array.elem));
        *expr = Expr::InList { expr: of, list, negated };
        return;
    }
    let Expr::Subquery(query) = right.as_mut() else { return };
    let Some(negated) = is_negated_in(op, is_any) else {
        if !is_apart(query) {
            let mut apart = parsed(APART);
            fill(&mut apart, &Expr::value(Value::Null), query);
            *right.as_mut() = apart;
        }
        return;
    };
    let subquery = std::mem::replace(query, Box::new(empty_query()));
    *expr = Expr::InSubquery { expr: Box::new(take(left)), subquery, negated };
}

/// Returns whether an operator with ANY, or with ALL, is NOT IN; `None` if it is no IN either.
fn is_negated_in(op: &BinaryOperator, is_any: bool) -> Option<bool> {
    match (op, is_any) {
        (BinaryOperator::Eq, true) => Some(false),
        (BinaryOperator::NotEq, false) => Some(true),
        _ => None,
    }
}

/// Returns `true` for a subquery that has its name.
fn is_apart(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    matches!(
        select.from.first().map(|from| &from.relation),
        Some(TableFactor::Derived { alias: Some(alias), .. }) if alias.name.value == ROWS_NAME
    )
}

fn is_row(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_row(inner),
        Expr::Tuple(_) => true,
        _ => false,
    }
}

/// Puts the left side and the subquery in the places of their names.
fn fill(template: &mut Expr, left: &Expr, query: &Query) {
    struct Fill<'e> {
        left: &'e Expr,
        rows: TableFactor,
    }

    impl VisitorMut for Fill<'_> {
        type Break = std::convert::Infallible;

        fn post_visit_table_factor(
            &mut self,
            factor: &mut TableFactor,
        ) -> ControlFlow<Self::Break> {
            if matches!(factor, TableFactor::Table { .. }) {
                *factor = self.rows.clone();
            }
            ControlFlow::Continue(())
        }

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
            if matches!(expr, Expr::Identifier(name) if name.value == LEFT) {
                *expr = self.left.clone();
            }
            ControlFlow::Continue(())
        }
    }

    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(ROWS);
    let mut rows =
        parser.and_then(|mut parser| parser.parse_table_factor()).expect("rows of the program");
    if let TableFactor::Derived { subquery, .. } = &mut rows {
        **subquery = query.clone();
    }
    let ControlFlow::Continue(()) = VisitMut::visit(template, &mut Fill { left, rows });
}

fn parsed(text: &str) -> Expr {
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text);
    parser.and_then(|mut parser| parser.parse_expr()).expect("an expression of the program")
}

fn take(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, Expr::value(Value::Null))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let mut parsed = Parser::parse_sql(&PostgreSqlDialect {}, text).expect("a statement");
        rewrite(&mut parsed[0]).expect("few conditions");
        parsed[0].to_string()
    }

    #[test]
    fn conditions_that_a_join_answers_stay() {
        for (text, expected) in [
            ("a IN (SELECT b FROM u)", "a IN (SELECT b FROM u)"),
            ("a = ANY (SELECT b FROM u) AND x", "a IN (SELECT b FROM u) AND x"),
            ("a = SOME (SELECT b FROM u) OR x", "a IN (SELECT b FROM u) OR x"),
            ("a NOT IN (SELECT b FROM u)", "a NOT IN (SELECT b FROM u)"),
            ("a <> ALL (SELECT b FROM u)", "a NOT IN (SELECT b FROM u)"),
            ("NOT (a IN (SELECT b FROM u)) AND x", "a NOT IN (SELECT b FROM u) AND x"),
            ("a = ANY (ARRAY[1, 2])", "a IN (1, 2)"),
            ("a <> ALL (ARRAY[1, 2])", "a NOT IN (1, 2)"),
            ("a < ANY (ARRAY[1, 2])", "a < ANY(ARRAY[1, 2])"),
            ("a = ANY (ARRAY[])", "a = ANY(ARRAY[])"),
        ] {
            let statement = format!("SELECT 1 FROM t WHERE {text}");
            assert_eq!(written(&statement), format!("SELECT 1 FROM t WHERE {expected}"));
        }
    }

    #[test]
    fn values_that_may_be_null_are_cases() {
        for text in [
            "SELECT a IN (SELECT b FROM u) FROM t",
            "SELECT 1 FROM t WHERE a NOT IN (SELECT b FROM u) OR x",
            "SELECT 1 FROM t WHERE (a IN (SELECT b FROM u)) IS NULL",
            "SELECT 1 FROM t WHERE NOT (a IN (SELECT b FROM u) AND x)",
            "SELECT 1 FROM t ORDER BY a IN (SELECT b FROM u)",
        ] {
            assert!(written(text).contains("CASE WHEN (a) IS NULL"), "{text}");
        }
        let other = written("SELECT 1 FROM t WHERE a > ALL (SELECT b FROM t)");
        assert!(other.contains("> ALL(SELECT * FROM (SELECT b FROM t) AS"), "{other}");
        assert!(
            written("SELECT a > ALL (SELECT b FROM t) FROM t").contains("FROM (SELECT b FROM t)")
        );
        // Each of nested queries is of its own.
        let nested =
            written("SELECT 1 FROM t WHERE a IN (SELECT b FROM u WHERE b NOT IN (SELECT 1))");
        assert!(!nested.contains("CASE"), "{nested}");
    }

    #[test]
    fn number_of_cases_has_a_limit() {
        let text = format!("SELECT {}1{}", "1 IN (SELECT ".repeat(10), ")".repeat(10));
        let mut parsed = Parser::parse_sql(&PostgreSqlDialect {}, &text).expect("a statement");
        let error = rewrite(&mut parsed[0]).expect_err("each has the next three times");
        assert_eq!(error.state, SqlState::LimitExceeded);
    }
}
