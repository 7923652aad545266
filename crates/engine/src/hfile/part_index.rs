//! Part index: where the parts of data blocks begin, so that a get reads, decompresses and decodes
//! one part of a few kilobytes, not a block of 64 KB.
//!
//! A part is a run of whole cells of a data block, with a checksum of its own over its bytes on
//! disk. The part index is Halite's own content in HBase's format: meta blocks, which HBase's
//! readers leave alone. Each describes the data blocks since the one before; its name ends with the
//! offset of the first of them in hexadecimal, so that the names are in the order of the file.
//!
//! ```text
//! name     "halite.parts." | offset of the first data block, 16 hexadecimal digits
//! payload  "HLTPARTS" | blocks u32 | parts u32 | block... | part... | keys
//! block    offset u64 | bytes of its payload u32 | number of its first part u32
//! part     start in the payload u32 | CRC32C of its bytes u32 | end of its key in the keys u32
//! key      flat key after the last cell of the part before and not after the part's first cell;
//!          empty for the first part of a block
//! ```
//!
//! Blocks that are encoded or compressed differ on disk from the plain payload that they stand for.
//! Starts and lengths are of the plain payload, and the entries have fields for the bytes on disk:
//!
//! ```text
//! payload  "HLTPART2" | as above
//! block    offset u64 | bytes of its plain payload u32 | number of its first part u32 |
//!          end of its last part on disk u32, from the end of the block's header
//! part     as above | start on disk u32 | bytes of the value of the cell before it u32
//! key      as above; in PREFIX, DIFF and FAST_DIFF the key of the cell before the part
//! ```
//! - A compressed block is a sequence of Hadoop's frames, one for each part. HBase reads them as it
//!   reads the several frames of a long payload.
//! - PREFIX, DIFF and `FAST_DIFF` store a cell as the difference from the one before. A part is
//!   decoded from the key and the length of the value of the cell before it. No part begins with a
//!   cell that omits its value because it is that of the cell before.
//! - Tags in a dictionary depend on all cells before, so such blocks have no parts.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::cmp::Ordering;

use super::block_header::{BlockHandle, HEADER_BYTES, MAX_PAYLOAD_BYTES};
use super::encoding::CellBefore;
use super::vint::ByteReader;
use super::{Comparator, damaged};
use halite_types::cell::check_key;
use halite_types::{Error, Result};

/// First bytes of the names of its meta blocks.
const NAME_PREFIX: &str = "halite.parts.";
/// Bytes before the first block's entry.
const HEAD_BYTES: usize = 16;
/// Offset of the number of the first part in a block's entry.
const FIRST_PART_OFFSET: usize = 12;

/// Format of a part index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartFormat {
    /// For blocks that are on disk as their plain payload.
    Plain,
    /// For blocks that are encoded or compressed.
    Stored,
}

impl PartFormat {
    /// Returns the bytes that the payload of a part index starts with.
    pub(super) fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::Plain => b"HLTPARTS",
            Self::Stored => b"HLTPART2",
        }
    }

    fn of(payload: &[u8]) -> Option<Self> {
        [Self::Plain, Self::Stored].into_iter().find(|format| payload.starts_with(format.magic()))
    }

    /// Returns the bytes of a block's entry.
    pub(super) fn block_bytes(self) -> usize {
        match self {
            Self::Plain => 16,
            Self::Stored => 20,
        }
    }

    /// Returns the bytes of a part's entry.
    pub(super) fn part_bytes(self) -> usize {
        match self {
            Self::Plain => 12,
            Self::Stored => 20,
        }
    }
}

/// Part of a data block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Offset of its first byte in the file.
    pub(crate) offset: u64,
    /// Length on disk in bytes.
    pub(crate) stored_bytes: u32,
    /// Length in bytes as plain cells.
    pub(crate) bytes: u32,
    /// Offset of its first byte in the plain payload of its block.
    pub(super) start: u32,
    crc32c: u32,
    /// Offset of its key in the payload of the part index, and its length.
    key: (usize, usize),
    previous_value_bytes: u32,
    /// Number in its block.
    pub(super) number: usize,
    /// `true` for the last part of its block.
    pub(super) is_last: bool,
}

impl Part {
    /// Returns the offset of its end in the plain payload of its block.
    pub(super) fn end(&self) -> u32 {
        self.start.saturating_add(self.bytes)
    }

    /// Compares the checksum of its bytes on disk.
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

    /// Returns the cell before it, from the payload of its part index; `None` for the first part of
    /// a block.
    pub(super) fn cell_before<'a>(&self, index: &'a [u8]) -> Option<CellBefore<'a>> {
        let (start, bytes) = self.key;
        let key = index.get(start..start.checked_add(bytes)?)?;
        (self.number > 0).then_some(CellBefore {
            key,
            value_bytes: usize::try_from(self.previous_value_bytes).ok()?,
        })
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
pub(super) fn block_name(offset: u64) -> Vec<u8> {
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
    format: PartFormat,
    blocks: usize,
    parts: usize,
}

/// Parts of one data block.
#[derive(Clone, Copy, Debug)]
struct BlockParts {
    offset: u64,
    payload_bytes: u32,
    /// End of the last part on disk, from the end of the block's header.
    stored_bytes: u32,
    first: usize,
    end: usize,
}

/// Fields of a part's entry.
struct PartFields {
    start: u32,
    crc32c: u32,
    key_end: usize,
    stored_start: u32,
    previous_value_bytes: u32,
}

impl PartIndex {
    /// Validates the payload of a meta block; `None` if it is not a part index.
    ///
    /// # Errors
    /// `Corrupt`
    pub(super) fn parse(payload: &[u8]) -> Result<Option<Self>> {
        let Some(format) = PartFormat::of(payload) else { return Ok(None) };
        let index = Self::parse_counts(payload, format)
            .ok_or_else(|| damaged("its number of entries does not fit it"))?;
        let mut before = None;
        let mut first = 0;
        for number in 0..index.blocks {
            let block = index.block(payload, number).ok_or_else(|| broken("block", number))?;
            let is_in_order = before.is_none_or(|before| before < block.offset);
            if !is_in_order
                || block.first != first
                || block.payload_bytes.max(block.stored_bytes) as usize > MAX_PAYLOAD_BYTES
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

    fn parse_counts(payload: &[u8], format: PartFormat) -> Option<Self> {
        let mut input = ByteReader::starting_at(payload, format.magic().len());
        let index = Self { format, blocks: input.length()?, parts: input.length()? };
        (index.keys_start()? <= payload.len()).then_some(index)
    }

    fn check_parts(&self, payload: &[u8], block: &BlockParts) -> Result<()> {
        for number in block.first..block.end {
            let is_first = number == block.first;
            let fits = self
                .part(payload, block, number)
                .is_some_and(|part| part.bytes > 0 && part.stored_bytes > 0)
                && self
                    .key(payload, number)
                    .is_some_and(|key| if is_first { key.is_empty() } else { check_key(key) });
            let starts_at_zero =
                self.fields(payload, number).map(|part| (part.start == 0, part.stored_start == 0));
            if !fits || starts_at_zero != Some((is_first, is_first)) {
                return Err(broken("part", number));
            }
        }
        if block.first < block.end { Ok(()) } else { Err(damaged("it has a block without parts")) }
    }

    fn parts_start(&self) -> Option<usize> {
        self.blocks.checked_mul(self.format.block_bytes())?.checked_add(HEAD_BYTES)
    }

    fn keys_start(&self) -> Option<usize> {
        self.parts.checked_mul(self.format.part_bytes())?.checked_add(self.parts_start()?)
    }

    fn block_start(&self, number: usize) -> Option<usize> {
        number.checked_mul(self.format.block_bytes())?.checked_add(HEAD_BYTES)
    }

    /// Returns the entry of a block, whose parts end where those of the next one begin.
    fn block(&self, payload: &[u8], number: usize) -> Option<BlockParts> {
        let mut input = ByteReader::starting_at(payload, self.block_start(number)?);
        let offset = u64::try_from(input.i64()?).ok()?;
        let payload_bytes = u32::try_from(input.length()?).ok()?;
        let first = input.length()?;
        let stored_bytes = match self.format {
            PartFormat::Plain => payload_bytes,
            PartFormat::Stored => u32::try_from(input.length()?).ok()?,
        };
        let next = number.checked_add(1)?;
        let end = if next < self.blocks {
            let at = self.block_start(next)?.checked_add(FIRST_PART_OFFSET)?;
            ByteReader::starting_at(payload, at).length()?
        } else {
            self.parts
        };
        (first <= end && end <= self.parts).then_some(BlockParts {
            offset,
            payload_bytes,
            stored_bytes,
            first,
            end,
        })
    }

    fn fields(&self, payload: &[u8], number: usize) -> Option<PartFields> {
        let at = number.checked_mul(self.format.part_bytes())?.checked_add(self.parts_start()?)?;
        let mut input = ByteReader::starting_at(payload, at);
        let start = u32::try_from(input.length()?).ok()?;
        let (crc32c, key_end) = (input.i32()?.cast_unsigned(), input.length()?);
        let (stored_start, previous_value_bytes) = match self.format {
            PartFormat::Plain => (start, 0),
            PartFormat::Stored => {
                (u32::try_from(input.length()?).ok()?, u32::try_from(input.length()?).ok()?)
            }
        };
        Some(PartFields { start, crc32c, key_end, stored_start, previous_value_bytes })
    }

    /// Returns the offset in the payload where the keys of the first `count` parts end.
    fn keys_end(&self, payload: &[u8], count: usize) -> Option<usize> {
        let keys = self.keys_start()?;
        match count.checked_sub(1) {
            None => Some(keys),
            Some(last) => self.fields(payload, last)?.key_end.checked_add(keys),
        }
    }

    /// Returns the offset of a part's key in the payload, and its length.
    fn key_place(&self, payload: &[u8], number: usize) -> Option<(usize, usize)> {
        let start = self.keys_end(payload, number)?;
        let end = self.keys_end(payload, number.checked_add(1)?)?;
        Some((start, end.checked_sub(start)?))
    }

    fn key<'a>(&self, payload: &'a [u8], number: usize) -> Option<&'a [u8]> {
        let (start, bytes) = self.key_place(payload, number)?;
        payload.get(start..start.checked_add(bytes)?)
    }

    /// Returns the part with this number in the whole part index.
    fn part(&self, payload: &[u8], block: &BlockParts, number: usize) -> Option<Part> {
        let part = self.fields(payload, number)?;
        let next = number.checked_add(1)?;
        let (end, stored_end) = if next < block.end {
            let next = self.fields(payload, next)?;
            (next.start, next.stored_start)
        } else {
            (block.payload_bytes, block.stored_bytes)
        };
        let payload_offset = block.offset.checked_add(HEADER_BYTES as u64)?;
        Some(Part {
            offset: payload_offset.checked_add(u64::from(part.stored_start))?,
            stored_bytes: stored_end.checked_sub(part.stored_start)?,
            start: part.start,
            bytes: end.checked_sub(part.start)?,
            crc32c: part.crc32c,
            key: self.key_place(payload, number)?,
            previous_value_bytes: part.previous_value_bytes,
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
        order: PartOrder,
    ) -> Option<Part> {
        let block = self.find_block(payload, pointer.offset)?;
        // The parts end before the checksums of their block.
        let limit = usize::try_from(pointer.on_disk_bytes).ok()?.checked_sub(HEADER_BYTES)?;
        if block.stored_bytes as usize > limit {
            return None;
        }
        let number = match choice {
            PartChoice::Number(number) => block.first.checked_add(number)?,
            PartChoice::Key(key) => {
                let (mut low, mut high) = (block.first.checked_add(1)?, block.end);
                while low < high {
                    let middle = low.midpoint(high);
                    if order.is_after(self.key(payload, middle)?, key) {
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
            let at = self.block_start(middle)?;
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

/// Relation of the keys of the parts of a file to their cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartOrder {
    pub(super) comparator: Comparator,
    /// `true` if the key of a part is that of the cell before it, `false` if its first cell may
    /// have that key.
    pub(super) has_keys_before: bool,
}

impl PartOrder {
    /// Returns `true` if a part with this key begins after the first cell at or after `wanted`.
    fn is_after(self, key: &[u8], wanted: &[u8]) -> bool {
        match self.comparator.compare(key, wanted) {
            Ordering::Greater => true,
            Ordering::Equal => self.has_keys_before,
            Ordering::Less => false,
        }
    }
}

fn broken(what: &str, number: usize) -> Error {
    damaged(format_args!("the entry of its {what} {number} is broken"))
}
