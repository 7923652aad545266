//! Gets and scans as of a snapshot: which memstores and files take part, and how their cells are filtered.

use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::cell::{first_on_row, key_row};
use halite_types::key::print_bytes;
use halite_types::{CellsBuilder, Error, Get, Result, Row, RowRange, Scan, Selection, Tier, TimeRange};

use super::Region;
use super::snapshot::{Family, RegionSnapshot};
use crate::cache::ReadBlocks;
use crate::memstore::MemTable;
use crate::scan::filter::FilterState;
use crate::scan::{Matcher, Merge, ReadTrace, RegionScanner, ScanPlan, Source, StoreLimits, StoreScanner, UserQuery, filter_finished_row};
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
    now: i64,
    trace: &'a Arc<ReadTrace>,
    tier: Tier,
}

impl Region {
    /// Reads a row as of now. `trace` gets what the read touches.
    ///
    /// # Errors
    /// `InvalidRequest`, `WrongRegion`, `NoSuchRegion`, `NoSuchFamily`; `NeedsIo` with [`Tier::Memory`]; damage.
    pub fn get(&self, get: &Get, tier: Tier, trace: &Arc<ReadTrace>) -> Result<Row> {
        halite_types::op::check_row(get.row())?;
        self.check_row(get.row())?;
        self.check_open()?;
        let snapshot = self.snapshot();
        let row = self.read_row_of(&snapshot, get, self.mvcc.read_point(), tier, trace)?;
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
        let row = get.row();
        let range = RowRange { start: Bound::Included(row.clone()), end: Bound::Included(row.clone()) };
        let mut filter = self.filter_state(selection)?;
        trace.add_rows_examined(1);
        if let Some(filter) = &mut filter {
            filter.reset();
            if filter.filter_all_remaining() || filter.filter_row_key(row) {
                return Ok(Row::default());
            }
        }
        let now = self.shared.env.clock.now_ms();
        let mut out = CellsBuilder::default();
        let start = first_on_row(row);
        for (index, columns) in wanted_stores(snapshot, selection)? {
            let family = &snapshot.families[index];
            let read = StoreRead { selection, family, columns, row: Some(row), range: &range, raw: false, read_point, now, trace, tier };
            let mut scanner = self.store_scanner(&snapshot.stores[index], read)?;
            scanner.seek(&start)?;
            scanner.start_row();
            scanner.read_row(row, &mut out, &mut filter, usize::MAX)?;
            trace.add_cells_examined(scanner.cells_examined);
        }
        if let Some(filter) = &mut filter {
            filter_finished_row(filter, &mut out, (0, 0));
        }
        if !out.is_empty() {
            trace.add_rows_returned(1);
            trace.add_cells_returned(out.len() as u64);
            trace.add_bytes_returned(out.bytes().len() as u64);
        }
        Ok(Row::new(out.finish()))
    }

    /// Begins a scan of the part of its range that lies in this region.
    ///
    /// # Errors
    /// `InvalidRequest`, `NoSuchRegion`, `NoSuchFamily`.
    pub fn scan(self: &Arc<Self>, scan: &Scan, tier: Tier) -> Result<RegionScanner> {
        self.check_open()?;
        check_selection(&scan.selection)?;
        if scan.raw && scan.selection.columns.values().any(|columns| columns.as_ref().is_some_and(|columns| !columns.is_empty())) {
            return Err(Error::invalid("a raw scan returns every cell of its families; name families instead of columns"));
        }
        // The snapshot first: whatever is applied and visible by the time of the read point is in it or newer than it.
        let snapshot = self.snapshot();
        let read_point = self.mvcc.read_point();
        let now = self.shared.env.clock.now_ms();
        let trace = Arc::new(ReadTrace::default());
        let mut filter = self.filter_state(&scan.selection)?;
        if let Some(filter) = &mut filter {
            filter.set_reversed(scan.reverse);
        }
        let range = self.clip(&scan.range);
        let mut stores = Vec::new();
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
                now,
                trace: &trace,
                tier,
            };
            stores.push(self.store_scanner(&snapshot.stores[index], read)?);
        }
        let region = Arc::clone(self);
        let on_finish = Box::new(move |trace: &ReadTrace| region.counters.add_scan(trace));
        RegionScanner::new(ScanPlan { stores, filter, range, reverse: scan.reverse, batch: scan.batch, trace, on_finish })
    }

    fn filter_state(&self, selection: &Selection) -> Result<Option<FilterState>> {
        let Some(filter) = &selection.filter else { return Ok(None) };
        let mut state = FilterState::new(filter)?;
        state.set_seed(self.shared.env.rng.next_u64());
        Ok(Some(state))
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

    fn store_scanner(&self, store: &StoreSnapshot, read: StoreRead<'_>) -> Result<StoreScanner> {
        let retention = read.family.retention(read.now);
        let time_range = read.selection.time_range_of(&read.family.name);
        let mut sources = Vec::with_capacity(store.files.len() + 1);
        for memstore in store.memstores().filter(|memstore| memstore_overlaps(memstore, time_range)) {
            read.trace.add_memstores_read(1);
            sources.push(Source::memstore(memstore, read.read_point));
        }
        let blocks = (!store.files.is_empty()).then(|| {
            let fill = read.selection.cache_blocks && read.family.block_cache;
            Arc::new(ReadBlocks { cache: Arc::clone(&self.shared.cache), tier: read.tier, fill, trace: Arc::clone(read.trace) })
        });
        for file in &store.files {
            let Some(blocks) = &blocks else { break };
            if !file_overlaps(file, read.range, time_range) {
                read.trace.add_files_out_of_range(1);
            } else if !may_hold(file, &read, blocks)? {
                read.trace.add_files_without_key(1);
            } else {
                read.trace.add_files_read(1);
                sources.push(Source::file(file, blocks));
            }
        }
        let query = UserQuery {
            columns: read.columns,
            time_range,
            max_versions: read.selection.max_versions,
            raw: read.raw,
            has_filter: read.selection.filter.is_some(),
        };
        let limits = StoreLimits { limit: read.selection.family_limit, offset: read.selection.family_offset };
        Ok(StoreScanner::new(Merge::new(sources), Matcher::for_read(query, retention), limits, read.row.is_some()))
    }
}

fn check_selection(selection: &Selection) -> Result<()> {
    if selection.max_versions == 0 {
        return Err(Error::invalid("0 versions are asked for; ask for at least 1"));
    }
    Ok(())
}

/// The stores a selection reads, in family order, with the columns it wants of each.
fn wanted_stores(snapshot: &RegionSnapshot, selection: &Selection) -> Result<Vec<(usize, Option<Vec<Bytes>>)>> {
    for family in selection.family_time_ranges.keys() {
        snapshot.family_index(family)?;
    }
    if selection.columns.is_empty() {
        return Ok((0..snapshot.families.len()).map(|index| (index, None)).collect());
    }
    let mut stores = Vec::with_capacity(selection.columns.len());
    for (family, columns) in &selection.columns {
        let columns = columns.as_ref().filter(|columns| !columns.is_empty()).map(|columns| columns.iter().cloned().collect());
        stores.push((snapshot.family_index(family)?, columns));
    }
    Ok(stores)
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
    if !reader.may_contain_row(&blocks, row)? {
        return Ok(false);
    }
    let Some(columns) = &read.columns else { return Ok(true) };
    for column in columns {
        if reader.may_contain_column(&blocks, row, column)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A message that an inverted range is empty, for whoever wants to tell people.
pub fn explain_empty(range: &RowRange) -> Option<String> {
    let text = |bound: &Bound<Bytes>| match bound {
        Bound::Unbounded => String::new(),
        Bound::Included(row) | Bound::Excluded(row) => print_bytes(row),
    };
    range.is_empty().then(|| format!("the range from '{}' to '{}' is empty: the start lies behind the stop", text(&range.start), text(&range.end)))
}
