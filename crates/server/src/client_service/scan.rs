//! `Scan`: opening a scanner, asking it for rows, keeping it alive, closing it.
//!
//! A few rows that memory has are answered where the call was read; what is more goes to the reader threads, cut into
//! slices of a few milliseconds, and between them others get their turn. An answer holds what fits its limits: rows, bytes,
//! and half of the time that the client or the lease allows.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use halite_engine::Region;
use halite_engine::scan::{MEMORY_CELLS_MAX, ReadAt, RegionScanner, ScanBatch, ScanBudget, StopReason, counted_bytes};
use halite_types::{Cells, Error, Row, Tier};
use halite_wire::convert;
use halite_wire::convert::scan::ScanQuery;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use prost::Message as _;

use super::get::query_metrics;
use super::region::{self, Target};
use super::scan_metrics::ScanFigures;
use crate::buffers::{FLOOR_BYTES, Held};
use crate::call::{Call, Fault, Reply};
use crate::context::Context;
use crate::dispatch::{Lane, Step};
use crate::outside::Instant;
use crate::quota::{Charge, Demand, ScanEstimate};
use crate::scanners::{Found, KeptReply};

/// How long one scan keeps a reader thread before the next call in the queue gets it, in milliseconds.
const SLICE_MS: u64 = 10;
/// An answer is not given up for the time before this, as in HBase (`hbase.region.server.rpc.minimum.scan.time.limit.delta`).
const TIME_MS_MIN: u64 = 10;

/// Estimated bytes of a scanner without filter and without what it reads from, and of a filter by the bytes of its message.
const SCANNER_BYTES: usize = 8 << 10;
const FILTER_FACTOR: usize = 32;
/// Of a scanner that is opened even where others have taken too much.
const SHORT_BYTES_MAX: usize = 64 << 10;

/// A scanner between two calls.
pub(crate) struct OpenScanner {
    /// `None` for `hbase:meta`.
    region: Option<Arc<Region>>,
    scanner: RegionScanner,
    /// Bytes of cells in one answer.
    bytes_max: usize,
    need_cursor: bool,
    /// What its calls have looked through, for the limits of requests.
    estimate: ScanEstimate,
    /// The last call read from the disk or had much to look at; the next one goes to a reader thread at once.
    is_slow: bool,
    /// The client wants to know how many bytes of blocks were looked through.
    wants_metrics: bool,
    /// Its memory, held as long as it is open, and how much of that it began with.
    memory: Held,
    memory_bytes_min: usize,
}

impl OpenScanner {
    /// Counts what is kept for it now: blocks of files, and memstores that were flushed meanwhile.
    pub(crate) fn count_memory(&mut self) {
        self.memory.set(self.memory_bytes_min.saturating_add(self.scanner.held_bytes()));
    }
}

/// What is under way for one call.
struct Run {
    context: Arc<Context>,
    call: Arc<Call>,
    request: pb::ScanRequest,
    id: u64,
    /// Whether this call opens the scanner; if not, the table of scanners misses it until it is given back.
    opens: bool,
    missing: Option<Missing>,
    scanner: Box<OpenScanner>,
    /// Rows that may still be returned, and rows that may still end.
    results_left: usize,
    rows_left: usize,
    bytes_left: usize,
    /// When an answer without all of that has to go.
    until: Option<Instant>,
    began: Instant,
    /// Cells looked at and blocks read from the disk before this call.
    cells_before: u64,
    blocks_before: u64,
    figures: ScanFigures,
    rows: Vec<Row>,
    /// Network buffers of the answer: the rows, and as much for the frame.
    held: Held,
    charge: Option<Charge>,
}

/// A scanner that is away from the table. If the call comes to no end, for whatever reason, the scanner is closed.
struct Missing {
    context: Arc<Context>,
    id: u64,
    is_back: bool,
}

impl Drop for Missing {
    fn drop(&mut self) {
        if !self.is_back {
            self.context.scanners.close_one(self.id);
        }
    }
}

/// Answers a `Scan`.
pub(super) fn scan(context: &Arc<Context>, call: &Arc<Call>, lane: Lane) -> Result<Step, Fault> {
    let request: pb::ScanRequest = call.message()?;
    match request.scanner_id {
        Some(id) if request.renew() => renew(context, id),
        Some(id) if request.close_scanner() && request.number_of_rows() == 0 => close(context, id),
        Some(id) => next(context, call, request, id, lane),
        None => open(context, call, request, lane),
    }
}

fn renew(context: &Context, id: u64) -> Result<Step, Fault> {
    if !context.scanners.renew(id) {
        return Err(unknown(id));
    }
    Ok(Ok::<_, Fault>(Reply::new(pb::ScanResponse { scanner_id: Some(id), ..pb::ScanResponse::default() })).into())
}

/// To close a scanner that has come to its end by itself does no harm.
fn close(context: &Context, id: u64) -> Result<Step, Fault> {
    let mut response = pb::ScanResponse { scanner_id: Some(id), ..pb::ScanResponse::default() };
    if context.scanners.close_one(id) {
        response = pb::ScanResponse { more_results: Some(true), stale: Some(false), more_results_in_region: Some(true), ..response };
    } else if !context.scanners.is_own(id) {
        return Err(unknown(id));
    }
    Ok(Ok::<_, Fault>(Reply::new(response)).into())
}

fn unknown(id: u64) -> Fault {
    let text = format!(
        "Unknown scanner '{id}'. This can happen due to any of the following reasons: a) Scanner id given is wrong, b) Scanner lease expired because of \
         long wait between consecutive client checkins, c) Server may be closing down, d) the region was closed or split meanwhile. If the issue is due to \
         reason (b), a possible fix would be increasing the value of 'hbase.client.scanner.timeout.period' configuration."
    );
    Fault::new(ExceptionKind::UnknownScanner, text)
}

/// Gives a scan memory of its own. Its scanner outlives the call, and would keep the whole frame for a few bytes of it.
fn detach(scan: &mut pb::Scan) {
    let own = |bytes: &mut Bytes| *bytes = Bytes::copy_from_slice(bytes);
    scan.start_row.iter_mut().chain(&mut scan.stop_row).for_each(own);
    for column in &mut scan.column {
        own(&mut column.family);
        column.qualifier.iter_mut().for_each(own);
    }
    scan.cf_time_range.iter_mut().for_each(|range| own(&mut range.column_family));
    if let Some(filter) = &mut scan.filter {
        filter.serialized_filter.iter_mut().for_each(own);
    }
}

fn open(context: &Arc<Context>, call: &Arc<Call>, mut request: pb::ScanRequest, lane: Lane) -> Result<Step, Fault> {
    if let Some(scan) = &mut request.scan {
        detach(scan);
    }
    let (Some(specifier), Some(scan)) = (&request.region, &request.scan) else {
        return Err(Fault::do_not_retry("Missing required input: scannerId or scan"));
    };
    if context.scanners.is_full(call.peer.connection) {
        let text = format!(
            "this connection has {} scanners open, as many as it may; close those that are done with",
            context.config.limits.connection_scanners_max
        );
        return Err(Fault::do_not_retry(text));
    }
    let target = region::find(context, &call.peer, specifier)?;
    // Clients find regions by scans of hbase:meta, and what ends with its first call keeps nothing.
    let memory = hold_memory(call, scan, matches!(target, Target::Meta) || request.close_scanner())?;
    let query = convert::scan::from_proto(scan)?;
    let begins_at_once = !matches!(target, Target::Meta) && !region::is_slow_to_begin(query.scan.selection.filter.as_ref());
    if lane == Lane::Inline && !begins_at_once {
        let (context, call) = (Arc::clone(context), Arc::clone(call));
        return Ok(Step::later(move || open(&context, &call, request, Lane::Readers)));
    }
    let charge = region::charge(context, &call.peer, &target, Demand::Scan { bytes: 0 })?;
    let (region, scanner) = match target {
        Target::Region(region) => {
            let scanner =
                region.scan_at(&query.scan, Tier::Disk, read_at(&query)).map_err(|error| region::read_fault(&call.peer, &region, &error))?;
            (Some(region), scanner)
        }
        Target::Meta => (None, context.meta(&call.peer, Tier::Disk)?.scan(&query.scan)?),
    };
    let bytes_max = query.scan.max_result_bytes.min(context.config.limits.result_bytes_max);
    let (need_cursor, wants_metrics) = (query.need_cursor_result, query.query_metrics);
    let estimate = ScanEstimate::default();
    let memory_bytes_min = memory.bytes();
    let scanner =
        Box::new(OpenScanner { region, scanner, bytes_max, need_cursor, estimate, is_slow: false, wants_metrics, memory, memory_bytes_min });
    let id = context.scanners.new_id();
    Ok(Run::new(context, call, request, id, scanner, true).under(charge).begin(lane))
}

/// Reserves the memory of a scanner; the client comes again if other scanners take too much.
fn hold_memory(call: &Call, scan: &pb::Scan, is_short: bool) -> Result<Held, Fault> {
    let filter = scan.filter.as_ref().and_then(|filter| filter.serialized_filter.as_ref()).map_or(0, Bytes::len);
    let bytes = SCANNER_BYTES.saturating_add(scan.encoded_len()).saturating_add(filter.saturating_mul(FILTER_FACTOR));
    let account = &call.peer.scanner_memory;
    let may_take = account.may_take(bytes) || (is_short && bytes <= SHORT_BYTES_MAX);
    if !may_take {
        let text = format!(
            "no memory is left for a scanner of about {bytes} bytes (max-scanner-size); close scanners that are done with, or come again later"
        );
        return Err(Fault::new(ExceptionKind::CallQueueTooBig, text));
    }
    let mut memory = Held::new(account);
    memory.set(bytes);
    Ok(memory)
}

fn read_at(query: &ScanQuery) -> ReadAt {
    match query.mvcc_read_point {
        _ if query.read_uncommitted => ReadAt::Applied,
        Some(point) => ReadAt::Point(point),
        None => ReadAt::Committed,
    }
}

fn next(context: &Arc<Context>, call: &Arc<Call>, request: pb::ScanRequest, id: u64, lane: Lane) -> Result<Step, Fault> {
    match context.scanners.take(id, call.peer.connection, request.next_call_seq) {
        Found::Scanner(scanner) => {
            if let Some(region) = &scanner.region
                && region.check_open().is_err()
            {
                let fault = region::not_serving(&call.peer, &region.info().full_name());
                context.scanners.close_one(id);
                return Err(fault);
            }
            match charge_next(context, call, &request, &scanner) {
                Ok(charge) => Ok(Run::new(context, call, request, id, scanner, false).under(charge).begin(lane)),
                Err(fault) => {
                    context.scanners.put_back(id, scanner, request.next_call_seq);
                    Err(fault)
                }
            }
        }
        Found::Again(kept) => Ok(Ok::<_, Fault>(reply_of(*kept, call)).into()),
        Found::OutOfOrder(expected) => {
            let got = request.next_call_seq();
            let text = format!("Expected nextCallSeq: {expected} But the nextCallSeq got from client: {got}; scanner {id}");
            Err(Fault::new(ExceptionKind::OutOfOrderScannerNext, text))
        }
        Found::Busy => {
            let text = format!("scanner {id} is still working for an earlier call; wait for that one's answer");
            Err(Fault::new(ExceptionKind::OutOfOrderScannerNext, text))
        }
        Found::Unknown => Err(unknown(id)),
    }
}

/// Charges a call for more rows, if the scanner is under limits.
fn charge_next(context: &Context, call: &Call, request: &pb::ScanRequest, scanner: &OpenScanner) -> Result<Option<Charge>, Fault> {
    match &scanner.region {
        Some(region) => context.quota.charge_scan(&call.peer, region, &scanner.estimate, request.next_call_seq(), scanner.bytes_max),
        None => Ok(None),
    }
}

fn reply_of(kept: KeptReply, call: &Call) -> Reply {
    Reply::shared(kept.message, call.peer.format.map(|_| kept.cells))
}

impl Run {
    fn new(context: &Arc<Context>, call: &Arc<Call>, request: pb::ScanRequest, id: u64, scanner: Box<OpenScanner>, opens: bool) -> Self {
        // HBase returns one row if nobody says how many, and none with a scanner that is to be closed at once.
        let rows = request.number_of_rows.unwrap_or(u32::from(!request.close_scanner()));
        let began = Instant::now();
        scanner.scanner.time_block_reads(request.track_scan_metrics());
        Self {
            results_left: count(rows),
            // As in HBase only a limit above 0 is one.
            rows_left: Some(count(request.limit_of_rows())).filter(|limit| *limit > 0).unwrap_or(usize::MAX),
            bytes_left: scanner.bytes_max.max(1),
            until: request.client_handles_heartbeats().then(|| began + time_limit(context, call)),
            cells_before: scanner.scanner.trace().cells_examined(),
            blocks_before: scanner.scanner.trace().blocks_read(),
            figures: ScanFigures::new(scanner.scanner.trace(), call),
            missing: (!opens).then(|| Missing { context: Arc::clone(context), id, is_back: false }),
            context: Arc::clone(context),
            call: Arc::clone(call),
            request,
            id,
            opens,
            scanner,
            began,
            rows: Vec::new(),
            held: Held::new(&call.peer.account),
            charge: None,
        }
    }

    /// The same under limits, of which the answer's size is one.
    fn under(mut self, charge: Option<Charge>) -> Self {
        self.bytes_left = charge.as_ref().map_or(self.bytes_left, |charge| self.bytes_left.min(charge.bytes_max()));
        self.charge = charge;
        self
    }

    /// Answers from memory if this is where it must not wait and there is little to do; or leaves it to a reader thread.
    fn begin(mut self, lane: Lane) -> Step {
        if self.results_left == 0 {
            return self.finish(None);
        }
        if lane != Lane::Inline {
            return self.slice();
        }
        if !self.scanner.is_slow {
            let budget = ScanBudget { cells_examined: MEMORY_CELLS_MAX, time_ms: None, ..self.budget() };
            match self.scanner.scanner.try_rows(budget) {
                Ok(Some(batch)) => {
                    let stopped = self.take(batch);
                    if stopped != StopReason::Cells || !self.has_room() {
                        return self.finish(Some(stopped));
                    }
                }
                Ok(None) => {}
                Err(error) => return self.fail(&error),
            }
        }
        Step::Later(Box::new(move || self.slice()))
    }

    /// What the next piece of work may return and do.
    fn budget(&self) -> ScanBudget {
        let slice = Duration::from_millis(SLICE_MS);
        let time = self.until.map_or(slice, |until| until.saturating_duration_since(Instant::now()).min(slice));
        ScanBudget {
            results: self.results_left,
            rows: self.rows_left,
            bytes: self.bytes_left.min(self.call.peer.account.share_left().max(FLOOR_BYTES) / 2),
            cells_examined: u64::MAX,
            time_ms: Some(u64::try_from(time.as_millis()).unwrap_or(SLICE_MS).max(1)),
            cut_rows: self.request.client_handles_partials(),
        }
    }

    /// Works for a little while; the answer, or the rest of the work.
    fn slice(mut self) -> Step {
        let budget = self.budget();
        let batch = match self.scanner.scanner.next_rows(budget) {
            Ok(batch) => batch,
            Err(error) => return self.fail(&error),
        };
        let stopped = self.take(batch);
        let is_out_of_time = self.until.is_some_and(|until| until <= Instant::now());
        // The client asks for the rest: what it has not read leaves no room for more.
        let has_share = self.rows.is_empty() || self.call.peer.account.share_left() > 0;
        let goes_on = stopped == StopReason::Time && !is_out_of_time && self.has_room() && has_share;
        if goes_on { Step::Later(Box::new(move || self.slice())) } else { self.finish(Some(stopped)) }
    }

    /// Adds rows to the answer.
    fn take(&mut self, batch: ScanBatch) -> StopReason {
        let bytes: usize = batch.rows.iter().map(|row| counted_bytes(row.len(), row.cells().bytes().len())).sum();
        self.results_left = self.results_left.saturating_sub(batch.rows.len());
        self.rows_left = self.rows_left.saturating_sub(batch.rows_ended);
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        self.held.set(self.held.bytes().saturating_add(bytes.saturating_mul(2)));
        if self.rows.is_empty() {
            self.rows = batch.rows;
        } else {
            self.rows.extend(batch.rows);
        }
        batch.stopped
    }

    /// Whether more fits the answer.
    fn has_room(&self) -> bool {
        self.results_left > 0 && self.rows_left > 0 && self.bytes_left > 0
    }

    fn fail(self, error: &Error) -> Step {
        let fault = match &self.scanner.region {
            Some(region) => region::read_fault(&self.call.peer, region, error),
            None => Fault::from(error),
        };
        fault.into()
    }

    /// The answer, and what becomes of the scanner.
    fn finish(mut self, stopped: Option<StopReason>) -> Step {
        let at_end = stopped.is_some_and(StopReason::is_end);
        // Only a filter that lets nothing pass any more ends a scan as a whole, and only without rows: with rows the client
        // goes on to the next region, where the filter begins afresh.
        let is_over = self.rows_left == 0 || stopped == Some(StopReason::FilterEnd) && self.rows.is_empty();
        let closes = at_end || is_over || self.request.close_scanner();
        self.note_read();
        let (message, cells) = self.response(stopped, at_end, is_over);
        let reply = KeptReply { message: Arc::new(message), cells };
        let trace = self.scanner.scanner.trace();
        let cells_examined = trace.cells_examined().saturating_sub(self.cells_before);
        self.scanner.is_slow = trace.blocks_read() > self.blocks_before || cells_examined > MEMORY_CELLS_MAX;
        self.scanner.count_memory();
        let scanners = &self.context.scanners;
        if let Some(missing) = &mut self.missing {
            // It goes back, or has come to its end.
            missing.is_back = true;
            let kept = self.request.next_call_seq.filter(|_| !self.request.close_scanner()).map(|call| (call, reply.clone()));
            scanners.give_back(self.id, (!closes).then_some(self.scanner), kept);
        } else if !closes {
            scanners.open(self.id, self.call.peer.connection, self.scanner);
        }
        Ok::<_, Fault>(reply_of(reply, &self.call).holding(self.held)).into()
    }

    /// Tells the limits what was looked through and what is returned.
    fn note_read(&mut self) {
        let Some(charge) = &self.charge else { return };
        let blocks = self.figures.block_bytes(self.scanner.scanner.trace());
        let returned: usize = self.rows.iter().map(|row| row.cells().bytes().len()).sum();
        charge.read(blocks, returned);
        self.scanner.estimate.add(blocks);
    }

    fn response(&mut self, stopped: Option<StopReason>, at_end: bool, is_over: bool) -> (pb::ScanResponse, Arc<[Cells]>) {
        let in_cell_block = self.call.peer.format.is_some();
        let is_early = stopped == Some(StopReason::Time);
        let has_cursor = self.scanner.need_cursor && (is_early || stopped == Some(StopReason::Bytes) && self.rows.is_empty());
        let lease_ms = u32::try_from(self.context.config.limits.scanner_lease_ms).unwrap_or(u32::MAX);
        let mut response = pb::ScanResponse {
            scanner_id: Some(self.id),
            more_results: Some(!is_over),
            more_results_in_region: Some(!at_end),
            stale: Some(false),
            ttl: self.opens.then_some(lease_ms),
            mvcc_read_point: self.opens.then(|| self.scanner.scanner.read_point()),
            heartbeat_message: is_early.then_some(true),
            cursor: has_cursor.then(|| pb::Cursor { row: self.scanner.scanner.last_row().map(|row| row.to_vec().into()) }),
            scan_metrics: self.request.track_scan_metrics().then(|| self.figures.message(self.scanner.scanner.trace(), self.began)),
            ..pb::ScanResponse::default()
        };
        let rows = std::mem::take(&mut self.rows);
        convert::result::rows_to_response(&rows, in_cell_block, &mut response);
        if self.scanner.wants_metrics {
            // What was looked through is known of all rows together; they stand with the first.
            let of_rows = std::iter::once(self.figures.block_bytes(self.scanner.scanner.trace())).chain(std::iter::repeat(0));
            response.query_metrics = of_rows.take(rows.len()).map(query_metrics).collect();
        }
        let cells = if in_cell_block { rows.into_iter().map(Row::into_cells).collect() } else { Arc::default() };
        (response, cells)
    }
}

/// A count of Java's, whose numbers from 2^31 on are negative.
fn count(number: u32) -> usize {
    usize::try_from(number.cast_signed()).unwrap_or(0)
}

/// Half of what the client or the lease allows, whichever is less.
fn time_limit(context: &Context, call: &Call) -> Duration {
    let lease = context.config.limits.scanner_lease_ms;
    let allowed = call.timeout_ms.map_or(lease, |timeout| lease.min(timeout.into()));
    Duration::from_millis((allowed / 2).max(TIME_MS_MIN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::master_service::tests::rig::{Rig, name};

    #[test]
    fn a_memstore_that_is_flushed_counts_for_a_scanner_that_nobody_asks() {
        let rig = Rig::new();
        rig.create("t", &["f"], &[]);
        let table = rig.context.engine.table(&name("t")).unwrap();
        table.apply(["a", "b"].map(|row| halite_types::Put::new(row).add("f", "q", vec![7; 1 << 20]).into()).to_vec()).unwrap();
        let region = Some(convert::region::specifier(&rig.context.engine.regions(&name("t")).unwrap()[0]));
        let request = pb::ScanRequest { region, scan: Some(pb::Scan::default()), number_of_rows: Some(1), ..Default::default() };
        rig.ask::<halite_wire::service::ClientScan>(&request).unwrap();
        let used = || rig.peer.scanner_memory.used();
        assert!(used() < 2 * SCANNER_BYTES);
        rig.context.engine.flush(&name("t")).unwrap();
        rig.context.scanners.expire(Instant::now());
        assert!(used() > 2 << 20, "{}", used());
    }

    #[test]
    fn what_a_scanner_keeps_does_not_keep_the_frame() {
        let bytes = Bytes::from_static;
        let value = pb::FilterList {
            operator: pb::filter_list::Operator::MustPassAll.into(),
            filters: vec![pb::Filter {
                name: "org.apache.hadoop.hbase.filter.PrefixFilter".to_owned(),
                serialized_filter: Some(pb::PrefixFilter { prefix: Some(bytes(b"prefix")) }.encode_to_vec().into()),
            }],
        };
        let asked = pb::Scan {
            start_row: Some(bytes(b"a")),
            stop_row: Some(bytes(b"b")),
            column: vec![pb::Column { family: bytes(b"f"), qualifier: vec![bytes(b"q")] }],
            attribute: vec![pb::NameBytesPair { name: "big".to_owned(), value: Some(vec![0; 1 << 20].into()) }],
            filter: Some(pb::Filter {
                name: "org.apache.hadoop.hbase.filter.FilterList".to_owned(),
                serialized_filter: Some(value.encode_to_vec().into()),
            }),
            cf_time_range: vec![pb::ColumnFamilyTimeRange { column_family: bytes(b"g"), time_range: pb::TimeRange { from: Some(1), to: Some(2) } }],
            ..Default::default()
        };
        let frame = Bytes::from(asked.encode_to_vec());
        let mut scan = pb::Scan::decode(frame.clone()).unwrap();
        detach(&mut scan);
        let query = convert::scan::from_proto(&scan).unwrap();
        assert!(!frame.is_unique(), "the attribute");
        drop(scan);
        assert!(frame.is_unique(), "{query:?}");
    }
}
