//! Size of a query with each common table expression in the place where it is read, as it is
//! planned: those that read one another, some of them twice, would make huge plans of short texts.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{ObjectNamePart, Query, Spanned as _, TableFactor, Visitor};

use crate::error::{SqlError, SqlState};

/// Queries of a statement, those of WITH as often as they are read.
const MAX_QUERIES: u64 = 500;

/// Common table expressions of one WITH.
const MAX_CTES: usize = 1000;

/// Queries around the place that is visited.
#[derive(Default)]
pub(super) struct Sizes {
    around: Vec<Around>,
}

struct Around {
    /// Names of its common table expressions, in lower case, and how many were visited.
    names: Vec<String>,
    visited: usize,
    /// Queries of each that was visited.
    sizes: HashMap<String, u64>,
    /// Queries of this one so far.
    size: u64,
}

impl Visitor for Sizes {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<SqlError> {
        let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
        let names: Vec<String> = ctes.map(|cte| cte.alias.name.value.to_lowercase()).collect();
        if names.len() > MAX_CTES {
            let text = format!(
                "WITH has {} queries, and the limit is {MAX_CTES}; write some of them into a table first",
                names.len()
            );
            return ControlFlow::Break(placed(SqlError::new(SqlState::LimitExceeded, text), query));
        }
        self.around.push(Around { names, visited: 0, sizes: HashMap::new(), size: 1 });
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<SqlError> {
        let TableFactor::Table { name, args: None, .. } = factor else {
            return ControlFlow::Continue(());
        };
        if let [ObjectNamePart::Identifier(ident)] = name.0.as_slice() {
            let name = ident.value.to_lowercase();
            let found =
                self.around.iter().rev().find_map(|around| around.sizes.get(&name)).copied();
            if let (Some(size), Some(around)) = (found, self.around.last_mut()) {
                around.size = around.size.saturating_add(size);
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<SqlError> {
        let Some(Around { size, .. }) = self.around.pop() else { return ControlFlow::Continue(()) };
        if size > MAX_QUERIES {
            let text = format!(
                "with the queries of WITH in the places where they are read, this is over \
                 {MAX_QUERIES} queries: write some of them into a table first"
            );
            return ControlFlow::Break(placed(SqlError::new(SqlState::LimitExceeded, text), query));
        }
        if let Some(around) = self.around.last_mut() {
            // The queries of WITH come in front of all other parts.
            if let Some(name) = around.names.get(around.visited) {
                around.sizes.insert(name.clone(), size);
                around.visited += 1;
            } else {
                around.size = around.size.saturating_add(size);
            }
        }
        ControlFlow::Continue(())
    }
}

fn placed(error: SqlError, query: &Query) -> SqlError {
    let at = query.span().start;
    error.at(at.line, at.column)
}

#[cfg(test)]
mod tests {
    use crate::error::{Result, SqlState};
    use crate::parse::{parse_query, tokens_of};

    fn parsed(text: &str) -> Result<()> {
        parse_query(tokens_of(text)?).map(drop)
    }

    fn chain(length: usize, from: impl Fn(usize) -> String) -> String {
        let ctes: Vec<String> =
            (1..length).map(|at| format!("q{at} AS (SELECT * FROM {})", from(at - 1))).collect();
        format!("WITH q0 AS (SELECT 1), {} SELECT * FROM q{}", ctes.join(", "), length - 1)
    }

    #[test]
    fn queries_count_as_often_as_they_are_read() {
        let once = |at| format!("q{at}");
        let twice = |at| format!("q{at} AS a, Q{at} AS b");
        assert!(parsed(&chain(400, once)).is_ok());
        assert!(parsed(&chain(7, twice)).is_ok());
        for text in [chain(600, once), chain(60, twice)] {
            let error = parsed(&text).expect_err("too large");
            assert_eq!(error.state, SqlState::LimitExceeded, "{error}");
            assert!(error.position.is_some(), "{error}");
        }
        // Those that nothing reads, and tables of their names, add nothing.
        let many: Vec<String> =
            (0..1000).map(|at| format!("q{at} AS (SELECT * FROM q{at})")).collect();
        assert!(parsed(&format!("WITH {} SELECT 1", many.join(", "))).is_ok());
        let error = parsed(&format!("WITH {}, one AS (SELECT 1) SELECT 1", many.join(", ")));
        assert_eq!(error.expect_err("over the limit").state, SqlState::LimitExceeded);
        let inner = "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 9) \
                     SELECT * FROM r, (SELECT * FROM r) AS s";
        assert!(parsed(inner).is_ok());
    }
}
