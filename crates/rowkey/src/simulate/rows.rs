//! Rows and what they share: how often each is written, how many lie under one beginning, how many values fields have.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;

use super::keys::Keys;
use crate::schema::{KeySchema, SegmentKind};
use crate::value::Value;

/// Values of a field that are counted; of more it is said that there are at least as many.
const DISTINCT_MAX: usize = 1_000_000;
/// Busiest rows and beginnings that are told.
const HOT_MAX: usize = 5;

/// Keys that are used more than others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hot {
    /// The busiest ones with how often they were used, counted exactly; for a beginning, its bytes.
    pub top: Vec<(Bytes, u64)>,
    /// How many there are.
    pub distinct: usize,
    /// The share of all operations that goes to the busiest one.
    pub top_share: f64,
}

/// What lies under one value of the first field.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Partitions {
    /// How many there are.
    pub count: usize,
    /// Rows of the middle one.
    pub rows_median: u64,
    /// Rows that 99 of 100 do not exceed.
    pub rows_p99: u64,
    /// Rows of the greatest.
    pub rows_max: u64,
    /// Bytes of keys of the greatest.
    pub key_bytes_max: u64,
    /// The share of all rows that the greatest has.
    pub share_max: f64,
}

/// How many values a field has in the traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cardinality {
    /// The field.
    pub field: String,
    /// Values that were seen.
    pub distinct: usize,
    /// Whether counting ended there, so that there may be more.
    pub is_least: bool,
}

/// How widely a salt or a hash can spread: what it has, or the values it is made of if these are fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectiveSpread {
    /// The segment.
    pub segment: usize,
    /// Places that the load can go to.
    pub places: u64,
    /// Salts, or values of the digest.
    pub of: u64,
}

/// Keys of some operations in the order of their bytes.
pub(super) fn sorted(keys: &Keys, mut places: Vec<u32>) -> Vec<u32> {
    places.sort_by(|&a, &b| keys.get(a as usize).cmp(keys.get(b as usize)));
    places
}

/// How often keys, or beginnings of them, were used: `length` has the bytes that count of the key at a place, `sorted` is in
/// the order of the keys.
#[expect(clippy::cast_precision_loss, reason = "a share of a sample")]
pub(super) fn hot(keys: &Keys, sorted: &[u32], length: impl Fn(u32) -> usize) -> Hot {
    let mut hot = Hot::default();
    for run in runs(keys, sorted, &length) {
        let key = keys.get(run[0] as usize);
        hot.distinct += 1;
        hot.top.push((Bytes::copy_from_slice(&key[..length(run[0])]), run.len() as u64));
        if hot.top.len() > 4096 {
            keep_hot(&mut hot.top);
        }
    }
    keep_hot(&mut hot.top);
    hot.top_share = hot.top.first().map_or(0.0, |(_, count)| *count as f64 / sorted.len() as f64);
    hot
}

fn keep_hot(top: &mut Vec<(Bytes, u64)>) {
    top.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    top.truncate(HOT_MAX);
}

/// Stretches of keys that begin alike.
fn runs<'s>(keys: &'s Keys, sorted: &'s [u32], length: &'s impl Fn(u32) -> usize) -> impl Iterator<Item = &'s [u32]> {
    sorted.chunk_by(move |&a, &b| keys.get(a as usize)[..length(a)] == keys.get(b as usize)[..length(b)])
}

/// Partitions by a beginning of the key; every row counts once, however often it was written.
#[expect(clippy::cast_precision_loss, reason = "a share of a sample")]
pub(super) fn partitions(keys: &Keys, sorted: &[u32], length: impl Fn(u32) -> usize) -> Partitions {
    let mut rows: Vec<u64> = Vec::new();
    let mut found = Partitions::default();
    for run in runs(keys, sorted, &length) {
        let distinct = run.chunk_by(|&a, &b| keys.get(a as usize) == keys.get(b as usize));
        let (count, bytes) = distinct.fold((0, 0), |(count, bytes), row| (count + 1, bytes + keys.get(row[0] as usize).len() as u64));
        rows.push(count);
        if count > found.rows_max {
            (found.rows_max, found.key_bytes_max) = (count, bytes);
        }
    }
    rows.sort_unstable();
    let all: u64 = rows.iter().sum();
    found.count = rows.len();
    found.rows_median = rows.get(rows.len() / 2).copied().unwrap_or(0);
    found.rows_p99 = rows.get((rows.len() * 99).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0);
    found.share_max = found.rows_max as f64 / all.max(1) as f64;
    found
}

/// For the key at each place, its bytes up to the end of the first field that it holds, what is derived in front of it
/// included; all of a key that is none of the schema, and of keys of one field.
pub(super) fn first_field_ends(schema: &KeySchema, keys: &Keys, count: usize) -> Vec<u16> {
    let first = schema.segments().iter().position(|segment| segment.kind.field().is_some());
    let end = |at: usize| {
        let key = keys.get(at);
        let found = || schema.split_segments(key).ok()?.get(first?).map(|range| range.end);
        u16::try_from(found().unwrap_or(key.len())).unwrap_or(u16::MAX)
    };
    (0..count).map(end).collect()
}

/// How many values fields have, from the keys; buckets and truncations count as what is in the key.
pub(super) fn cardinalities(schema: &KeySchema, keys: &Keys, distinct: &[u32]) -> Vec<Cardinality> {
    let mut seen: Vec<HashSet<u64>> = vec![HashSet::new(); schema.fields().len()];
    for &at in distinct {
        let Some(decoded) = keys.decode(schema, at as usize) else { continue };
        for (values, value) in seen.iter_mut().zip(decoded.values()).filter(|(values, _)| values.len() < DISTINCT_MAX) {
            values.insert(fingerprint(value));
        }
    }
    let told = |(field, values): (&crate::schema::Field, HashSet<u64>)| Cardinality {
        field: field.name.clone(),
        distinct: values.len(),
        is_least: values.len() >= DISTINCT_MAX,
    };
    schema.fields().iter().zip(seen).map(told).collect()
}

/// A value as a number that is the same for the same value.
pub(super) fn fingerprint(value: &Value<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        Value::Unsigned(number) => number.hash(&mut hasher),
        Value::Signed(number) => number.hash(&mut hasher),
        Value::Text(text) => text.hash(&mut hasher),
        Value::Bytes(bytes) => bytes.hash(&mut hasher),
        other => format!("{other:?}").hash(&mut hasher),
    }
    hasher.finish()
}

/// How widely each salt and hash spreads, of the values its fields were seen to have.
pub(super) fn effective_spread(schema: &KeySchema, found: &[Cardinality]) -> Vec<EffectiveSpread> {
    let values = |at: usize| schema.hashed_fields(at).iter().map(|&field| found[field].distinct.max(1) as u64).fold(1, u64::saturating_mul);
    let spread = |(at, segment): (usize, &crate::schema::Segment)| {
        let of = match segment.kind {
            SegmentKind::Salt { count, ref function, .. } if function.is_deterministic() => u64::from(count),
            SegmentKind::Hash { bytes, .. } => 1_u64.checked_shl(8 * u32::from(bytes)).unwrap_or(u64::MAX),
            _ => return None,
        };
        // A field that only the hash holds is not read back from keys.
        let is_known = schema.hashed_fields(at).iter().all(|&field| !schema.is_only_hashed(field));
        is_known.then(|| EffectiveSpread { segment: at, places: of.min(values(at)), of })
    };
    schema.segments().iter().enumerate().filter_map(spread).collect()
}
