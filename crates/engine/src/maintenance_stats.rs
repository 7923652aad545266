//! Durations and sizes of flushes and compactions.

use crate::histogram::Histogram;

/// Statistics of flushes and compactions since the store was opened.
#[derive(Debug, Default)]
pub struct MaintenanceStats {
    /// Durations of region flushes, in microseconds.
    pub flush_us: Histogram,
    /// Bytes of the flushed cells in memory.
    pub flush_memstore_bytes: Histogram,
    /// Sizes of the flushed files, in bytes.
    pub flush_output_bytes: Histogram,
    /// All compactions.
    pub compactions: CompactionStats,
    /// Compactions of all files of a store.
    pub major_compactions: CompactionStats,
}

/// Statistics of compactions.
#[derive(Debug, Default)]
pub struct CompactionStats {
    /// Durations, in microseconds.
    pub duration_us: Histogram,
    /// Numbers of input files.
    pub input_files: Histogram,
    /// Bytes of the input files.
    pub input_bytes: Histogram,
    /// Numbers of output files: one, or none if no cells remain.
    pub output_files: Histogram,
    /// Bytes of the output files.
    pub output_bytes: Histogram,
}

/// Result of one compaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompactionResult {
    pub(crate) is_major: bool,
    pub(crate) took_ns: u64,
    pub(crate) input: (u64, u64),
    pub(crate) output: (u64, u64),
}

impl MaintenanceStats {
    pub(crate) fn add_flush(&self, took_ns: u64, memstore_bytes: u64, output_bytes: u64) {
        self.flush_us.record_value(took_ns / 1000);
        self.flush_memstore_bytes.record_value(memstore_bytes);
        self.flush_output_bytes.record_value(output_bytes);
    }

    pub(crate) fn add_compaction(&self, done: &CompactionResult) {
        self.compactions.add(done);
        if done.is_major {
            self.major_compactions.add(done);
        }
    }
}

impl CompactionStats {
    fn add(&self, done: &CompactionResult) {
        self.duration_us.record_value(done.took_ns / 1000);
        self.input_files.record_value(done.input.0);
        self.input_bytes.record_value(done.input.1);
        self.output_files.record_value(done.output.0);
        self.output_bytes.record_value(done.output.1);
    }
}
