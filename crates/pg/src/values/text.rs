//! Values as PostgreSQL prints them: times, numbers with a point, bytes, addresses.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use halite_types::calendar::civil_date;

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Days from 1970 to 2000, from which PostgreSQL counts.
pub(super) const EPOCH_DAYS: i32 = 10_957;
/// The same in microseconds.
pub(super) const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * SECONDS_PER_DAY * MICROS_PER_SECOND;

/// Prints days since 1970.
pub(super) fn date(days: i32) -> String {
    let (date, era) = date_and_era(i64::from(days));
    format!("{date}{era}")
}

/// Prints microseconds since 1970; with `+00` if they are a point in time.
pub(super) fn timestamp(micros: i64, is_utc: bool) -> String {
    let seconds = micros.div_euclid(MICROS_PER_SECOND);
    let (date, era) = date_and_era(seconds.div_euclid(SECONDS_PER_DAY));
    let time = time_of_day(micros.rem_euclid(SECONDS_PER_DAY * MICROS_PER_SECOND));
    let zone = if is_utc { "+00" } else { "" };
    format!("{date} {time}{zone}{era}")
}

/// Prints microseconds since midnight.
pub(super) fn time_of_day(micros: i64) -> String {
    let (seconds, part) = (micros / MICROS_PER_SECOND, micros % MICROS_PER_SECOND);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut text = format!("{hours:02}:{minutes:02}:{seconds:02}");
    if part != 0 {
        let digits = format!("{part:06}");
        let _ = write!(text, ".{}", digits.trim_end_matches('0'));
    }
    text
}

/// Prints an interval.
pub(super) fn interval(months: i32, days: i32, micros: i64) -> String {
    let mut parts = Vec::new();
    let mut part = |count: i32, one: &str| {
        if count != 0 {
            let plural = if count == 1 { "" } else { "s" };
            parts.push(format!("{count} {one}{plural}"));
        }
    };
    part(months / 12, "year");
    part(months % 12, "mon");
    part(days, "day");
    if micros != 0 || parts.is_empty() {
        let sign = if micros < 0 { "-" } else { "" };
        let micros = i64::try_from(micros.unsigned_abs()).unwrap_or(i64::MAX);
        parts.push(format!("{sign}{}", time_of_day(micros)));
    }
    parts.join(" ")
}

/// Returns a day as year, month and day, and ` BC` for years before the first.
fn date_and_era(days: i64) -> (String, &'static str) {
    let (year, month, day) = civil_date(days.into());
    // There is no year 0.
    let (year, era) = if year > 0 { (year, "") } else { (1 - year, " BC") };
    (format!("{year:04}-{month:02}-{day:02}"), era)
}

/// Prints a float with as many digits as it needs. `digits` are those that its type always holds,
/// up to which it is written without an exponent.
fn float(shortest: &str, value: f64, digits: i32) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..digits).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    value.to_string()
}

pub(super) fn float8(value: f64) -> String {
    float(&format!("{value:e}"), value, 15)
}

pub(super) fn float4(value: f32) -> String {
    match float(&format!("{value:e}"), f64::from(value), 6) {
        // Of these digits, some are those of the larger type.
        text if !text.contains(['e', 'N', 'I']) => value.to_string(),
        text => text,
    }
}

/// Prints bytes.
pub(super) fn bytea(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("\\x");
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Reads bytes as they are printed.
pub(super) fn read_bytea(text: &str) -> Option<Vec<u8>> {
    let hex = text.strip_prefix("\\x")?.as_bytes();
    if !hex.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pair = |pair: &[u8]| u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok();
    hex.chunks_exact(2).map(pair).collect()
}

/// Prints a UUID of 16 bytes.
pub(super) fn uuid(bytes: &[u8]) -> String {
    let hex = bytea(bytes);
    let hex = &hex[2..];
    match hex.len() {
        32 => [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"),
        _ => hex.to_owned(),
    }
}

/// Reads a UUID, with hyphens or without.
pub(super) fn read_uuid(text: &str) -> Option<Vec<u8>> {
    let text = text.trim().trim_start_matches('{').trim_end_matches('}');
    let hex: String = text.chars().filter(|letter| *letter != '-').collect();
    read_bytea(&format!("\\x{hex}")).filter(|bytes| bytes.len() == 16)
}

/// Prints an address of 4 or 16 bytes.
pub(super) fn inet(bytes: &[u8]) -> String {
    if let Ok(bytes) = <[u8; 4]>::try_from(bytes) {
        return Ipv4Addr::from(bytes).to_string();
    }
    match <[u8; 16]>::try_from(bytes) {
        Ok(bytes) => Ipv6Addr::from(bytes).to_string(),
        Err(_) => bytea(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_printed_as_postgresql_does() {
        for (micros, expected) in [
            (0, "1970-01-01 00:00:00+00"),
            (-1, "1969-12-31 23:59:59.999999+00"),
            (1_710_496_800_120_000, "2024-03-15 10:00:00.12+00"),
            (EPOCH_MICROS, "2000-01-01 00:00:00+00"),
            (253_402_300_800_000_000, "10000-01-01 00:00:00+00"),
            (-62_135_596_800_000_000, "0001-01-01 00:00:00+00"),
            (-62_135_596_800_000_001, "0001-12-31 23:59:59.999999+00 BC"),
        ] {
            assert_eq!(timestamp(micros, true), expected);
        }
        assert_eq!(timestamp(0, false), "1970-01-01 00:00:00");
        assert_eq!(date(19_797), "2024-03-15");
        assert_eq!(date(11_016), "2000-02-29");
        assert!(timestamp(i64::MIN, true).ends_with(" BC"));
        assert!(timestamp(i64::MAX, true).starts_with("294247-01-10"));
    }

    #[test]
    fn intervals_are_printed() {
        assert_eq!(interval(0, 0, 0), "00:00:00");
        assert_eq!(interval(14, 3, 4_000_000), "1 year 2 mons 3 days 00:00:04");
        assert_eq!(interval(0, -1, -1_500_000), "-1 days -00:00:01.5");
    }

    #[test]
    fn floats_have_the_digits_they_need() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (1.5e-5, "1.5e-05"),
            (0.0001, "0.0001"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(float8(value), expected);
        }
        assert_eq!(float4(0.1), "0.1");
        assert_eq!(float4(1e6), "1e+06");
        assert_eq!(float4(f32::INFINITY), "Infinity");
    }

    #[test]
    fn bytes_uuids_and_addresses_are_read_back() {
        assert_eq!(bytea(&[0, 255]), "\\x00ff");
        assert_eq!(read_bytea("\\x00FF"), Some(vec![0, 255]));
        assert_eq!(read_bytea("\\x0"), None);
        assert_eq!(read_bytea("\\xzz"), None);
        let bytes: Vec<u8> = (0..16).collect();
        assert_eq!(uuid(&bytes), "00010203-0405-0607-0809-0a0b0c0d0e0f");
        assert_eq!(read_uuid(&uuid(&bytes)), Some(bytes));
        assert_eq!(read_uuid("00"), None);
        assert_eq!(inet(&[127, 0, 0, 1]), "127.0.0.1");
        assert_eq!(inet(&[0; 16]), "::");
    }
}
