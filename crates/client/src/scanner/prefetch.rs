//! Scans of several regions at once: while the consumer processes the rows of one region, the next
//! ones are prefetched. Rows are still returned in order.
//!
//! The scan is split at the region boundaries known when it reaches them. Each part is a separate
//! [`Scanner`]. So the parts together cover the whole range, even if regions split, merge or move.
//! A consumer that stops after the first response causes no requests to other regions.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use halite_types::{BoxFuture, Error, ErrorKind, RegionInfo, Result, Row, RowSource, Scan};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Scanner;
use crate::meta::{TableLocations, locate};
use crate::shared::ClientInner;

/// Maximum number of queued responses of one region, however small they are.
const MAX_QUEUED_RESPONSES: usize = 1024;

/// Scan without a limit that may cover several regions.
pub(super) struct MultiRegionScanner {
    shared: Arc<ClientInner>,
    locations: Arc<TableLocations>,
    /// Region that the consumer reads.
    current: RegionScan,
    /// Regions after it.
    prefetched: VecDeque<mpsc::Receiver<Result<ScanEvent>>>,
    /// Range that is not assigned to a part yet.
    rest: Option<Scan>,
    /// Task that locates the first region of the rest.
    locate_task: Option<JoinHandle<()>>,
    responses: usize,
}

enum RegionScan {
    /// Read on demand.
    OnDemand(Box<Scanner>),
    /// Read by a separate task.
    Prefetched(mpsc::Receiver<Result<ScanEvent>>),
}

enum ScanEvent {
    Rows(Vec<Row>),
    End {
        /// `true` if a filter has ended the whole scan.
        is_last: bool,
    },
}

impl MultiRegionScanner {
    pub(super) fn new(
        shared: Arc<ClientInner>,
        locations: Arc<TableLocations>,
        scan: Scan,
    ) -> Self {
        let current = RegionScan::OnDemand(Box::new(Scanner::new(
            Arc::clone(&shared),
            Arc::clone(&locations),
            scan,
        )));
        Self {
            shared,
            locations,
            current,
            prefetched: VecDeque::new(),
            rest: None,
            locate_task: None,
            responses: 0,
        }
    }

    /// Starts as many regions as may be prefetched and have a known location.
    fn start_prefetch(&mut self) {
        // A part followed by others extends to their start, even if its region is split in the
        // meantime.
        if let (RegionScan::OnDemand(scanner), None, true) =
            (&mut self.current, &self.rest, self.prefetched.is_empty())
        {
            self.rest = scanner.cut();
        }
        while self.prefetched.len() < self.shared.config.scan_prefetch_regions {
            let Some(mut part) = self.rest.take() else { return };
            let Some(location) = self.locations.find(super::locate_type(&part.range, part.reverse))
            else {
                self.spawn_locate(&part);
                self.rest = Some(part);
                return;
            };
            self.rest = cut(&mut part, &location.region);
            self.prefetched.push_back(self.start(part));
        }
    }

    /// Locates the region in which a scan begins, in the background.
    fn spawn_locate(&mut self, scan: &Scan) {
        if self.locate_task.as_ref().is_some_and(|asking| !asking.is_finished()) {
            return;
        }
        let (shared, regions, range, reverse) = (
            Arc::clone(&self.shared),
            Arc::clone(&self.locations),
            scan.range.clone(),
            scan.reverse,
        );
        self.locate_task = Some(self.shared.runtime.spawn(async move {
            // A failure here recurs when the scan gets there, and is handled there.
            drop(
                locate(&shared, &regions, super::locate_type(&range, reverse), &shared.deadline())
                    .await,
            );
        }));
    }

    /// Reads a part until it ends or its receiver is dropped.
    fn start(&self, scan: Scan) -> mpsc::Receiver<Result<ScanEvent>> {
        let config = &self.shared.config;
        let bytes = config.scan_prefetch_bytes / config.scan_prefetch_regions.max(1);
        let (sender, receiver) =
            mpsc::channel((bytes / scan.max_result_bytes.max(1)).clamp(1, MAX_QUEUED_RESPONSES));
        let mut scanner = Scanner::new(Arc::clone(&self.shared), Arc::clone(&self.locations), scan);
        drop(self.shared.runtime.spawn(async move {
            loop {
                let piece = tokio::select! {
                    biased;
                    () = sender.closed() => return,
                    piece = scanner.next_event() => piece,
                };
                let is_over = !matches!(piece, Ok(ScanEvent::Rows(_)));
                if sender.send(piece).await.is_err() || is_over {
                    return;
                }
            }
        }));
        receiver
    }

    /// Advances to the next part. Returns `true` if there is one.
    fn advance(&mut self) -> bool {
        if let Some(next) = self.prefetched.pop_front() {
            self.current = RegionScan::Prefetched(next);
        } else if let Some(rest) = self.rest.take() {
            self.current = RegionScan::OnDemand(Box::new(Scanner::new(
                Arc::clone(&self.shared),
                Arc::clone(&self.locations),
                rest,
            )));
        } else {
            return false;
        }
        true
    }
}

impl RegionScan {
    async fn next(&mut self) -> Result<ScanEvent> {
        match self {
            Self::OnDemand(scanner) => scanner.next_event().await,
            Self::Prefetched(pieces) => pieces.recv().await.unwrap_or_else(|| {
                Err(Error::new(
                    ErrorKind::Stopped,
                    "the runtime of the client has ended; restart the scan after the last row",
                ))
            }),
        }
    }
}

impl Scanner {
    async fn next_event(&mut self) -> Result<ScanEvent> {
        let rows = self.next_rows().await?;
        Ok(if rows.is_empty() {
            ScanEvent::End { is_last: self.is_filter_done }
        } else {
            ScanEvent::Rows(rows)
        })
    }

    /// Limits the scanner to its current region and returns the rest of the scan.
    fn cut(&mut self) -> Option<Scan> {
        let region = self.region.as_ref()?;
        cut(&mut self.state.scan, &region.location.region)
    }
}

/// Limits a scan to the region in which it begins. Returns the rest, if any.
fn cut(scan: &mut Scan, region: &RegionInfo) -> Option<Scan> {
    let edge = if scan.reverse { &region.start } else { &region.end };
    if edge.is_empty() {
        return None;
    }
    let mut rest = scan.range.clone();
    if scan.reverse {
        rest.end = Bound::Excluded(edge.clone());
    } else {
        rest.start = Bound::Included(edge.clone());
    }
    if rest.is_empty() {
        return None;
    }
    if scan.reverse {
        scan.range.start = Bound::Included(edge.clone());
    } else {
        scan.range.end = Bound::Excluded(edge.clone());
    }
    Some(Scan { range: rest, ..scan.clone() })
}

impl RowSource for MultiRegionScanner {
    fn next_rows(&mut self) -> BoxFuture<'_, Result<Vec<Row>>> {
        Box::pin(async move {
            loop {
                if self.responses > 0 {
                    self.start_prefetch();
                }
                let piece = self.current.next().await?;
                self.responses += 1;
                match piece {
                    ScanEvent::Rows(rows) => return Ok(rows),
                    ScanEvent::End { is_last } if is_last || !self.advance() => {
                        return Ok(Vec::new());
                    }
                    ScanEvent::End { .. } => {}
                }
            }
        })
    }
}
