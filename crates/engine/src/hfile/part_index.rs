//! Part index: where the parts of plain data blocks begin, so that a get reads one part of a few
//! kilobytes, not a block of 64 KB.
//!
//! A part is a run of whole cells of a data block, with a checksum of its own. The part index is
//! Halite's own content in HBase's format: meta blocks, which HBase's readers leave alone. Each
//! describes the data blocks since the one before; its name ends with the offset of the first of
//! them in hexadecimal, so that the names are in the order of the file.
//!
//! ```text
//! name     "halite.parts." | offset of the first data block, 16 hexadecimal digits
//! payload  "HLTPARTS" | blocks u32 | parts u32 | block... | part... | keys
//! block    offset u64 | bytes of its payload u32 | number of its first part u32
//! part     start in the payload u32 | CRC32C of its bytes u32 | end of its key in the keys u32
//! key      flat key after the last cell of the part before and not after the part's first cell;
//!          empty for the first part of a block
//! ```
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::cmp::Ordering;

use super::block::Block;
use super::block_header::{BlockHandle, BlockKind, HEADER_BYTES, MAX_PAYLOAD_BYTES};
use super::block_writer::BlockWriter;
use super::index::IndexEntry;
use super::index_writer::index_key;
use super::vint::ByteReader;
use super::{Comparator, damaged};
use halite_types::cell::check_key;
use halite_types::{Error, Result};

/// Bytes that the payload of a part index starts with.
const MAGIC: &[u8; 8] = b"HLTPARTS";
/// First bytes of the names of its meta blocks.
const NAME_PREFIX: &str = "halite.parts.";
/// Bytes before the first block's entry.
const HEAD_BYTES: usize = 16;
/// Bytes of a block's entry.
const BLOCK_BYTES: usize = 16;
/// Bytes of a part's entry.
const PART_BYTES: usize = 12;
/// Length in bytes up to which a part may have a key, however small the parts are.
const MIN_KEY_LIMIT_BYTES: usize = 64;
/// Bytes after which a part index block ends.
const INDEX_BLOCK_BYTES: usize = 64 << 10;

/// Part of a data block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Offset of its first byte in the file.
    pub(crate) offset: u64,
    /// Length in bytes.
    pub(crate) bytes: u32,
    /// Offset of its first byte in the payload of its block.
    pub(super) start: u32,
    crc32c: u32,
    /// Number in its block.
    pub(super) number: usize,
    /// `true` for the last part of its block.
    pub(super) is_last: bool,
}

impl Part {
    /// Returns the offset of its end in the payload of its block.
    pub(super) fn end(&self) -> u32 {
        self.start.saturating_add(self.bytes)
    }

    /// Returns `true` if a block from the cache has the kind and length of this part.
    pub(crate) fn is(&self, block: &Block) -> bool {
        block.kind() == BlockKind::Data && block.payload().len() == self.bytes as usize
    }

    /// Compares the checksum of its bytes.
    ///
    /// # Errors
    /// `Corrupt`
    pub(super) fn verify(&self, bytes: &[u8]) -> Result<()> {
        let sum = crc32c::crc32c(bytes);
        if sum == self.crc32c {
            return Ok(());
        }
        Err(damaged(format_args!(
            "its checksum is {sum:08x}, and the part index states {:08x}",
            self.crc32c
        )))
    }

    /// Returns its bytes in the payload of its block.
    pub(super) fn in_payload<'a>(&self, payload: &'a [u8]) -> Option<&'a [u8]> {
        payload.get(self.start as usize..self.end() as usize)
    }
}

/// Place in a data block where a read begins.
#[derive(Clone, Copy, Debug)]
pub enum PartChoice<'a> {
    /// The part that a search for this flat key begins in.
    Key(&'a [u8]),
    /// The part with this number.
    Number(usize),
}

/// Returns the name of the part index block whose first data block is at `offset`.
fn name(offset: u64) -> Vec<u8> {
    format!("{NAME_PREFIX}{offset:016x}").into_bytes()
}

/// Returns the offset of the first data block that a part index block of this name describes;
/// `None` for the name of another meta block.
pub(super) fn first_block_offset(name: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(name.strip_prefix(NAME_PREFIX.as_bytes())?).ok()?;
    (digits.len() == 16).then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// Layout of a part index block; the bytes stay in their block.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartIndex {
    blocks: usize,
    parts: usize,
}

/// Parts of one data block.
#[derive(Clone, Copy, Debug)]
struct BlockParts {
    offset: u64,
    payload_bytes: u32,
    first: usize,
    end: usize,
}

/// Fields of a part's entry.
struct PartFields {
    start: u32,
    crc32c: u32,
    key_end: usize,
}

impl PartIndex {
    /// Validates the payload of a meta block; `None` if it is not a part index.
    ///
    /// # Errors
    /// `Corrupt`
    pub(super) fn parse(payload: &[u8]) -> Result<Option<Self>> {
        if !payload.starts_with(MAGIC) {
            return Ok(None);
        }
        let index = Self::parse_counts(payload)
            .ok_or_else(|| damaged("its number of entries does not fit it"))?;
        let mut before = None;
        let mut first = 0;
        for number in 0..index.blocks {
            let block = index.block(payload, number).ok_or_else(|| broken("block", number))?;
            let is_in_order = before.is_none_or(|before| before < block.offset);
            if !is_in_order
                || block.first != first
                || block.payload_bytes as usize > MAX_PAYLOAD_BYTES
            {
                return Err(broken("block", number));
            }
            index.check_parts(payload, &block)?;
            (before, first) = (Some(block.offset), block.end);
        }
        if first != index.parts || index.keys_end(payload, index.parts) != Some(payload.len()) {
            return Err(damaged("it has parts or keys of no block"));
        }
        Ok(Some(index))
    }

    fn parse_counts(payload: &[u8]) -> Option<Self> {
        let mut input = ByteReader::starting_at(payload, MAGIC.len());
        let index = Self { blocks: input.length()?, parts: input.length()? };
        (index.keys_start()? <= payload.len()).then_some(index)
    }

    fn check_parts(&self, payload: &[u8], block: &BlockParts) -> Result<()> {
        for number in block.first..block.end {
            let is_first = number == block.first;
            let fits = self.part(payload, block, number).is_some_and(|part| part.bytes > 0)
                && self
                    .key(payload, number)
                    .is_some_and(|key| if is_first { key.is_empty() } else { check_key(key) });
            let starts_at_zero = self.fields(payload, number).is_some_and(|part| part.start == 0);
            if !fits || is_first != starts_at_zero {
                return Err(broken("part", number));
            }
        }
        if block.first < block.end { Ok(()) } else { Err(damaged("it has a block without parts")) }
    }

    fn parts_start(&self) -> Option<usize> {
        self.blocks.checked_mul(BLOCK_BYTES)?.checked_add(HEAD_BYTES)
    }

    fn keys_start(&self) -> Option<usize> {
        self.parts.checked_mul(PART_BYTES)?.checked_add(self.parts_start()?)
    }

    /// Returns the entry of a block, whose parts end where those of the next one begin.
    fn block(&self, payload: &[u8], number: usize) -> Option<BlockParts> {
        let at = number.checked_mul(BLOCK_BYTES)?.checked_add(HEAD_BYTES)?;
        let mut input = ByteReader::starting_at(payload, at);
        let offset = u64::try_from(input.i64()?).ok()?;
        let payload_bytes = u32::try_from(input.length()?).ok()?;
        let first = input.length()?;
        let next = number.checked_add(1)?;
        let end = if next < self.blocks {
            let at = next.checked_mul(BLOCK_BYTES)?.checked_add(HEAD_BYTES)?.checked_add(12)?;
            ByteReader::starting_at(payload, at).length()?
        } else {
            self.parts
        };
        (first <= end && end <= self.parts).then_some(BlockParts {
            offset,
            payload_bytes,
            first,
            end,
        })
    }

    fn fields(&self, payload: &[u8], number: usize) -> Option<PartFields> {
        let at = number.checked_mul(PART_BYTES)?.checked_add(self.parts_start()?)?;
        let mut input = ByteReader::starting_at(payload, at);
        Some(PartFields {
            start: u32::try_from(input.length()?).ok()?,
            crc32c: input.i32()?.cast_unsigned(),
            key_end: input.length()?,
        })
    }

    /// Returns the offset in the payload where the keys of the first `count` parts end.
    fn keys_end(&self, payload: &[u8], count: usize) -> Option<usize> {
        let keys = self.keys_start()?;
        match count.checked_sub(1) {
            None => Some(keys),
            Some(last) => self.fields(payload, last)?.key_end.checked_add(keys),
        }
    }

    fn key<'a>(&self, payload: &'a [u8], number: usize) -> Option<&'a [u8]> {
        payload
            .get(self.keys_end(payload, number)?..self.keys_end(payload, number.checked_add(1)?)?)
    }

    /// Returns the part with this number in the whole part index.
    fn part(&self, payload: &[u8], block: &BlockParts, number: usize) -> Option<Part> {
        let part = self.fields(payload, number)?;
        let next = number.checked_add(1)?;
        let end =
            if next < block.end { self.fields(payload, next)?.start } else { block.payload_bytes };
        let payload_offset = block.offset.checked_add(HEADER_BYTES as u64)?;
        Some(Part {
            offset: payload_offset.checked_add(u64::from(part.start))?,
            start: part.start,
            bytes: end.checked_sub(part.start)?,
            crc32c: part.crc32c,
            number: number.checked_sub(block.first)?,
            is_last: next == block.end,
        })
    }

    /// Returns a part of the data block at `pointer`; `None` if the block is not in this index or
    /// has no such part.
    pub(super) fn find(
        &self,
        payload: &[u8],
        pointer: BlockHandle,
        choice: PartChoice<'_>,
        comparator: Comparator,
    ) -> Option<Part> {
        let block = self.find_block(payload, pointer.offset)?;
        // The parts end before the checksums of their block.
        let limit = usize::try_from(pointer.on_disk_bytes).ok()?.checked_sub(HEADER_BYTES)?;
        if block.payload_bytes as usize > limit {
            return None;
        }
        let number = match choice {
            PartChoice::Number(number) => block.first.checked_add(number)?,
            PartChoice::Key(key) => {
                let (mut low, mut high) = (block.first.checked_add(1)?, block.end);
                while low < high {
                    let middle = low.midpoint(high);
                    let order = comparator.compare(self.key(payload, middle)?, key);
                    if order == Ordering::Greater {
                        high = middle;
                    } else {
                        low = middle.saturating_add(1);
                    }
                }
                low.checked_sub(1)?
            }
        };
        (number < block.end).then(|| self.part(payload, &block, number)).flatten()
    }

    fn find_block(&self, payload: &[u8], offset: u64) -> Option<BlockParts> {
        let (mut low, mut high) = (0, self.blocks);
        while low < high {
            let middle = low.midpoint(high);
            let at = middle.checked_mul(BLOCK_BYTES)?.checked_add(HEAD_BYTES)?;
            let stored = u64::try_from(ByteReader::starting_at(payload, at).i64()?).ok()?;
            match stored.cmp(&offset) {
                Ordering::Equal => return self.block(payload, middle),
                Ordering::Less => low = middle.saturating_add(1),
                Ordering::Greater => high = middle,
            }
        }
        None
    }
}

fn broken(what: &str, number: usize) -> Error {
    damaged(format_args!("the entry of its {what} {number} is broken"))
}

fn number(value: usize) -> [u8; 4] {
    u32::try_from(value).expect("a part index is far below 4 GiB").to_be_bytes()
}

/// Writer of the part index of a file.
pub(super) struct PartIndexWriter {
    part_bytes: usize,
    /// Start and key of the parts of the current data block but the first.
    current: Vec<(usize, Vec<u8>)>,
    /// Entries and keys of the current part index block.
    blocks: Vec<u8>,
    parts: Vec<u8>,
    keys: Vec<u8>,
    first_offset: Option<u64>,
    /// Names and handles of the written part index blocks.
    written: Vec<IndexEntry>,
}

impl PartIndexWriter {
    /// Creates a writer of parts of at least `part_bytes` bytes, except the last one of a block.
    pub(super) fn new(part_bytes: usize) -> Self {
        Self {
            part_bytes,
            current: Vec::new(),
            blocks: Vec::new(),
            parts: Vec::new(),
            keys: Vec::new(),
            first_offset: None,
            written: Vec::new(),
        }
    }

    /// Begins a part if the current one is long enough. Called between two cells of a data block
    /// with different keys; `at` is where the second begins in the payload.
    #[inline]
    pub(super) fn before_cell(
        &mut self,
        at: usize,
        before: &[u8],
        next: &[u8],
        comparator: Comparator,
    ) {
        let start = self.current.last().map_or(0, |(start, _)| *start);
        if at.saturating_sub(start) < self.part_bytes {
            return;
        }
        let key = index_key(before, next, comparator);
        // The keys of the index stay small beside the parts: a border with a long key is left out,
        // so that the part ends at a later one.
        if key.len() <= self.part_bytes.div_ceil(8).max(MIN_KEY_LIMIT_BYTES) {
            self.current.push((at, key));
        }
    }

    /// Adds the parts of a data block that was written with this payload, if it has several.
    pub(super) fn finish_block(&mut self, pointer: BlockHandle, payload: &[u8]) {
        if self.current.is_empty() {
            return;
        }
        self.first_offset.get_or_insert(pointer.offset);
        self.blocks.extend_from_slice(&pointer.offset.to_be_bytes());
        self.blocks.extend_from_slice(&number(payload.len()));
        self.blocks.extend_from_slice(&number(self.part_count()));
        let ends = self.current.iter().map(|(start, _)| *start).chain([payload.len()]);
        let keys = std::iter::once(&[][..]).chain(self.current.iter().map(|(_, key)| &key[..]));
        let mut start = 0;
        for (end, key) in ends.zip(keys) {
            assert!(start < end, "the parts of a block follow one another");
            let part = payload.get(start..end).expect("parts lie in their block");
            self.keys.extend_from_slice(key);
            self.parts.extend_from_slice(&number(start));
            self.parts.extend_from_slice(&crc32c::crc32c(part).to_be_bytes());
            self.parts.extend_from_slice(&number(self.keys.len()));
            start = end;
        }
        self.current.clear();
    }

    fn part_count(&self) -> usize {
        self.parts.len().checked_div(PART_BYTES).unwrap_or(0)
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
        let block_count = self.blocks.len().checked_div(BLOCK_BYTES).unwrap_or(0);
        let counts = [number(block_count), number(self.part_count())].concat();
        let payload = [&MAGIC[..], &counts, &self.blocks, &self.parts, &self.keys].concat();
        debug_assert!(
            PartIndex::parse(&payload).is_ok_and(|index| index.is_some()),
            "a part index can be read"
        );
        let handle = blocks.write(BlockKind::Meta, &payload)?;
        self.written.push(IndexEntry { key: name(first), handle });
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
