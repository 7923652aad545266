//! Structs that are keys: their text is that of the language, their bytes those of the codec, and
//! their scans those of the planner.

use std::borrow::Cow;

use halite_rowkey::language::{Statement, statements};
use halite_rowkey::typed::{Days, Prefix, TsMillis};
use halite_rowkey::{KeySchema, Predicate, Value};
use halite_rowkey_derive::RowKey;

const T0: i64 = 1_710_460_800_000;

#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(crate = "halite_rowkey", table = "sensor_data", salt(16, by = "device_id"))]
struct SensorKey<'a> {
    device_id: &'a str,
    #[key(desc)]
    ts: TsMillis,
}

#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    crate = "halite_rowkey",
    constant = "it's",
    hash(by = "user", bytes = 8, using = "md5", hex),
    profile = "bin"
)]
struct Everything<'a> {
    #[key(reverse, type = "CHAR(11)")]
    phone: Cow<'a, str>,
    #[key(salt(4, by = "user", using = "crc32"), trunc = 2, and_whole)]
    user: String,
    #[key(bucket = "1h", desc)]
    at: TsMillis,
    #[key(name = "by")]
    number: Option<u32>,
    #[key(bitrev)]
    id: u64,
    day: Days,
    #[key(type = "TIMESTAMP(us)")]
    raw: i64,
    flag: bool,
    bytes: [u8; 3],
    tail: &'a [u8],
}

#[derive(Debug, PartialEq, RowKey)]
#[row_key(crate = "halite_rowkey", key = "(HASH(user STRING BYTES 4), id I64)")]
struct Hashed {
    id: i64,
    user: Option<String>,
}

#[derive(RowKey)]
#[row_key(crate = "halite_rowkey", table = "points", salt(16, by = "device"))]
#[row_key(columns = "p SERIES(DOUBLE) FAMILY d OFFSET OF ts")]
#[row_key(options = "WITH (TTL = 60) SPLIT BY SALT")]
#[expect(dead_code, reason = "only its declaration is tested")]
struct PointKey<'a> {
    device: &'a str,
    #[key(bucket = "1h", desc)]
    ts: TsMillis,
}

#[test]
fn statement_that_creates_the_table_is_that_of_the_language() {
    let parsed = statements(PointKey::CREATE_TABLE).unwrap();
    let [Statement::CreateTable(table)] = &parsed[..] else { panic!("{parsed:?}") };
    assert_eq!(table.descriptor.name().to_string(), PointKey::TABLE);
    assert_eq!(table.key, **PointKey::schema());
    assert_eq!(table.columns.iter().map(|column| &column.name[..]).collect::<Vec<_>>(), ["p"]);
    assert_eq!(table.described().families().next().unwrap().ttl_ms(), Some(60_000));
    assert!(table.split.is_some());
}

#[test]
fn derived_schema_text_matches_the_language() {
    let text = "ROW KEY (SALT(16 BY device_id), device_id STRING, ts TIMESTAMP DESC)";
    assert_eq!((SensorKey::SCHEMA, SensorKey::TABLE), (text, "sensor_data"));
    let schema: KeySchema = text.parse().unwrap();
    assert_eq!((&**SensorKey::schema(), SensorKey::FINGERPRINT), (&schema, schema.fingerprint()));
    assert_eq!(
        Everything::SCHEMA,
        "ROW KEY (CONST 'it''s', HASH(user BYTES 8 USING md5 HEX), REVERSE(phone) CHAR(11), \
         SALT(4 BY user USING crc32), TRUNC(user, 2), user STRING, BUCKET(at, '1h') DESC, \
         \"by\" U32 NULLABLE, BITREV(id) U64, day DATE, raw TIMESTAMP(us), flag BOOL, \
         bytes BYTES(3), tail BYTES)"
    );
    assert_eq!(Hashed::SCHEMA, "ROW KEY (HASH(user STRING BYTES 4 USING murmur3), id I64)");
}

#[test]
fn k12_keys_encode_without_allocation_and_round_trip() {
    let key = SensorKey { device_id: "sensor_00001", ts: TsMillis(T0) };
    let bytes = key.encode().unwrap();
    assert_eq!(
        bytes,
        SensorKey::schema().encode(&["sensor_00001".into(), Value::Signed(T0)]).unwrap()
    );
    assert!(!bytes.is_allocated());
    assert_eq!(SensorKey::decode(&bytes).unwrap(), key);
    assert!(SensorKey::decode(&bytes[1..]).is_err());
}

#[test]
fn every_kind_of_field_round_trips() {
    let key = Everything {
        phone: "13812345678".into(),
        user: "ab\0c".into(),
        at: TsMillis(T0 / 3_600_000 * 3_600_000),
        number: None,
        id: 77,
        day: Days(-3),
        raw: T0 * 1000,
        flag: true,
        bytes: [1, 0, 255],
        tail: b"rest",
    };
    assert_eq!(Everything::decode(&key.encode().unwrap()).unwrap(), key);
    let key = Everything { number: Some(5), ..key };
    assert_eq!(Everything::decode(&key.encode().unwrap()).unwrap(), key);
}

#[test]
fn hashed_only_field_decodes_as_none() {
    let bytes = Hashed { id: -1, user: Some("a".into()) }.encode().unwrap();
    assert_eq!(Hashed::decode(&bytes).unwrap(), Hashed { id: -1, user: None });
}

#[test]
fn borrowed_text_with_zero_byte_is_rejected() {
    let bytes = SensorKey { device_id: "a\0b", ts: TsMillis(0) }.encode().unwrap();
    let error = SensorKey::decode(&bytes).unwrap_err().to_string();
    assert!(error.contains("cannot be borrowed"), "{error}");
}

#[test]
fn scan_builder_sets_conditions_and_fan_out() {
    let one = SensorKey::scan().device_id("s1").ts(TsMillis(T0)..TsMillis(T0 + 1000));
    assert_eq!(one.plan().unwrap().fan_out(), 1);
    let all = SensorKey::scan().ts(TsMillis(T0)..).limit(10);
    assert_eq!((all.plan().unwrap().fan_out(), all.query().limit), (16, Some(10)));
    let some = SensorKey::scan().device_id(["a", "b"]);
    assert_eq!(some.query().conditions[0].predicate, Predicate::In(vec!["a".into(), "b".into()]));
    let prefix = SensorKey::scan().device_id(Prefix("s")).reverse();
    assert_eq!(
        (prefix.query().conditions[0].predicate.clone(), prefix.query().reverse),
        (Predicate::Prefix("s".into()), true)
    );
    let null = Everything::scan().number_is_null().id(1..=9);
    let number = Everything::schema().field_id("by").unwrap();
    assert_eq!(
        (null.query().conditions[0].field, null.query().conditions[0].predicate.clone()),
        (number, Predicate::IsNull)
    );
}
