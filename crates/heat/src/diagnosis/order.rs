//! Order of arrival against order of keys.

/// Returns the rank correlation (Spearman) of the keys with their position: 1 if they rise, -1 if
/// they fall, about 0 if they have no order. `None` for fewer than `least` keys, and if all are
/// equal.
#[expect(clippy::cast_precision_loss, reason = "ranks of a sample")]
pub(super) fn rank_correlation(keys: &[&[u8]], least: usize) -> Option<f64> {
    if keys.len() < least.max(2) {
        return None;
    }
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|at| keys[*at]);
    let mut ranks = vec![0.0; keys.len()];
    let mut first = 0;
    for equal in order.chunk_by(|one, next| keys[*one] == keys[*next]) {
        // Equal keys share the mean of their ranks.
        let rank = first as f64 + (equal.len() - 1) as f64 / 2.0;
        for at in equal {
            ranks[*at] = rank;
        }
        first += equal.len();
    }
    let mean = (keys.len() - 1) as f64 / 2.0;
    let (mut product, mut of_ranks, mut of_positions) = (0.0, 0.0, 0.0);
    for (position, rank) in ranks.into_iter().enumerate() {
        let (position, rank) = (position as f64 - mean, rank - mean);
        product += position * rank;
        of_ranks += rank * rank;
        of_positions += position * position;
    }
    (of_ranks > 0.0).then(|| product / (of_ranks * of_positions).sqrt())
}

/// Returns the largest correlation of a series with itself some steps later, and that number of
/// steps. Series with fewer than two and a half periods have none.
#[expect(clippy::cast_precision_loss, reason = "a short series")]
pub(super) fn period(series: &[f64]) -> Option<(usize, f64)> {
    let mean = series.iter().sum::<f64>() / series.len().max(1) as f64;
    let deviation: Vec<f64> = series.iter().map(|value| value - mean).collect();
    let correlation = |lag: usize| {
        let pairs = || deviation.iter().zip(&deviation[lag..]);
        let product: f64 = pairs().map(|(one, later)| one * later).sum();
        let squares = |part: &[f64]| part.iter().map(|value| value * value).sum::<f64>();
        let scale = squares(&deviation[..series.len() - lag]) * squares(&deviation[lag..]);
        if scale > 0.0 { product / scale.sqrt() } else { 0.0 }
    };
    let longest = series.len() * 2 / 5;
    // A slow change correlates at every short lag: a period is known only beyond a lag at which it
    // does not.
    let first = (1..=longest).find(|lag| correlation(*lag) < 0.2)?;
    let lags = || (first + 1..=longest).map(|lag| (lag, correlation(lag)));
    let best = lags().map(|(_, correlation)| correlation).fold(0.0, f64::max);
    // Multiples of the period correlate as well as the period.
    lags().find(|(_, correlation)| best > 0.0 && *correlation >= 0.95 * best)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn correlation(numbers: &[u64]) -> Option<f64> {
        let keys: Vec<[u8; 8]> = numbers.iter().map(|number| number.to_be_bytes()).collect();
        let keys: Vec<&[u8]> = keys.iter().map(<[u8; 8]>::as_slice).collect();
        rank_correlation(&keys, 8)
    }

    #[test]
    fn order_of_keys_is_found() {
        let rising: Vec<u64> = (0..100).collect();
        let falling: Vec<u64> = rising.iter().rev().copied().collect();
        let mut random = fastrand::Rng::with_seed(3);
        let shuffled: Vec<u64> = (0..128).map(|_| random.u64(..1000)).collect();
        assert!((correlation(&rising).unwrap() - 1.0).abs() < 1e-9);
        assert!((correlation(&falling).unwrap() + 1.0).abs() < 1e-9);
        assert!(correlation(&shuffled).unwrap().abs() < 0.3);
        assert_eq!(correlation(&[7; 50]), None);
        assert_eq!(correlation(&[1, 2, 3]), None);
    }

    #[test]
    fn period_of_series_is_found() {
        let square: Vec<f64> = (0..60).map(|at| if at % 12 < 6 { 100.0 } else { 1.0 }).collect();
        let (lag, correlation) = period(&square).unwrap();
        assert_eq!(lag, 12);
        assert!(correlation > 0.9);
        let mut random = fastrand::Rng::with_seed(4);
        let noise: Vec<f64> = (0..60).map(|_| 100.0 + random.f64()).collect();
        assert!(period(&noise).is_none_or(|(_, correlation)| correlation < 0.5));
        let step: Vec<f64> = (0..60).map(|at| f64::from(u8::from(at > 20))).collect();
        assert!(
            period(&step).is_none_or(|(_, correlation)| correlation < 0.5),
            "{:?}",
            period(&step)
        );
        assert_eq!(period(&[]), None);
    }
}
