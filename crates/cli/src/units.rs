//! Parsing and formatting of sizes, durations and counts.

/// Parses a number of bytes: plain, or with `k`, `m`, `g`, `t`, `p` or `e` for powers of 1024, as in
/// `128m`, `64 KiB`, `1.5TB`.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    const WANTED: &str = "a size: a number of bytes, or a number with k, m, g, t, p or e (powers \
                          of 1024) as in 128m or 1.5TB";
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = match &unit.trim().to_lowercase()[..] {
        "" | "b" => 0,
        "k" | "kb" | "ki" | "kib" => 10,
        "m" | "mb" | "mi" | "mib" => 20,
        "g" | "gb" | "gi" | "gib" => 30,
        "t" | "tb" | "ti" | "tib" => 40,
        "p" | "pb" | "pi" | "pib" => 50,
        "e" | "eb" | "ei" | "eib" => 60,
        _ => return Err(WANTED.into()),
    };
    let (whole, part) = match number.split_once('.') {
        Some((whole, digits)) => (whole, part_of_unit(digits, shift)),
        None => (number, Some(0)),
    };
    let part = part.filter(|_| !whole.is_empty()).ok_or_else(|| WANTED.to_owned())?;
    let bytes = whole.parse().ok().and_then(|whole: u64| whole.checked_mul(1 << shift));
    let bytes = bytes.and_then(|bytes| bytes.checked_add(part));
    bytes.ok_or_else(|| "a size below 16 EiB".into())
}

/// Returns the whole bytes of a decimal part of a unit; `None` if it has no digits, or more than 18,
/// or if the unit is a byte, which has no parts.
fn part_of_unit(digits: &str, shift: u32) -> Option<u64> {
    let count = u32::try_from(digits.len()).ok().filter(|count| (1..=18).contains(count))?;
    let part: u64 = digits.parse().ok()?;
    (shift > 0).then(|| (u128::from(part) << shift) / 10_u128.pow(count))?.try_into().ok()
}

/// Parses a duration in milliseconds: plain, or with `ms`, `s`, `min`, `h` or `d`.
pub(crate) fn parse_ms(text: &str) -> Result<u64, String> {
    const WANTED: &str =
        "a time: a number of milliseconds, or a number with ms, s, min, h or d as in 60s";
    let (number, unit) = split_unit(text);
    let factor: u64 = match unit.as_str() {
        "" | "ms" => 1,
        "s" => 1000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(WANTED.into()),
    };
    let number: u64 = number.parse().map_err(|_| WANTED.to_owned())?;
    number
        .checked_mul(factor)
        .filter(|ms| i64::try_from(*ms).is_ok())
        .ok_or_else(|| "a time that is shorter".into())
}

/// Parses a duration with a unit, above 0, to milliseconds. A number without unit is ambiguous.
pub(crate) fn parse_duration(text: &str) -> Result<u64, String> {
    if split_unit(text).1.is_empty() {
        return Err("a time with its unit: ms, s, min, h or d, as in 60s".into());
    }
    parse_ms(text).and_then(|ms| if ms == 0 { Err("a time above 0".into()) } else { Ok(ms) })
}

/// Formats a size in the largest unit that divides it.
pub(crate) fn format_bytes(bytes: u64) -> String {
    let units = [(40, "t"), (30, "g"), (20, "m"), (10, "k")];
    let unit = units.into_iter().find(|(shift, _)| bytes > 0 && bytes.trailing_zeros() >= *shift);
    unit.map_or_else(|| bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

/// Formats a duration in the largest unit that divides it.
pub(crate) fn format_ms(ms: u64) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s")];
    let unit = units.into_iter().find(|(factor, _)| ms > 0 && ms.is_multiple_of(*factor));
    unit.map_or_else(|| format!("{ms}ms"), |(factor, unit)| format!("{}{unit}", ms / factor))
}

/// Returns the leading digits, and the rest in lower case without surrounding spaces.
fn split_unit(text: &str) -> (&str, String) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim().to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_requires_unit() {
        assert_eq!(parse_duration("90s"), Ok(90_000));
        for text in ["90", "0s", "s", "-1s", "1y"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_parse_with_all_common_units() {
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("64k", 65_536),
            ("64 KiB", 65_536),
            ("128MB", 128 << 20),
            ("10g", 10 << 30),
            ("1T", 1 << 40),
            ("1PB", 1 << 50),
            ("2 PiB", 2 << 50),
            ("15e", 15 << 60),
            ("1.5TB", 3 << 39),
            ("1.5g", 3 << 29),
            ("0.25 k", 256),
            ("2.50KiB", 2560),
            ("0.1k", 102),
            ("15.999999999999999999e", u64::MAX - 1),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        let mistakes = "m -1 5q 64kk 64kbb 5ib 1.5 1.5b 1. .5g 1.g 1..5g 1.2.3g 1,5g 0x10 1e3 +1";
        for text in mistakes.split(' ').chain([""]) {
            let error = parse_bytes(text).unwrap_err();
            assert!(error.contains("128m or 1.5TB"), "{text}: {error}");
        }
        for text in ["99999999999999999999", "16777216t", "16384p", "16e", "16.5E"] {
            assert_eq!(parse_bytes(text), Err("a size below 16 EiB".into()), "{text}");
        }
    }

    #[test]
    fn durations_parse_with_all_common_units() {
        for (text, ms) in [
            ("0", 0),
            ("5000", 5000),
            ("250ms", 250),
            ("60 s", 60_000),
            ("5min", 300_000),
            ("2h", 7_200_000),
            ("7D", 604_800_000),
        ] {
            assert_eq!(parse_ms(text), Ok(ms), "{text}");
        }
        for text in ["", "s", "-5", "1.5s", "3 weeks", "9223372036854775808", "106751991168d"] {
            assert!(parse_ms(text).is_err(), "{text}");
        }
    }

    #[test]
    fn formatted_sizes_and_times_parse_back() {
        for bytes in [0, 1, 1000, 1024, 65_536, 10 << 20, 10 << 30, (1 << 40) + 1] {
            assert_eq!(parse_bytes(&format_bytes(bytes)), Ok(bytes));
        }
        for ms in [0, 1, 1000, 1500, 60_000, 604_800_000] {
            assert_eq!(parse_ms(&format_ms(ms)), Ok(ms));
        }
        assert_eq!((format_bytes(128 << 20), format_ms(604_800_000)), ("128m".into(), "7d".into()));
    }
}
