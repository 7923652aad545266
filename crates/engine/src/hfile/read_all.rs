//! Reading all blocks of a file through a block source, which may be a cache to be filled.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use halite_types::Result;

use super::block_header::BlockKind;
use super::bloom::BloomMeta;
use super::index_path::IndexPath;
use super::reader::{BlockSource, Reader};

impl Reader {
    /// Reads the index blocks below the root and the part index, and, with `data`, the data blocks,
    /// while `go_on` returns `true`. Damage of the part index is left to the reads of parts, which
    /// do without it.
    ///
    /// # Errors
    /// Those of the source.
    pub(crate) fn read_indexed_blocks<S: BlockSource>(
        &self,
        source: &S,
        data: bool,
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
            if data {
                source.block(self, handle, BlockKind::Data)?;
            }
            next = path.next(self, source)?;
        }
        Ok(())
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
        let chunks = blooms.into_iter().flatten().flat_map(BloomMeta::chunks);
        for chunk in chunks.take_while(|_| go_on()) {
            source.block(self, chunk, BlockKind::BloomChunk)?;
        }
        Ok(())
    }
}
