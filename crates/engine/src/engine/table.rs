//! Reading and writing a table across its regions.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use arc_swap::ArcSwap;
use bytes::Bytes;
use halite_types::{Error, ErrorKind, Get, OpResult, RegionInfo, Result, Row, RowOp, Scan, TableDescriptor, Tier};

use super::RegionIndex;
use crate::background::closing;
use crate::commit::CommitTicket;
use crate::heal::Healed;
use crate::region::{Applied, Region};
use crate::scan::{ReadTrace, RegionScanner, ScanBatch, ScanBudget, StopReason};
use crate::shared::Shared;

/// Operations for one region, with their places in the batch.
type RegionOps = (Arc<Region>, Vec<usize>, Vec<RowOp>);

/// How often an operation looks its region up again when a split or merge took it away meanwhile.
const LOOKUPS_MAX: usize = 100;

/// A table of an engine. Cheap to share.
pub struct Table {
    shared: Arc<Shared>,
    descriptor: ArcSwap<TableDescriptor>,
    enabled: AtomicBool,
    /// Held while regions are replaced: a writer whose region has gone waits here for its successor.
    changing: Mutex<()>,
    /// Where those of all tables stand by name.
    index: Arc<RegionIndex>,
    /// By start key; swapped whole.
    regions: ArcSwap<Vec<Arc<Region>>>,
}

impl Table {
    /// A table of these open regions, which stand in the index or will.
    pub(super) fn new(
        shared: Arc<Shared>,
        index: Arc<RegionIndex>,
        descriptor: Arc<TableDescriptor>,
        enabled: bool,
        regions: Vec<Arc<Region>>,
    ) -> Self {
        Self {
            shared,
            index,
            descriptor: ArcSwap::new(descriptor),
            enabled: AtomicBool::new(enabled),
            changing: Mutex::new(()),
            regions: ArcSwap::from_pointee(regions),
        }
    }

    /// Its descriptor.
    pub fn descriptor(&self) -> Arc<TableDescriptor> {
        self.descriptor.load_full()
    }

    pub(super) fn set_descriptor(&self, descriptor: Arc<TableDescriptor>) {
        self.descriptor.store(descriptor);
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Acquire)
    }

    pub(super) fn set_enabled(&self, enabled: bool) {
        self.enabled.store(enabled, Ordering::Release);
    }

    /// Its open regions in key order.
    pub fn regions(&self) -> Arc<Vec<Arc<Region>>> {
        self.regions.load_full()
    }

    /// Its regions in key order.
    pub fn region_infos(&self) -> Vec<RegionInfo> {
        self.regions.load().iter().map(|region| RegionInfo::clone(region.info())).collect()
    }

    pub(super) fn replace_regions(&self, old: &[Arc<Region>], new: Vec<Arc<Region>>) {
        let mut regions: Vec<Arc<Region>> =
            self.regions.load().iter().filter(|region| !old.iter().any(|other| Arc::ptr_eq(region, other))).cloned().collect();
        self.index.replace(old, &new);
        regions.extend(new);
        regions.sort_by(|a, b| a.info().start.cmp(&b.info().start));
        self.regions.store(Arc::new(regions));
    }

    /// The region that `row` belongs to.
    ///
    /// # Errors
    /// `TableDisabled`.
    pub fn region_of(&self, row: &[u8]) -> Result<Arc<Region>> {
        let regions = self.regions.load();
        let behind = regions.partition_point(|region| region.info().start[..] <= *row);
        match behind.checked_sub(1).and_then(|at| regions.get(at)) {
            Some(region) if self.is_enabled() => Ok(Arc::clone(region)),
            _ => Err(self.disabled()),
        }
    }

    /// The region in which a range with this end ends.
    fn last_region_before(&self, end: &Bound<Bytes>) -> Result<Arc<Region>> {
        let regions = self.regions.load();
        let last = regions.iter().rev().find(|region| match end {
            Bound::Unbounded => true,
            Bound::Included(row) => region.info().start <= *row,
            Bound::Excluded(row) => region.info().start < *row,
        });
        match last {
            Some(region) if self.is_enabled() => Ok(Arc::clone(region)),
            _ => Err(self.disabled()),
        }
    }

    #[cold]
    fn disabled(&self) -> Error {
        if self.shared.background.is_closing() {
            return closing();
        }
        let name = self.descriptor().name().clone();
        Error::new(ErrorKind::TableDisabled, format!("table {name} is disabled; enable it first"))
    }

    /// Reads a row.
    ///
    /// # Errors
    /// As [`Region::get`].
    pub fn get(&self, get: &Get, tier: Tier) -> Result<Row> {
        self.get_traced(get, tier, &Arc::new(ReadTrace::default()))
    }

    /// Reads a row and says what that touched.
    ///
    /// # Errors
    /// As [`Region::get`].
    pub fn get_traced(&self, get: &Get, tier: Tier, trace: &Arc<ReadTrace>) -> Result<Row> {
        self.with_region(|| self.region_of(get.row()), |region| region.get(get, tier, trace))
    }

    /// Calls `work` with the region that `find` gives, again with its successor when the region has gone.
    fn with_region<T>(&self, find: impl Fn() -> Result<Arc<Region>>, work: impl Fn(&Arc<Region>) -> Result<T>) -> Result<T> {
        for attempt in 1.. {
            let result = work(&find()?);
            match &result {
                Err(error) if is_elsewhere(error) && attempt < LOOKUPS_MAX => self.wait_for_change()?,
                _ => return result,
            }
        }
        unreachable!("the last attempt returns")
    }

    pub(super) fn lock_changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().healed()
    }

    /// Waits until whoever is replacing regions is done.
    pub(super) fn wait_for_change(&self) -> Result<()> {
        drop(self.lock_changing());
        if self.shared.background.is_closing() { Err(closing()) } else { Ok(()) }
    }

    /// Applies operations and gives back their results with the ticket to wait for. Operations on one row keep their
    /// order.
    pub fn submit(&self, ops: Vec<RowOp>) -> Applied {
        match self.region_of_all(&ops) {
            Some(region) => {
                let applied = region.apply(ops);
                if applied.returned.is_empty() { applied } else { self.submit_again(applied) }
            }
            None => self.submit_by_region(ops),
        }
    }

    /// The region that every operation belongs to, if there is one.
    fn region_of_all(&self, ops: &[RowOp]) -> Option<Arc<Region>> {
        let (first, rest) = ops.split_first()?;
        let region = self.region_of(first.row()).ok()?;
        rest.iter().all(|op| region.info().contains(op.row())).then_some(region)
    }

    fn submit_by_region(&self, ops: Vec<RowOp>) -> Applied {
        let mut applied = Applied {
            results: ops.iter().map(|_| Ok(OpResult::default())).collect(),
            ticket: CommitTicket::ready(),
            returned: ops.into_iter().enumerate().collect(),
            condition_block_bytes: 0,
        };
        self.pass_on(&mut applied);
        if applied.returned.is_empty() { applied } else { self.submit_again(applied) }
    }

    /// Gives operations whose region has gone to its successors.
    fn submit_again(&self, mut applied: Applied) -> Applied {
        for _ in 0..LOOKUPS_MAX {
            if let Err(error) = self.wait_for_change() {
                applied.returned.drain(..).for_each(|(place, _)| applied.results[place] = Err(error.clone()));
            }
            if applied.returned.is_empty() {
                return applied;
            }
            self.pass_on(&mut applied);
        }
        applied.returned.drain(..).for_each(|(place, _)| applied.results[place] = Err(self.disabled()));
        applied
    }

    /// Applies what has been returned in the regions it belongs to now. What they return in turn stays.
    fn pass_on(&self, applied: &mut Applied) {
        for (region, places, ops) in self.by_region(std::mem::take(&mut applied.returned), &mut applied.results) {
            let part = region.apply(ops);
            applied.wait_for(part.ticket);
            for (place, result) in places.iter().zip(part.results) {
                applied.results[*place] = result;
            }
            applied.returned.extend(part.returned.into_iter().map(|(at, op)| (places[at], op)));
        }
    }

    /// Operations by region, in the order given; those without a region get their error.
    fn by_region(&self, ops: Vec<(usize, RowOp)>, results: &mut [Result<OpResult>]) -> Vec<RegionOps> {
        let mut groups: Vec<RegionOps> = Vec::new();
        let mut known: HashMap<u64, usize> = HashMap::new();
        for (place, op) in ops {
            match self.region_of(op.row()) {
                Ok(region) => {
                    let at = *known.entry(region.number).or_insert(groups.len());
                    if at == groups.len() {
                        groups.push((region, Vec::new(), Vec::new()));
                    }
                    groups[at].1.push(place);
                    groups[at].2.push(op);
                }
                Err(error) => results[place] = Err(error),
            }
        }
        groups
    }

    /// Applies operations and waits until they are durable.
    ///
    /// # Errors
    /// The log's failure; what happened to one operation is in its own result.
    pub fn apply(&self, ops: Vec<RowOp>) -> Result<Vec<Result<OpResult>>> {
        let applied = self.submit(ops);
        applied.ticket.wait()?;
        Ok(applied.results)
    }

    /// Begins a scan over all regions of its range.
    pub fn scan(self: &Arc<Self>, scan: Scan, tier: Tier) -> TableScanner {
        let remaining = scan.limit.unwrap_or(usize::MAX);
        let ended = scan.range.is_empty() || remaining == 0;
        TableScanner { table: Arc::clone(self), scan, tier, region: None, remaining, ended }
    }
}

/// Whether the region has gone and its row is served by another.
fn is_elsewhere(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NoSuchRegion | ErrorKind::WrongRegion)
}

/// A scan over the regions of a table, one after the other.
pub struct TableScanner {
    table: Arc<Table>,
    /// What is still to be read; the range shrinks with every region.
    scan: Scan,
    tier: Tier,
    region: Option<(Arc<Region>, RegionScanner)>,
    remaining: usize,
    ended: bool,
}

impl TableScanner {
    /// The next rows, at least one; none at the end.
    ///
    /// # Errors
    /// `TableDisabled`, `NoSuchFamily`, damage, a failed read.
    pub fn next_rows(&mut self) -> Result<Vec<Row>> {
        while !self.ended {
            if self.region.is_none() {
                self.open_region()?;
            }
            let Some((_, scanner)) = &mut self.region else { break };
            let budget = ScanBudget { rows: self.remaining, bytes: self.scan.max_result_bytes.max(1), ..ScanBudget::default() };
            let batch = scanner.next_rows(budget)?;
            let rows = self.note(batch);
            if !rows.is_empty() {
                return Ok(rows);
            }
        }
        Ok(Vec::new())
    }

    /// As [`TableScanner::next_rows`], for a thread that must not wait: the next rows, `rows` at most, if memory has them and
    /// no more than `cells` have to be looked at in a region. `None` if not; the scan is where it was then, and `next_rows` goes on.
    ///
    /// # Errors
    /// As [`TableScanner::next_rows`].
    pub fn try_rows(&mut self, rows: usize, cells: u64) -> Result<Option<Vec<Row>>> {
        while !self.ended {
            if self.region.is_none() {
                self.open_region()?;
            }
            let Some((_, scanner)) = &mut self.region else { break };
            let bytes = self.scan.max_result_bytes.max(1);
            let budget = ScanBudget { rows: rows.min(self.remaining), bytes, cells_examined: cells, time_ms: None, ..ScanBudget::default() };
            let Some(batch) = scanner.try_rows(budget)? else { return Ok(None) };
            let is_far = batch.more();
            let rows = self.note(batch);
            if !rows.is_empty() {
                return Ok(Some(rows));
            }
            if is_far {
                return Ok(None);
            }
        }
        Ok(Some(Vec::new()))
    }

    /// Counts what a region gave, and leaves it if that was all.
    fn note(&mut self, batch: ScanBatch) -> Vec<Row> {
        self.remaining = self.remaining.saturating_sub(batch.rows_ended);
        // A filter that wants no more rows ends the scan where its answer is empty, else only the region: as on HBase,
        // whose servers say so in `ScanResponse.more_results`.
        self.ended = self.remaining == 0 || batch.rows.is_empty() && batch.stopped == StopReason::FilterEnd;
        if !batch.more() {
            self.leave_region();
        }
        batch.rows
    }

    /// Opens the scanner of the region where the rest of the range begins.
    fn open_region(&mut self) -> Result<()> {
        let (scan, table) = (&self.scan, &self.table);
        let find = || match &scan.range.start {
            _ if scan.reverse => table.last_region_before(&scan.range.end),
            Bound::Unbounded => table.region_of(b""),
            Bound::Included(row) | Bound::Excluded(row) => table.region_of(row),
        };
        self.region = Some(table.with_region(find, |region| {
            // A region that ends before would lead the scan back, again and again.
            if let (false, Bound::Included(row) | Bound::Excluded(row)) = (scan.reverse, &scan.range.start)
                && !region.info().contains(row)
            {
                let text = format!(
                    "no region contains the row {}: there is a gap in front of it or an overlap; run \"halite check\"",
                    halite_types::key::print_bytes(row)
                );
                return Err(Error::corrupt(text).at(format!("table {}", table.descriptor().name())));
            }
            Ok((Arc::clone(region), region.scan(scan, self.tier)?))
        })?);
        Ok(())
    }

    /// The region is done: what is left of the range lies beyond it.
    fn leave_region(&mut self) {
        let Some((region, _)) = self.region.take() else { return };
        let info = region.info();
        if self.scan.reverse {
            self.scan.range.end = Bound::Excluded(info.start.clone());
            self.ended |= info.start.is_empty() || self.scan.range.is_empty();
        } else {
            self.scan.range.start = Bound::Included(info.end.clone());
            self.ended |= info.end.is_empty() || self.scan.range.is_empty();
        }
    }
}

impl Iterator for TableScanner {
    type Item = Result<Vec<Row>>;

    fn next(&mut self) -> Option<Result<Vec<Row>>> {
        match self.next_rows() {
            Ok(rows) if rows.is_empty() => None,
            Ok(rows) => Some(Ok(rows)),
            Err(error) => {
                self.ended = true;
                Some(Err(error))
            }
        }
    }
}
