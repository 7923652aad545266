//! Source of the cells of a merge: a memstore as of a read point, or a store file, whole or clipped
//! to a region.

use std::sync::Arc;

use halite_types::cell::{
    MAX_ROW_BYTES, TYPE_MAXIMUM, compare_keys, first_on_row, key_row, key_timestamp,
    set_key_timestamp,
};
use halite_types::{CellRef, Error, Result};

use crate::block_cache::{BlockReadOptions, CachedBlockSource};
use crate::hfile;
use crate::memstore;
use crate::store::{Clip, StoreFile};

/// Sorted run of cells.
pub(crate) enum CellSource {
    /// Cells of a memstore up to a sequence id, and the bytes of those that were passed.
    Memstore { cursor: memstore::Cursor, read_point: u64, bytes: u64 },
    /// Cells of a store file. Boxed because a merge moves its sources.
    File(Box<FileSource>),
}

/// Cursor over a store file. It prevents the removal of the file.
pub(crate) struct FileSource {
    cursor: hfile::Cursor<CachedBlockSource>,
    file: Arc<StoreFile>,
    /// `true` if the cursor is past the clip.
    past_clip: bool,
    /// Cells with a higher sequence id are excluded; `None` if the file has none.
    newest: Option<u64>,
    /// Sequence id of all cells of a bulk-loaded file.
    loaded: Option<u64>,
    /// Condition under which a seek may be deferred, if it may.
    lazy_seek: Option<LazySeek>,
    /// Rank among the sources of its merge.
    rank: usize,
}

/// Condition under which a seek in a file may be deferred.
pub(crate) struct LazySeek {
    /// No cell before this key is needed from the file.
    pub(crate) key: Vec<u8>,
    /// Upper bound of the timestamps in the file.
    pub(crate) newest: i64,
}

impl FileSource {
    fn new(
        file: Arc<StoreFile>,
        cursor: hfile::Cursor<CachedBlockSource>,
        read_point: u64,
    ) -> Self {
        let newest = (file.max_cell_sequence() > read_point).then_some(read_point);
        let loaded = file.entry.loaded_sequence;
        Self { cursor, file, past_clip: false, newest, loaded, lazy_seek: None, rank: 0 }
    }

    /// Returns the cell at the cursor, clipped or not.
    #[inline]
    fn cell(&self) -> Option<CellRef<'_>> {
        let cell = self.cursor.peek();
        match self.loaded {
            None => cell,
            Some(sequence) => cell.map(|cell| cell.with_sequence_id(sequence)),
        }
    }

    /// Moves to a visible cell and updates `past_clip`; called after every move of the cursor.
    #[inline]
    fn finish_move(&mut self) -> Result<()> {
        if let Some(newest) = self.newest {
            while self.cell().is_some_and(|cell| cell.sequence_id() > newest) {
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

    /// Returns the key to seek instead of `key`, if the clip begins after it.
    fn clipped_start(&self, key: &[u8]) -> Option<Vec<u8>> {
        let first = first_on_row(&self.clip()?.start);
        compare_keys(key, &first).is_lt().then_some(first)
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        match self.clipped_start(key) {
            Some(first) => self.cursor.seek(&first)?,
            None => self.cursor.seek(key)?,
        }
        self.finish_move()
    }

    /// Returns a lower bound of the keys of its cells at or after `key`: the cell with the newest
    /// timestamp of the file may be the first of the column.
    fn bound(&self, key: &[u8]) -> Option<Vec<u8>> {
        let wanted = self.lazy_seek.as_ref()?;
        let mut bound =
            if compare_keys(key, &wanted.key).is_lt() { &wanted.key } else { key }.to_vec();
        if key_timestamp(&bound) > wanted.newest {
            set_key_timestamp(&mut bound, wanted.newest, TYPE_MAXIMUM);
        }
        debug_assert!(
            compare_keys(&bound, key).is_ge(),
            "a deferred seek is at or after the requested key"
        );
        Some(bound)
    }

    fn row_before(&mut self, row: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
        let mut found = self.any_row_before(row)?;
        let Some(newest) = self.newest else { return Ok(found) };
        // A row all of whose cells are newer does not exist yet.
        while let Some(row) = found {
            self.cursor.seek(&first_on_row(&row))?;
            while let Some(cell) = self.cell().filter(|cell| cell.row() == row) {
                if cell.sequence_id() <= newest {
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

impl CellSource {
    /// Returns the cells of a memstore up to a sequence id.
    pub(crate) fn memstore(memstore: &memstore::MemTable, read_point: u64) -> Self {
        Self::Memstore { cursor: memstore.cursor(), read_point, bytes: 0 }
    }

    /// Returns the cells of a store file up to a sequence id, read through `blocks`.
    pub(crate) fn file(
        file: &Arc<StoreFile>,
        blocks: &Arc<BlockReadOptions>,
        read_point: u64,
    ) -> Self {
        let cursor =
            hfile::Cursor::new(Arc::clone(file.reader()), blocks.for_file(file.physical.id));
        Self::File(Box::new(FileSource::new(Arc::clone(file), cursor, read_point)))
    }

    /// As [`CellSource::file`], for a read that does not need all of it. Newer sources often
    /// contain all requested cells. The file then need not be read (HBase's lazy seek,
    /// `StoreFileScanner.requestSeek`).
    pub(crate) fn lazy_file(
        file: &Arc<StoreFile>,
        blocks: &Arc<BlockReadOptions>,
        read_point: u64,
        wanted: LazySeek,
    ) -> Self {
        let mut source = Self::file(file, blocks, read_point);
        if let Self::File(file) = &mut source {
            file.lazy_seek = Some(wanted);
        }
        source
    }

    /// Returns a lower bound of the keys of its cells at or after `key`, if the seek can be
    /// deferred until a merge reaches the bound.
    pub(crate) fn bound(&self, key: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Memstore { .. } => None,
            Self::File(file) => file.bound(key),
        }
    }

    /// Returns its rank among the files of a merge; memstores sort before them.
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

    /// Returns the next cell.
    #[inline]
    pub(crate) fn peek(&self) -> Option<CellRef<'_>> {
        match self {
            Self::Memstore { cursor, .. } => cursor.peek(),
            Self::File(file) if file.past_clip => None,
            Self::File(file) => file.cell(),
        }
    }

    /// Returns the error of a read that received its next cell out of order.
    pub(crate) fn out_of_order(&self) -> Error {
        match self {
            Self::Memstore { .. } => {
                Error::corrupt("a memstore's cells are not in the order of their keys")
            }
            Self::File(file) => file.cursor.out_of_order(),
        }
    }

    /// Moves to the next cell.
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
                file.finish_move()?;
            }
        }
        Ok(())
    }

    /// Returns the bytes of the cells that were passed, if it is a memstore.
    pub(crate) fn memstore_bytes(&self) -> u64 {
        match self {
            Self::Memstore { bytes, .. } => *bytes,
            Self::File(_) => 0,
        }
    }

    /// Returns the bytes of memory that it holds and does not share.
    pub(crate) fn held_bytes(&self) -> usize {
        match self {
            Self::Memstore { cursor, .. } => cursor.held_bytes(),
            Self::File(file) => file.cursor.held_bytes(),
        }
    }

    /// Moves to the first cell at or after `key`, in any direction.
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

    /// Returns the largest row before `row`, or the last row of all. The source must be positioned
    /// again.
    pub(crate) fn row_before(&mut self, row: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Memstore { cursor, read_point, .. } => {
                Ok(memstore_row_before(cursor, row, *read_point))
            }
            Self::File(file) => file.row_before(row),
        }
    }
}

/// Skips cells that are not visible yet.
#[inline]
fn skip_unseen(cursor: &mut memstore::Cursor, read_point: u64) {
    while cursor.peek().is_some_and(|cell| cell.sequence_id() > read_point) {
        cursor.next();
    }
}

fn memstore_row_before(
    cursor: &mut memstore::Cursor,
    row: Option<&[u8]>,
    read_point: u64,
) -> Option<Vec<u8>> {
    let mut bound = row.map(<[u8]>::to_vec);
    loop {
        match &bound {
            Some(row) => cursor.seek_before_row(row),
            // Longer than any row, so after all of them.
            None => cursor.seek_before_row(&vec![0xff; MAX_ROW_BYTES + 1]),
        }
        let found = cursor.peek()?.row().to_vec();
        // A row all of whose cells are newer than the read point does not exist yet.
        while let Some(cell) = cursor.peek().filter(|cell| cell.row() == found) {
            if cell.sequence_id() <= read_point {
                return Some(found);
            }
            cursor.next();
        }
        bound = Some(found);
    }
}
