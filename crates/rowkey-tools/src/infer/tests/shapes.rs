//! Schemas inferred from a thousand keys of each design.

use bytes::Bytes;
use halite_types::hash::murmur3;
use md5::Digest as _;

use super::generate::{T0, calendar, java, md5_hex, one, reversed, rows, some_time, text_rows};
use crate::infer::{InferOptions, Inferred, infer};

/// Verifies that the schema `expected` is inferred without a counter-example, and that its
/// statement parses to the same schema.
fn recovered(keys: &[Bytes], expected: &str) -> Inferred {
    with_times(keys, &[], expected)
}

fn with_times(keys: &[Bytes], times: &[i64], expected: &str) -> Inferred {
    let inference = infer(keys, times, &InferOptions::default());
    let best = inference.candidates[0].clone();
    let describe = |inferred: &Inferred| {
        let evidence: Vec<_> = inferred
            .evidence
            .iter()
            .map(|evidence| format!("    {} {}", evidence.place, evidence.text))
            .collect();
        format!(
            "{} explains {} of {}\n{}",
            inferred.schema,
            inferred.explained,
            inferred.keys,
            evidence.join("\n")
        )
    };
    let all: Vec<_> = inference.candidates.iter().map(describe).collect();
    assert_eq!(best.schema.to_text(), format!("ROW KEY {expected}"), "{}", all.join("\n"));
    assert_eq!(
        (best.explained, best.counter_examples.len()),
        (keys.len(), 0),
        "{:?}",
        best.counter_examples
    );
    assert_eq!(best.schema.to_text().parse(), Ok(best.schema.clone()));
    assert_eq!(best.evidence.len(), best.schema.segments().len());
    best
}

/// Verifies the evidence of a segment.
fn assert_evidence(inferred: &Inferred, segment: usize, expected: &str) {
    let said = &inferred.evidence[segment].text;
    assert!(said.contains(expected), "wanted {expected:?}: {said}");
}

#[test]
fn k01_md5_prefix_of_id_is_recovered() {
    let keys = text_rows(1, |rng, _| {
        let id = format!("user_{}", rng.u32(1..100_000));
        format!("{}_{id}", md5_hex(&id, 8))
    });
    let best = recovered(&keys, "TEXT '{md5(user):8}_{user}'");
    assert_evidence(&best, 0, "the first 8 hexadecimal digits of md5 of user: 400 of 400 keys");
    assert_eq!(best.evidence[0].place, "0..8");
}

#[test]
fn k05_md5_host_prefix_and_bucket_are_recovered() {
    let keys = text_rows(5, |rng, _| {
        let host = format!("host{:02}", rng.u32(0..50));
        let metric = one(rng, &["cpu", "memory", "disk", "net"]);
        format!("{}_{host}_{:010}_{metric}", md5_hex(&host, 8), some_time(rng) / 900_000)
    });
    let best = recovered(&keys, "TEXT '{md5(host):8}_{host}_{bucket(ts, 15m):10}_{name}'");
    assert_evidence(&best, 4, "buckets of 15 min");
}

#[test]
fn k06_inbox_by_receiver_newest_first_is_recovered() {
    let keys = text_rows(6, |rng, _| {
        let (to, from) = (rng.u32(0..1000), rng.u32(0..1000));
        format!("user_{to:03}_{}_user_{from:03}", reversed(some_time(rng)))
    });
    recovered(&keys, "TEXT '{user}_{rev(ts):19}_{user2}'");
}

#[test]
fn k07_user_and_time_are_recovered() {
    let keys = text_rows(7, |rng, _| format!("u{}_{}", rng.u32(0..5000), some_time(rng)));
    recovered(&keys, "TEXT '{u}_{ts TIMESTAMP:13}'");
}

#[test]
fn k08_ascending_order_ids_are_recovered() {
    let keys = text_rows(8, |_, at| format!("order_{:08}", 41_000 + at));
    recovered(&keys, "TEXT 'order_{id:8}'");
    let times: Vec<i64> = (0..1000).map(|at| T0.cast_signed() + at * 1000).collect();
    let inference = infer(&keys, &times, &InferOptions::default());
    assert!(inference.findings.iter().any(|finding| finding.rule.id == "K-MONO"));
    assert_evidence(&inference.candidates[0], 1, "which rise with time");
}

#[test]
fn k08_random_uuids_are_recovered_from_text_and_bytes() {
    let uuid =
        |rng: &mut fastrand::Rng| (rng.u128(..) & !(0xf << 76) & !(3 << 62)) | 4 << 76 | 2 << 62;
    let keys = text_rows(80, |rng, _| {
        let hex = format!("{:032x}", uuid(rng));
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    });
    let best = recovered(&keys, "TEXT '{id UUID}'");
    assert_evidence(&best, 0, "version 4");
    recovered(&rows(81, |rng, _| uuid(rng).to_be_bytes().to_vec()), "(id UUID)");
}

#[test]
fn k09_region_category_and_product_are_recovered() {
    let keys = text_rows(9, |rng, _| {
        let (region, category) = (
            one(rng, &["beijing", "shanghai", "guangdong", "zhejiang"]),
            one(rng, &["book", "phone", "food", "toy"]),
        );
        format!("{region}_{category}_{}", rng.u32(1..100_000))
    });
    recovered(&keys, "TEXT '{name}_{name2}_{id U64}'");
}

#[test]
fn k10_hash_of_low_cardinality_region_is_recovered() {
    let keys = text_rows(10, |rng, _| {
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
        format!("{}_{region}_{}", md5_hex(region, 4), some_time(rng))
    });
    recovered(&keys, "TEXT '{md5(name):4}_{name}_{ts TIMESTAMP:13}'");
}

#[test]
fn k11_reversed_phone_numbers_are_recovered() {
    let keys = text_rows(11, |rng, _| {
        let begin = one(rng, &["138", "139", "152", "185", "186"]);
        format!("{begin}{:08}", rng.u32(0..100_000_000)).chars().rev().collect()
    });
    recovered(&keys, "TEXT '{reverse(phone) CHAR(11)}'");
}

#[test]
fn k12_sensor_newest_first_is_recovered_text_and_binary() {
    let sensor = |rng: &mut fastrand::Rng| format!("sensor_{:05}", rng.u32(0..1000));
    let keys = text_rows(12, |rng, _| format!("{}_{:019}", sensor(rng), reversed(some_time(rng))));
    recovered(&keys, "TEXT '{sensor}_{rev(ts):19}'");
    let keys = rows(13, |rng, _| {
        [sensor(rng).as_bytes(), &reversed(some_time(rng)).to_be_bytes()].concat()
    });
    recovered(&keys, "(sensor CHAR(12), ts TIMESTAMP DESC)");
    let keys = rows(14, |rng, _| {
        [
            format!("s{}", rng.u32(0..1000)).as_bytes(),
            &[0, 1],
            &reversed(some_time(rng)).to_be_bytes(),
        ]
        .concat()
    });
    recovered(&keys, "(s STRING, ts TIMESTAMP DESC)");
}

#[test]
fn k13_salt_byte_before_id_is_recovered() {
    let keys = rows(15, |rng, _| {
        let id = format!("user_{}", rng.u32(0..1_000_000));
        [
            &[u8::try_from((murmur3(id.as_bytes(), 0) & 0x7fff_ffff) % 16).unwrap()][..],
            id.as_bytes(),
        ]
        .concat()
    });
    let best = recovered(&keys, "(SALT(16), user STRING)");
    assert_evidence(&best, 0, "murmur3 of user, modulo 16: 400 of 400 keys");
    // Device and time, with a salt of the device: the whole design of the first lesson.
    let keys = rows(16, |rng, _| {
        let id = format!("sensor_{:05}", rng.u32(0..1000));
        let salt = u8::try_from((murmur3(id.as_bytes(), 0) & 0x7fff_ffff) % 16).unwrap();
        [&[salt][..], id.as_bytes(), &[0, 1], &reversed(some_time(rng)).to_be_bytes()].concat()
    });
    recovered(&keys, "(SALT(16 BY sensor), sensor STRING, ts TIMESTAMP DESC)");
    let keys = rows(17, |rng, _| {
        let id = rng.u64(0..1 << 40);
        [
            &[u8::try_from((murmur3(&id.to_le_bytes(), 0) & 0x7fff_ffff) % 32).unwrap()][..],
            &id.to_be_bytes(),
        ]
        .concat()
    });
    recovered(&keys, "(SALT(32), id U64)");
}

#[test]
fn k16_random_letters_are_reported_as_random() {
    let keys = text_rows(18, |rng, at| {
        format!("{}-foo{:04}", one(rng, &["a", "b", "c", "d"]), at * 9 / 10)
    });
    let best = recovered(&keys, "TEXT '{prefix CHAR(1)}-{foo}'");
    assert_evidence(&best, 0, "they are random, in rotation, or from an unknown function");
    assert_evidence(&best, 0, "exist under more than one salt");
    assert!(best.notes[0].contains("cannot be computed"), "{:?}", best.notes);
}

#[test]
fn k18_random_digit_before_time_is_recovered() {
    let keys = text_rows(19, |rng, at| format!("{}{}", rng.u8(0..4), T0 + 37 * at));
    let best = recovered(&keys, "TEXT '{salt(4 using random):1}{ts TIMESTAMP:13}'");
    assert_evidence(&best, 0, "they are random, in rotation, or from an unknown function");
}

#[test]
fn k19_remainder_before_id_is_recovered() {
    let keys = text_rows(20, |rng, _| {
        let id = rng.u32(1..1_000_000);
        format!("{}{id}", id % 5)
    });
    let best = recovered(&keys, "TEXT '{salt(5 by id using modulo):1}{id U64}'");
    assert_evidence(&best, 0, "id modulo 5: 400 of 400 keys");
}

#[test]
fn k20_three_digit_java_hash_salt_is_recovered() {
    let keys = text_rows(21, |rng, _| {
        let id = format!("{}_{}", calendar(rng), rng.u32(1000..10_000));
        format!("{:03}{id}", java(&id).rem_euclid(1000))
    });
    let best = recovered(&keys, "TEXT '{salt(1000 using java):3}{time:14}_{id:4}'");
    assert_evidence(&best, 0, "java of time and id, modulo 1000: 400 of 400 keys");
}

#[test]
fn k25_reversed_user_newest_first_is_recovered() {
    let user = |rng: &mut fastrand::Rng| {
        rng.u32(10_000_000..100_000_000).to_string().chars().rev().collect::<String>()
    };
    let keys =
        rows(22, |rng, _| [user(rng).as_bytes(), &reversed(some_time(rng)).to_be_bytes()].concat());
    recovered(&keys, "(REVERSE(id) CHAR(8), ts TIMESTAMP DESC)");
    let keys = text_rows(23, |rng, _| format!("{}_{}", user(rng), reversed(some_time(rng))));
    recovered(&keys, "TEXT '{reverse(id) CHAR(8)}_{rev(ts):19}'");
}

#[test]
fn k27_remainder_before_time_is_recovered() {
    let event = |rng: &mut fastrand::Rng| {
        format!("host{:03}_{}", rng.u32(0..200), one(rng, &["login", "logout", "click"]))
    };
    let keys = text_rows(24, |rng, _| {
        let time = some_time(rng);
        format!("{:02}_{time}_{}", time % 100, event(rng))
    });
    recovered(&keys, "TEXT '{salt(100 by ts using modulo):2}_{ts TIMESTAMP:13}_{host}_{name}'");
    let keys = text_rows(25, |rng, _| {
        let time = some_time(rng);
        format!("{:02}{time}_{}", time % 100, event(rng))
    });
    recovered(&keys, "TEXT '{salt(100 by ts using modulo):2}{ts TIMESTAMP:13}_{host}_{name}'");
}

#[test]
fn k30_time_buckets_of_host_and_event_are_recovered() {
    let times: Vec<u64> = (0..1000).map(|at| T0 + at * 86_400).collect();
    let slice = |rng: &mut fastrand::Rng, at: u64| {
        (
            format!("host{:03}", rng.u32(0..200)),
            one(rng, &["login", "click"]),
            times[usize::try_from(at).unwrap()] / 900_000,
        )
    };
    let keys = text_rows(26, |rng, at| {
        let (host, event, bucket) = slice(rng, at);
        format!("{host}_{event}_{bucket}")
    });
    let stamps: Vec<i64> = times.iter().map(|time| time.cast_signed()).collect();
    // Without times of cells, the last part is an ordinary number.
    recovered(&keys, "TEXT '{host}_{name}_{id:7}'");
    let best = with_times(&keys, &stamps, "TEXT '{host}_{name}_{bucket(ts, 15m):7}'");
    assert_evidence(&best, 4, "they follow the times of the cells");
    let keys = rows(27, |rng, at| {
        let (host, event, bucket) = slice(rng, at);
        [
            host.as_bytes(),
            &[0, 1],
            event.as_bytes(),
            &[0, 1],
            &u32::try_from(bucket).unwrap().to_be_bytes(),
        ]
        .concat()
    });
    with_times(&keys, &stamps, "(host STRING, name STRING, BUCKET(ts, '15m'))");
}

#[test]
fn other_digests_times_and_addresses_are_recovered() {
    let keys = rows(28, |rng, _| {
        let host = format!("host{:03}", rng.u32(0..400));
        [
            &sha2::Sha256::digest(host.as_bytes())[..4],
            host.as_bytes(),
            &[0, 1],
            &some_time(rng).to_be_bytes(),
        ]
        .concat()
    });
    let best = recovered(&keys, "(HASH(host BYTES 4 USING sha256), host STRING, ts U64)");
    assert_evidence(&best, 2, "as Bytes.toBytes(long) writes it, milliseconds since 1970");
    let keys = text_rows(29, |rng, _| {
        let ip = format!("10.{}.{}.{}", rng.u8(..), rng.u8(..), rng.u8(..));
        format!("{ip}|{}", some_time(rng) * 1000)
    });
    recovered(&keys, "TEXT '{ip IPV4}|{ts TIMESTAMP(us):16}'");
    let keys = text_rows(30, |rng, _| {
        format!("{}#{}", md5_hex(&rng.u64(..).to_string(), 32), some_time(rng))
    });
    let best = recovered(&keys, "TEXT '{digest CHAR(32)}#{ts TIMESTAMP:13}'");
    assert_evidence(&best, 0, "its input is not in the key");
}
