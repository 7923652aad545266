//! A plan as text: what is read, decoded and as bytes, from how many places, in which order, and what is looked at again.

use std::fmt::{self, Write as _};
use std::ops::Bound;

use halite_types::RegionInfo;
use halite_types::key::print_bytes;

use super::query::{Condition, Test};
use super::range::{KeyRange, Pin, PinValue};
use super::walk::Walk;
use super::{Note, Plan};
use crate::literal::{Shown, printable};
use crate::schema::{KeySchema, SegmentKind};
use crate::value::{FieldType, Value};

/// Ranges that are printed in full; of more, the number of the others.
const RANGES_SHOWN: usize = 8;

impl Plan {
    /// The plan for people. `regions` are those of the table, to count the ones that are read; without them nothing is said
    /// of regions.
    pub fn explain(&self, regions: &[RegionInfo]) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = self.write_head(&mut out, regions);
        let _ = self.write_ranges(&mut out);
        out
    }

    fn write_head(&self, out: &mut String, regions: &[RegionInfo]) -> fmt::Result {
        let ranges = self.ranges().count();
        match self.points() {
            _ if ranges == 0 => return writeln!(out, "reads    nothing: no key meets all of these conditions"),
            Some(points) => writeln!(out, "gets     {}", points.len())?,
            None => writeln!(out, "ranges   {ranges}")?,
        }
        writeln!(out, "fan-out  {}", self.fan_out())?;
        if !regions.is_empty() {
            let touched = regions.iter().filter(|region| self.ranges().any(|range| range.touches(&region.start, &region.end)));
            writeln!(out, "regions  {} of {}", touched.count(), regions.len())?;
        }
        let order: Vec<_> = self.order.iter().map(|term| term.display(&self.schema).to_string()).collect();
        let how = if self.branches.len() > 1 { " (merged)" } else { "" };
        match order.as_slice() {
            [] => writeln!(out, "order    none: rows come in the order of a hash")?,
            terms => writeln!(out, "order    {}{how}", terms.join(", "))?,
        }
        let residual: Vec<_> = self.residual().map(|condition| describe(&self.schema, condition)).collect();
        writeln!(out, "check    {}", if residual.is_empty() { "nothing".into() } else { residual.join(" AND ") })?;
        if let Some(limit) = self.query.limit {
            writeln!(out, "limit    {limit}{}", if self.has_residual() { "" } else { ", in each range" })?;
        }
        self.notes.iter().try_for_each(|note| writeln!(out, "note     {}", self.note(note)))
    }

    fn write_ranges(&self, out: &mut String) -> fmt::Result {
        let mut walk = Walk::new(&self.schema, &self.constraints, &self.options).with_pins();
        walk.run();
        for range in super::branches(walk).iter().flat_map(|branch| &branch.ranges).take(RANGES_SHOWN) {
            writeln!(out, "  {}", self.logical(range))?;
            writeln!(out, "    {}", physical(range))?;
        }
        match self.ranges().count() {
            more if more > RANGES_SHOWN => writeln!(out, "  and {} more", more - RANGES_SHOWN),
            _ => Ok(()),
        }
    }

    /// What is known of the keys of a range, and the conditions on the segment behind that.
    fn logical(&self, range: &KeyRange) -> String {
        let mut known: Vec<_> = range.pins.iter().map(|pin| self.pin(pin)).collect();
        if let (Some(last), Some(text)) = (range.last_pins.as_ref().and_then(|pins| pins.last()), known.last_mut()) {
            write!(text, " to {}", self.pin(last)).unwrap_or_default();
        }
        let next = range.pins.last().map_or(0, |pin| pin.segment + 1);
        let stop = self.schema.segments()[next..].iter().find_map(|segment| segment.kind.field());
        let conditions = self.query.conditions.iter().filter(|condition| Some(condition.field) == stop);
        known.extend(conditions.map(|condition| describe(&self.schema, condition)));
        if known.is_empty() { "every key".into() } else { known.join(", ") }
    }

    fn pin(&self, pin: &Pin) -> String {
        let kind = &self.schema.segments()[pin.segment].kind;
        let name = kind.field().map_or("", |field| &self.schema.fields()[field].name);
        let ty = kind.field().map_or(FieldType::Bytes, |field| self.schema.fields()[field].ty);
        match (&pin.value, kind) {
            (PinValue::Salt(salt), _) => format!("salt {salt}"),
            (PinValue::Derived(bytes), SegmentKind::Salt { .. }) => {
                let salt = self.schema.salt_in(pin.segment, bytes);
                format!("salt {}", salt.map_or_else(|| print_bytes(bytes), |salt| salt.to_string()))
            }
            (PinValue::Derived(bytes), _) => format!("hash {}", print_bytes(bytes)),
            (PinValue::Value(value), SegmentKind::Bucket { width, .. }) => match super::constraint::integer(value) {
                Some(number) => format!("bucket {} of {name}", number.div_euclid(i128::from(*width))),
                None => format!("bucket of {name} null"),
            },
            (PinValue::Value(value), _) => format!("{name} = {}", Shown(value, ty)),
        }
    }

    fn note(&self, note: &Note) -> String {
        let name = |field: usize| &self.schema.fields()[field].name;
        let of = |segment: usize| self.schema.segments()[segment].kind.field().map_or("", |field| name(field));
        match note {
            Note::FullScan => "Q-FULL: nothing in front of the key is known, so the whole table is read".into(),
            Note::HashRange { segment } => {
                let by: Vec<_> = self.schema.hashed_fields(*segment).iter().map(|&field| name(field).as_str()).collect();
                format!("Q-HASHRANGE: the key has a hash of {}, so conditions behind it narrow nothing unless that is given whole", by.join(", "))
            }
            Note::TooManyValues { field, values } => {
                format!("{values} values of {} are more than a plan has ranges: one range from the first to the last of them", name(*field))
            }
            Note::SkipScan { segment, distinct } => format!("skip scan: about {distinct} values of {}, each looked up", of(*segment)),
            Note::NoSkip { field, why } => format!("no skip scan over {}: {}", name(*field), why.text(name(*field))),
            Note::EverySalt { salts, .. } => format!("every one of {salts} salts is read, because no condition tells which"),
            Note::TrimBuckets { field } => {
                format!("{} is in the key as its bucket: leave out cells of the first and last one by their offset", name(*field))
            }
        }
    }
}

fn physical(range: &KeyRange) -> String {
    let start = match &range.range.start {
        Bound::Included(key) => format!("[{}", print_bytes(key)),
        Bound::Excluded(key) => format!("({}", print_bytes(key)),
        Bound::Unbounded => "[".into(),
    };
    let end = match &range.range.end {
        Bound::Included(key) => format!("{}]", print_bytes(key)),
        Bound::Excluded(key) => format!("{})", print_bytes(key)),
        Bound::Unbounded => ")".into(),
    };
    match range.point() {
        Some(key) => format!("= {}", print_bytes(key)),
        None => format!("{start} .. {end}"),
    }
}

fn describe(schema: &KeySchema, condition: &Condition) -> String {
    let field = &schema.fields()[condition.field];
    let (name, ty) = (&field.name, field.ty);
    let shown = |value: &Value<'_>| Shown(value, ty).to_string();
    match &condition.test {
        Test::Equals(value) => format!("{name} = {}", shown(value)),
        Test::In(values) if values.len() > RANGES_SHOWN => format!("{name} IN ({} values)", values.len()),
        Test::In(values) => format!("{name} IN ({})", values.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Test::Range { low, high } => {
            let low = match low {
                Bound::Included(low) => format!("{name} >= {}", shown(low)),
                Bound::Excluded(low) => format!("{name} > {}", shown(low)),
                Bound::Unbounded => String::new(),
            };
            let high = match high {
                Bound::Included(high) => format!("{name} <= {}", shown(high)),
                Bound::Excluded(high) => format!("{name} < {}", shown(high)),
                Bound::Unbounded => String::new(),
            };
            let and = if low.is_empty() || high.is_empty() { "" } else { " AND " };
            if low.is_empty() && high.is_empty() { format!("{name} IS NOT NULL") } else { format!("{low}{and}{high}") }
        }
        Test::Prefix(prefix) => {
            let text = std::str::from_utf8(prefix).ok().filter(|_| ty.is_text());
            format!("{name} LIKE '{}%'", text.map_or_else(|| print_bytes(prefix), printable))
        }
        Test::IsNull => format!("{name} IS NULL"),
        Test::NotNull => format!("{name} IS NOT NULL"),
    }
}
