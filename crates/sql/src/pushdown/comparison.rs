//! Comparisons of one column with constants.

use std::ops::Bound;

use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::expr::{Between, BinaryExpr, InList, Like};
use datafusion::logical_expr::{Expr, Operator};
use datafusion::scalar::ScalarValue;
use halite_rowkey::plan::Predicate;
use halite_rowkey::value::{FieldType, TimeUnit, Value};

use super::times::{self, Part};
use crate::catalog::shape::TableShape;
use crate::types::literals::{integer_of, text_of, timestamp_of, value_of};

/// Comparison of a column with constants.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// Position of the column.
    pub(crate) column: usize,
    /// Values that it permits. Null is permitted by `IS NULL` only.
    pub(crate) test: Test,
    /// `true` if exactly these values satisfy the expression.
    pub(crate) is_exact: bool,
}

/// Values that a comparison permits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test {
    /// Values that a key can be searched for.
    Is(Predicate),
    /// Every value but one.
    NotEqual(Value<'static>),
}

/// Returns the comparison that an expression is; `None` for any other expression.
pub(crate) fn comparison(shape: &TableShape, expr: &Expr) -> Option<Comparison> {
    let (column, predicate, is_exact) = match expr {
        Expr::BinaryExpr(binary) => return binary_comparison(shape, binary),
        Expr::Column(_) => {
            let operand = operand(shape, expr).filter(|found| found.ty == FieldType::Bool)?;
            (operand.column, Predicate::Equals(Value::Bool(true)), true)
        }
        Expr::Not(inner) => {
            let operand = operand(shape, inner).filter(|found| found.ty == FieldType::Bool)?;
            (operand.column, Predicate::Equals(Value::Bool(false)), true)
        }
        Expr::IsNull(inner) => (operand(shape, inner)?.column, Predicate::IsNull, true),
        Expr::IsNotNull(inner) => (operand(shape, inner)?.column, Predicate::NotNull, true),
        Expr::Between(Between { expr, negated: false, low, high }) => {
            let operand = operand(shape, expr)?;
            let low = operand.bound(Operator::GtEq, literal(low)?)?;
            let high = operand.bound(Operator::LtEq, literal(high)?)?;
            (operand.column, both(low, high)?, operand.is_ordered_exactly())
        }
        Expr::InList(InList { expr, list, negated: false }) => {
            let operand = operand(shape, expr)?;
            if let [only] = list.as_slice() {
                return with_equal(&operand, literal(only)?);
            }
            let values = list.iter().map(|item| operand.equal(literal(item)?));
            let values: Vec<Value<'static>> = values.collect::<Option<Vec<_>>>()?;
            (operand.column, Predicate::In(values), operand.is_ordered_exactly())
        }
        Expr::Like(like) => return like_comparison(shape, like),
        Expr::ScalarFunction(function) if function.name() == "starts_with" => {
            let [of, prefix] = function.args.as_slice() else { return None };
            let operand = operand(shape, of)?;
            let predicate = operand.prefix(text_of(literal(prefix)?)?)?;
            (operand.column, predicate, true)
        }
        _ => return None,
    };
    Some(Comparison { column, test: Test::Is(predicate), is_exact })
}

fn with_equal(operand: &Operand, constant: &ScalarValue) -> Option<Comparison> {
    let (column, is_exact) = (operand.column, operand.is_ordered_exactly());
    Some(Comparison { column, test: Test::Is(operand.equals(constant)?), is_exact })
}

fn binary_comparison(shape: &TableShape, binary: &BinaryExpr) -> Option<Comparison> {
    let (of, constant, op) = match (literal(&binary.left), literal(&binary.right)) {
        (None, Some(constant)) => (operand(shape, &binary.left)?, constant, binary.op),
        (Some(constant), None) => (operand(shape, &binary.right)?, constant, binary.op.swap()?),
        _ => return None,
    };
    let is_exact = of.is_ordered_exactly();
    let test = match op {
        Operator::Eq => Test::Is(of.equals(constant)?),
        Operator::NotEq => Test::NotEqual(of.equal(constant).filter(|_| is_exact)?),
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => {
            Test::Is(of.bound(op, constant)?)
        }
        _ => return None,
    };
    Some(Comparison { column: of.column, test, is_exact })
}

/// `LIKE` with a literal beginning: the range of that beginning, exact if nothing but `%` follows.
fn like_comparison(shape: &TableShape, like: &Like) -> Option<Comparison> {
    if like.negated || like.case_insensitive {
        return None;
    }
    let operand = operand(shape, &like.expr).filter(|operand| operand.ty.is_text())?;
    let pattern = text_of(literal(&like.pattern)?)?;
    let (prefix, rest) = literal_beginning(pattern, like.escape_char.unwrap_or('\\'))?;
    let (predicate, is_exact) = match rest {
        "" => (Predicate::Equals(Value::Text(prefix.into())), true),
        rest => (operand.prefix(&prefix)?, rest == "%"),
    };
    Some(Comparison { column: operand.column, test: Test::Is(predicate), is_exact })
}

/// Returns the text before the first wildcard of a pattern, and the rest; `None` if the pattern
/// begins with a wildcard.
pub(crate) fn literal_beginning(pattern: &str, escape: char) -> Option<(String, &str)> {
    let mut prefix = String::new();
    let mut letters = pattern.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '%' | '_' if prefix.is_empty() => return None,
            '%' | '_' => return Some((prefix, &pattern[at..])),
            // What a lone escape at the end means is not for the range to decide.
            _ if letter == escape => prefix.push(letters.next()?.1),
            _ => prefix.push(letter),
        }
    }
    Some((prefix, ""))
}

/// Returns the position of the column of text that an expression is.
pub(super) fn text_column(shape: &TableShape, expr: &Expr) -> Option<usize> {
    operand(shape, expr).filter(|operand| operand.ty.is_text()).map(|operand| operand.column)
}

/// Side of a comparison: a column, possibly cast to a type that holds all of its values.
struct Operand {
    column: usize,
    ty: FieldType,
    cast: Cast,
}

#[derive(Clone, Copy, PartialEq)]
enum Cast {
    No,
    /// To a wider integer.
    Integer,
    /// To a finer timestamp, with the number of its units in one of the column.
    Time(TimeUnit, i64),
    /// To the start of a part of the time, such as its hour.
    Part(Part),
}

fn operand(shape: &TableShape, expr: &Expr) -> Option<Operand> {
    if let Some(found) = times::part_of(expr) {
        let of = operand(shape, found.column())?;
        return Some(Operand { cast: Cast::Part(found.of(of.ty)?), ..of });
    }
    let (inner, target) = match expr {
        Expr::Cast(cast) => (cast.expr.as_ref(), Some(cast.field.data_type())),
        Expr::TryCast(cast) => (cast.expr.as_ref(), Some(cast.field.data_type())),
        other => (other, None),
    };
    let Expr::Column(column) = inner else { return None };
    let position = shape.position(&column.name)?;
    let ty = shape.columns[position].ty;
    let shown = shape.columns[position].field.data_type();
    let is_decimal = ty == FieldType::Decimal && shown.is_decimal();
    if !is_decimal && shown != &crate::types::arrow_type(ty) {
        return None;
    }
    let cast = match target {
        None => Cast::No,
        Some(target) => cast_of(ty, target)?,
    };
    Some(Operand { column: position, ty, cast })
}

/// Returns the cast from a type to an Arrow type that holds all of its values.
fn cast_of(ty: FieldType, target: &DataType) -> Option<Cast> {
    let range = ty.integer_range().filter(|_| !ty.is_time());
    let holds =
        |low: i128, high: i128| range.is_some_and(|(least, most)| low <= least && most <= high);
    let wider = match target {
        DataType::Int8 => holds(i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => holds(i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => holds(i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => holds(i64::MIN.into(), i64::MAX.into()),
        DataType::UInt8 => holds(0, u8::MAX.into()),
        DataType::UInt16 => holds(0, u16::MAX.into()),
        DataType::UInt32 => holds(0, u32::MAX.into()),
        DataType::UInt64 => holds(0, u64::MAX.into()),
        DataType::Decimal128(digits, 0) => *digits >= 20 && range.is_some(),
        DataType::Timestamp(..) => return time_cast(ty, target),
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 if ty.is_text() => {
            return Some(Cast::No);
        }
        _ => false,
    };
    wider.then_some(Cast::Integer)
}

fn time_cast(ty: FieldType, target: &DataType) -> Option<Cast> {
    let (FieldType::Timestamp(from), DataType::Timestamp(unit, Some(_))) = (ty, target) else {
        return None;
    };
    [TimeUnit::Millis, TimeUnit::Micros, TimeUnit::Nanos]
        .into_iter()
        .find(|to| crate::types::arrow_unit(*to) == *unit && to.per_second() >= from.per_second())
        .map(|to| Cast::Time(to, to.per_second() / from.per_second()))
}

impl Operand {
    /// Returns `true` if the order of the values is DataFusion's. Floats have several zeros and
    /// many NaN.
    fn is_ordered_exactly(&self) -> bool {
        !matches!(self.ty, FieldType::F32 | FieldType::F64)
    }

    /// Returns the value of a constant that is compared by `=`.
    fn equal(&self, constant: &ScalarValue) -> Option<Value<'static>> {
        match self.cast {
            // A part has many values.
            Cast::Part(_) => None,
            Cast::No => {
                let value = value_of(self.ty, constant)?.into_owned();
                // Both zeros, and every NaN, may be equal.
                let is_special = match value {
                    Value::F32(value) => value == 0.0 || value.is_nan(),
                    Value::F64(value) => value == 0.0 || value.is_nan(),
                    _ => false,
                };
                (!is_special).then_some(value)
            }
            Cast::Integer => integer_value(integer_of(constant)?),
            Cast::Time(unit, units) => {
                let (of, time) = timestamp_of(constant)?;
                // A time between two of the column's is that of no row, which only bounds express.
                (of == unit && time.rem_euclid(units) == 0)
                    .then(|| Value::Signed(time.div_euclid(units)))
            }
        }
    }

    fn equals(&self, constant: &ScalarValue) -> Option<Predicate> {
        match (self.cast, timestamp_of(constant)) {
            (Cast::Part(part), _) => times::values(self.ty, part, Operator::Eq, constant),
            (Cast::Time(unit, units), Some((of, time)))
                if of == unit && time.rem_euclid(units) != 0 =>
            {
                Some(Predicate::In(Vec::new()))
            }
            _ => self.equal(constant).map(Predicate::Equals),
        }
    }

    /// Returns the range of a comparison by `<`, `<=`, `>` or `>=`.
    fn bound(&self, op: Operator, constant: &ScalarValue) -> Option<Predicate> {
        let value = match self.cast {
            Cast::Part(part) => return times::values(self.ty, part, op, constant),
            Cast::Time(unit, units) => {
                let (_, time) = timestamp_of(constant).filter(|(of, _)| *of == unit)?;
                let (floor, rest) = (time.div_euclid(units), time.rem_euclid(units));
                let ceil = floor + i64::from(rest != 0);
                let up = matches!(op, Operator::GtEq | Operator::Lt);
                Value::Signed(if up { ceil } else { floor })
            }
            Cast::Integer => integer_value(integer_of(constant)?)?,
            Cast::No => value_of(self.ty, constant)?.into_owned(),
        };
        let value = match value {
            Value::F32(number) if number.is_nan() => return None,
            Value::F64(number) if number.is_nan() => return None,
            // Whether -0 is below +0 is not for the range to decide.
            Value::F32(0.0) => return Some(zero_bound(op, Value::F32(-0.0), Value::F32(0.0))),
            Value::F64(0.0) => return Some(zero_bound(op, Value::F64(-0.0), Value::F64(0.0))),
            value => value,
        };
        let (low, high) = match op {
            Operator::Lt => (Bound::Unbounded, Bound::Excluded(value)),
            Operator::LtEq => (Bound::Unbounded, Bound::Included(value)),
            Operator::Gt => (Bound::Excluded(value), Bound::Unbounded),
            Operator::GtEq => (Bound::Included(value), Bound::Unbounded),
            _ => return None,
        };
        Some(Predicate::Range { low, high })
    }

    fn prefix(&self, text: &str) -> Option<Predicate> {
        (self.ty.is_text() && self.cast == Cast::No)
            .then(|| Predicate::Prefix(text.to_owned().into()))
    }
}

/// Returns the range on one side of zero, with both zeros.
fn zero_bound(op: Operator, minus: Value<'static>, plus: Value<'static>) -> Predicate {
    let (low, high) = if matches!(op, Operator::Lt | Operator::LtEq) {
        (Bound::Unbounded, Bound::Included(plus))
    } else {
        (Bound::Included(minus), Bound::Unbounded)
    };
    Predicate::Range { low, high }
}

/// Returns a number as a value; the planner accepts those outside of the column's type.
fn integer_value(number: i128) -> Option<Value<'static>> {
    i64::try_from(number)
        .map(Value::Signed)
        .or_else(|_| u64::try_from(number).map(Value::Unsigned))
        .ok()
}

fn both(low: Predicate, high: Predicate) -> Option<Predicate> {
    match (low, high) {
        (Predicate::Range { low, .. }, Predicate::Range { high, .. }) => {
            Some(Predicate::Range { low, high })
        }
        // A bound beyond all values, of a part of a time.
        (Predicate::In(none), _) | (_, Predicate::In(none)) if none.is_empty() => {
            Some(Predicate::In(none))
        }
        (Predicate::NotNull, other) | (other, Predicate::NotNull) => Some(other),
        _ => None,
    }
}

/// Returns the constant that an expression is, unless it is null.
fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) if !value.is_null() => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_of_patterns_end_at_the_first_wildcard() {
        let of = |pattern| literal_beginning(pattern, '\\');
        assert_eq!(of(r"user\_1%"), Some(("user_1".to_owned(), "%")));
        assert_eq!(of("user_1%"), Some(("user".to_owned(), "_1%")));
        assert_eq!(of("%1"), None);
        assert_eq!(of("_1"), None);
        assert_eq!(of("abc"), Some(("abc".to_owned(), "")));
        assert_eq!(of("abc\\"), None);
        assert_eq!(of(r"a\%b%c"), Some(("a%b".to_owned(), "%c")));
    }
}
