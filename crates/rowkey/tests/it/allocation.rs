//! Keys of up to 48 bytes and 8 fields are encoded and decoded without allocation.

use halite_rowkey::{
    Field, FieldType, HashFunction, KeySchema, Profile, Segment, SegmentKind, TimeUnit, Value,
};

/// Returns the number of allocations in `work`, and its result.
fn counted<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let mut result = None;
    let counts = allocation_counter::measure(|| result = Some(work()));
    (counts.count_total, result.expect("it ran"))
}

fn schema(profile: Profile, types: &[FieldType], segments: Vec<Segment>) -> KeySchema {
    let fields = types
        .iter()
        .enumerate()
        .map(|(id, &ty)| Field { name: format!("f{id}"), ty, pattern: None })
        .collect();
    KeySchema::new(profile, fields, segments).expect("a schema")
}

fn salt(function: HashFunction, by: Vec<usize>) -> Segment {
    Segment::new(SegmentKind::Salt { count: 16, by, function })
}

fn plain(field: usize) -> Segment {
    Segment::new(SegmentKind::Plain(field))
}

const TIME: FieldType = FieldType::Timestamp(TimeUnit::Millis);

#[test]
fn keys_of_usual_size_require_no_allocation() {
    let types = [FieldType::String, FieldType::U32, TIME];
    let hash = Segment::new(SegmentKind::Hash {
        by: vec![0],
        bytes: 4,
        function: HashFunction::Sha256,
        hex: true,
    });
    let sensors = vec![salt(HashFunction::Murmur3, vec![0]), plain(0), plain(1), plain(2).desc()];
    let hashed = vec![hash, plain(0), plain(1), Segment { nullable: true, ..plain(2).desc() }];
    let ordered = vec![salt(HashFunction::Java, vec![0, 2]), plain(0), plain(1), plain(2).desc()];
    let phoenix =
        vec![salt(HashFunction::Phoenix, Vec::new()), plain(0), plain(1), plain(2).desc()];
    let signed = [FieldType::String, FieldType::I32, TIME];
    let slash = || Segment::new(SegmentKind::Const(b"/".as_slice().into()));
    let text = vec![plain(0), slash(), plain(1), slash(), plain(2).desc()];
    for (schema, number) in [
        (schema(Profile::Bin, &types, sensors), Value::Unsigned(7)),
        (schema(Profile::Bin, &types, hashed), Value::Unsigned(7)),
        (schema(Profile::Ordered { compat: false }, &signed, ordered), Value::Signed(7)),
        (schema(Profile::Phoenix, &types, phoenix), Value::Unsigned(7)),
        (schema(Profile::Text, &types, text), Value::Unsigned(7)),
    ] {
        let values = ["sensor_00001".into(), number, Value::Signed(1_710_460_800_000)];
        let (allocations, key) = counted(|| schema.encode(&values).expect("a key"));
        assert_eq!((allocations, key.is_allocated()), (0, false), "encoding {key:?}");
        let (allocations, decoded) = counted(|| schema.decode(&key).expect("values"));
        assert_eq!(allocations, 0, "decoding {key:?}");
        assert_eq!(decoded.values(), values);
    }
}

#[test]
fn allocation_counter_detects_allocations() {
    let long = schema(Profile::Bin, &[FieldType::String], vec![plain(0).desc()]);
    let (allocations, key) =
        counted(|| long.encode(&["a".repeat(48).as_str().into()]).expect("a key"));
    assert!(allocations > 0 && key.is_allocated());
}
