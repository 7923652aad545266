//! Where the cells of a merge come from: a memstore as of a read point, or a store file, whole or clipped to a region.

use std::sync::Arc;

use halite_types::cell::{MAX_ROW_BYTES, TYPE_MAXIMUM, compare_keys, first_on_row, key_row, key_timestamp, set_key_timestamp};
use halite_types::{CellRef, Error, Result};

use crate::cache::{FileBlocks, ReadBlocks};
use crate::hfile;
use crate::memstore;
use crate::store::{Clip, StoreFile};

/// One sorted run of cells.
pub(crate) enum Source {
    /// The cells of a memstore up to a sequence id; bytes of those that were passed.
    Memstore { cursor: memstore::Cursor, read_point: u64, bytes: u64 },
    /// The cells of a store file.
    File(FileSource),
}

/// A cursor over a store file. It keeps the file from being removed.
pub(crate) struct FileSource {
    cursor: hfile::Cursor<FileBlocks>,
    file: Arc<StoreFile>,
    /// Whether the cursor stands behind the clip.
    past_clip: bool,
    /// Cells with a higher sequence id are left out; `None` if the file has none.
    newest: Option<u64>,
    /// The sequence id of all cells of a bulk-loaded file.
    loaded: Option<u64>,
    /// Why a seek may wait, if it may.
    wanted: Option<WantedFrom>,
    /// Its place among the sources of its merge.
    rank: usize,
}

/// What allows a file to be left alone for a while.
pub(crate) struct WantedFrom {
    /// Nothing before this key is wanted of the file.
    pub(crate) key: Vec<u8>,
    /// Nothing in the file has a newer timestamp.
    pub(crate) newest: i64,
}

impl FileSource {
    fn new(file: Arc<StoreFile>, cursor: hfile::Cursor<FileBlocks>, read_point: u64) -> Self {
        let newest = (file.max_cell_sequence() > read_point).then_some(read_point);
        let loaded = file.entry.loaded_sequence;
        Self { cursor, file, past_clip: false, newest, loaded, wanted: None, rank: 0 }
    }

    /// The cell it is on, clipped or not.
    #[inline]
    fn cell(&self) -> Option<CellRef<'_>> {
        let cell = self.cursor.peek();
        match self.loaded {
            None => cell,
            Some(sequence) => cell.map(|cell| cell.with_sequence(sequence)),
        }
    }

    /// After every move of the cursor: on to a cell that is seen, and whether it is behind the clip.
    #[inline]
    fn settle(&mut self) -> Result<()> {
        if let Some(newest) = self.newest {
            while self.cell().is_some_and(|cell| cell.sequence() > newest) {
                self.cursor.advance()?;
            }
        }
        self.check_clip();
        Ok(())
    }

    fn clip(&self) -> Option<&Clip> {
        self.file.clip.as_ref()
    }

    #[inline]
    fn check_clip(&mut self) {
        if let Some(clip) = &self.file.clip {
            self.past_clip = self.cursor.peek().is_some_and(|cell| clip.is_past_end(cell.row()));
        }
    }

    /// The key to seek instead of `key`, if the clip begins behind it.
    fn clipped_start(&self, key: &[u8]) -> Option<Vec<u8>> {
        let first = first_on_row(&self.clip()?.start);
        compare_keys(key, &first).is_lt().then_some(first)
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        match self.clipped_start(key) {
            Some(first) => self.cursor.seek(&first)?,
            None => self.cursor.seek(key)?,
        }
        self.settle()
    }

    /// A key that none of its cells at or behind `key` is before: the cell with the newest timestamp the file has may be
    /// the first of the column.
    fn bound(&self, key: &[u8]) -> Option<Vec<u8>> {
        let wanted = self.wanted.as_ref()?;
        let mut bound = if compare_keys(key, &wanted.key).is_lt() { &wanted.key } else { key }.to_vec();
        if key_timestamp(&bound) > wanted.newest {
            set_key_timestamp(&mut bound, wanted.newest, TYPE_MAXIMUM);
        }
        Some(bound)
    }

    fn row_before(&mut self, row: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
        let mut found = self.any_row_before(row)?;
        let Some(newest) = self.newest else { return Ok(found) };
        // A row all of whose cells are newer does not exist yet.
        while let Some(row) = found {
            self.cursor.seek(&first_on_row(&row))?;
            while let Some(cell) = self.cell().filter(|cell| cell.row() == row) {
                if cell.sequence() <= newest {
                    return Ok(Some(row));
                }
                self.cursor.advance()?;
            }
            found = self.any_row_before(Some(&row))?;
        }
        Ok(None)
    }

    fn any_row_before(&mut self, row: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
        let end = self.clip().map(|clip| &clip.end).filter(|end| !end.is_empty());
        let bound = match (row, end) {
            (Some(row), Some(end)) => Some(row.min(&end[..]).to_vec()),
            (None, Some(end)) => Some(end.to_vec()),
            (row, None) => row.map(<[u8]>::to_vec),
        };
        match bound {
            Some(bound) => self.cursor.seek_before(&first_on_row(&bound))?,
            None => self.cursor.seek_to_last()?,
        }
        let found = self.cursor.key().map(|key| key_row(key).to_vec());
        Ok(found.filter(|row| self.clip().is_none_or(|clip| row[..] >= clip.start[..])))
    }
}

impl Source {
    /// The cells of a memstore up to a sequence id.
    pub(crate) fn memstore(memstore: &memstore::MemTable, read_point: u64) -> Self {
        Self::Memstore { cursor: memstore.cursor(), read_point, bytes: 0 }
    }

    /// The cells of a store file up to a sequence id, through `blocks`.
    pub(crate) fn file(file: &Arc<StoreFile>, blocks: &Arc<ReadBlocks>, read_point: u64) -> Self {
        let cursor = hfile::Cursor::new(Arc::clone(file.reader()), blocks.of(file));
        Self::File(FileSource::new(Arc::clone(file), cursor, read_point))
    }

    /// As [`Source::file`], for a read that does not want all of it. What newer sources have is often all
    /// that is wanted: then the file need not be looked at (HBase's lazy seek, `StoreFileScanner.requestSeek`).
    pub(crate) fn file_from(file: &Arc<StoreFile>, blocks: &Arc<ReadBlocks>, read_point: u64, wanted: WantedFrom) -> Self {
        let mut source = Self::file(file, blocks, read_point);
        if let Self::File(file) = &mut source {
            file.wanted = Some(wanted);
        }
        source
    }

    /// A key that no cell at or behind `key` is before, if the source need not be sought before a merge comes to there.
    pub(crate) fn bound(&self, key: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Memstore { .. } => None,
            Self::File(file) => file.bound(key),
        }
    }

    /// Its place among the files of a merge; memstores come before them.
    pub(crate) fn rank(&self) -> usize {
        match self {
            Self::Memstore { .. } => 0,
            Self::File(file) => file.rank,
        }
    }

    pub(crate) fn set_rank(&mut self, rank: usize) {
        if let Self::File(file) = self {
            file.rank = rank;
        }
    }

    /// The next cell.
    #[inline]
    pub(crate) fn peek(&self) -> Option<CellRef<'_>> {
        match self {
            Self::Memstore { cursor, .. } => cursor.peek(),
            Self::File(file) if file.past_clip => None,
            Self::File(file) => file.cell(),
        }
    }

    /// The error of a read to which its next cell came too late.
    pub(crate) fn out_of_order(&self) -> Error {
        match self {
            Self::Memstore { .. } => Error::corrupt("a memstore's cells are not in the order of their keys"),
            Self::File(file) => file.cursor.out_of_order(),
        }
    }

    /// On to the next cell.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        match self {
            Self::Memstore { cursor, read_point, bytes } => {
                *bytes += cursor.peek().map_or(0, |cell| cell.encoded_len() as u64);
                cursor.next();
                skip_unseen(cursor, *read_point);
            }
            Self::File(file) => {
                file.cursor.advance()?;
                file.settle()?;
            }
        }
        Ok(())
    }

    /// Bytes of the cells that were passed, if it is a memstore.
    pub(crate) fn memstore_bytes(&self) -> u64 {
        match self {
            Self::Memstore { bytes, .. } => *bytes,
            Self::File(_) => 0,
        }
    }

    /// Memory that is kept for it, as far as it does not share it.
    pub(crate) fn held_bytes(&self) -> usize {
        match self {
            Self::Memstore { cursor, .. } => cursor.held_bytes(),
            Self::File(file) => file.cursor.held_bytes(),
        }
    }

    /// To the first cell at or behind `key`, wherever it was.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        match self {
            Self::Memstore { cursor, read_point, .. } => {
                cursor.seek(key);
                skip_unseen(cursor, *read_point);
                Ok(())
            }
            Self::File(file) => file.seek(key),
        }
    }

    /// The largest row before `row`, or the last row of all. The source must be positioned again.
    pub(crate) fn row_before(&mut self, row: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Memstore { cursor, read_point, .. } => Ok(memstore_row_before(cursor, row, *read_point)),
            Self::File(file) => file.row_before(row),
        }
    }
}

/// Passes over cells that are not visible yet.
#[inline]
fn skip_unseen(cursor: &mut memstore::Cursor, read_point: u64) {
    while cursor.peek().is_some_and(|cell| cell.sequence() > read_point) {
        cursor.next();
    }
}

fn memstore_row_before(cursor: &mut memstore::Cursor, row: Option<&[u8]>, read_point: u64) -> Option<Vec<u8>> {
    let mut bound = row.map(<[u8]>::to_vec);
    loop {
        match &bound {
            Some(row) => cursor.seek_before_row(row),
            // Longer than any row, so behind all of them.
            None => cursor.seek_before_row(&vec![0xff; MAX_ROW_BYTES + 1]),
        }
        let found = cursor.peek()?.row().to_vec();
        // A row all of whose cells are newer than the read point does not exist yet.
        while let Some(cell) = cursor.peek().filter(|cell| cell.row() == found) {
            if cell.sequence() <= read_point {
                return Some(found);
            }
            cursor.next();
        }
        bound = Some(found);
    }
}
