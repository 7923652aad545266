//! Plan as text: the ranges, decoded and as bytes, the fan-out, the order, and the conditions
//! checked per row.

use std::fmt::Write as _;
use std::ops::Bound;

use halite_types::RegionInfo;
use halite_types::key::to_string_binary;

use super::Plan;
use super::explained::{ExplainedJoin, ExplainedPlan, ExplainedRanges};
use super::note::PlanNote;
use super::query::{Condition, Predicate};
use super::range::{FixedSegment, FixedValue, KeyRange};
use super::serving::{Question, serving_key};
use super::walk::PrefixWalk;
use crate::literal::{LiteralDisplay, printable};
use crate::schema::{KeySchema, SegmentKind};
use crate::value::{FieldType, Value};

/// Maximum ranges printed in full; beyond it, only their number.
const MAX_PRINTED_RANGES: usize = 8;

impl Plan {
    /// Returns the plan in human-readable form. `regions` are those of the table, for counting the
    /// ones that are read; without them the output does not mention regions.
    pub fn explain(&self, regions: &[RegionInfo]) -> String {
        self.explained(regions).to_string()
    }

    /// Returns the parts of [`Plan::explain`].
    pub fn explained(&self, regions: &[RegionInfo]) -> ExplainedPlan {
        let touched = |region: &&RegionInfo| {
            self.ranges().any(|range| range.touches(&region.start, &region.end))
        };
        let read = regions.iter().filter(touched).count();
        let order = self.order.iter().map(|term| term.display(&self.schema).to_string());
        let mut ranges = Vec::new();
        self.explain_ranges(&mut ranges);
        let queries = if self.is_union { self.parts.len() } else { 0 };
        ExplainedPlan {
            gets: self.points().map(|points| points.len()),
            ranges: self.ranges().count(),
            fan_out: self.fan_out(),
            regions: (!regions.is_empty()).then_some((read, regions.len())),
            order: order.collect(),
            is_merged: self.branches.len() > 1,
            checks: self.checks(),
            limit: self.query.limit,
            is_limit_of_ranges: !self.has_residual(),
            notes: self.notes.iter().map(|note| self.format_note(note)).collect(),
            serves: self.serving_key(),
            shown: ranges,
            more_queries: queries.saturating_sub(MAX_PRINTED_RANGES),
            joined: self.explain_joined(),
        }
    }

    /// Returns a key that would narrow a query for which the whole table is read; `None` for other
    /// plans, and for a query of all rows.
    pub fn serving_key(&self) -> Option<KeySchema> {
        let is_full = !self.is_union && self.is_full_scan();
        let question = Question::of_key(&self.schema, &self.query.conditions);
        if is_full { serving_key(&self.schema, &question) } else { None }
    }

    /// Returns the conditions that are checked in each row.
    fn checks(&self) -> String {
        let all = |conditions: Vec<&Condition>| {
            let texts: Vec<_> =
                conditions.iter().map(|condition| describe(&self.schema, condition)).collect();
            texts.join(" AND ")
        };
        let of = |plan: &Self| match all(plan.own_residual().collect()) {
            none if none.is_empty() => "nothing".to_owned(),
            conditions => conditions,
        };
        let mut checks = Vec::new();
        let has_own = self.own_residual().next().is_some();
        let in_parts = self.parts.iter().any(|part| part.plan.own_residual().next().is_some());
        if in_parts || self.is_widened {
            let parts: Vec<_> =
                self.parts.iter().take(MAX_PRINTED_RANGES).map(|part| of(&part.plan)).collect();
            checks.push(format!("by query: {}", parts.join(" | ")));
        } else if has_own {
            checks.push(of(self));
        }
        for any in &*self.checked {
            let terms: Vec<_> = any
                .of
                .terms
                .iter()
                .take(MAX_PRINTED_RANGES)
                .map(|term| all(term.iter().collect()))
                .collect();
            checks.push(format!("one of {}: {}", any.of.terms.len(), terms.join(" | ")));
        }
        if checks.is_empty() { "nothing".to_owned() } else { checks.join("; ") }
    }

    /// Adds the ranges of the plan, or of its first queries.
    fn explain_ranges(&self, to: &mut Vec<ExplainedRanges>) {
        if !self.is_union {
            return self.explain_own_ranges(None, to);
        }
        for (at, part) in self.parts.iter().enumerate().take(MAX_PRINTED_RANGES) {
            part.plan.explain_own_ranges(Some((at + 1, self.parts.len())), to);
        }
    }

    /// Returns what the ranges of several queries come to, if they are not all of them: of those
    /// that touch, one is read.
    fn explain_joined(&self) -> Option<ExplainedJoin> {
        let of_parts: usize = self.parts.iter().map(|part| part.plan.ranges().count()).sum();
        let ranges = self.ranges().count();
        (self.is_union && ranges != of_parts).then(|| ExplainedJoin {
            ranges,
            keys: self.ranges().take(MAX_PRINTED_RANGES).map(physical).collect(),
        })
    }

    /// Adds the ranges of one query. `of` tells which of several it is.
    fn explain_own_ranges(&self, of: Option<(usize, usize)>, to: &mut Vec<ExplainedRanges>) {
        if self.constraints.is_empty() {
            to.extend(of.map(|of| ExplainedRanges { of: Some(of), ..ExplainedRanges::default() }));
            return;
        }
        let mut walk =
            PrefixWalk::new(&self.schema, &self.constraints, &self.options).with_fixed_segments();
        walk.run();
        let branches = super::branches(walk);
        let printed = branches.iter().flat_map(|branch| &branch.ranges).take(MAX_PRINTED_RANGES);
        to.push(ExplainedRanges {
            of,
            ranges: printed.map(|range| (self.logical(range), physical(range))).collect(),
            more: self.ranges().count().saturating_sub(MAX_PRINTED_RANGES),
        });
    }

    /// Returns the known values of the keys of a range, and the conditions on the following
    /// segment.
    fn logical(&self, range: &KeyRange) -> String {
        let mut known: Vec<_> =
            range.fixed_segments.iter().map(|pin| self.format_fixed_segment(pin)).collect();
        if let (Some(last), Some(text)) =
            (range.last_fixed_segments.as_ref().and_then(|pins| pins.last()), known.last_mut())
        {
            write!(text, " to {}", self.format_fixed_segment(last)).unwrap_or_default();
        }
        let next = range.fixed_segments.last().map_or(0, |pin| pin.segment + 1);
        let stop = self.schema.segments()[next..].iter().find_map(|segment| segment.kind.field());
        let conditions =
            self.query.conditions.iter().filter(|condition| Some(condition.field) == stop);
        known.extend(conditions.map(|condition| describe(&self.schema, condition)));
        if known.is_empty() { "every key".into() } else { known.join(", ") }
    }

    fn format_fixed_segment(&self, pin: &FixedSegment) -> String {
        let kind = &self.schema.segments()[pin.segment].kind;
        let name = kind.field().map_or("", |field| &self.schema.fields()[field].name);
        let ty = kind.field().map_or(FieldType::Bytes, |field| self.schema.fields()[field].ty);
        match (&pin.value, kind) {
            (FixedValue::Salt(salt), _) => format!("salt {salt}"),
            (FixedValue::Derived(bytes), SegmentKind::Salt { .. }) => {
                let salt = self.schema.salt_in(pin.segment, bytes);
                format!(
                    "salt {}",
                    salt.map_or_else(|| to_string_binary(bytes), |salt| salt.to_string())
                )
            }
            (FixedValue::Derived(bytes), _) => format!("hash {}", to_string_binary(bytes)),
            (FixedValue::Value(value), SegmentKind::Bucket { width, .. }) => {
                match super::constraint::integer(value) {
                    Some(number) => {
                        format!("bucket {} of {name}", number.div_euclid(i128::from(*width)))
                    }
                    None => format!("bucket of {name} null"),
                }
            }
            (FixedValue::Value(value), _) => format!("{name} = {}", LiteralDisplay(value, ty)),
        }
    }

    fn format_note(&self, note: &PlanNote) -> String {
        let name = |field: usize| &self.schema.fields()[field].name;
        let of = |segment: usize| {
            self.schema.segments()[segment].kind.field().map_or("", |field| name(field))
        };
        match note {
            PlanNote::FullScan => {
                "Q-FULL: nothing in front of the key is known, so the whole table is read".into()
            }
            PlanNote::HashRange { segment } => {
                let by: Vec<_> = self
                    .schema
                    .hashed_fields(*segment)
                    .iter()
                    .map(|&field| name(field).as_str())
                    .collect();
                format!(
                    "Q-HASHRANGE: the key has a hash of {}, so conditions on later fields narrow \
                     nothing unless that field is given completely",
                    by.join(", ")
                )
            }
            PlanNote::TooManyValues { field, values } => {
                format!(
                    "{values} values of {} are more than a plan has ranges: one range from the \
                     first to the last of them",
                    name(*field)
                )
            }
            PlanNote::SkipScan { segment, distinct } => {
                format!("skip scan: about {distinct} values of {}, each looked up", of(*segment))
            }
            PlanNote::NoSkip { field, why } => {
                format!("no skip scan over {}: {}", name(*field), why.text(name(*field)))
            }
            PlanNote::EverySalt { salts, .. } => {
                format!("every one of {salts} salts is read, because no condition tells which")
            }
            PlanNote::TrimBuckets { field } => {
                format!(
                    "{} is in the key as its bucket: leave out cells of the first and last one by \
                     their offset",
                    name(*field)
                )
            }
        }
    }
}

fn physical(range: &KeyRange) -> String {
    let start = match &range.range.start {
        Bound::Included(key) => format!("[{}", to_string_binary(key)),
        Bound::Excluded(key) => format!("({}", to_string_binary(key)),
        Bound::Unbounded => "[".into(),
    };
    let end = match &range.range.end {
        Bound::Included(key) => format!("{}]", to_string_binary(key)),
        Bound::Excluded(key) => format!("{})", to_string_binary(key)),
        Bound::Unbounded => ")".into(),
    };
    match range.point() {
        Some(key) => format!("= {}", to_string_binary(key)),
        None => format!("{start} .. {end}"),
    }
}

fn describe(schema: &KeySchema, condition: &Condition) -> String {
    let field = &schema.fields()[condition.field];
    let (name, ty) = (&field.name, field.ty);
    let shown = |value: &Value<'_>| LiteralDisplay(value, ty).to_string();
    match &condition.predicate {
        Predicate::Equals(value) => format!("{name} = {}", shown(value)),
        Predicate::In(values) if values.len() > MAX_PRINTED_RANGES => {
            format!("{name} IN ({} values)", values.len())
        }
        Predicate::In(values) => {
            format!("{name} IN ({})", values.iter().map(shown).collect::<Vec<_>>().join(", "))
        }
        Predicate::Range { low, high } => {
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
            if low.is_empty() && high.is_empty() {
                format!("{name} IS NOT NULL")
            } else {
                format!("{low}{and}{high}")
            }
        }
        Predicate::Prefix(prefix) => {
            let text = std::str::from_utf8(prefix).ok().filter(|_| ty.is_text());
            format!("{name} LIKE '{}%'", text.map_or_else(|| to_string_binary(prefix), printable))
        }
        Predicate::IsNull => format!("{name} IS NULL"),
        Predicate::NotNull => format!("{name} IS NOT NULL"),
    }
}
