//! Number of messages in an encoded message, counted before it is decoded.
//!
//! A message without fields has two bytes in a file, and up to a hundred times as many in memory.
//! What a file may take is therefore limited by the number of its messages, not only by its length.

use prost::DecodeError;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// Messages within a message: each field that has them, with its number.
pub(crate) struct Shape(pub(crate) &'static [(u32, &'static Shape)]);

/// Shape of a message, pair or name without messages within it.
pub(crate) const LEAF: Shape = Shape(&[]);

/// Message whose number of messages is limited.
pub(crate) trait Countable {
    /// Fields with messages.
    const SHAPE: &'static Shape;
}

/// Why a count ended early.
enum Stop {
    /// The decoder finds it, too, at the same place.
    Damage,
    TooMany,
}

impl From<DecodeError> for Stop {
    fn from(_: DecodeError) -> Self {
        Self::Damage
    }
}

/// Returns whether an encoded message has more messages in it than a limit, as far as it is
/// undamaged.
pub(crate) fn has_more_messages<M: Countable>(bytes: &[u8], max: usize) -> bool {
    let mut left = max;
    matches!(count(bytes, M::SHAPE, &mut left), Err(Stop::TooMany))
}

/// Subtracts the messages in a message from those that are left.
fn count(mut bytes: &[u8], shape: &Shape, left: &mut usize) -> Result<(), Stop> {
    while !bytes.is_empty() {
        let (number, wire) = decode_key(&mut bytes)?;
        let length = match wire {
            WireType::Varint => {
                decode_varint(&mut bytes)?;
                0
            }
            WireType::SixtyFourBit => 8,
            WireType::ThirtyTwoBit => 4,
            WireType::LengthDelimited => {
                usize::try_from(decode_varint(&mut bytes)?).map_err(|_| Stop::Damage)?
            }
            // HBase's messages have none, and the decoder skips one with an unknown number.
            WireType::StartGroup => {
                skip_field(wire, number, &mut bytes, DecodeContext::default())?;
                0
            }
            WireType::EndGroup => return Err(Stop::Damage),
        };
        let (field, rest) = bytes.split_at_checked(length).ok_or(Stop::Damage)?;
        let inner = shape.0.iter().find(|(of, _)| *of == number);
        if let (Some((_, inner)), WireType::LengthDelimited) = (inner, wire) {
            *left = left.checked_sub(1).ok_or(Stop::TooMany)?;
            count(field, inner, left)?;
        }
        bytes = rest;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tree;

    impl Countable for Tree {
        const SHAPE: &'static Shape = &Shape(&[(1, &Shape(&[(2, &LEAF)])), (3, &LEAF)]);
    }

    #[test]
    fn messages_of_all_levels_are_counted() {
        let cases: [(&[u8], usize); 9] = [
            (b"", 0),
            (b"\x0a\0\x0a\0", 2),
            (b"\x0a\x04\x12\0\x12\0", 3),
            // A field of bytes, numbers, and a number where a message is expected.
            (b"\x12\x02\x0a\0\x18\x01\x08\x05\x21........\x2d....", 0),
            (b"\x1a\0\x0a\x02\x12\0", 3),
            // The message ends early: the decoder finds it.
            (b"\x0a\0\x0a\x7f", 1),
            // Groups are skipped, with groups and messages in them; this one is not ended.
            (b"\x53\x54\x0a\0", 1),
            (b"\x53\x0a\0\x5b\x08\x05\x5c\x54\x0a\x02\x53\x54\x0a\0", 2),
            (b"\x0a\0\x53\x0a\0\x0a\0", 1),
        ];
        for (bytes, messages) in cases {
            assert!(!has_more_messages::<Tree>(bytes, messages), "{bytes:?}");
            let less = messages.checked_sub(1);
            assert!(less.is_none_or(|less| has_more_messages::<Tree>(bytes, less)), "{bytes:?}");
        }
    }
}
