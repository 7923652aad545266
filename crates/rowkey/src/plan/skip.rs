//! Skip scans: if a leading segment is open and has few values, each value is looked up, and the
//! gaps between them are not read.
//!
//! The values are found during the scan: the first remaining key contains the next value, the plan
//! for that value returns its ranges, and the lookup continues after all its keys.

use halite_types::RowRange;

use super::bounds::SegmentRef;
use super::constraint::Constraint;
use super::note::NoSkip;
use super::options::PlanOptions;
use super::range::KeyRange;
use super::walk::{PrefixWalk, Tail};
use super::{Plan, delimited};
use crate::error::{KeyError, KeyErrorKind};
use crate::schema::{FieldId, SegmentKind};

/// Step of a skip scan after finding a key.
#[derive(Clone, Debug, PartialEq)]
pub struct SkipStep {
    /// Ranges of the found value, in key order.
    pub ranges: Vec<KeyRange>,
    /// Common prefix of all keys with that value. The remaining keys are after it (before it in
    /// reverse).
    pub value_prefix: Vec<u8>,
}

/// Returns the segment to skip in, if a walk ended at an open one that has few values and
/// conditions after it.
pub(super) fn segment(walk: &PrefixWalk<'_>) -> Option<usize> {
    let (schema, segment) = (walk.schema, walk.fixed_count);
    let field = schema.segments().get(segment)?.kind.carries()?;
    let is_known_small = walk
        .options
        .distinct
        .iter()
        .any(|&(of, distinct)| of == field && distinct <= walk.options.limits.skip_distinct);
    let is_derived =
        |kind: &SegmentKind| matches!(kind, SegmentKind::Salt { .. } | SegmentKind::Hash { .. });
    // After a salt the rows of one value would have to be merged again.
    let rest_is_plain =
        !schema.segments()[segment..].iter().any(|segment| is_derived(&segment.kind));
    let is_open = walk.tail == Tail::Open && walk.constraints[field].is_open();
    (is_known_small
        && is_open
        && is_gathered(walk, segment)
        && rest_is_plain
        && walk.narrows_after(segment))
    .then_some(segment)
}

/// Returns `true` if keys of one value are adjacent: if they are between those of another, there is
/// no gap to skip.
fn is_gathered(walk: &PrefixWalk<'_>, segment: usize) -> bool {
    let place = SegmentRef { schema: walk.schema, options: walk.options, segment };
    (place.is_prefix_free() || delimited::ends_at_literal(walk.schema, segment))
        && !place.may_be_cut_off()
}

/// Returns the reason why a field's gaps are not skipped; `None` if they are, or if conditions
/// determine its values.
pub(super) fn why_not(
    walk: &PrefixWalk<'_>,
    skip: Option<usize>,
    field: FieldId,
    values: u64,
) -> Option<NoSkip> {
    let schema = walk.schema;
    let segment = schema.carrier(field);
    if skip.is_some() && skip == segment || !walk.constraints[field].is_open() {
        return None;
    }
    let Some(segment) = segment.filter(|&segment| {
        segment == walk.fixed_count && walk.tail == Tail::Open && walk.narrows_after(segment)
    }) else {
        return Some(NoSkip::NoGap);
    };
    if values > walk.options.limits.skip_distinct {
        return Some(NoSkip::Many);
    }
    Some(if is_gathered(walk, segment) { NoSkip::Derived } else { NoSkip::Delimiter })
}

impl Plan {
    /// Returns `true` if a range is read value by value of an open segment; then each range is read
    /// by [`Self::skip_step`].
    pub fn is_skip_scan(&self) -> bool {
        self.skip.is_some()
    }

    /// Returns the step after finding the first remaining key of a range.
    ///
    /// # Errors
    /// Bytes that are not a key of the schema, so that the value is unknown.
    pub fn skip_step(&self, range: &KeyRange, key: &[u8]) -> Result<SkipStep, KeyError> {
        let unsupported =
            || KeyError::new(0, 0, KeyErrorKind::Unsupported("the plan skips nothing"));
        let segment = self.skip.ok_or_else(unsupported)?;
        let field = self.schema.segments()[segment].kind.field().ok_or_else(unsupported)?;
        // Text ends at the literal after it.
        let last =
            if delimited::ends_at_literal(&self.schema, segment) { segment + 1 } else { segment };
        let end = self.schema.split_segments(key)?[last].end;
        let value = self
            .decode(key)?
            .get(field)
            .cloned()
            .map(crate::value::Value::into_owned)
            .ok_or_else(unsupported)?;
        let mut constraints = self.constraints.clone();
        constraints[field] = Constraint {
            values: Some(vec![value]),
            ..Constraint::any(self.schema.fields()[field].ty)
        };
        let options = PlanOptions { distinct: Vec::new(), ..self.options.clone() };
        let mut walk = PrefixWalk::new(&self.schema, &constraints, &options);
        walk.run();
        // If that plan is coarse, its ranges may extend beyond the keys of this value.
        let value_prefix = RowRange::prefix(key[..end].to_vec());
        let found = super::branches(walk).into_iter().flat_map(|branch| branch.ranges);
        let ranges =
            found.filter_map(|found| found.within(&range.range)?.within(&value_prefix)).collect();
        Ok(SkipStep { ranges, value_prefix: key[..end].to_vec() })
    }
}
