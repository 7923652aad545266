//! Does the load of a table rise and fall in equal times.

use super::evidence::Evidence;
use super::finding::{Finding, Shape, confidence};
use super::order;
use crate::activity::ActivityColumn;
use crate::column::BASE_MS;

/// Largest over mean load of the columns from which a load has bursts.
const PEAK: f64 = 1.6;
/// Correlation of the load with itself from which it is periodic.
const PERIODIC: f64 = 0.5;
/// Columns of a series: those that are kept cover ten minutes, or more with pauses.
const MAX_SERIES: usize = 360;
/// Bursts at equal distances below which there is no period: two distances.
const MIN_BURSTS: usize = 3;
/// Bursts below which equal distances may be accidental.
const SURE_BURSTS: usize = 4;

/// Bursts of a load over time.
pub(super) struct Bursts {
    series: Vec<f64>,
    /// Places in the series at which bursts begin.
    begins: Vec<usize>,
    peak: f64,
}

impl Bursts {
    /// Returns the bursts until a time; `None` if the load is about constant.
    #[expect(clippy::cast_precision_loss, reason = "a short series")]
    pub(super) fn of(columns: &[&ActivityColumn], to_ms: i64) -> Option<Self> {
        let series = series(columns, to_ms);
        let mean = series.iter().sum::<f64>() / series.len().max(1) as f64;
        let peak = series.iter().copied().fold(0.0, f64::max) / mean.max(1e-6);
        let is_burst = |at: &usize| series[*at] >= mean;
        let begins = (0..series.len())
            .filter(|at| is_burst(at) && at.checked_sub(1).is_none_or(|before| !is_burst(&before)));
        let begins: Vec<usize> = begins.collect();
        (peak >= PEAK).then_some(Self { series, begins, peak })
    }

    /// Returns the number of bursts.
    pub(super) fn count(&self) -> usize {
        self.begins.len()
    }

    /// Returns the period if the bursts have one and go on.
    pub(super) fn period(&self, evidence: &Evidence<'_>) -> Option<Finding> {
        let (lag, correlation) = order::period(&self.series)?;
        let tolerance = (lag / 6).max(1);
        let is_lag = |distance: usize| distance.abs_diff(lag) <= tolerance;
        let are_equal = self.begins.windows(2).all(|pair| is_lag(pair[1] - pair[0]));
        let since = self.series.len() - self.begins.last()?;
        if correlation < PERIODIC
            || self.begins.len() < MIN_BURSTS
            || !are_equal
            || since > lag + tolerance
        {
            return None;
        }
        let mut finding =
            evidence.finding(Shape::Periodic, confidence(correlation - PERIODIC, 0.15));
        if self.begins.len() < SURE_BURSTS {
            finding.confidence = finding.confidence.min(0.75);
            finding.doubts.push("seen three times only");
        }
        #[expect(clippy::cast_precision_loss, reason = "a short series")]
        finding.evidence.extend([
            ("period_s", lag as f64 * 10.0),
            ("repetition", correlation),
            ("peak_over_mean", self.peak),
        ]);
        Some(finding)
    }
}

/// Returns the requests of each 10 seconds since the first one. Columns without load are missing.
#[expect(clippy::cast_precision_loss, reason = "requests of 10 seconds")]
fn series(columns: &[&ActivityColumn], to_ms: i64) -> Vec<f64> {
    let Some(first) = columns.first() else { return Vec::new() };
    let slot = |time_ms: i64| {
        usize::try_from(time_ms.saturating_sub(first.from_ms) / BASE_MS).unwrap_or(0)
    };
    let mut series = Vec::new();
    for column in columns {
        let from = slot(column.from_ms).min(MAX_SERIES - 1);
        let to = slot(column.to_ms).clamp(from + 1, MAX_SERIES);
        series.resize(series.len().max(to), 0.0);
        // Of a column that was closed late, each slot has the mean.
        let rate = column.load.requests() as f64 / column.recorded_ms.max(1) as f64;
        series[from..to].iter_mut().for_each(|sum| *sum += rate * BASE_MS as f64);
    }
    // A pause at the end says that the load does not go on.
    let until = slot(to_ms).min(MAX_SERIES);
    series.resize(series.len().max(until), 0.0);
    series
}
