//! Names of a statement as the catalog spells them.
//!
//! A name without quotes means what is called exactly so, or else the only thing that is called so
//! ignoring case. `views.rs` puts the queries of views in their places, `tables.rs` finds the tables of a statement, `scope.rs` tells its common table
//! expressions from them, `columns.rs` rewrites its names,
//! `wildcard.rs` leaves pseudo-columns out of `*`, `entries.rs` finds entries of a `MAP`, and `forms.rs` brings forms of PostgreSQL into those
//! that are planned.

mod by_case;
mod cells;
mod columns;
mod entries;
mod forms;
mod scope;
mod tables;
mod views;
mod wildcard;

use std::collections::{BTreeMap, BTreeSet};

use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::Statement;

use crate::catalog::HaliteCatalog;
use crate::catalog::provider::HaliteTable;
use crate::catalog::shape::Pseudo;
use crate::error::{Result, SqlError};
use crate::types::map_entry::MapEntry;

pub(crate) use by_case::by_case;
pub(crate) use cells::{CELLS, cells_argument};
pub(crate) use forms::{AGAIN, with_plain_names};
pub(crate) use tables::resolve;
pub(crate) use views::query_of_view;

/// What the names of a query mean besides tables and their columns.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// Pseudo-columns.
    pub(crate) pseudo: BTreeSet<Pseudo>,
    /// Entries of `MAP` columns.
    pub(crate) entries: BTreeSet<MapEntry>,
    /// Tables of `cells(t)`, by the text of their names.
    pub(crate) cells: BTreeMap<String, HaliteTable>,
    /// Common table expressions. A name of FROM without a schema that is among them means one.
    pub(crate) ctes: BTreeSet<String>,
}

/// Rewrites the names of a query, and makes columns of the entries of a `MAP` that it names.
///
/// # Errors
/// As [`rewrite`].
pub(crate) async fn rewrite_query(
    catalog: &HaliteCatalog,
    statement: &mut DfStatement,
) -> Result<Named> {
    rewrite_names(catalog, statement, true).await
}

/// Rewrites the names of a query.
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
    forms::rewrite(statement)?;
    let found = tables::rewrite(catalog, statement).await?;
    let pseudo = columns::rewrite(statement, &found)?;
    if !pseudo.is_empty() {
        wildcard::rewrite(statement, &found, &pseudo)?;
    }
    let entries = if reads { entries::rewrite(statement, &found.maps) } else { BTreeSet::new() };
    let ctes = found.ctes.into_iter().collect();
    Ok(Named { pseudo, entries, cells: found.cells, ctes })
}
