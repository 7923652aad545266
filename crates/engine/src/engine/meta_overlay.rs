//! Rows that clients write to `hbase:meta`: stored in a separate hidden table, and merged with the
//! rows that are computed from the catalog.
//!
//! HBase clients also keep bookkeeping data there. A client cell in the same column as a computed
//! cell is an older or newer version of it. The newest is visible, as in HBase. A client can delete
//! only cells that clients have written: nothing hides the catalog's cells.

use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use halite_types::{
    Attributes, Bytes, Delete, Error, ErrorKind, ReadTier, Result, Row, RowOp, Scan,
    TableDescriptor,
};

use super::Engine;
use crate::catalog::{layout, meta};
use crate::heal::Healed;
use crate::hfile::Comparator;
use crate::region::Region;
use crate::scan::{ReadAt, ScanLimits};

/// Bytes in memory and in files above which writes are rejected: reading holds all of it in memory.
const MAX_OVERLAY_BYTES: u64 = 64 << 20;

/// Bytes above which a nonblocking read does not reread the rows.
const MAX_NONBLOCKING_READ_BYTES: u64 = 256 << 10;

/// Rows written by clients at one read point, in the order of the meta comparator.
#[derive(Clone, Default)]
pub(super) struct MetaOverlay {
    region: Option<Arc<Region>>,
    read_point: u64,
    rows: Arc<Vec<Row>>,
}

/// Rows of the last read.
#[derive(Default)]
pub(super) struct MetaOverlayCache {
    newest: ArcSwap<MetaOverlay>,
    /// Lock held while the rows are read from the region, so that they are read only once.
    reading: Mutex<()>,
}

impl MetaOverlay {
    /// Returns `true` if the region has not been written to since.
    fn is_current(&self, region: &Arc<Region>) -> bool {
        self.region.as_ref().is_some_and(|own| Arc::ptr_eq(own, region))
            && self.read_point == region.read_point()
    }

    /// Returns the rows; with `raw`, including deleted cells and delete markers.
    ///
    /// # Errors
    /// Damage or a failed read.
    pub(super) fn rows(&self, raw: bool) -> Result<Arc<Vec<Row>>> {
        match &self.region {
            Some(region) if raw => {
                read(region, true, ReadTier::Disk, ReadAt::Point(self.read_point))
                    .map(|(_, rows)| rows)
            }
            _ => Ok(Arc::clone(&self.rows)),
        }
    }
}

impl Engine {
    /// Returns the region for client writes to `hbase:meta`. The first call creates it, which waits
    /// for the disk.
    ///
    /// # Errors
    /// `InvalidRequest` if it is full; the errors of table creation.
    pub fn meta_overlay_region(&self) -> Result<Arc<Region>> {
        self.create_meta_overlay()?;
        let missing =
            || Error::new(ErrorKind::Busy, "hbase:meta cannot be written at the moment; try again");
        let region = self.existing_meta_overlay_region().ok_or_else(missing)?;
        let load = region.load();
        if load.memstore_data_bytes + load.store_file_bytes > MAX_OVERLAY_BYTES {
            let text = format!(
                "clients have written more than {MAX_OVERLAY_BYTES} bytes to hbase:meta; delete \
                 rows there and compact {}",
                layout::meta_overlay_table()
            );
            return Err(Error::invalid(text));
        }
        Ok(region)
    }

    fn create_meta_overlay(&self) -> Result<()> {
        if self.existing_meta_overlay_region().is_some() {
            return Ok(());
        }
        match self.create_table(meta::families_of(layout::meta_overlay_table()), Vec::new()) {
            Err(error) if error.kind() == ErrorKind::TableExists => Ok(()),
            made => made,
        }
    }

    /// Returns the attributes of `hbase:meta` that clients have set, in addition to the built-in
    /// ones.
    pub fn meta_attributes(&self) -> Attributes {
        self.descriptor(&layout::meta_overlay_table())
            .map(|table| table.attributes.clone())
            .unwrap_or_default()
    }

    /// Replaces the attributes that clients have set on `hbase:meta`.
    ///
    /// # Errors
    /// The errors of creating and altering a table.
    pub fn set_meta_attributes(&self, attributes: Attributes) -> Result<()> {
        self.create_meta_overlay()?;
        let mut table = TableDescriptor::clone(&*self.descriptor(&layout::meta_overlay_table())?);
        table.attributes = attributes;
        self.alter_table(table)
    }

    fn existing_meta_overlay_region(&self) -> Option<Arc<Region>> {
        self.tables
            .load()
            .get(&layout::meta_overlay_table())
            .and_then(|table| table.regions().first().cloned())
    }

    /// Returns the rows that clients have written. With [`ReadTier::Memory`] the result is
    /// `WouldBlock` if they are on the disk, or are large and have changed.
    pub(super) fn meta_overlay(&self, tier: ReadTier) -> Result<MetaOverlay> {
        let Some(region) = self.existing_meta_overlay_region() else {
            return Ok(MetaOverlay::default());
        };
        let known = &self.meta.overlay;
        let newest = || {
            let newest = MetaOverlay::clone(&known.newest.load());
            newest.is_current(&region).then_some(newest)
        };
        if let Some(newest) = newest() {
            return Ok(newest);
        }
        // A nonblocking reader does not wait for the lock, and reads only small data.
        let _reading = match tier {
            ReadTier::Memory => {
                let load = region.load();
                if load.memstore_data_bytes + load.store_file_bytes > MAX_NONBLOCKING_READ_BYTES {
                    return Err(Error::new(
                        ErrorKind::WouldBlock,
                        "the cells that clients wrote to hbase:meta must be read again",
                    ));
                }
                None
            }
            ReadTier::Disk => Some(known.reading.lock().healed()),
        };
        if let Some(newest) = newest() {
            return Ok(newest);
        }
        let (read_point, rows) = read(&region, false, tier, ReadAt::Committed)?;
        let read = MetaOverlay { region: Some(Arc::clone(&region)), read_point, rows };
        known.newest.store(Arc::new(read.clone()));
        Ok(read)
    }

    /// Deletes the rows that clients have written, up to a timestamp, for a dropped table or for
    /// removed regions. This waits for the disk and for memory like any write, so the caller holds
    /// no lock.
    pub(super) fn remove_from_meta_overlay(
        &self,
        up_to: i64,
        is_gone: impl Fn(&[u8]) -> bool,
    ) -> Result<()> {
        let Some(region) = self.existing_meta_overlay_region() else { return Ok(()) };
        let additions = self.meta_overlay(ReadTier::Disk)?;
        let gone = additions.rows.iter().map(Row::key).filter(|row| is_gone(row));
        let deletes: Vec<RowOp> =
            gone.map(|row| Delete::new(Bytes::copy_from_slice(row)).up_to(up_to).into()).collect();
        if deletes.is_empty() {
            return Ok(());
        }
        let applied = region.apply(deletes);
        applied.ticket.wait()?;
        applied.results.into_iter().try_for_each(|result| result.map(drop))
    }
}

/// Returns all rows in the order of the meta comparator, and their read point.
fn read(
    region: &Arc<Region>,
    raw: bool,
    tier: ReadTier,
    at: ReadAt,
) -> Result<(u64, Arc<Vec<Row>>)> {
    let mut scanner = region.scan_at(&Scan::all().versions(u32::MAX).raw(raw), tier, at)?;
    let mut rows = scanner.next_rows(ScanLimits::default())?.rows;
    rows.sort_by(|a, b| Comparator::Meta.compare_rows(a.key(), b.key()));
    Ok((scanner.read_point(), Arc::new(rows)))
}

#[cfg(test)]
mod tests {
    use halite_types::{FamilyDescriptor, Put, TableName};

    use super::*;
    use crate::Options;
    use crate::env::sim::SimEnv;

    fn write_note(engine: &Engine, row: Vec<u8>) {
        let noted = engine
            .meta_overlay_region()
            .unwrap()
            .apply(vec![Put::new(row).add("info", "note", "x").into()]);
        noted.ticket.wait().unwrap();
        noted.results.into_iter().for_each(|result| drop(result.unwrap()));
    }

    #[test]
    fn writers_do_not_wait_for_meta_overlay_cleanup() {
        let engine = Engine::open(SimEnv::new(1).env(), Options::default()).unwrap();
        let [gone, cut]: [TableName; 2] = ["gone", "cut"].map(|name| name.parse().unwrap());
        for name in [&gone, &cut] {
            engine
                .create_table(
                    TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f")),
                    Vec::new(),
                )
                .unwrap();
        }
        engine.disable_table(&gone).unwrap();
        let parent = engine.regions(&cut).unwrap()[0].clone();
        write_note(&engine, b"gone".to_vec());
        write_note(&engine, parent.full_name());
        std::thread::scope(|scope| {
            // Simulates another thread reading all of it from the disk.
            let reading = engine.meta.overlay.reading.lock().unwrap();
            let dropping = scope.spawn(|| engine.drop_table(&gone));
            let splitting =
                scope.spawn(|| engine.split_region(&parent.encoded_name, Some("m".into())));
            while engine.descriptor(&gone).is_ok() || engine.regions(&cut).unwrap().len() < 2 {
                std::thread::yield_now();
            }
            engine.create_namespace("ns", Attributes::default()).unwrap();
            let put = Put::new("r").add("f", "q", "v").into();
            engine
                .table(&cut)
                .unwrap()
                .batch(vec![put])
                .unwrap()
                .into_iter()
                .for_each(|result| drop(result.unwrap()));
            drop(reading);
            dropping.join().unwrap().unwrap();
            splitting.join().unwrap().unwrap();
        });
        assert!(engine.meta_overlay(ReadTier::Disk).unwrap().rows.is_empty());
    }

    #[test]
    fn overlay_rows_written_after_drop_are_kept() {
        let sim = SimEnv::new(1);
        let engine = Engine::open(sim.env(), Options::default()).unwrap();
        write_note(&engine, b"gone".to_vec());
        let then = sim.env().clock.now_ms();
        sim.clock.advance_ms(1);
        write_note(&engine, b"gone".to_vec());
        engine.remove_from_meta_overlay(then, |row| row == b"gone").unwrap();
        assert_eq!(engine.meta_overlay(ReadTier::Disk).unwrap().rows.len(), 1);
    }
}
