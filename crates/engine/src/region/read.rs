//! Gets and scans as of a snapshot: which memstores and files take part, and how their cells are filtered.

use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::cell::{first_on_column, first_on_row, key_row};
use halite_types::key::print_bytes;
use halite_types::{BloomType, CellsBuilder, Error, ErrorKind, Get, Result, Row, RowRange, Scan, Selection, Tier, TimeRange};

use super::Region;
use super::selection::{UserRead, check_scan, check_selection, filter_state, wanted_stores};
use super::snapshot::{Family, RegionSnapshot};
use crate::cache::{ReadBlocks, ReadTier, ReadTimer};
use crate::memstore::MemTable;
use crate::scan::filter::FilterState;
use crate::scan::{
    CellCount, CellSink, MEMORY_BYTES_MAX, MEMORY_CELLS_MAX, ReadAt, ReadTrace, RegionScanner, RowProgress, RowStop, ScanPlan, Source, StoreScanner,
    StoredRows, WantedFrom, filter_finished_row,
};
use crate::store::{StoreFile, StoreSnapshot};

/// What the read of one store needs to know.
struct StoreRead<'a> {
    selection: &'a Selection,
    family: &'a Family,
    columns: Option<Vec<Bytes>>,
    /// The row of a get, for the bloom filters.
    row: Option<&'a [u8]>,
    range: &'a RowRange,
    raw: bool,
    read_point: u64,
    /// The read point for store files, which hold nothing newer than the newest read point.
    file_read_point: u64,
    now: i64,
    trace: &'a Arc<ReadTrace>,
    tier: Tier,
    row_bytes_max: Option<u64>,
}

/// The read of one row.
struct RowRead<'a> {
    region: &'a Region,
    snapshot: &'a RegionSnapshot,
    get: &'a Get,
    range: RowRange,
    start: Vec<u8>,
    read_point: u64,
    now: i64,
    trace: &'a Arc<ReadTrace>,
    tier: Tier,
}

impl<'a> RowRead<'a> {
    fn new(region: &'a Region, snapshot: &'a RegionSnapshot, get: &'a Get, read_point: u64, tier: Tier, trace: &'a Arc<ReadTrace>) -> Self {
        let row = get.row();
        let range = RowRange { start: Bound::Included(row.clone()), end: Bound::Included(row.clone()) };
        let now = region.shared.env.clock.now_ms();
        Self { region, snapshot, get, range, start: first_on_row(row), read_point, now, trace, tier }
    }

    /// How many cells may be looked at.
    fn cells_max(&self) -> u64 {
        match self.tier {
            Tier::Memory => MEMORY_CELLS_MAX,
            Tier::Disk => u64::MAX,
        }
    }

    /// Bytes of cells that may be read.
    fn max_work_bytes(&self) -> usize {
        match self.tier {
            Tier::Memory => MEMORY_BYTES_MAX,
            Tier::Disk => usize::MAX,
        }
    }

    /// Reads the row's cells of one store into `out`, and gives how many more may be looked at.
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
            read_point: self.read_point,
            file_read_point: u64::MAX,
            now: self.now,
            trace: self.trace,
            tier: self.tier,
            row_bytes_max: self.snapshot.families[index].row_bytes_max(self.region.shared.options.row_bytes_max),
        };
        let blocks = self.region.read_blocks(&self.snapshot.stores[index], &read);
        let mut scanner = Region::store_scanner(&self.snapshot.stores[index], read, blocks.as_ref())?;
        scanner.seek(&self.start)?;
        scanner.start_row();
        let progress = scanner.read_row(self.get.row(), out, filter, stop)?;
        if progress == RowProgress::TooLarge || progress == RowProgress::Stopped && scanner.cells_examined >= stop.examined {
            return Err(Error::new(ErrorKind::NeedsIo, "the row has many cells or large ones; read with the disk allowed"));
        }
        self.trace.add_cells_examined(scanner.cells_examined);
        self.trace.add_filter_work(scanner.filter_work as u64);
        let (woken, waiting) = scanner.files_woken_and_waiting();
        self.trace.add_files_read(woken as u64);
        self.trace.add_files_not_reached(waiting as u64);
        Ok(stop.examined.saturating_sub(scanner.cells_examined))
    }
}

impl Region {
    /// Reads a row as of now. `trace` gets what the read touches.
    ///
    /// # Errors
    /// `InvalidRequest`, `WrongRegion`, `NoSuchRegion`, `NoSuchFamily`, `RowTooBig`; `NeedsIo` with [`Tier::Memory`]; damage.
    pub fn get(&self, get: &Get, tier: Tier, trace: &Arc<ReadTrace>) -> Result<Row> {
        halite_types::op::check_row(get.row())?;
        self.check_row(get.row())?;
        self.check_open()?;
        let (snapshot, read_point) = self.snapshot_at(|| self.mvcc.read_point());
        let row = self.read_row_of(&snapshot, get, read_point, tier, trace)?;
        self.counters.add_get(trace);
        Ok(row)
    }

    /// Reads a row as of a sequence id.
    pub(super) fn read_row(&self, get: &Get, read_point: u64, tier: Tier, trace: &Arc<ReadTrace>) -> Result<Row> {
        self.read_row_of(&self.snapshot(), get, read_point, tier, trace)
    }

    fn read_row_of(&self, snapshot: &Arc<RegionSnapshot>, get: &Get, read_point: u64, tier: Tier, trace: &Arc<ReadTrace>) -> Result<Row> {
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
        let mut left = read.cells_max();
        for (index, columns) in wanted_stores(snapshot, selection)? {
            let stop = RowStop { examined: left, max_work_bytes: read.max_work_bytes(), ..RowStop::NEVER };
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

    /// Whether a get would return anything, without copying it unless its filter has to see the row.
    ///
    /// # Errors
    /// As [`Region::get`].
    pub fn exists(&self, get: &Get, tier: Tier, trace: &Arc<ReadTrace>) -> Result<bool> {
        if get.selection.filter.is_some() {
            return self.get(get, tier, trace).map(|row| !row.is_empty());
        }
        halite_types::op::check_row(get.row())?;
        self.check_row(get.row())?;
        self.check_open()?;
        check_selection(&get.selection)?;
        let (snapshot, read_point) = self.snapshot_at(|| self.mvcc.read_point());
        let read = RowRead::new(self, &snapshot, get, read_point, tier, trace);
        let mut found = CellCount::default();
        let mut left = read.cells_max();
        for (index, columns) in wanted_stores(&snapshot, &get.selection)? {
            left = read.store(index, columns, &mut found, &mut None, RowStop { cells: 1, examined: left, ..RowStop::NEVER })?;
            if found.cells() > 0 {
                break;
            }
        }
        trace.add_rows_examined(1);
        trace.add_rows_returned(found.cells() as u64);
        self.counters.add_get(trace);
        Ok(found.cells() > 0)
    }

    /// What a read that begins now sees: everything up to this sequence id.
    pub(crate) fn read_point(&self) -> u64 {
        self.mvcc.read_point()
    }

    /// Begins a scan of the part of its range that lies in this region.
    ///
    /// # Errors
    /// `InvalidRequest`, `IncompatibleFilter`, `NoSuchRegion`, `NoSuchFamily`.
    pub fn scan(self: &Arc<Self>, scan: &Scan, tier: Tier) -> Result<RegionScanner> {
        self.scan_at(scan, tier, ReadAt::Committed)
    }

    /// As [`Region::scan`], at another read point than the newest.
    ///
    /// # Errors
    /// As [`Region::scan`].
    pub fn scan_at(self: &Arc<Self>, scan: &Scan, tier: Tier, at: ReadAt) -> Result<RegionScanner> {
        self.check_open()?;
        check_scan(scan)?;
        let (snapshot, newest) = self.snapshot_at(|| if at == ReadAt::Applied { self.mvcc.applied() } else { self.mvcc.read_point() });
        let (read_point, file_read_point) = match at {
            ReadAt::Point(sequence) if self.is_whole_at(sequence) => (sequence.min(newest), sequence),
            // Of a row as of an earlier point a part may be gone: that was never there, and the newest is.
            ReadAt::Committed | ReadAt::Applied | ReadAt::Point(_) => (newest, u64::MAX),
        };
        let now = self.shared.env.clock.now_ms();
        let trace = Arc::new(ReadTrace::default());
        let filter = filter_state(&*self.shared.env.rng, &scan.selection, scan.reverse)?;
        let range = self.clip(&scan.range);
        let (mut stores, mut blocks) = (Vec::new(), Vec::new());
        for (index, columns) in wanted_stores(&snapshot, &scan.selection)? {
            let family = &snapshot.families[index];
            let read = StoreRead {
                selection: &scan.selection,
                family,
                columns,
                row: None,
                range: &range,
                raw: scan.raw,
                read_point,
                file_read_point,
                now,
                trace: &trace,
                tier,
                row_bytes_max: family.row_bytes_max(self.shared.options.row_bytes_max),
            };
            let of_store = self.read_blocks(&snapshot.stores[index], &read);
            stores.push(Self::store_scanner(&snapshot.stores[index], read, of_store.as_ref())?);
            blocks.extend(of_store);
        }
        let region = Arc::clone(self);
        let on_finish = Box::new(move |trace: &ReadTrace| region.counters.add_scan(trace));
        RegionScanner::new(ScanPlan {
            rows: Box::new(StoredRows { range, reverse: scan.reverse }),
            stores,
            blocks,
            filter,
            batch: scan.batch,
            read_point,
            clock: Arc::clone(&self.shared.env.clock),
            trace,
            on_finish,
        })
    }

    /// The part of a range that lies in this region.
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

    /// How a read gets at the blocks of a store's files; `None` if it has none.
    fn read_blocks(&self, store: &StoreSnapshot, read: &StoreRead<'_>) -> Option<Arc<ReadBlocks>> {
        (!store.files.is_empty()).then(|| {
            let fill = read.selection.cache_blocks && read.family.block_cache;
            Arc::new(ReadBlocks {
                cache: Arc::clone(&self.shared.cache),
                tier: ReadTier::new(read.tier),
                fill,
                trace: Arc::clone(read.trace),
                timer: read.row.is_none().then(|| ReadTimer::new(&self.shared.env.clock)),
            })
        })
    }

    fn store_scanner(store: &StoreSnapshot, read: StoreRead<'_>, blocks: Option<&Arc<ReadBlocks>>) -> Result<StoreScanner> {
        // What was written later counts whatever its timestamp, where the order of the writes does.
        let all_count = read.family.new_version_behavior;
        let time_range = if all_count { TimeRange::all() } else { read.selection.time_range_of(&read.family.name) };
        let mut sources = Vec::with_capacity(store.files.len() + 1);
        for memstore in store.memstores().filter(|memstore| memstore_overlaps(memstore, time_range)) {
            read.trace.add_memstores_read(1);
            sources.push(Source::memstore(memstore, read.read_point));
        }
        for file in &store.files {
            let Some(blocks) = blocks else { break };
            let is_loaded_later = file.entry.loaded_sequence.is_some_and(|sequence| sequence > read.file_read_point);
            if is_loaded_later || !file_overlaps(file, read.range, time_range) {
                read.trace.add_files_out_of_range(1);
            } else if !may_hold(file, &read, blocks)? {
                read.trace.add_files_without_key(1);
            } else if let Some(wanted) = wanted_from(file, &read, blocks)? {
                sources.push(Source::file_from(file, blocks, read.file_read_point, wanted));
            } else {
                read.trace.add_files_read(1);
                sources.push(Source::file(file, blocks, read.file_read_point));
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
            row_bytes_max: read.row_bytes_max,
        };
        Ok(user.scanner(sources))
    }
}

fn memstore_overlaps(memstore: &MemTable, range: TimeRange) -> bool {
    range.is_all() || memstore.time_range().is_none_or(|(oldest, newest)| overlaps(range, oldest, newest))
}

fn overlaps(range: TimeRange, oldest: i64, newest: i64) -> bool {
    newest >= range.min() && (oldest < range.max() || range.max() == i64::MAX)
}

/// Whether rows and timestamps of a file can be wanted.
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
    time_range.is_all() || reader.time_range().is_none_or(|range| overlaps(time_range, *range.start(), *range.end()))
}

/// Whether the bloom filter of a file leaves it in the race for the row of a get.
fn may_hold(file: &StoreFile, read: &StoreRead<'_>, blocks: &Arc<ReadBlocks>) -> Result<bool> {
    let Some(row) = read.row else { return Ok(true) };
    let (reader, blocks) = (file.reader(), blocks.of(file));
    let columns = read.columns.as_ref().filter(|_| reader.bloom_type() == BloomType::RowCol);
    let Some(columns) = columns else { return reader.may_contain_row(&blocks, row) };
    for column in columns {
        if reader.may_contain_column(&blocks, row, column)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// From where on a file is wanted, so that it may not have to be looked at: for a get of some columns, unless the file may have
/// a marker that deletes the family, which stands before them, or does not say what times it has.
fn wanted_from(file: &StoreFile, read: &StoreRead<'_>, blocks: &Arc<ReadBlocks>) -> Result<Option<WantedFrom>> {
    let (Some(row), Some(column)) = (read.row, read.columns.as_ref().and_then(|columns| columns.first())) else { return Ok(None) };
    let Some(times) = file.reader().time_range() else { return Ok(None) };
    let has_marker = file.reader().may_contain_delete_family(&blocks.of(file), row)?;
    Ok((!has_marker).then(|| WantedFrom { key: first_on_column(row, &read.family.name, column), newest: *times.end() }))
}

/// A message that an inverted range is empty, for whoever wants to tell people.
pub fn explain_empty(range: &RowRange) -> Option<String> {
    let text = |bound: &Bound<Bytes>| match bound {
        Bound::Unbounded => String::new(),
        Bound::Included(row) | Bound::Excluded(row) => print_bytes(row),
    };
    range.is_empty().then(|| format!("the range from '{}' to '{}' is empty: the start lies behind the stop", text(&range.start), text(&range.end)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use halite_types::{FamilyDescriptor, Get, Put, RowOp, TableDescriptor, TableName, Tier};

    use crate::env::sim::SimEnv;
    use crate::scan::ReadTrace;
    use crate::{Engine, Options};

    #[test]
    fn a_write_to_two_families_beside_a_flush_is_read_as_a_whole() {
        let sim = SimEnv::new(1);
        let engine = Engine::open(sim.env(), Options::default()).unwrap();
        let name: TableName = "t".parse().unwrap();
        engine
            .create_table(TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f")).family(FamilyDescriptor::new("g")), vec![])
            .unwrap();
        let table = engine.table(&name).unwrap();
        let put = |put: Put| drop(table.apply(vec![RowOp::Put(put)]).unwrap().pop().unwrap().unwrap());
        let region = table.region_of(b"").unwrap();
        // Of the two memstores only that of g is set aside by the flush: the other has nothing in it, and stays.
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
        let trace = Arc::new(ReadTrace::default());
        let row = region.read_row_of(&snapshot, &Get::new("row"), point, Tier::Disk, &trace).unwrap();
        assert_eq!(row.len(), 2);
    }
}
