//! PREFIX: `cint rest of the key | cint value | cint common | rest of the key | value`.

use super::cell_head::CellHead;
use super::common_prefix::common_key;
use super::data_block_encoding::DataBlockEncoding;
use super::differences::{DifferenceFormat, NextCell};
use super::new_key::{NewKey, PaddedFamily};
use super::previous_cell::PreviousCell;
use crate::hfile::vint::{ByteReader, write_compressed_int};

/// Format PREFIX.
pub(super) struct Prefix;

impl DifferenceFormat for Prefix {
    const ENCODING: DataBlockEncoding = DataBlockEncoding::Prefix;

    fn write_first(out: &mut Vec<u8>, key: &[u8], value_bytes: usize) {
        write_key(out, key, value_bytes, 0);
    }

    #[inline]
    fn write_next(out: &mut Vec<u8>, cell: &NextCell<'_>) {
        write_key(out, cell.key, cell.value_bytes, common_key(cell.before, cell.key));
    }

    #[inline(always)]
    fn read_head(input: &mut ByteReader<'_>, _previous: PreviousCell) -> Option<CellHead> {
        let (rest, value_bytes, common) =
            (input.compressed_int()?, input.compressed_int()?, input.compressed_int()?);
        Some(CellHead { flag: 0, key_bytes: common.wrapping_add(rest), value_bytes, common })
    }

    #[inline(always)]
    fn read_key(
        input: &mut ByteReader<'_>,
        head: CellHead,
        key: &mut NewKey<'_>,
        _family: &PaddedFamily,
    ) -> Option<()> {
        key.read_key(input, head.common)
    }
}

#[inline]
fn write_key(out: &mut Vec<u8>, key: &[u8], value_bytes: usize, common: usize) {
    let rest = key.get(common..).unwrap_or_default();
    write_compressed_int(out, rest.len());
    write_compressed_int(out, value_bytes);
    write_compressed_int(out, common);
    out.extend_from_slice(rest);
}
