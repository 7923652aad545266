//! Arrow arrays of values of one type.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryBuilder, BinaryViewBuilder, BooleanBuilder, Date32Builder, Decimal128Builder,
    FixedSizeBinaryBuilder, Float32Builder, Float64Builder, Int8Builder, Int16Builder,
    Int32Builder, Int64Builder, MapBuilder, StringBuilder, StringViewBuilder,
    TimestampMicrosecondBuilder, TimestampMillisecondBuilder, TimestampNanosecondBuilder,
    UInt8Builder, UInt16Builder, UInt32Builder, UInt64Builder,
};
use datafusion::arrow::datatypes::{DataType, Field};
use halite_rowkey::value::{Decimal, FieldType, TimeUnit, Value};

use super::{DECIMAL, UTC};

/// Values that an array has room for at first: most answers have few rows.
const FIRST_VALUES: usize = 64;

/// Array that grows by one value at a time.
pub(crate) enum ColumnBuilder {
    Bool(BooleanBuilder),
    U8(UInt8Builder),
    U16(UInt16Builder),
    U32(UInt32Builder),
    U64(UInt64Builder),
    I8(Int8Builder),
    I16(Int16Builder),
    I32(Int32Builder),
    I64(Int64Builder),
    F32(Float32Builder),
    F64(Float64Builder),
    Decimal(Decimal128Builder, (u8, i8)),
    Text(StringViewBuilder),
    Bytes(BinaryViewBuilder),
    Fixed(FixedSizeBinaryBuilder, usize),
    Millis(TimestampMillisecondBuilder),
    Micros(TimestampMicrosecondBuilder),
    Nanos(TimestampNanosecondBuilder),
    Date(Date32Builder),
}

/// Calls a method on the builder of any type.
macro_rules! each {
    ($self:expr, $builder:ident => $call:expr) => {
        match $self {
            ColumnBuilder::Bool($builder) => $call,
            ColumnBuilder::U8($builder) => $call,
            ColumnBuilder::U16($builder) => $call,
            ColumnBuilder::U32($builder) => $call,
            ColumnBuilder::U64($builder) => $call,
            ColumnBuilder::I8($builder) => $call,
            ColumnBuilder::I16($builder) => $call,
            ColumnBuilder::I32($builder) => $call,
            ColumnBuilder::I64($builder) => $call,
            ColumnBuilder::F32($builder) => $call,
            ColumnBuilder::F64($builder) => $call,
            ColumnBuilder::Decimal($builder, _) => $call,
            ColumnBuilder::Text($builder) => $call,
            ColumnBuilder::Bytes($builder) => $call,
            ColumnBuilder::Fixed($builder, _) => $call,
            ColumnBuilder::Millis($builder) => $call,
            ColumnBuilder::Micros($builder) => $call,
            ColumnBuilder::Nanos($builder) => $call,
            ColumnBuilder::Date($builder) => $call,
        }
    };
}

impl ColumnBuilder {
    /// Creates an empty array of a type.
    pub(crate) fn new(ty: FieldType) -> Self {
        match ty {
            FieldType::Bool => Self::Bool(BooleanBuilder::with_capacity(FIRST_VALUES)),
            FieldType::U8 => Self::U8(UInt8Builder::with_capacity(FIRST_VALUES)),
            FieldType::U16 => Self::U16(UInt16Builder::with_capacity(FIRST_VALUES)),
            FieldType::U32 => Self::U32(UInt32Builder::with_capacity(FIRST_VALUES)),
            FieldType::U64 => Self::U64(UInt64Builder::with_capacity(FIRST_VALUES)),
            FieldType::I8 => Self::I8(Int8Builder::with_capacity(FIRST_VALUES)),
            FieldType::I16 => Self::I16(Int16Builder::with_capacity(FIRST_VALUES)),
            FieldType::I32 => Self::I32(Int32Builder::with_capacity(FIRST_VALUES)),
            FieldType::I64 => Self::I64(Int64Builder::with_capacity(FIRST_VALUES)),
            FieldType::F32 => Self::F32(Float32Builder::with_capacity(FIRST_VALUES)),
            FieldType::F64 => Self::F64(Float64Builder::with_capacity(FIRST_VALUES)),
            FieldType::Decimal => Self::decimal(DECIMAL),
            FieldType::String | FieldType::Char(_) => {
                Self::Text(StringViewBuilder::with_capacity(FIRST_VALUES))
            }
            FieldType::Bytes => Self::Bytes(BinaryViewBuilder::with_capacity(FIRST_VALUES)),
            FieldType::Fixed(bytes) => Self::fixed(bytes),
            FieldType::Uuid | FieldType::Ipv6 => Self::fixed(16),
            FieldType::Ipv4 => Self::fixed(4),
            FieldType::Timestamp(TimeUnit::Millis) => Self::Millis(
                TimestampMillisecondBuilder::with_capacity(FIRST_VALUES).with_timezone(UTC),
            ),
            FieldType::Timestamp(TimeUnit::Micros) => Self::Micros(
                TimestampMicrosecondBuilder::with_capacity(FIRST_VALUES).with_timezone(UTC),
            ),
            FieldType::Timestamp(TimeUnit::Nanos) => Self::Nanos(
                TimestampNanosecondBuilder::with_capacity(FIRST_VALUES).with_timezone(UTC),
            ),
            FieldType::Date => Self::Date(Date32Builder::with_capacity(FIRST_VALUES)),
        }
    }

    /// Creates an empty array of the values of a column, which may have declared digits.
    pub(crate) fn of(ty: FieldType, field: &Field) -> Self {
        match *field.data_type() {
            DataType::Decimal128(digits, scale) if ty == FieldType::Decimal => {
                Self::decimal((digits, scale))
            }
            _ => Self::new(ty),
        }
    }

    fn decimal((digits, scale): (u8, i8)) -> Self {
        let builder = Decimal128Builder::with_capacity(FIRST_VALUES)
            .with_precision_and_scale(digits, scale)
            .expect("the digits of a DECIMAL are in range");
        Self::Decimal(builder, (digits, scale))
    }

    fn fixed(bytes: u16) -> Self {
        let builder = FixedSizeBinaryBuilder::with_capacity(FIRST_VALUES, i32::from(bytes));
        Self::Fixed(builder, usize::from(bytes))
    }

    /// Appends a value.
    ///
    /// # Errors
    /// Why the type cannot hold it, as the end of a sentence.
    pub(crate) fn append(&mut self, value: &Value<'_>) -> Result<(), String> {
        match (&mut *self, value) {
            (_, Value::Null) => self.append_null(),
            (Self::Bool(builder), Value::Bool(value)) => builder.append_value(*value),
            (_, Value::Unsigned(number)) => return self.append_number(i128::from(*number)),
            (_, Value::Signed(number)) => return self.append_number(i128::from(*number)),
            (Self::F32(builder), Value::F32(value)) => builder.append_value(*value),
            (Self::F64(builder), Value::F64(value)) => builder.append_value(*value),
            (Self::Decimal(builder, digits), Value::Decimal(value)) => {
                builder.append_value(scaled(*value, *digits)?);
            }
            (Self::Text(builder), Value::Text(text)) => builder.append_value(text),
            (Self::Bytes(builder), Value::Bytes(bytes)) => builder.append_value(bytes),
            (Self::Fixed(..), Value::Bytes(bytes)) => return self.append_fixed(bytes),
            (Self::Fixed(..), Value::Uuid(bytes)) => return self.append_fixed(bytes),
            (Self::Fixed(..), Value::Ipv4(address)) => return self.append_fixed(&address.octets()),
            (Self::Fixed(..), Value::Ipv6(address)) => return self.append_fixed(&address.octets()),
            (_, other) => return Err(format!("it is {}", other.kind_name())),
        }
        Ok(())
    }

    fn append_number(&mut self, number: i128) -> Result<(), String> {
        let outside = || format!("{number} is outside of the type");
        macro_rules! number {
            ($builder:expr) => {
                $builder.append_value(number.try_into().map_err(|_| outside())?)
            };
        }
        match self {
            Self::U8(builder) => number!(builder),
            Self::U16(builder) => number!(builder),
            Self::U32(builder) => number!(builder),
            Self::U64(builder) => number!(builder),
            Self::I8(builder) => number!(builder),
            Self::I16(builder) => number!(builder),
            Self::I32(builder) => number!(builder),
            Self::I64(builder) => number!(builder),
            Self::Millis(builder) => number!(builder),
            Self::Micros(builder) => number!(builder),
            Self::Nanos(builder) => number!(builder),
            Self::Date(builder) => number!(builder),
            _ => return Err(format!("{number} is a number")),
        }
        Ok(())
    }

    fn append_fixed(&mut self, bytes: &[u8]) -> Result<(), String> {
        let Self::Fixed(builder, width) = self else { return Err("it is bytes".to_owned()) };
        if bytes.len() != *width {
            return Err(format!("it has {} bytes instead of {width}", bytes.len()));
        }
        builder.append_value(bytes).map_err(|error| error.to_string())
    }

    /// Appends null.
    pub(crate) fn append_null(&mut self) {
        each!(self, builder => builder.append_null());
    }

    /// Returns the array, and begins an empty one.
    pub(crate) fn finish(&mut self) -> ArrayRef {
        each!(self, builder => Arc::new(builder.finish()))
    }
}

/// Returns the digits of a decimal with a scale, at most `digits` of them.
///
/// # Errors
/// The decimal, if it has more digits.
pub(crate) fn scaled(value: Decimal, (digits, scale): (u8, i8)) -> Result<i128, String> {
    let shift = value.exponent().checked_add(i32::from(scale));
    let fits = shift
        .and_then(|shift| u32::try_from(shift).ok())
        .and_then(|shift| 10i128.checked_pow(shift))
        .and_then(|factor| value.coefficient().checked_mul(factor))
        .filter(|number| number.unsigned_abs() < 10u128.pow(u32::from(digits)));
    fits.ok_or_else(|| format!("{value} does not fit DECIMAL({digits}, {scale})"))
}

/// Arrays of `_cells`.
pub(crate) struct CellsBuilder(MapBuilder<StringBuilder, BinaryBuilder>);

impl CellsBuilder {
    pub(crate) fn new() -> Self {
        Self(MapBuilder::new(None, StringBuilder::new(), BinaryBuilder::new()))
    }

    /// Adds a cell to the map of the current row.
    pub(crate) fn push(&mut self, name: &str, value: &[u8]) {
        self.0.keys().append_value(name);
        self.0.values().append_value(value);
    }

    /// Ends the map of the current row.
    pub(crate) fn end_row(&mut self) -> Result<(), String> {
        self.0.append(true).map_err(|error| error.to_string())
    }

    pub(crate) fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::Array as _;

    use super::*;
    use crate::types::{arrow_type, cells_type, decimal_field};

    #[test]
    fn every_type_has_an_array_of_its_arrow_type() {
        let samples = [
            (FieldType::Bool, Value::Bool(true)),
            (FieldType::U8, Value::Unsigned(255)),
            (FieldType::U16, Value::Unsigned(1)),
            (FieldType::U32, Value::Unsigned(1)),
            (FieldType::U64, Value::Unsigned(u64::MAX)),
            (FieldType::I8, Value::Signed(-1)),
            (FieldType::I16, Value::Signed(-1)),
            (FieldType::I32, Value::Signed(-1)),
            (FieldType::I64, Value::Signed(i64::MIN)),
            (FieldType::F32, Value::F32(0.5)),
            (FieldType::F64, Value::F64(f64::NAN)),
            (FieldType::Decimal, Value::Decimal(Decimal::new(314, -2).unwrap())),
            (FieldType::String, "".into()),
            (FieldType::Char(3), "abc".into()),
            (FieldType::Bytes, b"\0".as_slice().into()),
            (FieldType::Fixed(2), b"ab".as_slice().into()),
            (FieldType::Uuid, Value::Uuid([7; 16])),
            (FieldType::Ipv4, Value::Ipv4([10, 0, 0, 1].into())),
            (FieldType::Ipv6, Value::Ipv6([0; 16].into())),
            (FieldType::Timestamp(TimeUnit::Millis), Value::Signed(1)),
            (FieldType::Timestamp(TimeUnit::Micros), Value::Signed(1)),
            (FieldType::Timestamp(TimeUnit::Nanos), Value::Signed(1)),
            (FieldType::Date, Value::Signed(-1)),
        ];
        for (ty, value) in samples {
            let mut builder = ColumnBuilder::new(ty);
            builder.append(&value).unwrap();
            builder.append(&Value::Null).unwrap();
            let array = builder.finish();
            assert_eq!(array.data_type(), &arrow_type(ty), "{ty}");
            assert_eq!((array.len(), array.null_count()), (2, 1), "{ty}");
        }
        assert_eq!(CellsBuilder::new().finish().data_type(), &cells_type());
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let refused = |ty, value: Value<'_>| ColumnBuilder::new(ty).append(&value).unwrap_err();
        assert_eq!(refused(FieldType::I8, Value::Signed(300)), "300 is outside of the type");
        let tiny = Value::Decimal(Decimal::new(1, -11).unwrap());
        assert!(refused(FieldType::Decimal, tiny).contains("does not fit DECIMAL(38, 10)"));
        let huge = Value::Decimal(Decimal::new(1, 28).unwrap());
        assert!(refused(FieldType::Decimal, huge).contains("does not fit"));
        let field = decimal_field("c", 6, 2);
        let mut money = ColumnBuilder::of(FieldType::Decimal, &field);
        let decimal = |digits, exponent| Value::Decimal(Decimal::new(digits, exponent).unwrap());
        money.append(&decimal(-123_456, -2)).unwrap();
        for (digits, exponent) in [(1, -3), (12_345, 0), (1, 4)] {
            let refused = money.append(&decimal(digits, exponent)).unwrap_err();
            assert!(refused.contains("does not fit DECIMAL(6, 2)"), "{refused}");
        }
        assert_eq!(money.finish().data_type(), field.data_type());
        assert!(refused(FieldType::Uuid, b"ab".as_slice().into()).contains("2 bytes"));
        assert!(refused(FieldType::Bool, "x".into()).contains("text"));
    }
}
