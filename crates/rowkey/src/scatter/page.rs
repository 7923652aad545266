//! Page of a query: its rows, and where the next page begins.

use std::sync::Arc;

use halite_types::{Error, Result, Row, Scan, Table};

use super::{PageToken, Scatter, ScatterOptions};
use crate::plan::Plan;

/// Rows that a page is expected to have at most, for the first allocation.
const EXPECTED_ROWS: usize = 1024;

/// Page of a query.
///
/// Its token says after which row the next page begins, and not how many rows are before: rows that
/// others write or delete between two pages neither repeat a row nor hide one, and the last page
/// costs as much as the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T = Row> {
    /// Rows in the order of the query, or what [`Self::try_map`] made of them.
    pub items: Vec<T>,
    /// Token for the next page; `None` if this one is not full, so that none follows.
    pub next: Option<PageToken>,
    /// Rows that the table returned for it.
    pub examined: u64,
}

impl Page {
    /// Reads the page after the one that ended at `after`; the limit of the plan's query is its
    /// maximum number of rows. Columns, versions, times and filter are those of `template`.
    ///
    /// # Errors
    /// `InvalidRequest` for a query without a limit, or with a limit of 0, and for a token of
    /// another query or table; otherwise as [`Scatter::new`] and [`Scatter::next`].
    pub async fn read(
        table: Arc<dyn Table>,
        plan: Arc<Plan>,
        template: Scan,
        options: &ScatterOptions,
        after: Option<&PageToken>,
    ) -> Result<Self> {
        let limit = plan.query().limit.filter(|limit| *limit > 0).ok_or_else(|| {
            Error::invalid(format!(
                "table {}: a page has a limit; set the limit of the query, at least 1",
                table.name()
            ))
        })?;
        let mut scatter = Scatter::new(table, plan, template, options, after)?;
        let mut items = Vec::with_capacity(limit.min(EXPECTED_ROWS));
        while let Some(row) = scatter.next().await? {
            items.push(row);
        }
        let next = items.last().filter(|_| items.len() >= limit).map(|row| scatter.token_of(row));
        Ok(Self { items, next, examined: scatter.examined() })
    }
}

impl<T> Page<T> {
    /// Converts the items.
    ///
    /// # Errors
    /// The first error of `convert`.
    pub fn try_map<U, E>(
        self,
        convert: impl FnMut(T) -> std::result::Result<U, E>,
    ) -> std::result::Result<Page<U>, E> {
        let items = self.items.into_iter().map(convert).collect::<std::result::Result<_, E>>()?;
        Ok(Page { items, next: self.next, examined: self.examined })
    }
}
