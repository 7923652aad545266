//! `Get`: one row, or its existence.

use std::sync::Arc;

use halite_engine::Region;
use halite_engine::scan::ReadStats;
use halite_types::{ErrorKind, Get, ReadTier, Row};
use halite_wire::convert;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;

use super::decode;
use super::region::{self, RequestTarget};
use crate::base::call::{Call, CallError, Peer, Reply};
use crate::base::call_step::{CallStep, Executor};
use crate::base::context::Context;
use crate::base::inline;
use crate::base::quota::{EstimatedUsage, OperationQuota};

/// First version of the Java client that reads the cells of a get after the message. HBase sends
/// the cells inside the message to other clients.
const CELL_BLOCK_SINCE: (u32, u32) = (1, 3);

/// Decoded get.
pub(super) struct ParsedGet {
    get: Get,
    existence_only: bool,
    /// `true` if the client requests the bytes of the blocks scanned.
    needs_metrics: bool,
    /// `true` if setup takes much work before the first cell is read.
    has_expensive_setup: bool,
    /// Estimated memory of the filter in bytes.
    filter_bytes: usize,
}

/// Read tier of a get, and the quota and statistics that record it.
pub(super) struct GetContext<'a> {
    pub(super) tier: ReadTier,
    pub(super) quota: Option<&'a OperationQuota>,
    pub(super) stats: Arc<ReadStats>,
}

/// Result of a get.
pub(super) enum GetOutcome {
    /// A row, and the bytes of the blocks scanned if the client requested them.
    Row(Row, Option<u64>),
    Exists(bool),
}

/// Answers a `Get`.
pub(super) fn get(
    context: &Arc<Context>,
    call: &Arc<Call>,
    executor: Executor,
) -> Result<CallStep, CallError> {
    let Some(request) = decode::message::<pb::GetRequest>(call, executor)? else {
        return Ok(decode::defer_undecoded(context, call, get));
    };
    let query = ParsedGet::new(&request.get)?;
    let target = region::find(context, &call.peer, &request.region)?;
    let quota = region::check_quota(
        context,
        &call.peer,
        &target,
        EstimatedUsage::Batch { writes: 0, reads: 1, is_atomic: false },
    )?;
    if let Some(found) = query.run(
        context,
        &call.peer,
        &target,
        &GetContext { tier: executor.read_tier(), quota: quota.as_ref(), stats: Arc::default() },
    )? {
        return Ok(reply(&call.peer, found));
    }
    let (context, waiting) = (Arc::clone(context), Arc::clone(call));
    Ok(decode::defer_decoded(call, query.filter_bytes, move || {
        let reading =
            GetContext { tier: ReadTier::Disk, quota: quota.as_ref(), stats: Arc::default() };
        let found = query.run(&context, &waiting.peer, &target, &reading)?;
        Ok(reply(&waiting.peer, found.unwrap_or(GetOutcome::Row(Row::default(), None))))
    }))
}

impl ParsedGet {
    pub(super) fn new(get: &pb::Get) -> Result<Self, CallError> {
        if get.closest_row_before() {
            let text = "Is this a pre-hbase-1.0.0 or asynchbase client? Client is invoking \
                        getClosestRowBefore removed in hbase-2.0.0 replaced by reverse Scan.";
            return Err(CallError::new(ExceptionKind::UnknownProtocol, text));
        }
        let (existence_only, needs_metrics) = (get.existence_only(), get.query_metrics_enabled());
        let filter_bytes = inline::filter_bytes(get.filter.as_ref());
        let get = convert::get::from_proto(get)?;
        Ok(Self {
            existence_only,
            needs_metrics,
            filter_bytes,
            has_expensive_setup: !inline::allows_filter(get.selection.filter.as_ref()),
            get,
        })
    }

    /// Returns the estimated memory of the decoded filter in bytes.
    pub(super) fn filter_bytes(&self) -> usize {
        self.filter_bytes
    }

    /// Reads the row. Returns `None` if memory does not contain it, if it is large enough to take
    /// long, or if its setup is expensive.
    pub(super) fn run(
        &self,
        context: &Context,
        peer: &Peer,
        target: &RequestTarget,
        reading: &GetContext<'_>,
    ) -> Result<Option<GetOutcome>, CallError> {
        if reading.tier == ReadTier::Memory && self.has_expensive_setup {
            return Ok(None);
        }
        let result = match target {
            RequestTarget::Region(region) => self.run_on(region, reading),
            RequestTarget::Meta => {
                context.meta(peer, reading.tier).and_then(|meta| meta.get(&self.get)).map(|row| {
                    if self.existence_only {
                        GetOutcome::Exists(!row.is_empty())
                    } else {
                        GetOutcome::Row(row, self.needs_metrics.then_some(0))
                    }
                })
            }
        };
        match (result, target) {
            (Ok(found), _) => Ok(Some(found)),
            (Err(error), _) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            (Err(error), RequestTarget::Region(region)) => {
                Err(region::read_error(peer, region, &error))
            }
            (Err(error), RequestTarget::Meta) => Err(error.into()),
        }
    }

    fn run_on(
        &self,
        region: &Region,
        reading: &GetContext<'_>,
    ) -> halite_types::Result<GetOutcome> {
        let GetContext { tier, quota, stats } = reading;
        if self.existence_only {
            let exists = region.exists(&self.get, *tier, stats)?;
            record_read(*quota, stats, 0);
            Ok(GetOutcome::Exists(exists))
        } else {
            let row = region.get(&self.get, *tier, stats)?;
            record_read(*quota, stats, row.cells().bytes().len());
            Ok(GetOutcome::Row(row, self.needs_metrics.then(|| stats.data_block_bytes())))
        }
    }
}

/// Records in the quotas the bytes scanned and the bytes returned.
fn record_read(quota: Option<&OperationQuota>, stats: &ReadStats, returned: usize) {
    if let Some(quota) = quota {
        quota.record_read(stats.data_block_bytes(), returned);
    }
}

fn reply(peer: &Peer, found: GetOutcome) -> CallStep {
    let in_cell_block =
        peer.format.is_some() && peer.header.is_at_least(CELL_BLOCK_SINCE.0, CELL_BLOCK_SINCE.1);
    let mut cells = Vec::new();
    let result = outcome_result(found, in_cell_block.then_some(&mut cells));
    let response = pb::GetResponse { result: Some(result) };
    let reply =
        if in_cell_block { Reply::with_cells(response, cells) } else { Reply::new(response) };
    Ok::<_, CallError>(reply).into()
}

/// Returns the message of a result. Its cells go to `cells`, if given, to be sent after the
/// message.
pub(super) fn outcome_result(
    found: GetOutcome,
    cells: Option<&mut Vec<halite_types::Cells>>,
) -> pb::Result {
    match (found, cells) {
        (GetOutcome::Exists(exists), _) => convert::result::existence(exists),
        (GetOutcome::Row(row, block_bytes), cells) => {
            pb::Result { metrics: block_bytes.map(query_metrics), ..row_result(&row, cells) }
        }
    }
}

/// Returns the message with the bytes of the blocks scanned.
pub(super) fn query_metrics(block_bytes: u64) -> pb::QueryMetrics {
    pb::QueryMetrics { block_bytes_scanned: Some(block_bytes) }
}

/// Returns the message of a row. Its cells go to `cells`, if given, to be sent after the message.
pub(super) fn row_result(row: &Row, cells: Option<&mut Vec<halite_types::Cells>>) -> pb::Result {
    // HBase sets `stale` for rows and omits it for empty results.
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
