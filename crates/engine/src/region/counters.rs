//! Counters of a region since it was opened.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::scan::ReadStats;

/// Counters that only increase. Those that every get changes are in one line of the cache, with
/// what decides whether it is recorded.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Counters {
    read_requests: AtomicU64,
    write_requests: AtomicU64,
    rows_examined: AtomicU64,
    rows_returned: AtomicU64,
    cells_examined: AtomicU64,
    cells_returned: AtomicU64,
    bytes_returned: AtomicU64,
    /// Decides which operations may be recorded, by their numbers.
    #[cfg(feature = "heat")]
    pub(crate) gate: halite_heat::sampler::Gate,
    bytes_written: AtomicU64,
    rows_filtered: AtomicU64,
    rows_refused: AtomicU64,
    flushes: AtomicU64,
    in_memory_compactions: AtomicU64,
    compactions: AtomicU64,
}

impl Counters {
    /// Counts a get and its read statistics. Returns the number of read requests before it.
    pub(crate) fn add_get(&self, trace: &ReadStats) -> u64 {
        self.add_read_stats(trace);
        self.read_requests.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts a part of a scan and its read statistics. Every row it returned is a read request, as
    /// in HBase. Returns the number of read requests before it.
    pub(crate) fn add_scan(&self, trace: &ReadStats) -> u64 {
        self.add_read_stats(trace);
        self.read_requests.fetch_add(trace.rows_returned(), Ordering::Relaxed)
    }

    fn add_read_stats(&self, trace: &ReadStats) {
        self.rows_examined.fetch_add(trace.rows_examined(), Ordering::Relaxed);
        self.rows_returned.fetch_add(trace.rows_returned(), Ordering::Relaxed);
        if trace.rows_filtered() > 0 {
            self.rows_filtered.fetch_add(trace.rows_filtered(), Ordering::Relaxed);
        }
        self.cells_examined.fetch_add(trace.cells_examined(), Ordering::Relaxed);
        self.cells_returned.fetch_add(trace.cells_returned(), Ordering::Relaxed);
        self.bytes_returned.fetch_add(trace.bytes_returned(), Ordering::Relaxed);
    }

    /// Counts write requests. Returns their number before.
    pub(crate) fn add_writes(&self, requests: u64, bytes: u64) -> u64 {
        self.bytes_written.fetch_add(bytes, Ordering::Relaxed);
        self.write_requests.fetch_add(requests, Ordering::Relaxed)
    }

    /// Returns the number of read requests so far.
    #[cfg(feature = "heat")]
    #[inline]
    pub(crate) fn read_requests(&self) -> u64 {
        self.read_requests.load(Ordering::Relaxed)
    }

    /// Returns the number of write requests so far.
    #[cfg(feature = "heat")]
    #[inline]
    pub(crate) fn write_requests(&self) -> u64 {
        self.write_requests.load(Ordering::Relaxed)
    }

    pub(crate) fn add_refused_row(&self) {
        self.rows_refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_flush(&self) {
        self.flushes.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_in_memory_compaction(&self) {
        self.in_memory_compactions.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_compaction(&self) {
        self.compactions.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the counters that the heat map has. Deletes are not counted.
    #[cfg(feature = "heat")]
    pub(crate) fn heat_load(&self) -> halite_heat::Load {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        halite_heat::Load::new([
            get(&self.read_requests),
            get(&self.write_requests),
            0,
            get(&self.rows_examined),
            get(&self.bytes_returned),
            get(&self.bytes_written),
        ])
    }

    /// Copies the counters into `load`.
    pub(crate) fn fill(&self, load: &mut halite_types::RegionLoad) {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        load.read_requests = get(&self.read_requests);
        load.write_requests = get(&self.write_requests);
        load.filtered_read_requests = get(&self.rows_filtered);
        load.refused_rows = get(&self.rows_refused);
        load.rows_examined = get(&self.rows_examined);
        load.rows_returned = get(&self.rows_returned);
        load.cells_examined = get(&self.cells_examined);
        load.cells_returned = get(&self.cells_returned);
        load.bytes_returned = get(&self.bytes_returned);
        load.bytes_written = get(&self.bytes_written);
        load.flushes = get(&self.flushes);
        load.in_memory_compactions = get(&self.in_memory_compactions);
        load.compactions = get(&self.compactions);
    }
}
