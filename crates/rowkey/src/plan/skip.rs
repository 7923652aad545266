//! Skip scans: where a segment in front is open and has few values, each value is looked up, and the gaps between are not read.
//!
//! Which values there are shows while reading: the first key of what is left tells the next value, the plan for that value
//! says what to read of it, and what lies behind all its keys is where to look next.

use halite_types::RowRange;

use super::bounds::Place;
use super::constraint::Constraint;
use super::range::KeyRange;
use super::walk::{Tail, Walk};
use super::{Plan, PlanOptions, delimited};
use crate::error::{Cause, KeyError};
use crate::schema::{FieldId, SegmentKind};

/// What one key of a skip scan leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct SkipStep {
    /// What to read of the value that was found, in the order of the keys.
    pub ranges: Vec<KeyRange>,
    /// The first bytes that all keys of that value have. What is left lies behind them (before them in reverse).
    pub value_prefix: Vec<u8>,
}

/// The segment to skip in, if a walk ended at an open one that has few values and conditions behind it.
pub(super) fn segment(walk: &Walk<'_>) -> Option<usize> {
    let (schema, segment) = (walk.schema, walk.pinned);
    let field = schema.segments().get(segment)?.kind.carries()?;
    let is_known_small = walk.options.distinct.iter().any(|&(of, distinct)| of == field && distinct <= walk.options.limits.skip_distinct);
    let is_derived = |kind: &SegmentKind| matches!(kind, SegmentKind::Salt { .. } | SegmentKind::Hash { .. });
    // Behind a salt the rows of one value would have to be merged once more.
    let rest_is_plain = !schema.segments()[segment..].iter().any(|segment| is_derived(&segment.kind));
    let is_open = walk.tail == Tail::Open && walk.constraints[field].is_open();
    (is_known_small && is_open && is_gathered(walk, segment) && rest_is_plain && walk.narrows_behind(segment)).then_some(segment)
}

/// Whether keys of one value lie together: where they lie between those of another there is no gap to skip.
fn is_gathered(walk: &Walk<'_>, segment: usize) -> bool {
    let place = Place { schema: walk.schema, options: walk.options, segment };
    (place.is_prefix_free() || delimited::ends_at_literal(walk.schema, segment)) && !place.may_be_cut_off()
}

/// Why the gaps of a field are not skipped whose number of values is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoSkip {
    /// It has more values than a skip scan looks up.
    Many,
    /// It is not the first segment that the conditions leave open, or nothing behind it is narrowed by knowing it.
    NoGap,
    /// Its text may hold the delimiter that ends it, so that keys of one value lie between those of another.
    Delimiter,
    /// A salt or a hash follows it.
    Derived,
}

impl NoSkip {
    pub(super) fn text(self, name: &str) -> String {
        match self {
            Self::Many => "it has too many values to look each of them up".to_owned(),
            Self::NoGap => "there is no gap between its values that the conditions let out".to_owned(),
            Self::Delimiter => {
                format!("its text may hold the delimiter behind it; if it never does, declare WHERE {name} MATCHES '[^_]+' with that delimiter")
            }
            Self::Derived => "a salt or a hash follows it".to_owned(),
        }
    }
}

/// Why a field's gaps are not skipped; `None` if they are, or if conditions give its values.
pub(super) fn why_not(walk: &Walk<'_>, skip: Option<usize>, field: FieldId, values: u64) -> Option<NoSkip> {
    let schema = walk.schema;
    let segment = schema.carrier(field);
    if skip.is_some() && skip == segment || !walk.constraints[field].is_open() {
        return None;
    }
    let Some(segment) = segment.filter(|&segment| segment == walk.pinned && walk.tail == Tail::Open && walk.narrows_behind(segment)) else {
        return Some(NoSkip::NoGap);
    };
    if values > walk.options.limits.skip_distinct {
        return Some(NoSkip::Many);
    }
    Some(if is_gathered(walk, segment) { NoSkip::Derived } else { NoSkip::Delimiter })
}

impl Plan {
    /// Whether reading a range goes from value to value of an open segment; then each range is read by [`Self::skip_step`].
    pub fn is_skip_scan(&self) -> bool {
        self.skip.is_some()
    }

    /// What the first key that is left of a range leads to.
    ///
    /// # Errors
    /// The bytes are no key of the schema, so that no value can be told.
    pub fn skip_step(&self, range: &KeyRange, key: &[u8]) -> Result<SkipStep, KeyError> {
        let unsupported = || KeyError::new(0, 0, Cause::Unsupported("the plan skips nothing"));
        let segment = self.skip.ok_or_else(unsupported)?;
        let field = self.schema.segments()[segment].kind.field().ok_or_else(unsupported)?;
        // The literal behind a text is what ends it.
        let last = if delimited::ends_at_literal(&self.schema, segment) { segment + 1 } else { segment };
        let end = self.schema.split_segments(key)?[last].end;
        let value = self.decode(key)?.get(field).cloned().map(crate::value::Value::into_owned).ok_or_else(unsupported)?;
        let mut constraints = self.constraints.clone();
        constraints[field] = Constraint { values: Some(vec![value]), ..Constraint::any(self.schema.fields()[field].ty) };
        let options = PlanOptions { distinct: Vec::new(), ..self.options.clone() };
        let mut walk = Walk::new(&self.schema, &constraints, &options);
        walk.run();
        // Where that plan had to be coarse it may reach beyond the keys of this value.
        let value_prefix = RowRange::prefix(key[..end].to_vec());
        let found = super::branches(walk).into_iter().flat_map(|branch| branch.ranges);
        let ranges = found.filter_map(|found| found.within(&range.range)?.within(&value_prefix)).collect();
        Ok(SkipStep { ranges, value_prefix: key[..end].to_vec() })
    }
}
