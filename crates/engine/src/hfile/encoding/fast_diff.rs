//! `FAST_DIFF`:
//! `flag | [cint key] | [cint value] | cint common | rest of the key | rest of the timestamp | [type] | [value]`.
//! The first cell of a block has its whole key.

use super::common_prefix::common_front;
use super::data_block_encoding::DataBlockEncoding;
use super::differences::{DifferenceFormat, NextCell, Value};
use super::flagged::{CellHead, SameFields, write_front};
use super::flat_key::{Stamp, split_stamp};
use super::plain_cells::PlainCells;
use crate::hfile::vint::ByteReader;

/// Mask of the number of leading bytes of the timestamp that equal the previous one's.
const COMMON_TIMESTAMP: u8 = 0x07;
const SAME: SameFields = SameFields { key_length: 0x08, value_length: 0x10, kind: 0x20 };
const SAME_VALUE: u8 = 0x40;

/// Format `FAST_DIFF`.
pub(super) struct FastDiff;

impl DifferenceFormat for FastDiff {
    const ENCODING: DataBlockEncoding = DataBlockEncoding::FastDiff;
    const OMITS_EQUAL_VALUES: bool = true;

    fn write_first(out: &mut Vec<u8>, key: &[u8], value_bytes: usize) {
        let head = CellHead { flag: 0, key_bytes: key.len(), value_bytes, common: 0 };
        SAME.write_head(out, head);
        out.extend_from_slice(key);
    }

    #[inline]
    fn write_next(out: &mut Vec<u8>, cell: &NextCell<'_>) {
        let Some((stamp, previous)) = split_stamp(cell.key).zip(split_stamp(cell.previous_key))
        else {
            return;
        };
        let (stamp, previous) = (stamp.1, previous.1);
        let same_bytes = common_timestamp(stamp.timestamp, previous.timestamp);
        let same_kind = if stamp.kind == previous.kind { SAME.kind } else { 0 };
        let same_value = if cell.omits_value { SAME_VALUE } else { 0 };
        let flag = SAME.same_lengths(cell) | same_bytes | same_kind | same_value;
        let common = common_front(cell.previous_key, cell.key);
        let head =
            CellHead { flag, key_bytes: cell.key.len(), value_bytes: cell.value_bytes, common };
        SAME.write_head(out, head);
        write_front(out, cell.key, common);
        let rest = stamp.timestamp.cast_unsigned() << (u32::from(same_bytes) << 3);
        let end = out.len().wrapping_add(8).wrapping_sub(usize::from(same_bytes));
        out.extend_from_slice(&rest.to_be_bytes());
        out.truncate(end);
        if same_kind == 0 {
            out.push(stamp.kind);
        }
    }

    #[inline]
    fn read<'a>(input: &mut ByteReader<'a>, cells: &mut PlainCells<'a>) -> Option<Value<'a>> {
        let head = SAME.read_head(input, cells)?;
        let has_same_value = head.flag & SAME_VALUE != 0;
        let value_bytes =
            if has_same_value { cells.previous_value_bytes() } else { head.value_bytes };
        let previous = cells.previous_stamp();
        cells.start(head.key_bytes, value_bytes)?;
        match previous {
            None => cells.read_first(input, head.key_bytes)?,
            Some(previous) => {
                cells.read_front(input, head.common, head.key_bytes)?;
                let timestamp = read_timestamp(input, head.flag, previous.timestamp)?;
                let kind = SAME.read_kind(input, head.flag, Some(previous.kind))?;
                cells.push_stamp(Stamp { timestamp, kind });
            }
        }
        if has_same_value {
            (!cells.is_first()).then_some(Value::Same)
        } else {
            input.take(value_bytes).map(Value::Given)
        }
    }
}

/// Returns how many leading bytes are equal, at most 7: the last one is always written.
#[inline]
fn common_timestamp(timestamp: i64, previous: i64) -> u8 {
    (((timestamp ^ previous) | 1).leading_zeros() >> 3 & 7) as u8
}

#[inline]
fn read_timestamp(input: &mut ByteReader<'_>, flag: u8, previous: i64) -> Option<i64> {
    let common = usize::from(flag & COMMON_TIMESTAMP);
    let rest = input.take(8_usize.checked_sub(common)?)?;
    let mut bytes = previous.to_be_bytes();
    bytes.get_mut(common..)?.copy_from_slice(rest);
    Some(i64::from_be_bytes(bytes))
}
