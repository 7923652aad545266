//! Assumed distribution of the first bytes of keys: an alphabet with uniform frequencies.

use std::fmt;

use halite_types::Bytes;

use crate::codec::KeyBuf;
use crate::plan::from_integer;
use crate::schema::{KeySchema, Order, Profile, Segment, SegmentKind};
use crate::value::{FieldType, Value};

/// Distribution of the first bytes of keys: every letter of an alphabet is equally frequent at
/// every position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyModel {
    /// Any byte: digests, UUIDs, integers over the whole range of their type.
    Bytes,
    /// The digits 0 to 9: reversed phone numbers, reversed ids.
    Digits,
    /// Lower-case hexadecimal digits.
    HexDigits,
    /// Digits and lower-case letters.
    Letters,
}

impl KeyModel {
    /// Returns the letters in ascending order.
    fn alphabet(self) -> Vec<u8> {
        match self {
            Self::Bytes => (0..=255).collect(),
            Self::Digits => b"0123456789".to_vec(),
            Self::HexDigits => b"0123456789abcdef".to_vec(),
            Self::Letters => b"0123456789abcdefghijklmnopqrstuvwxyz".to_vec(),
        }
    }

    /// Returns the model of a segment; `None` if its values are not spread over its type: times,
    /// numbers that count something, floats.
    fn for_segment(schema: &KeySchema, segment: &Segment) -> Option<Self> {
        let ty = segment.kind.field().map(|field| schema.fields()[field].ty);
        let in_text = schema.profile() == Profile::Text;
        let is_ascending = segment.order == Order::Asc;
        let is_number = |ty: FieldType| {
            ty.integer_range().is_some() && !matches!(ty, FieldType::Timestamp(_) | FieldType::Date)
        };
        match (&segment.kind, ty) {
            (SegmentKind::Hash { hex: true, .. }, _) => Some(Self::HexDigits),
            (SegmentKind::Hash { .. }, _) => {
                Some(if in_text { Self::HexDigits } else { Self::Bytes })
            }
            (SegmentKind::BitReverse(_), _)
            | (SegmentKind::Plain(_) | SegmentKind::Reverse(_), Some(FieldType::Uuid))
                if !in_text =>
            {
                Some(Self::Bytes)
            }
            // The last bytes of numbers that count something are spread evenly, and so are the last
            // digits.
            (SegmentKind::Reverse(_), Some(ty)) if !in_text && is_number(ty) => Some(Self::Bytes),
            (SegmentKind::Reverse(_), Some(ty))
                if is_ascending && (ty.is_text() || in_text && is_number(ty)) =>
            {
                Some(Self::Digits)
            }
            (SegmentKind::Plain(_), Some(FieldType::String | FieldType::Char(_)))
                if is_ascending =>
            {
                Some(Self::Letters)
            }
            _ => None,
        }
    }

    /// Returns `true` if the bytes between `first` and `last` are those of the model at each
    /// position.
    fn spans(self, first: u8, last: u8) -> bool {
        let alphabet = self.alphabet();
        alphabet.first() == Some(&first) && alphabet.last() == Some(&last)
    }

    /// Returns the shortest keys that split the model's keys into `parts` equal parts, one fewer
    /// than `parts`.
    pub(super) fn cuts(self, parts: u32) -> Vec<Bytes> {
        let alphabet = self.alphabet();
        let base = alphabet.len() as u128;
        // Three positions more than required to distinguish the parts keep the error of the last
        // one far below one part.
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
                usize::try_from(digit)
                    .ok()
                    .and_then(|digit| alphabet.get(digit).copied())
                    .unwrap_or_default()
            })
            .take(places as usize)
            .collect();
            digits.reverse();
            // The lowest letter at the end is redundant.
            while digits.len() > 1 && digits.last() == alphabet.first() {
                digits.pop();
            }
            Bytes::from(digits)
        };
        (1..parts).map(cut).collect()
    }
}

/// First bytes of keys, or the bytes after a salt.
pub(super) struct Beginning {
    /// Bytes common to all keys whose first field is not null: constants, and markers of a type or
    /// a value.
    head: Vec<u8>,
    /// Distribution of the following bytes, if the schema permits an assumption.
    pub(super) assumed: Option<KeyModel>,
    /// First segment that is not a constant.
    pub(super) segment: usize,
}

impl Beginning {
    /// Returns the beginning of the segments from `from` on.
    pub(super) fn from_schema(schema: &KeySchema, from: usize) -> Self {
        let mut head = Vec::new();
        for (at, segment) in schema.segments().iter().enumerate().skip(from) {
            if let SegmentKind::Const(bytes) = &segment.kind {
                head.extend_from_slice(bytes);
                continue;
            }
            let model = KeyModel::for_segment(schema, segment);
            let Some(ends) = ends_of_values(schema, at) else {
                return Self { head, assumed: model, segment: at };
            };
            let same =
                ends.low.iter().zip(&ends.high).take_while(|(low, high)| low == high).count();
            head.extend_from_slice(&ends.low[..same]);
            let fits = |model: &KeyModel| matches!((ends.low.get(same), ends.high.get(same)), (Some(&low), Some(&high)) if model.spans(low, high));
            return Self { head, assumed: model.filter(fits), segment: at };
        }
        Self { head, assumed: None, segment: 0 }
    }

    /// Returns the keys that split the values after the head into `parts` equal parts.
    pub(super) fn cuts(&self, model: KeyModel, parts: u32) -> impl Iterator<Item = Bytes> {
        model.cuts(parts).into_iter().map(|cut| Bytes::from([&self.head[..], &cut[..]].concat()))
    }
}

/// Least and greatest encoding of sample values of a segment.
struct Ends {
    low: Vec<u8>,
    high: Vec<u8>,
}

/// Encodes values, some of which are at each end of the segment's byte range, to determine the
/// bytes before them in the profile. Returns `None` if there are none: in text, for derived
/// segments, and for types without a model.
fn ends_of_values(schema: &KeySchema, segment: usize) -> Option<Ends> {
    let field =
        schema.segments()[segment].kind.field().filter(|_| schema.profile() != Profile::Text)?;
    let ty = schema.fields()[field].ty;
    let is_reversed = matches!(schema.segments()[segment].kind, SegmentKind::Reverse(_));
    let text = |letter: &str| Value::Text(letter.repeat(ty.fixed_bytes().unwrap_or(1)).into());
    let values: Vec<Value<'static>> = match ty {
        FieldType::String | FieldType::Char(_) => {
            vec![text("0"), text(if is_reversed { "9" } else { "z" })]
        }
        FieldType::Uuid => vec![Value::Uuid([0; 16]), Value::Uuid([0xff; 16])],
        // These values remain least and greatest with reversed bits and bytes; the sign is the
        // first bit.
        _ => {
            let (least, greatest) = ty.integer_range()?;
            let signs = [0, 1, -2, 0x80, !0x80, least, greatest];
            signs.into_iter().filter_map(|number| from_integer(ty, number)).collect()
        }
    };
    let encoded = values.iter().map(|value| {
        let mut bytes = KeyBuf::new();
        schema.encode_segment(segment, value, &mut bytes).ok().map(|()| bytes.to_vec())
    });
    let encoded = encoded.collect::<Option<Vec<_>>>()?;
    Some(Ends { low: encoded.iter().min()?.clone(), high: encoded.into_iter().max()? })
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
