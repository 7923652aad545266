//! Cost of cells in store files: what they take under an encoding and a codec, measured by writing
//! them with the store's own writer to a file in memory.
//!
//! Only bytes are measured here. A caller that also wants times takes them around
//! [`SampleFile::write`], [`SampleFile::scan`] and [`SampleFile::seek`], which touch no disk.

use std::sync::Arc;

use halite_types::{CellRef, Result};

use super::{
    BlockKind, Compression, Cursor, DirectBlocks, IndexInMemory, PartsWith, Reader, StoreFileInfo,
    Writer, WriterOptions,
};
use crate::env::{MemoryFile, MemoryReader};

/// Codecs that are written, the fastest first.
pub const CODECS: [Compression; 5] =
    [Compression::None, Compression::Snappy, Compression::Lz4, Compression::Zstd, Compression::Gz];

/// Sizes of a file on disk, with headers and checksums of the blocks. The trailer and the file
/// info, which do not grow with the cells, are in none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSizes {
    /// Number of cells.
    pub cells: u64,
    /// Number of data blocks.
    pub data_blocks: u64,
    /// Bytes of the data blocks.
    pub data_bytes: u64,
    /// Bytes of the index blocks, of all levels, and of the part indexes.
    pub index_bytes: u64,
    /// Bytes of the bloom filters.
    pub bloom_bytes: u64,
    /// Bytes of the cells as a plain data block stores them: key, value, both lengths, tags.
    pub plain_bytes: u64,
}

impl FileSizes {
    /// Returns the bytes on disk per cell, with index and bloom filters; 0 without cells.
    pub fn bytes_per_cell(&self) -> f64 {
        self.per_cell(self.data_bytes + self.index_bytes + self.bloom_bytes)
    }

    /// Returns the bytes of the data blocks per cell; 0 without cells.
    pub fn data_bytes_per_cell(&self) -> f64 {
        self.per_cell(self.data_bytes)
    }

    /// Returns the bytes of index and bloom filters per cell; 0 without cells.
    pub fn index_bytes_per_cell(&self) -> f64 {
        self.per_cell(self.index_bytes + self.bloom_bytes)
    }

    /// Returns the bytes of plain cells per cell; 0 without cells.
    pub fn plain_bytes_per_cell(&self) -> f64 {
        self.per_cell(self.plain_bytes)
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean; no file has 2^53 bytes")]
    fn per_cell(&self, bytes: u64) -> f64 {
        if self.cells == 0 { 0.0 } else { bytes as f64 / self.cells as f64 }
    }
}

/// Store file in memory.
pub struct SampleFile {
    reader: Arc<Reader>,
    index: Arc<IndexInMemory>,
    plain_bytes: u64,
}

impl SampleFile {
    /// Writes cells of one family, in key order, with these options.
    ///
    /// # Errors
    /// `InvalidRequest` for cells out of order, of several families, or with tags although
    /// `include_tags` is not set; `Unsupported` for a codec that cannot be written.
    pub fn write<'c>(
        cells: impl IntoIterator<Item = CellRef<'c>>,
        options: WriterOptions,
    ) -> Result<Self> {
        let (file, tags_length) = (MemoryFile::default(), usize::from(options.include_tags) * 2);
        let mut writer = Writer::create(Box::new(file.clone()), "(sample)", options)?;
        let mut plain_bytes = 0;
        for cell in cells {
            writer.append(cell)?;
            let lengths = 8 + tags_length + cell.tags().len();
            plain_bytes += (lengths + cell.key().len() + cell.value().len()) as u64;
        }
        writer.finish(StoreFileInfo::default())?;
        let reader =
            Arc::new(Reader::open(Arc::new(MemoryReader::new(file.take_bytes())), "(sample)")?);
        Ok(Self { reader, index: Arc::default(), plain_bytes })
    }

    /// Returns the sizes of the file.
    ///
    /// # Errors
    /// As [`Reader::walk_blocks`].
    pub fn sizes(&self) -> Result<FileSizes> {
        let mut sizes = FileSizes {
            cells: self.reader.entry_count(),
            plain_bytes: self.plain_bytes,
            ..FileSizes::default()
        };
        for block in self.reader.walk_blocks()? {
            let bytes = u64::from(block.handle.on_disk_bytes);
            match block.kind {
                BlockKind::Data => {
                    sizes.data_bytes += bytes;
                    sizes.data_blocks += 1;
                }
                BlockKind::LeafIndex
                | BlockKind::IntermediateIndex
                | BlockKind::RootIndex
                | BlockKind::Meta => sizes.index_bytes += bytes,
                BlockKind::BloomChunk
                | BlockKind::GeneralBloomMeta
                | BlockKind::DeleteFamilyBloomMeta => sizes.bloom_bytes += bytes,
                BlockKind::FileInfo => {}
            }
        }
        Ok(sizes)
    }

    /// Reads all cells in order, and returns their number.
    ///
    /// # Errors
    /// As [`Cursor::advance`].
    pub fn scan(&self) -> Result<u64> {
        let mut cursor = Cursor::new(Arc::clone(&self.reader), DirectBlocks);
        cursor.seek_to_first()?;
        let mut cells = 0;
        while cursor.peek().is_some() {
            cells += 1;
            cursor.advance()?;
        }
        Ok(cells)
    }

    /// Finds the first cell at or after a flat key as a get does for which only the index is in the
    /// cache: reads and decodes a part of a block if the file has parts, else a block. Returns `true`
    /// if there is one.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn seek(&self, key: &[u8]) -> Result<bool> {
        let blocks = PartsWith(Arc::clone(&self.index));
        let mut cursor = Cursor::new(Arc::clone(&self.reader), blocks);
        cursor.seek(key)?;
        Ok(cursor.peek().is_some())
    }
}

/// Returns the sizes of cells of one family, in key order, with these options.
///
/// # Errors
/// As [`SampleFile::write`].
pub fn measure<'c>(
    cells: impl IntoIterator<Item = CellRef<'c>>,
    options: WriterOptions,
) -> Result<FileSizes> {
    SampleFile::write(cells, options)?.sizes()
}

#[cfg(test)]
mod tests;
