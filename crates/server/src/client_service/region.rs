//! Region of a request, and the errors returned for it.

use std::sync::Arc;

use halite_engine::Region;
use halite_types::schema::META_ENCODED_NAME;
use halite_types::{Error, ErrorKind, RowOp};
use halite_wire::convert;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;

use crate::base::call::{CallError, Peer};
use crate::base::context::Context;
use crate::base::names::is_meta_replica;
use crate::base::quota::{EstimatedUsage, OperationQuota};

/// Target of a request.
pub(super) enum RequestTarget {
    Region(Arc<Region>),
    /// `hbase:meta`, computed from the catalog.
    Meta,
}

/// Returns the target of a request.
pub(super) fn find(
    context: &Context,
    peer: &Peer,
    specifier: &pb::RegionSpecifier,
) -> Result<RequestTarget, CallError> {
    if is_meta_replica(&specifier.value) {
        return Ok(RequestTarget::Meta);
    }
    let encoded = convert::region::encoded_name(specifier)?;
    if encoded == META_ENCODED_NAME {
        return Ok(RequestTarget::Meta);
    }
    let found = match specifier.r#type() {
        pb::region_specifier::RegionSpecifierType::RegionName => {
            context.engine.region_by_name(&specifier.value)
        }
        pb::region_specifier::RegionSpecifierType::EncodedRegionName => {
            context.engine.region(encoded)
        }
    };
    match found {
        Ok(region) => Ok(RequestTarget::Region(region)),
        Err(error) if error.kind() == ErrorKind::NoSuchRegion => {
            Err(not_serving(peer, &specifier.value))
        }
        Err(error) => Err(error.into()),
    }
}

/// Charges a call for its estimated usage, if quotas apply.
pub(super) fn check_quota(
    context: &Context,
    peer: &Peer,
    target: &RequestTarget,
    demand: EstimatedUsage,
) -> Result<Option<OperationQuota>, CallError> {
    match target {
        RequestTarget::Region(region) => context.quota.check_quota(peer, region, demand),
        RequestTarget::Meta => Ok(None),
    }
}

/// Returns the region to write to, if it accepts a write now. Writes to `hbase:meta` go to a
/// separate region. The first write creates that region, which waits for the disk.
pub(super) fn to_write(
    context: &Context,
    peer: &Peer,
    target: &RequestTarget,
) -> Result<Arc<Region>, CallError> {
    let region = match target {
        RequestTarget::Region(region) => Arc::clone(region),
        RequestTarget::Meta => context.engine.meta_overlay_region()?,
    };
    admit(&region, peer).map(|()| region)
}

/// Checks that the region accepts a write now. As in HBase, clients wait elsewhere than on the
/// server's threads.
fn admit(region: &Region, peer: &Peer) -> Result<(), CallError> {
    region.try_admit().map_err(|error| match error.kind() {
        ErrorKind::Busy => {
            let server = peer.identity.region_server_text();
            let text = format!(
                "Over memstore limit, regionName={}, server={server}: {error}",
                region.info().display_name()
            );
            CallError::new(ExceptionKind::RegionTooBusy, text)
        }
        _ => write_error(peer, region, true, &error),
    })
}

/// Returns HBase's error for a region that the server does not have.
pub(super) fn not_serving(peer: &Peer, name: &[u8]) -> CallError {
    let name = halite_types::key::to_string_binary(name);
    CallError::new(
        ExceptionKind::NotServingRegion,
        format!("{name} is not online on {}", peer.identity.region_server_text()),
    )
}

/// Returns the error of a failed read of a region.
pub(super) fn read_error(peer: &Peer, region: &Region, error: &Error) -> CallError {
    match error.kind() {
        ErrorKind::NoSuchRegion => not_serving(peer, &region.info().full_name()),
        _ => error.into(),
    }
}

/// Returns the error of a failed write of a region. HBase checks puts and deletes differently from
/// operations that read first.
pub(super) fn write_error(
    peer: &Peer,
    region: &Region,
    is_plain: bool,
    error: &Error,
) -> CallError {
    match error.kind() {
        ErrorKind::WrongRegion if is_plain => {
            CallError::new(ExceptionKind::FailedSanityCheck, error.message())
        }
        ErrorKind::Busy | ErrorKind::DiskFull => {
            let server = peer.identity.region_server_text();
            CallError::new(
                ExceptionKind::RegionTooBusy,
                format!("regionName={}, server={server}: {error}", region.info().display_name()),
            )
        }
        _ => read_error(peer, region, error),
    }
}

/// Returns `true` if an operation is a put or a delete, which HBase applies without reading.
pub(super) fn is_plain(op: &RowOp) -> bool {
    matches!(op, RowOp::Put(_) | RowOp::Delete(_))
}
