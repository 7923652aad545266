//! Check of the conditions that ranges could not express, on the fields of one row.

use std::borrow::Cow;

use super::constraint::{Constraint, from_integer, integer};
use crate::codec::DecodedKey;
use crate::schema::{FieldId, KeySchema, SegmentKind};
use crate::value::{FieldType, Value};

/// Returns `true` if every field that is not `exact` has a value permitted by its constraint. A row
/// that contains a field in part matches if one of the values of that part does.
pub(super) fn admits(
    schema: &KeySchema,
    constraints: &[Constraint],
    exact: &[bool],
    row: &DecodedKey<'_>,
) -> bool {
    constraints
        .iter()
        .enumerate()
        .filter(|(field, constraint)| !exact[*field] && !constraint.is_open())
        .all(|(field, constraint)| {
            let Some(value) = row.get(field) else { return false };
            if !row.is_partial(field) || value.is_null() {
                return constraint.admits(value);
            }
            constraint.admits_one_of(value, &last_of_part(schema, field, value))
        })
}

/// Returns the greatest value with the same part in a key.
fn last_of_part(schema: &KeySchema, field: FieldId, first: &Value<'_>) -> Value<'static> {
    let ty = schema.fields()[field].ty;
    let part = schema
        .segments()
        .iter()
        .find(|segment| segment.kind.field() == Some(field))
        .map(|segment| &segment.kind);
    match (part, first) {
        (Some(SegmentKind::Bucket { width, .. }), _) => {
            let (Some(first), Some((_, max))) = (integer(first), ty.integer_range()) else {
                return first.clone().into_owned();
            };
            from_integer(ty, (first + i128::from(*width) - 1).min(max)).unwrap_or(Value::Null)
        }
        // Text longer than that of any condition.
        (_, Value::Text(text)) if ty == FieldType::String => {
            Value::Text(Cow::Owned(format!("{text}{}", "\u{10ffff}".repeat(LONGER))))
        }
        (_, Value::Bytes(bytes)) => {
            Value::Bytes(Cow::Owned([bytes, &[0xff; 4 * LONGER][..]].concat()))
        }
        _ => first.clone().into_owned(),
    }
}

/// Number of characters that represent an arbitrary continuation.
const LONGER: usize = 64;
