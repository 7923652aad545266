//! Skew of operations over regions in windows of time, with its uncertainty.

use bytes::Bytes;
use halite_rowkey::schema::KeySchema;
use halite_rowkey::split::region_for_key;

use crate::picture::{KeyedOperation, LoadSpread, Verdict, diagnose_operations};
use crate::simulate::stats::{median, percentile};

/// Length of a window, in milliseconds: that of a column of the heat map. Windows with few
/// operations last longer.
const WINDOW_MS: i64 = 10_000;
/// Operations per region of a window; with fewer, random variation dominates.
pub const MIN_PER_REGION: u64 = 8;
/// Samples of the bootstrap.
const RESAMPLES: usize = 200;

/// Interval that contains a value with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Distribution of operations over regions.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadSkew {
    /// Busiest region over the mean, 99th percentile of the windows (D1).
    pub window_p99: f64,
    /// Interval of that by the bootstrap; `None` for fewer than eight windows.
    pub window_interval: Option<Interval>,
    /// `1 / sum(share^2)`, median of the windows (D2).
    pub effective_regions: f64,
    /// Different rows of the largest region over the mean (D3).
    pub static_balance: f64,
    /// Windows.
    pub windows: usize,
    /// Regions.
    pub regions: usize,
}

impl LoadSkew {
    /// Returns the skew of operations in the order of their times over `regions` regions. Boundaries
    /// may make fewer of them, where few rows cannot be divided: the others have no load.
    #[must_use]
    pub fn of(
        calls: &[KeyedOperation<'_>],
        boundaries: &[Bytes],
        regions: usize,
        seed: u64,
    ) -> Self {
        let regions = regions.max(boundaries.len() + 1);
        let windows = windows(calls, boundaries);
        let ratios: Vec<f64> =
            windows.iter().map(|counts| max_over_mean(counts, regions)).collect();
        let effective: Vec<f64> = windows.iter().map(|counts| effective_regions(counts)).collect();
        let mut rows: Vec<&[u8]> = calls.iter().map(|call| call.key).collect();
        rows.sort_unstable();
        rows.dedup();
        let mut of_rows = vec![0; boundaries.len() + 1];
        rows.iter().for_each(|row| of_rows[region_for_key(row, boundaries)] += 1);
        Self {
            window_p99: percentile(&ratios, 99),
            window_interval: interval(&ratios, seed),
            effective_regions: median(&effective),
            static_balance: max_over_mean(&of_rows, regions),
            windows: windows.len(),
            regions,
        }
    }

    /// Returns the shape of the load of these operations, of which it is the skew.
    pub(super) fn verdict(
        &self,
        calls: &[KeyedOperation<'_>],
        boundaries: &[Bytes],
        schema: &KeySchema,
        ranges: Option<f64>,
    ) -> Verdict {
        let spread = LoadSpread {
            regions: self.regions,
            effective_regions: self.effective_regions,
            window_skew: self.window_p99,
            whole_skew: self.static_balance,
            ranges,
        };
        Verdict::new(&diagnose_operations(calls, boundaries, schema), spread)
    }
}

/// Returns the operations of each region in each window. A sampled one counts as all of which it is
/// the sample, but once for the number that a window needs, since it is one draw of a row.
fn windows(calls: &[KeyedOperation<'_>], boundaries: &[Bytes]) -> Vec<Vec<u64>> {
    let regions = boundaries.len() + 1;
    let enough = MIN_PER_REGION * regions as u64;
    let (mut all, mut counts, mut total, mut slot) = (Vec::new(), vec![0; regions], 0, None);
    for call in calls {
        let now = call.time_ms.div_euclid(WINDOW_MS);
        if slot.is_some_and(|slot| slot != now) && total >= enough {
            all.push(std::mem::replace(&mut counts, vec![0; regions]));
            total = 0;
        }
        slot = Some(now);
        let count: &mut u64 = &mut counts[region_for_key(call.key, boundaries)];
        *count = count.saturating_add(call.weight.max(1));
        total += 1;
    }
    if all.is_empty() || total >= enough {
        all.push(counts);
    }
    all
}

/// Returns the middle 95 % of the 99th percentiles of samples with replacement.
fn interval(ratios: &[f64], seed: u64) -> Option<Interval> {
    if ratios.len() < 8 {
        return None;
    }
    let mut rng = fastrand::Rng::with_seed(seed);
    let sample = |_| {
        let drawn: Vec<f64> = ratios.iter().map(|_| ratios[rng.usize(..ratios.len())]).collect();
        percentile(&drawn, 99)
    };
    let mut values: Vec<f64> = (0..RESAMPLES).map(sample).collect();
    values.sort_by(f64::total_cmp);
    Some(Interval { low: values[RESAMPLES / 40], high: values[RESAMPLES - 1 - RESAMPLES / 40] })
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of counts far below 2^52")]
fn max_over_mean(counts: &[u64], regions: usize) -> f64 {
    let (max, all) = (counts.iter().max().copied().unwrap_or(0), counts.iter().sum::<u64>());
    if all == 0 { 0.0 } else { max as f64 * regions as f64 / all as f64 }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of counts far below 2^52")]
fn effective_regions(counts: &[u64]) -> f64 {
    let all = counts.iter().sum::<u64>().max(1) as f64;
    let squares: f64 = counts.iter().map(|count| (*count as f64 / all).powi(2)).sum();
    if squares > 0.0 { 1.0 / squares } else { 0.0 }
}
