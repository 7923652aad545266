//! The way down the block index to one data block, and from there to its neighbours.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::sync::Arc;

use halite_types::Result;

use super::block::{Block, BlockKind, BlockPointer};
use super::damaged;
use super::reader::{BlockSource, Reader};

/// Which entry to take on the way down.
#[derive(Clone, Copy)]
enum Choice<'k> {
    First,
    Last,
    /// The last one at or before the key.
    Key(&'k [u8]),
}

/// The entries taken on the way down, root first. It keeps the index blocks it goes through.
#[derive(Debug, Default)]
pub(super) struct Path {
    root_entry: usize,
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    block: Arc<Block>,
    entry: usize,
}

/// The memory of a block, shared among those that keep it, the block cache among them.
pub(super) fn share_of(block: &Arc<Block>) -> usize {
    block.memory_bytes().checked_div(Arc::strong_count(block)).unwrap_or(0)
}

impl Path {
    /// Its share of the memory of the index blocks it keeps.
    pub(super) fn held_bytes(&self) -> usize {
        self.steps.iter().map(|step| share_of(&step.block)).fold(0, usize::saturating_add)
    }

    /// Goes to the data block that has `key` if any has; `None` if `key` is before the file.
    pub(super) fn find<S: BlockSource + ?Sized>(&mut self, reader: &Reader, source: &S, key: &[u8]) -> Result<Option<BlockPointer>> {
        match reader.root().find_key(key, reader.comparator()) {
            Some(entry) => self.descend(reader, source, entry, Choice::Key(key)),
            None => Ok(None),
        }
    }

    /// Goes to the first data block.
    pub(super) fn first<S: BlockSource + ?Sized>(&mut self, reader: &Reader, source: &S) -> Result<Option<BlockPointer>> {
        self.descend(reader, source, 0, Choice::First)
    }

    /// Goes to the last data block.
    pub(super) fn last<S: BlockSource + ?Sized>(&mut self, reader: &Reader, source: &S) -> Result<Option<BlockPointer>> {
        match reader.root().len().checked_sub(1) {
            Some(entry) => self.descend(reader, source, entry, Choice::Last),
            None => Ok(None),
        }
    }

    /// Goes to the next data block; `None` behind the last.
    pub(super) fn next<S: BlockSource + ?Sized>(&mut self, reader: &Reader, source: &S) -> Result<Option<BlockPointer>> {
        while let Some(step) = self.steps.last_mut() {
            step.entry = step.entry.saturating_add(1);
            if step.block.index().is_some_and(|index| step.entry < index.len()) {
                return self.complete(reader, source, Choice::First);
            }
            self.steps.pop();
        }
        self.descend(reader, source, self.root_entry.saturating_add(1), Choice::First)
    }

    /// Goes to the data block before; `None` before the first.
    pub(super) fn previous<S: BlockSource + ?Sized>(&mut self, reader: &Reader, source: &S) -> Result<Option<BlockPointer>> {
        while let Some(step) = self.steps.last_mut() {
            if let Some(entry) = step.entry.checked_sub(1) {
                step.entry = entry;
                return self.complete(reader, source, Choice::Last);
            }
            self.steps.pop();
        }
        match self.root_entry.checked_sub(1) {
            Some(entry) => self.descend(reader, source, entry, Choice::Last),
            None => Ok(None),
        }
    }

    fn descend<S: BlockSource + ?Sized>(
        &mut self,
        reader: &Reader,
        source: &S,
        root_entry: usize,
        choice: Choice<'_>,
    ) -> Result<Option<BlockPointer>> {
        self.steps.clear();
        if root_entry >= reader.root().len() {
            return Ok(None);
        }
        self.root_entry = root_entry;
        self.complete(reader, source, choice)
    }

    /// Goes down from the lowest step there is to the leaf and returns where that points.
    fn complete<S: BlockSource + ?Sized>(&mut self, reader: &Reader, source: &S, choice: Choice<'_>) -> Result<Option<BlockPointer>> {
        let levels = reader.index_levels();
        loop {
            let pointer = self.pointer(reader).ok_or_else(|| reader.place(damaged("its index has no entry where one was found")))?;
            let level = self.steps.len().saturating_add(2);
            if level > levels {
                return Ok(Some(pointer));
            }
            let kind = if level == levels { BlockKind::LeafIndex } else { BlockKind::IntermediateIndex };
            let block = source.block(reader, pointer, kind)?;
            let entry = choose(&block, reader, choice);
            self.steps.push(Step { block, entry });
        }
    }

    fn pointer(&self, reader: &Reader) -> Option<BlockPointer> {
        match self.steps.last() {
            None => reader.root().pointer(self.root_entry),
            Some(step) => step.block.index()?.entry(step.block.payload(), step.entry).map(|(pointer, _)| pointer),
        }
    }
}

/// The first entry is right if all are behind the key: the level above sent us here.
fn choose(block: &Block, reader: &Reader, choice: Choice<'_>) -> usize {
    let Some(index) = block.index() else { return 0 };
    match choice {
        Choice::First => 0,
        Choice::Last => index.len().saturating_sub(1),
        Choice::Key(key) => index.find(block.payload(), |at| reader.comparator().compare(at, key)).unwrap_or(0),
    }
}
