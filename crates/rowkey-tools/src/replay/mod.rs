//! Recorded operations under another row key: where they would have gone, and what their queries
//! would have cost.
//!
//! ```text
//! candidates.rs    other keys for the same fields      scans.rs     conditions of a range of keys
//! rekey.rs         a key of one schema in another      windows.rs   skew in windows of time
//! ```

mod candidates;
mod rekey;
mod scans;
#[cfg(test)]
mod tests;
mod windows;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use halite_rowkey::codec::KeyBuf;
use halite_rowkey::plan::{Plan, PlanOptions};
use halite_rowkey::schema::KeySchema;

use crate::picture::{KeyedOperation, Verdict};
use crate::split_sample;

pub use candidates::{Candidate, candidates, opaque_key};
pub use rekey::{CannotRekey, Rekeyer};
pub use windows::{Interval, LoadSkew, MIN_PER_REGION};

/// Operations below which a replay says nothing.
pub const MIN_OPERATIONS: usize = 100;
/// Scans whose ranges are planned, at most: evenly spread over the recorded ones.
const MAX_PLANNED: usize = 400;

/// Recorded operation.
#[derive(Clone, Debug)]
pub struct RecordedCall {
    /// Time in milliseconds since 1970.
    pub time_ms: i64,
    /// `true` for a get or scan.
    pub is_read: bool,
    /// Row, or the first row of a scan.
    pub row: Bytes,
    /// End of a scan, exclusive, empty for the end of the table; `None` for a call on one row.
    pub stop: Option<Bytes>,
    /// Call without rows and values; equal for equal queries.
    pub statement: Arc<str>,
    /// Operations of which it is the sample, at least 1: it counts as all of them.
    pub weight: u64,
}

/// What of the operations is compared.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// Regions of the table now: their first keys but the empty one, rising.
    pub boundaries: Vec<Bytes>,
    /// Regions that both keys are compared on, if the table has fewer than two.
    pub assumed_regions: u32,
    /// `true` to count reads, `false` for writes. If there are none, all operations count.
    pub counts_reads: bool,
    /// Random seed of generated salts and intervals.
    pub seed: u64,
}

/// Recorded operations under another key.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Operations that could be given a key of the other schema.
    pub operations: usize,
    /// Operations whose rows are no keys of the present schema.
    pub misfits: usize,
    /// Operations that the skews count.
    pub counted: usize,
    /// `true` if these are reads and writes, since there are none of the asked ones.
    pub counts_all: bool,
    /// Places of the replayed operations among those recorded, with their keys in the other schema.
    pub keys: Vec<(usize, Bytes)>,
    /// Boundaries of the regions of both: now and then.
    pub boundaries: (Vec<Bytes>, Vec<Bytes>),
    /// `true` if the table has fewer than two regions, and an even division is assumed for both.
    pub is_assumed: bool,
    /// Skew now and then.
    pub skew: (LoadSkew, LoadSkew),
    /// Shape of the load now and then.
    pub verdicts: (Verdict, Verdict),
    /// Mean length of a key in bytes, now and then.
    pub key_bytes: (f64, f64),
    /// Mean number of ranges per read, now and then; `None` without reads.
    pub ranges: Option<(f64, f64)>,
    /// Queries that read more ranges then, or the whole table, the worst first.
    pub worse: Vec<WorseQuery>,
}

/// Query that is served worse by another key.
#[derive(Clone, Debug, PartialEq)]
pub struct WorseQuery {
    /// Call without rows and values.
    pub statement: String,
    /// Mean number of ranges that it reads then; 1 now.
    pub ranges: f64,
    /// `true` if it reads the whole table then, and did not before.
    pub reads_all: bool,
    /// Operations that the recorded ones of it are the sample of.
    pub operations: u64,
}

/// Redraws operations recorded under the key of `rekeyer` under its other key.
///
/// # Errors
/// A text if no operation is on a key of the present schema.
pub fn replay(
    calls: &[RecordedCall],
    rekeyer: &Rekeyer,
    options: &ReplayOptions,
) -> Result<Replay, String> {
    let mut keys: Vec<(usize, Bytes)> = Vec::new();
    let (mut misfits, mut reason) = (0, None);
    for (at, call) in calls.iter().enumerate() {
        match rekeyer.rekey_start(&call.row, call.stop.is_some()) {
            Ok(Some(key)) => keys.push((at, key)),
            // A scan of unknown values is no operation on one place.
            Ok(None) => {}
            Err(error) => {
                misfits += 1;
                reason = reason.or(Some(error));
            }
        }
    }
    if keys.is_empty() {
        let text = reason.map_or_else(String::new, |reason| format!(", as {reason}"));
        return Err(format!(
            "none of the {} recorded operations is on a key that can be told{text}",
            calls.len()
        ));
    }
    let is_counted = |call: &RecordedCall| call.is_read == options.counts_reads;
    let has_counted = keys.iter().any(|(at, _)| is_counted(&calls[*at]));
    let counted = || keys.iter().filter(|(at, _)| !has_counted || is_counted(&calls[*at]));
    let operation = |at: usize, key| {
        let RecordedCall { time_ms, is_read, weight, .. } = calls[at];
        KeyedOperation { time_ms, key, is_read, weight }
    };
    let now: Vec<KeyedOperation<'_>> =
        counted().map(|(at, _)| operation(*at, &calls[*at].row[..])).collect();
    let then: Vec<KeyedOperation<'_>> =
        counted().map(|(at, key)| operation(*at, &key[..])).collect();
    let is_assumed = options.boundaries.is_empty();
    let regions = if is_assumed {
        options.assumed_regions
    } else {
        u32::try_from(options.boundaries.len() + 1).unwrap_or(u32::MAX)
    };
    let now_boundaries = if is_assumed { even(&now, regions) } else { options.boundaries.clone() };
    let then_boundaries = by_salt(rekeyer.to(), regions).unwrap_or_else(|| even(&then, regions));
    let skew = (
        LoadSkew::of(&now, &now_boundaries, regions as usize, options.seed),
        LoadSkew::of(&then, &then_boundaries, regions as usize, options.seed),
    );
    let (ranges, worse) = compare_queries(calls, rekeyer);
    let verdicts = (
        skew.0.verdict(&now, &now_boundaries, rekeyer.from(), ranges.map(|ranges| ranges.0)),
        skew.1.verdict(&then, &then_boundaries, rekeyer.to(), ranges.map(|ranges| ranges.1)),
    );
    Ok(Replay {
        operations: keys.len(),
        misfits,
        counted: now.len(),
        counts_all: !has_counted,
        key_bytes: (mean_length(&now), mean_length(&then)),
        boundaries: (now_boundaries, then_boundaries),
        keys,
        is_assumed,
        skew,
        verdicts,
        ranges,
        worse,
    })
}

/// Returns boundaries of regions with equal numbers of salts, if there are enough of them.
fn by_salt(key: &KeySchema, regions: u32) -> Option<Vec<Bytes>> {
    let count = key.salt_count(0).filter(|count| *count >= regions)?;
    let boundary = |region: u32| {
        let mut start = KeyBuf::new();
        let salt = u64::from(region) * u64::from(count) / u64::from(regions);
        key.encode_salt(0, u32::try_from(salt).ok()?, &mut start).ok()?;
        Some(Bytes::copy_from_slice(&start))
    };
    (1..regions).map(boundary).collect()
}

/// Returns boundaries of regions with equal numbers of different rows.
fn even(calls: &[KeyedOperation<'_>], regions: u32) -> Vec<Bytes> {
    let mut rows: Vec<&[u8]> = calls.iter().map(|call| call.key).collect();
    rows.sort_unstable();
    rows.dedup();
    let rows = rows.into_iter().map(Bytes::copy_from_slice).collect();
    // One row cannot be divided.
    split_sample(rows, regions).map_or_else(|_| Vec::new(), |splits| splits.keys)
}

#[expect(clippy::cast_precision_loss, reason = "a mean of counts far below 2^52")]
fn mean_length(calls: &[KeyedOperation<'_>]) -> f64 {
    let bytes: f64 = calls.iter().map(|call| call.key.len() as f64 * call.weight as f64).sum();
    let weight: f64 = calls.iter().map(|call| call.weight as f64).sum();
    bytes / weight.max(1.0)
}

/// Ranges of one statement.
#[derive(Default)]
struct Cost {
    /// Operations of the planned ones.
    planned: f64,
    ranges: f64,
    reads_all: f64,
}

/// Returns the mean number of ranges per read now and then, and the queries that get worse.
#[expect(clippy::cast_precision_loss, reason = "a mean of counts far below 2^52")]
fn compare_queries(
    calls: &[RecordedCall],
    rekeyer: &Rekeyer,
) -> (Option<(f64, f64)>, Vec<WorseQuery>) {
    let reads: Vec<&RecordedCall> = calls.iter().filter(|call| call.is_read).collect();
    let step = reads.len().div_ceil(MAX_PLANNED).max(1);
    let to = Arc::new(rekeyer.to().clone());
    let options = PlanOptions { resolver: Some(rekeyer.resolver()), ..PlanOptions::default() };
    let mut costs: BTreeMap<&str, Cost> = BTreeMap::new();
    // Not every n-th of them: calls of a program may alternate.
    let is_chosen =
        |at: &usize| halite_types::rng::split_mix(*at as u64).is_multiple_of(step as u64);
    for call in (0..reads.len()).filter(is_chosen).map(|at| reads[at]) {
        let Some(read) = planned(call, rekeyer, &to, &options) else { continue };
        let cost = costs.entry(&call.statement).or_default();
        let weight = call.weight.max(1) as f64;
        cost.planned += weight;
        cost.ranges += read.ranges as f64 * weight;
        cost.reads_all += if read.gets_whole_table { weight } else { 0.0 };
    }
    let total: f64 = costs.values().map(|cost| cost.planned).sum();
    let ranges: f64 = costs.values().map(|cost| cost.ranges).sum();
    let operations = |statement: &str| {
        let same = reads.iter().filter(|call| *call.statement == *statement);
        same.fold(0_u64, |sum, call| sum.saturating_add(call.weight.max(1)))
    };
    let mut worse: Vec<WorseQuery> = costs
        .into_iter()
        .map(|(statement, cost)| WorseQuery {
            operations: operations(statement),
            statement: statement.to_owned(),
            ranges: cost.ranges / cost.planned,
            reads_all: cost.reads_all * 2.0 > cost.planned,
        })
        .filter(|query| query.reads_all || query.ranges > 1.0)
        .collect();
    worse.sort_by(|a, b| {
        (b.reads_all, b.operations)
            .cmp(&(a.reads_all, a.operations))
            .then_with(|| b.ranges.total_cmp(&a.ranges))
    });
    ((total > 0.0).then(|| (1.0, ranges / total)), worse)
}

/// Ranges of one read under the other key.
struct PlannedRead {
    ranges: usize,
    /// `true` if it reads everything then, and did not before.
    gets_whole_table: bool,
}

fn planned(
    call: &RecordedCall,
    rekeyer: &Rekeyer,
    to: &Arc<KeySchema>,
    options: &PlanOptions,
) -> Option<PlannedRead> {
    let query = match &call.stop {
        None => rekeyer.query_of_row(&call.row)?,
        Some(stop) => scans::query_of_range(rekeyer, &call.row, stop),
    };
    let read_all = query.conditions.is_empty();
    let plan = Plan::new(to, &query, options).ok()?;
    let reads_all = plan.is_full_scan();
    // A scan of everything is one, however many salts there are.
    let ranges = if read_all { 1 } else { plan.ranges().count() };
    Some(PlannedRead { ranges, gets_whole_table: reads_all && !read_all })
}
