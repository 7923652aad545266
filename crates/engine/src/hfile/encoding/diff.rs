//! DIFF:
//! `flag | [cint key] | [cint value] | cint common | rest of the key | timestamp | [type] | value`.
//! The timestamp has the minimum number of bytes, the lowest first, and may be a difference.

use super::data_block_encoding::DataBlockEncoding;
use super::differences::DifferenceDecoder;
use super::key::{Keys, Value};
use crate::hfile::vint::ByteReader;

const SAME_KEY_LENGTH: u8 = 0x01;
const SAME_VALUE_LENGTH: u8 = 0x02;
const SAME_TYPE: u8 = 0x04;
/// The number is the difference between the previous timestamp and this one.
const IS_DIFFERENCE: u8 = 0x08;
/// Shift of the three bits that contain the bytes of the number, less one.
const NUMBER_BYTES_SHIFT: u8 = 4;
const IS_NEGATIVE: u8 = 0x80;

/// Decoder of DIFF.
pub(super) struct Diff;

impl DifferenceDecoder for Diff {
    const ENCODING: DataBlockEncoding = DataBlockEncoding::Diff;

    /// Reads the family, which all cells share.
    fn read_start(input: &mut ByteReader<'_>, keys: &mut Keys) -> Option<()> {
        let bytes = input.byte()?;
        keys.family.push(bytes);
        keys.family.extend_from_slice(input.take(usize::from(bytes))?);
        Some(())
    }

    fn read<'a>(
        input: &mut ByteReader<'a>,
        keys: &mut Keys,
        value_bytes: usize,
    ) -> Option<Value<'a>> {
        let flag = input.byte()?;
        let key_bytes =
            if flag & SAME_KEY_LENGTH == 0 { input.compressed_int()? } else { keys.previous.len() };
        let value_bytes =
            if flag & SAME_VALUE_LENGTH == 0 { input.compressed_int()? } else { value_bytes };
        let common = input.compressed_int()?;
        keys.read_front(input, common, key_bytes)?;
        let number = read_number(input, flag)?;
        let previous = keys.previous_stamp();
        let timestamp =
            if flag & IS_DIFFERENCE == 0 { number } else { previous?.0.wrapping_sub(number) };
        let kind = if flag & SAME_TYPE == 0 { input.byte()? } else { previous?.1 };
        keys.key.extend_from_slice(&timestamp.to_be_bytes());
        keys.key.push(kind);
        input.take(value_bytes).map(Value::Given)
    }
}

fn read_number(input: &mut ByteReader<'_>, flag: u8) -> Option<i64> {
    let bytes = usize::from(flag >> NUMBER_BYTES_SHIFT & 7).checked_add(1)?;
    let number = input
        .take(bytes)?
        .iter()
        .rev()
        .fold(0_u64, |number, &byte| number << 8 | u64::from(byte))
        .cast_signed();
    Some(if flag & IS_NEGATIVE == 0 { number } else { number.wrapping_neg() })
}
