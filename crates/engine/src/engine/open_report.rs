//! Report of an opening: what was created, replayed, skipped, removed and quarantined.

use crate::wal::WalTruncation;

/// Report of an opening.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// True if the directory contained no store before.
    pub created: bool,
    /// Writes replayed from the log; 0 after a clean close.
    pub replayed_writes: u64,
    /// Bytes of the log that were skipped: a torn end, which was never acknowledged, or damage if
    /// skipping was enabled.
    pub truncated_wal_bytes: u64,
    /// Whole writes in the skipped bytes.
    pub truncated_wal_writes: u64,
    /// Positions in the log where bytes were skipped.
    pub wal_truncations: Vec<WalTruncation>,
    /// Removed files of an unfinished flush or compaction.
    pub removed_files: u64,
    /// Files of the store that the manifest does not reference, now in [`Self::quarantine`]: mostly
    /// remains of a crash.
    pub quarantined_files: u64,
    /// Bytes of the quarantined files.
    pub quarantined_bytes: u64,
    /// Directory that the files were moved to, relative to the root. It is removed at the opening
    /// after the next clean close. If there are [`Self::unlogged_files`], it is their directory
    /// instead, and stays until they are restored or an operator removes it.
    pub quarantine: Option<String>,
    /// Number of quarantined files with cells that are neither in the log nor in another file. A
    /// crash leaves such a file if writes skipped the log, or were not synced at a power loss;
    /// otherwise the manifest is an older one.
    pub unlogged_files: u64,
    /// Directories of the store that users other than its owner may enter. New directories are
    /// created for the owner only; the modes of existing ones stay as they are.
    pub exposed_directories: Vec<String>,
}
