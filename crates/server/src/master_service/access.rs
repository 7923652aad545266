//! Permissions, which Halite neither checks nor grants.

use halite_wire::proto as pb;

use super::request_context::RequestContext;
use crate::base::call::CallError;

/// Returns HBase's error for an access controller that is not loaded.
fn not_loaded() -> CallError {
    let controller = "org.apache.hadoop.hbase.security.access.AccessController";
    CallError::do_not_retry(format!(
        "java.lang.UnsupportedOperationException: {controller} is not loaded"
    ))
}

/// Handles `Grant`.
pub(super) fn grant(
    _: &RequestContext<'_>,
    _: &pb::GrantRequest,
) -> Result<pb::GrantResponse, CallError> {
    Err(not_loaded())
}

/// Handles `Revoke`.
pub(super) fn revoke(
    _: &RequestContext<'_>,
    _: &pb::RevokeRequest,
) -> Result<pb::RevokeResponse, CallError> {
    Err(not_loaded())
}

/// Handles `GetUserPermissions`.
pub(super) fn permissions(
    _: &RequestContext<'_>,
    _: &pb::GetUserPermissionsRequest,
) -> Result<pb::GetUserPermissionsResponse, CallError> {
    Err(not_loaded())
}

/// Handles `HasUserPermissions`.
pub(super) fn has_permissions(
    _: &RequestContext<'_>,
    _: &pb::HasUserPermissionsRequest,
) -> Result<pb::HasUserPermissionsResponse, CallError> {
    Err(not_loaded())
}
