//! What a load takes: disk, regions, memory and bytes written, from measured bytes per cell.
//!
//! The cells of a sample are written with the store's own writer under each encoding. Key length
//! decides little of it: an encoding writes what neighbors share once.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "estimates, whose factors are not negative"
)]

use bytes::Bytes;
use halite_engine::Options;
use halite_types::cell::{CellsBuilder, make_key};
use halite_types::rng::SplitMix64;
use halite_types::{CellRef, CellType, Cells, Error, Result};

use super::certainty::{Certainty, MAX_SAMPLE_BYTES, PARTS};
use super::regions::CreatedRegions;
use super::tree::{ONE_MACHINE, size};
use crate::cell_cost::{Compression, DataBlockEncoding, bytes_per_cell};

/// Rows of the sample at most.
const MAX_SAMPLE_ROWS: u64 = 20_000;
/// Columns of a row of the sample at most.
const MAX_SAMPLE_COLUMNS: u32 = 100;
/// Bytes of a data block by default; an index has an entry for each.
const BLOCK_BYTES: u64 = 64 << 10;
/// Bytes of an index entry beside its key: the place and size of the block, and lengths.
const INDEX_ENTRY_BYTES: u64 = 24;
/// Bits of a Bloom filter for each row by default, of which 1 % are found that do not exist.
const BLOOM_BITS: u64 = 10;
/// Bytes of a cell in a memstore beside key and value: the node of the skip list, with a tower of
/// 1.33 links in the mean.
const MEMSTORE_CELL_BYTES: f64 = 38.0;
/// Cells and bytes of a load, and bytes that it writes in a second: more are no load of a table.
const MAX_AMOUNT: u64 = 1 << 60;
const MAX_BYTES_PER_SECOND: f64 = (1_u64 << 40) as f64;
const TIMESTAMP: i64 = 1_700_000_000_000;

/// Rows and writes.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Number of rows.
    pub rows: u64,
    /// Bytes of a row key, 1 at least.
    pub key_bytes: usize,
    /// Columns of a row.
    pub columns: u32,
    /// Bytes of a value, which are random: compression of real ones is better.
    pub value_bytes: usize,
    /// Cells written per second.
    pub writes_per_second: u64,
    /// Encoding of the data blocks.
    pub encoding: DataBlockEncoding,
}

/// What a load takes.
#[derive(Clone, Debug)]
pub struct Capacity {
    /// Number of cells.
    pub cells: u64,
    /// Measured bytes on disk per cell, with index and bloom filter.
    pub bytes_per_cell: f64,
    /// Bytes on disk.
    pub disk_bytes: u64,
    /// Bytes that the disk should have: the largest region is written again by a compaction.
    pub disk_with_room_bytes: u64,
    /// Regions, none of which is larger than the largest size.
    pub regions: u64,
    /// Regions with which the table is created.
    pub created_regions: u64,
    /// Bytes at which a region is split.
    pub region_bytes: u64,
    /// Bytes of a memstore at which it is flushed; fewer if those of the created regions, which are
    /// written at the same time, have no room for that.
    pub flush_bytes: u64,
    /// Bytes of memory for the memstores of all regions, if all of them are written.
    pub memstore_bytes: u64,
    /// Bytes of the indexes and Bloom filters of all files, which reads of any row need; blocks of
    /// rows that are read often come in addition.
    pub index_bytes: u64,
    /// Bytes of the log per second.
    pub log_bytes_per_second: u64,
    /// Seconds from one flush to the next, whatever its region.
    pub seconds_between_flushes: Option<f64>,
    /// Bytes written to the disk per second: the log, flushes, and compactions, which are estimated
    /// as one merge for each doubling from a flushed file to a region.
    pub written_bytes_per_second: u64,
    /// Cells written per second whose compactions write as many bytes as the default limit allows;
    /// `None` if regions are not larger than a flushed file. It is no measured rate of a server.
    pub sustained_writes_per_second: Option<u64>,
    /// Bytes per second of this limit.
    pub compaction_bytes_per_second: u64,
    /// The sample that was measured.
    pub sample: Certainty,
    /// What is certain, and how far.
    pub certain: Vec<String>,
    /// What speaks against the sizes: what is assumed, and what a store or a machine has no room
    /// for.
    pub against: Vec<String>,
}

/// Cells of a table, and what each of them takes.
pub(super) struct Volume {
    /// Number of stored cells.
    pub(super) cells: u64,
    /// Bytes of their files.
    pub(super) disk_bytes: u64,
    /// Bytes of their indexes and Bloom filters.
    pub(super) index_bytes: u64,
    /// Bytes in the log of a cell as it is written.
    pub(super) logged_bytes: f64,
    /// Bytes on disk that a written cell adds.
    pub(super) stored_bytes: f64,
    pub(super) writes_per_second: u64,
    pub(super) created: CreatedRegions,
    /// The sample that was measured.
    pub(super) sample: Certainty,
    /// Rows of the table.
    pub(super) rows: u64,
    /// Bytes at which a region is split.
    pub(super) region_bytes: u64,
    /// Bytes of a memstore at which it is flushed.
    pub(super) flush_bytes: u64,
}

/// Returns what a load takes.
///
/// # Errors
/// `InvalidRequest` for a load without rows, columns or key bytes, and for more than 2^60 cells or
/// bytes, or 1 TiB per second.
pub fn capacity(load: &Load) -> Result<Capacity> {
    if load.rows == 0 || load.columns == 0 || load.key_bytes == 0 {
        return Err(Error::invalid(
            "the load has no rows, columns or key bytes; specify 1 at least",
        ));
    }
    let cells = times("cells", load.rows, f64::from(load.columns))?;
    let (sample, bytes_per_cell) = measured(load)?;
    let disk_bytes = times("bytes on disk", cells, bytes_per_cell)?;
    let options = Options::default();
    let volume = Volume {
        cells,
        disk_bytes,
        index_bytes: index_bytes(load, disk_bytes),
        logged_bytes: plain_cell_bytes(load) as f64,
        stored_bytes: bytes_per_cell,
        writes_per_second: load.writes_per_second,
        created: CreatedRegions::Even(1),
        sample,
        rows: load.rows,
        region_bytes: options.max_region_file_bytes,
        flush_bytes: options.memstore_flush_bytes,
    };
    let mut found = volume.capacity(&options)?;
    let random = "keys and values are random: real ones share more and compress; --schema measures \
                  those of a declaration";
    found.against.insert(0, random.to_owned());
    Ok(found)
}

/// Returns the bytes of a cell without an encoding: lengths, row length, family length, family,
/// timestamp, type are 8 + 2 + 1 + 1 + 9, a qualifier is 2.
fn plain_cell_bytes(load: &Load) -> u64 {
    23 + load.key_bytes as u64 + load.value_bytes as u64
}

/// Returns the sample and the bytes that it takes per cell.
fn measured(load: &Load) -> Result<(Certainty, f64)> {
    let measure = |cells: &Cells| bytes_per_cell(cells, load.encoding, Compression::None);
    let (rows, cells) = sample(load, MAX_SAMPLE_BYTES, MAX_SAMPLE_ROWS, 0);
    let whole = measure(&cells)?;
    let bytes = cells.iter().count() as u64 * plain_cell_bytes(load);
    drop(cells);
    let mut part_rows = 0;
    let parts = (1..=PARTS)
        .map(|seed| {
            let (most_rows, most_bytes) = (rows.div_ceil(PARTS), MAX_SAMPLE_BYTES / PARTS);
            let (rows, cells) = sample(load, most_bytes, most_rows, seed);
            part_rows = rows;
            measure(&cells)
        })
        .collect::<Result<Vec<f64>>>()?;
    Ok((Certainty::new(rows, bytes, whole, part_rows, &parts), whole))
}

/// Returns a number of rows or cells times what each has.
///
/// # Errors
/// `InvalidRequest` if that is no size of a table.
pub(super) fn times(what: &str, count: u64, each: f64) -> Result<u64> {
    let product = count as f64 * each;
    if product < MAX_AMOUNT as f64 {
        return Ok(product as u64);
    }
    Err(Error::invalid(format!(
        "the load has {product:.1e} {what}, and no table has more than 2^60; specify fewer rows"
    )))
}

impl Volume {
    /// Returns what the table takes with these settings of a store.
    ///
    /// # Errors
    /// `InvalidRequest` for writes that are no load of a table.
    pub(super) fn capacity(&self, options: &Options) -> Result<Capacity> {
        let created = self.created.count();
        let regions = self.created.grown(self.disk_bytes, self.region_bytes);
        let flush_bytes = self.flush_bytes.min(options.global_memstore_bytes / created).max(1);
        let flushed = flush_bytes as f64;
        let doublings = ((self.disk_bytes / regions) as f64 / flushed).max(1.0).log2();
        let writes = self.writes_per_second as f64;
        let logged = writes * self.logged_bytes;
        let in_memory = writes * (self.logged_bytes + MEMSTORE_CELL_BYTES);
        let compacted = self.stored_bytes * doublings;
        if in_memory > MAX_BYTES_PER_SECOND {
            return Err(Error::invalid(format!(
                "{} cells written per second are {in_memory:.1e} bytes, and no table takes more \
                 than 1 TiB per second; specify fewer writes",
                self.writes_per_second
            )));
        }
        let sustained_writes_per_second = (compacted > 0.0 && options.compaction_rate > 0)
            .then(|| (options.compaction_rate as f64 / compacted) as u64);
        Ok(Capacity {
            cells: self.cells,
            bytes_per_cell: self.disk_bytes as f64 / self.cells.max(1) as f64,
            disk_bytes: self.disk_bytes,
            disk_with_room_bytes: self
                .disk_bytes
                .saturating_add(self.region_bytes.min(self.disk_bytes)),
            regions,
            created_regions: created,
            region_bytes: self.region_bytes,
            flush_bytes,
            memstore_bytes: regions
                .saturating_mul(self.flush_bytes)
                .min(options.global_memstore_bytes),
            index_bytes: self.index_bytes,
            log_bytes_per_second: logged as u64,
            seconds_between_flushes: (in_memory > 0.0).then(|| flushed / in_memory),
            written_bytes_per_second: (logged + writes * (self.stored_bytes + compacted)) as u64,
            sustained_writes_per_second,
            compaction_bytes_per_second: options.compaction_rate,
            sample: self.sample,
            certain: self.sample.sentences(),
            against: self.against(regions, sustained_writes_per_second, options),
        })
    }

    /// Returns what the sample says against the sizes, and what has no room.
    fn against(&self, regions: u64, sustained: Option<u64>, options: &Options) -> Vec<String> {
        let mut doubts = self.sample.doubts(self.rows);
        if self.disk_bytes > ONE_MACHINE {
            doubts.push(format!(
                "{} are more than one machine usually has; `halite advise fit` says what to use \
                 instead",
                size(self.disk_bytes)
            ));
        }
        let most = options.max_regions_per_table as u64;
        if regions > most {
            doubts.push(format!(
                "{regions} regions are more than the {most} that a new table may have by default; \
                 set a larger MAX_FILESIZE"
            ));
        }
        if let Some(sustained) = sustained.filter(|most| self.writes_per_second > *most) {
            doubts.push(format!(
                "{} cells are written per second, and compactions of {sustained} reach the default \
                 limit: files pile up while the load lasts",
                self.writes_per_second
            ));
        }
        doubts
    }
}

/// Returns the bytes of indexes and Bloom filters.
fn index_bytes(load: &Load, disk_bytes: u64) -> u64 {
    let entry = INDEX_ENTRY_BYTES + load.key_bytes as u64;
    let indexes = disk_bytes.div_ceil(BLOCK_BYTES).saturating_mul(entry);
    indexes.saturating_add(load.rows.saturating_mul(BLOOM_BITS).div_ceil(8))
}

/// Returns a number of rows and their cells, of random keys and in order: not more rows and about
/// as many bytes as specified, but one cell at least. Neighbors in a larger table share more.
fn sample(load: &Load, max_bytes: u64, max_rows: u64, seed: u64) -> (u64, Cells) {
    let mut random = SplitMix64::new(load.key_bytes as u64 ^ (seed << 32));
    let mut bytes = |length: usize| -> Vec<u8> {
        let words = std::iter::repeat_with(|| random.next_u64().to_be_bytes());
        words.take(length.div_ceil(8)).flatten().take(length).collect()
    };
    let most_cells = (max_bytes / plain_cell_bytes(load)).max(1);
    let columns = u64::from(load.columns.min(MAX_SAMPLE_COLUMNS)).min(most_cells);
    let rows = (most_cells / columns).min(max_rows).min(load.rows);
    let mut keys: Vec<Bytes> = (0..rows).map(|_| bytes(load.key_bytes).into()).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut cells = CellsBuilder::default();
    for row in &keys {
        for column in 0..columns {
            let qualifier = format!("{column:02}");
            let put = CellType::Put.code();
            let key = make_key(row, b"f", qualifier.as_bytes(), TIMESTAMP, put);
            cells.push(CellRef::new(&key, &bytes(load.value_bytes), b"", 0));
        }
    }
    (keys.len() as u64, cells.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load = Load {
        rows: 1_000_000_000,
        key_bytes: 10,
        columns: 3,
        value_bytes: 8,
        writes_per_second: 100_000,
        encoding: DataBlockEncoding::FastDiff,
    };

    #[test]
    fn p13_key_length_is_not_capacity() {
        let short = capacity(&LOAD).unwrap();
        let long = capacity(&Load { key_bytes: 50, ..LOAD }).unwrap();
        // "10-byte keys support 1 TB, 50-byte keys 10 TB": a longer key takes more disk for the
        // same rows, by far less than its length, and supports nothing more.
        let ratio = long.disk_bytes as f64 / short.disk_bytes as f64;
        assert!((1.2..3.0).contains(&ratio), "{ratio}");
        assert_eq!(short.cells, 3_000_000_000);
        // Without an encoding each cell repeats its key.
        let plain =
            capacity(&Load { encoding: DataBlockEncoding::None, ..LOAD }).unwrap().bytes_per_cell;
        assert!(plain > 1.5 * short.bytes_per_cell, "{plain} {}", short.bytes_per_cell);
    }

    #[test]
    fn sizes_follow_from_bytes_per_cell() {
        let Capacity { cells, bytes_per_cell, disk_bytes, regions, .. } = capacity(&LOAD).unwrap();
        assert!((cells as f64 * bytes_per_cell - disk_bytes as f64).abs() < 1e3, "{disk_bytes}");
        assert_eq!(regions, disk_bytes.div_ceil(10 << 30));
        let idle = capacity(&Load { writes_per_second: 0, ..LOAD }).unwrap();
        assert_eq!((idle.seconds_between_flushes, idle.written_bytes_per_second), (None, 0));
    }

    #[test]
    fn memory_grows_with_rows_and_regions() {
        let large = capacity(&LOAD).unwrap();
        let all = Options::default();
        let flushed = all.memstore_flush_bytes;
        assert_eq!(large.memstore_bytes, (large.regions * flushed).min(all.global_memstore_bytes));
        let small = capacity(&Load { rows: 1_000_000, ..LOAD }).unwrap();
        assert_eq!((small.regions, small.memstore_bytes), (1, flushed));
        let ratio = large.index_bytes as f64 / small.index_bytes as f64;
        assert!((900.0..1_100.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn sustained_writes_are_those_whose_compactions_reach_the_limit() {
        let limit = Options::default().compaction_rate;
        let found = capacity(&LOAD).unwrap();
        let writes = found.sustained_writes_per_second.unwrap();
        let at_limit = capacity(&Load { writes_per_second: writes, ..LOAD }).unwrap();
        let flushed = writes as f64 * at_limit.bytes_per_cell;
        let compacted = at_limit.written_bytes_per_second as f64
            - at_limit.log_bytes_per_second as f64
            - flushed;
        assert!((compacted / limit as f64 - 1.0).abs() < 0.01, "{compacted} {limit}");
        let small = capacity(&Load { rows: 1_000, ..LOAD }).unwrap();
        assert_eq!(small.sustained_writes_per_second, None);
    }

    #[test]
    fn load_without_cells_is_refused() {
        for load in
            [Load { rows: 0, ..LOAD }, Load { columns: 0, ..LOAD }, Load { key_bytes: 0, ..LOAD }]
        {
            assert!(capacity(&load).is_err(), "{load:?}");
        }
    }

    #[test]
    fn absurd_numbers_are_refused_with_their_reason() {
        for (load, reason) in [
            (Load { rows: u64::MAX, ..LOAD }, "5.5e19 cells, and no table has more than 2^60"),
            (Load { rows: 1 << 60, columns: 1, ..LOAD }, "1.2e18 cells, and no table has more"),
            (Load { rows: 1 << 57, ..LOAD }, "bytes on disk, and no table has more than 2^60"),
            (Load { writes_per_second: u64::MAX, ..LOAD }, "than 1 TiB per second; specify fewer"),
            (Load { writes_per_second: 1 << 40, ..LOAD }, "than 1 TiB per second; specify fewer"),
        ] {
            let error = capacity(&load).unwrap_err().to_string();
            assert!(error.contains(reason), "{load:?}: {error}");
        }
    }

    #[test]
    fn sample_is_bounded_by_bytes() {
        let sample = |value_bytes: usize, columns: u32| {
            let load = Load { columns, value_bytes, ..LOAD };
            let found = capacity(&load).unwrap();
            assert!(found.bytes_per_cell > value_bytes as f64, "{found:?}");
            assert!(found.sample.margin < 0.05, "{found:?}");
            found.sample
        };
        let small = sample(8, 3);
        assert_eq!((small.rows, small.part_rows), (20_000, 5_000));
        assert_eq!(small.bytes, 20_000 * 3 * (23 + 10 + 8));
        let large = sample(10_000, 100);
        assert_eq!((large.rows, large.part_rows), (33, 8));
        let rows_of_gigabytes = sample(10_000_000, 100);
        assert_eq!((rows_of_gigabytes.rows, rows_of_gigabytes.part_rows), (1, 1));
        for sample in [small, large, rows_of_gigabytes] {
            assert!(sample.bytes <= MAX_SAMPLE_BYTES, "{sample:?}");
        }
    }

    #[test]
    fn sizes_that_no_machine_has_are_doubted() {
        let idle = capacity(&Load { rows: 20_000, writes_per_second: 0, ..LOAD }).unwrap();
        assert_eq!(idle.against.len(), 1, "{idle:?}");
        let large = Load { rows: 1 << 47, writes_per_second: 1 << 30, ..LOAD };
        let doubts = capacity(&large).unwrap().against.join("\n");
        for expected in
            ["PB are more than one machine", "regions are more than the 10000", "pile up"]
        {
            assert!(doubts.contains(expected), "no {expected}: {doubts}");
        }
    }
}
