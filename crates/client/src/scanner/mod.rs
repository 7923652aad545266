//! Scans: region by region, one batch ahead of the consumer, resumed after failures.
//!
//! ```text
//! scan_state.rs   position of the scan, and rows for the consumer    lease.rs      renewal of open scanners
//! request.rs      calls that open, read, renew and close a scanner   validate.rs   scans that are rejected
//! prefetch.rs     several regions at once
//! ```
//! When a response has arrived, the next one is requested, so the server and the consumer work in
//! parallel. A scan that loses its scanner, region or server opens another one after the last row
//! it received. Of a row received in part it reads the rest. Dropping a scan closes its scanner.

mod lease;
mod prefetch;
mod request;
mod scan_state;
#[cfg(test)]
mod tests;
mod validate;

use std::ops::Bound;
use std::sync::Arc;

use halite_types::{BoxFuture, Error, Row, RowRange, RowSource, RowStream, Scan};
use halite_wire::convert::result;
use halite_wire::exception::{Exception, ExceptionKind};
use halite_wire::proto as pb;
use halite_wire::service::ClientScan;

use crate::connection::{Connection, ResponseFuture};
use crate::deadline::{CallDeadline, Deadline};
use crate::error::{RpcError, RpcErrorKind};
use crate::meta::{LocateType, Location, TableLocations, locate};
use crate::retry::{self, Retryable};
use crate::shared::ClientInner;
pub(crate) use lease::LeaseRenewer;
use lease::ScannerLease;
use prefetch::MultiRegionScanner;
use scan_state::ScanState;

/// Returns the rows of a scan. Without a limit, several regions are read concurrently if enabled.
pub(crate) fn scan(
    shared: &Arc<ClientInner>,
    regions: &Arc<TableLocations>,
    scan: Scan,
) -> RowStream {
    let (shared, regions) = (Arc::clone(shared), Arc::clone(regions));
    if scan.limit.is_some()
        || shared.config.scan_prefetch_regions == 0
        || !has_plain_order(&regions)
    {
        return RowStream::new(Scanner::new(shared, regions, scan));
    }
    RowStream::new(MultiRegionScanner::new(shared, regions, scan))
}

/// Returns `true` if rows are ordered by their bytes, which is not so in `hbase:meta`.
fn has_plain_order(regions: &TableLocations) -> bool {
    *regions.name() != halite_wire::convert::region::meta().table
}

/// Names of HBase's metrics for the rows that a server examined for a response, and for the blocks
/// that it read from files. The latter is missing before HBase 3.
const ROWS_EXAMINED: &str = "ROWS_SCANNED";
const BLOCKS_READ: &str = "BLOCK_READ_OPS_COUNT";

/// Scan of a table.
struct Scanner {
    shared: Arc<ClientInner>,
    locations: Arc<TableLocations>,
    state: ScanState,
    /// Reason for rejecting the scan, until it is reported.
    validation_error: Option<Error>,
    /// Current region.
    region: Option<ScannedRegion>,
    /// Next response, requested ahead of time.
    pending: Option<ResponseFuture>,
    responses: usize,
    /// `true` after a filter has ended the whole scan.
    is_filter_done: bool,
}

/// Region that is being scanned.
struct ScannedRegion {
    location: Arc<Location>,
    connection: Arc<Connection>,
    /// Lease of the scanner, once it is open.
    lease: Option<Arc<ScannerLease>>,
    /// Number of responses requested.
    sequence: u64,
}

impl Scanner {
    fn new(shared: Arc<ClientInner>, locations: Arc<TableLocations>, scan: Scan) -> Self {
        let validation_error = validate::validate(&scan).err();
        let state = ScanState::new(scan, has_plain_order(&locations), &shared.config);
        Self {
            validation_error,
            shared,
            locations,
            state,
            region: None,
            pending: None,
            responses: 0,
            is_filter_done: false,
        }
    }

    /// Returns the deadline of the next response.
    fn limit(&self, deadline: &Deadline) -> CallDeadline {
        deadline
            .call_within(std::time::Duration::from_millis(self.shared.config.scanner_timeout_ms))
    }

    /// Returns the region in which the scan continues.
    fn locate_type(&self) -> LocateType<'_> {
        locate_type(self.state.range(), self.state.is_reverse())
    }

    /// Requests rows from the open scanner, or opens one at the scan's position.
    async fn request_rows(&mut self, deadline: &Deadline) -> Result<ResponseFuture, RpcError> {
        let limit = self.limit(deadline);
        if self.region.is_none() {
            let location =
                locate(&self.shared, &self.locations, self.locate_type(), deadline).await?;
            let connection = location.server.connection(&self.shared.config, limit).await;
            let connection =
                connection.map_err(|failure| self.handle_failure(failure, &location))?;
            self.region = Some(ScannedRegion { location, connection, lease: None, sequence: 0 });
        }
        let Some(region) = &mut self.region else {
            return Err(RpcError::lost("no region is being scanned"));
        };
        let request = match &region.lease {
            None => request::open(&mut self.state, &region.location)?,
            Some(lease) => {
                lease.touch();
                region.sequence += 1;
                request::next(&self.state, lease.scanner_id(), region.sequence - 1)
            }
        };
        let (connection, location) = (Arc::clone(&region.connection), Arc::clone(&region.location));
        let response =
            connection.call::<ClientScan>(&request, &[], self.locations.priority(), limit).await;
        response.map_err(|failure| self.handle_failure(failure, &location))
    }

    /// Processes a response: returns rows for the consumer, and updates the scan's position.
    fn accept(&mut self, response: &pb::ScanResponse, rows: Vec<Row>) -> Vec<Row> {
        self.responses += 1;
        let Some(region) = &mut self.region else { return Vec::new() };
        if let Some(point) = response.mvcc_read_point.filter(|point| *point > 0) {
            self.state.set_read_point(&region.location.region, point);
        }
        let mut out = self.state.take(rows);
        let scan_over = response.more_results == Some(false);
        let region_over = scan_over || response.more_results_in_region == Some(false);
        if region_over {
            // The server has closed the scanner.
            if let Some(meter) = &self.state.scan.meter {
                meter.add_region();
            }
            self.is_filter_done = scan_over && self.state.has_filter();
            region.lease = None;
            let location = Arc::clone(&region.location);
            self.region = None;
            out.extend(self.state.finish_region(&location.region, scan_over));
            return out;
        }
        if let Some(row) = response.cursor.as_ref().and_then(|cursor| cursor.row.clone()) {
            self.state.advance_to(row);
        }
        self.hold(response);
        out
    }

    /// Adds the rows that the server examined for a response. Beyond the limit of the meter no more
    /// are requested.
    fn add_to_meter(&mut self, response: &pb::ScanResponse) -> Result<(), RpcError> {
        let Some(meter) = &self.state.scan.meter else { return Ok(()) };
        let metrics = response.scan_metrics.iter().flat_map(|metrics| &metrics.metrics);
        let of = |name: &str| -> Option<u64> {
            let pair = metrics.clone().find(|pair| pair.name() == name)?;
            Some(u64::try_from(pair.value()).unwrap_or(0))
        };
        meter.add_calls(1);
        if let Some(blocks) = of(BLOCKS_READ) {
            meter.add_blocks_read(blocks);
        }
        let added = meter.add(of(ROWS_EXAMINED).unwrap_or(0));
        if added.is_err() {
            self.close();
        }
        Ok(added?)
    }

    /// Keeps the scanner open on the server until the scan no longer needs it.
    fn hold(&mut self, response: &pb::ScanResponse) {
        let Some(region) = &mut self.region else { return };
        match (&region.lease, response.scanner_id) {
            (Some(lease), _) => lease.touch(),
            (None, Some(id)) => {
                let ms = response.ttl.map_or(self.shared.config.scanner_timeout_ms, u64::from);
                region.lease = Some(LeaseRenewer::add(&self.shared, &region.connection, id, ms));
            }
            (None, None) => {
                self.region = None;
                self.state.resume();
            }
        }
        if self.state.is_over() {
            self.close();
        }
    }

    /// Requests the next rows before the consumer does, if that requires no waiting.
    async fn prefetch_next(&mut self) {
        let connection = match &self.region {
            Some(region) => Some(Arc::clone(&region.connection)),
            None => {
                self.locations.find(self.locate_type()).and_then(|location| location.server.open())
            }
        };
        let ready = connection.is_some_and(|connection| connection.has_capacity());
        if ready && !self.state.is_over() {
            // A failure here recurs when the rows are needed, and is handled there.
            self.pending = self.request_rows(&self.shared.deadline()).await.ok();
        }
    }

    /// Handles a failure of the region or its server: the scan opens another scanner at its
    /// position.
    fn handle_failure(&mut self, failure: RpcError, location: &Arc<Location>) -> RpcError {
        self.region = None;
        self.state.resume();
        let failure = match &failure.kind {
            RpcErrorKind::Exception(exception)
                if exception.kind() == Some(ExceptionKind::Lease) =>
            {
                Exception::new(ExceptionKind::ScannerReset, exception.message()).into()
            }
            _ => failure,
        };
        self.shared.meta_cache.record_failure(
            &failure,
            &self.locations,
            location,
            &self.shared.connections,
        );
        failure.at(&**location)
    }

    /// Closes the scanner if one is open, without waiting for the response.
    fn close(&mut self) {
        self.pending = None;
        if let Some(ScannedRegion { connection, lease: Some(lease), .. }) = self.region.take() {
            connection.send_oneway::<ClientScan>(&request::close(lease.scanner_id()));
        }
    }
}

impl Retryable for Scanner {
    type Output = Vec<Row>;

    async fn attempt(&mut self, deadline: &Deadline) -> Result<Vec<Row>, RpcError> {
        if let Some(refused) = self.validation_error.clone() {
            return Err(refused.into());
        }
        if self.state.is_over() {
            return Ok(Vec::new());
        }
        let pending = match self.pending.take() {
            Some(pending) => pending,
            None => self.request_rows(deadline).await?,
        };
        let Some(location) = self.region.as_ref().map(|region| Arc::clone(&region.location)) else {
            return Ok(Vec::new());
        };
        let (response, mut cells) = pending
            .response::<ClientScan>()
            .await
            .map_err(|failure| self.handle_failure(failure, &location))?;
        let rows = result::rows_from_response(&response, &mut cells)?;
        self.add_to_meter(&response)?;
        let out = self.accept(&response, rows);
        self.prefetch_next().await;
        Ok(out)
    }

    fn progress(&self) -> usize {
        self.responses
    }
}

impl RowSource for Scanner {
    fn next_rows(&mut self) -> BoxFuture<'_, halite_types::Result<Vec<Row>>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let next = async {
                loop {
                    // Each response has a separate time limit; as long as they arrive, a scan may
                    // take any time.
                    let rows = retry::retry(&shared.config, &shared.deadline(), self)
                        .await
                        .map_err(RpcError::into_error)?;
                    if !rows.is_empty() || self.state.is_over() {
                        return Ok(rows);
                    }
                }
            };
            shared.runtime.run(next).await
        })
    }
}

impl Drop for Scanner {
    fn drop(&mut self) {
        self.close();
    }
}

/// Returns the region in which a scan of a range begins.
fn locate_type(range: &RowRange, reverse: bool) -> LocateType<'_> {
    if reverse {
        return match &range.end {
            Bound::Unbounded => LocateType::Last,
            Bound::Included(row) => LocateType::Containing(row),
            Bound::Excluded(row) => LocateType::Before(row),
        };
    }
    match &range.start {
        Bound::Unbounded => LocateType::Containing(b""),
        Bound::Included(row) | Bound::Excluded(row) => LocateType::Containing(row),
    }
}
