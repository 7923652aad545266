//! Common table expressions in scope, at each table of a statement that is visited.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, ObjectNamePart, Query, SetExpr, SetOperator, TableFactor, Visit, Visitor,
};

use super::by_case::by_case;
use crate::error::{Result, SqlError, SqlState};

/// Queries around the place that is visited, from the outermost.
#[derive(Default)]
pub(super) struct Scope {
    queries: Vec<Around>,
}

/// Query around the place.
struct Around {
    /// Names of its common table expressions.
    ctes: Vec<String>,
    /// Those whose queries have been visited; they are in front of all other parts.
    visited: usize,
    is_recursive: bool,
}

impl Scope {
    /// Enters a query before its parts are visited.
    ///
    /// # Errors
    /// `Syntax` and `NotSupported` for a recursive query that is not planned as it is written.
    pub(super) fn enter(&mut self, query: &Query) -> Result<()> {
        let mut around = Around { ctes: Vec::new(), visited: 0, is_recursive: false };
        if let Some(with) = &query.with {
            around.is_recursive = with.recursive;
            around.ctes = with.cte_tables.iter().map(|cte| cte.alias.name.value.clone()).collect();
        }
        check_recursive(query)?;
        self.queries.push(around);
        Ok(())
    }

    /// Leaves a query after its parts were visited.
    pub(super) fn leave(&mut self) {
        self.queries.pop();
        if let Some(around) = self.queries.last_mut()
            && around.visited < around.ctes.len()
        {
            around.visited += 1;
        }
    }

    /// Returns the common table expression that a name of FROM means here; `None` if it means a
    /// table of the catalog.
    ///
    /// # Errors
    /// `Ambiguous` for a name that fits several of one query by case.
    pub(super) fn cte(&self, name: &ObjectName) -> Result<Option<&str>> {
        let [ObjectNamePart::Identifier(ident)] = name.0.as_slice() else { return Ok(None) };
        for around in self.queries.iter().rev() {
            let known = if around.is_recursive { around.ctes.len() } else { around.visited };
            let mut names = around.ctes.iter().take(known).map(String::as_str);
            let found = match ident.quote_style {
                Some(_) => names.find(|known| *known == ident.value),
                None => by_case(&ident.value, names).map_err(|error| placed(error, ident))?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// Checks that the queries of WITH RECURSIVE read what they name: DataFusion reads a table of the
/// catalog where a query names itself in front of UNION or one that follows, and drops what is
/// around UNION.
fn check_recursive(query: &Query) -> Result<()> {
    let Some(with) = query.with.as_ref().filter(|with| with.recursive) else { return Ok(()) };
    for (at, cte) in with.cte_tables.iter().enumerate() {
        let (name, of) = (&cte.alias.name, cte.query.as_ref());
        if let Some(later) =
            with.cte_tables[at + 1..].iter().find(|later| reads(of, &later.alias.name))
        {
            let text = format!(
                "WITH RECURSIVE: {name} reads {}, which comes after it: write {} first",
                later.alias.name, later.alias.name
            );
            return Err(placed(SqlError::unsupported(text), name));
        }
        let is_itself = match of.body.as_ref() {
            SetExpr::SetOperation { op: SetOperator::Union, left, .. } => {
                let is_more = of.with.is_some()
                    || of.order_by.is_some()
                    || of.limit_clause.is_some()
                    || of.fetch.is_some();
                if is_more {
                    let text = format!(
                        "WITH, ORDER BY and LIMIT of the UNION of {name} are not part of this \
                         dialect: write them in one of its sides, or where {name} is read"
                    );
                    return Err(placed(SqlError::unsupported(text), name));
                }
                reads(left.as_ref(), name)
            }
            _ => reads(of, name),
        };
        if is_itself {
            let text = format!("WITH RECURSIVE: {name} reads itself, which it may behind UNION");
            return Err(placed(SqlError::new(SqlState::Syntax, text), name));
        }
    }
    Ok(())
}

/// Returns `true` if a part of a statement reads a table or common table expression of a name.
fn reads(part: &impl Visit, name: &Ident) -> bool {
    struct Reads<'n>(&'n Ident);
    impl Visitor for Reads<'_> {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            let TableFactor::Table { name, args: None, .. } = factor else {
                return ControlFlow::Continue(());
            };
            match name.0.as_slice() {
                [ObjectNamePart::Identifier(ident)] if means(ident, &self.0.value) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    Visit::visit(part, &mut Reads(name)).is_break()
}

fn means(ident: &Ident, name: &str) -> bool {
    match ident.quote_style {
        Some(_) => ident.value == name,
        None => ident.value.to_lowercase() == name.to_lowercase(),
    }
}

fn placed(error: SqlError, name: &Ident) -> SqlError {
    error.at(name.span.start.line, name.span.start.column)
}
