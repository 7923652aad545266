//! The segment that is being written, and the closed ones before it.

use std::collections::{BTreeMap, VecDeque};

use super::buffer::Completion;
use super::stall::is_full;
use crate::disk_room::DiskRoom;
use crate::env::FileWriter;

/// Bounds of the number of bytes preallocated past the end of a new segment in one step.
pub(super) const MIN_PREALLOCATE_BYTES: u64 = 4 << 10;
const MAX_PREALLOCATE_BYTES: u64 = 4 << 20;
/// Bytes for which [`OpenSegment::begin_writeback`] calls the system: large enough for a fast
/// write, and far less than a segment.
const WRITEBACK_BYTES: u64 = 1 << 20;
/// Multiple of the size of a page, for which the system writes whole pages.
const PAGE_BYTES: u64 = 64 << 10;

/// Segments of the log. The holder of this lock may write.
pub(super) struct SegmentWriter {
    /// `None` until the first write, so that opening and closing a store leaves no segment.
    pub(super) segment: Option<OpenSegment>,
    pub(super) next_number: u64,
    pub(super) previous_bytes: u64,
    /// Closed segments, oldest first.
    pub(super) closed: VecDeque<Segment>,
    /// Number of removed segments, and how many of the removals are durable.
    pub(super) removals: u64,
    pub(super) durable_removals: u64,
    /// Sequence id up to which each region's cells are in store files.
    pub(super) flushed: BTreeMap<u64, u64>,
    /// Spare buffer and spare list of completions, for reuse.
    pub(super) spare: Vec<u8>,
    pub(super) spare_completions: Vec<Completion>,
}

pub(super) struct OpenSegment {
    pub(super) file: Box<dyn FileWriter>,
    /// Checksum of the header, which seeds the checksums of the records.
    pub(super) seed: u32,
    pub(super) bytes: u64,
    /// Size in bytes at which the segment is closed.
    pub(super) max_bytes: u64,
    /// Offset up to which disk space is preallocated.
    pub(super) preallocated_bytes: u64,
    /// Segment size at which preallocation is retried after a failure.
    pub(super) preallocate_at: u64,
    pub(super) durable_bytes: u64,
    /// Offset up to which the system has begun to write, in a log without syncs.
    pub(super) writeback_bytes: u64,
    /// Lower bound of the file length.
    pub(super) length: u64,
    /// Lower bound of the file length at the last sync. Sync markers contain it. A file cut below
    /// this length must have an end record ([`Wal::close_segment`]), or the next open treats it as
    /// damaged.
    pub(super) durable_length: u64,
    pub(super) segment: Segment,
}

/// Segment and the newest sequence id of each region in it.
pub(crate) struct Segment {
    pub(crate) number: u64,
    /// Size in bytes, set when the segment is closed.
    pub(crate) bytes: u64,
    pub(crate) regions: BTreeMap<u64, u64>,
    /// Number of nonces in the segment.
    pub(crate) nonces: u64,
    /// Time when the segment was closed, in milliseconds since 1970.
    pub(crate) closed_ms: i64,
}

impl SegmentWriter {
    /// Returns `true` if the segment contains cells that are in no store file yet.
    pub(super) fn needs(&self, segment: &Segment) -> bool {
        segment.regions.iter().any(|(region, sequence)| {
            self.flushed.get(region).is_none_or(|flushed| flushed < sequence)
        })
    }
}

impl OpenSegment {
    /// Ensures that the next `bytes` bytes need no new disk space. If they do, reserves a part of
    /// the segment size. A sync then finds the file length unchanged and need not write it to the
    /// file system's journal. A disk that fills up still has space for records on their way to the
    /// log.
    pub(super) fn preallocate(&mut self, bytes: u64, disk: &DiskRoom) {
        // Early, so that a sync marker contains the new length before the records reach it. A cut
        // file is then detected.
        let least = preallocate_bytes(self.max_bytes);
        if self.bytes + bytes + least / 2 <= self.preallocated_bytes
            || self.bytes < self.preallocate_at
        {
            return;
        }
        disk.refresh();
        // Larger steps in a larger segment, for fewer calls: some file systems wait for the disk in
        // each. But not beyond the end of the segment.
        let rest = self.max_bytes.saturating_sub(self.bytes);
        let step = self.bytes.min(self.max_bytes / 4).min(rest).max(least);
        // A call for more than the free space might take all of it, and fail.
        let room = bytes.saturating_add(disk.part_of_free(step));
        match self.file.preallocate(room) {
            Ok(()) => {
                self.preallocated_bytes = self.bytes + room;
                self.length = self.length.max(self.preallocated_bytes);
            }
            // Without space the bytes are written all the same; if the disk is full, that write
            // fails.
            Err(error) => {
                self.preallocate_at =
                    if is_full(&error) { self.bytes + bytes + least / 4 } else { u64::MAX }
            }
        }
    }

    /// Has the system begin to write what is not synced. It would otherwise keep most of a segment
    /// until the sync at its end, for which the next write waits some hundred milliseconds.
    pub(super) fn begin_writeback(&mut self) {
        // The last page is written to again soon.
        let end = self.bytes & !(PAGE_BYTES - 1);
        let begin = self.writeback_bytes.max(self.durable_bytes);
        if end >= begin + WRITEBACK_BYTES {
            self.file.begin_writeback(begin, end - begin);
            self.writeback_bytes = end;
        }
    }

    /// Writes at the end of the segment. Bytes that a failed call has written stay and are
    /// overwritten by the same bytes.
    pub(super) fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all(bytes).map_err(|error| match self.file.rewind(self.bytes) {
            Ok(()) => error,
            // The offset of the next bytes is unknown.
            Err(rewind) => std::io::Error::other(format!(
                "{error}; going back to byte {}: {rewind}",
                self.bytes
            )),
        })
    }
}

/// Returns the number of bytes to reserve in a step, at least.
pub(super) fn preallocate_bytes(segment_bytes: u64) -> u64 {
    (segment_bytes / 16).clamp(MIN_PREALLOCATE_BYTES, MAX_PREALLOCATE_BYTES)
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::disk_room;
    use crate::env::sim::SimEnv;

    /// What was called: offset and bytes.
    #[derive(Clone, Default)]
    struct Calls {
        written: u64,
        preallocated: Arc<Mutex<Vec<(u64, u64)>>>,
        begun: Arc<Mutex<Vec<(u64, u64)>>>,
    }

    impl FileWriter for Calls {
        fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.written += bytes.len() as u64;
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn begin_writeback(&self, offset: u64, bytes: u64) {
            self.begun.lock().unwrap().push((offset, bytes));
        }

        fn preallocate(&mut self, bytes: u64) -> io::Result<()> {
            self.preallocated.lock().unwrap().push((self.written, bytes));
            Ok(())
        }

        fn truncate(&mut self, _bytes: u64) -> io::Result<()> {
            unreachable!("the segment is not closed")
        }
    }

    /// Writes a segment of 64 MiB in groups of 100 KB, and calls `each` after each group.
    fn write_segment(calls: &Calls, mut each: impl FnMut(&mut OpenSegment)) -> OpenSegment {
        let sim = SimEnv::new(1);
        let disk = disk_room::unlimited(&sim.env());
        let mut open = OpenSegment {
            file: Box::new(calls.clone()),
            seed: 0,
            bytes: 0,
            max_bytes: 64 << 20,
            preallocated_bytes: 0,
            preallocate_at: 0,
            durable_bytes: 0,
            writeback_bytes: 0,
            length: 0,
            durable_length: 0,
            segment: Segment {
                number: 1,
                bytes: 0,
                regions: BTreeMap::new(),
                nonces: 0,
                closed_ms: 0,
            },
        };
        let group = vec![0; 100_000];
        while open.bytes < open.max_bytes {
            open.preallocate(group.len() as u64, &disk);
            open.write_all(&group).unwrap();
            open.bytes += group.len() as u64;
            assert!(open.bytes <= open.preallocated_bytes, "the group had its space");
            each(&mut open);
        }
        open
    }

    #[test]
    fn space_is_preallocated_in_growing_steps() {
        let calls = Calls::default();
        let open = write_segment(&calls, |_| ());
        let steps = calls.preallocated.lock().unwrap();
        assert!(steps[0].1 < 5 << 20 && steps.iter().all(|(_, bytes)| *bytes < 17 << 20));
        assert!(steps.len() < 12, "{steps:?}");
        assert!(open.preallocated_bytes < open.max_bytes + (5 << 20), "{steps:?}");
    }

    #[test]
    fn unsynced_bytes_are_written_back_once_from_each_megabyte_on() {
        let calls = Calls::default();
        let open = write_segment(&calls, OpenSegment::begin_writeback);
        let begun = calls.begun.lock().unwrap();
        let mut end = 0;
        for (offset, bytes) in begun.iter() {
            assert_eq!(*offset, end);
            assert!((WRITEBACK_BYTES..2 * WRITEBACK_BYTES).contains(bytes), "{bytes}");
            end += bytes;
        }
        assert!(end <= open.bytes && open.bytes - end < 2 * WRITEBACK_BYTES);
        // After a sync only what is newer.
        let synced = Calls::default();
        write_segment(&synced, |open| {
            open.begin_writeback();
            open.durable_bytes = open.bytes;
        });
        assert_eq!(*synced.begun.lock().unwrap(), []);
    }
}
