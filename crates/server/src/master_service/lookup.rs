//! Tables and namespaces by name, and checks of their state.

use halite_engine::Engine;
use halite_types::schema::SYSTEM_NAMESPACE;
use halite_types::{Attributes, TableName};

use super::errors::{namespace_not_found, not_disabled, not_enabled, table_not_found};
use crate::base::call::CallError;
use crate::base::names::{is_meta, meta_table};

/// Checks that a table exists, whatever its state; `hbase:meta` always does.
pub(crate) fn check_exists(engine: &Engine, table: &TableName) -> Result<(), CallError> {
    if is_meta(table) || engine.is_enabled(table).is_ok() {
        Ok(())
    } else {
        Err(table_not_found(table))
    }
}

/// Checks that a table exists and is enabled.
pub(crate) fn check_enabled(engine: &Engine, table: &TableName) -> Result<(), CallError> {
    check_exists(engine, table)?;
    if is_meta(table) || engine.is_enabled(table)? { Ok(()) } else { Err(not_enabled(table)) }
}

/// Checks that a table may be dropped or truncated: it exists, is disabled, and is not
/// `hbase:meta`.
pub(crate) fn check_modifiable(engine: &Engine, table: &TableName) -> Result<(), CallError> {
    if is_meta(table) {
        return Err(CallError::do_not_retry("Can't modify catalog tables"));
    }
    check_exists(engine, table)?;
    if engine.is_enabled(table)? { Err(not_disabled(table)) } else { Ok(()) }
}

/// Checks that a namespace exists.
pub(crate) fn check_namespace(engine: &Engine, name: &str) -> Result<(), CallError> {
    let is_there =
        name == SYSTEM_NAMESPACE || engine.namespaces().iter().any(|(known, _)| known == name);
    if is_there { Ok(()) } else { Err(namespace_not_found(name)) }
}

/// Returns all namespaces by name, always including that of `hbase:meta`.
pub(crate) fn namespaces(engine: &Engine) -> Vec<(String, Attributes)> {
    let mut all = engine.namespaces();
    let system = meta_table();
    if !all.iter().any(|(name, _)| name == system.namespace()) {
        all.push((system.namespace().to_owned(), Attributes::new()));
        all.sort();
    }
    all
}
