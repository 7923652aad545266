//! The segment that is being written, and the closed ones before it.

use std::collections::{BTreeMap, VecDeque};

use super::buffer::Completion;
use super::stall::is_full;
use crate::disk_room::DiskRoom;
use crate::env::FileWriter;

/// Bounds of the number of bytes preallocated past the end of a segment in one step.
pub(super) const MIN_PREALLOCATE_BYTES: u64 = 4 << 10;
const MAX_PREALLOCATE_BYTES: u64 = 4 << 20;

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
    /// Ensures that the next `bytes` bytes need no new disk space. If they do, reserves a step of
    /// the segment size. A sync then finds the file length unchanged and need not write it to the
    /// file system's journal. A disk that fills up still has space for records on their way to the
    /// log.
    pub(super) fn preallocate(&mut self, bytes: u64, disk: &DiskRoom) {
        // Early, so that a sync marker contains the new length before the records reach it. A cut
        // file is then detected.
        let step = preallocate_bytes(self.max_bytes);
        if self.bytes + bytes + step / 2 <= self.preallocated_bytes
            || self.bytes < self.preallocate_at
        {
            return;
        }
        disk.refresh();
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
                    if is_full(&error) { self.bytes + bytes + step / 4 } else { u64::MAX }
            }
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

/// Returns the number of bytes to reserve in one step.
pub(super) fn preallocate_bytes(segment_bytes: u64) -> u64 {
    (segment_bytes / 16).clamp(MIN_PREALLOCATE_BYTES, MAX_PREALLOCATE_BYTES)
}
