//! Errors of several services, with HBase's classes and texts.

use halite_wire::exception::ExceptionKind;

use crate::base::call::CallError;

/// Returns `UnknownRegionException`.
pub(crate) fn unknown_region(name: &str) -> CallError {
    CallError::new(ExceptionKind::UnknownRegion, name)
}

/// Returns the error for a feature that Halite does not have.
pub(crate) fn not_supported(what: &str) -> CallError {
    CallError::do_not_retry(format!("{what}: not offered by Halite"))
}
