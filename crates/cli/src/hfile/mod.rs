//! Inspection of single store files, without a store; the cost of cells in them; files for bulk
//! loads.

pub(crate) mod check;
pub(crate) mod cost;
pub(crate) mod dump;
pub(crate) mod info;
pub(crate) mod write;

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use halite_engine::env::os::OsFs;
use halite_engine::env::{FileReader, Fs as _};
use halite_engine::hfile::Reader;

/// Bytes of the trailer of a store file.
const TRAILER_BYTES: u64 = 4096;
/// Beginnings of the blocks that a store file may start with.
const FIRST_BLOCKS: &[&[u8]] =
    &[b"DATABLK*", b"DATABLKE", b"BLMFBLK2", b"IDXLEAF2", b"METABLKc", b"IDXROOT2", b"IDXINTE2"];

/// Opens a store file at any path.
///
/// # Errors
/// Returns an error if the file cannot be read or is invalid.
pub(crate) fn open(path: &Path) -> anyhow::Result<Arc<Reader>> {
    let name = path
        .file_name()
        .and_then(OsStr::to_str)
        .with_context(|| format!("store file {}: give the path of a file", path.display()))?;
    anyhow::ensure!(
        !path.is_dir(),
        "store file {}: this is a directory; give the path of a file in it",
        path.display()
    );
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = OsFs::new(folder).and_then(|folder| folder.open(name)).with_context(|| {
        format!(
            "store file {}: give the path of a file in data/NAMESPACE/TABLE/REGION/FAMILY/",
            path.display()
        )
    })?;
    let is_foreign = is_foreign(&*file);
    let opened = Reader::open(file, &path.display().to_string());
    if opened.is_err() && is_foreign {
        bail!("file {}: this is no HFile: it neither begins nor ends as one", path.display());
    }
    Ok(Arc::new(opened?))
}

/// Returns `true` if a file has neither a block at its start nor a trailer.
fn is_foreign(file: &dyn FileReader) -> bool {
    let begins_with = |offset: u64, magics: &[&[u8]]| {
        file.read_at(8, offset).is_ok_and(|bytes| magics.contains(&&bytes[..]))
    };
    let trailer = file.len().ok().and_then(|bytes| bytes.checked_sub(TRAILER_BYTES));
    !begins_with(0, FIRST_BLOCKS) && !trailer.is_some_and(|at| begins_with(at, &[b"TRABLK\"$"]))
}

#[cfg(test)]
mod tests;
