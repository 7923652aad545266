//! Cells whose tags give them a meaning that a store file alone does not show: references to MOB
//! files, and cells that HBase hides from some users.

use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use halite_engine::hfile::{Cursor, DirectBlocks, Reader};
use halite_types::cell::tags;

/// Tag of a reference to a MOB file, as HBase's `TagType` numbers it.
pub(crate) const TAG_MOB_REFERENCE: u8 = 5;

/// Tags of access control lists and visibility labels, and of the format of the labels.
const PROTECTIVE_TAGS: [u8; 3] = [1, 2, 4];

/// File info key of the MOB files that the cells of a store file refer to. HBase writes it since
/// 2.6.
pub(crate) const MOB_REFERENCES: &str = "MOB_FILE_REFS";

/// Meanings that cells of a file have by their tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CellMarks {
    /// Values of cells are names of MOB files.
    pub(crate) refers_to_mob: bool,
    /// Cells have visibility labels or access control lists.
    pub(crate) is_protected: bool,
}

impl CellMarks {
    /// Finds the marks of a file. Reads its cells if it has tags.
    ///
    /// # Errors
    /// A failed read, damage.
    pub(crate) fn of(reader: &Arc<Reader>) -> anyhow::Result<Self> {
        let mut marks = Self::default();
        if !reader.has_tags() {
            return Ok(marks);
        }
        // One byte is HBase's mark of none (`MobUtils.serializeMobFileRefs`).
        let told = reader.info().get(MOB_REFERENCES).map(|files| files.len() > 1);
        marks.refers_to_mob = told.unwrap_or(false);
        let mut cursor = Cursor::new(Arc::clone(reader), DirectBlocks);
        cursor.seek_to_first()?;
        while let Some(cell) = cursor.peek() {
            for (kind, _) in tags(cell.tags()) {
                marks.refers_to_mob |= told.is_none() && kind == TAG_MOB_REFERENCE;
                marks.is_protected |= PROTECTIVE_TAGS.contains(&kind);
            }
            if marks.is_protected && (told.is_some() || marks.refers_to_mob) {
                break;
            }
            cursor.advance()?;
        }
        Ok(marks)
    }

    /// Refuses a file outside an HBase directory that refers to MOB files: where these are is
    /// unknown.
    ///
    /// # Errors
    /// If it refers to some.
    pub(crate) fn check_bare(self, path: &Path) -> anyhow::Result<()> {
        if self.refers_to_mob {
            bail!(
                "store file {} refers to values in MOB files: import the table from HBase's root \
                 directory, or a snapshot of it",
                path.display()
            );
        }
        Ok(())
    }
}

/// Returns a warning about files with protected cells; `None` if there are none.
pub(crate) fn protection_warning(files: u64) -> Option<String> {
    (files > 0).then(|| {
        format!(
            "{files} files have cells with visibility labels or access control lists. Halite keeps \
             these tags and does not obey them: every client that reads the table reads these cells"
        )
    })
}

#[cfg(test)]
mod tests {
    use halite_engine::env::Env;
    use halite_engine::hfile::{StoreFileInfo, Writer, WriterOptions};
    use halite_types::cell::{make_key, write_tag};
    use halite_types::{CellRef, CellType};

    use super::*;
    use crate::hfile;

    /// Returns the marks of a file with one cell with a tag, and a file info value.
    fn marks(tag: u8, info: Option<&[u8]>) -> CellMarks {
        let folder = tempfile::tempdir().unwrap();
        let env = Env::os(folder.path()).unwrap();
        let path = format!("{}/file", env.fs.root());
        let options = WriterOptions { include_tags: true, ..WriterOptions::default() };
        let mut writer = Writer::create(env.fs.create("file").unwrap(), &path, options).unwrap();
        if let Some(value) = info {
            writer.set_info(MOB_REFERENCES, value.to_vec());
        }
        let key = make_key(b"row", b"f", b"q", 7, CellType::Put.code());
        let mut tags = Vec::new();
        write_tag(&mut tags, 8, &5_i64.to_be_bytes());
        write_tag(&mut tags, tag, b"x");
        writer.append(CellRef::new(&key, b"value", &tags, 1)).unwrap();
        writer.finish(StoreFileInfo::flushed(1)).unwrap();
        CellMarks::of(&hfile::open(Path::new(&path)).unwrap()).unwrap()
    }

    #[test]
    fn marks_are_those_of_the_tags() {
        let is = |refers_to_mob, is_protected| CellMarks { refers_to_mob, is_protected };
        assert_eq!(marks(8, None), is(false, false));
        assert_eq!(marks(TAG_MOB_REFERENCE, None), is(true, false));
        for kind in PROTECTIVE_TAGS {
            assert_eq!(marks(kind, None), is(false, true), "{kind}");
        }
    }

    #[test]
    fn file_info_tells_of_references() {
        // One byte is HBase's mark of none; otherwise it is a list of tables and files.
        assert!(!marks(TAG_MOB_REFERENCE, Some(b"\0")).refers_to_mob);
        assert!(marks(3, Some(b"t/file")).refers_to_mob);
        assert!(marks(1, Some(b"\0")).is_protected);
    }
}
