//! Numbers, times and ticks of axes as text, as the page writes them.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A day in milliseconds.
const DAY_MS: i64 = 86_400_000;
/// Distances of the ticks of an axis of time, in seconds.
pub(super) const TICK_SECONDS: [i64; 18] = [
    1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800,
    604_800,
];

/// Returns a number with three significant digits; integers below 1,000 are exact.
#[must_use]
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "\u{2013}".to_owned();
    }
    if value < 0.0 {
        return format!("\u{2212}{}", number(-value));
    }
    if value < 10.0 {
        return match value {
            0.0 => "0".to_owned(),
            value if value < 0.01 => "<0.01".to_owned(),
            value => three(value),
        };
    }
    if value < 999.5 {
        let is_exact = value < 100.0 && value.fract() != 0.0;
        return if is_exact { three(value) } else { format!("{:.0}", (value + 0.5).floor()) };
    }
    let mut scaled = value;
    let mut unit = "";
    for next in ["k", "M", "G", "T", "P"] {
        if scaled < 999.5 {
            break;
        }
        scaled /= 1000.0;
        unit = next;
    }
    three(scaled) + unit
}

/// Returns three significant digits without zeros at the end.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of digits after the point"
)]
fn three(value: f64) -> String {
    if value >= 99.95 {
        return format!("{:.0}", (value + 0.5).floor());
    }
    let digits = (2.0 - value.log10().floor()).max(0.0) as usize;
    let text = format!("{value:.digits$}");
    match text.split_once('.') {
        Some(_) => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        None => text,
    }
}

/// Returns `12:40`, with seconds if asked, in UTC.
pub(super) fn clock(ms: i64, has_seconds: bool) -> String {
    formatted(ms, if has_seconds { "%H:%M:%S" } else { "%H:%M" })
}

/// Returns `03-15`, in UTC.
pub(super) fn day(ms: i64) -> String {
    formatted(ms, "%m-%d")
}

/// Returns `2024-03-15`, in UTC.
pub(super) fn date(ms: i64) -> String {
    formatted(ms, "%Y-%m-%d")
}

fn formatted(ms: i64, format: &str) -> String {
    Timestamp::from_millisecond(ms).map_or_else(
        |_| ms.to_string(),
        |time| time.to_zoned(TimeZone::UTC).strftime(format).to_string(),
    )
}

/// Returns the distance of ticks, in milliseconds, on an axis of `width` pixels: at least 72 of
/// them.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "pixels")]
pub fn tick_step(span_ms: i64, width: f64) -> i64 {
    let is_wide = |ms: &i64| *ms as f64 / span_ms.max(1) as f64 * width >= 72.0;
    let mut steps = TICK_SECONDS.iter().map(|seconds| seconds * 1000);
    steps.find(is_wide).unwrap_or(7 * DAY_MS)
}

/// Returns the text at a tick: the day at midnight.
#[must_use]
pub fn tick_text(ms: i64, step_ms: i64) -> String {
    if ms.rem_euclid(DAY_MS) == 0 { day(ms) } else { clock(ms, step_ms < 60_000) }
}

/// Returns a field of a key in the width of a list: a time without its day if that is the one of
/// `now_ms`, and signs for what cannot be seen.
#[must_use]
pub fn short_field(text: &str, now_ms: i64) -> String {
    let Some(ms) = time(text) else { return visible(text) };
    let old =
        if ms.abs_diff(now_ms) > DAY_MS.unsigned_abs() { day(ms) + " " } else { String::new() };
    let has_seconds = text.as_bytes().get(16) == Some(&b':') && text.get(17..19) != Some("00");
    format!("{old}{}Z", clock(ms, has_seconds))
}

/// Reads a field of a time, as `TIMESTAMP` prints it; its fraction of a second is left out.
fn time(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let is_digits = |range: std::ops::Range<usize>| {
        bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let is_time = is_digits(0..4)
        && is_digits(5..7)
        && is_digits(8..10)
        && bytes.get(10) == Some(&b'T')
        && is_digits(11..13)
        && is_digits(14..16);
    if !is_time {
        return None;
    }
    let end = if text.ends_with('Z') { "" } else { "Z" };
    let seconds = if bytes.len() < 18 { ":00" } else { "" };
    let (minutes, rest) = text.split_at_checked(16)?;
    let whole = format!("{minutes}{seconds}{rest}{end}");
    let ms = whole.parse::<Timestamp>().ok()?.as_millisecond();
    Some(ms.div_euclid(1000) * 1000)
}

/// Returns a text with symbols for control characters and codes for invisible ones.
pub(super) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match u32::from(char) {
            code @ 0..=0x1f => out.extend(char::from_u32(0x2400 + code)),
            0x7f => out.push('\u{2421}'),
            code @ (0x80..=0x9f
            | 0xad
            | 0x61c
            | 0x180e
            | 0x200b..=0x200f
            | 0x2028..=0x202e
            | 0x2060..=0x206f
            | 0xfeff
            | 0xfff9..=0xfffb) => {
                let width = if code < 0x100 { 4 } else { 0 };
                // Writing to a text does not fail.
                let _ = write!(out, "\\u{code:0width$x}");
            }
            _ => out.push(char),
        }
    }
    out
}

/// Returns a text of at most this many characters.
pub(super) fn shortened(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    text.chars().take(chars.saturating_sub(1)).chain(['\u{2026}']).collect()
}

/// Returns lines of at most this many characters, divided at blanks.
pub(super) fn wrapped(text: &str, chars: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_ascii_whitespace() {
        let word = shortened(word, chars.max(1));
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= chars => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}
