//! Samples of mixed shapes, negative salts, and arbitrary bytes.

use bytes::Bytes;
use fastrand::Rng;

use super::generate::{calendar, java, md5_hex, reversed, rows, some_time, text_rows};
use crate::infer::{InferOptions, infer};

/// Returns a signed remainder as S4's code formats it: zeros are prepended by size, and the sign
/// remains.
fn signed_salt(id: &str) -> String {
    match java(id) % 1000 {
        salt if salt < 10 => format!("00{salt}"),
        salt if salt < 100 => format!("0{salt}"),
        salt => salt.to_string(),
    }
}

#[test]
fn s4s_negative_salts_are_reported_and_others_explained() {
    assert_eq!(signed_salt("20150524002300_1232"), "00-203");
    let keys = text_rows(40, |rng, _| {
        let id = format!("{}_{}", calendar(rng), rng.u32(1000..10_000));
        signed_salt(&id) + &id
    });
    let inference = infer(&keys, &[], &InferOptions::default());
    let finding = inference
        .findings
        .iter()
        .find(|finding| finding.rule.id == "K-NEGMOD")
        .expect("half of the salts are negative");
    assert!(
        finding.evidence.as_deref().is_some_and(|evidence| evidence.contains("% of 1000 keys")),
        "{finding:?}"
    );
    let best = &inference.candidates[0];
    assert_eq!(best.schema.to_text(), "ROW KEY TEXT '{salt(1000 using java):3}{time:14}_{id:4}'");
    assert!((300..700).contains(&best.explained), "{}", best.explained);
    assert!(
        best.counter_examples.iter().all(|example| example.key.starts_with(b"00-")),
        "{:?}",
        best.counter_examples
    );
}

/// Regression test: keys with equal times were compared in key order, so that the keys of any bulk
/// load seemed to ascend.
#[test]
fn keys_with_equal_times_have_no_arrival_order() {
    let keys = |make: fn(u64) -> u64| {
        (0..1000u64).map(|at| Bytes::from(format!("{:016x}", make(at)))).collect::<Vec<_>>()
    };
    let scattered = keys(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut sorted = scattered.clone();
    sorted.sort();
    let rises = |keys: &[Bytes], time: fn(i64) -> i64| {
        let times: Vec<i64> = (0..1000).map(time).collect();
        infer(keys, &times, &InferOptions::default())
            .findings
            .iter()
            .any(|finding| finding.rule.id == "K-MONO")
    };
    assert!(!rises(&sorted, |_| 7) && !rises(&sorted, |at| at / 100));
    assert!(!rises(&scattered, |at| at / 2));
    assert!(rises(&keys(|at| at), |at| at) && rises(&keys(|at| at), |at| at - at % 3 % 2));
}

/// Regression test: even steps selected only one kind of alternating lines.
#[test]
fn sample_of_many_keys_covers_alternating_kinds() {
    let line = |at: usize| {
        if at.is_multiple_of(2) { format!("user_{at:06}") } else { format!("{at:06}#2024-03-15") }
    };
    let keys: Vec<Bytes> = (0..4000).map(|at| Bytes::from(line(at))).collect();
    let inference = infer(&keys, &[], &InferOptions { max_keys: 2000, ..InferOptions::default() });
    assert_eq!((inference.keys, inference.given), (2000, 4000));
    let best = &inference.candidates[0];
    assert!(
        (800..1200).contains(&best.explained),
        "{} explains {}",
        best.schema.to_text(),
        best.explained
    );
    let again = infer(&keys, &[], &InferOptions { max_keys: 2000, ..InferOptions::default() });
    assert_eq!(inference, again);
}

#[test]
fn unmatched_keys_are_counter_examples() {
    let mut keys = text_rows(41, |rng, _| {
        let id = format!("user_{}", rng.u32(1..100_000));
        format!("{}_{id}", md5_hex(&id, 8))
    });
    keys[10] = Bytes::from_static(b"config");
    keys[500] = Bytes::from_static(b"00000000_user_77");
    keys[700] = Bytes::from_static(b"zz44ggkk_user_78");
    keys[900] = Bytes::from_static(b"\x00\x01\x02");
    let inference = infer(&keys, &[], &InferOptions::default());
    let best = &inference.candidates[0];
    assert_eq!(best.schema.to_text(), "ROW KEY TEXT '{md5(user):8}_{user}'");
    assert_eq!((best.explained, best.keys), (996, 1000));
    let reasons: Vec<_> = best
        .counter_examples
        .iter()
        .map(|example| (&example.key[..], example.reason.as_str()))
        .collect();
    assert_eq!(reasons.len(), 4, "{reasons:?}");
    assert!(
        reasons[1].1.contains("the bytes are not those that belong to the fields"),
        "{reasons:?}"
    );
}

#[test]
fn names_with_delimiters_end_before_reversed_time() {
    let keys = text_rows(42, |rng, _| {
        let name = |rng: &mut Rng| {
            ["a_b", "ann", "x_y_z", "bob_"][rng.usize(0..4)].to_owned()
                + &rng.u32(0..500).to_string()
        };
        format!("{}_{}_{}", name(rng), reversed(some_time(rng)), name(rng))
    });
    let best = &infer(&keys, &[], &InferOptions::default()).candidates[0];
    assert_eq!(best.schema.to_text(), "ROW KEY TEXT '{name}_{rev(ts):19}_{name2}'");
    assert_eq!(best.explained, 1000);
}

#[test]
fn unterminated_text_before_binary_time_is_ambiguous() {
    let keys = rows(43, |rng, _| {
        [format!("s{}_", rng.u32(0..1000)).as_bytes(), &reversed(some_time(rng)).to_be_bytes()]
            .concat()
    });
    let inference = infer(&keys, &[], &InferOptions::default());
    assert!(inference.notes[0].contains("K-AMBIG"), "{:?}", inference.notes);
    assert_eq!(
        inference.candidates.last().map(|last| last.schema.to_text()),
        Some("ROW KEY (key BYTES)".to_owned())
    );
}

#[test]
fn inference_accepts_no_keys_one_key_and_empty_keys() {
    assert!(infer(&[], &[], &InferOptions::default()).candidates.is_empty());
    let one = infer(&[Bytes::from_static(b"user_1")], &[5], &InferOptions::default());
    assert_eq!(one.candidates[0].explained, 1);
    let empty = infer(&[Bytes::new(), Bytes::new()], &[], &InferOptions::default());
    assert!(empty.candidates.is_empty(), "an empty key is no key");
}

#[test]
fn inferred_schemas_of_arbitrary_bytes_round_trip_through_text() {
    for seed in 0..300 {
        let mut rng = Rng::with_seed(seed);
        let alphabets: [&[u8]; 6] = [
            b"01",
            b"0123456789abcdef",
            b"_-.0a",
            b"\x00\x01\xff\xfe",
            b"{}'\"\\%",
            &[0x7f, 0xff, 0xfe, 0x71, 0xc0, 0x80],
        ];
        let longest = if seed % 50 == 0 { 32_767 } else { 40 };
        let keys: Vec<Bytes> = (0..rng.usize(1..60))
            .map(|_| {
                let alphabet = alphabets[rng.usize(0..6)];
                (0..rng.usize(0..longest))
                    .map(|_| {
                        if rng.u8(..) < 250 {
                            alphabet[rng.usize(0..alphabet.len())]
                        } else {
                            rng.u8(..)
                        }
                    })
                    .collect()
            })
            .collect();
        for inferred in infer(&keys, &[], &InferOptions::default()).candidates {
            assert_eq!(
                inferred.schema.to_text().parse().as_ref(),
                Ok(&inferred.schema),
                "seed {seed}"
            );
        }
    }
}
