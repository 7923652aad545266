//! Block of a file: its header, and its payload after verification, decompression and parsing.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::ops::Range;
use std::sync::Arc;

use halite_types::Result;

use super::block_header::{
    BlockHandle, BlockHeader, BlockKind, ENCODED_DATA_MAGIC, HEADER_BYTES, MAX_PAYLOAD_BYTES,
};
use super::cell_layout::CellLayout;
use super::codec::Compression;
use super::damaged;
use super::data_cells::{DataCells, Validation};
use super::encoding::{self, DataBlockEncoding, DecodedCells, EncodedCells};
use super::index::NonRootIndex;
use super::part_index::{Part, PartChoice, PartIndex, PartOrder};

/// Layout of the blocks of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockFormat {
    pub(super) compression: Compression,
    pub(super) cells: CellLayout,
}

/// Part of a data block, with the part index that names it.
pub(crate) struct FoundPart {
    pub(crate) part: Part,
    pub(super) index: Arc<Block>,
}

/// Block with verified checksums and a decompressed payload, which is parsed if its kind requires
/// it.
#[derive(Debug)]
pub struct Block {
    kind: BlockKind,
    /// Ends with the payload, to which that of encoded cells adds padding.
    bytes: Vec<u8>,
    payload_start: usize,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Plain,
    Index(NonRootIndex),
    Parts(PartIndex),
    Cells(DataCells),
    Encoded(EncodedCells),
}

impl Block {
    /// Verifies, decompresses and parses a whole block as read from disk. Cells of a data block may
    /// be validated later.
    ///
    /// # Errors
    /// `Corrupt`; `Unsupported` for an encoding that HBase does not have.
    pub(super) fn open(
        bytes: Vec<u8>,
        kind: BlockKind,
        format: BlockFormat,
        validation: Validation,
    ) -> Result<Self> {
        let header = BlockHeader::read(&bytes)?;
        let is_encoded = check_magic(header.magic, kind)?;
        if header.on_disk_bytes() != bytes.len() {
            let stated = header.on_disk_bytes();
            return Err(damaged(format_args!(
                "its header states {stated} bytes on disk, the index {}",
                bytes.len()
            )));
        }
        let (covered, sums) = bytes
            .split_at_checked(header.covered_bytes)
            .ok_or_else(|| damaged("it ends inside its payload"))?;
        header.checksum.verify(covered, sums, header.bytes_per_checksum)?;
        let (bytes, payload) = match format.compression {
            Compression::None
                if header.covered_bytes.checked_sub(HEADER_BYTES)
                    == Some(header.uncompressed_bytes) =>
            {
                (bytes, HEADER_BYTES..header.covered_bytes)
            }
            codec => {
                let compressed = covered.get(HEADER_BYTES..).unwrap_or_default();
                let payload = codec.decompress(compressed, header.uncompressed_bytes)?;
                let whole = 0..payload.len();
                (payload, whole)
            }
        };
        if kind == BlockKind::Data {
            return Self::open_data(bytes, payload, is_encoded, format.cells, validation);
        }
        let content = Content::parse(kind, bytes.get(payload.clone()).unwrap_or_default())?;
        Ok(Self::new(kind, bytes, payload, content))
    }

    fn open_data(
        mut bytes: Vec<u8>,
        payload: Range<usize>,
        is_encoded: bool,
        layout: CellLayout,
        validation: Validation,
    ) -> Result<Self> {
        if is_encoded
            && validation == Validation::AsRead
            && let Some(cells) = encoding::encoded_cells(&mut bytes, &payload, layout)?
        {
            let padded = payload.start..bytes.len();
            return Ok(Self::new(BlockKind::Data, bytes, padded, Content::Encoded(cells)));
        }
        let cells = if is_encoded {
            encoding::decode(bytes, &payload, layout, validation)
        } else {
            DecodedCells::plain(bytes, payload, layout, validation)
        };
        cells.map(Self::of_cells)
    }

    /// Verifies, decompresses, decodes and parses a part of a data block, as read from disk.
    ///
    /// # Errors
    /// `Corrupt`
    pub(super) fn open_part(
        bytes: Vec<u8>,
        found: &FoundPart,
        format: BlockFormat,
        encoding: DataBlockEncoding,
    ) -> Result<Self> {
        let part = &found.part;
        part.verify(&bytes)?;
        let plain_bytes = part.bytes as usize;
        let bytes = format.compression.decompress_part(bytes, MAX_PAYLOAD_BYTES)?;
        let before = part.cell_before(found.index.payload());
        let cells = encoding.decode_part(bytes, format.cells, before, plain_bytes)?;
        if cells.payload.len() != plain_bytes {
            return Err(damaged("its cells have another length than the part index states"));
        }
        Ok(Self::of_cells(cells))
    }

    pub(super) fn of_cells(decoded: DecodedCells) -> Self {
        let DecodedCells { bytes, payload, cells } = decoded;
        Self::new(BlockKind::Data, bytes, payload, Content::Cells(cells))
    }

    fn new(kind: BlockKind, mut bytes: Vec<u8>, payload: Range<usize>, content: Content) -> Self {
        bytes.truncate(payload.end);
        Self { kind, bytes, payload_start: payload.start, content }
    }

    /// Returns `true` if it has the kind and length of this part.
    pub(crate) fn is_part(&self, part: &Part) -> bool {
        self.kind == BlockKind::Data && self.payload().len() == part.bytes as usize
    }

    /// Returns the kind of the block.
    pub fn kind(&self) -> BlockKind {
        self.kind
    }

    /// Returns the payload; that of encoded cells has padding at its end.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        self.bytes.get(self.payload_start..).unwrap_or_default()
    }

    /// Returns the bytes of its payload; of an encoded data block those that it states for the
    /// plain one, which are verified at its end.
    pub(crate) fn plain_bytes(&self) -> usize {
        match &self.content {
            Content::Encoded(cells) => cells.plain_bytes(),
            _ => self.payload().len(),
        }
    }

    /// Returns the approximate memory in bytes that it uses.
    pub fn memory_bytes(&self) -> usize {
        let restarts = match &self.content {
            Content::Cells(cells) => cells.map().map_or(0, |map| map.memory_bytes(self.payload())),
            Content::Index(_) | Content::Parts(_) | Content::Plain | Content::Encoded(_) => 0,
        };
        self.bytes.capacity().saturating_add(restarts).saturating_add(size_of::<Self>())
    }

    /// Returns the cells of a plain or decoded data block.
    #[inline]
    pub(super) fn cells(&self) -> Option<&DataCells> {
        match &self.content {
            Content::Cells(cells) => Some(cells),
            _ => None,
        }
    }

    /// Returns the cells of a data block that are still encoded.
    #[inline]
    pub(super) fn encoded_cells(&self) -> Option<&EncodedCells> {
        match &self.content {
            Content::Encoded(cells) => Some(cells),
            _ => None,
        }
    }

    /// Returns a part of the data block at `pointer`; `None` unless this is its part index.
    pub(super) fn find_part(
        &self,
        pointer: BlockHandle,
        choice: PartChoice<'_>,
        order: PartOrder,
    ) -> Option<Part> {
        match &self.content {
            Content::Parts(index) => index.find(self.payload(), pointer, choice, order),
            _ => None,
        }
    }

    pub(super) fn index(&self) -> Option<&NonRootIndex> {
        match &self.content {
            Content::Index(index) => Some(index),
            _ => None,
        }
    }
}

impl Content {
    /// Parses the payload of a block that is no data block.
    fn parse(kind: BlockKind, payload: &[u8]) -> Result<Self> {
        Ok(match kind {
            BlockKind::LeafIndex | BlockKind::IntermediateIndex => {
                Self::Index(NonRootIndex::parse(payload)?)
            }
            BlockKind::Meta => PartIndex::parse(payload)?.map_or(Self::Plain, Self::Parts),
            BlockKind::Data
            | BlockKind::BloomChunk
            | BlockKind::RootIndex
            | BlockKind::FileInfo
            | BlockKind::GeneralBloomMeta
            | BlockKind::DeleteFamilyBloomMeta => Self::Plain,
        })
    }
}

/// Verifies the magic. Returns `true` if it is that of an encoded data block.
fn check_magic(magic: [u8; 8], kind: BlockKind) -> Result<bool> {
    if magic == *kind.magic() {
        return Ok(false);
    }
    if kind == BlockKind::Data && magic == *ENCODED_DATA_MAGIC {
        return Ok(true);
    }
    Err(damaged(format_args!(
        "it starts with \"{}\" instead of \"{}\"",
        magic.escape_ascii(),
        kind.magic().escape_ascii()
    )))
}
