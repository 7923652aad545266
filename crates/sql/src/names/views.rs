//! Views of the session: a query has their queries in their place.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, ObjectNamePart, Query, Statement, TableAlias, TableAliasColumnDef,
    TableFactor, Visit, VisitMut, Visitor, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::{Span, TokenWithSpan};

use super::cells::{cells_argument, set_argument};
use super::scope::Scope;
use super::tables::{TablePath, flow, idents, resolve};
use crate::catalog::local::{Object, PG_TEMP, TextSize, View};
use crate::catalog::{HaliteCatalog, PG_CATALOG};
use crate::error::{Result, SqlError, SqlState};
use crate::parse::{check_expanded, parse_query};

/// Tables of the views that a statement reads, and these.
const MAX_TABLES: usize = 256;
/// Words and signs of the views that a statement reads, each as often as it is read.
const MAX_TOKENS: usize = 100_000;
/// Bytes of these.
const MAX_BYTES: usize = 1 << 20;
/// Views of which each is read by the one before it.
const MAX_DEPTH: usize = 32;

/// Puts the queries of views in their places.
///
/// # Errors
/// `LimitExceeded` for views of too many tables, or that read each other, and for a statement that
/// would be too large a text with their queries; what follows the name of a view and is only of
/// tables.
pub(super) fn expand(catalog: &HaliteCatalog, statement: &mut Statement) -> Result<()> {
    if catalog.local.is_empty() {
        return Ok(());
    }
    let mut expand = Expand {
        catalog,
        scope: Scope::default(),
        around: Vec::new(),
        depth: 0,
        tables: 0,
        size: TextSize::default(),
    };
    if let ControlFlow::Break(error) = VisitMut::visit(statement, &mut expand) {
        return Err(error);
    }
    if expand.size.tokens > 0 { check_expanded(statement) } else { Ok(()) }
}

struct Expand<'c> {
    catalog: &'c HaliteCatalog,
    scope: Scope,
    /// Tables of FROM around the place that is visited: `true` for those that were views.
    around: Vec<bool>,
    /// How many of them were views.
    depth: usize,
    tables: usize,
    /// Queries that were put in their places.
    size: TextSize,
}

impl Expand<'_> {
    /// Checks that one more view, or a table of one, may be read. Nothing of it is copied before.
    fn count(&mut self, view: Option<&View>) -> Result<()> {
        let exceeded = |text: &str| Err(SqlError::new(SqlState::LimitExceeded, text));
        if view.is_some() || self.depth > 0 {
            self.tables += 1;
        }
        if self.tables > MAX_TABLES || view.is_some() && self.depth == MAX_DEPTH {
            return exceeded(
                "the views of this statement read over 256 tables, over 32 views through one \
                 another, or each other",
            );
        }
        if let Some(view) = view {
            self.size.add(view.size);
        }
        if self.size.tokens > MAX_TOKENS || self.size.bytes > MAX_BYTES {
            return exceeded(
                "the queries of the views of this statement have over 100,000 words and signs or \
                 over 1 MiB: read fewer of them, or write some into a table first",
            );
        }
        Ok(())
    }

    /// Puts the query of a view in its place. Returns `true` if it was one.
    fn expand(&mut self, factor: &mut TableFactor) -> Result<bool> {
        let TableFactor::Table { name, args: None, .. } = factor else { return Ok(false) };
        if self.scope.cte(name)?.is_some() {
            return Ok(false);
        }
        let found = self.view(&idents(name)?)?;
        self.count(found.as_ref().map(|(_, view)| view.as_ref()))?;
        let Some((name, view)) = found else { return Ok(false) };
        let TableFactor::Table { alias, with_hints, version, sample, .. } = factor else {
            return Ok(false);
        };
        if !with_hints.is_empty() || version.is_some() || sample.is_some() {
            let text = format!(
                "{} is a view, so it has no VERSIONS, no earlier state and no sample: write them \
                 behind the tables in its query",
                name.value
            );
            let error = SqlError::unsupported(text);
            return Err(error.at(name.span.start.line, name.span.start.column));
        }
        let mut alias = alias.take().unwrap_or_else(|| TableAlias {
            explicit: true,
            name: Ident::with_quote('"', &name.value),
            columns: Vec::new(),
            at: None,
        });
        if alias.columns.is_empty() {
            let column = |name: &Ident| TableAliasColumnDef { name: name.clone(), data_type: None };
            alias.columns = view.columns.iter().map(column).collect();
        }
        let subquery = view.query.clone();
        *factor =
            TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None };
        Ok(true)
    }

    /// Returns the view that a name means, and the name as it was created.
    fn view(&self, parts: &[Ident]) -> Result<Option<(Ident, std::sync::Arc<View>)>> {
        let Some(found) = self.catalog.local_name(parts)? else { return Ok(None) };
        let span = parts.first().map_or_else(Span::empty, |part| part.span);
        Ok(match self.catalog.local.get(&found) {
            Some(Object::View(view)) => {
                Some((Ident { value: found, quote_style: Some('"'), span }, view))
            }
            _ => None,
        })
    }
}

impl VisitorMut for Expand<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        flow(self.scope.enter(query))
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<SqlError> {
        self.scope.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        match self.expand(factor) {
            Ok(is_view) => {
                self.around.push(is_view);
                self.depth += usize::from(is_view);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn post_visit_table_factor(&mut self, _: &mut TableFactor) -> ControlFlow<SqlError> {
        let was_view = self.around.pop().unwrap_or_default();
        self.depth -= usize::from(was_view);
        ControlFlow::Continue(())
    }
}

/// Returns the query of a view: its tables are named with their schemas, so that they mean the same
/// wherever it is read, and its words have no places, which would be those of another text.
/// `rewrite` changes it before, as it does the query of a statement.
///
/// # Errors
/// As a query has them.
pub(crate) async fn query_of_view(
    catalog: &HaliteCatalog,
    tokens: Vec<TokenWithSpan>,
    rewrite: impl FnOnce(&mut Statement) -> Result<()>,
) -> Result<Box<Query>> {
    let unplaced = |token: TokenWithSpan| TokenWithSpan::new(token.token, Span::empty());
    let parsed = parse_query(tokens.into_iter().map(unplaced).collect())?;
    let DfStatement::Statement(mut statement) = parsed else {
        return Err(SqlError::unsupported("a view is of a query"));
    };
    rewrite(&mut statement)?;
    let mut names = Names::default();
    if let ControlFlow::Break(error) = Visit::visit(statement.as_ref(), &mut names) {
        return Err(error);
    }
    let mut paths = BTreeMap::new();
    for name in names.found {
        let path = resolve(catalog, &idents(&name)?).await?;
        paths.insert(name.to_string(), path);
    }
    let mut qualify = Qualify { paths: &paths, scope: Scope::default() };
    if let ControlFlow::Break(error) = VisitMut::visit(statement.as_mut(), &mut qualify) {
        return Err(error);
    }
    match *statement {
        Statement::Query(query) => Ok(query),
        _ => Err(SqlError::unsupported("a view is of a query: SELECT, VALUES or WITH")),
    }
}

/// Names of one part that mean tables.
#[derive(Default)]
struct Names {
    scope: Scope,
    found: Vec<ObjectName>,
}

impl Visitor for Names {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<SqlError> {
        flow(self.scope.enter(query))
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<SqlError> {
        self.scope.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<SqlError> {
        let TableFactor::Table { name, args, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let read = match args {
            None => Some(name.clone()),
            Some(args) => cells_argument(name, args),
        };
        let Some(read) = read.filter(|name| name.0.len() == 1) else {
            return ControlFlow::Continue(());
        };
        match self.scope.cte(&read) {
            Ok(Some(_)) => ControlFlow::Continue(()),
            Ok(None) => {
                self.found.push(read);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// Names tables with their schemas.
struct Qualify<'p> {
    paths: &'p BTreeMap<String, TablePath>,
    scope: Scope,
}

impl Qualify<'_> {
    fn whole(&self, name: &ObjectName) -> Result<Option<ObjectName>> {
        if name.0.len() != 1 || self.scope.cte(name)?.is_some() {
            return Ok(None);
        }
        let Some(path) = self.paths.get(&name.to_string()) else { return Ok(None) };
        if path.schema == PG_CATALOG {
            return Ok(None);
        }
        let part = |text: &str| ObjectNamePart::Identifier(Ident::with_quote('"', text));
        Ok(Some(ObjectName(vec![part(&path.schema), part(&path.table)])))
    }

    fn qualify(&self, factor: &mut TableFactor) -> Result<()> {
        let TableFactor::Table { name, alias, args, .. } = factor else { return Ok(()) };
        if let Some(args) = args {
            if let Some(table) = cells_argument(name, args)
                && let Some(whole) = self.whole(&table)?
            {
                set_argument(args, &whole);
            }
            return Ok(());
        }
        let Some(whole) = self.whole(name)? else { return Ok(()) };
        if alias.is_none() {
            let written = name.0.first().and_then(|part| part.as_ident()).cloned();
            let written = written.unwrap_or_else(|| Ident::with_quote('"', PG_TEMP));
            *alias =
                Some(TableAlias { explicit: true, name: written, columns: Vec::new(), at: None });
        }
        *name = whole;
        Ok(())
    }
}

impl VisitorMut for Qualify<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        flow(self.scope.enter(query))
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<SqlError> {
        self.scope.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        flow(self.qualify(factor))
    }
}
