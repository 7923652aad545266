//! Statistics of small lists.

/// Returns the mean; 0 for an empty list.
#[expect(clippy::cast_precision_loss, reason = "a count of windows")]
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the median, the mean of the two middle values if there are two; 0 for an empty list.
pub(crate) fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.get(middle) {
        Some(upper) if sorted.len().is_multiple_of(2) => f64::midpoint(sorted[middle - 1], *upper),
        Some(only) => *only,
        None => 0.0,
    }
}

/// Returns the least value that `percent` of 100 values do not exceed; 0 for an empty list.
pub(crate) fn percentile(values: &[f64], percent: usize) -> f64 {
    sorted(values).get(percentile_index(values.len(), percent)).copied().unwrap_or(0.0)
}

/// Returns the index of the percentile in a sorted list of `count` values.
pub(crate) fn percentile_index(count: usize, percent: usize) -> usize {
    (count * percent).div_ceil(100).saturating_sub(1)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Returns Gini's coefficient: 0 if all are equal, near 1 if one has everything, and 0 for an empty
/// list.
#[expect(clippy::cast_precision_loss, reason = "a ratio of counts far below 2^52")]
pub(crate) fn gini(counts: &[u64]) -> f64 {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable();
    let (sum, places) = (sorted.iter().sum::<u64>() as f64, sorted.len() as f64);
    if sum <= 0.0 {
        return 0.0;
    }
    let weighted: f64 =
        sorted.iter().zip(1_u32..).map(|(&count, place)| f64::from(place) * count as f64).sum();
    2.0 * weighted / (places * sum) - (places + 1.0) / places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_averages_middle_values_and_percentile_takes_nearest_rank() {
        let hundred: Vec<f64> = (1..=100_u32).rev().map(f64::from).collect();
        assert_eq!(
            (median(&hundred), percentile(&hundred, 99), percentile(&hundred, 100)),
            (50.5, 99.0, 100.0)
        );
        assert_eq!(
            (median(&[7.0, 1.0, 3.0]), percentile(&[7.0, 1.0], 50), mean(&[1.0, 2.0])),
            (3.0, 1.0, 1.5)
        );
        assert_eq!((median(&[]), percentile(&[], 99), mean(&[])), (0.0, 0.0, 0.0));
    }

    #[test]
    fn gini_ranges_from_even_to_concentrated() {
        assert!(gini(&[5, 5, 5]).abs() < 1e-12);
        assert!((gini(&[0, 0, 0, 8]) - 0.75).abs() < 1e-12, "with n places the most is 1 - 1/n");
        assert!((gini(&[1, 3]) - 0.25).abs() < 1e-12);
        assert!(gini(&[0, 0]).abs() < 1e-12 && gini(&[]).abs() < 1e-12);
    }
}
