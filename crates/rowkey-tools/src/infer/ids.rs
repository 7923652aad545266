//! Identifiers that contain a time and are not times: Snowflake numbers, ULIDs, `MongoDB`'s
//! `ObjectId`s. Random digits after a few constant ones contain plausible times too, so identifiers
//! require a second witness as times do.

use std::collections::HashSet;

use halite_rowkey::value::{FieldType, TimeUnit};

use super::clusters::{begin_with_blocks, fill_blocks};
use super::column::Column;
use super::draft::{DraftSegment, WHOLE_POINTS};
use super::randomness::looks_random;
use super::sample::SampledKeys;
use super::times;
use super::witness::{self, Witness, Written};

/// Bits of a Snowflake number below its milliseconds, and of the sequence in the lowest bits.
const BELOW_TIME_BITS: u32 = 22;
const SEQUENCE_BITS: u32 = 12;
/// Epochs of Snowflake numbers, in milliseconds since 1970.
const EPOCHS: [(i64, &str); 3] =
    [(1_288_834_974_657, "Twitter's"), (1_420_070_400_000, "Discord's"), (0, "1970")];
/// Minimum Snowflake number; smaller ones contain too few milliseconds.
const MIN_SNOWFLAKE: u64 = 1 << 50;
/// 2008-01-01 and 2100-01-01 in milliseconds: no such identifiers were generated before.
const FIRST_MS: i64 = 1_199_145_600_000;
const END_MS: i64 = 4_102_444_800_000;
/// Confidence in identifiers whose times have a second witness.
const SNOWFLAKE_SURE: f64 = 0.94;
const ULID_SURE: f64 = 0.96;
const OBJECT_ID_SURE: f64 = 0.95;
const BINARY_ULID_SURE: f64 = 0.85;
const NUMBER_AFTER: &str = "the digits after the seconds begin with zeros, which is common in \
                            numbers and rare in process ids; the timestamps of cells would decide \
                            (halite key infer --table)";
const MANY_PROCESSES: &str = "random digits and those of digests look the same: in ObjectIds the \
                              ten after the seconds are those of one process, and here they \
                              differ; the timestamps of cells would decide (halite key infer \
                              --table)";
const NO_TIME: &str = "two or three numbers combined into one look the same, since the \
                       milliseconds would have an unknown epoch; check what writes the keys";

/// Result of the detection of identifiers.
pub(super) struct IdMatch {
    pub(super) evidence: String,
    pub(super) sure: f64,
    pub(super) doubt: String,
}

/// Returns the evidence that numbers are Snowflake's. Below the milliseconds there are few
/// machines, or sequences that begin at zero, where a finer time would have any digits. Other
/// composite numbers have these properties too, so the milliseconds must be times.
pub(super) fn snowflake(numbers: &[u64], seen: &SampledKeys<'_>) -> Option<IdMatch> {
    let count = numbers.len();
    let is_wide =
        count >= 20 && numbers.iter().all(|number| (MIN_SNOWFLAKE..1 << 63).contains(number));
    let times: HashSet<u64> = numbers.iter().map(|number| number >> BELOW_TIME_BITS).collect();
    if !is_wide || times.len() * 4 < count.min(200) {
        return None;
    }
    let machines: HashSet<u64> =
        numbers.iter().map(|number| number >> SEQUENCE_BITS & 0x3ff).collect();
    let small = numbers.iter().filter(|number| *number & 0xfff < 64).count();
    // Random bits contain up to 1024 machines, and one in 64 of their sequences is this small.
    if machines.len() * 3 > count.min(1024) && small * 10 < count * 8 {
        return None;
    }
    let (shown, found) = since(numbers, seen);
    // The last bits of times have every value; those of a number that is followed by another one
    // may not.
    let last: HashSet<u64> = times.iter().map(|ms| ms & 0xff).collect();
    let is_fine = last.len() * 4 >= times.len().min(256);
    let is_prefixed = found.evidence != witness::OF_CELLS && is_prefixed(numbers);
    let (sure, doubt) = match (is_fine, is_prefixed) {
        (false, _) => (found.sure * 0.5, NO_TIME.to_owned()),
        (true, true) => (
            found.sure * 0.6,
            format!(
                "{}; the timestamps of cells would decide (halite key infer --table)",
                witness::PREFIXES
            ),
        ),
        (true, false) => (found.sure, found.doubt),
    };
    let says = format!(
        "Snowflake numbers: milliseconds, {shown}, then {} machines and a sequence in 22 bits",
        machines.len()
    );
    (!seen.passes_over(sure)).then_some(IdMatch { evidence: says, sure, doubt })
}

/// Returns `true` if the decimal numbers begin with a few constant digits, followed by random ones.
fn is_prefixed(numbers: &[u64]) -> bool {
    // The numbers are not times, so none begins an hour.
    fill_blocks(numbers)
        || begin_with_blocks(numbers)
        || witness::begins_round(Written::decimal(numbers), i64::MAX)
}

/// Returns the possible epochs of Snowflake numbers as text, and the evidence for the best.
fn since(numbers: &[u64], seen: &SampledKeys<'_>) -> (String, Witness) {
    let counts: Vec<u64> = numbers.iter().map(|number| number >> BELOW_TIME_BITS).collect();
    let found = EPOCHS.iter().filter_map(|(epoch, name)| {
        let times: Vec<i64> = counts
            .iter()
            .map(|ms| i64::try_from(*ms).ok().map(|ms| ms + epoch))
            .collect::<Option<_>>()?;
        let (least, most) = (*times.iter().min()?, *times.iter().max()?);
        let evidence = format!(
            "{} for one if they are counted from {name} beginning",
            times::format_time(least, TimeUnit::Millis)
        );
        (least > FIRST_MS && most < END_MS).then(|| {
            (
                evidence,
                witness::witness(SNOWFLAKE_SURE, &times, Some(Written::binary(&counts)), seen),
            )
        })
    });
    let mut found: Vec<(String, Witness)> = found.collect();
    let best = found.iter().map(|(_, found)| found.sure).fold(0.0, f64::max);
    found.retain(|(_, found)| found.sure >= best);
    let evidence: Vec<String> = found.iter().map(|(evidence, _)| evidence.clone()).collect();
    let none = || Witness { sure: 0.7, evidence: String::new(), doubt: NO_TIME.to_owned() };
    match found.into_iter().next() {
        Some((_, first)) => (evidence.join(" or "), first),
        None => ("counted from a beginning of their own".to_owned(), none()),
    }
}

/// Returns ULIDs: 26 digits of Crockford's base 32. The first ten are a time, the others are
/// random.
pub(super) fn ulid(column: &Column<'_>, seen: &SampledKeys<'_>) -> Option<DraftSegment> {
    if column.width() != Some(26) || column.distinct < 2 {
        return None;
    }
    let times: Option<Vec<i64>> = column
        .values
        .iter()
        .map(|value| {
            value.iter().all(|byte| digit(*byte).is_some()).then(|| ulid_ms(value)).flatten()
        })
        .collect();
    let times = times?;
    let is_random = column.values.iter().map(|value| &value[16..]).collect::<HashSet<_>>().len()
        * 10
        >= column.distinct * 9;
    if !is_random || !times.iter().all(|ms| times::is_plausible(*ms, TimeUnit::Millis)) {
        return None;
    }
    let counts: Vec<u64> = times.iter().map(|ms| ms.cast_unsigned()).collect();
    let Witness { mut sure, mut doubt, .. } =
        witness::witness(ULID_SURE, &times, Some(Written { numbers: &counts, base: 32 }), seen);
    if !looks_random(&column.values, 16..26, 32, |value, place| digit(value[place])) {
        (sure, doubt) = (
            sure * 0.7,
            "the digits after the time do not look random; check what writes the keys".to_owned(),
        );
    }
    let evidence = format!(
        "ULIDs: a time in ten digits of base 32, {} for one, then sixteen random ones",
        times::format_time(times[0], TimeUnit::Millis)
    );
    (!seen.passes_over(sure)).then(|| {
        DraftSegment::field(
            FieldType::Char(26),
            "ulid",
            evidence,
            points(3.0, sure),
            &column.values,
        )
        .sure(sure, &doubt)
    })
}

/// Returns the points of an identifier; an unlikely one has fewer than text of any kind.
fn points(points: f64, sure: f64) -> f64 {
    if sure < 0.5 { -1.0 } else { points }
}

fn ulid_ms(value: &[u8]) -> Option<i64> {
    value.get(..10)?.iter().try_fold(0_i64, |ms, byte| Some(ms << 5 | i64::from(digit(*byte)?)))
}

/// Returns the value of a digit of base 32 without I, L, O and U, in either case.
fn digit(byte: u8) -> Option<u8> {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let upper = byte.to_ascii_uppercase();
    DIGITS.iter().position(|digit| *digit == upper).and_then(|at| u8::try_from(at).ok())
}

/// Returns ULIDs as sixteen bytes without the marks of UUIDs, if the first 48 bits are times.
pub(super) fn binary_ulid(column: &Column<'_>, seen: &SampledKeys<'_>) -> Option<DraftSegment> {
    if seen.is_plain || column.width() != Some(16) {
        return None;
    }
    let ms = |value: &&[u8]| {
        value
            .first_chunk::<8>()
            .map(|bytes| i64::try_from(u64::from_be_bytes(*bytes) >> 16).unwrap_or(i64::MAX))
    };
    let times: Vec<i64> = column.values.iter().map(ms).collect::<Option<_>>()?;
    let is_time = times.iter().all(|ms| times::is_plausible(*ms, TimeUnit::Millis))
        && times.iter().any(|ms| *ms != times[0]);
    let counts: Vec<u64> = times.iter().map(|ms| ms.cast_unsigned()).collect();
    let sure =
        || witness::witness(BINARY_ULID_SURE, &times, Some(Written::binary(&counts)), seen).sure;
    let sure = if is_time { sure() } else { 0.0 };
    (sure >= 0.5).then(|| {
        let evidence = format!(
            "sixteen bytes that begin with a time in 48 bits, {} for one, as ULIDs do",
            times::format_time(times[0], TimeUnit::Millis)
        );
        DraftSegment::field(FieldType::Fixed(16), "ulid", evidence, WHOLE_POINTS, &column.values)
            .sure(
                sure.min(BINARY_ULID_SURE),
                "six bytes of a time and ten of something else look the same; what writes the keys \
             tells",
            )
    })
}

/// Returns `ObjectId`s: 24 hexadecimal digits. The first eight are seconds, the next ten identify
/// one of few processes, and the last six are a counter.
pub(super) fn object_id(column: &Column<'_>, seen: &SampledKeys<'_>) -> Option<DraftSegment> {
    let is_hex = column.values.iter().all(|value| value.iter().all(u8::is_ascii_hexdigit));
    if column.width() != Some(24) || !is_hex || column.is_digits {
        return None;
    }
    let hex = |value: &&[u8]| {
        std::str::from_utf8(&value[..8]).ok().and_then(|text| u64::from_str_radix(text, 16).ok())
    };
    let seconds: Vec<u64> = column.values.iter().map(hex).collect::<Option<_>>()?;
    if !times::are_seconds(&seconds) {
        return None;
    }
    let times: Vec<i64> = seconds
        .iter()
        .map(|seconds| i64::try_from(*seconds).unwrap_or(0).saturating_mul(1000))
        .collect();
    let Witness { mut sure, mut doubt, evidence: says } =
        witness::witness(OBJECT_ID_SURE, &times, Some(Written::binary(&seconds)), seen);
    let different: HashSet<&[u8]> = column.values.iter().map(|value| &value[8..18]).collect();
    let (processes, is_number) =
        (different.len(), different.iter().any(|process| process.starts_with(b"0000")));
    if (is_number || processes * 4 > column.distinct) && says != witness::OF_CELLS {
        let (left, why) = if is_number { (0.5, NUMBER_AFTER) } else { (0.75, MANY_PROCESSES) };
        sure *= left;
        why.clone_into(&mut doubt);
    }
    let shown = times::format_time(times[0], TimeUnit::Millis);
    let evidence = format!(
        "24 hexadecimal digits that begin with seconds, {shown} for one, as ObjectIds of MongoDB \
         do, then {processes} processes"
    );
    (!seen.passes_over(sure)).then(|| {
        DraftSegment::field(
            FieldType::Char(24),
            "object_id",
            evidence,
            points(2.0, sure),
            &column.values,
        )
        .sure(sure, &doubt)
    })
}

/// Returns the digits of every value in reverse order.
pub(super) fn turned(column: &Column<'_>) -> Vec<Vec<u8>> {
    column.values.iter().map(|value| value.iter().rev().copied().collect()).collect()
}
