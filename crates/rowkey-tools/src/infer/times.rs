//! Numbers and digits that are times: their unit and direction, and the widths of buckets.

use halite_rowkey::value::TimeUnit;
use jiff::Timestamp;

use super::column::{Column, number};

/// Range of plausible times, 2000-01-01 to 2100-01-01, in milliseconds.
const PLAUSIBLE_MS: std::ops::Range<i64> = 946_684_800_000..4_102_444_800_000;
/// Minimum percentage of plausible values at the position of a time.
const MIN_PLAUSIBLE_PERCENT: usize = 98;
/// Maximum span of seconds, 30 years. It distinguishes them from other numbers of ten digits.
const SECONDS_SPAN: u64 = 30 * 366 * 86_400;
/// Common widths of buckets, in milliseconds.
const WIDTHS_MS: [u64; 14] = [
    1_000,
    10_000,
    30_000,
    60_000,
    300_000,
    600_000,
    900_000,
    1_800_000,
    3_600_000,
    7_200_000,
    21_600_000,
    43_200_000,
    86_400_000,
    604_800_000,
];
/// Default current time, compared with the time of a bucket: 2025-01-01.
pub(super) const NOW_MS: i64 = 1_735_689_600_000;
/// Minimum ratio of the last bucket to the distance from the first: tables contain years of data,
/// not half a century.
const BUCKET_SPAN: u64 = 3;

/// Form of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeForm {
    /// Count of units.
    Direct(TimeUnit),
    /// `i64::MAX` minus the count; with fewer digits than 19, a number of as many nines minus it.
    Reversed(TimeUnit),
    /// Seconds.
    Seconds,
    /// Year, month, day and so on as digits.
    Calendar,
}

const UNITS: [TimeUnit; 3] = [TimeUnit::Millis, TimeUnit::Micros, TimeUnit::Nanos];

/// Forms of digits by their number, those with the fewest alternatives first.
const DIGIT_FORMS: [(usize, TimeForm); 12] = [
    (19, TimeForm::Reversed(TimeUnit::Millis)),
    (19, TimeForm::Reversed(TimeUnit::Micros)),
    (19, TimeForm::Reversed(TimeUnit::Nanos)),
    (19, TimeForm::Direct(TimeUnit::Nanos)),
    (14, TimeForm::Calendar),
    (12, TimeForm::Calendar),
    (10, TimeForm::Calendar),
    (8, TimeForm::Calendar),
    (16, TimeForm::Direct(TimeUnit::Micros)),
    (13, TimeForm::Direct(TimeUnit::Millis)),
    (13, TimeForm::Reversed(TimeUnit::Millis)),
    (10, TimeForm::Seconds),
];

/// Returns the form of digits of one width, if nearly all are times in it and they are not all the
/// same.
pub(super) fn form_from_digits(column: &Column<'_>) -> Option<TimeForm> {
    let width = column.width().filter(|_| column.is_digits && column.distinct > 1)?;
    let forms = DIGIT_FORMS.iter().filter(|(digits, _)| *digits == width).map(|(_, form)| *form);
    forms.into_iter().find(|form| {
        nearly_all(&column.values, |digits| digits_are(digits, *form))
            && (*form != TimeForm::Seconds || is_close(column))
    })
}

/// Returns the position of a time inside longer runs of digits, counted from the start or from the
/// end of the values.
pub(super) fn inside_digits(column: &Column<'_>) -> Option<Window> {
    if !column.is_digits || column.max == column.min && form_from_digits(column).is_some() {
        return None;
    }
    let is_long = |digits: usize, form: TimeForm| {
        digits >= 13 || form == TimeForm::Calendar && digits != 10 && column.width().is_some()
    };
    let forms =
        DIGIT_FORMS.iter().filter(|(digits, form)| is_long(*digits, *form) && *digits < column.max);
    for (digits, _) in forms {
        for offset in 0..=column.min.saturating_sub(*digits) {
            let from_start = column.split_at(offset).and_then(|(_, rest)| rest.split_at(*digits));
            let is_form = |time: &Column<'_>| {
                form_from_digits(time)
                    .is_some_and(|found| *digits >= 13 || found == TimeForm::Calendar)
            };
            if from_start.is_some_and(|(time, _)| is_form(&time)) {
                return Some(Window { offset, digits: *digits, from_end: false });
            }
            let from_end =
                column.split_from_end(offset).and_then(|(rest, _)| rest.split_from_end(*digits));
            if from_end.is_some_and(|(_, time)| is_form(&time)) {
                return Some(Window { offset, digits: *digits, from_end: true });
            }
        }
    }
    None
}

/// Position of a time in values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Bytes before the time, or after it.
    pub(super) offset: usize,
    pub(super) digits: usize,
    /// `true` if `offset` counts the bytes after the time.
    pub(super) from_end: bool,
}

/// Returns the form of eight big-endian bytes, and `true` if their sign bit is inverted. Reversed
/// times return `true` too.
pub(super) fn form_from_longs(numbers: &[u64]) -> Option<(TimeForm, bool)> {
    if numbers.iter().all(|number| Some(number) == numbers.first()) {
        return None;
    }
    let nearly = |test: &dyn Fn(u64) -> bool| {
        numbers.iter().filter(|number| test(**number)).count() * 100
            >= numbers.len() * MIN_PLAUSIBLE_PERCENT
    };
    for unit in UNITS {
        let in_unit =
            |count: u64| i64::try_from(count).is_ok_and(|count| is_plausible(count, unit));
        if nearly(&|bits| in_unit(bits ^ (1 << 63))) {
            return Some((TimeForm::Direct(unit), true));
        }
        if nearly(&|bits| in_unit(i64::MAX.cast_unsigned().wrapping_sub(bits))) {
            return Some((TimeForm::Reversed(unit), true));
        }
        if nearly(&in_unit) {
            return Some((TimeForm::Direct(unit), false));
        }
    }
    None
}

/// Returns the time of a number in a form, in milliseconds. `digits` is the number of digits, or of
/// bytes.
pub(super) fn in_ms(number: u64, digits: usize, form: TimeForm) -> i64 {
    let count = i64::try_from(number).unwrap_or(i64::MAX);
    let per_ms = |unit: TimeUnit| unit.per_second() / 1000;
    match form {
        TimeForm::Direct(unit) => count / per_ms(unit),
        TimeForm::Reversed(unit) if digits == 13 => {
            (10_i64.pow(13) - 1).saturating_sub(count) / per_ms(unit)
        }
        TimeForm::Reversed(unit) => (i64::MAX - count) / per_ms(unit),
        TimeForm::Seconds => count.saturating_mul(1000),
        TimeForm::Calendar => calendar_ms(count, digits),
    }
}

/// Returns the start of the day of `yyyyMMdd...`; 0 for an invalid date.
fn calendar_ms(count: i64, digits: usize) -> i64 {
    let day = count / 10_i64.pow(u32::try_from(digits.saturating_sub(8)).unwrap_or(0));
    let part = |number: i64| i8::try_from(number % 100).unwrap_or(0);
    let date = jiff::civil::Date::new(
        i16::try_from(day / 10_000).unwrap_or(0),
        part(day / 100),
        part(day),
    );
    let zoned = date.and_then(|date| date.to_zoned(jiff::tz::TimeZone::UTC));
    zoned.map_or(0, |zoned| zoned.timestamp().as_millisecond())
}

/// Returns `true` if numbers are plausible seconds since 1970: not all the same, and within
/// [`SECONDS_SPAN`].
pub(super) fn are_seconds(numbers: &[u64]) -> bool {
    let (least, most) =
        (numbers.iter().min().copied().unwrap_or(0), numbers.iter().max().copied().unwrap_or(0));
    let plausible = |seconds: u64| {
        i64::try_from(seconds)
            .is_ok_and(|seconds| is_plausible(seconds.saturating_mul(1000), TimeUnit::Millis))
    };
    most > least && most - least <= SECONDS_SPAN && plausible(least) && plausible(most)
}

fn is_close(column: &Column<'_>) -> bool {
    column.numbers().is_some_and(|numbers| are_seconds(&numbers))
}

fn nearly_all(values: &[&[u8]], test: impl Fn(&[u8]) -> bool) -> bool {
    let allowed = values.len() * (100 - MIN_PLAUSIBLE_PERCENT) / 100;
    values.iter().filter(|value| !test(value)).take(allowed + 1).count() <= allowed
}

pub(super) fn is_plausible(count: i64, unit: TimeUnit) -> bool {
    PLAUSIBLE_MS.contains(&count.div_euclid(unit.per_second() / 1000))
}

fn digits_are(digits: &[u8], form: TimeForm) -> bool {
    let Some(number) = number(digits).and_then(|number| i64::try_from(number).ok()) else {
        return false;
    };
    match form {
        TimeForm::Direct(unit) => is_plausible(number, unit),
        TimeForm::Reversed(unit) if digits.len() == 19 => is_plausible(i64::MAX - number, unit),
        TimeForm::Reversed(unit) => is_plausible(10_i64.pow(13) - 1 - number, unit),
        TimeForm::Seconds => is_plausible(number.saturating_mul(1000), TimeUnit::Millis),
        TimeForm::Calendar => is_calendar(digits),
    }
}

/// Returns `true` if digits are `yyyyMMdd`, followed by hours, minutes and seconds as far as there
/// are digits.
pub(super) fn is_calendar(digits: &[u8]) -> bool {
    let part = |from: usize, to: usize| {
        digits.get(from..to).and_then(number).and_then(|number| i8::try_from(number).ok())
    };
    let year = digits
        .get(..4)
        .and_then(number)
        .and_then(|year| i16::try_from(year).ok())
        .filter(|year| (1970..2100).contains(year));
    let (Some(year), Some(month), Some(day)) = (year, part(4, 6), part(6, 8)) else { return false };
    let clock = |from: usize, most: i8| {
        digits.len() <= from || part(from, from + 2).is_some_and(|value| value < most)
    };
    jiff::civil::Date::new(year, month, day).is_ok()
        && clock(8, 24)
        && clock(10, 60)
        && clock(12, 60)
}

/// Returns the widths in milliseconds with which these numbers are plausible time buckets, most
/// likely first. With times of cells, only the widths that they confirm; without them, those with
/// the last bucket nearest to `now_ms` first.
pub(super) fn bucket_widths(numbers: &[u64], times_ms: &[i64], now_ms: Option<i64>) -> Vec<u64> {
    let (Some(least), Some(most)) = (numbers.iter().min().copied(), numbers.iter().max().copied())
    else {
        return Vec::new();
    };
    if !times_ms.is_empty() {
        let fits = |width: u64| {
            let pairs = numbers.iter().zip(times_ms).filter(|(bucket, time)| {
                u64::try_from(**time).is_ok_and(|time| time / width == **bucket)
            });
            pairs.count() * 10 >= numbers.len() * 9
        };
        return WIDTHS_MS.into_iter().filter(|width| most > 0 && fits(*width)).collect();
    }
    let end = |width: u64| i64::try_from(u128::from(most) * u128::from(width)).unwrap_or(i64::MAX);
    let is_narrow = most > least && (most - least).saturating_mul(BUCKET_SPAN) <= most;
    let mut widths: Vec<u64> = WIDTHS_MS
        .into_iter()
        .filter(|width| is_narrow && is_plausible(end(*width), TimeUnit::Millis))
        .collect();
    widths.sort_by_key(|width| end(*width).abs_diff(now_ms.unwrap_or(NOW_MS)));
    widths
}

/// Formats a time for evidence.
pub(super) fn format_time(count: i64, unit: TimeUnit) -> String {
    let time = Timestamp::from_millisecond(count.div_euclid(unit.per_second() / 1000));
    time.map_or_else(|_| count.to_string(), |time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// Returns the name of a unit.
pub(super) fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Millis => "milliseconds",
        TimeUnit::Micros => "microseconds",
        TimeUnit::Nanos => "nanoseconds",
    }
}

/// Formats a width.
pub(super) fn width_name(width_ms: u64) -> String {
    match width_ms {
        ms if ms.is_multiple_of(86_400_000) => format!("{} d", ms / 86_400_000),
        ms if ms.is_multiple_of(3_600_000) => format!("{} h", ms / 3_600_000),
        ms if ms.is_multiple_of(60_000) => format!("{} min", ms / 60_000),
        ms => format!("{} s", ms / 1000),
    }
}
