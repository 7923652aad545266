//! Durations of the operations of one region in the last minute.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use halite_types::Latencies;
use halite_types::latency::{LATENCY_BUCKETS, latency_bucket};

use crate::sampler;

/// Columns whose durations are kept: one minute.
const KEPT_COLUMNS: usize = 6;
/// Timed operations of a column after which the rate is halved, and again after as many more. Two
/// looks at the clock cost a few percent of a get from the cache.
const STEADY_OPERATIONS: u32 = 512;

/// Counters of one kind of operation.
#[derive(Debug)]
struct Counters([AtomicU32; LATENCY_BUCKETS]);

impl Default for Counters {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU32::new(0)))
    }
}

impl Counters {
    fn add(&self, nanoseconds: u64) {
        self.0[latency_bucket(nanoseconds)].fetch_add(1, Relaxed);
    }

    fn read(&self) -> Latencies {
        Latencies::of_counts(self.0.iter().map(|count| count.load(Relaxed)))
    }

    fn take(&self) -> Latencies {
        Latencies::of_counts(self.0.iter().map(|count| count.swap(0, Relaxed)))
    }
}

/// Durations of reads and of writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadsAndWrites {
    /// Of gets, and of calls for rows of scans.
    pub reads: Latencies,
    /// Of writes until they are durable.
    pub writes: Latencies,
}

/// Durations of the operations of one region. All methods may be called at the same time.
#[derive(Debug, Default)]
pub struct Durations {
    reads: Counters,
    writes: Counters,
    /// Operations that were timed in the current column.
    timed: AtomicU32,
    /// Binary logarithm of the operations per timed one at the begin of the current column.
    shift: AtomicU32,
    /// The last closed columns, oldest first.
    closed: Mutex<VecDeque<ReadsAndWrites>>,
}

impl Durations {
    /// Returns `true` if the operation with this number is to be timed. It counts from now on: the
    /// operations of a batch end together, long after all of them have begun.
    #[inline]
    #[must_use]
    pub fn begin(&self, number: u64) -> bool {
        let shift = self.shift.load(Relaxed) + self.timed.load(Relaxed) / STEADY_OPERATIONS;
        let is_timed =
            shift == 0 || sampler::is_sampled_of(sampler::position(number), shift.min(63));
        if is_timed {
            self.timed.fetch_add(1, Relaxed);
        }
        is_timed
    }

    /// Counts a read.
    pub fn add_read(&self, nanoseconds: u64) {
        self.reads.add(nanoseconds);
    }

    /// Counts a write.
    pub fn add_write(&self, nanoseconds: u64) {
        self.writes.add(nanoseconds);
    }

    /// Closes the current column. The next one begins with the rate that suits the number of
    /// operations of this one.
    pub fn close_column(&self, operations: u64) {
        self.timed.store(0, Relaxed);
        let shift = (operations / u64::from(STEADY_OPERATIONS)).checked_ilog2().unwrap_or(0);
        self.shift.store(shift, Relaxed);
        let column = ReadsAndWrites { reads: self.reads.take(), writes: self.writes.take() };
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        if closed.len() >= KEPT_COLUMNS {
            closed.pop_front();
        }
        closed.push_back(column);
    }

    /// Returns the durations of the kept columns and of the current one.
    #[must_use]
    pub fn recent(&self) -> ReadsAndWrites {
        let mut sum = ReadsAndWrites { reads: self.reads.read(), writes: self.writes.read() };
        for column in &*self.closed.lock().unwrap_or_else(PoisonError::into_inner) {
            sum.reads.add(&column.reads);
            sum.writes.add(&column.writes);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_last_minute_are_counted_exactly() {
        let durations = Durations::default();
        for column in 0..20 {
            (0..99).for_each(|_| durations.add_read(100_000));
            durations.add_read(9_000_000);
            durations.add_write(50_000);
            let recent = durations.recent();
            let columns = 1 + column.min(KEPT_COLUMNS as u64);
            assert_eq!((recent.reads.count(), recent.writes.count()), (100 * columns, columns));
            durations.close_column(101);
        }
        let reads = durations.recent().reads;
        assert!(reads.quantile_ns(0.985).unwrap() < 130_000);
        assert!(reads.quantile_ns(0.995).unwrap() > 9_000_000);
        (0..KEPT_COLUMNS).for_each(|_| durations.close_column(0));
        assert_eq!(durations.recent(), ReadsAndWrites::default());
    }

    #[test]
    fn busy_region_times_some_operations() {
        let durations = Durations::default();
        let timed = |operations| (0..operations).filter(|at| durations.begin(*at)).count();
        // None of them has ended yet.
        assert_eq!(timed(u64::from(STEADY_OPERATIONS)), STEADY_OPERATIONS as usize);
        let more = timed(640_000);
        assert!((3_000..6_000).contains(&more), "{more}: the rate falls within the column");
        durations.close_column(640_000);
        let steady = timed(640_000);
        assert!((512..1_024).contains(&steady), "{steady}");
        durations.close_column(100);
        assert_eq!(timed(100), 100);
    }
}
