//! From conditions on fields to ranges of keys: which bytes to read, in how many branches, in which order the rows come, and
//! what has to be looked at again in each row.
//!
//! `query.rs` is what is asked. `constraint.rs` makes one set of values per field of it; `walk.rs` goes left to right through
//! the segments and turns what is known into bytes, with the bounds of `bounds.rs`; `range.rs` holds the result. Nothing here
//! reads a table.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::codec::{Decoded, KeyBuf, KeyHelper, NoHelper};
use crate::error::KeyError;
use crate::schema::{FieldId, KeySchema, Order, SegmentKind};
use crate::value::{FieldType, Value};

mod bounds;
mod constraint;
mod delimited;
mod encode;
mod explain;
mod order;
mod query;
mod range;
mod residual;
mod skip;
#[cfg(test)]
pub(crate) mod tests;
mod walk;

pub use order::{OrderTerm, OrderedBy};
pub use query::{Condition, KeyQuery, Test};
pub use range::KeyRange;
pub use skip::{NoSkip, SkipStep};

use constraint::Constraint;
pub(crate) use constraint::{from_integer, integer};
use walk::Walk;

/// Up to where a plan goes into detail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Ranges of one plan; a list that would make more becomes one range from its least to its greatest value, and every row
    /// of it is looked at.
    pub ranges: u64,
    /// Choices of values that salts and hashes are computed for.
    pub choices: u64,
    /// Values of a range that are listed one by one where that narrows what follows.
    pub enumerate: u64,
    /// Distinct values of an open segment up to which its gaps are skipped.
    pub skip_distinct: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { ranges: 1 << 17, choices: 10_000, enumerate: 64, skip_distinct: 100 }
    }
}

/// What the planner knows besides the schema.
#[derive(Clone, Default)]
pub struct PlanOptions {
    /// Up to where it goes into detail.
    pub limits: Limits,
    /// How many distinct values fields have, as far as that is known; for skip scans.
    pub distinct: Vec<(FieldId, u64)>,
    /// Dictionaries; without one conditions on such fields are looked at in each row.
    pub helper: Option<Arc<dyn KeyHelper + Send + Sync>>,
}

/// What should be known about a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// Q-FULL: no condition narrows what is read.
    FullScan,
    /// Q-HASHRANGE: conditions behind a hash whose fields are not all known.
    HashRange {
        /// The hash.
        segment: usize,
    },
    /// A list was too long for ranges of its own.
    TooManyValues {
        /// The field.
        field: FieldId,
        /// How many values.
        values: usize,
    },
    /// The gaps of an open segment are skipped.
    SkipScan {
        /// The segment.
        segment: usize,
        /// Distinct values it is thought to have.
        distinct: u64,
    },
    /// The number of a field's values is known, and its gaps are not skipped.
    NoSkip {
        /// The field.
        field: FieldId,
        /// Why not.
        why: NoSkip,
    },
    /// Salts that cannot be computed: a row may lie under any of them.
    EverySalt {
        /// The salt.
        segment: usize,
        /// How many.
        salts: u32,
    },
    /// A field is in the key as its bucket only: of the first and the last bucket, cells have to be left out by their
    /// offset.
    TrimBuckets {
        /// The field.
        field: FieldId,
    },
}

/// Why a query cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// A condition on a field that the key does not have.
    NoSuchField {
        /// The field.
        field: FieldId,
        /// How many there are.
        fields: usize,
    },
    /// A value of another type than the field.
    WrongType {
        /// The field's name.
        field: String,
        /// Its type.
        ty: FieldType,
        /// What was given.
        given: &'static str,
    },
    /// Null as the end of a range.
    NullBound {
        /// The field's name.
        field: String,
    },
    /// A condition on a field that only a hash holds, other than one that gives the hash.
    OnlyHashed {
        /// The field's name.
        field: String,
    },
    /// A prefix of what is neither text nor bytes, or one that ends inside a letter.
    NoPrefix {
        /// The field's name.
        field: String,
        /// Its type.
        ty: FieldType,
    },
}

impl PlanError {
    fn wrong_type(_: FieldId, name: &str, ty: FieldType, value: &Value<'_>) -> Self {
        Self::WrongType { field: name.to_owned(), ty, given: value.kind_name() }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchField { field, fields } => write!(out, "a condition names field {field} of the row key, which has {fields}"),
            Self::WrongType { field, ty, given } => write!(out, "field {field} is of type {ty}, and a condition compares it with {given}"),
            Self::NullBound { field } => write!(out, "a range of field {field} ends at null; leave that side open, which leaves null out too"),
            Self::OnlyHashed { field } => {
                write!(out, "field {field} is in the key only as a hash: ask for single values of it, and of all that stands before the hash")
            }
            Self::NoPrefix { field, ty } => {
                write!(out, "field {field} is of type {ty}: only text and bytes have prefixes, and those of text end with a letter")
            }
        }
    }
}

impl std::error::Error for PlanError {}

impl From<PlanError> for halite_types::Error {
    fn from(error: PlanError) -> Self {
        Self::invalid(error.to_string())
    }
}

/// Ranges of one salt or hash, in the order of their keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// The ranges, which do not overlap.
    pub ranges: Vec<KeyRange>,
}

/// How a query is answered.
#[derive(Clone)]
pub struct Plan {
    schema: Arc<KeySchema>,
    options: PlanOptions,
    query: KeyQuery,
    constraints: Vec<Constraint>,
    branches: Vec<Branch>,
    /// For each field, whether the ranges hold just what its conditions allow.
    exact: Vec<bool>,
    order: Vec<OrderTerm>,
    skip: Option<usize>,
    notes: Vec<Note>,
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
    /// A condition that makes no sense for its field.
    pub fn new(schema: &Arc<KeySchema>, query: &KeyQuery, options: &PlanOptions) -> Result<Self, PlanError> {
        let constraints = Constraint::of_fields(schema, &query.conditions)?;
        let mut walk = Walk::new(schema, &constraints, options);
        walk.run();
        if let Some(field) = (0..constraints.len()).find(|&field| !walk.exact[field] && schema.is_only_hashed(field)) {
            return Err(PlanError::OnlyHashed { field: schema.fields()[field].name.clone() });
        }
        let skip = skip::segment(&walk);
        let order = order::order_of(&walk, query.reverse);
        let notes = notes(&walk, skip);
        let exact = std::mem::take(&mut walk.exact);
        let branches = branches(walk);
        let (schema, options, query) = (Arc::clone(schema), options.clone(), query.clone());
        Ok(Self { schema, options, query, constraints, branches, exact, order, skip, notes })
    }

    /// The schema it is for.
    pub fn schema(&self) -> &Arc<KeySchema> {
        &self.schema
    }

    /// What was asked.
    pub fn query(&self) -> &KeyQuery {
        &self.query
    }

    /// What is read, one branch for each salt or hash.
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// All ranges of all branches.
    pub fn ranges(&self) -> impl Iterator<Item = &KeyRange> {
        self.branches.iter().flat_map(|branch| &branch.ranges)
    }

    /// How many branches are read and merged.
    pub fn fan_out(&self) -> usize {
        self.branches.len()
    }

    /// The order in which rows come when ranges are merged by [`KeyRange::merge_key`].
    pub fn order(&self) -> &[OrderTerm] {
        &self.order
    }

    /// Whether that is the order that is wanted, so that nothing need be sorted.
    pub fn serves_order(&self, wanted: &[(FieldId, Order)]) -> bool {
        order::serves(&self.order, |field| self.constraints[field].single().is_some(), wanted)
    }

    /// What should be known about it.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The conditions that rows of the ranges may not meet: they have to be looked at row by row with [`Self::admits`].
    pub fn residual(&self) -> impl Iterator<Item = &Condition> {
        self.query.conditions.iter().filter(|condition| !self.exact[condition.field])
    }

    /// Whether there are such conditions.
    pub fn has_residual(&self) -> bool {
        self.residual().next().is_some()
    }

    /// Whether a row that was decoded meets all conditions.
    pub fn admits(&self, row: &Decoded<'_>) -> bool {
        residual::admits(&self.schema, &self.constraints, &self.exact, row)
    }

    /// Whether the conditions on one field allow a value of it.
    pub fn admits_value(&self, field: FieldId, value: &Value<'_>) -> bool {
        self.constraints[field].is_open() || self.constraints[field].admits(value)
    }

    /// Decodes a key with the plan's dictionaries.
    ///
    /// # Errors
    /// The bytes are no key of the schema.
    pub fn decode<'k>(&self, key: &'k [u8]) -> Result<Decoded<'k>, KeyError> {
        match &self.options.helper {
            Some(helper) => self.schema.decode_with(key, &**helper),
            None => self.schema.decode_with(key, &NoHelper),
        }
    }

    /// The keys to get, if the plan is a list of whole keys: gets find them with less than scans.
    pub fn points(&self) -> Option<Vec<halite_types::Bytes>> {
        self.ranges().map(|range| range.point().cloned()).collect()
    }
}

/// Ranges by their derived bytes, in each branch sorted and joined where nothing lies between.
fn branches(walk: Walk<'_>) -> Vec<Branch> {
    let tail = walk.tail;
    let mut by_derived: BTreeMap<KeyBuf, SmallVec<[walk::Start<'_>; 1]>> = BTreeMap::new();
    for mut start in walk.starts {
        by_derived.entry(std::mem::take(&mut start.derived)).or_default().push(start);
    }
    let branch = |mut starts: SmallVec<[walk::Start<'_>; 1]>| {
        starts.sort_by(|a, b| a.bytes.cmp(&b.bytes));
        // Values of one bucket begin alike when the walk ended before their own segment.
        starts.dedup_by(|a, b| a.bytes == b.bytes);
        let mut ranges: Vec<KeyRange> = Vec::with_capacity(starts.len());
        for range in starts.into_iter().filter_map(|start| KeyRange::of(start, &tail)) {
            if !ranges.last_mut().is_some_and(|last| last.absorb(&range)) {
                ranges.push(range);
            }
        }
        Branch { ranges }
    };
    by_derived.into_values().map(branch).filter(|branch| !branch.ranges.is_empty()).collect()
}

fn notes(walk: &Walk<'_>, skip: Option<usize>) -> Vec<Note> {
    let mut notes = walk.notes.clone();
    let schema = walk.schema;
    for &(segment, salts) in &walk.enumerated_salts {
        notes.push(Note::EverySalt { segment, salts });
    }
    for (field, constraint) in walk.constraints.iter().enumerate() {
        let is_bucket = |kind: &SegmentKind| matches!(kind, SegmentKind::Bucket { field: of, .. } if *of == field);
        let only_bucket = schema.carrier(field).is_none() && schema.segments().iter().any(|segment| is_bucket(&segment.kind));
        if only_bucket && !constraint.is_open() {
            notes.push(Note::TrimBuckets { field });
        }
    }
    match skip {
        Some(segment) => {
            let field = schema.segments()[segment].kind.field();
            let distinct = walk.options.distinct.iter().find(|(of, _)| Some(*of) == field).map_or(0, |(_, distinct)| *distinct);
            notes.push(Note::SkipScan { segment, distinct });
        }
        None if walk.is_everything() => notes.push(Note::FullScan),
        None => {}
    }
    let unused =
        walk.options.distinct.iter().filter_map(|&(field, values)| Some(Note::NoSkip { field, why: skip::why_not(walk, skip, field, values)? }));
    notes.extend(unused);
    notes
}
