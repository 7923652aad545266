//! Says what an error of the store means for the command that met it, and what to type next.

use halite_types::{Error, ErrorKind, TableName};

use crate::shell::session::{Outcome, Session, Stop};
use halite_types::nearest::nearest;

/// The error of a call about `table`, in the shell's words.
pub(crate) fn explain(session: &Session<'_>, table: &TableName, error: &Error) -> Stop {
    Stop::Problem(match error.kind() {
        ErrorKind::NoSuchTable => unknown_table(session, table),
        ErrorKind::TableExists => format!("Table already exists: {table}! Choose another name, or disable and drop it first"),
        ErrorKind::TableDisabled => format!("Table {table} is disabled! Type: enable '{table}'"),
        ErrorKind::TableEnabled => format!("Table {table} is enabled. Disable it first: disable '{table}'"),
        ErrorKind::NoSuchNamespace => unknown_namespace(session, table.namespace()),
        ErrorKind::NoSuchFamily => format!("Unknown column family! {error}"),
        _ => error.to_string(),
    })
}

/// `Unknown table`, with a name that is near.
pub(crate) fn unknown_table(session: &Session<'_>, table: &TableName) -> String {
    let tables = session.tables().unwrap_or_default();
    let names: Vec<_> = tables.iter().map(|table| table.name().to_string()).collect();
    let name = table.to_string();
    let near = question(nearest(&name, names.iter().map(String::as_str)));
    format!("Unknown table {table}!{near} 'list' shows the tables there are")
}

/// `Unknown namespace`, with a name that is near.
pub(crate) fn unknown_namespace(session: &Session<'_>, namespace: &str) -> String {
    let known = session.namespaces().unwrap_or_default();
    let near = question(nearest(namespace, known.iter().map(|(name, _)| name.as_str())));
    format!("Unknown namespace {namespace}!{near} 'list_namespace' shows those there are; create_namespace '{namespace}' makes it")
}

fn question(near: Option<&str>) -> String {
    near.map_or_else(String::new, |name| format!(" Did you mean {name}?"))
}

/// Adds the shell's words to errors of calls about one table.
pub(crate) trait About<T> {
    fn about(self, session: &Session<'_>, table: &TableName) -> Outcome<T>;
}

impl<T> About<T> for halite_types::Result<T> {
    fn about(self, session: &Session<'_>, table: &TableName) -> Outcome<T> {
        self.map_err(|error| explain(session, table, &error))
    }
}
