//! One block of a file: its header, its verified and decompressed payload, and walking the cells of a data block.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::cmp::Ordering;
use std::ops::Range;

use halite_types::cell::check_key;
use halite_types::{CellRef, Error, ErrorKind, Result};

use super::checksum::{ChecksumType, checksum_bytes};
use super::compress::Compression;
use super::index::SubIndex;
use super::vint::Input;
use super::{Comparator, damaged};

/// Bytes of a block's header.
pub(super) const HEADER_BYTES: usize = 33;
/// Largest payload a block may state; a larger one is taken for damage.
pub(super) const MAX_PAYLOAD_BYTES: usize = 1 << 30;
/// A data block remembers where every so many cells begin.
const RESTART_CELLS: usize = 16;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are HBase's; the head of the module shows each in its place")]
pub enum BlockKind {
    Data,
    LeafIndex,
    BloomChunk,
    Meta,
    IntermediateIndex,
    RootIndex,
    FileInfo,
    GeneralBloomMeta,
    DeleteFamilyBloomMeta,
}

const ENCODED_DATA_MAGIC: &[u8; 8] = b"DATABLKE";

impl BlockKind {
    /// The eight bytes a block of this kind starts with.
    pub fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::Data => b"DATABLK*",
            Self::LeafIndex => b"IDXLEAF2",
            Self::BloomChunk => b"BLMFBLK2",
            Self::Meta => b"METABLKc",
            Self::IntermediateIndex => b"IDXINTE2",
            Self::RootIndex => b"IDXROOT2",
            Self::FileInfo => b"FILEINF2",
            Self::GeneralBloomMeta => b"BLMFMET2",
            Self::DeleteFamilyBloomMeta => b"DFBLMET2",
        }
    }

    /// The kind for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data block",
            Self::LeafIndex => "leaf index block",
            Self::BloomChunk => "bloom chunk",
            Self::Meta => "meta block",
            Self::IntermediateIndex => "intermediate index block",
            Self::RootIndex => "root index block",
            Self::FileInfo => "file info block",
            Self::GeneralBloomMeta => "bloom meta block",
            Self::DeleteFamilyBloomMeta => "delete-family bloom meta block",
        }
    }
}

/// Where a block lies in its file, header and checksums included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockPointer {
    /// Offset of the header's first byte.
    pub offset: u64,
    /// Length of the whole block.
    pub on_disk_bytes: u32,
}

/// The 33 bytes in front of every block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockHeader {
    pub(super) magic: [u8; 8],
    /// Payload on disk and checksums.
    pub(super) body_bytes: usize,
    pub(super) uncompressed_bytes: usize,
    /// Offset of the block of this kind before; -1 for the first.
    pub(super) previous_offset: i64,
    pub(super) checksum: ChecksumType,
    pub(super) bytes_per_checksum: usize,
    /// Header and payload on disk.
    pub(super) covered_bytes: usize,
}

impl BlockHeader {
    /// Reads a header and checks that its sizes agree with one another.
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let mut input = Input::new(bytes);
        let header = Self::read_fields(&mut input).ok_or_else(|| damaged("its header holds an impossible number"))?;
        let payload = header.covered_bytes.checked_sub(HEADER_BYTES);
        let sums = checksum_bytes(header.covered_bytes, header.bytes_per_checksum);
        if header.bytes_per_checksum == 0 || payload.and_then(|payload| payload.checked_add(sums)) != Some(header.body_bytes) {
            return Err(damaged("the sizes in its header contradict one another"));
        }
        if header.uncompressed_bytes > MAX_PAYLOAD_BYTES {
            return Err(damaged(format_args!(
                "its header states {} bytes, more than the {MAX_PAYLOAD_BYTES} a block may have",
                header.uncompressed_bytes
            )));
        }
        Ok(header)
    }

    fn read_fields(input: &mut Input<'_>) -> Option<Self> {
        Some(Self {
            magic: input.take(8)?.try_into().ok()?,
            body_bytes: input.length()?,
            uncompressed_bytes: input.length()?,
            previous_offset: input.i64()?,
            checksum: ChecksumType::from_code(input.byte()?)?,
            bytes_per_checksum: input.length()?,
            covered_bytes: input.length()?,
        })
    }

    /// Length of the whole block.
    pub(super) fn on_disk_bytes(&self) -> usize {
        self.body_bytes.saturating_add(HEADER_BYTES)
    }
}

/// What a file says about the layout of its blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockFormat {
    pub(super) compression: Compression,
    pub(super) cells: CellLayout,
}

/// Which optional parts every cell of a file has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CellLayout {
    pub(super) tags: bool,
    pub(super) sequence_ids: bool,
}

/// A block whose checksums were verified and whose payload is decompressed and, as far as its kind goes, parsed.
#[derive(Debug)]
pub struct Block {
    kind: BlockKind,
    bytes: Vec<u8>,
    payload: Range<usize>,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Plain,
    Index(SubIndex),
    Cells(CellMap),
}

/// Where the cells of a data block lie in its payload.
#[derive(Debug)]
struct CellMap {
    layout: CellLayout,
    /// Offsets of the cells 0, 16, 32 and so on.
    restarts: Vec<u32>,
    /// Offset of the last cell.
    last: u32,
    count: u32,
}

impl Block {
    /// Takes a whole block as read from disk: verifies, decompresses and parses it.
    ///
    /// # Errors
    /// `Corrupt`; `Unsupported` for an encoded data block.
    pub(super) fn open(bytes: Vec<u8>, kind: BlockKind, format: BlockFormat) -> Result<Self> {
        let header = BlockHeader::read(&bytes)?;
        check_magic(header.magic, kind, &bytes)?;
        if header.on_disk_bytes() != bytes.len() {
            let stated = header.on_disk_bytes();
            return Err(damaged(format_args!("its header states {stated} bytes on disk, the index {}", bytes.len())));
        }
        let (covered, sums) = bytes.split_at_checked(header.covered_bytes).ok_or_else(|| damaged("it ends inside its payload"))?;
        header.checksum.verify(covered, sums, header.bytes_per_checksum)?;
        let (bytes, payload) = match format.compression {
            Compression::None if header.covered_bytes.checked_sub(HEADER_BYTES) == Some(header.uncompressed_bytes) => {
                (bytes, HEADER_BYTES..header.covered_bytes)
            }
            codec => {
                let compressed = covered.get(HEADER_BYTES..).unwrap_or_default();
                let payload = codec.decompress(compressed, header.uncompressed_bytes)?;
                let whole = 0..payload.len();
                (payload, whole)
            }
        };
        let content = Content::parse(kind, bytes.get(payload.clone()).unwrap_or_default(), format.cells)?;
        Ok(Self { kind, bytes, payload, content })
    }

    /// What it holds.
    pub fn kind(&self) -> BlockKind {
        self.kind
    }

    /// The payload.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        self.bytes.get(self.payload.clone()).unwrap_or_default()
    }

    /// Roughly the memory it holds, for whoever keeps it.
    pub fn memory_bytes(&self) -> usize {
        let restarts = match &self.content {
            Content::Cells(map) => map.restarts.capacity().saturating_mul(4),
            _ => 0,
        };
        self.bytes.capacity().saturating_add(restarts).saturating_add(size_of::<Self>())
    }

    /// Number of cells in a data block, 0 for other kinds.
    pub fn cell_count(&self) -> usize {
        self.map().map_or(0, |map| usize::try_from(map.count).unwrap_or(usize::MAX))
    }

    pub(super) fn index(&self) -> Option<&SubIndex> {
        match &self.content {
            Content::Index(index) => Some(index),
            _ => None,
        }
    }

    #[inline]
    fn map(&self) -> Option<&CellMap> {
        match &self.content {
            Content::Cells(map) => Some(map),
            _ => None,
        }
    }

    /// The first cell of a data block.
    pub(super) fn first_cell(&self) -> Option<CellSpan> {
        self.cell_at(0)
    }

    /// The last cell of a data block.
    #[inline]
    pub(super) fn last_cell(&self) -> Option<CellSpan> {
        self.cell_at(self.map()?.last)
    }

    /// The cell behind `span`; `None` at the end of the block.
    #[inline]
    pub(super) fn cell_after(&self, span: &CellSpan) -> Option<CellSpan> {
        self.cell_at(span.end)
    }

    #[inline]
    fn cell_at(&self, offset: u32) -> Option<CellSpan> {
        let payload = self.payload();
        let map = self.map()?;
        if usize::try_from(offset).ok()? >= payload.len() {
            return None;
        }
        CellSpan::read(payload, offset, map.layout)
    }

    /// The cell before `span`; `None` at the start of the block.
    pub(super) fn cell_before(&self, span: &CellSpan) -> Option<CellSpan> {
        let map = self.map()?;
        let passed = map.restarts.partition_point(|&restart| restart < span.start);
        let mut cell = self.cell_at(*map.restarts.get(passed.checked_sub(1)?)?)?;
        while cell.end < span.start {
            cell = self.cell_after(&cell)?;
        }
        Some(cell)
    }

    /// The first cell of a data block at or behind `key`, or `None` if all are before it. `from` is the offset of a cell
    /// known to be before `key`, or 0.
    pub(super) fn seek_cell(&self, key: &[u8], comparator: Comparator, from: u32) -> Option<CellSpan> {
        let map = self.map()?;
        let before = |restart: u32| self.restart_key(restart).is_some_and(|at| comparator.compare(at, key) == Ordering::Less);
        let ahead = map.restarts.get(map.restarts.partition_point(|&restart| restart <= from)..).unwrap_or_default();
        // Most steps of a scan are short, so the nearest restart is asked before the search among all.
        let skip = match ahead.first() {
            Some(&nearest) if before(nearest) => ahead.partition_point(|&restart| before(restart)),
            _ => 0,
        };
        let start = skip.checked_sub(1).and_then(|last| ahead.get(last)).copied().unwrap_or(from);
        let mut cell = self.cell_at(start)?;
        while comparator.compare(self.key(&cell), key) == Ordering::Less {
            cell = self.cell_after(&cell)?;
        }
        Some(cell)
    }

    #[inline]
    fn restart_key(&self, offset: u32) -> Option<&[u8]> {
        let mut input = Input::starting_at(self.payload(), usize::try_from(offset).ok()?);
        let key_bytes = input.length()?;
        input.take(4)?;
        input.take(key_bytes)
    }

    /// The flat key of a cell of this block.
    #[inline]
    pub(super) fn key(&self, span: &CellSpan) -> &[u8] {
        part(self.payload(), span.start.wrapping_add(8), span.key_bytes)
    }

    /// A cell of this block.
    #[inline]
    pub(super) fn cell(&self, span: &CellSpan) -> CellRef<'_> {
        let payload = self.payload();
        let key_start = span.start.wrapping_add(8);
        let value_start = key_start.wrapping_add(span.key_bytes);
        let tags_start = value_start.wrapping_add(span.value_bytes).wrapping_add(2);
        let tags = if span.tags_bytes == 0 { &[] } else { part(payload, tags_start, span.tags_bytes) };
        CellRef::new(part(payload, key_start, span.key_bytes), part(payload, value_start, span.value_bytes), tags, span.sequence)
    }
}

/// A part that is known to lie inside the payload, because the cells were checked when the block was opened.
#[inline]
fn part(payload: &[u8], start: u32, length: u32) -> &[u8] {
    let start = start as usize;
    payload.get(start..start.wrapping_add(length as usize)).unwrap_or_default()
}

/// The place of one cell in the payload of a data block.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellSpan {
    pub(super) start: u32,
    key_bytes: u32,
    value_bytes: u32,
    tags_bytes: u32,
    end: u32,
    sequence: u64,
}

impl CellSpan {
    #[inline]
    fn read(payload: &[u8], start: u32, layout: CellLayout) -> Option<Self> {
        let mut input = Input::starting_at(payload, start as usize);
        let key_bytes = input.length()?;
        let value_bytes = input.length()?;
        input.take(key_bytes)?;
        input.take(value_bytes)?;
        let tags_bytes = if layout.tags { input.u16()? } else { 0 };
        input.take(usize::from(tags_bytes))?;
        let sequence = if layout.sequence_ids { u64::try_from(input.vlong()?).ok()? } else { 0 };
        Some(Self {
            start,
            key_bytes: u32::try_from(key_bytes).ok()?,
            value_bytes: u32::try_from(value_bytes).ok()?,
            tags_bytes: u32::from(tags_bytes),
            end: u32::try_from(input.position()).ok()?,
            sequence,
        })
    }
}

impl Content {
    fn parse(kind: BlockKind, payload: &[u8], layout: CellLayout) -> Result<Self> {
        Ok(match kind {
            BlockKind::Data => Self::Cells(CellMap::parse(payload, layout)?),
            BlockKind::LeafIndex | BlockKind::IntermediateIndex => Self::Index(SubIndex::parse(payload)?),
            _ => Self::Plain,
        })
    }
}

impl CellMap {
    fn parse(payload: &[u8], layout: CellLayout) -> Result<Self> {
        let mut map = Self { layout, restarts: Vec::new(), last: 0, count: 0 };
        let mut at = 0;
        while (at as usize) < payload.len() {
            let span = CellSpan::read(payload, at, layout).ok_or_else(|| broken_cell(map.count, at, "does not fit the block"))?;
            if !check_key(part(payload, at.wrapping_add(8), span.key_bytes)) {
                return Err(broken_cell(map.count, at, "has row and family lengths that do not fit its key"));
            }
            if (map.count as usize).is_multiple_of(RESTART_CELLS) {
                map.restarts.push(at);
            }
            map.last = at;
            map.count = map.count.saturating_add(1);
            at = span.end;
        }
        if map.count == 0 {
            return Err(damaged("it holds no cell"));
        }
        map.restarts.shrink_to_fit();
        Ok(map)
    }
}

fn broken_cell(number: u32, at: u32, what: &str) -> Error {
    damaged(format_args!("its cell {number} at byte {at} of the payload {what}"))
}

fn check_magic(magic: [u8; 8], kind: BlockKind, block: &[u8]) -> Result<()> {
    if magic == *kind.magic() {
        return Ok(());
    }
    if kind == BlockKind::Data && magic == *ENCODED_DATA_MAGIC {
        let id = Input::starting_at(block, HEADER_BYTES).u16();
        let name = match id {
            Some(2) => "PREFIX",
            Some(3) => "DIFF",
            Some(4) => "FAST_DIFF",
            Some(7) => "ROW_INDEX_V1",
            _ => "of an unknown kind",
        };
        return Err(unsupported_encoding(name));
    }
    Err(damaged(format_args!("it starts with \"{}\" instead of \"{}\"", magic.escape_ascii(), kind.magic().escape_ascii())))
}

/// The error for data blocks that are not plain.
pub(super) fn unsupported_encoding(name: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "data block encoding {name} cannot be read, only NONE can; set DATA_BLOCK_ENCODING to NONE and let HBase rewrite the file with a major compaction"
        ),
    )
}
