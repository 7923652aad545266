//! `*` without the pseudo-columns, in statements that name some.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Ident, JoinConstraint, ObjectName, Select, SelectItem,
    SelectItemQualifiedWildcardKind, Statement, TableFactor, VisitMut, VisitorMut,
    WildcardAdditionalOptions,
};

use super::columns::constraint_of;
use super::tables::{FoundTables, TablePath, idents};
use crate::catalog::DEFAULT;
use crate::catalog::shape::Pseudo;
use crate::error::{Result, SqlError};

/// Replaces each `*` of a table by one that excludes its pseudo-columns.
pub(super) fn rewrite(
    statement: &mut Statement,
    found: &FoundTables,
    pseudo: &BTreeSet<Pseudo>,
) -> Result<()> {
    match VisitMut::visit(statement, &mut Wildcards { found, pseudo }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Wildcards<'f> {
    found: &'f FoundTables,
    pseudo: &'f BTreeSet<Pseudo>,
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
        let shares_columns = select.from.iter_mut().flat_map(|from| &mut from.joins).any(|join| {
            matches!(
                constraint_of(&mut join.join_operator),
                Some(JoinConstraint::Natural | JoinConstraint::Using(_))
            )
        });
        let has_star = select.projection.iter().any(|item| matches!(item, SelectItem::Wildcard(_)));
        if shares_columns && has_star {
            return Err(SqlError::unsupported(
                "* with NATURAL or USING, in a statement that names pseudo-columns: name the \
                 columns instead of *, or join by ON",
            ));
        }
        let relations: Vec<(ObjectName, bool)> = select
            .from
            .iter()
            .flat_map(|from| {
                std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
            })
            .map(|factor| self.relation(factor))
            .collect::<Result<_>>()?;
        let mut projection = Vec::with_capacity(select.projection.len());
        for item in std::mem::take(&mut select.projection) {
            match item {
                SelectItem::Wildcard(options) => {
                    check_plain(&options)?;
                    projection
                        .extend(relations.iter().map(|(name, has)| self.star(name.clone(), *has)));
                }
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) => {
                    let has = relations.iter().find(|(known, _)| last(known) == last(&name));
                    check_plain(&options)?;
                    projection.push(self.star(name, has.is_some_and(|(_, has)| *has)));
                }
                other => projection.push(other),
            }
        }
        select.projection = projection;
        Ok(())
    }

    /// Returns the name of a relation, and whether it has pseudo-columns.
    fn relation(&self, factor: &TableFactor) -> Result<(ObjectName, bool)> {
        let named = |ident: &Ident| ObjectName::from(vec![ident.clone()]);
        match factor {
            TableFactor::Table { name, alias, .. } => {
                let parts: Vec<String> = idents(name)?.into_iter().map(|part| part.value).collect();
                let path = match parts.as_slice() {
                    [table] if self.found.ctes.contains(table) => None,
                    [table] => Some((DEFAULT.to_owned(), table.clone())),
                    [schema, table] => Some((schema.clone(), table.clone())),
                    _ => None,
                };
                let has = path.is_some_and(|(schema, table)| {
                    self.found.halite.contains(&TablePath { schema, table })
                });
                Ok((alias.as_ref().map_or_else(|| name.clone(), |alias| named(&alias.name)), has))
            }
            TableFactor::Derived { alias: Some(alias), .. }
            | TableFactor::TableFunction { alias: Some(alias), .. }
            | TableFactor::Function { alias: Some(alias), .. }
            | TableFactor::UNNEST { alias: Some(alias), .. } => Ok((named(&alias.name), false)),
            _ => Err(unnamed()),
        }
    }

    fn star(&self, name: ObjectName, has_pseudo: bool) -> SelectItem {
        let mut options = WildcardAdditionalOptions::default();
        if has_pseudo {
            // Undeclared tables show `_row` and `_cells`.
            let names = self
                .pseudo
                .iter()
                .filter(|pseudo| !self.found.columns.iter().any(|column| column == pseudo.name()));
            let names: Vec<ObjectName> = names
                .map(|pseudo| ObjectName::from(vec![Ident::with_quote('"', pseudo.name())]))
                .collect();
            if !names.is_empty() {
                options.opt_exclude = Some(ExcludeSelectItem::Multiple(names));
            }
        }
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
    }
}

fn last(name: &ObjectName) -> Option<&str> {
    Some(&name.0.last()?.as_ident()?.value)
}

fn unnamed() -> SqlError {
    SqlError::unsupported(
        "* of a part of FROM without a name, in a statement that names pseudo-columns: give it a \
         name by AS",
    )
}

fn check_plain(options: &WildcardAdditionalOptions) -> Result<()> {
    if *options == WildcardAdditionalOptions::default() {
        return Ok(());
    }
    Err(SqlError::unsupported(
        "* with EXCLUDE, REPLACE or RENAME, in a statement that names pseudo-columns: name the \
         columns instead",
    ))
}
