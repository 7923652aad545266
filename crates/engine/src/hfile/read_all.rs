//! Reading all blocks of a file through a block source, which may be a cache to be filled.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use halite_types::Result;

use super::block_header::{BlockHandle, BlockKind};
use super::bloom::BloomMeta;
use super::damaged;
use super::index_path::IndexPath;
use super::reader::{BlockSource, Reader};

/// Bytes of scattered blocks that are requested from the system before the first of them is read.
/// Index and Bloom blocks lie between the data blocks, so each is a read of its own, and a disk
/// serves many at once in the time of a few.
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
    /// Those of the source; `Corrupt` for entries that are not in the order of the file: of such an
    /// index, whose blocks name the same blocks, every level could have more entries than the file
    /// has bytes.
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
                let Some(index) = block.index().filter(|_| !is_leaf) else { return Ok(()) };
                for at in 0..index.len() {
                    let Some((handle, _)) = index.entry(block.payload(), at) else { break };
                    if below.last().is_some_and(|last: &BlockHandle| last.offset >= handle.offset) {
                        let error = damaged("its index entries are not in ascending order");
                        return Err(self.with_path(error));
                    }
                    below.push(handle);
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::Arc;

    use halite_types::ErrorKind;
    use halite_types::cell::{CellRef, make_key};

    use super::*;
    use crate::env::{MemoryFile, MemoryReader};
    use crate::hfile::block::Block;
    use crate::hfile::{ChecksumType, DirectBlocks, StoreFileInfo, Writer, WriterOptions};

    /// Source that counts the blocks of each kind.
    #[derive(Default)]
    struct Counted(std::sync::Mutex<RefCell<Vec<BlockKind>>>);

    impl BlockSource for Counted {
        fn block(&self, reader: &Reader, at: BlockHandle, kind: BlockKind) -> Result<Arc<Block>> {
            self.0.lock().unwrap().borrow_mut().push(kind);
            DirectBlocks.block(reader, at, kind)
        }
    }

    /// Returns a file without checksums whose index has at least three levels.
    fn file() -> Vec<u8> {
        let file = MemoryFile::default();
        let options = WriterOptions {
            block_bytes: 40,
            index_chunk_bytes: 60,
            min_index_entries: 2,
            checksum: ChecksumType::Null,
            part_bytes: Some(20),
            ..WriterOptions::default()
        };
        let mut writer = Writer::create(Box::new(file.clone()), "file", options).unwrap();
        for row in 0..40 {
            let key = make_key(format!("r{row:02}").as_bytes(), b"f", b"q", 5, 4);
            writer.append(CellRef::new(&key, b"value", &[], 0)).unwrap();
        }
        writer.finish(StoreFileInfo::flushed(3)).unwrap();
        file.take_bytes()
    }

    fn read(bytes: Vec<u8>) -> (Result<()>, Vec<BlockKind>) {
        let reader = Reader::open(Arc::new(MemoryReader::new(bytes)), "file").unwrap();
        assert!(reader.index_levels() >= 3);
        let source = Counted::default();
        let result = reader.read_index_blocks(&source, || true);
        (result, source.0.into_inner().unwrap().into_inner())
    }

    #[test]
    fn every_index_block_is_read_once() {
        let (result, kinds) = read(file());
        result.unwrap();
        let reader = Reader::open(Arc::new(MemoryReader::new(file())), "file").unwrap();
        let all = reader.verify().unwrap().blocks;
        for kind in [BlockKind::IntermediateIndex, BlockKind::LeafIndex, BlockKind::Meta] {
            let of =
                |kinds: &mut dyn Iterator<Item = BlockKind>| kinds.filter(|&it| it == kind).count();
            let there = of(&mut all.iter().map(|block| block.kind));
            assert!(there > 0, "{}", kind.name());
            assert_eq!(of(&mut kinds.iter().copied()), there, "{}", kind.name());
        }
    }

    /// Regression: of such an index, each level had the square of the entries of the one above.
    #[test]
    fn index_whose_entries_share_a_block_is_refused() {
        let mut bytes = file();
        let magic = b"IDXINTE2";
        let block = bytes.windows(8).position(|window| window == magic).unwrap() + 33;
        // The number of entries, where each begins and the last ends, and the entries.
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let entries = block + 4 + (number(block) + 1) * 4;
        let second = entries + number(block + 8);
        bytes.copy_within(entries..entries + 12, second);
        let (result, _) = read(bytes);
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.message().contains("not in ascending order"), "{error}");
    }
}
