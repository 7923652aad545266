//! Logs of a root directory: which ones may have cells that no store file has.
//!
//! A cleanly stopped HBase has flushed every region and moved its logs to `oldWALs`. After a crash
//! there are logs with entries below `WALs`, those of a server whose recovery has begun in a
//! directory ending in `-splitting`, and parts of logs in `recovered.edits` of the regions. The same
//! entry may be in two of them.

use std::path::{Path, PathBuf};

use halite_types::{Error, Result, TableName};

use crate::region_set::table_directory;
use crate::small_file::{damaged, list, unsupported};

/// Log, or part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// Path.
    pub path: PathBuf,
    /// Length in bytes.
    pub bytes: u64,
    /// `true` for a log of `hbase:meta`, which has no entries of other tables.
    pub is_meta: bool,
}

/// Returns the logs below the directory `WALs`, and the parts of logs in the directories of these
/// tables. `wal_root` is the directory that contains `WALs`: the root directory, or the one that
/// `hbase.wal.dir` names.
///
/// # Errors
/// `InvalidRequest` if there is no directory `WALs`; `Unsupported` for store files that a recovery
/// made of logs; `Corrupt` for anything but files; the file system's error.
pub fn list_logs(root: &Path, wal_root: &Path, tables: &[TableName]) -> Result<Vec<LogFile>> {
    let logs = wal_root.join("WALs");
    if !logs.is_dir() {
        return Err(Error::invalid(format!(
            "there is no directory {}, so that it is unknown whether HBase stopped cleanly: copy \
             it, too; or give the directory of hbase.wal.dir with --wal-dir; or, if HBase stopped \
             cleanly, add --ignore-logs",
            logs.display()
        )));
    }
    let mut found = Vec::new();
    for server in list(&logs, false)? {
        let files = if server.is_directory { list(&server.path, false)? } else { vec![server] };
        for file in files {
            if !file.is_file {
                return Err(damaged(&file.path, "a log is expected here; move this away"));
            }
            let is_meta = file.name.rsplit_once('.').is_some_and(|(_, end)| end == "meta");
            found.push(LogFile { path: file.path, bytes: file.bytes, is_meta });
        }
    }
    for table in tables {
        let entries = list(&table_directory(root, table), false)?;
        for region in entries.into_iter().filter(|entry| entry.is_directory) {
            let hfiles = list(&region.path.join("recovered.hfiles"), false)?;
            if let Some(file) = hfiles.first() {
                return Err(unsupported(
                    &file.path,
                    "HBase was recovering this region's logs into store files, which cannot be \
                     imported: start and stop HBase cleanly, or import a snapshot",
                ));
            }
            found.extend(recovered_edits(&region.path)?);
        }
    }
    Ok(found)
}

/// Returns the parts of logs in the directory of a region.
pub(crate) fn recovered_edits(region: &Path) -> Result<Vec<LogFile>> {
    let mut found = Vec::new();
    for file in list(&region.join("recovered.edits"), false)? {
        // Empty marks of the region's highest sequence id, and files that a server abandoned before
        // it had written them to the end: the log of their entries still exists.
        let ending = file.name.rsplit_once('.').map(|(_, ending)| ending);
        if matches!(ending, Some("seqid" | "temp")) {
            continue;
        }
        if !file.is_file {
            return Err(damaged(&file.path, "a log is expected here; move this away"));
        }
        found.push(LogFile { path: file.path, bytes: file.bytes, is_meta: false });
    }
    Ok(found)
}
