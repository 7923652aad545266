//! `cells(t)`: the cells of a table, each as a row.

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, ObjectName, TableFunctionArgs,
};

/// Name of the function.
pub(crate) const CELLS: &str = "cells";

/// Returns the table of `cells(t)`; `None` for other functions.
pub(crate) fn cells_argument(name: &ObjectName, args: &TableFunctionArgs) -> Option<ObjectName> {
    match args.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(table))] if is_cells(name) => match table {
            Expr::Identifier(table) => Some(ObjectName::from(vec![table.clone()])),
            Expr::CompoundIdentifier(parts) => Some(ObjectName::from(parts.clone())),
            _ => None,
        },
        _ => None,
    }
}

/// Replaces the table of `cells(t)`.
pub(super) fn set_argument(args: &mut TableFunctionArgs, table: &ObjectName) {
    let parts = table.0.iter().filter_map(|part| part.as_ident().cloned()).collect();
    if let [FunctionArg::Unnamed(FunctionArgExpr::Expr(old))] = args.args.as_mut_slice() {
        *old = Expr::CompoundIdentifier(parts);
    }
}

fn is_cells(name: &ObjectName) -> bool {
    name.0.as_slice().first().and_then(|part| part.as_ident()).is_some_and(|ident| {
        name.0.len() == 1 && ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case(CELLS)
    })
}
