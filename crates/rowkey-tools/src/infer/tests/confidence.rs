//! Confidence of `infer` for keys of many shapes. The test verifies that a confident result is
//! never wrong.
//!
//! Each shape is sampled in three sizes and three ways: from the whole table, in key order, and the
//! first keys of a larger table, as returned by a scan with a limit. The results are in
//! `testdata/infer_confidence.txt`.

use std::fmt::Write as _;

use bytes::Bytes;
use fastrand::Rng;
use halite_rowkey::schema::{Field, KeySchema, Profile, Segment, SegmentKind};
use halite_rowkey::value::{FieldType, TimeUnit, Value};
use halite_types::hash::murmur3;
use md5::Digest as _;

use super::generate::{T0, calendar, java, md5_hex, one, reversed, some_time, text};
use super::identifiers::{hyphened, snowflake, ulid, uuid};
use crate::infer::{InferOptions, infer};

const SIZES: [usize; 3] = [50, 1_000, 10_000];
/// Ratio of the rows of the larger table to the rows of the sample.
const LARGER: usize = 4;
/// Minimum confidence at which a result must be right.
pub(super) const SURE: f64 = 0.9;

/// Function that returns a key of a table from its index in write order.
pub(super) type Make = fn(&mut Rng, u64) -> Vec<u8>;

struct Shape {
    name: &'static str,
    /// Accepted schemas, with `*` for names of fields. One that begins with `?` is allowed, but is
    /// not the expected schema.
    right: &'static [&'static str],
    make: Make,
}

macro_rules! shape {
    ($name:literal, $right:expr, $make:expr) => {
        Shape { name: $name, right: &$right, make: $make }
    };
}

fn sensor(rng: &mut Rng) -> String {
    format!("sensor_{:05}", rng.u32(0..1000))
}

fn salt(of: &[u8], count: u32) -> u8 {
    u8::try_from((murmur3(of, 0) & 0x7fff_ffff) % count).unwrap()
}

fn declared(
    profile: Profile,
    types: &[(FieldType, bool)],
    salts: u32,
    values: &[Value<'_>],
) -> Vec<u8> {
    let fields = types
        .iter()
        .enumerate()
        .map(|(at, (ty, _))| Field { name: format!("f{at}"), ty: *ty, pattern: None })
        .collect();
    let plain = |(at, (_, desc)): (usize, &(FieldType, bool))| {
        let segment = Segment::new(SegmentKind::Plain(at));
        if *desc { segment.desc() } else { segment }
    };
    let mut segments: Vec<Segment> = types.iter().enumerate().map(plain).collect();
    if salts > 0 {
        segments.insert(
            0,
            Segment::new(SegmentKind::Salt {
                count: salts,
                by: Vec::new(),
                function: halite_rowkey::HashFunction::Phoenix,
            }),
        );
    }
    KeySchema::new(profile, fields, segments).unwrap().encode(values).unwrap().to_vec()
}

const ORDERED: Profile = Profile::Ordered { compat: false };
const MS: FieldType = FieldType::Timestamp(TimeUnit::Millis);

fn tsdb(rng: &mut Rng, salted: bool, tags: usize) -> Vec<u8> {
    let id = |rng: &mut Rng, of: u32| rng.u32(1..of).to_be_bytes()[1..].to_vec();
    let hour = u32::try_from(some_time(rng) / 1000 / 3600 * 3600).unwrap();
    let mut key = if salted { vec![rng.u8(0..20)] } else { Vec::new() };
    key.extend(id(rng, 40));
    key.extend(hour.to_be_bytes());
    for tag in 0..tags {
        key.extend([0, 0, u8::try_from(tag).unwrap() + 1]);
        key.extend(id(rng, 300));
    }
    key
}

const SHAPES: &[Shape] = &[
    shape!("md5 of the id, the id", ["TEXT '{md5(*):8}_{*}'"], |rng, _| {
        let id = format!("user_{}", rng.u32(1..1_000_000));
        text(format!("{}_{id}", md5_hex(&id, 8)))
    }),
    shape!(
        "md5 of the host, host, bucket, metric",
        ["TEXT '{md5(*):8}_{*}_{bucket(*, 15m):10}_{*}'", "?TEXT '{md5(*):8}_{*}_{*:10}_{*}'"],
        |rng, _| {
            let host = format!("host{:02}", rng.u32(0..50));
            text(format!(
                "{}_{host}_{:010}_{}",
                md5_hex(&host, 8),
                some_time(rng) / 900_000,
                one(rng, &["cpu", "memory", "disk", "net"])
            ))
        }
    ),
    shape!("inbox", ["TEXT '{*}_{rev(*):19}_{*}'"], |rng, _| {
        text(format!(
            "user_{:03}_{}_user_{:03}",
            rng.u32(0..1000),
            reversed(some_time(rng)),
            rng.u32(0..1000)
        ))
    }),
    shape!("user and time", ["TEXT '{*}_{* TIMESTAMP:13}'"], |rng, _| text(format!(
        "u{}_{}",
        rng.u32(0..5000),
        some_time(rng)
    ))),
    shape!("orders that count up", ["TEXT 'order_{*:8}'"], |_, at| text(format!(
        "order_{:08}",
        41_000 + at
    ))),
    shape!("UUID 4 as text", ["TEXT '{* UUID}'"], |rng, _| hyphened(uuid(rng, 4))),
    shape!("UUID 4 as bytes", ["(* UUID)"], |rng, _| uuid(rng, 4).to_be_bytes().to_vec()),
    shape!("UUID 7 as text", ["TEXT '{* UUID}'"], |rng, _| hyphened(uuid(rng, 7))),
    shape!("UUID 7 as bytes", ["(* UUID)"], |rng, _| uuid(rng, 7).to_be_bytes().to_vec()),
    shape!("region, category, product", ["TEXT '{*}_{*}_{* U64}'"], |rng, _| {
        let (region, category) = (
            one(rng, &["beijing", "shanghai", "guangdong"]),
            one(rng, &["book", "phone", "food", "toy"]),
        );
        text(format!("{region}_{category}_{}", rng.u32(1..1_000_000)))
    }),
    shape!(
        "md5 of a region, region, time",
        ["TEXT '{md5(*):4}_{*}_{* TIMESTAMP:13}'"],
        |rng, _| {
            let region = one(
                rng,
                &[
                    "beijing",
                    "shanghai",
                    "guangdong",
                    "zhejiang",
                    "jiangsu",
                    "sichuan",
                    "hubei",
                    "hunan",
                ],
            );
            text(format!("{}_{region}_{}", md5_hex(region, 4), some_time(rng)))
        }
    ),
    shape!("phone numbers back to front", ["TEXT '{reverse(*) CHAR(11)}'"], |rng, _| {
        let begin = one(rng, &["138", "139", "152", "185", "186"]);
        format!("{begin}{:08}", rng.u32(0..100_000_000)).bytes().rev().collect()
    }),
    shape!("sensor and newest first as text", ["TEXT '{*}_{rev(*):19}'"], |rng, _| text(format!(
        "{}_{:019}",
        sensor(rng),
        reversed(some_time(rng))
    ))),
    shape!("sensor and newest first as bytes", ["(* CHAR(12), * TIMESTAMP DESC)"], |rng, _| {
        [sensor(rng).as_bytes(), &reversed(some_time(rng)).to_be_bytes()].concat()
    }),
    shape!("text with an end, newest first", ["(* STRING, * TIMESTAMP DESC)"], |rng, _| {
        [
            format!("s{}", rng.u32(0..1000)).as_bytes(),
            &[0, 1],
            &reversed(some_time(rng)).to_be_bytes(),
        ]
        .concat()
    }),
    shape!("salt and id", ["(SALT(16), * STRING)"], |rng, _| {
        let id = format!("user_{}", rng.u32(0..1_000_000));
        [&[salt(id.as_bytes(), 16)][..], id.as_bytes()].concat()
    }),
    shape!(
        "salt of the sensor, sensor, newest first",
        ["(SALT(16 BY *), * STRING, * TIMESTAMP DESC)"],
        |rng, _| {
            let id = sensor(rng);
            [
                &[salt(id.as_bytes(), 16)][..],
                id.as_bytes(),
                &[0, 1],
                &reversed(some_time(rng)).to_be_bytes(),
            ]
            .concat()
        }
    ),
    shape!("drawn letters", ["TEXT '{* CHAR(1)}-{*}'"], |rng, at| text(format!(
        "{}-foo{:06}",
        one(rng, &["a", "b", "c", "d"]),
        at * 9 / 10
    ))),
    shape!(
        "a drawn digit and the time",
        ["TEXT '{salt(4 using random):1}{* TIMESTAMP:13}'", "?TEXT '{*:1}{* TIMESTAMP:13}'"],
        |rng, at| { text(format!("{}{}", rng.u8(0..4), T0 + 37 * at)) }
    ),
    shape!(
        "the remainder of the id, the id",
        ["TEXT '{salt(5 by * using modulo):1}{* U64}'"],
        |rng, _| {
            let id = rng.u32(1..1_000_000);
            text(format!("{}{id}", id % 5))
        }
    ),
    shape!(
        "three digits of hashCode",
        ["TEXT '{salt(1000 using java):3}{*:14}_{*:4}'"],
        |rng, _| {
            let id = format!("{}_{}", calendar(rng), rng.u32(1000..10_000));
            text(format!("{:03}{id}", java(&id).rem_euclid(1000)))
        }
    ),
    shape!(
        "user back to front, newest first",
        ["(REVERSE(*) CHAR(8), * TIMESTAMP DESC)", "?(* CHAR(8), * TIMESTAMP DESC)"],
        |rng, _| {
            let user: Vec<u8> =
                rng.u32(10_000_000..100_000_000).to_string().bytes().rev().collect();
            [&user[..], &reversed(some_time(rng)).to_be_bytes()].concat()
        }
    ),
    shape!(
        "the remainder of the time",
        ["TEXT '{salt(100 by * using modulo):2}_{* TIMESTAMP:13}_{*}_{*}'"],
        |rng, _| {
            let time = some_time(rng);
            text(format!(
                "{:02}_{time}_host{:03}_{}",
                time % 100,
                rng.u32(0..200),
                one(rng, &["login", "logout", "click"])
            ))
        }
    ),
    shape!(
        "sha256 of the host, host, time",
        ["(HASH(* BYTES 4 USING sha256), * STRING, * U64)"],
        |rng, _| {
            let host = format!("host{:03}", rng.u32(0..400));
            [
                &sha2::Sha256::digest(host.as_bytes())[..4],
                host.as_bytes(),
                &[0, 1],
                &some_time(rng).to_be_bytes(),
            ]
            .concat()
        }
    ),
    shape!("address and microseconds", ["TEXT '{* IPV4}|{* TIMESTAMP(us):16}'"], |rng, _| {
        text(format!(
            "10.{}.{}.{}|{}",
            rng.u8(..),
            rng.u8(..),
            rng.u8(..),
            some_time(rng) * 1000 + rng.u64(0..1000)
        ))
    }),
    shape!("an unknown digest and the time", ["TEXT '{* CHAR(32)}#{* TIMESTAMP:13}'"], |rng, _| {
        text(format!("{}#{}", md5_hex(&rng.u64(..).to_string(), 32), some_time(rng)))
    }),
    shape!(
        "Struct of text and long",
        ["(* STRING, * TIMESTAMP DESC) PROFILE ORDERED"],
        |rng, _| {
            declared(
                ORDERED,
                &[(FieldType::String, false), (MS, true)],
                0,
                &[sensor(rng).as_str().into(), Value::Signed(some_time(rng).cast_signed())],
            )
        }
    ),
    shape!(
        "Struct of int, text and double",
        ["(* I32, * STRING, * F64 DESC) PROFILE ORDERED"],
        |rng, _| {
            let values = [
                Value::Signed(rng.i64(-500..100_000)),
                one(rng, &["red", "green", "blue"]).into(),
                Value::F64(rng.f64() * 100.0),
            ];
            declared(
                ORDERED,
                &[(FieldType::I32, false), (FieldType::String, false), (FieldType::F64, true)],
                0,
                &values,
            )
        }
    ),
    shape!("Struct of decimal and long", ["(* DECIMAL, * I64) PROFILE ORDERED"], |rng, _| {
        let price = FieldType::Decimal
            .parse(&format!("{}.{:02}", rng.u32(1..2000), rng.u32(1..100)))
            .unwrap();
        declared(
            ORDERED,
            &[(FieldType::Decimal, false), (FieldType::I64, false)],
            0,
            &[price, Value::Signed(rng.i64(0..1 << 40))],
        )
    }),
    shape!("Struct of text alone", ["(* STRING) PROFILE ORDERED"], |rng, _| {
        [b"\x34", format!("user{}", rng.u32(0..1 << 24)).as_bytes(), b"\0"].concat()
    }),
    shape!("Phoenix: VARCHAR, DATE", ["(* STRING, * TIMESTAMP) PROFILE PHOENIX"], |rng, _| {
        declared(
            Profile::Phoenix,
            &[(FieldType::String, false), (MS, false)],
            0,
            &[sensor(rng).as_str().into(), Value::Signed(some_time(rng).cast_signed())],
        )
    }),
    shape!(
        "Phoenix: VARCHAR, VARCHAR, BIGINT",
        ["(* STRING, * STRING, * I64) PROFILE PHOENIX"],
        |rng, _| {
            let sensor = sensor(rng);
            let values = [
                one(rng, &["eu", "us", "asia"]).into(),
                sensor.as_str().into(),
                Value::Signed(rng.i64(0..100_000)),
            ];
            declared(
                Profile::Phoenix,
                &[(FieldType::String, false), (FieldType::String, false), (FieldType::I64, false)],
                0,
                &values,
            )
        }
    ),
    shape!(
        "Phoenix: salted",
        ["(SALT(16 USING phoenix), * STRING, * TIMESTAMP DESC) PROFILE PHOENIX"],
        |rng, _| {
            declared(
                Profile::Phoenix,
                &[(FieldType::String, false), (MS, true)],
                16,
                &[sensor(rng).as_str().into(), Value::Signed(some_time(rng).cast_signed())],
            )
        }
    ),
    shape!(
        "OpenTSDB with two tags",
        ["(* BYTES(3), BUCKET(*, '1s'), * BYTES(3), * BYTES(3), * BYTES(3), * BYTES(3))"],
        |rng, _| tsdb(rng, false, 2)
    ),
    shape!(
        "OpenTSDB, salted, one to three tags",
        ["(* BYTES(1), * BYTES(3), BUCKET(*, '1s'), * BYTES)"],
        |rng, _| {
            let tags = rng.usize(1..4);
            tsdb(rng, true, tags)
        }
    ),
    shape!("ULID as text", ["TEXT '{* CHAR(26)}'"], |rng, _| text(ulid(rng))),
    shape!("ULID as bytes", ["(* BYTES(16))"], |rng, _| (u128::from(some_time(rng)) << 80
        | rng.u128(..) >> 48)
        .to_be_bytes()
        .to_vec()),
    shape!("Snowflake as digits", ["TEXT '{*:19}'"], |rng, _| text(snowflake(rng).to_string())),
    shape!("user and Snowflake", ["TEXT '{*}_{*:19}'"], |rng, _| text(format!(
        "u{}_{}",
        rng.u32(0..5000),
        snowflake(rng)
    ))),
    shape!("Snowflake as bytes", ["(* U64)"], |rng, _| snowflake(rng).to_be_bytes().to_vec()),
    shape!("a time with its digits back to front", ["TEXT '{reverse(*) CHAR(13)}'"], |rng, _| {
        some_time(rng).to_string().bytes().rev().collect()
    }),
    shape!("nanoseconds", ["TEXT '{* TIMESTAMP(ns):19}'"], |rng, _| text(
        (some_time(rng) * 1_000_000 + rng.u64(0..1_000_000)).to_string()
    )),
    shape!("seconds and a device", ["TEXT '{bucket(*, 1s):10}_{*}'"], |rng, _| text(format!(
        "{}_dev{:04}",
        some_time(rng) / 1000,
        rng.u32(0..5000)
    ))),
    shape!("13 digits, random behind 17", ["TEXT '{*:13}'", "?TEXT '17{*:11}'"], |rng, _| text(
        format!("17{:011}", rng.u64(0..100_000_000_000))
    )),
    shape!("13 digits that count up", ["TEXT '{*:13}'"], |_, at| text(
        (1_700_000_000_000 + at).to_string()
    )),
    shape!("10 digits, random", ["TEXT '{*:10}'", "?TEXT '1{*:9}'"], |rng, _| text(
        rng.u64(1_000_000_000..1_900_000_000).to_string()
    )),
    shape!("8 random bytes", ["(* U64)", "?(* BYTES(8))"], |rng, _| rng
        .u64(..)
        .to_be_bytes()
        .to_vec()),
    shape!("16 random bytes", ["(* BYTES(16))"], |rng, _| rng.u128(..).to_be_bytes().to_vec()),
    shape!("random bytes of 5 to 30", ["(* BYTES)"], |rng, _| (0..rng.usize(5..30))
        .map(|_| rng.u8(..))
        .collect()),
    shape!("sha1 in hexadecimal", ["TEXT '{* CHAR(40)}'"], |rng, _| text(
        halite_types::key::to_hex(&sha1::Sha1::digest(rng.u64(..).to_be_bytes()))
    )),
    shape!("a digest as 12 digits", ["TEXT '{*:12}'"], |rng, _| text(format!(
        "{:012}",
        rng.u64(0..1_000_000_000_000)
    ))),
    shape!("day and shop without a delimiter", ["TEXT '{*:8}{*:4}'"], |rng, _| text(format!(
        "{}{:04}",
        &calendar(rng)[..8],
        rng.u32(0..10_000)
    ))),
    shape!("odd numbers, zeros in front", ["TEXT '{*:9}'"], |rng, _| text(format!(
        "{:09}",
        rng.u32(0..50_000_000) * 2 + 1
    ))),
    shape!(
        "shop and number, one run of digits",
        ["TEXT '{*:3}{*:6}'", "?TEXT '{*:9}'"],
        |rng, _| text(format!("{:03}{:06}", rng.u32(100..130), rng.u32(0..50_000)))
    ),
    shape!("two kinds of rows", [], |rng, at| match rng.u8(..10) {
        0..6 => text(format!("user_{:03}_{}", rng.u32(0..1000), reversed(some_time(rng)))),
        _ => text(format!("order_{:08}", 41_000 + at)),
    }),
    shape!(
        "a few rows of another kind",
        ["TEXT '{*}_{rev(*):19}'"],
        |rng, at| match rng.u8(..100) {
            0..97 => text(format!("user_{:03}_{}", rng.u32(0..1000), reversed(some_time(rng)))),
            _ => text(format!("config#{at}")),
        }
    ),
    shape!("letters", ["TEXT '{*}'"], |rng, _| (0..rng.usize(4..20))
        .map(|_| rng.u8(b'a'..=b'z'))
        .collect()),
    shape!(
        "text and a zero of its own, long",
        ["(* STRING, * U64) PROFILE PHOENIX", "?(* STRING, * TIMESTAMP) PROFILE PHOENIX"],
        |rng, _| {
            [format!("user{}", rng.u32(0..9999)).as_bytes(), &[0], &some_time(rng).to_be_bytes()]
                .concat()
        }
    ),
    shape!(
        "tenant, always the same, and id",
        ["TEXT 'acme_{* U64}'", "?TEXT '{*}_{* U64}'"],
        |rng, _| text(format!("acme_{}", rng.u32(1..1_000_000)))
    ),
];

/// Returns a schema without the names of its fields.
pub(super) fn nameless(schema: &KeySchema) -> String {
    let mut text = schema.to_text().trim_start_matches("ROW KEY ").to_owned();
    let mut names: Vec<&str> = schema.fields().iter().map(|field| field.name.as_str()).collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    for name in names {
        for (before, after) in [
            ("{", "}"),
            ("{", ":"),
            ("{", " "),
            ("(", ")"),
            ("(", ","),
            ("(", " "),
            (" ", " "),
            (" ", ")"),
            ("by ", " "),
            ("BY ", ")"),
            ("BY ", " "),
        ] {
            text = text.replace(&format!("{before}{name}{after}"), &format!("{before}*{after}"));
        }
    }
    text
}

/// Returns `rows` keys generated by `make`: all keys of a table, or the first ones of a larger
/// table.
pub(super) fn sample(make: Make, seed: u64, rows: usize, way: &str) -> Vec<Bytes> {
    let mut rng = Rng::with_seed(seed);
    let all = if way == "first" { rows * LARGER } else { rows };
    let mut keys: Vec<Bytes> = (0..all as u64).map(|at| Bytes::from(make(&mut rng, at))).collect();
    if way != "all over" {
        keys.sort();
    }
    keys.truncate(rows);
    keys
}

#[test]
fn confident_inference_is_never_wrong() {
    let mut report = String::from(
        "shape, and sample: verdict of 50, 1,000 and 10,000 keys, its confidence, and whether it \
         is right\n",
    );
    let (mut wrong, mut sure_and_right, mut right_at_all) = (Vec::new(), 0, 0);
    // Seed for other keys of the same shapes.
    let other: u64 =
        std::env::var("HALITE_INFER_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    for (seed, shape) in (0..).zip(SHAPES) {
        let _ = writeln!(report, "\n{}", shape.name);
        for way in ["all over", "sorted", "first"] {
            // The order of the keys has little effect, and so has the size of the larger table.
            let sizes = match way {
                "all over" => &SIZES[..],
                "sorted" => &SIZES[1..2],
                _ => &SIZES[..2],
            };
            for &rows in sizes {
                let found = infer(
                    &sample(shape.make, seed + 1_000 * other, rows, way),
                    &[],
                    &InferOptions::default(),
                );
                let best = &found.candidates[0];
                let text = nameless(&best.schema);
                let is_right = shape.right.contains(&text.as_str());
                let is_allowed = is_right
                    || shape.right.iter().any(|right| right.strip_prefix('?') == Some(&text));
                let is_sure = best.confidence >= SURE;
                if is_sure && !is_allowed {
                    wrong.push(format!(
                        "{} ({way}, {rows}): {text} at {:.2}",
                        shape.name, best.confidence
                    ));
                }
                assert!(best.confidence < 1.0, "{}: nothing is certain", shape.name);
                assert!(
                    found.candidates.iter().map(|one| one.confidence).sum::<f64>() <= 1.0 + 1e-9,
                    "{}",
                    shape.name
                );
                assert!(
                    is_sure || !best.doubts.is_empty() || best.confidence >= 0.8,
                    "{}: {text} at {:.2} without a doubt said",
                    shape.name,
                    best.confidence
                );
                if way == "all over" && rows == 1_000 {
                    sure_and_right += u32::from(is_sure && is_right);
                    right_at_all += u32::from(is_right);
                }
                let verdict = if is_right {
                    "right"
                } else if is_allowed {
                    "less"
                } else {
                    "wrong"
                };
                let _ = writeln!(
                    report,
                    "  {way:8} {rows:6}  {:3.0} %  {verdict:5}  {text}",
                    best.confidence * 100.0
                );
            }
        }
    }
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/infer_confidence.txt");
    let _ = writeln!(
        report,
        "\n{right_at_all} of {} shapes are right from 1,000 keys from all over, {sure_and_right} \
         of them at 90 % or more",
        SHAPES.len()
    );
    if std::env::var_os("HALITE_UPDATE_GOLDEN").is_some() && other == 0 {
        std::fs::write(&path, &report).unwrap();
    }
    assert!(wrong.is_empty(), "wrong at 90 % or more:\n{}", wrong.join("\n"));
    assert!(
        sure_and_right >= 28,
        "{sure_and_right} of {} shapes are right and sure\n{report}",
        SHAPES.len()
    );
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        report == expected || other > 0,
        "the confidences are other ones than in {}:\n{report}",
        path.display()
    );
}

#[test]
fn cell_timestamps_confirm_or_contradict_key_times() {
    let mut rng = Rng::with_seed(5);
    let nanos: Vec<u64> =
        (0..500).map(|_| some_time(&mut rng) * 1_000_000 + rng.u64(0..1_000_000)).collect();
    let keys: Vec<Bytes> = nanos.iter().map(|nanos| Bytes::from(nanos.to_string())).collect();
    let confidence = |cells: &[i64]| {
        let best = infer(&keys, cells, &InferOptions::default()).candidates.remove(0);
        (nameless(&best.schema), best.confidence)
    };
    let times: Vec<i64> = nanos.iter().map(|nanos| (nanos / 1_000_000).cast_signed()).collect();
    let (alone, followed) = (confidence(&[]), confidence(&times));
    assert_eq!(
        (alone.0.as_str(), followed.0.as_str()),
        ("TEXT '{* TIMESTAMP(ns):19}'", "TEXT '{* TIMESTAMP(ns):19}'")
    );
    assert!(alone.1 < SURE && followed.1 >= 0.95, "{alone:?} {followed:?}");
    let late: Vec<i64> = times.iter().map(|time| time + 90 * 86_400_000).collect();
    assert!(confidence(&late).1 >= SURE, "at some distance");
    let load = vec![times[0]; times.len()];
    assert_eq!(confidence(&load), alone, "cells of one load say nothing");
    let mut other = times.clone();
    rng.shuffle(&mut other);
    other.iter_mut().for_each(|time| *time += 90 * 86_400_000);
    let against = confidence(&other);
    assert_eq!(against.0, "TEXT '{*:19}'", "cells that go another way speak against it");
}

#[test]
fn rival_candidates_list_their_distinguishing_doubts() {
    let mut rng = Rng::with_seed(6);
    let keys: Vec<Bytes> = (0..500)
        .map(|_| Bytes::from(format!("{}_dev{:04}", some_time(&mut rng) / 1000, rng.u32(0..5000))))
        .collect();
    let found = infer(&keys, &[], &InferOptions::default());
    let texts: Vec<String> = found.candidates.iter().map(|one| nameless(&one.schema)).collect();
    assert_eq!(texts[0], "TEXT '{bucket(*, 1s):10}_{*}'");
    assert!(texts[1].starts_with("TEXT '{*:10}_"), "{texts:?}");
    assert!(
        found.candidates[0]
            .doubts
            .iter()
            .any(|doubt| doubt.contains("the timestamps of cells would decide")),
        "{:?}",
        found.candidates[0].doubts
    );
    assert!(found.candidates[1].confidence < 0.2, "what the first leaves");
}
