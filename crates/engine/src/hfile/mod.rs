//! HFile version 3, HBase's store file: writer and reader.
//!
//! ```text
//!  offset 0
//!  +--------------------------------------+
//!  | data block | data block | ...        |  scanned section: cells in key order, with
//!  | leaf index block, bloom chunk,       |  leaf indexes, bloom chunks and part indexes
//!  | meta block (part index), ...         |  in between
//!  +--------------------------------------+
//!  | intermediate index blocks            |  non-scanned section
//!  +--------------------------------------+
//!  | root index of data                   |  load-on-open section: kept in memory
//!  | root index of meta                   |  while the file is open
//!  | file info                            |
//!  | bloom meta, delete-family bloom meta |
//!  +--------------------------------------+
//!  | trailer, 4096 bytes                  |  read first: its last 4 bytes are the version
//!  +--------------------------------------+
//!
//!  block    header (33) | payload, optionally compressed | one checksum for each part of header and payload
//!  cell     keyLength i32 | valueLength i32 | flat key | value [| tagsLength u16 | tags] [| sequence id vlong]
//! ```
//! `docs/formats/hfile.md` describes every byte. One subtle rule: an index key need not be the key
//! of a cell. It is after the last cell of the previous block and not after the first of its own. A
//! search therefore takes the last entry at or before the key and may have to continue to the first
//! cell of the next block.
//!
//! No code here reads the disk without the caller's control: [`Reader`] and [`Cursor`] request
//! blocks from a [`BlockSource`], which may be a cache, and may reject the request.

mod block;
mod block_header;
mod block_iter;
mod block_writer;
mod bloom;
mod bloom_writer;
mod cell_layout;
mod cell_map;
mod cell_span;
mod cells;
mod checksum;
mod codec;
mod comparator;
pub mod cost;
mod cursor;
mod data_cells;
mod encoding;
mod file_info;
mod hash;
mod index;
mod index_in_memory;
mod index_path;
mod index_writer;
mod load_on_open;
mod options;
mod part_index;
mod part_index_writer;
mod properties;
mod read_all;
mod reader;
mod stats;
mod trailer;
mod verify;
mod vint;
mod writer;

pub use block::Block;
pub use block_header::{BlockHandle, BlockKind};
pub use block_iter::BlockSummary;
pub use checksum::ChecksumType;
pub use codec::{CodecSettings, Compression};
pub use comparator::Comparator;
pub use cursor::Cursor;
pub(crate) use data_cells::Validation;
pub use encoding::DataBlockEncoding;
pub use file_info::{FileInfo, info_key};
pub use hash::HashKind;
pub use index_in_memory::IndexInMemory;
pub(crate) use load_on_open::read_bytes;
pub(crate) use options::encoded_block_bytes;
pub use options::{DEFAULT_PART_BYTES, FileSummary, StoreFileInfo, WriterOptions};
pub use part_index::PartChoice;
pub use reader::{BlockOrPart, BlockSource, DirectBlocks, PartsWith, Reader, is_hfile};
pub use trailer::Trailer;
pub use verify::VerifyReport;
pub(crate) use verify::check_storable;
pub use writer::Writer;

use halite_types::Error;

/// Minimum bytes that may share a checksum: those of a block's header.
const MIN_BYTES_PER_CHECKSUM: u32 = 33;

/// Returns the error for damaged bytes. The caller prepends file and position.
fn damaged(what: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("{what}; the file is damaged: restore it from a backup or a snapshot"))
}
