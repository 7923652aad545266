//! PREFIX: `cint rest of the key | cint value | cint common | rest of the key | value`.

use super::data_block_encoding::DataBlockEncoding;
use super::differences::DifferenceDecoder;
use super::key::{Keys, Value};
use crate::hfile::vint::ByteReader;

/// Decoder of PREFIX.
pub(super) struct Prefix;

impl DifferenceDecoder for Prefix {
    const ENCODING: DataBlockEncoding = DataBlockEncoding::Prefix;

    fn read<'a>(
        input: &mut ByteReader<'a>,
        keys: &mut Keys,
        _value_bytes: usize,
    ) -> Option<Value<'a>> {
        let (rest, value_bytes, common) =
            (input.compressed_int()?, input.compressed_int()?, input.compressed_int()?);
        keys.key.extend_from_slice(keys.previous.get(..common)?);
        keys.key.extend_from_slice(input.take(rest)?);
        // The next cell omits parts of this key, and an empty one would look like no key.
        if keys.key.is_empty() {
            return None;
        }
        input.take(value_bytes).map(Value::Given)
    }
}
