//! Options of a writer, store file properties, and the result of writing.

use halite_types::schema::family_attribute as fam;
use halite_types::{BloomType, FamilyDescriptor, TableDescriptor};

use super::Comparator;
use super::checksum::ChecksumType;
use super::codec::{CodecSettings, Compression};
use super::encoding::DataBlockEncoding;
use super::hash::HashKind;

/// Length of the parts of data blocks in a store's own files and in files for bulk loads, in bytes.
pub const DEFAULT_PART_BYTES: usize = 4 << 10;

/// Options of a writer. The defaults are HBase's.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in HBase")]
pub struct WriterOptions {
    /// Uncompressed bytes after which a data block ends, in the encoding and as a plain block.
    pub block_bytes: usize,
    /// Uncompressed bytes in the encoding after which a data block ends instead, whatever it would
    /// take as a plain block. `None` for `block_bytes`.
    pub encoded_block_bytes: Option<usize>,
    /// Uncompressed bytes after which an index block ends.
    pub index_chunk_bytes: usize,
    /// Number of entries up to which an index level needs no level above it.
    pub min_index_entries: usize,
    /// Type of the bloom filter.
    pub bloom: BloomType,
    /// Uncompressed bytes of a bloom chunk before folding; rounded up to a multiple of 128.
    pub bloom_chunk_bytes: usize,
    /// False positive rate of the bloom filter, as a fraction.
    pub bloom_error_rate: f32,
    /// Hash function of the bloom filter.
    pub bloom_hash: HashKind,
    /// `true` to write a separate filter of rows with family delete markers; never in addition to a
    /// ROWCOL filter.
    pub delete_family_bloom: bool,
    /// Compression of the blocks.
    pub compression: Compression,
    /// Settings of the compressor.
    pub codec_settings: CodecSettings,
    /// Encoding of the data blocks.
    pub encoding: DataBlockEncoding,
    /// Checksum type of the blocks.
    pub checksum: ChecksumType,
    /// Bytes that share one checksum; at least 33.
    pub bytes_per_checksum: u32,
    /// Plain bytes after which a part of a data block ends, to write a part index; `None` to write
    /// none, as HBase. With ZSTD parts are four times as long, because longer ones compress better.
    /// GZ files have none.
    pub part_bytes: Option<usize>,
    /// `true` if cells may have tags, which costs two bytes per cell.
    pub include_tags: bool,
    /// `true` to compress the tags of encoded data blocks; no effect on encodings that have no form
    /// for it.
    pub compress_tags: bool,
    /// `true` if cells keep their sequence ids.
    pub include_sequence_ids: bool,
    /// Creation time to record, in milliseconds.
    pub created_ms: i64,
    /// Order of the keys.
    pub comparator: Comparator,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            block_bytes: 64 << 10,
            encoded_block_bytes: None,
            index_chunk_bytes: 128 << 10,
            min_index_entries: 16,
            bloom: BloomType::Row,
            bloom_chunk_bytes: 128 << 10,
            bloom_error_rate: 0.01,
            bloom_hash: HashKind::Murmur,
            delete_family_bloom: true,
            compression: Compression::None,
            codec_settings: CodecSettings::default(),
            encoding: DataBlockEncoding::None,
            checksum: ChecksumType::Crc32c,
            bytes_per_checksum: 16 << 10,
            part_bytes: None,
            include_tags: false,
            compress_tags: true,
            include_sequence_ids: true,
            created_ms: 0,
            comparator: Comparator::Cell,
        }
    }
}

impl WriterOptions {
    /// Returns the options of a family's files for bulk loading: those of the store's own files,
    /// without sequence ids, since the cells count as written when they are loaded.
    ///
    /// A codec that cannot be written is replaced by [`Compression::None`], as in a flush.
    pub fn for_bulk_load(table: &TableDescriptor, family: &FamilyDescriptor) -> Self {
        Self {
            block_bytes: family.block_size_bytes() as usize,
            encoded_block_bytes: encoded_block_bytes(table, family),
            bloom: family.bloom_filter(),
            compression: Compression::for_family(&family.compression()),
            codec_settings: CodecSettings::new(table, family).unwrap_or_default(),
            encoding: DataBlockEncoding::for_family(family),
            compress_tags: family.compress_tags(),
            part_bytes: Some(DEFAULT_PART_BYTES),
            include_sequence_ids: false,
            ..Self::default()
        }
    }
}

/// Returns the bytes in the encoding after which a block of a family ends, if these decide alone.
pub(crate) fn encoded_block_bytes(
    table: &TableDescriptor,
    family: &FamilyDescriptor,
) -> Option<usize> {
    let ratio: f64 = table.family_setting(family, fam::ENCODED_BLOCK_RATIO)?.trim().parse().ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "as HBase does; a cast saturates"
    )]
    let bytes = (f64::from(family.block_size_bytes()) * ratio) as usize;
    (bytes > 0).then_some(bytes)
}

/// Properties of a store file.
#[derive(Clone, Debug, Default)]
pub struct StoreFileInfo {
    /// Sequence id of the file: everything up to it that belongs here is in this or an older file.
    /// `None` for a file for bulk loading.
    pub max_sequence_id: Option<u64>,
    /// `true` for a major compaction; `None` omits the property, as bulk output does.
    pub major_compaction: Option<bool>,
    /// Names of the files merged into it; `None` omits the property.
    pub compacted_from: Option<Vec<String>>,
}

impl StoreFileInfo {
    /// Returns the properties of a flush.
    pub fn flushed(max_sequence_id: u64) -> Self {
        Self {
            max_sequence_id: Some(max_sequence_id),
            major_compaction: Some(false),
            compacted_from: Some(Vec::new()),
        }
    }

    /// Returns the properties of a compaction.
    pub fn compacted(max_sequence_id: u64, major: bool, from: Vec<String>) -> Self {
        Self {
            max_sequence_id: Some(max_sequence_id),
            major_compaction: Some(major),
            compacted_from: Some(from),
        }
    }
}

/// Summary of a written file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSummary {
    /// Length in bytes.
    pub bytes: u64,
    /// Number of cells.
    pub cells: u64,
    /// Flat key of the last cell; empty if there is none.
    pub last_key: Vec<u8>,
    /// Smallest and largest timestamp; `None` if there is no cell.
    pub time_range: Option<(i64, i64)>,
}
