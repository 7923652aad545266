//! Content of one position in text keys: numbers, times, buckets, reversed digits, addresses,
//! names.

use std::collections::HashSet;

use halite_rowkey::value::{FieldType, TimeUnit};

use super::addresses::look_like_addresses;
use super::column::{Column, number};
use super::draft::{DerivedCandidate, DraftSegment, FieldEncoding, char_type};
use super::ids;
use super::randomness::looks_random;
use super::sample::SampledKeys;
use super::times::{self, TimeForm};
use super::uuids;
use super::witness::{self, Witness, Written};

/// Points of a number.
const NUMBER_POINTS: f64 = 0.8;
/// Maximum digits that always fit in 64 bits.
const MAX_NUMBER_DIGITS: usize = 19;
/// Digits of the longest salt.
const MAX_SALT_DIGITS: usize = 5;
/// Characters of the longest digest: SHA-512's in hexadecimal.
const MAX_DIGEST_CHARS: usize = 128;
/// Minimum width of upper-case hexadecimal digits; shorter values may be words.
const MIN_UPPER_DIGITS: usize = 16;
/// Minimum number of different values for a statement about reversed digits.
const MIN_DISTINCT_VALUES: usize = 50;
/// Minimum number of values that count up; fewer numbers do so randomly.
const MIN_STEPS: usize = 20;
/// Confidence that text between delimiters is one value.
const TEXT_SURE: f64 = 0.93;
/// Minimum number of different hours of times; with fewer, they may be days with a number after
/// them.
const MIN_HOURS: usize = 3;
/// Maximum letters that may be salts.
const MAX_LETTERS: usize = 26;

/// Returns the segments of one position between literals; more than one if there is a time between
/// other digits.
pub(super) fn segments(column: &Column<'_>, seen: &SampledKeys<'_>) -> Vec<DraftSegment> {
    if let Some(same) = column.constant() {
        return vec![DraftSegment::literal(
            same,
            column.values.len().min(super::draft::KEYS_REMEMBERED),
        )];
    }
    let Some(window) = times::inside_digits(column)
        .filter(|_| !seen.is_plain && snowflakes(column, seen).is_none())
    else {
        return vec![segment(column, seen)];
    };
    let split = if window.from_end {
        column
            .split_from_end(window.offset)
            .and_then(|(rest, after)| Some((rest.split_from_end(window.digits)?, after)))
    } else {
        column
            .split_at(window.offset)
            .and_then(|(before, rest)| Some((before, rest.split_at(window.digits)?)))
            .map(|(before, (time, after))| ((before, time), after))
    };
    let Some(((before, time), after)) = split else { return vec![segment(column, seen)] };
    // An unlikely time does not split digits.
    if segment(&time, seen).sure < 0.5 {
        return vec![segment(column, seen)];
    }
    let parts = [before, time, after];
    parts.iter().filter(|part| part.max > 0).map(|part| segment(part, seen)).collect()
}

/// Returns one segment for a whole column.
fn segment(column: &Column<'_>, seen: &SampledKeys<'_>) -> DraftSegment {
    uuids::dashed(column, seen)
        .or_else(|| address(column, seen))
        .or_else(|| snowflakes(column, seen))
        .or_else(|| time(column, seen))
        .or_else(|| reversed_time(column, seen))
        .or_else(|| reversed(column))
        .or_else(|| bucket(column, seen))
        .or_else(|| uuids::undashed(column, seen))
        .or_else(|| digits(column, seen))
        .or_else(|| letter(column))
        .or_else(|| ids::ulid(column, seen))
        .or_else(|| ids::object_id(column, seen))
        .or_else(|| hexadecimal(column))
        .unwrap_or_else(|| text(column))
}

fn address(column: &Column<'_>, seen: &SampledKeys<'_>) -> Option<DraftSegment> {
    if !seen.is_plain && column.values.iter().all(|value| is_ipv4(value)) {
        let (sure, doubt) = if look_like_addresses(&column.values) {
            (0.97, "")
        } else {
            (
                0.8,
                "versions of programs, object identifiers and numbers of chapters look the same; \
                 what writes the keys tells",
            )
        };
        return Some(
            DraftSegment::field(
                FieldType::Ipv4,
                "ip",
                "addresses in dotted decimal",
                2.0,
                &column.values,
            )
            .sure(sure, doubt),
        );
    }
    if column.values.iter().all(|value| is_date(value)) {
        return Some(
            DraftSegment::field(
                FieldType::Char(10),
                "day",
                "dates as text, which sort as they are",
                2.0,
                &column.values,
            )
            .sure(0.95, ""),
        );
    }
    None
}

/// Returns `true` if bytes are `yyyy-MM-dd`.
pub(super) fn is_date(value: &[u8]) -> bool {
    let [.., b'-', _, _, b'-', _, _] = value else { return false };
    let digits: Vec<u8> = value.iter().copied().filter(|byte| *byte != b'-').collect();
    value.len() == 10
        && digits.len() == 8
        && digits.iter().all(u8::is_ascii_digit)
        && times::is_calendar(&digits)
}

/// Returns `true` if bytes are an address in dotted decimal, in the form in which it is printed
/// again.
pub(super) fn is_ipv4(value: &[u8]) -> bool {
    std::str::from_utf8(value).is_ok_and(|text| text.parse::<std::net::Ipv4Addr>().is_ok())
}

fn time(column: &Column<'_>, seen: &SampledKeys<'_>) -> Option<DraftSegment> {
    let form = times::form_from_digits(column).filter(|_| !seen.is_plain)?;
    let width = column.width()?;
    let numbers = column.numbers()?;
    let times_ms: Vec<i64> =
        numbers.iter().map(|&number| times::in_ms(number, width, form)).collect();
    let digits = (form != TimeForm::Calendar).then_some(&numbers[..]);
    let Witness { mut sure, evidence: says, mut doubt } = witness::witness(
        witness::sure_of(form, width),
        &times_ms,
        digits.map(Written::decimal),
        seen,
    );
    if let Some((left, why)) = instead(column, form, &numbers).filter(|_| says != witness::OF_CELLS)
    {
        sure *= left;
        why.clone_into(&mut doubt);
    }
    let mut piece = time_segment(column, form, width)?;
    if !says.is_empty() {
        piece.evidence = format!("{}; {says}", piece.evidence);
    }
    // An unlikely time has no more points than a number.
    piece.points = if sure < 0.5 { NUMBER_POINTS } else { piece.points };
    Some(piece.sure(sure, &doubt))
}

/// Returns the frequent alternative to digits of a form: the factor of the remaining confidence,
/// and the doubt.
fn instead(column: &Column<'_>, form: TimeForm, numbers: &[u64]) -> Option<(f64, &'static str)> {
    match form {
        TimeForm::Calendar if hours(numbers, column.min).is_some_and(|hours| hours < MIN_HOURS) => {
            Some((
                0.85,
                "a day and a number that counts up look the same, for all are of one or two hours; \
                 the timestamps of cells would decide",
            ))
        }
        TimeForm::Reversed(TimeUnit::Millis)
            if column.min == 13 && column.values.iter().all(|value| value.starts_with(b"86")) =>
        {
            Some((
                0.55,
                "phone numbers with the 86 of China in front are the same numbers; the timestamps \
                 of cells would decide",
            ))
        }
        _ => None,
    }
}

/// Returns the number of different hours in dates of `width` digits; `None` for days.
fn hours(numbers: &[u64], width: usize) -> Option<usize> {
    let behind = u32::try_from(width.checked_sub(10)?).ok()?;
    Some(
        numbers
            .iter()
            .map(|number| number / 10_u64.pow(behind) % 100)
            .collect::<HashSet<_>>()
            .len(),
    )
}

/// Returns a time with its digits back to front.
fn reversed_time(column: &Column<'_>, seen: &SampledKeys<'_>) -> Option<DraftSegment> {
    let width =
        column.width().filter(|width| column.is_digits && *width >= 13 && !seen.is_plain)?;
    let turned = ids::turned(column);
    let turned = Column::from_values(turned.iter().map(Vec::as_slice).collect());
    let form = times::form_from_digits(&turned)?;
    let numbers = turned.numbers()?;
    let times_ms: Vec<i64> =
        numbers.iter().map(|&number| times::in_ms(number, width, form)).collect();
    let Witness { sure, doubt, .. } = witness::witness(
        witness::sure_of(form, width),
        &times_ms,
        Some(Written::decimal(&numbers)),
        seen,
    );
    let shown = times::format_time(*times_ms.first()?, TimeUnit::Millis);
    let evidence = format!("the digits of a time back to front, {shown} for one");
    let points = if sure < 0.5 { NUMBER_POINTS } else { 2.5 };
    Some(
        DraftSegment::field(char_type(width), "ts", evidence, points, &column.values)
            .written(FieldEncoding::Reverse, false, None)
            .sure(sure, &doubt),
    )
}

/// Returns a segment of Snowflake numbers, which a service generates from time, machine and
/// sequence.
fn snowflakes(column: &Column<'_>, seen: &SampledKeys<'_>) -> Option<DraftSegment> {
    let numbers = column.numbers().filter(|_| column.is_digits && column.min >= 16)?;
    let found = ids::snowflake(&numbers, seen)?;
    let width = column.width().filter(|width| *width <= MAX_NUMBER_DIGITS);
    let points = if found.sure < 0.5 { 0.5 } else { 3.0 };
    let piece =
        DraftSegment::field(FieldType::U64, "snowflake", found.evidence, points, &column.values);
    Some(piece.written(FieldEncoding::Plain, false, width).sure(found.sure, &found.doubt))
}

fn time_segment(column: &Column<'_>, form: TimeForm, width: usize) -> Option<DraftSegment> {
    let first = i64::try_from(number(column.values.first()?)?).ok()?;
    let minuend = if width == MAX_NUMBER_DIGITS { i64::MAX } else { 10_i64.pow(13) - 1 };
    Some(match form {
        TimeForm::Direct(unit) => {
            let evidence = format!(
                "{} since 1970, {} for one",
                times::unit_name(unit),
                times::format_time(first, unit)
            );
            DraftSegment::field(FieldType::Timestamp(unit), "ts", evidence, 3.0, &column.values)
                .written(FieldEncoding::Plain, false, Some(width))
        }
        TimeForm::Reversed(unit) => {
            let from = if width == MAX_NUMBER_DIGITS { "Long.MAX_VALUE" } else { "9999999999999" };
            let evidence = format!(
                "{from} minus {} since 1970, newest first, {} for one",
                times::unit_name(unit),
                times::format_time(minuend - first, unit)
            );
            DraftSegment::field(FieldType::Timestamp(unit), "ts", evidence, 3.0, &column.values)
                .written(FieldEncoding::Plain, true, Some(width))
        }
        TimeForm::Seconds => {
            let evidence = format!(
                "seconds since 1970, {} for one",
                times::format_time(first.saturating_mul(1000), TimeUnit::Millis)
            );
            DraftSegment::field(
                FieldType::Timestamp(TimeUnit::Millis),
                "ts",
                evidence,
                2.5,
                &column.values,
            )
            .written(FieldEncoding::Bucket(1000), false, Some(width))
        }
        TimeForm::Calendar => {
            let form = &"yyyyMMddHHmmss"[..width.min(14)];
            let name = if width == 8 { "day" } else { "time" };
            let evidence = format!("a time as {form}: every one is a valid date");
            DraftSegment::field(FieldType::U64, name, evidence, 3.0, &column.values).written(
                FieldEncoding::Plain,
                false,
                Some(width),
            )
        }
    })
}

/// Returns a segment of reversed digits. Numbers do not begin with zero, so the last digit is never
/// zero, while the first may be. In padded numbers, the padding zeros are at the end.
pub(super) fn reversed(column: &Column<'_>) -> Option<DraftSegment> {
    if !column.is_digits || column.distinct < MIN_DISTINCT_VALUES || column.min < 3 {
        return None;
    }
    let count = |place: fn(&[u8]) -> u8| {
        let mut counts = [0_usize; 10];
        column.values.iter().for_each(|value| counts[usize::from(place(value) - b'0')] += 1);
        counts
    };
    let (firsts, lasts) = (count(|value| value[0]), count(|value| value[value.len() - 1]));
    let different = |counts: &[usize; 10]| counts.iter().filter(|count| **count > 0).count();
    let (sure, doubt);
    let evidence = if lasts[0] == 0
        && firsts[0] * 50 >= column.values.len()
        && different(&firsts) == 10
        && different(&lasts) == 9
    {
        (sure, doubt) =
            (0.8, "numbers that never end with 0 look the same; what writes the keys tells");
        "digits back to front: many begin with 0 and none ends with it"
    } else if different(&lasts) == 1 && different(&firsts) == 10 && column.width().is_some() {
        (sure, doubt) = (
            0.7,
            "a last digit that says what kind of number it is looks the same; what writes the keys \
             tells",
        );
        "digits back to front: the first one takes every value, the last one is always the same"
    } else {
        return None;
    };
    let ty = column
        .width()
        .and_then(|width| u16::try_from(width).ok())
        .map_or(FieldType::String, FieldType::Char);
    let mobile =
        |value: &&[u8]| value.len() == 11 && value[10] == b'1' && (b'3'..=b'9').contains(&value[9]);
    // A single ending in all values may be a mark of any kind.
    let endings: HashSet<u8> =
        column.values.iter().filter_map(|value| value.iter().rev().nth(1).copied()).collect();
    let is_phone = column.values.iter().all(mobile) && endings.len() > 1;
    let (name, sure, doubt) = if is_phone { ("phone", 0.93, "") } else { ("id", sure, doubt) };
    Some(
        DraftSegment::field(ty, name, evidence, 2.0, &column.values)
            .written(FieldEncoding::Reverse, false, None)
            .sure(sure, doubt),
    )
}

fn bucket(column: &Column<'_>, seen: &SampledKeys<'_>) -> Option<DraftSegment> {
    let numbers = column.numbers().filter(|_| column.is_digits)?;
    let width = column.width();
    // Without times of cells, only numbers as wide as those of 32 bits look like buckets, and only
    // if rows share one.
    if seen.times_ms.is_empty() && (width != Some(10) || column.distinct == column.values.len()) {
        return None;
    }
    let (evidence, widths) = bucket_evidence(&numbers, seen)?;
    let piece = DraftSegment::field(
        FieldType::Timestamp(TimeUnit::Millis),
        "ts",
        evidence,
        2.5,
        &column.values,
    );
    let piece = piece.written(FieldEncoding::Bucket(*widths.first()?), false, width);
    Some(sure_of_bucket(piece, &widths, seen))
}

/// Sets the confidence in a bucket: the times of cells confirm it and its width; without them it is
/// a guess.
pub(super) fn sure_of_bucket(
    piece: DraftSegment,
    widths: &[u64],
    seen: &SampledKeys<'_>,
) -> DraftSegment {
    match (seen.times_ms.is_empty(), widths.len()) {
        (false, 1) => piece.sure(0.95, ""),
        (false, _) => piece.sure(0.7, "several widths go with the times of the cells"),
        _ => piece.sure(
            0.6,
            "numbers that count up lie in this range too, and other widths fit; the times of cells \
             tell (halite key infer --table)",
        ),
    }
}

/// Returns the evidence for buckets, and their possible widths.
pub(super) fn bucket_evidence(
    numbers: &[u64],
    seen: &SampledKeys<'_>,
) -> Option<(String, Vec<u64>)> {
    let widths = times::bucket_widths(numbers, &seen.times_ms, seen.now_ms);
    let width = *widths.first()?;
    let start = i64::try_from(u128::from(*numbers.first()?) * u128::from(width)).ok()?;
    let shown = times::format_time(start, TimeUnit::Millis);
    let evidence = if seen.times_ms.is_empty() {
        let others: Vec<_> =
            widths.iter().skip(1).take(3).map(|width| times::width_name(*width)).collect();
        let others =
            if others.is_empty() { String::new() } else { format!(" or {}", others.join(", ")) };
        format!(
            "a count that, as buckets of {}, is {shown} for one; the keys alone do not tell a \
             bucket{others} or a number that began there, the times of cells do",
            times::width_name(width)
        )
    } else {
        format!(
            "buckets of {}: they follow the times of the cells, {shown} for one",
            times::width_name(width)
        )
    };
    Some((evidence, widths))
}

fn digits(column: &Column<'_>, seen: &SampledKeys<'_>) -> Option<DraftSegment> {
    if !column.is_digits {
        return None;
    }
    let zeros = column.values.iter().any(|value| value.len() > 1 && value[0] == b'0');
    let piece = match column.width() {
        Some(width) if width <= MAX_NUMBER_DIGITS => {
            let filled = if zeros { ", zeros in front" } else { "" };
            let evidence = format!("numbers of {width} digits{filled}{}", rising(column, seen));
            let piece = DraftSegment::field(FieldType::U64, "id", evidence, 1.0, &column.values)
                .written(FieldEncoding::Plain, false, Some(width));
            if width <= MAX_SALT_DIGITS {
                piece.derived_candidate(DerivedCandidate::Digits)
            } else {
                piece
            }
        }
        None if column.max <= MAX_NUMBER_DIGITS && !zeros => {
            let evidence = format!(
                "numbers of {} to {} digits, none with a zero in front{}",
                column.min,
                column.max,
                rising(column, seen)
            );
            DraftSegment::field(FieldType::U64, "id", evidence, 0.8, &column.values)
        }
        Some(width) => DraftSegment::field(
            char_type(width),
            "id",
            format!("{width} digits"),
            0.8,
            &column.values,
        ),
        None => DraftSegment::field(
            FieldType::String,
            "id",
            format!("{} to {} digits", column.min, column.max),
            0.6,
            &column.values,
        ),
    };
    Some(if column.is_hex && column.width().is_some_and(|width| width <= MAX_DIGEST_CHARS) {
        piece.derived_candidate(DerivedCandidate::Digits)
    } else {
        piece
    })
}

/// Returns the clause for numbers that rise with the times of their cells; empty if they do not.
fn rising(column: &Column<'_>, seen: &SampledKeys<'_>) -> &'static str {
    let Some(numbers) = column.numbers().filter(|numbers| numbers.len() == seen.times_ms.len())
    else {
        return "";
    };
    let mut timed: Vec<(i64, u64)> = seen.times_ms.iter().copied().zip(numbers).collect();
    timed.sort_unstable();
    let rises = timed.windows(2).filter(|pair| pair[0].1 <= pair[1].1).count();
    if rises * 100 >= timed.len() * 90 { ", which rise with time" } else { "" }
}

/// Returns a segment of hexadecimal digits. Those of digests and of random numbers look the same;
/// those of other numbers are less even.
fn hexadecimal(column: &Column<'_>) -> Option<DraftSegment> {
    let width = column.width().filter(|width| *width <= MAX_DIGEST_CHARS)?;
    let is_hex = || column.values.iter().all(|value| value.iter().all(u8::is_ascii_hexdigit));
    if !column.is_hex && (width < MIN_UPPER_DIGITS || !is_hex()) {
        return None;
    }
    let of = match width {
        32 => ", as many as MD5 has",
        40 => ", as many as SHA-1 has",
        64 => ", as many as SHA-256 has",
        128 => ", as many as SHA-512 has",
        _ => "",
    };
    let mut values = column.values.clone();
    values.sort_unstable();
    values.dedup();
    let digit = |value: &&[u8], place: usize| {
        char::from(value[place]).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
    };
    if let Some(step) = step(&values) {
        let evidence = format!(
            "{width} hexadecimal digits that count up in steps of {step}: a number, no digest"
        );
        return Some(
            DraftSegment::field(char_type(width), "counter", evidence, 0.4, &column.values).sure(
                0.85,
                "numbers that happen to be counted up look the same; check what writes the keys",
            ),
        );
    }
    // The first keys of a table share the first digits.
    let is_drawn = looks_random(&values, width.min(8)..width, 16, digit);
    let note = if is_drawn || of.is_empty() { of } else { ", too uneven for a digest" };
    let evidence = format!(
        "{width} hexadecimal digits{note}; if they are a digest and not random, its input is not \
         in the key"
    );
    let (sure, doubt) = match (of, is_drawn) {
        ("", _) => (0.85, ""),
        (_, true) => (0.92, ""),
        (_, false) => (
            0.8,
            "several numbers of fixed widths in one look the same; what writes the keys tells",
        ),
    };
    let piece = DraftSegment::field(char_type(width), "digest", evidence, 0.4, &column.values)
        .sure(sure, doubt);
    Some(if column.is_hex { piece.derived_candidate(DerivedCandidate::Digits) } else { piece })
}

/// Returns the step between ascending hexadecimal numbers, if they count up.
fn step(values: &[&[u8]]) -> Option<u128> {
    let number = |value: &&[u8]| {
        std::str::from_utf8(value).ok().and_then(|text| u128::from_str_radix(text, 16).ok())
    };
    let numbers: Vec<u128> = values.iter().map(number).collect::<Option<_>>()?;
    let mut steps: Vec<u128> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_unstable();
    let least = *steps.first()?;
    // Either each step is a multiple of the least, or at least half of the steps equal it: a sample
    // contains only some of the numbers.
    let (even, same) = (
        steps.iter().filter(|step| *step % least.max(1) == 0).count(),
        steps.iter().filter(|step| **step == least).count(),
    );
    let is_counted = same * 2 >= steps.len() || even == steps.len() && least > 1;
    (steps.len() + 1 >= MIN_STEPS && least > 0 && is_counted).then_some(least)
}

/// Returns a segment of single letters, at most [`MAX_LETTERS`] different ones: it may be a salt.
fn letter(column: &Column<'_>) -> Option<DraftSegment> {
    let is_few = column.is_letters && column.width() == Some(1) && column.distinct <= MAX_LETTERS;
    let evidence = format!("one of {} letters", column.distinct);
    is_few.then(|| {
        DraftSegment::field(FieldType::Char(1), "letter", evidence, 0.8, &column.values)
            .derived_candidate(DerivedCandidate::Letter)
    })
}

pub(super) fn text(column: &Column<'_>) -> DraftSegment {
    let common = column.common_letters();
    let name: String = common
        .iter()
        .map(|&byte| char::from(byte).to_ascii_lowercase())
        .filter(char::is_ascii_alphabetic)
        .take(24)
        .collect();
    let named = !name.is_empty();
    let begins = if named {
        format!(", all begin with {:?}", String::from_utf8_lossy(common))
    } else {
        String::new()
    };
    let length = if column.min == column.max {
        column.min.to_string()
    } else {
        format!("{} to {}", column.min, column.max)
    };
    let evidence = format!(
        "text of {length} bytes, {} different in {} keys{begins}",
        column.distinct,
        column.values.len()
    );
    let points = if named { 1.5 } else { 1.0 };
    DraftSegment::field(
        FieldType::String,
        if named { &name } else { "name" },
        evidence,
        points,
        &column.values,
    )
    .sure(TEXT_SURE, "")
}
