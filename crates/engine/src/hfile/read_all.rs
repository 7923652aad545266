//! Reading all blocks of a file through a block source, which may be a cache to be filled.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use halite_types::Result;

use super::block_header::{BlockHandle, BlockKind};
use super::bloom::BloomMeta;
use super::index_path::IndexPath;
use super::reader::{BlockSource, Reader};

/// Bytes of scattered blocks that the system is asked for before the first of them is read. Index
/// and Bloom blocks lie between the data blocks, so each is a read of its own, and a disk serves
/// many at once in the time of a few.
const AHEAD_BYTES: u64 = 4 << 20;

impl Reader {
    /// Reads the data blocks, the index blocks below the root and the part index, while `go_on`
    /// returns `true`. Damage of the part index is left to the reads of parts, which do without it.
    ///
    /// # Errors
    /// Those of the source.
    pub(crate) fn read_data_blocks<S: BlockSource>(
        &self,
        source: &S,
        go_on: impl Fn() -> bool,
    ) -> Result<()> {
        if self.root().len() == 0 {
            return Ok(());
        }
        let mut path = IndexPath::default();
        let mut next = path.first(self, source)?;
        let mut part_index = None;
        while let Some(handle) = next.filter(|_| go_on()) {
            if let Some(index) = self.part_index_of(handle)
                && part_index != Some(index.offset)
            {
                part_index = Some(index.offset);
                drop(source.block(self, index, BlockKind::Meta));
            }
            source.block(self, handle, BlockKind::Data)?;
            next = path.next(self, source)?;
        }
        Ok(())
    }

    /// Reads the index blocks below the root and the part index, while `go_on` returns `true`.
    ///
    /// # Errors
    /// Those of the source.
    pub(crate) fn read_index_blocks<S: BlockSource>(
        &self,
        source: &S,
        go_on: impl Fn() -> bool,
    ) -> Result<()> {
        let root = self.root();
        let mut level: Vec<_> = (0..root.len()).filter_map(|entry| root.handle(entry)).collect();
        for number in 2..=self.index_levels() {
            let is_leaf = number == self.index_levels();
            let kind = if is_leaf { BlockKind::LeafIndex } else { BlockKind::IntermediateIndex };
            let mut below = Vec::new();
            self.read_scattered(&level, &go_on, |handle| {
                let block = source.block(self, handle, kind)?;
                if let Some(index) = block.index().filter(|_| !is_leaf) {
                    let entries =
                        (0..index.len()).filter_map(|at| index.entry(block.payload(), at));
                    below.extend(entries.map(|(handle, _)| handle));
                }
                Ok(())
            })?;
            level = below;
        }
        self.read_scattered(&self.part_index_blocks(), &go_on, |handle| {
            source.block(self, handle, BlockKind::Meta).map(drop)
        })
    }

    /// Reads the chunks of the bloom filters, while `go_on` returns `true`.
    ///
    /// # Errors
    /// Those of the source.
    pub(crate) fn read_bloom_blocks<S: BlockSource>(
        &self,
        source: &S,
        go_on: impl Fn() -> bool,
    ) -> Result<()> {
        let blooms = [&self.bloom, &self.delete_family_bloom];
        let chunks: Vec<_> = blooms.into_iter().flatten().flat_map(BloomMeta::chunks).collect();
        self.read_scattered(&chunks, go_on, |chunk| {
            source.block(self, chunk, BlockKind::BloomChunk).map(drop)
        })
    }

    /// Calls `read` with each of these blocks, while `go_on` returns `true`, and tells the system
    /// in advance which ones come next.
    fn read_scattered(
        &self,
        blocks: &[BlockHandle],
        go_on: impl Fn() -> bool,
        mut read: impl FnMut(BlockHandle) -> Result<()>,
    ) -> Result<()> {
        let mut to_request = blocks.iter();
        let mut requested_bytes = 0_u64;
        for block in blocks {
            if !go_on() {
                break;
            }
            while requested_bytes < AHEAD_BYTES
                && let Some(next) = to_request.next()
            {
                let bytes = u64::from(next.on_disk_bytes);
                self.will_need(next.offset, bytes);
                requested_bytes = requested_bytes.saturating_add(bytes);
            }
            read(*block)?;
            requested_bytes = requested_bytes.saturating_sub(u64::from(block.on_disk_bytes));
        }
        Ok(())
    }
}
