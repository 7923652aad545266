//! `Get`: one row, or whether it is there.

use std::sync::Arc;

use halite_engine::Region;
use halite_engine::scan::ReadTrace;
use halite_types::{ErrorKind, Get, Row, Tier};
use halite_wire::convert;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;

use super::region::{self, Target};
use crate::call::{Call, Fault, Peer, Reply};
use crate::context::Context;
use crate::dispatch::{Lane, Step};
use crate::quota::{Charge, Demand};

/// Since this version a Java client takes the cells of a get behind the message; HBase sends those of others inside.
const CELL_BLOCK_SINCE: (u32, u32) = (1, 3);

/// A get that is understood.
pub(super) struct Query {
    get: Get,
    existence_only: bool,
    /// The client wants to know how many bytes of blocks were looked through.
    wants_metrics: bool,
    /// It takes work before the first cell is read.
    is_slow_to_begin: bool,
}

/// How far a get may go, and what is told of the way.
pub(super) struct Reading<'a> {
    pub(super) tier: Tier,
    pub(super) charge: Option<&'a Charge>,
    pub(super) trace: Arc<ReadTrace>,
}

/// What a get found.
pub(super) enum Found {
    /// A row, and the bytes of the blocks that were looked through if the client wants to know.
    Row(Row, Option<u64>),
    Exists(bool),
}

/// Answers a `Get`.
pub(super) fn get(context: &Arc<Context>, call: &Arc<Call>, lane: Lane) -> Result<Step, Fault> {
    let request: pb::GetRequest = call.message()?;
    let query = Query::new(&request.get)?;
    let target = region::find(context, &call.peer, &request.region)?;
    let charge = region::charge(context, &call.peer, &target, Demand::Batch { writes: 0, reads: 1, is_atomic: false })?;
    let tier = if lane == Lane::Inline { Tier::Memory } else { Tier::Disk };
    if let Some(found) = query.run(context, &call.peer, &target, &Reading { tier, charge: charge.as_ref(), trace: Arc::default() })? {
        return Ok(reply(&call.peer, found));
    }
    let (context, call) = (Arc::clone(context), Arc::clone(call));
    Ok(Step::later(move || {
        let reading = Reading { tier: Tier::Disk, charge: charge.as_ref(), trace: Arc::default() };
        let found = query.run(&context, &call.peer, &target, &reading)?;
        Ok(reply(&call.peer, found.unwrap_or(Found::Row(Row::default(), None))))
    }))
}

impl Query {
    pub(super) fn new(get: &pb::Get) -> Result<Self, Fault> {
        if get.closest_row_before() {
            let text = "Is this a pre-hbase-1.0.0 or asynchbase client? Client is invoking getClosestRowBefore removed in hbase-2.0.0 replaced by reverse Scan.";
            return Err(Fault::new(ExceptionKind::UnknownProtocol, text));
        }
        let (existence_only, wants_metrics) = (get.existence_only(), get.query_metrics_enabled());
        let get = convert::get::from_proto(get)?;
        Ok(Self { existence_only, wants_metrics, is_slow_to_begin: region::is_slow_to_begin(get.selection.filter.as_ref()), get })
    }

    /// Reads; `None` if memory does not have it, or has so much that it takes its time, or it is slow to begin.
    pub(super) fn run(&self, context: &Context, peer: &Peer, target: &Target, reading: &Reading<'_>) -> Result<Option<Found>, Fault> {
        if reading.tier == Tier::Memory && self.is_slow_to_begin {
            return Ok(None);
        }
        let result = match target {
            Target::Region(region) => self.run_on(region, reading),
            Target::Meta => context
                .meta(peer, reading.tier)
                .and_then(|meta| meta.get(&self.get))
                .map(|row| if self.existence_only { Found::Exists(!row.is_empty()) } else { Found::Row(row, self.wants_metrics.then_some(0)) }),
        };
        match (result, target) {
            (Ok(found), _) => Ok(Some(found)),
            (Err(error), _) if error.kind() == ErrorKind::NeedsIo => Ok(None),
            (Err(error), Target::Region(region)) => Err(region::read_fault(peer, region, &error)),
            (Err(error), Target::Meta) => Err(error.into()),
        }
    }

    fn run_on(&self, region: &Region, reading: &Reading<'_>) -> halite_types::Result<Found> {
        let Reading { tier, charge, trace } = reading;
        if self.existence_only {
            let exists = region.exists(&self.get, *tier, trace)?;
            note_read(*charge, trace, 0);
            Ok(Found::Exists(exists))
        } else {
            let row = region.get(&self.get, *tier, trace)?;
            note_read(*charge, trace, row.cells().bytes().len());
            Ok(Found::Row(row, self.wants_metrics.then(|| trace.data_block_bytes())))
        }
    }
}

/// Tells the limits what was looked through and what is returned.
fn note_read(charge: Option<&Charge>, trace: &ReadTrace, returned: usize) {
    if let Some(charge) = charge {
        charge.read(trace.data_block_bytes(), returned);
    }
}

fn reply(peer: &Peer, found: Found) -> Step {
    let in_cell_block = peer.format.is_some() && peer.header.is_at_least(CELL_BLOCK_SINCE.0, CELL_BLOCK_SINCE.1);
    let mut cells = Vec::new();
    let result = result_of(found, in_cell_block.then_some(&mut cells));
    let response = pb::GetResponse { result: Some(result) };
    let reply = if in_cell_block { Reply::with_cells(response, cells) } else { Reply::new(response) };
    Ok::<_, Fault>(reply).into()
}

/// The message of what was found, with its cells behind it if there is a place for them.
pub(super) fn result_of(found: Found, cells: Option<&mut Vec<halite_types::Cells>>) -> pb::Result {
    match (found, cells) {
        (Found::Exists(exists), _) => convert::result::existence(exists),
        (Found::Row(row, block_bytes), cells) => pb::Result { metrics: block_bytes.map(query_metrics), ..row_result(&row, cells) },
    }
}

/// The bytes of blocks that were looked through, as a message.
pub(super) fn query_metrics(block_bytes: u64) -> pb::QueryMetrics {
    pb::QueryMetrics { block_bytes_scanned: Some(block_bytes) }
}

/// The message of a row, with its cells behind it if there is a place for them.
pub(super) fn row_result(row: &Row, cells: Option<&mut Vec<halite_types::Cells>>) -> pb::Result {
    // HBase says "stale" of rows, and of nothing nothing.
    let stale = (!row.is_empty()).then_some(false);
    match cells {
        Some(cells) => {
            if !row.is_empty() {
                cells.push(row.cells().clone());
            }
            pb::Result { stale, ..convert::result::counted(row) }
        }
        None if row.is_empty() => convert::result::counted(row),
        None => pb::Result { stale, ..convert::result::inline(row) },
    }
}
