//! Bytes that cells take in store files, measured: they are written with the store's own writer, in
//! memory.

use bytes::Bytes;
use halite_engine::hfile::{WriterOptions, cost};
use halite_types::cell::{CellsBuilder, make_key};
use halite_types::rng::split_mix;
use halite_types::{CellRef, CellType, Result};

pub use halite_engine::hfile::{Compression, DataBlockEncoding};

/// Encoding that lint recommends for keys that share their beginnings.
pub const RECOMMENDED: DataBlockEncoding = DataBlockEncoding::FastDiff;
/// Bytes of the value of a generated cell.
pub const VALUE_BYTES: usize = 8;
/// Timestamp of generated cells, which count as written at one time.
const TIMESTAMP: i64 = 1_700_000_000_000;

/// Returns the bytes on disk per cell under an encoding and a codec: data blocks of 64 KB, index,
/// and bloom filter of rows. 0 without cells.
///
/// # Errors
/// `InvalidRequest` for cells that are out of order, or of several families.
pub fn bytes_per_cell<'c>(
    cells: impl IntoIterator<Item = CellRef<'c>>,
    encoding: DataBlockEncoding,
    compression: Compression,
) -> Result<f64> {
    let options = WriterOptions { encoding, compression, ..WriterOptions::default() };
    Ok(cost::measure(cells, options)?.bytes_per_cell())
}

/// Returns the bytes on disk per cell, without compression, for rows with these keys, in order: a
/// cell of eight random bytes in each of the columns, which are in order.
///
/// # Errors
/// As [`bytes_per_cell`].
pub fn bytes_per_cell_of_keys<'k>(
    keys: impl IntoIterator<Item = &'k Bytes>,
    family: &[u8],
    columns: &[&[u8]],
    encoding: DataBlockEncoding,
) -> Result<f64> {
    let mut cells = CellsBuilder::default();
    let mut number = 0_u64;
    for row in keys {
        for column in columns {
            number += 1;
            let key = make_key(row, family, column, TIMESTAMP, CellType::Put.code());
            let value: [u8; VALUE_BYTES] = split_mix(number).to_be_bytes();
            cells.push(CellRef::new(&key, &value, b"", 0));
        }
    }
    bytes_per_cell(&cells.finish(), encoding, Compression::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_writes_shared_beginnings_once() {
        let keys: Vec<Bytes> =
            (0..2000).map(|at| format!("device-{:04}-{at:08}", at / 100).into()).collect();
        let measure = |encoding| bytes_per_cell_of_keys(&keys, b"f", &[b"a", b"b"], encoding);
        let plain = measure(DataBlockEncoding::None).unwrap();
        let encoded = measure(DataBlockEncoding::FastDiff).unwrap();
        // A plain cell has 8 bytes of lengths, 12 around the row, family and qualifier, and 1 of
        // its sequence id.
        assert!((51.0..54.0).contains(&plain), "{plain}");
        assert!((13.0..17.0).contains(&encoded), "{encoded}");
    }
}
