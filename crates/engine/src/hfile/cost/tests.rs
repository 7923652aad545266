//! Sizes of samples under encodings and codecs.

use halite_types::Put;
use halite_types::cell::{Cells, CellsBuilder, first_on_row};

use super::*;
use crate::hfile::DataBlockEncoding;

/// Returns rows with two columns whose keys share 20 bytes.
fn cells(rows: usize) -> Cells {
    let mut cells = CellsBuilder::default();
    for row in 0..rows {
        let put = Put::new(format!("device-0000000000001-{row:08}"))
            .add_at("f", "a", 5, (row * 7919).to_string())
            .add_at("f", "b", 5, "on");
        put.mutation().cells().iter().for_each(|cell| cells.push(cell));
    }
    cells.finish()
}

fn options(encoding: DataBlockEncoding, compression: Compression) -> WriterOptions {
    WriterOptions {
        encoding,
        compression,
        include_sequence_ids: false,
        block_bytes: 4096,
        ..WriterOptions::default()
    }
}

#[test]
fn every_combination_returns_all_cells() {
    let cells = cells(500);
    let key = first_on_row(b"device-0000000000001-00000250");
    for encoding in DataBlockEncoding::ALL {
        for codec in CODECS {
            let file = SampleFile::write(cells.iter(), options(encoding, codec)).unwrap();
            let sizes = file.sizes().unwrap();
            assert_eq!((sizes.cells, file.scan().unwrap()), (1000, 1000));
            assert!(sizes.data_blocks > 5 && sizes.index_bytes > 0 && sizes.bloom_bytes > 0);
            assert!(file.seek(&key).unwrap() && !file.seek(&first_on_row(b"e")).unwrap());
        }
    }
}

#[test]
fn sizes_are_those_of_the_blocks() {
    let cells = cells(200);
    let plain = measure(cells.iter(), options(DataBlockEncoding::None, Compression::None)).unwrap();
    let sum: usize = cells.iter().map(|cell| 8 + cell.key().len() + cell.value().len()).sum();
    assert_eq!(plain.plain_bytes, sum as u64);
    // 33 bytes of header and 4 of checksum for each block.
    assert_eq!(plain.data_bytes, plain.plain_bytes + 37 * plain.data_blocks);
    let fast_diff =
        measure(cells.iter(), options(DataBlockEncoding::FastDiff, Compression::None)).unwrap();
    assert!(fast_diff.data_bytes * 2 < plain.data_bytes, "{fast_diff:?} {plain:?}");
    assert_eq!(FileSizes::default().bytes_per_cell().to_bits(), 0);
}
