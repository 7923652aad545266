//! Names that a session knows, for completion.

use std::sync::Arc;
use std::time::Duration;

use halite::SqlContext;
use halite::sql::Settings;
use tokio::runtime::Handle;

use super::complete::KnownNames;

/// Time after which a cluster that does not answer completes nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Names of the tables of a session's cluster, its functions and settings.
pub(super) struct Names {
    pub(super) sql: Arc<SqlContext>,
    pub(super) runtime: Handle,
}

/// Table and its columns, as statements spell them.
pub(super) struct TableNames {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
}

impl KnownNames for Names {
    fn tables(&self) -> Vec<TableNames> {
        let tables = self
            .runtime
            .block_on(async { tokio::time::timeout(PATIENCE, self.sql.tables()).await });
        // An error is that of the statement, when it runs.
        let tables = tables.ok().and_then(Result::ok).unwrap_or_default();
        let table = |table: halite::sql::TableInfo| {
            let name = table.name.qualifier();
            let name = match table.name.namespace() {
                "default" => spelled(name),
                namespace => format!("{}.{}", spelled(namespace), spelled(name)),
            };
            let columns = table.schema.fields().iter().map(|field| spelled(field.name()));
            TableNames { name, columns: columns.collect() }
        };
        tables.into_iter().map(table).collect()
    }

    fn functions(&self) -> Vec<String> {
        let state = self.sql.session().state();
        let names = state.scalar_functions().keys().chain(state.aggregate_functions().keys());
        names.chain(state.window_functions().keys()).cloned().collect()
    }

    fn settings(&self) -> Vec<String> {
        Settings::names().map(str::to_owned).collect()
    }
}

/// Returns a name as a statement spells it: in quotes if it has signs that need them.
fn spelled(name: &str) -> String {
    let begins = |letter: char| letter.is_alphabetic() || letter == '_';
    let is_plain =
        name.starts_with(begins) && name.chars().all(|one| one.is_alphanumeric() || one == '_');
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}
