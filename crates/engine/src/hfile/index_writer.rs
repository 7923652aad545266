//! Writer of the data index: leaves during the writing of the data, the upper levels at the end.

use std::mem;

use super::Comparator;
use super::block_header::{BlockHandle, BlockKind};
use super::block_writer::BlockWriter;
use super::index::{EMPTY_NON_ROOT_BYTES, IndexEntry, MidKey, write_non_root, write_root};
use halite_types::Result;

/// Level count at which HBase stops adding levels.
const MAX_LEVELS: u32 = 16;

/// Minimum entries of every index block but the last of a level. With one entry each, if keys are
/// longer than the block size, no level would be smaller than the one below it.
const MIN_BLOCK_ENTRIES: usize = 2;

/// Data index of a file that is being written.
pub(super) struct IndexWriter {
    chunk_bytes: usize,
    min_entries: usize,
    /// Entries of the current leaf.
    leaf: Vec<IndexEntry>,
    leaf_bytes: usize,
    /// Entries of the leaves written so far; without any, the leaf becomes the root.
    root: Vec<IndexEntry>,
    /// For each entry of `root`: the number of data blocks up to its end.
    blocks_through: Vec<u64>,
    blocks: u64,
    levels: u32,
    uncompressed_bytes: u64,
}

/// Fields of an index for the trailer.
pub(super) struct IndexSummary {
    pub(super) root_handle: BlockHandle,
    pub(super) root_entries: usize,
    pub(super) levels: u32,
    pub(super) uncompressed_bytes: u64,
}

impl IndexWriter {
    pub(super) fn new(chunk_bytes: usize, min_entries: usize) -> Self {
        Self {
            chunk_bytes,
            min_entries,
            leaf: Vec::new(),
            leaf_bytes: EMPTY_NON_ROOT_BYTES,
            root: Vec::new(),
            blocks_through: Vec::new(),
            blocks: 0,
            levels: 1,
            uncompressed_bytes: 0,
        }
    }

    /// Adds the entry of a written data block.
    pub(super) fn add(&mut self, entry: IndexEntry) {
        assert!(
            self.leaf.last().is_none_or(|last| last.handle.offset < entry.handle.offset),
            "blocks are indexed in the order of the file"
        );
        self.leaf_bytes += entry.non_root_bytes();
        self.leaf.push(entry);
        self.blocks += 1;
    }

    /// Writes the leaf if it is full. Called after each data block.
    pub(super) fn write_full_leaf(&mut self, blocks: &mut BlockWriter) -> Result<()> {
        if self.leaf.len() >= MIN_BLOCK_ENTRIES && self.leaf_bytes >= self.chunk_bytes {
            self.write_leaf(blocks)
        } else {
            Ok(())
        }
    }

    /// Writes the last leaf, or makes it the root if it is the only one. Called after the last data
    /// block.
    pub(super) fn write_last_leaf(&mut self, blocks: &mut BlockWriter) -> Result<()> {
        if self.leaf.is_empty() {
            Ok(())
        } else if self.root.is_empty() {
            self.root = mem::take(&mut self.leaf);
            Ok(())
        } else {
            self.write_leaf(blocks)
        }
    }

    fn write_leaf(&mut self, blocks: &mut BlockWriter) -> Result<()> {
        let entry = self.write_non_root_block(blocks, BlockKind::LeafIndex)?;
        self.levels = 2;
        self.root.push(entry);
        self.blocks_through.push(self.blocks);
        Ok(())
    }

    /// Writes the entries in `leaf` as a block and returns the entry for it.
    fn write_non_root_block(
        &mut self,
        blocks: &mut BlockWriter,
        kind: BlockKind,
    ) -> Result<IndexEntry> {
        assert!(!self.leaf.is_empty(), "an index block has entries");
        let mut payload = Vec::new();
        write_non_root(&mut payload, &self.leaf);
        self.uncompressed_bytes += payload.len() as u64;
        let pointer = match kind {
            BlockKind::LeafIndex => blocks.write(kind, &payload)?,
            _ => blocks.write_upper_index(kind, &payload)?,
        };
        let key = mem::take(&mut self.leaf[0].key);
        self.leaf.clear();
        self.leaf_bytes = EMPTY_NON_ROOT_BYTES;
        Ok(IndexEntry { key, handle: pointer })
    }

    /// Writes the levels above the leaves and the root.
    pub(super) fn finish(mut self, blocks: &mut BlockWriter) -> Result<IndexSummary> {
        assert!(self.leaf.is_empty(), "the last leaf is written before the root");
        assert_eq!(self.root.is_empty(), self.blocks == 0, "each data block is in the index");
        let mid_key = self.mid_key();
        // Without leaves the root is not split, whatever its size: the level above the data blocks
        // must be leaves.
        while (2..MAX_LEVELS).contains(&self.levels)
            && root_bytes(&self.root) > self.chunk_bytes
            && self.root.len() > self.min_entries
        {
            self.add_level(blocks)?;
        }
        let mut payload = Vec::new();
        write_root(&mut payload, &self.root);
        if let Some(mid_key) = mid_key {
            mid_key.write(&mut payload);
        }
        let root_pointer = blocks.write_upper_index(BlockKind::RootIndex, &payload)?;
        let uncompressed_bytes = self.uncompressed_bytes + payload.len() as u64;
        Ok(IndexSummary {
            root_handle: root_pointer,
            root_entries: self.root.len(),
            levels: self.levels,
            uncompressed_bytes,
        })
    }

    fn add_level(&mut self, blocks: &mut BlockWriter) -> Result<()> {
        let mut parents = Vec::new();
        let mut bytes = 0;
        // The number is counted over the whole level, as HBase does: only the first block has to
        // reach the minimum.
        for (number, entry) in mem::take(&mut self.root).into_iter().enumerate() {
            bytes += entry.root_bytes();
            self.leaf.push(entry);
            if number >= self.min_entries
                && bytes >= self.chunk_bytes
                && self.leaf.len() >= MIN_BLOCK_ENTRIES
            {
                parents.push(self.write_non_root_block(blocks, BlockKind::IntermediateIndex)?);
                bytes = 0;
            }
        }
        if !self.leaf.is_empty() {
            parents.push(self.write_non_root_block(blocks, BlockKind::IntermediateIndex)?);
        }
        self.root = parents;
        self.levels += 1;
        Ok(())
    }

    /// Returns the leaf entry of the middle data block, if there are leaves.
    fn mid_key(&self) -> Option<MidKey> {
        let middle = self.blocks_through.last()?.checked_sub(1)? / 2;
        assert_eq!(self.root.len(), self.blocks_through.len(), "the blocks of a leaf are counted");
        let leaf = self.blocks_through.partition_point(|&through| through <= middle);
        let before = leaf.checked_sub(1).map_or(0, |before| self.blocks_through[before]);
        Some(MidKey { leaf: self.root[leaf].handle, entry: usize::try_from(middle - before).ok()? })
    }
}

fn root_bytes(entries: &[IndexEntry]) -> usize {
    entries.iter().map(IndexEntry::root_bytes).sum()
}

/// Returns the index key of a block or part: between the last cell before it and its first cell.
/// Rows of `hbase:meta` have an order of their own, and their keys are not shortened.
pub(super) fn index_key(last_before: &[u8], first: &[u8], comparator: Comparator) -> Vec<u8> {
    match comparator {
        Comparator::Cell => {
            let key = separator(last_before, first);
            debug_assert!(
                comparator.compare(last_before, &key).is_le()
                    && comparator.compare(&key, first).is_le(),
                "an index key is between the cells around it"
            );
            key
        }
        Comparator::Meta => first.to_vec(),
    }
}

/// Returns the key of the first cell, or a shorter one that is after the last cell before it.
fn separator(last_before: &[u8], first: &[u8]) -> Vec<u8> {
    use halite_types::cell::{
        LATEST_TIMESTAMP, TYPE_MAXIMUM, first_on_row, key_family, key_qualifier, key_row, make_key,
    };
    if let Some(row) = shortest_between(key_row(last_before), key_row(first)) {
        return first_on_row(&row);
    }
    match shortest_between(key_qualifier(last_before), key_qualifier(first)) {
        Some(qualifier) => {
            make_key(key_row(first), key_family(first), &qualifier, LATEST_TIMESTAMP, TYPE_MAXIMUM)
        }
        None => first.to_vec(),
    }
}

/// Returns the shortest bytes above `left` and at most `right`, which must not be below `left`;
/// `None` if they are equal.
fn shortest_between(left: &[u8], right: &[u8]) -> Option<Vec<u8>> {
    let common = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    if common == left.len() {
        return (left.len() < right.len()).then(|| [left, &[0]].concat());
    }
    let mut between = left[..=common].to_vec();
    between[common] += 1;
    Some(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separator_is_after_left_and_at_most_right() {
        for (left, right, between) in [
            ("a", "b", Some("b")),
            ("abc", "abe", Some("abd")),
            ("ab", "abc", Some("ab\0")),
            ("abzz", "ad", Some("ac")),
            ("same", "same", None),
            ("", "x", Some("\0")),
        ] {
            assert_eq!(
                shortest_between(left.as_bytes(), right.as_bytes()).as_deref(),
                between.map(str::as_bytes),
                "{left} {right}"
            );
        }
    }
}
