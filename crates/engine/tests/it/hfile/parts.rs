//! Parts of data blocks in every encoding and codec.
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use halite_engine::env::{FileReader, MemoryReader};
use halite_engine::hfile::{
    Compression, Cursor, DataBlockEncoding, DirectBlocks, PartsWith, Reader, StoreFileInfo,
    WriterOptions,
};

use halite_types::{FamilyDescriptor, TableDescriptor};

use super::support::{OwnedCell, open, read_all, write};

/// Codecs whose compressed blocks have parts.
const WITH_PARTS: [Compression; 4] =
    [Compression::None, Compression::Snappy, Compression::Lz4, Compression::Zstd];

/// File that counts the bytes that are read from it.
struct CountingFile {
    file: MemoryReader,
    read: Arc<AtomicU64>,
}

impl FileReader for CountingFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        self.file.read_exact_at(buffer, offset)
    }
}

/// Cells of rows with several columns; some values equal those before them, some differ.
fn cells() -> Vec<OwnedCell> {
    let cell = |number: usize| {
        let (row, column) = (number / 3, number % 3);
        let value = match column {
            0 | 1 => "the same in every row".to_owned(),
            _ => format!("value {}", row.wrapping_mul(0x9e37_79b9)),
        };
        OwnedCell::put(
            format!("customer-{row:06}").as_bytes(),
            format!("q{column}").as_bytes(),
            1_700_000_000_000 + i64::try_from(number * 37 % 1000).unwrap(),
            value.as_bytes(),
        )
    };
    (0..6000).map(cell).collect()
}

fn options(encoding: DataBlockEncoding, compression: Compression) -> WriterOptions {
    WriterOptions { encoding, compression, part_bytes: Some(500), ..WriterOptions::default() }
}

fn every_format() -> impl Iterator<Item = (DataBlockEncoding, Compression)> {
    DataBlockEncoding::ALL
        .into_iter()
        .flat_map(|encoding| WITH_PARTS.map(|compression| (encoding, compression)))
}

#[test]
fn seek_reads_part_in_every_encoding_and_codec() {
    let cells = cells();
    for (encoding, compression) in every_format() {
        let name = format!("{encoding:?} {compression:?}");
        let bytes = write(&options(encoding, compression), &cells, StoreFileInfo::flushed(3));
        let read = Arc::new(AtomicU64::new(0));
        let file = CountingFile { file: MemoryReader::new(bytes), read: Arc::clone(&read) };
        let reader = Arc::new(Reader::open(Arc::new(file), "counted").unwrap());
        let index_bytes = reader
            .walk_blocks()
            .unwrap()
            .iter()
            .filter(|block| block.kind == halite_engine::hfile::BlockKind::Meta)
            .map(|block| u64::from(block.handle.on_disk_bytes))
            .max();
        let index_bytes = index_bytes.unwrap_or_else(|| panic!("{name}: no part index"));
        let mut most = 0;
        for cell in cells.iter().step_by(7) {
            let mut cursor = Cursor::new(Arc::clone(&reader), PartsWith(DirectBlocks));
            let before = read.load(Ordering::Relaxed);
            cursor.seek(&cell.key).unwrap();
            assert_eq!(cursor.peek().map(OwnedCell::from_cell).as_ref(), Some(cell), "{name}");
            most = most.max(read.load(Ordering::Relaxed) - before);
        }
        // A part is at least 500 to 2,000 plain bytes, and in the encoding at least half of that.
        let limit = 500 * 4 * 2;
        assert!(most <= index_bytes + limit, "{name}: {most} bytes, index {index_bytes}");
    }
}

#[test]
fn parts_scan_like_blocks_and_pass_verification() {
    let cells = cells();
    for (encoding, compression) in every_format() {
        let reader =
            open(write(&options(encoding, compression), &cells, StoreFileInfo::flushed(3)))
                .unwrap();
        assert_eq!(read_all(&reader, DirectBlocks).unwrap(), cells, "{encoding:?} {compression:?}");
        assert_eq!(
            read_all(&reader, PartsWith(DirectBlocks)).unwrap(),
            cells,
            "{encoding:?} {compression:?}"
        );
        reader.verify().unwrap();
    }
}

#[test]
fn seeks_between_cells_find_next_one_in_parts() {
    let cells = cells();
    for (encoding, compression) in every_format() {
        let reader =
            open(write(&options(encoding, compression), &cells, StoreFileInfo::flushed(3)))
                .unwrap();
        let mut cursor = Cursor::new(Arc::clone(&reader), PartsWith(DirectBlocks));
        for pair in cells.windows(2).step_by(5) {
            let [before, next] = pair else { panic!("two cells") };
            // Older than the cell, so between it and the next one.
            let mut key = before.key.clone();
            let stamp = key.len() - 9;
            key[stamp..stamp + 8].copy_from_slice(&1_i64.to_be_bytes());
            cursor.seek(&key).unwrap();
            assert_eq!(cursor.key(), Some(&next.key[..]), "{encoding:?} {compression:?}");
        }
    }
}

#[test]
fn damaged_part_is_never_another_cell() {
    let cells: Vec<OwnedCell> = cells().into_iter().take(60).collect();
    for (encoding, compression) in every_format() {
        let options = WriterOptions { part_bytes: Some(100), ..options(encoding, compression) };
        let bytes = write(&options, &cells, StoreFileInfo::flushed(3));
        for offset in (0..bytes.len() - 4096).step_by(3) {
            let mut damaged = bytes.clone();
            damaged[offset] ^= 0x10;
            let Ok(reader) = open(damaged) else { continue };
            let mut cursor = Cursor::new(reader, PartsWith(DirectBlocks));
            for cell in cells.iter().step_by(11) {
                if cursor.seek(&cell.key).is_ok() {
                    let found = cursor.peek().map(OwnedCell::from_cell);
                    assert_eq!(found.as_ref(), Some(cell), "{encoding:?} {compression:?} {offset}");
                }
            }
        }
    }
}

#[test]
fn tags_in_dictionary_have_no_parts() {
    let cells: Vec<OwnedCell> = cells().into_iter().map(|cell| cell.with_tag(8, b"tag")).collect();
    for (compress_tags, has_parts) in [(true, false), (false, true)] {
        let options = WriterOptions {
            include_tags: true,
            compress_tags,
            ..options(DataBlockEncoding::FastDiff, Compression::None)
        };
        let reader = open(write(&options, &cells, StoreFileInfo::flushed(3))).unwrap();
        assert_eq!(reader.trailer().meta_index_count > 0, has_parts);
        assert_eq!(read_all(&reader, PartsWith(DirectBlocks)).unwrap(), cells);
        reader.verify().unwrap();
    }
}

#[test]
fn file_for_bulk_load_has_parts() {
    let family = FamilyDescriptor::new("f").set("DATA_BLOCK_ENCODING", "DIFF");
    let table = TableDescriptor::new("t".parse().unwrap());
    let options = WriterOptions::for_bulk_load(&table, &family);
    let cells: Vec<OwnedCell> =
        cells().into_iter().map(|cell| OwnedCell { sequence: 0, ..cell }).collect();
    let reader = open(write(&options, &cells, StoreFileInfo::flushed(3))).unwrap();
    assert!(reader.trailer().meta_index_count > 0);
    assert_eq!(read_all(&reader, PartsWith(DirectBlocks)).unwrap(), cells);
}
