//! Values of a result, as text or in their binary form.
//!
//! Each column of a batch is brought to one Arrow type per PostgreSQL type first, so that there is
//! one place for each form.

use std::sync::Arc;

use bytes::{BufMut as _, BytesMut};
use halite_sql::datafusion::arrow::array::{
    Array, ArrayRef, AsArray as _, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array,
    FixedSizeBinaryArray, Float32Array, Float64Array, Int16Array, Int32Array, Int64Array,
    IntervalMonthDayNanoArray, ListArray, StringViewArray, Time64MicrosecondArray,
    TimestampMicrosecondArray,
};
use halite_sql::datafusion::arrow::compute::{CastOptions, cast_with_options};
use halite_sql::datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Date32Type, Decimal128Type, FieldRef, Float32Type,
    Float64Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNanoType, IntervalUnit,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};

use super::types::{self, Oid};
use super::{json, numeric, text};
use crate::error::{NOT_IN_ENCODING, OUT_OF_RANGE, PgError, Result, internal};

/// Values of a column of one batch.
pub(crate) struct Column {
    oid: Oid,
    values: Values,
}

pub(super) enum Values {
    Null,
    Bool(BooleanArray),
    I16(Int16Array),
    I32(Int32Array),
    I64(Int64Array),
    F32(Float32Array),
    F64(Float64Array),
    Decimal(Decimal128Array, i8),
    Text(StringViewArray),
    Bytes(BinaryViewArray),
    Uuid(FixedSizeBinaryArray),
    Inet(FixedSizeBinaryArray),
    Date(Date32Array),
    Time(Time64MicrosecondArray),
    Timestamp(TimestampMicrosecondArray, bool),
    Interval(IntervalMonthDayNanoArray),
    List(ListArray, Box<Column>),
    Json(FieldRef, ArrayRef),
}

impl Column {
    /// Brings a column of a batch to its form.
    ///
    /// # Errors
    /// A value beyond PostgreSQL's type, a type without a form.
    pub(crate) fn new(field: &FieldRef, array: &ArrayRef) -> Result<Self> {
        if let DataType::Dictionary(_, value) = field.data_type() {
            let plain = Arc::new(field.as_ref().clone().with_data_type((**value).clone()));
            return Self::new(&plain, &cast(array, value)?);
        }
        let oid = types::oid_of(field);
        Ok(Self { oid, values: values(oid, field, array)? })
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        match &self.values {
            Values::Null => true,
            Values::Bool(array) => array.is_null(row),
            Values::I16(array) => array.is_null(row),
            Values::I32(array) => array.is_null(row),
            Values::I64(array) => array.is_null(row),
            Values::F32(array) => array.is_null(row),
            Values::F64(array) => array.is_null(row),
            Values::Decimal(array, _) => array.is_null(row),
            Values::Text(array) => array.is_null(row),
            Values::Bytes(array) => array.is_null(row),
            Values::Uuid(array) | Values::Inet(array) => array.is_null(row),
            Values::Date(array) => array.is_null(row),
            Values::Time(array) => array.is_null(row),
            Values::Timestamp(array, _) => array.is_null(row),
            Values::Interval(array) => array.is_null(row),
            Values::List(array, _) => array.is_null(row),
            Values::Json(_, array) => array.is_null(row),
        }
    }

    /// Writes the value of a row with its length.
    ///
    /// # Errors
    /// A value that has no such form, such as text with a zero byte.
    pub(crate) fn write(&self, row: usize, is_binary: bool, out: &mut BytesMut) -> Result<()> {
        if self.is_null(row) {
            out.put_i32(-1);
            return Ok(());
        }
        let start = out.len();
        out.put_i32(0);
        if is_binary {
            self.write_binary(row, out)?;
        } else {
            out.put_slice(self.text(row)?.as_bytes());
        }
        let length = i32::try_from(out.len() - start - 4)
            .map_err(|_| PgError::new(OUT_OF_RANGE, "a value is longer than 2 GiB"))?;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }

    /// Returns the text of a value that is not null.
    pub(crate) fn text(&self, row: usize) -> Result<String> {
        Ok(match &self.values {
            Values::Null => String::new(),
            Values::Bool(array) => if array.value(row) { "t" } else { "f" }.to_owned(),
            Values::I16(array) => array.value(row).to_string(),
            Values::I32(array) => array.value(row).to_string(),
            Values::I64(array) => array.value(row).to_string(),
            Values::F32(array) => text::float4(array.value(row)),
            Values::F64(array) => text::float8(array.value(row)),
            Values::Decimal(array, scale) => numeric::text(array.value(row), *scale),
            Values::Text(array) => checked(array.value(row))?.to_owned(),
            Values::Bytes(array) => text::bytea(array.value(row)),
            Values::Uuid(array) => text::uuid(array.value(row)),
            Values::Inet(array) => text::inet(array.value(row)),
            Values::Date(array) => text::date(array.value(row)),
            Values::Time(array) => text::time_of_day(array.value(row)),
            Values::Timestamp(array, is_utc) => text::timestamp(array.value(row), *is_utc),
            Values::Interval(array) => {
                let interval = array.value(row);
                text::interval(interval.months, interval.days, interval.nanoseconds / 1000)
            }
            Values::List(array, items) => list_text(array, items, row)?,
            Values::Json(field, array) => json::text(field, array, row)?,
        })
    }

    fn write_binary(&self, row: usize, out: &mut BytesMut) -> Result<()> {
        match &self.values {
            Values::Null => {}
            Values::Bool(array) => out.put_u8(u8::from(array.value(row))),
            Values::I16(array) => out.put_i16(array.value(row)),
            Values::I32(array) => out.put_i32(array.value(row)),
            Values::I64(array) => out.put_i64(array.value(row)),
            Values::F32(array) => out.put_f32(array.value(row)),
            Values::F64(array) => out.put_f64(array.value(row)),
            Values::Decimal(array, scale) => numeric::binary(array.value(row), *scale, out),
            Values::Text(array) => out.put_slice(checked(array.value(row))?.as_bytes()),
            Values::Bytes(array) => out.put_slice(array.value(row)),
            Values::Uuid(array) => out.put_slice(array.value(row)),
            Values::Inet(array) => write_inet(array.value(row), out),
            Values::Date(array) => out.put_i32(since_2000(array.value(row), text::EPOCH_DAYS)?),
            Values::Time(array) => out.put_i64(array.value(row)),
            Values::Timestamp(array, _) => {
                out.put_i64(since_2000(array.value(row), text::EPOCH_MICROS)?);
            }
            Values::Interval(array) => {
                let interval = array.value(row);
                out.put_i64(interval.nanoseconds / 1000);
                out.put_i32(interval.days);
                out.put_i32(interval.months);
            }
            Values::List(array, items) => write_list(array, items, row, out)?,
            Values::Json(field, array) => {
                // Version of the form.
                out.put_u8(1);
                out.put_slice(json::text(field, array, row)?.as_bytes());
            }
        }
        Ok(())
    }
}

fn values(oid: Oid, field: &FieldRef, array: &ArrayRef) -> Result<Values> {
    let to = |ty: &DataType| cast(array, ty);
    Ok(match oid {
        types::BOOL => Values::Bool(array.as_boolean().clone()),
        types::INT2 => Values::I16(to(&DataType::Int16)?.as_primitive::<Int16Type>().clone()),
        types::INT4 => Values::I32(to(&DataType::Int32)?.as_primitive::<Int32Type>().clone()),
        types::INT8 => Values::I64(to(&DataType::Int64)?.as_primitive::<Int64Type>().clone()),
        types::FLOAT4 => Values::F32(to(&DataType::Float32)?.as_primitive::<Float32Type>().clone()),
        types::FLOAT8 => Values::F64(to(&DataType::Float64)?.as_primitive::<Float64Type>().clone()),
        types::NUMERIC => {
            let (digits, scale) = match field.data_type() {
                DataType::UInt64 => (20, 0),
                DataType::Decimal32(digits, scale)
                | DataType::Decimal64(digits, scale)
                | DataType::Decimal128(digits, scale) => (*digits, *scale),
                DataType::Decimal256(_, scale) => (DECIMAL128_MAX_PRECISION, *scale),
                other => return Err(internal(format!("{other} is no number"))),
            };
            let array = to(&DataType::Decimal128(digits, scale))?;
            Values::Decimal(array.as_primitive::<Decimal128Type>().clone(), scale)
        }
        types::UUID | types::INET => {
            let array = array.as_fixed_size_binary().clone();
            if oid == types::UUID { Values::Uuid(array) } else { Values::Inet(array) }
        }
        types::BYTEA => Values::Bytes(bytes(array)?),
        types::DATE => Values::Date(to(&DataType::Date32)?.as_primitive::<Date32Type>().clone()),
        types::TIME => {
            let array = to(&DataType::Time64(TimeUnit::Microsecond))?;
            Values::Time(array.as_primitive::<Time64MicrosecondType>().clone())
        }
        types::TIMESTAMP | types::TIMESTAMPTZ => {
            let DataType::Timestamp(_, zone) = field.data_type() else {
                return Err(internal("a time is of another type"));
            };
            let array = to(&DataType::Timestamp(TimeUnit::Microsecond, zone.clone()))?;
            let array = array.as_primitive::<TimestampMicrosecondType>().clone();
            Values::Timestamp(array, zone.is_some())
        }
        types::INTERVAL => {
            let array = to(&DataType::Interval(IntervalUnit::MonthDayNano))?;
            Values::Interval(array.as_primitive::<IntervalMonthDayNanoType>().clone())
        }
        types::JSONB => Values::Json(Arc::clone(field), Arc::clone(array)),
        _ if *field.data_type() == DataType::Null => Values::Null,
        _ => match field.data_type() {
            DataType::List(of) | DataType::LargeList(of) | DataType::FixedSizeList(of, _) => {
                let array = to(&DataType::List(Arc::clone(of)))?.as_list::<i32>().clone();
                let items = Column::new(of, array.values())?;
                Values::List(array, Box::new(items))
            }
            _ => Values::Text(to(&DataType::Utf8View)?.as_string_view().clone()),
        },
    })
}

fn bytes(array: &ArrayRef) -> Result<BinaryViewArray> {
    let array = match array.data_type() {
        DataType::FixedSizeBinary(_) => cast(array, &DataType::Binary)?,
        _ => Arc::clone(array),
    };
    Ok(cast(&array, &DataType::BinaryView)?.as_binary_view().clone())
}

/// Casts; what does not fit is an error and not null.
fn cast(array: &ArrayRef, ty: &DataType) -> Result<ArrayRef> {
    if array.data_type() == ty {
        return Ok(Arc::clone(array));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    Ok(cast_with_options(array, ty, &options)?)
}

fn since_2000<T>(value: T, epoch: T) -> Result<T>
where
    T: Copy + CheckedSub,
{
    value
        .checked_sub_of(epoch)
        .ok_or_else(|| PgError::new(OUT_OF_RANGE, "a time is before those of PostgreSQL"))
}

/// Subtraction that tells an overflow.
trait CheckedSub: Sized {
    fn checked_sub_of(self, other: Self) -> Option<Self>;
}

impl CheckedSub for i32 {
    fn checked_sub_of(self, other: Self) -> Option<Self> {
        self.checked_sub(other)
    }
}

impl CheckedSub for i64 {
    fn checked_sub_of(self, other: Self) -> Option<Self> {
        self.checked_sub(other)
    }
}

/// PostgreSQL's text has no zero bytes.
fn checked(value: &str) -> Result<&str> {
    if value.contains('\0') {
        let text = "a value has the letter U+0000, which PostgreSQL's text cannot; select it as \
                    bytes: arrow_cast(c, 'Binary')";
        return Err(PgError::new(NOT_IN_ENCODING, text));
    }
    Ok(value)
}

fn write_inet(bytes: &[u8], out: &mut BytesMut) {
    const IPV4: u8 = 2;
    const IPV6: u8 = 3;
    let length = u8::try_from(bytes.len()).unwrap_or(0);
    out.put_u8(if length == 4 { IPV4 } else { IPV6 });
    out.put_u8(length * 8);
    // An address, and no network.
    out.put_u8(0);
    out.put_u8(length);
    out.put_slice(bytes);
}

/// Returns the positions of the items of a row.
fn range(array: &ListArray, row: usize) -> std::ops::Range<usize> {
    let offset = |at: usize| array.value_offsets().get(at).copied().unwrap_or(0);
    let position = |offset: i32| usize::try_from(offset).unwrap_or(0);
    position(offset(row))..position(offset(row + 1))
}

fn list_text(array: &ListArray, items: &Column, row: usize) -> Result<String> {
    let mut parts = Vec::new();
    for at in range(array, row) {
        if items.is_null(at) {
            parts.push("NULL".to_owned());
            continue;
        }
        let item = items.text(at)?;
        let is_plain = !item.is_empty()
            && !item.eq_ignore_ascii_case("null")
            && !item.contains(|letter: char| {
                letter.is_whitespace() || matches!(letter, '{' | '}' | ',' | '"' | '\\')
            });
        parts.push(if is_plain {
            item
        } else {
            format!("\"{}\"", item.replace('\\', "\\\\").replace('"', "\\\""))
        });
    }
    Ok(format!("{{{}}}", parts.join(",")))
}

fn write_list(array: &ListArray, items: &Column, row: usize, out: &mut BytesMut) -> Result<()> {
    let range = range(array, row);
    let count = i32::try_from(range.len()).unwrap_or(i32::MAX);
    // Dimensions, whether there are nulls, the type; then the length and the first number.
    out.put_i32(i32::from(count > 0));
    out.put_i32(i32::from(range.clone().any(|at| items.is_null(at))));
    out.put_u32(items.oid);
    if count > 0 {
        out.put_i32(count);
        out.put_i32(1);
    }
    range.into_iter().try_for_each(|at| items.write(at, true, out))
}
