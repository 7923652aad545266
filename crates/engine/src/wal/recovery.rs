//! Reading the log back after the store was not closed.

use std::collections::{BTreeMap, VecDeque};

use halite_types::{Error, ErrorKind, Result};

use super::format::{HEADER_BYTES, HeaderError, SegmentEnd, SegmentHeader, Write, read_segment};
use super::{DIRECTORY, Nonce, Segment, segment_path};
use crate::env::Env;

/// No more nonces are kept than this, the newest: sixteen megabytes.
const NONCES_MAX: usize = 1 << 20;

/// What the log held.
#[derive(Default)]
pub(crate) struct Recovered {
    /// The segments that are still there, oldest first.
    pub(crate) segments: Vec<Segment>,
    /// The number of the next segment.
    pub(crate) next_number: u64,
    /// Length in bytes of the last segment.
    pub(crate) last_bytes: u64,
    /// Writes read.
    pub(crate) writes: u64,
    /// The nonces of the newest of them, newest first.
    pub(crate) nonces: VecDeque<Nonce>,
    /// Bytes of a torn end that were cut off.
    pub(crate) cut_bytes: u64,
}

/// Reads all segments in order and hands their writes to `apply`. A torn end of the last one is cut off.
///
/// # Errors
/// `Corrupt` for damage to anything that had been acknowledged, `NewerFormat`, or whatever `apply` returns.
pub(crate) fn recover(env: &Env, store_id: [u8; 16], mut apply: impl FnMut(Write<'_>) -> Result<()>) -> Result<Recovered> {
    let root = env.fs.root();
    let mut numbers = list_segments(env)?;
    numbers.sort_unstable();
    let mut recovered = Recovered { next_number: 1, ..Recovered::default() };
    for (i, &number) in numbers.iter().enumerate() {
        let path = segment_path(number);
        let name = format!("{root}/{path}");
        let is_last = i + 1 == numbers.len();
        let bytes = read_whole(env, &path)?;
        recovered.next_number = number + 1;
        let header = match SegmentHeader::decode(&bytes) {
            Ok(header) => header,
            // The crash came before the first write to this segment was acknowledged.
            Err(HeaderError::Short | HeaderError::Damaged) if is_last && bytes.len() <= HEADER_BYTES => {
                remove(env, &path)?;
                recovered.next_number = number;
                break;
            }
            Err(HeaderError::Version(version)) => {
                let text = format!(
                    "log segment {name} has format version {version}; this program reads versions up to {}; open the store with a newer one",
                    super::format::VERSION
                );
                return Err(Error::new(ErrorKind::NewerFormat, text));
            }
            Err(_) => return Err(damaged(&name, 0, "its header is damaged")),
        };
        check_header(&header, store_id, number, &name)?;
        let follows = i > 0 && numbers[i - 1] + 1 == number;
        if follows && header.previous_bytes != recovered.last_bytes {
            let text = format!("it has {} bytes and should have {}", recovered.last_bytes, header.previous_bytes);
            return Err(damaged(&format!("{root}/{}", segment_path(numbers[i - 1])), recovered.last_bytes.min(header.previous_bytes), &text));
        }
        let mut regions = BTreeMap::new();
        let end = read_segment(&bytes, |write| {
            regions.insert(write.region, write.sequence);
            recovered.writes += 1;
            if let Some(nonce) = write.nonce {
                recovered.nonces.truncate(NONCES_MAX - 1);
                recovered.nonces.push_front(nonce);
            }
            apply(write)
        })?;
        let valid = match end {
            SegmentEnd::Clean => {
                // The process may have ended without the machine: what it wrote may not be on the disk yet, and from
                // here on it is read, flushed and counted on.
                if is_last {
                    sync(env, &path)?;
                }
                bytes.len()
            }
            SegmentEnd::Torn(at) if is_last => {
                cut(env, &path, at)?;
                recovered.cut_bytes = without_zeros(&bytes[at..]) as u64;
                at
            }
            SegmentEnd::Torn(at) => return Err(damaged(&name, at as u64, "a record is damaged and later segments follow")),
            SegmentEnd::Damaged(at, why) => return Err(damaged(&name, at as u64, &format!("a record that had been synced is damaged ({why:?})"))),
        };
        recovered.last_bytes = valid as u64;
        recovered.segments.push(Segment { number, bytes: valid as u64, regions });
    }
    Ok(recovered)
}

/// The length of a torn end without the room that was reserved behind it, which is zeros.
fn without_zeros(end: &[u8]) -> usize {
    end.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)
}

fn check_header(header: &SegmentHeader, store_id: [u8; 16], number: u64, name: &str) -> Result<()> {
    if header.store_id != store_id {
        return Err(Error::corrupt(format!("log segment {name} belongs to another store; move it out of this directory")));
    }
    if header.number != number {
        return Err(Error::corrupt(format!("log segment {name} calls itself number {}; give it back its own name", header.number)));
    }
    Ok(())
}

fn damaged(name: &str, at: u64, why: &str) -> Error {
    Error::corrupt(format!("log segment {name}: damaged at byte {at}: {why}; restore the file from a copy; nothing has been changed"))
}

fn list_segments(env: &Env) -> Result<Vec<u64>> {
    let entries = env.fs.list(DIRECTORY).map_err(|error| Error::io(format!("listing {}/{DIRECTORY}", env.fs.root()), error))?;
    let mut numbers = Vec::new();
    for entry in entries {
        if entry.name.starts_with('.') {
            continue;
        }
        match entry.name.strip_suffix(".wal").and_then(|number| number.parse().ok()) {
            Some(number) if !entry.is_dir => numbers.push(number),
            _ => {
                let text = format!("{}/{DIRECTORY}/{} is not a log segment; move it out of the store's directory", env.fs.root(), entry.name);
                return Err(Error::corrupt(text));
            }
        }
    }
    Ok(numbers)
}

fn read_whole(env: &Env, path: &str) -> Result<Vec<u8>> {
    let failed = |error| Error::io(format!("reading log segment {}/{path}", env.fs.root()), error);
    let file = env.fs.open(path).map_err(failed)?;
    let length = usize::try_from(file.len().map_err(failed)?).map_err(|_| Error::corrupt(format!("log segment {path} is larger than memory")))?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0).map_err(failed)?;
    Ok(bytes)
}

fn cut(env: &Env, path: &str, bytes: usize) -> Result<()> {
    let failed = |error| Error::io(format!("cutting the torn end off log segment {}/{path}", env.fs.root()), error);
    let mut file = env.fs.append(path).map_err(failed)?;
    file.truncate(bytes as u64).map_err(failed)?;
    file.sync().map_err(failed)
}

fn sync(env: &Env, path: &str) -> Result<()> {
    let failed = |error| Error::io(format!("syncing log segment {}/{path}", env.fs.root()), error);
    env.fs.append(path).map_err(failed)?.sync().map_err(failed)?;
    env.fs.sync_dir(DIRECTORY).map_err(failed)
}

fn remove(env: &Env, path: &str) -> Result<()> {
    env.fs.remove_file(path).map_err(|error| Error::io(format!("removing the empty log segment {}/{path}", env.fs.root()), error))
}
