//! Index blocks of one file in memory, for reads that need no block cache.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::block::Block;
use super::block_header::{BlockHandle, BlockKind};
use super::reader::{BlockSource, DirectBlocks, Reader};
use crate::heal::Healed;
use halite_types::Result;

/// Source of one file's blocks that keeps all but data blocks, which it reads from the disk each
/// time: reads of a store whose cache has room for index and bloom filters only.
#[derive(Debug, Default)]
pub struct IndexInMemory(Mutex<HashMap<u64, Arc<Block>>>);

impl BlockSource for IndexInMemory {
    fn block(&self, reader: &Reader, pointer: BlockHandle, kind: BlockKind) -> Result<Arc<Block>> {
        if kind == BlockKind::Data {
            return DirectBlocks.block(reader, pointer, kind);
        }
        if let Some(block) = self.0.lock().healed().get(&pointer.offset) {
            return Ok(Arc::clone(block));
        }
        let block = DirectBlocks.block(reader, pointer, kind)?;
        self.0.lock().healed().insert(pointer.offset, Arc::clone(&block));
        Ok(block)
    }
}
