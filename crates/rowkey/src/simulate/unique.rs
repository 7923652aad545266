//! Rows that replace each other: those that did, those that will as the rate grows, and digests that meet.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

use super::keys::Keys;
use crate::schema::{KeySchema, SegmentKind};
use crate::value::{FieldType, TimeUnit};

/// How sure it is that different rows have different keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Uniqueness {
    /// Writes that were looked at.
    pub writes: u64,
    /// Different keys among them.
    pub rows: u64,
    /// Writes in a second, in the mean.
    pub writes_per_second: f64,
    /// Rows lost in a second because two come in one millisecond with everything else alike: `r^2 / (2000 B)`, with `B` as
    /// many equally likely values of everything else as meet as often as these. `None` if no time in milliseconds is in the
    /// key.
    pub lost_per_second: Option<f64>,
    /// Digests that stand for a field that is nowhere else in the key.
    pub digests: Vec<DigestCollisions>,
}

/// Values that share a digest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DigestCollisions {
    /// The segment.
    pub segment: usize,
    /// Bits of the digest that are in the key.
    pub bits: u32,
    /// Different digests that were seen.
    pub seen: u64,
    /// Pairs of values that share one, expected of as many values: `n^2 / 2^(bits + 1)`.
    pub expected: f64,
}

/// `writes` are places of written keys, `rows` the number of different ones among them.
#[expect(clippy::cast_precision_loss, reason = "rates and expectations")]
pub(super) fn uniqueness(schema: &KeySchema, keys: &Keys, writes: &[u32], rows: u64, span_ms: i64) -> Uniqueness {
    let seconds = (span_ms.max(1) as f64) / 1000.0;
    let writes_per_second = writes.len() as f64 / seconds;
    let time = (0..schema.segments().len()).find(|&at| is_millis(schema, at));
    let lost = time.map(|at| {
        let alike = meeting(schema, keys, writes, at);
        writes_per_second * writes_per_second / 2000.0 * alike
    });
    let digests = (0..schema.segments().len()).filter_map(|at| digest(schema, keys, writes, at)).collect();
    Uniqueness { writes: writes.len() as u64, rows, writes_per_second, lost_per_second: lost, digests }
}

/// Whether a segment carries a time in milliseconds.
fn is_millis(schema: &KeySchema, at: usize) -> bool {
    let ty = schema.segments()[at].kind.carries().map(|field| schema.fields()[field].ty);
    ty == Some(FieldType::Timestamp(TimeUnit::Millis))
}

/// How likely two writes are alike in everything but one segment, and what is derived from it.
#[expect(clippy::cast_precision_loss, reason = "a probability")]
fn meeting(schema: &KeySchema, keys: &Keys, writes: &[u32], time: usize) -> f64 {
    let mut counts: HashMap<u64, u64> = HashMap::new();
    let field = schema.segments()[time].kind.field();
    let of_time = |at: usize| at == time || field.is_some_and(|field| schema.hashed_fields(at) == [field]);
    let skipped: Vec<bool> = (0..schema.segments().len()).map(of_time).collect();
    for &at in writes {
        let key = keys.get(at as usize);
        let Ok(ranges) = schema.split_segments(key) else { continue };
        let mut hasher = DefaultHasher::new();
        for (range, _) in ranges.into_iter().zip(&skipped).filter(|(_, skipped)| !**skipped) {
            hasher.write_usize(range.len());
            hasher.write(&key[range]);
        }
        *counts.entry(hasher.finish()).or_insert(0) += 1;
    }
    let all = counts.values().sum::<u64>().max(1) as f64;
    counts.values().map(|&count| (count as f64 / all).powi(2)).sum()
}

#[expect(clippy::cast_precision_loss, reason = "an expectation")]
fn digest(schema: &KeySchema, keys: &Keys, writes: &[u32], at: usize) -> Option<DigestCollisions> {
    let SegmentKind::Hash { by, bytes, .. } = &schema.segments()[at].kind else { return None };
    if !by.iter().any(|&field| schema.is_only_hashed(field)) {
        return None;
    }
    let mut seen = std::collections::HashSet::new();
    for &write in writes {
        let key = keys.get(write as usize);
        if let Ok(ranges) = schema.split_segments(key) {
            seen.insert(&key[ranges[at].clone()]);
        }
    }
    let bits = 8 * u32::from(*bytes);
    let expected = (seen.len() as f64).powi(2) / 2_f64.powi(i32::try_from(bits).unwrap_or(i32::MAX).saturating_add(1));
    Some(DigestCollisions { segment: at, bits, seen: seen.len() as u64, expected })
}
