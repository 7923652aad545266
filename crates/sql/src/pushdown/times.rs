//! Comparisons of a part of a time, such as `date_trunc('hour', ts) = x` and `ts::date < x`, as
//! ranges of the time. Sessions are in UTC, and so are the calendar's days.

use std::ops::Bound;

use datafusion::arrow::datatypes::{DataType, TimeUnit as ArrowUnit};
use datafusion::logical_expr::{Expr, Operator};
use datafusion::scalar::ScalarValue;
use halite_rowkey::plan::Predicate;
use halite_rowkey::value::{FieldType, Value};
use halite_types::calendar::civil_date;

use crate::types::literals::{text_of, timestamp_of};

const SECOND: i128 = 1_000_000_000;
const DAY: i128 = 86_400 * SECOND;
/// Monday before 1970-01-01, a Thursday.
const FIRST_MONDAY: i128 = -3 * DAY;

/// Start of a time's part: times of one part are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A number of nanoseconds, and the start of one of the parts.
    Width(i128, i128),
    /// A number of months, from January on.
    Months(i128),
}

impl Part {
    /// Returns the part that a unit of `date_trunc` is.
    fn of(unit: &str) -> Option<Self> {
        Some(match unit.to_ascii_lowercase().as_str() {
            "microsecond" => Self::Width(1000, 0),
            "millisecond" => Self::Width(1_000_000, 0),
            "second" => Self::Width(SECOND, 0),
            "minute" => Self::Width(60 * SECOND, 0),
            "hour" => Self::Width(3600 * SECOND, 0),
            "day" => Self::Width(DAY, 0),
            "week" => Self::Width(7 * DAY, FIRST_MONDAY),
            "month" => Self::Months(1),
            "quarter" => Self::Months(3),
            "year" => Self::Months(12),
            _ => return None,
        })
    }

    /// Returns `true` if parts begin at times of a unit.
    fn is_of_unit(self, unit: ArrowUnit) -> bool {
        let nanoseconds = match unit {
            ArrowUnit::Second => SECOND,
            ArrowUnit::Millisecond => 1_000_000,
            ArrowUnit::Microsecond => 1000,
            ArrowUnit::Nanosecond => 1,
        };
        match self {
            Self::Width(width, _) => width % nanoseconds == 0,
            Self::Months(_) => true,
        }
    }

    /// Returns the start of the part with a time, and that of the next one, in nanoseconds.
    fn around(self, time: i128) -> (i128, i128) {
        match self {
            Self::Width(width, first) => {
                let start = (time - first).div_euclid(width) * width + first;
                (start, start + width)
            }
            Self::Months(months) => {
                let (year, month, _) = civil_date(time.div_euclid(DAY));
                let number = (year * 12 + month - 1).div_euclid(months) * months;
                (month_start(number) * DAY, month_start(number + months) * DAY)
            }
        }
    }
}

/// Returns the first day of a month, which is counted from January of year 0 on.
fn month_start(number: i128) -> i128 {
    let (year, month) = (number.div_euclid(12), number.rem_euclid(12) + 1);
    // As `civil_date`: the year begins in March, so that the leap day is its last.
    let year = year - i128::from(month <= 2);
    let month = if month > 2 { month - 3 } else { month + 9 };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + (153 * month + 2) / 5;
    era * 146_097 + day_of_era - 719_468
}

/// Column of which an expression is a part.
pub(super) struct PartOf<'e> {
    /// Column.
    column: &'e Expr,
    part: Part,
    /// `true` if the column is made a time first, which changes no date.
    is_date: bool,
}

impl<'e> PartOf<'e> {
    /// Returns the column.
    pub(super) fn column(&self) -> &'e Expr {
        self.column
    }

    /// Returns the part, if the column is of a type that has it.
    pub(super) fn of(&self, ty: FieldType) -> Option<Part> {
        let is_time = matches!(ty, FieldType::Timestamp(_)) && !self.is_date;
        (is_time || ty == FieldType::Date).then_some(self.part)
    }
}

/// Returns the column of `date_trunc('..', column)`, also where a date was made a time for it, and
/// of `column::date`; `None` for other expressions.
pub(super) fn part_of(expr: &Expr) -> Option<PartOf<'_>> {
    match expr {
        Expr::ScalarFunction(function) if function.name() == "date_trunc" => {
            let [Expr::Literal(unit, _), column] = function.args.as_slice() else { return None };
            let part = Part::of(text_of(unit)?)?;
            let (column, is_date) = match column {
                Expr::Cast(cast) if matches!(cast.field.data_type(), DataType::Timestamp(..)) => {
                    (cast.expr.as_ref(), true)
                }
                column => (column, false),
            };
            matches!(column, Expr::Column(_)).then_some(PartOf { column, part, is_date })
        }
        Expr::Cast(cast) => match cast.field.data_type() {
            DataType::Date32 => {
                let (column, part) = (cast.expr.as_ref(), Part::Width(DAY, 0));
                let is_column = matches!(column, Expr::Column(_));
                is_column.then_some(PartOf { column, part, is_date: false })
            }
            // A part compared with a time of another unit.
            DataType::Timestamp(unit, _) => {
                part_of(&cast.expr).filter(|found| found.part.is_of_unit(*unit))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns the values of a column of type `ty` whose part is compared with a constant.
pub(super) fn values(
    ty: FieldType,
    part: Part,
    op: Operator,
    constant: &ScalarValue,
) -> Option<Predicate> {
    let time = nanoseconds(constant)?;
    let (start, next) = part.around(time);
    let least = if start == time { start } else { next };
    let (low, high) = match op {
        Operator::Eq if start != time => return Some(Predicate::In(Vec::new())),
        Operator::Eq => (Some(start), Some(next)),
        Operator::Lt => (None, Some(least)),
        Operator::LtEq => (None, Some(next)),
        Operator::Gt => (Some(next), None),
        Operator::GtEq => (Some(least), None),
        _ => return None,
    };
    let width = match ty {
        FieldType::Date => DAY,
        FieldType::Timestamp(unit) => SECOND / i128::from(unit.per_second()),
        _ => return None,
    };
    // The first value of the column that is not before a time.
    let first = |time: i128| -(-time).div_euclid(width);
    let bound = |number: i128| i64::try_from(number).map(Value::Signed);
    let (low, high) = (low.map(first), high.map(first));
    if low.is_some_and(|low| low > i128::from(i64::MAX))
        || high.is_some_and(|high| high <= i128::from(i64::MIN))
    {
        return Some(Predicate::In(Vec::new()));
    }
    // What no value reaches bounds nothing.
    let low = low.and_then(|low| bound(low).ok()).map_or(Bound::Unbounded, Bound::Included);
    let high = high.and_then(|high| bound(high).ok()).map_or(Bound::Unbounded, Bound::Excluded);
    match (&low, &high) {
        (Bound::Unbounded, Bound::Unbounded) => Some(Predicate::NotNull),
        _ => Some(Predicate::Range { low, high }),
    }
}

/// Returns a time, or the start of a day, in nanoseconds.
fn nanoseconds(constant: &ScalarValue) -> Option<i128> {
    match constant {
        ScalarValue::Date32(Some(days)) => Some(i128::from(*days) * DAY),
        _ => {
            let (unit, number) = timestamp_of(constant)?;
            Some(i128::from(number) * (SECOND / i128::from(unit.per_second())))
        }
    }
}

#[cfg(test)]
mod tests {
    use halite_rowkey::value::TimeUnit;

    use super::*;

    /// Milliseconds of a day.
    const MS: i64 = 86_400_000;

    /// Returns days from 1970-01-01 on as a time.
    fn day(days: i32) -> ScalarValue {
        ScalarValue::Date32(Some(days))
    }

    #[test]
    fn parts_of_the_calendar_begin_where_it_says() {
        let starts = |unit: &str, days: i128| {
            let (start, next) = Part::of(unit).expect("a unit").around(days * DAY + 5);
            (civil_date(start.div_euclid(DAY)), civil_date(next.div_euclid(DAY)))
        };
        // 2024-02-29.
        assert_eq!(starts("month", 19_782), ((2024, 2, 1), (2024, 3, 1)));
        assert_eq!(starts("quarter", 19_782), ((2024, 1, 1), (2024, 4, 1)));
        assert_eq!(starts("year", 19_782), ((2024, 1, 1), (2025, 1, 1)));
        assert_eq!(starts("week", 19_782), ((2024, 2, 26), (2024, 3, 4)));
        assert_eq!(starts("week", -1), ((1969, 12, 29), (1970, 1, 5)));
        assert_eq!(starts("month", -1), ((1969, 12, 1), (1970, 1, 1)));
        assert_eq!(Part::of("century"), None);
        for number in (-40..40_000).step_by(7) {
            let (year, month, of_month) = civil_date(month_start(number));
            assert_eq!((year * 12 + month - 1, of_month), (number, 1));
        }
    }

    #[test]
    fn comparisons_of_parts_are_ranges_of_times() {
        let ms = FieldType::Timestamp(TimeUnit::Millis);
        let of = |op, constant| values(ms, Part::Width(DAY, 0), op, &constant);
        let range = |low: Option<i64>, high: Option<i64>| {
            let low = low.map_or(Bound::Unbounded, |low| Bound::Included(Value::Signed(low)));
            let high = high.map_or(Bound::Unbounded, |high| Bound::Excluded(Value::Signed(high)));
            Some(Predicate::Range { low, high })
        };
        assert_eq!(of(Operator::Eq, day(1)), range(Some(MS), Some(2 * MS)));
        assert_eq!(of(Operator::Lt, day(1)), range(None, Some(MS)));
        assert_eq!(of(Operator::LtEq, day(1)), range(None, Some(2 * MS)));
        assert_eq!(of(Operator::Gt, day(1)), range(Some(2 * MS), None));
        assert_eq!(of(Operator::GtEq, day(-1)), range(Some(-MS), None));
        // Between two days.
        let noon = || ScalarValue::TimestampMillisecond(Some(MS / 2), None);
        assert_eq!(of(Operator::Eq, noon()), Some(Predicate::In(Vec::new())));
        assert_eq!(of(Operator::Lt, noon()), range(None, Some(MS)));
        assert_eq!(of(Operator::GtEq, noon()), range(Some(MS), None));
        assert_eq!(of(Operator::Gt, noon()), range(Some(MS), None));
        // Beyond the times of the column.
        let ns = FieldType::Timestamp(TimeUnit::Nanos);
        let far = |op| values(ns, Part::Width(DAY, 0), op, &day(i32::MAX));
        assert_eq!(far(Operator::GtEq), Some(Predicate::In(Vec::new())));
        assert_eq!(far(Operator::Lt), Some(Predicate::NotNull));
        let months = values(FieldType::Date, Part::Months(1), Operator::Eq, &day(19_783));
        let bound = |days| Value::Signed(days);
        assert_eq!(
            months,
            Some(Predicate::Range {
                low: Bound::Included(bound(19_783)),
                high: Bound::Excluded(bound(19_814)),
            })
        );
    }
}
