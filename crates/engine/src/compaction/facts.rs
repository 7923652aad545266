//! Facts about the files of a store, from which policies decide.

use std::sync::Arc;

use super::FileStats;
use crate::store::{StoreFile, StoreSnapshot};

/// Returns the files of a store, oldest first.
pub(crate) fn oldest_first(store: &StoreSnapshot) -> Vec<Arc<StoreFile>> {
    store.files.iter().rev().cloned().collect()
}

/// Returns the facts of files, some of which are `claimed` by running compactions.
pub(crate) fn file_stats(files: &[Arc<StoreFile>], claimed: &[Arc<StoreFile>]) -> Vec<FileStats> {
    let is_claimed = |file| claimed.iter().any(|other| Arc::ptr_eq(file, other));
    files.iter().map(|file| FileStats { is_claimed: is_claimed(file), ..stats_of(file) }).collect()
}

fn stats_of(file: &StoreFile) -> FileStats {
    let reader = file.reader();
    FileStats {
        bytes: file.bytes(),
        cells: reader.entry_count(),
        sequence: file.max_sequence(),
        is_reference: file.is_reference(),
        is_major: reader.is_major(),
        is_excluded: reader.is_excluded_from_minor_compaction(),
        is_claimed: false,
        oldest: reader.time_range().map(|range| *range.start()),
        newest: reader.time_range().map(|range| *range.end()),
        has_deletes: reader.delete_family_count() != Some(0),
        created_ms: reader.created_ms().unwrap_or(0),
        stripe: file.stripe().cloned(),
    }
}
