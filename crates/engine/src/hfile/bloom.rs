//! Reader of bloom filters: chunks of bits, found through a small index and read like any block.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::cmp::Ordering;

use super::block_header::BlockHandle;
use super::hash::HashKind;
use super::index::RootIndex;
use super::vint::ByteReader;
use super::{Comparator, damaged};
use halite_types::cell::{LATEST_TIMESTAMP, TYPE_MAXIMUM, make_key};
use halite_types::{Error, ErrorKind, Result};

/// Only supported version of the meta block.
pub(super) const BLOOM_VERSION: u32 = 3;
/// Maximum number of hash functions, more than any error rate requires.
pub(super) const MAX_HASH_COUNT: usize = 256;

/// Meta block of a bloom filter.
#[derive(Debug)]
pub(super) struct BloomMeta {
    total_bytes: u64,
    hash_count: u32,
    hash: HashKind,
    key_count: u64,
    /// `true` if chunk keys are flat keys in cell order, as in a ROWCOL filter; `false` if they are
    /// rows or row prefixes.
    keys_are_cells: bool,
    chunks: RootIndex,
}

impl BloomMeta {
    /// Parses the payload of a meta block.
    pub(super) fn parse(payload: &[u8]) -> Result<Self> {
        let mut input = ByteReader::new(payload);
        let version = input.i32().ok_or_else(|| damaged("it is empty"))?;
        if version.cast_unsigned() != BLOOM_VERSION {
            let fix = "let HBase rewrite the file with a major compaction";
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "it holds a bloom filter of version {version}, only {BLOOM_VERSION} can be \
                     read; {fix}"
                ),
            ));
        }
        let (mut meta, chunks) = Self::parse_fields(&mut input)
            .ok_or_else(|| damaged("a number in it is impossible"))?;
        let rest = input.take(input.remaining()).unwrap_or_default();
        let (mut index, used) = RootIndex::parse(rest, chunks)?;
        if used != rest.len() {
            return Err(damaged("it continues after its last entry"));
        }
        if meta.keys_are_cells {
            index.check_keys()?;
        }
        meta.chunks = index;
        Ok(meta)
    }

    fn parse_fields(input: &mut ByteReader<'_>) -> Option<(Self, usize)> {
        let total_bytes = u64::try_from(input.i64()?).ok()?;
        let hash_count = input.length().filter(|&count| (1..=MAX_HASH_COUNT).contains(&count))?;
        let hash = HashKind::from_code(input.i32()?)?;
        let key_count = u64::try_from(input.i64()?).ok()?;
        let _key_count_max = input.i64()?;
        let chunks = input.length()?;
        let class_bytes = usize::try_from(input.vlong()?).ok()?;
        let keys_are_cells = !input.take(class_bytes)?.is_empty();
        let hash_count = u32::try_from(hash_count).ok()?;
        Some((
            Self {
                total_bytes,
                hash_count,
                hash,
                key_count,
                keys_are_cells,
                chunks: RootIndex::default(),
            },
            chunks,
        ))
    }

    /// Returns the bytes of all chunks.
    pub(super) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Returns the positions of its chunks.
    pub(super) fn chunks(&self) -> impl Iterator<Item = BlockHandle> {
        (0..self.chunks.len()).filter_map(|chunk| self.chunks.handle(chunk))
    }

    /// Returns the number of added keys.
    pub(super) fn key_count(&self) -> u64 {
        self.key_count
    }

    /// Returns `true` if the chunk keys are flat keys.
    pub(super) fn keys_are_cells(&self) -> bool {
        self.keys_are_cells
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.chunks.memory_bytes()
    }

    /// Returns the only chunk that may contain `key`, which is a row, a prefix or, in a ROWCOL
    /// filter, a key of [`column_key`].
    pub(super) fn chunk_for(&self, key: &[u8], comparator: Comparator) -> Option<BlockHandle> {
        let order = |at: &[u8]| -> Ordering {
            if self.keys_are_cells {
                comparator.compare(at, key)
            } else {
                comparator.compare_rows(at, key)
            }
        };
        self.chunks.find(order).and_then(|entry| self.chunks.handle(entry))
    }

    /// Returns `true` if all bits of `key` are set in the chunk's `bits`.
    pub(super) fn is_set(&self, key: &[u8], bits: &[u8]) -> bool {
        let Some(places) = bit_positions(self.hash, self.hash_count, key, bits.len()) else {
            return true;
        };
        places.into_iter().all(|(byte, mask)| bits.get(byte).is_none_or(|bits| bits & mask != 0))
    }
}

/// Returns the positions of a key's bits in `bytes` bytes, as byte number and mask; `None` if there
/// are no bytes.
pub(super) fn bit_positions(
    hash: HashKind,
    count: u32,
    key: &[u8],
    bytes: usize,
) -> Option<impl Iterator<Item = (usize, u8)>> {
    let bits = u32::try_from(bytes.checked_mul(8)?).ok()?;
    let first = hash.hash(key, 0);
    let second = hash.hash(key, first);
    (bits > 0).then_some(())?;
    Some((0..count).filter_map(move |i| {
        // HBase adds in signed 32-bit numbers that wrap and takes the remainder's absolute value.
        let place = first
            .wrapping_add(i.wrapping_mul(second))
            .cast_signed()
            .unsigned_abs()
            .checked_rem(bits)?;
        Some((usize::try_from(place >> 3).ok()?, 1_u8 << (place & 7)))
    }))
}

/// Returns the key that a ROWCOL filter hashes and orders by: a key without family, before every
/// version of its column.
pub(super) fn column_key(row: &[u8], qualifier: &[u8]) -> Vec<u8> {
    make_key(row, b"", qualifier, LATEST_TIMESTAMP, TYPE_MAXIMUM)
}
