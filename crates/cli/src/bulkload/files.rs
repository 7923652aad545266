//! The files of a bulk load: which rows they have, and whether a table can take them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use halite::{Bytes, TableDescriptor, to_string_binary};
use halite_engine::hfile::{Comparator, Cursor, DirectBlocks, Reader};
use halite_hbase_dir::{is_mob, read_bare_files};
use indicatif::ProgressBar;

use crate::hfile::marked_cells::CellMarks;
use crate::hfile::{loadable_family, open};

/// Checked file.
#[derive(Clone, Debug)]
pub(super) struct LoadFile {
    pub(super) family: Bytes,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    pub(super) cells: u64,
    /// Rows of the first and of the last cell.
    pub(super) first: Bytes,
    pub(super) last: Bytes,
    /// Has cells with visibility labels or access control lists.
    pub(super) is_protected: bool,
}

/// Reads the files of a directory and checks them.
///
/// # Errors
/// Returns an error for a family that the table has not or whose cells are merged, or a file that
/// cannot be loaded, as one with references to MOB files into a store, which has none.
pub(super) fn read(
    directory: &Path,
    table: &TableDescriptor,
    verify: bool,
    is_store: bool,
    bar: &ProgressBar,
) -> anyhow::Result<Vec<LoadFile>> {
    let found = read_bare_files(directory)?;
    // Every family is checked before the first file is read.
    for file in &found {
        loadable_family(table, &file.family).with_context(|| directory.display().to_string())?;
    }
    bar.set_length(found.iter().map(|file| file.bytes).sum());
    let mut files = Vec::with_capacity(found.len());
    for file in found {
        let reader = open(&file.path)?;
        let marks = CellMarks::of(&reader)?;
        // The table of an HBase with MOB may be the one that the MOB files belong to.
        if is_store || !table.find_family(&file.family).is_some_and(is_mob) {
            marks.check_bare(&file.path)?;
        }
        let checked = check_opened(&reader, &file.path, &file.family, verify)?;
        files.push(LoadFile { is_protected: marks.is_protected, ..checked });
        bar.inc(file.bytes);
    }
    Ok(files)
}

/// Checks one file of a family.
///
/// # Errors
/// Returns an error if it is no store file, or is damaged, encrypted, empty or of another family.
pub(super) fn check(path: &Path, family: &Bytes, verify: bool) -> anyhow::Result<LoadFile> {
    check_opened(&open(path)?, path, family, verify)
}

fn check_opened(
    reader: &Arc<Reader>,
    path: &Path,
    family: &Bytes,
    verify: bool,
) -> anyhow::Result<LoadFile> {
    let shown = path.display();
    if reader.comparator() != Comparator::Cell {
        bail!("store file {shown} is ordered as HBase's own catalog; load files of tables only");
    }
    let mut cursor = Cursor::new(Arc::clone(reader), DirectBlocks);
    cursor.seek_to_first()?;
    let first = end_row(&cursor, family, path)?;
    cursor.seek_to_last()?;
    let last = end_row(&cursor, family, path)?;
    if verify {
        reader.verify().with_context(|| format!("verifying {shown}"))?;
    }
    Ok(LoadFile {
        family: family.clone(),
        path: path.to_owned(),
        bytes: reader.bytes(),
        cells: reader.entry_count(),
        first,
        last,
        is_protected: false,
    })
}

/// Returns the row of the first or last cell of a file, which must be of its family.
fn end_row(cursor: &Cursor<DirectBlocks>, family: &Bytes, path: &Path) -> anyhow::Result<Bytes> {
    let Some(cell) = cursor.peek() else {
        bail!("store file {} has no cells; leave it out", path.display());
    };
    if cell.family() != family {
        bail!(
            "store file {} is in the directory of family {} and has cells of {}",
            path.display(),
            to_string_binary(family),
            to_string_binary(cell.family())
        );
    }
    Ok(Bytes::copy_from_slice(cell.row()))
}

/// Opens a checked file again.
pub(super) fn reopen(file: &LoadFile) -> anyhow::Result<Arc<Reader>> {
    open(&file.path)
}
