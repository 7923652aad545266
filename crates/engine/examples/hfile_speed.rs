//! Speed of writing, scanning and seeking in store files, for each data block encoding and codec,
//! in megabytes of `KeyValue` bytes or seeks per second. Files are written to the system's page
//! cache and not synced, and read from it; only index blocks are cached.
//!
//! `cargo run --release -p halite-engine --example hfile_speed [--csv | --once] DIR [NAME-PART...]`
//! leaves the files in DIR; `cargo xtask bench hfile` has HBase read and write the same files.
//!
//! With `--once` in place of `--csv` every part runs once, on fewer rows, for a profiler that
//! counts instructions: those of a write are below `write`, of a scan `scan`, of seeks `seek`.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "it is a program that measures, prints and ends at an error"
)]

use std::hint::black_box;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use halite_engine::env::{Env, FileWriter, MemoryFile};
use halite_engine::hfile::{
    Compression, Cursor, DEFAULT_PART_BYTES, DataBlockEncoding, DirectBlocks, IndexInMemory,
    PartsWith, Reader, StoreFileInfo, Writer, WriterOptions,
};
use halite_types::CellRef;
use halite_types::cell::make_key;

/// Rounds of a measurement, at least and at most; after the first, it ends when they have taken
/// `ENOUGH_SECONDS`.
const MIN_ROUNDS: u32 = 3;
const MAX_ROUNDS: u32 = 9;
const ENOUGH_SECONDS: f64 = 1.5;
const ROWS: usize = 60_000;
const ROWS_ONCE: usize = 4_000;
const COLUMNS: usize = 5;
const SEEKS: usize = 20_000;
/// Step of the seeks in the list of cells.
const SEEK_STEP: usize = 104_729;
const ENCODINGS: [DataBlockEncoding; 5] = [
    DataBlockEncoding::None,
    DataBlockEncoding::Prefix,
    DataBlockEncoding::Diff,
    DataBlockEncoding::FastDiff,
    DataBlockEncoding::RowIndexV1,
];
const CODECS: [Compression; 5] =
    [Compression::None, Compression::Gz, Compression::Snappy, Compression::Lz4, Compression::Zstd];

/// Cells of one kind of table.
struct Data {
    name: &'static str,
    keys: Vec<Vec<u8>>,
    values: Vec<Vec<u8>>,
    key_value_bytes: usize,
}

impl Data {
    fn new(name: &'static str, rows: usize, value_bytes: usize) -> Self {
        let mut state = 0x5eed_u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        };
        let mut keys = Vec::new();
        let mut values: Vec<Vec<u8>> = Vec::new();
        for row in 0..rows {
            let row = format!("customer-{:010}", row * 7);
            for column in 0..COLUMNS {
                let stamp = 1_700_000_000_000 + i64::try_from(random() % 100_000).unwrap();
                let qualifier = format!("measure-{column}");
                keys.push(make_key(row.as_bytes(), b"cf", qualifier.as_bytes(), stamp, 4));
                // A few values repeat, as flags and states do.
                let byte = |_| if column == 0 { b'y' } else { random().to_le_bytes()[1] };
                values.push((0..value_bytes).map(byte).collect());
            }
        }
        let cells = keys.iter().zip(&values);
        let key_value_bytes =
            cells.map(|(key, value)| CellRef::new(key, value, b"", 0).encoded_len()).sum();
        Self { name, keys, values, key_value_bytes }
    }

    #[inline(never)] // A profile names it, as `seek` and `scan`.
    fn write(
        &self,
        file: Box<dyn FileWriter>,
        encoding: DataBlockEncoding,
        compression: Compression,
    ) {
        let options = WriterOptions {
            encoding,
            compression,
            part_bytes: Some(DEFAULT_PART_BYTES),
            ..WriterOptions::default()
        };
        let mut writer = Writer::create(file, "its file", options).unwrap();
        for (number, (key, value)) in (1..).zip(self.keys.iter().zip(&self.values)) {
            writer.append(CellRef::new(key, value, b"", number)).unwrap();
        }
        writer.finish(StoreFileInfo::flushed(1)).unwrap();
    }

    #[inline(never)]
    fn seek(&self, reader: &Arc<Reader>) {
        let index = Arc::new(IndexInMemory::default());
        let mut cursor = Cursor::new(Arc::clone(reader), PartsWith(index));
        let mut at = 0;
        for _ in 0..SEEKS {
            at = (at + SEEK_STEP) % self.keys.len();
            cursor.seek(&self.keys[at]).unwrap();
            black_box(cursor.peek().unwrap().value());
        }
    }
}

/// File that is not made durable, as HBase's writer leaves it on a local disk.
struct Unsynced(Box<dyn FileWriter>);

impl FileWriter for Unsynced {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.0.truncate(bytes)
    }
}

#[inline(never)]
fn scan(reader: &Arc<Reader>) -> usize {
    let mut cursor = Cursor::new(Arc::clone(reader), DirectBlocks);
    cursor.seek_to_first().unwrap();
    let mut bytes = 0;
    while let Some(cell) = cursor.peek() {
        bytes += black_box(cell.encoded_len());
        cursor.advance().unwrap();
    }
    bytes
}

/// Returns the time of the fastest round in seconds: other load makes rounds slower, never faster.
fn fastest(is_once: bool, mut work: impl FnMut()) -> f64 {
    let mut fastest = f64::MAX;
    let began = Instant::now();
    for round in 0..if is_once { 1 } else { MAX_ROUNDS } {
        if round >= MIN_ROUNDS && began.elapsed().as_secs_f64() > ENOUGH_SECONDS {
            break;
        }
        let round = Instant::now();
        work();
        fastest = fastest.min(round.elapsed().as_secs_f64());
    }
    fastest
}

#[expect(clippy::cast_precision_loss, reason = "numbers to print")]
fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let has_option = |name| arguments.first().is_some_and(|word| word == name);
    let (is_csv, is_once) = (has_option("--csv"), has_option("--once"));
    arguments.drain(..usize::from(is_csv || is_once));
    let [directory, chosen @ ..] = &arguments[..] else {
        println!("usage: hfile_speed [--csv | --once] DIR [NAME-PART...]");
        return;
    };
    let directory = PathBuf::from(directory);
    std::fs::create_dir_all(&directory).unwrap();
    let env = Env::os(&directory).unwrap();
    if !is_csv {
        let titles = ("file MB", "write MB/s", "scan MB/s", "seeks/s");
        println!("{:<28}{:>10}{:>12}{:>12}{:>12}", "", titles.0, titles.1, titles.2, titles.3);
    }
    let rows = if is_once { ROWS_ONCE } else { ROWS };
    for data in [Data::new("small", rows, 8), Data::new("large", rows, 200)] {
        let megabytes = data.key_value_bytes as f64 / 1e6;
        for (encoding, codec) in
            ENCODINGS.into_iter().flat_map(|encoding| CODECS.map(|codec| (encoding, codec)))
        {
            let name = format!("{}-{}-{}", data.name, encoding.name(), codec.name());
            if !chosen.is_empty() && !chosen.iter().any(|part| name.contains(part.as_str())) {
                continue;
            }
            let file = MemoryFile::default();
            data.write(Box::new(file.clone()), encoding, codec);
            let bytes = file.take_bytes();
            let file_megabytes = bytes.len() as f64 / 1e6;
            std::fs::write(directory.join(&name), bytes).unwrap();
            let copy = format!("copy-{name}");
            let write_copy = || {
                let file = Unsynced(env.fs.create(&copy).unwrap());
                data.write(Box::new(file), encoding, codec);
                env.fs.remove_file(&copy).unwrap();
            };
            let write = megabytes / fastest(is_once, write_copy);
            let file = env.fs.open(&name).unwrap();
            let reader = Arc::new(Reader::open(file, &name).unwrap());
            let scan =
                megabytes / fastest(is_once, || assert_eq!(scan(&reader), data.key_value_bytes));
            let seek = SEEKS as f64 / fastest(is_once, || data.seek(&reader));
            if is_csv {
                println!("{name},{write},{scan},{seek}");
            } else {
                println!("{name:<28}{file_megabytes:>10.1}{write:>12.0}{scan:>12.0}{seek:>12.0}");
            }
        }
    }
}
