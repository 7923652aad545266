//! Times of base columns, whose loads are taken a little late, and much later on a busy machine.

use crate::column::BASE_MS;

/// Shortest time of the loads of a column that a caller closes a little before its end.
const EARLIEST_MS: i64 = BASE_MS - BASE_MS / 50;

/// Span of time of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnTime {
    /// Beginning, in milliseconds since 1970.
    pub from_ms: i64,
    /// End, in milliseconds since 1970, exclusive.
    pub to_ms: i64,
    /// Milliseconds in which the column's loads were recorded: those since the loads of the column
    /// before it were taken, whatever the span.
    pub recorded_ms: i64,
}

impl ColumnTime {
    /// Returns a span whose loads were recorded from its beginning to its end.
    #[must_use]
    pub fn exact(from_ms: i64, to_ms: i64) -> Self {
        Self { from_ms, to_ms, recorded_ms: to_ms.saturating_sub(from_ms) }
    }
}

/// What [`ColumnClock::close`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnEnd {
    /// The first column begins now: this was the first call, or the clock was set back.
    Begins,
    /// The column is not over.
    TooEarly,
    /// The column is over: the loads since the last one are its loads.
    Closed(ColumnTime),
}

/// Divides time into base columns.
///
/// Columns begin and end at multiples of [`BASE_MS`], and are as long as the time of their loads,
/// rounded. So a column with the load of two is as long as two, and none has almost no load because
/// the one before it was closed late.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColumnClock {
    /// End of the last column, and when its loads were taken; `None` before the first.
    last: Option<(i64, i64)>,
}

impl ColumnClock {
    /// Closes the current column if it is over.
    pub fn close(&mut self, now_ms: i64) -> ColumnEnd {
        let whole = |ms: i64| ms.div_euclid(BASE_MS).saturating_mul(BASE_MS);
        let nearest = whole(now_ms.saturating_add(BASE_MS / 2));
        let Some((from_ms, taken_ms)) = self.last.filter(|(_, taken_ms)| now_ms >= *taken_ms)
        else {
            self.last = Some((nearest, now_ms));
            return ColumnEnd::Begins;
        };
        let recorded_ms = now_ms.saturating_sub(taken_ms);
        let to_ms = from_ms
            .saturating_add(whole(recorded_ms.saturating_add(BASE_MS / 2)))
            .clamp(whole(now_ms), nearest);
        let is_over = now_ms >= from_ms.saturating_add(BASE_MS) || recorded_ms >= EARLIEST_MS;
        if to_ms <= from_ms || !is_over {
            return ColumnEnd::TooEarly;
        }
        self.last = Some((to_ms, now_ms));
        ColumnEnd::Closed(ColumnTime { from_ms, to_ms, recorded_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(times: impl IntoIterator<Item = i64>) -> Vec<(i64, i64, i64)> {
        let mut clock = ColumnClock::default();
        let closed = times.into_iter().filter_map(|time| match clock.close(time) {
            ColumnEnd::Closed(time) => Some((time.from_ms, time.to_ms, time.recorded_ms)),
            ColumnEnd::Begins | ColumnEnd::TooEarly => None,
        });
        closed.collect()
    }

    #[test]
    fn columns_of_late_loads_have_the_time_of_these() {
        let late = columns([10_000, 24_000, 30_000]);
        assert_eq!(late, [(10_000, 20_000, 14_000), (20_000, 30_000, 6000)]);
        // As late as this, it has most of the next one's load and takes its time.
        let later = columns([10_000, 29_900, 30_000, 40_000]);
        assert_eq!(later, [(10_000, 30_000, 19_900), (30_000, 40_000, 10_100)]);
        assert_eq!(columns([10_000, 310_000]), [(10_000, 310_000, 300_000)]);
    }

    #[test]
    fn columns_of_regular_calls_are_of_one_length() {
        // Every column is closed when it is over, however often the caller asks.
        let often = columns((0..80).map(|call| 10_300 + call * 500));
        assert_eq!(often[0], (10_000, 20_000, 10_000));
        for phase in (0..BASE_MS).step_by(700) {
            let jitter = |call: i64| 60 * (call % 3 - 1);
            let times = (1..50).map(|call| call * BASE_MS + phase + jitter(call));
            let columns = columns(times);
            assert_eq!(columns.len(), 48, "{phase}");
            assert!(columns.iter().all(|(from, to, _)| to - from == BASE_MS), "{columns:?}");
        }
    }

    #[test]
    fn early_calls_and_clocks_that_are_set_back_close_nothing() {
        assert_eq!(columns([10_000, 12_000, 14_999, 15_001, 19_000]), []);
        assert_eq!(columns([50_000, 20_000, 30_000]), [(20_000, 30_000, 10_000)]);
    }

    #[test]
    fn extreme_times_close_columns() {
        assert_eq!(columns([i64::MIN, i64::MAX]).len(), 1);
    }
}
