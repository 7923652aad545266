//! Splits with the tutorials' numbers, compared with samples.

use halite_types::key::to_string_binary;
use halite_types::{Bytes, RegionInfo};

use super::*;
use crate::plan::tests::cases::SeededRng;

fn schema(text: &str) -> KeySchema {
    text.parse().expect("a schema")
}

fn printed(splits: &Splits) -> Vec<String> {
    splits.keys.iter().map(|key| to_string_binary(key)).collect()
}

fn rows(count: usize, key: impl FnMut(usize) -> Vec<u8>) -> Vec<Vec<u8>> {
    (0..count).map(key).collect()
}

fn close(shares: &[f64], wanted: &[f64]) -> bool {
    shares.len() == wanted.len() && shares.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9)
}

#[test]
fn k13_indivisible_salts_are_uneven_across_regions() {
    let (spread, note) = salts_on_regions(16, 10).expect("numbers");
    assert_eq!((spread.max_over_mean, spread.empty), (1.25, 0));
    assert!(note.expect("a note").to_string().starts_with(
        "P-SALTREG: 16 salts on 10 regions do not divide: the greatest region gets 1.25 times"
    ));
    let (spread, note) = salts_on_regions(3, 16).expect("numbers");
    assert!((spread.max_over_mean - 16.0 / 3.0).abs() < 1e-9);
    assert_eq!(spread.empty, 13);
    assert!(
        note.expect("a note")
            .to_string()
            .contains("13 regions get nothing; take SPLIT BY SALT x 6 for 18 regions")
    );
    assert_eq!(
        salts_on_regions(16, 16).map(|(spread, note)| (spread.max_over_mean, note)),
        Some((1.0, None))
    );
    // Measured values: salts written as hexadecimal digits, and regions split evenly over the
    // digits.
    let mut chance = SeededRng::new(7);
    for (salts, regions, low, high) in
        [(16, 10, 1.24, 1.36), (3, 16, 5.3, 5.45), (16, 16, 1.0, 1.05)]
    {
        let keys = rows(100_000, |row| {
            format!("{:08x}-{row}", chance.below(salts) as u64 * (1 << 32) / salts as u64)
                .into_bytes()
        });
        let shares = region_shares(&keys, &RegionSplitter::HexString.split(regions).expect("keys"));
        let spread = Spread::from_shares(&shares);
        assert!((low..high).contains(&spread.max_over_mean), "{salts} on {regions}: {spread:?}");
    }
}

#[test]
fn k19_five_remainders_overload_one_of_four_regions() {
    let split = |keys: &[&'static str]| {
        Splits::at(keys.iter().map(|key| Bytes::from(*key)).collect()).expect("splits")
    };
    let keys = rows(10_000, |id| format!("{}{id}", id % 5).into_bytes());
    let shares = region_shares(&keys, &split(&["1", "2", "3"]).keys);
    assert!(close(&shares, &[0.2, 0.2, 0.2, 0.4]), "{shares:?}");
    assert!((Spread::from_shares(&shares).max_over_mean - 1.6).abs() < 1e-9);
    let mended = Spread::from_shares(&region_shares(&keys, &split(&["1", "2", "3", "4"]).keys));
    assert!((mended.max_over_mean - 1.0).abs() < 1e-9);
    // The same from the schema alone.
    let remainder = schema("ROW KEY (SALT(5 BY id USING modulo), id U64)");
    let four = Splits::into_regions(&remainder, 4, None).expect("splits");
    assert!((four.spread().expect("shares").max_over_mean - 1.6).abs() < 1e-9);
    assert!(matches!(
        four.notes[..],
        [SplitNote::SaltsAndRegions { salts: 5, regions: 4, empty: 0, .. }]
    ));
    let five = Splits::into_regions(&remainder, 5, None).expect("splits");
    assert_eq!(
        (printed(&five), five.notes),
        (["\\x01", "\\x02", "\\x03", "\\x04"].map(String::from).to_vec(), vec![])
    );
}

#[test]
fn e33_salts_are_even_if_divisible_and_reported_otherwise() {
    let sixteen = schema("ROW KEY (SALT(16 BY id), id STRING)");
    let eight = Splits::into_regions(&sixteen, 8, None).expect("splits");
    assert_eq!(
        (eight.spread().map(|spread| spread.max_over_mean), eight.notes.len()),
        (Some(1.0), 0)
    );
    let ten = Splits::into_regions(&sixteen, 10, None).expect("splits");
    assert!((ten.spread().expect("shares").max_over_mean - 1.25).abs() < 1e-9);
    assert_eq!(ten.notes.len(), 1);
    let given = Splits::at(vec![Bytes::from_static(&[8])]).expect("splits").for_schema(&sixteen);
    assert_eq!((given.shares, given.notes), (Some(vec![0.5, 0.5]), vec![]));
    let inside = Splits::at(vec![Bytes::from_static(&[8]), Bytes::from_static(&[8, b'm'])])
        .expect("splits")
        .for_schema(&sixteen);
    assert_eq!(inside.notes, [SplitNote::NotAtSalts { splits: 1 }]);
}

#[test]
fn k21_thousand_salts_make_thousand_regions() {
    let binary =
        Splits::by_salt(&schema("ROW KEY (SALT(1000 BY id), id STRING)"), 1, None).expect("splits");
    assert_eq!(
        (binary.keys.len(), printed(&binary)[0].as_str(), printed(&binary)[998].as_str()),
        (999, "\\x00\\x01", "\\x03\\xE7")
    );
    let text =
        Splits::by_salt(&schema("ROW KEY TEXT '{salt(1000)}{id}'"), 1, None).expect("splits");
    assert_eq!(
        (text.keys.len(), printed(&text)[0].as_str(), printed(&text)[998].as_str()),
        (999, "001", "999")
    );
    assert!(
        binary.notes.is_empty()
            && binary.spread().is_some_and(|spread| (spread.max_over_mean - 1.0).abs() < 1e-9)
    );
}

#[test]
fn salts_are_split_by_the_following_segment() {
    let hashed = schema("ROW KEY (SALT(2 BY id), HASH(id BYTES 2), id STRING)");
    let splits = Splits::by_salt(&hashed, 4, None).expect("splits");
    assert_eq!(
        printed(&splits),
        ["\\x00@", "\\x00\\x80", "\\x00\\xC0", "\\x01", "\\x01@", "\\x01\\x80", "\\x01\\xC0"]
    );
    let times = schema("ROW KEY (SALT(2 BY ts), ts TIMESTAMP)");
    assert_eq!(Splits::by_salt(&times, 2, None), Err(SplitError::NoModel { field: "ts".into() }));
    assert_eq!(Splits::by_salt(&times, 1, None).expect("splits").keys.len(), 1);
    assert_eq!(Splits::by_salt(&schema("ROW KEY (id STRING)"), 1, None), Err(SplitError::NoSalt));
}

#[test]
fn unsalted_keys_are_split_by_their_first_segment() {
    let phones = schema("ROW KEY (REVERSE(phone) CHAR(11))");
    let splits = Splits::into_regions(&phones, 10, None).expect("splits");
    assert_eq!(printed(&splits), ["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    assert_eq!(splits.notes, [SplitNote::Assumed(KeyModel::Digits)]);
    let digests = schema("ROW KEY (HASH(id BYTES 4 USING md5 HEX), id STRING)");
    let mut chance = SeededRng::new(3);
    let splits = Splits::into_regions(&digests, 7, None).expect("splits");
    let keys = rows(20_000, |_| {
        digests
            .encode(
                &[format!("user_{}", chance.below(1 << 40)).into_bytes()]
                    .map(|id| crate::Value::Text(String::from_utf8(id).expect("text").into())),
            )
            .expect("a key")
            .to_vec()
    });
    let spread = Spread::from_shares(&region_shares(&keys, &splits.keys));
    assert!(spread.max_over_mean < 1.06 && splits.notes.is_empty(), "{spread:?}");
    assert_eq!(
        Splits::into_regions(&schema("ROW KEY (ts TIMESTAMP, id STRING)"), 4, None),
        Err(SplitError::NoModel { field: "ts".into() })
    );
}

/// Regression test: boundaries were computed from text without the bytes that mark a type or a
/// value other than null, so that all rows were in one region.
#[test]
fn assumed_split_keys_spread_rows_of_marked_first_fields() {
    use crate::Value;
    type Make = fn(u64) -> Vec<Value<'static>>;
    let text: Make = |n| {
        vec![Value::Text(
            format!(
                "{}{}x{n}",
                char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[(n % 36) as usize]),
                n % 7
            )
            .into(),
        )]
    };
    let uuid: Make = |n| vec![Value::Uuid((u128::from(n) << 112).to_be_bytes())];
    let unsigned: Make = |n| vec![Value::Unsigned(n)];
    let signed: Make = |n| vec![Value::Signed(n.cast_signed())];
    let cases: &[(&str, Make, u32)] = &[
        ("(a STRING NULLABLE, n U8 NULLABLE)", text, 4),
        ("(a STRING, n I8) PROFILE ORDERED", text, 4),
        ("(CONST 'v1', a STRING NULLABLE, n U8)", text, 4),
        ("(u UUID NULLABLE, n U8)", uuid, 4),
        ("(u UUID NULLABLE DESC, n U8)", uuid, 8),
        ("(REVERSE(a) U64, n U8)", unsigned, 4),
        ("(REVERSE(a) I64 NULLABLE, n U8)", signed, 4),
        ("(BITREV(a) U64 NULLABLE, n U8)", unsigned, 8),
        ("(BITREV(a) I32, n U8)", signed, 8),
        ("(SALT(2 BY a), a STRING NULLABLE, n U8)", text, 8),
        ("(SALT(2 BY a), CONST 'v1', a STRING, n U8)", text, 8),
    ];
    for (declared, make, regions) in cases {
        let key = schema(declared);
        let small =
            if declared.ends_with("ORDERED") { Value::Signed(1) } else { Value::Unsigned(1) };
        let keys = rows(65_536, |row| {
            key.encode(&[make(row as u64), vec![small.clone()]].concat()).expect(declared).to_vec()
        });
        let splits = Splits::into_regions(&key, *regions, None)
            .unwrap_or_else(|error| panic!("{declared}: {error}"));
        let spread = Spread::from_shares(&region_shares(&keys, &splits.keys));
        assert!(
            spread.empty == 0 && spread.max_over_mean < 1.25,
            "{declared}: {:?} {spread:?}",
            printed(&splits)
        );
    }
    for declared in ["(REVERSE(a) BYTES)", "(REVERSE(t) TIMESTAMP, n U8)", "(a STRING DESC, n U8)"]
    {
        assert!(
            matches!(
                Splits::into_regions(&schema(declared), 4, None),
                Err(SplitError::NoModel { .. })
            ),
            "{declared}"
        );
    }
}

#[test]
fn splits_of_another_table_are_its_region_starts() {
    let region = |start: &'static str, end: &'static str| RegionInfo {
        table: "t".parse().expect("a name"),
        start: start.into(),
        end: end.into(),
        region_id: 1,
        encoded_name: String::new(),
    };
    assert_eq!(
        printed(&Splits::like(&[region("", "b"), region("b", "k"), region("k", "")])),
        ["b", "k"]
    );
}

#[test]
fn empty_or_unordered_split_keys_are_rejected() {
    let at = |keys: &[&'static str]| {
        Splits::at(keys.iter().map(|key| Bytes::from(*key)).collect()).err()
    };
    assert_eq!(at(&["a", "b"]), None);
    assert_eq!(at(&["a", "a"]), Some(SplitError::Keys { index: 1 }));
    assert_eq!(at(&["b", "a"]), Some(SplitError::Keys { index: 1 }));
    assert_eq!(at(&["", "a"]), Some(SplitError::Keys { index: 0 }));
}
