//! HFile version 3, HBase's store file: writing and reading it.
//!
//! ```text
//!  offset 0
//!  +--------------------------------------+
//!  | data block | data block | ...        |  scanned section: cells in key order, with
//!  | leaf index block, bloom chunk        |  leaf indexes and bloom chunks in between
//!  | ...                                  |
//!  +--------------------------------------+
//!  | meta blocks (none are written)       |  non-scanned section
//!  | intermediate index blocks            |
//!  +--------------------------------------+
//!  | root index of data                   |  load-on-open section: kept in memory
//!  | root index of meta (empty)           |  while the file is open
//!  | file info                            |
//!  | bloom meta, delete-family bloom meta |
//!  +--------------------------------------+
//!  | trailer, 4096 bytes                  |  where reading starts: at the last 4 bytes, the version
//!  +--------------------------------------+
//!
//!  block    header (33) | payload, maybe compressed | one checksum for each piece of header and payload
//!  cell     keyLength i32 | valueLength i32 | flat key | value [| tagsLength u16 | tags] [| sequence id vlong]
//! ```
//! `docs/formats/hfile.md` draws every byte. The subtle rule: an index key need not be the key of a cell. It only lies
//! above the last cell of the block before and not above the first of its own, so a search takes the last entry at or
//! below the key and may have to go on to the first cell of the next block.
//!
//! Nothing here reads the disk behind the caller's back: [`Reader`] and [`Cursor`] ask a [`BlockSource`], which may be a
//! cache, and may refuse.

mod block;
mod block_writer;
mod bloom;
mod bloom_writer;
mod cells;
mod checksum;
mod chunks;
mod comparator;
mod compress;
mod cursor;
mod encoding;
mod facts;
mod file_info;
mod hash;
mod index;
mod index_writer;
mod open_section;
mod options;
mod path;
mod reader;
mod summary;
mod trailer;
mod verify;
mod vint;
mod walk;
mod writer;

pub use block::{Block, BlockKind, BlockPointer};
pub use checksum::ChecksumType;
pub use comparator::Comparator;
pub use compress::Compression;
pub use cursor::Cursor;
pub use file_info::{FileInfo, info_key};
pub use hash::HashKind;
pub use options::{StoreFileInfo, WriterOptions, Written};
pub use reader::{BlockSource, DirectBlocks, Reader};
pub use trailer::Trailer;
pub use verify::Verified;
pub(crate) use verify::check_storable;
pub use walk::BlockSummary;
pub use writer::Writer;

use halite_types::Error;

/// Fewest bytes that may share a checksum: those of a block's header.
const MIN_BYTES_PER_CHECKSUM: u32 = 33;

/// The error for bytes that are not what was written. The caller puts file and place in front.
fn damaged(what: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("{what}; the file is damaged: restore it from a backup or a snapshot"))
}
