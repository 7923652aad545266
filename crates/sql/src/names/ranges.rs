//! `halite_ranges('SELECT ..')`: the ranges of a query, each as a row.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::sql::sqlparser::ast::{
    DollarQuotedString, Expr, FunctionArg, FunctionArgExpr, ObjectName, TableFunctionArgs, Value,
};

use crate::error::{Result, SqlError, SqlState};

/// Name of the function.
pub(crate) const RANGES: &str = "halite_ranges";

/// Tables of the calls of a statement, by the text of their queries.
pub(crate) type RangeTables = BTreeMap<String, Arc<dyn TableProvider>>;

/// Returns the text of the query of a call; `None` for other functions.
///
/// # Errors
/// `Syntax` for other arguments than one text.
pub(crate) fn ranges_argument(
    name: &ObjectName,
    args: &TableFunctionArgs,
) -> Result<Option<String>> {
    if !name.to_string().eq_ignore_ascii_case(RANGES) {
        return Ok(None);
    }
    if let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))] = args.args.as_slice()
        && let Value::SingleQuotedString(text)
        | Value::EscapedStringLiteral(text)
        | Value::DollarQuotedString(DollarQuotedString { value: text, .. }) = &value.value
    {
        return Ok(Some(text.clone()));
    }
    let what = format!("{RANGES} takes the text of one SELECT, as in {RANGES}('SELECT * FROM t')");
    Err(SqlError::new(SqlState::Syntax, what))
}
