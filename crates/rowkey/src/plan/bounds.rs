//! What a constraint on a field means for the bytes of one segment: values, a span, or nothing that can be used.
//!
//! A bound is a cut between the values of a field, before or behind all keys that have one value. In descending order the
//! bytes run the other way, so what is before in values is behind in bytes; that is the whole of "swap the bounds".

use std::ops::Bound;

use halite_types::key::{successor_of_prefix, successor_of_row};
use smallvec::SmallVec;

use super::PlanOptions;
use super::constraint::{Constraint, Values, from_integer, integer};
use crate::codec::KeyBuf;
use crate::schema::{KeySchema, Order, Profile, SegmentKind};
use crate::value::{FieldType, Value};

/// Bytes of a segment, in their order, each with the value it came from.
pub(super) type Listed<'a> = SmallVec<[(KeyBuf, Value<'a>); 1]>;

/// What is left of a segment.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reach<'a> {
    /// Only these bytes.
    Values(Listed<'a>),
    /// From `low` (included) to `high` (excluded), both behind what precedes the segment.
    Span { low: Vec<u8>, high: Option<Vec<u8>>, exact: bool },
    /// Everything; `exact` if that is what was asked for.
    Open { exact: bool },
}

/// A segment of a schema, and what its bytes have to do with the values of its field.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) schema: &'a KeySchema,
    pub(super) options: &'a PlanOptions,
    pub(super) segment: usize,
}

impl Place<'_> {
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

    /// Whether null has bytes of its own that come before (in descending order behind) those of all values.
    pub(super) fn null_has_bytes(&self) -> bool {
        self.schema.profile() == Profile::Bin
    }

    /// Whether it is text that another segment's literal ends, whose order is not that of the values: `user_10_` comes
    /// before `user_1_`.
    fn is_delimited_text(&self) -> bool {
        let segment = &self.schema.segments()[self.segment];
        self.schema.profile() == Profile::Text
            && segment.order == Order::Asc
            && matches!(segment.kind, SegmentKind::Plain(field) if self.schema.fields()[field].ty == FieldType::String)
            && !self.is_last()
    }

    /// Whether a key may end before this segment, or without what ends it: HBase's and Phoenix's trailing nulls.
    pub(super) fn may_be_cut_off(&self) -> bool {
        let rest = &self.schema.segments()[self.segment + 1..];
        self.schema.profile() == Profile::Phoenix && !rest.is_empty() && rest.iter().all(|segment| segment.nullable)
    }

    /// Whether only keys of a value begin with its bytes. Delimited text may hold its delimiter where what follows tells them
    /// apart: `x` and `x_y` both begin with `x_`.
    pub(super) fn is_prefix_free(&self) -> bool {
        let segment = &self.schema.segments()[self.segment];
        let has_width = || match segment.kind {
            SegmentKind::Plain(field) | SegmentKind::Reverse(field) => {
                matches!(self.schema.fields()[field].ty, FieldType::Char(_) | FieldType::Fixed(_))
            }
            _ => false,
        };
        self.schema.profile() != Profile::Text || self.is_last() || !segment.nullable && (segment.digits.is_some() || has_width())
    }

    pub(super) fn encode(&self, value: &Value<'_>) -> Option<KeyBuf> {
        super::encode::segment(self.schema, self.options, self.segment, value)
    }

    /// What `constraint` leaves of the segment.
    pub(super) fn reach<'c>(&self, constraint: &'c Constraint, is_carried_elsewhere: bool) -> Reach<'c> {
        if constraint.is_open() {
            return Reach::Open { exact: true };
        }
        let takes_null = self.is_nullable() && constraint.admits(&Value::Null);
        let is_encodable = super::encode::is_encodable(self.schema, self.options, self.segment);
        if takes_null && !self.null_has_bytes() || self.may_be_cut_off() || !is_encodable {
            return Reach::Open { exact: false };
        }
        if let Some(values) = &constraint.values {
            return Reach::Values(self.listed(values, is_carried_elsewhere));
        }
        if self.is_delimited_text() {
            return self.delimited_span(constraint);
        }
        if self.schema.keeps_order(self.segment) { self.span(constraint) } else { Reach::Open { exact: false } }
    }

    /// The bytes of listed values; a value that no key can have is left out.
    fn listed<'c>(&self, values: &'c [Value<'static>], keep_all: bool) -> Listed<'c> {
        let values = values.iter().filter(|value| self.is_nullable() || !value.is_null());
        let mut listed: Listed<'c> = values.filter_map(|value| Some((self.encode(value)?, value.borrowed()))).collect();
        listed.sort_by(|a, b| a.0.cmp(&b.0));
        if !keep_all {
            listed.dedup_by(|a, b| a.0 == b.0);
        }
        listed
    }

    fn span<'c>(&self, constraint: &'c Constraint) -> Reach<'c> {
        let is_in_part = matches!(self.kind(), SegmentKind::Trunc { .. });
        let mut exact = !is_in_part;
        let mut cut = |bound: &Bound<Value<'static>>, is_low: bool| {
            let fitting = match bound {
                Bound::Included(value) => self.fitting(value, !is_low),
                Bound::Excluded(value) => self.fitting(value, is_low),
                Bound::Unbounded if is_low && self.is_nullable() && self.null_has_bytes() => Some((Value::Null, true)),
                Bound::Unbounded => {
                    exact &= !(is_low && self.is_nullable());
                    return None;
                }
            };
            // What shares its bytes with the bound is on both sides of it.
            let place = fitting.and_then(|(value, is_after)| self.cut(&value, if is_in_part && !value.is_null() { !is_low } else { is_after }));
            exact &= place.is_some();
            place
        };
        let (low, high) = (cut(&constraint.low, true), cut(&constraint.high, false));
        let (low, high) = if self.is_desc() { (high, low) } else { (low, high) };
        // A cut behind the last possible bytes is open above, and leaves nothing below.
        let Some(low) = low.unwrap_or(Cut::At(Vec::new())).at() else { return Reach::Values(Listed::new()) };
        Reach::Span { low, high: high.and_then(Cut::at), exact }
    }

    /// Where the keys of `value` begin, or end: `None` if no key can have it.
    fn cut(&self, value: &Value<'_>, is_after: bool) -> Option<Cut> {
        let bytes = self.encode(value)?;
        Some(if is_after == self.is_desc() { Cut::At(bytes.to_vec()) } else { self.behind(&bytes).map_or(Cut::End, Cut::At) })
    }

    /// Whether nothing says where the segment ends but the end of the key, as with raw text in the last one.
    fn is_open_ended(&self) -> bool {
        let segment = &self.schema.segments()[self.segment];
        let has_width = match segment.kind {
            _ if self.schema.profile() == Profile::Text => segment.digits.is_some() && !segment.nullable,
            SegmentKind::Bucket { .. } | SegmentKind::Trunc { .. } | SegmentKind::Dict { .. } | SegmentKind::Ipv4(_) => true,
            ref kind => kind.field().is_some_and(|field| self.schema.fields()[field].ty.fixed_bytes().is_some()),
        };
        self.is_last() && !has_width
    }

    /// Where the keys with these bytes of one value end. Raw text at the end of a key may be the beginning of other text.
    pub(super) fn behind(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.is_open_ended() { Some(successor_of_row(bytes)) } else { successor_of_prefix(bytes) }
    }

    /// A bound of the field's width, and whether the cut is behind it: text of fixed width is compared with shorter and
    /// longer text too, a prefix among them.
    fn fitting(&self, value: &Value<'static>, is_after: bool) -> Option<(Value<'static>, bool)> {
        let field = self.kind().field()?;
        let (FieldType::Char(width) | FieldType::Fixed(width)) = self.schema.fields()[field].ty else {
            return Some((value.clone(), is_after));
        };
        let width = usize::from(width);
        match value {
            Value::Text(text) if text.len() < width => Some((Value::Text(format!("{text}{}", "\0".repeat(width - text.len())).into()), false)),
            Value::Text(text) if text.len() > width => Some((Value::Text(text.get(..width)?.to_owned().into()), true)),
            Value::Bytes(bytes) if bytes.len() < width => {
                let mut bytes = bytes.to_vec();
                bytes.resize(width, 0);
                Some((Value::Bytes(bytes.into()), false))
            }
            Value::Bytes(bytes) if bytes.len() > width => Some((Value::Bytes(bytes[..width].to_vec().into()), true)),
            _ => Some((value.clone(), is_after)),
        }
    }

    /// A span that holds all text of a range that a literal ends. A value that begins the upper bound may have its literal
    /// sort behind that bound, so the span reaches to the last of those.
    fn delimited_span<'c>(&self, constraint: &'c Constraint) -> Reach<'c> {
        let raw = |bound: &Bound<Value<'static>>| match bound {
            Bound::Included(Value::Text(text)) | Bound::Excluded(Value::Text(text)) => Some(text.as_bytes().to_vec()),
            _ => None,
        };
        let low = raw(&constraint.low).unwrap_or_default();
        let Some(SegmentKind::Const(literal)) = self.schema.segments().get(self.segment + 1).map(|next| &next.kind) else {
            return Reach::Open { exact: false };
        };
        let high = raw(&constraint.high).map(|bound| {
            let longest = if matches!(constraint.high, Bound::Included(_)) { bound.len() + 1 } else { bound.len() };
            let beginnings = (0..longest).map(|bytes| &bound[..bytes]).filter(|text| **text >= low[..]);
            let ends = beginnings.filter_map(|text| successor_of_prefix(&[text, literal].concat()));
            ends.max().map_or(bound.clone(), |end| end.max(bound.clone()))
        });
        Reach::Span { low, high, exact: false }
    }

    /// The buckets of a range, or the integers of one, as values of which each has bytes of its own; `None` if they are
    /// more than `most`.
    pub(super) fn enumerate<'c>(&self, constraint: &'c Constraint, most: u64) -> Option<Values<'c>> {
        let SegmentKind::Bucket { field, width } = *self.kind() else {
            return constraint.enumerate(most, self.is_nullable());
        };
        let (Bound::Included(low), Bound::Included(high)) = (&constraint.low, &constraint.high) else { return None };
        let width = i128::from(width);
        let (first, last) = (integer(low)?.div_euclid(width), integer(high)?.div_euclid(width));
        if last - first >= i128::from(most) {
            return None;
        }
        let ty = self.schema.fields()[field].ty;
        // The first bucket may begin below what the type has; its bound stands for it.
        (first..=last).map(|bucket| from_integer(ty, (bucket * width).max(integer(low)?))).collect()
    }
}

/// A place between the bytes of a segment, or behind all of them.
enum Cut {
    At(Vec<u8>),
    End,
}

impl Cut {
    fn at(self) -> Option<Vec<u8>> {
        match self {
            Self::At(bytes) => Some(bytes),
            Self::End => None,
        }
    }
}
