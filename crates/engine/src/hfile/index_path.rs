//! Path through the block index to one data block, and from there to its neighbors.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::sync::Arc;

use super::block::Block;
use super::block_header::{BlockHandle, BlockKind};
use super::damaged;
use super::reader::{BlockSource, Reader};
use halite_types::Result;

/// Choice of the entry on each level of the path.
#[derive(Clone, Copy)]
enum EntryChoice<'k> {
    First,
    Last,
    /// The last one at or before the key.
    Key(&'k [u8]),
}

/// Chosen entries of the path, root first. It holds the index blocks on the path.
#[derive(Debug, Default)]
pub(super) struct IndexPath {
    root_entry: usize,
    levels: Vec<IndexLevel>,
}

#[derive(Debug)]
struct IndexLevel {
    block: Arc<Block>,
    entry: usize,
}

/// Returns the memory of a block in bytes, divided by the number of its holders, including the
/// block cache.
pub(super) fn memory_share(block: &Arc<Block>) -> usize {
    block.memory_bytes().checked_div(Arc::strong_count(block)).unwrap_or(0)
}

impl IndexPath {
    /// Returns its share of the memory of the index blocks it holds, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        self.levels.iter().map(|step| memory_share(&step.block)).fold(0, usize::saturating_add)
    }

    /// Moves to the only data block that may contain `key`; `None` if `key` is before the file.
    pub(super) fn find<S: BlockSource + ?Sized>(
        &mut self,
        reader: &Reader,
        source: &S,
        key: &[u8],
    ) -> Result<Option<BlockHandle>> {
        match reader.root().find_key(key, reader.comparator()) {
            Some(entry) => self.descend(reader, source, entry, EntryChoice::Key(key)),
            None => Ok(None),
        }
    }

    /// Moves to the first data block.
    pub(super) fn first<S: BlockSource + ?Sized>(
        &mut self,
        reader: &Reader,
        source: &S,
    ) -> Result<Option<BlockHandle>> {
        self.descend(reader, source, 0, EntryChoice::First)
    }

    /// Moves to the last data block.
    pub(super) fn last<S: BlockSource + ?Sized>(
        &mut self,
        reader: &Reader,
        source: &S,
    ) -> Result<Option<BlockHandle>> {
        match reader.root().len().checked_sub(1) {
            Some(entry) => self.descend(reader, source, entry, EntryChoice::Last),
            None => Ok(None),
        }
    }

    /// Moves to the next data block; `None` past the last.
    pub(super) fn next<S: BlockSource + ?Sized>(
        &mut self,
        reader: &Reader,
        source: &S,
    ) -> Result<Option<BlockHandle>> {
        while let Some(step) = self.levels.last_mut() {
            step.entry = step.entry.saturating_add(1);
            if step.block.index().is_some_and(|index| step.entry < index.len()) {
                return self.complete(reader, source, EntryChoice::First);
            }
            self.levels.pop();
        }
        self.descend(reader, source, self.root_entry.saturating_add(1), EntryChoice::First)
    }

    /// Moves to the previous data block; `None` before the first.
    pub(super) fn previous<S: BlockSource + ?Sized>(
        &mut self,
        reader: &Reader,
        source: &S,
    ) -> Result<Option<BlockHandle>> {
        while let Some(step) = self.levels.last_mut() {
            if let Some(entry) = step.entry.checked_sub(1) {
                step.entry = entry;
                return self.complete(reader, source, EntryChoice::Last);
            }
            self.levels.pop();
        }
        match self.root_entry.checked_sub(1) {
            Some(entry) => self.descend(reader, source, entry, EntryChoice::Last),
            None => Ok(None),
        }
    }

    /// Returns the key of the next data block in the index: the first cell of that block is not
    /// before it, and all of the current one are. `None` if the current block is the last one.
    pub(super) fn next_key<'a>(&'a self, reader: &'a Reader) -> Option<&'a [u8]> {
        let below = self.levels.iter().rev().find_map(|level| {
            let next = level.entry.saturating_add(1);
            level.block.index()?.entry(level.block.payload(), next).map(|(_, key)| key)
        });
        below.or_else(|| {
            let next = self.root_entry.saturating_add(1);
            (next < reader.root().len()).then(|| reader.root().key(next))
        })
    }

    fn descend<S: BlockSource + ?Sized>(
        &mut self,
        reader: &Reader,
        source: &S,
        root_entry: usize,
        choice: EntryChoice<'_>,
    ) -> Result<Option<BlockHandle>> {
        self.levels.clear();
        if root_entry >= reader.root().len() {
            return Ok(None);
        }
        self.root_entry = root_entry;
        self.complete(reader, source, choice)
    }

    /// Descends from the lowest existing level to the leaf and returns the handle there.
    fn complete<S: BlockSource + ?Sized>(
        &mut self,
        reader: &Reader,
        source: &S,
        choice: EntryChoice<'_>,
    ) -> Result<Option<BlockHandle>> {
        let levels = reader.index_levels();
        loop {
            let pointer = self.handle(reader).ok_or_else(|| {
                reader.with_path(damaged("its index has no entry where one was found"))
            })?;
            let level = self.levels.len().saturating_add(2);
            if level > levels {
                return Ok(Some(pointer));
            }
            let kind =
                if level == levels { BlockKind::LeafIndex } else { BlockKind::IntermediateIndex };
            let block = source.block(reader, pointer, kind)?;
            let entry = choose(&block, reader, choice);
            self.levels.push(IndexLevel { block, entry });
        }
    }

    fn handle(&self, reader: &Reader) -> Option<BlockHandle> {
        match self.levels.last() {
            None => reader.root().handle(self.root_entry),
            Some(step) => step
                .block
                .index()?
                .entry(step.block.payload(), step.entry)
                .map(|(pointer, _)| pointer),
        }
    }
}

/// Returns the index of the chosen entry. The first entry is correct if all are after the key,
/// because the level above selected this block.
fn choose(block: &Block, reader: &Reader, choice: EntryChoice<'_>) -> usize {
    let Some(index) = block.index() else { return 0 };
    match choice {
        EntryChoice::First => 0,
        EntryChoice::Last => index.len().saturating_sub(1),
        EntryChoice::Key(key) => {
            index.find(block.payload(), |at| reader.comparator().compare(at, key)).unwrap_or(0)
        }
    }
}
