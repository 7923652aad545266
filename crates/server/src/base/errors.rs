//! Errors of the services, with HBase's classes and texts.

use halite_types::TableName;
use halite_wire::exception::ExceptionKind;

use crate::base::call::CallError;

/// Returns `TableNotFoundException`. The text is the table's name, which clients print.
pub(crate) fn table_not_found(name: &TableName) -> CallError {
    CallError::new(ExceptionKind::TableNotFound, name.to_string())
}

/// Returns `TableExistsException`.
pub(crate) fn table_exists(name: &TableName) -> CallError {
    CallError::new(ExceptionKind::TableExists, name.to_string())
}

/// Returns `TableNotDisabledException`: the operation requires a disabled table.
pub(crate) fn not_disabled(name: &TableName) -> CallError {
    CallError::new(
        ExceptionKind::TableNotDisabled,
        format!("Not DISABLED; tableName={name}, state=ENABLED"),
    )
}

/// Returns `TableNotEnabledException`: the operation requires an enabled table.
pub(crate) fn not_enabled(name: &TableName) -> CallError {
    CallError::new(ExceptionKind::TableNotEnabled, format!("tableName={name}, state=DISABLED"))
}

/// Returns `NamespaceNotFoundException`. The text is the namespace's name.
pub(crate) fn namespace_not_found(name: &str) -> CallError {
    CallError::new(ExceptionKind::NamespaceNotFound, name)
}

/// Returns `UnknownRegionException`.
pub(crate) fn unknown_region(name: &str) -> CallError {
    CallError::new(ExceptionKind::UnknownRegion, name)
}

/// Returns the error for a feature that Halite does not have.
pub(crate) fn not_supported(what: &str) -> CallError {
    CallError::do_not_retry(format!("{what}: not offered by Halite"))
}
