//! What DIFF and `FAST_DIFF` share: a flag and lengths before a cell, then row and qualifier without
//! the family. `flag | [cint key] | [cint value] | cint common | rest of row and qualifier`

use super::cell_head::CellHead;
use super::differences::NextCell;
use super::flat_key::{STAMP_BYTES, family_end, row_end};
use super::previous_cell::PreviousCell;
use crate::hfile::vint::{ByteReader, write_compressed_int};

/// Bits of the flag for fields that equal those of the previous cell and are omitted.
pub(super) struct SameFields {
    pub(super) key_length: u8,
    pub(super) value_length: u8,
    pub(super) kind: u8,
}

impl SameFields {
    /// Returns the bits of the lengths that equal those of the previous cell.
    #[inline]
    pub(super) fn same_lengths(&self, cell: &NextCell<'_>) -> u8 {
        let bit = |bit: u8, is_same: bool| if is_same { bit } else { 0 };
        bit(self.key_length, cell.key.len() == cell.before.key.len())
            | bit(self.value_length, cell.value_bytes == cell.previous_value_bytes)
    }

    /// Appends flag and lengths.
    #[inline]
    pub(super) fn write_head(&self, out: &mut Vec<u8>, head: CellHead) {
        out.push(head.flag);
        if head.flag & self.key_length == 0 {
            write_compressed_int(out, head.key_bytes);
        }
        if head.flag & self.value_length == 0 {
            write_compressed_int(out, head.value_bytes);
        }
        write_compressed_int(out, head.common);
    }

    /// Appends what precedes timestamp and type of a cell that is not the first of its block.
    #[inline]
    pub(super) fn write_before_stamp(&self, out: &mut Vec<u8>, flag: u8, cell: &NextCell<'_>) {
        let common = cell.before.common;
        let head =
            CellHead { flag, key_bytes: cell.key.len(), value_bytes: cell.value_bytes, common };
        self.write_head(out, head);
        write_front(out, cell.key, common);
    }

    /// Reads flag and lengths.
    #[inline(always)]
    pub(super) fn read_head(
        &self,
        input: &mut ByteReader<'_>,
        previous: PreviousCell,
    ) -> Option<CellHead> {
        let flag = input.byte()?;
        let key_bytes =
            if flag & self.key_length == 0 { input.compressed_int()? } else { previous.key_bytes };
        let value_bytes = if flag & self.value_length == 0 {
            input.compressed_int()?
        } else {
            previous.value_bytes
        };
        Some(CellHead { flag, key_bytes, value_bytes, common: input.compressed_int()? })
    }

    /// Reads the type, if it is not `previous`.
    #[inline(always)]
    pub(super) fn read_kind(
        &self,
        input: &mut ByteReader<'_>,
        flag: u8,
        previous: u8,
    ) -> Option<u8> {
        if flag & self.kind == 0 { input.byte() } else { Some(previous) }
    }
}

/// Appends row and qualifier of a key without its first `common` bytes, which end in the row or
/// after the family.
#[inline]
pub(super) fn write_front(out: &mut Vec<u8>, key: &[u8], common: usize) {
    let front = key.get(..key.len().saturating_sub(STAMP_BYTES)).unwrap_or_default();
    let (row_end, family_end) =
        (row_end(front).unwrap_or_default(), family_end(front).unwrap_or_default());
    if common < row_end {
        out.extend_from_slice(front.get(common..row_end).unwrap_or_default());
        out.extend_from_slice(front.get(family_end..).unwrap_or_default());
    } else {
        debug_assert!(common >= family_end, "the cells of a file are of one family");
        out.extend_from_slice(front.get(common..).unwrap_or_default());
    }
}
