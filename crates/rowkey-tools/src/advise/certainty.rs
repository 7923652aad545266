//! How certain bytes are that a sample was measured for.
//!
//! A sample has few of the rows of a table, so neighbors in it share less of their keys than those
//! in the table do. Small samples are measured beside a large one: how much they differ is the
//! error of a sample, and how much less the large one takes shows where more rows lead.

use super::tree::size;

/// Number of small samples.
pub(super) const PARTS: u64 = 4;
/// Bytes of cells after which the large sample has no more rows; a small one has a quarter.
pub(super) const MAX_SAMPLE_BYTES: u64 = 32 << 20;
/// Quantile of Student's distribution for the mean of [`PARTS`] samples, two-sided 95 %, divided by
/// the root of their number.
const STUDENT: f64 = 3.182 / 2.0;
/// Difference between samples that is mentioned as a doubt.
const LARGE_SPREAD: f64 = 0.1;

/// Size of a sample, and how certain the bytes of a row are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certainty {
    /// Rows of the large sample.
    pub rows: u64,
    /// Bytes of its cells, without encoding and compression.
    pub bytes: u64,
    /// Rows of a small sample.
    pub part_rows: u64,
    /// Part by which small samples differ from each other: the largest from the smallest.
    pub spread: f64,
    /// Part by which the mean may be off, with 95 % confidence.
    pub margin: f64,
    /// Part by which a row of the large sample takes less than one of a small sample (negative:
    /// more).
    pub shrinkage: f64,
}

impl Certainty {
    /// Returns how certain a large sample is, of which a row takes `whole`, beside small ones.
    pub(super) fn new(rows: u64, bytes: u64, whole: f64, part_rows: u64, parts: &[f64]) -> Self {
        let mean = mean(parts).max(f64::MIN_POSITIVE);
        let largest = parts.iter().copied().fold(f64::MIN, f64::max);
        let smallest = parts.iter().copied().fold(f64::MAX, f64::min);
        Self {
            rows,
            bytes,
            part_rows,
            spread: (largest - smallest) / mean,
            margin: STUDENT * deviation(parts) / mean,
            shrinkage: 1.0 - whole / mean,
        }
    }

    /// Returns what is certain, in sentences.
    pub(super) fn sentences(&self) -> Vec<String> {
        let percent = |part: f64| format!("{:.1} %", 100.0 * part.abs());
        let mut sentences = vec![
            format!(
                "{PARTS} samples of {} rows differ by {} in bytes of a row",
                self.part_rows,
                percent(self.spread)
            ),
            format!(
                "for such values the bytes of a row are certain to {}, with 95 % confidence",
                percent(self.margin)
            ),
        ];
        if self.rows > self.part_rows {
            let direction = if self.shrinkage < 0.0 { "more" } else { "less" };
            sentences.push(format!(
                "{} times as many rows take {} {direction} for each",
                self.rows / self.part_rows.max(1),
                percent(self.shrinkage)
            ));
        }
        sentences
    }

    /// Returns what the samples themselves say against the bytes of a table with this many rows.
    pub(super) fn doubts(&self, rows: u64) -> Vec<String> {
        let mut doubts = Vec::new();
        if self.spread > LARGE_SPREAD {
            doubts.push("the samples differ much: some values are far larger".to_owned());
        }
        if self.bytes >= MAX_SAMPLE_BYTES && rows > self.rows {
            doubts.push(format!(
                "the sample ends after {} rows, at {}",
                self.rows,
                size(MAX_SAMPLE_BYTES)
            ));
        }
        let more = rows / self.rows.max(1);
        if more > 1 && self.shrinkage > 0.01 {
            doubts.push(format!(
                "the table has {more} times the rows of the sample, whose neighbors share more: it \
                 may take less"
            ));
        }
        doubts
    }
}

/// Returns the standard deviation of samples.
#[expect(clippy::cast_precision_loss, reason = "a few numbers")]
fn deviation(numbers: &[f64]) -> f64 {
    let mean = mean(numbers);
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    (squares / numbers.len().saturating_sub(1).max(1) as f64).sqrt()
}

#[expect(clippy::cast_precision_loss, reason = "a few numbers")]
fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certainty_follows_from_the_differences_of_samples() {
        let equal = Certainty::new(400, 4_000, 10.0, 100, &[10.0; 4]);
        assert_eq!((equal.spread, equal.margin, equal.shrinkage), (0.0, 0.0, 0.0));
        assert_eq!(equal.doubts(1 << 40), [""; 0]);
        let uneven = Certainty::new(400, 4_000, 9.0, 100, &[8.0, 12.0, 8.0, 12.0]);
        // The deviation is 2.309; 1.591 of them are 3.674, of a mean of 10.
        assert!((uneven.margin - 0.3674).abs() < 1e-3, "{uneven:?}");
        assert_eq!((uneven.spread, uneven.shrinkage > 0.09), (0.4, true));
        let said = uneven.sentences().join("\n");
        for expected in
            ["4 samples of 100 rows differ by 40.0 %", "certain to 36.7 %", "10.0 % less"]
        {
            assert!(said.contains(expected), "no {expected}: {said}");
        }
        assert_eq!(uneven.doubts(1 << 40).len(), 2);
        let single = Certainty::new(1, MAX_SAMPLE_BYTES, 10.0, 1, &[10.0; 4]);
        assert_eq!(single.sentences().len(), 2);
        assert_eq!(single.doubts(9), ["the sample ends after 1 rows, at 32.0 MB"]);
        assert_eq!(single.doubts(1), [""; 0]);
    }
}
