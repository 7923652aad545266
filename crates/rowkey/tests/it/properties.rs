//! Properties of every schema: keys sort as their values do, they decode to the same values, and no
//! key is a prefix of another.
//!
//! `HALITE_ROWKEY_PAIRS=100000000 cargo test -p halite-rowkey --release --test it` compares more
//! pairs than the usual run. `HALITE_TEST_SEED=0x2a` repeats one schema; a failure prints its seed.

use std::cmp::Ordering;

use fastrand::Rng;
use halite_rowkey::{FieldType, KeyBuf, KeySchema, Order, Profile, SegmentKind, Value};

use crate::random::{Digits, any_schema, plain_schema, row};

/// Pairs of keys compared by a usual run, over all threads.
const PAIRS: u64 = 10_000_000;
/// Profiles other than BIN; each is tested with fewer keys than BIN.
const OTHERS: [Profile; 3] = [Profile::Ordered { compat: false }, Profile::Phoenix, Profile::Text];
/// Rows of each schema; all pairs of them are compared.
const ROWS: usize = 80;

fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let digits = text.strip_prefix("0x");
    Some(
        u64::from_str_radix(digits.unwrap_or(&text), if digits.is_some() { 16 } else { 10 })
            .expect("a number"),
    )
}

/// Calls `check` with seeds on two threads until its results add up to `min_count`; returns their
/// sum.
fn for_seeds(min_count: u64, check: impl Fn(u64) -> u64 + Sync) -> u64 {
    if let Some(seed) = number_from("HALITE_TEST_SEED") {
        return check(seed).max(min_count);
    }
    let run = |first: u64| {
        let mut done = 0;
        for seed in (first..).step_by(2) {
            if done >= min_count / 2 {
                break;
            }
            done += check(seed);
        }
        done
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| run(1));
        let done = run(0);
        done + other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Returns the order that the declaration specifies.
fn logical(schema: &KeySchema, a: &[Value<'_>], b: &[Value<'_>]) -> Ordering {
    let by_segment = schema.segments().iter().map(|segment| {
        let SegmentKind::Plain(field) = segment.kind else { return Ordering::Equal };
        let order = a[field].compare(&b[field]);
        if segment.order == Order::Desc { order.reverse() } else { order }
    });
    by_segment.fold(Ordering::Equal, Ordering::then)
}

/// Returns `true` if a key may be a prefix of another: the last field is text or bytes without an
/// end, or an omitted null.
fn has_open_end(schema: &KeySchema) -> bool {
    let last = schema.segments().last().expect("a segment");
    let ty = last.kind.field().map(|field| schema.fields()[field].ty);
    let left_out = last.nullable && schema.profile() != Profile::Bin;
    let ends_by_itself = match ty {
        Some(FieldType::String | FieldType::Bytes) => false,
        Some(FieldType::Decimal) => schema.profile() != Profile::Phoenix,
        _ => true,
    };
    left_out || last.order == Order::Asc && !ends_by_itself
}

fn compare_all_pairs(seed: u64, profile: Profile) -> u64 {
    let mut rng = Rng::with_seed(seed);
    let schema = plain_schema(&mut rng, profile);
    let rows: Vec<_> = (0..ROWS).map(|_| row(&mut rng, &schema)).collect();
    let keyed: Vec<(KeyBuf, &[Value<'_>])> =
        rows.iter().filter_map(|row| Some((schema.encode(row).ok()?, &row[..]))).collect();
    let open = has_open_end(&schema);
    let mut pairs = 0;
    for (at, (key, row)) in keyed.iter().enumerate() {
        let decoded = schema.decode(key).unwrap_or_else(|error| {
            panic!("seed {seed:#x}: {key:?} of {row:?} is not read: {error}")
        });
        assert!(
            decoded.values().iter().zip(*row).all(|(a, b)| a.compare(b).is_eq()),
            "seed {seed:#x}: {row:?} became {decoded:?}"
        );
        for (other_key, other) in &keyed[at + 1..] {
            pairs += 1;
            let expected = logical(&schema, row, other);
            assert_eq!(
                key.cmp(other_key),
                expected,
                "seed {seed:#x}: order of {row:?} and {other:?} as {key:?} and {other_key:?}"
            );
            let begins = expected.is_ne()
                && !open
                && (key.starts_with(other_key) || other_key.starts_with(key));
            assert!(
                !begins,
                "seed {seed:#x}: one of {key:?} and {other_key:?} begins with the other"
            );
        }
    }
    pairs
}

#[test]
fn keys_sort_as_their_values() {
    let min_count = number_from("HALITE_ROWKEY_PAIRS").unwrap_or(PAIRS);
    let pairs = for_seeds(min_count, |seed| compare_all_pairs(seed, Profile::Bin));
    assert!(pairs >= min_count, "{pairs} pairs");
    for profile in OTHERS {
        let pairs = for_seeds(min_count / 10, |seed| compare_all_pairs(seed, profile));
        assert!(pairs >= min_count / 10, "{pairs} pairs");
    }
}

/// Encodes a row of a schema with transforms and compares the decoded values; returns 1 if the row
/// has a key.
fn assert_round_trip(schema: &KeySchema, row: &[Value<'_>], seed: u64) -> u64 {
    let Ok(key) = schema.encode_with(row, &Digits) else { return 0 };
    if schema.ambiguous_segment().is_some() {
        assert!(schema.decode_with(&key, &Digits).is_err(), "seed {seed:#x}: {row:?} as {key:?}");
        return 0;
    }
    let decoded = schema
        .decode_with(&key, &Digits)
        .unwrap_or_else(|error| panic!("seed {seed:#x}: {key:?} of {row:?} is not read: {error}"));
    for (field, value) in row.iter().enumerate() {
        let found = &decoded.values()[field];
        assert!(
            decoded.is_partial(field) || found.compare(value).is_eq(),
            "seed {seed:#x}: {row:?} became {decoded:?}"
        );
    }
    let ranges = schema.split_segments(&key).expect("what is decoded is split");
    assert_eq!(ranges.last().map(|range| range.end), Some(key.len()), "seed {seed:#x}");
    1
}

#[test]
fn values_round_trip_through_every_transform() {
    for (profile, min_count) in
        std::iter::once((Profile::Bin, 200_000)).chain(OTHERS.map(|profile| (profile, 50_000)))
    {
        let keys = for_seeds(min_count, |seed| {
            let mut rng = Rng::with_seed(seed);
            let schema = any_schema(&mut rng, profile);
            (0..20).map(|_| assert_round_trip(&schema, &row(&mut rng, &schema), seed)).sum()
        });
        assert!(keys >= min_count, "{keys} keys");
    }
}

/// Decodes arbitrary bytes. A completely decoded key must equal the key of its values: no two keys
/// have the same values.
fn decode_anything(schema: &KeySchema, key: &[u8], seed: u64) {
    _ = schema.split_segments(key);
    _ = schema.decode_unchecked(key, &Digits);
    let Ok(decoded) = schema.decode_with(key, &Digits) else { return };
    let whole = (0..schema.fields().len()).all(|field| !decoded.is_partial(field));
    if whole {
        let again = schema.encode_with(decoded.values(), &Digits);
        assert_eq!(again.as_deref(), Ok(key), "seed {seed:#x}: {decoded:?}");
    }
}

fn damaged(rng: &mut Rng, key: &[u8]) -> Vec<u8> {
    let mut key = key.to_vec();
    for _ in 0..rng.usize(1..4) {
        let at = rng.usize(..=key.len());
        match rng.u8(..4) {
            0 => key.truncate(at),
            1 => key.insert(at, rng.choice([0, 1, 0xfe, 0xff]).expect("one")),
            _ => {
                let any = rng.u8(..);
                let byte = rng.choice([0, 1, 0x15, 0xfe, 0xff, any]).expect("one");
                key.get_mut(at).into_iter().for_each(|old| *old = byte);
            }
        }
    }
    key
}

#[test]
fn arbitrary_bytes_decode_to_a_key_or_error() {
    let cases = for_seeds(1_000_000, |seed| {
        let mut rng = Rng::with_seed(seed);
        let profiles = [Profile::Bin, Profile::Bin, OTHERS[rng.usize(..OTHERS.len())]];
        let profile = rng.choice(profiles).expect("one");
        let schema = any_schema(&mut rng, profile);
        for _ in 0..100 {
            let noise: Vec<_> = (0..rng.usize(..40)).map(|_| rng.u8(..)).collect();
            decode_anything(&schema, &noise, seed);
            if let Ok(key) = schema.encode_with(&row(&mut rng, &schema), &Digits) {
                decode_anything(&schema, &damaged(&mut rng, &key), seed);
            }
        }
        100
    });
    assert!(cases >= 1_000_000, "{cases} cases");
}
