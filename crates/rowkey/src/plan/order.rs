//! The order in which the rows of a plan come, in terms of the fields.

use std::fmt;

use super::walk::Walk;
use crate::language::print_width;
use crate::schema::{FieldId, KeySchema, Order, SegmentKind};

/// Rows come ordered by the first term, rows alike in it by the second, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderTerm {
    /// The segment whose bytes the rows are ordered by.
    pub segment: usize,
    /// Its field.
    pub field: FieldId,
    /// Which way, with the direction of the query.
    pub order: Order,
    /// What of the field the order is of.
    pub by: OrderedBy,
}

/// What of a field an order is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderedBy {
    /// Its values, as [`Value::compare`](crate::Value::compare) says.
    Value,
    /// Its values in part: rows of one bucket, or of one beginning, are alike.
    Part,
    /// The bytes of the segment, which do not follow the values: reversed digits, dictionary ids, delimited text.
    Bytes,
}

/// The order of what `walk` found, as far as it goes. Salts and hashes that are the same in all keys of a range do not count:
/// ranges are merged by what is left. Others end it.
pub(super) fn order_of(walk: &Walk<'_>, reverse: bool) -> Vec<OrderTerm> {
    let schema = walk.schema;
    let mut terms = Vec::new();
    for (segment, declared) in schema.segments().iter().enumerate() {
        let Some(field) = declared.kind.field() else {
            let is_derived = !matches!(declared.kind, SegmentKind::Const(_));
            if is_derived && segment >= walk.pinned {
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

/// Whether rows in the order of `terms` are in the order of `wanted`. Fields of `pinned` have one value only, so that they
/// change no order.
pub(super) fn serves(terms: &[OrderTerm], pinned: impl Fn(FieldId) -> bool, wanted: &[(FieldId, Order)]) -> bool {
    let mut wanted = wanted.iter().filter(|(field, _)| !pinned(*field)).peekable();
    let mut terms = terms.iter().filter(|term| !pinned(term.field)).peekable();
    while let Some(&&(field, order)) = wanted.peek() {
        let Some(term) = terms.next() else { return false };
        if term.field != field || term.order != order {
            return false;
        }
        match term.by {
            OrderedBy::Value => drop(wanted.next()),
            // Its buckets are in order; whether what is in one bucket is, the next term says.
            OrderedBy::Part => {}
            OrderedBy::Bytes => return false,
        }
    }
    true
}

impl OrderTerm {
    /// The term in the words of the language, like `ts DESC` or `REVERSE(phone)`.
    pub fn display<'s>(&'s self, schema: &'s KeySchema) -> impl fmt::Display + 's {
        fmt::from_fn(move |out| {
            let name = &schema.fields()[self.field].name;
            match &schema.segments()[self.segment].kind {
                SegmentKind::Bucket { width, .. } => write!(out, "BUCKET({name}, {})", print_width(*width, schema.fields()[self.field].ty))?,
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
