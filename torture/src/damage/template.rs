//! Store with varied contents: tables, encodings, versions, deletes, counters under nonces,
//! references of splits, links of clones, snapshots, an archive, copies of the manifest; closed, or
//! in the state after a kill.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use halite::{
    Builder, CompactionKind, Delete, FamilyDescriptor, Increment, Options, PartReads, Put, Result,
    RowOp, Scan, SnapshotDescriptor, Store, TableDescriptor, TableName, WalRecovery, WalSync,
};
use halite_engine::Nonce;
use halite_engine::env::Env;
use halite_engine::env::rng::SeededRng;

/// Cell: row, family, qualifier, timestamp, value.
pub(super) type Cell = (Bytes, Bytes, Bytes, i64, Bytes);

/// Name prefix of clones that are created to read a snapshot.
pub(super) const CLONE_PREFIX: &str = "look-at-";

/// Cell without its timestamp, which the store assigns.
pub(super) type Written = (String, Bytes, Bytes, Bytes, Bytes);

/// Cells of every table that a reader receives.
pub(super) type Content = BTreeMap<String, Vec<Cell>>;

/// Undamaged store and its contents.
pub(super) struct Template {
    pub(super) options: Options,
    pub(super) content: Content,
    /// Every value ever written: table, row, family, qualifier, value. Of two values in one
    /// millisecond a reader receives the newer, unless the log has lost it.
    pub(super) written: BTreeSet<Written>,
    pub(super) snapshots: BTreeMap<String, Vec<Cell>>,
    pub(super) nonces: BTreeSet<u64>,
    pub(super) is_closed: bool,
    /// Names of the log's oldest and newest segments.
    pub(super) outer_segments: [Option<String>; 2],
}

impl Template {
    /// Creates a store in a directory.
    pub(super) fn make(directory: &Path, rng: &mut fastrand::Rng) -> Result<Self> {
        let mut making = TemplateBuilder {
            store: open(directory, options(rng), rng.u64(..))?,
            rng: rng.fork(),
            written: BTreeSet::new(),
            nonce: 0,
        };
        let options = making.store.engine().options().clone();
        for table in 0..making.rng.u32(1..4) {
            making.table(&format!("t{table}"))?;
        }
        let is_closed = rng.u32(..3) == 0;
        let written = making.written;
        if is_closed {
            making.store.close()?;
        } else {
            // Files no longer change, and dropping the store writes nothing.
            making.store.engine().stop_threads();
            drop(making.store);
        }
        let names = std::fs::read_dir(directory.join("halite/wal")).into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let names: BTreeSet<String> =
            names.filter(|name| name.strip_suffix(".wal").is_some()).collect();
        let outer_segments = [names.first().cloned(), names.last().cloned()];
        // The expected contents are those of the undamaged store.
        let beside = directory.with_extension("beside");
        let failed = |error| halite::Error::io("copying a store", error);
        crate::report::copy(directory, &beside).map_err(failed)?;
        let store = open(&beside, options.clone(), 1)?;
        let nonces =
            store.engine().take_replayed_nonces().into_iter().map(|nonce| nonce.number).collect();
        let (content, snapshots) = (content(&store)?, snapshots(&store)?);
        store.close()?;
        std::fs::remove_dir_all(&beside).map_err(failed)?;
        Ok(Self { options, content, written, snapshots, nonces, is_closed, outer_segments })
    }
}

/// Opens a store with a random number generator of this seed.
pub(super) fn open(directory: &Path, options: Options, seed: u64) -> Result<Store> {
    let mut env = Env::os(directory)?;
    env.rng = Arc::new(SeededRng::new(seed));
    Builder::new().options(options).open_with_env(env)
}

/// Returns options with small limits, so that little data exercises everything.
fn options(rng: &mut fastrand::Rng) -> Options {
    let mut options = Options::default();
    options.wal_sync = if rng.bool() { WalSync::Fsync } else { WalSync::Flush };
    options.wal_recovery = WalRecovery::Strict;
    options.memstore_flush_bytes = 64 << 10;
    options.memstore_chunk_bytes = 16 << 10;
    options.wal_segment_bytes = 4096 << rng.u32(..4);
    options.block_cache_bytes = 64 << 10;
    options.part_bytes = rng.usize(..1000);
    options.part_reads = if rng.bool() { PartReads::Always } else { PartReads::Never };
    options
}

struct TemplateBuilder {
    store: Store,
    rng: fastrand::Rng,
    written: BTreeSet<Written>,
    nonce: u64,
}

impl TemplateBuilder {
    fn table(&mut self, name: &str) -> Result<()> {
        let mut table = TableDescriptor::new(name.parse()?);
        for family in ["a", "b"].into_iter().take(self.rng.usize(1..3)) {
            let of =
                |rng: &mut fastrand::Rng, names: &[&'static str]| names[rng.usize(..names.len())];
            let family = FamilyDescriptor::new(family)
                .versions(self.rng.u32(1..4))
                .set("BLOCKSIZE", [256, 1024, 4096][self.rng.usize(..3)])
                .set("COMPRESSION", of(&mut self.rng, &["NONE", "SNAPPY", "GZ", "LZ4", "ZSTD"]))
                .set(
                    "DATA_BLOCK_ENCODING",
                    of(&mut self.rng, &["NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"]),
                )
                .set("BLOOMFILTER", of(&mut self.rng, &["NONE", "ROW", "ROWCOL"]));
            table = table.family(family);
        }
        self.store.create_table(table, if self.rng.bool() { &[b"r050"] } else { &[] })?;
        for _ in 0..self.rng.u32(1..6) {
            self.rows(name)?;
            self.maintain(name)?;
        }
        if self.rng.bool() { self.rows(name) } else { Ok(()) }
    }

    fn rows(&mut self, name: &str) -> Result<()> {
        let table = self.store.table(name)?;
        let families: Vec<Bytes> =
            table.descriptor()?.families().map(|family| family.name().clone()).collect();
        for _ in 0..self.rng.u32(5..60) {
            let row = format!("r{:03}", self.rng.u32(..100));
            let family = &families[self.rng.usize(..families.len())];
            match self.rng.u32(..12) {
                0 => table.delete(Delete::new(row))?,
                1 => table.delete(Delete::new(row).column(family, "q"))?,
                2 => self.increment(name, family)?,
                3 => {
                    let from = self.rng.u32(..90);
                    let put = |index: u32| {
                        let (row, value) = (format!("r{index:03}"), format!("batch {index}"));
                        self.record(name, &row, family, "q", value.as_bytes());
                        RowOp::from(Put::new(row).add(family, "q", value))
                    };
                    for result in table.batch((from..from + 5).map(put).collect())? {
                        result?;
                    }
                }
                _ => {
                    let letter = char::from(self.rng.u8(b'a'..=b'z'));
                    let max_length = if self.rng.u32(..20) == 0 { 3000 } else { 60 };
                    let value = letter.to_string().repeat(self.rng.usize(..max_length));
                    let qualifier = ["q", "p"][self.rng.usize(..2)];
                    self.record(name, &row, family, qualifier, value.as_bytes());
                    table.put(Put::new(row).add(family, qualifier, value))?;
                }
            }
        }
        Ok(())
    }

    /// Executes an increment under a nonce, as a server does.
    fn increment(&mut self, name: &str, family: &Bytes) -> Result<()> {
        self.nonce += 1;
        let region = self.store.engine().table(&name.parse()?)?.region_for_row(b"counter")?;
        let op = Increment::new("counter").add(family, "n", 1);
        let mut applied =
            region.apply_with_nonce(op.into(), Some(Nonce { group: 1, number: self.nonce }));
        let value = applied
            .results
            .remove(0)?
            .row
            .value(family, "n")
            .map(Bytes::copy_from_slice)
            .unwrap_or_default();
        self.record(name, "counter", family, "n", &value);
        applied.ticket.wait()
    }

    fn maintain(&mut self, name: &str) -> Result<()> {
        let of: TableName = name.parse()?;
        let engine = Arc::clone(self.store.engine());
        let kind = if self.rng.bool() { CompactionKind::Major } else { CompactionKind::Minor };
        match self.rng.u32(..10) {
            0..3 => self.store.flush(&of)?,
            3 | 4 => {
                self.store.flush(&of)?;
                self.store.compact(&of, None, kind)?;
            }
            5 | 6 => {
                self.store.flush(&of)?;
                let region = engine.regions(&of)?.remove(0).encoded_name;
                // There may be nothing to split, or references that are still needed.
                let _ = engine.split_region(
                    &region,
                    Some(Bytes::from(format!("r{:03}", self.rng.u32(5..45)))),
                );
            }
            7 => {
                let snapshot = format!("s-{name}-{}", self.rng.u32(..1000));
                self.store.create_snapshot(SnapshotDescriptor::new(snapshot.clone(), of))?;
                if self.rng.bool() {
                    let clone = format!("clone-{snapshot}");
                    self.store.clone_snapshot(&snapshot, &clone)?;
                    let of_clone = self.written.iter().filter(|written| written.0 == name);
                    let of_clone: Vec<Written> = of_clone
                        .cloned()
                        .map(|written| (clone.clone(), written.1, written.2, written.3, written.4))
                        .collect();
                    self.written.extend(of_clone);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn record(&mut self, table: &str, row: &str, family: &Bytes, qualifier: &str, value: &[u8]) {
        let of = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        self.written.insert((
            table.to_owned(),
            of(row),
            family.clone(),
            of(qualifier),
            Bytes::copy_from_slice(value),
        ));
    }
}

/// Returns the cells of every table that a reader receives.
pub(super) fn content(store: &Store) -> Result<Content> {
    let names = store.list_tables()?.into_iter().map(|table| table.name().to_string());
    names
        .map(|name| cells(store, &name, Scan::all().all_versions()).map(|cells| (name, cells)))
        .collect()
}

/// Returns the cells of a clone of every snapshot.
pub(super) fn snapshots(store: &Store) -> Result<BTreeMap<String, Vec<Cell>>> {
    let clone = |name: String| {
        let table = format!("{CLONE_PREFIX}{name}");
        store.clone_snapshot(&name, &table)?;
        cells(store, &table, Scan::all().all_versions()).map(|cells| (name, cells))
    };
    store.list_snapshots()?.into_iter().map(|snapshot| clone(snapshot.name)).collect()
}

/// Returns the cells of a scan.
pub(super) fn cells(store: &Store, table: &str, scan: Scan) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for row in store.table(table)?.scan(scan) {
        for cell in &row? {
            let of = Bytes::copy_from_slice;
            cells.push((
                of(cell.row()),
                of(cell.family()),
                of(cell.qualifier()),
                cell.timestamp(),
                of(cell.value()),
            ));
        }
    }
    Ok(cells)
}
