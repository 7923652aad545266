//! Block index: reader and writer of the root and non-root formats.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::cmp::Ordering;

use super::block_header::{BlockHandle, HEADER_BYTES};
use super::vint::{ByteReader, vlong_len, write_vlong};
use super::{Comparator, damaged};
use halite_types::cell::{RowPrefix, check_key, key_row};
use halite_types::{Error, Result};

/// Bytes of an entry's block handle.
const HANDLE_BYTES: usize = 12;
/// Bytes of the mid-key metadata after the entries of a root with levels below it.
const MID_KEY_BYTES: usize = 16;

/// Index in root format, held in memory while its file is open.
#[derive(Debug, Default)]
pub(super) struct RootIndex {
    bytes: Vec<u8>,
    entries: Vec<RootEntry>,
    /// Abbreviated rows of the flat keys after `row_prefix`, stored contiguously; empty for other
    /// keys.
    abbreviated_keys: Vec<u64>,
    row_prefix: RowPrefix,
}

#[derive(Debug)]
struct RootEntry {
    handle: BlockHandle,
    key_start: u32,
    key_bytes: u32,
}

/// Entry and leaf of the middle data block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MidKey {
    pub(super) leaf: BlockHandle,
    pub(super) entry: usize,
}

impl RootIndex {
    /// Reads `count` entries and returns the index and its length in bytes.
    pub(super) fn parse(payload: &[u8], count: usize) -> Result<(Self, usize)> {
        let mut input = ByteReader::new(payload);
        let mut index = Self::default();
        for number in 0..count {
            let entry = Self::parse_entry(&mut input, payload.len())
                .ok_or_else(|| broken_entry(number, count))?;
            index.entries.push(entry);
        }
        let used = input.position();
        index.bytes = payload.get(..used).unwrap_or_default().to_vec();
        Ok((index, used))
    }

    fn parse_entry(input: &mut ByteReader<'_>, limit: usize) -> Option<RootEntry> {
        let pointer = read_handle(input)?;
        let key_bytes = usize::try_from(input.vlong()?).ok().filter(|&bytes| bytes <= limit)?;
        let key_start = u32::try_from(input.position()).ok()?;
        input.take(key_bytes)?;
        Some(RootEntry { handle: pointer, key_start, key_bytes: u32::try_from(key_bytes).ok()? })
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn handle(&self, entry: usize) -> Option<BlockHandle> {
        self.entries.get(entry).map(|entry| entry.handle)
    }

    #[inline]
    pub(super) fn key(&self, entry: usize) -> &[u8] {
        self.entries.get(entry).map_or(&[], |entry| self.entry_key(entry))
    }

    #[inline]
    fn entry_key(&self, entry: &RootEntry) -> &[u8] {
        let start = entry.key_start as usize;
        self.bytes.get(start..start.wrapping_add(entry.key_bytes as usize)).unwrap_or_default()
    }

    /// Verifies that every key is a flat key.
    pub(super) fn check_keys(&mut self) -> Result<()> {
        if let Some(number) =
            self.entries.iter().position(|entry| !check_key(self.entry_key(entry)))
        {
            return Err(broken_entry(number, self.len()));
        }
        if let Some(last) = self.len().checked_sub(1) {
            self.row_prefix = RowPrefix::from_bounds(key_row(self.key(0)), key_row(self.key(last)));
        }
        self.abbreviated_keys = self
            .entries
            .iter()
            .map(|entry| self.row_prefix.abbreviated_key(self.entry_key(entry)))
            .collect();
        Ok(())
    }

    /// Returns the last entry whose flat key is at or before `key`. The abbreviated rows leave only
    /// a few keys to compare.
    pub(super) fn find_key(&self, key: &[u8], comparator: Comparator) -> Option<usize> {
        let behind =
            |entry: &RootEntry| comparator.compare(self.entry_key(entry), key) != Ordering::Greater;
        if comparator != Comparator::Cell || self.abbreviated_keys.len() != self.entries.len() {
            return self.entries.partition_point(behind).checked_sub(1);
        }
        let place = self.row_prefix.abbreviated_key(key);
        let low = self.abbreviated_keys.partition_point(|&other| other < place);
        let same = self
            .abbreviated_keys
            .get(low..)
            .unwrap_or_default()
            .partition_point(|&other| other == place);
        let candidates = self.entries.get(low..low.saturating_add(same)).unwrap_or_default();
        low.saturating_add(candidates.partition_point(behind)).checked_sub(1)
    }

    /// Returns the last entry whose key `order` does not place after the searched one.
    #[inline]
    pub(super) fn find(&self, order: impl Fn(&[u8]) -> Ordering) -> Option<usize> {
        self.entries
            .partition_point(|entry| order(self.entry_key(entry)) != Ordering::Greater)
            .checked_sub(1)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes
            .capacity()
            .saturating_add(self.entries.capacity().saturating_mul(size_of::<RootEntry>()))
            .saturating_add(self.abbreviated_keys.capacity().saturating_mul(8))
            .saturating_add(self.row_prefix.memory_bytes())
    }
}

impl MidKey {
    /// Reads the metadata after the entries of a root; `None` if there is none.
    pub(super) fn parse(rest: &[u8]) -> Result<Option<Self>> {
        if rest.is_empty() {
            return Ok(None);
        }
        let mut input = ByteReader::new(rest);
        let mid_key =
            read_handle(&mut input).and_then(|leaf| Some(Self { leaf, entry: input.length()? }));
        match mid_key {
            Some(_) if rest.len() == MID_KEY_BYTES => Ok(mid_key),
            _ => Err(damaged(format_args!(
                "{} bytes follow its entries and are no mid-key",
                rest.len()
            ))),
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        write_handle(out, self.leaf);
        out.extend_from_slice(&u32::try_from(self.entry).unwrap_or(u32::MAX).to_be_bytes());
    }
}

/// Layout of an index in non-root format; the bytes stay in their block.
#[derive(Clone, Copy, Debug)]
pub(super) struct NonRootIndex {
    count: usize,
    entries_start: usize,
}

impl NonRootIndex {
    /// Validates a leaf or intermediate index.
    pub(super) fn parse(payload: &[u8]) -> Result<Self> {
        let index = Self::parse_counts(payload)
            .ok_or_else(|| damaged("its number of entries does not fit it"))?;
        for number in 0..index.count {
            let entry = index.entry(payload, number).filter(|(_, key)| check_key(key));
            entry.ok_or_else(|| broken_entry(number, index.count))?;
        }
        Ok(index)
    }

    fn parse_counts(payload: &[u8]) -> Option<Self> {
        let count = ByteReader::new(payload).length().filter(|&count| count > 0)?;
        let entries_start = count.checked_add(2)?.checked_mul(4)?;
        (entries_start <= payload.len()).then_some(Self { count, entries_start })
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Returns the handle and the key of an entry.
    #[inline]
    pub(super) fn entry<'a>(
        &self,
        payload: &'a [u8],
        number: usize,
    ) -> Option<(BlockHandle, &'a [u8])> {
        if number >= self.count {
            return None;
        }
        let mut offsets = ByteReader::starting_at(payload, number.checked_add(1)?.checked_mul(4)?);
        let (start, end) = (offsets.length()?, offsets.length()?);
        let mut input = ByteReader::starting_at(payload, self.entries_start.checked_add(start)?);
        let pointer = read_handle(&mut input)?;
        let key = input.take(end.checked_sub(start)?.checked_sub(HANDLE_BYTES)?)?;
        Some((pointer, key))
    }

    /// Returns the last entry whose key `order` does not place after the searched one.
    #[inline]
    pub(super) fn find(&self, payload: &[u8], order: impl Fn(&[u8]) -> Ordering) -> Option<usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            let behind =
                self.entry(payload, middle).is_none_or(|(_, key)| order(key) == Ordering::Greater);
            if behind { high = middle } else { low = middle.saturating_add(1) }
        }
        low.checked_sub(1)
    }
}

#[inline]
fn read_handle(input: &mut ByteReader<'_>) -> Option<BlockHandle> {
    let offset = u64::try_from(input.i64()?).ok()?;
    let on_disk_bytes = u32::try_from(input.length()?).ok()?;
    ((on_disk_bytes as usize) > HEADER_BYTES).then_some(BlockHandle { offset, on_disk_bytes })
}

fn broken_entry(number: usize, count: usize) -> Error {
    damaged(format_args!("its entry {number} of {count} is broken"))
}

/// Entry of an index that is being written.
#[derive(Clone, Debug)]
pub(super) struct IndexEntry {
    pub(super) key: Vec<u8>,
    pub(super) handle: BlockHandle,
}

impl IndexEntry {
    /// Returns the bytes of this entry in root format.
    pub(super) fn root_bytes(&self) -> usize {
        HANDLE_BYTES.saturating_add(vlong_len(self.key.len())).saturating_add(self.key.len())
    }

    /// Returns the bytes of this entry in non-root format, including its offset.
    pub(super) fn non_root_bytes(&self) -> usize {
        HANDLE_BYTES.saturating_add(4).saturating_add(self.key.len())
    }
}

/// Bytes of a non-root index without entries.
pub(super) const EMPTY_NON_ROOT_BYTES: usize = 8;

fn write_handle(out: &mut Vec<u8>, pointer: BlockHandle) {
    out.extend_from_slice(&pointer.offset.to_be_bytes());
    out.extend_from_slice(&pointer.on_disk_bytes.to_be_bytes());
}

fn are_in_file_order(entries: &[IndexEntry]) -> bool {
    entries.is_sorted_by(|a, b| a.handle.offset < b.handle.offset)
}

/// Appends entries in root format.
pub(super) fn write_root(out: &mut Vec<u8>, entries: &[IndexEntry]) {
    debug_assert!(are_in_file_order(entries), "root entries are in the order of the file");
    for entry in entries {
        write_handle(out, entry.handle);
        write_vlong(out, i64::try_from(entry.key.len()).unwrap_or(i64::MAX));
        out.extend_from_slice(&entry.key);
    }
}

/// Appends entries in non-root format.
pub(super) fn write_non_root(out: &mut Vec<u8>, entries: &[IndexEntry]) {
    debug_assert!(are_in_file_order(entries), "index entries are in the order of the file");
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX).to_be_bytes();
    out.extend_from_slice(&number(entries.len()));
    let mut at = 0_usize;
    for entry in entries {
        out.extend_from_slice(&number(at));
        at = at.saturating_add(HANDLE_BYTES).saturating_add(entry.key.len());
    }
    out.extend_from_slice(&number(at));
    for entry in entries {
        write_handle(out, entry.handle);
        out.extend_from_slice(&entry.key);
    }
}
