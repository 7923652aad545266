//! What the tags of cells say, by store file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::remark::Remark;
use super::source::ImportSource;
use crate::hfile;
use crate::hfile::marked_cells::{CellMarks, protection_warning};

/// Marks of the store files of the sources. Regions may share one.
pub(crate) type FileMarks = BTreeMap<PathBuf, CellMarks>;

/// Returns the marks of all files; each is read once, if it has tags. Calls `note` with a warning
/// for each table that has files with protected cells.
///
/// # Errors
/// A failed read, damage.
pub(crate) fn file_marks(
    sources: &[ImportSource],
    mut note: impl FnMut(Remark),
) -> anyhow::Result<FileMarks> {
    let mut all = FileMarks::new();
    for source in sources {
        let mut protected = 0;
        for file in source.files() {
            let marks = match all.get(&file.path) {
                Some(known) => *known,
                None => CellMarks::of(&hfile::open(&file.path)?)?,
            };
            protected += u64::from(marks.is_protected);
            all.insert(file.path.clone(), marks);
        }
        if let Some(warning) = protection_warning(protected) {
            note(Remark::Warning(format!("table {}: {warning}", source.name())));
        }
    }
    Ok(all)
}
