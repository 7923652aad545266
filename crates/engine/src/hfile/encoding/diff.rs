//! DIFF:
//! `flag | [cint key] | [cint value] | cint common | rest of the key | timestamp | [type] | value`.
//! The timestamp has the minimum number of bytes, the lowest first, and may be a difference. The
//! family is before the first cell of a block.

use super::cell_head::CellHead;
use super::data_block_encoding::DataBlockEncoding;
use super::differences::{DifferenceFormat, NextCell};
use super::flagged::{SameFields, write_front};
use super::flat_key::{Stamp, family_end, row_end, split_stamp};
use super::new_key::{NewKey, PaddedFamily};
use super::previous_cell::PreviousCell;
use crate::hfile::vint::ByteReader;

const SAME: SameFields = SameFields { key_length: 0x01, value_length: 0x02, kind: 0x04 };
/// The number is the difference between the previous timestamp and this one.
const IS_DIFFERENCE: u8 = 0x08;
/// Shift of the three bits that contain the bytes of the number, less one.
const NUMBER_BYTES_SHIFT: u8 = 4;
const IS_NEGATIVE: u8 = 0x80;

/// Format DIFF.
pub(super) struct Diff;

impl DifferenceFormat for Diff {
    const ENCODING: DataBlockEncoding = DataBlockEncoding::Diff;

    fn write_first(out: &mut Vec<u8>, key: &[u8], value_bytes: usize) {
        let Some((front, stamp)) = split_stamp(key) else { return };
        let family = row_end(front).zip(family_end(front)).map(|(start, end)| start..end);
        out.extend_from_slice(family.and_then(|family| front.get(family)).unwrap_or_default());
        let number = Number::from(stamp.timestamp);
        let head = CellHead { flag: number.flag(), key_bytes: key.len(), value_bytes, common: 0 };
        SAME.write_head(out, head);
        write_front(out, key, 0);
        number.write(out);
        out.push(stamp.kind);
    }

    #[inline]
    fn write_next(out: &mut Vec<u8>, cell: &NextCell<'_>) {
        let Some((stamp, previous)) = split_stamp(cell.key).zip(split_stamp(cell.before.key))
        else {
            return;
        };
        let (stamp, previous) = (stamp.1, previous.1);
        let (absolute, difference) = (
            Number::from(stamp.timestamp),
            Number::from(previous.timestamp.wrapping_sub(stamp.timestamp)),
        );
        let (number, kind_of_number) = if difference.bytes() < absolute.bytes() {
            (difference, IS_DIFFERENCE)
        } else {
            (absolute, 0)
        };
        let same_kind = if stamp.kind == previous.kind { SAME.kind } else { 0 };
        let flag = SAME.same_lengths(cell) | number.flag() | kind_of_number | same_kind;
        SAME.write_before_stamp(out, flag, cell);
        number.write(out);
        if same_kind == 0 {
            out.push(stamp.kind);
        }
    }

    /// Reads the family, which all cells share.
    fn read_start(input: &mut ByteReader<'_>, family: &mut PaddedFamily) -> Option<()> {
        let mut whole = *input;
        let bytes = usize::from(input.byte()?);
        input.take(bytes)?;
        *family = PaddedFamily::new(whole.take(bytes.checked_add(1)?)?);
        Some(())
    }

    #[inline(always)]
    fn read_head(input: &mut ByteReader<'_>, previous: PreviousCell) -> Option<CellHead> {
        SAME.read_head(input, previous)
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
        let number = Number::read(input, head.flag)?;
        let timestamp = if head.flag & IS_DIFFERENCE == 0 {
            number
        } else {
            previous.timestamp.wrapping_sub(number)
        };
        let kind = SAME.read_kind(input, head.flag, previous.kind)?;
        key.append_stamp(Stamp { timestamp, kind })
    }

    fn read_first_key(
        input: &mut ByteReader<'_>,
        head: CellHead,
        key: &mut NewKey<'_>,
        family: &mut PaddedFamily,
    ) -> Option<()> {
        let refers_to_previous = head.flag & (IS_DIFFERENCE | SAME.kind) != 0;
        if refers_to_previous { None } else { Self::read_key(input, head, key, family) }
    }
}

/// Number of 1 to 8 bytes whose sign is in the flag.
#[derive(Clone, Copy)]
struct Number {
    magnitude: u64,
    is_negative: bool,
}

impl From<i64> for Number {
    #[inline]
    fn from(number: i64) -> Self {
        Self { magnitude: number.unsigned_abs(), is_negative: number < 0 }
    }
}

impl Number {
    /// Returns the bytes of the magnitude: 1 to 8.
    #[inline]
    fn bytes(self) -> u8 {
        8_u8.wrapping_sub(((self.magnitude | 1).leading_zeros() >> 3 & 7) as u8)
    }

    /// Returns the bits of its sign and its length.
    #[inline]
    fn flag(self) -> u8 {
        let sign = if self.is_negative { IS_NEGATIVE } else { 0 };
        sign | self.bytes().wrapping_sub(1) << NUMBER_BYTES_SHIFT
    }

    #[inline]
    fn write(self, out: &mut Vec<u8>) {
        let end = out.len().wrapping_add(usize::from(self.bytes()));
        out.extend_from_slice(&self.magnitude.to_le_bytes());
        out.truncate(end);
    }

    #[inline(always)]
    fn read(input: &mut ByteReader<'_>, flag: u8) -> Option<i64> {
        let bytes = usize::from(flag >> NUMBER_BYTES_SHIFT & 7).wrapping_add(1);
        let chunk = u64::from_le_bytes(*input.chunk::<8>()?);
        input.skip(bytes)?;
        let number = (chunk & u64::MAX >> 64_usize.wrapping_sub(bytes << 3)).cast_signed();
        Some(if flag & IS_NEGATIVE == 0 { number } else { number.wrapping_neg() })
    }
}
