//! Walk over the segments from left to right: known segments are encoded until one is unknown.

use smallvec::{SmallVec, smallvec};

use super::bounds::{EncodedValues, SegmentRange, SegmentRef};
use super::constraint::{Constraint, Values};
use super::note::PlanNote;
use super::options::PlanOptions;
use super::range::{FixedSegment, FixedValue};
use crate::codec::KeyBuf;
use crate::schema::{FieldId, KeySchema, Profile, SegmentKind};
use crate::value::Value;

/// Start of a key: the bytes of all segments so far.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyPrefix<'a> {
    /// All bytes.
    pub(super) bytes: KeyBuf,
    /// Bytes of salts and hashes.
    pub(super) derived: KeyBuf,
    /// Other bytes.
    pub(super) plain: KeyBuf,
    /// Number of bytes in `bytes` up to the end of the last salt or hash.
    pub(super) fixed: usize,
    /// Number of plain bytes among those.
    pub(super) fixed_plain: usize,
    /// Values of fields that were required before their segments.
    bound: SmallVec<[(FieldId, Value<'a>); 1]>,
    /// Only for human-readable output.
    pub(super) fixed_segments: Option<Vec<FixedSegment>>,
}

impl<'a> KeyPrefix<'a> {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        self.plain.extend(bytes);
    }

    fn push_derived(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        self.derived.extend(bytes);
        self.fixed = self.bytes.len();
        self.fixed_plain = self.plain.len();
    }

    fn bound(&self, field: FieldId) -> Option<&Value<'a>> {
        self.bound.iter().find(|(bound, _)| *bound == field).map(|(_, value)| value)
    }

    fn push_fixed_segment(&mut self, segment: usize, value: impl FnOnce() -> FixedValue) {
        if let Some(pins) = &mut self.fixed_segments {
            pins.push(FixedSegment { segment, value: value() });
        }
    }
}

/// Bytes after every start.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tail {
    /// None: the starts are complete keys.
    Complete,
    /// Anything.
    Open,
    /// Span of the segment at which the walk stopped.
    Span { low: Vec<u8>, high: Option<Vec<u8>> },
}

/// Result of a walk.
pub(super) struct PrefixWalk<'a> {
    pub(super) schema: &'a KeySchema,
    pub(super) constraints: &'a [Constraint],
    pub(super) options: &'a PlanOptions,
    pub(super) prefixes: SmallVec<[KeyPrefix<'a>; 1]>,
    pub(super) tail: Tail,
    /// Number of segments that are equal in all keys of one start.
    pub(super) fixed_count: usize,
    /// For each field, `true` if the ranges contain exactly the values that its conditions permit.
    pub(super) exact: Vec<bool>,
    /// Salts that are all enumerated, and their numbers.
    pub(super) enumerated_salts: Vec<(usize, u32)>,
    pub(super) notes: Vec<PlanNote>,
}

impl<'a> PrefixWalk<'a> {
    pub(super) fn new(
        schema: &'a KeySchema,
        constraints: &'a [Constraint],
        options: &'a PlanOptions,
    ) -> Self {
        let exact = constraints.iter().map(Constraint::is_open).collect();
        let prefixes = if constraints.iter().any(Constraint::is_void) {
            SmallVec::new()
        } else {
            smallvec![KeyPrefix::default()]
        };
        let (enumerated_salts, notes) = (Vec::new(), Vec::new());
        Self {
            schema,
            constraints,
            options,
            prefixes,
            tail: Tail::Complete,
            fixed_count: 0,
            exact,
            enumerated_salts,
            notes,
        }
    }

    /// Records the known segments of each range, which only human-readable output requires.
    pub(super) fn with_fixed_segments(mut self) -> Self {
        self.prefixes.iter_mut().for_each(|start| start.fixed_segments = Some(Vec::new()));
        self
    }

    pub(super) fn run(&mut self) {
        for segment in 0..self.schema.segments().len() {
            let goes_on = match &self.schema.segments()[segment].kind {
                SegmentKind::Const(bytes) => {
                    self.prefixes.iter_mut().for_each(|start| start.push(bytes));
                    true
                }
                SegmentKind::Salt { count, .. } => {
                    if !self.compute(segment, Some(*count)) {
                        self.every_salt(segment, *count);
                    }
                    true
                }
                SegmentKind::Hash { .. } => {
                    self.compute(segment, None) || self.stop_at_hash(segment)
                }
                kind => kind.field().is_some_and(|field| self.field(segment, field)),
            };
            if !goes_on {
                return;
            }
            self.fixed_count = segment + 1;
        }
    }

    /// Returns `true` if no key is restricted.
    pub(super) fn is_everything(&self) -> bool {
        let is_open = match &self.tail {
            Tail::Open => true,
            Tail::Span { low, high } => low.is_empty() && high.is_none(),
            Tail::Complete => false,
        };
        let is_known = |segment: usize| {
            let is_const = matches!(self.schema.segments()[segment].kind, SegmentKind::Const(_));
            !is_const && self.enumerated_salts.iter().all(|(salt, _)| *salt != segment)
        };
        is_open && !self.prefixes.is_empty() && !(0..self.fixed_count).any(is_known)
    }

    /// Returns `true` if a known segment would narrow the ranges of those after it.
    pub(super) fn narrows_after(&self, segment: usize) -> bool {
        let next = self
            .schema
            .segments()
            .get(segment + 1..)
            .and_then(|rest| rest.iter().find_map(|next| next.kind.field()));
        next.is_some_and(|field| !self.constraints[field].is_open())
    }

    /// Returns `true` if conditions on a field that is not encoded yet could narrow the segments
    /// after this one.
    fn is_constrained_after(&self, segment: usize) -> bool {
        self.schema.segments()[segment + 1..]
            .iter()
            .filter_map(|next| next.kind.field())
            .any(|field| !self.constraints[field].is_open())
    }

    /// Encodes a salt or a hash whose fields are all known; returns `false` if they are not.
    fn compute(&mut self, segment: usize, salts: Option<u32>) -> bool {
        let fields = self.schema.hashed_fields(segment);
        // A partially contained field may differ between the rows of one key.
        if fields.iter().any(|&field| self.is_held_in_part(field))
            || !super::encode::is_computable(self.schema, segment)
        {
            return false;
        }
        let unbound: SmallVec<[FieldId; 4]> = match self.prefixes.first() {
            Some(start) => {
                fields.iter().copied().filter(|&field| start.bound(field).is_none()).collect()
            }
            None => return true,
        };
        let Some(sets) = self.sets(&unbound, salts) else { return false };
        let mut starts = SmallVec::with_capacity(self.prefixes.len());
        for start in self.prefixes.drain(..) {
            for_each_choice(&sets, start, |mut start, choice| {
                start
                    .bound
                    .extend(unbound.iter().copied().zip(choice.iter().map(|&value| value.clone())));
                // A value that cannot be hashed cannot be in a key either.
                if let Some(bytes) =
                    super::encode::derived(self.schema, segment, |field| start.bound(field))
                {
                    start.push_derived(&bytes);
                    start.push_fixed_segment(segment, || FixedValue::Derived(bytes.to_vec()));
                    starts.push(start);
                }
            });
        }
        self.prefixes = starts;
        // A field that only a hash contains cannot be checked otherwise.
        let is_hash = salts.is_none();
        fields
            .iter()
            .filter(|&&field| is_hash && self.schema.is_only_hashed(field))
            .for_each(|&field| self.exact[field] = true);
        true
    }

    /// Returns `true` if the key contains only the bucket or the first bytes of a field.
    fn is_held_in_part(&self, field: FieldId) -> bool {
        self.schema.carrier(field).is_none() && !self.schema.is_only_hashed(field)
    }

    /// Returns the values of each of these fields, if all are known and few enough. Ranges of
    /// integers count if they have fewer values than there are salts.
    fn sets(&self, fields: &[FieldId], salts: Option<u32>) -> Option<Sets<'a>> {
        let most = u64::from(salts.unwrap_or(u32::MAX))
            .min(self.options.limits.enumerate.max(u64::from(salts.unwrap_or(0))));
        let nullable = |field| {
            self.schema
                .carrier(field)
                .is_some_and(|segment| self.schema.segments()[segment].nullable)
        };
        // An omitted null would have to be searched among shorter keys.
        let is_unwritten = |field| {
            nullable(field)
                && self.schema.profile() != Profile::Bin
                && self.constraints[field].admits(&Value::Null)
        };
        if fields.iter().any(|&field| is_unwritten(field)) {
            return None;
        }
        let sets: Sets<'a> = fields
            .iter()
            .map(|&field| {
                self.constraints[field].enumerate(most.saturating_sub(1), nullable(field))
            })
            .collect::<Option<_>>()?;
        let product =
            sets.iter().fold(1u64, |product, set| product.saturating_mul(set.len() as u64));
        let only_listed = fields.iter().all(|&field| self.constraints[field].values.is_some());
        let starts = (self.prefixes.len() as u64).saturating_mul(product);
        let is_fewer = only_listed || salts.is_none_or(|salts| product < u64::from(salts));
        (is_fewer && product <= self.options.limits.choices && starts <= self.options.limits.ranges)
            .then_some(sets)
    }

    fn every_salt(&mut self, segment: usize, count: u32) {
        let salts: Vec<_> =
            (0..count).filter_map(|salt| super::encode::salt(self.schema, segment, salt)).collect();
        let mut starts = SmallVec::with_capacity(self.prefixes.len() * salts.len());
        for start in &self.prefixes {
            for (salt, bytes) in (0..).zip(&salts) {
                let mut start = start.clone();
                start.push_derived(bytes);
                start.push_fixed_segment(segment, || FixedValue::Salt(salt));
                starts.push(start);
            }
        }
        self.prefixes = starts;
        self.enumerated_salts.push((segment, count));
    }

    fn stop_at_hash(&mut self, segment: usize) -> bool {
        let constrained = self.is_constrained_after(segment);
        if constrained {
            self.notes.push(PlanNote::HashRange { segment });
        }
        self.tail = Tail::Open;
        false
    }

    /// Encodes the known part of a segment that contains a field or a part of it; returns `true` if
    /// all of it is known.
    fn field(&mut self, segment: usize, field: FieldId) -> bool {
        let place = SegmentRef { schema: self.schema, options: self.options, segment };
        let carrier = self.schema.carrier(field);
        let is_carrier = carrier.is_none_or(|carrier| carrier == segment);
        if self.prefixes.first().is_some_and(|start| start.bound(field).is_some()) {
            return self.write_bound(&place, field, is_carrier);
        }
        let constraint = &self.constraints[field];
        let is_carried_later = carrier.is_some_and(|carrier| carrier > segment);
        let reach = match place.range(constraint, is_carried_later) {
            SegmentRange::Values(values) => SegmentRange::Values(values),
            other => self.few_values(&place, constraint).map_or(other, SegmentRange::Values),
        };
        match reach {
            SegmentRange::Values(values)
                if (values.len() * self.prefixes.len()) as u64
                    <= self.options.limits.ranges.max(values.len().min(1) as u64) =>
            {
                let binds = constraint.values.is_some();
                self.expand(segment, field, &values, binds);
                self.exact[field] |= is_carrier && place.is_prefix_free();
                true
            }
            SegmentRange::Values(values) => self.stop_at_many(&place, field, &values),
            SegmentRange::Span { low, high, exact } => {
                self.exact[field] |= is_carrier && exact;
                self.tail = Tail::Span { low, high };
                false
            }
            SegmentRange::Open { .. } => {
                self.tail = Tail::Open;
                false
            }
        }
    }

    fn write_bound(&mut self, place: &SegmentRef<'_>, field: FieldId, is_carrier: bool) -> bool {
        if place.may_be_cut_off() {
            self.tail = Tail::Open;
            return false;
        }
        self.prefixes.retain(|start| {
            let Some(value) = start.bound(field) else { return false };
            let Some(bytes) =
                place.encode(value).filter(|_| place.is_nullable() || !value.is_null())
            else {
                return false;
            };
            let value = value.clone();
            start.push(&bytes);
            start.push_fixed_segment(place.segment, || FixedValue::Value(value.into_owned()));
            true
        });
        self.exact[field] |= is_carrier && place.is_prefix_free();
        true
    }

    /// Returns the values of a range if they are few and narrow the following segments.
    fn few_values(
        &self,
        place: &SegmentRef<'_>,
        constraint: &'a Constraint,
    ) -> Option<EncodedValues<'a>> {
        if !self.is_constrained_after(place.segment)
            || place.is_nullable() && constraint.may_be_null && !place.null_has_bytes()
        {
            return None;
        }
        let values = place.enumerate(constraint, self.options.limits.enumerate)?;
        let mut listed: EncodedValues<'a> = values
            .into_iter()
            .map(|value| Some((place.encode(&value)?, value)))
            .collect::<Option<_>>()?;
        listed.sort_by(|a, b| a.0.cmp(&b.0));
        let fits = (listed.len() * self.prefixes.len()) as u64 <= self.options.limits.ranges;
        fits.then_some(listed)
    }

    fn expand(
        &mut self,
        segment: usize,
        field: FieldId,
        values: &[(KeyBuf, Value<'a>)],
        binds: bool,
    ) {
        let mut starts = SmallVec::with_capacity(self.prefixes.len() * values.len());
        for start in &self.prefixes {
            for (bytes, value) in values {
                let mut start = start.clone();
                start.push(bytes);
                start.push_fixed_segment(segment, || FixedValue::Value(value.clone().into_owned()));
                if binds {
                    start.bound.push((field, value.clone()));
                }
                starts.push(start);
            }
        }
        self.prefixes = starts;
    }

    /// Stops at a list that exceeds the limit of ranges: one range from the first to the last
    /// value, and each key is checked.
    fn stop_at_many(
        &mut self,
        place: &SegmentRef<'_>,
        field: FieldId,
        values: &[(KeyBuf, Value<'_>)],
    ) -> bool {
        self.notes.push(PlanNote::TooManyValues { field, values: values.len() });
        let Some((low, _)) = values.first() else { return false };
        // The last value need not have the last end: in text, `::` and its delimiter sort after
        // `::1`.
        let ends: Option<Vec<_>> = values.iter().map(|(bytes, _)| place.end_after(bytes)).collect();
        self.tail =
            Tail::Span { low: low.to_vec(), high: ends.and_then(|ends| ends.into_iter().max()) };
        false
    }
}

/// Values of some fields.
type Sets<'a> = SmallVec<[Values<'a>; 1]>;

/// Calls `each` with a start and every combination of one value from each set.
fn for_each_choice<'a>(
    sets: &[Values<'a>],
    start: KeyPrefix<'a>,
    mut each: impl FnMut(KeyPrefix<'a>, &[&Value<'a>]),
) {
    if sets.iter().any(Values::is_empty) {
        return;
    }
    let mut at: SmallVec<[usize; 4]> = smallvec![0; sets.len()];
    loop {
        let choice: SmallVec<[_; 4]> = sets.iter().zip(&at).map(|(set, &at)| &set[at]).collect();
        let Some(next) = (0..sets.len()).rev().find(|&place| at[place] + 1 < sets[place].len())
        else {
            each(start, &choice);
            return;
        };
        each(start.clone(), &choice);
        at[next] += 1;
        at[next + 1..].fill(0);
    }
}
