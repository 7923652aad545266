//! `hbase:meta` as clients read it: a table that is not stored, but computed from the catalog.
//!
//! A [`MetaView`] is taken for a request; it makes rows as they are read. Only where the rows come from differs from a
//! stored region: selections, filters and limits are applied by the same scanners. What clients have written there stands
//! among them (`additions.rs`).

use std::cmp::Ordering;
use std::ops::{Bound, Range};
use std::sync::Arc;

use halite_types::cell::{CellType, first_on_row, make_key};
use halite_types::{Bytes, CellRef, Get, RegionInfo, Result, Row, RowRange, Scan, Selection, TableDescriptor, Tier};

use super::additions::{Additions, Known};
use super::{Engine, RegionIndex};
use crate::catalog::meta::{self, MetaIndex, MetaRow, Place, ServerIdentity};
use crate::env::Env;
use crate::heal::Healed;
use crate::hfile::Comparator;
use crate::memstore::MemTable;
use crate::region::{RegionSnapshot, UserRead, check_scan, filter_state, wanted_stores};
use crate::scan::{ReadTrace, RegionScanner, Rows, ScanBudget, ScanPlan, Source, StoreScanner};

/// What a scan of `hbase:meta` tells as its read point; it always sees what there was when it began.
const READ_POINT: u64 = 1;
/// Memory for the cells of one row.
const ROW_CHUNK_BYTES: usize = 4096;

impl Engine {
    /// `hbase:meta` as of now, for a client that knows the server by this name.
    ///
    /// # Errors
    /// `NeedsIo` with [`Tier::Memory`] if what clients have written there lies on the disk; damage or a failed read.
    pub fn meta(&self, server: &Arc<ServerIdentity>, tier: Tier) -> Result<MetaView> {
        Ok(MetaView {
            additions: self.additions(tier)?,
            index: self.meta_index(),
            regions: Arc::clone(&self.regions),
            schema: Arc::clone(&self.meta.schema),
            server: Arc::clone(server),
            env: self.shared.env.clone(),
        })
    }

    /// The order of the rows, made anew after a change of the catalog.
    fn meta_index(&self) -> Arc<MetaIndex> {
        let catalog = self.shared.manifest.current();
        let mut known = self.meta.index.lock().healed();
        match &*known {
            Some(index) if index.is_of(&catalog) => Arc::clone(index),
            _ => Arc::clone(known.insert(Arc::new(MetaIndex::new(catalog)))),
        }
    }
}

/// What an engine keeps for the views of `hbase:meta`.
pub(super) struct Meta {
    index: std::sync::Mutex<Option<Arc<MetaIndex>>>,
    /// The families; no store.
    schema: Arc<RegionSnapshot>,
    pub(super) additions: Known,
}

impl Default for Meta {
    fn default() -> Self {
        let schema = RegionSnapshot::new(Arc::new(meta::descriptor()), None, Vec::new());
        Self { index: std::sync::Mutex::default(), schema: Arc::new(schema), additions: Known::default() }
    }
}

/// `hbase:meta` at one moment. Cheap to make and to throw away.
#[derive(Clone)]
pub struct MetaView {
    index: Arc<MetaIndex>,
    additions: Additions,
    regions: Arc<RegionIndex>,
    schema: Arc<RegionSnapshot>,
    server: Arc<ServerIdentity>,
    env: Env,
}

impl MetaView {
    /// The one region of `hbase:meta`.
    pub fn region() -> RegionInfo {
        meta::own_region()
    }

    /// The descriptor of `hbase:meta`.
    pub fn descriptor(&self) -> Arc<TableDescriptor> {
        Arc::clone(&self.schema.descriptor)
    }

    /// Reads a row.
    ///
    /// # Errors
    /// `InvalidRequest`, `NoSuchFamily`.
    pub fn get(&self, get: &Get) -> Result<Row> {
        halite_types::op::check_row(get.row())?;
        let row = Bound::Included(get.row().clone());
        let scan = Scan { range: RowRange { start: row.clone(), end: row }, selection: get.selection.clone(), ..Scan::all() };
        Ok(self.scan(&scan)?.next_rows(ScanBudget::default())?.rows.pop().unwrap_or_default())
    }

    /// Begins a scan. The range is in the order of the meta comparator, in which `t ,,` stands behind every row of `t`; so
    /// a range that is inverted by bytes need not be empty. Its first row is found by halving.
    ///
    /// # Errors
    /// `InvalidRequest`, `IncompatibleFilter`, `NoSuchFamily`.
    pub fn scan(&self, scan: &Scan) -> Result<RegionScanner> {
        check_scan(scan)?;
        let filter = filter_state(&*self.env.rng, &scan.selection, scan.reverse)?;
        let wanted = wanted_stores(&self.schema, &scan.selection)?;
        let (start, end) = self.index.places(&scan.range.start, &scan.range.end);
        let added = self.additions.rows(scan.raw)?;
        let rows = MetaRows {
            now: self.env.clock.now_ms(),
            view: self.clone(),
            added_left: added_in(&added, &scan.range),
            added,
            selection: scan.selection.clone(),
            raw: scan.raw,
            wanted,
            reverse: scan.reverse,
            start,
            end,
            cells_examined: 0,
        };
        RegionScanner::new(ScanPlan {
            rows: Box::new(rows),
            stores: Vec::new(),
            blocks: Vec::new(),
            filter,
            batch: scan.batch,
            read_point: READ_POINT,
            clock: Arc::clone(&self.env.clock),
            trace: Arc::new(ReadTrace::default()),
            on_finish: Box::new(|_| ()),
        })
    }
}

/// Which of the rows that clients have written lie in a range.
fn added_in(rows: &[Row], range: &RowRange) -> Range<usize> {
    let order = |row: &Row, bound: &Bytes| Comparator::Meta.compare_rows(row.key(), bound);
    let first = match &range.start {
        Bound::Unbounded => 0,
        Bound::Included(start) => rows.partition_point(|row| order(row, start).is_lt()),
        Bound::Excluded(start) => rows.partition_point(|row| order(row, start).is_le()),
    };
    let end = match &range.end {
        Bound::Unbounded => rows.len(),
        Bound::Included(end) => rows.partition_point(|row| order(row, end).is_le()),
        Bound::Excluded(end) => rows.partition_point(|row| order(row, end).is_lt()),
    };
    first..end
}

/// The rows of a range, made one by one.
struct MetaRows {
    view: MetaView,
    selection: Selection,
    raw: bool,
    /// The families that are read, with the columns of each.
    wanted: Vec<(usize, Option<Vec<Bytes>>)>,
    reverse: bool,
    /// The places that are still to be read, the end excluded.
    start: Place,
    end: Place,
    /// What clients have written, and which of it is still to be read.
    added: Arc<Vec<Row>>,
    added_left: Range<usize>,
    now: i64,
    cells_examined: u64,
}

impl Rows for MetaRows {
    fn next_row(&mut self, row: &mut Vec<u8>, stores: &mut Vec<StoreScanner>) -> Result<bool> {
        self.cells_examined += stores.iter().map(|store| store.cells_examined).sum::<u64>();
        stores.clear();
        let view = self.view.clone();
        while self.start < self.end || !self.added_left.is_empty() {
            let (computed, added) = self.step(&view);
            *row = match (&computed, added) {
                (Some(computed), _) => computed.key(),
                (None, Some(added)) => self.added[added].key().to_vec(),
                (None, None) => continue,
            };
            for wanted in &self.wanted {
                stores.extend(self.store(row, wanted, computed.as_ref(), added.map(|added| &self.added[added]))?);
            }
            if !stores.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_last(&self, _: &[u8], _: &[StoreScanner]) -> bool {
        self.start >= self.end && self.added_left.is_empty()
    }

    fn cells_examined(&self) -> u64 {
        self.cells_examined
    }
}

impl MetaRows {
    /// What stands in the next row, computed and written by clients; it is taken from what is to be read.
    fn step<'a>(&mut self, view: &'a MetaView) -> (Option<MetaRow<'a>>, Option<usize>) {
        let place = (self.start < self.end).then(|| if self.reverse { view.index.before(self.end) } else { self.start });
        let added = (!self.added_left.is_empty()).then(|| if self.reverse { self.added_left.end - 1 } else { self.added_left.start });
        let computed = place.and_then(|place| view.index.row(place));
        let order = match (&computed, added) {
            (Some(computed), Some(added)) => Comparator::Meta.compare_rows(&computed.key(), self.added[added].key()),
            (None, Some(_)) if place.is_none() => Ordering::Greater,
            _ => Ordering::Less,
        };
        let order = if self.reverse && computed.is_some() && added.is_some() { order.reverse() } else { order };
        let added = added.filter(|_| order.is_ge());
        let place = place.filter(|_| order.is_le());
        match (added, self.reverse) {
            (Some(at), true) => self.added_left.end = at,
            (Some(at), false) => self.added_left.start = at + 1,
            (None, _) => {}
        }
        match (place, self.reverse) {
            (Some(place), true) => self.end = place,
            (Some(place), false) => self.start = view.index.after(place),
            (None, _) => {}
        }
        (computed.filter(|_| place.is_some()), added)
    }

    /// A scanner of the row's cells in a family, at the first of them; `None` if it has none there.
    fn store(
        &self,
        row: &[u8],
        (index, columns): &(usize, Option<Vec<Bytes>>),
        computed: Option<&MetaRow<'_>>,
        added: Option<&Row>,
    ) -> Result<Option<StoreScanner>> {
        let family = &self.view.schema.families[*index];
        let cells = MemTable::new(ROW_CHUNK_BYTES);
        let mut has_any = false;
        if let Some(computed) = computed.filter(|computed| computed.family() == family.name) {
            has_any = true;
            for (qualifier, value, timestamp) in computed.cells(&self.view.server, self.open_sequence(computed)) {
                let key = make_key(row, &family.name, &qualifier, timestamp, CellType::Put.code());
                cells.insert(CellRef::new(&key, &value, b"", 0));
            }
        }
        for cell in added.into_iter().flat_map(Row::iter).filter(|cell| cell.family() == family.name) {
            has_any = true;
            // Of two with the same timestamp the client's is the later one.
            cells.insert(cell.with_sequence(1));
        }
        if !has_any {
            return Ok(None);
        }
        let sources = vec![Source::memstore(&cells, u64::MAX)];
        let read = UserRead {
            selection: &self.selection,
            family,
            columns: columns.clone(),
            raw: self.raw,
            single_row: false,
            now: self.now,
            row_bytes_max: None,
        };
        let mut store = read.scanner(sources);
        store.seek(&first_on_row(row))?;
        Ok(Some(store))
    }

    fn open_sequence(&self, row: &MetaRow<'_>) -> Option<u64> {
        match row {
            MetaRow::Table(_) => None,
            MetaRow::Region(_, region) => self.view.regions.find(&region.info.encoded_name).map(|region| region.open_sequence()),
        }
    }
}
