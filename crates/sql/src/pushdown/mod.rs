//! Conditions of a statement as conditions on the fields of the key, and as HBase's filters.
//!
//! `comparison.rs` reduces an expression to comparisons of one column with constants, `times.rs`
//! those of parts of a time. `keys.rs` turns those on fields into the conditions of
//! [`KeyQuery`](halite_rowkey::KeyQuery), of which one of several may have to hold, `filters.rs`
//! those on cells, with the patterns of `patterns.rs`, into a [`Filter`](halite_types::Filter). Each
//! says whether the rows that it leaves are exactly those of the expression; where not, DataFusion
//! checks them again.

pub(crate) mod comparison;
pub(crate) mod filters;
pub(crate) mod keys;
mod patterns;
mod times;

use datafusion::logical_expr::Expr;
use halite_rowkey::plan::{AnyOf, Condition};
use halite_types::Filter;

use crate::catalog::shape::TableShape;
use crate::scan::history::History;

/// What a scan does about one condition of a statement.
#[derive(Debug, Default)]
pub(crate) struct Pushed {
    /// Conditions on fields of the key, all of which hold for the rows of the expression.
    pub(crate) conditions: Vec<Condition>,
    /// Conditions on fields of which those of one term hold for each row of the expression.
    pub(crate) any_of: Option<AnyOf>,
    /// Filter that includes all rows of the expression.
    pub(crate) filter: Option<Filter>,
    /// Columns that the filter tests, by position.
    pub(crate) tested: Vec<usize>,
    /// Columns of cells that every row of the expression has, by position.
    pub(crate) present: Vec<usize>,
    /// `true` if these are exactly the rows of the expression.
    pub(crate) is_exact: bool,
}

impl Pushed {
    /// Returns `true` if it narrows the key.
    pub(crate) fn is_of_key(&self) -> bool {
        !self.conditions.is_empty() || self.any_of.is_some()
    }
}

/// Returns what a scan can do about a condition. A filter of the server compares the newest cells
/// only, so there is none where older versions are read too.
pub(crate) fn push(shape: &TableShape, history: History, condition: &Expr) -> Pushed {
    if let Some(found) = keys::conditions(shape, condition) {
        let mut terms = found.terms;
        let is_exact = found.is_exact;
        if terms.len() == 1 {
            let conditions = terms.pop().unwrap_or_default();
            return Pushed { conditions, is_exact, ..Pushed::default() };
        }
        return Pushed { any_of: Some(AnyOf { terms }), is_exact, ..Pushed::default() };
    }
    if history.versions.is_some() {
        return Pushed::default();
    }
    match filters::filter(shape, condition) {
        Some(found) => Pushed {
            filter: Some(found.filter),
            tested: found.tested,
            present: found.present,
            is_exact: found.is_exact,
            ..Pushed::default()
        },
        None => Pushed::default(),
    }
}
