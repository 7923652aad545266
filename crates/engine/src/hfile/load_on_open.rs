//! Load-on-open section: the blocks between the data and the trailer that stay in memory.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::block::{Block, BlockFormat};
use super::block_header::{BlockHandle, BlockHeader, BlockKind, HEADER_BYTES};
use super::bloom::BloomMeta;
use super::damaged;
use super::data_cells::Validation;
use super::file_info::FileInfo;
use super::index::{MidKey, RootIndex};
use super::part_index;
use super::trailer::Trailer;
use crate::env::FileReader;
use halite_types::{Error, Result};

/// Blocks from the data index root to the trailer, which are contiguous.
pub(super) struct LoadOnOpenSection<'a> {
    pub(super) file: &'a dyn FileReader,
    pub(super) format: BlockFormat,
    pub(super) end: u64,
}

impl LoadOnOpenSection<'_> {
    /// Reads the block at `offset` and advances `offset` past it. `None` if it is of another kind,
    /// or the section ends.
    fn block(&self, offset: &mut u64, kind: BlockKind) -> Result<Option<Block>> {
        self.read(offset, kind)
            .map_err(|error| error.at(format_args!("{} at {offset}", kind.name())))
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
            return Err(damaged("it ends after the start of the trailer"));
        }
        let bytes = read_bytes(self.file, *offset, count)?;
        let block = Block::open(bytes, kind, self.format, Validation::Whole)?;
        *offset = offset.saturating_add(count as u64);
        Ok(Some(block))
    }

    fn required(&self, offset: &mut u64, kind: BlockKind) -> Result<Block> {
        let at = *offset;
        let block = self.block(offset, kind)?;
        block.ok_or_else(|| {
            damaged(format_args!("there is no {} at {at}, where the trailer puts one", kind.name()))
        })
    }
}

/// In-memory blocks of an open file.
pub(super) struct LoadOnOpenBlocks {
    pub(super) root: RootIndex,
    pub(super) mid_key: Option<MidKey>,
    pub(super) part_indexes: Vec<PartIndexHandle>,
    pub(super) info: FileInfo,
    pub(super) bloom: Option<BloomMeta>,
    pub(super) delete_family_bloom: Option<BloomMeta>,
}

impl LoadOnOpenBlocks {
    /// Reads all of them.
    pub(super) fn read(section: &LoadOnOpenSection<'_>, trailer: &Trailer) -> Result<Self> {
        let mut offset = trailer.load_on_open_offset;
        let (root, mid_key) =
            read_root(&section.required(&mut offset, BlockKind::RootIndex)?, trailer)?;
        let meta_offset = offset;
        let meta = section.required(&mut offset, BlockKind::RootIndex)?;
        let part_indexes = part_indexes(&meta, trailer.meta_index_count as usize)
            .map_err(|error| error.at(format_args!("meta index block at {meta_offset}")))?;
        if offset != trailer.file_info_offset {
            return Err(damaged("its trailer does not place the file info after the indexes"));
        }
        let info = section.required(&mut offset, BlockKind::FileInfo)?;
        let info = FileInfo::parse(info.payload()).map_err(|error| {
            error.at(format_args!("file info block at {}", trailer.file_info_offset))
        })?;
        let mut bloom = |kind: BlockKind| -> Result<Option<BloomMeta>> {
            let at = offset;
            let Some(block) = section.block(&mut offset, kind)? else { return Ok(None) };
            BloomMeta::parse(block.payload())
                .map(Some)
                .map_err(|error| error.at(format_args!("{} at {at}", kind.name())))
        };
        let general = bloom(BlockKind::GeneralBloomMeta)?;
        let delete_family = bloom(BlockKind::DeleteFamilyBloomMeta)?;
        if offset != section.end {
            return Err(damaged(format_args!(
                "something unknown lies at {offset}, before the trailer"
            )));
        }
        Ok(Self {
            root,
            mid_key,
            part_indexes,
            info,
            bloom: general,
            delete_family_bloom: delete_family,
        })
    }
}

fn read_root(block: &Block, trailer: &Trailer) -> Result<(RootIndex, Option<MidKey>)> {
    let read = || {
        let payload = block.payload();
        let (mut root, used) = RootIndex::parse(payload, trailer.data_index_count as usize)?;
        root.check_keys()?;
        let mid_key = MidKey::parse(payload.get(used..).unwrap_or_default())?;
        if mid_key.is_some() && trailer.index_levels == 1 {
            return Err(damaged("more bytes follow its entries"));
        }
        if (root.len() == 0) != (trailer.entry_count == 0) {
            return Err(damaged(format_args!(
                "it has {} entries for {} cells",
                root.len(),
                trailer.entry_count
            )));
        }
        Ok((root, mid_key))
    };
    read().map_err(|error: Error| {
        error.at(format_args!("{} at {}", block.kind().name(), trailer.load_on_open_offset))
    })
}

/// Part index block, and the first data block that it describes.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartIndexHandle {
    pub(super) first_block: u64,
    pub(super) handle: BlockHandle,
}

/// Returns the part index blocks that the meta index names, in the order of their data blocks.
fn part_indexes(meta: &Block, count: usize) -> Result<Vec<PartIndexHandle>> {
    let (index, _) = RootIndex::parse(meta.payload(), count)?;
    let mut found = Vec::new();
    for number in 0..index.len() {
        let first_block = part_index::first_block_offset(index.key(number));
        if let (Some(first_block), Some(handle)) = (first_block, index.handle(number)) {
            found.push(PartIndexHandle { first_block, handle });
        }
    }
    found.sort_unstable_by_key(|index| index.first_block);
    Ok(found)
}

/// Reads `count` bytes; the caller ensures that they are inside the file.
pub(crate) fn read_bytes(file: &dyn FileReader, offset: u64, count: usize) -> Result<Vec<u8>> {
    file.read_at(count, offset).map_err(|error| Error::io("reading", error))
}
