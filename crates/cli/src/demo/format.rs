//! Observations formatted as text with units.

use halite::Row;

use super::keys::parse_key;

/// Column headings of [`observation_entries`].
pub(crate) const OBSERVATION_HEADINGS: [&str; 10] = [
    "time (UTC)",
    "station",
    ">temp",
    "",
    "from",
    ">wind",
    ">gusts",
    ">rain",
    ">humid",
    ">visible",
];

/// The sixteen points of the compass, clockwise from north.
const POINTS: [&str; 16] = [
    "N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE", "S", "SSW", "SW", "WSW", "W", "WNW", "NW",
    "NNW",
];

/// Returns one row of the observations table.
pub(crate) fn observation_entries(station: &str, time_ms: i64, row: &Row) -> [String; 10] {
    let number = |field: &str| number(row, field);
    let with = |field: &str, decimals: usize, unit: &str| {
        number(field).map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$} {unit}"))
    };
    let celsius = number("temp").map_or_else(
        || "-".to_owned(),
        |fahrenheit| format!("{:>5.1} \u{b0}C", (fahrenheit - 32.0) / 1.8),
    );
    [
        date_and_hour(time_ms),
        station.to_owned(),
        with("temp", 1, "\u{b0}F"),
        celsius,
        number("wind_dir").map_or_else(|| "-".to_owned(), compass),
        with("wind_speed", 1, "mph"),
        with("wind_gust", 1, "mph"),
        with("precip", 2, "in"),
        with("humid", 0, "%"),
        with("visib", 1, "mi"),
    ]
}

/// Returns the time in the key of an observation, or `i64::MIN` if the key is invalid.
pub(crate) fn observation_time(row: &Row) -> i64 {
    parse_key(row.key()).map_or(i64::MIN, |(_, time)| time)
}

/// Formats a time as `2013-02-09 03:00`.
pub(crate) fn date_and_hour(time_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(time_ms)
        .map_or_else(|_| time_ms.to_string(), |time| time.strftime("%Y-%m-%d %H:%M").to_string())
}

/// Formats a stored speed with its unit.
pub(crate) fn mph(value: &[u8]) -> String {
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<f64>().ok());
    number.map_or_else(|| halite::to_string_binary(value), |number| format!("{number:.1} mph"))
}

fn number(row: &Row, field: &str) -> Option<f64> {
    std::str::from_utf8(row.value("data", field)?).ok()?.parse().ok()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "degrees lie between 0 and 360"
)]
fn compass(degrees: f64) -> String {
    let point = POINTS[(degrees.rem_euclid(360.0) / 22.5).round() as usize % POINTS.len()];
    point.to_owned()
}
