//! `FAST_DIFF`:
//! `flag | [cint key] | [cint value] | cint common | rest of the key | rest of the timestamp | [type] | [value]`.
//! The first cell of a block has its whole key.

use super::cell_head::CellHead;
use super::data_block_encoding::DataBlockEncoding;
use super::differences::{DifferenceFormat, NextCell};
use super::flagged::SameFields;
use super::flat_key::{Stamp, split_stamp};
use super::new_key::{NewKey, PaddedFamily};
use super::previous_cell::PreviousCell;
use crate::hfile::vint::ByteReader;

/// Mask of the number of leading bytes of the timestamp that equal the previous one's.
const COMMON_TIMESTAMP: u8 = 0x07;
const SAME: SameFields = SameFields { key_length: 0x08, value_length: 0x10, kind: 0x20 };

/// Format `FAST_DIFF`.
pub(super) struct FastDiff;

impl DifferenceFormat for FastDiff {
    const ENCODING: DataBlockEncoding = DataBlockEncoding::FastDiff;
    const SAME_VALUE: u8 = 0x40;

    fn write_first(out: &mut Vec<u8>, key: &[u8], value_bytes: usize) {
        let head = CellHead { flag: 0, key_bytes: key.len(), value_bytes, common: 0 };
        SAME.write_head(out, head);
        out.extend_from_slice(key);
    }

    #[inline]
    fn write_next(out: &mut Vec<u8>, cell: &NextCell<'_>) {
        let Some((stamp, previous)) = split_stamp(cell.key).zip(split_stamp(cell.before.key))
        else {
            return;
        };
        let (stamp, previous) = (stamp.1, previous.1);
        let same_bytes = common_timestamp(stamp.timestamp, previous.timestamp);
        let same_kind = if stamp.kind == previous.kind { SAME.kind } else { 0 };
        let same_value = if cell.omits_value { Self::SAME_VALUE } else { 0 };
        let flag = SAME.same_lengths(cell) | same_bytes | same_kind | same_value;
        SAME.write_before_stamp(out, flag, cell);
        let rest = stamp.timestamp.cast_unsigned() << (u32::from(same_bytes) << 3);
        let end = out.len().wrapping_add(8).wrapping_sub(usize::from(same_bytes));
        out.extend_from_slice(&rest.to_be_bytes());
        out.truncate(end);
        if same_kind == 0 {
            out.push(stamp.kind);
        }
    }

    #[inline(always)]
    fn read_head(input: &mut ByteReader<'_>, previous: PreviousCell) -> Option<CellHead> {
        let mut head = SAME.read_head(input, previous)?;
        if head.flag & Self::SAME_VALUE != 0 {
            head.value_bytes = previous.value_bytes;
        }
        Some(head)
    }

    #[inline(always)]
    fn read_key(
        input: &mut ByteReader<'_>,
        head: CellHead,
        key: &mut NewKey<'_>,
        family: &PaddedFamily,
    ) -> Option<()> {
        key.read_front(input, head.common, family)?;
        let previous = key.previous_stamp();
        let timestamp = read_timestamp(input, head.flag, previous.timestamp)?;
        let kind = SAME.read_kind(input, head.flag, previous.kind)?;
        key.append_stamp(Stamp { timestamp, kind })
    }

    fn read_first_key(
        input: &mut ByteReader<'_>,
        _head: CellHead,
        key: &mut NewKey<'_>,
        family: &mut PaddedFamily,
    ) -> Option<()> {
        key.read_first_key(input, family)
    }
}

/// Returns how many leading bytes are equal, at most 7: the last one is always written.
#[inline]
fn common_timestamp(timestamp: i64, previous: i64) -> u8 {
    (((timestamp ^ previous) | 1).leading_zeros() >> 3 & 7) as u8
}

#[inline(always)]
fn read_timestamp(input: &mut ByteReader<'_>, flag: u8, previous: i64) -> Option<i64> {
    let common = flag & COMMON_TIMESTAMP;
    let rest = u64::from_be_bytes(*input.chunk::<8>()?);
    input.skip(8_usize.wrapping_sub(usize::from(common)))?;
    let shift = u32::from(common) << 3;
    let kept = previous.cast_unsigned() & !(u64::MAX >> shift);
    Some((kept | rest >> shift).cast_signed())
}
