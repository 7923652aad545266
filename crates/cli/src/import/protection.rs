//! Cells that HBase hides from some users.

use super::remark::Remark;
use super::source::ImportSource;
use crate::hfile;
use crate::hfile::marked_cells::{CellMarks, protection_warning};

/// Calls `note` with a warning for each table that has files with protected cells.
///
/// # Errors
/// A failed read, damage.
pub(crate) fn warn_of_protection(
    sources: &[ImportSource],
    mut note: impl FnMut(Remark),
) -> anyhow::Result<()> {
    for source in sources {
        let mut protected = 0;
        for file in source.files() {
            protected += u64::from(CellMarks::of(&hfile::open(&file.path)?)?.is_protected);
        }
        if let Some(warning) = protection_warning(protected) {
            note(Remark::Warning(format!("table {}: {warning}", source.name())));
        }
    }
    Ok(())
}
