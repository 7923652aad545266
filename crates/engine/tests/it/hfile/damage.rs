//! Damaged files: an error or the right cells, never a panic, a hang or a wrong cell.
use std::sync::Arc;

use halite_engine::hfile::{
    ChecksumType, Cursor, DataBlockEncoding, DirectBlocks, PartsWith, Reader, StoreFileInfo,
    WriterOptions,
};
use halite_types::ErrorKind;
use halite_types::cell::key_row;
use proptest::prelude::*;

use super::model::WRITTEN;
use super::support::{OwnedCell, open, read_all, sample, sample_cells, write};

fn read(bytes: Vec<u8>) -> halite_types::Result<Vec<OwnedCell>> {
    let reader = open(bytes)?;
    let cells = read_all(&reader, DirectBlocks)?;
    drop(find_in_parts(&reader, &cells)?);
    for cell in &cells {
        reader.may_contain_row(&DirectBlocks, cell.view().row())?;
        reader.may_contain_column(&DirectBlocks, cell.view().row(), cell.view().qualifier())?;
        reader.may_contain_delete_family(&DirectBlocks, cell.view().row())?;
    }
    reader.mid_key(&DirectBlocks)?;
    Ok(cells)
}

/// Returns what seeks to the keys of cells find in the parts of data blocks.
fn find_in_parts(
    reader: &Arc<Reader>,
    cells: &[OwnedCell],
) -> halite_types::Result<Vec<OwnedCell>> {
    let mut cursor = Cursor::new(Arc::clone(reader), PartsWith(DirectBlocks));
    let mut found = Vec::new();
    for cell in cells {
        cursor.seek(&cell.key)?;
        found.extend(cursor.peek().map(OwnedCell::from_cell));
    }
    Ok(found)
}

/// Returns a small file with all features: three index levels, tags, delete markers, both filters.
fn small_file() -> (Vec<u8>, Vec<OwnedCell>) {
    let mut cells: Vec<OwnedCell> = (0..14)
        .map(|i| OwnedCell::put(format!("r{i:02}").as_bytes(), b"q", 5, b"v").with_tag(8, b"t"))
        .collect();
    *cells[5].key.last_mut().unwrap() = 14;
    let options = WriterOptions {
        block_bytes: 40,
        index_chunk_bytes: 60,
        min_index_entries: 2,
        bloom_chunk_bytes: 128,
        include_tags: true,
        part_bytes: Some(20),
        ..WriterOptions::default()
    };
    (write(&options, &cells, StoreFileInfo::flushed(3)), cells)
}

#[test]
fn every_flipped_byte_is_detected_or_harmless() {
    let (bytes, cells) = small_file();
    assert!(open(bytes.clone()).unwrap().trailer().index_levels >= 3);
    for offset in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[offset] ^= flip;
            if let Ok(read) = read(damaged.clone()) {
                assert_eq!(read, cells, "byte {offset} flipped by {flip:#x}");
            }
            if let Ok(found) = open(damaged).and_then(|reader| find_in_parts(&reader, &cells)) {
                assert_eq!(found, cells, "byte {offset} flipped by {flip:#x}");
            }
        }
    }
}

#[test]
fn every_flipped_byte_before_trailer_is_detected() {
    let bytes = sample("tiny-none");
    for offset in 0..bytes.len() - 4096 {
        for flip in [0x01, 0xff] {
            let mut damaged = bytes.clone();
            damaged[offset] ^= flip;
            // The meta index root and its like are verified on opening, data and chunks when they
            // are read.
            let error = read(damaged)
                .err()
                .unwrap_or_else(|| panic!("byte {offset} flipped by {flip:#x} was not detected"));
            assert!(
                matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported),
                "{offset}: {error}"
            );
        }
    }
}

#[test]
fn every_truncation_is_detected() {
    let bytes = sample("tiny-none");
    for length in 0..bytes.len() {
        assert!(open(bytes[..length].to_vec()).is_err(), "cut to {length}");
    }
    for drop in 1..bytes.len() {
        assert!(read(bytes[drop..].to_vec()).is_err(), "{drop} bytes lost at the front");
    }
}

#[test]
fn files_without_checksums_do_not_panic_either() {
    let cells: Vec<OwnedCell> =
        (0..6).map(|i| OwnedCell::put(format!("r{i}").as_bytes(), b"q", 5, b"v")).collect();
    for encoding in DataBlockEncoding::ALL {
        let options = WriterOptions {
            encoding,
            checksum: ChecksumType::Null,
            block_bytes: 60,
            index_chunk_bytes: 60,
            min_index_entries: 2,
            ..WriterOptions::default()
        };
        let bytes = write(&options, &cells, StoreFileInfo::flushed(3));
        for offset in 0..bytes.len() - 4096 {
            for flip in [0x01, 0x02, 0x40, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[offset] ^= flip;
                // A changed value cannot be detected here; the read only has to end.
                drop(read(damaged));
            }
        }
    }
}

#[test]
fn flipped_bit_error_names_file_block_and_checksums() {
    let mut bytes = sample("tiny-none");
    bytes[100] ^= 4;
    let error = read(bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let text = error.to_string();
    let stored = "the stored one is 0x269e39f5";
    for word in [
        "store file data/default/t/1f/f/9a: data block at 0: CRC32C of its bytes 0..197 is 0x",
        stored,
        "restore it",
    ] {
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn newer_version_is_distinguished_from_damage() {
    let bytes = sample("tiny-none");
    let end = bytes.len() - 4;
    for (version, kind) in [
        ([3, 0, 0, 4], ErrorKind::NewerFormat),
        ([4, 0, 0, 3], ErrorKind::NewerFormat),
        ([3, 0, 0, 2], ErrorKind::Unsupported),
        ([0x33, 0x44, 0x55, 0x66], ErrorKind::Corrupt),
    ] {
        let mut changed = bytes.clone();
        changed[end..].copy_from_slice(&version);
        assert_eq!(open(changed).unwrap_err().kind(), kind, "{version:?}");
    }
}

/// Corrects the checksums of the block at the start of a file.
fn correct_checksums(bytes: &mut [u8]) {
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (end, covered, piece) = (33 + number(8), number(29), number(25));
    let (content, sums) = bytes[..end].split_at_mut(covered);
    for (content, sum) in content.chunks(piece).zip(sums.chunks_exact_mut(4)) {
        sum.copy_from_slice(&crc32c::crc32c(content).to_be_bytes());
    }
}

/// A walk validates each cell when it comes to it, a search backward all of the block before.
#[test]
fn walk_and_search_name_the_damaged_cell() {
    let cells: Vec<OwnedCell> =
        (0..6).map(|i| OwnedCell::put(format!("r{i}").as_bytes(), b"q", 5, b"v")).collect();
    for encoding in DataBlockEncoding::ALL {
        let options = WriterOptions { encoding, ..WriterOptions::default() };
        let mut bytes = write(&options, &cells, StoreFileInfo::flushed(3));
        let (at, byte, what) = match encoding {
            // The length of a row.
            DataBlockEncoding::None | DataBlockEncoding::RowIndexV1 => {
                let row = bytes.windows(2).position(|bytes| bytes == b"r2").unwrap();
                (row - 2, 0x7f, "do not fit its key".to_owned())
            }
            // Bytes that the third key has in common with the second; the rows differ in one.
            _ => {
                let end = u32::from_be_bytes(bytes[29..33].try_into().unwrap()) as usize;
                let third = bytes[33..end].iter().rposition(|byte| *byte == b'2').unwrap();
                (33 + third - 1, 0x7f, format!("cannot be decoded from {}", encoding.name()))
            }
        };
        bytes[at] = byte;
        correct_checksums(&mut bytes);
        let reader = open(bytes).unwrap();
        let mut cursor = Cursor::new(Arc::clone(&reader), DirectBlocks);
        cursor.seek_to_first().unwrap();
        cursor.advance().unwrap();
        assert_eq!(cursor.key(), Some(&cells[1].key[..]));
        let of_walk = cursor.advance().unwrap_err().to_string();
        assert!(cursor.key().is_none());
        cursor.seek_to_first().unwrap();
        assert_eq!(cursor.key(), Some(&cells[0].key[..]));
        let of_seek = cursor.seek(&cells[4].key).unwrap_err().to_string();
        assert!(cursor.key().is_none());
        let of_search = cursor.seek_before(&cells[4].key).unwrap_err().to_string();
        assert!(cursor.key().is_none());
        for word in
            ["store file ", "data block at 0: its cell 2 ", " at byte ", &what, "restore it"]
        {
            assert!(of_walk.contains(word), "{of_walk}");
        }
        assert_eq!((&of_seek, &of_search), (&of_walk, &of_walk));
        assert_eq!(of_walk, reader.verify().unwrap_err().to_string());
    }
}

#[test]
fn damaged_compressed_block_of_hbase_is_an_error_or_other_cells() {
    for name in
        ["comp-gz", "comp-snappy", "comp-lz4", "comp-zstd", "codec-jni-snappy", "codec-jni-zstd"]
    {
        let bytes = sample(name);
        let whole = u32::from_be_bytes(bytes[29..33].try_into().unwrap()) as usize;
        let first_row = |bytes: Vec<u8>| -> halite_types::Result<usize> {
            let mut cursor = Cursor::new(open(bytes)?, DirectBlocks);
            cursor.seek_to_first()?;
            Ok(cursor.peek().map_or(0, |cell| cell.value().len()))
        };
        let mut errors = 0;
        for at in (33..whole).step_by(7) {
            for flip in [0x01, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                correct_checksums(&mut damaged);
                if let Err(error) = first_row(damaged) {
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{name} {at}: {error}");
                    assert!(error.to_string().contains("data block at 0"), "{name} {at}: {error}");
                    errors += 1;
                }
            }
        }
        assert!(errors > 20, "{name}: {errors}");
    }
}

#[test]
fn oversized_block_header_does_not_allocate() {
    let mut bytes = sample("comp-gz");
    assert!(sample_cells("comp-gz").1.len() > 100);
    bytes[12..16].copy_from_slice(&0x3fff_ffff_u32.to_be_bytes());
    assert_eq!(read(bytes).unwrap_err().kind(), ErrorKind::Corrupt);
}

/// Runs every reader operation on a file whose damage no checksum detects.
fn use_in_every_way(bytes: Vec<u8>) -> halite_types::Result<()> {
    let reader = open(bytes)?;
    let (_, cells) = small_file();
    let mut cursor = Cursor::new(reader, DirectBlocks);
    for cell in &cells {
        // One lookup may fail and the next succeed; the cursor must handle both.
        drop(cursor.seek(&cell.key).and_then(|()| cursor.advance()));
        drop(cursor.seek_before(&cell.key));
        drop(cursor.seek_to_previous_row(key_row(&cell.key)));
    }
    cursor.seek_to_last()?;
    let mut steps = 0;
    while let Some(key) = cursor.key().map(<[u8]>::to_vec) {
        cursor.seek_before(&key)?;
        steps += 1;
        // Iteration over cells out of order may cycle; a caller only requests rows it has not seen.
        if steps > 1000 {
            break;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_damage_without_checksums_ends(
        compression in prop::sample::select(WRITTEN.to_vec()),
        encoding in prop::sample::select(DataBlockEncoding::ALL.to_vec()),
        has_tags in any::<bool>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let options = WriterOptions {
            checksum: ChecksumType::Null,
            compression,
            encoding,
            block_bytes: 40,
            index_chunk_bytes: 60,
            min_index_entries: 2,
            bloom_chunk_bytes: 128,
            include_tags: has_tags,
            ..WriterOptions::default()
        };
        let mut cells = small_file().1;
        if !has_tags {
            cells.iter_mut().for_each(|cell| cell.tags.clear());
        }
        let mut bytes = write(&options, &cells, StoreFileInfo::flushed(3));
        // The zero padding of the trailer is not damaged.
        let interesting = bytes.len() - 4096 + 200;
        for (offset, byte) in damage {
            bytes[offset.index(interesting)] = byte;
        }
        drop(read(bytes.clone()));
        drop(use_in_every_way(bytes));
    }
}
