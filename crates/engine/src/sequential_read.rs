//! Reads of the blocks of a file one after another: read-ahead for scans, and reads in large steps
//! that leave the page cache as it was for compactions.

use std::sync::atomic::{AtomicU64, Ordering};

use halite_types::{Error, Result};

use crate::env::{FileReader, PADDING_BYTES};
use crate::hfile::{BlockHandle, Reader};
use crate::ranked_lock::RankedMutex;

/// Bytes that a scan reads ahead at first, and at most. It doubles with each block.
const MIN_AHEAD_BYTES: u64 = 128 << 10;
const MAX_AHEAD_BYTES: u64 = 2 << 20;

/// Bytes of index and filter blocks between two data blocks that follow one another.
const MAX_GAP_BYTES: u64 = 1 << 20;

/// Bytes that a compaction reads at once.
const STEP_BYTES: usize = 256 << 10;

/// Read-ahead of a scan of one file: after two blocks that follow one another, the system reads
/// the next ones in advance.
///
/// Relaxed atomics: one scan uses it, and a lost update only reads too much or too little ahead.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    /// End of the last block read from the disk; 0 before the first.
    last_end: AtomicU64,
    /// Bytes ahead; 0 until two blocks followed one another.
    window: AtomicU64,
    /// End of what was requested.
    requested: AtomicU64,
}

impl ReadAhead {
    /// Notes that the data block at `pointer` is about to be read from the disk.
    pub(crate) fn before_block(&self, reader: &Reader, pointer: BlockHandle) {
        if let Some((start, bytes)) = self.next_request(pointer) {
            reader.will_need(start, bytes);
        }
    }

    /// Returns the offset and length of what is to be read ahead now.
    fn next_request(&self, pointer: BlockHandle) -> Option<(u64, u64)> {
        let load = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let last_end = load(&self.last_end);
        let end = pointer.offset.saturating_add(u64::from(pointer.on_disk_bytes));
        self.last_end.store(end, Ordering::Relaxed);
        let follows = last_end > 0
            && pointer.offset.checked_sub(last_end).is_some_and(|gap| gap <= MAX_GAP_BYTES);
        if !follows {
            self.window.store(0, Ordering::Relaxed);
            self.requested.store(end, Ordering::Relaxed);
            return None;
        }
        let window = (load(&self.window) * 2).clamp(MIN_AHEAD_BYTES, MAX_AHEAD_BYTES);
        let requested = load(&self.requested).max(end);
        // A request for every block would cost a system call each.
        if requested - end > window / 2 {
            return None;
        }
        self.window.store(window, Ordering::Relaxed);
        self.requested.store(requested + window, Ordering::Relaxed);
        Some((requested, window))
    }
}

/// Bytes of a file that a compaction has read and not used up.
#[derive(Debug, Default)]
pub(crate) struct StepReader {
    step: RankedMutex<Step>,
}

#[derive(Debug, Default)]
struct Step {
    start: u64,
    bytes: Vec<u8>,
}

impl StepReader {
    /// Returns `count` bytes at `offset` of a file, and reads the bytes after them as well unless
    /// they are in memory.
    ///
    /// # Errors
    /// `Io`
    pub(crate) fn read(&self, file: &dyn FileReader, offset: u64, count: usize) -> Result<Vec<u8>> {
        let mut step = self.step.lock();
        if let Some(bytes) = step.get(offset, count) {
            return Ok(copy(bytes));
        }
        let failed = |error| Error::io("reading", error);
        let rest = file.len().map_err(failed)?.saturating_sub(offset);
        let length = STEP_BYTES.min(usize::try_from(rest).unwrap_or(usize::MAX));
        if length < count {
            // A block larger than a step.
            let mut bytes = Vec::with_capacity(count.saturating_add(PADDING_BYTES));
            bytes.resize(count, 0);
            file.read_once_at(&mut bytes, offset).map_err(failed)?;
            return Ok(bytes);
        }
        step.bytes.resize(length, 0);
        // Until the read has succeeded, the step has no bytes.
        let mut bytes = std::mem::take(&mut step.bytes);
        file.read_once_at(&mut bytes, offset).map_err(failed)?;
        *step = Step { start: offset, bytes };
        Ok(copy(&step.bytes[..count]))
    }
}

/// Returns a copy with a free capacity as [`FileReader::read_at`] has.
fn copy(bytes: &[u8]) -> Vec<u8> {
    let mut copy = Vec::with_capacity(bytes.len().saturating_add(PADDING_BYTES));
    copy.extend_from_slice(bytes);
    copy
}

impl Step {
    fn get(&self, offset: u64, count: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.bytes.get(start..start.checked_add(count)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    struct Counting {
        bytes: Vec<u8>,
        reads: AtomicUsize,
    }

    impl FileReader for Counting {
        fn len(&self) -> std::io::Result<u64> {
            Ok(self.bytes.len() as u64)
        }

        fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
            self.reads.fetch_add(1, Ordering::Relaxed);
            let start = usize::try_from(offset).unwrap();
            let found = self.bytes.get(start..start + buffer.len());
            buffer.copy_from_slice(found.ok_or(std::io::ErrorKind::UnexpectedEof)?);
            Ok(())
        }
    }

    fn block(offset: u64, on_disk_bytes: u32) -> BlockHandle {
        BlockHandle { offset, on_disk_bytes }
    }

    #[test]
    fn blocks_of_a_scan_are_requested_once_ahead_of_it() {
        let ahead = ReadAhead::default();
        let mut requested = Vec::new();
        let block_bytes = 65_600;
        for number in 0..200 {
            let pointer = block(u64::from(number * block_bytes), block_bytes);
            requested.extend(ahead.next_request(pointer).map(|request| (number, request)));
        }
        let (first, (start, bytes)) = requested[0];
        assert_eq!((first, start, bytes), (1, u64::from(2 * block_bytes), MIN_AHEAD_BYTES));
        for pair in requested.windows(2) {
            let ((_, (start, bytes)), (number, (next, next_bytes))) = (pair[0], pair[1]);
            assert_eq!(start + bytes, next, "nothing is skipped or requested twice");
            assert!(next_bytes <= MAX_AHEAD_BYTES);
            let read = u64::from((number + 1) * block_bytes);
            assert!(next >= read, "a request is ahead of the scan");
        }
        assert!(requested.len() < 20, "requests grow: {requested:?}");
    }

    #[test]
    fn random_reads_request_nothing() {
        let ahead = ReadAhead::default();
        for offset in [0, 50 << 20, 7 << 20, 90 << 20, 3 << 20, 200 << 20] {
            assert_eq!(ahead.next_request(block(offset, 65_000)), None);
        }
    }

    #[test]
    fn steps_return_the_bytes_of_the_file_with_few_reads() {
        let bytes: Vec<u8> = (0..1_000_000_u32).map(|at| (at % 253) as u8).collect();
        let file = Counting { bytes: bytes.clone(), reads: AtomicUsize::new(0) };
        let steps = StepReader::default();
        let mut at = 0;
        for count in [1000, 65_000, 300_000, 10, 65_000, 65_000].into_iter().cycle() {
            if at + count > bytes.len() {
                break;
            }
            let read = steps.read(&file, at as u64, count).unwrap();
            assert_eq!(read, bytes[at..at + count]);
            at += count;
        }
        assert!(file.reads.load(Ordering::Relaxed) <= 8);
        // Back, and up to the end of the file.
        assert_eq!(steps.read(&file, 5, 10).unwrap(), bytes[5..15]);
        assert_eq!(steps.read(&file, 999_990, 10).unwrap(), bytes[999_990..]);
        assert!(steps.read(&file, 999_990, 11).is_err());
        assert_eq!(steps.read(&file, 999_989, 11).unwrap(), bytes[999_989..]);
    }
}
