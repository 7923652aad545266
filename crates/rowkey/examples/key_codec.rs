//! Times of encoding and decoding one key in nanoseconds, compared with Phoenix's encoding and
//! `FoundationDB`'s tuple layer.
//!
//! `cargo run --release -p halite-rowkey --example key_codec`
#![allow(clippy::print_stdout, reason = "it is a program that prints")]

use std::hint::black_box;
use std::time::Instant;

use foundationdb_tuple::{Element, pack, pack_into, unpack};
use halite_rowkey::{
    DecodedKey, Field, FieldType, HashFunction, KeyBuf, KeySchema, NoResolver, Profile, Segment,
    SegmentKind, TimeUnit, Value,
};

const ROUNDS: u32 = 60;
const TIMES: u32 = 20_000;

/// Prints the time of the fastest of many rounds: other load makes rounds slower, never faster.
fn measure(name: &str, mut work: impl FnMut()) {
    let round = |_| {
        let began = Instant::now();
        (0..TIMES).for_each(|_| work());
        began.elapsed().as_secs_f64() * 1e9 / f64::from(TIMES)
    };
    println!("{name:<52}{:>8.1} ns", (0..ROUNDS).map(round).fold(f64::MAX, f64::min));
}

/// Returns the schema of `(SALT(16 BY device), device STRING, channel U32, ts TIMESTAMP DESC)`.
fn schema(profile: Profile) -> KeySchema {
    let field = |name: &str, ty| Field { name: name.into(), ty, pattern: None };
    let fields = vec![
        field("device", FieldType::String),
        field("channel", FieldType::U32),
        field("ts", FieldType::Timestamp(TimeUnit::Millis)),
    ];
    let plain = |field| Segment::new(SegmentKind::Plain(field));
    // Phoenix salts the whole key with its own function.
    let (by, function) = if profile == Profile::Phoenix {
        (Vec::new(), HashFunction::Phoenix)
    } else {
        (vec![0], HashFunction::Murmur3)
    };
    let salt = Segment::new(SegmentKind::Salt { count: 16, by, function });
    KeySchema::new(profile, fields, vec![salt, plain(0), plain(1), plain(2).desc()])
        .expect("a schema")
}

fn main() {
    let bin = schema(Profile::Bin);
    let values = ["sensor_00001".into(), Value::Unsigned(7), Value::Signed(1_710_460_800_000)];
    let key = bin.encode(&values).expect("a key");
    let mut room = KeyBuf::new();
    let mut decoded = DecodedKey::new();
    println!("salt, 12 letters, u32, time: {} bytes", key.len());
    measure("encode", || _ = black_box(bin.encode(black_box(&values))));
    measure("encode_into, the same room", || {
        room.clear();
        _ = black_box(bin.encode_into(black_box(&values), &NoResolver, &mut room));
    });
    measure("decode, the salt checked", || _ = black_box(bin.decode(black_box(&key))));
    measure("decode_into, the same room, the salt checked", || {
        _ = black_box(bin.decode_into(black_box(&key), &NoResolver, &mut decoded));
    });
    measure("decode_unchecked", || {
        _ = black_box(bin.decode_unchecked(black_box(&key), &NoResolver));
    });

    let phoenix = schema(Profile::Phoenix);
    let key = phoenix.encode(&values).expect("a key");
    println!("as Phoenix writes it, PROFILE PHOENIX: {} bytes", key.len());
    measure("encode", || _ = black_box(phoenix.encode(black_box(&values))));
    measure("decode, the salt checked", || _ = black_box(phoenix.decode(black_box(&key))));

    // The tuple layer has no salts and no descending order: the same values, with a given salt and
    // a negated time.
    let tuple = (1_i64, "sensor_00001", 7_u32, -1_710_460_800_000_i64);
    let packed = pack(&tuple);
    let mut bytes = Vec::new();
    println!("foundationdb-tuple: {} bytes", packed.len());
    measure("pack, types known to the compiler", || _ = black_box(pack(black_box(&tuple))));
    measure("pack_into, the same room", || {
        bytes.clear();
        _ = black_box(pack_into(black_box(&tuple), &mut bytes));
    });
    measure("unpack, types known to the compiler", || {
        _ = black_box(unpack::<(i64, String, u32, i64)>(black_box(&packed)));
    });
    let elements = vec![
        Element::Int(1),
        Element::String("sensor_00001".into()),
        Element::Int(7),
        Element::Int(-1_710_460_800_000),
    ];
    measure("pack elements", || _ = black_box(pack(black_box(&elements))));
    measure("unpack elements", || _ = black_box(unpack::<Vec<Element<'_>>>(black_box(&packed))));
}
