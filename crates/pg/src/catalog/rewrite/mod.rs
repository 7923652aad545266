//! Forms of queries that clients of PostgreSQL send and DataFusion does not plan.
//!
//! `forms.rs` brings casts, operators and functions into forms that it plans, `lookups.rs` reads
//! functions such as `pg_get_indexdef` as queries of the tables that have the answer, `stars.rs` names
//! the columns that a `*` is, and `nothing.rs` reads a query of a table that never has rows as one without rows, so that what it
//! asks of them need not be known.

mod forms;
mod lookups;
mod nothing;
mod stars;

use std::ops::ControlFlow;

use halite_sql::datafusion::sql::sqlparser::ast::{
    Expr, Query, Statement, TableFactor, Visit, VisitMut as _, Visitor, VisitorMut,
};
use halite_sql::{Result, SqlError};

use super::columns::catalog_table;

/// Changes a query of a client.
///
/// # Errors
/// `0A000` for an order of text that there is not; the planner says what else cannot be.
pub(super) fn rewrite(statement: &mut Statement) -> Result<(), SqlError> {
    if let Statement::Query(query) = statement {
        let _ = query.visit(&mut Stars);
        let _ = query.visit(&mut Nothing);
        let reads_catalog = reads_catalog(query);
        if let ControlFlow::Break(error) = query.visit(&mut Forms { reads_catalog }) {
            return Err(error);
        }
    }
    Ok(())
}

/// Returns `true` if a query reads a table of the catalog.
fn reads_catalog(query: &Query) -> bool {
    struct Relations(bool);
    impl Visitor for Relations {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            if let TableFactor::Table { name, .. } = factor {
                self.0 |= catalog_table(name).is_some();
            }
            ControlFlow::Continue(())
        }
    }
    let mut relations = Relations(false);
    let _ = Visit::visit(query, &mut relations);
    relations.0
}

/// Names the columns of tables of the catalog.
struct Stars;

impl VisitorMut for Stars {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        stars::expand(query);
        ControlFlow::Continue(())
    }
}

/// Reads queries of tables without rows.
struct Nothing;

impl VisitorMut for Nothing {
    type Break = ();

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        nothing::simplify_query(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        nothing::simplify_expr(expr);
        ControlFlow::Continue(())
    }
}

/// Brings expressions into other forms.
struct Forms {
    reads_catalog: bool,
}

impl VisitorMut for Forms {
    type Break = SqlError;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        forms::change_table(factor);
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        lookups::change_table(factor);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        if let Some(error) = forms::collation_error(expr) {
            return ControlFlow::Break(error);
        }
        forms::change(expr);
        lookups::change(expr);
        if self.reads_catalog {
            forms::at_most_one(expr);
        }
        ControlFlow::Continue(())
    }
}
