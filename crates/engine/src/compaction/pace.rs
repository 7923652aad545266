//! Rate limit of automatic compactions, which all of an engine share.
//!
//! As HBase's pressure-aware controller (`PressureAwareCompactionThroughputController`): the more
//! files wait for a compaction, the higher the rate.

use std::time::Duration;

use crate::options::Options;
use crate::ranked_lock::RankedMutex;

/// Number of files of a store at which the rate is no longer limited (HBase:
/// `hbase.hstore.blockingStoreFiles`).
const UNLIMITED_FILES: usize = 16;

/// Number of queued compactions at which the rate is no longer limited.
const UNLIMITED_QUEUE: u64 = 8;

/// Time that compactions may save up while they are slower than the limit, in nanoseconds.
const MAX_CREDIT_NS: u64 = 100_000_000;

/// Work that waits for compactions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backlog {
    /// Number of files in the store, and the number at which a compaction is worth it.
    pub(crate) files: usize,
    pub(crate) min_files: usize,
    /// Number of queued compactions.
    pub(crate) queued: u64,
}

impl Backlog {
    /// Returns 0 without a backlog, and 1 or more if compactions must not be held back.
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    fn pressure(self) -> f64 {
        let above = self.files.saturating_sub(self.min_files) as f64;
        let of_files = above / UNLIMITED_FILES.saturating_sub(self.min_files).max(1) as f64;
        of_files.max(self.queued as f64 / UNLIMITED_QUEUE as f64)
    }
}

/// Rate limit of all compactions of an engine.
#[derive(Debug, Default)]
pub(crate) struct CompactionPace {
    /// Time at which the bytes read so far are within the limit, in nanoseconds.
    paid_until_ns: RankedMutex<u64>,
}

impl CompactionPace {
    /// Counts `bytes` read by a compaction at `now_ns`, and returns the time that it must wait.
    pub(crate) fn pay(
        &self,
        bytes: u64,
        now_ns: u64,
        options: &Options,
        backlog: Backlog,
    ) -> Duration {
        let Some(rate) = rate(options, backlog) else { return Duration::ZERO };
        let cost_ns = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
        let cost_ns = u64::try_from(cost_ns).unwrap_or(u64::MAX);
        let mut paid_until = self.paid_until_ns.lock();
        let start = (*paid_until).max(now_ns.saturating_sub(MAX_CREDIT_NS));
        *paid_until = start.saturating_add(cost_ns);
        Duration::from_nanos(paid_until.saturating_sub(now_ns))
    }
}

/// Returns the limit in bytes per second, if there is one now.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate needs no more than 53 bits, and lies between two others"
)]
fn rate(options: &Options, backlog: Backlog) -> Option<u64> {
    let (low, high) = (options.compaction_rate, options.max_compaction_rate);
    let pressure = backlog.pressure();
    let is_limited = low > 0 && pressure < 1.0 && (high > 0 || pressure <= 0.0);
    is_limited.then(|| low + (high.saturating_sub(low) as f64 * pressure) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;
    const CALM: Backlog = Backlog { files: 3, min_files: 3, queued: 0 };

    fn options() -> Options {
        Options { compaction_rate: 10 * MB, max_compaction_rate: 20 * MB, ..Options::default() }
    }

    #[test]
    fn rate_is_that_of_the_options() {
        let pace = CompactionPace::default();
        let mut now = 5_000_000_000;
        let began = now;
        for _ in 0..40 {
            now += u64::try_from(pace.pay(MB, now, &options(), CALM).as_nanos()).unwrap();
        }
        let seconds = Duration::from_nanos(now - began).as_secs_f64();
        assert!((3.8..4.1).contains(&seconds), "40 MB at 10 MB/s took {seconds} s");
        // Time without compactions is not saved up for later.
        now += 60_000_000_000;
        let wait = pace.pay(10 * MB, now, &options(), CALM).as_secs_f64();
        assert!((0.8..1.1).contains(&wait), "waits {wait} s");
    }

    #[test]
    fn backlog_raises_and_lifts_the_limit() {
        let of = |files, queued| rate(&options(), Backlog { files, min_files: 3, queued });
        assert_eq!(of(1, 0), Some(10 * MB));
        assert_eq!(of(3, 4), Some(15 * MB));
        assert!(of(9, 0).is_some_and(|rate| rate > 13 * MB && rate < 16 * MB));
        assert_eq!(of(16, 0), None);
        assert_eq!(of(3, 8), None);
        let unlimited = Options { compaction_rate: 0, ..options() };
        assert_eq!(rate(&unlimited, CALM), None);
    }

    #[test]
    fn maximum_rate_of_0_is_no_limit_while_files_wait() {
        let options = Options { max_compaction_rate: 0, ..options() };
        options.check().unwrap();
        assert_eq!(rate(&options, CALM), Some(10 * MB));
        assert_eq!(rate(&options, Backlog { files: 4, ..CALM }), None);
    }

    #[test]
    fn extreme_amounts_neither_overflow_nor_wait_forever_without_limit() {
        let pace = CompactionPace::default();
        assert!(pace.pay(u64::MAX, u64::MAX, &options(), CALM) == Duration::ZERO);
        let unlimited = Options { compaction_rate: 0, ..options() };
        assert_eq!(pace.pay(u64::MAX, 0, &unlimited, CALM), Duration::ZERO);
    }
}
