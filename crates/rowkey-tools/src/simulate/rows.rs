//! Statistics of rows: writes per row, rows per prefix, and values per field.

use bytes::Bytes;
use halite_rowkey::schema::{FieldId, KeySchema, SegmentKind};

use super::keys::Keys;
use super::stats::percentile_index;
use super::traffic::Traffic;
use super::values::{DistinctCount, distinct_counts};

/// Maximum busiest rows and prefixes reported.
const MAX_HOT_KEYS: usize = 5;

/// Frequently used keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HotKeys {
    /// Busiest keys with their exact number of uses; for a prefix, its bytes.
    pub top: Vec<(Bytes, u64)>,
    /// Number of distinct keys.
    pub distinct: usize,
    /// Share of the busiest key in all operations.
    pub top_share: f64,
}

/// Partitions by the value of the first field.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Partitions {
    /// Number of partitions.
    pub count: usize,
    /// Median of the rows.
    pub median_rows: u64,
    /// 99th percentile of the rows.
    pub p99_rows: u64,
    /// Rows of the largest partition.
    pub max_rows: u64,
    /// Key bytes of the largest partition.
    pub max_key_bytes: u64,
    /// Share of the largest partition in all rows.
    pub max_share: f64,
}

/// Number of values of a field in the traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cardinality {
    /// Name of the field.
    pub field: String,
    /// Distinct values seen.
    pub distinct: usize,
    /// `true` if there may be more: counting ended there, or the keys of a trace contain only a
    /// part of the field.
    pub is_lower_bound: bool,
}

/// Effective spread of a salt or a hash: its number of values, or that of its input if lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectiveSpread {
    /// Segment of the salt or hash.
    pub segment: usize,
    /// Number of distinct values that receive load.
    pub places: u64,
    /// Number of salts, or of values of the digest.
    pub of: u64,
}

/// Returns the keys of some operations, sorted.
pub(super) fn sorted(keys: &Keys, mut places: Vec<u32>) -> Vec<u32> {
    places.sort_by(|&a, &b| keys.get(a as usize).cmp(keys.get(b as usize)));
    places
}

/// Counts the uses of keys or prefixes: `length` returns the number of relevant bytes of the key at
/// an index, `sorted` is in key order.
#[expect(clippy::cast_precision_loss, reason = "a share of a sample")]
pub(super) fn hot_keys(
    keys: &Keys,
    traffic: &Traffic,
    sorted: &[u32],
    length: impl Fn(u32) -> usize,
) -> HotKeys {
    let mut hot = HotKeys::default();
    let weight = |places: &[u32]| {
        let weights = places.iter().map(|&at| traffic.operations[at as usize].weight);
        weights.fold(0_u64, u64::saturating_add)
    };
    for run in runs(keys, sorted, &length) {
        let key = keys.get(run[0] as usize);
        hot.distinct += 1;
        hot.top.push((Bytes::copy_from_slice(&key[..length(run[0])]), weight(run)));
        if hot.top.len() > 4096 {
            keep_hottest(&mut hot.top);
        }
    }
    keep_hottest(&mut hot.top);
    hot.top_share = hot.top.first().map_or(0.0, |(_, count)| *count as f64 / weight(sorted) as f64);
    hot
}

fn keep_hottest(top: &mut Vec<(Bytes, u64)>) {
    top.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    top.truncate(MAX_HOT_KEYS);
}

/// Returns the sequences of keys with equal prefixes.
fn runs<'s>(
    keys: &'s Keys,
    sorted: &'s [u32],
    length: &'s impl Fn(u32) -> usize,
) -> impl Iterator<Item = &'s [u32]> {
    sorted.chunk_by(move |&a, &b| {
        keys.get(a as usize)[..length(a)] == keys.get(b as usize)[..length(b)]
    })
}

/// Returns the partitions by a prefix of the key; every row counts once, regardless of its number
/// of writes.
#[expect(clippy::cast_precision_loss, reason = "a share of a sample")]
pub(super) fn partitions(keys: &Keys, sorted: &[u32], length: impl Fn(u32) -> usize) -> Partitions {
    let mut rows: Vec<u64> = Vec::new();
    let mut found = Partitions::default();
    for run in runs(keys, sorted, &length) {
        let distinct = run.chunk_by(|&a, &b| keys.get(a as usize) == keys.get(b as usize));
        let (count, bytes) = distinct.fold((0, 0), |(count, bytes), row| {
            (count + 1, bytes + keys.get(row[0] as usize).len() as u64)
        });
        rows.push(count);
        if count > found.max_rows {
            (found.max_rows, found.max_key_bytes) = (count, bytes);
        }
    }
    rows.sort_unstable();
    let all: u64 = rows.iter().sum();
    found.count = rows.len();
    found.median_rows = rows.get(rows.len() / 2).copied().unwrap_or(0);
    found.p99_rows = rows.get(percentile_index(rows.len(), 99)).copied().unwrap_or(0);
    found.max_share = found.max_rows as f64 / all.max(1) as f64;
    found
}

/// Returns, for the key at each index, its bytes up to the end of the first field, including
/// derived segments before it; the whole key if it is not of the schema or has one field.
pub(super) fn first_field_ends(schema: &KeySchema, keys: &Keys, count: usize) -> Vec<u16> {
    let first = schema.segments().iter().position(|segment| segment.kind.field().is_some());
    let end = |at: usize| {
        let key = keys.get(at);
        let found = || schema.split_segments(key).ok()?.get(first?).map(|range| range.end);
        u16::try_from(found().unwrap_or(key.len())).unwrap_or(u16::MAX)
    };
    (0..count).map(end).collect()
}

/// Returns the numbers of values of the fields.
pub(super) fn cardinalities(
    schema: &KeySchema,
    keys: &Keys,
    traffic: &Traffic,
    writes: &[u32],
) -> Vec<Cardinality> {
    let alone: Vec<Vec<FieldId>> = (0..schema.fields().len()).map(|field| vec![field]).collect();
    let found = distinct_counts(schema, keys, traffic, writes, &alone);
    let to_statistics =
        |(field, found): (&halite_rowkey::schema::Field, DistinctCount)| Cardinality {
            field: field.name.clone(),
            distinct: found.distinct,
            is_lower_bound: found.is_lower_bound,
        };
    schema.fields().iter().zip(found).map(to_statistics).collect()
}

/// Returns the effective spread of each salt and hash, given the observed combinations of values of
/// its fields.
pub(super) fn effective_spread(
    schema: &KeySchema,
    keys: &Keys,
    traffic: &Traffic,
    writes: &[u32],
) -> Vec<EffectiveSpread> {
    let spread = |at: usize| {
        let of = match schema.segments()[at].kind {
            SegmentKind::Salt { count, ref function, .. } if function.is_deterministic() => {
                u64::from(count)
            }
            SegmentKind::Hash { bytes, .. } => {
                1_u64.checked_shl(8 * u32::from(bytes)).unwrap_or(u64::MAX)
            }
            _ => return None,
        };
        // A field that a key of a trace does not contain cannot be decoded.
        let is_known = !traffic.fields.is_empty()
            || schema.hashed_fields(at).iter().all(|&field| !schema.is_only_hashed(field));
        is_known.then_some((at, of))
    };
    let derived: Vec<(usize, u64)> = (0..schema.segments().len()).filter_map(spread).collect();
    let groups: Vec<Vec<FieldId>> =
        derived.iter().map(|&(at, _)| schema.hashed_fields(at)).collect();
    let found = distinct_counts(schema, keys, traffic, writes, &groups);
    let to_statistics = |((segment, of), found): ((usize, u64), DistinctCount)| EffectiveSpread {
        segment,
        places: of.min(found.distinct.max(1) as u64),
        of,
    };
    derived.into_iter().zip(found).map(to_statistics).collect()
}
