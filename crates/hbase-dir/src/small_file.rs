//! Listing of directories and reading of the small files that contain a message.

use std::fs::{self, File};
use std::io::{ErrorKind as Io, Read as _};
use std::path::{Path, PathBuf};

use halite_types::{Error, ErrorKind, Result};
use prost::{Message, decode_length_delimiter};

use crate::message_count::{Countable, has_more_messages};
use crate::messages::PBUF;

/// Maximum bytes of the manifest of a snapshot, which lists all regions and files: HBase's own
/// limit is 64 MiB by default (`snapshot.manifest.size.limit`).
const MAX_MANIFEST_BYTES: u64 = 256 << 20;
/// Maximum messages in a file. Each region, family and store file is one or two; a manifest of 64
/// MiB has less than this. Together they take some hundred megabytes of memory.
const MAX_MESSAGES: usize = 2_000_000;
/// Maximum bytes of other files that are read: of a table, a region, a reference or the files of a
/// family.
const MAX_BYTES: u64 = 16 << 20;

/// Entry of a directory.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) is_directory: bool,
    /// False for directories, pipes and devices.
    pub(crate) is_file: bool,
    pub(crate) bytes: u64,
}

/// Returns the error for a damaged or impossible file, with the fix unless `why` has one.
pub(crate) fn damaged(path: &Path, why: impl std::fmt::Display) -> Error {
    let why = why.to_string();
    let fix = if why.contains("; ") { "" } else { "; restore this file from the original" };
    Error::corrupt(format!("{}: {why}{fix}", path.display()))
}

/// Returns the error for what cannot be imported.
pub(crate) fn unsupported(path: &Path, why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Unsupported, format!("{}: {why}", path.display()))
}

/// Returns the entries of a directory by name; none if it does not exist. HBase ignores names that
/// begin with a dot or an underscore: `hidden` includes them.
///
/// # Errors
/// `Corrupt` for a name that is not UTF-8, or the file system's error.
pub(crate) fn list(directory: &Path, hidden: bool) -> Result<Vec<Entry>> {
    let failed = |error| Error::io(format!("listing {}", directory.display()), error);
    let listing = match fs::read_dir(directory) {
        Err(error) if error.kind() == Io::NotFound => return Ok(Vec::new()),
        listing => listing.map_err(failed)?,
    };
    let mut entries = Vec::new();
    for entry in listing {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        let name =
            entry.file_name().into_string().map_err(|_| damaged(&path, "the name is not UTF-8"))?;
        if !hidden && name.starts_with(['.', '_']) {
            continue;
        }
        let about = fs::metadata(&path)
            .map_err(|error| Error::io(format!("examining {}", path.display()), error))?;
        entries.push(Entry {
            name,
            path,
            is_directory: about.is_dir(),
            is_file: about.is_file(),
            bytes: about.len(),
        });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// Returns the length of a file; `None` if it does not exist.
///
/// # Errors
/// `Corrupt` for anything but a file, or the file system's error.
pub(crate) fn length(path: &Path) -> Result<Option<u64>> {
    match fs::metadata(path) {
        Ok(about) if about.is_file() => Ok(Some(about.len())),
        Ok(_) => Err(damaged(path, "this is not a file")),
        Err(error) if matches!(error.kind(), Io::NotFound | Io::NotADirectory) => Ok(None),
        Err(error) => Err(Error::io(format!("examining {}", path.display()), error)),
    }
}

/// Reads a small file as a whole; `None` if it does not exist.
///
/// # Errors
/// `Corrupt` if it is too long or not a file, or the file system's error.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    read_up_to(path, MAX_BYTES)
}

fn read_up_to(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>> {
    match length(path)? {
        None => return Ok(None),
        Some(bytes) if bytes > bytes_max => {
            return Err(damaged(path, format_args!("it has {bytes} bytes; at most {bytes_max}")));
        }
        Some(_) => {}
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(bytes_max).read_to_end(&mut bytes))
        .map_err(|error| Error::io(format!("reading {}", path.display()), error))?;
    Ok(Some(bytes))
}

/// Reads a file of a snapshot that contains only a message; `None` if it does not exist.
///
/// # Errors
/// As [`read`]; `Corrupt` if it is no such message.
pub(crate) fn read_bare<M: Message + Default + Countable>(path: &Path) -> Result<Option<M>> {
    let Some(bytes) = read_up_to(path, MAX_MANIFEST_BYTES)? else { return Ok(None) };
    if bytes.is_empty() {
        return Err(damaged(path, "this file is empty; restore it"));
    }
    decode(path, &bytes).map(Some)
}

/// Decodes a message with a limited number of messages in it.
fn decode<M: Message + Default + Countable>(path: &Path, bytes: &[u8]) -> Result<M> {
    if has_more_messages::<M>(bytes, MAX_MESSAGES) {
        return Err(damaged(
            path,
            format_args!(
                "it has more than {MAX_MESSAGES} messages: regions, families, attributes and \
                 files; restore this file if it is damaged, or divide the table in HBase"
            ),
        ));
    }
    M::decode(bytes).map_err(|why| undecodable(path, bytes.len(), &why))
}

/// Returns the error for a message that is cut or damaged; the decoder's words are about fields.
fn undecodable(path: &Path, bytes: usize, why: &prost::DecodeError) -> Error {
    damaged(path, format_args!("its {bytes} bytes are cut or damaged ({why}); restore this file"))
}

/// Reads a file that contains `PBUF` and a message.
///
/// # Errors
/// As [`read`]; `Corrupt` if it does not exist or is no such message.
pub(crate) fn read_pbuf<M: Message + Default + Countable>(path: &Path) -> Result<M> {
    decode(path, &body(path)?)
}

/// As [`read_pbuf`] with the message's length before it.
pub(crate) fn read_delimited_pbuf<M: Message + Default + Countable>(path: &Path) -> Result<M> {
    let body = body(path)?;
    let mut rest = &body[..];
    let message = decode_length_delimiter(&mut rest).ok().and_then(|length| rest.get(..length));
    let message = message.ok_or_else(|| damaged(path, "the message in it is cut"))?;
    decode(path, message)
}

fn body(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = read(path)?.ok_or_else(|| damaged(path, "this file is missing"))?;
    if !bytes.starts_with(PBUF) {
        return Err(damaged(path, "it does not start with PBUF"));
    }
    bytes.drain(..PBUF.len());
    Ok(bytes)
}
