//! Begin, verification and end of segments.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use halite_types::{Error, ErrorKind, Result};

use super::Wal;
use super::format::{self, RecordFormat, SegmentHeader};
use super::names::{DIRECTORY, segment_path, temporary_path};
use super::open_segment::{
    MIN_PREALLOCATE_BYTES, OpenSegment, Segment, SegmentWriter, preallocate_bytes,
};
use super::stall::{not_begun, stopped, unwritten};
use super::sync::FailOnPanic;

impl Wal {
    /// Closes the current segment; the next write begins another.
    ///
    /// # Errors
    /// A failed write, after which the log rejects all further appends.
    pub(crate) fn roll(&self) -> Result<()> {
        self.sync_all()?;
        self.close_segment(&mut self.segment_writer())
            .inspect_err(|error| self.fail_unless_stalled(error))?;
        // A segment that cannot be removed now is removed with the next one.
        self.try_to_remove_flushed();
        Ok(())
    }

    /// Closes the current segment and removes all segments. The caller has flushed everything.
    ///
    /// # Errors
    /// A failed write or sync, after which the log rejects all further appends and every later call
    /// returns the same error.
    pub(crate) fn close(&self) -> Result<()> {
        self.sync_all()?;
        let _fails = FailOnPanic(self);
        // The lock on the log is released before segments are removed.
        let closed = self.close_segment(&mut self.segment_writer());
        closed.inspect_err(|error| self.fail_unless_stalled(error))?;
        self.remove_flushed()?;
        if !self.segment_writer().closed.is_empty() {
            return Ok(());
        }
        let synced = self.env.fs.sync_dir(DIRECTORY);
        let synced = synced.map_err(|error| {
            stopped(&format!("syncing {}/{DIRECTORY}", self.env.fs.root()), error)
        });
        synced.inspect_err(|error| self.fail(error.clone()))
    }

    /// Verifies that the current segment still has its name. A write in progress does this check
    /// itself.
    pub(crate) fn try_check_segment(&self) {
        let Some(io) = self.segment_writer.try_lock() else { return };
        let checked = self.check_segment(&io);
        drop(io);
        if let Err(error) = checked {
            self.fail(error);
        }
    }

    /// Rejects further writes to a segment that the next open would not find or not find whole: one
    /// that another process removed, replaced or cut.
    pub(super) fn check_segment(&self, io: &SegmentWriter) -> Result<()> {
        let Some(open) = &io.segment else { return Ok(()) };
        let path = segment_path(open.segment.number);
        // If either identity cannot be read now, a later check reads it.
        let (Ok(named), Ok(own)) = (self.env.fs.identity(&path), open.file.identity()) else {
            return Ok(());
        };
        let what = match (named, own) {
            (None, _) => "removed",
            (Some(named), Some(own)) if named.id != own.id => "replaced",
            (Some(named), _) if named.bytes < open.bytes => "cut",
            _ => return Ok(()),
        };
        // The whole directory may be missing.
        self.lock.check()?;
        let text = format!(
            "log segment {}/{path} was {what} while it was written: what was written to it is in \
             memory only; writing has stopped, reads go on; copy what you need from this process \
             before it ends, then run halite check",
            self.env.fs.root()
        );
        Err(Error::new(ErrorKind::Stopped, text))
    }

    /// Creates a segment under a temporary name and renames it once its header and its
    /// preallocation are durable. A segment that exists under its name therefore has a header.
    pub(super) fn begin_segment(&self, io: &mut SegmentWriter) -> Result<()> {
        self.lock.check().map_err(|error| match error.kind() {
            ErrorKind::Io => {
                Error::new(ErrorKind::Busy, error.message().to_owned()).with_source(error)
            }
            _ => error,
        })?;
        let path = segment_path(io.next_number);
        self.disk.refresh();
        self.make_segment(io, &path).inspect_err(|_| {
            // Other writers may need its disk space.
            let _ = self.env.fs.remove_file(&temporary_path(&path));
        })
    }

    pub(super) fn make_segment(&self, io: &mut SegmentWriter, path: &str) -> Result<()> {
        let (env, number) = (&self.env, io.next_number);
        assert!(io.segment.is_none(), "a segment is open already");
        assert!(
            io.closed.back().is_none_or(|last| last.number < number),
            "the number of a segment is never used again"
        );
        // The segment contains nothing yet, so the attempt can be repeated from the start.
        let failed =
            |error| not_begun(&format!("beginning log segment {}/{path}", env.fs.root()), error);
        let temporary = temporary_path(path);
        if env.fs.exists(&temporary).map_err(failed)? {
            env.fs.remove_file(&temporary).map_err(failed)?;
        }
        let mut file = env.fs.create(&temporary).map_err(failed)?;
        let max_bytes = self.segment_bytes();
        let room = self.disk.part_of_free(preallocate_bytes(max_bytes));
        let has_room = room >= MIN_PREALLOCATE_BYTES && file.preallocate(room).is_ok();
        if !has_room {
            file.truncate(0).map_err(failed)?;
        }
        let header = SegmentHeader {
            store_id: self.store_id,
            number,
            previous_bytes: io.previous_bytes,
            fsync: self.options.fsync,
            is_sealed: false,
            durable_length: if has_room { room } else { 0 },
            boot_id: env.fs.boot_id(),
            salt: env.rng.next_u64(),
        };
        let encoded = header.encode();
        let (_, RecordFormat::Chained(seed)) =
            SegmentHeader::decode(&encoded).expect("a header that was just made")
        else {
            unreachable!("headers are made in the newest version")
        };
        file.write_all(&encoded).map_err(failed)?;
        file.sync().map_err(failed)?;
        env.fs.rename(&temporary, path).map_err(failed)?;
        env.fs.sync_dir(DIRECTORY).map_err(failed)?;
        io.durable_removals = io.removals;
        io.next_number += 1;
        let segment =
            Segment { number, bytes: 0, regions: BTreeMap::new(), nonces: 0, closed_ms: 0 };
        let bytes = encoded.len() as u64;
        let length = bytes.max(header.durable_length);
        io.segment = Some(OpenSegment {
            file,
            seed,
            bytes,
            max_bytes,
            preallocated_bytes: length,
            preallocate_at: if has_room { 0 } else { bytes + preallocate_bytes(max_bytes) / 4 },
            durable_bytes: bytes,
            writeback_bytes: 0,
            length,
            durable_length: length,
            segment,
        });
        Ok(())
    }

    /// Writes the end record of the current segment, syncs it and adds the segment to the closed
    /// ones.
    pub(super) fn close_segment(&self, io: &mut SegmentWriter) -> Result<()> {
        let Some(open) = io.segment.as_mut() else { return Ok(()) };
        let what = format!(
            "closing log segment {}/{}",
            self.env.fs.root(),
            segment_path(open.segment.number)
        );
        let failed = |error| stopped(&what, error);
        let mut end = Vec::new();
        let bytes = open.bytes + format::END_BYTES as u64;
        format::write_end(&mut end, bytes);
        format::chain(&mut end, open.seed, open.bytes);
        // Without disk space for its end record the segment stays open.
        open.write_all(&end).map_err(|error| unwritten(&what, error))?;
        let Some(mut open) = io.segment.take() else { return Ok(()) };
        open.file.sync().map_err(failed)?;
        // After the sync: a file that is shorter than before has its end record. A failed
        // preallocation may have reserved a part of the space.
        if open.length > bytes || open.preallocate_at > 0 {
            open.file.truncate(bytes).map_err(failed)?;
        }
        io.previous_bytes = bytes;
        open.segment.bytes = bytes;
        open.segment.closed_ms = self.env.clock.now_ms();
        self.counters.rolls.fetch_add(1, Ordering::Relaxed);
        self.closed_bytes.fetch_add(open.segment.bytes, Ordering::Relaxed);
        assert!(
            io.closed.back().is_none_or(|last| last.number < open.segment.number),
            "segments are closed in the order of their numbers"
        );
        io.closed.push_back(open.segment);
        // Segments whose nonces must be stored first, or which must wait for a sync, are removed
        // when the log is not held.
        if io.closed.front().is_some_and(|oldest| oldest.nonces == 0 && !io.needs(oldest))
            && io.removals == io.durable_removals
        {
            let _ = self.remove_oldest(io);
        }
        Ok(())
    }

    /// Returns the size in bytes at which a segment is closed, unless one write is larger.
    pub(super) fn segment_bytes(&self) -> u64 {
        self.disk.segment_bytes(self.options.segment_bytes)
    }
}
