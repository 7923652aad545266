//! Times of base columns, whose loads are taken a little late, and much later on a busy machine.

use crate::column::BASE_MS;

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
    /// A column begins now, and the loads before it are of no column: this was the first call, or
    /// the clock was set back.
    Begins,
    /// The column is not over.
    TooEarly,
    /// The column is over: the loads since the last one are its loads.
    Closed(ColumnTime),
}

/// Divides time into base columns.
///
/// Columns begin and end at multiples of [`BASE_MS`], the ones nearest to when their loads are
/// taken. So a column with the load of two is as long as two, and none has almost no load because
/// the one before it was closed late.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColumnClock {
    /// End of the last column, and when its loads were taken; `None` before the first.
    last: Option<(i64, i64)>,
}

impl ColumnClock {
    /// Closes the current column if it is over.
    pub fn close(&mut self, now_ms: i64) -> ColumnEnd {
        let to_ms = now_ms.saturating_add(BASE_MS / 2).div_euclid(BASE_MS).saturating_mul(BASE_MS);
        let Some((from_ms, taken_ms)) = self.last.filter(|(_, taken_ms)| now_ms >= *taken_ms)
        else {
            self.last = Some((to_ms, now_ms));
            return ColumnEnd::Begins;
        };
        if to_ms <= from_ms {
            return ColumnEnd::TooEarly;
        }
        self.last = Some((to_ms, now_ms));
        let recorded_ms = now_ms.saturating_sub(taken_ms);
        ColumnEnd::Closed(ColumnTime { from_ms, to_ms, recorded_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(times: &[i64]) -> Vec<(i64, i64, i64)> {
        let mut clock = ColumnClock::default();
        let closed = times.iter().filter_map(|time| match clock.close(*time) {
            ColumnEnd::Closed(time) => Some((time.from_ms, time.to_ms, time.recorded_ms)),
            ColumnEnd::Begins | ColumnEnd::TooEarly => None,
        });
        closed.collect()
    }

    #[test]
    fn columns_of_late_loads_have_the_time_of_these() {
        assert_eq!(
            columns(&[10_001, 20_001, 30_000]),
            [(10_000, 20_000, 10_000), (20_000, 30_000, 9999)]
        );
        assert_eq!(
            columns(&[10_000, 24_000, 30_000]),
            [(10_000, 20_000, 14_000), (20_000, 30_000, 6000)]
        );
        // As late as this, it has most of the next one's load and takes its time.
        assert_eq!(
            columns(&[10_000, 29_900, 30_000, 40_000]),
            [(10_000, 30_000, 19_900), (30_000, 40_000, 10_100)]
        );
        assert_eq!(columns(&[10_000, 310_000]), [(10_000, 310_000, 300_000)]);
    }

    #[test]
    fn early_calls_and_clocks_that_are_set_back_close_nothing() {
        assert_eq!(columns(&[10_000, 12_000, 14_999]), []);
        assert_eq!(columns(&[50_000, 20_000, 30_000]), [(20_000, 30_000, 10_000)]);
    }

    #[test]
    fn extreme_times_close_columns() {
        assert_eq!(columns(&[i64::MIN, i64::MAX]).len(), 1);
    }
}
