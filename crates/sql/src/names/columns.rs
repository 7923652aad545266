//! Columns and functions of a statement.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, Query, Select,
    SelectItem, SelectItemQualifiedWildcardKind, Statement, TableAlias, TableFactor, Visit,
    VisitMut, Visitor, VisitorMut,
};

use super::by_case;
use super::tables::FoundTables;
use crate::catalog::shape::Pseudo;
use crate::error::{Result, SqlError};

/// Rewrites the names of columns and functions, and returns the pseudo-columns among them.
pub(super) fn rewrite(statement: &mut Statement, found: &FoundTables) -> Result<BTreeSet<Pseudo>> {
    let mut known: BTreeSet<String> = found.columns.iter().cloned().collect();
    known.extend(found.paths.values().map(|path| path.table.clone()));
    known.extend(found.ctes.iter().cloned());
    let mut aliases = Aliases { names: &mut known };
    let _ = Visit::visit(statement, &mut aliases);
    let mut rename = Rename { known: &known, pseudo: BTreeSet::new() };
    match VisitMut::visit(statement, &mut rename) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(rename.pseudo),
    }
}

/// Names that the statement itself gives.
struct Aliases<'n> {
    names: &'n mut BTreeSet<String>,
}

impl Aliases<'_> {
    fn add(&mut self, alias: &TableAlias) {
        self.names.insert(alias.name.value.clone());
        self.names.extend(alias.columns.iter().map(|column| column.name.value.clone()));
    }
}

impl Visitor for Aliases<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.add(&cte.alias);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            match item {
                SelectItem::ExprWithAlias { alias, .. } => {
                    self.names.insert(alias.value.clone());
                }
                SelectItem::ExprWithAliases { aliases, .. } => {
                    self.names.extend(aliases.iter().map(|alias| alias.value.clone()));
                }
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { alias: Some(alias), .. }
            | TableFactor::Derived { alias: Some(alias), .. }
            | TableFactor::TableFunction { alias: Some(alias), .. }
            | TableFactor::Function { alias: Some(alias), .. }
            | TableFactor::UNNEST { alias: Some(alias), .. }
            | TableFactor::NestedJoin { alias: Some(alias), .. } => self.add(alias),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

struct Rename<'n> {
    known: &'n BTreeSet<String>,
    pseudo: BTreeSet<Pseudo>,
}

impl Rename<'_> {
    fn rename(&mut self, ident: &mut Ident) -> ControlFlow<SqlError> {
        if self.known.contains(&ident.value) {
            return ControlFlow::Continue(());
        }
        let is_exact = ident.quote_style.is_some();
        let pseudo = Pseudo::ALL.into_iter().find(|pseudo| {
            pseudo.name() == ident.value
                || !is_exact && pseudo.name().eq_ignore_ascii_case(&ident.value)
        });
        if let Some(pseudo) = pseudo {
            pseudo.name().clone_into(&mut ident.value);
            self.pseudo.insert(pseudo);
            return ControlFlow::Continue(());
        }
        if is_exact {
            return ControlFlow::Continue(());
        }
        match by_case(&ident.value, self.known.iter().map(String::as_str)) {
            Ok(Some(name)) => {
                name.clone_into(&mut ident.value);
                ControlFlow::Continue(())
            }
            Ok(None) => ControlFlow::Continue(()),
            Err(error) => {
                ControlFlow::Break(error.at(ident.span.start.line, ident.span.start.column))
            }
        }
    }

    fn rename_all(&mut self, name: &mut ObjectName) -> ControlFlow<SqlError> {
        name.0.iter_mut().try_for_each(|part| match part {
            ObjectNamePart::Identifier(ident) => self.rename(ident),
            ObjectNamePart::Function(_) => ControlFlow::Continue(()),
        })
    }

    /// Renames the columns of USING.
    fn rename_join(&mut self, operator: &mut JoinOperator) -> ControlFlow<SqlError> {
        match constraint_of(operator) {
            Some(JoinConstraint::Using(columns)) => {
                columns.iter_mut().try_for_each(|column| self.rename_all(column))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

impl VisitorMut for Rename<'_> {
    type Break = SqlError;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        match expr {
            Expr::Identifier(ident) => self.rename(ident),
            Expr::CompoundIdentifier(parts) => {
                parts.iter_mut().try_for_each(|part| self.rename(part))
            }
            Expr::Function(function) => {
                lower(&mut function.name);
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                _,
            ) = item
            {
                self.rename_all(name)?;
            }
        }
        for join in select.from.iter_mut().flat_map(|from| &mut from.joins) {
            self.rename_join(&mut join.join_operator)?;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        if let TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } =
            factor
        {
            lower(name);
        }
        ControlFlow::Continue(())
    }
}

/// Functions are in lower case.
fn lower(name: &mut ObjectName) {
    for part in &mut name.0 {
        if let ObjectNamePart::Identifier(ident) = part
            && ident.quote_style.is_none()
        {
            ident.value = ident.value.to_ascii_lowercase();
        }
    }
}

/// Returns the constraint of a join.
pub(super) fn constraint_of(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::CrossJoin(constraint)
        | JoinOperator::Semi(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::RightSemi(constraint)
        | JoinOperator::Anti(constraint)
        | JoinOperator::LeftAnti(constraint)
        | JoinOperator::RightAnti(constraint)
        | JoinOperator::StraightJoin(constraint) => Some(constraint),
        _ => None,
    }
}
