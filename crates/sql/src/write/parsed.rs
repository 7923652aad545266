//! Parts of parsed statements: queries that are filled in, names as the catalog spells them, and
//! what an expression depends on.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::{
    self, Ident, ObjectName, Query, SelectItem, SetExpr, Statement, TableFactor, TableWithJoins,
    Visit, Visitor,
};

use super::syntax::parse_tokens;
use crate::catalog::HaliteCatalog;
use crate::catalog::shape::Pseudo;
use crate::error::{Result, SqlError, SqlState};
use crate::names;
use crate::parse::parse_query;

/// Returns a query without clauses, to be filled in.
pub(super) fn empty_select() -> Result<Box<Query>> {
    parsed_select("SELECT 1")
}

/// Parses a query of ours.
pub(super) fn parsed_select(text: &str) -> Result<Box<Query>> {
    match parse_query(parse_tokens(text)?)? {
        DfStatement::Statement(statement) => match *statement {
            Statement::Query(query) => Ok(query),
            _ => Err(internal()),
        },
        _ => Err(internal()),
    }
}

fn internal() -> SqlError {
    SqlError::new(SqlState::Internal, "a query of the program could not be read; please report it")
}

/// Returns a table of FROM.
pub(super) fn table_factor(name: &[Ident], alias: &Ident) -> Result<TableWithJoins> {
    let mut query = parsed_select("SELECT 1 FROM t AS a")?;
    let mut table = select_of(&mut query)?.from.pop().ok_or_else(internal)?;
    if let TableFactor::Table { name: of, alias: Some(of_alias), .. } = &mut table.relation {
        *of = ObjectName::from(name.to_vec());
        of_alias.name = alias.clone();
    }
    Ok(table)
}

/// Returns the SELECT of such a query.
pub(super) fn select_of(query: &mut Query) -> Result<&mut ast::Select> {
    match query.body.as_mut() {
        SetExpr::Select(select) => Ok(select),
        _ => Err(internal()),
    }
}

/// Returns items with their names as the catalog spells them, and the pseudo-columns among them.
pub(super) async fn with_names(
    catalog: &HaliteCatalog,
    items: Vec<SelectItem>,
    from: Vec<TableWithJoins>,
) -> Result<(Vec<SelectItem>, BTreeSet<Pseudo>)> {
    let mut query = empty_select()?;
    let select = select_of(&mut query)?;
    (select.projection, select.from) = (items, from);
    let mut statement = DfStatement::Statement(Box::new(Statement::Query(query)));
    let pseudo = names::rewrite(catalog, &mut statement).await?.pseudo;
    let DfStatement::Statement(statement) = statement else { return Err(internal()) };
    let Statement::Query(mut query) = *statement else { return Err(internal()) };
    Ok((std::mem::take(&mut select_of(&mut query)?.projection), pseudo))
}

/// Returns expressions with their names as the catalog spells them.
pub(super) async fn named(
    catalog: &HaliteCatalog,
    exprs: Vec<ast::Expr>,
    from: Vec<TableWithJoins>,
) -> Result<Vec<ast::Expr>> {
    if exprs.is_empty() {
        return Ok(exprs);
    }
    let items = exprs.into_iter().map(SelectItem::UnnamedExpr).collect();
    let (items, pseudo) = with_names(catalog, items, from).await?;
    if let Some(pseudo) = pseudo.first() {
        let text = format!("{} has no value here; name columns", pseudo.name());
        return Err(SqlError::unsupported(text));
    }
    items
        .into_iter()
        .map(|item| match item {
            // Equal ones were given names.
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Ok(expr),
            _ => Err(internal()),
        })
        .collect()
}

/// Returns `true` if an expression depends on no row: it names no column and has no query.
pub(super) fn is_constant(expr: &ast::Expr) -> bool {
    struct Rows;
    impl Visitor for Rows {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }

        fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
            match expr {
                ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    Visit::visit(expr, &mut Rows).is_continue()
}

/// What Names has of `cell_ts`, which is no name of a column.
pub(super) const CELL_TS_CALL: &str = "cell_ts()";

/// Names in expressions, in lower case: columns, and what qualifies them.
#[derive(Default)]
pub(super) struct Names(pub(super) BTreeSet<String>);

impl Names {
    /// Adds the names of a part of a statement.
    pub(super) fn add(&mut self, part: &impl Visit) {
        let _ = Visit::visit(part, self);
    }
}

impl Visitor for Names {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        match expr {
            ast::Expr::Identifier(ident) => {
                self.0.insert(ident.value.to_lowercase());
            }
            ast::Expr::CompoundIdentifier(parts) => {
                self.0.extend(parts.iter().map(|part| part.value.to_lowercase()));
            }
            ast::Expr::Function(function)
                if function.name.to_string().eq_ignore_ascii_case("cell_ts") =>
            {
                self.0.insert(CELL_TS_CALL.to_owned());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Returns `true` if an expression contains a query.
pub(super) fn has_query<'e>(mut exprs: impl Iterator<Item = &'e ast::Expr>) -> bool {
    struct Queries;
    impl Visitor for Queries {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    exprs.any(|expr| Visit::visit(expr, &mut Queries).is_break())
}
