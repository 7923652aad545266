//! Errors of the master, with HBase's classes and texts.

use halite_types::TableName;
use halite_wire::exception::ExceptionKind;

use crate::base::call::CallError;

/// Returns `TableNotFoundException`. The text is the table's name, which clients print.
pub(super) fn table_not_found(name: &TableName) -> CallError {
    CallError::new(ExceptionKind::TableNotFound, name.to_string())
}

/// Returns `TableExistsException`.
pub(super) fn table_exists(name: &TableName) -> CallError {
    CallError::new(ExceptionKind::TableExists, name.to_string())
}

/// Returns `TableNotDisabledException`: the operation requires a disabled table.
pub(super) fn not_disabled(name: &TableName) -> CallError {
    CallError::new(
        ExceptionKind::TableNotDisabled,
        format!("Not DISABLED; tableName={name}, state=ENABLED"),
    )
}

/// Returns `TableNotEnabledException`: the operation requires an enabled table.
pub(super) fn not_enabled(name: &TableName) -> CallError {
    CallError::new(ExceptionKind::TableNotEnabled, format!("tableName={name}, state=DISABLED"))
}

/// Returns `NamespaceNotFoundException`. The text is the namespace's name.
pub(super) fn namespace_not_found(name: &str) -> CallError {
    CallError::new(ExceptionKind::NamespaceNotFound, name)
}
