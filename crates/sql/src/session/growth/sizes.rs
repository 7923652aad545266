//! Sizes of results from the sizes of arguments: what they have at most.

use datafusion::arrow::array::{Array as _, ArrayRef, AsArray as _, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, IntervalMonthDayNanoType, TimeUnit};
use datafusion::logical_expr::ColumnarValue;

/// How the result of a function grows with its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Growth {
    /// Text times a number.
    Repeat,
    /// Text filled to a number of letters.
    Pad,
    /// Text in which parts are replaced.
    Replace,
    /// The same, of which letters alone match.
    ReplaceMatches,
    /// A list with a number of equal items.
    RepeatItem,
    /// A list of a number of items.
    Resize,
    /// A list of numbers or times.
    Series,
    /// All arguments together, twice.
    Inputs,
}

/// How the time of a function grows, where it is more than with the bytes of its arguments: with
/// the product of two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Product {
    /// Letters of both.
    Letters,
    /// Bytes of both, many of which are compared at once.
    Bytes,
    /// Items of both lists.
    Items,
}

/// Returns the growth of the time of a function; `None` for one that takes as long as its arguments
/// are.
pub(super) fn product_of(name: &str) -> Option<Product> {
    Some(match name {
        "levenshtein" | "btrim" | "ltrim" | "rtrim" => Product::Letters,
        "strpos" => Product::Bytes,
        "array_has_all" | "array_has_any" => Product::Items,
        _ => return None,
    })
}

/// Returns the steps of a call for each of `rows` rows.
pub(super) fn steps(product: Product, args: &[ColumnarValue], rows: usize) -> Vec<u64> {
    const BYTES_AT_ONCE: u64 = 32;
    const STEPS_OF_ITEM: u64 = 8;
    let length = |at: usize| match (args.get(at), product) {
        (None, _) => Each::One(1),
        (Some(arg), Product::Items) => items(arg),
        (Some(arg), _) => text_bytes(arg),
    };
    let (one, other) = (length(0), length(1));
    let of = |row: usize| {
        let product_of_row = one.of(row).saturating_mul(other.of(row));
        match product {
            Product::Letters => product_of_row,
            Product::Bytes => product_of_row / BYTES_AT_ONCE,
            Product::Items => product_of_row.saturating_mul(STEPS_OF_ITEM),
        }
    };
    (0..rows).map(of).collect()
}

/// Returns the lengths of lists.
fn items(value: &ColumnarValue) -> Each<u64> {
    let Some(array) = array_of(value) else { return Each::One(0) };
    let length = |list: Option<ArrayRef>| list.map_or(0, |list| list.len() as u64);
    let lengths: Vec<u64> = match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().iter().map(length).collect(),
        DataType::LargeList(_) => array.as_list::<i64>().iter().map(length).collect(),
        DataType::FixedSizeList(..) => array.as_fixed_size_list().iter().map(length).collect(),
        // At most all of it.
        _ => return Each::One(memory(value)),
    };
    each(value, lengths)
}

/// Returns the growth of a function; `None` for one whose result is about as large as what it is
/// given.
pub(super) fn growth_of(name: &str) -> Option<Growth> {
    Some(match name {
        "repeat" => Growth::Repeat,
        "lpad" | "rpad" => Growth::Pad,
        "replace" => Growth::Replace,
        "regexp_replace" => Growth::ReplaceMatches,
        "array_repeat" | "list_repeat" => Growth::RepeatItem,
        "array_resize" | "list_resize" => Growth::Resize,
        "generate_series" | "range" => Growth::Series,
        "concat" | "concat_ws" | "encode" | "overlay" | "translate" | "make_array"
        | "array_concat" | "array_append" | "array_prepend" | "array_to_string"
        | "array_insert" | "named_struct" | "struct" | "map" | "text_concat" => Growth::Inputs,
        _ => return None,
    })
}

/// Returns the bytes of the results of a call for `rows` rows.
pub(super) fn bytes(growth: Growth, args: &[ColumnarValue], rows: usize) -> u64 {
    let text = |at: usize| args.get(at).map_or(Each::One(0), text_bytes);
    let number = |at: usize| args.get(at).map_or(Each::One(0), whole);
    let sum = |of: &dyn Fn(usize) -> u64| (0..rows).map(of).fold(0, u64::saturating_add);
    match growth {
        Growth::Repeat => {
            let (text, times) = (text(0), number(1));
            sum(&|row| text.of(row).saturating_mul(times.of(row)))
        }
        Growth::Pad => {
            const MOST_BYTES_OF_LETTER: u64 = 4;
            let (text, letters, fill) = (text(0), number(1), args.get(2));
            let is_narrow = fill.is_none_or(is_ascii);
            let of_letter = if is_narrow { 1 } else { MOST_BYTES_OF_LETTER };
            sum(&|row| letters.of(row).saturating_mul(of_letter).saturating_add(text.of(row)))
        }
        Growth::Replace => {
            let (text, from, to) = (text(0), text(1), text(2));
            sum(&|row| {
                let (text, from, to) = (text.of(row), from.of(row), to.of(row));
                if to <= from {
                    return text;
                }
                let places = text.checked_div(from).unwrap_or(text + 1);
                text.saturating_add(places.saturating_mul(to))
            })
        }
        Growth::ReplaceMatches => {
            let (text, to) = (text(0), text(2));
            let is_global = args.len() > 3;
            sum(&|row| {
                let places = if is_global { text.of(row) + 1 } else { 1 };
                text.of(row).saturating_add(places.saturating_mul(to.of(row)))
            })
        }
        Growth::RepeatItem => {
            let times = number(1);
            let item = args.first().map_or(0, |item| memory(item) / per(item));
            sum(&|row| times.of(row).saturating_mul(item))
        }
        Growth::Resize => {
            const ITEM_BYTES: u64 = 16;
            let items = number(1);
            let own = args.iter().map(memory).fold(0, u64::saturating_add);
            own.saturating_add(sum(&|row| items.of(row).saturating_mul(ITEM_BYTES)))
        }
        Growth::Series => {
            const ITEM_BYTES: u64 = 8;
            let (start, stop, step) = series(args);
            sum(&|row| {
                let length = start.of(row).abs_diff(stop.of(row));
                let step = step.of(row).unsigned_abs().max(1);
                (length / step).saturating_add(1).saturating_mul(ITEM_BYTES)
            })
        }
        Growth::Inputs => {
            let one = |arg: &ColumnarValue| match arg {
                ColumnarValue::Array(_) => memory(arg),
                ColumnarValue::Scalar(_) => memory(arg).saturating_mul(rows as u64),
            };
            args.iter().map(one).fold(0, u64::saturating_add).saturating_mul(2)
        }
    }
}

/// One number for all rows, or one for each.
enum Each<T> {
    One(T),
    Rows(Vec<T>),
}

impl<T: Copy + Default> Each<T> {
    fn of(&self, row: usize) -> T {
        match self {
            Self::One(value) => *value,
            Self::Rows(values) => values.get(row).copied().unwrap_or_default(),
        }
    }
}

fn array_of(value: &ColumnarValue) -> Option<ArrayRef> {
    match value {
        ColumnarValue::Array(array) => Some(ArrayRef::clone(array)),
        ColumnarValue::Scalar(scalar) => scalar.to_array().ok(),
    }
}

fn each<T: Copy + Default>(value: &ColumnarValue, values: Vec<T>) -> Each<T> {
    match value {
        ColumnarValue::Array(_) => Each::Rows(values),
        ColumnarValue::Scalar(_) => Each::One(values.first().copied().unwrap_or_default()),
    }
}

fn text_bytes(value: &ColumnarValue) -> Each<u64> {
    let Some(array) = array_of(value) else { return Each::One(0) };
    let bytes = |text: Option<&str>| text.map_or(0, |text| text.len() as u64);
    let lengths: Vec<u64> = match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().map(bytes).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().map(bytes).collect(),
        DataType::Utf8View => array.as_string_view().iter().map(bytes).collect(),
        // At most all of it.
        _ => return Each::One(memory(value)),
    };
    each(value, lengths)
}

fn is_ascii(value: &ColumnarValue) -> bool {
    let Some(array) = array_of(value) else { return false };
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().is_ascii(),
        DataType::LargeUtf8 => array.as_string::<i64>().is_ascii(),
        DataType::Utf8View => array.as_string_view().iter().flatten().all(str::is_ascii),
        _ => false,
    }
}

fn int64(array: &ArrayRef) -> Option<Int64Array> {
    Some(cast(array, &DataType::Int64).ok()?.as_primitive::<Int64Type>().clone())
}

/// Returns numbers, those below 0 as 0.
fn whole(value: &ColumnarValue) -> Each<u64> {
    let array = array_of(value).and_then(|array| int64(&array));
    // What is no number is refused by the function.
    let Some(array) = array else { return Each::One(0) };
    let number = |number: Option<i64>| number.and_then(|one| u64::try_from(one).ok()).unwrap_or(0);
    each(value, array.iter().map(number).collect())
}

/// Returns the start, the end and the step of a series, all in the same unit.
fn series(args: &[ColumnarValue]) -> (Each<i64>, Each<i64>, Each<i64>) {
    let nothing = || (Each::One(0), Each::One(0), Each::One(1));
    match args {
        [stop] => (Each::One(0), position(stop), Each::One(1)),
        [start, stop] => (position(start), position(stop), Each::One(1)),
        [start, stop, step, ..] => (position(start), position(stop), step_of(step)),
        [] => nothing(),
    }
}

/// Returns numbers as they are, and times in nanoseconds.
fn position(value: &ColumnarValue) -> Each<i64> {
    let Some(array) = array_of(value) else { return Each::One(0) };
    let numbers = if array.data_type().is_temporal() {
        let nanos = DataType::Timestamp(TimeUnit::Nanosecond, None);
        cast(&array, &nanos).ok().and_then(|array| int64(&array))
    } else {
        int64(&array)
    };
    let Some(numbers) = numbers else { return Each::One(0) };
    each(value, numbers.iter().map(Option::unwrap_or_default).collect())
}

fn step_of(value: &ColumnarValue) -> Each<i64> {
    const DAY_NANOS: i64 = 86_400_000_000_000;
    const LEAST_DAYS_OF_MONTH: i64 = 28;
    let Some(array) = array_of(value) else { return Each::One(1) };
    let Some(steps) = array.as_primitive_opt::<IntervalMonthDayNanoType>() else {
        return position(value);
    };
    let nanos = |step: Option<datafusion::arrow::datatypes::IntervalMonthDayNano>| {
        step.map_or(1, |step| {
            let days = i64::from(step.months) * LEAST_DAYS_OF_MONTH + i64::from(step.days);
            days.saturating_mul(DAY_NANOS).saturating_add(step.nanoseconds)
        })
    };
    each(value, steps.iter().map(nanos).collect())
}

/// Returns the bytes of all values.
fn memory(value: &ColumnarValue) -> u64 {
    match value {
        ColumnarValue::Array(array) => {
            array.to_data().get_slice_memory_size().unwrap_or(array.get_array_memory_size()) as u64
        }
        ColumnarValue::Scalar(scalar) => scalar.size() as u64,
    }
}

/// Returns the number of values, at least 1.
fn per(value: &ColumnarValue) -> u64 {
    match value {
        ColumnarValue::Array(array) => (array.len() as u64).max(1),
        ColumnarValue::Scalar(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{ListArray, StringArray};
    use datafusion::arrow::datatypes::Int32Type;
    use datafusion::scalar::ScalarValue;

    use super::*;

    fn of(growth: Growth, args: &[ScalarValue]) -> u64 {
        let args: Vec<ColumnarValue> = args.iter().cloned().map(ColumnarValue::Scalar).collect();
        bytes(growth, &args, 1)
    }

    #[test]
    fn results_are_at_most_as_large() {
        let long = ScalarValue::from(1_000_000_000i64);
        assert_eq!(of(Growth::Repeat, &["xy".into(), long.clone()]), 2_000_000_000);
        assert_eq!(of(Growth::Repeat, &["xy".into(), (-1i64).into()]), 0);
        assert_eq!(of(Growth::Pad, &["".into(), long.clone()]), 1_000_000_000);
        assert_eq!(of(Growth::Pad, &["".into(), long.clone(), "\u{e9}".into()]), 4_000_000_000);
        assert_eq!(of(Growth::Replace, &["aa".into(), "a".into(), "bbb".into()]), 8);
        assert_eq!(of(Growth::Replace, &["aa".into(), "".into(), "b".into()]), 5);
        assert_eq!(of(Growth::Series, &[1i64.into(), long.clone()]), 8_000_000_000);
        assert_eq!(of(Growth::Series, &[1i64.into(), long.clone(), long.clone()]), 8);
        assert!(of(Growth::RepeatItem, &[1i64.into(), long]) > 1_000_000_000);
        assert_eq!(of(Growth::Series, &[i64::MIN.into(), i64::MAX.into()]), u64::MAX);
    }

    #[test]
    fn steps_are_those_of_each_row() {
        let scalar = |text: &str| ColumnarValue::Scalar(text.into());
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("abcd"), None, Some("ab")]));
        let args = [ColumnarValue::Array(texts), scalar("xyz")];
        assert_eq!(steps(Product::Letters, &args, 3), [12, 0, 6]);
        assert_eq!(steps(Product::Letters, &args[..1], 3), [4, 0, 2]);
        let long = "x".repeat(64);
        assert_eq!(steps(Product::Bytes, &[scalar(&long), scalar("ab")], 1), [4]);
        let list = |numbers: &[Option<i32>]| {
            let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(numbers.to_vec())]);
            ColumnarValue::Array(Arc::new(list))
        };
        let args = [list(&[Some(1), Some(2), None]), list(&[Some(1), Some(3)])];
        assert_eq!(steps(Product::Items, &args, 1), [48]);
    }
}
