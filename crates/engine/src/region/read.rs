//! Gets and scans as of a snapshot: selection of memstores and files, and filtering of their cells.

use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::cell::{first_on_column, first_on_row, key_row};
use halite_types::key::to_string_binary;
use halite_types::{
    BloomType, CellsBuilder, Error, ErrorKind, Get, ReadTier, Result, Row, RowRange, Scan,
    Selection, TimeRange,
};

use super::Region;
use super::selection::{UserRead, check_scan, check_selection, filter_state, selected_stores};
use super::snapshot::{Family, RegionSnapshot};
use crate::block_cache::{AtomicReadTier, BlockReadOptions, ReadTimer};
use crate::memstore::MemTable;
use crate::scan::filter::FilterState;
use crate::scan::{
    CellCount, CellSink, CellSource, LazySeek, MAX_MEMORY_BYTES, MAX_MEMORY_CELLS, ReadAt,
    ReadStats, RegionScanner, RowProgress, RowStop, ScanPlan, StoreRowCursor, StoreScanner,
    filter_finished_row,
};
use crate::store::{StoreFile, StoreSnapshot};

/// Parameters of the read of one store.
struct StoreRead<'a> {
    selection: &'a Selection,
    family: &'a Family,
    columns: Option<Vec<Bytes>>,
    /// Row of a get, for the bloom filters.
    row: Option<&'a [u8]>,
    range: &'a RowRange,
    raw: bool,
    /// True for a scan backward, which needs whole blocks.
    reverse: bool,
    read_point: u64,
    /// Read point for store files, which contain nothing newer than the newest read point.
    file_read_point: u64,
    now: i64,
    stats: &'a Arc<ReadStats>,
    tier: ReadTier,
    max_row_bytes: Option<u64>,
}

/// Read of one row.
struct RowRead<'a> {
    region: &'a Region,
    snapshot: &'a RegionSnapshot,
    get: &'a Get,
    range: RowRange,
    start: Vec<u8>,
    read_point: u64,
    now: i64,
    stats: &'a Arc<ReadStats>,
    tier: ReadTier,
}

impl<'a> RowRead<'a> {
    fn new(
        region: &'a Region,
        snapshot: &'a RegionSnapshot,
        get: &'a Get,
        read_point: u64,
        tier: ReadTier,
        stats: &'a Arc<ReadStats>,
    ) -> Self {
        let row = get.row();
        let range =
            RowRange { start: Bound::Included(row.clone()), end: Bound::Included(row.clone()) };
        let now = region.shared.env.clock.now_ms();
        Self {
            region,
            snapshot,
            get,
            range,
            start: first_on_row(row),
            read_point,
            now,
            stats,
            tier,
        }
    }

    /// Returns the maximum number of cells that may be examined.
    fn max_cells(&self) -> u64 {
        match self.tier {
            ReadTier::Memory => MAX_MEMORY_CELLS,
            ReadTier::Disk => u64::MAX,
        }
    }

    /// Returns the maximum bytes of cells that may be read.
    fn max_work_bytes(&self) -> usize {
        match self.tier {
            ReadTier::Memory => MAX_MEMORY_BYTES,
            ReadTier::Disk => usize::MAX,
        }
    }

    /// Reads the row's cells of one store into `out`. Returns the remaining number of cells that
    /// may be examined.
    fn store(
        &self,
        index: usize,
        columns: Option<Vec<Bytes>>,
        out: &mut impl CellSink,
        filter: &mut Option<FilterState>,
        stop: RowStop,
    ) -> Result<u64> {
        let read = StoreRead {
            selection: &self.get.selection,
            family: &self.snapshot.families[index],
            columns,
            row: Some(self.get.row()),
            range: &self.range,
            raw: false,
            reverse: false,
            read_point: self.read_point,
            file_read_point: u64::MAX,
            now: self.now,
            stats: self.stats,
            tier: self.tier,
            max_row_bytes: self.snapshot.families[index]
                .max_row_bytes(self.region.shared.options.max_row_bytes),
        };
        let blocks = self.region.read_blocks(&self.snapshot.stores[index], &read);
        let mut scanner =
            Region::store_scanner(&self.snapshot.stores[index], read, blocks.as_ref())?;
        scanner.seek(&self.start)?;
        scanner.start_row();
        let progress = scanner.read_row(self.get.row(), out, filter, stop)?;
        if progress == RowProgress::TooLarge
            || progress == RowProgress::Stopped && scanner.cells_examined >= stop.examined
        {
            return Err(Error::new(
                ErrorKind::WouldBlock,
                "the row has many cells or large ones; read with the disk allowed",
            ));
        }
        self.stats.add_cells_examined(scanner.cells_examined);
        self.stats.add_filter_work(scanner.filter_work as u64);
        let (woken, waiting) = scanner.lazy_seek_counts();
        self.stats.add_files_read(woken as u64);
        self.stats.add_files_not_reached(waiting as u64);
        Ok(stop.examined.saturating_sub(scanner.cells_examined))
    }
}

impl Region {
    /// Reads a row as of now. `trace` receives the read statistics.
    ///
    /// # Errors
    /// `InvalidRequest`, `WrongRegion`, `NoSuchRegion`, `NoSuchFamily`, `RowTooBig`; `WouldBlock`
    /// with [`ReadTier::Memory`]; damage.
    pub fn get(&self, get: &Get, tier: ReadTier, trace: &Arc<ReadStats>) -> Result<Row> {
        halite_types::op::check_row(get.row())?;
        self.check_row(get.row())?;
        self.check_open()?;
        let clock = &*self.shared.env.clock;
        let started = self.heat.start_get(&self.counters, clock);
        let (snapshot, read_point) = self.snapshot_at(|| self.commits.mvcc().read_point());
        let row = self.read_row_of(&snapshot, get, read_point, tier, trace)?;
        self.record_get(trace, get);
        self.heat.finish_get(started, clock);
        Ok(row)
    }

    /// Reads a row as of a sequence id.
    pub(super) fn read_row(
        &self,
        get: &Get,
        read_point: u64,
        tier: ReadTier,
        trace: &Arc<ReadStats>,
    ) -> Result<Row> {
        self.read_row_of(&self.snapshot(), get, read_point, tier, trace)
    }

    fn read_row_of(
        &self,
        snapshot: &Arc<RegionSnapshot>,
        get: &Get,
        read_point: u64,
        tier: ReadTier,
        trace: &Arc<ReadStats>,
    ) -> Result<Row> {
        let selection = &get.selection;
        check_selection(selection)?;
        let mut filter = filter_state(&*self.shared.env.rng, selection, false)?;
        trace.add_rows_examined(1);
        if let Some(filter) = &mut filter {
            filter.reset();
            if filter.filter_all_remaining() || filter.filter_row_key(get.row()) {
                trace.add_rows_filtered(1);
                return Ok(Row::default());
            }
        }
        let read = RowRead::new(self, snapshot, get, read_point, tier, trace);
        let mut out = CellsBuilder::default();
        let mut left = read.max_cells();
        for (index, columns) in selected_stores(snapshot, selection)? {
            let stop =
                RowStop { examined: left, max_work_bytes: read.max_work_bytes(), ..RowStop::NEVER };
            left = read.store(index, columns, &mut out, &mut filter, stop)?;
        }
        if let Some(filter) = &mut filter {
            filter_finished_row(filter, &mut out, (0, 0));
            trace.add_rows_filtered(u64::from(out.is_empty() && trace.cells_examined() > 0));
        }
        if !out.is_empty() {
            trace.add_rows_returned(1);
            trace.add_cells_returned(out.len() as u64);
            trace.add_bytes_returned(out.bytes().len() as u64);
        }
        Ok(Row::new(out.finish()))
    }

    /// Returns `true` if a get would return any cell. Copies no cells unless the filter needs the
    /// row.
    ///
    /// # Errors
    /// As [`Region::get`].
    pub fn exists(&self, get: &Get, tier: ReadTier, trace: &Arc<ReadStats>) -> Result<bool> {
        if get.selection.filter.is_some() {
            return self.get(get, tier, trace).map(|row| !row.is_empty());
        }
        halite_types::op::check_row(get.row())?;
        self.check_row(get.row())?;
        self.check_open()?;
        check_selection(&get.selection)?;
        let (snapshot, read_point) = self.snapshot_at(|| self.commits.mvcc().read_point());
        let read = RowRead::new(self, &snapshot, get, read_point, tier, trace);
        let mut found = CellCount::default();
        let mut left = read.max_cells();
        for (index, columns) in selected_stores(&snapshot, &get.selection)? {
            left = read.store(
                index,
                columns,
                &mut found,
                &mut None,
                RowStop { cells: 1, examined: left, ..RowStop::NEVER },
            )?;
            if found.cells() > 0 {
                break;
            }
        }
        trace.add_rows_examined(1);
        trace.add_rows_returned(found.cells() as u64);
        self.record_get(trace, get);
        Ok(found.cells() > 0)
    }

    fn record_get(&self, stats: &ReadStats, get: &Get) {
        let number = self.counters.add_get(stats);
        self.heat.record_get(number, &self.counters, get, stats);
    }

    fn record_scan(&self, stats: &ReadStats, rows: &[Row]) {
        let first = self.counters.add_scan(stats);
        self.heat.record_rows(first, &self.counters, rows);
    }

    /// Returns the sequence id up to which a read that begins now sees writes.
    pub(crate) fn read_point(&self) -> u64 {
        self.commits.mvcc().read_point()
    }

    /// Begins a scan of the part of its range that is in this region.
    ///
    /// # Errors
    /// `InvalidRequest`, `IncompatibleFilter`, `NoSuchRegion`, `NoSuchFamily`.
    pub fn scan(self: &Arc<Self>, scan: &Scan, tier: ReadTier) -> Result<RegionScanner> {
        self.scan_at(scan, tier, ReadAt::Committed)
    }

    /// As [`Region::scan`], at a read point other than the newest.
    ///
    /// # Errors
    /// As [`Region::scan`].
    pub fn scan_at(
        self: &Arc<Self>,
        scan: &Scan,
        tier: ReadTier,
        at: ReadAt,
    ) -> Result<RegionScanner> {
        self.check_open()?;
        check_scan(scan)?;
        let (snapshot, newest) = self.snapshot_at(|| {
            if at == ReadAt::Applied {
                self.commits.mvcc().applied()
            } else {
                self.commits.mvcc().read_point()
            }
        });
        let (read_point, file_read_point) = match at {
            ReadAt::Point(sequence) if self.is_whole_at(sequence) => {
                (sequence.min(newest), sequence)
            }
            // A part of a row as of an earlier point may no longer exist. That partial row never
            // existed; the newest row does.
            ReadAt::Committed | ReadAt::Applied | ReadAt::Point(_) => (newest, u64::MAX),
        };
        let now = self.shared.env.clock.now_ms();
        let trace = Arc::new(ReadStats::default());
        let filter = filter_state(&*self.shared.env.rng, &scan.selection, scan.reverse)?;
        let range = self.clip(&scan.range);
        let (mut stores, mut joined, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
        // HBase rejects a reverse scan that loads families on demand.
        let on_demand = filter.as_ref().filter(|filter| {
            let asked = scan.load_families_on_demand;
            asked.unwrap_or(snapshot.settings.loads_families_on_demand)
                && !scan.reverse
                && filter.has_filter_row()
        });
        for (index, columns) in selected_stores(&snapshot, &scan.selection)? {
            let family = &snapshot.families[index];
            let read = StoreRead {
                selection: &scan.selection,
                family,
                columns,
                row: None,
                range: &range,
                raw: scan.raw,
                reverse: scan.reverse,
                read_point,
                file_read_point,
                now,
                stats: &trace,
                tier,
                max_row_bytes: family.max_row_bytes(self.shared.options.max_row_bytes),
            };
            let of_store = self.read_blocks(&snapshot.stores[index], &read);
            let store = Self::store_scanner(&snapshot.stores[index], read, of_store.as_ref())?;
            let is_joined =
                on_demand.is_some_and(|filter| !filter.is_family_essential(&family.name));
            if is_joined {
                joined.push(store);
            } else {
                stores.push(store);
            }
            blocks.extend(of_store);
        }
        let region = Arc::clone(self);
        let mut reported = ReadStats::default();
        let mut logged = self.heat.begin_scan(&scan.selection, &range);
        let report = Box::new(move |stats: &ReadStats, rows: &[Row], elapsed: Option<u64>| {
            let part = stats.since(&reported);
            region.record_scan(&part, rows);
            if let Some(elapsed) = elapsed {
                region.heat.record_scan_time(elapsed);
            }
            if let Some(logged) = &mut logged {
                logged.add(&part);
            }
            reported = stats.copy();
        });
        RegionScanner::new(ScanPlan {
            row_cursor: Box::new(StoreRowCursor { range, reverse: scan.reverse }),
            stores,
            joined,
            blocks,
            filter,
            batch: scan.batch,
            read_point,
            clock: Arc::clone(&self.shared.env.clock),
            stats: trace,
            report,
            is_timed: self.heat.is_scan_timed(&self.counters),
        })
    }

    /// Returns the part of a range that is in this region.
    fn clip(&self, range: &RowRange) -> RowRange {
        let mut range = range.clone();
        let starts_before = match &range.start {
            Bound::Unbounded => true,
            Bound::Included(row) | Bound::Excluded(row) => row < &self.info.start,
        };
        if starts_before && !self.info.start.is_empty() {
            range.start = Bound::Included(self.info.start.clone());
        }
        let ends_behind = match &range.end {
            Bound::Unbounded => true,
            Bound::Included(row) => row >= &self.info.end,
            Bound::Excluded(row) => row > &self.info.end,
        };
        if ends_behind && !self.info.end.is_empty() {
            range.end = Bound::Excluded(self.info.end.clone());
        }
        range
    }

    /// Returns the access to the blocks of a store's files; `None` if it has none.
    fn read_blocks(
        &self,
        store: &StoreSnapshot,
        read: &StoreRead<'_>,
    ) -> Option<Arc<BlockReadOptions>> {
        (!store.files.is_empty()).then(|| {
            let fill = read.selection.cache_blocks && read.family.cache.on_read;
            Arc::new(BlockReadOptions {
                cache: Arc::clone(&self.shared.cache),
                tier: AtomicReadTier::new(read.tier),
                fill_cache: fill,
                in_memory: read.family.cache.in_memory,
                is_counted: true,
                // What is not put into the cache is read again, so as little as possible is read.
                reads_parts: !read.reverse
                    && self.shared.cache.prefers_parts(
                        self.shared.options.part_reads,
                        fill,
                        read.family.cache.in_memory,
                    ),
                reads_once: false,
                stats: Arc::clone(read.stats),
                timer: read.row.is_none().then(|| ReadTimer::new(&self.shared.env.clock)),
            })
        })
    }

    fn store_scanner(
        store: &StoreSnapshot,
        read: StoreRead<'_>,
        blocks: Option<&Arc<BlockReadOptions>>,
    ) -> Result<StoreScanner> {
        store.check_files()?;
        // If the order of writes decides, later writes count whatever their timestamp. A merged
        // cell is in a range as a whole, by its newest contribution.
        let all_count =
            read.family.new_version_behavior || (read.family.merge.is_some() && !read.raw);
        let time_range = if all_count {
            TimeRange::all()
        } else {
            read.selection.time_range_of(&read.family.name)
        };
        let mut sources = Vec::with_capacity(store.files.len() + 1);
        for memstore in store.memstores().filter(|memstore| memstore_overlaps(memstore, time_range))
        {
            read.stats.add_memstores_read(1);
            sources.push(CellSource::memstore(memstore, read.read_point));
        }
        for file in &store.files {
            let Some(blocks) = blocks else { break };
            let is_loaded_later =
                file.entry.loaded_sequence.is_some_and(|sequence| sequence > read.file_read_point);
            if is_loaded_later || !file_overlaps(file, read.range, time_range) {
                read.stats.add_files_out_of_range(1);
            } else if !may_contain(file, &read, blocks)? {
                read.stats.add_files_without_key(1);
            } else if let Some(wanted) = lazy_seek(file, &read, blocks)? {
                sources.push(CellSource::lazy_file(file, blocks, read.file_read_point, wanted));
            } else {
                read.stats.add_files_read(1);
                sources.push(CellSource::file(file, blocks, read.file_read_point));
            }
        }
        let single_row = read.row.is_some();
        let user = UserRead {
            selection: read.selection,
            family: read.family,
            columns: read.columns,
            raw: read.raw,
            single_row,
            now: read.now,
            max_row_bytes: read.max_row_bytes,
        };
        Ok(user.scanner(sources))
    }
}

fn memstore_overlaps(memstore: &MemTable, range: TimeRange) -> bool {
    range.is_all()
        || memstore.time_range().is_none_or(|(oldest, newest)| overlaps(range, oldest, newest))
}

fn overlaps(range: TimeRange, oldest: i64, newest: i64) -> bool {
    newest >= range.min() && (oldest < range.max() || range.max() == i64::MAX)
}

/// Returns `true` if rows and timestamps of a file may be selected.
fn file_overlaps(file: &StoreFile, range: &RowRange, time_range: TimeRange) -> bool {
    let reader = file.reader();
    if reader.entry_count() == 0 {
        return false;
    }
    if let Some(last) = reader.last_key().map(key_row) {
        let behind = match &range.start {
            Bound::Unbounded => false,
            Bound::Included(start) => last < &start[..],
            Bound::Excluded(start) => last <= &start[..],
        };
        if behind {
            return false;
        }
    }
    if let Some(first) = reader.first_key().map(key_row)
        && range.is_past_end(first)
    {
        return false;
    }
    time_range.is_all()
        || reader
            .time_range()
            .is_none_or(|range| overlaps(time_range, *range.start(), *range.end()))
}

/// Returns `true` unless the bloom filter of a file excludes the row of a get.
fn may_contain(
    file: &StoreFile,
    read: &StoreRead<'_>,
    blocks: &Arc<BlockReadOptions>,
) -> Result<bool> {
    let Some(row) = read.row else { return Ok(true) };
    let blocks = blocks.for_file(file.physical.id);
    file.ask_bloom(|reader| {
        let columns = read.columns.as_ref().filter(|_| reader.bloom_type() == BloomType::RowCol);
        let Some(columns) = columns else { return reader.may_contain_row(&blocks, row) };
        for column in columns {
            if reader.may_contain_column(&blocks, row, column)? {
                return Ok(true);
            }
        }
        Ok(false)
    })
}

/// Returns the condition under which the seek in a file may be deferred, so that reading the file
/// may be unnecessary. It applies to a get of some columns. It does not apply if the file may have
/// a marker that deletes the family, which sorts before them, or has no recorded time range.
fn lazy_seek(
    file: &StoreFile,
    read: &StoreRead<'_>,
    blocks: &Arc<BlockReadOptions>,
) -> Result<Option<LazySeek>> {
    let (Some(row), Some(column)) =
        (read.row, read.columns.as_ref().and_then(|columns| columns.first()))
    else {
        return Ok(None);
    };
    let Some(times) = file.reader().time_range() else { return Ok(None) };
    let blocks = blocks.for_file(file.physical.id);
    let has_marker = file.ask_bloom(|reader| reader.may_contain_delete_family(&blocks, row))?;
    Ok((!has_marker).then(|| LazySeek {
        key: first_on_column(row, &read.family.name, column),
        newest: *times.end(),
    }))
}

/// Returns a human-readable hint that an inverted range is empty.
pub fn empty_range_hint(range: &RowRange) -> Option<String> {
    let text = |bound: &Bound<Bytes>| match bound {
        Bound::Unbounded => String::new(),
        Bound::Included(row) | Bound::Excluded(row) => to_string_binary(row),
    };
    range.is_empty().then(|| {
        format!(
            "the range from '{}' to '{}' is empty: the start is greater than the stop",
            text(&range.start),
            text(&range.end)
        )
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use halite_types::{FamilyDescriptor, Get, Put, ReadTier, RowOp, TableDescriptor, TableName};

    use crate::env::sim::SimEnv;
    use crate::scan::ReadStats;
    use crate::{Engine, Options};

    #[test]
    fn write_to_two_families_is_atomic_during_flush() {
        let sim = SimEnv::new(1);
        let engine = Engine::open(sim.env(), Options::default()).unwrap();
        let name: TableName = "t".parse().unwrap();
        engine
            .create_table(
                TableDescriptor::new(name.clone())
                    .family(FamilyDescriptor::new("f"))
                    .family(FamilyDescriptor::new("g")),
                vec![],
            )
            .unwrap();
        let table = engine.table(&name).unwrap();
        let put =
            |put: Put| drop(table.batch(vec![RowOp::Put(put)]).unwrap().pop().unwrap().unwrap());
        let region = table.region_for_row(b"").unwrap();
        // Of the two memstores the flush freezes only that of g: the other is empty and stays.
        put(Put::new("other").add("g", "q", "1"));
        let meanwhile = || {
            region.flush().unwrap();
            put(Put::new("row").add("f", "q", "1").add("g", "q", "1"));
        };
        let mut once = Some(meanwhile);
        let (snapshot, point) = region.snapshot_at(|| {
            once.take().into_iter().for_each(|meanwhile| meanwhile());
            region.read_point()
        });
        let trace = Arc::new(ReadStats::default());
        let row =
            region.read_row_of(&snapshot, &Get::new("row"), point, ReadTier::Disk, &trace).unwrap();
        assert_eq!(row.len(), 2);
    }
}
