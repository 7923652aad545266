//! Recovery of the log after the store was not closed.
//!
//! 1. All segments are read in order and their writes are passed on. Nothing on the disk changes:
//!    with damage, the open fails here.
//! 2. Excluded bytes are retained in files next to the segment (`truncation.rs`).
//! 3. The last segment is rewritten and replaces the old one (`rewrite.rs`), and so is each segment
//!    with excluded damage. The segments before the last were synced before the next one was begun.
//!
//! A crash in any of these steps leaves the old segments, and the next open repeats the recovery.

use std::collections::{BTreeMap, VecDeque};

use halite_types::{Error, ErrorKind, Result};

use super::format::{
    HeaderError, Nonce, OLD_HEADER_BYTES, RecordFormat, SegmentHeader, VERSION, Write, field,
};
use super::names::{Listing, nonces_path, read_whole, segment_path, sync_names};
use super::nonces::{self, MAX_NONCES, StoredNonces};
use super::open_segment::Segment;
use super::rewrite::Rewriter;
use super::segment::{Damage, LaterRecords, SegmentBytes, SegmentEnd, without_zeros};
use super::truncation::{WalTruncation, keep, limit_retained};
use crate::env::Env;
use crate::options::WalRecovery;

/// Parameters of the recovery.
pub(crate) struct RecoveryOptions {
    pub(crate) store_id: [u8; 16],
    pub(crate) mode: WalRecovery,
    /// Time in milliseconds that nonces are retained.
    pub(crate) nonce_grace_period_ms: u64,
}

/// Content of the recovered log.
#[derive(Default)]
pub(crate) struct Recovered {
    /// Segments that still exist, oldest first.
    pub(crate) segments: Vec<Segment>,
    /// Number of the next segment.
    pub(crate) next_number: u64,
    /// Length in bytes of the last segment.
    pub(crate) last_bytes: u64,
    /// Number of writes read.
    pub(crate) writes: u64,
    /// Newest nonces of these writes, and of segments removed before, newest first.
    pub(crate) nonces: VecDeque<Nonce>,
    /// Nonce files that are still needed, oldest first.
    pub(crate) stored_nonces: VecDeque<StoredNonces>,
    /// Excluded parts of the log.
    pub(crate) truncations: Vec<WalTruncation>,
}

/// Reads all segments in order and passes their writes to `apply`. A torn end of the last segment
/// is cut off.
///
/// # Errors
/// `Corrupt` for damage to anything that had been acknowledged, `NewerFormat`, or any error of
/// `apply`.
pub(crate) fn recover(
    env: &Env,
    options: &RecoveryOptions,
    apply: impl FnMut(Write<'_>) -> Result<()>,
) -> Result<Recovered> {
    let listing = Listing::read(env)?;
    let found = nonces::load(env, options, &listing.nonces)?;
    let (nonces, not_needed) = (
        found.needed,
        found
            .old
            .iter()
            .chain(&found.damaged)
            .map(|number| nonces_path(*number))
            .collect::<Vec<_>>(),
    );
    let mut recovery = Recovery {
        env,
        options,
        apply,
        out: Recovered::default(),
        unfinished: None,
        changed: false,
    };
    recovery.segments(&listing.segments)?;
    for number in found.damaged {
        recovery.exclude_nonces(number)?;
    }
    let unfinished = recovery.unfinished.map(segment_path);
    for path in listing.temporary.iter().chain(&not_needed).chain(&unfinished) {
        let failed = |error| {
            Error::io(format!("removing {}/{path}, which is not needed", env.fs.root()), error)
        };
        // Rewriting a segment may have used the name.
        if env.fs.exists(path).map_err(failed)? {
            env.fs.remove_file(path).map_err(failed)?;
        }
    }
    if recovery.changed {
        limit_retained(env)?;
        sync_names(env)?;
    }
    let mut out = recovery.out;
    // After a power loss an old segment may be back while a newer one whose nonces are retained
    // under its number is missing.
    let after_last = || listing.last_number + 1;
    out.next_number = recovery.unfinished.unwrap_or_else(after_last);
    assert!(
        out.segments.iter().all(|segment| segment.number < out.next_number),
        "a new segment follows all that exist"
    );
    for stored in nonces.iter().rev() {
        let room = MAX_NONCES.saturating_sub(out.nonces.len());
        out.nonces.extend(stored.nonces.iter().rev().take(room));
    }
    out.stored_nonces = nonces.into_iter().map(|loaded| loaded.stored).collect();
    Ok(out)
}

struct Recovery<'a, F> {
    env: &'a Env,
    options: &'a RecoveryOptions,
    apply: F,
    out: Recovered,
    /// Number of a segment without a header.
    unfinished: Option<u64>,
    changed: bool,
}

/// Segment that has been read and will be rewritten.
struct PendingRewrite {
    header: SegmentHeader,
    format: RecordFormat,
    bytes: Vec<u8>,
    end: SegmentEnd,
}

impl<F: FnMut(Write<'_>) -> Result<()>> Recovery<'_, F> {
    fn segments(&mut self, numbers: &[u64]) -> Result<()> {
        let mut pending: Option<PendingRewrite> = None;
        let mut before: Option<(u64, u64)> = None;
        for (i, &number) in numbers.iter().enumerate() {
            let is_last = i + 1 == numbers.len();
            let bytes = read_whole(self.env, &segment_path(number))?;
            if is_last && self.is_unfinished(&bytes, before) {
                self.unfinished = Some(number);
                continue;
            }
            let (header, format) = self.header(number, &bytes)?;
            self.check_before(number, &header, before, pending.is_some())?;
            if let Some(damaged) = pending.take() {
                self.rewrite_segment(damaged, Some(header.previous_bytes))?;
            }
            let read = SegmentBytes::new(&bytes, &header, format, self.env.fs.boot_id());
            let (end, segment) = self.read(number, &read, is_last)?;
            let counts_as = if let SegmentEnd::Whole { counts_as, .. } = end {
                counts_as
            } else {
                bytes.len() as u64
            };
            before = Some((number, counts_as));
            self.out.last_bytes = counts_as;
            self.out.segments.push(segment);
            if is_last || matches!(end, SegmentEnd::Damaged { .. }) {
                pending = Some(PendingRewrite { header, format, bytes, end });
            }
        }
        match pending {
            Some(last) => self.rewrite_segment(last, None),
            None => Ok(()),
        }
    }

    /// Versions 1 and 2 named a segment before its header was durable. Such a segment has no
    /// records.
    fn is_unfinished(&self, bytes: &[u8], before: Option<(u64, u64)>) -> bool {
        let follows_old = before.is_some_and(|(number, _)| {
            let head = self.env.fs.open(&segment_path(number)).and_then(|file| {
                let mut head = [0; 12];
                file.read_exact_at(&mut head, 0).map(|()| head)
            });
            head.is_ok_and(|head| u32::from_be_bytes(field(&head, 8)) < VERSION)
        });
        follows_old
            && bytes.len() <= OLD_HEADER_BYTES
            && matches!(
                SegmentHeader::decode(bytes),
                Err(HeaderError::Short | HeaderError::Damaged)
            )
    }

    fn name(&self, number: u64) -> String {
        format!("{}/{}", self.env.fs.root(), segment_path(number))
    }

    fn is_strict(&self) -> bool {
        self.options.mode == WalRecovery::Strict
    }

    fn header(&self, number: u64, bytes: &[u8]) -> Result<(SegmentHeader, RecordFormat)> {
        let name = self.name(number);
        match SegmentHeader::decode(bytes) {
            Ok((header, _)) if header.store_id != self.options.store_id => {
                Err(Error::corrupt(format!(
                    "log segment {name} belongs to another store; move it out of this directory"
                )))
            }
            Ok((header, _)) if header.number != number => Err(Error::corrupt(format!(
                "log segment {name} calls itself number {}; give it back its own name",
                header.number
            ))),
            Ok(decoded) => Ok(decoded),
            Err(HeaderError::Version(version)) => {
                let text = format!(
                    "log segment {name} has format version {version}; this program reads versions \
                     up to {VERSION}; open the store with a newer one"
                );
                Err(Error::new(ErrorKind::NewerFormat, text))
            }
            Err(_) if self.is_strict() => {
                Err(damaged(&name, 0, &Damage::Header.to_string(), &LaterRecords::default()))
            }
            // The content of the header is unknown; the records have their own checksums.
            Err(_) => Ok((self.new_header(number), RecordFormat::Unchained)),
        }
    }

    fn new_header(&self, number: u64) -> SegmentHeader {
        SegmentHeader {
            store_id: self.options.store_id,
            number,
            previous_bytes: self.out.last_bytes,
            fsync: true,
            is_sealed: false,
            durable_length: 0,
            boot_id: self.env.fs.boot_id(),
            salt: self.env.rng.next_u64(),
        }
    }

    /// Compares the header's fields about the previous segment with what was read.
    fn check_before(
        &mut self,
        number: u64,
        header: &SegmentHeader,
        before: Option<(u64, u64)>,
        is_pending: bool,
    ) -> Result<()> {
        let Some((previous, bytes)) = before else { return Ok(()) };
        if previous + 1 < number {
            // Segments are removed oldest first, and each removal is durable before the next one.
            if self.is_strict() {
                let text = format!(
                    "log segment {} is missing, and there are some before it; restore the file \
                     from a copy; nothing has been changed",
                    self.name(previous + 1)
                );
                return Err(Error::corrupt(text));
            }
            self.record_missing_bytes(previous + 1, 0);
        } else if header.previous_bytes != bytes && !self.is_strict() {
            // A damaged one is reported when it is rewritten.
            if !is_pending {
                self.record_missing_bytes(previous, bytes.min(header.previous_bytes));
            }
        } else if header.previous_bytes != bytes {
            let text = format!("it has {bytes} bytes and should have {}", header.previous_bytes);
            return Err(damaged(
                &self.name(previous),
                bytes.min(header.previous_bytes),
                &text,
                &LaterRecords::default(),
            ));
        }
        Ok(())
    }

    /// Passes the writes of a segment on.
    fn read(
        &mut self,
        number: u64,
        segment: &SegmentBytes<'_>,
        is_last: bool,
    ) -> Result<(SegmentEnd, Segment)> {
        let mut found = Segment {
            number,
            bytes: segment.bytes.len() as u64,
            regions: BTreeMap::new(),
            nonces: 0,
            closed_ms: 0,
        };
        let mut end =
            SegmentEnd::Damaged { at: 0, why: Damage::Header, rest: LaterRecords::default() };
        if segment.format != RecordFormat::Unchained {
            end = segment.read(|write| self.apply(write, &mut found))?;
        }
        if let (SegmentEnd::Torn { at, rest }, false) = (end, is_last) {
            end = SegmentEnd::Damaged { at, why: Damage::NotLast, rest };
        }
        if let SegmentEnd::Damaged { at, why, rest } = end {
            if self.is_strict() {
                return Err(damaged(&self.name(number), at as u64, &why.to_string(), &rest));
            }
            // The writes before the damage are already applied. Applying one twice changes nothing;
            // counting it does.
            let from = at as u64;
            segment.salvage(|write| {
                let offset =
                    write.cells.as_ptr().addr().saturating_sub(segment.bytes.as_ptr().addr())
                        as u64;
                if offset > from { self.apply(write, &mut found) } else { Ok(()) }
            })?;
        }
        found.closed_ms = self.env.clock.now_ms();
        Ok((end, found))
    }

    fn apply(&mut self, write: Write<'_>, found: &mut Segment) -> Result<()> {
        found.regions.insert(write.region, write.sequence);
        self.out.writes += 1;
        if let Some(nonce) = write.nonce {
            found.nonces += 1;
            self.out.nonces.truncate(MAX_NONCES - 1);
            self.out.nonces.push_front(nonce);
        }
        (self.apply)(write)
    }

    /// Records that bytes of a segment are missing from an offset on.
    fn record_missing_bytes(&mut self, number: u64, offset: u64) {
        self.out.truncations.push(WalTruncation {
            segment: self.name(number),
            offset,
            bytes: 0,
            writes: 0,
            kept: String::new(),
            is_damage: true,
        });
    }

    /// Retains the bytes of a damaged nonce file, which is then removed.
    fn exclude_nonces(&mut self, number: u64) -> Result<()> {
        let (path, root) = (nonces_path(number), self.env.fs.root());
        let bytes = read_whole(self.env, &path)?;
        let kept = format!("{root}/{}", keep(self.env, number, 0, &bytes)?);
        self.changed = true;
        sync_names(self.env)?;
        self.out.truncations.push(WalTruncation {
            segment: format!("{root}/{path}"),
            offset: 0,
            bytes: bytes.len() as u64,
            writes: 0,
            kept,
            is_damage: true,
        });
        Ok(())
    }

    /// Retains the excluded bytes of a segment, and replaces it by one with its whole writes.
    fn rewrite_segment(&mut self, pending: PendingRewrite, counts_as: Option<u64>) -> Result<()> {
        let PendingRewrite { header, format, bytes, end } = pending;
        self.changed = true;
        let number = header.number;
        let mut rewriter = Rewriter::new(
            self.env,
            &SegmentHeader {
                previous_bytes: header.previous_bytes,
                is_sealed: true,
                ..self.new_header(number)
            },
        )?;
        let segment = SegmentBytes::new(&bytes, &header, format, None);
        let (left_out, writes, is_damage) = match end {
            SegmentEnd::Damaged { .. } => (segment.salvage(|write| rewriter.add(write))?, 0, true),
            SegmentEnd::Torn { at, rest } => {
                segment.read(|write| rewriter.add(write))?;
                (vec![(at, at + without_zeros(&bytes[at..]))], rest.writes, false)
            }
            SegmentEnd::Whole { .. } => {
                segment.read(|write| rewriter.add(write))?;
                (Vec::new(), 0, false)
            }
        };
        for (start, end) in left_out {
            let kept = keep(self.env, number, start as u64, &bytes[start..end])?;
            let (offset, bytes) = (start as u64, (end - start) as u64);
            self.out.truncations.push(WalTruncation {
                segment: self.name(number),
                offset,
                bytes,
                writes,
                kept: format!("{}/{kept}", self.env.fs.root()),
                is_damage,
            });
        }
        if is_damage
            && self.out.truncations.last().is_none_or(|cut| cut.segment != self.name(number))
        {
            // Only zeros were excluded, or the end record is missing: there is nothing to retain,
            // but it is reported.
            let SegmentEnd::Damaged { at, .. } = end else { return Ok(()) };
            self.record_missing_bytes(number, at as u64);
        }
        // The excluded bytes must be durable in their file before the segment loses them.
        sync_names(self.env)?;
        let length = rewriter.finish(counts_as)?;
        if let Some(last) = self.out.segments.iter_mut().find(|segment| segment.number == number) {
            last.bytes = length;
        }
        if counts_as.is_none() {
            self.out.last_bytes = length;
        }
        Ok(())
    }
}

fn damaged(name: &str, at: u64, why: &str, rest: &LaterRecords) -> Error {
    let follow = if rest.writes == 0 {
        String::new()
    } else {
        format!("; {} whole writes follow", rest.writes)
    };
    Error::corrupt(format!(
        "log segment {name}: damaged at byte {at}: {why}{follow}; restore the file from a copy, or \
         open the store with wal-recovery = skip-damaged to go on without the damaged bytes; \
         nothing has been changed"
    ))
}
