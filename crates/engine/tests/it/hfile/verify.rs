//! Verification of whole files: HBase's own files pass, and every defect is named.
use halite_engine::hfile::{BlockKind, ChecksumType, StoreFileInfo, WriterOptions};
use halite_types::ErrorKind;

use super::golden::{READ_ONLY, SAMPLES};
use super::support::{OwnedCell, open, sample, sample_cells, write};

/// Returns a file of several index levels and both filters, with the given checksums.
fn small_file(checksum: ChecksumType) -> Vec<u8> {
    let mut cells: Vec<OwnedCell> = (0..14)
        .map(|i| OwnedCell::put(format!("row-{i:02}").as_bytes(), b"q", 5, b"value"))
        .collect();
    *cells[5].key.last_mut().unwrap() = 14;
    let options = WriterOptions {
        block_bytes: 60,
        index_chunk_bytes: 60,
        min_index_entries: 2,
        bloom_chunk_bytes: 128,
        checksum,
        part_bytes: Some(30),
        ..WriterOptions::default()
    };
    write(&options, &cells, StoreFileInfo::flushed(3))
}

#[test]
fn files_of_hbase_pass_verification() {
    for name in SAMPLES.into_iter().chain(READ_ONLY) {
        let (reader, cells) = sample_cells(name);
        let verified = reader.verify().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(verified.cells, cells.len() as u64, "{name}");
        let mut rows: Vec<&[u8]> = cells.iter().map(|cell| cell.view().row()).collect();
        rows.dedup();
        assert_eq!(verified.rows, rows.len() as u64, "{name}");
        let on_disk: u64 =
            verified.blocks.iter().map(|block| u64::from(block.handle.on_disk_bytes)).sum();
        assert_eq!(
            on_disk + 4096,
            reader.bytes(),
            "{name}: the blocks and the trailer are the whole file"
        );
        let leaves =
            verified.blocks.iter().filter(|block| block.kind == BlockKind::LeafIndex).count();
        assert_eq!(leaves > 0, reader.trailer().index_levels > 1, "{name}");
    }
}

#[test]
fn every_flipped_byte_of_every_block_is_detected() {
    let bytes = small_file(ChecksumType::Crc32c);
    open(bytes.clone()).unwrap().verify().unwrap();
    for offset in 0..bytes.len() - 4096 {
        let mut damaged = bytes.clone();
        damaged[offset] ^= 0x10;
        let error =
            open(damaged).and_then(|reader| reader.verify()).expect_err(&format!("byte {offset}"));
        assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {offset}: {error}");
        assert!(
            error.message().starts_with("store file data/default/t/1f/f/9a: "),
            "byte {offset}: {error}"
        );
    }
}

/// Returns the error for a file without checksums after `new` overwrites the first `old` at or
/// after the first `near`.
fn complaint(near: &[u8], old: &[u8], new: &[u8]) -> String {
    let find = |bytes: &[u8], what: &[u8]| {
        bytes.windows(what.len()).position(|window| window == what).unwrap()
    };
    let mut bytes = small_file(ChecksumType::Null);
    open(bytes.clone()).unwrap().verify().unwrap();
    let near = find(&bytes, near);
    let offset = near + find(&bytes[near..], old);
    bytes[offset..offset + new.len()].copy_from_slice(new);
    open(bytes).and_then(|reader| reader.verify()).unwrap_err().to_string()
}

#[test]
fn comparison_finds_damage_with_valid_checksums() {
    for (near, old, new, said) in [
        ("row-03", "row-03", "row-01", "cell 3 (row row-01) is not greater than the previous cell"),
        (
            "row-01",
            "row-01",
            "ro\0-01",
            "cell 1 (row ro\\x00-01) is not greater than the previous cell",
        ),
        (
            "row-13",
            "row-13",
            "row-1~",
            "cell 13 (row row-1~) is not in the bloom filter, so a read would miss it",
        ),
        (
            "row-01",
            "\x05",
            "\x06",
            "cell 1 (row row-01) has a timestamp outside the range in the file info",
        ),
        ("IDXLEAF2", "IDXLEAF2", "IDXLEAF3", "\"IDXLEAF3\" begins no kind of block"),
        ("HLTPARTS", "\0\0\0\x22", "\0\0\0\x21", "its checksum is"),
        (
            "IDXLEAF2",
            "row-0",
            "row-~",
            "its first key is not the one under which the level above names it",
        ),
    ] {
        let complaint = complaint(near.as_bytes(), old.as_bytes(), new.as_bytes());
        assert!(complaint.contains(said), "{old:?} became {new:?}: {complaint}");
    }
}

#[test]
fn wrong_cell_count_in_trailer_is_detected() {
    let bytes = sample("none-small");
    let trailer = bytes.len() - 4096;
    let count = open(bytes.clone()).unwrap().entry_count();
    // Field 7 of the trailer's message is the number of cells; small enough here for one or two
    // bytes of a varint.
    let offset = trailer + bytes[trailer..].iter().position(|&byte| byte == 7 << 3).unwrap() + 1;
    let mut damaged = bytes;
    damaged[offset] ^= 1;
    let error = open(damaged).and_then(|reader| reader.verify()).unwrap_err();
    assert!(
        error
            .message()
            .contains(&format!("it has {count} cells, its trailer states {}", count ^ 1)),
        "{error}"
    );
}
