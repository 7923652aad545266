//! Identifiers, times and digests compared with values that only resemble them: random digits of
//! the same alphabet after the same first digits, composite numbers, counters in the range of
//! times. The interpretation counts here, not only the split: a wrong name with a confidence of 0.9
//! or more is a mistake.

use std::fmt::Write as _;

use bytes::Bytes;
use fastrand::Rng;

use super::confidence::{Make, SURE, nameless, sample};
use super::generate::{T0, calendar, md5_hex, reversed, some_time, text};
use super::identifiers::{
    BASE32, BASE62, BASE64_URL, DECIMAL, HEX, drawn, hyphened, object_id, snowflake, ulid, ulid_at,
    uuid,
};
use crate::infer::{InferOptions, Inferred, infer};

/// Sample sizes; the smallest ones never have a confident result.
const SIZES: [usize; 9] = [1, 2, 5, 10, 20, 39, 50, 300, 1_000];
/// Maximum number of keys that never have a confident result.
const FEW: usize = 10;
/// Interpretations, as they appear in the evidence.
const NAMES: [&str; 13] = [
    "UUID",
    "ULID",
    "Snowflake",
    "ObjectId",
    "OpenTSDB",
    "back to front",
    "since 1970",
    "dotted decimal",
    "dates as text",
    "valid date",
    "as many as",
    "followed by a zero",
    "OrderedBytes",
];

struct Rival {
    name: &'static str,
    /// Right names; all others are wrong.
    called: &'static [&'static str],
    /// Minimum confidence for 300 keys or more from the whole table, in percent; 0 if the kind
    /// cannot be determined.
    sure: u32,
    make: Make,
}

const fn named(
    name: &'static str,
    called: &'static [&'static str],
    sure: u32,
    make: Make,
) -> Rival {
    Rival { name, called, sure, make }
}

/// Returns a rival that has none of the names, or cannot be distinguished from one that has.
const fn other(name: &'static str, make: Make) -> Rival {
    Rival { name, called: &[], sure: 0, make }
}

fn upper(mut key: Vec<u8>) -> Vec<u8> {
    key.make_ascii_uppercase();
    key
}

fn hex(bits: u128) -> Vec<u8> {
    text(format!("{bits:032x}"))
}

fn is_one_in(rng: &mut Rng, of: u32) -> bool {
    rng.u32(0..of) == 0
}

const UUIDS: &[Rival] = &[
    named("UUID 4 in upper case", &["UUID"], 98, |rng, _| upper(hyphened(uuid(rng, 4)))),
    named("UUID 4, some in upper case", &["UUID"], 98, |rng, _| {
        let key = hyphened(uuid(rng, 4));
        if is_one_in(rng, 2) { upper(key) } else { key }
    }),
    named("UUID 4, some nil", &["UUID"], 98, |rng, _| {
        hyphened(if is_one_in(rng, 50) { 0 } else { uuid(rng, 4) })
    }),
    named("UUID 4 without dashes", &["UUID"], 98, |rng, _| hex(uuid(rng, 4))),
    named("UUID 4 without dashes in upper case", &["UUID"], 98, |rng, _| upper(hex(uuid(rng, 4)))),
    named("UUID 4 without dashes, some nil", &["UUID"], 98, |rng, _| {
        hex(if is_one_in(rng, 50) { 0 } else { uuid(rng, 4) })
    }),
    named("a user and UUID 4 without dashes", &["UUID"], 90, |rng, _| {
        text(format!("u{}_{:032x}", rng.u32(0..5000), uuid(rng, 4)))
    }),
    named("UUID 4 of few users, a time", &["UUID", "since 1970"], 90, |rng, _| {
        let user = uuid(&mut Rng::with_seed(rng.u64(0..40)), 4);
        text(format!("{user:032x}_{}", some_time(rng)))
    }),
    named("UUID 4 in upper case, a time", &["UUID", "since 1970"], 90, |rng, _| {
        [&upper(hyphened(uuid(rng, 4)))[..], format!("_{}", some_time(rng)).as_bytes()].concat()
    }),
    named("UUID 4 as bytes, some nil", &["UUID"], 97, |rng, _| {
        (if is_one_in(rng, 50) { 0 } else { uuid(rng, 4) }).to_be_bytes().to_vec()
    }),
    named("UUID 1", &["UUID"], 98, |rng, _| hyphened(uuid(rng, 1))),
    named("UUID 1 without dashes", &["UUID"], 98, |rng, _| hex(uuid(rng, 1))),
    named("UUID 1 as bytes", &["UUID"], 97, |rng, _| uuid(rng, 1).to_be_bytes().to_vec()),
    named("UUID 3", &["UUID"], 98, |rng, _| hyphened(uuid(rng, 3))),
    named("UUID 5 in upper case", &["UUID"], 98, |rng, _| upper(hyphened(uuid(rng, 5)))),
    named("UUID 6", &["UUID"], 98, |rng, _| hyphened(uuid(rng, 6))),
    named("UUID 6 as bytes", &["UUID"], 97, |rng, _| uuid(rng, 6).to_be_bytes().to_vec()),
    named("UUID 7 without dashes", &["UUID"], 98, |rng, _| hex(uuid(rng, 7))),
    named("UUID 7 in upper case", &["UUID"], 98, |rng, _| upper(hyphened(uuid(rng, 7)))),
    named("UUID 8", &["UUID"], 98, |rng, _| hyphened(uuid(rng, 8))),
    named("UUID 1 and 4", &["UUID"], 98, |rng, _| {
        let version = if is_one_in(rng, 2) { 1 } else { 4 };
        hyphened(uuid(rng, version))
    }),
    named("UUID 1 and 4 as bytes", &["UUID"], 97, |rng, _| {
        let version = if is_one_in(rng, 2) { 1 } else { 4 };
        uuid(rng, version).to_be_bytes().to_vec()
    }),
    other("MD5 with dashes", |rng, _| hyphened(rng.u128(..))),
    named("MD5", &["as many as"], 92, |rng, _| text(md5_hex(&rng.u64(..).to_string(), 32))),
    named("MD5 in upper case", &["as many as"], 92, |rng, _| {
        upper(text(md5_hex(&rng.u64(..).to_string(), 32)))
    }),
    named("SHA-256 in upper case", &["as many as"], 92, |rng, _| upper(drawn(rng, "", 64, HEX))),
    other("a counter as 32 digits", |_, at| hex(u128::from(41_000 + at))),
    other("two counters as 32 digits", |rng, at| {
        text(format!("{:016x}{:016x}", rng.u32(0..5000), at))
    }),
    other("a time and a number as 32 digits", |rng, _| {
        text(format!("{:016x}{:016x}", some_time(rng), rng.u64(..)))
    }),
    other("two longs whose signs are turned round", |rng, _| {
        [
            (rng.u64(4096..36_864) ^ 1 << 63).to_be_bytes(),
            (rng.u64(0..100_000) ^ 1 << 63).to_be_bytes(),
        ]
        .concat()
    }),
    other("a small long and one whose sign is turned round", |rng, _| {
        [rng.u64(16_384..20_480).to_be_bytes(), (rng.u64(0..100_000) ^ 1 << 63).to_be_bytes()]
            .concat()
    }),
    other("a time and a random number", |rng, _| {
        [some_time(rng).to_be_bytes(), rng.u64(..).to_be_bytes()].concat().split_off(1)
    }),
];

const IDENTIFIERS: &[Rival] = &[
    named("ULID", &["ULID"], 96, |rng, _| text(ulid(rng))),
    named("ULID in lower case", &["ULID"], 96, |rng, _| text(ulid(rng).to_ascii_lowercase())),
    named("a user and a ULID", &["ULID"], 90, |rng, _| {
        text(format!("u{}#{}", rng.u32(0..5000), ulid(rng)))
    }),
    named("Snowflake", &["Snowflake"], 94, |rng, _| text(snowflake(rng).to_string())),
    named("ObjectId", &["ObjectId"], 95, |rng, at| text(object_id(rng, at, 3))),
    named("ObjectId in upper case", &["ObjectId"], 95, |rng, at| {
        upper(text(object_id(rng, at, 12)))
    }),
    other("ObjectId of as many processes", |rng, at| text(object_id(rng, at, 1 << 40))),
    other("01 and base 32", |rng, _| drawn(rng, "01", 24, BASE32)),
    other("01H and base 32", |rng, _| drawn(rng, "01H", 23, BASE32)),
    other("01HQ and base 32", |rng, _| drawn(rng, "01HQ", 22, BASE32)),
    other("01hqz and base 32", |rng, _| {
        drawn(rng, "01hqz", 21, b"0123456789abcdefghjkmnpqrstvwxyz")
    }),
    other("01 and hexadecimal digits", |rng, _| upper(drawn(rng, "01", 24, HEX))),
    other("01 and digits", |rng, _| drawn(rng, "01", 24, DECIMAL)),
    other("base 32", |rng, _| drawn(rng, "", 26, BASE32)),
    other("base 62, as long as KSUID", |rng, _| drawn(rng, "", 27, BASE62)),
    other("base 62, 2 in front", |rng, _| drawn(rng, "2", 26, BASE62)),
    other("MD5 in base 64", |rng, _| drawn(rng, "", 22, BASE64_URL)),
    other("SHA-256 in base 64", |rng, _| drawn(rng, "", 43, BASE64_URL)),
    other("24 hexadecimal digits", |rng, _| drawn(rng, "", 24, HEX)),
    other("6 and 23 of them", |rng, _| drawn(rng, "6", 23, HEX)),
    other("65 and 22 of them", |rng, _| drawn(rng, "65", 22, HEX)),
    other("65 and 22 of them in upper case", |rng, _| upper(drawn(rng, "65", 22, HEX))),
    other("65a and 21 of them", |rng, _| drawn(rng, "65a", 21, HEX)),
    other("seconds and 16 of them", |rng, _| {
        [format!("{:08x}", some_time(rng) / 1000).as_bytes(), &drawn(rng, "", 16, HEX)].concat()
    }),
    other("seconds and a number in 16 of them", |rng, _| {
        text(format!("{:08x}{:016x}", some_time(rng) / 1000, rng.u32(..)))
    }),
    other("a kind, 01h and base 32", |rng, _| {
        drawn(rng, "user_01h", 23, b"0123456789abcdefghjkmnpqrstvwxyz")
    }),
    other("a shop in the upper bits, digits", |rng, at| {
        text((rng.u64(5..900) << 48 | at).to_string())
    }),
    other("a shop in the upper bits, bytes", |rng, at| {
        (rng.u64(5..900) << 48 | at).to_be_bytes().to_vec()
    }),
    other("random bits with zeros behind, digits", |rng, _| {
        text((rng.u64(1 << 30..1 << 41) << 22).to_string())
    }),
    other("random bits with zeros behind, bytes", |rng, _| {
        (rng.u64(1 << 30..1 << 41) << 22).to_be_bytes().to_vec()
    }),
    other("a hash and a small number, bytes", |rng, _| {
        (rng.u64(0..1 << 31) << 32 | rng.u64(0..50)).to_be_bytes().to_vec()
    }),
    other("a hash and a small number, digits", |rng, _| {
        text((rng.u64(1 << 20..1 << 31) << 32 | rng.u64(0..50)).to_string())
    }),
    other("18f and random bytes, sixteen", |rng, _| {
        let mut key = rng.u128(..).to_be_bytes();
        key[..2].copy_from_slice(&[0x01, 0x8f]);
        key.to_vec()
    }),
    other("19 random digits", |rng, _| text(rng.u64(1 << 60..1 << 63).to_string())),
];

const TIMES: &[Rival] = &[
    named("milliseconds as bytes", &["since 1970"], 90, |rng, _| {
        [b"u", &rng.u32(..).to_be_bytes()[..], &some_time(rng).to_be_bytes()].concat().split_off(5)
    }),
    other("18f and random bytes, eight", |rng, _| {
        [&[0, 0, 1, 0x8f][..], &rng.u32(..).to_be_bytes()].concat()
    }),
    other("1 to 2 and random bytes, eight", |rng, _| {
        (1_u64 << 40 | rng.u64(0..1 << 40)).to_be_bytes().to_vec()
    }),
    other("a counter in the range of times, bytes", |_, at| {
        (1_700_000_000_000 + at).to_be_bytes().to_vec()
    }),
    other("seconds of random bytes", |rng, _| {
        [&[0x65][..], &rng.u32(..).to_be_bytes()[1..]].concat()
    }),
    other("phone numbers of China with 86", |rng, _| {
        drawn(
            rng,
            ["86135", "86138", "86139", "86152", "86186"][rng.clone().usize(0..5)],
            8,
            DECIMAL,
        )
    }),
    other("phone numbers of China with 86, other ones", |rng, _| {
        let second = rng.u8(3..=9);
        drawn(rng, &format!("861{second}"), 9, DECIMAL)
    }),
    other("EAN", |rng, _| {
        drawn(rng, ["400", "405", "300", "200", "211"][rng.clone().usize(0..5)], 10, DECIMAL)
    }),
    other("16 and 11 digits", |rng, _| drawn(rng, "16", 11, DECIMAL)),
    other("17 and 14 digits", |rng, _| drawn(rng, "17", 14, DECIMAL)),
    other("1 and 15 digits", |rng, _| drawn(rng, "1", 15, DECIMAL)),
    other("922337 and 13 digits", |rng, _| drawn(rng, "922337", 13, DECIMAL)),
    other("9223370 and 12 digits", |rng, _| drawn(rng, "9223370", 12, DECIMAL)),
    other("2023 and four digits", |rng, _| drawn(rng, "2023", 4, DECIMAL)),
    other("digits with 71 behind", |rng, _| [&drawn(rng, "", 11, DECIMAL)[..], b"71"].concat()),
    other("a day and a number up to 20", |rng, _| {
        text(format!("{}{:02}", &calendar(rng)[..8], rng.u8(1..=20)))
    }),
    other("a day and a number up to 50", |rng, _| {
        text(format!("{}{:04}", &calendar(rng)[..8], rng.u8(1..=50)))
    }),
    other("a day and a number up to 50, six digits", |rng, _| {
        text(format!("{}{:06}", &calendar(rng)[..8], rng.u8(1..=50)))
    }),
    named("yyyyMMddHHmm", &["valid date"], 95, |rng, _| text(calendar(rng)[..12].to_owned())),
    named("yyyyMMddHHmmss", &["valid date"], 95, |rng, _| text(calendar(rng))),
    named("yyyyMMdd of some years", &["valid date"], 95, |rng, _| {
        text(format!("{}{:02}{:02}", rng.u32(2015..2025), rng.u8(1..=12), rng.u8(1..=28)))
    }),
    named("dates", &["dates as text"], 85, |rng, _| {
        text(format!(
            "{}-{:02}-{:02}|{}",
            rng.u32(2020..2025),
            rng.u8(1..=12),
            rng.u8(1..=28),
            rng.u32(..)
        ))
    }),
    other("digits grouped as dates are", |rng, _| {
        text(format!("{:04}-{:02}-{:02}", rng.u32(0..10_000), rng.u8(0..100), rng.u8(0..100)))
    }),
    named("addresses", &["dotted decimal"], 97, |rng, _| {
        text(format!("10.{}.{}.{}", rng.u8(..), rng.u8(..), rng.u8(..)))
    }),
    other("numbers of chapters", |rng, _| {
        text(format!("{}.{}.{}.{}", rng.u8(0..100), rng.u8(0..100), rng.u8(0..100), rng.u8(0..100)))
    }),
    other("versions", |rng, _| {
        text(format!("{}.{}.{}.{}", rng.u8(1..9), rng.u8(0..20), rng.u8(0..30), rng.u8(0..60)))
    }),
];

const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Other kinds of text.
const TEXTS: &[Rival] = &[
    other("MAC addresses", |rng, _| {
        let parts: Vec<String> = (0..6).map(|_| format!("{:02x}", rng.u8(..))).collect();
        text(parts.join(":"))
    }),
    other("IPv6", |rng, _| {
        let parts: Vec<String> = (0..8).map(|_| format!("{:04x}", rng.u16(..))).collect();
        text(parts.join(":"))
    }),
    other("date and clock", |rng, _| {
        text(format!(
            "2024-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            rng.u8(1..=12),
            rng.u8(1..=28),
            rng.u8(0..24),
            rng.u8(0..60),
            rng.u8(0..60)
        ))
    }),
    other("MD5 in base 64 with its end", |rng, _| {
        [
            &drawn(
                rng,
                "",
                22,
                b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            )[..],
            b"==",
        ]
        .concat()
    }),
    other("fractions", |rng, _| text(format!("{:.4}", rng.f64() * 100.0))),
    other("places", |rng, _| {
        text(format!("{:.5},{:.5}", rng.f64() * 180.0 - 90.0, rng.f64() * 360.0 - 180.0))
    }),
    other("numbers with a sign", |rng, _| text(rng.i32(-50_000..50_000).to_string())),
    other("geohash", |rng, _| drawn(rng, "u", 8, b"0123456789bcdefghjkmnpqrstuvwxyz")),
    other("phone numbers with a plus sign", |rng, _| drawn(rng, "+49151", 8, DECIMAL)),
    other("domains back to front", |rng, _| {
        text(format!(
            "com.{}.{}",
            ["example", "shop", "news"][rng.usize(0..3)],
            ["www", "mail", "api"][rng.usize(0..3)]
        ))
    }),
    other("16 hexadecimal digits", |rng, _| drawn(rng, "", 16, HEX)),
    other("a long in hexadecimal", |rng, _| text(format!("{:016x}", some_time(rng)))),
    other("eight letters", |rng, _| drawn(rng, "", 8, b"abcdefghijklmnopqrstuvwxyz")),
    other("eight letters in upper case", |rng, _| drawn(rng, "", 8, LETTERS)),
    other("plates of cars", |rng, _| {
        [drawn(rng, "", 2, LETTERS), drawn(rng, "", 4, DECIMAL)].concat()
    }),
    other("account numbers with a check digit", |rng, _| drawn(rng, "DE", 20, DECIMAL)),
    other("cards", |rng, _| drawn(rng, "4", 15, DECIMAL)),
    other("digits ending in 1, as long as phone numbers", |rng, _| {
        [&drawn(rng, "", 9, DECIMAL)[..], b"51"].concat()
    }),
    other("day, shop and number", |rng, _| {
        text(format!("{}{:03}{:05}", &calendar(rng)[..8], rng.u32(0..300), rng.u32(0..50_000)))
    }),
];

const PROFILES: &[Rival] = &[
    other("text, zero, newest first", |rng, _| {
        [
            format!("user{}", rng.u32(0..9999)).as_bytes(),
            &[0],
            &reversed(some_time(rng)).to_be_bytes(),
        ]
        .concat()
    }),
    other("text, zero, a small number from the greatest", |rng, _| {
        [
            format!("user{}", rng.u32(0..9999)).as_bytes(),
            &[0],
            &reversed(rng.u64(0..100_000)).to_be_bytes(),
        ]
        .concat()
    }),
    other("text, zero, text", |rng, _| {
        text(format!("user{}\0order{}", rng.u32(0..9999), rng.u32(0..9999)))
    }),
    other("three bytes, the hour, six random bytes", |rng, _| {
        let hour = u32::try_from(some_time(rng) / 3_600_000 * 3600).unwrap();
        [&rng.u32(..).to_be_bytes()[1..], &hour.to_be_bytes(), &rng.u64(..).to_be_bytes()[2..]]
            .concat()
    }),
    other("three bytes, the hour, six letters", |rng, _| {
        let hour = u32::try_from(some_time(rng) / 3_600_000 * 3600).unwrap();
        [
            b"cpu",
            &hour.to_be_bytes()[..],
            &drawn(rng, ["host", "disk"][rng.clone().usize(0..2)], 2, HEX),
        ]
        .concat()
    }),
    other("three bytes, the hour, a random long of twelve bytes", |rng, _| {
        let hour = u32::try_from(some_time(rng) / 3_600_000 * 3600).unwrap();
        [&[0, 0, rng.u8(1..9)][..], &hour.to_be_bytes(), &rng.u128(..).to_be_bytes()[4..]].concat()
    }),
    other("a 4, text and a zero", |rng, _| [&b"4"[..], &drawn(rng, "", 12, BASE62), &[0]].concat()),
    other("a comma and eight bytes", |rng, _| [&b","[..], &rng.u64(..).to_be_bytes()].concat()),
    other("small bytes", |rng, _| (0..6).map(|_| rng.u8(0..36)).collect()),
    other("small bytes of two", |rng, _| (0..2).map(|_| rng.u8(7..36)).collect()),
    other("a plus sign, four bytes, a plus sign", |rng, at| {
        [&b"+"[..], &u32::try_from(at).unwrap().to_be_bytes(), b"+", &rng.u8(..).to_be_bytes()]
            .concat()
    }),
    other("counted ids of eight bytes", |_, at| (T0 / 1000 + at).to_be_bytes().to_vec()),
];

/// Returns the names in the evidence of a schema.
fn names(inferred: &Inferred) -> Vec<&'static str> {
    NAMES
        .into_iter()
        .filter(|name| inferred.evidence.iter().any(|evidence| evidence.text.contains(name)))
        .collect()
}

/// Returns the mistakes in the best schema for `rows` keys of a rival. Appends a human-readable
/// line to `report`.
fn check_rival(
    rival: &Rival,
    seed: u64,
    rows: usize,
    way: &str,
    cells: &[i64],
    report: &mut String,
) -> Vec<String> {
    let best = infer(&sample(rival.make, seed, rows, way), cells, &InferOptions::default())
        .candidates
        .remove(0);
    let (said, names, percent) = (nameless(&best.schema), names(&best), best.confidence * 100.0);
    let line = format!("{} ({way}, {rows}): {said} at {percent:.0} %, {names:?}", rival.name);
    let _ = writeln!(report, "{line}");
    let is_sure = best.confidence >= SURE;
    let is_foreign = names.iter().any(|name| !rival.called.contains(name));
    let is_shy = way == "all over"
        && rows >= 300
        && cells.is_empty()
        && (percent.round() < f64::from(rival.sure)
            || rival.called.iter().any(|name| !names.contains(name)));
    let mut wrong = Vec::new();
    let mut says =
        |is_so: bool, claim: &str| wrong.extend(is_so.then(|| format!("{claim}: {line}")));
    says(is_sure && is_foreign, "a wrong name");
    says(is_sure && rows <= FEW, "sure of few keys");
    says(is_shy, "not found");
    says(!is_sure && best.doubts.is_empty() && percent < 80.0, "no doubt said");
    wrong
}

#[test]
fn lookalike_identifiers_never_have_high_confidence() {
    let (mut wrong, mut report) = (Vec::new(), String::new());
    let other: u64 =
        std::env::var("HALITE_INFER_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    for (at, rival) in
        (500..).zip([UUIDS, IDENTIFIERS, TIMES, TEXTS, PROFILES].into_iter().flatten())
    {
        // The order of few keys has no effect, and that of many keys little.
        let samples = SIZES
            .into_iter()
            .flat_map(|rows| ["all over", "sorted", "first"].map(|way| (rows, way)));
        for (rows, way) in
            samples.filter(|(rows, way)| *way == "all over" || (20..1_000).contains(rows))
        {
            wrong.extend(check_rival(rival, at + 1_000 * other, rows, way, &[], &mut report));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} samples:\n{}",
        wrong.len(),
        report.lines().count(),
        wrong.join("\n")
    );
}

/// Unrelated times of cells do not confirm times, nor do those of one load.
#[test]
fn unrelated_cell_timestamps_do_not_confirm_wrong_readings() {
    let (mut wrong, mut report) = (Vec::new(), String::new());
    let mut rng = Rng::with_seed(77);
    let mut drawn: Vec<i64> = (0..300).map(|_| some_time(&mut rng).cast_signed()).collect();
    let load = vec![drawn[0]; 300];
    let mut rising = drawn.clone();
    rising.sort_unstable();
    drawn.iter_mut().for_each(|time| *time += 90 * 86_400_000);
    for (at, rival) in
        (500..).zip([UUIDS, IDENTIFIERS, TIMES, TEXTS, PROFILES].into_iter().flatten())
    {
        for cells in [&drawn, &load, &rising] {
            wrong.extend(check_rival(rival, at, 300, "all over", cells, &mut report));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} samples:\n{}",
        wrong.len(),
        report.lines().count(),
        wrong.join("\n")
    );
}

/// Returns the names, confidence and doubts of each candidate.
fn readings(keys: &[Bytes], cells: &[i64]) -> Vec<(Vec<&'static str>, f64, Vec<String>)> {
    let found = infer(keys, cells, &InferOptions::default());
    found.candidates.into_iter().map(|one| (names(&one), one.confidence, one.doubts)).collect()
}

#[test]
fn possible_identifiers_are_listed_with_deciding_evidence() {
    let may_be = |make: Make, name: &str, tells: &str| {
        let found = readings(&sample(make, 9, 300, "all over"), &[]);
        let (_, sure, doubts) = found
            .iter()
            .find(|(names, ..)| names.contains(&name))
            .unwrap_or_else(|| panic!("{name} is not among {found:?}"));
        assert!(*sure < SURE && doubts.iter().any(|doubt| doubt.contains(tells)), "{found:?}");
        assert!(
            found.iter().any(|(names, ..)| !names.contains(&name)),
            "nothing beside {name}: {found:?}"
        );
    };
    may_be(
        |rng, _| drawn(rng, "01", 24, BASE32),
        "ULID",
        "digits are random; the timestamps of cells would decide",
    );
    may_be(
        |rng, _| drawn(rng, "01H", 23, BASE32),
        "ULID",
        "digits are random; the timestamps of cells would decide",
    );
    may_be(|rng, _| drawn(rng, "65", 22, HEX), "ObjectId", "the timestamps of cells would decide");
    may_be(|rng, at| text(object_id(rng, at, 1 << 40)), "ObjectId", "those of one process");
    may_be(
        |rng, _| text((rng.u64(1 << 30..1 << 41) << 22).to_string()),
        "Snowflake",
        "the timestamps of cells would decide",
    );
}

#[test]
fn cell_timestamps_confirm_identifiers() {
    let borne_out = |make: fn(&mut Rng, u64, u64) -> Vec<u8>, name: &str| {
        let mut rng = Rng::with_seed(8);
        let times: Vec<u64> = (0..300).map(|_| some_time(&mut rng)).collect();
        let keys: Vec<Bytes> = times
            .iter()
            .zip(0..)
            .map(|(time, at)| Bytes::from(make(&mut rng, *time, at)))
            .collect();
        let cells: Vec<i64> = times.iter().map(|time| time.cast_signed()).collect();
        let (names, sure, doubts) = readings(&keys, &cells).remove(0);
        assert!(
            names == [name] && sure >= 0.98 && doubts.is_empty(),
            "{names:?} at {sure}: {doubts:?}"
        );
    };
    borne_out(
        |rng, time, _| {
            [format!("{:08x}", time / 1000).as_bytes(), &drawn(rng, "", 16, HEX)].concat()
        },
        "ObjectId",
    );
    borne_out(|rng, time, _| text(ulid_at(rng, time)), "ULID");
    borne_out(
        |rng, time, _| text(((time - 1_288_834_974_657) << 22 | rng.u64(0..4)).to_string()),
        "Snowflake",
    );
}

/// A few different numbers may have the marks of a version randomly.
#[test]
fn version_bits_of_few_values_leave_uuid_unsure() {
    let one = sample(|rng, _| hex(uuid(rng, 4)), 3, 5, "all over");
    let many: Vec<_> = (0..100)
        .map(|at| Bytes::from(format!("{}_{at}", String::from_utf8_lossy(&one[at % 5]))))
        .collect();
    let (names, sure, doubts) = readings(&many, &[]).remove(0);
    assert!(
        names == ["UUID"]
            && sure < SURE
            && doubts.iter().any(|doubt| doubt.contains("more keys would tell")),
        "{names:?} {sure} {doubts:?}"
    );
}
