//! Removal of a store's files from the operating system's page cache.

use std::fs::File;
use std::path::Path;

use rustix::fs::{Advice, fadvise};

use crate::Result;

/// Switch of Linux that drops the page cache of the machine; it needs privileges.
const SWITCH: &str = "/proc/sys/vm/drop_caches";

/// Removes the files in `folder` from the page cache, written or not, and returns how.
///
/// # Errors
/// Failed operations on a file, if only single files can be removed.
pub(crate) fn drop_pages(folder: &Path) -> Result<&'static str> {
    // Pages that are not on the disk yet stay in the cache.
    rustix::fs::sync();
    if std::fs::write(SWITCH, "1\n").is_ok() {
        return Ok("cold: the page cache of the machine was dropped (/proc/sys/vm/drop_caches)");
    }
    drop_files(folder)?;
    Ok("cold: the page cache of each file was dropped (posix_fadvise)")
}

fn drop_files(folder: &Path) -> Result<()> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            drop_files(&entry.path())?;
        } else if kind.is_file() {
            let file = File::open(entry.path()).map_err(failed)?;
            file.sync_all().map_err(failed)?;
            fadvise(&file, 0, None, Advice::DontNeed).map_err(|error| failed(error.into()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_all_folders_are_dropped_and_intact() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(inner.join("file"), "contents").unwrap();
        drop_files(folder.path()).unwrap();
        assert_eq!(std::fs::read(inner.join("file")).unwrap(), b"contents");
        assert!(drop_files(&folder.path().join("missing")).is_err());
    }
}
