//! Keys that begin alike, or lie together, and have too much of the load.

use std::collections::{BTreeMap, HashSet};

use super::Salt;
use super::evidence::{Evidence, UNEVEN, share, uneven_limit};
use super::finding::{Finding, NO_KEYS, Shape, confidence};
use crate::activity::{ActivityColumn, WeightedKey};
use crate::codec::PackedColumn;

/// Share of the load from which a group of keys is hot.
const HOT_SHARE: f64 = 0.25;
/// Load of a hot group over its fair share.
const HOT_RATIO: f64 = 4.0;
/// Longest prefix that is tried, in bytes.
const MAX_PREFIX_BYTES: usize = 64;
/// Groups among which one can be hot.
const MIN_GROUPS: usize = 4;
/// Share of the buckets that a hot range has at most.
const RANGE_WIDTH: f64 = 0.25;
/// Share of the load that a hot range has at least.
const RANGE_SHARE: f64 = 0.6;
/// Part of the load of a hot prefix that a longer one has at least if it is the better name.
const PREFIX_PART: f64 = 0.8;
/// Buckets from which a table is known well enough to name a range of it.
const MIN_BUCKETS: usize = 16;

/// Returns the number of distinct rows of the sample, at least 1: a lower bound.
#[expect(clippy::cast_precision_loss, reason = "a number of samples")]
pub(super) fn distinct_rows(columns: &[&ActivityColumn]) -> f64 {
    let keys = columns.iter().flat_map(|column| &column.keys);
    let rows: HashSet<&[u8]> = keys.map(|key| &*key.key.row).collect();
    rows.len().max(1) as f64
}

fn keys<'a>(evidence: &'a Evidence<'_>) -> impl Iterator<Item = &'a WeightedKey> + Clone {
    evidence.columns.iter().flat_map(|column| &column.keys)
}

/// Weight and number of the samples of each group.
fn weights<'a>(groups: impl Iterator<Item = (&'a [u8], f64)>) -> BTreeMap<&'a [u8], (f64, usize)> {
    let mut weights: BTreeMap<&[u8], (f64, usize)> = BTreeMap::new();
    for (group, weight) in groups {
        let entry = weights.entry(group).or_default();
        entry.0 += weight;
        entry.1 += 1;
    }
    weights
}

/// Returns the deviation of a share in a sample.
#[expect(clippy::cast_precision_loss, reason = "a number of samples")]
fn deviation(share: f64, samples: usize) -> f64 {
    (share * (1.0 - share) / samples.max(1) as f64).sqrt().max(0.005)
}

/// Finds values of the declared salt that have twice the mean load.
pub(super) fn salt_imbalance(evidence: &Evidence<'_>, salt: Salt<'_>) -> Option<Finding> {
    let salted = keys(evidence).filter_map(|key| {
        let row = &*key.key.row;
        Some((row.get(..(salt.length)(row)?)?, key.weight))
    });
    let groups = weights(salted);
    let total: f64 = groups.values().map(|(weight, _)| weight).sum();
    let samples: usize = groups.values().map(|(_, samples)| samples).sum();
    let (value, (most, _)) = groups.iter().max_by(|one, other| one.1.0.total_cmp(&other.1.0))?;
    let top = most / total;
    let salts = f64::from(salt.count);
    let (ratio, error) = (top * salts, deviation(top, samples) * salts);
    let limit = uneven_limit(salts);
    if salts < 2.0 || ratio < limit || samples < 64 {
        return None;
    }
    let mut finding = evidence.finding(Shape::SaltImbalance, confidence(ratio - limit, error));
    finding.key = Some(value.to_vec());
    finding.evidence.extend([("salts", salts), ("largest_over_mean", ratio), ("share", top)]);
    Some(finding)
}

/// Finds a hot prefix or a hot range. A prefix says more, unless the range around it is hot without
/// it as well.
pub(super) fn hot_keys(evidence: &Evidence<'_>, columns: &[PackedColumn]) -> Option<Finding> {
    match (hot_prefix(evidence, columns), hot_range(evidence, columns)) {
        (Some(prefix), Some(range)) => {
            let is_range = range.says_more_than(prefix.key.as_deref()?, evidence, columns);
            Some(if is_range { range.finding(evidence) } else { prefix })
        }
        (None, Some(range)) => Some(range.finding(evidence)),
        (prefix, None) => prefix,
    }
}

/// Finds a prefix whose keys have much more of the load than others of its length: the longest that
/// has most of the load of the first.
fn hot_prefix(evidence: &Evidence<'_>, columns: &[PackedColumn]) -> Option<Finding> {
    let total: f64 = keys(evidence).map(|key| key.weight).sum();
    let mut best: Option<(Vec<u8>, f64, usize, f64)> = None;
    let mut least = HOT_SHARE;
    for length in 1..=MAX_PREFIX_BYTES {
        let prefixes =
            keys(evidence).filter_map(|key| Some((key.key.row.get(..length)?, key.weight)));
        let groups = weights(prefixes);
        let Some((prefix, (most, samples))) =
            groups.iter().max_by(|one, other| one.1.0.total_cmp(&other.1.0))
        else {
            break;
        };
        let top = most / total;
        if top < least {
            break;
        }
        let mut others: Vec<f64> = groups.values().map(|(weight, _)| weight / total).collect();
        others.sort_by(f64::total_cmp);
        let median = others[others.len() / 2];
        #[expect(clippy::cast_precision_loss, reason = "a number of groups")]
        let fair = (1.0 / groups.len() as f64).max(median);
        let is_hot = groups.len() >= MIN_GROUPS && top >= HOT_RATIO * fair;
        // Rows of the prefix, as far as files tell: a prefix with many rows has a right to load.
        let rows = row_share(columns, prefix);
        if is_hot && rows.is_none_or(|rows| top >= 2.0 * rows) {
            // A longer one with less of the load is only a part of what is hot.
            least = least.max(top * PREFIX_PART);
            best = Some((prefix.to_vec(), top, *samples, rows.unwrap_or(fair)));
        }
    }
    let (prefix, top, samples, rows) = best?;
    let mut finding =
        evidence.finding(Shape::HotPrefix, confidence(top - HOT_SHARE, deviation(top, samples)));
    finding.key = Some(prefix);
    finding.evidence.extend([("share", top), ("share_of_rows", rows)]);
    Some(finding)
}

/// Returns the share of a prefix in the buckets of the newest column, `None` if they are too few to
/// tell. Buckets have about equal numbers of rows.
fn row_share(columns: &[PackedColumn], prefix: &[u8]) -> Option<f64> {
    let bounds = &columns.last()?.bounds;
    if bounds.len() < MIN_BUCKETS {
        return None;
    }
    let inside = bounds.iter().filter(|bound| bound.starts_with(prefix)).count();
    // The bucket that the prefix begins in counts as well.
    Some(share(inside as u64 + 1, bounds.len() as u64))
}

/// Adjacent buckets with most of the load.
struct HotRange {
    start: Vec<u8>,
    /// First row after it; `None` at the end of the table.
    end: Option<Vec<u8>>,
    /// Share of the requests of the metric.
    load: f64,
    /// Share of the buckets.
    width: f64,
    /// `true` if the load is that of writes.
    is_write: bool,
}

impl HotRange {
    /// Returns `true` if the range is hot without the rows of a prefix too.
    fn says_more_than(
        &self,
        prefix: &[u8],
        evidence: &Evidence<'_>,
        columns: &[PackedColumn],
    ) -> bool {
        let is_after_start = *prefix >= *self.start || self.start.starts_with(prefix);
        if !is_after_start || self.end.as_ref().is_some_and(|end| *prefix >= **end) {
            return true;
        }
        let of_metric = || keys(evidence).filter(|key| key.key.is_write == self.is_write);
        let total: f64 = of_metric().map(|key| key.weight).sum();
        let inside = of_metric().filter(|key| key.key.row.starts_with(prefix));
        let load = inside.map(|key| key.weight).sum::<f64>() / total.max(1.0);
        let width = self.width - row_share(columns, prefix).unwrap_or(0.0);
        width > 0.0 && (self.load - load) / width >= UNEVEN
    }

    fn finding(self, evidence: &Evidence<'_>) -> Finding {
        let confidence = confidence(RANGE_WIDTH - self.width, 0.05);
        let mut finding = evidence.finding(Shape::HotRange, confidence);
        finding.key = Some(self.start);
        finding.evidence.extend([("share", self.load), ("share_of_keys", self.width)]);
        if !evidence.has_keys() {
            finding.confidence = finding.confidence.min(0.6);
            finding.doubts.push(NO_KEYS);
        }
        finding
    }
}

fn hot_range(evidence: &Evidence<'_>, columns: &[PackedColumn]) -> Option<HotRange> {
    let newest = columns.last()?;
    let metric = evidence.metric();
    let mut loads = vec![0_u64; newest.bounds.len()];
    for column in columns {
        let column = column.unpack().with_bounds(&newest.bounds);
        for (sum, load) in loads.iter_mut().zip(&column.loads) {
            *sum = sum.saturating_add(load.get(metric));
        }
    }
    let total: u64 = loads.iter().sum();
    if loads.len() < MIN_BUCKETS || total == 0 {
        return None;
    }
    let (first, width, sum) = narrowest(&loads, total)?;
    let share_of_keys = share(width as u64, loads.len() as u64);
    (share_of_keys <= RANGE_WIDTH).then(|| HotRange {
        start: newest.bounds[first].to_vec(),
        end: newest.bounds.get(first + width).map(|bound| bound.to_vec()),
        load: share(sum, total),
        width: share_of_keys,
        is_write: !evidence.is_read,
    })
}

/// Returns the narrowest run of buckets that has the share of a hot range: its first one, their
/// number and their load. Two ends only move forward.
fn narrowest(loads: &[u64], total: u64) -> Option<(usize, usize, u64)> {
    let (mut first, mut sum) = (0, 0_u64);
    let mut narrowest: Option<(usize, usize, u64)> = None;
    for (last, load) in loads.iter().enumerate() {
        sum += load;
        while share(sum - loads[first], total) >= RANGE_SHARE && first < last {
            sum -= loads[first];
            first += 1;
        }
        let width = last + 1 - first;
        if share(sum, total) >= RANGE_SHARE && narrowest.is_none_or(|(_, least, _)| width < least) {
            narrowest = Some((first, width, sum));
        }
    }
    narrowest
}
