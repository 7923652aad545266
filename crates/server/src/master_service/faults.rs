//! The refusals of the master, in the classes and words of HBase.

use halite_types::TableName;
use halite_wire::exception::ExceptionKind;

use crate::call::Fault;

/// There is no such table; the text is its name, which clients print.
pub(crate) fn table_not_found(name: &TableName) -> Fault {
    Fault::new(ExceptionKind::TableNotFound, name.to_string())
}

/// There is such a table already.
pub(crate) fn table_exists(name: &TableName) -> Fault {
    Fault::new(ExceptionKind::TableExists, name.to_string())
}

/// The table must be disabled for what is asked.
pub(crate) fn not_disabled(name: &TableName) -> Fault {
    Fault::new(ExceptionKind::TableNotDisabled, format!("Not DISABLED; tableName={name}, state=ENABLED"))
}

/// The table must be enabled for what is asked.
pub(crate) fn not_enabled(name: &TableName) -> Fault {
    Fault::new(ExceptionKind::TableNotEnabled, format!("tableName={name}, state=DISABLED"))
}

/// There is no such namespace; the text is its name.
pub(crate) fn namespace_not_found(name: &str) -> Fault {
    Fault::new(ExceptionKind::NamespaceNotFound, name)
}

/// The region is not here.
pub(crate) fn unknown_region(name: &str) -> Fault {
    Fault::new(ExceptionKind::UnknownRegion, name)
}

/// What Halite does not have.
pub(crate) fn not_offered(what: &str) -> Fault {
    Fault::do_not_retry(format!("{what}: not offered by Halite"))
}
