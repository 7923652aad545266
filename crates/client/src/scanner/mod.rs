//! Scans: from region to region, one batch ahead of the consumer, going on where they were when something happens.
//!
//! ```text
//! progress.rs   where the scan is, and what of the answers goes to the consumer      lease.rs   scanners that are kept alive
//! request.rs    the calls that open, ask and close a scanner                check.rs   scans that are refused
//! ahead.rs      several regions at once
//! ```
//! As soon as an answer has come the next one is asked for, so the server works while the consumer does. A scan that loses its
//! scanner, its region or its server opens another behind the last row it has seen; of a row that came in pieces it reads
//! the rest. Dropping a scan closes its scanner.

mod ahead;
mod check;
mod lease;
mod progress;
mod request;
#[cfg(test)]
mod tests;

use std::ops::Bound;
use std::sync::Arc;

use halite_types::{Error, Fut, Row, RowRange, RowSource, RowStream, Scan};
use halite_wire::convert::result;
use halite_wire::exception::{Exception, ExceptionKind};
use halite_wire::proto as pb;
use halite_wire::service::ClientScan;

use crate::connection::{Connection, Pending};
use crate::deadline::{CallDeadline, Deadline};
use crate::failure::{Cause, Failure};
use crate::meta::{At, Location, TableRegions, locate};
use crate::retry::{self, Work};
use crate::shared::Shared;
use ahead::RegionsAhead;
use lease::Lease;
pub(crate) use lease::Leases;
use progress::Progress;

/// The rows of a scan: over several regions at once where it may read them all.
pub(crate) fn scan(shared: &Arc<Shared>, regions: &Arc<TableRegions>, scan: Scan) -> RowStream {
    let (shared, regions) = (Arc::clone(shared), Arc::clone(regions));
    if scan.limit.is_some() || shared.config.scan_regions_ahead == 0 || !has_plain_order(&regions) {
        return RowStream::new(Scanner::new(shared, regions, scan));
    }
    RowStream::new(RegionsAhead::new(shared, regions, scan))
}

/// Whether the order of rows is that of their bytes; that of `hbase:meta` is not.
fn has_plain_order(regions: &TableRegions) -> bool {
    *regions.name() != halite_wire::convert::region::meta().table
}

/// A scan of a table.
struct Scanner {
    shared: Arc<Shared>,
    regions: Arc<TableRegions>,
    progress: Progress,
    /// Why the scan is refused, until that was told.
    refused: Option<Error>,
    /// The region the scan is in.
    at: Option<Region>,
    /// The answer to come, asked for ahead of time.
    pending: Option<Pending>,
    answers: usize,
    /// A filter wants no more rows, of any region.
    is_filter_done: bool,
}

/// A region that is being scanned.
struct Region {
    location: Arc<Location>,
    connection: Arc<Connection>,
    /// The scanner, once it is open.
    lease: Option<Arc<Lease>>,
    /// How many answers were asked for.
    sequence: u64,
}

impl Scanner {
    fn new(shared: Arc<Shared>, regions: Arc<TableRegions>, scan: Scan) -> Self {
        let refused = check::check(&scan).err();
        let progress = Progress::new(scan, has_plain_order(&regions), &shared.config);
        Self { refused, shared, regions, progress, at: None, pending: None, answers: 0, is_filter_done: false }
    }

    /// Until when the next answer must be there.
    fn limit(&self, deadline: &Deadline) -> CallDeadline {
        deadline.call_within(std::time::Duration::from_millis(self.shared.config.scanner_timeout_ms))
    }

    /// The region to go on in.
    fn region(&self) -> At<'_> {
        at(self.progress.range(), self.progress.is_reverse())
    }

    /// Asks for rows: of the scanner that is open, or by opening one where the scan is.
    async fn ask(&mut self, deadline: &Deadline) -> Result<Pending, Failure> {
        let limit = self.limit(deadline);
        if self.at.is_none() {
            let location = locate(&self.shared, &self.regions, self.region(), deadline).await?;
            let connection = location.server.connection(&self.shared.config, limit).await;
            let connection = connection.map_err(|failure| self.lost(failure, &location))?;
            self.at = Some(Region { location, connection, lease: None, sequence: 0 });
        }
        let Some(region) = &mut self.at else { return Err(Failure::lost("no region is being scanned")) };
        let request = match &region.lease {
            None => request::open(&mut self.progress, &region.location)?,
            Some(lease) => {
                lease.touch();
                region.sequence += 1;
                request::next(&self.progress, lease.scanner_id(), region.sequence - 1)
            }
        };
        let (connection, location) = (Arc::clone(&region.connection), Arc::clone(&region.location));
        let asked = connection.call::<ClientScan>(&request, &[], self.regions.priority(), limit).await;
        asked.map_err(|failure| self.lost(failure, &location))
    }

    /// Takes in an answer: rows for the consumer, and where the scan is now.
    fn accept(&mut self, response: &pb::ScanResponse, rows: Vec<Row>) -> Vec<Row> {
        self.answers += 1;
        let Some(region) = &mut self.at else { return Vec::new() };
        if let Some(point) = response.mvcc_read_point.filter(|point| *point > 0) {
            self.progress.read_at(&region.location.region, point);
        }
        let mut out = self.progress.take(rows);
        let scan_over = response.more_results == Some(false);
        let region_over = scan_over || response.more_results_in_region == Some(false);
        if region_over {
            // The server has closed the scanner.
            self.is_filter_done = scan_over && self.progress.has_filter();
            region.lease = None;
            let location = Arc::clone(&region.location);
            self.at = None;
            out.extend(self.progress.leave(&location.region, scan_over));
            return out;
        }
        if let Some(row) = response.cursor.as_ref().and_then(|cursor| cursor.row.clone()) {
            self.progress.reached(row);
        }
        self.hold(response);
        out
    }

    /// The scanner stays open on the server, until the scan does not need it any more.
    fn hold(&mut self, response: &pb::ScanResponse) {
        let Some(region) = &mut self.at else { return };
        match (&region.lease, response.scanner_id) {
            (Some(lease), _) => lease.touch(),
            (None, Some(id)) => {
                let ms = response.ttl.map_or(self.shared.config.scanner_timeout_ms, u64::from);
                region.lease = Some(Leases::add(&self.shared, &region.connection, id, ms));
            }
            (None, None) => {
                self.at = None;
                self.progress.resume();
            }
        }
        if self.progress.is_over() {
            self.close();
        }
    }

    /// Asks for what comes next before the consumer does, if that needs no waiting.
    async fn look_ahead(&mut self) {
        let connection = match &self.at {
            Some(region) => Some(Arc::clone(&region.connection)),
            None => self.regions.find(self.region()).and_then(|location| location.server.open()),
        };
        let ready = connection.is_some_and(|connection| connection.has_room());
        if ready && !self.progress.is_over() {
            // What fails now fails again when it is needed, and is dealt with there.
            self.pending = self.ask(&self.shared.deadline()).await.ok();
        }
    }

    /// Something happened to the region or its server: the scan opens another scanner where it is.
    fn lost(&mut self, failure: Failure, location: &Arc<Location>) -> Failure {
        self.at = None;
        self.progress.resume();
        let failure = match &failure.cause {
            Cause::Exception(exception) if exception.kind() == Some(ExceptionKind::Lease) => {
                Exception::new(ExceptionKind::ScannerReset, exception.message()).into()
            }
            _ => failure,
        };
        self.shared.locations.note(&failure, &self.regions, location, &self.shared.servers);
        failure.at(&**location)
    }

    /// Closes the scanner if one is open; nobody waits for that.
    fn close(&mut self) {
        self.pending = None;
        if let Some(Region { connection, lease: Some(lease), .. }) = self.at.take() {
            connection.send_and_forget::<ClientScan>(&request::close(lease.scanner_id()));
        }
    }
}

impl Work for Scanner {
    type Output = Vec<Row>;

    async fn attempt(&mut self, deadline: &Deadline) -> Result<Vec<Row>, Failure> {
        if let Some(refused) = self.refused.clone() {
            return Err(refused.into());
        }
        if self.progress.is_over() {
            return Ok(Vec::new());
        }
        let pending = match self.pending.take() {
            Some(pending) => pending,
            None => self.ask(deadline).await?,
        };
        let Some(location) = self.at.as_ref().map(|region| Arc::clone(&region.location)) else { return Ok(Vec::new()) };
        let (response, mut cells) = pending.response::<ClientScan>().await.map_err(|failure| self.lost(failure, &location))?;
        let rows = result::rows_of_response(&response, &mut cells)?;
        let out = self.accept(&response, rows);
        self.look_ahead().await;
        Ok(out)
    }

    fn progress(&self) -> usize {
        self.answers
    }
}

impl RowSource for Scanner {
    fn next_rows(&mut self) -> Fut<'_, Vec<Row>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let next = async {
                loop {
                    // Each answer has a time limit of its own; as long as they come a scan may take as long as it likes.
                    let rows = retry::run(&shared.config, &shared.deadline(), self).await.map_err(Failure::into_error)?;
                    if !rows.is_empty() || self.progress.is_over() {
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

/// The region in which a scan of a range begins.
fn at(range: &RowRange, reverse: bool) -> At<'_> {
    if reverse {
        return match &range.end {
            Bound::Unbounded => At::Last,
            Bound::Included(row) => At::Containing(row),
            Bound::Excluded(row) => At::Before(row),
        };
    }
    match &range.start {
        Bound::Unbounded => At::Containing(b""),
        Bound::Included(row) | Bound::Excluded(row) => At::Containing(row),
    }
}
