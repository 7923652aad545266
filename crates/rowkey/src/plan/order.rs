//! Order of the rows of a plan, in terms of the fields.

use std::fmt;

use super::walk::PrefixWalk;
use crate::language::print_width;
use crate::schema::{FieldId, KeySchema, Order, SegmentKind};

/// Term of an order: rows are sorted by the first term, rows equal in it by the second, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderTerm {
    /// Segment by whose bytes the rows are sorted.
    pub segment: usize,
    /// Field of the segment.
    pub field: FieldId,
    /// Sort direction, including the direction of the query.
    pub order: Order,
    /// Part of the field that determines the order.
    pub by: OrderedBy,
}

/// Part of a field that determines an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderedBy {
    /// Its values, in the order of [`Value::compare`](crate::Value::compare).
    Value,
    /// Its values in part: rows of one bucket or one prefix are equal.
    Part,
    /// Bytes of the segment, which do not sort as the values: reversed digits, dictionary ids,
    /// delimited text.
    Bytes,
}

/// Returns the order of the result of `walk`, as far as it is known. Salts and hashes that are
/// equal in all keys of a range are ignored, because ranges are merged without them. Others end it.
pub(super) fn order_of(walk: &PrefixWalk<'_>, reverse: bool) -> Vec<OrderTerm> {
    let schema = walk.schema;
    let mut terms = Vec::new();
    for (segment, declared) in schema.segments().iter().enumerate() {
        let Some(field) = declared.kind.field() else {
            let is_derived = !matches!(declared.kind, SegmentKind::Const(_));
            if is_derived && segment >= walk.fixed_count {
                break;
            }
            continue;
        };
        let by = match (&declared.kind, schema.keeps_order(segment)) {
            (SegmentKind::Bucket { .. } | SegmentKind::Trunc { .. }, true) => OrderedBy::Part,
            (_, true) => OrderedBy::Value,
            (_, false) => OrderedBy::Bytes,
        };
        let order = if reverse { opposite(declared.order) } else { declared.order };
        terms.push(OrderTerm { segment, field, order, by });
    }
    terms
}

fn opposite(order: Order) -> Order {
    match order {
        Order::Asc => Order::Desc,
        Order::Desc => Order::Asc,
    }
}

/// Returns `true` if rows in the order of `terms` are in the order of `required`. Fields for which
/// `pinned` returns `true` have a single value, so they change no order. A row of a `SERIES` holds
/// the values of the field `in_row` in a part of it, in either order.
pub(super) fn serves(
    terms: &[OrderTerm],
    pinned: impl Fn(FieldId) -> bool,
    required: &[(FieldId, Order)],
    in_row: Option<FieldId>,
) -> bool {
    let mut required = required.iter().filter(|(field, _)| !pinned(*field)).peekable();
    let mut terms = terms.iter().filter(|term| !pinned(term.field)).peekable();
    while let Some(&&(field, order)) = required.peek() {
        let Some(term) = terms.next() else { return false };
        if term.field != field || term.order != order {
            return false;
        }
        match term.by {
            OrderedBy::Value => drop(required.next()),
            // If no other field tells rows of a part apart, it is one row.
            OrderedBy::Part if in_row == Some(field) => {
                required.next();
                return required.peek().is_none() && terms.next().is_none();
            }
            // Its buckets are sorted; the next term determines the order within a bucket.
            OrderedBy::Part => {}
            OrderedBy::Bytes => return false,
        }
    }
    true
}

impl OrderTerm {
    /// Returns the term in the notation of the language, such as `ts DESC` or `REVERSE(phone)`.
    pub fn display<'s>(&'s self, schema: &'s KeySchema) -> impl fmt::Display + 's {
        fmt::from_fn(move |out| {
            let name = &schema.fields()[self.field].name;
            match &schema.segments()[self.segment].kind {
                SegmentKind::Bucket { width, .. } => write!(
                    out,
                    "BUCKET({name}, {})",
                    print_width(*width, schema.fields()[self.field].ty)
                )?,
                SegmentKind::Trunc { bytes, .. } => write!(out, "TRUNC({name}, {bytes})")?,
                SegmentKind::Reverse(_) => write!(out, "REVERSE({name})")?,
                SegmentKind::BitReverse(_) => write!(out, "BITREV({name})")?,
                SegmentKind::Dict { bytes, .. } => write!(out, "DICT({name}, {bytes})")?,
                SegmentKind::Ipv4(_) => write!(out, "IPV4({name})")?,
                _ if self.by == OrderedBy::Bytes => write!(out, "bytes of {name}")?,
                _ => out.write_str(name)?,
            }
            if self.order == Order::Desc { out.write_str(" DESC") } else { Ok(()) }
        })
    }
}
