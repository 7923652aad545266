//! Identifiers that hold a time and are no times: Snowflake numbers, ULIDs, UUIDs of version 7, `MongoDB`'s `ObjectId`s.

use std::collections::HashSet;

use super::column::Column;
use super::draft::Piece;
use super::gaps::WHOLE_POINTS;
use super::times;
use crate::value::{FieldType, TimeUnit};

/// Bits of a Snowflake number behind its milliseconds, and of the sequence at their end.
const BELOW_TIME_BITS: u32 = 22;
const SEQUENCE_BITS: u32 = 12;
/// The times that milliseconds of Snowflake numbers are counted from.
const EPOCHS: [(i64, &str); 3] = [(1_288_834_974_657, "Twitter's"), (1_420_070_400_000, "Discord's"), (0, "1970")];
/// Numbers below it have too few milliseconds in them.
const LEAST: u64 = 1 << 50;
/// 2100-01-01.
const END_MS: i64 = 4_102_444_800_000;

/// What speaks for numbers being Snowflake's: below the milliseconds stand few machines, or sequences that begin at zero,
/// where the digits of a finer time would be anything.
pub(super) fn snowflake(numbers: &[u64]) -> Option<String> {
    let count = numbers.len();
    let is_wide = count >= 20 && numbers.iter().all(|number| (LEAST..1 << 63).contains(number));
    let times: HashSet<u64> = numbers.iter().map(|number| number >> BELOW_TIME_BITS).collect();
    if !is_wide || times.len() * 4 < count.min(200) {
        return None;
    }
    let machine = |number: &u64| number >> SEQUENCE_BITS & 0x3ff;
    let machines: HashSet<u64> = numbers.iter().map(machine).collect();
    let small = numbers.iter().filter(|number| *number & 0xfff < 64).count();
    // Of random bits: 1024 machines, and one of 64 sequences so small.
    if machines.len() * 3 > count.min(1024) && small * 10 < count * 8 {
        return None;
    }
    let shown = EPOCHS.iter().find_map(|(epoch, name)| {
        let at = |number: u64| i64::try_from(number >> BELOW_TIME_BITS).ok().map(|ms| ms + epoch);
        let (least, most) = (at(*numbers.iter().min()?)?, at(*numbers.iter().max()?)?);
        (least > 1_199_145_600_000 && most < END_MS)
            .then(|| format!("counted from {name} beginning, {} for one", times::shown(least, TimeUnit::Millis)))
    });
    let shown = shown.unwrap_or_else(|| "counted from a beginning of their own".to_owned());
    Some(format!("Snowflake numbers: milliseconds {shown}, then {} machines and a sequence in 22 bits", machines.len()))
}

/// Twenty-six digits of Crockford's base 32, the first ten of which are a time.
pub(super) fn ulid(column: &Column<'_>) -> Option<Piece> {
    if column.width() != Some(26) || column.distinct < 2 {
        return None;
    }
    let times: Option<Vec<i64>> =
        column.values.iter().map(|value| value.iter().all(|byte| digit(*byte).is_some()).then(|| ulid_ms(value)).flatten()).collect();
    let times = times?;
    let is_random = column.values.iter().map(|value| &value[16..]).collect::<HashSet<_>>().len() * 10 >= column.distinct * 9;
    if !is_random || !times.iter().all(|ms| times::is_plausible(*ms, TimeUnit::Millis)) {
        return None;
    }
    let said = format!("ULIDs: a time in ten digits of base 32, {} for one, then sixteen random ones", times::shown(times[0], TimeUnit::Millis));
    Some(Piece::field(FieldType::Char(26), "ulid", said, 3.0, &column.values).sure(0.96, ""))
}

fn ulid_ms(value: &[u8]) -> Option<i64> {
    value.get(..10)?.iter().try_fold(0_i64, |ms, byte| Some(ms << 5 | i64::from(digit(*byte)?)))
}

/// A digit of base 32 without I, L, O and U, in either case.
fn digit(byte: u8) -> Option<u8> {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let upper = byte.to_ascii_uppercase();
    DIGITS.iter().position(|digit| *digit == upper).and_then(|at| u8::try_from(at).ok())
}

/// What the first 48 bits say, if sixteen bytes are ULIDs without the marks of UUIDs.
pub(super) fn binary_ulid(column: &Column<'_>) -> Option<Piece> {
    let ms = |value: &&[u8]| value.first_chunk::<8>().map(|bytes| i64::try_from(u64::from_be_bytes(*bytes) >> 16).unwrap_or(i64::MAX));
    let times: Vec<i64> = column.values.iter().map(ms).collect::<Option<_>>()?;
    let is_time = times.iter().all(|ms| times::is_plausible(*ms, TimeUnit::Millis)) && times.iter().any(|ms| *ms != times[0]);
    is_time.then(|| {
        let said = format!("sixteen bytes that begin with a time in 48 bits, {} for one, as ULIDs do", times::shown(times[0], TimeUnit::Millis));
        Piece::field(FieldType::Fixed(16), "ulid", said, WHOLE_POINTS, &column.values)
            .sure(0.85, "six bytes of a time and ten of something else look the same; what writes the keys tells")
    })
}

/// What the time in UUIDs of version 7 is, in words; `hex` are their first twelve digits.
pub(super) fn uuid7(version: u8, millis: u64) -> String {
    if version != 7 {
        return String::new();
    }
    let ms = i64::try_from(millis).unwrap_or(i64::MAX);
    format!(", which begin with a time in milliseconds, {} for one: rows come in the order of writing", times::shown(ms, TimeUnit::Millis))
}

/// The time in a UUID as text.
pub(super) fn uuid7_ms(text: &[u8]) -> u64 {
    let hex = text.iter().filter(|byte| **byte != b'-').take(12);
    hex.fold(0, |ms, byte| ms << 4 | u64::from(char::from(*byte).to_digit(16).unwrap_or(0)))
}

/// Twenty-four hexadecimal digits whose first eight are seconds.
pub(super) fn object_id(column: &Column<'_>) -> Option<Piece> {
    if column.width() != Some(24) || !column.is_hex || column.is_digits {
        return None;
    }
    let hex = |value: &&[u8]| std::str::from_utf8(&value[..8]).ok().and_then(|text| u64::from_str_radix(text, 16).ok());
    let seconds: Vec<u64> = column.values.iter().map(hex).collect::<Option<_>>()?;
    times::are_seconds(&seconds).then(|| {
        let first = i64::try_from(seconds[0]).unwrap_or(0).saturating_mul(1000);
        let said =
            format!("24 hexadecimal digits that begin with seconds, {} for one, as ObjectIds of MongoDB do", times::shown(first, TimeUnit::Millis));
        Piece::field(FieldType::Char(24), "object_id", said, 2.0, &column.values).sure(0.9, "")
    })
}

/// The digits of every value back to front.
pub(super) fn turned(column: &Column<'_>) -> Vec<Vec<u8>> {
    column.values.iter().map(|value| value.iter().rev().copied().collect()).collect()
}
