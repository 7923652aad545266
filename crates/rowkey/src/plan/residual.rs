//! Looking at the conditions that ranges could not keep, in the fields of one row.

use std::borrow::Cow;

use super::constraint::{Constraint, from_integer, integer};
use crate::codec::Decoded;
use crate::schema::{FieldId, KeySchema, SegmentKind};
use crate::value::{FieldType, Value};

/// Whether every field that is not `exact` is one of the values that its constraint leaves. A row that holds a field in part
/// stands for all values of that part, and meets a condition if one of them does.
pub(super) fn admits(schema: &KeySchema, constraints: &[Constraint], exact: &[bool], row: &Decoded<'_>) -> bool {
    constraints.iter().enumerate().filter(|(field, constraint)| !exact[*field] && !constraint.is_open()).all(|(field, constraint)| {
        let Some(value) = row.get(field) else { return false };
        if !row.is_partial(field) || value.is_null() {
            return constraint.admits(value);
        }
        constraint.admits_one_of(value, &last_of_part(schema, field, value))
    })
}

/// The greatest value that the same part of a key stands for.
fn last_of_part(schema: &KeySchema, field: FieldId, first: &Value<'_>) -> Value<'static> {
    let ty = schema.fields()[field].ty;
    let part = schema.segments().iter().find(|segment| segment.kind.field() == Some(field)).map(|segment| &segment.kind);
    match (part, first) {
        (Some(SegmentKind::Bucket { width, .. }), _) => {
            let (Some(first), Some((_, max))) = (integer(first), ty.integer_range()) else { return first.clone().into_owned() };
            from_integer(ty, (first + i128::from(*width) - 1).min(max)).unwrap_or(Value::Null)
        }
        // Longer than every condition's text can be is what no key can hold.
        (_, Value::Text(text)) if ty == FieldType::String => Value::Text(Cow::Owned(format!("{text}{}", "\u{10ffff}".repeat(LONGER)))),
        (_, Value::Bytes(bytes)) => Value::Bytes(Cow::Owned([bytes, &[0xff; 4 * LONGER][..]].concat())),
        _ => first.clone().into_owned(),
    }
}

/// Letters that stand for "anything may follow".
const LONGER: usize = 64;
