//! Time in which no operation succeeds, while some are in progress or fail.

use std::time::Duration;

/// Load of which no operation has succeeded for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Time since the last success, or since the first operation after it.
    pub lasts: Duration,
    /// Operations in progress.
    pub waiting: u64,
    /// Operations that failed meanwhile.
    pub failed: u64,
    /// Time after which the load is stopped.
    pub limit: Duration,
}

/// Consequence of a silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// It is reported, once.
    Report(Silence),
    /// The load is stopped.
    Stop(Silence),
}

/// Observed numbers of a load.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Observed {
    /// Operations that succeeded so far.
    pub(super) succeeded: u64,
    /// Operations in progress.
    pub(super) waiting: u64,
    /// Operations that failed since the last success.
    pub(super) failed: u64,
}

/// Detector of silences.
#[derive(Debug)]
pub(super) struct SilenceWatch {
    limit: Duration,
    since: Duration,
    succeeded: u64,
    is_reported: bool,
}

impl SilenceWatch {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, since: Duration::ZERO, succeeded: 0, is_reported: false }
    }

    /// Returns what follows from numbers that were observed at a time since the start.
    pub(super) fn observe(&mut self, now: Duration, observed: Observed) -> Option<Alarm> {
        let Observed { succeeded, waiting, failed } = observed;
        if succeeded > self.succeeded || (waiting == 0 && failed == 0) {
            (self.since, self.succeeded, self.is_reported) = (now, succeeded, false);
            return None;
        }
        let lasts = now.saturating_sub(self.since);
        let silence = Silence { lasts, waiting, failed, limit: self.limit };
        if lasts >= self.limit {
            return Some(Alarm::Stop(silence));
        }
        // Early, since the operator can look at the store meanwhile.
        let is_due = lasts >= self.limit / 6 && !self.is_reported;
        self.is_reported |= is_due;
        is_due.then_some(Alarm::Report(silence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alarms(observations: &[(u64, u64, u64, u64)]) -> Vec<(u64, bool)> {
        let mut watch = SilenceWatch::new(Duration::from_secs(12));
        let observe = |&(second, succeeded, waiting, failed): &(u64, u64, u64, u64)| {
            let observed = Observed { succeeded, waiting, failed };
            let alarm = watch.observe(Duration::from_secs(second), observed)?;
            Some((second, matches!(alarm, Alarm::Stop(_))))
        };
        observations.iter().filter_map(observe).collect()
    }

    #[test]
    fn silence_is_reported_once_and_ends_the_load() {
        let stuck: Vec<_> = (1..=15).map(|second| (second, 7, 4, 0)).collect();
        assert_eq!(alarms(&stuck), [(3, false), (13, true), (14, true), (15, true)]);
        let failing: Vec<_> = (1..=13).map(|second| (second, 7, 0, second)).collect();
        assert_eq!(alarms(&failing), [(3, false), (13, true)]);
    }

    #[test]
    fn success_and_time_without_due_operations_end_a_silence() {
        let slow = [(1, 7, 4, 0), (4, 7, 4, 2), (5, 8, 4, 0), (16, 8, 4, 0), (17, 8, 4, 0)];
        assert_eq!(alarms(&slow), [(4, false), (16, false), (17, true)]);
        let rare = [(1, 7, 0, 0), (30, 7, 0, 0), (31, 7, 1, 0), (32, 8, 0, 0), (60, 8, 0, 0)];
        assert_eq!(alarms(&rare), []);
    }
}
