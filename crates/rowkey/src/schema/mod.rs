//! The declared row key: logical fields, and the segments that carry them in the order of the
//! bytes.
//!
//! A field is the unit of a query. A segment is a part of the key: it *carries* a field (plain,
//! reversed, as the id of a dictionary), or it is *derived* from fields (salt, hash), or both in
//! part: a bucket or a truncation carries what it can of a field that no other segment carries. A
//! field that only a hash contains can be queried by equality, but not decoded.
//!
//! ```text
//!   fields      device_id STRING                ts TIMESTAMP
//!                  |      \                       |
//!   segments  SALT(16)   device_id STRING      ts DESC
//!   bytes       01       73..31 00 01        7f ff fe 71 ..
//! ```

mod check;
mod error;
mod key_schema;
mod segment;

pub use error::SchemaError;
pub use key_schema::KeySchema;
pub use segment::{
    Field, FieldId, HashFunction, MAX_SALTS, MAX_SEGMENTS, Order, Profile, Segment, SegmentKind,
};

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::value::{FieldType, TimeUnit};

    fn field(name: &str, ty: FieldType) -> Field {
        Field { name: name.into(), ty, pattern: None }
    }

    fn salt(count: u32) -> Segment {
        Segment::new(SegmentKind::Salt { count, by: vec![0], function: HashFunction::Murmur3 })
    }

    fn plain(field: FieldId) -> Segment {
        Segment::new(SegmentKind::Plain(field))
    }

    fn sensor_fields() -> Vec<Field> {
        vec![
            field("device_id", FieldType::String),
            field("ts", FieldType::Timestamp(TimeUnit::Millis)),
        ]
    }

    #[test]
    fn schema_returns_field_carriers_and_salt_inputs() {
        let all = Segment::new(SegmentKind::Salt {
            count: 16,
            by: Vec::new(),
            function: HashFunction::Murmur3,
        });
        let schema =
            KeySchema::new(Profile::Bin, sensor_fields(), vec![all, plain(0), plain(1).desc()])
                .unwrap();
        assert_eq!((schema.carrier(0), schema.carrier(1)), (Some(1), Some(2)));
        assert_eq!(schema.hashed_fields(0), [0, 1]);
        let hourly = Segment::new(SegmentKind::Bucket { field: 1, width: 3_600_000 });
        let schema = KeySchema::new(Profile::Bin, sensor_fields(), vec![plain(0), hourly]).unwrap();
        assert_eq!(schema.carrier(1), None);
        let replaced = Segment::new(SegmentKind::Hash {
            by: vec![0],
            bytes: 8,
            function: HashFunction::Md5,
            hex: false,
        });
        let schema =
            KeySchema::new(Profile::Bin, sensor_fields(), vec![replaced, plain(1)]).unwrap();
        assert_eq!(schema.carrier(0), None);
    }

    #[test]
    fn invalid_schemas_are_rejected_with_a_fix() {
        let hash = |bytes, function| {
            Segment::new(SegmentKind::Hash { by: vec![0], bytes, function, hex: true })
        };
        let remainder = Segment::new(SegmentKind::Salt {
            count: 5,
            by: vec![0],
            function: HashFunction::Modulo,
        });
        let refused = [
            (vec![], "name at least one"),
            (vec![salt(0), plain(0), plain(1)], "1 to 65536 salts"),
            (vec![salt(65_537), plain(0), plain(1)], "1 to 65536 salts"),
            (vec![remainder, plain(0), plain(1)], "one integer field"),
            (vec![salt(16), plain(1)], "field device_id is only in a salt"),
            (vec![plain(0), plain(0), plain(1)], "2 times"),
            (vec![plain(0), plain(2), plain(1)], "names field 2"),
            (vec![salt(16).desc(), plain(0), plain(1)], "only fields are DESC"),
            (vec![hash(17, HashFunction::Md5), plain(0), plain(1)], "md5 gives 16 bytes"),
            (vec![hash(1, HashFunction::Random), plain(0), plain(1)], "use SALT"),
            (
                vec![Segment::new(SegmentKind::Bucket { field: 0, width: 5 }), plain(0), plain(1)],
                "BUCKET takes",
            ),
            (
                vec![Segment::new(SegmentKind::Bucket { field: 1, width: 0 }), plain(0), plain(1)],
                "holds nothing",
            ),
            (
                vec![Segment::new(SegmentKind::Dict { field: 0, bytes: 9 }), plain(1)],
                "1 to 8 bytes",
            ),
            (vec![Segment::new(SegmentKind::BitReverse(0)), plain(1)], "BITREV takes"),
            (
                vec![Segment::new(SegmentKind::Const(Bytes::new())), plain(0), plain(1)],
                "leave it out",
            ),
        ];
        for (segments, expected) in refused {
            let said =
                KeySchema::new(Profile::Bin, sensor_fields(), segments).unwrap_err().to_string();
            assert!(said.contains(expected), "wanted {expected:?}: {said}");
        }
    }
}
