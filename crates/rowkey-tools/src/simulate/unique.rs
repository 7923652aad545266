//! Rows that replace each other: those in the traffic, those expected at random times, and digest
//! collisions.
//!
//! The model redistributes the writes of the traffic randomly over the ticks of the clock, and
//! computes the number that hit an existing row. Two writes collide only if everything else is
//! equal, apart from segments that are functions of fields in the key. See [`Alike`] for the
//! contribution of each segment.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};

use halite_rowkey::schema::{FieldId, HashFunction, KeySchema, SegmentKind};
use halite_rowkey::value::{FieldType, Value};

use super::keys::Keys;
use super::traffic::{RowSpec, Traffic};
use super::values::{distinct_counts, fingerprint};

/// Maximum writes of a window in which times are redistributed, and maximum windows: rates and
/// fields change slowly.
const WINDOW_WRITES: usize = 2_000;
const MAX_WINDOWS: usize = 64;
/// Standard deviations of the stated bound: one count of twenty is outside.
const BOUND_DEVIATIONS: f64 = 2.0;
/// Standard deviations above which a count contradicts the model.
const DISAGREE_DEVIATIONS: f64 = 4.0;

/// Probability that different rows have different keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Uniqueness {
    /// Writes examined.
    pub writes: u64,
    /// Distinct keys among them.
    pub rows: u64,
    /// Mean writes per second.
    pub writes_per_second: f64,
    /// Rows expected to be lost per second because two writes share a tick of the clock and
    /// everything else, if the times of these writes were random. `None` if the key does not
    /// contain a whole time.
    pub lost_per_second: Option<f64>,
    /// 95% bound: the count for the same writes at random times differs from `lost_per_second` by
    /// at most this.
    pub lost_bound: f64,
    /// Rows lost per second in this traffic: writes minus distinct keys.
    pub counted_per_second: f64,
    /// Reasons to doubt the estimate, as sentences; empty if there are none.
    pub doubts: Vec<String>,
    /// Digests of a field that is not elsewhere in the key.
    pub digests: Vec<DigestCollisions>,
}

/// Values that share a digest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DigestCollisions {
    /// Segment of the digest.
    pub segment: usize,
    /// Bits of the digest that are in the key.
    pub bits: u32,
    /// Values of its fields in the traffic; for a trace of keys, distinct digests.
    pub values: u64,
    /// `true` if there may be more values, because keys of a trace contain only their digests.
    pub is_lower_bound: bool,
    /// Expected pairs of values with the same digest: `n^2 / 2^(bits + 1)`.
    pub expected: f64,
}

/// Computes the uniqueness; `writes` are the indexes of written keys, `rows` the number of distinct
/// ones among them.
#[expect(clippy::cast_precision_loss, reason = "rates and expectations")]
pub(super) fn uniqueness(
    schema: &KeySchema,
    keys: &Keys,
    traffic: &Traffic,
    writes: &[u32],
    rows: u64,
    span_ms: i64,
) -> Uniqueness {
    let seconds = (span_ms.max(1) as f64) / 1000.0;
    let lost = writes.len() as f64 - rows as f64;
    let mut found = Uniqueness {
        writes: writes.len() as u64,
        rows,
        writes_per_second: writes.len() as f64 / seconds,
        counted_per_second: lost / seconds,
        digests: (0..schema.segments().len())
            .filter_map(|at| digest(schema, keys, traffic, writes, at))
            .collect(),
        ..Uniqueness::default()
    };
    let Some(alike) = Alike::for_schema(schema, traffic) else { return found };
    let events = alike.events(schema, keys, traffic, writes);
    if events.is_empty() {
        return found;
    }
    let (expected, pairs) = expected(events, alike.width);
    found.lost_per_second = Some(expected / seconds);
    found.lost_bound = BOUND_DEVIATIONS * expected.max(1.0).sqrt() / seconds;
    found.doubts.clone_from(&alike.doubts);
    if pairs > 0 && pairs < 100 {
        found.doubts.push(format!(
            "only {pairs} pairs of writes near each other are alike in everything but the time, so \
             the estimate rests on few"
        ));
    }
    let beyond = DISAGREE_DEVIATIONS * expected.max(1.0).sqrt();
    if lost > expected + beyond {
        found.doubts.push(
            "counting finds more: writes of this traffic come together, or the same row is written \
             again on purpose"
                .to_owned(),
        );
    } else if lost < expected - beyond && !alike.is_upper_bound {
        found.doubts.push(
            "counting finds less: the times of this traffic are spaced more evenly than random \
             ones; those of real writers seldom are"
                .to_owned(),
        );
    }
    found
}

/// Parts of a key, apart from its time, that distinguish two writes.
///
/// - A segment that carries a field, or a part of one that nothing carries whole, is examined as it
///   is in the key.
/// - A bucket of the time, and a salt or digest of fields that the key carries whole, are functions
///   of what is examined anyway: they add nothing.
/// - A salt or digest of other fields is examined as it is in the key, unless the time is among its
///   fields: then it is another one at another time. Two writes that differ in the other fields
///   collide in it with probability 1 / width.
struct Alike {
    /// Field of the time.
    time: FieldId,
    /// Segments that are compared as they are in the key.
    segments: Vec<usize>,
    /// Fields that the key contains only in a digest with the time, by their indexes in the
    /// traffic.
    hidden: Vec<(usize, FieldType)>,
    /// Number of values of that digest; 1 if there is none.
    width: f64,
    /// `true` if fewer rows than stated may be lost.
    is_upper_bound: bool,
    doubts: Vec<String>,
}

/// Write in the model.
#[derive(Clone, Copy)]
struct Event {
    tick: i64,
    /// Hash of the key without the time.
    alike: u64,
    /// Hash of the fields in a digest with the time.
    hidden: u64,
}

impl Alike {
    /// Returns `None` if the key does not contain a whole time.
    fn for_schema(schema: &KeySchema, traffic: &Traffic) -> Option<Self> {
        let is_time = |field: FieldId| matches!(schema.fields()[field].ty, FieldType::Timestamp(_));
        let is_carried = |field: FieldId| schema.carrier(field).is_some();
        let time = (0..schema.fields().len()).find(|&field| is_time(field) && is_carried(field))?;
        let mut alike = Self {
            time,
            segments: Vec::new(),
            hidden: Vec::new(),
            width: 1.0,
            is_upper_bound: false,
            doubts: Vec::new(),
        };
        for (at, segment) in schema.segments().iter().enumerate() {
            match &segment.kind {
                SegmentKind::Const(_) => {}
                SegmentKind::Salt { function, .. } if !function.is_deterministic() => {
                    alike.segments.push(at);
                    if *function == HashFunction::RoundRobin {
                        alike.mark_upper_bound(format!(
                            "salts in turn (segment {}) keep writes apart that come one after the \
                             other, which is not counted in",
                            at + 1
                        ));
                    }
                }
                SegmentKind::Salt { .. } | SegmentKind::Hash { .. } => {
                    let by = schema.hashed_fields(at);
                    let other: Vec<FieldId> =
                        by.iter().copied().filter(|&field| !is_carried(field)).collect();
                    if other.is_empty() {
                        continue;
                    }
                    if by.contains(&time) {
                        alike.hide(schema, traffic, at, &other);
                    } else {
                        alike.segments.push(at);
                    }
                }
                kind if kind.field() == Some(time) => {}
                _ => alike.segments.push(at),
            }
        }
        Some(alike)
    }

    fn mark_upper_bound(&mut self, doubt: String) {
        self.is_upper_bound = true;
        self.doubts.push(doubt);
    }

    /// Adds a salt or digest of the time and of `fields`, which the key does not contain.
    fn hide(&mut self, schema: &KeySchema, traffic: &Traffic, segment: usize, fields: &[FieldId]) {
        let width = match schema.segments()[segment].kind {
            SegmentKind::Salt { count, .. } => f64::from(count),
            SegmentKind::Hash { bytes, .. } => 2_f64.powi(8 * i32::from(bytes)),
            _ => 1.0,
        };
        let place = |field: &FieldId| {
            let field = &schema.fields()[*field];
            traffic
                .fields
                .iter()
                .position(|name| *name == field.name)
                .map(|place| (place, field.ty))
        };
        let Some(places) = fields.iter().map(place).collect::<Option<Vec<_>>>() else {
            return self.mark_upper_bound(format!(
                "what segment {} adds cannot be seen in a trace of keys, and is not counted in",
                segment + 1
            ));
        };
        if self.width > 1.0 {
            self.mark_upper_bound(
                "of several digests with the time only the widest is counted in".to_owned(),
            );
        }
        if width > self.width {
            (self.width, self.hidden) = (width, places);
        }
    }

    fn events(
        &self,
        schema: &KeySchema,
        keys: &Keys,
        traffic: &Traffic,
        writes: &[u32],
    ) -> Vec<Event> {
        let event = |&at: &u32| {
            let key = keys.get(at as usize);
            let ranges = schema.split_segments(key).ok()?;
            let row = &traffic.operations[at as usize].row;
            let tick = self.tick(schema, key, traffic, row)?;
            let mut hasher = DefaultHasher::new();
            for range in self.segments.iter().map(|&segment| ranges[segment].clone()) {
                hasher.write_usize(range.len());
                hasher.write(&key[range]);
            }
            Some(Event { tick, alike: hasher.finish(), hidden: self.hidden_in(row)? })
        };
        writes.iter().filter_map(event).collect()
    }

    /// Returns the time, from the values if there are any: keys with dictionaries cannot be decoded
    /// without them.
    fn tick(
        &self,
        schema: &KeySchema,
        key: &[u8],
        traffic: &Traffic,
        row: &RowSpec,
    ) -> Option<i64> {
        let field = &schema.fields()[self.time];
        let value = match row {
            RowSpec::Values(values) => {
                let place = traffic.fields.iter().position(|name| *name == field.name)?;
                values.get(place)?.value(field.ty).ok()
            }
            RowSpec::Key(_) => {
                schema.decode(key).ok()?.into_values().nth(self.time).map(Value::into_owned)
            }
        };
        match value? {
            Value::Signed(tick) => Some(tick),
            _ => None,
        }
    }

    fn hidden_in(&self, row: &RowSpec) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        if let RowSpec::Values(values) = row {
            for (place, ty) in &self.hidden {
                hasher.write_u64(fingerprint(&values.get(*place)?.value(*ty).ok()?));
            }
        }
        Some(hasher.finish())
    }
}

/// Returns the expected number of rows that replace an existing one if these writes had random
/// times, and the number of equal pairs within windows.
#[expect(clippy::cast_precision_loss, reason = "counts of a few million, and times")]
fn expected(mut events: Vec<Event>, width: f64) -> (f64, u64) {
    events.sort_unstable_by_key(|event| event.tick);
    let step = step(&events) as f64;
    let windows = (events.len() / WINDOW_WRITES).clamp(1, MAX_WINDOWS);
    let per_window = events.len().div_ceil(windows);
    let (mut lost, mut pairs) = (0.0, 0);
    let mut rest = &mut events[..];
    while !rest.is_empty() {
        // All writes of one tick are in one window.
        let last = rest[per_window.min(rest.len()) - 1].tick;
        let end = rest.partition_point(|event| event.tick <= last);
        let (window, behind) = rest.split_at_mut(end);
        let next = behind.first().map_or(last as f64 + step, |event| event.tick as f64);
        let ticks = ((next - window[0].tick as f64) / step).max(1.0);
        let (distinct, alike) = distinct(window, ticks, width);
        lost += (window.len() as f64 - distinct).max(0.0);
        pairs += alike;
        rest = behind;
    }
    (lost, pairs)
}

/// Returns the expected number of distinct keys if the writes are redistributed over `ticks`, and
/// the number of equal pairs.
///
/// Writes that are equal except for the time are in a tick with probability
/// `1 - (1 - 1/ticks)^count`, where they have one key. If a digest of `width` values distinguishes
/// them by a hidden field, each hidden value in the tick has a random digest: a digest is used
/// there unless all miss it.
#[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
fn distinct(window: &mut [Event], ticks: f64, width: f64) -> (f64, u64) {
    let missed = (-1.0 / ticks).ln_1p();
    let (mut distinct, mut pairs) = (0.0, 0);
    window.sort_unstable_by_key(|event| (event.alike, event.hidden));
    for class in window.chunk_by(|a, b| a.alike == b.alike) {
        let count = class.len() as u64;
        pairs += count * (count - 1) / 2;
        let used = |hidden: &[Event]| -(hidden.len() as f64 * missed).exp_m1();
        let missed_by_all: f64 = class
            .chunk_by(|a, b| a.hidden == b.hidden)
            .map(|hidden| (-used(hidden) / width).ln_1p())
            .sum();
        distinct += ticks * width * -missed_by_all.exp_m1();
    }
    (distinct, pairs)
}

/// Returns the step of the clock in ticks: more than one if all times are multiples of it and the
/// number of equal times matches. Writes at a steady pace also have times with a common divisor,
/// but no equal times.
#[expect(clippy::cast_precision_loss, reason = "counts of a few million, and times")]
fn step(sorted: &[Event]) -> u64 {
    let (mut divisor, mut times) = (0_u64, 1_u64);
    for pair in sorted.windows(2) {
        let (mut a, mut b) = (divisor, pair[1].tick.abs_diff(pair[0].tick));
        times += u64::from(b > 0);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        divisor = a;
    }
    if divisor <= 1 {
        return 1;
    }
    let (count, span) =
        (sorted.len() as f64, sorted[sorted.len() - 1].tick.abs_diff(sorted[0].tick));
    let ticks = (span / divisor + 1) as f64;
    let likely = count + ticks * (count * (-1.0 / ticks).ln_1p()).exp_m1();
    if count - times as f64 >= likely / 2.0 { divisor } else { 1 }
}

#[expect(clippy::cast_precision_loss, reason = "an expectation")]
fn digest(
    schema: &KeySchema,
    keys: &Keys,
    traffic: &Traffic,
    writes: &[u32],
    at: usize,
) -> Option<DigestCollisions> {
    let SegmentKind::Hash { by, bytes, .. } = &schema.segments()[at].kind else { return None };
    if !by.iter().any(|&field| schema.is_only_hashed(field)) {
        return None;
    }
    let is_lower_bound = traffic.fields.is_empty();
    let values = if is_lower_bound {
        // Keys do not reveal how many values already share a digest.
        let digest = |&write: &u32| {
            let key = keys.get(write as usize);
            schema.split_segments(key).ok().map(|ranges| &key[ranges[at].clone()])
        };
        writes.iter().filter_map(digest).collect::<HashSet<_>>().len()
    } else {
        distinct_counts(schema, keys, traffic, writes, std::slice::from_ref(by)).first()?.distinct
    };
    let bits = 8 * u32::from(*bytes);
    let expected = (values as f64).powi(2)
        / 2_f64.powi(i32::try_from(bits).unwrap_or(i32::MAX).saturating_add(1));
    Some(DigestCollisions { segment: at, bits, values: values as u64, is_lower_bound, expected })
}
