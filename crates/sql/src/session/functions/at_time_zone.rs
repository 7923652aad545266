//! `AT TIME ZONE`: an instant as the time of a clock there, or such a time as an instant.

use std::sync::Arc;

use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::array::{Array as _, AsArray as _, TimestampMicrosecondArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType};
use datafusion::arrow::temporal_conversions::as_datetime_with_timezone;
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::error::{SqlError, SqlState};

/// Name of the function.
pub(crate) const AT_TIME_ZONE: &str = "at_time_zone";

const UTC: &str = "+00:00";
const DAY_MICROS: i64 = 86_400_000_000;

pub(super) fn at_time_zone() -> ScalarUDF {
    let signature = Signature::user_defined(Volatility::Immutable);
    ScalarUDF::new_from_impl(AtTimeZone { signature })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct AtTimeZone {
    signature: Signature,
}

fn micros(is_instant: bool) -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, is_instant.then(|| UTC.into()))
}

fn is_instant(ty: &DataType) -> bool {
    matches!(ty, DataType::Timestamp(_, Some(_)))
}

impl ScalarUDFImpl for AtTimeZone {
    fn name(&self) -> &'static str {
        AT_TIME_ZONE
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [time, _] = types else { return plan_err!("AT TIME ZONE has a time and a zone") };
        let time = match time {
            DataType::Timestamp(_, zone) => micros(zone.is_some()),
            // Text and dates are instants, as PostgreSQL prefers.
            DataType::Utf8
            | DataType::Utf8View
            | DataType::LargeUtf8
            | DataType::Date32
            | DataType::Date64
            | DataType::Null => micros(true),
            other => return plan_err!("AT TIME ZONE of type {other}: it is for a timestamp"),
        };
        Ok(vec![time, DataType::Utf8])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(micros(!types.first().is_some_and(is_instant)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [times, zones] = arrays.as_slice() else {
            return plan_err!("AT TIME ZONE has a time and a zone");
        };
        let is_instant = is_instant(times.data_type());
        let times = cast(times, &micros(is_instant))?;
        let times = times.as_primitive::<TimestampMicrosecondType>();
        let zones = cast(zones, &DataType::Utf8)?;
        let zones = zones.as_string::<i32>();
        let mut last: Option<(String, Tz)> = None;
        let mut converted = Vec::with_capacity(times.len());
        for at in 0..times.len() {
            if times.is_null(at) || zones.is_null(at) {
                converted.push(None);
                continue;
            }
            let name = zones.value(at);
            let zone = match &last {
                Some((known, zone)) if known == name => *zone,
                _ => {
                    let zone = zone_of(name)?;
                    last = Some((name.to_owned(), zone));
                    zone
                }
            };
            let time = times.value(at);
            let other = if is_instant { local(time, zone) } else { instant(time, zone) };
            converted.push(Some(other.ok_or_else(|| {
                SqlError::new(SqlState::OutOfRange, "a time is outside of what zones convert")
            })?));
        }
        let converted = TimestampMicrosecondArray::from(converted);
        let zone: Option<Arc<str>> = (!is_instant).then(|| UTC.into());
        Ok(ColumnarValue::Array(Arc::new(converted.with_timezone_opt(zone))))
    }
}

fn zone_of(name: &str) -> Result<Tz> {
    let unknown = |more: &str| {
        let text = format!("{name:?} is no time zone; name one, such as 'Europe/Berlin'{more}");
        SqlError::new(SqlState::InvalidParameter, text).into()
    };
    let known = match name.trim().to_ascii_uppercase().as_str() {
        "UTC" | "GMT" | "Z" | "ZULU" | "UCT" => UTC,
        // PostgreSQL reads '+3' as three hours west of Greenwich, and few people mean that.
        upper if upper.contains(|letter: char| letter.is_ascii_digit()) && !upper.contains('/') => {
            return Err(unknown("; offsets are not read"));
        }
        _ => name.trim(),
    };
    known.parse().map_err(|_| unknown(""))
}

/// Returns the time of a clock at an instant.
fn local(instant: i64, zone: Tz) -> Option<i64> {
    let there = as_datetime_with_timezone::<TimestampMicrosecondType>(instant, zone)?;
    Some(there.naive_local().and_utc().timestamp_micros())
}

/// Returns the instant at which a clock shows a time. A time that is skipped is read as before the
/// change, one that comes twice as after it.
fn instant(time: i64, zone: Tz) -> Option<i64> {
    let offset = |near: i64| Some(local(near, zone)? - near);
    let before = time.checked_sub(offset(time.checked_sub(DAY_MICROS)?)?)?;
    let after = time.checked_sub(offset(time.checked_add(DAY_MICROS)?)?)?;
    Some(if local(after, zone)? == time { after } else { before })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000;

    #[test]
    fn clocks_that_change_are_read_as_postgresql_does() {
        let berlin: Tz = zone_of("Europe/Berlin").unwrap();
        // 2024-03-31 02:30 there is none of; 2024-10-27 02:30 there are two.
        let skipped = 1_711_852_200_000_000;
        assert_eq!(instant(skipped, berlin), Some(skipped - HOUR));
        let twice = 1_729_996_200_000_000;
        assert_eq!(instant(twice, berlin), Some(twice - HOUR));
        let summer = 1_719_835_200_000_000;
        assert_eq!(local(summer, berlin), Some(summer + 2 * HOUR));
        assert_eq!(instant(summer + 2 * HOUR, berlin), Some(summer));
        assert!(zone_of("+3").is_err());
        assert!(zone_of("Mars/Base").is_err());
        assert!(zone_of("utc").is_ok());
    }
}
