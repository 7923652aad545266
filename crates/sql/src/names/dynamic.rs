//! Dynamic columns: those that a statement gives a table of FROM with their types.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Statement, TableFactor, Value,
    ValueWithSpan, VisitMut, VisitorMut,
};
use halite_types::Bytes;
use halite_types::suggest::closest_match;

use super::by_case;
use super::marks::TableColumns;
use super::tables::FoundTables;
use crate::catalog::extra::{cell_column, declared};
use crate::catalog::shape::{Pseudo, ShapeColumn, Source, TableShape};
use crate::error::{Result, SqlError, SqlState};
use crate::parse::COLUMNS_HINT;

/// Replaces the lists of columns behind tables by marks, and adds the names to those that are
/// found.
///
/// # Errors
/// A name that the table declares, a family that it does not have, what is no type; each with its
/// place.
pub(super) fn rewrite(
    statement: &mut Statement,
    found: &mut FoundTables,
    columns: &mut TableColumns,
) -> Result<()> {
    let mut tables = Tables { found, columns, names: Vec::new() };
    let flow = VisitMut::visit(statement, &mut tables);
    let names = std::mem::take(&mut tables.names);
    found.columns.extend(names);
    match flow {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Tables<'f> {
    found: &'f FoundTables,
    columns: &'f mut TableColumns,
    names: Vec<String>,
}

impl VisitorMut for Tables<'_> {
    type Break = SqlError;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        match self.read(factor) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Tables<'_> {
    fn read(&mut self, factor: &mut TableFactor) -> Result<()> {
        let TableFactor::Table { name, args, with_hints, .. } = factor else { return Ok(()) };
        let Some(at) = with_hints.iter().position(|hint| arguments(hint).is_some()) else {
            return Ok(());
        };
        let hint = with_hints.remove(at);
        let given = arguments(&hint).unwrap_or_default();
        let shape = args.is_none().then(|| self.found.shape_of(name)).flatten();
        let Some(shape) = shape else {
            let text = format!("{name} is no table of the cluster, so it has no other columns");
            let error = SqlError::unsupported(text);
            return Err(given.first().map_or(error.clone(), |first| placed(error, first)));
        };
        let mark = self.columns.mark(with_hints);
        for column in given.chunks_exact(3) {
            let [family, name, ty] = column else { continue };
            let column = self.column(shape, mark, (family, name, ty))?;
            self.names.push(column.name.clone());
            self.columns.add(mark, column);
        }
        Ok(())
    }

    /// Returns a column of a table.
    fn column(
        &self,
        shape: &TableShape,
        mark: usize,
        (family, name, ty): (&ValueWithSpan, &ValueWithSpan, &ValueWithSpan),
    ) -> Result<ShapeColumn> {
        let text = text(name);
        let known = shape.columns.iter().chain(self.columns.by_mark(mark));
        let is_same = |column: &&ShapeColumn| column.name.to_lowercase() == text.to_lowercase();
        if let Some(known) = known.clone().find(is_same) {
            let text = format!(
                "column {} is there already: name columns that the table does not declare, and each \
                 once",
                known.name
            );
            return Err(placed(SqlError::new(SqlState::Ambiguous, text), name));
        }
        if Pseudo::ALL.iter().any(|pseudo| pseudo.name().eq_ignore_ascii_case(text)) {
            let text = format!("{text} is a pseudo-column, which every table has");
            return Err(placed(SqlError::new(SqlState::Ambiguous, text), name));
        }
        let declared = declared(text, self::text(ty)).map_err(|error| placed(error, ty))?;
        let family = family_of(shape, family)?;
        let is_cell = |column: &&ShapeColumn| {
            matches!(&column.source, Source::Cell { family: of, qualifier }
                if *of == family && *qualifier == declared.qualifier)
        };
        if let Some(known) = known.clone().find(is_cell) {
            let text = format!("{text} is the cell of column {}: name that", known.name);
            return Err(placed(SqlError::new(SqlState::Ambiguous, text), name));
        }
        let column = cell_column(text, &family, &declared.qualifier, &declared)
            .map_err(|error| placed(error, ty))?;
        Ok(ShapeColumn { is_guessed: true, ..column })
    }
}

/// Returns the family that is named, or else that of the first column, or the table's first.
fn family_of(shape: &TableShape, name: &ValueWithSpan) -> Result<Bytes> {
    let given = text(name);
    if given.is_empty() {
        let of_column = shape.columns.iter().find_map(|column| match &column.source {
            Source::Cell { family, .. } | Source::Map { family, .. } => Some(family.clone()),
            _ => None,
        });
        return of_column.or_else(|| shape.families.first().cloned()).ok_or_else(|| {
            placed(SqlError::unsupported("the table has no family for other columns"), name)
        });
    }
    let known: Vec<(String, &Bytes)> = shape
        .families
        .iter()
        .map(|family| (String::from_utf8_lossy(family).into_owned(), family))
        .collect();
    let names = || known.iter().map(|(name, _)| name.as_str());
    let found = by_case(given, names()).map_err(|error| placed(error, name))?;
    let family = known.iter().find(|(name, _)| Some(name.as_str()) == found);
    family.map(|(_, family)| (*family).clone()).ok_or_else(|| {
        let near = match closest_match(given, names()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("it has {}", names().collect::<Vec<_>>().join(", ")),
        };
        let text = format!("the table has no family {given}; {near}");
        placed(SqlError::new(SqlState::UndefinedColumn, text), name)
    })
}

/// Returns the arguments of a list of columns.
fn arguments(hint: &Expr) -> Option<Vec<ValueWithSpan>> {
    let Expr::Function(function) = hint else { return None };
    if function.name.to_string() != COLUMNS_HINT {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else { return None };
    let values = list.args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => Some(value.clone()),
        _ => None,
    });
    Some(values.collect())
}

fn text(value: &ValueWithSpan) -> &str {
    match &value.value {
        Value::SingleQuotedString(text) => text,
        _ => "",
    }
}

fn placed(error: SqlError, near: &ValueWithSpan) -> SqlError {
    error.at(near.span.start.line, near.span.start.column)
}
