//! Sum of several histograms, with the attributes of an HBase histogram.

use std::collections::BTreeMap;

use super::json::Value;
use crate::base::metrics::Histogram;

/// HBase's percentiles and their names.
const QUANTILES: [(f64, &str); 8] = [
    (0.25, "25th_percentile"),
    (0.5, "median"),
    (0.75, "75th_percentile"),
    (0.9, "90th_percentile"),
    (0.95, "95th_percentile"),
    (0.98, "98th_percentile"),
    (0.99, "99th_percentile"),
    (0.999, "99.9th_percentile"),
];

/// Durations in microseconds, or sizes in bytes: upper bounds, and the number of values between
/// each bound and the previous one.
#[derive(Debug, Default)]
pub(super) struct HistogramSummary {
    buckets: BTreeMap<u64, u64>,
    sum: u64,
}

impl HistogramSummary {
    pub(super) fn from_histograms<'a>(histograms: impl IntoIterator<Item = &'a Histogram>) -> Self {
        let mut summary = Self::default();
        for histogram in histograms {
            histogram
                .buckets()
                .for_each(|(bound, count)| *summary.buckets.entry(bound).or_default() += count);
            summary.sum += histogram.sum();
        }
        summary
    }

    pub(super) fn count(&self) -> u64 {
        self.buckets.values().sum()
    }

    /// Returns the attributes `NAME_num_ops`, `NAME_mean`, `NAME_99th_percentile` and so on, in
    /// milliseconds.
    pub(super) fn attributes(&self, name: &str) -> Vec<(String, Value)> {
        self.format_attributes(name, ms)
    }

    /// Returns the attributes of sizes, in bytes.
    pub(super) fn sizes(&self, name: &str) -> Vec<(String, Value)> {
        self.format_attributes(name, Value::Count)
    }

    fn format_attributes(&self, name: &str, unit: fn(u64) -> Value) -> Vec<(String, Value)> {
        let count = self.count();
        let mean = self.sum.checked_div(count).unwrap_or(0);
        let at = |value: Option<&u64>| unit(value.copied().unwrap_or(0));
        let mut attributes = vec![
            (format!("{name}_num_ops"), count.into()),
            (format!("{name}_min"), at(self.buckets.keys().next())),
            (format!("{name}_max"), at(self.buckets.keys().next_back())),
            (format!("{name}_mean"), unit(mean)),
        ];
        attributes.extend(QUANTILES.map(|(share, suffix)| {
            (format!("{name}_{suffix}"), unit(self.quantile(share, count)))
        }));
        attributes
    }

    /// Returns the upper bound of the bucket that contains the quantile.
    fn quantile(&self, share: f64, count: u64) -> u64 {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a count"
        )]
        let rank = (count as f64 * share).ceil() as u64;
        let mut seen = 0;
        let found = self.buckets.iter().find(|(_, count)| {
            seen += **count;
            seen >= rank
        });
        found.map_or(0, |(bound, _)| *bound)
    }
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of a call are far below 2^52")]
fn ms(us: u64) -> Value {
    Value::Number(us as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn histograms_are_merged_in_milliseconds() {
        let (fast, slow) = (Histogram::default(), Histogram::default());
        (0..99).for_each(|_| fast.record(Duration::from_micros(4)));
        slow.record(Duration::from_micros(104));
        let summary = HistogramSummary::from_histograms([&fast, &slow]);
        let attributes: BTreeMap<String, Value> = summary.attributes("Get").into_iter().collect();
        assert_eq!(attributes["Get_num_ops"], Value::Count(100));
        assert_eq!(attributes["Get_mean"], Value::Number(0.005));
        assert_eq!(
            (&attributes["Get_min"], &attributes["Get_99th_percentile"]),
            (&Value::Number(0.004), &Value::Number(0.004))
        );
        let Value::Number(most) = attributes["Get_99.9th_percentile"] else { panic!("no number") };
        assert!((0.104..0.12).contains(&most), "{most}");
        assert_eq!(attributes["Get_max"], attributes["Get_99.9th_percentile"]);
        assert_eq!(attributes.len(), 12);
    }

    #[test]
    fn empty_summary_reports_zeros() {
        for (name, value) in HistogramSummary::default().attributes("Scan") {
            assert!(
                matches!(value, Value::Count(0)) || value == Value::Number(0.0),
                "{name}: {value:?}"
            );
        }
    }
}
