//! What clients have written to `hbase:meta`: kept in a table of its own that is in no list, and read among the rows that
//! are computed from the catalog.
//!
//! Bookkeeping of clients lives there in HBase too. A cell of theirs stands beside a computed one of the same column as
//! an older or newer version of it, and the newest is seen, as in HBase. What they delete is what they have written:
//! nothing hides what the catalog says.

use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use halite_types::{Attributes, Bytes, Delete, Error, ErrorKind, Result, Row, RowOp, Scan, TableDescriptor, Tier};

use super::Engine;
use crate::catalog::{layout, meta};
use crate::heal::Healed;
use crate::hfile::Comparator;
use crate::region::Region;
use crate::scan::{ReadAt, ScanBudget};

/// Bytes in memory and in files from which nothing more is taken: all of it is held in memory while it is read.
const BYTES_MAX: u64 = 64 << 20;

/// The same from which they are not read again where others wait.
const MEMORY_BYTES_MAX: u64 = 256 << 10;

/// The rows that clients have written, in the order of the meta comparator, as of a moment.
#[derive(Clone, Default)]
pub(super) struct Additions {
    region: Option<Arc<Region>>,
    read_point: u64,
    rows: Arc<Vec<Row>>,
}

/// Those that were read last.
#[derive(Default)]
pub(super) struct Known {
    newest: ArcSwap<Additions>,
    /// Held by whoever reads them from the region, since one is enough.
    reading: Mutex<()>,
}

impl Additions {
    /// Whether nothing has been written to the region since.
    fn is_of(&self, region: &Arc<Region>) -> bool {
        self.region.as_ref().is_some_and(|own| Arc::ptr_eq(own, region)) && self.read_point == region.read_point()
    }

    /// The rows with what has been deleted, if that is wanted, and the markers that did.
    ///
    /// # Errors
    /// Damage or a failed read.
    pub(super) fn rows(&self, raw: bool) -> Result<Arc<Vec<Row>>> {
        match &self.region {
            Some(region) if raw => read(region, true, Tier::Disk, ReadAt::Point(self.read_point)).map(|(_, rows)| rows),
            _ => Ok(Arc::clone(&self.rows)),
        }
    }
}

impl Engine {
    /// The region that takes what clients write to `hbase:meta`. The first who asks has it made, which waits for the disk.
    ///
    /// # Errors
    /// `InvalidRequest` if it is full; those of making a table.
    pub fn meta_additions(&self) -> Result<Arc<Region>> {
        self.make_additions()?;
        let missing = || Error::new(ErrorKind::Busy, "hbase:meta cannot be written at the moment; try again");
        let region = self.additions_region().ok_or_else(missing)?;
        let load = region.load();
        if load.memstore_data_bytes + load.store_file_bytes > BYTES_MAX {
            let text =
                format!("clients have written more than {BYTES_MAX} bytes to hbase:meta; delete rows there and compact {}", layout::meta_additions());
            return Err(Error::invalid(text));
        }
        Ok(region)
    }

    fn make_additions(&self) -> Result<()> {
        if self.additions_region().is_some() {
            return Ok(());
        }
        match self.create_table(meta::families_of(layout::meta_additions()), Vec::new()) {
            Err(error) if error.kind() == ErrorKind::TableExists => Ok(()),
            made => made,
        }
    }

    /// The attributes of `hbase:meta` that clients have set beside those it always has.
    pub fn meta_attributes(&self) -> Attributes {
        self.descriptor(&layout::meta_additions()).map(|table| table.attributes.clone()).unwrap_or_default()
    }

    /// Puts other attributes in the place of those that clients have set of `hbase:meta`.
    ///
    /// # Errors
    /// Those of making and of altering a table.
    pub fn set_meta_attributes(&self, attributes: Attributes) -> Result<()> {
        self.make_additions()?;
        let mut table = TableDescriptor::clone(&*self.descriptor(&layout::meta_additions())?);
        table.attributes = attributes;
        self.alter_table(table)
    }

    fn additions_region(&self) -> Option<Arc<Region>> {
        self.tables.load().get(&layout::meta_additions()).and_then(|table| table.regions().first().cloned())
    }

    /// What clients have written so far. With [`Tier::Memory`] it is `NeedsIo` if that lies on the disk, or is much and has changed.
    pub(super) fn additions(&self, tier: Tier) -> Result<Additions> {
        let Some(region) = self.additions_region() else { return Ok(Additions::default()) };
        let known = &self.meta.additions;
        let newest = || {
            let newest = Additions::clone(&known.newest.load());
            newest.is_of(&region).then_some(newest)
        };
        if let Some(newest) = newest() {
            return Ok(newest);
        }
        // Whoever has others waiting waits for nobody, and reads little.
        let _reading = match tier {
            Tier::Memory => {
                let load = region.load();
                if load.memstore_data_bytes + load.store_file_bytes > MEMORY_BYTES_MAX {
                    return Err(Error::new(ErrorKind::NeedsIo, "what clients have written to hbase:meta has to be read anew"));
                }
                None
            }
            Tier::Disk => Some(known.reading.lock().healed()),
        };
        if let Some(newest) = newest() {
            return Ok(newest);
        }
        let (read_point, rows) = read(&region, false, tier, ReadAt::Committed)?;
        let read = Additions { region: Some(Arc::clone(&region)), read_point, rows };
        known.newest.store(Arc::new(read.clone()));
        Ok(read)
    }

    /// Takes away what clients have written, up to a time, to the rows of a table that is gone, or to those of some regions. This waits for
    /// the disk and for room as any write does, so the caller holds no lock.
    pub(super) fn forget_additions(&self, up_to: i64, is_gone: impl Fn(&[u8]) -> bool) -> Result<()> {
        let Some(region) = self.additions_region() else { return Ok(()) };
        let additions = self.additions(Tier::Disk)?;
        let gone = additions.rows.iter().map(Row::key).filter(|row| is_gone(row));
        let deletes: Vec<RowOp> = gone.map(|row| Delete::new(Bytes::copy_from_slice(row)).up_to(up_to).into()).collect();
        if deletes.is_empty() {
            return Ok(());
        }
        let applied = region.apply(deletes);
        applied.ticket.wait()?;
        applied.results.into_iter().try_for_each(|result| result.map(drop))
    }
}

/// All rows in the order of the meta comparator, and as of which sequence id.
fn read(region: &Arc<Region>, raw: bool, tier: Tier, at: ReadAt) -> Result<(u64, Arc<Vec<Row>>)> {
    let mut scanner = region.scan_at(&Scan::all().versions(u32::MAX).raw(raw), tier, at)?;
    let mut rows = scanner.next_rows(ScanBudget::default())?.rows;
    rows.sort_by(|a, b| Comparator::Meta.compare_rows(a.key(), b.key()));
    Ok((scanner.read_point(), Arc::new(rows)))
}

#[cfg(test)]
mod tests {
    use halite_types::{FamilyDescriptor, Put, TableName};

    use super::*;
    use crate::Options;
    use crate::env::sim::SimEnv;

    fn note(engine: &Engine, row: Vec<u8>) {
        let noted = engine.meta_additions().unwrap().apply(vec![Put::new(row).add("info", "note", "x").into()]);
        noted.ticket.wait().unwrap();
        noted.results.into_iter().for_each(|result| drop(result.unwrap()));
    }

    #[test]
    fn nobody_waits_while_what_was_written_of_what_is_gone_goes() {
        let engine = Engine::open(SimEnv::new(1).env(), Options::default()).unwrap();
        let [gone, cut]: [TableName; 2] = ["gone", "cut"].map(|name| name.parse().unwrap());
        for name in [&gone, &cut] {
            engine.create_table(TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f")), Vec::new()).unwrap();
        }
        engine.disable_table(&gone).unwrap();
        let parent = engine.regions(&cut).unwrap()[0].clone();
        note(&engine, b"gone".to_vec());
        note(&engine, parent.full_name());
        std::thread::scope(|scope| {
            // As if somebody were reading all of it from the disk.
            let reading = engine.meta.additions.reading.lock().unwrap();
            let dropping = scope.spawn(|| engine.drop_table(&gone));
            let splitting = scope.spawn(|| engine.split_region(&parent.encoded_name, Some("m".into())));
            while engine.descriptor(&gone).is_ok() || engine.regions(&cut).unwrap().len() < 2 {
                std::thread::yield_now();
            }
            engine.create_namespace("ns", Attributes::default()).unwrap();
            let put = Put::new("r").add("f", "q", "v").into();
            engine.table(&cut).unwrap().apply(vec![put]).unwrap().into_iter().for_each(|result| drop(result.unwrap()));
            drop(reading);
            dropping.join().unwrap().unwrap();
            splitting.join().unwrap().unwrap();
        });
        assert!(engine.additions(Tier::Disk).unwrap().rows.is_empty());
    }

    #[test]
    fn what_is_written_after_a_table_has_gone_stays() {
        let sim = SimEnv::new(1);
        let engine = Engine::open(sim.env(), Options::default()).unwrap();
        note(&engine, b"gone".to_vec());
        let then = sim.env().clock.now_ms();
        sim.clock.advance_ms(1);
        note(&engine, b"gone".to_vec());
        engine.forget_additions(then, |row| row == b"gone").unwrap();
        assert_eq!(engine.additions(Tier::Disk).unwrap().rows.len(), 1);
    }
}
