//! Parsed queries that are refused before they are planned: what DataFusion would drop without a
//! word, and what takes too long to plan.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::{
    Expr, Query, Select, SelectItem, SetExpr, Spanned as _, Statement, TableFactor, Visit, Visitor,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::ctes::Sizes;
use super::tokens::tokens_of;
use crate::error::{Result, SqlError, SqlState};

/// Tables of one FROM.
const MAX_TABLES: usize = 64;
/// Expressions of one SELECT.
const MAX_COLUMNS: usize = 1024;

/// Depth of subqueries in expressions. A plan is checked again for each of them with all that are
/// in it, so that the time doubles with each level.
const MAX_SUBQUERIES: usize = 10;

/// Checks a parsed statement.
///
/// # Errors
/// `NotSupported` for FOR UPDATE and FOR SHARE, `LimitExceeded` for too many tables or columns, and
/// for common table expressions that make too large a plan.
pub(super) fn check_statement(statement: &DfStatement) -> Result<()> {
    match statement {
        DfStatement::Statement(statement) => check_parsed(statement),
        _ => Ok(()),
    }
}

/// Checks a statement that has the queries of views in their places, as if it had been written so.
///
/// # Errors
/// As those of a text and of a parsed statement.
pub(crate) fn check_expanded(statement: &Statement) -> Result<()> {
    // Places would be those of a text that is nowhere.
    let of_views = |error: SqlError| SqlError {
        message: format!("with the queries of its views: {}", error.message),
        position: None,
        ..error
    };
    tokens_of(&statement.to_string()).map_err(of_views)?;
    check_parsed(statement).map_err(of_views)
}

fn check_parsed(statement: &Statement) -> Result<()> {
    if let ControlFlow::Break(error) = Visit::visit(statement, &mut Sizes::default()) {
        return Err(error);
    }
    match Visit::visit(statement, &mut Check { subqueries: 0 }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Check {
    /// Subqueries around the place that is visited.
    subqueries: usize,
}

fn is_subquery(expr: &Expr) -> bool {
    matches!(expr, Expr::Subquery(_) | Expr::InSubquery { .. } | Expr::Exists { .. })
}

/// Returns `true` for a query that selects nothing, as `SELECT FROM t`, or all of such a query.
fn has_no_columns(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => {
            let is_all = |item: &SelectItem| {
                matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
            };
            let is_empty = |table: &TableFactor| {
                let TableFactor::Derived { subquery, .. } = table else { return false };
                has_no_columns(&subquery.body)
            };
            let mut tables = select.from.iter().flat_map(|from| {
                std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
            });
            select.projection.iter().all(is_all)
                && (select.projection.is_empty() || tables.all(is_empty))
        }
        SetExpr::Query(query) => has_no_columns(&query.body),
        SetExpr::SetOperation { left, .. } => has_no_columns(left),
        _ => false,
    }
}

impl Visitor for Check {
    type Break = SqlError;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<SqlError> {
        self.subqueries += usize::from(is_subquery(expr));
        if self.subqueries > MAX_SUBQUERIES {
            let text = format!(
                "over {MAX_SUBQUERIES} subqueries are nested in one another; compute the inner ones \
                 in WITH"
            );
            let error = SqlError::new(SqlState::LimitExceeded, text);
            return ControlFlow::Break(placed(error, expr.span()));
        }
        // DataFusion panics when it names the column.
        if let Expr::Subquery(query) | Expr::InSubquery { subquery: query, .. } = expr
            && has_no_columns(&query.body)
        {
            let text = "a query that is a value, or that IN reads, has one column; this has none";
            let error = SqlError::new(SqlState::Syntax, text);
            return ControlFlow::Break(placed(error, query.span()));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<SqlError> {
        self.subqueries -= usize::from(is_subquery(expr));
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<SqlError> {
        let Some(lock) = query.locks.first() else { return ControlFlow::Continue(()) };
        let text = format!(
            "{lock} is not part of this dialect: rows are not locked; a condition of UPDATE or DELETE \
             holds when each row is written, so name in it what was read"
        );
        ControlFlow::Break(placed(SqlError::unsupported(text), query.span()))
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<SqlError> {
        let tables: usize = select.from.iter().map(|from| 1 + from.joins.len()).sum();
        let exceeded = |text: String| {
            let error = SqlError::new(SqlState::LimitExceeded, text);
            ControlFlow::Break(placed(error, select.span()))
        };
        if tables > MAX_TABLES {
            return exceeded(format!(
                "{tables} tables are joined, and the limit is {MAX_TABLES}; join some of them into a \
                 table first"
            ));
        }
        let columns = select.projection.len();
        if columns > MAX_COLUMNS {
            return exceeded(format!(
                "{columns} columns are selected, and the limit is {MAX_COLUMNS}; select them by \
                 several statements"
            ));
        }
        ControlFlow::Continue(())
    }
}

fn placed(error: SqlError, span: Span) -> SqlError {
    error.at(span.start.line, span.start.column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{parse_query, tokens_of};

    fn error(text: &str) -> SqlError {
        parse_query(tokens_of(text).expect("tokens")).expect_err(text)
    }

    fn list(number: usize, of: &str) -> String {
        vec![of; number].join(", ")
    }

    #[test]
    fn locks_are_refused_wherever_they_stand() {
        for text in [
            "SELECT k FROM t FOR UPDATE",
            "SELECT k FROM t FOR SHARE",
            "SELECT * FROM (SELECT k FROM t FOR UPDATE) AS t",
        ] {
            let error = error(text);
            assert_eq!(error.state, SqlState::NotSupported, "{error}");
            assert!(error.position.is_some(), "{error}");
        }
    }

    #[test]
    fn depth_of_subqueries_has_a_limit() {
        let nested = |depth| format!("SELECT {}1{}", "(SELECT ".repeat(depth), ")".repeat(depth));
        assert!(parse_query(tokens_of(&nested(10)).expect("tokens")).is_ok());
        assert_eq!(error(&nested(11)).state, SqlState::LimitExceeded);
        let tables =
            format!("SELECT 1 FROM {}t{}", "(SELECT * FROM ".repeat(30), ") AS t".repeat(30));
        assert!(parse_query(tokens_of(&tables).expect("tokens")).is_ok());
    }

    #[test]
    fn queries_as_values_have_a_column() {
        for text in [
            "SELECT (SELECT FROM t)",
            "SELECT 1 WHERE 1 IN (SELECT FROM t UNION SELECT FROM u)",
            "SELECT a = ANY (SELECT FROM t) FROM u",
            "SELECT (SELECT s.* FROM (SELECT FROM t) AS s JOIN (SELECT FROM u) AS r ON true)",
        ] {
            let error = error(text);
            assert_eq!(error.state, SqlState::Syntax, "{error}");
            assert!(error.position.is_some(), "{error}");
        }
        for text in [
            "SELECT FROM t",
            "SELECT 1 WHERE EXISTS (SELECT FROM t)",
            "SELECT (SELECT count(*) FROM (SELECT FROM t) AS s)",
            "SELECT (SELECT * FROM (SELECT FROM t) AS s, u)",
        ] {
            assert!(parse_query(tokens_of(text).expect("tokens")).is_ok(), "{text}");
        }
    }

    #[test]
    fn tables_and_columns_have_limits() {
        for text in [
            format!("SELECT 1 FROM {}", list(65, "t")),
            format!("SELECT 1 FROM t{}", " JOIN t USING (k)".repeat(64)),
            format!("SELECT {}", list(1025, "1")),
            format!("SELECT 1 WHERE 1 IN (SELECT {} FROM t)", list(1025, "1")),
        ] {
            let error = error(&text);
            assert_eq!(error.state, SqlState::LimitExceeded, "{error}");
            assert_eq!(error.position.map(|(line, _)| line), Some(1), "{error}");
        }
        let text = format!("SELECT {} FROM {}", list(1024, "1"), list(64, "t"));
        assert!(parse_query(tokens_of(&text).expect("tokens")).is_ok());
    }
}
