//! Left to right through the segments: what is known of each becomes bytes, until something is not known.

use smallvec::{SmallVec, smallvec};

use super::bounds::{Listed, Place, Reach};
use super::constraint::{Constraint, Values};
use super::range::{Pin, PinValue};
use super::{Note, PlanOptions};
use crate::codec::KeyBuf;
use crate::schema::{FieldId, KeySchema, Profile, SegmentKind};
use crate::value::Value;

/// One way to begin a key: the bytes of all segments so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Start<'a> {
    /// All bytes.
    pub(super) bytes: KeyBuf,
    /// Those of salts and hashes.
    pub(super) derived: KeyBuf,
    /// The others.
    pub(super) plain: KeyBuf,
    /// How many bytes of `bytes` there are up to the end of the last salt or hash.
    pub(super) fixed: usize,
    /// How many of those are plain.
    pub(super) fixed_plain: usize,
    /// Values of fields that were needed before their segments came.
    bound: SmallVec<[(FieldId, Value<'a>); 1]>,
    /// For people only: planning a query does without.
    pub(super) pins: Option<Vec<Pin>>,
}

impl<'a> Start<'a> {
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

    fn pin(&mut self, segment: usize, value: impl FnOnce() -> PinValue) {
        if let Some(pins) = &mut self.pins {
            pins.push(Pin { segment, value: value() });
        }
    }
}

/// What follows the bytes of every start.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tail {
    /// Nothing: the starts are whole keys.
    Complete,
    /// Anything.
    Open,
    /// A span of the segment where the walk stopped.
    Span { low: Vec<u8>, high: Option<Vec<u8>> },
}

/// Where a walk ended.
pub(super) struct Walk<'a> {
    pub(super) schema: &'a KeySchema,
    pub(super) constraints: &'a [Constraint],
    pub(super) options: &'a PlanOptions,
    pub(super) starts: SmallVec<[Start<'a>; 1]>,
    pub(super) tail: Tail,
    /// How many segments are the same in all keys of one start.
    pub(super) pinned: usize,
    /// For each field, whether the ranges hold just what its conditions allow.
    pub(super) exact: Vec<bool>,
    /// Salts that are all asked, and how many there are.
    pub(super) enumerated_salts: Vec<(usize, u32)>,
    pub(super) notes: Vec<Note>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(schema: &'a KeySchema, constraints: &'a [Constraint], options: &'a PlanOptions) -> Self {
        let exact = constraints.iter().map(Constraint::is_open).collect();
        let starts = if constraints.iter().any(Constraint::is_void) { SmallVec::new() } else { smallvec![Start::default()] };
        let (enumerated_salts, notes) = (Vec::new(), Vec::new());
        Self { schema, constraints, options, starts, tail: Tail::Complete, pinned: 0, exact, enumerated_salts, notes }
    }

    /// Notes what is known of each range, which only people ask for.
    pub(super) fn with_pins(mut self) -> Self {
        self.starts.iter_mut().for_each(|start| start.pins = Some(Vec::new()));
        self
    }

    pub(super) fn run(&mut self) {
        for segment in 0..self.schema.segments().len() {
            let goes_on = match &self.schema.segments()[segment].kind {
                SegmentKind::Const(bytes) => {
                    self.starts.iter_mut().for_each(|start| start.push(bytes));
                    true
                }
                SegmentKind::Salt { count, .. } => {
                    if !self.compute(segment, Some(*count)) {
                        self.every_salt(segment, *count);
                    }
                    true
                }
                SegmentKind::Hash { .. } => self.compute(segment, None) || self.stop_at_hash(segment),
                kind => kind.field().is_some_and(|field| self.field(segment, field)),
            };
            if !goes_on {
                return;
            }
            self.pinned = segment + 1;
        }
    }

    /// Whether nothing is known of any key.
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
        is_open && !self.starts.is_empty() && !(0..self.pinned).any(is_known)
    }

    /// Whether knowing a segment would narrow what is read of those behind it.
    pub(super) fn narrows_behind(&self, segment: usize) -> bool {
        let next = self.schema.segments().get(segment + 1..).and_then(|rest| rest.iter().find_map(|next| next.kind.field()));
        next.is_some_and(|field| !self.constraints[field].is_open())
    }

    /// Whether conditions on a field that is not in the bytes yet could narrow what follows this segment.
    fn is_constrained_behind(&self, segment: usize) -> bool {
        self.schema.segments()[segment + 1..].iter().filter_map(|next| next.kind.field()).any(|field| !self.constraints[field].is_open())
    }

    /// Writes a salt or a hash whose fields are all known; whether they are.
    fn compute(&mut self, segment: usize, salts: Option<u32>) -> bool {
        let fields = self.schema.hashed_fields(segment);
        // What is only in part in the key may differ between what one key stands for.
        if fields.iter().any(|&field| self.is_held_in_part(field)) || !super::encode::is_computable(self.schema, segment) {
            return false;
        }
        let unbound: SmallVec<[FieldId; 4]> = match self.starts.first() {
            Some(start) => fields.iter().copied().filter(|&field| start.bound(field).is_none()).collect(),
            None => return true,
        };
        let Some(sets) = self.sets(&unbound, salts) else { return false };
        let mut starts = SmallVec::with_capacity(self.starts.len());
        for start in self.starts.drain(..) {
            for_each_choice(&sets, start, |mut start, choice| {
                start.bound.extend(unbound.iter().copied().zip(choice.iter().map(|&value| value.clone())));
                // A value that cannot be hashed cannot be in a key either.
                if let Some(bytes) = super::encode::derived(self.schema, segment, |field| start.bound(field)) {
                    start.push_derived(&bytes);
                    start.pin(segment, || PinValue::Derived(bytes.to_vec()));
                    starts.push(start);
                }
            });
        }
        self.starts = starts;
        // Of a field that only a hash holds, nothing else can be looked at.
        let is_hash = salts.is_none();
        fields.iter().filter(|&&field| is_hash && self.schema.is_only_hashed(field)).for_each(|&field| self.exact[field] = true);
        true
    }

    /// Whether a field is in the key as its bucket or its first bytes only.
    fn is_held_in_part(&self, field: FieldId) -> bool {
        self.schema.carrier(field).is_none() && !self.schema.is_only_hashed(field)
    }

    /// The values of each of these fields, if all are known and few enough. Ranges of integers count when they have fewer
    /// values than there are salts.
    fn sets(&self, fields: &[FieldId], salts: Option<u32>) -> Option<Sets<'a>> {
        let most = u64::from(salts.unwrap_or(u32::MAX)).min(self.options.limits.enumerate.max(u64::from(salts.unwrap_or(0))));
        let nullable = |field| self.schema.carrier(field).is_some_and(|segment| self.schema.segments()[segment].nullable);
        // A null that is not written at all would have to be looked for among keys that end earlier.
        let is_unwritten = |field| nullable(field) && self.schema.profile() != Profile::Bin && self.constraints[field].admits(&Value::Null);
        if fields.iter().any(|&field| is_unwritten(field)) {
            return None;
        }
        let sets: Sets<'a> =
            fields.iter().map(|&field| self.constraints[field].enumerate(most.saturating_sub(1), nullable(field))).collect::<Option<_>>()?;
        let product = sets.iter().fold(1u64, |product, set| product.saturating_mul(set.len() as u64));
        let only_listed = fields.iter().all(|&field| self.constraints[field].values.is_some());
        let starts = (self.starts.len() as u64).saturating_mul(product);
        let is_fewer = only_listed || salts.is_none_or(|salts| product < u64::from(salts));
        (is_fewer && product <= self.options.limits.choices && starts <= self.options.limits.ranges).then_some(sets)
    }

    fn every_salt(&mut self, segment: usize, count: u32) {
        let salts: Vec<_> = (0..count).filter_map(|salt| super::encode::salt(self.schema, segment, salt)).collect();
        let mut starts = SmallVec::with_capacity(self.starts.len() * salts.len());
        for start in &self.starts {
            for (salt, bytes) in (0..).zip(&salts) {
                let mut start = start.clone();
                start.push_derived(bytes);
                start.pin(segment, || PinValue::Salt(salt));
                starts.push(start);
            }
        }
        self.starts = starts;
        self.enumerated_salts.push((segment, count));
    }

    fn stop_at_hash(&mut self, segment: usize) -> bool {
        let constrained = self.is_constrained_behind(segment);
        if constrained {
            self.notes.push(Note::HashRange { segment });
        }
        self.tail = Tail::Open;
        false
    }

    /// Writes what is known of a segment that carries a field, wholly or in part; whether all of it is.
    fn field(&mut self, segment: usize, field: FieldId) -> bool {
        let place = Place { schema: self.schema, options: self.options, segment };
        let carrier = self.schema.carrier(field);
        let is_carrier = carrier.is_none_or(|carrier| carrier == segment);
        if self.starts.first().is_some_and(|start| start.bound(field).is_some()) {
            return self.write_bound(&place, field, is_carrier);
        }
        let constraint = &self.constraints[field];
        let is_carried_later = carrier.is_some_and(|carrier| carrier > segment);
        let reach = match place.reach(constraint, is_carried_later) {
            Reach::Values(values) => Reach::Values(values),
            other => self.few_values(&place, constraint).map_or(other, Reach::Values),
        };
        match reach {
            Reach::Values(values) if (values.len() * self.starts.len()) as u64 <= self.options.limits.ranges.max(values.len().min(1) as u64) => {
                let binds = constraint.values.is_some();
                self.expand(segment, field, &values, binds);
                self.exact[field] |= is_carrier && place.is_prefix_free();
                true
            }
            Reach::Values(values) => self.stop_at_many(&place, field, &values),
            Reach::Span { low, high, exact } => {
                self.exact[field] |= is_carrier && exact;
                self.tail = Tail::Span { low, high };
                false
            }
            Reach::Open { .. } => {
                self.tail = Tail::Open;
                false
            }
        }
    }

    fn write_bound(&mut self, place: &Place<'_>, field: FieldId, is_carrier: bool) -> bool {
        if place.may_be_cut_off() {
            self.tail = Tail::Open;
            return false;
        }
        self.starts.retain(|start| {
            let Some(value) = start.bound(field) else { return false };
            let Some(bytes) = place.encode(value).filter(|_| place.is_nullable() || !value.is_null()) else { return false };
            let value = value.clone();
            start.push(&bytes);
            start.pin(place.segment, || PinValue::Value(value.into_owned()));
            true
        });
        self.exact[field] |= is_carrier && place.is_prefix_free();
        true
    }

    /// The values of a range that are few, when something behind them is narrowed by knowing them.
    fn few_values(&self, place: &Place<'_>, constraint: &'a Constraint) -> Option<Listed<'a>> {
        if !self.is_constrained_behind(place.segment) || place.is_nullable() && constraint.may_be_null && !place.null_has_bytes() {
            return None;
        }
        let values = place.enumerate(constraint, self.options.limits.enumerate)?;
        let mut listed: Listed<'a> = values.into_iter().map(|value| Some((place.encode(&value)?, value))).collect::<Option<_>>()?;
        listed.sort_by(|a, b| a.0.cmp(&b.0));
        let fits = (listed.len() * self.starts.len()) as u64 <= self.options.limits.ranges;
        fits.then_some(listed)
    }

    fn expand(&mut self, segment: usize, field: FieldId, values: &[(KeyBuf, Value<'a>)], binds: bool) {
        let mut starts = SmallVec::with_capacity(self.starts.len() * values.len());
        for start in &self.starts {
            for (bytes, value) in values {
                let mut start = start.clone();
                start.push(bytes);
                start.pin(segment, || PinValue::Value(value.clone().into_owned()));
                if binds {
                    start.bound.push((field, value.clone()));
                }
                starts.push(start);
            }
        }
        self.starts = starts;
    }

    /// More values than ranges are allowed: one range from the first to the last of them, and each key is looked at.
    fn stop_at_many(&mut self, place: &Place<'_>, field: FieldId, values: &[(KeyBuf, Value<'_>)]) -> bool {
        self.notes.push(Note::TooManyValues { field, values: values.len() });
        let Some((low, _)) = values.first() else { return false };
        // Not always behind the last value: in text, `::` and its delimiter come behind `::1`.
        let ends: Option<Vec<_>> = values.iter().map(|(bytes, _)| place.behind(bytes)).collect();
        self.tail = Tail::Span { low: low.to_vec(), high: ends.and_then(|ends| ends.into_iter().max()) };
        false
    }
}

/// The values of some fields.
type Sets<'a> = SmallVec<[Values<'a>; 1]>;

/// Calls `each` with a start and every choice of one value from each set.
fn for_each_choice<'a>(sets: &[Values<'a>], start: Start<'a>, mut each: impl FnMut(Start<'a>, &[&Value<'a>])) {
    if sets.iter().any(Values::is_empty) {
        return;
    }
    let mut at: SmallVec<[usize; 4]> = smallvec![0; sets.len()];
    loop {
        let choice: SmallVec<[_; 4]> = sets.iter().zip(&at).map(|(set, &at)| &set[at]).collect();
        let Some(next) = (0..sets.len()).rev().find(|&place| at[place] + 1 < sets[place].len()) else {
            each(start, &choice);
            return;
        };
        each(start.clone(), &choice);
        at[next] += 1;
        at[next + 1..].fill(0);
    }
}
