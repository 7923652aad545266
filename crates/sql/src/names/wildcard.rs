//! `*` without pseudo-columns and without the columns that a statement makes of cells, in statements
//! that name some.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Ident, JoinConstraint, ObjectName, Select, SelectItem,
    SelectItemQualifiedWildcardKind, Statement, TableFactor, TableWithJoins, VisitMut, VisitorMut,
    WildcardAdditionalOptions,
};

use super::columns::constraint_of;
use super::marks::TableColumns;
use super::tables::FoundTables;
use crate::catalog::shape::Pseudo;
use crate::error::{Result, SqlError};

/// Replaces each `*` of a table by one that excludes its pseudo-columns.
pub(super) fn rewrite(
    statement: &mut Statement,
    found: &FoundTables,
    pseudo: &BTreeSet<Pseudo>,
    columns: &TableColumns,
) -> Result<()> {
    match VisitMut::visit(statement, &mut Wildcards { found, pseudo, columns }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Returns `true` if each `*` of a SELECT can leave out columns.
pub(super) fn may_have_extras(select: &Select) -> bool {
    let stars = || {
        select.projection.iter().filter_map(|item| match item {
            SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => {
                Some(options)
            }
            _ => None,
        })
    };
    if stars().next().is_none() {
        return true;
    }
    let mut from = select.from.clone();
    let is_named = from.iter().flat_map(|from| {
        std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
    });
    let is_named = is_named.map(name_of).all(|name| name.is_ok());
    is_named && stars().all(|options| check_plain(options).is_ok()) && !shares_columns(&mut from)
}

/// Returns `true` if tables are joined by columns that `*` has once.
fn shares_columns(from: &mut [TableWithJoins]) -> bool {
    from.iter_mut().flat_map(|from| &mut from.joins).any(|join| {
        matches!(
            constraint_of(&mut join.join_operator),
            Some(JoinConstraint::Natural | JoinConstraint::Using(_))
        )
    })
}

/// Returns `true` if tables are joined by all columns that have the same name.
fn joins_by_all(from: &mut [TableWithJoins]) -> bool {
    from.iter_mut()
        .flat_map(|from| &mut from.joins)
        .any(|join| matches!(constraint_of(&mut join.join_operator), Some(JoinConstraint::Natural)))
}

struct Wildcards<'f> {
    found: &'f FoundTables,
    pseudo: &'f BTreeSet<Pseudo>,
    columns: &'f TableColumns,
}

impl VisitorMut for Wildcards<'_> {
    type Break = SqlError;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        match self.expanded(select) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Wildcards<'_> {
    fn expanded(&self, select: &mut Select) -> Result<()> {
        let is_star = |item: &SelectItem| {
            matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
        };
        if joins_by_all(&mut select.from) {
            return Err(SqlError::unsupported(
                "NATURAL in a statement that names pseudo-columns or cells, which all tables have: \
                 join by USING",
            ));
        }
        if !select.projection.iter().any(is_star) {
            return Ok(());
        }
        let shares_columns = shares_columns(&mut select.from);
        let has_star = select.projection.iter().any(|item| matches!(item, SelectItem::Wildcard(_)));
        if shares_columns && has_star {
            return Err(SqlError::unsupported(
                "* with NATURAL or USING, in a statement that names pseudo-columns or cells: name \
                 the columns instead of *, or join by ON",
            ));
        }
        let relations: Vec<(ObjectName, Vec<String>)> = select
            .from
            .iter()
            .flat_map(|from| {
                std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
            })
            .map(|factor| Ok((name_of(factor)?, self.left_out(factor))))
            .collect::<Result<_>>()?;
        let mut projection = Vec::with_capacity(select.projection.len());
        for item in std::mem::take(&mut select.projection) {
            match item {
                SelectItem::Wildcard(options) => {
                    check_plain(&options)?;
                    projection.extend(relations.iter().map(|(name, out)| star(name.clone(), out)));
                }
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) => {
                    let of = relations.iter().find(|(known, _)| last(known) == last(&name));
                    check_plain(&options)?;
                    projection.push(star(name, of.map_or(&[], |(_, out)| out.as_slice())));
                }
                other => projection.push(other),
            }
        }
        select.projection = projection;
        Ok(())
    }

    /// Returns the columns of a table that `*` leaves out.
    fn left_out(&self, factor: &TableFactor) -> Vec<String> {
        let TableFactor::Table { name, with_hints, .. } = factor else { return Vec::new() };
        if self.found.shape_of(name).is_none() {
            return Vec::new();
        }
        // Undeclared tables show `_row` and `_cells`.
        let is_shown =
            |pseudo: &&Pseudo| self.found.columns.iter().any(|column| column == pseudo.name());
        let pseudo = self.pseudo.iter().filter(|pseudo| !is_shown(pseudo));
        let extras = self.columns.of(with_hints).iter().filter(|column| column.is_extra);
        pseudo
            .map(|pseudo| pseudo.name().to_owned())
            .chain(extras.map(|column| column.name.clone()))
            .collect()
    }
}

/// Returns the name of a part of FROM.
fn name_of(factor: &TableFactor) -> Result<ObjectName> {
    let named = |ident: &Ident| ObjectName::from(vec![ident.clone()]);
    match factor {
        TableFactor::Table { name, alias, .. } => {
            Ok(alias.as_ref().map_or_else(|| name.clone(), |alias| named(&alias.name)))
        }
        TableFactor::Derived { alias: Some(alias), .. }
        | TableFactor::TableFunction { alias: Some(alias), .. }
        | TableFactor::Function { alias: Some(alias), .. }
        | TableFactor::UNNEST { alias: Some(alias), .. } => Ok(named(&alias.name)),
        _ => Err(unnamed()),
    }
}

fn star(name: ObjectName, left_out: &[String]) -> SelectItem {
    let mut options = WildcardAdditionalOptions::default();
    if !left_out.is_empty() {
        let names =
            left_out.iter().map(|name| ObjectName::from(vec![Ident::with_quote('"', name)]));
        options.opt_exclude = Some(ExcludeSelectItem::Multiple(names.collect()));
    }
    SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
}

fn last(name: &ObjectName) -> Option<&str> {
    Some(&name.0.last()?.as_ident()?.value)
}

fn unnamed() -> SqlError {
    SqlError::unsupported(
        "* of a part of FROM without a name, in a statement that names pseudo-columns or cells: \
         give it a name by AS",
    )
}

fn check_plain(options: &WildcardAdditionalOptions) -> Result<()> {
    if *options == WildcardAdditionalOptions::default() {
        return Ok(());
    }
    Err(SqlError::unsupported(
        "* with EXCLUDE, REPLACE or RENAME, in a statement that names pseudo-columns or cells: name \
         the columns instead",
    ))
}
