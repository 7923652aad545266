//! Scanners of a simulated region server: responses of any size, partial rows, heartbeats, expiring
//! leases.

use std::collections::HashMap;
use std::ops::Bound;
use std::time::Duration;

use halite_types::{Bytes, Row, Scan};
use halite_wire::convert::scan;
use halite_wire::exception::{Exception, ExceptionKind};
use halite_wire::proto as pb;
use tokio::time::Instant;

use super::cluster::{Cluster, Incarnation, row_from_columns};

/// Lease period of an idle scanner.
pub(super) const LEASE: Duration = Duration::from_secs(3);

/// Scanners of one process.
#[derive(Default)]
pub(super) struct Scanners {
    open: HashMap<u64, Scanner>,
    created: u64,
}

struct Scanner {
    region: pb::RegionSpecifier,
    scan: Scan,
    needs_cursor: bool,
    /// Current row, and the number of its cells already sent.
    inside: Option<Bytes>,
    returned: usize,
    /// Number of rows that may still end.
    rows_left: usize,
    next_call: u64,
    until: Instant,
}

/// Rows, and the other fields of the response.
type ScanReply = Result<(Vec<Row>, pb::ScanResponse), Exception>;

impl Scanners {
    /// Answers a call about rows of the table.
    pub(super) fn respond(
        &mut self,
        cluster: &Cluster,
        who: Incarnation,
        request: &pb::ScanRequest,
    ) -> ScanReply {
        self.open.retain(|_, scanner| scanner.until > Instant::now());
        let Some(id) = request.scanner_id else { return self.begin(cluster, who, request) };
        if request.close_scanner() {
            self.open.remove(&id);
            return Ok((
                Vec::new(),
                pb::ScanResponse { scanner_id: Some(id), ..pb::ScanResponse::default() },
            ));
        }
        let Some(scanner) = self.open.get_mut(&id) else {
            return Err(Exception::new(
                ExceptionKind::UnknownScanner,
                format!("Unknown scanner '{id}'"),
            ));
        };
        scanner.until = Instant::now() + LEASE;
        if request.renew() {
            return Ok((
                Vec::new(),
                pb::ScanResponse { scanner_id: Some(id), ..pb::ScanResponse::default() },
            ));
        }
        if scanner.next_call != request.next_call_seq() {
            let text = format!(
                "Expected nextCallSeq: {} But the nextCallSeq got from client: {}",
                scanner.next_call,
                request.next_call_seq()
            );
            return Err(Exception::new(ExceptionKind::OutOfOrderScannerNext, text));
        }
        scanner.next_call += 1;
        self.rows(cluster, who, request, id)
    }

    fn begin(
        &mut self,
        cluster: &Cluster,
        who: Incarnation,
        request: &pb::ScanRequest,
    ) -> ScanReply {
        let region = request.region.clone().unwrap_or_default();
        cluster.region(who, &region)?;
        let query = scan::from_proto(&request.scan.clone().unwrap_or_default())?;
        let (scan, wants_cursor) = (query.scan, query.need_cursor_result);
        let rows_left = usize::try_from(request.limit_of_rows())
            .ok()
            .filter(|rows| *rows > 0)
            .unwrap_or(usize::MAX);
        self.created += 1;
        // Ids of two processes on one host must differ.
        let id = who.start_code << 32 | self.created;
        let until = Instant::now() + LEASE;
        self.open.insert(
            id,
            Scanner {
                region,
                scan,
                needs_cursor: wants_cursor,
                inside: None,
                returned: 0,
                rows_left,
                next_call: 0,
                until,
            },
        );
        let (rows, response) = self.rows(cluster, who, request, id)?;
        let ttl = u32::try_from(LEASE.as_millis()).ok();
        Ok((rows, pb::ScanResponse { ttl, mvcc_read_point: Some(1), ..response }))
    }

    fn rows(
        &mut self,
        cluster: &Cluster,
        who: Incarnation,
        request: &pb::ScanRequest,
        id: u64,
    ) -> ScanReply {
        let Some(scanner) = self.open.get_mut(&id) else {
            return Err(Exception::new(ExceptionKind::UnknownScanner, "gone"));
        };
        let region = match cluster.region(who, &scanner.region) {
            Ok(region) => region.info.clone(),
            Err(exception) => {
                self.open.remove(&id);
                return Err(exception);
            }
        };
        let mut response = pb::ScanResponse {
            scanner_id: Some(id),
            more_results: Some(true),
            ..pb::ScanResponse::default()
        };
        let most = usize::try_from(request.number_of_rows())
            .unwrap_or(usize::MAX)
            .min(fastrand::usize(..12));
        let mut rows = Vec::new();
        let mut is_at_end = false;
        while rows.len() < most && scanner.rows_left > 0 {
            let Some((key, _)) = scanner.first(cluster, &region) else {
                is_at_end = true;
                break;
            };
            rows.push(scanner.take(cluster, &key));
        }
        if !is_at_end && scanner.rows_left > 0 && (rows.is_empty() || fastrand::bool()) {
            response.heartbeat_message = Some(true);
            // The last row examined, returned or not, as in Halite, or the next one, as in HBase.
            let last = rows
                .last()
                .filter(|_| fastrand::bool())
                .map(|row| Bytes::copy_from_slice(row.key()));
            let next = || {
                scanner
                    .first(cluster, &region)
                    .map(|(key, _)| key)
                    .filter(|_| scanner.returned == 0)
            };
            response.cursor = last
                .or_else(next)
                .filter(|_| scanner.needs_cursor)
                .map(|row| pb::Cursor { row: Some(row) });
        }
        response.more_results = Some(scanner.rows_left > 0);
        response.more_results_in_region = Some(!is_at_end);
        if is_at_end || scanner.rows_left == 0 {
            self.open.remove(&id);
        }
        Ok((rows, response))
    }
}

impl Scanner {
    /// Returns the first row of the rest, with its cells.
    fn first<'a>(
        &self,
        cluster: &'a Cluster,
        region: &halite_types::RegionInfo,
    ) -> Option<(Bytes, &'a super::cluster::Columns)> {
        if let Some((key, columns)) =
            self.inside.as_ref().and_then(|key| cluster.rows.get_key_value(key))
        {
            return Some((key.clone(), columns));
        }
        let bounds = (self.scan.range.start.clone(), self.scan.range.end.clone());
        if self.scan.range.is_empty() {
            return None;
        }
        let mut rows = cluster
            .rows
            .range::<Bytes, _>((as_ref(&bounds.0), as_ref(&bounds.1)))
            .filter(|(key, _)| region.contains(key));
        let found = if self.scan.reverse { rows.next_back() } else { rows.next() };
        found.map(|(key, columns)| (key.clone(), columns))
    }

    /// Takes the rest of a row or a part of it, according to the scan and at random.
    fn take(&mut self, cluster: &Cluster, key: &Bytes) -> Row {
        let columns = &cluster.rows[key];
        let left = columns.len() - self.returned;
        let mut piece = if fastrand::u8(..4) == 0 { fastrand::usize(1..=left) } else { left };
        piece = piece.min(self.scan.batch.unwrap_or(usize::MAX));
        let row = row_from_columns(key, columns.iter().skip(self.returned).take(piece));
        if piece < left {
            (self.inside, self.returned) = (Some(key.clone()), self.returned + piece);
            return Row::partial(row.into_cells());
        }
        (self.inside, self.returned, self.rows_left) = (None, 0, self.rows_left.saturating_sub(1));
        if self.scan.reverse {
            self.scan.range.end = Bound::Excluded(key.clone());
        } else {
            self.scan.range.start = Bound::Excluded(key.clone());
        }
        row
    }
}

fn as_ref(bound: &Bound<Bytes>) -> Bound<&Bytes> {
    match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(row) => Bound::Included(row),
        Bound::Excluded(row) => Bound::Excluded(row),
    }
}
