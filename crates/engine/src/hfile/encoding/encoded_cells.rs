//! Cells of a block of PREFIX, DIFF or `FAST_DIFF` as they are stored, for a reader that passes the
//! block once. It decodes one after another and has one at a time, which takes half the time of
//! decoding the block to a plain one and reading that.

use halite_types::{CellRef, Error, Result};

use super::DecodedCells;
use super::cell_head::CellHead;
use super::data_block_encoding::DataBlockEncoding;
use super::diff::Diff;
use super::difference_decoder::decode_differences;
use super::differences::DifferenceFormat;
use super::fast_diff::FastDiff;
use super::new_key::{MAX_IMPLIED_BYTES, NewKey, PaddedFamily};
use super::padded_input::{BlockStart, PaddedInput};
use super::prefix::Prefix;
use super::previous_cell::PreviousCell;
use crate::env::PADDING_BYTES;
use crate::hfile::cell_layout::CellLayout;
use crate::hfile::damaged;
use crate::hfile::vint::ByteReader;

/// Capacity for the key of a cell before a longer one is read, in bytes.
const MIN_KEY_BYTES: usize = 256;

/// Encoding that stores differences.
#[derive(Clone, Copy, Debug)]
pub(super) enum Differences {
    Prefix,
    Diff,
    FastDiff,
}

impl Differences {
    /// Returns the encoding if it stores differences.
    pub(super) fn of(encoding: DataBlockEncoding) -> Option<Self> {
        match encoding {
            DataBlockEncoding::Prefix => Some(Self::Prefix),
            DataBlockEncoding::Diff => Some(Self::Diff),
            DataBlockEncoding::FastDiff => Some(Self::FastDiff),
            DataBlockEncoding::None | DataBlockEncoding::RowIndexV1 => None,
        }
    }

    /// Decodes a block to a plain one.
    ///
    /// # Errors
    /// `Corrupt`
    pub(super) fn decode(
        self,
        payload: PaddedInput<'_>,
        layout: CellLayout,
    ) -> Result<DecodedCells> {
        match self {
            Self::Prefix => decode_differences::<Prefix>(payload, layout),
            Self::Diff => decode_differences::<Diff>(payload, layout),
            Self::FastDiff => decode_differences::<FastDiff>(payload, layout),
        }
    }

    fn read_start(self, payload: PaddedInput<'_>) -> Result<BlockStart> {
        match self {
            Self::Prefix => BlockStart::read::<Prefix>(payload),
            Self::Diff => BlockStart::read::<Diff>(payload),
            Self::FastDiff => BlockStart::read::<FastDiff>(payload),
        }
    }
}

/// Cells without tags of a block of differences, in its payload, which ends with the padding of a
/// decoder's input.
#[derive(Debug)]
pub(in crate::hfile) struct EncodedCells {
    encoding: Differences,
    layout: CellLayout,
    start: BlockStart,
}

impl EncodedCells {
    /// Returns the cells of a payload without tags, of which only the start is read.
    ///
    /// # Errors
    /// `Corrupt`
    pub(super) fn new(
        payload: PaddedInput<'_>,
        encoding: Differences,
        layout: CellLayout,
    ) -> Result<Self> {
        Ok(Self { encoding, layout, start: encoding.read_start(payload)? })
    }

    /// Returns the bytes of the plain block, as stated.
    pub(in crate::hfile) fn plain_bytes(&self) -> usize {
        self.start.plain_bytes
    }

    /// Decodes the whole block to a plain one.
    ///
    /// # Errors
    /// `Corrupt`
    pub(in crate::hfile) fn decode(&self, payload: &[u8]) -> Result<DecodedCells> {
        self.encoding.decode(PaddedInput::of_padded(payload), self.layout)
    }

    /// Returns a decoder that is before the first cell.
    pub(in crate::hfile) fn decoder(&self) -> CellDecoder {
        CellDecoder {
            encoding: self.encoding,
            has_sequence_ids: self.layout.sequence_ids,
            key: vec![0; MIN_KEY_BYTES],
            cell: PreviousCell::NONE,
            value: 0,
            sequence: 0,
            next: self.start.cells,
            left: self.start.plain_bytes,
            plain_bytes: self.start.plain_bytes,
            family: self.start.family.clone(),
        }
    }

    /// Returns the error of a block whose cells a decoder could not read up to the end.
    #[cold]
    pub(in crate::hfile) fn broken(&self, payload: &[u8]) -> Error {
        match self.decode(payload) {
            Err(error) => error,
            Ok(_) => damaged("its cells cannot be decoded one after another"),
        }
    }
}

/// Decoder that has the current cell of a block of differences.
#[derive(Debug)]
pub(in crate::hfile) struct CellDecoder {
    encoding: Differences,
    has_sequence_ids: bool,
    /// The key of the cell, followed by the surplus of copies.
    key: Vec<u8>,
    /// Lengths and parts of the cell, as the next one needs them.
    cell: PreviousCell,
    /// Position of the value in the payload.
    value: usize,
    sequence: u64,
    /// Position of the next cell in the payload.
    next: usize,
    /// Bytes of the plain block after the cell.
    left: usize,
    plain_bytes: usize,
    family: PaddedFamily,
}

impl CellDecoder {
    /// Returns the current cell, which was decoded from the same payload.
    #[inline]
    pub(in crate::hfile) fn cell<'a>(&'a self, payload: &'a [u8]) -> CellRef<'a> {
        let value_end = self.value.wrapping_add(self.cell.value_bytes);
        let value = payload.get(self.value..value_end).unwrap_or_default();
        CellRef::new(self.key(), value, &[], self.sequence)
    }

    /// Returns the flat key of the current cell.
    #[inline]
    pub(in crate::hfile) fn key(&self) -> &[u8] {
        self.key.get(..self.cell.key_bytes).unwrap_or_default()
    }

    /// Returns the offset of the current cell in the payload of the plain block.
    #[expect(clippy::cast_possible_truncation, reason = "a payload has less than 2^31 bytes")]
    pub(in crate::hfile) fn plain_offset(&self) -> u32 {
        self.plain_bytes.wrapping_sub(self.left).wrapping_sub(self.cell.bytes) as u32
    }

    /// Returns the memory in bytes that it uses.
    pub(in crate::hfile) fn memory_bytes(&self) -> usize {
        self.key.capacity().saturating_add(size_of::<Self>())
    }

    /// Decodes the first cell. Returns `false` if there is none or it is damaged; then there is no
    /// current cell.
    pub(in crate::hfile) fn read_first(&mut self, payload: &[u8]) -> bool {
        self.read::<true>(payload)
    }

    /// Decodes the next cell. Returns `false` at the end and if it is damaged, which
    /// [`CellDecoder::is_at_end`] distinguishes; then there is no current cell.
    #[inline]
    pub(in crate::hfile) fn read_next(&mut self, payload: &[u8]) -> bool {
        self.read::<false>(payload)
    }

    #[inline(always)]
    fn read<const FIRST: bool>(&mut self, payload: &[u8]) -> bool {
        let read = match self.encoding {
            Differences::Prefix => self.read_as::<Prefix, FIRST>(payload),
            Differences::Diff => self.read_as::<Diff, FIRST>(payload),
            Differences::FastDiff => self.read_as::<FastDiff, FIRST>(payload),
        };
        read.is_some()
    }

    /// Returns `true` if the current cell is the last one of the payload, as the block states.
    pub(in crate::hfile) fn is_at_end(&self, payload: &[u8]) -> bool {
        self.left == 0 && self.next.checked_add(PADDING_BYTES) == Some(payload.len())
    }

    #[inline(always)]
    fn read_as<F: DifferenceFormat, const FIRST: bool>(&mut self, payload: &[u8]) -> Option<()> {
        let mut input = ByteReader::starting_at(payload, self.next);
        let head = F::read_head(&mut input, self.cell)?;
        let mut bytes = head.plain_bytes();
        if !head.fits(self.cell) || bytes > self.left {
            return None;
        }
        if self.key.len().wrapping_sub(PADDING_BYTES) < head.key_bytes {
            self.extend_key(head, input.remaining())?;
        }
        let parts = &mut self.cell.parts;
        let mut key = NewKey::in_place(&mut self.key, head.key_bytes, head.common, parts)?;
        if FIRST {
            F::read_first_key(&mut input, head, &mut key, &mut self.family)?;
        } else {
            F::read_key(&mut input, head, &mut key, &self.family)?;
        }
        if head.flag & F::SAME_VALUE == 0 {
            self.value = input.position();
            input.skip(head.value_bytes)?;
        }
        if self.has_sequence_ids {
            let before = input.remaining();
            self.sequence = u64::try_from(input.vlong()?).ok()?;
            bytes = bytes.wrapping_add(before.wrapping_sub(input.remaining()));
        }
        // What was read may have extended into the padding.
        if input.remaining() < PADDING_BYTES {
            return None;
        }
        // They are set last: after a cell that cannot be read they tell where it is.
        self.left = self.left.checked_sub(bytes)?;
        self.next = input.position();
        self.cell.bytes = bytes;
        self.cell.key_bytes = head.key_bytes;
        self.cell.value_bytes = head.value_bytes;
        Some(())
    }

    /// Makes room for a longer key; `None` if its bytes are neither in common with the current one
    /// nor in the rest of the input.
    #[cold]
    fn extend_key(&mut self, head: CellHead, input_bytes: usize) -> Option<()> {
        let most = head.common.saturating_add(input_bytes).saturating_add(MAX_IMPLIED_BYTES);
        if head.key_bytes > most {
            return None;
        }
        self.key.resize(head.key_bytes.saturating_add(PADDING_BYTES), 0);
        Some(())
    }
}
