//! Metrics of a region as HBase reports them: its counters, and values computed on request.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use halite_types::{BloomType, RegionInfo, RegionLoad};

use super::Region;
use crate::store::{StoreFile, StoreSnapshot};

/// Rows of store files that divide a region for its sub-ranges, at most.
#[cfg(feature = "heat")]
const FILE_ROWS: usize = 64;

impl Region {
    /// Returns the load since the last call, which is exact, and what was recorded of its keys.
    #[cfg(feature = "heat")]
    pub(crate) fn take_heat(
        &self,
        part: halite_heat::TablePart<'_>,
    ) -> (halite_heat::Load, halite_heat::RegionColumn) {
        self.heat.take(&self.counters, part, || self.file_rows())
    }

    /// As [`Region::take_heat`], of a region that no longer serves: nothing is prepared for another
    /// column.
    #[cfg(feature = "heat")]
    pub(crate) fn take_last_heat(
        &self,
        part: halite_heat::TablePart<'_>,
    ) -> (halite_heat::Load, halite_heat::RegionColumn) {
        self.heat.take(&self.counters, part, Vec::new)
    }

    /// Returns rising rows that divide the largest store file of the region evenly, from the root
    /// of its index, which is in memory.
    #[cfg(feature = "heat")]
    fn file_rows(&self) -> Vec<Vec<u8>> {
        let snapshot = self.snapshot_ref();
        let files = snapshot.stores.iter().flat_map(|store| &store.files);
        let largest = files.max_by_key(|file| file.uncompressed_bytes());
        let rows = largest.map_or_else(Vec::new, |file| file.reader().root_rows(FILE_ROWS));
        rows.into_iter().filter(|row| self.info.contains(row)).collect()
    }

    /// Returns the metrics of the region. Sizes are exact at one moment; counters may increase
    /// concurrently.
    pub fn load(&self) -> RegionLoad {
        let snapshot = self.snapshot_ref();
        let files = || snapshot.stores.iter().flat_map(|store| &store.files);
        let sum = |figure: fn(&StoreFile) -> u64| files().map(|file| figure(file)).sum();
        let memstores = || snapshot.stores.iter().flat_map(StoreSnapshot::memstores);
        let damaged: usize = snapshot.stores.iter().map(|store| store.damaged.len()).sum();
        let flushed = self.flushed.load(Ordering::Acquire);
        let mut load = RegionLoad {
            stores: snapshot.stores.len() as u64,
            store_files: (files().count() + damaged) as u64,
            reference_files: files().filter(|file| file.is_reference()).count() as u64,
            store_file_bytes: sum(StoreFile::bytes),
            store_file_uncompressed_bytes: sum(StoreFile::uncompressed_bytes),
            store_file_cells: sum(|file| file.reader().entry_count()),
            root_index_bytes: sum(|file| file.reader().memory_bytes() as u64),
            static_index_bytes: sum(|file| file.reader().trailer().uncompressed_index_bytes),
            static_bloom_bytes: sum(|file| file.reader().bloom_bytes()),
            memstore_bytes: snapshot.memstore_bytes() as u64,
            memstore_data_bytes: memstores().map(|memstore| memstore.payload_bytes() as u64).sum(),
            flushed_sequence: (flushed > 0).then_some(flushed),
            open_sequence: self.open_sequence(),
            oldest_file_ms: oldest(files().map(|file| &**file)),
            last_major_compaction_ms: oldest(
                files().map(|file| &**file).filter(|file| file.reader().is_major()),
            ),
            ..RegionLoad::new(RegionInfo::clone(&self.info))
        };
        load.rows = snapshot.stores.iter().map(rows_of).max();
        #[cfg(feature = "heat")]
        {
            let durations = self.heat.recent_durations();
            (load.read_latencies, load.write_latencies) = (durations.reads, durations.writes);
        }
        self.compactions.fill(&mut load);
        self.counters.fill(&mut load);
        load
    }

    /// Returns the sequence id of the first write after the open (HBase's `seqnumDuringOpen`). A
    /// later open of the same region, or of one that was split or merged from it, has the same or a
    /// higher one.
    pub fn open_sequence(&self) -> u64 {
        self.open_sequence.load(Ordering::Acquire)
    }

    /// Returns the time when the oldest store file was written, in milliseconds; 0 without files.
    pub fn oldest_file_ms(&self) -> i64 {
        oldest(self.all_files().iter().map(|file| &**file))
    }

    /// Returns the time when the oldest file from a major compaction was written, in milliseconds;
    /// 0 if there is none. HBase reports the last major compaction in this way
    /// (`HRegion.getOldestHfileTs`).
    pub fn last_major_compaction_ms(&self) -> i64 {
        oldest(self.all_files().iter().map(|file| &**file).filter(|file| file.reader().is_major()))
    }

    fn all_files(&self) -> Vec<Arc<StoreFile>> {
        self.snapshot_ref().stores.iter().flat_map(|store| &store.files).cloned().collect()
    }
}

fn oldest<'a>(files: impl Iterator<Item = &'a StoreFile>) -> i64 {
    files.filter_map(|file| file.reader().created_ms()).min().unwrap_or(0)
}

/// Returns an estimate of the rows of a store: those of its files and memstores together, so that a
/// row in two of them counts twice. A file with a bloom filter of rows tells their number; others
/// are assumed to have as many cells for each row as those.
fn rows_of(store: &StoreSnapshot) -> u64 {
    let (mut known, mut unknown) = ((0_u64, 0_u64), 0_u64);
    for file in &store.files {
        // A reference is to about half of its file.
        let half = |count: u64| if file.is_reference() { count / 2 } else { count };
        let reader = file.reader();
        match reader.row_count().filter(|_| reader.bloom_type() == BloomType::Row) {
            Some(rows) => {
                let cells = half(reader.entry_count());
                known = (known.0.saturating_add(half(rows)), known.1.saturating_add(cells));
            }
            None => unknown = unknown.saturating_add(half(reader.entry_count())),
        }
    }
    let (mut in_memory, mut sampled) = (0, (0, 0));
    for memstore in store.memstores() {
        let (rows, cells) = memstore.sampled_rows();
        sampled = (sampled.0 + rows, sampled.1 + cells);
        in_memory += part(memstore.len() as u64, rows, cells);
    }
    let of_unknown = match if known.1 > 0 { known } else { sampled } {
        (_, 0) => unknown,
        (rows, cells) => part(unknown, rows, cells),
    };
    known.0.saturating_add(of_unknown).saturating_add(in_memory)
}

/// Returns `whole * rows / cells`.
fn part(whole: u64, rows: u64, cells: u64) -> u64 {
    let part = u128::from(whole) * u128::from(rows) / u128::from(cells.max(1));
    u64::try_from(part).unwrap_or(u64::MAX)
}
