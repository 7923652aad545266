//! `hbase:meta` as clients read it: a table that is not stored, but computed from the catalog.
//!
//! A [`MetaView`] is taken for a request; it makes rows as they are read. Only where the rows come from differs from a
//! stored region: selections, filters and limits are applied by the same scanners.

use std::ops::Bound;
use std::sync::Arc;

use halite_types::cell::{CellType, first_on_row, make_key};
use halite_types::{Bytes, CellRef, Get, RegionInfo, Result, Row, RowRange, Scan, Selection, TableDescriptor};

use super::{Engine, RegionIndex};
use crate::catalog::meta::{self, MetaIndex, MetaRow, Place, ServerIdentity};
use crate::env::Env;
use crate::memstore::MemTable;
use crate::region::{RegionSnapshot, UserRead, check_scan, filter_state, wanted_stores};
use crate::scan::{ReadTrace, RegionScanner, Rows, ScanBudget, ScanPlan, Source, StoreScanner};

/// What a scan of `hbase:meta` tells as its read point; it always sees what there was when it began.
const READ_POINT: u64 = 1;
/// Memory for the cells of one row.
const ROW_CHUNK_BYTES: usize = 4096;

impl Engine {
    /// `hbase:meta` as of now, for a client that knows the server by this name.
    pub fn meta(&self, server: &Arc<ServerIdentity>) -> MetaView {
        MetaView {
            index: self.meta_index(),
            regions: Arc::clone(&self.regions),
            schema: Arc::clone(&self.meta.schema),
            server: Arc::clone(server),
            env: self.shared.env.clone(),
        }
    }

    /// The order of the rows, made anew after a change of the catalog.
    fn meta_index(&self) -> Arc<MetaIndex> {
        let catalog = self.shared.manifest.current();
        let mut known = self.meta.index.lock().expect("nothing panics while it orders tables");
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
}

impl Default for Meta {
    fn default() -> Self {
        let schema = RegionSnapshot::new(Arc::new(meta::descriptor()), Vec::new());
        Self { index: std::sync::Mutex::default(), schema: Arc::new(schema) }
    }
}

/// `hbase:meta` at one moment. Cheap to make and to throw away.
#[derive(Clone)]
pub struct MetaView {
    index: Arc<MetaIndex>,
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
        let rows = MetaRows {
            now: self.env.clock.now_ms(),
            view: self.clone(),
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
            filter,
            batch: scan.batch,
            read_point: READ_POINT,
            clock: Arc::clone(&self.env.clock),
            trace: Arc::new(ReadTrace::default()),
            on_finish: Box::new(|_| ()),
        })
    }
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
    now: i64,
    cells_examined: u64,
}

impl Rows for MetaRows {
    fn next_row(&mut self, row: &mut Vec<u8>, stores: &mut Vec<StoreScanner>) -> Result<bool> {
        self.cells_examined += stores.iter().map(|store| store.cells_examined).sum::<u64>();
        stores.clear();
        let view = self.view.clone();
        while self.start < self.end {
            let place = self.step();
            let Some(found) = view.index.row(place) else { continue };
            if let Some(store) = self.store(&found)? {
                *row = found.key();
                stores.push(store);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_last(&self, _: &[u8], _: &[StoreScanner]) -> bool {
        self.start >= self.end
    }

    fn cells_examined(&self) -> u64 {
        self.cells_examined
    }
}

impl MetaRows {
    /// The next place, which is taken from those to be read.
    fn step(&mut self) -> Place {
        if self.reverse {
            self.end = self.view.index.before(self.end);
            self.end
        } else {
            let place = self.start;
            self.start = self.view.index.after(place);
            place
        }
    }

    /// A scanner of the row's cells, at the first of them; `None` if their family is not read.
    fn store(&self, row: &MetaRow<'_>) -> Result<Option<StoreScanner>> {
        let families = &self.view.schema.families;
        let Some((index, columns)) = self.wanted.iter().find(|(index, _)| families[*index].name == row.family()) else { return Ok(None) };
        let family = &families[*index];
        let open_sequence = match row {
            MetaRow::Table(_) => None,
            MetaRow::Region(_, region) => self.view.regions.find(&region.info.encoded_name).map(|region| region.open_sequence()),
        };
        let key = row.key();
        let cells = MemTable::new(ROW_CHUNK_BYTES);
        for (qualifier, value, timestamp) in row.cells(&self.view.server, open_sequence) {
            let key = make_key(&key, row.family(), &qualifier, timestamp, CellType::Put.code());
            cells.insert(CellRef::new(&key, &value, b"", 0));
        }
        let sources = vec![Source::memstore(&cells, u64::MAX)];
        let read = UserRead { selection: &self.selection, family, columns: columns.clone(), raw: self.raw, single_row: false, now: self.now };
        let mut store = read.scanner(sources);
        store.seek(&first_on_row(&key))?;
        Ok(Some(store))
    }
}
