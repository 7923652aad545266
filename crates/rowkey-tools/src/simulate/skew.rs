//! Distribution of keys over regions, in total and in each window of arrival, which reveals hot
//! spots that the total hides.

use bytes::Bytes;
use halite_rowkey::split::region_for_key;

use super::stats::{gini, median, percentile};

/// Distribution of the operations on keys over the regions of a table. A table can be even as a
/// whole while all operations of each moment are in one region: [`Self::max_over_mean`] is then
/// near 1 and [`Self::window_median`] near the number of regions.
#[derive(Clone, Debug, PartialEq)]
pub struct Skew {
    /// Operations counted.
    pub operations: u64,
    /// Operations of each region, in the order of the regions; one more than boundaries.
    pub counts: Vec<u64>,
    /// Operations of the busiest region divided by the mean: 1 is even, the number of regions means
    /// that all are in one.
    pub max_over_mean: f64,
    /// Gini's coefficient of the regions: 0 is even, near 1 means that all operations are in one
    /// region.
    pub gini: f64,
    /// Regions without operations.
    pub empty_regions: usize,
    /// `1 / sum(share^2)` of all operations: the number of even regions with the same value.
    pub effective_regions: f64,
    /// Windows examined.
    pub windows: usize,
    /// Mean over the windows of [`Self::max_over_mean`] in each window.
    pub window_mean: f64,
    /// Median of the same value.
    pub window_median: f64,
    /// 99th percentile of the same value.
    pub window_p99: f64,
    /// Median over the windows of [`Self::effective_regions`] in each window.
    pub window_effective_regions: f64,
}

impl Skew {
    /// Returns the skew of keys in the order in which they arrived, on regions that begin at
    /// `boundaries` (ascending, without the empty key of the first region), in windows of `window`
    /// keys; a `window` of 0 is one window of all keys. A last window that is less than half full
    /// is omitted, because few keys are uneven randomly.
    ///
    /// ```
    /// use halite_rowkey_tools::simulate::Skew;
    /// let keys: Vec<String> = (0..4000).map(|id| format!("{id:04}")).collect();
    /// let boundaries = [b"1000", b"2000", b"3000"].map(|key| bytes::Bytes::from_static(key));
    /// let skew = Skew::from_keys(keys.iter().map(String::as_bytes), &boundaries, 500);
    /// assert_eq!((skew.max_over_mean, skew.window_median), (1.0, 4.0));
    /// ```
    pub fn from_keys<'k>(
        keys_in_arrival_order: impl IntoIterator<Item = &'k [u8]>,
        boundaries: &[Bytes],
        window: usize,
    ) -> Self {
        Self::from_weighted(
            keys_in_arrival_order.into_iter().map(|key| (key, 1)),
            boundaries,
            window,
        )
    }

    /// Returns the same of keys that count as several operations each; a window is still of
    /// `window` keys.
    pub(super) fn from_weighted<'k>(
        keys_in_arrival_order: impl IntoIterator<Item = (&'k [u8], u64)>,
        boundaries: &[Bytes],
        window: usize,
    ) -> Self {
        let mut counter = SkewCounter::new(boundaries);
        for (key, weight) in keys_in_arrival_order {
            counter.add_weighted(key, weight);
            if counter.in_window() == window as u64 {
                counter.close_window();
            }
        }
        if counter.windows() == 0 || counter.in_window() * 2 >= window as u64 {
            counter.close_window();
        }
        counter.skew()
    }

    /// Returns the number of regions.
    pub fn regions(&self) -> usize {
        self.counts.len()
    }
}

/// Counter of keys by region. The caller closes its windows, by a number of keys or a time.
#[derive(Clone, Debug)]
pub struct SkewCounter<'b> {
    boundaries: &'b [Bytes],
    whole: Vec<u64>,
    window: Vec<u64>,
    in_window: u64,
    max_over_mean: Vec<f64>,
    effective: Vec<f64>,
}

impl<'b> SkewCounter<'b> {
    /// Creates an empty counter on regions that begin at these keys, ascending, without the empty
    /// one.
    pub fn new(boundaries: &'b [Bytes]) -> Self {
        let regions = boundaries.len() + 1;
        Self {
            boundaries,
            whole: vec![0; regions],
            window: vec![0; regions],
            in_window: 0,
            max_over_mean: Vec::new(),
            effective: Vec::new(),
        }
    }

    /// Counts a key; returns the index of its region.
    #[inline]
    pub fn add(&mut self, key: &[u8]) -> usize {
        self.add_weighted(key, 1)
    }

    /// Counts a key as `weight` operations; returns the index of its region.
    #[inline]
    pub(super) fn add_weighted(&mut self, key: &[u8], weight: u64) -> usize {
        let region = region_for_key(key, self.boundaries);
        self.window[region] = self.window[region].saturating_add(weight);
        self.in_window += 1;
        region
    }

    /// Returns the keys since the last window was closed.
    pub fn in_window(&self) -> u64 {
        self.in_window
    }

    /// Returns the number of closed windows.
    pub fn windows(&self) -> usize {
        self.max_over_mean.len()
    }

    /// Returns the operations of each region since the last window was closed.
    pub fn open_window(&self) -> &[u64] {
        &self.window
    }

    /// Closes a window; one without keys is ignored.
    pub fn close_window(&mut self) {
        if self.in_window == 0 {
            return;
        }
        let operations = sum(&self.window);
        self.max_over_mean.push(max_over_mean(&self.window, operations));
        self.effective.push(effective_regions(&self.window, operations));
        self.discard_window();
    }

    /// Closes a window without counting it; its keys still count in the total.
    fn discard_window(&mut self) {
        for (whole, count) in self.whole.iter_mut().zip(&mut self.window) {
            *whole = whole.saturating_add(std::mem::take(count));
        }
        self.in_window = 0;
    }

    /// Returns the skew; keys since the last closed window count in the total only.
    pub fn skew(mut self) -> Skew {
        self.discard_window();
        let operations = sum(&self.whole);
        Skew {
            operations,
            max_over_mean: max_over_mean(&self.whole, operations),
            gini: gini(&self.whole),
            empty_regions: self.whole.iter().filter(|count| **count == 0).count(),
            effective_regions: effective_regions(&self.whole, operations),
            windows: self.max_over_mean.len(),
            window_mean: super::stats::mean(&self.max_over_mean),
            window_median: median(&self.max_over_mean),
            window_p99: percentile(&self.max_over_mean, 99),
            window_effective_regions: median(&self.effective),
            counts: self.whole,
        }
    }
}

/// Returns the sum of weights that a file may state.
fn sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of counts far below 2^52")]
fn max_over_mean(counts: &[u64], all: u64) -> f64 {
    let max = counts.iter().copied().max().unwrap_or(0);
    if all == 0 { 0.0 } else { max as f64 * counts.len() as f64 / all as f64 }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of counts far below 2^52")]
fn effective_regions(counts: &[u64], all: u64) -> f64 {
    let squares: f64 = counts.iter().map(|&count| (count as f64 / all.max(1) as f64).powi(2)).sum();
    if squares > 0.0 { 1.0 / squares } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boundaries(starts: &[&'static str]) -> Vec<Bytes> {
        starts.iter().map(|start| Bytes::from_static(start.as_bytes())).collect()
    }

    #[test]
    fn skew_windows_reveal_hot_regions_of_even_table() {
        let keys: Vec<String> = (0..8000).map(|id| format!("{id:04}")).collect();
        let boundaries = boundaries(&["2000", "4000", "6000"]);
        let skew = Skew::from_keys(keys.iter().map(String::as_bytes), &boundaries, 500);
        assert_eq!(skew.counts, [2000; 4]);
        assert_eq!(
            (skew.max_over_mean, skew.gini, skew.effective_regions, skew.empty_regions),
            (1.0, 0.0, 4.0, 0)
        );
        assert_eq!(
            (skew.windows, skew.window_median, skew.window_p99, skew.window_effective_regions),
            (16, 4.0, 4.0, 1.0)
        );
    }

    #[test]
    fn split_key_belongs_to_the_following_region() {
        let skew =
            Skew::from_keys([&b"0zz"[..], b"1", b"3", b"~"], &boundaries(&["1", "2", "3"]), 0);
        assert_eq!(skew.counts, [1, 1, 0, 2]);
        assert_eq!((skew.windows, skew.empty_regions), (1, 1));
        assert!(
            (skew.max_over_mean - 2.0).abs() < 1e-12
                && (skew.effective_regions - 16.0 / 6.0).abs() < 1e-12
        );
    }

    #[test]
    fn short_last_window_counts_only_in_the_total() {
        let keys = |count| vec![&b"a"[..]; count];
        assert_eq!(Skew::from_keys(keys(1049), &[], 100).windows, 10);
        assert_eq!(Skew::from_keys(keys(1050), &[], 100).windows, 11);
        assert_eq!(Skew::from_keys(keys(1049), &[], 100).operations, 1049);
        assert_eq!(
            Skew::from_keys(keys(3), &[], 100).windows,
            1,
            "the only one counts, however small"
        );
    }

    #[test]
    fn no_keys_have_no_skew() {
        let skew = Skew::from_keys([], &boundaries(&["1"]), 10);
        assert_eq!((skew.operations, skew.windows, skew.empty_regions), (0, 0, 2));
        assert_eq!(
            (skew.max_over_mean, skew.gini, skew.window_median, skew.effective_regions),
            (0.0, 0.0, 0.0, 0.0)
        );
    }
}
