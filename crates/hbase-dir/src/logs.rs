//! Logs of a root directory: which ones may have cells that no store file has.
//!
//! A cleanly stopped HBase has flushed every region and moved its logs to `oldWALs`. After a crash
//! there are logs with entries below `WALs`, those of a server whose recovery has begun in a
//! directory ending in `-splitting`, and parts of logs in `recovered.edits` of the regions. The same
//! entry may be in two of them.

use std::path::{Path, PathBuf};

use halite_types::{Error, Result, TableName};

use crate::region_set::table_directory;
use crate::small_file::{Entry, damaged, list, unsupported};

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
    for file in below_servers(&logs)? {
        if !file.is_file {
            return Err(damaged(&file.path, "a log is expected here; move this away"));
        }
        let is_meta = is_meta(&file.name);
        found.push(LogFile { path: file.path, bytes: file.bytes, is_meta });
    }
    for table in tables {
        for directory in table_directories(root, wal_root, table) {
            for region in list(&directory, false)?.into_iter().filter(|entry| entry.is_directory) {
                let hfiles = list(&region.path.join("recovered.hfiles"), false)?;
                if let Some(file) = hfiles.first() {
                    return Err(unsupported(
                        &file.path,
                        "HBase was recovering this region's logs into store files, which cannot \
                         be imported: start and stop HBase cleanly, or import a snapshot",
                    ));
                }
                found.extend(recovered_edits(&region.path)?);
            }
        }
    }
    Ok(found)
}

/// Returns the logs of `hbase:meta` below the directory `WALs`; none without that directory.
///
/// # Errors
/// The file system's error.
pub fn list_meta_logs(wal_root: &Path) -> Result<Vec<LogFile>> {
    let files = below_servers(&wal_root.join("WALs"))?.into_iter();
    let of_meta = files.filter(|file| file.is_file && is_meta(&file.name));
    Ok(of_meta.map(|file| LogFile { path: file.path, bytes: file.bytes, is_meta: true }).collect())
}

/// Returns what is in the directories of servers in `logs`, and files beside them.
fn below_servers(logs: &Path) -> Result<Vec<Entry>> {
    let mut found = Vec::new();
    for server in list(logs, false)? {
        if server.is_directory {
            found.extend(list(&server.path, false)?);
        } else {
            found.push(server);
        }
    }
    Ok(found)
}

fn is_meta(log_name: &str) -> bool {
    log_name.rsplit_once('.').is_some_and(|(_, end)| end == "meta")
}

/// Returns the directories of a table that may have parts of logs: HBase writes them below
/// `hbase.wal.dir`, if that is another directory.
pub(crate) fn table_directories(root: &Path, wal_root: &Path, table: &TableName) -> Vec<PathBuf> {
    let mut directories = vec![table_directory(root, table)];
    if wal_root != root {
        directories.push(table_directory(wal_root, table));
    }
    directories
}

/// Returns the sequence id up to which all cells of a region were in store files when a server
/// opened or closed it last, as an empty file `N.seqid` beside the parts of its logs says; 0 if
/// there is none. HBase's `WALSplitUtil` writes it after the region's memstores.
///
/// # Errors
/// The file system's error.
pub fn recorded_sequence(
    root: &Path,
    wal_root: &Path,
    table: &TableName,
    region: &str,
) -> Result<u64> {
    let mut newest = 0;
    for directory in table_directories(root, wal_root, table) {
        for file in list(&directory.join(region).join("recovered.edits"), false)? {
            let number =
                file.name.strip_suffix(".seqid").or_else(|| file.name.strip_suffix("_seqid"));
            newest = newest.max(number.and_then(|number| number.parse().ok()).unwrap_or(0));
        }
    }
    Ok(newest)
}

/// Returns the parts of logs in the directory of a region.
pub(crate) fn recovered_edits(region: &Path) -> Result<Vec<LogFile>> {
    let mut found = Vec::new();
    for file in list(&region.join("recovered.edits"), false)? {
        // As HBase, by the name: others are marks of the region's highest sequence id, files that a
        // server abandoned before it had written them to the end, and ones it could not read.
        let digits = file.name.strip_prefix('-').unwrap_or(&file.name);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        if !file.is_file {
            return Err(damaged(&file.path, "a log is expected here; move this away"));
        }
        found.push(LogFile { path: file.path, bytes: file.bytes, is_meta: false });
    }
    Ok(found)
}
