//! Blocks of a file in file order, found by their headers alone.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::block_header::{BlockHandle, BlockHeader, BlockKind, HEADER_BYTES};
use super::checksum::ChecksumType;
use super::damaged;
use super::load_on_open::read_bytes;
use super::reader::Reader;
use super::trailer::TRAILER_BYTES;
use halite_types::Result;

/// Summary of a block from its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSummary {
    /// Kind of the block.
    pub kind: BlockKind,
    /// Location of the block.
    pub handle: BlockHandle,
    /// Bytes of its payload after decompression.
    pub uncompressed_bytes: u64,
    /// Checksum type of the block.
    pub checksum: ChecksumType,
}

impl Reader {
    /// Returns every block from the start of the file to the trailer. Reads only the headers and
    /// does not verify them.
    ///
    /// # Errors
    /// `Corrupt` if there is no block at an expected offset or one extends past the trailer; `Io`.
    pub fn walk_blocks(&self) -> Result<Vec<BlockSummary>> {
        let end = self.bytes().saturating_sub(TRAILER_BYTES as u64);
        let mut blocks = Vec::new();
        let mut offset = 0;
        while offset < end {
            let block = self
                .block_summary(offset, end)
                .map_err(|error| self.with_path(error.at(format_args!("block at {offset}"))))?;
            offset = offset.saturating_add(u64::from(block.handle.on_disk_bytes));
            blocks.push(block);
        }
        Ok(blocks)
    }

    fn block_summary(&self, offset: u64, end: u64) -> Result<BlockSummary> {
        let left = end.saturating_sub(offset);
        if left < HEADER_BYTES as u64 {
            return Err(damaged(format_args!(
                "{left} bytes before the trailer are too few for a block"
            )));
        }
        let bytes = read_bytes(&*self.file, offset, HEADER_BYTES)?;
        let header = BlockHeader::read(&bytes)?;
        let kind = BlockKind::from_magic(header.magic).ok_or_else(|| {
            damaged(format_args!("\"{}\" begins no kind of block", header.magic.escape_ascii()))
        })?;
        let on_disk_bytes =
            u32::try_from(header.on_disk_bytes()).ok().filter(|&bytes| u64::from(bytes) <= left);
        let on_disk_bytes = on_disk_bytes.ok_or_else(|| {
            damaged(format_args!("its {} bytes go beyond the trailer", header.on_disk_bytes()))
        })?;
        Ok(BlockSummary {
            kind,
            handle: BlockHandle { offset, on_disk_bytes },
            uncompressed_bytes: header.uncompressed_bytes as u64,
            checksum: header.checksum,
        })
    }
}
