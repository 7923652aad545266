//! Several regions at once: while the consumer has the rows of one, the next ones are read ahead, and rows still come in order.
//!
//! The scan is cut at the borders of regions as they are known when it gets there. Each part is a [`Scanner`] of its own, so
//! whatever becomes of the regions, the parts together are the whole range. A consumer who leaves after the first answer has
//! cost no other region anything.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use halite_types::{Error, ErrorKind, Fut, RegionInfo, Result, Row, RowSource, Scan};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Scanner;
use crate::meta::{TableRegions, locate};
use crate::shared::Shared;

/// Answers of one region that may wait at most, however small they are.
const ANSWERS_MAX: usize = 1024;

/// A scan that may go over several regions, without a limit.
pub(super) struct RegionsAhead {
    shared: Arc<Shared>,
    regions: Arc<TableRegions>,
    /// Where the consumer is.
    current: Part,
    /// The regions behind it.
    ahead: VecDeque<mpsc::Receiver<Result<Piece>>>,
    /// What no part has yet.
    rest: Option<Scan>,
    /// Somebody asks where the rest begins.
    asking: Option<JoinHandle<()>>,
    answers: usize,
}

enum Part {
    /// Read as the consumer asks.
    Here(Box<Scanner>),
    /// Read by a task of its own.
    Ahead(mpsc::Receiver<Result<Piece>>),
}

enum Piece {
    Rows(Vec<Row>),
    End {
        /// A filter wants no more rows, of any region.
        is_last: bool,
    },
}

impl RegionsAhead {
    pub(super) fn new(shared: Arc<Shared>, regions: Arc<TableRegions>, scan: Scan) -> Self {
        let current = Part::Here(Box::new(Scanner::new(Arc::clone(&shared), Arc::clone(&regions), scan)));
        Self { shared, regions, current, ahead: VecDeque::new(), rest: None, asking: None, answers: 0 }
    }

    /// Begins with as many regions as may be read ahead and are known.
    fn launch(&mut self) {
        // One that others follow goes on to where they begin, also when its region is split meanwhile.
        if let (Part::Here(scanner), None, true) = (&mut self.current, &self.rest, self.ahead.is_empty()) {
            self.rest = scanner.cut();
        }
        while self.ahead.len() < self.shared.config.scan_regions_ahead {
            let Some(mut part) = self.rest.take() else { return };
            let Some(location) = self.regions.find(super::at(&part.range, part.reverse)) else {
                self.ask_for(&part);
                self.rest = Some(part);
                return;
            };
            self.rest = cut(&mut part, &location.region);
            self.ahead.push_back(self.start(part));
        }
    }

    /// Has the place of the region looked up where a scan begins; the consumer need not wait for that.
    fn ask_for(&mut self, scan: &Scan) {
        if self.asking.as_ref().is_some_and(|asking| !asking.is_finished()) {
            return;
        }
        let (shared, regions, range, reverse) = (Arc::clone(&self.shared), Arc::clone(&self.regions), scan.range.clone(), scan.reverse);
        self.asking = Some(self.shared.runtime.spawn(async move {
            // What fails now fails again when the scan gets there, and is dealt with there.
            drop(locate(&shared, &regions, super::at(&range, reverse), &shared.deadline()).await);
        }));
    }

    /// Reads a part until it ends or nobody wants it.
    fn start(&self, scan: Scan) -> mpsc::Receiver<Result<Piece>> {
        let config = &self.shared.config;
        let bytes = config.scan_ahead_bytes / config.scan_regions_ahead.max(1);
        let (sender, receiver) = mpsc::channel((bytes / scan.max_result_bytes.max(1)).clamp(1, ANSWERS_MAX));
        let mut scanner = Scanner::new(Arc::clone(&self.shared), Arc::clone(&self.regions), scan);
        drop(self.shared.runtime.spawn(async move {
            loop {
                let piece = tokio::select! {
                    biased;
                    () = sender.closed() => return,
                    piece = scanner.next_piece() => piece,
                };
                let is_over = !matches!(piece, Ok(Piece::Rows(_)));
                if sender.send(piece).await.is_err() || is_over {
                    return;
                }
            }
        }));
        receiver
    }

    /// Goes to the next part; whether there is one.
    fn advance(&mut self) -> bool {
        if let Some(next) = self.ahead.pop_front() {
            self.current = Part::Ahead(next);
        } else if let Some(rest) = self.rest.take() {
            self.current = Part::Here(Box::new(Scanner::new(Arc::clone(&self.shared), Arc::clone(&self.regions), rest)));
        } else {
            return false;
        }
        true
    }
}

impl Part {
    async fn next(&mut self) -> Result<Piece> {
        match self {
            Self::Here(scanner) => scanner.next_piece().await,
            Self::Ahead(pieces) => pieces.recv().await.unwrap_or_else(|| {
                Err(Error::new(ErrorKind::Stopped, "the runtime of the client has ended; begin the scan again behind the last row"))
            }),
        }
    }
}

impl Scanner {
    async fn next_piece(&mut self) -> Result<Piece> {
        let rows = self.next_rows().await?;
        Ok(if rows.is_empty() { Piece::End { is_last: self.is_filter_done } } else { Piece::Rows(rows) })
    }

    /// Leaves everything behind the region the scanner is in to others.
    fn cut(&mut self) -> Option<Scan> {
        let region = self.at.as_ref()?;
        cut(&mut self.progress.scan, &region.location.region)
    }
}

/// Ends a scan where the region ends that it begins in; gives what is left, if anything.
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

impl RowSource for RegionsAhead {
    fn next_rows(&mut self) -> Fut<'_, Vec<Row>> {
        Box::pin(async move {
            loop {
                if self.answers > 0 {
                    self.launch();
                }
                let piece = self.current.next().await?;
                self.answers += 1;
                match piece {
                    Piece::Rows(rows) => return Ok(rows),
                    Piece::End { is_last } if is_last || !self.advance() => return Ok(Vec::new()),
                    Piece::End { .. } => {}
                }
            }
        })
    }
}
