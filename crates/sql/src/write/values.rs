//! Values of expressions as values of a column: what may be assigned, and what does not fit.

use std::borrow::Cow;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::error::DataFusionError;
use datafusion::scalar::ScalarValue;
use halite_rowkey::value::{FieldType, Value};

use crate::catalog::shape::TableShape;
use crate::error::{Result, SqlError, SqlState};
use crate::types::builder::{ColumnBuilder, scaled};
use crate::types::literals::{integer_of, text_of, value_of};
use crate::types::{DECIMAL, arrow_type};

/// Returns a value of an expression as a value of a column.
///
/// # Errors
/// `WrongType` for types that are not assigned to the column's, `OutOfRange`, `InvalidValue`,
/// `WrongLength`; the text names the column.
pub(super) fn assign<'v>(name: &str, ty: FieldType, scalar: &'v ScalarValue) -> Result<Value<'v>> {
    if scalar.is_null() {
        return Ok(Value::Null);
    }
    if let Some(value) = as_it_is(ty, scalar) {
        return Ok(value);
    }
    let value = match text_of(scalar) {
        Some(text) => of_text(ty, text),
        None => of_scalar(ty, scalar),
    };
    let value = value.map_err(|error| SqlError {
        message: format!("column {name}: {}", error.message),
        ..error
    })?;
    check_length(name, ty, &value)?;
    if let Value::Decimal(decimal) = &value {
        // What could not be read again.
        scaled(*decimal, DECIMAL).map_err(|what| {
            SqlError::new(SqlState::OutOfRange, format!("column {name}: {what}"))
        })?;
    }
    Ok(value)
}

/// Returns a value of the type itself, which most are: nothing can be wrong with it.
fn as_it_is(ty: FieldType, scalar: &ScalarValue) -> Option<Value<'_>> {
    match ty {
        FieldType::String | FieldType::Bytes | FieldType::F32 | FieldType::F64 => {
            value_of(ty, scalar)
        }
        _ => {
            let (least, most) = ty.integer_range()?;
            let fits = integer_of(scalar).is_some_and(|number| (least..=most).contains(&number));
            if fits { value_of(ty, scalar) } else { None }
        }
    }
}

fn of_text(ty: FieldType, text: &str) -> Result<Value<'_>> {
    let invalid = |what: String| SqlError::new(SqlState::InvalidValue, what);
    match ty {
        FieldType::String | FieldType::Char(_) => Ok(Value::Text(Cow::Borrowed(text))),
        FieldType::Bytes | FieldType::Fixed(_) => Ok(Value::Bytes(Cow::Owned(bytes_of(text)))),
        FieldType::Bool => boolean(text).map(Value::Bool).ok_or_else(|| {
            invalid(format!("{text:?} is no {ty}; true and false are, and t, f, yes, no, on, off"))
        }),
        FieldType::Timestamp(_) | FieldType::Date => {
            // As in conditions; the forms of the row-key language besides.
            let cast = ScalarValue::Utf8View(Some(text.to_owned())).cast_to(&arrow_type(ty));
            match cast.ok().as_ref().and_then(|scalar| value_of(ty, scalar)) {
                Some(value) => Ok(value.into_owned()),
                None => ty.parse(text).map_err(invalid),
            }
        }
        _ if text.eq_ignore_ascii_case("null") => Err(invalid(format!("{text:?} is no {ty}"))),
        _ => ty.parse(text.trim()).map_err(|what| {
            let has_digit = text.contains(|one: char| one.is_ascii_digit());
            let is_number = has_digit && text.trim().parse::<f64>().is_ok();
            let is_numeric = ty.integer_range().is_some()
                || matches!(ty, FieldType::F32 | FieldType::F64 | FieldType::Decimal);
            let is_outside = is_number && is_numeric;
            let state = if is_outside { SqlState::OutOfRange } else { SqlState::InvalidValue };
            SqlError::new(state, what)
        }),
    }
}

/// Reads the words that PostgreSQL takes for true and false.
fn boolean(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
        "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// Reads `\x0aff`, as PostgreSQL writes bytes; any other text is its UTF-8.
fn bytes_of(text: &str) -> Vec<u8> {
    let hex = text.strip_prefix("\\x").filter(|digits| digits.len() % 2 == 0);
    let bytes = hex.and_then(|digits| {
        let digits = digits.as_bytes();
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|one| u8::try_from(one).ok());
        digits.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
    });
    bytes.unwrap_or_else(|| text.as_bytes().to_vec())
}

fn of_scalar(ty: FieldType, scalar: &ScalarValue) -> Result<Value<'_>> {
    let from = scalar.data_type();
    if !is_assignable(&from, ty) {
        let text = format!("a value of type {from} is no {ty}; convert it by CAST");
        return Err(SqlError::new(SqlState::WrongType, text));
    }
    if let (Some((least, most)), Some(number)) = (ty.integer_range(), integer_of(scalar))
        && !(least..=most).contains(&number)
    {
        let text = format!("{number} is outside of {ty}, which goes from {least} to {most}");
        return Err(SqlError::new(SqlState::OutOfRange, text));
    }
    if ty.integer_range().is_some() && has_fraction(scalar) {
        let text = format!("{scalar} is no {ty}; round() or floor() say which number is meant");
        return Err(SqlError::new(SqlState::InvalidValue, text));
    }
    let unfit = || {
        let text = format!("{scalar} does not fit into {ty}");
        SqlError::new(SqlState::OutOfRange, text)
    };
    if ty.is_text() {
        let text = scalar.cast_to(&DataType::Utf8View)?;
        return text_of(&text)
            .map(|text| Value::Text(Cow::Owned(text.to_owned())))
            .ok_or_else(unfit);
    }
    // Bytes and decimals of any width: it is checked afterwards.
    if let (FieldType::Bytes | FieldType::Fixed(_) | FieldType::Decimal, Some(value)) =
        (ty, value_of(ty, scalar))
    {
        return Ok(value);
    }
    let cast = scalar.cast_to(&arrow_type(ty)).map_err(|_| unfit())?;
    let is_same = match (scalar, &cast) {
        (ScalarValue::Float64(Some(from)), ScalarValue::Float32(Some(to))) => {
            from.is_finite() == to.is_finite()
        }
        // Other widths than that of literals.
        (_, ScalarValue::Decimal128(..)) if from.is_decimal() => {
            cast.cast_to(&from).is_ok_and(|back| back == *scalar)
        }
        _ => true,
    };
    value_of(ty, &cast).filter(|_| is_same).map(Value::into_owned).ok_or_else(unfit)
}

fn has_fraction(scalar: &ScalarValue) -> bool {
    match scalar {
        ScalarValue::Float32(Some(number)) => number.fract() != 0.0,
        ScalarValue::Float64(Some(number)) => number.fract() != 0.0,
        ScalarValue::Decimal128(Some(digits), _, scale) => u32::try_from(*scale)
            .ok()
            .and_then(|scale| 10i128.checked_pow(scale))
            .is_some_and(|factor| digits % factor != 0),
        _ => false,
    }
}

/// Returns `true` if values of a type may be assigned to a column, as far as they fit.
pub(super) fn is_assignable(from: &DataType, ty: FieldType) -> bool {
    let is_text = matches!(from, DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8);
    let is_bytes = matches!(
        from,
        DataType::Binary
            | DataType::BinaryView
            | DataType::LargeBinary
            | DataType::FixedSizeBinary(_)
    );
    let is_time = matches!(from, DataType::Timestamp(..) | DataType::Date32 | DataType::Date64);
    if is_text || matches!(from, DataType::Null) {
        return true;
    }
    match ty {
        FieldType::Bool => matches!(from, DataType::Boolean),
        FieldType::String | FieldType::Char(_) => {
            from.is_numeric() || is_time || matches!(from, DataType::Boolean)
        }
        FieldType::Bytes
        | FieldType::Fixed(_)
        | FieldType::Uuid
        | FieldType::Ipv4
        | FieldType::Ipv6 => is_bytes,
        FieldType::Timestamp(_) | FieldType::Date => is_time,
        _ => from.is_numeric(),
    }
}

fn check_length(name: &str, ty: FieldType, value: &Value<'_>) -> Result<()> {
    let (bytes, wanted) = match (ty, value) {
        (FieldType::Char(width), Value::Text(text)) => (text.len(), width),
        (FieldType::Fixed(width), Value::Bytes(bytes)) => (bytes.len(), width),
        _ => return Ok(()),
    };
    if bytes == usize::from(wanted) {
        return Ok(());
    }
    let text = format!("column {name}: {bytes} bytes are no {ty}, which has exactly {wanted}");
    Err(SqlError::new(SqlState::WrongLength, text))
}

/// Returns the milliseconds of an interval without months.
pub(super) fn milliseconds(scalar: &ScalarValue) -> Option<u64> {
    const DAY_MS: i64 = 86_400_000;
    let milliseconds = match scalar {
        ScalarValue::IntervalMonthDayNano(Some(interval)) if interval.months == 0 => {
            i64::from(interval.days)
                .checked_mul(DAY_MS)?
                .checked_add(interval.nanoseconds / 1_000_000)?
        }
        ScalarValue::IntervalDayTime(Some(interval)) => i64::from(interval.days)
            .checked_mul(DAY_MS)?
            .checked_add(i64::from(interval.milliseconds))?,
        _ => return None,
    };
    u64::try_from(milliseconds).ok().filter(|milliseconds| *milliseconds > 0)
}

/// Returns values of columns as arrays: `rows` has the values of `columns` in their order.
///
/// # Errors
/// None in practice: the values are of the types of the columns.
pub(super) fn arrays<'v>(
    shape: &TableShape,
    columns: &[usize],
    rows: impl Iterator<Item = Vec<&'v Value<'v>>>,
) -> Result<Vec<ArrayRef>> {
    let mut builders: Vec<ColumnBuilder> = columns
        .iter()
        .map(|at| ColumnBuilder::of(shape.columns[*at].ty, &shape.columns[*at].field))
        .collect();
    for row in rows {
        for (builder, value) in builders.iter_mut().zip(row) {
            builder.append(value).map_err(|what| SqlError::new(SqlState::OutOfRange, what))?;
        }
    }
    Ok(builders.iter_mut().map(ColumnBuilder::finish).collect())
}

/// Returns a batch of arrays.
///
/// # Errors
/// None in practice: the arrays are of the schema.
pub(super) fn batch_of(schema: &Schema, arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(std::sync::Arc::new(schema.clone()), arrays, &options)
        .map_err(|error| DataFusionError::from(error).into())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{
        BinaryViewArray, Float64Array, Int32Array, Int64Array, StringViewArray,
    };

    use super::*;
    use crate::types::literals::value_at;

    fn state(ty: FieldType, scalar: impl Into<ScalarValue>) -> SqlState {
        assign("c", ty, &scalar.into()).unwrap_err().state
    }

    /// What is read from an array at once is what would be assigned.
    #[test]
    fn values_of_arrays_are_those_of_scalars() {
        let arrays: [ArrayRef; 5] = [
            Arc::new(Int64Array::from(vec![
                Some(0),
                Some(-1),
                Some(127),
                Some(128),
                Some(i64::MIN),
                None,
            ])),
            Arc::new(Int32Array::from(vec![Some(0), Some(-1), Some(65_536), None])),
            Arc::new(Float64Array::from(vec![Some(1.5), Some(2.0), Some(f64::NAN), None])),
            Arc::new(StringViewArray::from(vec![Some(""), Some("ab"), Some("7"), None])),
            Arc::new(BinaryViewArray::from(vec![Some(&b""[..]), Some(b"\\x00"), None])),
        ];
        let types = [
            FieldType::I8,
            FieldType::U16,
            FieldType::I64,
            FieldType::U64,
            FieldType::F32,
            FieldType::F64,
            FieldType::String,
            FieldType::Char(2),
            FieldType::Bytes,
            FieldType::Date,
        ];
        let mut read = 0;
        for (array, ty) in arrays.iter().flat_map(|array| types.map(|ty| (array, ty))) {
            for at in 0..array.len() {
                let Some(value) = value_at(ty, array, at) else { continue };
                let scalar = ScalarValue::try_from_array(array, at).unwrap();
                let assigned = assign("c", ty, &scalar).unwrap();
                assert!(value.compare(&assigned).is_eq(), "{ty} {scalar}: {value:?}");
                read += 1;
            }
        }
        assert_eq!(read, 30);
    }

    #[test]
    fn values_are_assigned_or_refused() {
        let of = |ty, scalar| assign("c", ty, &scalar).unwrap().into_owned();
        assert_eq!(of(FieldType::I8, ScalarValue::Int64(Some(-128))), Value::Signed(-128));
        assert_eq!(of(FieldType::I32, ScalarValue::Float64(Some(2.0))), Value::Signed(2));
        assert_eq!(of(FieldType::U8, "7".into()), Value::Unsigned(7));
        assert_eq!(of(FieldType::String, ScalarValue::Int64(Some(5))), "5".into());
        assert_eq!(of(FieldType::Bytes, "\\x00ff".into()), Value::Bytes(vec![0, 255].into()));
        assert_eq!(of(FieldType::Bytes, "\\xzz".into()), Value::Bytes(b"\\xzz".to_vec().into()));
        assert_eq!(of(FieldType::F64, ScalarValue::Int64(Some(1))), Value::F64(1.0));
        assert_eq!(of(FieldType::Date, "1970-01-02".into()), Value::Signed(1));
        assert_eq!(of(FieldType::I8, ScalarValue::Null), Value::Null);
        assert_eq!(state(FieldType::I8, ScalarValue::Int64(Some(128))), SqlState::OutOfRange);
        assert_eq!(state(FieldType::I8, "128"), SqlState::OutOfRange);
        assert_eq!(state(FieldType::I32, ScalarValue::Float64(Some(1.5))), SqlState::InvalidValue);
        assert_eq!(state(FieldType::I32, "x"), SqlState::InvalidValue);
        assert_eq!(state(FieldType::Uuid, "null"), SqlState::InvalidValue);
        assert_eq!(state(FieldType::Bool, ScalarValue::Int64(Some(1))), SqlState::WrongType);
        assert_eq!(state(FieldType::Char(3), "ab"), SqlState::WrongLength);
        assert_eq!(
            state(FieldType::Fixed(3), ScalarValue::Binary(Some(vec![1]))),
            SqlState::WrongLength
        );
    }
}
