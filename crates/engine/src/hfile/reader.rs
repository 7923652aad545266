//! Opening a file and reading its blocks and facts.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::ops::RangeInclusive;
use std::sync::Arc;

use halite_types::cell::key_row;
use halite_types::{BloomType, Error, Result};

use super::block::{Block, BlockFormat, BlockHeader, BlockKind, BlockPointer, CellLayout, HEADER_BYTES, unsupported_encoding};
use super::bloom::{BloomMeta, column_key};
use super::file_info::{FileInfo, info_key};
use super::index::{MidKey, RootIndex};
use super::trailer::{TRAILER_BYTES, Trailer};
use super::{Comparator, damaged};
use crate::env::FileReader;

/// Where the blocks of a file come from: the disk, or a cache in front of it.
pub trait BlockSource: Send + Sync {
    /// The block at `pointer`, which the index says is of that kind.
    ///
    /// # Errors
    /// As [`Reader::read_block`]; a source that may not go to the disk answers with
    /// [`NeedsIo`](halite_types::ErrorKind::NeedsIo).
    fn block(&self, reader: &Reader, pointer: BlockPointer, kind: BlockKind) -> Result<Arc<Block>>;
}

/// The source that always reads from the disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct DirectBlocks;

impl BlockSource for DirectBlocks {
    fn block(&self, reader: &Reader, pointer: BlockPointer, kind: BlockKind) -> Result<Arc<Block>> {
        reader.read_block(pointer, kind).map(Arc::new)
    }
}

impl<S: BlockSource + ?Sized> BlockSource for Arc<S> {
    fn block(&self, reader: &Reader, pointer: BlockPointer, kind: BlockKind) -> Result<Arc<Block>> {
        (**self).block(reader, pointer, kind)
    }
}

/// An open file. What HBase calls the load-on-open section is in memory: index root, file info, bloom metas.
pub struct Reader {
    file: Arc<dyn FileReader>,
    path: String,
    bytes: u64,
    trailer: Trailer,
    info: FileInfo,
    format: BlockFormat,
    root: RootIndex,
    mid_key: Option<MidKey>,
    bloom_type: BloomType,
    bloom: Option<BloomMeta>,
    delete_family_bloom: Option<BloomMeta>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("path", &self.path).field("bytes", &self.bytes).field("trailer", &self.trailer).finish_non_exhaustive()
    }
}

impl Reader {
    /// Opens a file. `path` is what errors call it.
    ///
    /// # Errors
    /// `Corrupt`, `Io`; `NewerFormat` for a version above 3.3; `Unsupported` for codecs and block encodings that are not
    /// built in, and for encrypted files.
    pub fn open(file: Arc<dyn FileReader>, path: &str) -> Result<Self> {
        Self::open_file(file, path).map_err(|error| error.at(format_args!("store file {path}")))
    }

    fn open_file(file: Arc<dyn FileReader>, path: &str) -> Result<Self> {
        let bytes = file.len().map_err(|error| Error::io("reading its length", error))?;
        let end_bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(TRAILER_BYTES);
        let mut end = vec![0; end_bytes];
        let trailer_offset = bytes.saturating_sub(end_bytes as u64);
        file.read_exact_at(&mut end, trailer_offset).map_err(|error| Error::io("reading its trailer", error))?;
        let trailer = Trailer::read(&end)?;
        let format = BlockFormat { compression: trailer.compression, cells: CellLayout::default() };
        let loaded = Loaded::read(&OpenSection { file: &*file, format, end: trailer_offset }, &trailer)?;
        let info = loaded.info;
        check_encoding(&info)?;
        for key in [info_key::LAST_KEY, info_key::KEY_OF_BIGGEST_CELL] {
            info.flat_key(key)?;
        }
        let cells =
            CellLayout { tags: info.get(info_key::MAX_TAGS_LENGTH).is_some(), sequence_ids: info.int(info_key::KEY_VALUE_VERSION) == Some(1) };
        let bloom_type = bloom_type(&info, loaded.bloom.as_ref())?;
        Ok(Self {
            file,
            path: path.to_owned(),
            bytes,
            format: BlockFormat { cells, ..format },
            bloom_type,
            bloom: loaded.bloom.filter(|bloom| bloom_type != BloomType::None && bloom.key_count() > 0),
            delete_family_bloom: loaded.delete_family_bloom,
            root: loaded.root,
            mid_key: loaded.mid_key,
            trailer,
            info,
        })
    }

    /// Reads one block from the disk and verifies it.
    ///
    /// # Errors
    /// `Corrupt`, naming file, offset and what is wrong; `Io`.
    pub fn read_block(&self, pointer: BlockPointer, kind: BlockKind) -> Result<Block> {
        let behind = pointer.offset.checked_add(u64::from(pointer.on_disk_bytes));
        let block = if behind.is_none_or(|behind| behind > self.bytes.saturating_sub(TRAILER_BYTES as u64)) {
            Err(damaged(format_args!("the index gives it {} bytes, which end behind the blocks", pointer.on_disk_bytes)))
        } else {
            read_bytes(&*self.file, pointer.offset, pointer.on_disk_bytes as usize).and_then(|bytes| Block::open(bytes, kind, self.format))
        };
        block.map_err(|error| self.place(error.at(format_args!("{} at {}", kind.name(), pointer.offset))))
    }

    /// The error with the file's name in front.
    pub(super) fn place(&self, error: Error) -> Error {
        error.at(format_args!("store file {}", self.path))
    }

    /// What errors call the file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The file's length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The trailer.
    pub fn trailer(&self) -> &Trailer {
        &self.trailer
    }

    /// The file info.
    pub fn info(&self) -> &FileInfo {
        &self.info
    }

    /// The order of the keys.
    #[inline]
    pub fn comparator(&self) -> Comparator {
        self.trailer.comparator
    }

    pub(super) fn root(&self) -> &RootIndex {
        &self.root
    }

    pub(super) fn index_levels(&self) -> usize {
        self.trailer.index_levels as usize
    }

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

/// The filter's type; `None` unless there is a filter whose keys are of the kind the type asks for.
fn bloom_type(info: &FileInfo, bloom: Option<&BloomMeta>) -> Result<BloomType> {
    let stated = info.bloom_type()?;
    if stated == BloomType::RowCol {
        info.flat_key(info_key::LAST_BLOOM_KEY)?;
    }
    let fits = bloom.is_some_and(|bloom| bloom.keys_are_cells() == (stated == BloomType::RowCol));
    Ok(if fits { stated } else { BloomType::None })
}

fn check_encoding(info: &FileInfo) -> Result<()> {
    match info.get(info_key::DATA_BLOCK_ENCODING) {
        None | Some(b"NONE") => Ok(()),
        Some(name) => Err(unsupported_encoding(&String::from_utf8_lossy(name))),
    }
}

/// Reads `count` bytes, which the caller knows to lie inside the file.
fn read_bytes(file: &dyn FileReader, offset: u64, count: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    file.read_exact_at(&mut bytes, offset).map_err(|error| Error::io("reading", error))?;
    Ok(bytes)
}

/// The blocks from the data index root to the trailer, which lie side by side.
struct OpenSection<'a> {
    file: &'a dyn FileReader,
    format: BlockFormat,
    end: u64,
}

impl OpenSection<'_> {
    /// Reads the block at `offset` and moves that behind it. `None` if it is of another kind, or the section ends.
    fn block(&self, offset: &mut u64, kind: BlockKind) -> Result<Option<Block>> {
        self.read(offset, kind).map_err(|error| error.at(format_args!("{} at {offset}", kind.name())))
    }

    fn read(&self, offset: &mut u64, kind: BlockKind) -> Result<Option<Block>> {
        let left = usize::try_from(self.end.saturating_sub(*offset)).unwrap_or(usize::MAX);
        if left < HEADER_BYTES {
            return Ok(None);
        }
        let header_bytes = read_bytes(self.file, *offset, HEADER_BYTES)?;
        if !header_bytes.starts_with(kind.magic()) {
            return Ok(None);
        }
        let count = BlockHeader::read(&header_bytes)?.on_disk_bytes();
        if count > left {
            return Err(damaged("it ends behind the trailer's start"));
        }
        let block = Block::open(read_bytes(self.file, *offset, count)?, kind, self.format)?;
        *offset = offset.saturating_add(count as u64);
        Ok(Some(block))
    }

    fn required(&self, offset: &mut u64, kind: BlockKind) -> Result<Block> {
        let at = *offset;
        let block = self.block(offset, kind)?;
        block.ok_or_else(|| damaged(format_args!("there is no {} at {at}, where the trailer puts one", kind.name())))
    }
}

/// What is in memory of an open file.
struct Loaded {
    root: RootIndex,
    mid_key: Option<MidKey>,
    info: FileInfo,
    bloom: Option<BloomMeta>,
    delete_family_bloom: Option<BloomMeta>,
}

impl Loaded {
    fn read(section: &OpenSection<'_>, trailer: &Trailer) -> Result<Self> {
        let mut offset = trailer.load_on_open_offset;
        let (root, mid_key) = read_root(&section.required(&mut offset, BlockKind::RootIndex)?, trailer)?;
        section.required(&mut offset, BlockKind::RootIndex)?;
        if offset != trailer.file_info_offset {
            return Err(damaged("its trailer puts the file info somewhere else than behind the indexes"));
        }
        let info = FileInfo::parse(section.required(&mut offset, BlockKind::FileInfo)?.payload())?;
        let mut bloom = |kind: BlockKind| -> Result<Option<BloomMeta>> {
            let at = offset;
            let Some(block) = section.block(&mut offset, kind)? else { return Ok(None) };
            BloomMeta::parse(block.payload()).map(Some).map_err(|error| error.at(format_args!("{} at {at}", kind.name())))
        };
        let general = bloom(BlockKind::GeneralBloomMeta)?;
        let delete_family = bloom(BlockKind::DeleteFamilyBloomMeta)?;
        if offset != section.end {
            return Err(damaged(format_args!("something unknown lies at {offset}, before the trailer")));
        }
        Ok(Self { root, mid_key, info, bloom: general, delete_family_bloom: delete_family })
    }
}

fn read_root(block: &Block, trailer: &Trailer) -> Result<(RootIndex, Option<MidKey>)> {
    let read = || {
        let payload = block.payload();
        let (root, used) = RootIndex::parse(payload, trailer.data_index_count as usize)?;
        root.check_keys()?;
        let mid_key = MidKey::parse(payload.get(used..).unwrap_or_default())?;
        if mid_key.is_some() && trailer.index_levels == 1 {
            return Err(damaged("more bytes follow its entries"));
        }
        if (root.len() == 0) != (trailer.entry_count == 0) {
            return Err(damaged(format_args!("it has {} entries for {} cells", root.len(), trailer.entry_count)));
        }
        Ok((root, mid_key))
    };
    read().map_err(|error: Error| error.at(format_args!("{} at {}", block.kind().name(), trailer.load_on_open_offset)))
}
