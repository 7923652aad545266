//! `FAST_DIFF`:
//! `flag | [cint key] | [cint value] | cint common | rest of the key | rest of the timestamp | [type] | [value]`.
//! The first cell of a block has its whole key.

use super::data_block_encoding::DataBlockEncoding;
use super::differences::DifferenceDecoder;
use super::key::{Keys, STAMP_BYTES, Value, row_end};
use crate::hfile::vint::ByteReader;

/// Mask of the number of leading bytes of the timestamp that equal the previous one's.
const COMMON_TIMESTAMP: u8 = 0x07;
const SAME_KEY_LENGTH: u8 = 0x08;
const SAME_VALUE_LENGTH: u8 = 0x10;
const SAME_TYPE: u8 = 0x20;
const SAME_VALUE: u8 = 0x40;

/// Decoder of `FAST_DIFF`.
pub(super) struct FastDiff;

impl DifferenceDecoder for FastDiff {
    const ENCODING: DataBlockEncoding = DataBlockEncoding::FastDiff;

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
        if keys.is_first() {
            keys.key.extend_from_slice(input.take(key_bytes)?);
            keys.family = family(&keys.key)?.to_vec();
        } else {
            keys.read_front(input, common, key_bytes)?;
            read_stamp(input, keys, flag)?;
        }
        if flag & SAME_VALUE != 0 {
            (!keys.is_first()).then_some(Value::Same)
        } else {
            input.take(value_bytes).map(Value::Given)
        }
    }
}

fn read_stamp(input: &mut ByteReader<'_>, keys: &mut Keys, flag: u8) -> Option<()> {
    let (timestamp, kind) = keys.previous_stamp()?;
    let common = usize::from(flag & COMMON_TIMESTAMP);
    keys.key.extend_from_slice(timestamp.to_be_bytes().get(..common)?);
    keys.key.extend_from_slice(input.take(8_usize.checked_sub(common)?)?);
    keys.key.push(if flag & SAME_TYPE == 0 { input.byte()? } else { kind });
    Some(())
}

/// Returns the family of a key, including its length prefix.
fn family(key: &[u8]) -> Option<&[u8]> {
    let start = row_end(key)?;
    let end = start.checked_add(1)?.checked_add(usize::from(*key.get(start)?))?;
    key.get(start..end).filter(|_| end.checked_add(STAMP_BYTES).is_some_and(|end| end <= key.len()))
}
