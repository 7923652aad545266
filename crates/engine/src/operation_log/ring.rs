//! Files of the log: segments with a bound of their bytes, of which the oldest are deleted.
//!
//! ```text
//! halite/oplog/<number>    number: 20 decimal digits, rising
//! segment                  batches
//! batch                    length u32 and CRC-32C u32 of the following bytes, little-endian
//!                          bytes of the batch (halite-heat, operations/codec.rs)
//! ```
//!
//! Files, and not rows of the hidden table of the heat map: deleting a file gives its bytes back at
//! once, while those of a row stay until a compaction, so a table has no strict bound; and nothing
//! goes through the write-ahead log, where the sample would cost a part of the load that it
//! measures.
//!
//! Nothing is synced: after a crash the newest batches may be missing or torn, or deleted files
//! may be back. A segment is read up to its first damaged batch, and no process appends to a
//! segment of an earlier one. So a damaged log is a shorter log: it never prevents an opening.

use std::collections::VecDeque;
use std::sync::Arc;

use halite_heat::operations::{Call, OperationBatch};
use halite_types::{Error, Result};

use crate::catalog::layout;
use crate::env::{Env, FileWriter, list_if_exists};

/// Segments that the bound is divided into.
const SEGMENTS: u64 = 16;
/// Segments that are kept whatever their size: every opening begins one.
const MAX_SEGMENTS: usize = 64;
/// Bytes before those of a batch.
const HEAD_BYTES: u64 = HEAD_LEN as u64;
const HEAD_LEN: usize = 8;
/// Digits of the name of a segment.
const DIGITS: usize = 20;

/// Segments of the log.
#[derive(Default)]
pub(super) struct Ring {
    segments: VecDeque<Segment>,
    /// Writer of the last segment, if this process began it.
    writer: Option<Box<dyn FileWriter>>,
    next: u64,
    max_bytes: u64,
    is_restored: bool,
}

struct Segment {
    number: u64,
    bytes: u64,
    batches: Vec<Place>,
    /// Tables that were dropped, with the offset of the batch that says so.
    dropped: Vec<(Arc<str>, u64)>,
}

/// Place of a batch, and the times of its operations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    number: u64,
    offset: u64,
    bytes: u32,
    first_ms: i64,
    last_ms: i64,
}

/// Returns the number of a segment of this name.
fn number_of(name: &str) -> Option<u64> {
    (name.len() == DIGITS && name.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| name.parse().ok())?
}

fn path_of(number: u64) -> String {
    format!("{}/{number:020}", layout::OPERATION_LOG)
}

impl Place {
    /// Reads the batch; `None` if its file was deleted or is damaged.
    pub(super) fn read(&self, env: &Env) -> Option<OperationBatch> {
        let file = env.fs.open(&path_of(self.number)).ok()?;
        let mut bytes = vec![0; self.bytes as usize];
        file.read_exact_at(&mut bytes, self.offset).ok()?;
        OperationBatch::decode(&bytes).ok()
    }
}

impl Ring {
    /// Finds the segments of earlier processes, once. What cannot be read is left out.
    pub(super) fn restore(&mut self, env: &Env, max_bytes: u64) {
        if std::mem::replace(&mut self.is_restored, true) {
            return;
        }
        self.max_bytes = max_bytes;
        let entries = list_if_exists(env, layout::OPERATION_LOG).unwrap_or_default();
        let files = entries.iter().filter(|entry| !entry.is_dir);
        let mut numbers: Vec<u64> = files.filter_map(|entry| number_of(&entry.name)).collect();
        numbers.sort_unstable();
        self.next = numbers.last().map_or(0, |last| last.saturating_add(1));
        self.segments = numbers.into_iter().map(|number| Segment::restore(env, number)).collect();
        // The bound may be smaller than before, and deleted files may be back. What fails now is
        // tried again before the next write.
        let _ = self.make_room(env, 0);
    }

    /// Returns the largest batch that fits.
    pub(super) fn max_batch_bytes(&self) -> usize {
        let bytes = self.segment_bytes().saturating_sub(HEAD_BYTES);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    fn segment_bytes(&self) -> u64 {
        self.max_bytes / SEGMENTS
    }

    /// Appends a batch, after segments were deleted to make room for it.
    ///
    /// # Errors
    /// As the file system's. The next batch begins a segment.
    pub(super) fn append(&mut self, env: &Env, batch: &[u8], calls: &[Call]) -> Result<()> {
        let Ok(length) = u32::try_from(batch.len()) else { return Ok(()) };
        let bytes = u64::from(length) + HEAD_BYTES;
        if bytes > self.segment_bytes() {
            // An option may make segments too small for any batch.
            return Ok(());
        }
        let written = self.begin(env, bytes).and_then(|()| {
            let head = [length.to_le_bytes(), crc32c::crc32c(batch).to_le_bytes()].concat();
            let writer = self.writer.as_mut().expect("a segment was begun");
            writer.write_all(&[&head, batch].concat())
        });
        if let Err(error) = written {
            // Some of the bytes may be in the segment that was written: it counts as if all were.
            // Without a writer none was begun, and the earlier ones are as they were: else a disk
            // that refuses new files would end with no log at all.
            let was_begun = self.writer.take().is_some();
            if let Some(last) = self.segments.back_mut().filter(|_| was_begun) {
                last.bytes += bytes;
            }
            let path = format!("{}/{}", env.fs.root(), layout::OPERATION_LOG);
            return Err(Error::io(format!("writing the operation log in {path}"), error));
        }
        if let Some(last) = self.segments.back_mut() {
            let offset = last.bytes + HEAD_BYTES;
            last.push(Place::new(last.number, offset, length, calls), calls);
            last.bytes += bytes;
        }
        Ok(())
    }

    /// Makes the last segment one that has room for `bytes`, in the bound of all.
    fn begin(&mut self, env: &Env, bytes: u64) -> std::io::Result<()> {
        let is_full = |last: &Segment| last.bytes + bytes > self.segment_bytes();
        if self.writer.is_none() || self.segments.back().is_none_or(is_full) {
            self.writer = None;
            self.make_room(env, bytes)?;
            env.fs.create_dir_all(layout::OPERATION_LOG)?;
            self.writer = Some(env.fs.create(&path_of(self.next))?);
            self.segments.push_back(Segment {
                number: self.next,
                bytes: 0,
                batches: Vec::new(),
                dropped: Vec::new(),
            });
            self.next = self.next.saturating_add(1);
            return Ok(());
        }
        self.make_room(env, bytes)
    }

    /// Deletes the oldest segments until `bytes` more are in the bound.
    fn make_room(&mut self, env: &Env, bytes: u64) -> std::io::Result<()> {
        let mut total: u64 = self.segments.iter().map(|segment| segment.bytes).sum();
        while let Some(oldest) = self.segments.front()
            && (total + bytes > self.max_bytes || self.segments.len() >= MAX_SEGMENTS)
        {
            match env.fs.remove_file(&path_of(oldest.number)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            total -= oldest.bytes;
            self.segments.pop_front();
        }
        if self.segments.is_empty() {
            self.writer = None;
        }
        Ok(())
    }

    /// Returns the places of the batches that may have operations of a table in a span of time:
    /// none before the batch in which one of its name was dropped.
    pub(super) fn places(&self, table: &str, from_ms: i64, to_ms: i64) -> Vec<Place> {
        let dropped = self.segments.iter().rev().find_map(|segment| {
            let (_, offset) = segment.dropped.iter().rfind(|(name, _)| **name == *table)?;
            Some((segment.number, *offset))
        });
        let all = self.segments.iter().flat_map(|segment| &segment.batches);
        let of_table =
            all.filter(|place| dropped.is_none_or(|first| (place.number, place.offset) >= first));
        of_table
            .filter(|place| place.first_ms < to_ms && place.last_ms >= from_ms)
            .copied()
            .collect()
    }

    /// Returns the time of the oldest operation.
    pub(super) fn since_ms(&self) -> Option<i64> {
        let all = self.segments.iter().flat_map(|segment| &segment.batches);
        all.map(|place| place.first_ms).min().filter(|first| *first != i64::MAX)
    }
}

impl Segment {
    /// Finds the batches of a segment, up to the first that is damaged.
    fn restore(env: &Env, number: u64) -> Self {
        let mut segment = Self { number, bytes: 0, batches: Vec::new(), dropped: Vec::new() };
        let Ok(file) = env.fs.open(&path_of(number)) else { return segment };
        segment.bytes = file.len().unwrap_or(0);
        let mut offset = 0;
        while segment.bytes - offset >= HEAD_BYTES {
            let mut head = [0; HEAD_LEN];
            if file.read_exact_at(&mut head, offset).is_err() {
                break;
            }
            let [a, b, c, d, crc @ ..] = head;
            let (length, crc) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes(crc));
            let begin = offset + HEAD_BYTES;
            let Some(calls) = calls_at(&*file, begin, length, crc, segment.bytes) else { break };
            segment.push(Place::new(number, begin, length, &calls), &calls);
            offset = begin + u64::from(length);
        }
        segment
    }

    fn push(&mut self, place: Place, calls: &[Call]) {
        self.batches.push(place);
        let drops = calls.iter().filter(|call| call.is_drop());
        self.dropped.extend(drops.map(|call| (Arc::clone(&call.table), place.offset)));
    }
}

impl Place {
    fn new(number: u64, offset: u64, bytes: u32, calls: &[Call]) -> Self {
        let times = calls.iter().map(|call| call.time_ms);
        let first_ms = times.clone().min().unwrap_or(i64::MAX);
        Self { number, offset, bytes, first_ms, last_ms: times.max().unwrap_or(i64::MIN) }
    }
}

/// Reads the operations of the batch at an offset; `None` if it is damaged.
fn calls_at(
    file: &dyn crate::env::FileReader,
    offset: u64,
    bytes: u32,
    crc: u32,
    file_bytes: u64,
) -> Option<Vec<Call>> {
    let is_possible = bytes as usize <= halite_heat::operations::MAX_BATCH_BYTES
        && offset + u64::from(bytes) <= file_bytes;
    if !is_possible {
        return None;
    }
    let mut content = vec![0; bytes as usize];
    file.read_exact_at(&mut content, offset).ok()?;
    if crc32c::crc32c(&content) != crc {
        return None;
    }
    Some(OperationBatch::decode(&content).ok()?.calls)
}
