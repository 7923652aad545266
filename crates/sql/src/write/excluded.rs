//! Expressions of ON CONFLICT DO UPDATE: columns of the row that is there, and of the row that is
//! given, `excluded`.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::common::{DFSchema, TableReference};
use datafusion::sql::sqlparser::ast::{self, Ident, VisitMut, VisitorMut};

use super::parsed::{parsed_select, select_of};
use super::target::{WriteColumn, WriteTarget};
use crate::catalog::shape::Source;
use crate::error::{Result, SqlError, SqlState};

/// Name of the row that is given.
pub(super) const EXCLUDED: &str = "excluded";

/// Checks that ON CONFLICT names the key, or nothing.
pub(super) fn conflict_key(target: &WriteTarget, names: &[Ident]) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let columns = names.iter().map(|name| target.column(name)).collect::<Result<Vec<_>>>()?;
    let given: BTreeSet<usize> = columns.into_iter().filter_map(super::row::position).collect();
    let is_key = |at: &usize| matches!(target.shape.columns[*at].source, Source::Key(_));
    let key: BTreeSet<usize> = (0..target.shape.columns.len()).filter(is_key).collect();
    if given == key {
        return Ok(());
    }
    let text = format!(
        "ON CONFLICT (..): the only conflict is that of the whole key: {}",
        key.iter().map(|at| target.shape.columns[*at].name.as_str()).collect::<Vec<_>>().join(", ")
    );
    Err(SqlError::new(SqlState::WrongConflictTarget, text))
}

/// Returns `excluded` or the table as qualifier of the columns that expressions see.
pub(super) fn schema(target: &WriteTarget, columns: &[usize]) -> Result<DFSchema> {
    let fields: Vec<Field> = columns
        .iter()
        .map(|at| target.shape.columns[*at].field.clone().with_nullable(true))
        .collect();
    let own = TableReference::bare(target.alias.value.as_str());
    let qualifiers = columns
        .iter()
        .map(|_| Some(own.clone()))
        .chain(columns.iter().map(|_| Some(TableReference::bare(EXCLUDED))))
        .collect();
    let both: Vec<Field> = fields.iter().chain(&fields).cloned().collect();
    Ok(DFSchema::from_field_specific_qualified_schema(qualifiers, &Arc::new(Schema::new(both)))?)
}

/// Names columns as the catalog spells them, qualified: those without a qualifier are of the row
/// that is there.
pub(super) fn qualify(target: &WriteTarget, exprs: &mut [ast::Expr]) -> Result<()> {
    struct Qualify<'t>(&'t WriteTarget);
    impl Qualify<'_> {
        fn column(&self, qualifier: Option<&Ident>, name: &Ident) -> Result<ast::Expr> {
            let target = self.0;
            let is_excluded =
                qualifier.is_some_and(|ident| ident.value.eq_ignore_ascii_case(EXCLUDED));
            if let Some(other) = qualifier.filter(|_| !is_excluded)
                && !other.value.eq_ignore_ascii_case(&target.alias.value)
            {
                let text = format!(
                    "{other}.{name}: DO UPDATE names columns of {} and of excluded",
                    target.alias.value
                );
                return Err(SqlError::new(SqlState::UndefinedTable, text));
            }
            let WriteColumn::Column(at) = target.column(name)? else {
                return Err(SqlError::unsupported(format!("{name} has no value here")));
            };
            let qualifier = if is_excluded {
                Ident::new(EXCLUDED)
            } else {
                Ident::with_quote('"', &target.alias.value)
            };
            let name = Ident::with_quote('"', &target.shape.columns[at].name);
            Ok(ast::Expr::CompoundIdentifier(vec![qualifier, name]))
        }
    }
    impl VisitorMut for Qualify<'_> {
        type Break = SqlError;

        fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<SqlError> {
            let qualified = match &*expr {
                ast::Expr::Identifier(name) => self.column(None, name),
                ast::Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                    [.., qualifier, name] => self.column(Some(qualifier), name),
                    _ => return ControlFlow::Continue(()),
                },
                _ => return ControlFlow::Continue(()),
            };
            match qualified {
                Ok(qualified) => *expr = qualified,
                Err(error) => return ControlFlow::Break(error),
            }
            ControlFlow::Continue(())
        }
    }
    let mut qualify = Qualify(target);
    for expr in exprs {
        if let ControlFlow::Break(error) = VisitMut::visit(expr, &mut qualify) {
            return Err(error);
        }
    }
    Ok(())
}

/// Returns DEFAULT as an expression.
pub(super) fn default_text(target: &WriteTarget, at: usize) -> Result<ast::Expr> {
    let column = &target.shape.columns[at];
    let default = column.cell.as_ref().and_then(|cell| cell.default.as_ref());
    let text = match default {
        Some(value) => format!("'{}'", column.ty.print(value).replace('\'', "''")),
        None => "NULL".to_owned(),
    };
    let mut query = parsed_select(&format!("SELECT {text}"))?;
    match select_of(&mut query)?.projection.pop() {
        Some(ast::SelectItem::UnnamedExpr(expr)) => Ok(expr),
        _ => Err(SqlError::unsupported(format!("DEFAULT of column {}", column.name))),
    }
}
