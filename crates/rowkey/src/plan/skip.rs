//! Skip scans: where a segment in front is open and has few values, each value is looked up, and the gaps between are not read.
//!
//! Which values there are shows while reading: the first key of what is left tells the next value, the plan for that value
//! says what to read of it, and what lies behind all its keys is where to look next.

use halite_types::RowRange;

use super::bounds::Place;
use super::constraint::Constraint;
use super::range::KeyRange;
use super::walk::{Tail, Walk};
use super::{Plan, PlanOptions};
use crate::error::{Cause, KeyError};
use crate::schema::SegmentKind;

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
    // Where keys of one value lie between those of another there is no gap to skip.
    let place = Place { schema, options: walk.options, segment };
    let is_gathered = place.is_prefix_free() && !place.may_be_cut_off();
    let is_open = walk.tail == Tail::Open && walk.constraints[field].is_open();
    (is_known_small && is_open && is_gathered && rest_is_plain && walk.narrows_behind(segment)).then_some(segment)
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
        let end = self.schema.split_segments(key)?[segment].end;
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
