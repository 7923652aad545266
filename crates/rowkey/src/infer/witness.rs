//! How sure it is that numbers are times: a plausible range alone is no proof, a second witness is wanted.
//!
//! The second witness are the times of the rows' cells where they are known and say something, else the spacing: all near
//! today, within some years of each other, and not just random digits behind the same first ones.

use super::sample::Seen;
use super::times::{NOW_MS, TimeForm};
use crate::value::TimeUnit;

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
const YEAR_MS: i64 = 366 * DAY_MS;
/// Tables hold times of so many years before today.
const YEARS_BACK: i64 = 20;
/// Fewer different times are no spacing.
const TIMES_MIN: usize = 20;

/// What speaks for and against times.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Witness {
    /// How sure it is, 0 to 1.
    pub(super) sure: f64,
    /// What the second witness says; empty if there is none.
    pub(super) says: String,
    /// What they may be instead, and what tells the two apart; empty if they are surely times.
    pub(super) doubt: String,
}

/// How sure a form is by itself, with plausible spacing and without times of cells: what else has such digits or bytes.
pub(super) fn sure_of(form: TimeForm, width: usize) -> f64 {
    match (form, width) {
        (TimeForm::Reversed(TimeUnit::Millis), 8 | 19) => 0.97,
        (TimeForm::Reversed(TimeUnit::Micros), 8 | 19) | (TimeForm::Calendar, _) => 0.95,
        (TimeForm::Direct(TimeUnit::Millis), _) => 0.94,
        (TimeForm::Direct(TimeUnit::Micros), _) => 0.92,
        (TimeForm::Reversed(TimeUnit::Millis), _) => 0.9,
        (TimeForm::Seconds, 10) => 0.88,
        (TimeForm::Reversed(_), _) => 0.75,
        _ => 0.8,
    }
}

/// Looks at times in milliseconds, one for each key of `seen`; `numbers` are the digits they were read from, `None` for bytes.
pub(super) fn witness(sure: f64, times_ms: &[i64], digits: Option<&[u64]>, seen: &Seen<'_>) -> Witness {
    by_cells(sure, times_ms, &seen.times_ms).unwrap_or_else(|| by_spacing(sure, times_ms, digits, seen.now_ms.unwrap_or(NOW_MS)))
}

/// `None` if the times of cells are not known, or all of one load.
fn by_cells(sure: f64, times_ms: &[i64], cells_ms: &[i64]) -> Option<Witness> {
    if cells_ms.len() != times_ms.len() || times_ms.len() < 2 {
        return None;
    }
    let near = times_ms.iter().zip(cells_ms).filter(|(time, cell)| time.abs_diff(**cell) <= DAY_MS.unsigned_abs()).count();
    if near * 10 >= times_ms.len() * 9 {
        return Some(Witness { sure: 0.98, says: "they are the times of the cells".to_owned(), doubt: String::new() });
    }
    let (span, cell_span) = (span(times_ms), span(cells_ms));
    if cell_span < span / 10 {
        return None;
    }
    let is_as_fast = cell_span <= span.saturating_mul(5) / 4 && span <= cell_span.saturating_mul(5) / 4;
    if is_as_fast && correlation(times_ms, cells_ms).abs() >= 0.9 {
        return Some(Witness { sure: sure.max(0.93), says: "they follow the times of the cells at some distance".to_owned(), doubt: String::new() });
    }
    let doubt = "the cells were written at other times, which do not go as these do: they may be numbers of another kind, or rows that were written long after".to_owned();
    Some(Witness { sure: sure * 0.6, says: String::new(), doubt })
}

fn by_spacing(sure: f64, times_ms: &[i64], digits: Option<&[u64]>, now_ms: i64) -> Witness {
    let mut sorted = times_ms.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let doubtful = |sure: f64, why: &str| {
        let doubt = format!("{why}; the times of cells would tell (halite key infer --table)");
        Witness { sure, says: String::new(), doubt }
    };
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return doubtful(0.0, "there are none") };
    if digits.is_some_and(fills_a_block) {
        return doubtful(sure * 0.4, "they fill all numbers that begin with the same digits, as identifiers do whose last digits are random");
    }
    if digits.is_some_and(|digits| begins_round(digits, *first)) {
        return doubtful(sure * 0.6, "the least lies just behind a round number, as the first of a table of random numbers does");
    }
    if *last > now_ms + YEAR_MS {
        return doubtful(sure * 0.5, "some lie more than a year ahead, so they may be numbers of another kind");
    }
    if *first < now_ms - YEARS_BACK * YEAR_MS {
        return doubtful(sure * 0.8, &format!("some are more than {YEARS_BACK} years old, so they may be numbers of another kind"));
    }
    if sorted.len() >= TIMES_MIN && digits.is_some_and(is_dense) {
        return doubtful(sure * 0.4, "they follow each other almost without a gap, as numbers that are counted up do");
    }
    if sorted.len() < TIMES_MIN {
        return doubtful(sure * 0.9, "there are few of them");
    }
    let doubt = if sure >= 0.9 { String::new() } else { "other numbers lie in this range too; the times of cells would tell".to_owned() };
    Witness { sure, says: "all of the last years".to_owned(), doubt }
}

/// Whether numbers lie all over those that begin with the same decimal digits, their next digit taking every value.
fn fills_a_block(numbers: &[u64]) -> bool {
    let (Some(least), Some(most)) = (numbers.iter().min(), numbers.iter().max()) else { return false };
    let mut block = 1_u64;
    while least / block != most / block {
        let Some(wider) = block.checked_mul(10) else { return false };
        block = wider;
    }
    (most - least) >= block / 10 * 9 && block > 1
}

/// Whether the least number is near one with as many zeros at its end as the numbers differ in digits, and begins no hour.
fn begins_round(numbers: &[u64], first_ms: i64) -> bool {
    let (least, most) = (numbers.iter().min().copied().unwrap_or(0), numbers.iter().max().copied().unwrap_or(0));
    let span = most - least;
    let mut block = 1_u64;
    while block < span {
        let Some(wider) = block.checked_mul(10) else { return false };
        block = wider;
    }
    // Ten of the mean distances between two.
    let near = 10 * (span / numbers.len().max(1) as u64);
    let begins_hour = first_ms.rem_euclid(HOUR_MS).unsigned_abs() <= near && near < HOUR_MS.unsigned_abs();
    numbers.len() >= TIMES_MIN && least % block <= near && near * 2 < block && !begins_hour
}

/// Whether at least every second number is there.
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

/// Spearman's: 1 where one order is the other.
#[expect(clippy::cast_precision_loss, reason = "ranks in a sample")]
pub(super) fn correlation(a: &[i64], b: &[i64]) -> f64 {
    let count = a.len() as f64;
    if a.len() < 2 {
        return 0.0;
    }
    let squares: f64 = ranks(a).into_iter().zip(ranks(b)).map(|(a, b)| (a as f64 - b as f64).powi(2)).sum();
    1.0 - 6.0 * squares / (count * (count * count - 1.0))
}

fn ranks(values: &[i64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|&at| values[at]);
    let mut ranks = vec![0; values.len()];
    order.into_iter().enumerate().for_each(|(rank, at)| ranks[at] = rank);
    ranks
}
