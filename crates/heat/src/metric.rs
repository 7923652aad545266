//! What is counted.

use std::ops::{Add, AddAssign};

/// Number of metrics.
pub const METRICS: usize = 6;

/// Counted quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Rows returned by gets and scans (HBase's read requests).
    Reads,
    /// Mutations applied (HBase's write requests), deletes included.
    Writes,
    /// Deletes applied.
    Deletes,
    /// Rows examined by reads, whether or not they were returned.
    RowsExamined,
    /// Bytes of the cells that reads returned.
    BytesRead,
    /// Bytes of the cells written.
    BytesWritten,
}

impl Metric {
    /// All metrics, in the order of [`Load`].
    pub const ALL: [Self; METRICS] = [
        Self::Reads,
        Self::Writes,
        Self::Deletes,
        Self::RowsExamined,
        Self::BytesRead,
        Self::BytesWritten,
    ];

    /// Returns the name, as in the HTTP API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Deletes => "deletes",
            Self::RowsExamined => "rows_examined",
            Self::BytesRead => "bytes_read",
            Self::BytesWritten => "bytes_written",
        }
    }

    /// Returns the metric of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }
}

/// Amount of each metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load([u64; METRICS]);

impl Load {
    /// Returns a load of these amounts, in the order of [`Metric::ALL`].
    #[must_use]
    pub const fn new(amounts: [u64; METRICS]) -> Self {
        Self(amounts)
    }

    /// Returns the amount of a metric.
    #[must_use]
    pub fn get(&self, metric: Metric) -> u64 {
        self.0[metric as usize]
    }

    /// Increases the amount of a metric, which stays at the largest number at most.
    pub fn add(&mut self, metric: Metric, amount: u64) {
        let own = &mut self.0[metric as usize];
        *own = own.saturating_add(amount);
    }

    /// Returns the amounts in the order of [`Metric::ALL`].
    #[must_use]
    pub fn amounts(&self) -> [u64; METRICS] {
        self.0
    }

    /// Returns the requests: reads and writes.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.get(Metric::Reads).saturating_add(self.get(Metric::Writes))
    }

    /// Returns `true` if nothing was counted.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the larger amount of each metric.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at].max(other.0[at])))
    }

    /// Returns the smaller amount of each metric.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at].min(other.0[at])))
    }

    /// Returns part `index` of `parts` almost equal parts, which sum up to the whole.
    ///
    /// # Panics
    /// If `parts` is 0.
    #[must_use]
    pub fn part(self, index: u64, parts: u64) -> Self {
        Self(self.0.map(|amount| amount / parts + u64::from(index < amount % parts)))
    }

    /// Returns `numerator / denominator` of each amount, rounded up.
    ///
    /// # Panics
    /// If `denominator` is 0.
    #[must_use]
    pub(crate) fn scaled(self, numerator: u64, denominator: u64) -> Self {
        Self(self.0.map(|amount| {
            let scaled = u128::from(amount) * u128::from(numerator);
            u64::try_from(scaled.div_ceil(u128::from(denominator))).unwrap_or(u64::MAX)
        }))
    }
}

impl AddAssign for Load {
    fn add_assign(&mut self, other: Self) {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own = own.saturating_add(other);
        }
    }
}

impl Add for Load {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_parts_sum_up_to_whole() {
        let whole = Load::new([0, 1, 2, 3, 7, u64::MAX]);
        for parts in 1..9 {
            let sum = (0..parts).map(|at| whole.part(at, parts)).fold(Load::default(), Add::add);
            assert_eq!(sum, whole, "{parts}");
        }
    }

    #[test]
    fn metric_names_are_found() {
        for metric in Metric::ALL {
            assert_eq!(Metric::from_name(metric.name()), Some(metric));
        }
        assert_eq!(Metric::from_name("p99"), None);
    }
}
