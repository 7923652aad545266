//! Check that all cells of a root directory are in store files: HBase was stopped, and not killed.
//!
//! A cleanly stopped HBase has flushed every region and moved its logs to `oldWALs`. After a crash
//! there are logs with entries below `WALs`, those of a server whose recovery has begun in a
//! directory ending in `-splitting`, and parts of logs in `recovered.edits` of the regions.

use std::path::Path;

use halite_types::{Error, Result, TableName};
use prost::encoding::decode_varint;

use crate::region_set::table_directory;
use crate::small_file::{Entry, list, read_start};

/// First bytes of a log file, before the length of its header.
const WAL_MAGIC: &[u8; 4] = b"PWAL";
/// End of a log file that was closed: the length of an empty trailer, and a magic.
const WAL_END: &[u8; 8] = b"\0\0\0\0LAWP";
/// A log file above this length has entries: headers are much shorter.
const MAX_EMPTY_WAL_BYTES: u64 = 64 << 10;

/// Checks that no log of the root directory, and no part of one of these tables, has entries.
///
/// # Errors
/// `InvalidRequest` with the path and the fix, or the file system's error.
pub fn check_clean_stop(root: &Path, tables: &[TableName]) -> Result<()> {
    for server in list(&root.join("WALs"), false)? {
        if server.name.ends_with("-splitting") {
            return Err(crashed(&server.path));
        }
        let files = if server.is_directory { list(&server.path, false)? } else { vec![server] };
        for file in files {
            if has_entries(&file)? {
                return Err(crashed(&file.path));
            }
        }
    }
    for table in tables {
        let entries = list(&table_directory(root, table), false)?;
        for region in entries.into_iter().filter(|entry| entry.is_directory) {
            let edits =
                list(&region.path.join("recovered.edits"), false)?.into_iter().filter(|file| {
                    // Empty marks of the region's highest sequence id, and files that a server
                    // abandoned before it had written them to the end.
                    let ending = file.name.rsplit_once('.').map(|(_, ending)| ending);
                    !matches!(ending, Some("seqid" | "temp"))
                });
            let files = edits.chain(list(&region.path.join("recovered.hfiles"), false)?);
            if let Some(file) = files.into_iter().next() {
                return Err(crashed(&file.path));
            }
        }
    }
    Ok(())
}

fn crashed(path: &Path) -> Error {
    Error::invalid(format!(
        "{}: HBase did not stop cleanly, and cells are in its logs only: start and stop HBase \
         cleanly, or import a snapshot",
        path.display()
    ))
}

/// Returns `true` unless a log file consists of a header, and possibly the end of a closed file.
fn has_entries(file: &Entry) -> Result<bool> {
    if file.is_directory || file.bytes > MAX_EMPTY_WAL_BYTES {
        return Ok(true);
    }
    let bytes = read_start(&file.path, MAX_EMPTY_WAL_BYTES)?;
    let after_header = || {
        let mut rest = bytes.strip_prefix(WAL_MAGIC)?;
        let length = decode_varint(&mut rest).ok()?;
        rest.get(usize::try_from(length).ok()?..)
    };
    Ok(match after_header() {
        Some(rest) => !rest.is_empty() && rest != WAL_END,
        // Not even the header was written to its end.
        None => {
            !bytes.is_empty() && !WAL_MAGIC.starts_with(&bytes) && !bytes.starts_with(WAL_MAGIC)
        }
    })
}
