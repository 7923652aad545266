//! `halite_ranges('SELECT ..')`: the ranges that a query would read, as a table.

use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::execution::session_state::SessionState;
use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::{TableFactor, Visit, Visitor};

use super::overflow::checked_plan;
use super::parameters;
use super::planner;
use super::statement::StatementContext;
use crate::catalog::HaliteCatalog;
use crate::error::{Result, SqlError, SqlState};
use crate::explain;
use crate::names::{RANGES, RangeTables, ranges_argument};
use crate::parse::{Kind, kind_of, tokens_of};

/// Plans the queries of all calls of a statement. Nothing of them is run.
///
/// # Errors
/// What is wrong with one of the queries.
pub(super) fn tables<'a>(
    state: &'a SessionState,
    catalog: &'a HaliteCatalog,
    statement: &'a DfStatement,
) -> Pin<Box<dyn Future<Output = Result<RangeTables>> + Send + 'a>> {
    Box::pin(async move {
        let mut calls = Calls::default();
        if let DfStatement::Statement(statement) = statement
            && let ControlFlow::Break(error) = Visit::visit(statement.as_ref(), &mut calls)
        {
            return Err(error);
        }
        let mut tables = RangeTables::new();
        for text in calls.queries {
            let table = table(state, catalog, &text).await.map_err(|error| SqlError {
                message: format!("{RANGES}: {}", error.message),
                // The place is one in the text of that query.
                position: None,
                ..error
            })?;
            tables.insert(text, table);
        }
        Ok(tables)
    })
}

async fn table(
    state: &SessionState,
    catalog: &HaliteCatalog,
    text: &str,
) -> Result<Arc<dyn TableProvider>> {
    let Kind::Query(tokens) = kind_of(tokens_of(text)?)? else {
        return Err(SqlError::new(SqlState::Syntax, "its text is no SELECT"));
    };
    let mut state = state.clone();
    // Notices are those of the statement, and not of what it asks about.
    let known = state.config().get_extension::<StatementContext>().unwrap_or_default();
    let of_query = Arc::new(StatementContext::new(known.settings.clone()));
    state.config_mut().set_extension(of_query);
    let logical = planner::logical(&mut state, catalog, tokens, None).await?;
    let logical = checked_plan(&state, parameters::bound(logical, Vec::new())?)?;
    let logical = state.optimize(&logical)?;
    let physical = state.query_planner().create_physical_plan(&logical, &state).await?;
    let batch = explain::ranges(physical.as_ref())?;
    Ok(Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]])?))
}

/// Calls of a statement.
#[derive(Default)]
struct Calls {
    queries: Vec<String>,
}

impl Visitor for Calls {
    type Break = SqlError;

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<SqlError> {
        if let TableFactor::Table { name, args: Some(args), .. } = factor {
            match ranges_argument(name, args) {
                Ok(text) => self.queries.extend(text),
                Err(error) => return ControlFlow::Break(error),
            }
        }
        ControlFlow::Continue(())
    }
}
