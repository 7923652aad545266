//! Rules about a sample of the table's keys.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use halite_rowkey::schema::{KeySchema, Profile, SegmentKind};
use halite_rowkey::value::Value;
use halite_types::key::to_string_binary;

use super::finding::Findings;
use super::input::{KeySample, LintInput};
use super::key_cost::CellCosts;
use super::rules::Severity;
use crate::fit::KeyFit;

/// Minimum sample size for shares.
const MIN_KEYS: usize = 100;
/// Maximum zeros before a sign: salts are padded to a few digits.
const MAX_PADDING_ZEROS: usize = 4;
/// Maximum digits of a remainder.
const REMAINDER_DIGITS: usize = 6;
/// Maximum digits of typical salts.
const SALT_DIGITS: usize = 3;
/// Minimum values of a field that distributes load.
const MIN_VALUES: usize = 16;

pub(super) fn check(sample: &KeySample, subject: &LintInput<'_>, found: &mut Findings) {
    if sample.keys.is_empty() {
        return;
    }
    duplicates(sample, found);
    long(sample, subject, found);
    signed_salts(sample, found);
    insert_pattern(sample, found);
    let Some(key) = subject.key else { return };
    misfits(key, sample, found);
    let decoded = decoded(key, sample);
    few_values(key, &decoded, found);
    mixed_case(key, &decoded, found);
}

#[expect(clippy::cast_precision_loss, reason = "a share is printed with one digit")]
fn percent(part: usize, of: usize) -> f64 {
    part as f64 * 100.0 / of.max(1) as f64
}

/// K-UNIQ: keys that were written more than once.
fn duplicates(sample: &KeySample, found: &mut Findings) {
    let mut seen = HashSet::with_capacity(sample.keys.len());
    let again: Vec<&Bytes> = sample.keys.iter().filter(|key| !seen.insert(*key)).collect();
    let Some(first) = again.first() else { return };
    if !sample.is_in_arrival_order {
        // The sample need not have one key per written row: a file may contain a key for each cell,
        // or for each read.
        let message = format!(
            "{} keys repeat an earlier one; if each was a separate row, the later one replaced the \
             earlier one.",
            again.len()
        );
        let evidence =
            format!("in {} keys, {} for one", sample.keys.len(), to_string_binary(first));
        found.add("K-UNIQ", None, message).evidence(evidence).cap_severity(Severity::Note);
        return;
    }
    let evidence = format!(
        "{} of {} sampled keys exist already, for example {}",
        again.len(),
        sample.keys.len(),
        to_string_binary(first)
    );
    found
        .add(
            "K-UNIQ",
            None,
            "Different rows were given one key, and the later one replaced the earlier one.",
        )
        .evidence(evidence);
}

/// K-MISFIT: keys that a scan by fields does not find, and other rules do not examine.
fn misfits(key: &KeySchema, sample: &KeySample, found: &mut Findings) {
    let fit = KeyFit::from_sample(key, &sample.keys);
    let Some((row, error)) = fit.examples.first() else { return };
    let odd = fit.keys - fit.fitting;
    let message = format!(
        "{odd} of {} sampled rows do not fit the declaration: queries by field do not find them, \
         and the statements about fields here exclude them.",
        fit.keys
    );
    let fix = if fit.is_enough() {
        "the rows under keys that fit, or deleted; ROW_KEY_STRICT => true on the table refuses \
         more of them"
    } else {
        "the key that the rows have: halite key infer finds it, and ALTER TABLE .. ADOPT ROW KEY \
         declares it"
    };
    found
        .add("K-MISFIT", None, message)
        .evidence(format!(
            "{:.1} % of the sample; {} for one: {}",
            percent(odd, fit.keys),
            to_string_binary(row),
            key.describe_error(error)
        ))
        .fix(fix);
}

/// K-LEN, from the sample.
fn long(sample: &KeySample, subject: &LintInput<'_>, found: &mut Findings) {
    let longest = sample.keys.iter().map(Bytes::len).max().unwrap_or(0);
    if longest > 128 {
        let mean = sample.keys.iter().map(Bytes::len).sum::<usize>() / sample.keys.len();
        let finding = found.add(
            "K-LEN",
            None,
            "Keys are long, and every cell of a row repeats its key in the log, in memory and on \
             the wire.",
        );
        let costs = CellCosts::measure(None, subject);
        let measured = costs.map_or_else(String::new, |costs| format!("; {}", costs.text()));
        finding.evidence(format!("{mean} bytes in the mean, {longest} the longest{measured}"));
    }
}

/// K-NEGMOD: keys that begin with a signed number, such as a remainder of hash codes.
fn signed_salts(sample: &KeySample, found: &mut Findings) {
    let heads: Vec<(&Bytes, Head)> =
        sample.keys.iter().filter_map(|key| Some((key, Head::from_key(key)?))).collect();
    let others = sample.keys.len() - heads.iter().filter(|(_, head)| head.is_negative).count();
    let are_numbers =
        sample.keys.iter().filter(|key| key.first().is_some_and(u8::is_ascii_digit)).count() * 2
            >= others;
    let signed: Vec<&Bytes> = if has_padded_signs(sample) {
        heads
            .iter()
            .filter(|(_, head)| head.is_negative && head.zeros > 0)
            .map(|(key, _)| *key)
            .collect()
    } else if are_remainders(&heads) {
        heads.iter().filter(|(_, head)| head.is_negative).map(|(key, _)| *key).collect()
    } else {
        Vec::new()
    };
    if let Some(first) = signed.first()
        && signed.len() * 100 >= sample.keys.len()
        && are_numbers
    {
        let share = percent(signed.len(), sample.keys.len());
        // Long numbers of either sign may also be map coordinates.
        let is_sure =
            heads.iter().all(|(_, head)| !head.is_negative || head.zeros > 0 || !head.is_long);
        found
            .add(
                "K-NEGMOD",
                None,
                "Keys begin with a negative number: hashCode() % n was taken as a salt. They all \
                 sort into the first region, and a scan over the salts 0 to n - 1 never finds \
                 them.",
            )
            .evidence(format!(
                "{share:.1} % of {} keys, {} for one",
                sample.keys.len(),
                to_string_binary(first)
            ))
            .fix("Math.floorMod(hash, n) where keys are written; existing rows must be rewritten")
            .cap_severity(if is_sure { Severity::Error } else { Severity::Warning });
    }
}

/// Number at the start of a key.
struct Head {
    /// Zeros before its sign, or before its digits.
    zeros: usize,
    is_negative: bool,
    /// Absolute value; of more digits than a remainder has, only the first ones, because digits of
    /// another field may follow.
    size: u64,
    is_long: bool,
    /// `true` if a part that is not numeric follows.
    has_rest: bool,
}

impl Head {
    fn from_key(key: &Bytes) -> Option<Self> {
        let zeros = key.iter().take_while(|&&byte| byte == b'0').count();
        let is_negative = key.get(zeros) == Some(&b'-');
        let behind = &key[if is_negative { zeros + 1 } else { 0 }..];
        let digits = behind.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = std::str::from_utf8(&behind[..digits]).ok().filter(|text| !text.is_empty())?;
        let is_long = digits > REMAINDER_DIGITS;
        let size = text[..if is_long { SALT_DIGITS } else { digits }].parse().ok()?;
        let has_rest = behind.get(digits).is_some_and(|byte| !matches!(byte, b'.' | b'e' | b'E'));
        Some(Self { zeros, is_negative, size, is_long, has_rest })
    }
}

/// Returns `true` if signs follow padding zeros, which no program writes intentionally. A sign at
/// the position at which other keys have other digits before it is a delimiter.
fn has_padded_signs(sample: &KeySample) -> bool {
    let sign_at = |key: &Bytes| {
        let digits = key.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (digits > 0
            && key.get(digits) == Some(&b'-')
            && key.get(digits + 1).is_some_and(u8::is_ascii_digit))
        .then_some(digits)
    };
    let with_sign: Vec<(&Bytes, usize)> =
        sample.keys.iter().filter_map(|key| Some((key, sign_at(key)?))).collect();
    let padded = with_sign
        .iter()
        .filter(|(key, at)| key[..*at].iter().all(|&byte| byte == b'0') && *at <= MAX_PADDING_ZEROS)
        .count();
    padded > 0 && padded * 10 >= with_sign.len() * 9
}

/// Returns `true` if leading numbers are negative about half of the time and have the same range on
/// both sides, as remainders of hash codes do, and meaningful numbers rarely.
fn are_remainders(heads: &[(&Bytes, Head)]) -> bool {
    let sizes = |is_negative: bool| -> HashSet<u64> {
        let those = heads.iter().filter(|(_, head)| {
            head.is_negative == is_negative
                && head.has_rest
                && head.size != 0
                && !(is_negative && head.zeros > 0)
        });
        those.map(|(_, head)| head.size).collect()
    };
    let (below, above) = (sizes(true), sizes(false));
    let is_alike = |a: u64, b: u64, times: u64| a.max(b) <= a.min(b).saturating_mul(times);
    let (Some(&least), Some(&greatest)) = (below.iter().max(), above.iter().max()) else {
        return false;
    };
    is_alike(below.len() as u64, above.len() as u64, 3) && is_alike(least, greatest, 2)
}

/// K-MONO from the sample: each new key is greater than nearly all before.
fn insert_pattern(sample: &KeySample, found: &mut Findings) {
    if !sample.is_in_arrival_order || sample.keys.len() < MIN_KEYS {
        return;
    }
    let mut greatest = &sample.keys[0];
    let mut rising = 0;
    for key in &sample.keys[1..] {
        if key > greatest {
            rising += 1;
            greatest = key;
        }
    }
    let share = percent(rising, sample.keys.len() - 1);
    // Among random keys, the n-th is the maximum so far with probability 1/n.
    if share >= 50.0 {
        found
            .add(
                "K-MONO",
                None,
                "Keys rise as they are written: every write goes to the last region, and splitting \
                 it only moves the place.",
            )
            .evidence(format!("{share:.1} % of the keys were greater than all before them"))
            .fix(
                "a salt in front, SALT(16 BY ...) of what questions give, or the field that is the \
                 same for neighbours first",
            );
    }
}

/// For each field, its values in the sample with their frequencies.
type ValueCounts<'a> = Vec<HashMap<String, usize>>;

fn decoded<'a>(key: &KeySchema, sample: &'a KeySample) -> ValueCounts<'a> {
    let mut counted = vec![HashMap::new(); key.fields().len()];
    for bytes in &sample.keys {
        let Ok(values) = key.decode(bytes) else { continue };
        for (counts, value) in counted.iter_mut().zip(values.values()) {
            if !value.is_null() {
                *counts.entry(format_value(value)).or_insert(0) += 1;
            }
        }
    }
    counted
}

fn format_value(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        other => format!("{other:?}"),
    }
}

/// K-LOWCARD from the sample: the first field, or the input of a salt.
fn few_values(key: &KeySchema, counted: &ValueCounts<'_>, found: &mut Findings) {
    let first =
        key.segments().iter().position(|segment| !matches!(segment.kind, SegmentKind::Const(_)));
    for (at, segment) in key.segments().iter().enumerate() {
        let (fields, capacity) = match &segment.kind {
            SegmentKind::Salt { count, .. } => (key.hashed_fields(at), (*count as usize).min(4096)),
            SegmentKind::Hash { by, .. } => (by.clone(), MIN_VALUES),
            kind if Some(at) == first => (kind.field().into_iter().collect(), MIN_VALUES),
            _ => continue,
        };
        let [field] = fields[..] else { continue };
        let rows: usize = counted[field].values().sum();
        let distinct = counted[field].len();
        if rows < MIN_KEYS || likely_values(&counted[field]) >= capacity.min(2 * distinct) {
            continue;
        }
        let name = &key.fields()[field].name;
        let (top, of_top) = counted[field]
            .iter()
            .max_by_key(|(_, count)| **count)
            .map_or(("", 0), |(value, count)| (value.as_str(), *count));
        found
            .add(
                "K-LOWCARD",
                at,
                format!(
                    "{name} spreads the load, and has {distinct} values in the sample: hardly more \
                     places in the table are written to, however many salts or regions there are."
                ),
            )
            .evidence(format!("in {rows} keys; {top} alone has {:.1} %", percent(of_top, rows)))
            .fix("a salt over a field of many values, or over several fields");
    }
}

/// Returns the estimated number of values of a field: the observed ones, plus an estimate of the
/// others from the numbers of values seen once and twice (Chao's estimator). If no value was
/// repeated, the number is unknown and the estimate very large.
fn likely_values(counts: &HashMap<String, usize>) -> usize {
    let seen = |times: usize| counts.values().filter(|count| **count == times).count();
    let (once, twice) = (seen(1), seen(2));
    counts.len() + once * once.saturating_sub(1) / (2 * (twice + 1))
}

/// K-CASE: values that differ only in case.
fn mixed_case(key: &KeySchema, counted: &ValueCounts<'_>, found: &mut Findings) {
    for (id, counts) in counted.iter().enumerate() {
        if !key.fields()[id].ty.is_text() {
            continue;
        }
        let mut by_lower: HashMap<String, &str> = HashMap::new();
        for value in counts.keys() {
            if let Some(other) = by_lower.insert(value.to_lowercase(), value) {
                let name = &key.fields()[id].name;
                found
                    .add(
                        "K-CASE",
                        key.carrier(id),
                        format!("Values of {name} differ by case only, and are different rows."),
                    )
                    .evidence(format!("{other} and {value}"))
                    .fix("one case where keys are written")
                    .cap_severity(if key.profile() == Profile::Text {
                        Severity::Warning
                    } else {
                        Severity::Note
                    });
                break;
            }
        }
    }
}
