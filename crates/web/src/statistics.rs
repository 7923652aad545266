//! Statistics in answers: shares and rates from counts.

use halite_types::{Latencies, RegionLoad};

/// Returns a count as a number for shares and rates.
#[expect(clippy::cast_precision_loss, reason = "a statistic has a few digits")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

/// Returns a length as a number for shares and rates.
pub(crate) fn float_len(count: usize) -> f64 {
    float(count as u64)
}

/// Returns `part / whole`; `None` if there is no whole.
pub(crate) fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| round(part / whole))
}

/// Rounds to six digits after the point, which is more than a figure on the page has.
pub(crate) fn round(figure: f64) -> f64 {
    (figure * 1e6).round() / 1e6
}

/// Returns the duration in milliseconds below which 99 in a hundred are; `None` without durations.
pub(crate) fn p99_ms(latencies: &Latencies) -> Option<f64> {
    latencies.quantile_ns(0.99).map(|nanoseconds| round(float(nanoseconds) / 1e6))
}

/// Returns the durations of the reads and writes of several regions together.
pub(crate) fn all_latencies<'a>(loads: impl IntoIterator<Item = &'a RegionLoad>) -> Latencies {
    loads.into_iter().fold(Latencies::default(), |mut sum, load| {
        sum.add(&load.read_latencies);
        sum.add(&load.write_latencies);
        sum
    })
}

/// Load of several parts compared with an even one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Balance {
    parts: usize,
    sum: f64,
    squares: f64,
    max: f64,
}

impl Balance {
    pub(crate) fn of(loads: impl Iterator<Item = f64>) -> Self {
        loads.fold(Self::default(), |balance, load| Self {
            parts: balance.parts + 1,
            sum: balance.sum + load,
            squares: balance.squares + load * load,
            max: balance.max.max(load),
        })
    }

    /// Returns the maximum load divided by the mean; `None` without load.
    pub(crate) fn skew(self) -> Option<f64> {
        share(self.max * float_len(self.parts), self.sum)
    }

    /// Returns the number of equally loaded parts that would be as uneven: 1 if one part has all
    /// the load, the number of parts if all have the same; `None` without load.
    pub(crate) fn effective_parts(self) -> Option<f64> {
        share(self.sum * self.sum, self.squares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balance_of_even_and_single_load() {
        let even = Balance::of([5.0; 4].into_iter());
        assert_eq!((even.skew(), even.effective_parts()), (Some(1.0), Some(4.0)));
        let single = Balance::of([0.0, 8.0, 0.0, 0.0].into_iter());
        assert_eq!((single.skew(), single.effective_parts()), (Some(4.0), Some(1.0)));
        assert_eq!(Balance::of([0.0].into_iter()).skew(), None);
    }
}
