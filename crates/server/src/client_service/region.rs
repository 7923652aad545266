//! The region a request names, and how failures of it are told.

use std::sync::Arc;

use halite_engine::{MetaView, Region};
use halite_types::schema::META_ENCODED_NAME;
use halite_types::{Error, ErrorKind, RowOp};
use halite_wire::convert;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;

use crate::call::{Fault, Peer};
use crate::context::Context;

/// The length of `_0001`.
const REPLICA_BYTES: usize = 5;

/// What a request is about.
pub(crate) enum Target {
    Region(Arc<Region>),
    /// `hbase:meta`, which is computed from the catalog.
    Meta,
}

/// The region of a request.
pub(super) fn find(context: &Context, peer: &Peer, specifier: &pb::RegionSpecifier) -> Result<Target, Fault> {
    let encoded = match convert::region::encoded_name(specifier) {
        Ok(encoded) => encoded,
        Err(exception) => return of_replica(context, &specifier.value).ok_or_else(|| exception.into()),
    };
    if encoded == META_ENCODED_NAME {
        return Ok(Target::Meta);
    }
    match context.engine.region(encoded) {
        Ok(region) => Ok(Target::Region(region)),
        Err(error) if error.kind() == ErrorKind::NoSuchRegion => {
            of_replica(context, &specifier.value).ok_or_else(|| not_serving(peer, &specifier.value))
        }
        Err(error) => Err(error.into()),
    }
}

/// The one region there is for a replica of it, named as HBase names replicas: `table,start,id_0001.encoded.`, where the
/// number of the replica is in hexadecimal.
pub(crate) fn of_replica(context: &Context, name: &[u8]) -> Option<Target> {
    let meta = MetaView::region();
    let prefix = name.strip_suffix(b".").unwrap_or(name);
    let prefix = &prefix[..prefix.iter().rposition(|byte| *byte == b'.')?];
    let (primary, replica) = prefix.split_at_checked(prefix.len().checked_sub(REPLICA_BYTES)?)?;
    let is_replica = replica[0] == b'_' && replica[1..].iter().all(u8::is_ascii_hexdigit);
    if !is_replica {
        return None;
    }
    if primary == meta.name_prefix() {
        return Some(Target::Meta);
    }
    let table = std::str::from_utf8(primary.split(|byte| *byte == b',').next()?).ok()?;
    let start = primary.get(table.len() + 1..primary.iter().rposition(|byte| *byte == b',')?)?;
    let region = context.engine.table(&table.parse().ok()?).ok()?.region_of(start).ok()?;
    (region.info().name_prefix() == primary).then_some(Target::Region(region))
}

/// The region of a request that writes.
pub(super) fn find_to_write(context: &Context, peer: &Peer, specifier: &pb::RegionSpecifier) -> Result<Arc<Region>, Fault> {
    to_write(context, peer, &find(context, peer, specifier)?)
}

/// The region to write to, if it takes a write now. What is written to `hbase:meta` goes into a region of its own, and
/// the first who writes there has it made, which waits for the disk.
pub(super) fn to_write(context: &Context, peer: &Peer, target: &Target) -> Result<Arc<Region>, Fault> {
    let region = match target {
        Target::Region(region) => Arc::clone(region),
        Target::Meta => context.engine.meta_additions()?,
    };
    admit(&region, peer).map(|()| region)
}

/// Whether the region takes a write now. HBase makes clients wait elsewhere than on its threads, and so does this.
fn admit(region: &Region, peer: &Peer) -> Result<(), Fault> {
    region.try_admit().map_err(|error| {
        let server = peer.identity.region_server_text();
        Fault::new(
            ExceptionKind::RegionTooBusy,
            format!("Over memstore limit, regionName={}, server={server}: {error}", region.info().display_name()),
        )
    })
}

/// What HBase says of a region it does not have.
pub(super) fn not_serving(peer: &Peer, name: &[u8]) -> Fault {
    let name = halite_types::key::print_bytes(name);
    Fault::new(ExceptionKind::NotServingRegion, format!("{name} is not online on {}", peer.identity.region_server_text()))
}

/// How a failed read of a region is told.
pub(super) fn read_fault(peer: &Peer, region: &Region, error: &Error) -> Fault {
    match error.kind() {
        ErrorKind::NoSuchRegion => not_serving(peer, &region.info().full_name()),
        _ => error.into(),
    }
}

/// How a failed write of a region is told: HBase checks puts and deletes otherwise than what reads first.
pub(super) fn write_fault(peer: &Peer, region: &Region, is_plain: bool, error: &Error) -> Fault {
    match error.kind() {
        ErrorKind::WrongRegion if is_plain => Fault::new(ExceptionKind::FailedSanityCheck, error.message()),
        ErrorKind::Busy => {
            let server = peer.identity.region_server_text();
            Fault::new(ExceptionKind::RegionTooBusy, format!("regionName={}, server={server}: {error}", region.info().display_name()))
        }
        _ => read_fault(peer, region, error),
    }
}

/// Whether an operation is a put or a delete, which HBase applies without reading.
pub(super) fn is_plain(op: &RowOp) -> bool {
    matches!(op, RowOp::Put(_) | RowOp::Delete(_))
}
