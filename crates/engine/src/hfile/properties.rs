//! Properties of an open file: its file info, its middle key, and lookups in its bloom filters.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::ops::RangeInclusive;

use super::block_header::BlockKind;
use super::bloom::{BloomMeta, column_key};
use super::damaged;
use super::file_info::info_key;
use super::reader::{BlockSource, Reader};
use halite_types::cell::key_row;
use halite_types::{BloomType, Result};

impl Reader {
    /// Returns the number of cells.
    pub fn entry_count(&self) -> u64 {
        self.trailer.entry_count
    }

    /// Returns `true` if the file has no cells.
    pub fn is_empty(&self) -> bool {
        self.root.len() == 0
    }

    /// Returns the approximate memory of the open file in bytes.
    pub fn memory_bytes(&self) -> usize {
        let blooms = [&self.bloom, &self.delete_family_bloom]
            .into_iter()
            .flatten()
            .map(BloomMeta::memory_bytes);
        blooms.fold(
            self.root.memory_bytes().saturating_add(self.part_index_memory_bytes()),
            usize::saturating_add,
        )
    }

    /// Returns the bytes of the bloom filter over rows or columns; 0 without one.
    pub fn bloom_bytes(&self) -> u64 {
        self.bloom.as_ref().map_or(0, BloomMeta::total_bytes)
    }

    /// Returns the flat key of the first cell; `None` in an empty file. Files of writers other than
    /// HBase and Halite may contain a key before the first cell.
    pub fn first_key(&self) -> Option<&[u8]> {
        (!self.is_empty()).then(|| self.root.key(0))
    }

    /// Returns the flat key of the last cell; `None` in an empty file, or if it is not recorded.
    pub fn last_key(&self) -> Option<&[u8]> {
        self.info.get(info_key::LAST_KEY)
    }

    /// Returns the range of timestamps in the file; `None` if it is not recorded, or there are no
    /// cells. A delete of all versions extends it to 0.
    pub fn time_range(&self) -> Option<RangeInclusive<i64>> {
        self.info.time_range().map(|(from, to)| from..=to)
    }

    /// Returns the sequence id of the file itself: everything up to it that belongs here is in this
    /// or an older file.
    pub fn max_sequence_id(&self) -> Option<u64> {
        self.info.long(info_key::MAX_SEQUENCE_ID).and_then(|id| u64::try_from(id).ok())
    }

    /// Returns `true` if the cells have sequence ids.
    pub fn has_sequence_ids(&self) -> bool {
        self.format.cells.sequence_ids
    }

    /// Returns the largest sequence id of a cell; 0 if they have none.
    pub fn max_cell_sequence_id(&self) -> u64 {
        let id = self.info.long(info_key::MAX_CELL_SEQUENCE_ID).filter(|_| self.has_sequence_ids());
        id.and_then(|id| u64::try_from(id).ok()).unwrap_or(0)
    }

    /// Returns `true` if the cells have space for tags.
    pub fn has_tags(&self) -> bool {
        self.format.cells.tags
    }

    /// Returns the maximum bytes of a cell's tags; `None` if the cells have no space for tags.
    pub fn max_tags_bytes(&self) -> Option<usize> {
        self.info.int(info_key::MAX_TAGS_LENGTH).and_then(|length| usize::try_from(length).ok())
    }

    /// Returns `true` if a major compaction wrote it.
    pub fn is_major(&self) -> bool {
        self.info.flag(info_key::MAJOR_COMPACTION)
    }

    /// Returns `true` if minor compactions exclude it.
    pub fn is_excluded_from_minor_compaction(&self) -> bool {
        self.info.flag(info_key::EXCLUDE_FROM_MINOR_COMPACTION)
    }

    /// Returns `true` if it was written for bulk loading. Its cells then have the sequence id that
    /// the load assigned to the file, unless [`Reader::keeps_sequence_ids`].
    pub fn is_bulk_loaded(&self) -> bool {
        self.info.get(info_key::BULK_LOAD_TIME).is_some()
    }

    /// Returns `true` if its cells keep their own sequence ids when it is bulk-loaded.
    pub fn keeps_sequence_ids(&self) -> bool {
        self.info.flag(info_key::KEEP_SEQUENCE_IDS)
    }

    /// Returns the time when it was written, in milliseconds; `None` if it is not recorded.
    pub fn created_ms(&self) -> Option<i64> {
        self.info.long(info_key::CREATED)
    }

    /// Returns the smallest timestamp of a Put; `None` if there is no Put or it is not recorded.
    pub fn earliest_put_timestamp(&self) -> Option<i64> {
        self.info.long(info_key::EARLIEST_PUT).filter(|&timestamp| timestamp != i64::MAX)
    }

    /// Returns the number of delete markers for a family or a family's version; `None` if it is not
    /// recorded.
    pub fn delete_family_count(&self) -> Option<u64> {
        self.info.long(info_key::DELETE_FAMILY_COUNT).and_then(|count| u64::try_from(count).ok())
    }

    /// Returns the number of rows, or of columns or prefixes of rows, that its bloom filter has by
    /// its type; `None` without one.
    pub fn row_count(&self) -> Option<u64> {
        self.bloom.as_ref().map(BloomMeta::key_count)
    }

    /// Returns the type of its bloom filter.
    pub fn bloom_type(&self) -> BloomType {
        self.bloom_type
    }

    /// Returns the key at the start of the middle data block, as HBase selects it; `None` in an
    /// empty file. It may be shortened and need not be the key of a cell.
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
        let (_, key) = entry.ok_or_else(|| {
            self.with_path(damaged("its mid-key points past the end of a leaf index"))
        })?;
        Ok(Some(key.to_vec()))
    }

    /// Returns at most `most` rising rows of evenly distributed entries of the root of the index,
    /// which is in memory.
    pub fn root_rows(&self, most: usize) -> Vec<Vec<u8>> {
        let step = self.root.len().div_ceil(most.max(1)).max(1);
        let rows = (0..self.root.len()).step_by(step).map(|entry| key_row(self.root.key(entry)));
        rows.map(<[u8]>::to_vec).collect()
    }

    /// Returns the row at which HBase would split this file: that of the middle block, unless it is
    /// the first or last row.
    ///
    /// # Errors
    /// As the source's.
    pub fn split_row(&self, source: &(impl BlockSource + ?Sized)) -> Result<Option<Vec<u8>>> {
        let mid = self.mid_key(source)?;
        let row = mid.as_deref().map(key_row);
        let ends = [self.first_key().map(key_row), self.last_key().map(key_row)];
        Ok(row.filter(|_| !ends.contains(&row)).map(<[u8]>::to_vec))
    }

    /// Returns `true` if the file may have cells of `row`, by its bloom filter. A `false` is
    /// certain.
    ///
    /// # Errors
    /// As the source's, if a block of the filter cannot be read.
    pub fn may_contain_row(
        &self,
        source: &(impl BlockSource + ?Sized),
        row: &[u8],
    ) -> Result<bool> {
        match self.bloom_type {
            BloomType::Row => self.probe_row(source, row),
            BloomType::RowPrefix(length) => {
                self.probe_row(source, row.get(..length).unwrap_or(row))
            }
            BloomType::None | BloomType::RowCol => Ok(!self.is_empty()),
        }
    }

    /// Returns `true` if the file may have cells of this column of `row`, or a delete marker for
    /// the row's family. Uses its bloom filter of any type. A `false` is certain.
    ///
    /// # Errors
    /// As [`Reader::may_contain_row`].
    pub fn may_contain_column(
        &self,
        source: &(impl BlockSource + ?Sized),
        row: &[u8],
        qualifier: &[u8],
    ) -> Result<bool> {
        let Some(bloom) = self.bloom.as_ref().filter(|_| self.bloom_type == BloomType::RowCol)
        else {
            return self.may_contain_row(source, row);
        };
        if self.probe_column(source, bloom, &column_key(row, qualifier))? {
            return Ok(true);
        }
        // A marker that deletes the whole family has the empty qualifier and must also be found.
        Ok(!qualifier.is_empty() && self.probe_column(source, bloom, &column_key(row, b""))?)
    }

    /// Returns `true` if the file may have a marker that deletes the family of `row`, or one of its
    /// versions. A `false` is certain.
    ///
    /// # Errors
    /// As [`Reader::may_contain_row`].
    pub fn may_contain_delete_family(
        &self,
        source: &(impl BlockSource + ?Sized),
        row: &[u8],
    ) -> Result<bool> {
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
        if self
            .info
            .get(info_key::LAST_BLOOM_KEY)
            .is_some_and(|last| self.comparator().compare_rows(row, last).is_gt())
        {
            return Ok(false);
        }
        self.probe(source, bloom, row)
    }

    fn probe_column(
        &self,
        source: &(impl BlockSource + ?Sized),
        bloom: &BloomMeta,
        key: &[u8],
    ) -> Result<bool> {
        let last = self.info.get(info_key::LAST_BLOOM_KEY);
        if last.is_some_and(|last| self.comparator().compare(key, last).is_gt()) {
            return Ok(false);
        }
        self.probe(source, bloom, key)
    }

    fn probe(
        &self,
        source: &(impl BlockSource + ?Sized),
        bloom: &BloomMeta,
        key: &[u8],
    ) -> Result<bool> {
        let Some(chunk) = bloom.chunk_for(key, self.comparator()) else { return Ok(false) };
        let block = source.block(self, chunk, BlockKind::BloomChunk)?;
        Ok(bloom.is_set(key, block.payload()))
    }
}
