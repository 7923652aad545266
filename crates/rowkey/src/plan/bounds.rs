//! Effect of a constraint on the bytes of one segment: values, a span, or no restriction.
//!
//! A bound is a cut between the values of a field, before or after all keys that have one value. In
//! descending order the bytes sort in reverse, so a cut before a value is after its bytes; no other
//! swap of bounds is required.

use std::ops::Bound;

use halite_types::key::{successor_of_prefix, successor_of_row};
use smallvec::SmallVec;

use super::constraint::{Constraint, Values, from_integer, integer};
use super::options::PlanOptions;
use crate::codec::KeyBuf;
use crate::schema::{KeySchema, Order, Profile, SegmentKind};
use crate::value::{FieldType, Value};

/// Bytes of a segment in sort order, each with the source value.
pub(super) type EncodedValues<'a> = SmallVec<[(KeyBuf, Value<'a>); 1]>;

/// Remaining range of a segment.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SegmentRange<'a> {
    /// Only these bytes.
    Values(EncodedValues<'a>),
    /// From `low` (inclusive) to `high` (exclusive), both relative to the preceding bytes.
    Span { low: Vec<u8>, high: Option<Vec<u8>>, exact: bool },
    /// Everything; `exact` if that matches the constraint.
    Open { exact: bool },
}

/// Segment of a schema, and the relation of its bytes to the values of its field.
#[derive(Clone, Copy)]
pub(super) struct SegmentRef<'a> {
    pub(super) schema: &'a KeySchema,
    pub(super) options: &'a PlanOptions,
    pub(super) segment: usize,
}

impl SegmentRef<'_> {
    fn kind(&self) -> &SegmentKind {
        &self.schema.segments()[self.segment].kind
    }

    fn is_desc(&self) -> bool {
        self.schema.segments()[self.segment].order == Order::Desc
    }

    fn is_last(&self) -> bool {
        self.segment + 1 == self.schema.segments().len()
    }

    pub(super) fn is_nullable(&self) -> bool {
        self.schema.segments()[self.segment].nullable
    }

    /// Returns `true` if null has an encoding that sorts before (in descending order after) those
    /// of all values.
    pub(super) fn null_has_bytes(&self) -> bool {
        self.schema.profile() == Profile::Bin
    }

    /// Returns `true` if the segment is text that ends at the literal of another segment, whose
    /// order is not that of the values: `user_10_` sorts before `user_1_`.
    fn is_delimited_text(&self) -> bool {
        let segment = &self.schema.segments()[self.segment];
        self.schema.profile() == Profile::Text
            && segment.order == Order::Asc
            && matches!(segment.kind, SegmentKind::Plain(field) if self.schema.fields()[field].ty == FieldType::String)
            && !self.is_last()
    }

    /// Returns `true` if a key may end without the end of this segment: Phoenix omits trailing
    /// nulls and the separator before them.
    pub(super) fn may_be_cut_off(&self) -> bool {
        let rest = &self.schema.segments()[self.segment + 1..];
        self.schema.profile() == Profile::Phoenix
            && !rest.is_empty()
            && rest.iter().all(|segment| segment.nullable)
    }

    /// Returns `true` if only keys of a value begin with its bytes. Delimited text may contain its
    /// delimiter if the following bytes distinguish them: `x` and `x_y` both begin with `x_`.
    pub(super) fn is_prefix_free(&self) -> bool {
        let segment = &self.schema.segments()[self.segment];
        let has_width = || match segment.kind {
            SegmentKind::Plain(field) | SegmentKind::Reverse(field) => {
                matches!(self.schema.fields()[field].ty, FieldType::Char(_) | FieldType::Fixed(_))
            }
            _ => false,
        };
        self.schema.profile() != Profile::Text
            || self.is_last()
            || !segment.nullable && (segment.digits.is_some() || has_width())
    }

    pub(super) fn encode(&self, value: &Value<'_>) -> Option<KeyBuf> {
        super::encode::segment(self.schema, self.options, self.segment, value)
    }

    /// Returns the range of the segment under `constraint`.
    pub(super) fn range<'c>(
        &self,
        constraint: &'c Constraint,
        is_carried_elsewhere: bool,
    ) -> SegmentRange<'c> {
        if constraint.is_open() {
            return SegmentRange::Open { exact: true };
        }
        let takes_null = self.is_nullable() && constraint.admits(&Value::Null);
        let is_encodable = super::encode::is_encodable(self.schema, self.options, self.segment);
        if takes_null && !self.null_has_bytes() || self.may_be_cut_off() || !is_encodable {
            return SegmentRange::Open { exact: false };
        }
        if let Some(values) = &constraint.values {
            return SegmentRange::Values(self.encoded_values(values, is_carried_elsewhere));
        }
        if self.is_delimited_text() {
            return self.delimited_span(constraint);
        }
        if self.schema.keeps_order(self.segment) {
            self.span(constraint)
        } else {
            SegmentRange::Open { exact: false }
        }
    }

    /// Returns the bytes of listed values; a value that no key can have is omitted.
    fn encoded_values<'c>(
        &self,
        values: &'c [Value<'static>],
        keep_all: bool,
    ) -> EncodedValues<'c> {
        let values = values.iter().filter(|value| self.is_nullable() || !value.is_null());
        let mut listed: EncodedValues<'c> =
            values.filter_map(|value| Some((self.encode(value)?, value.borrowed()))).collect();
        listed.sort_by(|a, b| a.0.cmp(&b.0));
        if !keep_all {
            listed.dedup_by(|a, b| a.0 == b.0);
        }
        listed
    }

    fn span<'c>(&self, constraint: &'c Constraint) -> SegmentRange<'c> {
        let is_in_part = matches!(self.kind(), SegmentKind::Trunc { .. });
        let mut exact = !is_in_part;
        let mut cut = |bound: &Bound<Value<'static>>, is_low: bool| {
            let fitting = match bound {
                Bound::Included(value) => self.fitting(value, !is_low),
                Bound::Excluded(value) => self.fitting(value, is_low),
                Bound::Unbounded if is_low && self.is_nullable() && self.null_has_bytes() => {
                    Some((Value::Null, true))
                }
                Bound::Unbounded => {
                    exact &= !(is_low && self.is_nullable());
                    return None;
                }
            };
            // Values with the same bytes as the bound are on both sides of it.
            let place = fitting.and_then(|(value, is_after)| {
                self.cut(&value, if is_in_part && !value.is_null() { !is_low } else { is_after })
            });
            exact &= place.is_some();
            place
        };
        let (low, high) = (cut(&constraint.low, true), cut(&constraint.high, false));
        let (low, high) = if self.is_desc() { (high, low) } else { (low, high) };
        // A cut after the last possible bytes has no upper bound, and leaves nothing as a lower
        // bound.
        let Some(low) = low.unwrap_or(Cut::At(Vec::new())).into_bytes() else {
            return SegmentRange::Values(EncodedValues::new());
        };
        SegmentRange::Span { low, high: high.and_then(Cut::into_bytes), exact }
    }

    /// Returns the start or the end of the keys of `value`; `None` if no key can have it.
    fn cut(&self, value: &Value<'_>, is_after: bool) -> Option<Cut> {
        let bytes = self.encode(value)?;
        Some(if is_after == self.is_desc() {
            Cut::At(bytes.to_vec())
        } else {
            self.end_after(&bytes).map_or(Cut::End, Cut::At)
        })
    }

    /// Returns `true` if the segment ends only at the end of the key, as raw text in the last one.
    fn is_open_ended(&self) -> bool {
        let segment = &self.schema.segments()[self.segment];
        let has_width = match segment.kind {
            _ if self.schema.profile() == Profile::Text => {
                segment.digits.is_some() && !segment.nullable
            }
            SegmentKind::Bucket { .. }
            | SegmentKind::Trunc { .. }
            | SegmentKind::Dict { .. }
            | SegmentKind::Ipv4(_) => true,
            ref kind => kind
                .field()
                .is_some_and(|field| self.schema.fields()[field].ty.fixed_bytes().is_some()),
        };
        self.is_last() && !has_width
    }

    /// Returns the end of the keys with these bytes of one value. Raw text at the end of a key may
    /// be a prefix of other text.
    pub(super) fn end_after(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.is_open_ended() {
            Some(successor_of_row(bytes))
        } else {
            successor_of_prefix(bytes)
        }
    }

    /// Returns a bound of the field's width, and `true` if the cut is after it: text of fixed width
    /// is also compared with shorter and longer text, such as a prefix.
    fn fitting(&self, value: &Value<'static>, is_after: bool) -> Option<(Value<'static>, bool)> {
        let field = self.kind().field()?;
        let (FieldType::Char(width) | FieldType::Fixed(width)) = self.schema.fields()[field].ty
        else {
            return Some((value.clone(), is_after));
        };
        let width = usize::from(width);
        match value {
            Value::Text(text) if text.len() < width => Some((
                Value::Text(format!("{text}{}", "\0".repeat(width - text.len())).into()),
                false,
            )),
            Value::Text(text) if text.len() > width => {
                Some((Value::Text(text.get(..width)?.to_owned().into()), true))
            }
            Value::Bytes(bytes) if bytes.len() < width => {
                let mut bytes = bytes.to_vec();
                bytes.resize(width, 0);
                Some((Value::Bytes(bytes.into()), false))
            }
            Value::Bytes(bytes) if bytes.len() > width => {
                Some((Value::Bytes(bytes[..width].to_vec().into()), true))
            }
            _ => Some((value.clone(), is_after)),
        }
    }

    /// Returns a span that contains all text of a range that ends at a literal. A prefix of the
    /// upper bound may sort after that bound with its literal, so the span extends to the last of
    /// those.
    fn delimited_span<'c>(&self, constraint: &'c Constraint) -> SegmentRange<'c> {
        let raw = |bound: &Bound<Value<'static>>| match bound {
            Bound::Included(Value::Text(text)) | Bound::Excluded(Value::Text(text)) => {
                Some(text.as_bytes().to_vec())
            }
            _ => None,
        };
        let low = raw(&constraint.low).unwrap_or_default();
        let Some(SegmentKind::Const(literal)) =
            self.schema.segments().get(self.segment + 1).map(|next| &next.kind)
        else {
            return SegmentRange::Open { exact: false };
        };
        let high = raw(&constraint.high).map(|bound| {
            let longest = if matches!(constraint.high, Bound::Included(_)) {
                bound.len() + 1
            } else {
                bound.len()
            };
            let beginnings =
                (0..longest).map(|bytes| &bound[..bytes]).filter(|text| **text >= low[..]);
            let ends = beginnings.filter_map(|text| successor_of_prefix(&[text, literal].concat()));
            ends.max().map_or(bound.clone(), |end| end.max(bound.clone()))
        });
        SegmentRange::Span { low, high, exact: false }
    }

    /// Returns the buckets or the integers of a range as values with separate bytes; `None` if
    /// there are more than `most`.
    pub(super) fn enumerate<'c>(
        &self,
        constraint: &'c Constraint,
        most: u64,
    ) -> Option<Values<'c>> {
        let SegmentKind::Bucket { field, width } = *self.kind() else {
            return constraint.enumerate(most, self.is_nullable());
        };
        let (Bound::Included(low), Bound::Included(high)) = (&constraint.low, &constraint.high)
        else {
            return None;
        };
        let width = i128::from(width);
        let (first, last) = (integer(low)?.div_euclid(width), integer(high)?.div_euclid(width));
        if last - first >= i128::from(most) {
            return None;
        }
        let ty = self.schema.fields()[field].ty;
        // The first bucket may begin below the minimum of the type, which then replaces it.
        (first..=last).map(|bucket| from_integer(ty, (bucket * width).max(integer(low)?))).collect()
    }
}

/// Position between the bytes of a segment, or after all of them.
enum Cut {
    At(Vec<u8>),
    End,
}

impl Cut {
    fn into_bytes(self) -> Option<Vec<u8>> {
        match self {
            Self::At(bytes) => Some(bytes),
            Self::End => None,
        }
    }
}
