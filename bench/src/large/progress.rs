//! Lines on the standard error output while a phase runs.

use std::time::{Duration, Instant};

/// Time between two lines.
const INTERVAL: Duration = Duration::from_secs(10);

/// Progress of a phase.
pub(crate) struct Progress {
    label: String,
    total: u64,
    start: Instant,
    next: Instant,
}

impl Progress {
    /// Starts a phase of `total` steps, or of unknown length if `total` is 0.
    pub(crate) fn new(label: String, total: u64) -> Self {
        let start = Instant::now();
        Self { label, total, start, next: start + INTERVAL }
    }

    /// Prints a line if the last one is long enough ago; `now` is the current time.
    pub(crate) fn tick(&mut self, done: u64, now: Instant) {
        if now >= self.next {
            self.next = now + INTERVAL;
            eprintln!("{}", self.line(done, now.duration_since(self.start)));
        }
    }

    fn line(&self, done: u64, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs_f64();
        if self.total == 0 {
            return format!("{}: {seconds:.0} s", self.label);
        }
        let percent = done as f64 * 100.0 / self.total as f64;
        let rate = done as f64 / seconds.max(f64::MIN_POSITIVE) / 1e3;
        format!(
            "{}: {done} of {} ({percent:.0} %), {rate:.1} k/s, {seconds:.0} s",
            self.label, self.total
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_states_share_and_rate() {
        let ten = Duration::from_secs(10);
        let line = Progress::new("fill".to_string(), 200_000).line(50_000, ten);
        assert_eq!(line, "fill: 50000 of 200000 (25 %), 5.0 k/s, 10 s");
        assert_eq!(Progress::new("compactions".to_string(), 0).line(7, ten), "compactions: 10 s");
    }
}
