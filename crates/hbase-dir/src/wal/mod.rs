//! Logs of a region server (WALs), entry by entry.
//!
//! ```text
//! "PWAL" | length varint | header message | entry ... | [ trailer message | its length i32 | "LAWP" ]
//! entry     length varint | key message | as many cells as the key says
//! cell      total length i32 | key length i32 | value length i32 | key | value | [ u16 length | tags ]
//! ```
//! In a compressed log, names and rows are items of dictionaries, and a cell has another form
//! (`cells.rs`); the dictionaries grow over the whole file (`dictionary.rs`).
//!
//! Entries have no checksum. A log of a server that crashed has no trailer, and may end inside its
//! last entry, whose writer then got no acknowledgment: it is left out, as HBase does. Inside a log
//! with a trailer, an incomplete entry is damage.
//!
//! A damaged length has the same appearance as a log that ends early, and HBase takes it as such
//! (`ProtobufWALStreamReader` has an end of file for both, after which `WALSplitter` continues with
//! what it has read). Here the rest is searched for entries, so that the loss can be told.

mod cells;
mod dictionary;
mod input;
mod key;
mod marker;
mod search;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use halite_types::{Cells, Error, Result};

use self::cells::CellDecoder;
pub use self::cells::DecompressValue;
use self::input::{Fault, Input, Parsed};
use self::key::{KeyDecoder, WalHeaderMessage};
pub use self::marker::CompactionMarker;
use self::search::{LogForm, find_entry};
use crate::small_file::{damaged, unsupported};

/// First bytes of a log.
const MAGIC: &[u8; 4] = b"PWAL";
/// What follows the first byte of an empty trailer, which is the only one that HBase writes. HBase,
/// too, takes a part of it as the end of a log (`AbstractProtobufWALReader.isWALTrailer`).
const EMPTY_TRAILER_REST: &[u8] = b"\0\0\0LAWP";
/// Maximum bytes of a header.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// Entry of a log: cells that a region applied together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalEntry {
    /// Encoded name of the region.
    pub region: Vec<u8>,
    /// Name of its table, with the namespace unless that is the default one.
    pub table: Vec<u8>,
    /// Sequence id of all cells.
    pub sequence: u64,
    /// Time of the write in milliseconds.
    pub written_ms: u64,
    /// Cells in the order of the log, without sequence ids.
    pub cells: Cells,
}

/// How a log ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalEnd {
    /// With a trailer: the server closed it.
    Closed,
    /// After a whole entry, without a trailer, or inside it.
    Open,
    /// Inside an entry, which is left out.
    Incomplete {
        /// Offset of that entry.
        offset: u64,
        /// Bytes that follow.
        bytes: u64,
        /// Offset of an entry among these bytes: the log is damaged, and not only cut.
        further_entry: Option<u64>,
    },
}

/// Reader of one log, in memory that its largest entry and its dictionaries take.
pub struct WalReader<R> {
    input: Input<R>,
    path: PathBuf,
    keys: KeyDecoder,
    cells: CellDecoder,
    form: LogForm,
    has_trailer: bool,
    end: Option<WalEnd>,
}

impl WalReader<File> {
    /// Opens a log.
    ///
    /// # Errors
    /// As [`WalReader::new`].
    pub fn open(path: &Path, decompress: DecompressValue) -> Result<Self> {
        let file = File::open(path)
            .map_err(|error| Error::io(format!("opening {}", path.display()), error))?;
        Self::new(file, path, decompress)
    }
}

impl<R: Read + Seek> WalReader<R> {
    /// Reads the header of a log; `path` is its name in errors. A log that ends inside its header
    /// has no entries.
    ///
    /// # Errors
    /// `Corrupt`; `Unsupported` for an encrypted log, and for cells of a foreign format; the file
    /// system's error.
    pub fn new(input: R, path: &Path, decompress: DecompressValue) -> Result<Self> {
        let failed = |error| Error::io(format!("reading {}", path.display()), error);
        let (mut input, has_trailer) = Input::new(input).map_err(failed)?;
        let (header, end) = match read_header(&mut input) {
            Ok(header) => (header, None),
            Err(Fault::Incomplete) if !has_trailer => {
                let end = incomplete_at(&mut input, 0, LogForm::Unknown).map_err(failed)?;
                (WalHeaderMessage::default(), Some(end))
            }
            Err(fault) => return Err(fault.error(path, 0)),
        };
        header.check().map_err(|why| unsupported(path, why))?;
        let is_compressed = header.has_compression();
        let decompress = header.value_codec().map(|codec| (codec, decompress));
        Ok(Self {
            input,
            path: path.to_owned(),
            keys: KeyDecoder::new(is_compressed),
            cells: CellDecoder::new(is_compressed, header.has_compressed_tags(), decompress),
            form: if is_compressed { LogForm::Compressed } else { LogForm::Plain },
            has_trailer,
            end,
        })
    }

    /// Returns the next entry; `None` at the end.
    ///
    /// # Errors
    /// `Corrupt`, with the path and the offset of the entry, or the file system's error. No
    /// further entry can be read then.
    pub fn next_entry(&mut self) -> Result<Option<WalEntry>> {
        if self.end.is_some() {
            return Ok(None);
        }
        let offset = self.input.offset();
        if offset == self.input.end() {
            self.end = Some(if self.has_trailer { WalEnd::Closed } else { WalEnd::Open });
            return Ok(None);
        }
        match self.read_entry() {
            Ok(Some(entry)) => Ok(Some(entry)),
            Ok(None) => {
                self.end = Some(WalEnd::Open);
                Ok(None)
            }
            Err(Fault::Incomplete) if !self.has_trailer => {
                let end = incomplete_at(&mut self.input, offset, self.form);
                self.end = Some(*end.as_ref().unwrap_or(&WalEnd::Open));
                end.map(|_| None).map_err(|error| Fault::Io(error).error(&self.path, offset))
            }
            Err(fault) => {
                let error = fault.error(&self.path, offset);
                self.end = Some(WalEnd::Open);
                Err(error)
            }
        }
    }

    /// Returns how the log ended, once [`WalReader::next_entry`] has returned `None`.
    pub fn end(&self) -> Option<WalEnd> {
        self.end
    }

    /// Returns `None` for the begin of a trailer that was not written to its end.
    fn read_entry(&mut self) -> Parsed<Option<WalEntry>> {
        let Some(key) = self.keys.read(&mut self.input)? else {
            let left = self.input.end().saturating_sub(self.input.offset());
            let next = self.input.read_bytes(left.min(EMPTY_TRAILER_REST.len() as u64))?;
            let is_cut = next.len() < EMPTY_TRAILER_REST.len();
            if !self.has_trailer && is_cut && EMPTY_TRAILER_REST.starts_with(&next) {
                return Ok(None);
            }
            // Disks that lost power leave zeros where data was to be.
            let is_zero = next.iter().all(|byte| *byte == 0);
            let is_end = is_zero && self.input.is_zero_to_the_end()?;
            return Err(if is_end {
                Fault::Incomplete
            } else {
                Fault::damaged("an entry has no key")
            });
        };
        let cells = self.cells.read(&mut self.input, key.cells, &mut self.keys.families)?;
        let key::Key { region, table, sequence, written_ms, .. } = key;
        Ok(Some(WalEntry { region, table, sequence, written_ms, cells }))
    }
}

/// Returns the end of a log without a trailer that cannot be read from an offset on.
fn incomplete_at<R: Read + Seek>(
    input: &mut Input<R>,
    offset: u64,
    form: LogForm,
) -> io::Result<WalEnd> {
    let after = offset.saturating_add(1);
    let further = find_entry(input.rest(after)?, form)?;
    Ok(WalEnd::Incomplete {
        offset,
        bytes: input.end().saturating_sub(offset),
        further_entry: further.map(|before| after.saturating_add(before)),
    })
}

fn read_header<R: Read>(input: &mut Input<R>) -> Parsed<WalHeaderMessage> {
    let mut magic = Vec::new();
    input.read_into(&mut magic, input.end().min(MAGIC.len() as u64))?;
    if !MAGIC.starts_with(&magic) {
        return Err(Fault::damaged("it does not start with PWAL: this is not a log of HBase"));
    }
    if magic.len() < MAGIC.len() {
        return Err(Fault::Incomplete);
    }
    input.read_message(MAX_HEADER_BYTES, "header")
}

impl Fault {
    /// Returns the error for a fault in the entry at an offset.
    fn error(self, path: &Path, offset: u64) -> Error {
        let why = match self {
            Self::Io(error) => {
                return Error::io(format!("reading {}", path.display()), error);
            }
            Self::Incomplete => "it ends before its last entry does".to_owned(),
            Self::Damaged(why) => why,
        };
        damaged(
            path,
            format_args!(
                "the log's entry at byte {offset}: {why}; the log is damaged: restore it, or \
                 import without the logs, and without the cells that are in no store file"
            ),
        )
    }
}
