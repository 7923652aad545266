//! Store files outside a table: one directory per family, as jobs write them for a bulk load.

use std::path::Path;

use bytes::Bytes;
use halite_types::{Error, Result};

use crate::HbaseFile;
use crate::small_file::{damaged, list};

/// Returns the files in the directories of the families, by family and name. As HBase, ignores
/// names that begin with a dot or an underscore; other names may be any.
///
/// # Errors
/// `InvalidRequest` if there is none, `Corrupt` if a file is where a directory belongs or the
/// reverse, or the file system's error.
pub fn read_bare_files(directory: &Path) -> Result<Vec<HbaseFile>> {
    let mut files = Vec::new();
    for family in list(directory, false)? {
        if !family.is_directory {
            return Err(damaged(&family.path, "a directory of a family is expected here"));
        }
        for file in list(&family.path, false)? {
            if !file.is_file {
                return Err(damaged(&file.path, "a store file is expected here"));
            }
            files.push(HbaseFile {
                family: Bytes::from(family.name.clone()),
                name: file.name,
                path: file.path,
                bytes: file.bytes,
                loaded_sequence: None,
                rows: None,
            });
        }
    }
    if files.is_empty() {
        return Err(Error::invalid(format!(
            "{} has no store files; give a directory with one directory per family",
            directory.display()
        )));
    }
    Ok(files)
}
