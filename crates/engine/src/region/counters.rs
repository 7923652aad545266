//! What a region counts since it was opened.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::scan::ReadTrace;

/// Counts; only added to.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    read_requests: AtomicU64,
    write_requests: AtomicU64,
    rows_examined: AtomicU64,
    rows_returned: AtomicU64,
    rows_filtered: AtomicU64,
    rows_refused: AtomicU64,
    cells_examined: AtomicU64,
    cells_returned: AtomicU64,
    bytes_returned: AtomicU64,
    bytes_written: AtomicU64,
    flushes: AtomicU64,
    condensations: AtomicU64,
    compactions: AtomicU64,
}

impl Counters {
    /// A get with what it touched.
    pub(crate) fn add_get(&self, trace: &ReadTrace) {
        self.read_requests.fetch_add(1, Ordering::Relaxed);
        self.add_trace(trace);
    }

    /// A scan with what it touched: every row it returned is a read request, as in HBase.
    pub(crate) fn add_scan(&self, trace: &ReadTrace) {
        self.read_requests.fetch_add(trace.rows_returned(), Ordering::Relaxed);
        self.add_trace(trace);
    }

    fn add_trace(&self, trace: &ReadTrace) {
        self.rows_examined.fetch_add(trace.rows_examined(), Ordering::Relaxed);
        self.rows_returned.fetch_add(trace.rows_returned(), Ordering::Relaxed);
        self.rows_filtered.fetch_add(trace.rows_filtered(), Ordering::Relaxed);
        self.cells_examined.fetch_add(trace.cells_examined(), Ordering::Relaxed);
        self.cells_returned.fetch_add(trace.cells_returned(), Ordering::Relaxed);
        self.bytes_returned.fetch_add(trace.bytes_returned(), Ordering::Relaxed);
    }

    pub(crate) fn add_writes(&self, requests: u64, bytes: u64) {
        self.write_requests.fetch_add(requests, Ordering::Relaxed);
        self.bytes_written.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add_refused_row(&self) {
        self.rows_refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_flush(&self) {
        self.flushes.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_condensation(&self) {
        self.condensations.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_compaction(&self) {
        self.compactions.fetch_add(1, Ordering::Relaxed);
    }

    /// Fills in what is counted.
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
        load.condensations = get(&self.condensations);
        load.compactions = get(&self.compactions);
    }
}
