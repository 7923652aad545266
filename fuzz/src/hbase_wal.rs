//! Logs of HBase: every entry up to an error or the end, with memory in proportion to the log.
#![no_main]

mod corpus;

use std::io::Cursor;
use std::path::Path;

use halite_engine::hfile::Compression;
use halite_hbase_dir::wal::{WalEnd, WalReader};
use halite_types::{Error, Result};
use libfuzzer_sys::fuzz_target;

/// Logs that HBase wrote.
const FILES: [&[u8]; 3] = [
    include_bytes!("../../crates/hbase-dir/testdata/wal/wal-plain"),
    include_bytes!("../../crates/hbase-dir/testdata/wal/wal-compressed"),
    include_bytes!("../../crates/hbase-dir/testdata/wal/wal-compressed-values-gz"),
];
/// Bytes of a seed that are kept, so that changes of it are quick to try.
const SEED_BYTES: usize = 4096;
/// Memory of a reader, in bytes: its buffer, and what a value takes while it is decompressed.
const MAX_BYTES: u64 = 8 << 20;
/// Bytes of memory for each byte of a log: a row of two bytes in a dictionary may be 32 KiB long in
/// a cell, and GZ enlarges values a thousand times.
const MAX_BYTES_PER_BYTE: u64 = 64 << 10;

fuzz_target!(init: corpus::write("hbase_wal", seeds()), |data: &[u8]| {
    let used = allocation_counter::measure(|| read(data));
    let max_bytes = MAX_BYTES + MAX_BYTES_PER_BYTE * data.len() as u64;
    assert!(used.bytes_max < max_bytes, "{} bytes for {}", used.bytes_max, data.len());
});

fn read(data: &[u8]) {
    let Ok(mut reader) = WalReader::new(Cursor::new(data), Path::new("log"), decompress) else {
        return;
    };
    let mut bytes = 0;
    loop {
        match reader.next_entry() {
            Ok(Some(entry)) => {
                for cell in entry.data() {
                    bytes += cell.encoded_len() as u64;
                }
                let markers = entry.compactions().map_or(0, |markers| markers.len());
                assert!(markers <= entry.cells.len());
            }
            Ok(None) => break,
            Err(_) => return,
        }
    }
    match reader.end().expect("it has ended") {
        WalEnd::Incomplete { offset, bytes, further_entry } => {
            let end = offset + bytes;
            assert!(end <= data.len() as u64);
            assert!(further_entry.is_none_or(|further| further > offset && further < end));
        }
        WalEnd::Open | WalEnd::Closed => assert!(data.len() >= 4),
    }
    assert!(bytes <= MAX_BYTES_PER_BYTE * data.len() as u64);
}

fn decompress(codec: u32, packed: &[u8], expected: usize) -> Result<Vec<u8>> {
    let name = if codec == 1 { "GZ" } else { "SNAPPY" };
    let codec = Compression::from_name(name).ok_or_else(|| Error::corrupt("no such codec"))?;
    codec.decompress(packed, expected)
}

/// Returns the starts of the files.
fn seeds() -> Vec<Vec<u8>> {
    FILES.iter().map(|file| file[..SEED_BYTES.min(file.len())].to_vec()).collect()
}
