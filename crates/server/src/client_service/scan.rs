//! `Scan`: opens scanners, reads rows from them, renews their leases and closes them.
//!
//! A few rows that are in memory are returned on the connection's task. Larger scans run on handler
//! threads, in slices of a few milliseconds, with other calls between them. A response contains as
//! many rows as its limits allow: rows, bytes, and half of the time that the client or the lease
//! allows.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use halite_engine::scan::{ReadAt, ScanBatch, ScanLimits, StopReason, counted_bytes};
use halite_types::{Cells, Error, ReadTier, Row};
use halite_wire::convert;
use halite_wire::convert::scan::ScanQuery;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use prost::Message as _;

use super::decode;
use super::get::query_metrics;
use super::region::{self, RequestTarget};
use super::scan_metrics::ScanCounters;
use super::scanner::OpenScanner;
use super::state::ClientService;
use crate::base::buffers::{FLOOR_BYTES, MemoryReservation};
use crate::base::call::{Call, CallError, Reply};
use crate::base::call_step::{CallStep, Executor};
use crate::base::context::Context;
use crate::base::inline;
use crate::base::quota::{EstimatedUsage, OperationQuota, ScanEstimate};
use crate::base::scanners::{CellReply, HeldScanner, ScannerLookup};
use crate::outside::Instant;

/// Time that one scan occupies a handler thread before the next call in the queue runs, in
/// milliseconds.
const SLICE_MS: u64 = 10;
/// Minimum time before a response is returned early, as in HBase
/// (`hbase.region.server.rpc.minimum.scan.time.limit.delta`), in milliseconds.
const MIN_SCAN_TIME_MS: u64 = 10;

/// Estimated bytes of a scanner without its query and its data sources.
const SCANNER_BYTES: usize = 8 << 10;
/// Maximum estimated bytes of a short scanner that is opened even if other scanners have used the
/// memory.
const MAX_SHORT_SCANNER_BYTES: usize = 64 << 10;

/// Scan call in progress.
struct ScanExecution {
    service: Arc<ClientService>,
    call: Arc<Call>,
    request: pb::ScanRequest,
    id: u64,
    /// `true` if this call opens the scanner. If `false`, the scanner is missing from the registry
    /// until it is released.
    opens: bool,
    detached: Option<DetachedScanner>,
    scanner: Box<OpenScanner>,
    /// Maximum further results, and maximum further complete rows.
    results_left: usize,
    rows_left: usize,
    bytes_left: usize,
    /// Time at which a partial response must be sent.
    until: Option<Instant>,
    began: Instant,
    /// Cells examined and blocks read from the disk before this call.
    cells_before: u64,
    blocks_before: u64,
    counters: ScanCounters,
    rows: Vec<Row>,
    /// Network buffers of the response: the rows, and as much for the frame.
    reservation: MemoryReservation,
    quota: Option<OperationQuota>,
}

/// Scanner taken from the registry. If the call does not finish, the scanner is closed.
struct DetachedScanner {
    service: Arc<ClientService>,
    id: u64,
    is_back: bool,
}

impl Drop for DetachedScanner {
    fn drop(&mut self) {
        if !self.is_back {
            self.service.scanners.close_one(self.id);
        }
    }
}

/// Answers a `Scan`.
pub(super) fn scan(
    service: &Arc<ClientService>,
    call: &Arc<Call>,
    executor: Executor,
) -> Result<CallStep, CallError> {
    let Some(request) = decode::message::<pb::ScanRequest>(call, executor)? else {
        return Ok(decode::defer_undecoded(service, call, scan));
    };
    match request.scanner_id {
        Some(id) if request.renew() => renew(service, id),
        Some(id) if request.close_scanner() && request.number_of_rows() == 0 => close(service, id),
        Some(id) => next(service, call, request, id, executor),
        None => open(service, call, request, executor),
    }
}

fn renew(service: &ClientService, id: u64) -> Result<CallStep, CallError> {
    if !service.scanners.renew(id) {
        return Err(unknown(id));
    }
    Ok(Ok::<_, CallError>(Reply::new(pb::ScanResponse {
        scanner_id: Some(id),
        ..pb::ScanResponse::default()
    }))
    .into())
}

/// Closes a scanner. Closing a scanner that has already ended succeeds.
fn close(service: &ClientService, id: u64) -> Result<CallStep, CallError> {
    let mut response = pb::ScanResponse { scanner_id: Some(id), ..pb::ScanResponse::default() };
    if service.scanners.close_one(id) {
        response = pb::ScanResponse {
            more_results: Some(true),
            stale: Some(false),
            more_results_in_region: Some(true),
            ..response
        };
    } else if !service.scanners.is_own(id) {
        return Err(unknown(id));
    }
    Ok(Ok::<_, CallError>(Reply::new(response)).into())
}

fn unknown(id: u64) -> CallError {
    let text = format!(
        "Unknown scanner '{id}'. This can happen due to any of the following reasons: a) Scanner \
         id given is wrong, b) Scanner lease expired because of long wait between consecutive \
         client checkins, c) Server may be closing down, d) the region was closed or split \
         meanwhile. If the issue is due to reason (b), a possible fix would be increasing the \
         value of 'hbase.client.scanner.timeout.period' configuration."
    );
    CallError::new(ExceptionKind::UnknownScanner, text)
}

/// Copies the byte fields of a scan. Its scanner outlives the call, and would retain the whole
/// frame for a few bytes.
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

fn open(
    service: &Arc<ClientService>,
    call: &Arc<Call>,
    mut request: pb::ScanRequest,
    executor: Executor,
) -> Result<CallStep, CallError> {
    let context = &service.context;
    if let Some(scan) = &mut request.scan {
        detach(scan);
    }
    let (Some(specifier), Some(scan)) = (&request.region, &request.scan) else {
        return Err(CallError::do_not_retry("Missing required input: scannerId or scan"));
    };
    check_count(service, call)?;
    let target = region::find(context, &call.peer, specifier)?;
    let memory = ScannerMemory {
        query_bytes: query_bytes(scan),
        // Clients locate regions by scans of hbase:meta, and a scan that ends with its first call
        // holds no memory afterwards.
        is_short: matches!(target, RequestTarget::Meta) || request.close_scanner(),
    };
    memory.check(call)?;
    let query = convert::scan::from_proto(scan)?;
    let begins_at_once = !matches!(target, RequestTarget::Meta)
        && inline::allows_filter(query.scan.selection.filter.as_ref());
    let opening = ScanOpening {
        service: Arc::clone(service),
        call: Arc::clone(call),
        request,
        target,
        query,
        memory,
    };
    if executor == Executor::Inline && !begins_at_once {
        return Ok(decode::defer_decoded(call, opening.memory.query_bytes, move || {
            // Other calls of the connection may have opened scanners meanwhile.
            check_count(&opening.service, &opening.call)?;
            opening.begin(Executor::Handler)
        }));
    }
    opening.begin(executor)
}

/// Rejects a further scanner of a connection that has the maximum number of them.
fn check_count(service: &ClientService, call: &Call) -> Result<(), CallError> {
    if service.scanners.is_full(call.peer.connection) {
        let text = format!(
            "this connection has {} scanners open, as many as it may; close those that are done \
             with",
            service.context.config.limits.max_scanners_per_connection
        );
        return Err(CallError::do_not_retry(text));
    }
    Ok(())
}

/// Decoded scan whose scanner is not open yet.
struct ScanOpening {
    service: Arc<ClientService>,
    call: Arc<Call>,
    request: pb::ScanRequest,
    target: RequestTarget,
    query: ScanQuery,
    memory: ScannerMemory,
}

/// Estimated memory of a scanner that is not open yet.
#[derive(Clone, Copy)]
struct ScannerMemory {
    /// Bytes of the decoded query.
    query_bytes: usize,
    /// `true` if the scanner may be opened even if other scanners have used the memory.
    is_short: bool,
}

impl ScanOpening {
    /// Opens the scanner and begins to read from it.
    fn begin(self, executor: Executor) -> Result<CallStep, CallError> {
        let Self { service, call, request, target, query, memory } = self;
        // The scan may have waited: until now its query was counted as memory of the call.
        let memory = memory.reserve(&call)?;
        let context = &service.context;
        let quota =
            region::check_quota(context, &call.peer, &target, EstimatedUsage::Scan { bytes: 0 })?;
        let (region, scanner) = match target {
            RequestTarget::Region(region) => {
                let scanner = region
                    .scan_at(&query.scan, ReadTier::Disk, set_read_point(&query))
                    .map_err(|error| region::read_error(&call.peer, &region, &error))?;
                (Some(region), scanner)
            }
            RequestTarget::Meta => {
                (None, context.meta(&call.peer, ReadTier::Disk)?.scan(&query.scan)?)
            }
        };
        let scanner = Box::new(OpenScanner {
            region,
            scanner,
            max_bytes: query.scan.max_result_bytes.min(context.config.limits.max_result_bytes),
            need_cursor: query.need_cursor_result,
            estimate: ScanEstimate::default(),
            is_slow: false,
            needs_metrics: query.query_metrics,
            base_memory_bytes: memory.bytes(),
            memory,
        });
        let id = service.scanners.new_id();
        let scan = ScanExecution::new(&service, &call, request, id, scanner, true);
        Ok(scan.with_quota(quota).begin(executor))
    }
}

/// Returns the estimated memory in bytes of the query of a scan: the copies of its byte fields, and
/// its filter.
fn query_bytes(scan: &pb::Scan) -> usize {
    scan.encoded_len().saturating_add(inline::filter_bytes(scan.filter.as_ref()))
}

impl ScannerMemory {
    fn bytes(self) -> usize {
        SCANNER_BYTES.saturating_add(self.query_bytes)
    }

    /// Rejects the scanner if other scanners use too much memory. The client retries.
    fn check(self, call: &Call) -> Result<(), CallError> {
        let bytes = self.bytes();
        if call.peer.scanner_memory.may_take(bytes)
            || (self.is_short && bytes <= MAX_SHORT_SCANNER_BYTES)
        {
            return Ok(());
        }
        let text = format!(
            "no memory is left for a scanner of about {bytes} bytes (max-scanner-size); close \
             scanners that are done with, or come again later"
        );
        Err(CallError::new(ExceptionKind::CallQueueTooBig, text))
    }

    /// Reserves the memory, with the errors of [`ScannerMemory::check`].
    fn reserve(self, call: &Call) -> Result<MemoryReservation, CallError> {
        self.check(call)?;
        let mut memory = MemoryReservation::new(&call.peer.scanner_memory);
        memory.set(self.bytes());
        Ok(memory)
    }
}

fn set_read_point(query: &ScanQuery) -> ReadAt {
    match query.mvcc_read_point {
        _ if query.read_uncommitted => ReadAt::Applied,
        Some(point) => ReadAt::Point(point),
        None => ReadAt::Committed,
    }
}

fn next(
    service: &Arc<ClientService>,
    call: &Arc<Call>,
    request: pb::ScanRequest,
    id: u64,
    executor: Executor,
) -> Result<CallStep, CallError> {
    match service.scanners.take(id, call.peer.connection, request.next_call_seq) {
        ScannerLookup::Scanner(scanner) => {
            if let Some(region) = &scanner.region {
                // The first attempt has set it already if this is the second one.
                let _ = call.scanned.set(Arc::clone(region.info()));
            }
            if let Some(region) = &scanner.region
                && region.check_open().is_err()
            {
                let fault = region::not_serving(&call.peer, &region.info().full_name());
                service.scanners.close_one(id);
                return Err(fault);
            }
            match check_next_quota(&service.context, call, &request, &scanner) {
                Ok(quota) => Ok(ScanExecution::new(service, call, request, id, scanner, false)
                    .with_quota(quota)
                    .begin(executor)),
                Err(fault) => {
                    service.scanners.restore(id, scanner, request.next_call_seq);
                    Err(fault)
                }
            }
        }
        ScannerLookup::CachedReply(kept) => Ok(Ok::<_, CallError>(to_reply(*kept, call)).into()),
        ScannerLookup::OutOfOrder(expected) => {
            let got = request.next_call_seq();
            let text = format!(
                "Expected nextCallSeq: {expected} But the nextCallSeq got from client: {got}; \
                 scanner {id}"
            );
            Err(CallError::new(ExceptionKind::OutOfOrderScannerNext, text))
        }
        ScannerLookup::Busy => {
            let text = format!(
                "scanner {id} is still working for an earlier call; wait for that one's answer"
            );
            Err(CallError::new(ExceptionKind::OutOfOrderScannerNext, text))
        }
        ScannerLookup::Unknown => Err(unknown(id)),
    }
}

/// Charges a call for more rows, if quotas apply to the scanner.
fn check_next_quota(
    context: &Context,
    call: &Call,
    request: &pb::ScanRequest,
    scanner: &OpenScanner,
) -> Result<Option<OperationQuota>, CallError> {
    match &scanner.region {
        Some(region) => context.quota.check_scan_quota(
            &call.peer,
            region,
            &scanner.estimate,
            request.next_call_seq(),
            scanner.max_bytes,
        ),
        None => Ok(None),
    }
}

fn to_reply(kept: CellReply, call: &Call) -> Reply {
    Reply::shared(kept.message, call.peer.format.map(|_| kept.cells))
}

impl ScanExecution {
    fn new(
        service: &Arc<ClientService>,
        call: &Arc<Call>,
        mut request: pb::ScanRequest,
        id: u64,
        scanner: Box<OpenScanner>,
        opens: bool,
    ) -> Self {
        // The scanner contains both, and a scan that waits for a thread should not hold them twice.
        (request.scan, request.region) = (None, None);
        // As in HBase, the default is one row, and no rows for a scanner that is to be closed at
        // once.
        let rows = request.number_of_rows.unwrap_or(u32::from(!request.close_scanner()));
        let began = Instant::now();
        scanner.scanner.time_block_reads(request.track_scan_metrics());
        Self {
            results_left: count(rows),
            // As in HBase, only a value above 0 is a limit.
            rows_left: Some(count(request.limit_of_rows()))
                .filter(|limit| *limit > 0)
                .unwrap_or(usize::MAX),
            bytes_left: scanner.max_bytes.max(1),
            until: request
                .client_handles_heartbeats()
                .then(|| began + time_limit(&service.context, call)),
            cells_before: scanner.scanner.stats().cells_examined(),
            blocks_before: scanner.scanner.stats().blocks_read(),
            counters: ScanCounters::new(scanner.scanner.stats(), call),
            detached: (!opens).then(|| DetachedScanner {
                service: Arc::clone(service),
                id,
                is_back: false,
            }),
            service: Arc::clone(service),
            call: Arc::clone(call),
            request,
            id,
            opens,
            scanner,
            began,
            rows: Vec::new(),
            reservation: MemoryReservation::new(&call.peer.account),
            quota: None,
        }
    }

    /// Adds a quota, which also limits the size of the response.
    fn with_quota(mut self, quota: Option<OperationQuota>) -> Self {
        self.bytes_left =
            quota.as_ref().map_or(self.bytes_left, |quota| self.bytes_left.min(quota.max_bytes()));
        self.quota = quota;
        self
    }

    /// Answers from memory on the connection's task if there is little work; otherwise defers the
    /// call to a handler thread.
    fn begin(mut self, executor: Executor) -> CallStep {
        if self.results_left == 0 {
            return self.finish(None);
        }
        if executor != Executor::Inline {
            return self.slice();
        }
        if !self.scanner.is_slow {
            let budget = inline::limit_scan(self.limits());
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
        CallStep::Deferred(Box::new(move || self.slice()))
    }

    /// Returns the limits of the next slice.
    fn limits(&self) -> ScanLimits {
        let slice = Duration::from_millis(SLICE_MS);
        let time = self
            .until
            .map_or(slice, |until| until.saturating_duration_since(Instant::now()).min(slice));
        ScanLimits {
            results: self.results_left,
            rows: self.rows_left,
            bytes: self.bytes_left.min(self.call.peer.account.share_left().max(FLOOR_BYTES) / 2),
            cells_examined: u64::MAX,
            time_ms: Some(u64::try_from(time.as_millis()).unwrap_or(SLICE_MS).max(1)),
            cut_rows: self.request.client_handles_partials(),
        }
    }

    /// Runs one slice. Returns the response or the rest of the work.
    fn slice(mut self) -> CallStep {
        let budget = self.limits();
        let batch = match self.scanner.scanner.next_rows(budget) {
            Ok(batch) => batch,
            Err(error) => return self.fail(&error),
        };
        let stopped = self.take(batch);
        let is_out_of_time = self.until.is_some_and(|until| until <= Instant::now());
        // The client requests the rest later: its unread responses leave no room for more.
        let has_share = self.rows.is_empty() || self.call.peer.account.share_left() > 0;
        let goes_on =
            stopped == StopReason::Time && !is_out_of_time && self.has_room() && has_share;
        if goes_on {
            CallStep::Deferred(Box::new(move || self.slice()))
        } else {
            self.finish(Some(stopped))
        }
    }

    /// Adds rows to the response.
    fn take(&mut self, batch: ScanBatch) -> StopReason {
        let bytes: usize =
            batch.rows.iter().map(|row| counted_bytes(row.len(), row.cells().bytes().len())).sum();
        self.results_left = self.results_left.saturating_sub(batch.rows.len());
        self.rows_left = self.rows_left.saturating_sub(batch.rows_ended);
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        self.reservation.set(self.reservation.bytes().saturating_add(bytes.saturating_mul(2)));
        if self.rows.is_empty() {
            self.rows = batch.rows;
        } else {
            self.rows.extend(batch.rows);
        }
        batch.stopped
    }

    /// Returns `true` if the response has room for more.
    fn has_room(&self) -> bool {
        self.results_left > 0 && self.rows_left > 0 && self.bytes_left > 0
    }

    fn fail(self, error: &Error) -> CallStep {
        let fault = match &self.scanner.region {
            Some(region) => region::read_error(&self.call.peer, region, error),
            None => CallError::from(error),
        };
        fault.into()
    }

    /// Returns the response, and releases or closes the scanner.
    fn finish(mut self, stopped: Option<StopReason>) -> CallStep {
        let at_end = stopped.is_some_and(StopReason::is_end);
        // Only a filter that rejects all further rows ends a scan as a whole, and only without
        // rows. With rows the client continues in the next region, where the filter starts again.
        let is_over =
            self.rows_left == 0 || stopped == Some(StopReason::FilterEnd) && self.rows.is_empty();
        let closes = at_end || is_over || self.request.close_scanner();
        self.record_read();
        let (message, cells) = self.response(stopped, at_end, is_over);
        let reply = CellReply { message: Arc::new(message), cells };
        let stats = self.scanner.scanner.stats();
        let cells_examined = stats.cells_examined().saturating_sub(self.cells_before);
        let blocks_read = stats.blocks_read().saturating_sub(self.blocks_before);
        self.scanner.is_slow = !inline::allows_next(cells_examined, blocks_read);
        self.scanner.count_memory();
        let scanners = &self.service.scanners;
        if let Some(missing) = &mut self.detached {
            // The scanner is released or has ended.
            missing.is_back = true;
            let kept = self
                .request
                .next_call_seq
                .filter(|_| !self.request.close_scanner())
                .map(|call| (call, reply.clone()));
            scanners.release(self.id, (!closes).then_some(self.scanner), kept);
        } else if !closes {
            scanners.open(self.id, self.call.peer.connection, self.scanner);
        }
        Ok::<_, CallError>(to_reply(reply, &self.call).with_reservation(self.reservation)).into()
    }

    /// Records in the quotas the bytes scanned and the bytes returned.
    fn record_read(&mut self) {
        let Some(quota) = &self.quota else { return };
        let blocks = self.counters.block_bytes(self.scanner.scanner.stats());
        let returned: usize = self.rows.iter().map(|row| row.cells().bytes().len()).sum();
        quota.record_read(blocks, returned);
        self.scanner.estimate.add(blocks);
    }

    fn response(
        &mut self,
        stopped: Option<StopReason>,
        at_end: bool,
        is_over: bool,
    ) -> (pb::ScanResponse, Arc<[Cells]>) {
        let in_cell_block = self.call.peer.format.is_some();
        let is_early = stopped == Some(StopReason::Time);
        let has_cursor = self.scanner.need_cursor
            && (is_early || stopped == Some(StopReason::Bytes) && self.rows.is_empty());
        let lease_ms = u32::try_from(self.service.context.config.limits.scanner_timeout_ms)
            .unwrap_or(u32::MAX);
        let mut response = pb::ScanResponse {
            scanner_id: Some(self.id),
            more_results: Some(!is_over),
            more_results_in_region: Some(!at_end),
            stale: Some(false),
            ttl: self.opens.then_some(lease_ms),
            mvcc_read_point: self.opens.then(|| self.scanner.scanner.read_point()),
            heartbeat_message: is_early.then_some(true),
            cursor: has_cursor.then(|| pb::Cursor {
                row: self.scanner.scanner.last_row().map(|row| row.to_vec().into()),
            }),
            scan_metrics: self
                .request
                .track_scan_metrics()
                .then(|| self.counters.message(self.scanner.scanner.stats(), self.began)),
            ..pb::ScanResponse::default()
        };
        let rows = std::mem::take(&mut self.rows);
        convert::result::rows_to_response(&rows, in_cell_block, &mut response);
        if self.scanner.needs_metrics {
            // The scanned bytes are known for all rows together and are returned with the first.
            let of_rows = std::iter::once(self.counters.block_bytes(self.scanner.scanner.stats()))
                .chain(std::iter::repeat(0));
            response.query_metrics = of_rows.take(rows.len()).map(query_metrics).collect();
        }
        let cells = if in_cell_block {
            rows.into_iter().map(Row::into_cells).collect()
        } else {
            Arc::default()
        };
        (response, cells)
    }
}

/// Converts a Java count, where numbers from 2^31 on are negative, to at least 0.
fn count(number: u32) -> usize {
    usize::try_from(number.cast_signed()).unwrap_or(0)
}

/// Returns half of the time that the client or the lease allows, whichever is less.
fn time_limit(context: &Context, call: &Call) -> Duration {
    let lease = context.config.limits.scanner_timeout_ms;
    let allowed = call.timeout_ms.map_or(lease, |timeout| lease.min(timeout.into()));
    Duration::from_millis((allowed / 2).max(MIN_SCAN_TIME_MS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_server::{TestServer, name};

    #[test]
    fn flushed_memstore_is_charged_to_idle_scanner() {
        let rig = TestServer::new();
        rig.create("t", &["f"], &[]);
        let table = rig.context.engine.table(&name("t")).unwrap();
        table
            .batch(
                ["a", "b"]
                    .map(|row| halite_types::Put::new(row).add("f", "q", vec![7; 1 << 20]).into())
                    .to_vec(),
            )
            .unwrap();
        let region =
            Some(convert::region::specifier(&rig.context.engine.regions(&name("t")).unwrap()[0]));
        let request = pb::ScanRequest {
            region,
            scan: Some(pb::Scan::default()),
            number_of_rows: Some(1),
            ..Default::default()
        };
        rig.call::<halite_wire::service::ClientScan>(&request).unwrap();
        let used = || rig.peer.scanner_memory.used();
        assert!(used() < 2 * SCANNER_BYTES);
        rig.context.engine.flush(&name("t")).unwrap();
        rig.services.client.scanners.expire(Instant::now());
        assert!(used() > 2 << 20, "{}", used());
    }

    #[test]
    fn open_scanner_does_not_retain_request_frame() {
        let bytes = Bytes::from_static;
        let value = pb::FilterList {
            operator: pb::filter_list::Operator::MustPassAll.into(),
            filters: vec![pb::Filter {
                name: "org.apache.hadoop.hbase.filter.PrefixFilter".to_owned(),
                serialized_filter: Some(
                    pb::PrefixFilter { prefix: Some(bytes(b"prefix")) }.encode_to_vec().into(),
                ),
            }],
        };
        let message = pb::Scan {
            start_row: Some(bytes(b"a")),
            stop_row: Some(bytes(b"b")),
            column: vec![pb::Column { family: bytes(b"f"), qualifier: vec![bytes(b"q")] }],
            attribute: vec![pb::NameBytesPair {
                name: "big".to_owned(),
                value: Some(vec![0; 1 << 20].into()),
            }],
            filter: Some(pb::Filter {
                name: "org.apache.hadoop.hbase.filter.FilterList".to_owned(),
                serialized_filter: Some(value.encode_to_vec().into()),
            }),
            cf_time_range: vec![pb::ColumnFamilyTimeRange {
                column_family: bytes(b"g"),
                time_range: pb::TimeRange { from: Some(1), to: Some(2) },
            }],
            ..Default::default()
        };
        let frame = Bytes::from(message.encode_to_vec());
        let mut scan = pb::Scan::decode(frame.clone()).unwrap();
        detach(&mut scan);
        let query = convert::scan::from_proto(&scan).unwrap();
        assert!(!frame.is_unique(), "the attribute");
        drop(scan);
        assert!(frame.is_unique(), "{query:?}");
    }
}
