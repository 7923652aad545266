//! Decompression of blocks with every codec: an error or the expected length in a short time, with
//! memory in proportion to the input and not to the lengths that it states.
//!
//! An input is the number of a codec, a stated length, and the compressed data.
#![no_main]

mod corpus;

use halite_engine::hfile::Compression;
use libfuzzer_sys::fuzz_target;

const CODECS: [&str; 9] = ["NONE", "GZ", "SNAPPY", "LZ4", "ZSTD", "BZIP2", "LZMA", "LZO", "BROTLI"];
/// Files that HBase wrote, with the number of their codec.
const FILES: [(u8, &[u8]); 6] = [
    (1, include_bytes!("../../crates/engine/testdata/hfile/comp-gz.hfile")),
    (2, include_bytes!("../../crates/engine/testdata/hfile/comp-snappy.hfile")),
    (3, include_bytes!("../../crates/engine/testdata/hfile/comp-lz4.hfile")),
    (4, include_bytes!("../../crates/engine/testdata/hfile/comp-zstd.hfile")),
    (4, include_bytes!("../../crates/engine/testdata/hfile/codec-jni-zstd.hfile")),
    (7, include_bytes!("../../crates/engine/testdata/hfile/comp-lzo.hfile")),
];
const HEADER_BYTES: usize = 33;
/// Memory of one block, in bytes: the tables of the BZIP2 and LZMA decoders. The output has at most
/// four times the bytes that are decompressed.
const MAX_BYTES: u64 = 16 << 20;
/// ZSTD frame with runs longer than the format allows, of 290 MB as it states.
const LONG_RUNS: &[u8] = &[
    0x55, 0x11, 0x55, 0x11, 0, 0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0xe2, 0xe2, 0xe2,
    0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2,
    0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0xe2, 0,
    0x1f, 0, 0, 0,
];
/// Maximum stated length of a block, in bytes.
const MAX_STATED_BYTES: usize = 1 << 30;

fuzz_target!(init: corpus::write("codecs", seeds()), |data: &[u8]| {
    let Some(([codec, length @ ..], packed)) = data.split_first_chunk::<5>() else { return };
    let name = CODECS[usize::from(*codec) % CODECS.len()];
    let codec = Compression::from_name(name).expect("HBase has a codec of this name");
    let expected = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(0) % (MAX_STATED_BYTES + 1);
    let mut result = None;
    let used = allocation_counter::measure(|| result = Some(codec.decompress(packed, expected)));
    let output = match result.expect("it has been called") {
        Ok(payload) => {
            assert_eq!(payload.len(), expected, "the length is what the header says");
            expected
        }
        // An error is found after the output of the data before it.
        Err(_) => expected.min(packed.len().saturating_mul(1 << 15)),
    };
    let max_bytes = MAX_BYTES + 4 * output as u64 + 64 * packed.len() as u64;
    assert!(used.bytes_max < max_bytes, "{name}: {} bytes for {expected}", used.bytes_max);
});

/// Returns the first block of each file, with its length, and an input that required too much
/// memory.
fn seeds() -> Vec<Vec<u8>> {
    let block = |(codec, file): &(u8, &[u8])| {
        let covered = u32::from_be_bytes([file[29], file[30], file[31], file[32]]) as usize;
        [&[*codec][..], &file[12..16], &file[HEADER_BYTES..covered]].concat()
    };
    FILES.iter().map(block).chain([LONG_RUNS.to_vec()]).collect()
}
