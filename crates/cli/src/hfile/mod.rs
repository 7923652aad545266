//! Inspection of single store files, without a store; the cost of cells in them; files for bulk
//! loads.

pub(crate) mod check;
pub(crate) mod cost;
pub(crate) mod dump;
pub(crate) mod info;
pub(crate) mod marked_cells;
pub(crate) mod write;

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use halite::{Bytes, FamilyDescriptor, TableDescriptor, to_string_binary};
use halite_engine::env::Fs as _;
use halite_engine::env::os::OsFs;
use halite_engine::hfile::{Reader, is_hfile};

/// Returns a family that files can be loaded into.
///
/// # Errors
/// Returns an error if the table has no such family, or merges its cells: those of a file that is
/// loaded twice would count twice.
pub(crate) fn loadable_family<'a>(
    table: &'a TableDescriptor,
    name: &Bytes,
) -> anyhow::Result<&'a FamilyDescriptor> {
    let shown = to_string_binary(name);
    let Some(family) = table.find_family(name) else {
        let known: Vec<_> = table.families().map(|each| to_string_binary(each.name())).collect();
        bail!("table {} has no family {shown}; it has {}", table.name(), known.join(", "));
    };
    if family.merge_operator().is_some() {
        bail!(
            "family {shown} merges its cells (MERGE), and files cannot be loaded into it; put the \
             contributions instead"
        );
    }
    Ok(family)
}

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
    let opened = Reader::open(Arc::clone(&file), &path.display().to_string());
    if opened.is_err() && !is_hfile(&*file) {
        bail!("file {}: this is no HFile: it neither begins nor ends as one", path.display());
    }
    Ok(Arc::new(opened?))
}

#[cfg(test)]
mod tests;
