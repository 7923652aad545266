//! What keys are assumed to begin with when nobody has seen any: an alphabet, evenly used.

use std::fmt;

use halite_types::Bytes;

use crate::schema::{KeySchema, Order, Profile, SegmentKind};
use crate::value::FieldType;

/// How the bytes in front of keys are distributed: every letter of an alphabet in every place alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyModel {
    /// Any byte: digests, UUIDs, integers over the whole of their type.
    Bytes,
    /// The digits 0 to 9: reversed phone numbers, reversed ids.
    Digits,
    /// Lower-case hexadecimal digits.
    HexDigits,
    /// Digits and lower-case letters.
    Letters,
}

impl KeyModel {
    /// The letters, ascending.
    fn alphabet(self) -> Vec<u8> {
        match self {
            Self::Bytes => (0..=255).collect(),
            Self::Digits => b"0123456789".to_vec(),
            Self::HexDigits => b"0123456789abcdef".to_vec(),
            Self::Letters => b"0123456789abcdefghijklmnopqrstuvwxyz".to_vec(),
        }
    }

    /// What a segment of a schema is taken to be; `None` if its values are not spread over its type: times, numbers that
    /// count something, floats.
    pub(super) fn of_segment(schema: &KeySchema, segment: usize) -> Option<Self> {
        let declared = schema.segments().get(segment)?;
        let ty = declared.kind.field().map(|field| schema.fields()[field].ty);
        let is_text_profile = schema.profile() == Profile::Text;
        match (&declared.kind, ty) {
            (SegmentKind::Hash { hex: true, .. }, _) => Some(Self::HexDigits),
            (SegmentKind::Hash { .. }, _) => Some(if is_text_profile { Self::HexDigits } else { Self::Bytes }),
            (SegmentKind::BitReverse(_), _) | (SegmentKind::Plain(_), Some(FieldType::Uuid)) if !is_text_profile => Some(Self::Bytes),
            (SegmentKind::Reverse(_), _) if declared.order == Order::Asc => Some(Self::Digits),
            (SegmentKind::Plain(_), Some(FieldType::String | FieldType::Char(_))) if declared.order == Order::Asc => Some(Self::Letters),
            _ => None,
        }
    }

    /// The keys that cut what the model has into `parts` equal parts, one fewer than these; they are as short as can be.
    pub(super) fn cuts(self, parts: u32) -> Vec<Bytes> {
        let alphabet = self.alphabet();
        let base = alphabet.len() as u128;
        // Three places more than tell the parts apart keep the error of the last one far below a part.
        let mut places = 3;
        while base.pow(places - 3) < u128::from(parts) {
            places += 1;
        }
        let range = base.pow(places);
        let cut = |part: u32| {
            let mut number = (range * u128::from(part)).div_ceil(u128::from(parts));
            let mut digits: Vec<u8> = std::iter::repeat_with(|| {
                let digit = number % base;
                number /= base;
                usize::try_from(digit).ok().and_then(|digit| alphabet.get(digit).copied()).unwrap_or_default()
            })
            .take(places as usize)
            .collect();
            digits.reverse();
            // Least letters at the end say nothing.
            while digits.len() > 1 && digits.last() == alphabet.first() {
                digits.pop();
            }
            Bytes::from(digits)
        };
        (1..parts).map(cut).collect()
    }
}

impl fmt::Display for KeyModel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Bytes => "bytes of any value",
            Self::Digits => "decimal digits",
            Self::HexDigits => "lower-case hexadecimal digits",
            Self::Letters => "digits and lower-case letters",
        })
    }
}
