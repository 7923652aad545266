//! Bytes that rows take in store files, measured with the store's own writer, and two-column tables
//! whose keys are compared.

use halite::cell::CellsBuilder;
use halite::{CellRef, FamilyDescriptor, Row};
use halite_rowkey_tools::cell_cost::{Compression, DataBlockEncoding, bytes_per_cell};

use crate::page_writer::PageWriter;
use crate::samples::T0;
use crate::table::LabTable;

/// Bytes of timestamp and type at the end of a key.
const STAMP_BYTES: usize = 9;

/// Returns the mean bytes of a cell of one family in a file, with its part of index and bloom
/// filter. All cells count as written at the same time, so that every run gives the same.
pub(crate) fn mean_file_bytes(
    rows: &[Row],
    encoding: DataBlockEncoding,
    codec: Compression,
) -> anyhow::Result<f64> {
    let mut cells = CellsBuilder::default();
    for cell in rows.iter().flat_map(Row::iter) {
        let mut key = cell.key().to_vec();
        let stamp = key.len().saturating_sub(STAMP_BYTES);
        key[stamp..stamp + 8].copy_from_slice(&T0.to_be_bytes());
        cells.push(CellRef::new(&key, cell.value(), b"", 0));
    }
    Ok(bytes_per_cell(&cells.finish(), encoding, codec)?)
}

/// As [`mean_file_bytes`], for an encoding without compression.
pub(crate) fn mean_encoded_bytes(rows: &[Row], encoding: DataBlockEncoding) -> anyhow::Result<f64> {
    mean_file_bytes(rows, encoding, Compression::None)
}

/// Creates a table with two columns of eight bytes per row under these keys. The values share
/// little, so that a block encoding writes them whole.
pub(crate) fn two_column_table(
    lab: &mut PageWriter,
    name: &str,
    keys: &[Vec<u8>],
) -> anyhow::Result<LabTable> {
    let table = lab.make(name, [FamilyDescriptor::new("d")], Vec::new())?;
    for (column, number) in [("d:v1", 1_u64), ("d:v2", 2)] {
        lab.load(
            &table,
            column,
            keys.iter().zip(0_u64..).map(|(key, at)| {
                (key.clone(), (2 * at + number).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes())
            }),
        )?;
    }
    Ok(table)
}
