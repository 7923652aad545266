//! Lost writes estimated by the model of uniqueness, compared with counts.

use fastrand::Rng;
use halite_rowkey::KeySchema;

use crate::simulate::keys::Keys;
use crate::simulate::unique::{Uniqueness, uniqueness};
use crate::simulate::{Design, GeneratedValue, Operation, RegionLayout, RowSpec, Traffic};

/// 2024-03-15T00:00:00Z.
const T0: i64 = 1_710_460_800_000;
const WRITES: i64 = 8_000;
const SCHEMAS: u64 = 100;

/// Returns the estimate for the writes of `traffic` with a key.
fn estimate(key: &str, traffic: &Traffic) -> Uniqueness {
    let key: KeySchema = key.parse().unwrap_or_else(|error| panic!("{key}: {error}"));
    let design =
        Design { name: "d".into(), key, regions: RegionLayout::Even(4), queries: Vec::new() };
    let keys = Keys::from_traffic(&design, traffic, 7).unwrap();
    let places: Vec<u32> = (0..u32::try_from(traffic.operations.len()).unwrap()).collect();
    let rows: std::collections::HashSet<&[u8]> =
        places.iter().map(|&at| keys.get(at as usize)).collect();
    let first_and_last = [traffic.operations.first(), traffic.operations.last()]
        .map(|operation| operation.unwrap().time_ms);
    uniqueness(
        &design.key,
        &keys,
        traffic,
        &places,
        rows.len() as u64,
        first_and_last[1] - first_and_last[0],
    )
}

/// Returns writes at random times: `a` and `c` are numbers, `b` is text with some frequent values,
/// and `d` differs in nearly every write.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "less than forty values"
)]
fn random_traffic(rng: &mut Rng) -> Traffic {
    let per_second = [300, 1_000, 4_000, 20_000][rng.usize(0..4)];
    let span = WRITES * 1000 / per_second;
    let (values_of_a, values_of_b, values_of_c) = (rng.u64(1..400), rng.u64(1..40), rng.u64(1..6));
    let mut operations: Vec<Operation> = (0..WRITES)
        .map(|_| {
            let time_ms = T0 + rng.i64(0..span);
            let b = (rng.f64().powi(3) * values_of_b as f64) as u64;
            let row = vec![
                GeneratedValue::Time(time_ms),
                GeneratedValue::Number(rng.u64(0..values_of_a)),
                GeneratedValue::Text(format!("host{b:02}.example")),
                GeneratedValue::Number(rng.u64(0..values_of_c)),
                GeneratedValue::Number(rng.u64(..)),
            ];
            Operation { time_ms, is_read: false, row: RowSpec::Values(row), weight: 1 }
        })
        .collect();
    operations.sort_by_key(|operation| operation.time_ms);
    Traffic { fields: ["ts", "a", "b", "c", "d"].map(str::to_owned).to_vec(), operations }
}

/// Returns a key with the time and some of the fields: plain, reversed, truncated, in a bucket or
/// only in a digest. Salts and digests of any of them are at the start and between them.
fn random_key(rng: &mut Rng) -> String {
    let mut segments = vec![["ts TIMESTAMP", "ts TIMESTAMP DESC"][rng.usize(0..2)].to_owned()];
    let mut fields = vec!["ts"];
    let with = |rng: &mut Rng,
                name: &'static str,
                forms: &[&str],
                fields: &mut Vec<&str>,
                segments: &mut Vec<String>| {
        if rng.u8(..10) < 6 {
            let form = forms[rng.usize(0..forms.len())];
            segments.insert(rng.usize(0..=segments.len()), form.to_owned());
            fields.push(name);
        }
    };
    with(
        rng,
        "a",
        &[
            "a U16",
            "a U16 DESC",
            "BITREV(a) U16",
            "REVERSE(a) U32",
            "BUCKET(a, 7) U16",
            "HASH(a U16 BYTES 1)",
            "HASH(a U16, ts BYTES 1)",
        ],
        &mut fields,
        &mut segments,
    );
    with(
        rng,
        "b",
        &[
            "b STRING",
            "TRUNC(b, 5) STRING",
            "TRUNC(b, 6) STRING",
            "DICT(b, 2) STRING",
            "HASH(b STRING BYTES 2 USING sha1)",
            "HASH(b STRING, ts BYTES 2 USING md5)",
        ],
        &mut fields,
        &mut segments,
    );
    with(rng, "c", &["c U8", "c U64 DESC", "HASH(c U8, ts BYTES 4)"], &mut fields, &mut segments);
    if rng.u8(..10) < 2 {
        segments.push("d U64".to_owned());
        fields.push("d");
    }
    for _ in 0..rng.usize(0..3) {
        let by: Vec<&str> = fields.iter().copied().filter(|_| rng.bool()).collect();
        let derived = match (rng.u8(..4), by.as_slice()) {
            (0, _) => format!("SALT({})", rng.u32(2..100)),
            (1, _) => format!("SALT({} USING random)", rng.u32(2..20)),
            (_, []) => "BUCKET(ts, '1h')".to_owned(),
            (2, by) => format!("SALT({} BY {})", rng.u32(2..1000), by.join(", ")),
            (_, by) => format!("HASH({} BYTES {} USING md5)", by.join(", "), rng.u8(1..9)),
        };
        segments.insert(rng.usize(0..=segments.len()), derived);
    }
    format!("ROW KEY ({})", segments.join(", "))
}

#[test]
fn row_loss_of_random_keys_matches_the_model() {
    let (mut cases, mut within, mut losing) = (0, 0, 0);
    for seed in 0..2 * SCHEMAS {
        let mut rng = Rng::with_seed(seed);
        let (key, traffic) = (random_key(&mut rng), random_traffic(&mut rng));
        if key.parse::<KeySchema>().is_err() {
            continue;
        }
        let said = estimate(&key, &traffic);
        let lost = said.lost_per_second.unwrap();
        let (off, bound) = ((said.counted_per_second - lost).abs(), said.lost_bound);
        let is_at_most = said.doubts.iter().any(|doubt| doubt.contains("only the widest"));
        let off = if is_at_most && said.counted_per_second < lost { 0.0 } else { off };
        assert!(
            off <= 2.0 * bound,
            "seed {seed}: {key}: {lost} +- {bound} in a second, counted {}",
            said.counted_per_second
        );
        cases += 1;
        within += u64::from(off <= bound);
        losing += u32::from(said.counted_per_second > 0.0);
        if cases == SCHEMAS {
            break;
        }
    }
    assert_eq!(cases, SCHEMAS);
    assert!(losing >= 60, "{losing} of {cases} keys lose rows at all");
    assert!(within * 100 >= 93 * cases, "{within} of {cases} counts are within the bound");
}

#[test]
fn derived_segments_do_not_reduce_row_loss() {
    let mut rng = Rng::with_seed(1);
    let traffic = random_traffic(&mut rng);
    let plain = estimate("ROW KEY (ts TIMESTAMP, c U8)", &traffic);
    assert!(plain.counted_per_second > 5.0, "{plain:?}");
    let alike = [
        "ROW KEY (SALT(16), ts TIMESTAMP, c U8)",
        "ROW KEY (SALT(16 BY ts, c), ts TIMESTAMP, c U8)",
        "ROW KEY (SALT(16 BY c), ts TIMESTAMP DESC, c U8)",
        "ROW KEY (SALT(100 BY ts USING modulo), ts TIMESTAMP, c U8)",
        "ROW KEY (HASH(ts, c BYTES 4 USING md5), ts TIMESTAMP, c U8)",
        "ROW KEY (HASH(c BYTES 2), BUCKET(ts, '1h'), c U8, ts TIMESTAMP)",
        "ROW KEY (BITREV(c) U8, HASH(ts BYTES 1), ts TIMESTAMP)",
        "ROW KEY TEXT '{md5(ts, c):8}_{ts TIMESTAMP:13}_{c U8}'",
    ];
    for key in alike {
        let said = estimate(key, &traffic);
        assert_eq!(
            (said.lost_per_second, said.counted_per_second),
            (plain.lost_per_second, plain.counted_per_second),
            "{key}"
        );
        assert!(said.doubts.is_empty(), "{key}: {:?}", said.doubts);
    }
}

#[test]
fn digest_of_outside_field_adds_at_most_its_width() {
    let mut rng = Rng::with_seed(3);
    let traffic = random_traffic(&mut rng);
    let lost = |key: &str| estimate(key, &traffic).lost_per_second.unwrap();
    let (none, whole) = (lost("ROW KEY (ts TIMESTAMP)"), lost("ROW KEY (ts TIMESTAMP, b STRING)"));
    for key in [
        "ROW KEY (HASH(b STRING BYTES 1), ts TIMESTAMP)",
        "ROW KEY (HASH(ts, b STRING BYTES 1), ts TIMESTAMP)",
        "ROW KEY (TRUNC(b, 6) STRING, ts TIMESTAMP)",
    ] {
        let cut = lost(key);
        assert!(whole <= cut + 1e-6 && cut < none, "{key}: {whole} <= {cut} < {none}");
    }
    let salted = lost("ROW KEY (SALT(2 BY ts, b), ts TIMESTAMP, TRUNC(b, 1) STRING)");
    assert!(
        salted > none / 2.0 && salted < none,
        "two salts tell at most half of the pairs apart: {salted} of {none}"
    );
}

#[test]
fn estimate_lists_its_doubts() {
    let steady = |step_ms: i64, each: i64| {
        let operation = |at: i64| {
            let time_ms = T0 + at / each * step_ms;
            Operation {
                time_ms,
                is_read: false,
                row: RowSpec::Values(vec![GeneratedValue::Time(time_ms)]),
                weight: 1,
            }
        };
        Traffic { fields: vec!["ts".into()], operations: (0..8_000).map(operation).collect() }
    };
    let even = estimate("ROW KEY (ts TIMESTAMP)", &steady(2, 1));
    assert!(even.counted_per_second == 0.0 && even.lost_per_second.unwrap() > 50.0, "{even:?}");
    assert!(even.doubts.iter().any(|doubt| doubt.contains("spaced more evenly")), "{even:?}");
    // Clock with a resolution of one second.
    let seconds = estimate("ROW KEY (ts TIMESTAMP)", &steady(1000, 100));
    assert!(
        (seconds.lost_per_second.unwrap() - seconds.counted_per_second).abs() <= seconds.lost_bound
            && seconds.counted_per_second > 90.0
    );
    let mut pairs = steady(10, 2);
    for (at, operation) in (0_i64..).zip(&mut pairs.operations) {
        operation.time_ms += at / 2 % 7;
        operation.row = RowSpec::Values(vec![GeneratedValue::Time(operation.time_ms)]);
    }
    let pairs = estimate("ROW KEY (ts TIMESTAMP)", &pairs);
    assert!(pairs.doubts.iter().any(|doubt| doubt.contains("come together")), "{pairs:?}");
    let turns = estimate(
        "ROW KEY (SALT(4 USING round_robin), ts TIMESTAMP)",
        &random_traffic(&mut Rng::with_seed(9)),
    );
    assert!(turns.doubts.iter().any(|doubt| doubt.contains("salts in turn")), "{turns:?}");
    assert_eq!(
        estimate("ROW KEY (BUCKET(ts, '1h'), a U16)", &random_traffic(&mut Rng::with_seed(9)))
            .lost_per_second,
        None
    );
}
