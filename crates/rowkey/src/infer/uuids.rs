//! UUIDs: as text with and without dashes in either case, and as sixteen bytes. Random bits have the marks of a version by
//! chance, once in 64 of them, and numbers of a fixed width may have them always: so many of them are wanted, and behind the marks
//! what the version has there.

use std::collections::{HashMap, HashSet};

use super::chance::is_drawn;
use super::column::Column;
use super::draft::{Piece, Suspect};
use super::gaps::WHOLE_POINTS;
use super::sample::Seen;
use super::times::{self, NOW_MS};
use super::values::fixed;
use crate::codec::big_endian;
use crate::value::{FieldType, TimeUnit};

/// Fewer different ones may have the marks of one version by chance, or those of any version.
const OF_ONE_MIN: usize = 10;
const OF_ANY_MIN: usize = 20;
const FEW_SURE: f64 = 0.85;
/// Digits that are marks: the version's, and that of the variant.
const MARKS: [usize; 2] = [12, 16];
/// Where text has dashes.
const DASHES: [usize; 4] = [8, 13, 18, 23];
/// From 1582-10-15 to 1970 in units of 100 ns, which versions 1 and 6 count.
const GREGORIAN: u64 = 0x01b2_1dd2_1381_4000;
/// 2000-01-01 in milliseconds.
const FIRST_MS: i64 = 946_684_800_000;
const YEAR_MS: i64 = 366 * 86_400_000;

/// UUIDs as text of five groups, whose form alone tells.
pub(super) fn dashed(column: &Column<'_>, seen: &Seen<'_>) -> Option<Piece> {
    if !column.values.iter().all(|value| is_dashed(value)) {
        return None;
    }
    let bits: Vec<u128> = column.values.iter().map(|value| of_hex(value)).collect::<Option<_>>()?;
    let found = Marks::of(&bits);
    let (sure, doubt) = match found.as_ref().map(|found| found.is_borne_out(seen)) {
        Some(true) => (0.98, ""),
        Some(false) => (0.93, ""),
        None => (0.88, "they are written as UUIDs are, but have not the marks of any version: digests and other numbers may be written so"),
    };
    let version = found.map_or_else(String::new, |found| found.says());
    let (ty, case) = case(column, FieldType::Uuid, 36);
    let name = if ty == FieldType::Uuid { "id" } else { "uuid" };
    Some(Piece::field(ty, name, format!("UUIDs as text{case}{version}"), 3.0, &column.values).sure(sure, doubt))
}

/// UUIDs as 32 hexadecimal digits.
pub(super) fn undashed(column: &Column<'_>, seen: &Seen<'_>) -> Option<Piece> {
    if column.width() != Some(32) {
        return None;
    }
    let bits: Vec<u128> = column.values.iter().map(|value| of_hex(value)).collect::<Option<_>>()?;
    let (found, sure, doubt) = borne_out(&bits, seen)?;
    let (ty, case) = case(column, fixed(32), 32);
    let said = format!("UUIDs as 32 hexadecimal digits{case}{}", found.says());
    let piece = Piece::field(ty, "uuid", said, 3.0, &column.values).sure(sure, doubt);
    Some(if column.is_hex { piece.suspect(Suspect::Digits) } else { piece })
}

/// UUIDs as sixteen bytes.
pub(super) fn binary(column: &Column<'_>, seen: &Seen<'_>) -> Option<Piece> {
    if column.width() != Some(16) {
        return None;
    }
    let bits: Vec<u128> = column.values.iter().filter_map(|value| value.first_chunk().map(|bytes| u128::from_be_bytes(*bytes))).collect();
    let (found, sure, doubt) = borne_out(&bits, seen)?;
    let said = format!("sixteen bytes with the marks of UUIDs{}", found.says());
    Some(Piece::field(FieldType::Uuid, "id", said, WHOLE_POINTS, &column.values).suspect(Suspect::Raw).sure(sure.min(0.97), doubt))
}

/// What has the marks and what belongs behind them, and how sure it is that these are UUIDs.
fn borne_out(bits: &[u128], seen: &Seen<'_>) -> Option<(Marks, f64, &'static str)> {
    let found = Marks::of(bits)?;
    if found.is_many() {
        return found.is_borne_out(seen).then_some((found, 0.98, ""));
    }
    (!seen.passes_over(FEW_SURE)).then_some((
        found,
        FEW_SURE,
        "few different ones are there, and other numbers may have the marks of UUIDs too; more keys would tell",
    ))
}

/// Whether bytes are a UUID as text, in either case.
pub(super) fn is_dashed(value: &[u8]) -> bool {
    let is_right = |(at, byte): (usize, &u8)| if DASHES.contains(&at) { *byte == b'-' } else { byte.is_ascii_hexdigit() };
    value.len() == 36 && value.iter().enumerate().all(is_right)
}

fn of_hex(value: &[u8]) -> Option<u128> {
    let mut digits = value.iter().filter(|byte| **byte != b'-');
    digits.try_fold(0_u128, |bits, byte| Some(bits << 4 | u128::from(char::from(*byte).to_digit(16)?)))
}

/// The type of text, and its case in words: UUIDs of the type are written in lower case.
fn case(column: &Column<'_>, lower: FieldType, width: usize) -> (FieldType, &'static str) {
    let has = |test: fn(&u8) -> bool| column.values.iter().any(|value| value.iter().any(test));
    match (has(u8::is_ascii_uppercase), has(u8::is_ascii_lowercase)) {
        (false, _) => (lower, ""),
        (true, false) => (fixed(width), " in upper case"),
        (true, true) => (fixed(width), " in upper and lower case"),
    }
}

/// Different UUIDs by their versions; none is the nil or the max one.
struct Marks {
    of: HashMap<u8, Vec<u128>>,
    first: u128,
}

impl Marks {
    /// `None` if a number has not the marks of a version, or none is left.
    fn of(bits: &[u128]) -> Option<Self> {
        let mut seen = HashSet::new();
        let mut of: HashMap<u8, Vec<u128>> = HashMap::new();
        let different = bits.iter().filter(|bits| **bits != 0 && **bits != u128::MAX && seen.insert(**bits));
        for one in different.copied() {
            let version = u8::try_from(one >> 76 & 0xf).unwrap_or(0);
            if one >> 62 & 3 != 2 || !(1..=8).contains(&version) {
                return None;
            }
            of.entry(version).or_default().push(one);
        }
        let first = *bits.iter().find(|bits| seen.contains(*bits))?;
        Some(Self { of, first })
    }

    /// Whether they are too many to have the marks by chance.
    fn is_many(&self) -> bool {
        let count: usize = self.of.values().map(Vec::len).sum();
        count >= if self.of.len() == 1 { OF_ONE_MIN } else { OF_ANY_MIN }
    }

    /// Whether behind the marks stands what the versions have there; a few of another version show nothing.
    fn is_borne_out(&self, seen: &Seen<'_>) -> bool {
        let mut groups = self.of.iter().filter(|(_, bits)| bits.len() >= OF_ONE_MIN).peekable();
        groups.peek().is_some() && groups.all(|(version, bits)| is_of(*version, bits, seen.now_ms.unwrap_or(NOW_MS)))
    }

    fn says(&self) -> String {
        let mut versions: Vec<u8> = self.of.keys().copied().collect();
        versions.sort_unstable();
        let named: Vec<String> = versions.iter().map(u8::to_string).collect();
        let [version] = versions[..] else { return format!(", versions {}", named.join(", ")) };
        let time = ms_of(version, self.first).map_or_else(String::new, |ms| {
            let what = if version == 1 { "hold a time, though not in its order" } else { "begin with a time" };
            let order = if version == 1 { "" } else { ": rows come in the order of writing" };
            format!(", which {what}, {} for one{order}", times::shown(ms, TimeUnit::Millis))
        });
        format!(", version {version}{time}")
    }
}

/// Whether different UUIDs have what their version has: a time up to now, and random bits where it has such.
fn is_of(version: u8, bits: &[u128], now_ms: i64) -> bool {
    let digit = |bits: &u128, place: usize| u8::try_from(bits >> (124 - 4 * place) & 0xf).ok();
    let is_time = |bits: &u128| ms_of(version, *bits).is_none_or(|ms| (FIRST_MS..now_ms.saturating_add(YEAR_MS)).contains(&ms));
    // The first digits are those that the first keys of a table share, and behind a time there may be a counter.
    let from = match version {
        1 | 6 => return bits.iter().all(is_time),
        7 => 24,
        _ => 8,
    };
    let drawn = (from..32).filter(|place| !MARKS.contains(place));
    bits.iter().all(is_time) && is_drawn(bits, drawn, 16, digit)
}

/// The time in UUIDs of versions 1, 6 and 7.
fn ms_of(version: u8, bits: u128) -> Option<i64> {
    let bytes = bits.to_be_bytes();
    let part = |from: usize, to: usize| big_endian(&bytes[from..to]);
    let ticks = match version {
        1 => (part(6, 8) & 0xfff) << 48 | part(4, 6) << 32 | part(0, 4),
        6 => part(0, 6) << 12 | part(6, 8) & 0xfff,
        7 => return i64::try_from(part(0, 6)).ok(),
        _ => return None,
    };
    i64::try_from(ticks).ok().map(|ticks| (ticks - GREGORIAN.cast_signed()).div_euclid(10_000))
}
