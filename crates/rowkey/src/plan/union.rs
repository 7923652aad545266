//! Union of several queries as one plan: each row that one of them selects, once.
//!
//! Ranges of one salt that touch or overlap are joined. A row belongs to the result if one of the
//! queries has it in its ranges and admits it, so the conditions of a query are never checked for
//! rows of another.

use std::collections::BTreeMap;
use std::sync::Arc;

use halite_types::RowRange;

use super::order::OrderTerm;
use super::range::KeyRange;
use super::{Branch, KeyQuery, Plan, PlanError, PlanNote, PlanOptions};
use crate::codec::{DecodedKey, KeyBuf};
use crate::schema::{FieldId, KeySchema, SegmentKind};
use crate::value::Value;

/// One query of a union.
#[derive(Clone)]
pub(super) struct UnionPart {
    pub(super) plan: Plan,
    /// Its ranges, in key order.
    ranges: Vec<RowRange>,
}

impl UnionPart {
    fn new(plan: Plan) -> Self {
        let mut ranges: Vec<RowRange> = plan.ranges().map(|range| range.range.clone()).collect();
        ranges.sort_by(|a, b| start_of(a).cmp(start_of(b)));
        Self { plan, ranges }
    }

    fn contains(&self, key: &[u8]) -> bool {
        let after = self.ranges.partition_point(|range| start_of(range) <= key);
        after.checked_sub(1).is_some_and(|at| self.ranges[at].contains(key))
    }
}

fn start_of(range: &RowRange) -> &[u8] {
    match &range.start {
        std::ops::Bound::Included(start) | std::ops::Bound::Excluded(start) => start,
        std::ops::Bound::Unbounded => &[],
    }
}

impl Plan {
    /// Plans the rows that at least one of the queries selects. Direction, limit and order are
    /// those of the queries, which must agree on them; the limit is that of the whole union. A
    /// union of no queries selects nothing. Skip scans are not used.
    ///
    /// # Errors
    /// As [`Self::new`], and [`PlanError::MixedUnion`] for queries that differ in more than their
    /// conditions.
    pub fn union(
        schema: &Arc<KeySchema>,
        queries: &[KeyQuery],
        options: &PlanOptions,
    ) -> Result<Self, PlanError> {
        let options = PlanOptions { distinct: Vec::new(), ..options.clone() };
        let [first, rest @ ..] = queries else {
            return Ok(Self::of_parts(schema, KeyQuery::all(), options, Vec::new()));
        };
        let rules = |query: &KeyQuery| (query.reverse, query.limit, query.ordered);
        if rest.iter().any(|query| rules(query) != rules(first)) {
            return Err(PlanError::MixedUnion);
        }
        if rest.is_empty() {
            return Self::new(schema, first, &options);
        }
        let query = KeyQuery { conditions: Vec::new(), ..first.clone() };
        Self::of_queries(schema, query, queries, options)
    }

    /// Returns the union of queries that agree on all but their conditions; `query` has those
    /// that all of them have.
    pub(super) fn of_queries(
        schema: &Arc<KeySchema>,
        query: KeyQuery,
        queries: &[KeyQuery],
        options: PlanOptions,
    ) -> Result<Self, PlanError> {
        let parts = queries
            .iter()
            .map(|query| Self::new(schema, query, &options).map(UnionPart::new))
            .filter(|part| part.as_ref().map_or(true, |part| !part.ranges.is_empty()))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self::of_parts(schema, query, options, parts))
    }

    /// Returns the union of plans, of which those without a range are none.
    pub(super) fn of_plans(&self, plans: Vec<Self>) -> Self {
        let parts = plans.into_iter().map(UnionPart::new);
        let parts = parts.filter(|part| !part.ranges.is_empty()).collect();
        let union = Self::of_parts(&self.schema, self.query.clone(), self.options.clone(), parts);
        Self { checked: Arc::clone(&self.checked), ..union }
    }

    fn of_parts(
        schema: &Arc<KeySchema>,
        query: KeyQuery,
        options: PlanOptions,
        parts: Vec<UnionPart>,
    ) -> Self {
        let mut notes: Vec<PlanNote> = Vec::new();
        for note in parts.iter().flat_map(|part| &part.plan.notes) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        let (branches, order) = merged(schema, &parts);
        let mut plan = Self {
            schema: Arc::clone(schema),
            query,
            constraints: Vec::new(),
            exact: vec![true; schema.fields().len()],
            stripped: parts.iter().map(|part| part.plan.stripped).min().unwrap_or_default(),
            branches,
            order,
            skip: None,
            notes,
            is_union: true,
            parts: parts.into(),
            checked: Arc::default(),
            is_widened: false,
            options,
        };
        plan.limit_ranges();
        plan
    }

    /// Replaces ranges with one sort key by one range if there are more than the limit.
    fn limit_ranges(&mut self) {
        let most = usize::try_from(self.options.limits.ranges).unwrap_or(usize::MAX);
        if self.ranges().count() <= most {
            return;
        }
        for branch in &mut self.branches {
            let mut kept: Vec<KeyRange> = Vec::new();
            for range in branch.ranges.drain(..) {
                match kept.last_mut().filter(|last| last.is_like(&range)) {
                    Some(last) => self.is_widened |= last.cover(&range),
                    None => kept.push(range),
                }
            }
            branch.ranges = kept;
        }
    }

    /// Returns `true` if a row of the ranges satisfies the conditions: those of a query that has
    /// its key in its ranges.
    pub fn admits_row(&self, key: &[u8], row: &DecodedKey<'_>) -> bool {
        if !self.is_union {
            return self.admits(row);
        }
        self.parts.iter().any(|part| part.contains(key) && part.plan.admits(row))
            && self.checked.iter().all(|any| any.admits(&self.schema, row))
    }

    /// Returns the queries of a union that select something, or the only one.
    pub fn queries(&self) -> impl Iterator<Item = &KeyQuery> {
        let own = (!self.is_union).then_some(&self.query);
        own.into_iter().chain(self.parts.iter().map(|part| &part.plan.query))
    }

    /// Returns `true` if all rows have one value of the field.
    pub fn pins(&self, field: FieldId) -> bool {
        let single = |plan: &Self| -> Option<Value<'static>> {
            plan.constraints.get(field)?.single().cloned().map(Value::into_owned)
        };
        match &self.parts[..] {
            [] => single(self).is_some(),
            [first, rest @ ..] => single(&first.plan).is_some_and(|value| {
                rest.iter().all(|part| {
                    single(&part.plan).is_some_and(|other| other.compare(&value).is_eq())
                })
            }),
        }
    }
}

/// Returns the joined ranges by their salts and hashes, and the order of their rows.
fn merged(schema: &KeySchema, parts: &[UnionPart]) -> (Vec<Branch>, Vec<OrderTerm>) {
    let Some((first, rest)) = parts.split_first() else { return (Vec::new(), Vec::new()) };
    let is_even = rest.iter().all(|part| part.plan.stripped == first.plan.stripped);
    if is_even
        && let Some(branches) = joined(parts, |branch| branch.derived.clone(), KeyRange::clone)
    {
        return (branches, first.plan.order.clone());
    }
    // Rows are compared by the whole key if not all queries know the same salts and hashes.
    let whole = joined(parts, |_| KeyBuf::new(), KeyRange::by_whole_key);
    let is_derived =
        |kind: &SegmentKind| matches!(kind, SegmentKind::Salt { .. } | SegmentKind::Hash { .. });
    let derived = schema.segments().iter().position(|segment| is_derived(&segment.kind));
    let before = |term: &&OrderTerm| derived.is_none_or(|derived| term.segment < derived);
    (whole.unwrap_or_default(), first.plan.order.iter().filter(before).cloned().collect())
}

/// Returns the ranges of all parts, joined in each group; `None` if ranges of two groups, or ranges
/// that cannot be joined, have keys in common.
fn joined(
    parts: &[UnionPart],
    group: impl Fn(&Branch) -> KeyBuf,
    range: impl Fn(&KeyRange) -> KeyRange,
) -> Option<Vec<Branch>> {
    let mut groups: BTreeMap<KeyBuf, Vec<KeyRange>> = BTreeMap::new();
    for branch in parts.iter().flat_map(|part| &part.plan.branches) {
        groups.entry(group(branch)).or_default().extend(branch.ranges.iter().map(&range));
    }
    let branches: Vec<Branch> = groups
        .into_iter()
        .map(|(derived, mut ranges)| {
            ranges.sort_by(|a, b| start_of(&a.range).cmp(start_of(&b.range)));
            let mut kept: Vec<KeyRange> = Vec::with_capacity(ranges.len());
            for range in ranges {
                if !kept.last_mut().is_some_and(|last| last.join(&range)) {
                    kept.push(range);
                }
            }
            Branch { ranges: kept, derived }
        })
        .collect();
    let mut all: Vec<&KeyRange> = branches.iter().flat_map(|branch| &branch.ranges).collect();
    all.sort_by(|a, b| start_of(&a.range).cmp(start_of(&b.range)));
    let is_apart = all.windows(2).all(|pair| !pair[0].overlaps(pair[1]));
    is_apart.then_some(branches)
}
