//! What an open file knows about itself: facts, its middle, and what its bloom filters say.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::ops::RangeInclusive;

use halite_types::cell::key_row;
use halite_types::{BloomType, Result};

use super::block::BlockKind;
use super::bloom::{BloomMeta, column_key};
use super::damaged;
use super::file_info::info_key;
use super::reader::{BlockSource, Reader};

impl Reader {
    /// Number of cells.
    pub fn entry_count(&self) -> u64 {
        self.trailer.entry_count
    }

    /// Whether the file has no cell.
    pub fn is_empty(&self) -> bool {
        self.root.len() == 0
    }

    /// Roughly the memory the open file holds.
    pub fn memory_bytes(&self) -> usize {
        let blooms = [&self.bloom, &self.delete_family_bloom].into_iter().flatten().map(BloomMeta::memory_bytes);
        blooms.fold(self.root.memory_bytes(), usize::saturating_add)
    }

    /// Bytes of the bloom filter over rows or columns; 0 without one.
    pub fn bloom_bytes(&self) -> u64 {
        self.bloom.as_ref().map_or(0, BloomMeta::total_bytes)
    }

    /// The flat key of the first cell; `None` in an empty file. Files of other writers than HBase and Halite may give a
    /// key before the first cell.
    pub fn first_key(&self) -> Option<&[u8]> {
        (!self.is_empty()).then(|| self.root.key(0))
    }

    /// The flat key of the last cell; `None` in an empty file, or if the file does not say.
    pub fn last_key(&self) -> Option<&[u8]> {
        self.info.get(info_key::LAST_KEY)
    }

    /// The timestamps in the file; `None` if it does not say, or has no cell. A delete of all versions reaches down to 0.
    pub fn time_range(&self) -> Option<RangeInclusive<i64>> {
        self.info.time_range().map(|(from, to)| from..=to)
    }

    /// The sequence id of the file itself: everything up to it that belongs here is in this or an older file.
    pub fn max_sequence_id(&self) -> Option<u64> {
        self.info.long(info_key::MAX_SEQUENCE_ID).and_then(|id| u64::try_from(id).ok())
    }

    /// Whether the cells carry sequence ids.
    pub fn has_sequence_ids(&self) -> bool {
        self.format.cells.sequence_ids
    }

    /// The largest sequence id of a cell; 0 if they carry none.
    pub fn max_cell_sequence_id(&self) -> u64 {
        let id = self.info.long(info_key::MAX_CELL_SEQUENCE_ID).filter(|_| self.has_sequence_ids());
        id.and_then(|id| u64::try_from(id).ok()).unwrap_or(0)
    }

    /// Whether the cells have room for tags.
    pub fn has_tags(&self) -> bool {
        self.format.cells.tags
    }

    /// The longest tags of a cell in bytes; `None` if the cells have no room for tags.
    pub fn max_tags_bytes(&self) -> Option<usize> {
        self.info.int(info_key::MAX_TAGS_LENGTH).and_then(|length| usize::try_from(length).ok())
    }

    /// Whether a major compaction wrote it.
    pub fn is_major(&self) -> bool {
        self.info.flag(info_key::MAJOR_COMPACTION)
    }

    /// Whether minor compactions leave it alone.
    pub fn is_excluded_from_minor_compaction(&self) -> bool {
        self.info.flag(info_key::EXCLUDE_FROM_MINOR_COMPACTION)
    }

    /// Whether it was made for bulk loading. Its cells then take the sequence id the load gave the file, unless
    /// [`Reader::keeps_sequence_ids`].
    pub fn is_bulk_loaded(&self) -> bool {
        self.info.get(info_key::BULK_LOAD_TIME).is_some()
    }

    /// Whether its cells keep their own sequence ids when it is bulk-loaded.
    pub fn keeps_sequence_ids(&self) -> bool {
        self.info.flag(info_key::KEEP_SEQUENCE_IDS)
    }

    /// When it was written, in milliseconds; `None` if it does not say.
    pub fn created_ms(&self) -> Option<i64> {
        self.info.long(info_key::CREATED)
    }

    /// The smallest timestamp of a Put; `None` if there is no Put or the file does not say.
    pub fn earliest_put_timestamp(&self) -> Option<i64> {
        self.info.long(info_key::EARLIEST_PUT).filter(|&timestamp| timestamp != i64::MAX)
    }

    /// Number of delete markers for a family or a family's version; `None` if the file does not say.
    pub fn delete_family_count(&self) -> Option<u64> {
        self.info.long(info_key::DELETE_FAMILY_COUNT).and_then(|count| u64::try_from(count).ok())
    }

    /// The type of its bloom filter.
    pub fn bloom_type(&self) -> BloomType {
        self.bloom_type
    }

    /// The key at the start of the middle data block, as HBase picks it; `None` in an empty file. It may be shortened
    /// and need not be the key of a cell.
    ///
    /// # Errors
    /// As the source's.
    pub fn mid_key(&self, source: &(impl BlockSource + ?Sized)) -> Result<Option<Vec<u8>>> {
        if self.is_empty() {
            return Ok(None);
        }
        let Some(mid) = self.mid_key else {
            return Ok(Some(self.root.key(self.root.len() >> 1).to_vec()));
        };
        let leaf = source.block(self, mid.leaf, BlockKind::LeafIndex)?;
        let entry = leaf.index().and_then(|index| index.entry(leaf.payload(), mid.entry));
        let (_, key) = entry.ok_or_else(|| self.place(damaged("its mid-key points behind the end of a leaf index")))?;
        Ok(Some(key.to_vec()))
    }

    /// The row at which HBase would split this file: that of the middle block, unless it is the first or last row.
    ///
    /// # Errors
    /// As the source's.
    pub fn split_row(&self, source: &(impl BlockSource + ?Sized)) -> Result<Option<Vec<u8>>> {
        let mid = self.mid_key(source)?;
        let row = mid.as_deref().map(key_row);
        let ends = [self.first_key().map(key_row), self.last_key().map(key_row)];
        Ok(row.filter(|_| !ends.contains(&row)).map(<[u8]>::to_vec))
    }

    /// Whether the file may have cells of `row`, by its bloom filter. A `false` is certain.
    ///
    /// # Errors
    /// As the source's. HBase takes an unreadable filter for a "maybe".
    pub fn may_contain_row(&self, source: &(impl BlockSource + ?Sized), row: &[u8]) -> Result<bool> {
        match self.bloom_type {
            BloomType::Row => self.probe_row(source, row),
            BloomType::RowPrefix(length) => self.probe_row(source, row.get(..length).unwrap_or(row)),
            BloomType::None | BloomType::RowCol => Ok(!self.is_empty()),
        }
    }

    /// Whether the file may have cells of this column of `row`, or a delete marker for the row's family, by its bloom
    /// filter of whatever type. A `false` is certain.
    ///
    /// # Errors
    /// As [`Reader::may_contain_row`].
    pub fn may_contain_column(&self, source: &(impl BlockSource + ?Sized), row: &[u8], qualifier: &[u8]) -> Result<bool> {
        let Some(bloom) = self.bloom.as_ref().filter(|_| self.bloom_type == BloomType::RowCol) else {
            return self.may_contain_row(source, row);
        };
        if self.probe_column(source, bloom, &column_key(row, qualifier))? {
            return Ok(true);
        }
        // A marker that deletes the whole family stands under the empty qualifier and must be found too.
        Ok(!qualifier.is_empty() && self.probe_column(source, bloom, &column_key(row, b""))?)
    }

    /// Whether the file may have a marker that deletes the family of `row`, or one of its versions. A `false` is
    /// certain.
    ///
    /// # Errors
    /// As [`Reader::may_contain_row`].
    pub fn may_contain_delete_family(&self, source: &(impl BlockSource + ?Sized), row: &[u8]) -> Result<bool> {
        if self.is_empty() || self.delete_family_count() == Some(0) {
            return Ok(false);
        }
        match &self.delete_family_bloom {
            Some(bloom) => self.probe(source, bloom, row),
            None => Ok(true),
        }
    }

    fn probe_row(&self, source: &(impl BlockSource + ?Sized), row: &[u8]) -> Result<bool> {
        let Some(bloom) = &self.bloom else { return Ok(!self.is_empty()) };
        if self.info.get(info_key::LAST_BLOOM_KEY).is_some_and(|last| self.comparator().compare_rows(row, last).is_gt()) {
            return Ok(false);
        }
        self.probe(source, bloom, row)
    }

    fn probe_column(&self, source: &(impl BlockSource + ?Sized), bloom: &BloomMeta, key: &[u8]) -> Result<bool> {
        let last = self.info.get(info_key::LAST_BLOOM_KEY);
        if last.is_some_and(|last| self.comparator().compare(key, last).is_gt()) {
            return Ok(false);
        }
        self.probe(source, bloom, key)
    }

    fn probe(&self, source: &(impl BlockSource + ?Sized), bloom: &BloomMeta, key: &[u8]) -> Result<bool> {
        let Some(chunk) = bloom.chunk_of(key, self.comparator()) else { return Ok(false) };
        let block = source.block(self, chunk, BlockKind::BloomChunk)?;
        Ok(bloom.is_set(key, block.payload()))
    }
}
