//! Numbers with a fraction that are compared with a `DECIMAL`: they are the digits that the
//! statement gives, as in PostgreSQL. DataFusion reads them as doubles.

use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::scalar::ScalarValue;

/// Digits that a double keeps of any number: what it prints has those that were written.
const SURE_DIGITS: usize = 15;
/// Digits of an Arrow decimal.
const MAX_DIGITS: u32 = 38;

/// Number, of which `scale` digits are behind the point.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Exact {
    digits: i128,
    scale: u32,
    /// `true` if a double is part of it.
    has_double: bool,
}

/// Returns the number that an expression of constants is, without rounding; `None` unless a double
/// is part of it, and if it has more digits than a double keeps, or than a decimal.
pub(super) fn decimal(expr: &Expr) -> Option<ScalarValue> {
    let number = exact(expr).filter(|number| number.has_double)?;
    let length = number.digits.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1);
    let precision = length.max(number.scale);
    if precision > MAX_DIGITS {
        return None;
    }
    let (precision, scale) = (u8::try_from(precision).ok()?, i8::try_from(number.scale).ok()?);
    Some(ScalarValue::Decimal128(Some(number.digits), precision, scale))
}

fn exact(expr: &Expr) -> Option<Exact> {
    match expr {
        Expr::Literal(ScalarValue::Float64(Some(number)), _) => of_double(*number),
        Expr::Literal(ScalarValue::Int64(Some(number)), _) => {
            Some(Exact { digits: i128::from(*number), scale: 0, has_double: false })
        }
        Expr::Negative(inner) => {
            let number = exact(inner)?;
            Some(Exact { digits: -number.digits, ..number })
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (left, right) = (exact(left)?, exact(right)?);
            let scale = left.scale.max(right.scale);
            let has_double = left.has_double || right.has_double;
            let (digits, scale) = match op {
                Operator::Plus => (left.at(scale)?.checked_add(right.at(scale)?)?, scale),
                Operator::Minus => (left.at(scale)?.checked_sub(right.at(scale)?)?, scale),
                Operator::Multiply => {
                    (left.digits.checked_mul(right.digits)?, left.scale + right.scale)
                }
                _ => return None,
            };
            (scale <= MAX_DIGITS).then_some(Exact { digits, scale, has_double })
        }
        _ => None,
    }
}

impl Exact {
    /// Returns the digits with more of them behind the point.
    fn at(self, scale: u32) -> Option<i128> {
        self.digits.checked_mul(10i128.checked_pow(scale.checked_sub(self.scale)?)?)
    }
}

/// Returns the digits of a double, as few as distinguish it from others.
fn of_double(number: f64) -> Option<Exact> {
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e')?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.trim_start_matches('-').len() + fraction.len() > SURE_DIGITS {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent.parse().ok()?)?;
    let zeros = u32::try_from(scale.checked_neg()?.max(0)).ok()?;
    let digits = digits.checked_mul(10i128.checked_pow(zeros)?)?;
    let scale = u32::try_from(scale.max(0)).ok().filter(|scale| *scale <= MAX_DIGITS)?;
    Some(Exact { digits, scale, has_double: true })
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::lit;

    use super::*;

    fn shown(expr: &Expr) -> Option<String> {
        let ScalarValue::Decimal128(Some(digits), precision, scale) = decimal(expr)? else {
            return None;
        };
        Some(format!("{digits} ({precision}, {scale})"))
    }

    #[test]
    fn numbers_are_their_digits() {
        let of = |number: f64| shown(&lit(number));
        assert_eq!(of(0.06).as_deref(), Some("6 (2, 2)"));
        assert_eq!(of(-12.5).as_deref(), Some("-125 (3, 1)"));
        assert_eq!(of(1e20).as_deref(), Some("100000000000000000000 (21, 0)"));
        assert_eq!(of(0.0).as_deref(), Some("0 (1, 0)"));
        assert_eq!(of(1e-38).as_deref(), Some("1 (38, 38)"));
        for number in
            [1e-39, 1e38, 1e300, 0.1 + 0.2, 1_234_567_890_123_456.5, f64::NAN, f64::INFINITY]
        {
            assert_eq!(of(number), None, "{number}");
        }
        assert_eq!(shown(&lit(5i64)), None);
    }

    #[test]
    fn sums_and_products_are_exact() {
        let (six, one) = (lit(0.06), lit(0.01));
        assert_eq!(shown(&(six.clone() - one.clone())).as_deref(), Some("5 (2, 2)"));
        assert_eq!(shown(&(six.clone() + lit(3i64))).as_deref(), Some("306 (3, 2)"));
        assert_eq!(shown(&(six.clone() * -one)).as_deref(), Some("-6 (4, 4)"));
        assert_eq!(shown(&(lit(1e37) * lit(100i64))), None);
        assert_eq!(shown(&(lit(1e37) * lit(1e37))), None);
        assert_eq!(shown(&(six.clone() / lit(2i64))), None);
        assert_eq!(shown(&(six * lit("x"))), None);
    }
}
