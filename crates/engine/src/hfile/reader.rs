//! Reader of a file: its blocks and properties.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::sync::Arc;

use super::block::{Block, BlockFormat, FoundPart};
use super::block_header::{BlockHandle, BlockKind};
use super::bloom::BloomMeta;
use super::cell_layout::CellLayout;
use super::data_cells::Validation;
use super::encoding::{DataBlockEncoding, unsupported_encoding};
use super::file_info::{FileInfo, info_key};
use super::index::{MidKey, RootIndex};
use super::load_on_open::{LoadOnOpenBlocks, LoadOnOpenSection, PartIndexHandle, read_bytes};
use super::part_index::{Part, PartChoice, PartOrder};
use super::trailer::{self, TRAILER_BYTES, Trailer};
use super::{Comparator, damaged};
use crate::env::FileReader;
use halite_types::{BloomType, Error, ErrorKind, Result};

/// Source of a file's blocks: the disk, or a cache in front of it.
pub trait BlockSource: Send + Sync {
    /// Returns the block at `pointer`, which has that kind according to the index.
    ///
    /// # Errors
    /// As [`Reader::read_block`]; a source that may not read the disk returns
    /// [`WouldBlock`](halite_types::ErrorKind::WouldBlock).
    fn block(&self, reader: &Reader, pointer: BlockHandle, kind: BlockKind) -> Result<Arc<Block>>;

    /// Returns the data block at `pointer`, or the chosen part of it if this source reads parts of
    /// this block.
    ///
    /// # Errors
    /// As [`BlockSource::block`].
    fn block_or_part(
        &self,
        reader: &Reader,
        pointer: BlockHandle,
        _choice: PartChoice<'_>,
    ) -> Result<BlockOrPart> {
        self.block(reader, pointer, BlockKind::Data).map(BlockOrPart::whole)
    }
}

/// Cells of a data block, or of one part of it.
#[derive(Clone, Debug)]
pub struct BlockOrPart {
    pub(super) cells: Arc<Block>,
    pub(super) part: Option<Part>,
}

impl BlockOrPart {
    /// Returns a whole data block.
    pub(crate) fn whole(block: Arc<Block>) -> Self {
        Self { cells: block, part: None }
    }

    /// Returns a part of a data block.
    pub(crate) fn part(cells: Arc<Block>, part: Part) -> Self {
        Self { cells, part: Some(part) }
    }
}

/// Source that always reads from the disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct DirectBlocks;

impl BlockSource for DirectBlocks {
    fn block(&self, reader: &Reader, pointer: BlockHandle, kind: BlockKind) -> Result<Arc<Block>> {
        // Its caller alone has the block.
        reader.read_block_by(pointer, kind, Validation::AsRead, read_bytes).map(Arc::new)
    }
}

/// Source that reads parts of data blocks from the disk where the file has them, and all blocks
/// from another source.
#[derive(Clone, Copy, Debug, Default)]
pub struct PartsWith<S>(pub S);

impl<S: BlockSource> BlockSource for PartsWith<S> {
    fn block(&self, reader: &Reader, pointer: BlockHandle, kind: BlockKind) -> Result<Arc<Block>> {
        self.0.block(reader, pointer, kind)
    }

    fn block_or_part(
        &self,
        reader: &Reader,
        pointer: BlockHandle,
        choice: PartChoice<'_>,
    ) -> Result<BlockOrPart> {
        match reader.find_part(&self.0, pointer, choice)? {
            Some(found) => {
                let cells = reader.read_part_by(&found, read_bytes)?;
                Ok(BlockOrPart::part(Arc::new(cells), found.part))
            }
            None => self.block(reader, pointer, BlockKind::Data).map(BlockOrPart::whole),
        }
    }
}

impl<S: BlockSource + ?Sized> BlockSource for Arc<S> {
    fn block(&self, reader: &Reader, pointer: BlockHandle, kind: BlockKind) -> Result<Arc<Block>> {
        (**self).block(reader, pointer, kind)
    }

    fn block_or_part(
        &self,
        reader: &Reader,
        pointer: BlockHandle,
        choice: PartChoice<'_>,
    ) -> Result<BlockOrPart> {
        (**self).block_or_part(reader, pointer, choice)
    }
}

/// Open file. HBase's load-on-open section is in memory: index root, file info, bloom metas.
pub struct Reader {
    pub(super) file: Arc<dyn FileReader>,
    path: String,
    bytes: u64,
    pub(super) trailer: Trailer,
    pub(super) info: FileInfo,
    pub(super) format: BlockFormat,
    pub(super) root: RootIndex,
    pub(super) mid_key: Option<MidKey>,
    encoding: DataBlockEncoding,
    part_indexes: Vec<PartIndexHandle>,
    pub(super) bloom_type: BloomType,
    pub(super) bloom: Option<BloomMeta>,
    pub(super) delete_family_bloom: Option<BloomMeta>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("path", &self.path)
            .field("bytes", &self.bytes)
            .field("trailer", &self.trailer)
            .finish_non_exhaustive()
    }
}

impl Reader {
    /// Opens a file. `path` is its name in errors.
    ///
    /// # Errors
    /// `Corrupt`, `Io`; `NewerFormat` for a version above 3.3; `Unsupported` for codecs and block
    /// encodings that are not built in, and for encrypted files.
    pub fn open(file: Arc<dyn FileReader>, path: &str) -> Result<Self> {
        Self::open_file(file, path).map_err(|error| error.at(format_args!("store file {path}")))
    }

    fn open_file(file: Arc<dyn FileReader>, path: &str) -> Result<Self> {
        let bytes = file.len().map_err(|error| Error::io("reading its length", error))?;
        let end_bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(TRAILER_BYTES);
        let mut end = vec![0; end_bytes];
        let trailer_offset = bytes.saturating_sub(end_bytes as u64);
        file.read_exact_at(&mut end, trailer_offset)
            .map_err(|error| Error::io("reading its trailer", error))?;
        let trailer = Trailer::read(&end)?;
        let format = BlockFormat { compression: trailer.compression, cells: CellLayout::default() };
        let loaded = LoadOnOpenBlocks::read(
            &LoadOnOpenSection { file: &*file, format, end: trailer_offset },
            &trailer,
        )?;
        let info = loaded.info;
        let encoding = encoding_of(&info)?;
        for key in [info_key::LAST_KEY, info_key::KEY_OF_BIGGEST_CELL] {
            info.flat_key(key)?;
        }
        let cells = CellLayout {
            tags: info.get(info_key::MAX_TAGS_LENGTH).is_some(),
            tags_compressed: info.flag(info_key::TAGS_COMPRESSED),
            sequence_ids: info.int(info_key::KEY_VALUE_VERSION) == Some(1),
        };
        let bloom_type = bloom_type(&info, loaded.bloom.as_ref())?;
        Ok(Self {
            file,
            path: path.to_owned(),
            bytes,
            format: BlockFormat { cells, ..format },
            bloom_type,
            bloom: loaded
                .bloom
                .filter(|bloom| bloom_type != BloomType::None && bloom.key_count() > 0),
            delete_family_bloom: loaded.delete_family_bloom,
            root: loaded.root,
            mid_key: loaded.mid_key,
            encoding,
            part_indexes: loaded.part_indexes,
            trailer,
            info,
        })
    }

    /// Reads one block from the disk and verifies it.
    ///
    /// # Errors
    /// `Corrupt`, with file, offset and cause; `Io`.
    pub fn read_block(&self, pointer: BlockHandle, kind: BlockKind) -> Result<Block> {
        self.read_block_by(pointer, kind, Validation::Whole, read_bytes)
    }

    /// As [`Reader::read_block`]; cells may be validated later, and `read` returns the bytes of the
    /// file from an offset, of a length.
    pub(crate) fn read_block_by(
        &self,
        pointer: BlockHandle,
        kind: BlockKind,
        validation: Validation,
        read: impl FnOnce(&dyn FileReader, u64, usize) -> Result<Vec<u8>>,
    ) -> Result<Block> {
        let behind = pointer.offset.checked_add(u64::from(pointer.on_disk_bytes));
        let block = if behind
            .is_none_or(|behind| behind > self.bytes.saturating_sub(TRAILER_BYTES as u64))
        {
            Err(damaged(format_args!(
                "the index gives it {} bytes, which end after the blocks",
                pointer.on_disk_bytes
            )))
        } else {
            read(&*self.file, pointer.offset, pointer.on_disk_bytes as usize)
                .and_then(|bytes| Block::open(bytes, kind, self.format, validation))
        };
        block.map_err(|error| self.of_block(pointer, kind, error))
    }

    /// Returns the error of a block with the block and the file prepended.
    pub(super) fn of_block(&self, pointer: BlockHandle, kind: BlockKind, error: Error) -> Error {
        self.with_path(error.at(format_args!("{} at {}", kind.name(), pointer.offset)))
    }

    /// Tells the system that blocks of this file are read at random, or by a reader that reads
    /// ahead itself.
    pub(crate) fn expect_random_reads(&self) {
        self.file.expect_random_reads();
    }

    /// Tells the system that these bytes of the file are read soon.
    pub(crate) fn will_need(&self, offset: u64, bytes: u64) {
        self.file.will_need(offset, bytes);
    }

    /// Returns the memory in bytes of the handles of its part index.
    pub(super) fn part_index_memory_bytes(&self) -> usize {
        self.part_indexes.capacity().saturating_mul(size_of::<PartIndexHandle>())
    }

    /// Returns the blocks of the part index, in the order of their data blocks.
    pub(super) fn part_index_blocks(&self) -> Vec<BlockHandle> {
        let blocks = self.part_indexes.iter().map(|index| index.handle);
        blocks.filter(|_| self.encoding.has_parts(self.format.cells)).collect()
    }

    /// Returns the part index block of the data block at `pointer`; `None` if it has none.
    pub(super) fn part_index_of(&self, pointer: BlockHandle) -> Option<BlockHandle> {
        if !self.encoding.has_parts(self.format.cells) {
            return None;
        }
        let after = self.part_indexes.partition_point(|at| at.first_block <= pointer.offset);
        Some(self.part_indexes.get(after.checked_sub(1)?)?.handle)
    }

    /// Returns a part of the data block at `pointer`; `None` if the block has no parts.
    ///
    /// # Errors
    /// As [`BlockSource::block`], from which the part index is read.
    pub(crate) fn find_part<S: BlockSource>(
        &self,
        source: &S,
        pointer: BlockHandle,
        choice: PartChoice<'_>,
    ) -> Result<Option<FoundPart>> {
        let Some(index) = self.part_index_of(pointer) else { return Ok(None) };
        let index = source.block(self, index, BlockKind::Meta)?;
        let part = index.find_part(pointer, choice, self.part_order());
        Ok(part.map(|part| FoundPart { part, index }))
    }

    /// Returns the relation of the keys in the part index to the cells.
    pub(super) fn part_order(&self) -> PartOrder {
        PartOrder {
            comparator: self.comparator(),
            has_keys_before: self.encoding.stores_differences(),
        }
    }

    /// Reads one part of a data block and verifies it; `read` as in [`Reader::read_block_by`].
    ///
    /// # Errors
    /// `Corrupt`, with file, offset and cause; `Io`.
    pub(crate) fn read_part_by(
        &self,
        found: &FoundPart,
        read: impl FnOnce(&dyn FileReader, u64, usize) -> Result<Vec<u8>>,
    ) -> Result<Block> {
        let part = &found.part;
        let end = part.offset.checked_add(u64::from(part.stored_bytes));
        let block = if end.is_none_or(|end| end > self.bytes) {
            Err(damaged("it ends after the end of the file"))
        } else {
            read(&*self.file, part.offset, part.stored_bytes as usize)
                .and_then(|bytes| Block::open_part(bytes, found, self.format, self.encoding))
        };
        block.map_err(|error| {
            let (start, bytes) = (part.offset, part.stored_bytes);
            self.with_path(
                error.at(format_args!("part of a data block at {start}, of {bytes} bytes")),
            )
        })
    }

    /// Returns the error with the file's name prepended.
    pub(super) fn with_path(&self, error: Error) -> Error {
        error.at(format_args!("store file {}", self.path))
    }

    /// Returns the name of the file for errors.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the file's length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the trailer.
    pub fn trailer(&self) -> &Trailer {
        &self.trailer
    }

    /// Returns the file info.
    pub fn info(&self) -> &FileInfo {
        &self.info
    }

    /// Returns the order of the keys.
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
}

/// Returns `true` if a file starts with a block or ends with a trailer, as an `HFile` does unless it is
/// damaged at both ends.
pub fn is_hfile(file: &dyn FileReader) -> bool {
    let magic_at = |offset| -> Option<[u8; 8]> {
        let mut magic = [0; 8];
        file.read_exact_at(&mut magic, offset).ok().map(|()| magic)
    };
    let trailer = file.len().ok().and_then(|bytes| bytes.checked_sub(TRAILER_BYTES as u64));
    magic_at(0).and_then(BlockKind::from_magic).is_some()
        || trailer.and_then(magic_at) == Some(*trailer::MAGIC)
}

/// Returns the filter's type; `None` unless there is a filter whose keys are of the kind that the
/// type requires.
fn bloom_type(info: &FileInfo, bloom: Option<&BloomMeta>) -> Result<BloomType> {
    let stated = info.bloom_type()?;
    if stated == BloomType::RowCol {
        info.flat_key(info_key::LAST_BLOOM_KEY)?;
    }
    let fits = bloom.is_some_and(|bloom| bloom.keys_are_cells() == (stated == BloomType::RowCol));
    Ok(if fits { stated } else { BloomType::None })
}

fn encoding_of(info: &FileInfo) -> Result<DataBlockEncoding> {
    if let Some(name) = info.get(info_key::INDEX_BLOCK_ENCODING).filter(|name| *name != b"NONE") {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "index block encoding {} cannot be read; set INDEX_BLOCK_ENCODING to NONE and let \
                 HBase rewrite the file with a major compaction",
                name.escape_ascii()
            ),
        ));
    }
    match info.get(info_key::DATA_BLOCK_ENCODING).map(String::from_utf8_lossy) {
        None => Ok(DataBlockEncoding::None),
        Some(name) => {
            DataBlockEncoding::from_name(&name).ok_or_else(|| unsupported_encoding(&name))
        }
    }
}
