//! Shell-specific messages for store errors, with the command to type next.

use halite_types::{Error, ErrorKind, TableName};

use crate::shell::session::{EvalResult, Interrupt, Session};
use halite_types::suggest::closest_match;

/// Converts the error of a call about `table` to the shell's message.
pub(crate) fn explain(session: &Session<'_>, table: &TableName, error: &Error) -> Interrupt {
    Interrupt::Problem(match error.kind() {
        ErrorKind::NoSuchTable => unknown_table(session, table),
        ErrorKind::TableExists => format!(
            "Table already exists: {table}! Choose another name, or disable and drop it first"
        ),
        ErrorKind::TableDisabled => format!("Table {table} is disabled! Type: enable '{table}'"),
        ErrorKind::TableEnabled => {
            format!("Table {table} is enabled. Disable it first: disable '{table}'")
        }
        ErrorKind::NoSuchNamespace => unknown_namespace(session, table.namespace()),
        ErrorKind::NoSuchFamily => format!("Unknown column family! {error}"),
        _ => error.to_string(),
    })
}

/// Returns an `Unknown table` message with the closest known name.
pub(crate) fn unknown_table(session: &Session<'_>, table: &TableName) -> String {
    let tables = session.cluster().list_tables().unwrap_or_default();
    let names: Vec<_> = tables.iter().map(|table| table.name().to_string()).collect();
    let name = table.to_string();
    let near = format_suggestion(closest_match(&name, names.iter().map(String::as_str)));
    format!("Unknown table {table}!{near} 'list' shows the tables there are")
}

/// Returns an `Unknown namespace` message with the closest known name.
pub(crate) fn unknown_namespace(session: &Session<'_>, namespace: &str) -> String {
    let known = session.cluster().list_namespaces().unwrap_or_default();
    let near =
        format_suggestion(closest_match(namespace, known.iter().map(|(name, _)| name.as_str())));
    format!(
        "Unknown namespace {namespace}!{near} 'list_namespace' shows those there are; \
         create_namespace '{namespace}' makes it"
    )
}

fn format_suggestion(near: Option<&str>) -> String {
    near.map_or_else(String::new, |name| format!(" Did you mean {name}?"))
}

/// Conversion of errors of calls about one table to the shell's messages.
pub(crate) trait ErrorContext<T> {
    fn with_hint(self, session: &Session<'_>, table: &TableName) -> EvalResult<T>;
}

impl<T> ErrorContext<T> for halite_types::Result<T> {
    fn with_hint(self, session: &Session<'_>, table: &TableName) -> EvalResult<T> {
        self.map_err(|error| explain(session, table, &error))
    }
}
