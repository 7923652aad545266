//! Rows and what they share: how often each is written, how many lie under one beginning, how many values fields have.

use bytes::Bytes;

use super::keys::Keys;
use super::traffic::Traffic;
use super::values::{Counted, counted};
use crate::schema::{FieldId, KeySchema, SegmentKind};

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
    /// Whether there may be more: counting ended there, or the keys of a trace hold only a part of the field.
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

/// How many values fields have.
pub(super) fn cardinalities(schema: &KeySchema, keys: &Keys, traffic: &Traffic, writes: &[u32]) -> Vec<Cardinality> {
    let alone: Vec<Vec<FieldId>> = (0..schema.fields().len()).map(|field| vec![field]).collect();
    let found = counted(schema, keys, traffic, writes, &alone);
    let told = |(field, found): (&crate::schema::Field, Counted)| Cardinality {
        field: field.name.clone(),
        distinct: found.distinct,
        is_least: found.is_least,
    };
    schema.fields().iter().zip(found).map(told).collect()
}

/// How widely each salt and hash spreads, of the values its fields were seen to have together.
pub(super) fn effective_spread(schema: &KeySchema, keys: &Keys, traffic: &Traffic, writes: &[u32]) -> Vec<EffectiveSpread> {
    let spread = |at: usize| {
        let of = match schema.segments()[at].kind {
            SegmentKind::Salt { count, ref function, .. } if function.is_deterministic() => u64::from(count),
            SegmentKind::Hash { bytes, .. } => 1_u64.checked_shl(8 * u32::from(bytes)).unwrap_or(u64::MAX),
            _ => return None,
        };
        // A field that a key of a trace does not hold is not read back from it.
        let is_known = !traffic.fields.is_empty() || schema.hashed_fields(at).iter().all(|&field| !schema.is_only_hashed(field));
        is_known.then_some((at, of))
    };
    let derived: Vec<(usize, u64)> = (0..schema.segments().len()).filter_map(spread).collect();
    let groups: Vec<Vec<FieldId>> = derived.iter().map(|&(at, _)| schema.hashed_fields(at)).collect();
    let found = counted(schema, keys, traffic, writes, &groups);
    let told = |((segment, of), found): ((usize, u64), Counted)| EffectiveSpread { segment, places: of.min(found.distinct.max(1) as u64), of };
    derived.into_iter().zip(found).map(told).collect()
}
