//! All conditions on one field as one set of values: a list, or a range, with or without null.

use std::cmp::Ordering;
use std::ops::Bound;

use smallvec::SmallVec;

use super::error::PlanError;
use super::query::{Condition, Predicate};
use crate::schema::{FieldId, KeySchema};
use crate::value::{FieldType, Value};

/// List of values, usually of length one.
pub(super) type Values<'a> = SmallVec<[Value<'a>; 1]>;

/// Values of one field that satisfy its conditions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Constraint {
    pub(super) ty: FieldType,
    /// List of the values, ascending and distinct; all are within the range below.
    pub(super) values: Option<Vec<Value<'static>>>,
    /// Bounds; for integers always inclusive, and within the type.
    pub(super) low: Bound<Value<'static>>,
    pub(super) high: Bound<Value<'static>>,
    pub(super) may_be_null: bool,
}

impl Constraint {
    /// Creates a constraint without conditions.
    pub(super) fn any(ty: FieldType) -> Self {
        Self { ty, values: None, low: Bound::Unbounded, high: Bound::Unbounded, may_be_null: true }
    }

    /// Returns one constraint for each field of the schema.
    pub(super) fn for_fields(
        schema: &KeySchema,
        conditions: &[Condition],
    ) -> Result<Vec<Self>, PlanError> {
        let mut all: Vec<_> = schema.fields().iter().map(|field| Self::any(field.ty)).collect();
        for condition in conditions {
            let Some(constraint) = all.get_mut(condition.field) else {
                return Err(PlanError::NoSuchField {
                    field: condition.field,
                    fields: schema.fields().len(),
                });
            };
            constraint.add(
                condition.field,
                &schema.fields()[condition.field].name,
                &condition.predicate,
            )?;
        }
        all.iter_mut().for_each(Self::normalize);
        Ok(all)
    }

    fn add(&mut self, field: FieldId, name: &str, test: &Predicate) -> Result<(), PlanError> {
        let typed = |value: &Value<'static>| {
            typed(self.ty, value).ok_or_else(|| PlanError::wrong_type(field, name, self.ty, value))
        };
        match test {
            Predicate::Equals(value) => {
                let value = typed(value)?;
                self.keep(vec![value]);
            }
            Predicate::In(values) => {
                let values = values.iter().map(typed).collect::<Result<_, _>>()?;
                self.keep(values);
            }
            Predicate::Range { low, high } => {
                if [low, high].iter().any(|bound| {
                    matches!(bound, Bound::Included(Value::Null) | Bound::Excluded(Value::Null))
                }) {
                    return Err(PlanError::NullBound { field: name.to_owned() });
                }
                let (low, high) = (bound_with(low, typed)?, bound_with(high, typed)?);
                self.narrow(low, high);
            }
            Predicate::Prefix(prefix) => {
                let Some((low, high)) = prefix_range(self.ty, prefix) else {
                    return Err(PlanError::NoPrefix { field: name.to_owned(), ty: self.ty });
                };
                self.narrow(low, high);
            }
            Predicate::IsNull => self.keep(vec![Value::Null]),
            Predicate::NotNull => self.may_be_null = false,
        }
        Ok(())
    }

    fn keep(&mut self, mut values: Vec<Value<'static>>) {
        values.sort_by(Value::compare);
        values.dedup_by(|a, b| a.compare(b) == Ordering::Equal);
        if let Some(before) = self.values.take() {
            values
                .retain(|value| before.iter().any(|other| other.compare(value) == Ordering::Equal));
        }
        self.values = Some(values);
    }

    fn narrow(&mut self, low: Bound<Value<'static>>, high: Bound<Value<'static>>) {
        self.may_be_null = false;
        if stricter(&self.low, &low, Ordering::Greater) {
            self.low = low;
        }
        if stricter(&self.high, &high, Ordering::Less) {
            self.high = high;
        }
    }

    /// Normalizes the collected conditions to the form that the other methods require.
    fn normalize(&mut self) {
        if let Some((min, max)) = self.ty.integer_range() {
            // A value that no key can have is removed here; bounds are clamped to the type's
            // limits.
            if let Some(values) = &mut self.values {
                values.retain(|value| {
                    value.is_null()
                        || integer(value).is_some_and(|value| (min..=max).contains(&value))
                });
            }
            let low = match &self.low {
                Bound::Included(low) => integer(low),
                Bound::Excluded(low) => integer(low).map(|low| low + 1),
                Bound::Unbounded => None,
            };
            let high = match &self.high {
                Bound::Included(high) => integer(high),
                Bound::Excluded(high) => integer(high).map(|high| high - 1),
                Bound::Unbounded => None,
            };
            self.normalize_integers(
                low.filter(|low| *low > min),
                high.filter(|high| *high < max),
                max,
            );
        }
        if let Some(mut values) = self.values.take() {
            values.retain(|value| self.in_range(value));
            self.values = Some(values);
        } else if self.range_is_empty() {
            self.values = Some(Vec::new());
        }
    }

    fn normalize_integers(&mut self, low: Option<i128>, high: Option<i128>, max: i128) {
        let (is_void, ty) = (low.is_some_and(|low| low > max), self.ty);
        let value = |number: i128| from_integer(ty, number);
        self.low = low.and_then(value).map_or(Bound::Unbounded, Bound::Included);
        self.high = high.and_then(value).map_or(Bound::Unbounded, Bound::Included);
        let below_min = high.is_some_and(|high| value(high).is_none());
        if is_void || below_min {
            self.values = Some(Vec::new());
        }
    }

    fn range_is_empty(&self) -> bool {
        match (&self.low, &self.high) {
            (Bound::Included(low), Bound::Included(high)) => low.compare(high) == Ordering::Greater,
            (
                Bound::Included(low) | Bound::Excluded(low),
                Bound::Included(high) | Bound::Excluded(high),
            ) => low.compare(high) != Ordering::Less,
            _ => false,
        }
    }

    /// Returns `true` if there are no conditions.
    pub(super) fn is_open(&self) -> bool {
        self.values.is_none() && self.may_be_null && !self.is_range()
    }

    /// Returns `true` if there is a bound.
    pub(super) fn is_range(&self) -> bool {
        !matches!((&self.low, &self.high), (Bound::Unbounded, Bound::Unbounded))
    }

    /// Returns `true` if no value satisfies the conditions.
    pub(super) fn is_void(&self) -> bool {
        self.values.as_ref().is_some_and(Vec::is_empty)
    }

    /// Returns the value if there is exactly one.
    pub(super) fn single(&self) -> Option<&Value<'static>> {
        self.values.as_ref().filter(|values| values.len() == 1).map(|values| &values[0])
    }

    fn in_range(&self, value: &Value<'_>) -> bool {
        if value.is_null() {
            return self.may_be_null;
        }
        let above = match &self.low {
            Bound::Included(low) => low.compare(value) != Ordering::Greater,
            Bound::Excluded(low) => low.compare(value) == Ordering::Less,
            Bound::Unbounded => true,
        };
        above
            && match &self.high {
                Bound::Included(high) => value.compare(high) != Ordering::Greater,
                Bound::Excluded(high) => value.compare(high) == Ordering::Less,
                Bound::Unbounded => true,
            }
    }

    /// Returns `true` if a value satisfies the conditions.
    pub(super) fn admits(&self, value: &Value<'_>) -> bool {
        match &self.values {
            // The list is sorted, and a query may name thousands.
            Some(values) => values.binary_search_by(|other| other.compare(value)).is_ok(),
            None => self.in_range(value),
        }
    }

    /// Returns `true` if one of the values from `first` to `last` (both inclusive) satisfies the
    /// conditions.
    pub(super) fn admits_one_of(&self, first: &Value<'_>, last: &Value<'_>) -> bool {
        let reaches = |low: &Value<'_>| low.compare(last) != Ordering::Greater;
        let begins = |high: &Value<'_>| high.compare(first) != Ordering::Less;
        if let Some(values) = &self.values {
            return values.iter().any(|value| reaches(value) && begins(value));
        }
        let low_reaches = match &self.low {
            Bound::Included(low) | Bound::Excluded(low) => reaches(low),
            Bound::Unbounded => true,
        };
        low_reaches
            && match &self.high {
                Bound::Included(high) | Bound::Excluded(high) => begins(high),
                Bound::Unbounded => true,
            }
    }

    /// Returns the values in ascending order, if they are listed or are at most `most` integers or
    /// booleans.
    pub(super) fn enumerate(&self, most: u64, nullable: bool) -> Option<Values<'_>> {
        if let Some(values) = &self.values {
            return Some(values.iter().map(Value::borrowed).collect());
        }
        let null = (nullable && self.may_be_null).then_some(Value::Null);
        if self.ty == FieldType::Bool {
            let both = [false, true].map(Value::Bool);
            return Some(
                null.into_iter()
                    .chain(both.into_iter().filter(|value| self.in_range(value)))
                    .collect(),
            );
        }
        let (min, max) = self.ty.integer_range()?;
        let edge = |bound: &Bound<Value<'_>>, otherwise| match bound {
            Bound::Included(value) | Bound::Excluded(value) => integer(value).unwrap_or(otherwise),
            Bound::Unbounded => otherwise,
        };
        let (low, high) = (edge(&self.low, min), edge(&self.high, max));
        if high - low >= i128::from(most) {
            return None;
        }
        Some(
            null.into_iter()
                .chain((low..=high).filter_map(|number| from_integer(self.ty, number)))
                .collect(),
        )
    }
}

/// Returns a value as one of the field's type: numbers change their sign type, the rest stays.
/// `None` if it is of another kind.
pub(super) fn typed(ty: FieldType, value: &Value<'static>) -> Option<Value<'static>> {
    match (ty, value) {
        (_, Value::Null) => Some(Value::Null),
        // Numbers outside the range of the type are kept: no key has them, so the result is empty
        // and not an error.
        (_, Value::Signed(_) | Value::Unsigned(_)) if ty.integer_range().is_some() => Some(
            integer(value)
                .and_then(|number| from_integer(ty, number))
                .unwrap_or_else(|| value.clone()),
        ),
        (FieldType::Char(_), Value::Text(_)) | (FieldType::Fixed(_), Value::Bytes(_)) => {
            Some(value.clone())
        }
        (FieldType::Char(_) | FieldType::Fixed(_), _) => None,
        _ => ty.accepts(value).then(|| value.clone()),
    }
}

/// Returns a value of an integer type as a number.
pub(crate) fn integer(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::Unsigned(value) => Some(i128::from(*value)),
        Value::Signed(value) => Some(i128::from(*value)),
        _ => None,
    }
}

/// Returns a number as a value of an integer type; `None` outside its range.
pub(crate) fn from_integer(ty: FieldType, number: i128) -> Option<Value<'static>> {
    let (min, max) = ty.integer_range()?;
    if !(min..=max).contains(&number) {
        return None;
    }
    if min < 0 {
        i64::try_from(number).ok().map(Value::Signed)
    } else {
        u64::try_from(number).ok().map(Value::Unsigned)
    }
}

fn bound_with(
    bound: &Bound<Value<'static>>,
    typed: impl Fn(&Value<'static>) -> Result<Value<'static>, PlanError>,
) -> Result<Bound<Value<'static>>, PlanError> {
    Ok(match bound {
        Bound::Included(value) => Bound::Included(typed(value)?),
        Bound::Excluded(value) => Bound::Excluded(typed(value)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}

/// Returns `true` if `new` is stricter than `old`; `towards` is the direction of stricter bounds.
fn stricter(old: &Bound<Value<'_>>, new: &Bound<Value<'_>>, towards: Ordering) -> bool {
    let compare = |new: &Value<'_>, old: &Value<'_>| match (integer(new), integer(old)) {
        (Some(new), Some(old)) => new.cmp(&old),
        _ => new.compare(old),
    };
    match (old, new) {
        (_, Bound::Unbounded) => false,
        (Bound::Unbounded, _) => true,
        (Bound::Included(old), Bound::Excluded(new)) => {
            matches!(compare(new, old), order if order == towards || order == Ordering::Equal)
        }
        (
            Bound::Included(old) | Bound::Excluded(old),
            Bound::Included(new) | Bound::Excluded(new),
        ) => compare(new, old) == towards,
    }
}

/// Returns the range of text and bytes that begin with `prefix`.
fn prefix_range(
    ty: FieldType,
    prefix: &[u8],
) -> Option<(Bound<Value<'static>>, Bound<Value<'static>>)> {
    match ty {
        FieldType::String | FieldType::Char(_) => {
            let text = std::str::from_utf8(prefix).ok()?;
            let high = successor_of_text(text)
                .map_or(Bound::Unbounded, |high| Bound::Excluded(Value::Text(high.into())));
            Some((Bound::Included(Value::Text(text.to_owned().into())), high))
        }
        FieldType::Bytes | FieldType::Fixed(_) => {
            let high = halite_types::key::successor_of_prefix(prefix)
                .map_or(Bound::Unbounded, |high| Bound::Excluded(Value::Bytes(high.into())));
            Some((Bound::Included(Value::Bytes(prefix.to_vec().into())), high))
        }
        _ => None,
    }
}

/// Returns the first text after all text that begins with `prefix`: its last character is replaced
/// by the next one. Text is ordered by its UTF-8 bytes, which is the order of its code points, so
/// the result is text as well.
fn successor_of_text(prefix: &str) -> Option<String> {
    let mut letters: Vec<char> = prefix.chars().collect();
    while let Some(last) = letters.pop() {
        let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
        if let Some(next) = next {
            letters.push(next);
            return Some(letters.into_iter().collect());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::TimeUnit;

    fn constraint(ty: FieldType, tests: &[Predicate]) -> Constraint {
        let mut constraint = Constraint::any(ty);
        tests.iter().for_each(|test| constraint.add(0, "x", test).expect("values of the type"));
        constraint.normalize();
        constraint
    }

    fn number(value: u64) -> Value<'static> {
        Value::Unsigned(value)
    }

    #[test]
    fn conditions_on_one_field_are_intersected() {
        let range = |low, high| Predicate::Range { low, high };
        let both = [
            range(Bound::Excluded(number(3)), Bound::Unbounded),
            range(Bound::Included(number(1)), Bound::Excluded(number(7))),
            Predicate::In([9, 5, 6, 3, 5].map(number).to_vec()),
        ];
        assert_eq!(constraint(FieldType::U8, &both).values, Some(vec![number(5), number(6)]));
        let listed = constraint(FieldType::U8, &both[..2]);
        assert_eq!(
            listed.enumerate(3, true),
            Some(Values::from_vec(vec![number(4), number(5), number(6)]))
        );
        assert_eq!(listed.enumerate(2, true), None);
        assert!(constraint(FieldType::U8, &[Predicate::IsNull, both[0].clone()]).is_void());
        assert!(constraint(FieldType::U8, &[Predicate::IsNull, Predicate::NotNull]).is_void());
    }

    #[test]
    fn out_of_range_numbers_match_nothing_and_bound_nothing() {
        let above = Predicate::Range { low: Bound::Included(number(256)), high: Bound::Unbounded };
        assert!(constraint(FieldType::U8, &[above]).is_void());
        assert!(constraint(FieldType::U8, &[Predicate::Equals(Value::Signed(-1))]).is_void());
        let wide = Predicate::Range {
            low: Bound::Excluded(Value::Signed(-9)),
            high: Bound::Included(number(1 << 40)),
        };
        let all = constraint(FieldType::U8, &[wide]);
        assert!(
            !all.is_range()
                && !all.may_be_null
                && all.admits(&number(255))
                && !all.admits(&Value::Null)
        );
        let negative =
            Predicate::Range { low: Bound::Unbounded, high: Bound::Excluded(Value::Signed(0)) };
        assert!(constraint(FieldType::U8, &[negative]).is_void());
        let signed =
            constraint(FieldType::Timestamp(TimeUnit::Millis), &[Predicate::Equals(number(5))]);
        assert_eq!(signed.values, Some(vec![Value::Signed(5)]));
    }

    #[test]
    fn text_prefix_ends_at_the_next_letter() {
        assert_eq!(successor_of_text("user_1"), Some("user_2".into()));
        assert_eq!(successor_of_text("a\u{d7ff}"), Some("a\u{e000}".into()));
        assert_eq!(successor_of_text("a\u{10ffff}\u{10ffff}"), Some("b".into()));
        assert_eq!(successor_of_text(""), None);
        let prefixed = constraint(FieldType::String, &[Predicate::Prefix("caf\u{e9}".into())]);
        assert!(
            prefixed.admits(&"caf\u{e9}s".into())
                && !prefixed.admits(&"caf\u{ea}".into())
                && !prefixed.admits(&"caf".into())
        );
    }

    #[test]
    fn value_range_is_admitted_if_one_value_is() {
        let five = constraint(
            FieldType::U8,
            &[Predicate::Range {
                low: Bound::Included(number(5)),
                high: Bound::Included(number(9)),
            }],
        );
        assert!(
            five.admits_one_of(&number(0), &number(5))
                && !five.admits_one_of(&number(0), &number(4))
        );
        assert!(
            five.admits_one_of(&number(9), &number(20))
                && !five.admits_one_of(&number(10), &number(20))
        );
    }
}
