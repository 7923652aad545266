//! Writer of the part index of a file; `part_index.rs` has the format.

use super::block_header::{BlockHandle, BlockKind};
use super::block_writer::{BlockWriter, WrittenData};
use super::encoding::PartStart;
use super::index::IndexEntry;
use super::index_writer::index_key;
use super::part_index::{PartFormat, PartIndex, PartOrder, block_name};
use halite_types::Result;

/// Length in bytes up to which a part may have a key, however small the parts are.
const MIN_KEY_LIMIT_BYTES: usize = 64;
/// Bytes after which a part index block ends.
const INDEX_BLOCK_BYTES: usize = 64 << 10;

/// Writer of the part index of a file.
pub(super) struct PartIndexWriter {
    lengths: PartLengths,
    format: PartFormat,
    order: PartOrder,
    /// Parts of the current data block but the first.
    current: Vec<PartBegin>,
    /// Entries and keys of the current part index block.
    blocks: Vec<u8>,
    parts: Vec<u8>,
    keys: Vec<u8>,
    first_offset: Option<u64>,
    /// Names and handles of the written part index blocks.
    written: Vec<IndexEntry>,
}

/// Minimum lengths of the parts of data blocks in bytes, except the last one of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartLengths {
    /// As plain cells.
    pub(super) plain: usize,
    /// In the encoding. Otherwise the entries of data that an encoding shrinks to little would be
    /// much beside it.
    pub(super) encoded: usize,
}

/// Beginning of a part.
struct PartBegin {
    /// Offset in the plain payload.
    plain: usize,
    encoded: PartStart,
    key: Vec<u8>,
}

impl PartIndexWriter {
    /// Creates a writer of parts of at least these lengths.
    pub(super) fn new(lengths: PartLengths, format: PartFormat, order: PartOrder) -> Self {
        Self {
            lengths,
            format,
            order,
            current: Vec::new(),
            blocks: Vec::new(),
            parts: Vec::new(),
            keys: Vec::new(),
            first_offset: None,
            written: Vec::new(),
        }
    }

    /// Returns `true` if the current part is long enough when the current block has this many plain
    /// bytes.
    #[inline]
    pub(super) fn is_part_full(&self, plain_bytes: usize) -> bool {
        let start = self.current.last().map_or(0, |part| part.plain);
        plain_bytes.saturating_sub(start) >= self.lengths.plain
    }

    /// Begins a part, unless the current one is too short in the encoding. Called for full parts,
    /// between two cells of a data block with different keys; `plain` and `encoded` are where the
    /// second begins.
    pub(super) fn begin(&mut self, plain: usize, encoded: PartStart, before: &[u8], next: &[u8]) {
        let start = self.current.last().map_or(0, |part| part.encoded.offset);
        if encoded.offset.saturating_sub(start) < self.lengths.encoded {
            return;
        }
        let key = if self.order.has_keys_before {
            before.to_vec()
        } else {
            index_key(before, next, self.order.comparator)
        };
        // The keys of the index stay small beside the parts: a boundary with a long key is left
        // out, so that the part ends at a later one.
        if key.len() <= self.lengths.plain.div_ceil(8).max(MIN_KEY_LIMIT_BYTES) {
            self.current.push(PartBegin { plain, encoded, key });
        }
    }

    /// Returns where the parts of the current block begin in its encoded payload, except the
    /// first.
    pub(super) fn boundaries(&self) -> Vec<usize> {
        self.current.iter().map(|part| part.encoded.offset).collect()
    }

    /// Adds the parts of a data block of `plain_bytes` that was written with the current
    /// boundaries, if it has several.
    pub(super) fn finish_block(&mut self, block: &WrittenData<'_>, plain_bytes: usize) {
        if self.current.is_empty() {
            return;
        }
        let is_stored = self.format == PartFormat::Stored;
        self.first_offset.get_or_insert(block.handle.offset);
        self.blocks.extend_from_slice(&block.handle.offset.to_be_bytes());
        self.blocks.extend_from_slice(&number(plain_bytes));
        self.blocks.extend_from_slice(&number(self.part_count()));
        if is_stored {
            self.blocks.extend_from_slice(&number(block.payload.len()));
        }
        let current = std::mem::take(&mut self.current);
        assert_eq!(
            current.len(),
            block.part_starts.len(),
            "a block is written with its boundaries"
        );
        let ends = block.part_starts.iter().copied().chain([block.payload.len()]);
        let begins = std::iter::once(None).chain(current.iter().map(Some));
        let mut stored_start = 0;
        for (begin, end) in begins.zip(ends) {
            assert!(stored_start < end, "the parts of a block follow one another");
            let stored = block.payload.get(stored_start..end).expect("parts lie in their block");
            self.keys.extend_from_slice(begin.map_or(&[], |begin| &begin.key));
            self.parts.extend_from_slice(&number(begin.map_or(0, |begin| begin.plain)));
            self.parts.extend_from_slice(&crc32c::crc32c(stored).to_be_bytes());
            self.parts.extend_from_slice(&number(self.keys.len()));
            if is_stored {
                self.parts.extend_from_slice(&number(stored_start));
                let value_bytes = begin.map_or(0, |begin| begin.encoded.previous_value_bytes);
                self.parts.extend_from_slice(&number(value_bytes));
            }
            stored_start = end;
        }
    }

    fn part_count(&self) -> usize {
        self.parts.len().checked_div(self.format.part_bytes()).unwrap_or(0)
    }

    /// Writes the part index block if it is full. Called after each data block.
    pub(super) fn write_full(&mut self, blocks: &mut BlockWriter) -> Result<()> {
        let bytes = self.blocks.len().saturating_add(self.parts.len());
        if bytes.saturating_add(self.keys.len()) >= INDEX_BLOCK_BYTES {
            self.write_last(blocks)
        } else {
            Ok(())
        }
    }

    /// Writes the part index block, unless it is empty.
    pub(super) fn write_last(&mut self, blocks: &mut BlockWriter) -> Result<()> {
        let Some(first) = self.first_offset.take() else { return Ok(()) };
        let block_count = self.blocks.len().checked_div(self.format.block_bytes()).unwrap_or(0);
        let counts = [number(block_count), number(self.part_count())].concat();
        let magic = &self.format.magic()[..];
        let payload = [magic, &counts, &self.blocks, &self.parts, &self.keys].concat();
        debug_assert!(
            PartIndex::parse(&payload).is_ok_and(|index| index.is_some()),
            "a part index can be read"
        );
        let handle: BlockHandle = blocks.write(BlockKind::Meta, &payload)?;
        self.written.push(IndexEntry { key: block_name(first), handle });
        self.blocks.clear();
        self.parts.clear();
        self.keys.clear();
        Ok(())
    }

    /// Returns the number of written part index blocks.
    pub(super) fn block_count(&self) -> u32 {
        u32::try_from(self.written.len()).unwrap_or(u32::MAX)
    }

    /// Returns the entries of the meta index, in the order of their names.
    pub(super) fn entries(&self) -> &[IndexEntry] {
        &self.written
    }
}

fn number(value: usize) -> [u8; 4] {
    u32::try_from(value).expect("a part index is far below 4 GiB").to_be_bytes()
}
