//! PostgreSQL's types of columns and parameters.

use halite_sql::TYPE_KEY;
use halite_sql::datafusion::arrow::datatypes::{DataType, Field, TimeUnit};

use crate::wire::backend::ColumnDescription;

/// Number of a type.
pub(crate) type Oid = u32;

pub(crate) const BOOL: Oid = 16;
pub(crate) const BYTEA: Oid = 17;
pub(crate) const CHAR: Oid = 18;
pub(crate) const NAME: Oid = 19;
pub(crate) const INT8: Oid = 20;
pub(crate) const INT2: Oid = 21;
pub(crate) const INT4: Oid = 23;
pub(crate) const TEXT: Oid = 25;
pub(crate) const OID: Oid = 26;
pub(crate) const JSON: Oid = 114;
pub(crate) const FLOAT4: Oid = 700;
pub(crate) const FLOAT8: Oid = 701;
pub(crate) const UNKNOWN: Oid = 705;
pub(crate) const INET: Oid = 869;
pub(crate) const BPCHAR: Oid = 1042;
pub(crate) const VARCHAR: Oid = 1043;
pub(crate) const DATE: Oid = 1082;
pub(crate) const TIME: Oid = 1083;
pub(crate) const TIMESTAMP: Oid = 1114;
pub(crate) const TIMESTAMPTZ: Oid = 1184;
pub(crate) const INTERVAL: Oid = 1186;
pub(crate) const NUMERIC: Oid = 1700;
pub(crate) const UUID: Oid = 2950;
pub(crate) const JSONB: Oid = 3802;

/// A type: its number, its name, its bytes (-1 for any), and the number of its array type.
pub(crate) struct PgType {
    pub(crate) oid: Oid,
    pub(crate) name: &'static str,
    /// Name that the standard gives it.
    pub(crate) long_name: &'static str,
    pub(crate) bytes: i16,
    pub(crate) array: Oid,
    /// Letter of its category.
    pub(crate) category: &'static str,
}

const fn ty(
    oid: Oid,
    name: &'static str,
    long_name: &'static str,
    bytes: i16,
    array: Oid,
    category: &'static str,
) -> PgType {
    PgType { oid, name, long_name, bytes, array, category }
}

/// All types that columns and parameters have.
pub(crate) const TYPES: &[PgType] = &[
    ty(BOOL, "bool", "boolean", 1, 1000, "B"),
    ty(BYTEA, "bytea", "bytea", -1, 1001, "U"),
    ty(CHAR, "char", "\"char\"", 1, 1002, "Z"),
    ty(NAME, "name", "name", 64, 1003, "S"),
    ty(INT8, "int8", "bigint", 8, 1016, "N"),
    ty(INT2, "int2", "smallint", 2, 1005, "N"),
    ty(INT4, "int4", "integer", 4, 1007, "N"),
    ty(TEXT, "text", "text", -1, 1009, "S"),
    ty(OID, "oid", "oid", 4, 1028, "N"),
    ty(JSON, "json", "json", -1, 199, "U"),
    ty(FLOAT4, "float4", "real", 4, 1021, "N"),
    ty(FLOAT8, "float8", "double precision", 8, 1022, "N"),
    ty(UNKNOWN, "unknown", "unknown", -2, 0, "X"),
    ty(INET, "inet", "inet", -1, 1041, "I"),
    ty(BPCHAR, "bpchar", "character", -1, 1014, "S"),
    ty(VARCHAR, "varchar", "character varying", -1, 1015, "S"),
    ty(DATE, "date", "date", 4, 1182, "D"),
    ty(TIME, "time", "time without time zone", 8, 1183, "D"),
    ty(TIMESTAMP, "timestamp", "timestamp without time zone", 8, 1115, "D"),
    ty(TIMESTAMPTZ, "timestamptz", "timestamp with time zone", 8, 1185, "D"),
    ty(INTERVAL, "interval", "interval", 16, 1187, "T"),
    ty(NUMERIC, "numeric", "numeric", -1, 1231, "N"),
    ty(UUID, "uuid", "uuid", 16, 2951, "U"),
    ty(JSONB, "jsonb", "jsonb", -1, 3807, "U"),
];

/// Returns a type by its number.
pub(crate) fn by_oid(oid: Oid) -> Option<&'static PgType> {
    TYPES.iter().find(|ty| ty.oid == oid)
}

/// Returns the type of values of a field.
pub(crate) fn oid_of(field: &Field) -> Oid {
    let declared = field.metadata().get(TYPE_KEY).map_or("", String::as_str);
    match field.data_type() {
        DataType::Boolean => BOOL,
        DataType::Int8 | DataType::Int16 | DataType::UInt8 => INT2,
        DataType::Int32 | DataType::UInt16 => INT4,
        DataType::Int64 | DataType::UInt32 => INT8,
        DataType::UInt64
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => NUMERIC,
        DataType::Float16 | DataType::Float32 => FLOAT4,
        DataType::Float64 => FLOAT8,
        DataType::FixedSizeBinary(_) if declared == "UUID" => UUID,
        DataType::FixedSizeBinary(_) if declared == "IPV4" || declared == "IPV6" => INET,
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => BYTEA,
        DataType::Date32 | DataType::Date64 => DATE,
        DataType::Time32(_) | DataType::Time64(_) => TIME,
        DataType::Timestamp(_, Some(_)) => TIMESTAMPTZ,
        DataType::Timestamp(_, None) => TIMESTAMP,
        DataType::Interval(_) | DataType::Duration(_) => INTERVAL,
        DataType::Map(..) | DataType::Struct(_) => JSONB,
        DataType::List(of) | DataType::LargeList(of) | DataType::FixedSizeList(of, _) => {
            by_oid(oid_of(of)).map_or(JSONB, |ty| ty.array)
        }
        DataType::Dictionary(_, value) => oid_of(&field.clone().with_data_type((**value).clone())),
        _ if declared.starts_with("CHAR(") => BPCHAR,
        _ => TEXT,
    }
}

/// Returns the Arrow type of a parameter that a client gives a type; `None` where the statement
/// decides.
pub(crate) fn arrow_of(oid: Oid) -> Option<DataType> {
    Some(match oid {
        BOOL => DataType::Boolean,
        INT2 => DataType::Int16,
        INT4 => DataType::Int32,
        INT8 | OID => DataType::Int64,
        FLOAT4 => DataType::Float32,
        FLOAT8 => DataType::Float64,
        BYTEA => DataType::BinaryView,
        DATE => DataType::Date32,
        TIMESTAMP => DataType::Timestamp(TimeUnit::Microsecond, None),
        TIMESTAMPTZ => DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
        // The digits behind the point are those of the column; text is compared with text, and
        // UUIDs and addresses are read where a column tells their type.
        _ => return None,
    })
}

/// Returns the description of a column for clients.
pub(crate) fn description(field: &Field, format: i16) -> ColumnDescription {
    let type_oid = oid_of(field);
    let declared = field.metadata().get(TYPE_KEY).map_or("", String::as_str);
    let letters = declared.strip_prefix("CHAR(").and_then(|rest| rest.strip_suffix(')'));
    let type_detail = match field.data_type() {
        // Digits and scale, and what PostgreSQL adds.
        DataType::Decimal128(digits, scale @ 0..) => {
            ((i32::from(*digits) << 16) | i32::from(*scale)) + 4
        }
        _ => letters.and_then(|letters| letters.parse::<i32>().ok()).map_or(-1, |count| count + 4),
    };
    ColumnDescription {
        name: field.name().clone(),
        type_oid,
        type_bytes: by_oid(type_oid).map_or(-1, |ty| ty.bytes),
        type_detail,
        format,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn field(data_type: DataType, declared: &str) -> Field {
        let metadata = HashMap::from([(TYPE_KEY.to_owned(), declared.to_owned())]);
        Field::new("c", data_type, true).with_metadata(metadata)
    }

    #[test]
    fn declared_types_decide() {
        assert_eq!(oid_of(&field(DataType::FixedSizeBinary(16), "UUID")), UUID);
        assert_eq!(oid_of(&field(DataType::FixedSizeBinary(16), "IPV6")), INET);
        assert_eq!(oid_of(&field(DataType::FixedSizeBinary(16), "BYTES(16)")), BYTEA);
        assert_eq!(oid_of(&field(DataType::Utf8View, "CHAR(3)")), BPCHAR);
        assert_eq!(description(&field(DataType::Utf8View, "CHAR(3)"), 0).type_detail, 7);
        assert_eq!(description(&field(DataType::Utf8View, "STRING"), 0).type_detail, -1);
        let list = DataType::List(field(DataType::Int64, "").into());
        assert_eq!(oid_of(&field(list, "")), 1016);
    }

    #[test]
    fn numbers_that_do_not_fit_are_of_a_larger_type() {
        assert_eq!(oid_of(&field(DataType::UInt8, "U8")), INT2);
        assert_eq!(oid_of(&field(DataType::UInt16, "U16")), INT4);
        assert_eq!(oid_of(&field(DataType::UInt32, "U32")), INT8);
        assert_eq!(oid_of(&field(DataType::UInt64, "U64")), NUMERIC);
    }
}
