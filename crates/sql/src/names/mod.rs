//! Names of a statement as the catalog spells them.
//!
//! A name without quotes means what is called exactly so, or else the only thing that is called so
//! ignoring case. `tables.rs` finds the tables of a statement, `scope.rs` tells its common table
//! expressions from them, `columns.rs` rewrites its names,
//! `wildcard.rs` leaves pseudo-columns out of `*`, `entries.rs` finds entries of a `MAP`, and `forms.rs` brings forms of PostgreSQL into those
//! that are planned.

mod cells;
mod columns;
mod entries;
mod forms;
mod scope;
mod tables;
mod wildcard;

use std::collections::{BTreeMap, BTreeSet};

use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::Statement;

use crate::catalog::HaliteCatalog;
use crate::catalog::provider::HaliteTable;
use crate::catalog::shape::Pseudo;
use crate::error::{Result, SqlError, SqlState};
use crate::types::map_entry::MapEntry;

pub(crate) use cells::{CELLS, cells_argument};
pub(crate) use forms::{AGAIN, with_plain_names};
pub(crate) use tables::resolve;

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

/// Returns the name among `known` that an unquoted name means; `None` if it is none of them.
///
/// # Errors
/// `Ambiguous`.
pub(crate) fn by_case<'k>(
    name: &str,
    known: impl Iterator<Item = &'k str>,
) -> Result<Option<&'k str>> {
    let mut similar: Vec<&str> = Vec::new();
    for other in known {
        if other == name {
            return Ok(Some(other));
        }
        if other.to_lowercase() == name.to_lowercase() && !similar.contains(&other) {
            similar.push(other);
        }
    }
    match similar.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        several => Err(SqlError::new(
            SqlState::Ambiguous,
            format!(
                "{name} may be {}; write the one that is meant in double quotes",
                several.join(" or ")
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_the_exact_or_else_the_only_similar_one() {
        let known = ["Name", "name", "Other"];
        assert_eq!(by_case("name", known.into_iter()).unwrap(), Some("name"));
        assert_eq!(by_case("OTHER", known.into_iter()).unwrap(), Some("Other"));
        assert_eq!(by_case("more", known.into_iter()).unwrap(), None);
        let error = by_case("NAME", known.into_iter()).unwrap_err();
        assert_eq!(error.state, SqlState::Ambiguous);
        assert!(error.message.contains("Name or name"), "{error}");
    }
}
