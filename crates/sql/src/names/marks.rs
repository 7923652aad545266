//! Marks of tables of FROM: a number behind a table, by which the columns are found that the
//! statement makes of its cells.

use std::collections::BTreeMap;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, Value,
};

use crate::catalog::shape::ShapeColumn;

/// Hint that is a mark.
const MARK: &str = "columns_of";

/// Columns that a statement makes of the cells of its tables, by their marks.
#[derive(Debug, Default)]
pub(crate) struct TableColumns {
    by_mark: BTreeMap<usize, Vec<ShapeColumn>>,
    marks: usize,
}

impl TableColumns {
    /// Returns those of the table that has such hints.
    pub(crate) fn of(&self, hints: &[Expr]) -> &[ShapeColumn] {
        let mark = hints.iter().find_map(mark_of);
        mark.and_then(|mark| self.by_mark.get(&mark)).map_or(&[], Vec::as_slice)
    }

    /// Returns a mark for another table.
    pub(super) fn mark(&mut self, hints: &mut Vec<Expr>) -> usize {
        self.marks += 1;
        hints.push(hint(self.marks));
        self.marks
    }

    /// Adds a column, if the table does not have it.
    pub(super) fn add(&mut self, mark: usize, column: ShapeColumn) {
        let columns = self.by_mark.entry(mark).or_default();
        if !columns.iter().any(|known| known.name == column.name) {
            columns.push(column);
        }
    }

    /// Returns the columns of a mark.
    pub(super) fn by_mark(&self, mark: usize) -> &[ShapeColumn] {
        self.by_mark.get(&mark).map_or(&[], Vec::as_slice)
    }

    /// Returns the columns that `*` leaves out.
    pub(super) fn extras(&self) -> impl Iterator<Item = &ShapeColumn> {
        self.by_mark.values().flatten().filter(|column| column.is_extra)
    }
}

/// Returns `true` for a mark.
pub(crate) fn is_mark(hint: &Expr) -> bool {
    mark_of(hint).is_some()
}

/// Returns the number of a mark.
pub(super) fn mark_of(hint: &Expr) -> Option<usize> {
    let Expr::Function(function) = hint else { return None };
    if function.name.to_string() != MARK {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else { return None };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))] => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

fn hint(mark: usize) -> Expr {
    let number = Expr::value(Value::Number(mark.to_string(), false));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(MARK)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(number))],
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}
