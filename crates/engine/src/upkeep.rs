//! How long flushes and compactions took, and how much they read and wrote.

use crate::histogram::Histogram;

/// What flushes and compactions have done since the store was opened.
#[derive(Debug, Default)]
pub struct UpkeepFigures {
    /// Flushes of a region, in microseconds.
    pub flush_us: Histogram,
    /// Bytes of the cells they took out of memory.
    pub flush_memstore_bytes: Histogram,
    /// Files they wrote, in bytes.
    pub flush_output_bytes: Histogram,
    /// All compactions.
    pub compactions: CompactionFigures,
    /// Those of them that took all files of a store.
    pub major_compactions: CompactionFigures,
}

/// What compactions of a store have done.
#[derive(Debug, Default)]
pub struct CompactionFigures {
    /// How long they took, in microseconds.
    pub us: Histogram,
    /// Files they read.
    pub input_files: Histogram,
    /// Bytes of those.
    pub input_bytes: Histogram,
    /// Files they wrote: one, or none where nothing was left.
    pub output_files: Histogram,
    /// Bytes of those.
    pub output_bytes: Histogram,
}

/// One compaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compacted {
    pub(crate) is_major: bool,
    pub(crate) took_ns: u64,
    pub(crate) input: (u64, u64),
    pub(crate) output: (u64, u64),
}

impl UpkeepFigures {
    pub(crate) fn add_flush(&self, took_ns: u64, memstore_bytes: u64, output_bytes: u64) {
        self.flush_us.record_value(took_ns / 1000);
        self.flush_memstore_bytes.record_value(memstore_bytes);
        self.flush_output_bytes.record_value(output_bytes);
    }

    pub(crate) fn add_compaction(&self, done: &Compacted) {
        self.compactions.add(done);
        if done.is_major {
            self.major_compactions.add(done);
        }
    }
}

impl CompactionFigures {
    fn add(&self, done: &Compacted) {
        self.us.record_value(done.took_ns / 1000);
        self.input_files.record_value(done.input.0);
        self.input_bytes.record_value(done.input.1);
        self.output_files.record_value(done.output.0);
        self.output_bytes.record_value(done.output.1);
    }
}
