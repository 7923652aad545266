//! Speed of writing, scanning and seeking in store files in memory, for each data block encoding,
//! in megabytes of `KeyValue` bytes or seeks per second.
//!
//! `cargo run --release -p halite-engine --example hfile_speed [ENCODING...]`
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "it is a program that prints and ends at an error"
)]

use std::hint::black_box;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use halite_engine::env::{FileReader, FileWriter};
use halite_engine::hfile::{
    Cursor, DataBlockEncoding, DirectBlocks, Reader, StoreFileInfo, Writer, WriterOptions,
};
use halite_types::CellRef;
use halite_types::cell::{make_key, write_tag};

const ROUNDS: u32 = 7;
const ROWS: usize = 60_000;
const COLUMNS: usize = 5;
const SEEKS: usize = 20_000;
const ENCODINGS: [DataBlockEncoding; 5] = [
    DataBlockEncoding::None,
    DataBlockEncoding::Prefix,
    DataBlockEncoding::Diff,
    DataBlockEncoding::FastDiff,
    DataBlockEncoding::RowIndexV1,
];

/// File in memory.
#[derive(Clone, Default)]
struct MemoryFile(Arc<Mutex<Vec<u8>>>);

impl FileWriter for MemoryFile {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.0.lock().unwrap().truncate(usize::try_from(bytes).unwrap());
        Ok(())
    }
}

struct MemoryReader(Vec<u8>);

impl FileReader for MemoryReader {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap();
        buffer.copy_from_slice(&self.0[start..start + buffer.len()]);
        Ok(())
    }
}

/// Cells of one kind of table.
struct Data {
    name: &'static str,
    keys: Vec<Vec<u8>>,
    values: Vec<Vec<u8>>,
    tags: Vec<u8>,
    key_value_bytes: usize,
}

impl Data {
    fn new(name: &'static str, value_bytes: usize, has_tags: bool) -> Self {
        let mut state = 0x5eed_u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        };
        let (mut keys, mut tags) = (Vec::new(), Vec::new());
        let mut values: Vec<Vec<u8>> = Vec::new();
        if has_tags {
            write_tag(&mut tags, 8, &86_400_000_i64.to_be_bytes());
        }
        for row in 0..ROWS {
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
            cells.map(|(key, value)| CellRef::new(key, value, &tags, 0).encoded_len()).sum();
        Self { name, keys, values, tags, key_value_bytes }
    }

    fn write(&self, encoding: DataBlockEncoding) -> Vec<u8> {
        let options = WriterOptions {
            encoding,
            include_tags: !self.tags.is_empty(),
            ..WriterOptions::default()
        };
        let file = MemoryFile(Arc::new(Mutex::new(Vec::with_capacity(self.key_value_bytes * 2))));
        let mut writer = Writer::create(Box::new(file.clone()), "memory", options).unwrap();
        for (number, (key, value)) in (1..).zip(self.keys.iter().zip(&self.values)) {
            writer.append(CellRef::new(key, value, &self.tags, number)).unwrap();
        }
        writer.finish(StoreFileInfo::flushed(1)).unwrap();
        std::mem::take(&mut *file.0.lock().unwrap())
    }

    fn seek(&self, reader: &Arc<Reader>) {
        let mut cursor = Cursor::new(Arc::clone(reader), DirectBlocks);
        let mut at = 0;
        for _ in 0..SEEKS {
            at = (at + 104_729) % self.keys.len();
            cursor.seek(&self.keys[at]).unwrap();
            black_box(cursor.peek().unwrap().value());
        }
    }
}

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
fn fastest(mut work: impl FnMut()) -> f64 {
    let round = |_| {
        #[expect(clippy::disallowed_methods, reason = "the time of the machine is measured")]
        let began = Instant::now();
        work();
        began.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(round).fold(f64::MAX, f64::min)
}

#[expect(clippy::cast_precision_loss, reason = "numbers to print")]
fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    println!("{:<26}{:>10}{:>12}{:>12}{:>14}", "", "file MB", "write MB/s", "scan MB/s", "seeks/s");
    for data in
        [Data::new("small", 8, false), Data::new("large", 200, false), Data::new("tags", 8, true)]
    {
        let megabytes = data.key_value_bytes as f64 / 1e6;
        for encoding in ENCODINGS {
            if !chosen.is_empty() && !chosen.iter().any(|name| name == encoding.name()) {
                continue;
            }
            let bytes = data.write(encoding);
            let file_megabytes = bytes.len() as f64 / 1e6;
            let write = fastest(|| drop(black_box(data.write(encoding))));
            let file = Arc::new(MemoryReader(bytes));
            let reader = Arc::new(Reader::open(file, "memory").unwrap());
            let scanned = fastest(|| assert_eq!(scan(&reader), data.key_value_bytes));
            let sought = fastest(|| data.seek(&reader));
            println!(
                "{:<12}{:<14}{file_megabytes:>10.1}{:>12.0}{:>12.0}{:>14.0}",
                data.name,
                encoding.name(),
                megabytes / write,
                megabytes / scanned,
                SEEKS as f64 / sought
            );
        }
    }
}
