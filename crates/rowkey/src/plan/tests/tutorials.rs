//! Keys of the tutorials, each with its number: the ranges read by a query, as text.

use std::borrow::Borrow;
use std::fmt::Write as _;
use std::ops::Bound;
use std::sync::Arc;

use halite_types::key::to_string_binary;
use halite_types::{Bytes, RegionInfo, TableName};

use crate::plan::{KeyQuery, Plan, PlanNote, PlanOptions, Predicate};
use crate::schema::{Field, HashFunction, KeySchema, Order, Profile, Segment, SegmentKind};
use crate::value::{FieldType, TimeUnit, Value};

/// 2024-03-15T00:00:00Z.
const T0: i64 = 1_710_460_800_000;
const HOUR: i64 = 3_600_000;
const TIME: FieldType = FieldType::Timestamp(TimeUnit::Millis);

fn schema(fields: &[(&str, FieldType)], segments: Vec<Segment>) -> Arc<KeySchema> {
    let field = |&(name, ty): &(&str, FieldType)| Field { name: name.into(), ty, pattern: None };
    Arc::new(
        KeySchema::new(Profile::Bin, fields.iter().map(field).collect(), segments)
            .expect("a schema"),
    )
}

fn plain(field: usize) -> Segment {
    Segment::new(SegmentKind::Plain(field))
}

fn salt(count: u32, by: &[usize]) -> Segment {
    Segment::new(SegmentKind::Salt { count, by: by.to_vec(), function: HashFunction::Murmur3 })
}

fn plan(schema: &Arc<KeySchema>, query: impl Borrow<KeyQuery>) -> Plan {
    Plan::new(schema, query.borrow(), &PlanOptions::default()).expect("a plan")
}

fn time(at: i64) -> Value<'static> {
    Value::Signed(at)
}

fn from_to(low: i64, high: i64) -> Predicate {
    Predicate::Range { low: Bound::Included(time(low)), high: Bound::Excluded(time(high)) }
}

fn bounds(plan: &Plan) -> Vec<(Vec<u8>, Vec<u8>)> {
    let bytes = |bound: &Bound<Bytes>| match bound {
        Bound::Included(key) | Bound::Excluded(key) => key.to_vec(),
        Bound::Unbounded => Vec::new(),
    };
    plan.ranges().map(|range| (bytes(&range.range.start), bytes(&range.range.end))).collect()
}

/// Returns the range of a plan that has only one and does not check rows again.
fn only(plan: &Plan) -> (Vec<u8>, Vec<u8>) {
    assert!(!plan.has_residual(), "{plan:?}");
    let [range] = bounds(plan).try_into().expect("one range");
    range
}

fn reversed(at: i64) -> [u8; 8] {
    (i64::MAX - at).to_be_bytes()
}

fn key(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

fn user_times() -> Arc<KeySchema> {
    schema(&[("user_id", FieldType::String), ("ts", TIME)], vec![plain(0), plain(1)])
}

fn user_newest_first() -> Arc<KeySchema> {
    schema(&[("user_id", FieldType::String), ("ts", TIME)], vec![plain(0), plain(1).desc()])
}

fn sensors(salts: u32) -> Arc<KeySchema> {
    schema(
        &[("device_id", FieldType::String), ("ts", TIME)],
        vec![salt(salts, &[0]), plain(0), plain(1).desc()],
    )
}

fn regions(splits: &[&[u8]]) -> Vec<RegionInfo> {
    let table: TableName = "t".parse().expect("a name");
    let starts = std::iter::once(&[][..]).chain(splits.iter().copied());
    let ends = splits.iter().copied().chain(std::iter::once(&[][..]));
    let region = |(start, end): (&[u8], &[u8])| RegionInfo {
        table: table.clone(),
        start: Bytes::copy_from_slice(start),
        end: Bytes::copy_from_slice(end),
        region_id: 1,
        encoded_name: String::new(),
    };
    starts.zip(ends).map(region).collect()
}

#[test]
fn k07_user_and_time_range_is_one_exact_range() {
    let found =
        only(&plan(&user_times(), KeyQuery::all().equals(0, "u1").with(1, from_to(T0, T0 + HOUR))));
    let sign_flipped = |at: i64| (at.cast_unsigned() ^ (1 << 63)).to_be_bytes();
    assert_eq!(found.0, key(&[b"u1\0\x01", &sign_flipped(T0)]));
    // The last millisecond plus one; zeros at the end of a bound are redundant.
    let end = key(&[b"u1\0\x01", &sign_flipped(T0 + HOUR)]);
    assert!(end.starts_with(&found.1) && end[found.1.len()..].iter().all(|&byte| byte == 0));
}

#[test]
fn k09_prefix_is_one_range_and_later_field_skips() {
    let fields = ["region", "category", "product"].map(|name| (name, FieldType::String));
    let schema = schema(&fields, vec![plain(0), plain(1), plain(2)]);
    assert_eq!(
        only(&plan(&schema, KeyQuery::all().equals(0, "eu"))),
        (b"eu\0\x01".to_vec(), b"eu\0\x02".to_vec())
    );
    let both = plan(&schema, KeyQuery::all().equals(0, "eu").equals(1, "tv"));
    assert_eq!(only(&both), (b"eu\0\x01tv\0\x01".to_vec(), b"eu\0\x01tv\0\x02".to_vec()));
    let behind = KeyQuery::all().equals(1, "tv");
    let scanned = plan(&schema, &behind);
    assert_eq!((scanned.notes(), scanned.has_residual()), (&[PlanNote::FullScan][..], true));
    let options = PlanOptions { distinct: vec![(0, 5)], ..PlanOptions::default() };
    let skipped = Plan::new(&schema, &behind, &options).expect("a plan");
    assert_eq!(skipped.notes(), [PlanNote::SkipScan { segment: 0, distinct: 5 }]);
    let all = skipped.ranges().next().expect("a range").clone();
    let step = skipped.skip_step(&all, b"eu\0\x01pc\0\x01x").expect("a key");
    assert_eq!(step.value_prefix, b"eu\0\x01");
    assert_eq!(step.ranges.len(), 1);
    assert!(
        step.ranges[0].range.contains(b"eu\0\x01tv\0\x01y")
            && !step.ranges[0].range.contains(b"eu\0\x01pc\0\x01x")
    );
}

#[test]
fn k10_leading_hash_is_computed_for_one_range() {
    let hash = Segment::new(SegmentKind::Hash {
        by: vec![0],
        bytes: 2,
        function: HashFunction::Md5,
        hex: true,
    });
    let literal = || Segment::new(SegmentKind::Const(Bytes::from_static(b"_")));
    let region = ("region", FieldType::Char(7));
    let schema =
        schema(&[region, ("ts", TIME)], vec![hash, literal(), plain(0), literal(), plain(1)]);
    let found = plan(&schema, KeyQuery::all().equals(0, "beijing"));
    assert_eq!(only(&found), (b"0420_beijing_".to_vec(), b"0420_beijing`".to_vec()));
    // Without the region, the preceding hash is unknown.
    let later = plan(&schema, KeyQuery::all().with(1, from_to(T0, T0 + 1)));
    assert_eq!(later.notes(), [PlanNote::HashRange { segment: 0 }, PlanNote::FullScan]);
    assert!(later.has_residual());
}

#[test]
fn e04_hashed_prefix_range_ends_at_its_successor() {
    let hash = Segment::new(SegmentKind::Hash {
        by: vec![0],
        bytes: 2,
        function: HashFunction::Md5,
        hex: true,
    });
    let schema =
        schema(&[("region", FieldType::Char(7)), ("ts", TIME)], vec![hash, plain(0), plain(1)]);
    let (start, end) = only(&plan(&schema, KeyQuery::all().equals(0, "beijing")));
    assert!(start < end && end.starts_with(b"0420beijin"), "{}", to_string_binary(&end));
}

#[test]
fn k12_newest_first_query_uses_the_key_order() {
    let found = plan(&user_newest_first(), KeyQuery::all().equals(0, "u1").limit(1));
    assert_eq!(only(&found), (b"u1\0\x01".to_vec(), b"u1\0\x02".to_vec()));
    assert!(found.serves_order(&[(1, Order::Desc)]) && !found.serves_order(&[(1, Order::Asc)]));
    assert!(
        plan(&user_newest_first(), KeyQuery::all().equals(0, "u1").reverse(true))
            .serves_order(&[(1, Order::Asc)])
    );
}

#[test]
fn k22_range_after_thousand_salts_is_thousand_ordered_ranges() {
    let digits = FieldType::Char(12);
    let schema = schema(
        &[("at", digits), ("id", FieldType::String)],
        vec![salt(1000, &[0, 1]), plain(0), plain(1)],
    );
    let between = Predicate::Range {
        low: Bound::Included("201501010000".into()),
        high: Bound::Excluded("201505240000".into()),
    };
    let found = plan(&schema, KeyQuery::all().with(0, between).limit(10));
    assert_eq!((found.fan_out(), found.has_residual()), (1000, false));
    for (number, (start, end)) in bounds(&found).into_iter().enumerate() {
        let salt = u16::try_from(number).expect("a salt").to_be_bytes();
        assert_eq!((start, end), (key(&[&salt, b"201501010000"]), key(&[&salt, b"201505240000"])));
    }
    assert!(found.serves_order(&[(0, Order::Asc), (1, Order::Asc)]));
}

#[test]
fn k25_reversed_user_range_excludes_other_users() {
    let reverse = Segment::new(SegmentKind::Reverse(0));
    let schema =
        schema(&[("user_id", FieldType::String), ("ts", TIME)], vec![reverse, plain(1).desc()]);
    let found = plan(&schema, KeyQuery::all().equals(0, "12345"));
    assert_eq!(only(&found), (b"54321\0\x01".to_vec(), b"54321\0\x02".to_vec()));
    let range = found.ranges().next().expect("a range").range.clone();
    for (user, is_found) in [("12345", true), ("612345", false), ("2345", false)] {
        let key = schema.encode(&[user.into(), time(T0)]).expect("a key");
        assert_eq!(range.contains(&key), is_found, "{user}");
    }
}

#[test]
fn e01_time_bounds_are_ordered_for_descending_key() {
    let closed =
        Predicate::Range { low: Bound::Included(time(T0)), high: Bound::Included(time(T0 + HOUR)) };
    let (start, end) =
        only(&plan(&user_newest_first(), KeyQuery::all().equals(0, "u1").with(1, closed)));
    assert_eq!(start, key(&[b"u1\0\x01", &reversed(T0 + HOUR)]));
    assert!(
        start < end
            && end > key(&[b"u1\0\x01", &reversed(T0)])
            && end <= key(&[b"u1\0\x01", &reversed(T0 - 1)])
    );
}

#[test]
fn k26_time_range_is_read_newest_first() {
    let query = KeyQuery::all().equals(0, "u1").range(
        1,
        Bound::Included(time(T0)),
        Bound::Included(time(T0 + 2)),
    );
    let schema = user_newest_first();
    let found = plan(&schema, query);
    let range = found.ranges().next().expect("a range").range.clone();
    let mut keys: Vec<_> = (T0 - 2..T0 + 5)
        .map(|at| (schema.encode(&["u1".into(), time(at)]).expect("a key").to_vec(), at))
        .collect();
    keys.sort();
    let read: Vec<_> =
        keys.iter().filter(|(key, _)| range.contains(key)).map(|(_, at)| at - T0).collect();
    assert_eq!(read, [2, 1, 0]);
}

#[test]
fn e02_last_day_range_starts_at_newest_point() {
    let fields = [("sensor", FieldType::String), ("ts", TIME)];
    let schema = schema(&fields, vec![plain(0), plain(1).desc()]);
    let last_day = Predicate::Range {
        low: Bound::Included(time(T0 - 24 * HOUR)),
        high: Bound::Included(time(T0)),
    };
    let (start, end) = only(&plan(&schema, KeyQuery::all().equals(0, "s1").with(1, last_day)));
    assert_eq!(start, key(&[b"s1\0\x01", &9_223_370_326_393_975_807_i64.to_be_bytes()]));
    let expected = key(&[b"s1\0\x01", &9_223_370_326_480_375_808_i64.to_be_bytes()]);
    assert!(
        expected.starts_with(&end) && expected[end.len()..].iter().all(|&byte| byte == 0),
        "{}",
        to_string_binary(&end)
    );
}

#[test]
fn e02_text_key_range_has_the_tutorial_digits() {
    let schema: Arc<KeySchema> =
        Arc::new("ROW KEY TEXT '{sensor}_{rev(ts):19}'".parse().expect("a schema"));
    let last_day = Predicate::Range {
        low: Bound::Included(time(T0 - 24 * HOUR)),
        high: Bound::Included(time(T0)),
    };
    let found = plan(&schema, KeyQuery::all().equals(0, "s1").with(1, last_day));
    let texts = bounds(&found)
        .into_iter()
        .map(|(start, end)| (to_string_binary(&start), to_string_binary(&end)))
        .collect::<Vec<_>>();
    assert_eq!(texts, [("s1_9223370326393975807".into(), "s1_9223370326480375808".into())]);
    // A sensor `s1_92..` may begin with the same text, so the name is checked again.
    assert_eq!(found.residual().map(|condition| condition.field).collect::<Vec<_>>(), [0]);
}

#[test]
fn k10_text_range_ends_at_the_prefix_successor() {
    let schema: Arc<KeySchema> =
        Arc::new("ROW KEY TEXT '{md5(region):4}_{region}_{ts:13}' ".parse().expect("a schema"));
    let found = plan(&schema, KeyQuery::all().equals(0, "beijing"));
    assert_eq!(bounds(&found), [(b"0420_beijing_".to_vec(), b"0420_beijing`".to_vec())]);
}

#[test]
fn e03_user_operations_are_one_prefix_range() {
    let found = only(&plan(&user_newest_first(), KeyQuery::all().equals(0, "12345")));
    assert_eq!(found, (b"12345\0\x01".to_vec(), b"12345\0\x02".to_vec()));
}

#[test]
fn e06_limited_scan_excludes_the_next_user() {
    let schema = user_newest_first();
    let found = plan(&schema, KeyQuery::all().equals(0, "user_1").limit(3));
    let range = found.ranges().next().expect("a range").range.clone();
    assert!(!range.contains(&schema.encode(&["user_2".into(), time(T0)]).expect("a key")));
    assert!(!range.contains(&schema.encode(&["user_10".into(), time(T0)]).expect("a key")));
    assert!(range.contains(&schema.encode(&["user_1".into(), time(T0)]).expect("a key")));
}

#[test]
fn k27_modulo_buckets_are_scanned_in_one_order() {
    let bucket =
        Segment::new(SegmentKind::Salt { count: 100, by: vec![0], function: HashFunction::Modulo });
    let fields = [("ts", TIME), ("host", FieldType::String), ("event", FieldType::String)];
    let schema = schema(&fields, vec![bucket, plain(0), plain(1), plain(2)]);
    let wide = plan(&schema, KeyQuery::all().with(0, from_to(T0, T0 + HOUR)));
    assert_eq!((wide.fan_out(), wide.has_residual()), (100, false));
    assert!(wide.serves_order(&[(0, Order::Asc), (1, Order::Asc)]));
    // A range of fewer values than salts reads only theirs.
    let narrow = plan(&schema, KeyQuery::all().with(0, from_to(T0, T0 + 3)));
    assert_eq!((narrow.fan_out(), narrow.notes()), (3, &[][..]));
}

#[test]
fn k28_host_event_and_time_are_one_range() {
    let fields = [("host", FieldType::String), ("event", FieldType::String), ("ts", TIME)];
    let schema = schema(&fields, vec![plain(0), plain(1), plain(2)]);
    only(&plan(&schema, KeyQuery::all().equals(0, "h1")));
    only(&plan(
        &schema,
        KeyQuery::all().equals(0, "h1").equals(1, "login").with(2, from_to(T0, T0 + HOUR)),
    ));
    let without_event =
        plan(&schema, KeyQuery::all().equals(0, "h1").with(2, from_to(T0, T0 + HOUR)));
    assert_eq!((bounds(&without_event).len(), without_event.residual().count()), (1, 1));
}

#[test]
fn k30_one_hour_reads_four_quarter_hour_buckets() {
    let bucket = Segment::new(SegmentKind::Bucket { field: 2, width: 900_000 });
    let fields = [("host", FieldType::String), ("event", FieldType::String), ("ts", TIME)];
    let schema = schema(&fields, vec![plain(0), plain(1), bucket]);
    let found = plan(
        &schema,
        KeyQuery::all().equals(0, "h").equals(1, "e").with(2, from_to(T0, T0 + HOUR)),
    );
    let (start, end) = only(&found);
    assert_eq!(start, key(&[b"h\0\x01e\0\x01", &1_900_512_u32.to_be_bytes()]));
    assert!(
        end > key(&[b"h\0\x01e\0\x01", &1_900_515_u32.to_be_bytes()])
            && end <= key(&[b"h\0\x01e\0\x01", &1_900_516_u32.to_be_bytes()])
    );
    assert_eq!(found.notes(), [PlanNote::TrimBuckets { field: 2 }]);
    assert!(found.serves_order(&[(0, Order::Asc)]) && !found.serves_order(&[(2, Order::Asc)]));
}

/// Regression test: a get without a key was planned. Servers reject it, and with it the other gets
/// of the batch.
#[test]
fn values_with_empty_keys_are_not_requested() {
    let names = schema(&[("name", FieldType::String)], vec![plain(0)]);
    let points = |values: &[&'static str]| {
        let found =
            plan(&names, KeyQuery::all().is_in(0, values.iter().map(|value| Value::from(*value))));
        found.ranges().map(|range| range.point().map(|key| key.to_vec())).collect::<Vec<_>>()
    };
    assert_eq!(points(&["x", ""]), [Some(b"x".to_vec())]);
    assert_eq!(points(&[""]), []);
}

#[test]
fn m07_stop_row_is_exclusive_or_inclusive() {
    let schema = schema(&[("k", FieldType::String)], vec![plain(0)]);
    let keys = |high| {
        let found = plan(&schema, KeyQuery::all().range(0, Bound::Included("k03".into()), high));
        let range = found.ranges().next().expect("a range").range.clone();
        (1..=10)
            .map(|number| format!("k{number:02}"))
            .filter(|key| range.contains(key.as_bytes()))
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(Bound::Excluded("k07".into())), ["k03", "k04", "k05", "k06"]);
    assert_eq!(keys(Bound::Included("k07".into())).len(), 5);
}

#[test]
fn m08_prefix_condition_is_one_range() {
    let schema = schema(&[("k", FieldType::String)], vec![plain(0)]);
    let found = plan(&schema, KeyQuery::all().prefix(0, "user_1"));
    assert_eq!(only(&found), (b"user_1".to_vec(), b"user_2".to_vec()));
    assert_eq!(plan(&schema, KeyQuery::all()).notes(), [PlanNote::FullScan]);
}

#[test]
fn salt_is_computed_if_its_fields_are_known() {
    let one = plan(
        &sensors(16),
        KeyQuery::all().equals(0, "sensor_00001").with(1, from_to(T0, T0 + HOUR)),
    );
    assert_eq!(one.fan_out(), 1);
    assert_eq!(only(&one).0[..1], [1]);
    let three = plan(
        &sensors(16),
        KeyQuery::all().is_in(0, ["a", "b", "c"].map(Value::from)).with(1, from_to(T0, T0 + HOUR)),
    );
    assert_eq!((bounds(&three).len(), three.has_residual()), (3, false));
    let points =
        plan(&sensors(16), KeyQuery::all().equals(0, "a").is_in(1, [time(T0), time(T0 + 1)]))
            .points()
            .expect("whole keys");
    assert_eq!(points.len(), 2);
    assert_eq!(sensors(16).decode(&points[0]).expect("a key").get(0), Some(&"a".into()));
}

#[test]
fn plan_explanations_match_the_golden_file() {
    let sensors = sensors(4);
    let splits: Vec<&[u8]> = vec![&[1], &[2], &[3]];
    let questions = [
        (
            "one device, one hour",
            KeyQuery::all().equals(0, "s1").with(1, from_to(T0, T0 + HOUR)).limit(100),
        ),
        ("all devices, one hour", KeyQuery::all().with(1, from_to(T0, T0 + HOUR))),
        ("devices by prefix", KeyQuery::all().prefix(0, "sensor_").limit(10)),
        ("two keys", KeyQuery::all().equals(0, "s1").is_in(1, [time(T0), time(T0 + 1)])),
        ("nothing can match", KeyQuery::all().equals(0, "s1").with(0, Predicate::IsNull)),
    ];
    let mut text = String::new();
    for (name, query) in questions {
        writeln!(text, "# {name}\n{}", plan(&sensors, query).explain(&regions(&splits)))
            .expect("a string");
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/explain.txt");
    if std::env::var_os("HALITE_UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &text).expect("the golden file");
    }
    assert_eq!(text, include_str!("../../../testdata/explain.txt"));
}
