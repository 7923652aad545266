//! What the checks look at.

use super::finding::{Finding, Shape};
use super::order;
use super::passes::rows_per_read;
use crate::activity::{ActivityColumn, WeightedKey};
use crate::metric::{Load, Metric};

/// Requests below which no shape is named.
pub(super) const MIN_REQUESTS: u64 = 1000;
/// Sampled operations of one region below which their order means nothing.
pub(super) const MIN_ORDERED: usize = 16;
/// Load of the most loaded region over the mean from which a table is uneven.
pub const UNEVEN: f64 = 2.0;
/// Deviations from the mean that the most loaded of many evenly loaded regions does not reach.
pub(super) const ACCIDENT: f64 = 6.0;

/// What the checks look at.
pub(super) struct Evidence<'a> {
    pub(super) columns: Vec<&'a ActivityColumn>,
    pub(super) load: Load,
    /// `true` if reads are most of the requests: they decide which regions are loaded.
    pub(super) is_read: bool,
    /// Rows that a read returns at a time, in the mean; 1 for writes.
    pub(super) rows_per_request: f64,
    /// Measurements that every finding has.
    pub(super) figures: Vec<(&'static str, f64)>,
    /// Load of the most loaded region over the mean, at the median of the columns; `None` if they
    /// have too few requests for each region to tell it from accidents.
    pub(super) uneven: Option<f64>,
}

impl<'a> Evidence<'a> {
    pub(super) fn gather(columns: Vec<&'a ActivityColumn>) -> Self {
        let load = columns.iter().fold(Load::default(), |sum, column| sum + column.load);
        let is_read = load.get(Metric::Reads) > load.get(Metric::Writes);
        let mut skews: Vec<_> = columns
            .iter()
            .filter_map(|column| Some((column.sound_skew(is_read)?, column.load)))
            .collect();
        skews.sort_by(|(one, _), (other, _)| one.max_over_mean.total_cmp(&other.max_over_mean));
        let metric = loading_metric(is_read);
        let rows_per_request = if is_read { rows_per_read(&columns) } else { 1.0 };
        #[expect(clippy::cast_precision_loss, reason = "numbers of regions and requests")]
        let median = skews.get(skews.len() / 2).and_then(|(skew, load)| {
            let regions = skew.regions as f64;
            let is_even = skew.max_over_mean < uneven_limit(regions);
            let least = accidental(load.get(metric) as f64 / rows_per_request / regions);
            (is_even || skew.max_over_mean >= least).then_some((skew, regions))
        });
        let figures = median.map_or_else(Vec::new, |(median, regions)| {
            vec![("d1", median.max_over_mean), ("d2", median.effective), ("regions", regions)]
        });
        let uneven = median.map(|(median, _)| median.max_over_mean);
        Self { columns, load, is_read, rows_per_request, figures, uneven }
    }

    /// Returns the load over the mean below which the most loaded region may have it by accident in
    /// the whole time.
    #[expect(clippy::cast_precision_loss, reason = "a number of requests")]
    pub(super) fn accidental(&self, regions: f64) -> f64 {
        accidental(self.load.get(self.metric()) as f64 / self.rows_per_request / regions)
    }

    /// Returns the metric that decides which regions are loaded.
    pub(super) fn metric(&self) -> Metric {
        loading_metric(self.is_read)
    }

    /// Returns `true` if keys are recorded.
    pub(super) fn has_keys(&self) -> bool {
        self.columns.iter().any(|column| !column.keys.is_empty())
    }

    /// Returns the number of regions, at most, of the columns.
    pub(super) fn regions(&self) -> Option<usize> {
        let skew = |column: &&ActivityColumn| {
            if self.is_read { column.reads } else { column.writes }
        };
        self.columns.iter().filter_map(skew).map(|skew| skew.regions).max()
    }

    pub(super) fn finding(&self, shape: Shape, confidence: f64) -> Finding {
        let evidence = self.figures.clone();
        Finding { shape, confidence, key: None, evidence, doubts: Vec::new() }
    }

    /// Sampled rows of each region and column with at least 16 of them, in the order of arrival,
    /// with their weight.
    pub(super) fn ordered<'b>(
        &'b self,
        is_wanted: impl Fn(&WeightedKey) -> bool + 'b,
    ) -> impl Iterator<Item = (f64, f64)> + 'b {
        self.columns.iter().flat_map(move |column| {
            let mut results = Vec::new();
            for region in column.keys.chunk_by(|one, next| one.region == next.region) {
                let wanted: Vec<_> = region.iter().filter(|key| is_wanted(key)).collect();
                let rows: Vec<&[u8]> = wanted.iter().map(|key| &*key.key.row).collect();
                let weight: f64 = wanted.iter().map(|key| key.weight).sum();
                if let Some(correlation) = order::rank_correlation(&rows, MIN_ORDERED) {
                    results.push((correlation, weight));
                }
            }
            results
        })
    }
}

fn loading_metric(is_read: bool) -> Metric {
    if is_read { Metric::Reads } else { Metric::Writes }
}

/// Weighted mean of the correlations, and their number.
pub(super) fn mean_correlation(
    correlations: impl Iterator<Item = (f64, f64)>,
) -> Option<(f64, usize)> {
    let (mut sum, mut total, mut count) = (0.0, 0.0, 0);
    for (correlation, weight) in correlations {
        sum += correlation * weight;
        total += weight;
        count += 1;
    }
    (total > 0.0).then(|| (sum / total, count))
}

#[expect(clippy::cast_precision_loss, reason = "shares")]
pub(super) fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Returns the load of the most loaded part over the mean from which parts are uneven: twice the
/// mean; of two parts, if one has three times the load of the other.
pub(super) fn uneven_limit(parts: f64) -> f64 {
    UNEVEN.min(parts * 0.75)
}

/// Returns the load over the mean below which the most loaded part may have it by accident, if the
/// parts have `mean` requests each.
fn accidental(mean: f64) -> f64 {
    1.0 + ACCIDENT / mean.max(1e-6).sqrt()
}
