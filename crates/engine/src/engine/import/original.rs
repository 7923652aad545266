//! Facts about a store file to import, and its checks.

use std::cmp::Reverse;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::cell::first_on_row;
use halite_types::key::to_string_binary;
use halite_types::{Error, ErrorKind, RegionInfo, Result};

use super::ImportFile;
use super::examined::NameKey;
use crate::catalog::FileEntry;
use crate::env::Env;
use crate::hfile::{Comparator, Cursor, DirectBlocks, Reader, check_storable, info_key};
use crate::store::external_file;

/// Largest sequence id of a file that is taken. A region assigns the ids after it.
const MAX_SEQUENCE: u64 = i64::MAX as u64 / 2;

/// Facts about an original file with cells.
pub(super) struct Original<'a> {
    pub(super) file: &'a ImportFile,
    /// Sequence id of the file, which its new name contains.
    pub(super) sequence: u64,
    pub(super) bytes: u64,
    pub(super) loaded_ms: i64,
    /// `true` if rows of it are outside the region.
    pub(super) is_part: bool,
    /// `true` if rows at or after the region's end are in it.
    pub(super) ends_outside: bool,
}

impl<'a> Original<'a> {
    pub(super) fn entry(&self, name: String) -> FileEntry {
        FileEntry {
            loaded_sequence: self.file.loaded_sequence.map(|_| self.sequence),
            ..FileEntry::local(name)
        }
    }

    /// Returns the key of its new name in a region with this number.
    pub(super) fn name_key(&self, family: &Bytes, region: usize) -> NameKey<'a> {
        (family.clone(), &self.file.path, (!self.is_part).then_some(region))
    }

    /// Returns the bytes that count as done when the file has been verified.
    pub(super) fn first_half(&self) -> u64 {
        self.bytes / 2
    }

    /// Returns the position in HBase's order of the files of a store: the oldest first.
    pub(super) fn order(&self) -> (u64, Reverse<u64>, i64, &'a str) {
        let name = self.file.path.rsplit('/').next().unwrap_or_default();
        (self.sequence, Reverse(self.bytes), self.loaded_ms, name)
    }
}

/// Returns the facts about a file; `None` if no cell of it belongs to the region. With `verify`,
/// reads all of it.
pub(super) fn examine<'a>(
    env: &Env,
    info: &RegionInfo,
    file: &'a ImportFile,
    verify: bool,
) -> Result<Option<Original<'a>>> {
    let path = &file.path[..];
    let reader = external_file::open(env, path)?;
    if reader.comparator() != Comparator::Cell {
        return Err(Error::invalid(format!(
            "store file {path} is ordered as HBase's own catalog; import files of tables only"
        )));
    }
    let Some((first, last)) = ends(&reader, file)? else { return Ok(None) };
    if verify {
        reader.verify()?;
    }
    let is_before = |row: &[u8], end: &[u8]| end.is_empty() || row < end;
    let (starts_outside, ends_outside) = (first[..] < info.start[..], !is_before(&last, &info.end));
    if let Some((start, end)) = &file.rows {
        // A reference to one half takes all rows of it that the region has.
        let covers_start = info.start >= *start || first[..] >= start[..];
        let covers_end =
            is_before(&last, end) || (!info.end.is_empty() && (end.is_empty() || info.end <= *end));
        if !covers_start || !covers_end {
            return Err(Error::invalid(format!(
                "store file {path}: region {} refers to a part of it that ends inside the \
                 region; have HBase compact the table first",
                info.display_name()
            )));
        }
    }
    if starts_outside || ends_outside {
        let mut cursor = Cursor::new(Arc::clone(&reader), DirectBlocks);
        cursor.seek(&first_on_row(&info.start))?;
        if cursor.peek().is_none_or(|cell| !is_before(cell.row(), &info.end)) {
            return Ok(None);
        }
    }
    if file.loaded_sequence.is_some() && reader.keeps_sequence_ids() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "store file {path}: it was bulk-loaded with {}, so that its cells keep their \
                 own sequence ids; have HBase run a major compaction of the table first",
                info_key::KEEP_SEQUENCE_IDS
            ),
        ));
    }
    let newest = reader.max_sequence_id().unwrap_or(0).max(reader.max_cell_sequence_id());
    let sequence = file.loaded_sequence.unwrap_or(newest);
    if sequence > MAX_SEQUENCE {
        return Err(Error::corrupt(format!(
            "store file {path}: its sequence id {sequence} is over {MAX_SEQUENCE}"
        )));
    }
    Ok(Some(Original {
        file,
        sequence,
        bytes: reader.bytes(),
        loaded_ms: reader.info().long(info_key::BULK_LOAD_TIME).unwrap_or(-1),
        is_part: starts_outside || ends_outside,
        ends_outside,
    }))
}

/// Returns the first and the last row of a file after checking these cells; `None` if there are
/// none.
fn ends(reader: &Arc<Reader>, file: &ImportFile) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut cursor = Cursor::new(Arc::clone(reader), DirectBlocks);
    let row = |cursor: &Cursor<DirectBlocks>| {
        let Some(cell) = cursor.peek() else { return Ok(None) };
        let path = &file.path;
        check_storable(cell)
            .map_err(|why| Error::corrupt(format!("store file {path}: a cell {why}")))?;
        if cell.family() != file.family {
            let wanted = to_string_binary(&file.family);
            return Err(Error::invalid(format!(
                "store file {path} is in the directory of family {wanted} and has cells of another"
            )));
        }
        Ok(Some(cell.row().to_vec()))
    };
    cursor.seek_to_first()?;
    let Some(first) = row(&cursor)? else { return Ok(None) };
    cursor.seek_to_last()?;
    Ok(row(&cursor)?.map(|last| (first, last)))
}
