//! The region a request names, and how failures of it are told.

use std::sync::{Arc, LazyLock};

use halite_engine::{MetaView, Region};
use halite_types::schema::META_ENCODED_NAME;
use halite_types::{Condition, Error, ErrorKind, Filter, RowOp};
use halite_wire::convert;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;

use crate::call::{Fault, Peer};
use crate::context::Context;
use crate::quota::{Charge, Demand};

/// What a request is about.
pub(super) enum Target {
    Region(Arc<Region>),
    /// `hbase:meta`, which is computed from the catalog.
    Meta,
}

/// The region of a request.
pub(super) fn find(context: &Context, peer: &Peer, specifier: &pb::RegionSpecifier) -> Result<Target, Fault> {
    if is_meta_replica(&specifier.value) {
        return Ok(Target::Meta);
    }
    let encoded = convert::region::encoded_name(specifier)?;
    if encoded == META_ENCODED_NAME {
        return Ok(Target::Meta);
    }
    let found = match specifier.r#type() {
        pb::region_specifier::RegionSpecifierType::RegionName => context.engine.region_named(&specifier.value),
        pb::region_specifier::RegionSpecifierType::EncodedRegionName => context.engine.region(encoded),
    };
    match found {
        Ok(region) => Ok(Target::Region(region)),
        Err(error) if error.kind() == ErrorKind::NoSuchRegion => Err(not_serving(peer, &specifier.value)),
        Err(error) => Err(error.into()),
    }
}

/// What the names of `hbase:meta` and its replicas begin with. Every call is held against it.
static META_PREFIX: LazyLock<Vec<u8>> = LazyLock::new(|| MetaView::region().name_prefix());

/// Whether it is the name of a replica of `hbase:meta`, `hbase:meta,,1_0001.encoded`: all are the same view.
pub(crate) fn is_meta_replica(name: &[u8]) -> bool {
    let replica = name.strip_prefix(&META_PREFIX[..]).and_then(|rest| rest.strip_prefix(b"_")).and_then(|rest| rest.split_first_chunk::<4>());
    replica.is_some_and(|(number, rest)| number.iter().all(u8::is_ascii_hexdigit) && rest.first() == Some(&b'.'))
}

/// What it may cost to show a filter a byte ([`Filter::cost`]) where the call was read: the key of a row may have 32 KB.
const INLINE_FILTER_COST_MAX: usize = 100;

/// Whether a filter takes work before the first cell is read: regular expressions are compiled, which may take a tenth of
/// a second, and hundreds of comparisons are made with each key. A call with such a filter is a reader thread's, so that the other
/// connections of its own need not wait.
pub(super) fn is_slow_to_begin(filter: Option<&Filter>) -> bool {
    filter.is_some_and(|filter| filter.regex_count() > 0 || filter.cost() > INLINE_FILTER_COST_MAX)
}

/// The same of an operation.
pub(super) fn is_op_slow_to_begin(op: &RowOp) -> bool {
    match op {
        RowOp::CheckAndMutate(check) => matches!(&check.condition, Condition::Filter(filter) if is_slow_to_begin(Some(filter))),
        _ => false,
    }
}

/// Charges a call for what it is about to do, if it is under limits.
pub(super) fn charge(context: &Context, peer: &Peer, target: &Target, demand: Demand) -> Result<Option<Charge>, Fault> {
    match target {
        Target::Region(region) => context.quota.charge(peer, region, demand),
        Target::Meta => Ok(None),
    }
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
    region.try_admit().map_err(|error| match error.kind() {
        ErrorKind::Busy => {
            let server = peer.identity.region_server_text();
            let text = format!("Over memstore limit, regionName={}, server={server}: {error}", region.info().display_name());
            Fault::new(ExceptionKind::RegionTooBusy, text)
        }
        _ => write_fault(peer, region, true, &error),
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
        ErrorKind::Busy | ErrorKind::DiskFull => {
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
