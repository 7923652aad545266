//! Row keys of the demo: station and reversed time, so that the newest observation of a station
//! sorts first.
//!
//! ```text
//! JFK_9223370651449575807     station, _, Long.MAX_VALUE - time in 19 digits
//! ```
//! Every such number for the years 1970 to 2262 and later has 19 digits, so text order is numeric
//! order. The reversal swaps the bounds of a time range: the key range starts at the reversed *end*
//! and stops after the reversed *start*.

use halite::Scan;

/// Returns the key of an observation.
pub(crate) fn row_key(station: &str, time_ms: i64) -> String {
    format!("{station}_{:019}", i64::MAX - time_ms)
}

/// Returns the station and time of a key.
pub(crate) fn parse_key(key: &[u8]) -> Option<(&str, i64)> {
    let (station, reversed) = std::str::from_utf8(key).ok()?.split_once('_')?;
    Some((station, i64::MAX - reversed.parse::<i64>().ok()?))
}

/// Range of row keys, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    /// Inclusive.
    pub(crate) start: String,
    /// Exclusive.
    pub(crate) stop: String,
}

impl KeyRange {
    /// Returns the range of all rows of a station. Its stop key is the character after `_`.
    pub(crate) fn station(station: &str) -> Self {
        Self { start: format!("{station}_"), stop: format!("{station}`") }
    }

    /// Returns the range of a station's observations in a time range, both bounds inclusive.
    pub(crate) fn between(station: &str, from_ms: i64, to_ms: i64) -> Self {
        Self { start: row_key(station, to_ms), stop: row_key(station, from_ms - 1) }
    }

    /// Returns the scan of the range.
    pub(crate) fn scan(&self) -> Scan {
        Scan::range(self.start.clone(), self.stop.clone())
    }
}

impl std::fmt::Display for KeyRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{}, {})", self.start, self.stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2024-03-15T00:00:00Z.
    const NOON: i64 = 1_710_460_800_000;

    #[test]
    fn newer_observation_has_smaller_key() {
        assert_eq!(row_key("s1", NOON), "s1_9223370326393975807");
        assert!(row_key("s1", NOON + 1) < row_key("s1", NOON));
        assert!(
            row_key("s1", 0) > row_key("s1", 1)
                && row_key("s1", 0).len() == row_key("s1", NOON).len()
        );
        assert_eq!(parse_key(b"JFK_9223370326393975807"), Some(("JFK", NOON)));
    }

    #[test]
    fn last_day_range_runs_from_now_to_yesterday() {
        let range = KeyRange::between("s1", NOON - 86_400_000, NOON);
        assert_eq!(range.to_string(), "[s1_9223370326393975807, s1_9223370326480375808)");
        assert!(range.start < range.stop);
    }
}
