//! Data block encodings: HBase's formats that store keys as differences. A block, or a part of it
//! that the part index names, is decoded into the bytes of a plain one when it is read; one that is
//! passed once is decoded cell by cell by its reader ([`EncodedCells`]). It is encoded cell by cell
//! when it is written, since the encoded size decides where it ends. No other module handles
//! encodings. An encoding is one file, with one arm in [`DataBlockEncoding::decode_part`] and in
//! [`DataBlockEncoding::encoder`], and a variant of [`Differences`] if it stores such.
//!
//! ```text
//! PREFIX, DIFF, FAST_DIFF    id u16 | bytes of the plain block i32 | [DIFF: familyLength u8 | family] | cells
//! cell                       key and value in the encoding's format [| tags] [| sequence id vlong]
//! tags                       length cint [| raw, or each through the dictionary of tags.rs]
//! ROW_INDEX_V1               id u16 | plain cells | rows i32 | their offsets i32... | bytes of the cells i32
//! ```
//! A `cint` is a number in groups of seven bits, the lowest first.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
#![expect(
    clippy::inline_always,
    reason = "a cell that is decoded stays in registers only if nothing gets a reference to it"
)]

mod block_encoder;
mod cell_before;
mod cell_head;
mod common_prefix;
mod data_block_encoding;
mod diff;
mod difference_decoder;
mod difference_encoder;
mod differences;
mod encoded_cells;
mod fast_diff;
mod flagged;
mod flat_key;
mod key_before;
mod new_cell;
mod new_key;
mod padded_input;
mod plain;
mod plain_cells;
mod prefix;
mod previous_cell;
mod row_index;
mod tag_slots;
mod tag_writer;
mod tags;
#[cfg(test)]
mod tests;

use std::ops::Range;

use super::cell_layout::CellLayout;
use super::damaged;
use super::data_cells::{DataCells, Validation};
use super::vint::ByteReader;
pub(super) use block_encoder::{BlockEncoder, PartStart};
pub(super) use cell_before::CellBefore;
pub use data_block_encoding::DataBlockEncoding;
pub(super) use data_block_encoding::unsupported_encoding;
use difference_decoder::decode_difference_part;
use difference_encoder::DifferenceEncoder;
use encoded_cells::Differences;
pub(super) use encoded_cells::{CellDecoder, EncodedCells};
use halite_types::Result;
pub(super) use key_before::KeyBefore;
use padded_input::PaddedInput;

impl DataBlockEncoding {
    /// Returns an encoder for the data blocks of a new file.
    pub(super) fn encoder(self, layout: CellLayout) -> Box<dyn BlockEncoder> {
        match self {
            Self::None => Box::new(plain::PlainEncoder::new(layout)),
            Self::Prefix => Box::new(DifferenceEncoder::<prefix::Prefix>::new(layout)),
            Self::Diff => Box::new(DifferenceEncoder::<diff::Diff>::new(layout)),
            Self::FastDiff => Box::new(DifferenceEncoder::<fast_diff::FastDiff>::new(layout)),
            Self::RowIndexV1 => Box::new(row_index::RowIndexEncoder::new(layout)),
        }
    }

    /// Returns `true` if cells are stored as differences from the cell before.
    pub(super) fn stores_differences(self) -> bool {
        Differences::of(self).is_some()
    }

    /// Returns `true` if parts of a block with cells of this layout can be decoded by themselves.
    pub(super) fn has_parts(self, layout: CellLayout) -> bool {
        !(self.stores_differences() && layout.tags && layout.tags_compressed)
    }

    /// Decodes a part of a block to `plain_bytes` of plain cells. `before` is the cell before the
    /// part, `None` for the first of a block.
    ///
    /// # Errors
    /// `Corrupt`
    pub(super) fn decode_part(
        self,
        part: Vec<u8>,
        layout: CellLayout,
        before: Option<CellBefore<'_>>,
        plain_bytes: usize,
    ) -> Result<DecodedCells> {
        match self {
            Self::None => {
                let whole = 0..part.len();
                DecodedCells::plain(part, whole, layout, Validation::Whole)
            }
            Self::RowIndexV1 => {
                let cells = row_index::part_range(before.is_none(), plain_bytes);
                DecodedCells::plain(part, cells, layout, Validation::Whole)
            }
            Self::Prefix => {
                decode_difference_part::<prefix::Prefix>(part, layout, before, plain_bytes)
            }
            Self::Diff => decode_difference_part::<diff::Diff>(part, layout, before, plain_bytes),
            Self::FastDiff => {
                decode_difference_part::<fast_diff::FastDiff>(part, layout, before, plain_bytes)
            }
        }
    }
}

/// Plain cells.
pub(super) struct DecodedCells {
    pub(super) bytes: Vec<u8>,
    /// Where they are in the bytes.
    pub(super) payload: Range<usize>,
    pub(super) cells: DataCells,
}

impl DecodedCells {
    /// Returns cells that are stored as in a plain block.
    ///
    /// # Errors
    /// `Corrupt` if they are to be validated and one is damaged.
    pub(super) fn plain(
        bytes: Vec<u8>,
        payload: Range<usize>,
        layout: CellLayout,
        validation: Validation,
    ) -> Result<Self> {
        let plain = bytes.get(payload.clone()).unwrap_or_default();
        let cells = DataCells::new(plain, layout, validation)?;
        Ok(Self { bytes, payload, cells })
    }
}

/// Decodes the payload of an encoded block, which is a part of `block`, to the plain block. Cells that
/// are rebuilt are valid then.
///
/// # Errors
/// `Corrupt`; `Unsupported` for an encoding that HBase does not have.
pub(super) fn decode(
    mut block: Vec<u8>,
    payload: &Range<usize>,
    layout: CellLayout,
    validation: Validation,
) -> Result<DecodedCells> {
    let encoded = block.get(payload.clone()).unwrap_or_default();
    let encoding = stated_encoding(encoded)?;
    if encoding == DataBlockEncoding::RowIndexV1 {
        let cells = row_index::block_range(encoded)?;
        let offset = |at: usize| payload.start.saturating_add(at);
        let cells = offset(cells.start)..offset(cells.end);
        return DecodedCells::plain(block, cells, layout, validation);
    }
    // A plain block has another magic and no id.
    let differences = Differences::of(encoding).ok_or_else(|| unsupported_encoding("number 0"))?;
    differences.decode(PaddedInput::new(&mut block, payload.clone()), layout)
}

/// Returns the cells of an encoded block as they are stored, for a reader that decodes one after
/// another; `None` if they can be decoded with their whole block only. Otherwise the block gets
/// padding after its payload.
///
/// # Errors
/// As [`decode`]; damage after the first bytes is found by the reader.
pub(super) fn encoded_cells(
    block: &mut Vec<u8>,
    payload: &Range<usize>,
    layout: CellLayout,
) -> Result<Option<EncodedCells>> {
    let encoding = stated_encoding(block.get(payload.clone()).unwrap_or_default())?;
    let Some(differences) = Differences::of(encoding).filter(|_| !layout.tags) else {
        return Ok(None);
    };
    EncodedCells::new(PaddedInput::new(block, payload.clone()), differences, layout).map(Some)
}

/// Returns the encoding that the payload of an encoded block begins with.
fn stated_encoding(payload: &[u8]) -> Result<DataBlockEncoding> {
    let id = ByteReader::new(payload).u16();
    let id = id.ok_or_else(|| damaged("it ends before the id of its encoding"))?;
    let encoding = DataBlockEncoding::ALL.into_iter().find(|encoding| encoding.id() == id);
    encoding.ok_or_else(|| unsupported_encoding(&format!("number {id}")))
}
