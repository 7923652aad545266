//! Types of the row-key language as Arrow's, and values between the two.
//!
//! `cells.rs` is the only place that knows the bytes of cells: it turns them into the values of
//! `halite-rowkey`, which keys decode to as well, and back. `builder.rs` collects such values in
//! Arrow arrays, `map.rs` those of a `MAP`, of which `map_entry.rs` is one entry, `point_list.rs` those
//! of the points of a bucket row. `literals.rs` turns constants of a statement into values.

pub(crate) mod builder;
pub(crate) mod cells;
pub(crate) mod display;
pub(crate) mod literals;
pub(crate) mod map;
pub(crate) mod map_entry;
pub(crate) mod point_list;

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Fields, TimeUnit as ArrowUnit};
use halite_rowkey::language::{Column, ColumnType};
use halite_rowkey::value::{FieldType, TimeUnit};

/// Metadata of an Arrow field with the name of its type in the row-key language.
pub const TYPE_KEY: &str = "halite.type";
/// Digits and scale of a `DECIMAL` without any.
pub(crate) const DECIMAL: (u8, i8) = (38, 10);
const UTC: &str = "+00:00";

/// Returns the Arrow type of a type.
pub(crate) fn arrow_type(ty: FieldType) -> DataType {
    match ty {
        FieldType::Bool => DataType::Boolean,
        FieldType::U8 => DataType::UInt8,
        FieldType::U16 => DataType::UInt16,
        FieldType::U32 => DataType::UInt32,
        FieldType::U64 => DataType::UInt64,
        FieldType::I8 => DataType::Int8,
        FieldType::I16 => DataType::Int16,
        FieldType::I32 => DataType::Int32,
        FieldType::I64 => DataType::Int64,
        FieldType::F32 => DataType::Float32,
        FieldType::F64 => DataType::Float64,
        FieldType::Decimal => DataType::Decimal128(DECIMAL.0, DECIMAL.1),
        FieldType::String | FieldType::Char(_) => DataType::Utf8View,
        FieldType::Bytes => DataType::BinaryView,
        FieldType::Fixed(bytes) => DataType::FixedSizeBinary(i32::from(bytes)),
        FieldType::Uuid | FieldType::Ipv6 => DataType::FixedSizeBinary(16),
        FieldType::Ipv4 => DataType::FixedSizeBinary(4),
        FieldType::Timestamp(unit) => DataType::Timestamp(arrow_unit(unit), Some(UTC.into())),
        FieldType::Date => DataType::Date32,
    }
}

/// Returns the Arrow field of a column of numbers with `digits` digits, `scale` of them behind the
/// point.
pub(crate) fn decimal_field(name: &str, digits: u8, scale: u8) -> Field {
    // A column has at most as many digits behind the point as it has digits, which are few.
    let scale = i8::try_from(scale.min(digits)).unwrap_or(DECIMAL.1);
    let bare = arrow_field(name, FieldType::Decimal, true);
    bare.with_data_type(DataType::Decimal128(digits, scale))
}

/// Returns the Arrow type of a timestamp of HBase: milliseconds since 1970.
pub(crate) fn timestamp_type() -> DataType {
    DataType::Timestamp(ArrowUnit::Millisecond, Some(UTC.into()))
}

/// Returns the Arrow field of a column, which remembers the type of the language.
pub(crate) fn arrow_field(name: &str, ty: FieldType, nullable: bool) -> Field {
    let mut metadata = HashMap::from([(TYPE_KEY.to_owned(), ty.to_string())]);
    if ty == FieldType::Uuid {
        metadata.insert("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned());
    }
    Field::new(name, arrow_type(ty), nullable).with_metadata(metadata)
}

/// Returns the Arrow type of `_cells`: `'family:qualifier'` to bytes.
pub(crate) fn cells_type() -> DataType {
    let entries = Fields::from(vec![
        Field::new("keys", DataType::Utf8, false),
        Field::new("values", DataType::Binary, true),
    ]);
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false)
}

/// Returns the Arrow field of a `MAP`. Text keys are plain strings, as those that statements name.
pub(crate) fn map_field(column: &Column) -> Field {
    let (key, value) = match column.ty {
        ColumnType::Map { key, value } => (key, value),
        _ => (FieldType::Bytes, FieldType::Bytes),
    };
    let mut keys = arrow_field("keys", key, false);
    if key.is_text() {
        keys.set_data_type(DataType::Utf8);
    }
    let entries = Fields::from(vec![keys, arrow_field("values", value, true)]);
    let entries = Arc::new(Field::new("entries", DataType::Struct(entries), false));
    let metadata = HashMap::from([(TYPE_KEY.to_owned(), column.ty.to_string())]);
    Field::new(&column.name, DataType::Map(entries, false), false).with_metadata(metadata)
}

pub(crate) fn arrow_unit(unit: TimeUnit) -> ArrowUnit {
    match unit {
        TimeUnit::Millis => ArrowUnit::Millisecond,
        TimeUnit::Micros => ArrowUnit::Microsecond,
        TimeUnit::Nanos => ArrowUnit::Nanosecond,
    }
}
