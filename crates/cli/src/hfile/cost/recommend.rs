//! Choice of an encoding and a codec from measurements, with its certainty and what speaks against
//! it.
//!
//! The rule: of the combinations that are at most `slack` larger than the smallest, those with the
//! cheapest seek; those whose seeks differ by less than the noise count as equal, and of these the
//! smallest is chosen. The current setting stays if it is one of the equal ones and at most 2 %
//! larger.

use super::Combination;
use super::measure::Measurement;

/// Minimum part by which two times differ, whatever their noise.
const MIN_TIME_DIFFERENCE: f64 = 0.05;
/// Part by which the current setting may be larger than an equal one and stay.
const KEPT_SIZE_DIFFERENCE: f64 = 0.02;
/// Bytes of a sample and its data blocks below which sizes are uncertain.
const MIN_SAMPLE_BYTES: u64 = 1 << 20;
const MIN_DATA_BLOCKS: u64 = 8;
/// Runs below which a sample shows few places of the table.
const MIN_RUNS: usize = 4;
/// Measurements below which their noise is unknown.
const MIN_ROUNDS: usize = 3;
/// Noise above which times are uncertain.
const MAX_NOISE: f64 = 0.15;
/// Part of the current bytes below which a change saves little.
const MIN_SAVING: f64 = 0.05;

/// What the measurements are based on.
pub(super) struct Evidence {
    pub(super) sample_bytes: u64,
    pub(super) is_whole: bool,
    pub(super) runs: usize,
    /// Smallest number of data blocks of any combination.
    pub(super) data_blocks: u64,
    /// Number of measurements of each combination.
    pub(super) rounds: usize,
}

/// Certainty of a recommendation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    High,
    Medium,
    Low,
}

impl Certainty {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// Recommended combination.
pub(super) struct Recommendation {
    pub(super) choice: Combination,
    pub(super) certainty: Certainty,
    pub(super) reasons: Vec<String>,
    /// What speaks against it.
    pub(super) doubts: Vec<String>,
}

/// Chooses one of the measurements, of which there must be one.
///
/// # Panics
/// If there is none.
pub(super) fn recommend(
    all: &[Measurement],
    current: Option<Combination>,
    slack: f64,
    evidence: &Evidence,
) -> Recommendation {
    let smallest = min_by(all.iter(), size).expect("combinations were measured");
    let near = || all.iter().filter(|one| size(one) <= size(smallest) * (1.0 + slack));
    let cheapest = min_by(near(), seek).expect("the smallest is near itself");
    let equal: Vec<&Measurement> = near().filter(|one| is_as_fast(one, cheapest)).collect();
    let best = min_by(equal.iter().copied(), size).expect("the cheapest is equal to itself");
    let now = current.and_then(|now| all.iter().find(|one| combination(one) == now));
    let kept = now.filter(|now| {
        equal.iter().any(|one| combination(one) == combination(now))
            && size(now) <= size(best) * (1.0 + KEPT_SIZE_DIFFERENCE)
    });
    let choice = kept.unwrap_or(best);
    let reasons = reasons(choice, smallest, now, slack);
    let mut doubts = sample_doubts(evidence);
    if evidence.rounds < MIN_ROUNDS {
        doubts.push(format!(
            "each combination was measured {} times, which shows no variation; give --rounds 5",
            evidence.rounds
        ));
    }
    if choice.seek.noise.max(cheapest.seek.noise) > MAX_NOISE {
        doubts.push(format!(
            "the times vary by {:.0} % between rounds; repeat it on a quiet machine",
            choice.seek.noise.max(cheapest.seek.noise) * 100.0
        ));
    }
    // Up to here the doubts concern the measurement, and after it the decision.
    let certainty = match doubts.len() {
        0 => Certainty::High,
        1 => Certainty::Medium,
        _ => Certainty::Low,
    };
    doubts.extend(decision_doubts(choice, smallest, now, &equal));
    Recommendation { choice: combination(choice), certainty, reasons, doubts }
}

fn reasons(
    choice: &Measurement,
    smallest: &Measurement,
    now: Option<&Measurement>,
    slack: f64,
) -> Vec<String> {
    let mut reasons = Vec::new();
    reasons.push(if combination(choice) == combination(smallest) {
        format!("{:.1} bytes per cell are the fewest", size(choice))
    } else {
        format!(
            "{:.1} bytes per cell are within {:.0} % of the fewest, {:.1}, and it has the cheapest \
             seek of those",
            size(choice),
            slack * 100.0,
            size(smallest)
        )
    });
    if let Some(now) = now.filter(|now| combination(now) != combination(choice)) {
        reasons.push(format!(
            "in place of {}: {:.0} % of its bytes, a seek takes {:.1} us instead of {:.1}",
            name(combination(now)),
            size(choice) * 100.0 / size(now).max(f64::MIN_POSITIVE),
            seek(choice) / 1e3,
            seek(now) / 1e3
        ));
    }
    reasons
}

fn sample_doubts(evidence: &Evidence) -> Vec<String> {
    let mut doubts = Vec::new();
    let few_blocks = evidence.data_blocks < MIN_DATA_BLOCKS;
    if evidence.sample_bytes < MIN_SAMPLE_BYTES || few_blocks {
        doubts.push(format!(
            "the sample is small: {} bytes in {} data blocks, so that one block more or less \
             changes the result",
            evidence.sample_bytes, evidence.data_blocks
        ));
    }
    if !evidence.is_whole && evidence.runs < MIN_RUNS {
        doubts.push(format!(
            "the sample is from {} place(s); the rest of the table may differ",
            evidence.runs
        ));
    }
    doubts
}

fn decision_doubts(
    choice: &Measurement,
    smallest: &Measurement,
    now: Option<&Measurement>,
    equal: &[&Measurement],
) -> Vec<String> {
    let mut doubts = Vec::new();
    let others: Vec<String> = equal
        .iter()
        .filter(|one| combination(one) != combination(choice))
        .filter(|one| size(one) <= size(choice) * (1.0 + KEPT_SIZE_DIFFERENCE))
        .map(|one| name(combination(one)))
        .collect();
    if !others.is_empty() {
        doubts.push(format!("as good within the noise and 2 %: {}", others.join(", ")));
    }
    if combination(smallest) != combination(choice) {
        doubts.push(format!(
            "{} takes {:.1} % less, for seeks of {:.1} us",
            name(combination(smallest)),
            100.0 - size(smallest) * 100.0 / size(choice).max(f64::MIN_POSITIVE),
            seek(smallest) / 1e3
        ));
    }
    let Some(now) = now.filter(|now| combination(now) != combination(choice)) else {
        return doubts;
    };
    if size(choice) > size(now) * (1.0 - MIN_SAVING) {
        doubts.push("it saves less than 5 % of the bytes; rewriting all files costs more".into());
    }
    if seek(choice) > seek(now) * 1.5 {
        doubts.push(format!(
            "a seek takes {:.1} times the processor time of {}; where blocks are mostly read from \
             the cache, that counts more than bytes",
            seek(choice) / seek(now).max(1.0),
            name(combination(now))
        ));
    }
    doubts
}

/// Returns `true` if seeks cost as much, within the noise of both.
fn is_as_fast(one: &Measurement, other: &Measurement) -> bool {
    let noise = (one.seek.noise + other.seek.noise).max(MIN_TIME_DIFFERENCE);
    seek(one) <= seek(other) * (1.0 + noise)
}

fn size(one: &Measurement) -> f64 {
    one.sizes.bytes_per_cell()
}

fn seek(one: &Measurement) -> f64 {
    one.seek.median_ns
}

fn combination(one: &Measurement) -> Combination {
    (one.encoding, one.codec)
}

/// Formats a combination as in `FAST_DIFF with ZSTD`.
pub(super) fn name((encoding, codec): Combination) -> String {
    format!("{} with {}", encoding.name(), codec.name())
}

fn min_by<'m>(
    all: impl Iterator<Item = &'m Measurement>,
    value: impl Fn(&Measurement) -> f64,
) -> Option<&'m Measurement> {
    all.min_by(|one, other| value(one).total_cmp(&value(other)))
}

#[cfg(test)]
mod tests {
    use halite_engine::hfile::cost::FileSizes;
    use halite_engine::hfile::{Compression, DataBlockEncoding};

    use super::super::measure::Timing;
    use super::*;

    const PLAIN: Combination = (DataBlockEncoding::None, Compression::None);
    const SMALL: Combination = (DataBlockEncoding::FastDiff, Compression::Zstd);
    const FAST: Combination = (DataBlockEncoding::RowIndexV1, Compression::Snappy);
    const GOOD: Evidence =
        Evidence { sample_bytes: 8 << 20, is_whole: false, runs: 32, data_blocks: 40, rounds: 5 };

    fn measured(
        (encoding, codec): Combination,
        bytes: u64,
        seek_ns: f64,
        noise: f64,
    ) -> Measurement {
        let sizes = FileSizes { cells: 1, data_bytes: bytes, ..FileSizes::default() };
        let seek = Timing { median_ns: seek_ns, noise };
        let other = Timing::default();
        Measurement { encoding, codec, sizes, encode: other, scan: other, seek }
    }

    fn choose(
        all: &[Measurement],
        now: Option<Combination>,
        evidence: &Evidence,
    ) -> Recommendation {
        recommend(all, now, 0.15, evidence)
    }

    #[test]
    fn fastest_within_slack_of_smallest_is_recommended() {
        let all = [
            measured(PLAIN, 100, 10e3, 0.01),
            measured(SMALL, 20, 90e3, 0.01),
            measured(FAST, 22, 40e3, 0.01),
        ];
        let found = choose(&all, Some(PLAIN), &GOOD);
        assert_eq!((found.choice, found.certainty), (FAST, Certainty::High));
        let doubts = found.doubts.join("; ");
        assert!(doubts.contains("FAST_DIFF with ZSTD takes 9.1 % less"), "{doubts}");
        assert!(doubts.contains("a seek takes 4.0 times"), "{doubts}");
        let found = recommend(&all, None, 0.05, &GOOD);
        assert_eq!((found.choice, found.doubts.len()), (SMALL, 0));
    }

    #[test]
    fn noise_makes_times_equal_and_keeps_the_current_setting() {
        let all = [measured(SMALL, 100, 40e3, 0.2), measured(FAST, 101, 50e3, 0.2)];
        let found = choose(&all, Some(FAST), &GOOD);
        assert_eq!((found.choice, found.certainty), (FAST, Certainty::Medium));
        let doubts = found.doubts.join("; ");
        assert!(doubts.contains("vary by 20 %") && doubts.contains("as good within"), "{doubts}");
        assert_eq!(choose(&all, None, &GOOD).choice, SMALL);
    }

    #[test]
    fn small_sample_lowers_the_certainty() {
        let all = [measured(PLAIN, 100, 10e3, 0.01), measured(SMALL, 98, 10e3, 0.01)];
        let few =
            Evidence { sample_bytes: 1000, is_whole: false, runs: 1, data_blocks: 1, rounds: 5 };
        let found = choose(&all, Some(PLAIN), &few);
        assert_eq!((found.choice, found.certainty), (SMALL, Certainty::Low));
        assert!(found.doubts.iter().any(|doubt| doubt.contains("less than 5 %")));
        let whole = Evidence { is_whole: true, ..few };
        assert_eq!(choose(&all, Some(PLAIN), &whole).certainty, Certainty::Medium);
    }
}
