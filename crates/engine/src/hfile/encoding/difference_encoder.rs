//! Encoder of PREFIX, DIFF and `FAST_DIFF`, in one pass and without an allocation per cell. The
//! previous value and the tags of the dictionary are found in the payload that is being written.

use std::marker::PhantomData;
use std::ops::Range;

use halite_types::CellRef;

use super::block_encoder::{BlockEncoder, BlockSizes, PartStart};
use super::data_block_encoding::ID_BYTES;
use super::differences::{DifferenceFormat, NextCell};
use super::key_before::KeyBefore;
use super::tag_writer::{TagWriter, whole_tags};
use crate::hfile::cell_layout::CellLayout;
use crate::hfile::vint::{write_compressed_int, write_vlong};

/// Bytes before the cells: the id and the bytes of the plain block.
const HEAD_BYTES: usize = ID_BYTES + 4;

/// Encoder of one format.
pub(super) struct DifferenceEncoder<F> {
    format: PhantomData<F>,
    layout: CellLayout,
    payload: Vec<u8>,
    plain_bytes: usize,
    /// Position of the previous value in the payload.
    value: Range<usize>,
    tags: TagWriter,
}

impl<F: DifferenceFormat> DifferenceEncoder<F> {
    pub(super) fn new(layout: CellLayout) -> Self {
        let mut payload = F::ENCODING.id().to_be_bytes().to_vec();
        payload.resize(HEAD_BYTES, 0);
        Self {
            format: PhantomData,
            layout,
            payload,
            plain_bytes: 0,
            value: 0..0,
            tags: TagWriter::default(),
        }
    }

    /// Returns `true` if the format omits a value because it equals the previous one.
    #[inline]
    fn repeats_value(&self, value: &[u8]) -> bool {
        if F::SAME_VALUE == 0 || self.value.len() != value.len() {
            return false;
        }
        let previous = self.payload.get(self.value.clone()).unwrap_or_default();
        // Most values differ at their start, which costs no call to find out.
        previous.first_chunk::<8>() == value.first_chunk::<8>() && previous == value
    }

    /// Appends tags and sequence id and returns the bytes they take in a plain block.
    #[inline]
    fn write_suffixes(&mut self, cell: CellRef<'_>) -> usize {
        let mut plain_bytes = 0_usize;
        if self.layout.tags {
            let tags =
                if self.layout.tags_compressed { whole_tags(cell.tags()) } else { cell.tags() };
            write_compressed_int(&mut self.payload, tags.len());
            if self.layout.tags_compressed {
                self.tags.write(&mut self.payload, tags);
            } else {
                self.payload.extend_from_slice(tags);
            }
            plain_bytes = tags.len().wrapping_add(2);
        }
        if self.layout.sequence_ids {
            let start = self.payload.len();
            write_vlong(&mut self.payload, cell.sequence_id().cast_signed());
            let written = self.payload.len().wrapping_sub(start);
            plain_bytes = plain_bytes.wrapping_add(written);
        }
        plain_bytes
    }
}

impl<F: DifferenceFormat> BlockEncoder for DifferenceEncoder<F> {
    fn add(&mut self, cell: CellRef<'_>, before: KeyBefore<'_>) {
        let (key, value) = (cell.key(), cell.value());
        let mut omits_value = false;
        if self.plain_bytes == 0 {
            F::write_first(&mut self.payload, key, value.len());
        } else {
            omits_value = self.repeats_value(value);
            let next = NextCell {
                key,
                value_bytes: value.len(),
                before,
                previous_value_bytes: self.value.len(),
                omits_value,
            };
            F::write_next(&mut self.payload, &next);
        }
        if !omits_value {
            let start = self.payload.len();
            self.payload.extend_from_slice(value);
            self.value = start..self.payload.len();
        }
        let suffixes = self.write_suffixes(cell);
        let cell_bytes = key.len().wrapping_add(value.len()).wrapping_add(8);
        self.plain_bytes = self.plain_bytes.wrapping_add(cell_bytes).wrapping_add(suffixes);
    }

    fn sizes(&self) -> BlockSizes {
        BlockSizes {
            plain: self.plain_bytes,
            encoded: self.payload.len().saturating_sub(HEAD_BYTES),
        }
    }

    fn part_start(&self, cell: CellRef<'_>) -> Option<PartStart> {
        (!self.repeats_value(cell.value())).then(|| PartStart {
            offset: self.payload.len(),
            previous_value_bytes: self.value.len(),
        })
    }

    fn finish(&mut self) -> &[u8] {
        let bytes = u32::try_from(self.plain_bytes).unwrap_or(u32::MAX).to_be_bytes();
        if let Some(head) = self.payload.get_mut(ID_BYTES..HEAD_BYTES) {
            head.copy_from_slice(&bytes);
        }
        &self.payload
    }

    fn clear(&mut self) {
        self.payload.truncate(HEAD_BYTES);
        self.plain_bytes = 0;
        self.value = 0..0;
        self.tags.clear();
    }
}
