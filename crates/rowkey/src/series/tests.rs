//! Packed series: lossless values, sizes by kind of data, and damaged bytes.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "made-up data may lose what it likes"
)]

use proptest::prelude::*;

use super::*;

fn points(
    offsets: impl IntoIterator<Item = i64>,
    values: impl IntoIterator<Item = f64>,
) -> Vec<Point> {
    offsets.into_iter().zip(values).map(|(offset, value)| Point { offset, value }).collect()
}

fn bits(points: &[Point]) -> Vec<(i64, u64)> {
    points.iter().map(|point| (point.offset, point.value.to_bits())).collect()
}

/// Returns a generator of random numbers from 0 to 1, the same for the same seed.
fn rng(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Returns an approximately normally distributed number.
fn normal(chance: &mut impl FnMut() -> f64) -> f64 {
    (0..12).map(|_| chance()).sum::<f64>() - 6.0
}

/// Returns the number of bytes per point in rows of an hour with `count` points each. The points
/// share the key and the frame of the cell: 20 bytes of `KeyValue`, a row of 8, a family and a
/// qualifier of one each.
fn bytes_per_point(
    count: i64,
    jitter_ms: f64,
    mut next: impl FnMut(&mut dyn FnMut() -> f64) -> f64,
) -> f64 {
    let mut chance = rng(7);
    let rows = 50;
    let mut bytes = 0;
    for _ in 0..rows {
        let offsets: Vec<i64> =
            (0..count).map(|at| at * 3_600_000 / count + (chance() * jitter_ms) as i64).collect();
        let packed = pack(&points(offsets, (0..count).map(|_| next(&mut chance)))).unwrap();
        bytes += packed.len() + 30;
    }
    bytes as f64 / f64::from(rows) / count as f64
}

#[test]
fn packed_series_stay_within_bytes_per_point() {
    let walk = || {
        let mut at = 20.0;
        move |chance: &mut dyn FnMut() -> f64| {
            at += normal(&mut || chance()) * 0.1;
            (at * 10.0).round() / 10.0
        }
    };
    let counter = || {
        let mut count = 0.0;
        move |chance: &mut dyn FnMut() -> f64| {
            count += [0.0, 0.0, 1.0, 2.0][(chance() * 4.0) as usize];
            count
        }
    };
    let steps = || {
        let mut at = 20.0;
        move |chance: &mut dyn FnMut() -> f64| {
            at += [-0.5, 0.0, 0.0, 0.0, 0.5][(chance() * 5.0) as usize];
            at
        }
    };
    let found = [
        ("one decimal", bytes_per_point(360, 0.0, walk()), 1.5),
        ("one decimal, jitter of 20 ms", bytes_per_point(360, 20.0, walk()), 1.5),
        ("counter", bytes_per_point(360, 0.0, counter()), 1.0),
        ("steps", bytes_per_point(360, 0.0, steps()), 1.0),
        (
            "any double",
            bytes_per_point(360, 0.0, |chance| 20.0 + 5.0 * normal(&mut || chance())),
            8.2,
        ),
    ];
    for (name, bytes, most) in found {
        println!("{name}: {bytes:.2} bytes for each point");
        assert!(
            bytes <= most,
            "{name}: {bytes:.2} bytes for each point, at most {most} are wanted"
        );
    }
}

#[test]
fn constant_series_packs_to_constant_size() {
    let flat = points((0..3600).map(|at| at * 1000), std::iter::repeat_n(21.5, 3600));
    let packed = pack(&flat).unwrap();
    assert!(packed.len() < 20, "{} bytes", packed.len());
    assert_eq!(unpack(&packed).unwrap(), flat);
}

#[test]
fn unpackable_points_are_rejected() {
    assert_eq!(pack(&[]), Err(SeriesError::Empty));
    assert_eq!(pack(&points([5, 5], [1.0, 2.0])), Err(SeriesError::OutOfOrder(1)));
    assert_eq!(
        pack(&points(0..=MAX_POINTS as i64, std::iter::repeat(0.0))),
        Err(SeriesError::TooMany(MAX_POINTS as u64 + 1))
    );
}

#[test]
fn damaged_cells_are_rejected_whatever_point_count_they_contain() {
    let good = pack(&points([0, 7, 9], [1.0, 1.5, 1.25])).unwrap();
    for end in 0..good.len() {
        assert!(unpack(&good[..end]).is_err(), "cut at {end}");
    }
    assert_eq!(unpack(&[&good[..], &[0]].concat()), Err(SeriesError::Damaged));
    assert_eq!(unpack(&[2, 0]), Err(SeriesError::Version(2)));
    let mut many = vec![VERSION];
    put_varint(u64::MAX, &mut many);
    assert_eq!(unpack(&many), Err(SeriesError::TooMany(u64::MAX)));
    assert_eq!(unpack(&[VERSION, 0]), Err(SeriesError::Empty));
}

#[test]
fn late_points_replace_add_and_delete() {
    let packed = points([1, 5, 9], [1.0, 5.0, 9.0]);
    let loose = [(0, Some(0.5)), (5, Some(5.5)), (7, None), (9, None), (12, Some(12.0))];
    assert_eq!(merge(&packed, &loose), points([0, 1, 5, 12], [0.5, 1.0, 5.5, 12.0]));
    assert_eq!(merge(&[], &loose[..1]), points([0], [0.5]));
    assert_eq!(merge(&packed, &[]), packed);
}

fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        (-1000i64..1000, 0u32..4)
            .prop_map(|(number, places)| number as f64 / 10f64.powi(places as i32)),
        Just(-0.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(9_007_199_254_740_993.0),
        Just(1e300),
        Just(5e-324),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn packed_points_round_trip_bit_for_bit(
        start in prop_oneof![any::<i64>(), -5i64..5],
        steps in prop::collection::vec(prop_oneof![1i64..4, 1i64..1_000_000, Just(1000)], 0..60),
        values in prop::collection::vec(any_value(), 61),
        steady in any::<bool>(),
        alike in any::<bool>(),
    ) {
        let mut at = start / 2;
        let mut offsets = vec![at];
        for step in steps {
            at += if steady { 1000 } else { step };
            offsets.push(at);
        }
        let values = values.into_iter().scan(None, |first, value| Some(if alike { *first.get_or_insert(value) } else { value }));
        let points = points(offsets, values);
        let back = unpack(&pack(&points).unwrap()).unwrap();
        prop_assert_eq!(bits(&back), bits(&points));
    }

    #[test]
    fn arbitrary_bytes_unpack_to_sorted_points_or_error(bytes in prop::collection::vec(any::<u8>(), 0..64), head in 0usize..40) {
        // Arbitrary bytes, and arbitrary bytes after a valid header.
        let _ = unpack(&[&[VERSION, head as u8][..], &bytes].concat());
        if let Ok(points) = unpack(&bytes) {
            prop_assert!(points.is_sorted_by(|a, b| a.offset < b.offset));
        }
    }
}
