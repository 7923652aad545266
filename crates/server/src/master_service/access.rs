//! Permissions: nobody is asked for any, and none can be given.

use halite_wire::proto as pb;

use super::asked::Asked;
use crate::call::Fault;

/// What HBase says when its access controller is not loaded.
fn not_loaded() -> Fault {
    let controller = "org.apache.hadoop.hbase.security.access.AccessController";
    Fault::do_not_retry(format!("java.lang.UnsupportedOperationException: {controller} is not loaded"))
}

/// `Grant`.
pub(super) fn grant(_: &Asked<'_>, _: &pb::GrantRequest) -> Result<pb::GrantResponse, Fault> {
    Err(not_loaded())
}

/// `Revoke`.
pub(super) fn revoke(_: &Asked<'_>, _: &pb::RevokeRequest) -> Result<pb::RevokeResponse, Fault> {
    Err(not_loaded())
}

/// `GetUserPermissions`.
pub(super) fn permissions(_: &Asked<'_>, _: &pb::GetUserPermissionsRequest) -> Result<pb::GetUserPermissionsResponse, Fault> {
    Err(not_loaded())
}

/// `HasUserPermissions`.
pub(super) fn has_permissions(_: &Asked<'_>, _: &pb::HasUserPermissionsRequest) -> Result<pb::HasUserPermissionsResponse, Fault> {
    Err(not_loaded())
}
