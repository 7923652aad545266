//! Reads and writes of a table across its regions.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use bytes::Bytes;
use halite_types::{
    Aggregates, Aggregation, Error, ErrorKind, Get, OpResult, ReadTier, RegionInfo, Result, Row,
    RowOp, Scan, TableDescriptor,
};

use super::RegionIndex;
use crate::ranked_lock::{LockRank, RankedGuard, RankedMutex};
use crate::region::{BatchResult, Region};
use crate::scan::{ReadStats, RegionScanner, ScanBatch, ScanLimits, StopReason};
use crate::scheduler::closing;
use crate::shared::EngineInner;

/// Operations for one region, with their batch indexes.
type RegionOps = (Arc<Region>, Vec<usize>, Vec<RowOp>);

/// Maximum region lookups of an operation whose region is split or merged concurrently.
const MAX_LOOKUPS: usize = 100;

/// Table of an engine. Cheap to share.
pub struct Table {
    shared: Arc<EngineInner>,
    descriptor: ArcSwap<TableDescriptor>,
    enabled: AtomicBool,
    /// Lock held while regions are replaced: a writer whose region was removed waits here for its
    /// successor.
    regions_lock: RankedMutex<()>,
    /// Index of the regions of all tables by name.
    index: Arc<RegionIndex>,
    /// Regions by start key; swapped as a whole.
    regions: ArcSwap<Vec<Arc<Region>>>,
}

impl Table {
    /// Creates a table with these open regions, which the caller adds to the index.
    pub(super) fn new(
        shared: Arc<EngineInner>,
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
            regions_lock: RankedMutex::new(LockRank::TableRegions, ()),
            regions: ArcSwap::from_pointee(regions),
        }
    }

    /// Returns the table's descriptor.
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

    /// Returns the table's open regions in key order.
    pub fn regions(&self) -> Arc<Vec<Arc<Region>>> {
        self.regions.load_full()
    }

    /// Returns the errors of the reads that damaged store files prevent, one for each file.
    pub(super) fn damaged_files(&self) -> Vec<Error> {
        self.regions.load().iter().flat_map(|region| region.damaged_files()).collect()
    }

    /// Returns the infos of the table's regions in key order.
    pub fn region_infos(&self) -> Vec<RegionInfo> {
        self.regions.load().iter().map(|region| RegionInfo::clone(region.info())).collect()
    }

    pub(super) fn replace_regions(&self, old: &[Arc<Region>], new: Vec<Arc<Region>>) {
        let mut regions: Vec<Arc<Region>> = self
            .regions
            .load()
            .iter()
            .filter(|region| !old.iter().any(|other| Arc::ptr_eq(region, other)))
            .cloned()
            .collect();
        self.index.replace(old, &new);
        regions.extend(new);
        regions.sort_by(|a, b| a.info().start.cmp(&b.info().start));
        self.regions.store(Arc::new(regions));
    }

    /// Returns the region that contains `row`.
    ///
    /// # Errors
    /// `TableDisabled`.
    pub fn region_for_row(&self, row: &[u8]) -> Result<Arc<Region>> {
        let regions = self.regions.load();
        let behind = regions.partition_point(|region| region.info().start[..] <= *row);
        match behind.checked_sub(1).and_then(|at| regions.get(at)) {
            Some(region) if self.is_enabled() => Ok(Arc::clone(region)),
            _ => Err(self.disabled()),
        }
    }

    /// Returns the last region of a range with this end.
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
        if self.shared.scheduler.is_closing() {
            return closing();
        }
        let name = self.descriptor().name().clone();
        Error::new(ErrorKind::TableDisabled, format!("table {name} is disabled; enable it first"))
    }

    /// Reads a row.
    ///
    /// # Errors
    /// As [`Region::get`].
    pub fn get(&self, get: &Get, tier: ReadTier) -> Result<Row> {
        self.get_with_stats(get, tier, &Arc::new(ReadStats::default()))
    }

    /// Reads a row and records read statistics in `trace`.
    ///
    /// # Errors
    /// As [`Region::get`].
    pub fn get_with_stats(&self, get: &Get, tier: ReadTier, trace: &Arc<ReadStats>) -> Result<Row> {
        self.with_region(|| self.region_for_row(get.row()), |region| region.get(get, tier, trace))
    }

    /// Calls `work` with the region that `find` returns, and again with its successor if the region
    /// was removed.
    fn with_region<T>(
        &self,
        find: impl Fn() -> Result<Arc<Region>>,
        work: impl Fn(&Arc<Region>) -> Result<T>,
    ) -> Result<T> {
        for attempt in 1.. {
            let result = work(&find()?);
            match &result {
                Err(error) if is_elsewhere(error) && attempt < MAX_LOOKUPS => {
                    self.wait_for_change()?;
                }
                _ => return result,
            }
        }
        unreachable!("the last attempt returns")
    }

    pub(super) fn lock_regions(&self) -> RankedGuard<'_, ()> {
        self.regions_lock.lock()
    }

    /// Waits until a concurrent replacement of regions is complete.
    pub(super) fn wait_for_change(&self) -> Result<()> {
        drop(self.lock_regions());
        if self.shared.scheduler.is_closing() { Err(closing()) } else { Ok(()) }
    }

    /// Applies operations and returns their results with the commit ticket. Operations on one row
    /// keep their order.
    pub fn submit(&self, ops: Vec<RowOp>) -> BatchResult {
        match self.region_for_all(&ops) {
            Some(region) => {
                let applied = region.apply(ops);
                if applied.unrouted.is_empty() { applied } else { self.submit_again(applied) }
            }
            None => self.submit_rest(unrouted(ops)),
        }
    }

    /// As [`Table::submit`], for tasks: applies what need not wait for memory, the disk or another
    /// operation. These are, in a region, puts and deletes that read nothing first, and one
    /// operation that reads what is in memory. The operations of other regions remain in `unrouted`,
    /// for [`Table::submit_rest`].
    pub fn try_submit(&self, ops: Vec<RowOp>) -> BatchResult {
        let mut applied = unrouted(ops);
        self.resubmit(&mut applied, |region, ops| {
            let tried = match &ops[..] {
                [op] if op.reads_first() => region.try_apply_cached(op, None).ok_or(ops),
                _ => region.try_apply(ops),
            };
            tried.unwrap_or_else(unrouted)
        });
        applied
    }

    /// Applies the operations that remain in `unrouted`; their results take their places among the
    /// others.
    pub fn submit_rest(&self, mut applied: BatchResult) -> BatchResult {
        self.resubmit(&mut applied, Region::apply);
        if applied.unrouted.is_empty() { applied } else { self.submit_again(applied) }
    }

    /// Returns the region that contains the rows of all operations, if there is one.
    fn region_for_all(&self, ops: &[RowOp]) -> Option<Arc<Region>> {
        let (first, rest) = ops.split_first()?;
        let region = self.region_for_row(first.row()).ok()?;
        rest.iter().all(|op| region.info().contains(op.row())).then_some(region)
    }

    /// Resubmits operations whose region was removed to its successors.
    fn submit_again(&self, mut applied: BatchResult) -> BatchResult {
        for _ in 0..MAX_LOOKUPS {
            if let Err(error) = self.wait_for_change() {
                applied
                    .unrouted
                    .drain(..)
                    .for_each(|(place, _)| applied.results[place] = Err(error.clone()));
            }
            if applied.unrouted.is_empty() {
                return applied;
            }
            self.resubmit(&mut applied, Region::apply);
        }
        applied
            .unrouted
            .drain(..)
            .for_each(|(place, _)| applied.results[place] = Err(self.disabled()));
        applied
    }

    /// Applies unrouted operations to the regions that now contain their rows. Operations that
    /// these regions return stay unrouted.
    fn resubmit(
        &self,
        applied: &mut BatchResult,
        apply: impl Fn(&Region, Vec<RowOp>) -> BatchResult,
    ) {
        for (region, places, ops) in
            self.by_region(std::mem::take(&mut applied.unrouted), &mut applied.results)
        {
            let part = apply(&region, ops);
            assert_eq!(places.len(), part.results.len(), "each operation has a result");
            applied.wait_for(part.ticket);
            for (place, result) in places.iter().zip(part.results) {
                applied.results[*place] = result;
            }
            applied.unrouted.extend(part.unrouted.into_iter().map(|(at, op)| (places[at], op)));
        }
    }

    /// Groups operations by region, in the given order; operations without a region get their
    /// error.
    fn by_region(
        &self,
        ops: Vec<(usize, RowOp)>,
        results: &mut [Result<OpResult>],
    ) -> Vec<RegionOps> {
        let mut groups: Vec<RegionOps> = Vec::new();
        let mut known: HashMap<u64, usize> = HashMap::new();
        for (place, op) in ops {
            match self.region_for_row(op.row()) {
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
    /// The log's failure; each operation has its own result.
    pub fn batch(&self, ops: Vec<RowOp>) -> Result<Vec<Result<OpResult>>> {
        let applied = self.submit(ops);
        applied.ticket.wait()?;
        Ok(applied.results)
    }

    /// Starts a scan over all regions of its range.
    pub fn scan(self: &Arc<Self>, scan: Scan, tier: ReadTier) -> TableScanner {
        let remaining = scan.limit.unwrap_or(usize::MAX);
        let ended = scan.range.is_empty() || remaining == 0;
        let (table, region, metered) = (Arc::clone(self), None, Metered::default());
        TableScanner { table, scan, tier, region, metered, remaining, ended }
    }

    /// Starts the scan of an aggregation, for [`TableScanner::aggregate`].
    ///
    /// # Errors
    /// `InvalidRequest` for a scan that is in reverse, or has a limit or a batch limit.
    pub fn scan_of(self: &Arc<Self>, aggregation: &Aggregation) -> Result<TableScanner> {
        aggregation.check()?;
        Ok(self.scan(aggregation.scan.clone(), ReadTier::Disk))
    }
}

/// Returns a batch of which no operation has been applied.
fn unrouted(ops: Vec<RowOp>) -> BatchResult {
    let mut batch = BatchResult::ready(ops.iter().map(|_| Ok(OpResult::default())).collect());
    batch.unrouted = ops.into_iter().enumerate().collect();
    batch
}

/// Returns `true` if the region was removed and another one contains the row.
fn is_elsewhere(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NoSuchRegion | ErrorKind::WrongRegion)
}

/// Cells that a scan with a meter examines at most between two additions to it: some milliseconds.
const METERED_CELLS: u64 = 1 << 16;

/// Cells that a scan examines between two pauses: about a hundred microseconds.
const CELLS_BETWEEN_PAUSES: u64 = 1 << 10;

/// What was done in a region, as far as the meter of the scan has it.
#[derive(Clone, Copy, Default)]
struct Metered {
    rows_examined: u64,
    blocks_read: u64,
    blocks_cached: u64,
}

/// Scanner over the regions of a table, in sequence.
pub struct TableScanner {
    table: Arc<Table>,
    /// Scan of the remaining range, which shrinks with every region.
    scan: Scan,
    tier: ReadTier,
    region: Option<(Arc<Region>, RegionScanner)>,
    /// What the meter of the scan has of that region.
    metered: Metered,
    remaining: usize,
    ended: bool,
}

impl TableScanner {
    /// Returns the next rows, at least one; none at the end.
    ///
    /// # Errors
    /// `TableDisabled`, `NoSuchFamily`, damage, a failed read.
    pub fn next_rows(&mut self) -> Result<Vec<Row>> {
        let cells = self.scan.meter.as_ref().map_or(u64::MAX, |_| METERED_CELLS);
        while !self.ended {
            let (rows, _) = self.next_part(self.scan.max_result_bytes, cells)?;
            if !rows.is_empty() {
                return Ok(rows);
            }
        }
        Ok(Vec::new())
    }

    /// Returns the next rows as [`TableScanner::next_rows`], for a thread that has to make room for
    /// others: calls `pause` each time that it has examined some thousand cells.
    ///
    /// # Errors
    /// As [`TableScanner::next_rows`].
    pub fn next_rows_with_pauses(&mut self, pause: impl Fn()) -> Result<Vec<Row>> {
        let mut all = Vec::new();
        let mut bytes = 0;
        while !self.ended {
            let most = self.scan.max_result_bytes.saturating_sub(bytes);
            let (mut rows, stopped) = self.next_part(most, CELLS_BETWEEN_PAUSES)?;
            bytes += rows.iter().map(|row| row.cells().bytes().len()).sum::<usize>();
            if all.is_empty() {
                all = rows;
            } else {
                all.append(&mut rows);
            }
            let is_full = stopped != StopReason::Cells || bytes >= self.scan.max_result_bytes;
            if is_full && !all.is_empty() {
                break;
            }
            pause();
        }
        Ok(all)
    }

    /// Reads on in one region, up to limits of the bytes of its rows and of the examined cells.
    fn next_part(&mut self, bytes: usize, cells: u64) -> Result<(Vec<Row>, StopReason)> {
        let budget = ScanLimits {
            rows: self.remaining,
            bytes: bytes.max(1),
            cells_examined: cells,
            ..ScanLimits::default()
        };
        let batch = self.region_scanner()?.next_rows(budget)?;
        self.add_to_meter()?;
        let stopped = batch.stopped;
        Ok((self.record_batch(batch), stopped))
    }

    /// Returns the next rows without waiting for the disk: at most `rows`, if they are in memory
    /// and at most `cells` cells are examined in a region. Otherwise returns `None`; the scan
    /// position is unchanged, and [`TableScanner::next_rows`] continues from it.
    ///
    /// # Errors
    /// As [`TableScanner::next_rows`].
    pub fn try_rows(&mut self, rows: usize, cells: u64) -> Result<Option<Vec<Row>>> {
        while !self.ended {
            let budget = ScanLimits {
                rows: rows.min(self.remaining),
                bytes: self.scan.max_result_bytes.max(1),
                cells_examined: cells,
                time_ms: None,
                ..ScanLimits::default()
            };
            let Some(batch) = self.region_scanner()?.try_rows(budget)? else { return Ok(None) };
            self.add_to_meter()?;
            let is_far = batch.more();
            let rows = self.record_batch(batch);
            if !rows.is_empty() {
                return Ok(Some(rows));
            }
            if is_far {
                return Ok(None);
            }
        }
        Ok(Some(Vec::new()))
    }

    /// Adds the next rows, those of some thousand cells, to aggregates instead of returning them.
    /// Returns `true` at the end.
    ///
    /// # Errors
    /// As [`TableScanner::next_rows`]; the aggregates are then of no use.
    pub fn aggregate(&mut self, aggregation: &Aggregation, to: &mut Aggregates) -> Result<bool> {
        if self.ended {
            return Ok(true);
        }
        let budget = ScanLimits { cells_examined: CELLS_BETWEEN_PAUSES, ..ScanLimits::default() };
        let stopped = self
            .region_scanner()?
            .visit_rows(budget, |key, cells| aggregation.add_row(key, cells, to))?;
        self.add_to_meter()?;
        if stopped.is_end() {
            self.leave_region();
        }
        Ok(self.ended)
    }

    /// Adds the rows that the region has examined since the last time, and its blocks.
    fn add_to_meter(&mut self) -> Result<()> {
        let (Some(meter), Some((_, scanner))) = (&self.scan.meter, &self.region) else {
            return Ok(());
        };
        let stats = scanner.stats();
        let now = Metered {
            rows_examined: stats.rows_examined(),
            blocks_read: stats.blocks_read(),
            blocks_cached: stats.blocks_cached(),
        };
        let before = std::mem::replace(&mut self.metered, now);
        meter.add_blocks_read(now.blocks_read.saturating_sub(before.blocks_read));
        meter.add_blocks_cached(now.blocks_cached.saturating_sub(before.blocks_cached));
        let more = now.rows_examined.saturating_sub(before.rows_examined);
        meter.add(more).inspect_err(|_| self.ended = true)
    }

    /// Counts the rows of a region's batch, and leaves the region if it is exhausted.
    fn record_batch(&mut self, batch: ScanBatch) -> Vec<Row> {
        self.remaining = self.remaining.saturating_sub(batch.rows_ended);
        // A filter that requests no more rows ends the scan if its batch is empty, otherwise only
        // the region: as in HBase, whose servers report this in `ScanResponse.more_results`.
        self.ended =
            self.remaining == 0 || batch.rows.is_empty() && batch.stopped == StopReason::FilterEnd;
        if !batch.more() {
            self.leave_region();
        }
        batch.rows
    }

    /// Returns the scanner of the region that contains the start of the remaining range.
    fn region_scanner(&mut self) -> Result<&mut RegionScanner> {
        if self.region.is_none() {
            self.region = Some(self.open_region()?);
            self.metered = Metered::default();
        }
        let (_, scanner) = self.region.as_mut().expect("a region is open");
        Ok(scanner)
    }

    fn open_region(&self) -> Result<(Arc<Region>, RegionScanner)> {
        let (scan, table) = (&self.scan, &self.table);
        let find = || match &scan.range.start {
            _ if scan.reverse => table.last_region_before(&scan.range.end),
            Bound::Unbounded => table.region_for_row(b""),
            Bound::Included(row) | Bound::Excluded(row) => table.region_for_row(row),
        };
        table.with_region(find, |region| {
            // A region that ends before the row would lead the scan back repeatedly.
            if let (false, Bound::Included(row) | Bound::Excluded(row)) =
                (scan.reverse, &scan.range.start)
                && !region.info().contains(row)
            {
                let text = format!(
                    "no region contains the row {}: there is a gap in front of it or an overlap; \
                     run \"halite check\"",
                    halite_types::key::to_string_binary(row)
                );
                return Err(Error::corrupt(text).at(format!("table {}", table.descriptor().name())));
            }
            Ok((Arc::clone(region), region.scan(scan, self.tier)?))
        })
    }

    /// Leaves the region: the remaining range is beyond it.
    fn leave_region(&mut self) {
        let Some((region, _)) = self.region.take() else { return };
        if let Some(meter) = &self.scan.meter {
            meter.add_region();
        }
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
