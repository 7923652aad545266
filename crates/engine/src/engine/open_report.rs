//! Report of an opening: what was created, replayed, skipped, removed and quarantined.

use halite_types::key::to_string_binary;
use halite_types::{Error, FamilyDescriptor, TableDescriptor};

use crate::catalog::Catalog;
use crate::hfile::DataBlockEncoding;
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
    /// Families whose stored descriptor names a data block encoding that HBase 2.6 does not have,
    /// each as text with its table and that name. Their new files are written without an encoding.
    pub unknown_encodings: Vec<String>,
    /// Store files of enabled tables whose damage prevents reads of their family in one region: the
    /// error of these reads, one for each file. Nothing in the quarantine is removed while there
    /// are any.
    pub damaged_files: Vec<Error>,
}

/// Returns the text of [`OpenReport::unknown_encodings`].
pub(super) fn unknown_encodings(catalog: &Catalog) -> Vec<String> {
    let unknown = |table: &TableDescriptor, family: &FamilyDescriptor| {
        let name = family.data_block_encoding();
        let is_known = DataBlockEncoding::from_name(&name).is_some();
        let family = to_string_binary(family.name());
        (!is_known).then(|| format!("table {}, family {family}: {name}", table.name()))
    };
    let tables = catalog.tables.values().map(|table| &table.descriptor);
    tables.flat_map(|table| table.families().filter_map(|family| unknown(table, family))).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::catalog::TableEntry;

    #[test]
    fn unknown_encodings_are_reported_and_not_used() {
        let family =
            |name, encoding: &str| FamilyDescriptor::new(name).set("DATA_BLOCK_ENCODING", encoding);
        let old = family("old", "PREFIX_TREE");
        assert_eq!(DataBlockEncoding::for_family(&old), DataBlockEncoding::None);
        let descriptor =
            TableDescriptor::new("t".parse().unwrap()).family(family("f", "fast_diff")).family(old);
        let entry = TableEntry {
            descriptor: Arc::new(descriptor),
            enabled: true,
            disabled_for: String::new(),
            version: 1,
            regions: Vec::new(),
        };
        let mut catalog = Catalog::default();
        catalog.tables.insert("t".parse().unwrap(), entry);
        assert_eq!(unknown_encodings(&catalog), ["table t, family old: PREFIX_TREE"]);
    }
}
