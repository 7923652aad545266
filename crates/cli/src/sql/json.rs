//! Values of results as JSON.

use halite::sql::cell_text;
use halite::sql::datafusion::arrow::array::{Array, ArrayRef, AsArray as _};
use halite::sql::datafusion::arrow::datatypes::{DataType, Field};

/// Returns one value of a result as JSON. Numbers have all their digits; those that JSON has not,
/// and all other values with a text, are texts.
///
/// # Errors
/// A type that has no text.
pub(super) fn json_text(field: &Field, array: &dyn Array, row: usize) -> anyhow::Result<String> {
    let Some(text) = cell_text(field, array, row)? else { return Ok("null".to_owned()) };
    match array.data_type() {
        DataType::Boolean => Ok(text),
        // JSON has no NaN and no infinity.
        number if number.is_numeric() && !text.contains(['N', 'n', 'i']) => Ok(text),
        DataType::List(item) => list(item, &array.as_list::<i32>().value(row)),
        DataType::LargeList(item) => list(item, &array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(item, _) => list(item, &array.as_fixed_size_list().value(row)),
        DataType::Struct(fields) => {
            let columns = array.as_struct();
            let members = fields.iter().enumerate().map(|(at, field)| {
                member(field.name(), &json_text(field, columns.column(at).as_ref(), row)?)
            });
            Ok(object(&members.collect::<anyhow::Result<Vec<_>>>()?))
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let fields = entries.fields();
            let (keys, values) = (entries.column(0).as_ref(), entries.column(1).as_ref());
            let members = (0..entries.len()).map(|at| {
                let key = cell_text(&fields[0], keys, at)?.unwrap_or_default();
                member(&key, &json_text(&fields[1], values, at)?)
            });
            Ok(object(&members.collect::<anyhow::Result<Vec<_>>>()?))
        }
        _ => Ok(serde_json::to_string(&text)?),
    }
}

fn list(item: &Field, values: &ArrayRef) -> anyhow::Result<String> {
    let items = (0..values.len()).map(|at| json_text(item, values.as_ref(), at));
    Ok(format!("[{}]", items.collect::<anyhow::Result<Vec<_>>>()?.join(",")))
}

/// Returns a member of an object.
pub(super) fn member(name: &str, value: &str) -> anyhow::Result<String> {
    Ok(format!("{}:{value}", serde_json::to_string(name)?))
}

/// Returns an object of members.
pub(super) fn object(members: &[String]) -> String {
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use halite::sql::datafusion::arrow::array::{
        BooleanArray, Float64Array, Int64Array, ListArray, NullArray, StringArray, StructArray,
    };
    use halite::sql::datafusion::arrow::datatypes::Int64Type;

    use super::*;

    fn shown(array: &dyn Array, row: usize) -> String {
        let field = Field::new("c", array.data_type().clone(), true);
        json_text(&field, array, row).unwrap()
    }

    #[test]
    fn values_are_those_of_json() {
        assert_eq!(shown(&NullArray::new(1), 0), "null");
        assert_eq!(shown(&BooleanArray::from(vec![true]), 0), "true");
        assert_eq!(shown(&Int64Array::from(vec![i64::MIN]), 0), "-9223372036854775808");
        assert_eq!(shown(&Float64Array::from(vec![f64::NAN]), 0), "\"NaN\"");
        assert_eq!(shown(&StringArray::from(vec!["a\"b"]), 0), r#""a\"b""#);
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(1), None])]);
        assert_eq!(shown(&lists, 0), "[1,null]");
        let names = Arc::new(Field::new("n", DataType::Utf8, true));
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("x,y"), None]));
        let both = StructArray::from(vec![(names, texts)]);
        assert_eq!(
            (shown(&both, 0), shown(&both, 1)),
            (r#"{"n":"x,y"}"#.into(), r#"{"n":null}"#.into())
        );
    }
}
