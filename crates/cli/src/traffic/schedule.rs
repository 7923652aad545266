//! Open loop: operations are due at fixed times, whether earlier ones are done or not.

use std::time::Duration;

/// Most seconds of late operations that are caught up. Older ones are left out, so that a store
/// that was away for minutes is not flooded.
const MAX_LATE: Duration = Duration::from_secs(2);
/// Part of the rate at which a periodic load continues outside of its batch jobs.
const IDLE_PART: f64 = 0.05;
/// Part of a period that a batch job takes.
const BUSY_PART: u32 = 3;

/// Times at which operations are due, since the start of the run.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// Units per second; an operation has one unit, a scan of a sweep one for each row.
    rate: f64,
    /// `None` for a constant rate.
    period: Option<Duration>,
    next: Duration,
    left_out: f64,
}

impl Schedule {
    pub(crate) fn new(rate: u64, period: Option<Duration>) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53")]
        let rate = rate.max(1) as f64;
        Self { rate, period, next: Duration::ZERO, left_out: 0.0 }
    }

    /// Returns when the next operation, of `units`, is due. It is in the past if operations are
    /// late.
    pub(crate) fn take(&mut self, now: Duration, units: u64) -> Duration {
        if now > self.next + MAX_LATE {
            let resumed = now.saturating_sub(MAX_LATE);
            self.left_out +=
                resumed.saturating_sub(self.next).as_secs_f64() * self.rate_at(self.next);
            self.next = resumed;
        }
        let due = self.next;
        #[expect(clippy::cast_precision_loss, reason = "rows of one scan")]
        let step = units as f64 / self.rate_at(self.next);
        self.next += Duration::from_secs_f64(step);
        due
    }

    /// Returns the units that were left out since the last call because the operations were too
    /// late.
    pub(crate) fn take_left_out(&mut self) -> f64 {
        std::mem::take(&mut self.left_out)
    }

    /// Returns how late the next operation is.
    pub(crate) fn lateness(&self, now: Duration) -> Duration {
        now.saturating_sub(self.next)
    }

    fn rate_at(&self, time: Duration) -> f64 {
        let Some(period) = self.period else { return self.rate };
        let phase = Duration::from_nanos(
            u64::try_from(time.as_nanos() % period.as_nanos().max(1)).unwrap_or(u64::MAX),
        );
        if phase < period / BUSY_PART { self.rate } else { self.rate * IDLE_PART }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of operations that are due in each second.
    fn counts(mut schedule: Schedule, seconds: u64) -> Vec<usize> {
        let mut counts = vec![0; usize::try_from(seconds).unwrap()];
        loop {
            let due = schedule.take(Duration::ZERO, 1);
            match counts.get_mut(usize::try_from(due.as_secs()).unwrap()) {
                Some(count) => *count += 1,
                None => return counts,
            }
        }
    }

    #[test]
    fn operations_are_due_at_the_rate() {
        for count in counts(Schedule::new(250, None), 5) {
            assert!((249..=251).contains(&count), "{count}");
        }
    }

    #[test]
    fn batch_job_takes_a_third_of_each_period() {
        let counts = counts(Schedule::new(1000, Some(Duration::from_mins(1))), 120);
        for (second, count) in counts.into_iter().enumerate() {
            let expected = if second % 60 < 20 { 1000 } else { 50 };
            assert!(count.abs_diff(expected) <= 2, "second {second}: {count}");
        }
    }

    #[test]
    fn scan_of_many_rows_delays_the_next() {
        let mut schedule = Schedule::new(1000, None);
        assert_eq!(schedule.take(Duration::ZERO, 50), Duration::ZERO);
        assert_eq!(schedule.take(Duration::ZERO, 1), Duration::from_millis(50));
    }

    #[test]
    fn late_operations_are_caught_up_for_two_seconds_only() {
        let mut schedule = Schedule::new(100, None);
        let late = Duration::from_millis(1500);
        let caught_up = (0..1000).take_while(|_| schedule.take(late, 1) < late).count();
        assert_eq!((caught_up, schedule.take_left_out()), (150, 0.0));
        let outage = Duration::from_mins(1);
        assert_eq!(schedule.take(outage, 1), Duration::from_secs(58));
        let left_out = schedule.take_left_out();
        assert!((left_out - 5649.0).abs() < 1.0, "{left_out}");
        assert!(schedule.take_left_out().abs() < f64::EPSILON);
    }
}
