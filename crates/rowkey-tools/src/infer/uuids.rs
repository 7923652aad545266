//! Detection of UUIDs: as text with and without dashes in either case, and as sixteen bytes. Random
//! bits have the marks of a version once in 64 times, and numbers of a fixed width may have them
//! always. Therefore several UUIDs are required, with the content that the version specifies after
//! the marks.

use std::collections::{HashMap, HashSet};

use halite_rowkey::internals::big_endian;
use halite_rowkey::value::{FieldType, TimeUnit};

use super::column::Column;
use super::draft::{DerivedCandidate, DraftSegment, WHOLE_POINTS, char_type};
use super::randomness::looks_random;
use super::sample::SampledKeys;
use super::times::{self, NOW_MS};

/// Minimum number of different UUIDs of one version, or of any version; fewer may have the marks
/// randomly.
const MIN_OF_ONE_VERSION: usize = 10;
const MIN_OF_ANY_VERSION: usize = 20;
const FEW_SURE: f64 = 0.85;
/// Indexes of the digits that are marks: the version and the variant.
const MARKS: [usize; 2] = [12, 16];
/// Indexes of the dashes in text.
const DASHES: [usize; 4] = [8, 13, 18, 23];
/// Units of 100 ns from 1582-10-15, where versions 1 and 6 start, to 1970.
const GREGORIAN: u64 = 0x01b2_1dd2_1381_4000;
/// 2000-01-01 in milliseconds.
const FIRST_MS: i64 = 946_684_800_000;
const YEAR_MS: i64 = 366 * 86_400_000;

/// Returns UUIDs as text of five groups, which the form alone identifies.
pub(super) fn dashed(column: &Column<'_>, seen: &SampledKeys<'_>) -> Option<DraftSegment> {
    if !column.values.iter().all(|value| is_dashed(value)) {
        return None;
    }
    let bits: Vec<u128> =
        column.values.iter().map(|value| from_hex(value)).collect::<Option<_>>()?;
    let found = Marks::from_bits(&bits);
    let (sure, doubt) = match found.as_ref().map(|found| found.is_borne_out(seen)) {
        Some(true) => (0.98, ""),
        Some(false) => (0.93, ""),
        None => (
            0.88,
            "they are written as UUIDs are, but have not the marks of any version: digests and \
             other numbers may be written so",
        ),
    };
    let version = found.map_or_else(String::new, |found| found.evidence());
    let (ty, case) = case(column, FieldType::Uuid, 36);
    let name = if ty == FieldType::Uuid { "id" } else { "uuid" };
    Some(
        DraftSegment::field(ty, name, format!("UUIDs as text{case}{version}"), 3.0, &column.values)
            .sure(sure, doubt),
    )
}

/// Returns UUIDs as 32 hexadecimal digits.
pub(super) fn undashed(column: &Column<'_>, seen: &SampledKeys<'_>) -> Option<DraftSegment> {
    if column.width() != Some(32) {
        return None;
    }
    let bits: Vec<u128> =
        column.values.iter().map(|value| from_hex(value)).collect::<Option<_>>()?;
    let (found, sure, doubt) = borne_out(&bits, seen)?;
    let (ty, case) = case(column, char_type(32), 32);
    let evidence = format!("UUIDs as 32 hexadecimal digits{case}{}", found.evidence());
    let piece = DraftSegment::field(ty, "uuid", evidence, 3.0, &column.values).sure(sure, doubt);
    Some(if column.is_hex { piece.derived_candidate(DerivedCandidate::Digits) } else { piece })
}

/// Returns UUIDs as sixteen bytes.
pub(super) fn binary(column: &Column<'_>, seen: &SampledKeys<'_>) -> Option<DraftSegment> {
    if column.width() != Some(16) {
        return None;
    }
    let bits: Vec<u128> = column
        .values
        .iter()
        .filter_map(|value| value.first_chunk().map(|bytes| u128::from_be_bytes(*bytes)))
        .collect();
    let (found, sure, doubt) = borne_out(&bits, seen)?;
    let evidence = format!("sixteen bytes with the marks of UUIDs{}", found.evidence());
    Some(
        DraftSegment::field(FieldType::Uuid, "id", evidence, WHOLE_POINTS, &column.values)
            .derived_candidate(DerivedCandidate::Raw)
            .sure(sure.min(0.97), doubt),
    )
}

/// Returns the marks of UUIDs, the confidence and the doubt. Many UUIDs must have the content of
/// their version; few are less certain.
fn borne_out(bits: &[u128], seen: &SampledKeys<'_>) -> Option<(Marks, f64, &'static str)> {
    let found = Marks::from_bits(bits)?;
    if found.is_many() {
        return found.is_borne_out(seen).then_some((found, 0.98, ""));
    }
    (!seen.passes_over(FEW_SURE)).then_some((
        found,
        FEW_SURE,
        "few different ones are there, and other numbers may have the marks of UUIDs too; more \
         keys would tell",
    ))
}

/// Returns `true` if bytes are a UUID as text, in either case.
pub(super) fn is_dashed(value: &[u8]) -> bool {
    let is_right = |(at, byte): (usize, &u8)| {
        if DASHES.contains(&at) { *byte == b'-' } else { byte.is_ascii_hexdigit() }
    };
    value.len() == 36 && value.iter().enumerate().all(is_right)
}

fn from_hex(value: &[u8]) -> Option<u128> {
    let mut digits = value.iter().filter(|byte| **byte != b'-');
    digits.try_fold(0_u128, |bits, byte| {
        Some(bits << 4 | u128::from(char::from(*byte).to_digit(16)?))
    })
}

/// Returns the type of text, and its case as text; UUIDs of type `lower` are in lower case.
fn case(column: &Column<'_>, lower: FieldType, width: usize) -> (FieldType, &'static str) {
    let has = |test: fn(&u8) -> bool| column.values.iter().any(|value| value.iter().any(test));
    match (has(u8::is_ascii_uppercase), has(u8::is_ascii_lowercase)) {
        (false, _) => (lower, ""),
        (true, false) => (char_type(width), " in upper case"),
        (true, true) => (char_type(width), " in upper and lower case"),
    }
}

/// Different UUIDs by version, without the nil and the max UUID.
struct Marks {
    by_version: HashMap<u8, Vec<u128>>,
    first: u128,
}

impl Marks {
    /// Returns the marks; `None` if a number does not have the marks of a version, or if there are
    /// no UUIDs.
    fn from_bits(bits: &[u128]) -> Option<Self> {
        let mut seen = HashSet::new();
        let mut of: HashMap<u8, Vec<u128>> = HashMap::new();
        let different =
            bits.iter().filter(|bits| **bits != 0 && **bits != u128::MAX && seen.insert(**bits));
        for one in different.copied() {
            let version = u8::try_from(one >> 76 & 0xf).unwrap_or(0);
            if one >> 62 & 3 != 2 || !(1..=8).contains(&version) {
                return None;
            }
            of.entry(version).or_default().push(one);
        }
        let first = *bits.iter().find(|bits| seen.contains(*bits))?;
        Some(Self { by_version: of, first })
    }

    /// Returns `true` if the UUIDs are too many to have the marks randomly.
    fn is_many(&self) -> bool {
        let count: usize = self.by_version.values().map(Vec::len).sum();
        count >= if self.by_version.len() == 1 { MIN_OF_ONE_VERSION } else { MIN_OF_ANY_VERSION }
    }

    /// Returns `true` if the UUIDs have the content of their versions; versions with few UUIDs are
    /// ignored.
    fn is_borne_out(&self, seen: &SampledKeys<'_>) -> bool {
        let mut groups =
            self.by_version.iter().filter(|(_, bits)| bits.len() >= MIN_OF_ONE_VERSION).peekable();
        groups.peek().is_some()
            && groups.all(|(version, bits)| is_of(*version, bits, seen.now_ms.unwrap_or(NOW_MS)))
    }

    fn evidence(&self) -> String {
        let mut versions: Vec<u8> = self.by_version.keys().copied().collect();
        versions.sort_unstable();
        let named: Vec<String> = versions.iter().map(u8::to_string).collect();
        let [version] = versions[..] else { return format!(", versions {}", named.join(", ")) };
        let time = ms_of(version, self.first).map_or_else(String::new, |ms| {
            let time_part = if version == 1 {
                "hold a time, though not in its order"
            } else {
                "begin with a time"
            };
            let order = if version == 1 { "" } else { ": rows come in the order of writing" };
            format!(
                ", which {time_part}, {} for one{order}",
                times::format_time(ms, TimeUnit::Millis)
            )
        });
        format!(", version {version}{time}")
    }
}

/// Returns `true` if different UUIDs have the content of their version: a time up to now, and
/// random bits where it specifies them.
fn is_of(version: u8, bits: &[u128], now_ms: i64) -> bool {
    let digit = |bits: &u128, place: usize| u8::try_from(bits >> (124 - 4 * place) & 0xf).ok();
    let is_time = |bits: &u128| {
        ms_of(version, *bits)
            .is_none_or(|ms| (FIRST_MS..now_ms.saturating_add(YEAR_MS)).contains(&ms))
    };
    // The first keys of a table share the first digits, and a counter may follow a time.
    let from = match version {
        1 | 6 => return bits.iter().all(is_time),
        7 => 24,
        _ => 8,
    };
    let drawn = (from..32).filter(|place| !MARKS.contains(place));
    bits.iter().all(is_time) && looks_random(bits, drawn, 16, digit)
}

/// Returns the time of UUIDs of versions 1, 6 and 7 in milliseconds since 1970.
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
