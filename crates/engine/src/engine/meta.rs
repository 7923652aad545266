//! `hbase:meta` as seen by clients: a table that is not stored, but computed from the catalog.
//!
//! A request takes a [`MetaView`], which creates rows as they are read. Only the source of the rows
//! differs from a stored region: the same scanners apply selections, filters and limits. Rows
//! written by clients are merged with them (`meta_overlay.rs`).

use std::cmp::Ordering;
use std::ops::{Bound, Range};
use std::sync::Arc;

use halite_types::cell::{CellType, first_on_row, make_key};
use halite_types::{
    Bytes, CellRef, Get, ReadTier, RegionInfo, Result, Row, RowRange, Scan, Selection, ServerName,
    TableDescriptor,
};

use super::meta_overlay::{MetaOverlay, MetaOverlayCache};
use super::{Engine, RegionIndex};
use crate::catalog::meta::{self, MetaIndex, MetaPosition, MetaRow};
use crate::env::Env;
use crate::heal::Healed;
use crate::hfile::Comparator;
use crate::memstore::MemTable;
use crate::options::Options;
use crate::region::{
    RegionSnapshot, TableRules, UserRead, check_scan, filter_state, selected_stores,
};
use crate::scan::{
    CellSource, ReadStats, RegionScanner, RowCursor, ScanLimits, ScanPlan, StoreScanner,
};

/// Read point reported by a scan of `hbase:meta`; the scan always sees the state at its start.
const READ_POINT: u64 = 1;
/// Memory chunk size for the cells of one row.
const ROW_CHUNK_BYTES: usize = 4096;

impl Engine {
    /// Returns the current `hbase:meta`, for a client that uses this server name.
    ///
    /// # Errors
    /// `WouldBlock` with [`ReadTier::Memory`] if the rows that clients have written are on the
    /// disk; damage or a failed read.
    pub fn meta(&self, server: &Arc<ServerName>, tier: ReadTier) -> Result<MetaView> {
        Ok(MetaView {
            overlay: self.meta_overlay(tier)?,
            index: self.meta_index(),
            regions: Arc::clone(&self.regions),
            schema: Arc::clone(&self.meta.schema),
            server: Arc::clone(server),
            env: self.shared.env.clone(),
        })
    }

    /// Returns the order of the rows, rebuilt after a change of the catalog.
    fn meta_index(&self) -> Arc<MetaIndex> {
        let catalog = self.shared.manifest.current();
        let mut known = self.meta.index.lock().healed();
        match &*known {
            Some(index) if index.is_for(&catalog) => Arc::clone(index),
            _ => Arc::clone(known.insert(Arc::new(MetaIndex::new(catalog)))),
        }
    }
}

/// State of an engine for the views of `hbase:meta`.
pub(super) struct Meta {
    index: std::sync::Mutex<Option<Arc<MetaIndex>>>,
    /// Families, without stores.
    schema: Arc<RegionSnapshot>,
    pub(super) overlay: MetaOverlayCache,
}

impl Default for Meta {
    fn default() -> Self {
        let descriptor = meta::descriptor();
        let rules = TableRules::new(&descriptor, &Options::default());
        let schema = RegionSnapshot::new(Arc::new(descriptor), rules, Vec::new());
        Self {
            index: std::sync::Mutex::default(),
            schema: Arc::new(schema),
            overlay: MetaOverlayCache::default(),
        }
    }
}

/// Consistent view of `hbase:meta`. Cheap to create and to drop.
#[derive(Clone)]
pub struct MetaView {
    index: Arc<MetaIndex>,
    overlay: MetaOverlay,
    regions: Arc<RegionIndex>,
    schema: Arc<RegionSnapshot>,
    server: Arc<ServerName>,
    env: Env,
}

impl MetaView {
    /// Returns the only region of `hbase:meta`.
    pub fn region() -> RegionInfo {
        meta::own_region()
    }

    /// Returns the descriptor of `hbase:meta`.
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
        let scan = Scan {
            range: RowRange { start: row.clone(), end: row },
            selection: get.selection.clone(),
            ..Scan::all()
        };
        Ok(self.scan(&scan)?.next_rows(ScanLimits::default())?.rows.pop().unwrap_or_default())
    }

    /// Starts a scan. The range is in the order of the meta comparator, in which `t ,,` is after
    /// every row of `t`. A range whose bounds are inverted in byte order may therefore be
    /// non-empty. The first row is found by binary search.
    ///
    /// # Errors
    /// `InvalidRequest`, `IncompatibleFilter`, `NoSuchFamily`.
    pub fn scan(&self, scan: &Scan) -> Result<RegionScanner> {
        check_scan(scan)?;
        let filter = filter_state(&*self.env.rng, &scan.selection, scan.reverse)?;
        let wanted = selected_stores(&self.schema, &scan.selection)?;
        let (start, end) = self.index.positions(&scan.range.start, &scan.range.end);
        let added = self.overlay.rows(scan.raw)?;
        let rows = MetaRows {
            now: self.env.clock.now_ms(),
            view: self.clone(),
            overlay_left: overlay_rows_in(&added, &scan.range),
            overlay_rows: added,
            selection: scan.selection.clone(),
            raw: scan.raw,
            requested: wanted,
            reverse: scan.reverse,
            start,
            end,
            cells_examined: 0,
        };
        RegionScanner::new(ScanPlan {
            joined: Vec::new(),
            row_cursor: Box::new(rows),
            stores: Vec::new(),
            blocks: Vec::new(),
            filter,
            batch: scan.batch,
            read_point: READ_POINT,
            clock: Arc::clone(&self.env.clock),
            stats: Arc::new(ReadStats::default()),
            report: Box::new(|_, _, _| ()),
            is_timed: false,
        })
    }
}

/// Returns the indexes of the rows written by clients that are in a range.
fn overlay_rows_in(rows: &[Row], range: &RowRange) -> Range<usize> {
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

/// Cursor over the rows of a range, which are created one by one.
struct MetaRows {
    view: MetaView,
    selection: Selection,
    raw: bool,
    /// Requested families with the columns of each.
    requested: Vec<(usize, Option<Vec<Bytes>>)>,
    reverse: bool,
    /// Positions still to be read, end exclusive.
    start: MetaPosition,
    end: MetaPosition,
    /// Rows written by clients, and the indexes of those still to be read.
    overlay_rows: Arc<Vec<Row>>,
    overlay_left: Range<usize>,
    now: i64,
    cells_examined: u64,
}

impl RowCursor for MetaRows {
    fn next_row(&mut self, row: &mut Vec<u8>, stores: &mut Vec<StoreScanner>) -> Result<bool> {
        self.cells_examined += stores.iter().map(|store| store.cells_examined).sum::<u64>();
        stores.clear();
        let view = self.view.clone();
        while self.start < self.end || !self.overlay_left.is_empty() {
            let (computed, added) = self.step(&view);
            *row = match (&computed, added) {
                (Some(computed), _) => computed.key(),
                (None, Some(added)) => self.overlay_rows[added].key().to_vec(),
                (None, None) => continue,
            };
            for wanted in &self.requested {
                stores.extend(self.store(
                    row,
                    wanted,
                    computed.as_ref(),
                    added.map(|added| &self.overlay_rows[added]),
                )?);
            }
            if !stores.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_last(&self, _: &[u8], _: &[StoreScanner]) -> bool {
        self.start >= self.end && self.overlay_left.is_empty()
    }

    fn cells_examined(&self) -> u64 {
        self.cells_examined
    }
}

impl MetaRows {
    /// Returns the computed part and the client-written part of the next row, and removes it from
    /// the positions to be read.
    fn step<'a>(&mut self, view: &'a MetaView) -> (Option<MetaRow<'a>>, Option<usize>) {
        let place = (self.start < self.end)
            .then(|| if self.reverse { view.index.before(self.end) } else { self.start });
        let added = (!self.overlay_left.is_empty()).then(|| {
            if self.reverse { self.overlay_left.end - 1 } else { self.overlay_left.start }
        });
        let computed = place.and_then(|place| view.index.row(place));
        let order = match (&computed, added) {
            (Some(computed), Some(added)) => {
                Comparator::Meta.compare_rows(&computed.key(), self.overlay_rows[added].key())
            }
            (None, Some(_)) if place.is_none() => Ordering::Greater,
            _ => Ordering::Less,
        };
        let order = if self.reverse && computed.is_some() && added.is_some() {
            order.reverse()
        } else {
            order
        };
        let added = added.filter(|_| order.is_ge());
        let place = place.filter(|_| order.is_le());
        match (added, self.reverse) {
            (Some(at), true) => self.overlay_left.end = at,
            (Some(at), false) => self.overlay_left.start = at + 1,
            (None, _) => {}
        }
        match (place, self.reverse) {
            (Some(place), true) => self.end = place,
            (Some(place), false) => self.start = view.index.after(place),
            (None, _) => {}
        }
        (computed.filter(|_| place.is_some()), added)
    }

    /// Returns a scanner of the row's cells in a family, positioned at the first; `None` if there
    /// are none.
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
            for (qualifier, value, timestamp) in
                computed.cells(&self.view.server, self.open_sequence(computed))
            {
                let key = make_key(row, &family.name, &qualifier, timestamp, CellType::Put.code());
                cells.insert(CellRef::new(&key, &value, b"", 0));
            }
        }
        for cell in
            added.into_iter().flat_map(Row::iter).filter(|cell| cell.family() == family.name)
        {
            has_any = true;
            // Of two cells with the same timestamp, the client's is the newer one.
            cells.insert(cell.with_sequence_id(1));
        }
        if !has_any {
            return Ok(None);
        }
        let sources = vec![CellSource::memstore(&cells, u64::MAX)];
        let read = UserRead {
            selection: &self.selection,
            family,
            columns: columns.clone(),
            raw: self.raw,
            single_row: false,
            now: self.now,
            max_row_bytes: None,
        };
        let mut store = read.scanner(sources);
        store.seek(&first_on_row(row))?;
        Ok(Some(store))
    }

    fn open_sequence(&self, row: &MetaRow<'_>) -> Option<u64> {
        match row {
            MetaRow::Table(_) => None,
            MetaRow::Region(_, region) => self
                .view
                .regions
                .find(&region.info.encoded_name)
                .map(|region| region.open_sequence()),
        }
    }
}
