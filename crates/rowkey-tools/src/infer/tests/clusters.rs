//! Prefixes and numbers in the range of times, compared with times in clusters; addresses compared
//! with other numbers with dots.

use fastrand::Rng;

use super::confidence::{Make, SURE, nameless, sample};
use super::generate::{T0, one, reversed, text};
use super::identifiers::{BASE32, DECIMAL, drawn};
use crate::infer::{InferOptions, infer};

const SEEDS: std::ops::Range<u64> = 0..4;
const SIZES: [usize; 4] = [60, 200, 400, 1_000];
const DAY: u64 = 86_400_000;
const BRANCHES: [&str; 5] = ["1502", "1571", "1633", "1688", "1702"];

fn pick(rng: &mut Rng, of: &[u64]) -> u64 {
    of[rng.usize(0..of.len())]
}

/// Returns a prefix, random digits, and the check digit of EAN.
fn ean(rng: &mut Rng) -> Vec<u8> {
    let front = one(rng, &["1590000", "1623456", "1649100"]);
    let mut key = drawn(rng, front, 5, DECIMAL);
    let sum: u32 = key
        .iter()
        .zip([1, 3].into_iter().cycle())
        .map(|(digit, weight)| u32::from(digit - b'0') * weight)
        .sum();
    key.extend(((10 - sum % 10) % 10).to_string().bytes());
    key
}

fn prefixed(rng: &mut Rng, fronts: &[&str], digits: usize, of: &[u8]) -> Vec<u8> {
    let front = one(rng, fronts).to_owned();
    drawn(rng, &front, digits, of)
}

const NO_TIMES: &[(&str, Make)] = &[
    ("branch and nine digits", |rng, _| prefixed(rng, &BRANCHES, 9, DECIMAL)),
    ("branch and twelve digits", |rng, _| prefixed(rng, &BRANCHES, 12, DECIMAL)),
    ("EAN", |rng, _| ean(rng)),
    ("prefix and eight digits", |rng, _| prefixed(rng, &["15900", "16230", "16491"], 8, DECIMAL)),
    ("branch and a number as bytes", |rng, _| {
        (pick(rng, &[1500, 1571, 1633, 1688]) * 1_000_000_000 + rng.u64(0..100_000_000))
            .to_be_bytes()
            .to_vec()
    }),
    ("prefix and ten digits from the greatest", |rng, _| {
        prefixed(rng, &["922337037", "922337045", "922337051"], 10, DECIMAL)
    }),
    ("prefix and a number times 2^22", |rng, _| {
        text(
            (pick(rng, &[1234, 1301, 1455, 1502]) * 1_000_000_000_000_000
                + (rng.u64(0..1 << 27) << 22))
                .to_string(),
        )
    }),
    ("prefix and a greater number times 2^22", |rng, _| {
        text(
            (pick(rng, &[1234, 1301, 1455, 1502]) * 1_000_000_000_000_000
                + (rng.u64(0..238_000_000) << 22))
                .to_string(),
        )
    }),
    ("prefix and base 32", |rng, _| prefixed(rng, &["01HA", "01GB", "01FC"], 22, BASE32)),
    ("object identifiers", |rng, _| text(format!("1.3.6.{}", rng.u8(..)))),
    ("build numbers", |rng, _| {
        text(format!("{}.{}.{}.{}", rng.u8(1..30), rng.u8(0..20), rng.u8(0..200), rng.u8(..)))
    }),
];

type Time = fn(&mut Rng, u64) -> u64;

/// Times in clusters, or evenly distributed.
const TIMES: &[(&str, Time)] = &[
    ("busy hours of some days", |rng, _| {
        T0 + rng.u64(0..7) * DAY + 9 * 3_600_000 + rng.u64(0..8 * 3_600_000)
    }),
    ("bursts", |rng, _| T0 + rng.u64(0..8) * 11_111_111 + 1_234_567 + rng.u64(0..40_000)),
    ("a sensor", |_, at| T0 + at * 60_000),
    ("sessions", |rng, _| T0 + rng.u64(0..12) * 7_654_321 + rng.u64(0..1_800_000)),
    ("two years", |rng, _| T0 - rng.u64(0..730 * DAY)),
];

#[test]
fn prefixed_numbers_are_never_confidently_times() {
    let mut wrong = Vec::new();
    for (name, make) in NO_TIMES {
        for (seed, rows) in SEEDS.flat_map(|seed| SIZES.map(|rows| (seed, rows))) {
            for way in ["all over", "first"] {
                let best = infer(&sample(*make, seed, rows, way), &[], &InferOptions::default())
                    .candidates
                    .remove(0);
                if best.confidence >= SURE {
                    wrong.push(format!(
                        "{name} ({way}, {rows}): {} at {:.2}",
                        nameless(&best.schema),
                        best.confidence
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn clustered_times_are_recognized_as_times() {
    let mut shy = Vec::new();
    for (name, time) in TIMES {
        for (seed, rows) in SEEDS.flat_map(|seed| [200, 1_000].map(|rows| (seed, rows))) {
            for is_reversed in [false, true] {
                let mut rng = Rng::with_seed(seed);
                let shown =
                    |time: u64| if is_reversed { reversed(time) } else { time }.to_string().into();
                let keys: Vec<_> = (0..rows).map(|at| shown(time(&mut rng, at))).collect();
                let best = infer(&keys, &[], &InferOptions::default()).candidates.remove(0);
                if best.confidence < SURE {
                    shy.push(format!(
                        "{name} ({rows}): {} at {:.2}: {:?}",
                        nameless(&best.schema),
                        best.confidence,
                        best.doubts
                    ));
                }
            }
        }
    }
    assert!(shy.is_empty(), "{} not sure:\n{}", shy.len(), shy.join("\n"));
}

#[test]
fn extreme_current_times_still_yield_candidates() {
    let makes: [Make; 3] = [
        |_, at| text((T0 + at * 977).to_string()),
        |rng, _| text(super::identifiers::ulid(rng)),
        |rng, _| super::identifiers::uuid(rng, 7).to_be_bytes().to_vec(),
    ];
    for (make, now_ms) in
        makes.into_iter().flat_map(|make| [i64::MAX, i64::MIN, 0].map(|now_ms| (make, now_ms)))
    {
        let options = InferOptions { now_ms: Some(now_ms), ..InferOptions::default() };
        assert!(!infer(&sample(make, 1, 100, "all over"), &[], &options).candidates.is_empty());
    }
}

#[test]
fn hexadecimal_counter_is_not_a_digest() {
    for rows in [40, 300, 1_000] {
        let best = infer(
            &sample(|_, at| text(format!("{:016x}", at * 7)), 1, rows, "all over"),
            &[],
            &InferOptions::default(),
        )
        .candidates
        .remove(0);
        let says: Vec<&str> = best.evidence.iter().map(|evidence| evidence.text.as_str()).collect();
        assert!(
            says.iter().any(|says| says.contains("count up in steps of 7"))
                && !says.iter().any(|says| says.contains("are a digest")),
            "{says:?}"
        );
    }
}
