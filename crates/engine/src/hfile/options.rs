//! How a file is written, what a store notes in it, and what came of it.

use halite_types::BloomType;

use super::Comparator;
use super::checksum::ChecksumType;
use super::compress::Compression;
use super::hash::HashKind;

/// How a file is written. The default is HBase's.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// A data block ends with the cell that brings it to so many uncompressed bytes.
    pub block_bytes: usize,
    /// An index block ends with the entry that brings it to so many uncompressed bytes.
    pub index_chunk_bytes: usize,
    /// Fewer entries than these need no level above them.
    pub min_index_entries: usize,
    /// The bloom filter.
    pub bloom: BloomType,
    /// Uncompressed bytes of a bloom chunk before folding; rounded up to a multiple of 128.
    pub bloom_chunk_bytes: usize,
    /// Wrong answers of the bloom filter as a fraction.
    pub bloom_error_rate: f32,
    /// The bloom filter's hash function.
    pub bloom_hash: HashKind,
    /// Whether rows with family delete markers get a filter of their own; never beside a ROWCOL filter.
    pub delete_family_bloom: bool,
    /// How blocks are compressed.
    pub compression: Compression,
    /// How blocks are summed.
    pub checksum: ChecksumType,
    /// Bytes that share one checksum; at least 33.
    pub bytes_per_checksum: u32,
    /// Whether cells may have tags. It costs two bytes a cell.
    pub include_tags: bool,
    /// Whether cells keep their sequence ids.
    pub include_sequence_ids: bool,
    /// The time to note as that of writing, in milliseconds.
    pub created_ms: i64,
    /// The order of the keys.
    pub comparator: Comparator,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            block_bytes: 64 << 10,
            index_chunk_bytes: 128 << 10,
            min_index_entries: 16,
            bloom: BloomType::Row,
            bloom_chunk_bytes: 128 << 10,
            bloom_error_rate: 0.01,
            bloom_hash: HashKind::Murmur,
            delete_family_bloom: true,
            compression: Compression::None,
            checksum: ChecksumType::Crc32c,
            bytes_per_checksum: 16 << 10,
            include_tags: false,
            include_sequence_ids: true,
            created_ms: 0,
            comparator: Comparator::Cell,
        }
    }
}

/// What makes a file a store file.
#[derive(Clone, Debug, Default)]
pub struct StoreFileInfo {
    /// The sequence id of the file: everything up to it that belongs here is in this or an older file. `None` for a
    /// file that is made for bulk loading.
    pub max_sequence_id: Option<u64>,
    /// Whether a major compaction writes it; `None` leaves the fact out, as bulk output does.
    pub major_compaction: Option<bool>,
    /// The names of the files merged into it; `None` leaves the fact out.
    pub compacted_from: Option<Vec<String>>,
}

impl StoreFileInfo {
    /// What a flush notes.
    pub fn flushed(max_sequence_id: u64) -> Self {
        Self { max_sequence_id: Some(max_sequence_id), major_compaction: Some(false), compacted_from: Some(Vec::new()) }
    }

    /// What a compaction notes.
    pub fn compacted(max_sequence_id: u64, major: bool, from: Vec<String>) -> Self {
        Self { max_sequence_id: Some(max_sequence_id), major_compaction: Some(major), compacted_from: Some(from) }
    }
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its length in bytes.
    pub bytes: u64,
    /// Number of cells.
    pub cells: u64,
    /// The flat key of the last cell; empty if there is none.
    pub last_key: Vec<u8>,
    /// The smallest and the largest timestamp; `None` if there is no cell.
    pub time_range: Option<(i64, i64)>,
}
