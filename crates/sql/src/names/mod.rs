//! Names of a statement as the catalog spells them.
//!
//! A name without quotes means what is called exactly so, or else the only thing that is called so
//! ignoring case. `views.rs` puts the queries of views in their places, `tables.rs` finds the tables
//! of a statement, `scope.rs` tells its common table
//! expressions from them, `columns.rs` rewrites its names. `dynamic.rs` and `extras.rs` find columns
//! that the statement makes of cells, which belong to the table with their mark (`marks.rs`).
//! `wildcard.rs` leaves those, and pseudo-columns, out of `*`, and `forms.rs` brings forms of
//! PostgreSQL into those that are planned, `row_values.rs` row values, `time_patterns.rs` those of `to_char`, `subqueries.rs` IN, ANY and
//! ALL, `balanced.rs` long chains of conditions into trees. `ranges.rs` finds `halite_ranges`.

mod balanced;
mod by_case;
mod cells;
mod columns;
mod dynamic;
mod extras;
mod forms;
mod marks;
mod ranges;
mod row_values;
mod scope;
mod subqueries;
mod tables;
mod time_patterns;
mod views;
mod wildcard;

use std::collections::{BTreeMap, BTreeSet};

use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::Statement;

use crate::catalog::HaliteCatalog;
use crate::catalog::provider::HaliteTable;
use crate::catalog::shape::Pseudo;
use crate::error::{Result, SqlError};

pub(crate) use by_case::by_case;
pub(crate) use cells::{CELLS, cells_argument};
pub(crate) use forms::{AGAIN, empty_query, with_plain_names};
pub(crate) use marks::{TableColumns, is_mark};
pub(crate) use ranges::{RANGES, RangeTables, ranges_argument};
pub(crate) use tables::resolve;
pub(crate) use views::query_of_view;

/// What the names of a query mean besides tables and their columns.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// Pseudo-columns.
    pub(crate) pseudo: BTreeSet<Pseudo>,
    /// Columns that the statement makes of cells of its tables.
    pub(crate) columns: TableColumns,
    /// Tables of `cells(t)`, by the text of their names.
    pub(crate) cells: BTreeMap<String, HaliteTable>,
    /// Common table expressions. A name of FROM without a schema that is among them means one.
    pub(crate) ctes: BTreeSet<String>,
}

/// Rewrites the names of a query, and makes columns of the cells that it names.
///
/// # Errors
/// As [`rewrite`]; a column of a statement that is none.
pub(crate) async fn rewrite_query(
    catalog: &HaliteCatalog,
    statement: &mut DfStatement,
) -> Result<Named> {
    rewrite_names(catalog, statement, true).await
}

/// Rewrites the names of expressions of a statement that writes, which have the columns of its
/// table.
///
/// # Errors
/// `Ambiguous` for a name that fits several things by case; tables that do not exist.
pub(crate) async fn rewrite(catalog: &HaliteCatalog, statement: &mut DfStatement) -> Result<Named> {
    rewrite_names(catalog, statement, false).await
}

async fn rewrite_names(
    catalog: &HaliteCatalog,
    statement: &mut DfStatement,
    reads: bool,
) -> Result<Named> {
    let DfStatement::Statement(inner) = statement else {
        return Err(SqlError::unsupported("this statement is none of this dialect"));
    };
    let statement: &mut Statement = inner.as_mut();
    views::expand(catalog, statement)?;
    subqueries::rewrite(statement)?;
    forms::rewrite(statement)?;
    balanced::rewrite(statement);
    let mut found = tables::rewrite(catalog, statement).await?;
    let mut columns = TableColumns::default();
    dynamic::rewrite(statement, &mut found, &mut columns)?;
    let pseudo = columns::rewrite(statement, &found)?;
    forms::name_casts(statement);
    if reads {
        extras::rewrite(statement, &found, &mut columns)?;
    } else {
        extras::without_cells(statement)?;
    }
    if !pseudo.is_empty() || columns.extras().next().is_some() {
        wildcard::rewrite(statement, &found, &pseudo, &columns)?;
    }
    let ctes = found.ctes.into_iter().collect();
    Ok(Named { pseudo, columns, cells: found.cells, ctes })
}
