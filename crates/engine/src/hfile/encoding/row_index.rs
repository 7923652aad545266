//! `ROW_INDEX_V1`: `id u16 | plain cells | rows i32 | their offsets i32... | bytes of the cells i32`.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use halite_types::Result;

use super::data_block_encoding::ID_BYTES;
use crate::hfile::damaged;
use crate::hfile::vint::ByteReader;

/// Returns the plain cells. The index of rows is not needed once the cells are found.
pub(super) fn decode(payload: &[u8]) -> Result<Vec<u8>> {
    cells(payload).map(<[u8]>::to_vec).ok_or_else(|| damaged("its rows' index does not fit it"))
}

fn cells(payload: &[u8]) -> Option<&[u8]> {
    let mut end = ByteReader::starting_at(payload, payload.len().checked_sub(4)?);
    let cells = ByteReader::starting_at(payload, ID_BYTES).take(end.length()?)?;
    let rows = ByteReader::starting_at(payload, cells.len().checked_add(ID_BYTES)?).length()?;
    let index = rows.checked_add(2)?.checked_mul(4)?;
    (cells.len().checked_add(ID_BYTES)?.checked_add(index)? == payload.len()).then_some(cells)
}
