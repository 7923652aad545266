//! Confidence that numbers are times: a plausible range is not sufficient, a second witness is
//! required.
//!
//! The second witness is the times of the rows' cells where they are known and conclusive.
//! Otherwise it is the spacing: all times near today, within some years of each other, and not just
//! random digits after the same first digits.

use halite_rowkey::value::TimeUnit;

use super::clusters::fill_blocks;
use super::sample::SampledKeys;
use super::times::{NOW_MS, TimeForm};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
const YEAR_MS: i64 = 366 * DAY_MS;
/// Maximum age of times in tables, in years.
const YEARS_BACK: i64 = 20;
/// Minimum number of different times whose spacing is significant.
const MIN_TIMES: usize = 20;
/// Maximum distance of the least of random numbers from the start of their range, in mean
/// distances.
const MAX_NEAR_DISTANCES: u64 = 10;

/// Evidence against numbers with a few first digits.
pub(super) const PREFIXES: &str = "they lie in a few clusters that begin and end with round \
                                   numbers, as a prefix followed by a random number does";
/// Evidence of the best witness.
pub(super) const OF_CELLS: &str = "they are the times of the cells";

/// Evidence for and against times.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Witness {
    /// Confidence, 0 to 1.
    pub(super) sure: f64,
    /// Evidence of the second witness; empty if there is none.
    pub(super) evidence: String,
    /// Alternative interpretation and the facts that would decide; empty if they are certainly
    /// times.
    pub(super) doubt: String,
}

/// Returns the confidence in a form alone, with plausible spacing and without times of cells. It
/// depends on the other values that have such digits or bytes.
pub(super) fn sure_of(form: TimeForm, width: usize) -> f64 {
    match (form, width) {
        (TimeForm::Reversed(TimeUnit::Millis), 8 | 19) => 0.97,
        (TimeForm::Reversed(TimeUnit::Micros), 8 | 19) | (TimeForm::Calendar, 8 | 12 | 14) => 0.95,
        (TimeForm::Direct(TimeUnit::Millis), _) => 0.94,
        (TimeForm::Direct(TimeUnit::Micros), _) => 0.92,
        // Phone numbers with China's prefix 86 are in this range.
        (TimeForm::Reversed(TimeUnit::Millis), _) => 0.85,
        // A day and a number of two digits look the same as an hour.
        (TimeForm::Calendar | TimeForm::Seconds, 10) => 0.88,
        (TimeForm::Reversed(_), _) => 0.75,
        _ => 0.8,
    }
}

/// Numbers from which times were decoded, and their base.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written<'a> {
    pub(super) numbers: &'a [u64],
    pub(super) base: u64,
}

impl<'a> Written<'a> {
    pub(super) fn decimal(numbers: &'a [u64]) -> Self {
        Self { numbers, base: 10 }
    }

    /// Returns numbers from bytes, whose halves are the digits.
    pub(super) fn binary(numbers: &'a [u64]) -> Self {
        Self { numbers, base: 16 }
    }
}

/// Returns the evidence for times in milliseconds, one for each key of `seen`. `digits` is `None`
/// if the times were not decoded from numbers.
pub(super) fn witness(
    sure: f64,
    times_ms: &[i64],
    digits: Option<Written<'_>>,
    seen: &SampledKeys<'_>,
) -> Witness {
    by_cells(sure, times_ms, &seen.times_ms)
        .unwrap_or_else(|| by_spacing(sure, times_ms, digits, seen.now_ms.unwrap_or(NOW_MS)))
}

/// Returns the evidence of the times of cells; `None` if they are unknown or all from one load.
fn by_cells(sure: f64, times_ms: &[i64], cells_ms: &[i64]) -> Option<Witness> {
    if cells_ms.len() != times_ms.len() || times_ms.len() < 2 {
        return None;
    }
    let near = times_ms
        .iter()
        .zip(cells_ms)
        .filter(|(time, cell)| time.abs_diff(**cell) <= DAY_MS.unsigned_abs())
        .count();
    if near * 10 >= times_ms.len() * 9 {
        return Some(Witness { sure: 0.98, evidence: OF_CELLS.to_owned(), doubt: String::new() });
    }
    let (span, cell_span) = (span(times_ms), span(cells_ms));
    if cell_span < span / 10 {
        return None;
    }
    let is_as_fast =
        cell_span <= span.saturating_mul(5) / 4 && span <= cell_span.saturating_mul(5) / 4;
    if is_as_fast && correlation(times_ms, cells_ms).abs() >= 0.9 {
        return Some(Witness {
            sure: sure.max(0.93),
            evidence: "they follow the times of the cells at some distance".to_owned(),
            doubt: String::new(),
        });
    }
    let doubt = "the cells were written at other times, which do not go as these do: they may be \
                 numbers of another kind, or rows that were written long after"
        .to_owned();
    Some(Witness { sure: sure * 0.6, evidence: String::new(), doubt })
}

fn by_spacing(sure: f64, times_ms: &[i64], digits: Option<Written<'_>>, now_ms: i64) -> Witness {
    let mut sorted = times_ms.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let (Some(first), Some(last)) = (sorted.first().copied(), sorted.last().copied()) else {
        return Witness { sure: 0.0, evidence: String::new(), doubt: "there are none".to_owned() };
    };
    let is_written = |test: &dyn Fn(Written<'_>) -> bool| digits.is_some_and(test);
    // Evidence against times, and the factor of the remaining confidence.
    let against: [(bool, f64, String); 7] = [
        (
            is_written(&fills_a_block),
            0.4,
            "they fill all numbers that begin with the same digits, as numbers do whose last \
             digits are random"
                .to_owned(),
        ),
        (is_written(&|digits| fill_blocks(digits.numbers)), 0.6, PREFIXES.to_owned()),
        (
            sorted.len() >= MIN_TIMES && is_written(&|digits| is_dense(digits.numbers)),
            0.4,
            "they follow each other almost without a gap, as numbers that are counted up do"
                .to_owned(),
        ),
        (
            last > now_ms.saturating_add(YEAR_MS),
            0.5,
            "some lie more than a year ahead, so they may be numbers of another kind".to_owned(),
        ),
        (
            is_written(&|digits| {
                begins_round(digits, first) || begins_round(Written::decimal(digits.numbers), first)
            }),
            0.6,
            "the smallest lies just after a round number, as the first of a table of random \
             numbers does"
                .to_owned(),
        ),
        (
            first < now_ms.saturating_sub(YEARS_BACK * YEAR_MS),
            0.8,
            format!(
                "some are more than {YEARS_BACK} years old, so they may be numbers of another kind"
            ),
        ),
        (sorted.len() < MIN_TIMES, 0.9, "there are few of them".to_owned()),
    ];
    if let Some((_, left, why)) =
        against.into_iter().filter(|(is_so, ..)| *is_so).min_by(|a, b| a.1.total_cmp(&b.1))
    {
        let doubt =
            format!("{why}; the timestamps of cells would decide (halite key infer --table)");
        return Witness { sure: sure * left, evidence: String::new(), doubt };
    }
    let doubt = if sure >= 0.9 {
        String::new()
    } else {
        "other numbers lie in this range too; the timestamps of cells would decide".to_owned()
    };
    Witness { sure, evidence: "all of the last years".to_owned(), doubt }
}

/// Returns `true` if numbers are spread over the whole range of those with the same first digits:
/// the next digit has every value.
fn fills_a_block(Written { numbers, base }: Written<'_>) -> bool {
    let (Some(least), Some(most)) = (numbers.iter().min(), numbers.iter().max()) else {
        return false;
    };
    let mut block = 1_u64;
    while least / block != most / block {
        let Some(wider) = block.checked_mul(base) else { return false };
        block = wider;
    }
    u128::from(most - least) * 10 >= u128::from(block) * 9 && block > 1
}

/// Returns `true` if numbers are in order and the first is just after a round one, with as many
/// zeros as the numbers differ in digits, that is not the start of an hour. Only a limit cuts
/// random numbers there, and it leaves them in order.
pub(super) fn begins_round(Written { numbers, base }: Written<'_>, first_ms: i64) -> bool {
    let (least, most) =
        (numbers.iter().min().copied().unwrap_or(0), numbers.iter().max().copied().unwrap_or(0));
    let span = most - least;
    let mut block = 1_u64;
    while block < span {
        let Some(wider) = block.checked_mul(base) else { return false };
        block = wider;
    }
    let near = MAX_NEAR_DISTANCES.saturating_mul(span / numbers.len().max(1) as u64);
    // Hours are round as decimal numbers, and made-up times often begin with one.
    let begins_hour = base == 10
        && first_ms.rem_euclid(HOUR_MS).unsigned_abs() <= near
        && near < HOUR_MS.unsigned_abs() / 4;
    numbers.len() >= MIN_TIMES
        && numbers.is_sorted()
        && least % block <= near
        && near < block / 2
        && !begins_hour
}

/// Returns `true` if the numbers include at least every second number of their range.
fn is_dense(numbers: &[u64]) -> bool {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let span = sorted.last().copied().unwrap_or(0) - sorted.first().copied().unwrap_or(0);
    span < 2 * sorted.len() as u64
}

fn span(times: &[i64]) -> i64 {
    let most = times.iter().max().copied().unwrap_or(0);
    most.saturating_sub(times.iter().min().copied().unwrap_or(0))
}

/// Returns Spearman's rank correlation: 1 for equal orders.
#[expect(clippy::cast_precision_loss, reason = "ranks in a sample")]
pub(super) fn correlation(a: &[i64], b: &[i64]) -> f64 {
    let count = a.len() as f64;
    if a.len() < 2 {
        return 0.0;
    }
    let squares: f64 =
        ranks(a).into_iter().zip(ranks(b)).map(|(a, b)| (a as f64 - b as f64).powi(2)).sum();
    1.0 - 6.0 * squares / (count * (count * count - 1.0))
}

fn ranks(values: &[i64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|&at| values[at]);
    let mut ranks = vec![0; values.len()];
    order.into_iter().enumerate().for_each(|(rank, at)| ranks[at] = rank);
    ranks
}
