//! The blocks of a file in the order they lie in it, found by their headers alone.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use halite_types::Result;

use super::block::{BlockHeader, BlockKind, BlockPointer, HEADER_BYTES};
use super::checksum::ChecksumType;
use super::damaged;
use super::open_section::read_bytes;
use super::reader::Reader;
use super::trailer::TRAILER_BYTES;

/// What the header of a block says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSummary {
    /// What it holds.
    pub kind: BlockKind,
    /// Where it lies.
    pub pointer: BlockPointer,
    /// Bytes of its payload once decompressed.
    pub uncompressed_bytes: u64,
    /// How it is summed.
    pub checksum: ChecksumType,
}

impl Reader {
    /// Every block from the start of the file to the trailer. Reads the headers only and takes their word for it.
    ///
    /// # Errors
    /// `Corrupt` where no block begins or one goes beyond the trailer; `Io`.
    pub fn walk_blocks(&self) -> Result<Vec<BlockSummary>> {
        let end = self.bytes().saturating_sub(TRAILER_BYTES as u64);
        let mut blocks = Vec::new();
        let mut offset = 0;
        while offset < end {
            let block = self.block_summary(offset, end).map_err(|error| self.place(error.at(format_args!("block at {offset}"))))?;
            offset = offset.saturating_add(u64::from(block.pointer.on_disk_bytes));
            blocks.push(block);
        }
        Ok(blocks)
    }

    fn block_summary(&self, offset: u64, end: u64) -> Result<BlockSummary> {
        let left = end.saturating_sub(offset);
        if left < HEADER_BYTES as u64 {
            return Err(damaged(format_args!("{left} bytes before the trailer are too few for a block")));
        }
        let bytes = read_bytes(&*self.file, offset, HEADER_BYTES)?;
        let header = BlockHeader::read(&bytes)?;
        let kind = BlockKind::from_magic(header.magic)
            .ok_or_else(|| damaged(format_args!("\"{}\" begins no kind of block", header.magic.escape_ascii())))?;
        let on_disk_bytes = u32::try_from(header.on_disk_bytes()).ok().filter(|&bytes| u64::from(bytes) <= left);
        let on_disk_bytes = on_disk_bytes.ok_or_else(|| damaged(format_args!("its {} bytes go beyond the trailer", header.on_disk_bytes())))?;
        Ok(BlockSummary {
            kind,
            pointer: BlockPointer { offset, on_disk_bytes },
            uncompressed_bytes: header.uncompressed_bytes as u64,
            checksum: header.checksum,
        })
    }
}
