//! Writer of a file, byte for byte as HBase 2.6 does.

use std::cmp::Ordering;
use std::mem;

use super::MIN_BYTES_PER_CHECKSUM;
use super::block_header::{BlockKind, MAX_PAYLOAD_BYTES};
use super::block_writer::BlockWriter;
use super::bloom_writer::BloomWriter;
use super::cell_layout::CellLayout;
use super::codec::Compression;
use super::encoding::{BlockEncoder, DataBlockEncoding, KeyBefore};
use super::file_info::{FileInfo, encode_compacted_from, encode_flag, info_key};
use super::index::{IndexEntry, write_root};
use super::index_writer::{IndexSummary, IndexWriter, index_key};
use super::options::{FileSummary, StoreFileInfo, WriterOptions};
use super::part_index::{PartFormat, PartOrder};
use super::part_index_writer::{PartIndexWriter, PartLengths};
use super::stats::FileStatsBuilder;
use super::trailer::{TRAILER_BYTES, Trailer};
use crate::env::FileWriter;
use halite_types::cell::{LATEST_TIMESTAMP, MAX_TAGS_BYTES, TYPE_MAXIMUM, key_family, write_key};
use halite_types::{BloomType, CellRef, CellType, Error, Result};

/// Bytes before the encoding at which a block is full although its encoded form is small: readers
/// decode whole blocks into memory.
const MAX_ENCODED_PLAIN_BYTES: usize = 16 << 20;

/// Writer of one file, cell by cell in order.
pub struct Writer {
    options: WriterOptions,
    blocks: BlockWriter,
    /// Cells of the current data block.
    encoder: Box<dyn BlockEncoder>,
    index: IndexWriter,
    bloom: Option<BloomWriter>,
    delete_family_bloom: Option<BloomWriter>,
    /// `None` if no part index is written.
    parts: Option<PartIndexWriter>,
    stats: FileStatsBuilder,
    info: FileInfo,
    /// Optional parts of the cells.
    layout: CellLayout,
    first_key: Vec<u8>,
    /// Last key of the previous data block.
    last_before: Option<Vec<u8>>,
    last_sequence: u64,
    bloom_key: Vec<u8>,
    first_data_offset: Option<u64>,
    last_data_offset: Option<u64>,
}

/// What a cell and the one before it have in common.
#[derive(Default)]
struct Step {
    /// Bytes at the start of the keys, before timestamp and type.
    common: usize,
    has_same_row: bool,
    repeats_key: bool,
}

impl Writer {
    /// Creates a file. `path` is its name in errors.
    ///
    /// # Errors
    /// `Unsupported` for a codec that cannot be written; `InvalidRequest` for invalid options.
    pub fn create(file: Box<dyn FileWriter>, path: &str, options: WriterOptions) -> Result<Self> {
        Self::start(file, path, options)
            .map_err(|error| error.at(format_args!("store file {path}")))
    }

    fn start(file: Box<dyn FileWriter>, path: &str, options: WriterOptions) -> Result<Self> {
        let compressor = options.compression.compressor(options.codec_settings)?;
        if !(MIN_BYTES_PER_CHECKSUM..=i32::MAX.cast_unsigned())
            .contains(&options.bytes_per_checksum)
        {
            let stated = options.bytes_per_checksum;
            return Err(Error::invalid(format!(
                "{stated} bytes per checksum are not possible; give at least \
                 {MIN_BYTES_PER_CHECKSUM}"
            )));
        }
        if matches!(options.bloom, BloomType::RowPrefix(length) if i32::try_from(length).is_err() || length == 0)
        {
            return Err(Error::invalid(
                "the bloom filter's row prefix must have at least one byte",
            ));
        }
        let bloom_writer = |cells| {
            BloomWriter::new(
                options.bloom_chunk_bytes,
                options.bloom_error_rate,
                options.bloom_hash,
                cells,
            )
        };
        let is_row_col = options.bloom == BloomType::RowCol;
        let bloom =
            if options.bloom == BloomType::None { None } else { Some(bloom_writer(is_row_col)?) };
        let delete_family_bloom = if options.delete_family_bloom && !is_row_col {
            Some(bloom_writer(false)?)
        } else {
            None
        };
        let layout = CellLayout {
            tags: options.include_tags,
            tags_compressed: options.compress_tags && options.encoding != DataBlockEncoding::None,
            sequence_ids: options.include_sequence_ids,
        };
        let blocks =
            BlockWriter::new(file, path, compressor, options.checksum, options.bytes_per_checksum);
        Ok(Self {
            encoder: options.encoding.encoder(layout),
            layout,
            index: IndexWriter::new(options.index_chunk_bytes, options.min_index_entries),
            bloom,
            delete_family_bloom,
            parts: part_index_writer(&options, layout).filter(|_| blocks.compresses_parts()),
            blocks,
            stats: FileStatsBuilder::new(),
            info: FileInfo::default(),
            first_key: Vec::new(),
            last_before: None,
            last_sequence: 0,
            bloom_key: Vec::new(),
            first_data_offset: None,
            last_data_offset: None,
            options,
        })
    }

    /// Adds the next cell. Cells with one key are added in descending order of sequence id.
    ///
    /// # Errors
    /// `InvalidRequest` if it is out of order, of another family, or has tags although they are not
    /// enabled; the cell is not added in that case. `Io`, `DiskFull`: the file is no longer usable.
    pub fn append(&mut self, cell: CellRef<'_>) -> Result<()> {
        let Step { common, has_same_row, repeats_key } = self.check(cell)?;
        self.add_to_blooms(cell, has_same_row);
        if !repeats_key && self.is_block_full() {
            self.finish_data_block()?;
            self.index.write_full_leaf(&mut self.blocks)?;
            for bloom in [&mut self.bloom, &mut self.delete_family_bloom].into_iter().flatten() {
                bloom.write_ready(&mut self.blocks)?;
            }
            if let Some(parts) = &mut self.parts {
                parts.write_full(&mut self.blocks)?;
            }
        }
        if self.encoder.sizes().plain == 0 {
            self.first_key.clear();
            self.first_key.extend_from_slice(cell.key());
        } else if let Some(parts) = self.parts.as_mut().filter(|_| !repeats_key) {
            let plain_bytes = self.encoder.sizes().plain;
            if parts.is_part_full(plain_bytes)
                && let Some(start) = self.encoder.part_start(cell)
            {
                parts.begin(plain_bytes, start, &self.stats.last_key, cell.key());
            }
        }
        self.encoder.add(cell, KeyBefore { key: &self.stats.last_key, common });
        self.last_sequence = cell.sequence_id();
        self.stats.add(cell);
        Ok(())
    }

    /// Verifies that the cell may follow the previous one, and returns what is the same in both.
    fn check(&self, cell: CellRef<'_>) -> Result<Step> {
        let refuse = |why: &str| {
            let path = self.blocks.path();
            Err(Error::invalid(format!(
                "store file {path}: the cell {} {why}",
                describe(cell.key())
            )))
        };
        if cell.tags().len() > if self.options.include_tags { MAX_TAGS_BYTES } else { 0 } {
            return refuse("has more tags than the file has room for; set include_tags");
        }
        if cell.sequence_id() > i64::MAX.cast_unsigned() {
            return refuse("has a sequence id above 2^63");
        }
        if self.stats.cells == 0 {
            return Ok(Step::default());
        }
        let last = &self.stats.last_key;
        let before = KeyBefore::new(last, cell.key());
        if !before.has_same_family() && key_family(last) != cell.family() {
            return refuse(&format!("follows one of another family: {}", describe(last)));
        }
        let order = before.compare(cell.key(), self.options.comparator);
        let rises = self.options.include_sequence_ids && cell.sequence_id() > self.last_sequence;
        if order == Ordering::Greater || (order == Ordering::Equal && rises) {
            return refuse(&format!(
                "is out of order after {}; cells must be written in key order, newest first",
                describe(last)
            ));
        }
        Ok(Step {
            common: before.common,
            has_same_row: before.has_same_row(),
            repeats_key: order == Ordering::Equal,
        })
    }

    fn add_to_blooms(&mut self, cell: CellRef<'_>, has_same_row: bool) {
        let counts = !has_same_row || self.options.bloom == BloomType::RowCol;
        if let Some(bloom) = self.bloom.as_mut().filter(|_| counts) {
            let row = cell.row();
            match self.options.bloom {
                BloomType::RowCol => {
                    self.bloom_key.clear();
                    write_key(
                        &mut self.bloom_key,
                        row,
                        b"",
                        cell.qualifier(),
                        LATEST_TIMESTAMP,
                        TYPE_MAXIMUM,
                    );
                    bloom.add(&self.bloom_key);
                }
                BloomType::RowPrefix(length) => bloom.add(row.get(..length).unwrap_or(row)),
                BloomType::Row | BloomType::None => bloom.add(row),
            }
        }
        let deletes_family = matches!(
            cell.cell_type(),
            Some(CellType::DeleteFamily | CellType::DeleteFamilyVersion)
        );
        if let Some(bloom) = self.delete_family_bloom.as_mut().filter(|_| deletes_family) {
            bloom.add(cell.row());
        }
    }

    fn is_block_full(&self) -> bool {
        let sizes = self.encoder.sizes();
        match self.options.encoded_block_bytes {
            Some(bytes) => sizes.encoded >= bytes || sizes.plain >= MAX_ENCODED_PLAIN_BYTES,
            None => sizes.encoded.max(sizes.plain) >= self.options.block_bytes,
        }
    }

    fn finish_data_block(&mut self) -> Result<()> {
        let plain_bytes = self.encoder.sizes().plain;
        if plain_bytes == 0 {
            return Ok(());
        }
        if plain_bytes > MAX_PAYLOAD_BYTES {
            return Err(self.blocks.oversized(BlockKind::Data, plain_bytes));
        }
        let payload = self.encoder.finish();
        let boundaries = self.parts.as_ref().map(PartIndexWriter::boundaries).unwrap_or_default();
        let block = self.blocks.write_data(self.options.encoding, payload, &boundaries)?;
        let pointer = block.handle;
        if let Some(parts) = &mut self.parts {
            parts.finish_block(&block, plain_bytes);
        }
        self.encoder.clear();
        let key = match &self.last_before {
            Some(last) => index_key(last, &self.first_key, self.options.comparator),
            None => mem::take(&mut self.first_key),
        };
        self.index.add(IndexEntry { key, handle: pointer });
        self.last_before.get_or_insert_default().clone_from(&self.stats.last_key);
        self.first_data_offset.get_or_insert(pointer.offset);
        self.last_data_offset = Some(pointer.offset);
        Ok(())
    }

    /// Sets a property in the file info, such as [`info_key::BULK_LOAD_TIME`]. The writer's own
    /// properties are set when the file is finished and replace values set here.
    pub fn set_info(&mut self, key: &str, value: Vec<u8>) {
        self.info.set(key, value);
    }

    /// Returns the length of the file so far in bytes, including the current data block.
    pub fn bytes_written(&self) -> u64 {
        self.blocks.offset() + self.encoder.sizes().encoded as u64
    }

    /// Returns the number of cells so far.
    pub fn cells_written(&self) -> u64 {
        self.stats.cells
    }

    /// Finishes a store file and makes its bytes durable. Its name is durable once the caller has
    /// synced the directory.
    ///
    /// # Errors
    /// `Io`, `DiskFull`; the file is not usable in that case.
    pub fn finish(mut self, store: StoreFileInfo) -> Result<FileSummary> {
        self.stats.set_store_properties(&mut self.info);
        self.set_bloom_properties();
        if let Some(id) = store.max_sequence_id {
            self.info.set(info_key::MAX_SEQUENCE_ID, id.to_be_bytes());
        }
        if let Some(major) = store.major_compaction {
            self.info.set(info_key::MAJOR_COMPACTION, encode_flag(major));
        }
        if let Some(files) = store.compacted_from {
            self.info.set(info_key::COMPACTED_FROM, encode_compacted_from(&files));
        }
        self.finish_plain()
    }

    fn set_bloom_properties(&mut self) {
        let Some(last) = self.bloom.as_ref().and_then(BloomWriter::last_key) else { return };
        let name = match self.options.bloom {
            BloomType::RowCol => "ROWCOL",
            BloomType::RowPrefix(length) => {
                self.info.set(
                    info_key::BLOOM_PARAMETER,
                    i32::try_from(length).unwrap_or(i32::MAX).to_be_bytes(),
                );
                "ROWPREFIX_FIXED_LENGTH"
            }
            BloomType::Row | BloomType::None => "ROW",
        };
        self.info.set(info_key::BLOOM_TYPE, name);
        self.info.set(info_key::LAST_BLOOM_KEY, last);
    }

    /// Finishes a plain HFile, without the properties that only stores need. It should have been
    /// created with neither of the bloom filters.
    ///
    /// # Errors
    /// As [`Writer::finish`].
    pub fn finish_plain(mut self) -> Result<FileSummary> {
        self.finish_data_block()?;
        self.index.write_last_leaf(&mut self.blocks)?;
        for bloom in [&mut self.bloom, &mut self.delete_family_bloom].into_iter().flatten() {
            bloom.write_last(&mut self.blocks)?;
        }
        let mut meta_index = Vec::new();
        if let Some(parts) = &mut self.parts {
            parts.write_last(&mut self.blocks)?;
            write_root(&mut meta_index, parts.entries());
        }
        let index = self.index.finish(&mut self.blocks)?;
        self.blocks.write(BlockKind::RootIndex, &meta_index)?;
        match self.options.encoding {
            DataBlockEncoding::None => {}
            encoding => self.info.set(info_key::DATA_BLOCK_ENCODING, encoding.name()),
        }
        self.info.set(info_key::CREATED, self.options.created_ms.to_be_bytes());
        self.stats.set_file_properties(&mut self.info, self.layout);
        let file_info = self.blocks.write(BlockKind::FileInfo, &self.info.encode())?;
        for (bloom, kind) in [
            (&self.bloom, BlockKind::GeneralBloomMeta),
            (&self.delete_family_bloom, BlockKind::DeleteFamilyBloomMeta),
        ] {
            if let Some(bloom) = bloom {
                bloom.write_meta(&mut self.blocks, kind)?;
            }
        }
        let trailer =
            trailer(&self.options, &self.blocks, &index, file_info.offset, self.stats.cells);
        let trailer = Trailer {
            first_data_block_offset: self.first_data_offset,
            last_data_block_offset: self.last_data_offset,
            meta_index_count: self.parts.as_ref().map_or(0, PartIndexWriter::block_count),
            ..trailer
        };
        let bytes = self.blocks.finish(&trailer.encode())?;
        let time_range =
            (self.stats.cells > 0).then_some((self.stats.min_timestamp, self.stats.max_timestamp));
        Ok(FileSummary {
            bytes,
            cells: self.stats.cells,
            last_key: self.stats.last_key,
            time_range,
        })
    }
}

/// Returns a writer of the part index that a file with these options has, if its codec can compress
/// parts.
fn part_index_writer(options: &WriterOptions, layout: CellLayout) -> Option<PartIndexWriter> {
    let part_bytes = options.part_bytes.filter(|_| options.encoding.has_parts(layout))?;
    let is_plain =
        options.encoding == DataBlockEncoding::None && options.compression == Compression::None;
    let format = if is_plain { PartFormat::Plain } else { PartFormat::Stored };
    let order = PartOrder {
        comparator: options.comparator,
        has_keys_before: options.encoding.stores_differences(),
    };
    let lengths = PartLengths {
        plain: part_bytes.saturating_mul(options.compression.part_factor()),
        encoded: part_bytes.div_ceil(2),
    };
    Some(PartIndexWriter::new(lengths, format, order))
}

fn trailer(
    options: &WriterOptions,
    blocks: &BlockWriter,
    index: &IndexSummary,
    file_info_offset: u64,
    cells: u64,
) -> Trailer {
    Trailer {
        file_info_offset,
        load_on_open_offset: index.root_handle.offset,
        uncompressed_index_bytes: index.uncompressed_bytes,
        total_uncompressed_bytes: blocks.total_uncompressed_bytes() + TRAILER_BYTES as u64,
        data_index_count: u32::try_from(index.root_entries).unwrap_or(u32::MAX),
        meta_index_count: 0,
        entry_count: cells,
        index_levels: index.levels,
        first_data_block_offset: None,
        last_data_block_offset: None,
        comparator: options.comparator,
        compression: options.compression,
    }
}

/// Formats a key as human-readable text, as the shell prints it.
fn describe(key: &[u8]) -> String {
    use halite_types::cell::{key_qualifier, key_row, key_timestamp};
    let part = |bytes: &[u8]| bytes.escape_ascii().to_string();
    format!(
        "{}/{}:{}/{}",
        part(key_row(key)),
        part(key_family(key)),
        part(key_qualifier(key)),
        key_timestamp(key)
    )
}
