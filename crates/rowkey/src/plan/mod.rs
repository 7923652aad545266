//! Planner: converts conditions on fields to key ranges, with their branches, the order of the
//! rows, and the conditions to check in each row.
//!
//! `query.rs` defines the query. `constraint.rs` combines its conditions to one set of values per
//! field. `walk.rs` processes the segments from left to right and encodes the known ones, with the
//! bounds of `bounds.rs`; `range.rs` contains the result. `union.rs` joins several plans,
//! `alternatives.rs` plans conditions of which one of several holds, `groups.rs` finds the groups of
//! adjacent rows, `rows.rs` plans listed combinations of values, `serving.rs` proposes a key for a
//! query that the declared one does not serve. The planner does not read a table.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use halite_types::RowRange;
use smallvec::SmallVec;

use crate::codec::{DecodedKey, KeyBuf, NoResolver};
use crate::error::KeyError;
use crate::schema::{FieldId, KeySchema, Order, SegmentKind};
use crate::value::Value;

mod alternatives;
mod bounds;
mod constraint;
mod delimited;
mod encode;
mod error;
mod explain;
mod explained;
mod fingerprint;
mod groups;
mod note;
mod options;
mod order;
mod query;
mod range;
mod residual;
mod rows;
mod runs;
mod serving;
mod skip;
#[cfg(test)]
pub(crate) mod tests;
mod union;
mod walk;

pub use alternatives::{AnyOf, MAX_UNITED_QUERIES};
pub use error::PlanError;
pub use explained::{ExplainedJoin, ExplainedPlan, ExplainedRanges};
pub use groups::KeyGroups;
pub use note::{NoSkip, PlanNote};
pub use options::{PlanLimits, PlanOptions};
pub use order::{OrderTerm, OrderedBy};
pub use query::{Condition, KeyQuery, Predicate};
pub use range::KeyRange;
pub use serving::{Asked, Question, serving_key};
pub use skip::SkipStep;

use alternatives::CheckedAnyOf;
use constraint::Constraint;
pub(crate) use constraint::{from_integer, integer};
use union::UnionPart;
use walk::PrefixWalk;

/// Ranges of one salt or hash, in key order.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// Ranges, which do not overlap.
    pub ranges: Vec<KeyRange>,
    /// Bytes of the salts and hashes.
    derived: KeyBuf,
}

/// Plan of a query.
#[derive(Clone)]
pub struct Plan {
    schema: Arc<KeySchema>,
    options: PlanOptions,
    query: KeyQuery,
    constraints: Vec<Constraint>,
    branches: Vec<Branch>,
    /// For each field, `true` if the ranges contain exactly the values that its conditions permit.
    exact: Vec<bool>,
    order: Vec<OrderTerm>,
    skip: Option<usize>,
    notes: Vec<PlanNote>,
    /// Number of salts and hashes that merge keys omit.
    stripped: usize,
    /// `true` for a union, of which no query may be left.
    is_union: bool,
    /// Queries of a union that select something; empty for a single query.
    parts: Arc<[UnionPart]>,
    /// Conditions besides those of the queries, which are checked in each row.
    checked: Arc<[CheckedAnyOf]>,
    /// `true` if the ranges of a union contain keys that no query has in its ranges.
    is_widened: bool,
}

impl fmt::Debug for Plan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.explain(&[]))
    }
}

impl Plan {
    /// Plans a query.
    ///
    /// # Errors
    /// A condition that is invalid for its field.
    pub fn new(
        schema: &Arc<KeySchema>,
        query: &KeyQuery,
        options: &PlanOptions,
    ) -> Result<Self, PlanError> {
        let constraints = Constraint::for_fields(schema, &query.conditions)?;
        let mut walk = PrefixWalk::new(schema, &constraints, options);
        walk.run();
        if let Some(field) =
            (0..constraints.len()).find(|&field| !walk.exact[field] && schema.is_only_hashed(field))
        {
            return Err(PlanError::OnlyHashed { field: schema.fields()[field].name.clone() });
        }
        let skip = skip::segment(&walk);
        let order = order::order_of(&walk, query.reverse);
        let notes = notes(&walk, skip);
        let exact = std::mem::take(&mut walk.exact);
        let is_derived = |kind: &SegmentKind| {
            matches!(kind, SegmentKind::Salt { .. } | SegmentKind::Hash { .. })
        };
        let known = &schema.segments()[..walk.fixed_count];
        let stripped = known.iter().filter(|segment| is_derived(&segment.kind)).count();
        let branches = branches(walk);
        let (schema, options, query) = (Arc::clone(schema), options.clone(), query.clone());
        Ok(Self {
            schema,
            options,
            query,
            constraints,
            branches,
            exact,
            order,
            skip,
            notes,
            stripped,
            is_union: false,
            parts: Arc::default(),
            checked: Arc::default(),
            is_widened: false,
        })
    }

    /// Returns the schema.
    pub fn schema(&self) -> &Arc<KeySchema> {
        &self.schema
    }

    /// Returns the query.
    pub fn query(&self) -> &KeyQuery {
        &self.query
    }

    /// Returns the plan with another maximum number of rows.
    #[must_use]
    pub fn with_limit(mut self, rows: usize) -> Self {
        self.query.limit = Some(rows);
        self
    }

    /// Returns one branch for each salt or hash.
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// Returns all ranges of all branches.
    pub fn ranges(&self) -> impl Iterator<Item = &KeyRange> {
        self.branches.iter().flat_map(|branch| &branch.ranges)
    }

    /// Returns the plan of the same query for the rows of `part`.
    #[must_use]
    pub fn within(&self, part: &RowRange) -> Self {
        let cut = |branch: &Branch| {
            let ranges = branch.ranges.iter().filter_map(|range| range.clone().within(part));
            let ranges: Vec<KeyRange> = ranges.collect();
            (!ranges.is_empty()).then(|| Branch { ranges, derived: branch.derived.clone() })
        };
        Self { branches: self.branches.iter().filter_map(cut).collect(), ..self.clone() }
    }

    /// Returns the number of branches that are read and merged.
    pub fn fan_out(&self) -> usize {
        self.branches.len()
    }

    /// Returns the order of the rows when ranges are merged by [`KeyRange::merge_key`].
    pub fn order(&self) -> &[OrderTerm] {
        &self.order
    }

    /// Returns `true` if that is the `required` order, so that no sort is required.
    pub fn serves_order(&self, required: &[(FieldId, Order)]) -> bool {
        order::serves(&self.order, |field| self.pins(field), required, None)
    }

    /// As [`Self::serves_order`], for the points of a `SERIES` whose times are the field `time`.
    pub fn serves_order_of_points(&self, required: &[(FieldId, Order)], time: FieldId) -> bool {
        order::serves(&self.order, |field| self.pins(field), required, Some(time))
    }

    /// Returns the notes.
    pub fn notes(&self) -> &[PlanNote] {
        &self.notes
    }

    /// Returns `true` if the whole table is read, since nothing in front of the key is known.
    pub fn is_full_scan(&self) -> bool {
        self.notes.contains(&PlanNote::FullScan)
    }

    /// Returns the conditions that rows of the ranges may not satisfy: they must be checked row by
    /// row with [`Self::admits_row`].
    pub fn residual(&self) -> impl Iterator<Item = &Condition> {
        let parts = self.parts.iter().flat_map(|part| part.plan.own_residual());
        let checked = self.checked.iter().flat_map(|any| any.of.terms.iter().flatten());
        self.own_residual().chain(parts).chain(checked)
    }

    fn own_residual(&self) -> impl Iterator<Item = &Condition> {
        self.query.conditions.iter().filter(|condition| !self.exact[condition.field])
    }

    /// Returns `true` if rows must be checked.
    pub fn has_residual(&self) -> bool {
        self.is_widened || self.residual().next().is_some()
    }

    /// Returns `true` if a decoded row of the ranges satisfies all conditions. In a union the
    /// conditions that its ranges express are not checked again; use [`Self::admits_row`].
    pub fn admits(&self, row: &DecodedKey<'_>) -> bool {
        if !self.checked.iter().all(|any| any.admits(&self.schema, row)) {
            return false;
        }
        if self.is_union {
            return self.parts.iter().any(|part| part.plan.admits(row));
        }
        residual::admits(&self.schema, &self.constraints, &self.exact, row)
    }

    /// Returns `true` if the conditions on one field allow a value of it.
    pub fn admits_value(&self, field: FieldId, value: &Value<'_>) -> bool {
        if self.is_union {
            return self.parts.iter().any(|part| part.plan.admits_value(field, value));
        }
        let constraint = self.constraints.get(field);
        constraint.is_some_and(|constraint| constraint.is_open() || constraint.admits(value))
    }

    /// Decodes a key with the plan's dictionaries.
    ///
    /// # Errors
    /// Bytes that are not a key of the schema.
    pub fn decode<'k>(&self, key: &'k [u8]) -> Result<DecodedKey<'k>, KeyError> {
        match &self.options.resolver {
            Some(helper) => self.schema.decode_with(key, &**helper),
            None => self.schema.decode_with(key, &NoResolver),
        }
    }

    /// Returns `true` if the plan is a list of complete keys.
    pub fn is_points(&self) -> bool {
        self.ranges().all(|range| range.point().is_some())
    }

    /// Returns the keys to get if the plan is a list of complete keys: gets are cheaper than scans.
    pub fn points(&self) -> Option<Vec<halite_types::Bytes>> {
        self.ranges().map(|range| range.point().cloned()).collect()
    }
}

/// Groups ranges by their derived bytes; each branch is sorted, and adjacent ranges are merged.
fn branches(walk: PrefixWalk<'_>) -> Vec<Branch> {
    let tail = walk.tail;
    let mut by_derived: BTreeMap<KeyBuf, SmallVec<[walk::KeyPrefix<'_>; 1]>> = BTreeMap::new();
    for mut start in walk.prefixes {
        by_derived.entry(std::mem::take(&mut start.derived)).or_default().push(start);
    }
    let branch = |(derived, mut starts): (KeyBuf, SmallVec<[walk::KeyPrefix<'_>; 1]>)| {
        starts.sort_by(|a, b| a.bytes.cmp(&b.bytes));
        // Values of one bucket have the same start if the walk ended before their segment.
        starts.dedup_by(|a, b| a.bytes == b.bytes);
        let mut ranges: Vec<KeyRange> = Vec::with_capacity(starts.len());
        for range in starts.into_iter().filter_map(|start| KeyRange::from_prefix(start, &tail)) {
            if !ranges.last_mut().is_some_and(|last| last.absorb(&range)) {
                ranges.push(range);
            }
        }
        Branch { ranges, derived }
    };
    by_derived.into_iter().map(branch).filter(|branch| !branch.ranges.is_empty()).collect()
}

fn notes(walk: &PrefixWalk<'_>, skip: Option<usize>) -> Vec<PlanNote> {
    let mut notes = walk.notes.clone();
    let schema = walk.schema;
    for &(segment, salts) in &walk.enumerated_salts {
        notes.push(PlanNote::EverySalt { segment, salts });
    }
    for (field, constraint) in walk.constraints.iter().enumerate() {
        let is_bucket = |kind: &SegmentKind| matches!(kind, SegmentKind::Bucket { field: of, .. } if *of == field);
        let only_bucket = schema.carrier(field).is_none()
            && schema.segments().iter().any(|segment| is_bucket(&segment.kind));
        if only_bucket && !constraint.is_open() {
            notes.push(PlanNote::TrimBuckets { field });
        }
    }
    match skip {
        Some(segment) => {
            let field = schema.segments()[segment].kind.field();
            let distinct = walk
                .options
                .distinct
                .iter()
                .find(|(of, _)| Some(*of) == field)
                .map_or(0, |(_, distinct)| *distinct);
            notes.push(PlanNote::SkipScan { segment, distinct });
        }
        None if walk.is_everything() => notes.push(PlanNote::FullScan),
        None => {}
    }
    let unused = walk.options.distinct.iter().filter_map(|&(field, values)| {
        Some(PlanNote::NoSkip { field, why: skip::why_not(walk, skip, field, values)? })
    });
    notes.extend(unused);
    notes
}
