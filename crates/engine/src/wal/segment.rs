//! Whole segment: its writes, how they end, and the distinction between a torn end and damage.
//!
//! A write that was never acknowledged may be torn: it may end early, and after a reboot any of its
//! sectors may be missing. Everything else is damage. The distinction:
//! - A sync marker after the bad record states that the offset had been synced.
//! - The machine has not rebooted since the segment was written. The operating system then still
//!   has all bytes that it received, and it received them in order. A valid record after a bad one
//!   proves that the bad one had been written whole.
//! - The segment was written without syncs. A valid record after a bad one is then either damage to
//!   an acknowledged write, or a power loss, which this mode does not cover; the operator decides.
//! - Recovery rewrote the segment: it was synced as a whole, with its end record, before it was
//!   renamed.
//! - The file is shorter than its durable length in a sync marker or the header. Space is
//!   preallocated before the records, so a file that was cut has lost some of its length even if
//!   the cut is between two records.

use std::fmt;

use super::format::{
    Record, RecordError, RecordFormat, SegmentHeader, SyncMarker, Write, field, may_begin,
    read_record,
};

/// Maximum bytes that a search for records may verify if the checksums of the heads cannot be
/// verified. A length from damage or from a client may be arbitrary.
const MAX_SEARCH_BYTES: u64 = 4 << 30;

/// Bytes of a segment and its properties.
#[derive(Clone, Copy)]
pub(crate) struct SegmentBytes<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) format: RecordFormat,
    /// `true` if records are synced before they are acknowledged.
    pub(crate) fsync: bool,
    /// `true` if it was synced as a whole before it was renamed.
    pub(crate) is_sealed: bool,
    /// Durable length of the file before its first record.
    pub(crate) durable_length: u64,
    /// `true` if the machine has not rebooted since the segment was written.
    pub(crate) same_boot: bool,
}

/// End of the records of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentEnd {
    /// At this offset, and only zeros follow.
    Whole {
        at: usize,
        /// Length that the header of the next segment contains.
        counts_as: u64,
    },
    /// With a torn write at this offset; nothing after it was ever acknowledged.
    Torn { at: usize, rest: LaterRecords },
    /// With damage at this offset.
    Damaged { at: usize, why: Damage, rest: LaterRecords },
}

/// Records found after an offset without a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaterRecords {
    /// Offset of the first one.
    pub(crate) next: Option<usize>,
    /// Number of whole writes.
    pub(crate) writes: u64,
    /// Largest offset that a sync marker states to have been synced.
    synced: u64,
    has_sync_markers: bool,
}

/// Reason that the end of the records is damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    /// A record has valid checksums and invalid content.
    Content,
    /// A bad record that a sync marker covers.
    Synced,
    /// Valid records follow, and the machine has not rebooted since.
    Followed,
    /// Valid records follow in a segment that is written without syncs.
    FollowedUnsynced,
    /// A bad record, or a missing end, of a segment that was synced as a whole.
    Sealed,
    /// The file is shorter than it was.
    CutShort { length: u64, durable_length: u64 },
    /// Another segment follows.
    NotLast,
    /// The header of the segment is damaged.
    Header,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Content => f.write_str("a record has valid checksums and unknown content"),
            Self::Sealed => f.write_str(
                "the segment had been synced as a whole, and a record or its end is damaged or \
                 missing",
            ),
            Self::Synced => f.write_str("a record that had been synced is damaged"),
            Self::Followed => f.write_str("a record is damaged and valid records follow"),
            Self::FollowedUnsynced => f.write_str(
                "a record is damaged and valid records follow: this is damage, or a power loss, \
                 which wal_sync = flush does not cover",
            ),
            Self::CutShort { length, durable_length } => {
                write!(f, "the file was cut short: it has {length} bytes and had {durable_length}")
            }
            Self::Header => f.write_str("its header is damaged"),
            Self::NotLast => f.write_str("a record is damaged and later segments follow"),
        }
    }
}

/// Returns `true` if all bytes are zero, as those of preallocated space. There may be megabytes of
/// them, therefore they are compared in chunks.
fn are_zeros(bytes: &[u8]) -> bool {
    let (chunks, rest) = bytes.as_chunks::<32>();
    chunks.iter().all(|chunk| *chunk == [0; 32]) && rest.iter().all(|&byte| byte == 0)
}

impl<'a> SegmentBytes<'a> {
    pub(crate) fn new(
        bytes: &'a [u8],
        header: &SegmentHeader,
        format: RecordFormat,
        boot_id: Option<[u8; 16]>,
    ) -> Self {
        let same_boot = header.boot_id.is_some() && header.boot_id == boot_id;
        Self {
            bytes,
            format,
            fsync: header.fsync,
            is_sealed: header.is_sealed,
            durable_length: header.durable_length,
            same_boot,
        }
    }

    /// Calls `each` with the writes up to the first record that is not whole. Returns how the
    /// records end.
    pub(crate) fn read<E>(
        &self,
        mut each: impl FnMut(Write<'a>) -> Result<(), E>,
    ) -> Result<SegmentEnd, E> {
        let mut at = self.format.header_bytes();
        let (mut durable_length, mut has_marks, mut end) = (self.durable_length, false, None);
        loop {
            match read_record(self.bytes, at, self.format) {
                Ok((record, length)) if end.is_none() => {
                    at = at.saturating_add(length);
                    match record {
                        Record::Cells(write) => each(write)?,
                        Record::SyncMarker(mark) => {
                            has_marks = true;
                            if self.fsync || self.same_boot {
                                durable_length = durable_length.max(mark.durable_length);
                            }
                        }
                        Record::End(counts_as) => end = Some(counts_as),
                    }
                }
                result => {
                    let is_content = result.err() == Some(RecordError::Content);
                    return Ok(self.end_at(at, is_content, has_marks, durable_length, end));
                }
            }
        }
    }

    fn end_at(
        &self,
        at: usize,
        is_content: bool,
        has_marks: bool,
        durable_length: u64,
        end: Option<u64>,
    ) -> SegmentEnd {
        let length = self.bytes.len() as u64;
        let was_cut = end.is_none() && (length < durable_length || self.is_sealed);
        let is_whole = are_zeros(self.bytes.get(at..).unwrap_or_default());
        if is_whole && !was_cut {
            return SegmentEnd::Whole { at, counts_as: end.unwrap_or(at as u64) };
        }
        let rest = self.search(at.saturating_add(1));
        match self.judge(at, is_content, has_marks, &rest) {
            Some(why) => SegmentEnd::Damaged { at, why, rest },
            None if was_cut => {
                SegmentEnd::Damaged { at, why: Damage::CutShort { length, durable_length }, rest }
            }
            None => SegmentEnd::Torn { at, rest },
        }
    }

    fn judge(
        &self,
        at: usize,
        is_content: bool,
        has_marks: bool,
        rest: &LaterRecords,
    ) -> Option<Damage> {
        // Segments of old versions do not contain their mode; without any sync marker nothing was
        // synced.
        let is_unsynced = if self.format == RecordFormat::Old {
            !has_marks && !rest.has_sync_markers
        } else {
            !self.fsync
        };
        match rest.next {
            _ if is_content => Some(Damage::Content),
            _ if self.is_sealed => Some(Damage::Sealed),
            Some(_) if rest.synced > at as u64 => Some(Damage::Synced),
            Some(_) if self.same_boot => Some(Damage::Followed),
            Some(_) if is_unsynced => Some(Damage::FollowedUnsynced),
            _ => None,
        }
    }

    /// Finds the whole records at or after `from`, at any offset.
    pub(crate) fn search(&self, from: usize) -> LaterRecords {
        let mut rest = LaterRecords::default();
        let (mut at, mut budget) = (from, MAX_SEARCH_BYTES);
        while at < self.bytes.len() {
            let Some((record, length)) = self.find(at, &mut budget) else {
                at = at.saturating_add(1);
                continue;
            };
            rest.next = rest.next.or(Some(at));
            match record {
                Record::Cells(_) => rest.writes = rest.writes.saturating_add(1),
                Record::SyncMarker(SyncMarker { synced, .. }) => {
                    rest.has_sync_markers = true;
                    rest.synced = rest.synced.max(synced);
                }
                Record::End(_) => {}
            }
            at = at.saturating_add(length);
        }
        rest
    }

    fn find(&self, at: usize, budget: &mut u64) -> Option<(Record<'a>, usize)> {
        if !may_begin(self.bytes, at, self.format) {
            return None;
        }
        if !matches!(self.format, RecordFormat::Chained(_)) {
            let length = u64::from(u32::from_be_bytes(field(self.bytes, at)));
            // A length that does not fit costs nothing, and sync markers are short.
            if length > 64 && length < self.bytes.len() as u64 {
                *budget = budget.checked_sub(length)?;
            }
        }
        read_record(self.bytes, at, self.format).ok()
    }

    /// Calls `each` with all whole writes. Returns the ranges between the records, without the
    /// zeros at their ends.
    pub(crate) fn salvage<E>(
        &self,
        mut each: impl FnMut(Write<'a>) -> Result<(), E>,
    ) -> Result<Vec<(usize, usize)>, E> {
        let mut bad: Vec<(usize, usize)> = Vec::new();
        let mut at = self.format.header_bytes().min(self.bytes.len());
        if self.format == RecordFormat::Unchained {
            bad.push((0, at));
        }
        let mut budget = MAX_SEARCH_BYTES;
        while at < self.bytes.len() {
            if let Some((record, length)) = self.find(at, &mut budget) {
                if let Record::Cells(write) = record {
                    each(write)?;
                }
                at = at.saturating_add(length);
                continue;
            }
            match bad.last_mut() {
                Some((_, end)) if *end == at => *end = at.saturating_add(1),
                _ => bad.push((at, at.saturating_add(1))),
            }
            at = at.saturating_add(1);
        }
        for (start, end) in &mut bad {
            *end = start
                .saturating_add(without_zeros(self.bytes.get(*start..*end).unwrap_or_default()));
        }
        bad.retain(|(start, end)| start < end);
        Ok(bad)
    }
}

/// Returns the length without the zeros at the end, which are preallocated space.
pub(crate) fn without_zeros(end: &[u8]) -> usize {
    end.iter().rposition(|&byte| byte != 0).map_or(0, |last| last.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use halite_types::Put;

    use super::super::format::{
        HEADER_BYTES, SYNC_MARKER_BYTES, chain, old, write_cells, write_end, write_sync_marker,
    };
    use super::*;

    const BOOT: [u8; 16] = [9; 16];

    fn header(fsync: bool, durable_length: u64) -> SegmentHeader {
        SegmentHeader {
            store_id: [7; 16],
            number: 3,
            previous_bytes: 11,
            fsync,
            is_sealed: false,
            durable_length,
            boot_id: Some(BOOT),
            salt: 77,
        }
    }

    /// Three groups of one write and a sync marker each; each marker states that the groups before
    /// had been synced, if `fsync`.
    fn segment(fsync: bool, room: usize) -> Vec<u8> {
        let mut bytes = header(fsync, room as u64).encode();
        let RecordFormat::Chained(seed) = SegmentHeader::decode(&bytes).unwrap().1 else {
            panic!("the newest version")
        };
        for i in 0..3 {
            let (mut group, at) = (Vec::new(), bytes.len() as u64);
            write(&mut group, i);
            write_sync_marker(
                &mut group,
                SyncMarker {
                    synced: if fsync { at } else { HEADER_BYTES as u64 },
                    durable_length: room as u64,
                },
            );
            chain(&mut group, seed, at);
            bytes.extend_from_slice(&group);
        }
        bytes.resize(bytes.len().max(room), 0);
        bytes
    }

    fn write(out: &mut Vec<u8>, sequence: u64) {
        let put = Put::new(format!("row{sequence}")).add_at("f", "q", 1, "value");
        write_cells(out, 5, sequence, None, std::iter::once(put.mutation().cells().bytes()));
    }

    fn read(bytes: &[u8], boot: Option<[u8; 16]>) -> (Vec<u64>, SegmentEnd) {
        let (header, format) = SegmentHeader::decode(bytes).unwrap();
        let mut seen = Vec::new();
        let end = SegmentBytes::new(bytes, &header, format, boot).read::<()>(|record| {
            seen.push(record.sequence);
            Ok(())
        });
        (seen, end.unwrap())
    }

    const GROUP: usize = 12 + 17 + 12 + 2 + 4 + 1 + 1 + 1 + 8 + 1 + 5 + SYNC_MARKER_BYTES;

    #[test]
    fn whole_segment_is_read_with_and_without_preallocation() {
        let bytes = segment(true, 0);
        assert_eq!(bytes.len(), HEADER_BYTES + 3 * GROUP);
        let at = bytes.len();
        assert_eq!(
            read(&bytes, Some(BOOT)),
            (vec![0, 1, 2], SegmentEnd::Whole { at, counts_as: at as u64 })
        );
        let mut with_room = segment(true, 1000);
        assert_eq!(
            read(&with_room, None),
            (vec![0, 1, 2], SegmentEnd::Whole { at, counts_as: at as u64 })
        );
        let mut end = Vec::new();
        write_end(&mut end, 4711);
        let RecordFormat::Chained(seed) = SegmentHeader::decode(&with_room).unwrap().1 else {
            panic!("the newest version")
        };
        chain(&mut end, seed, at as u64);
        with_room[at..at + end.len()].copy_from_slice(&end);
        for closed in [&with_room[..at + end.len()], &with_room] {
            assert_eq!(
                read(closed, None),
                (vec![0, 1, 2], SegmentEnd::Whole { at: at + end.len(), counts_as: 4711 })
            );
        }
    }

    #[test]
    fn truncation_is_damage_only_in_preallocated_segment() {
        let bytes = segment(true, 0);
        for end in HEADER_BYTES..bytes.len() {
            let whole = (end - HEADER_BYTES + SYNC_MARKER_BYTES) / GROUP;
            let (seen, how) = read(&bytes[..end], Some(BOOT));
            assert_eq!(seen.len(), whole, "cut to {end}");
            assert!(
                matches!(how, SegmentEnd::Torn { .. } | SegmentEnd::Whole { .. }),
                "cut to {end}: {how:?}"
            );
        }
        let bytes = segment(true, 1000);
        for end in HEADER_BYTES..bytes.len() {
            for boot in [Some(BOOT), None] {
                let (_, how) = read(&bytes[..end], boot);
                assert!(
                    matches!(how, SegmentEnd::Damaged { why: Damage::CutShort { .. }, .. }),
                    "cut to {end}: {how:?}"
                );
            }
        }
    }

    #[test]
    fn flipped_byte_is_damage_if_record_was_complete() {
        for fsync in [true, false] {
            let whole = segment(fsync, 600);
            for (at, restarted) in
                (HEADER_BYTES..HEADER_BYTES + 3 * GROUP).flat_map(|at| [(at, false), (at, true)])
            {
                let (group, in_mark) = (
                    (at - HEADER_BYTES) / GROUP,
                    (at - HEADER_BYTES) % GROUP >= GROUP - SYNC_MARKER_BYTES,
                );
                let mut bytes = whole.clone();
                bytes[at] ^= 1;
                let (seen, end) = read(&bytes, (!restarted).then_some(BOOT));
                assert_eq!(seen.len(), group + usize::from(in_mark), "byte {at}");
                let is_damage = matches!(end, SegmentEnd::Damaged { .. });
                // Only the marker at its end follows the last group, and that does not yet state
                // that it was synced.
                let expected = if group == 2 { !in_mark && (!restarted || !fsync) } else { true };
                assert_eq!(
                    is_damage, expected,
                    "byte {at}, fsync {fsync}, restarted {restarted}: {end:?}"
                );
            }
        }
    }

    #[test]
    fn damaged_length_hides_no_later_record() {
        let mut bytes = segment(false, 0);
        bytes[HEADER_BYTES] = 0x7f;
        let (seen, end) = read(&bytes, Some(BOOT));
        let SegmentEnd::Damaged { at: HEADER_BYTES, why: Damage::Followed, rest } = end else {
            panic!("{end:?}")
        };
        assert_eq!(
            (seen, rest.next, rest.writes),
            (vec![], Some(HEADER_BYTES + GROUP - SYNC_MARKER_BYTES), 2)
        );
    }

    #[test]
    fn sealed_segment_without_its_end_is_damaged() {
        let mut bytes = SegmentHeader { is_sealed: true, ..header(true, 0) }.encode();
        let RecordFormat::Chained(seed) = SegmentHeader::decode(&bytes).unwrap().1 else {
            panic!("the newest version")
        };
        let mut group = Vec::new();
        (0..3).for_each(|sequence| write(&mut group, sequence));
        write_end(&mut group, 4711);
        chain(&mut group, seed, HEADER_BYTES as u64);
        bytes.extend_from_slice(&group);
        let at = bytes.len();
        assert_eq!(read(&bytes, None), (vec![0, 1, 2], SegmentEnd::Whole { at, counts_as: 4711 }));
        for end in HEADER_BYTES..at {
            let (_, how) = read(&bytes[..end], None);
            assert!(
                matches!(how, SegmentEnd::Damaged { why: Damage::Sealed, .. }),
                "cut to {end}: {how:?}"
            );
        }
        for byte in HEADER_BYTES..at {
            let mut flipped = bytes.clone();
            flipped[byte] ^= 4;
            let (_, how) = read(&flipped, None);
            assert!(
                matches!(how, SegmentEnd::Damaged { why: Damage::Sealed, .. }),
                "byte {byte}: {how:?}"
            );
        }
    }

    #[test]
    fn record_of_another_segment_in_torn_record_is_ignored() {
        let mut bytes = segment(false, 0);
        let inner = segment(false, 0);
        let RecordFormat::Chained(seed) = SegmentHeader::decode(&bytes).unwrap().1 else {
            panic!("the newest version")
        };
        let (mut group, at) = (Vec::new(), bytes.len());
        let put = Put::new("row").add_at("f", "q", 1, &inner[HEADER_BYTES..]);
        write_cells(&mut group, 5, 3, None, std::iter::once(put.mutation().cells().bytes()));
        chain(&mut group, seed, at as u64);
        bytes.extend_from_slice(&group[..group.len() - 1]);
        assert_eq!(
            read(&bytes, Some(BOOT)),
            (vec![0, 1, 2], SegmentEnd::Torn { at, rest: LaterRecords::default() })
        );
    }

    #[test]
    fn salvage_returns_whole_writes_and_reports_damaged_ranges() {
        let whole = segment(false, 900);
        for at in HEADER_BYTES..HEADER_BYTES + 3 * GROUP {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x40;
            let (header, format) = SegmentHeader::decode(&bytes).unwrap();
            let mut seen = Vec::new();
            let each = |write: Write<'_>| {
                seen.push(write.sequence);
                Ok::<(), ()>(())
            };
            let bad = SegmentBytes::new(&bytes, &header, format, None).salvage(each).unwrap();
            let (group, in_mark) = (
                (at - HEADER_BYTES) / GROUP,
                (at - HEADER_BYTES) % GROUP >= GROUP - SYNC_MARKER_BYTES,
            );
            assert_eq!(seen.len(), if in_mark { 3 } else { 2 }, "byte {at}");
            assert!(in_mark || !seen.contains(&(group as u64)), "byte {at}");
            assert!(bad.len() == 1 && (bad[0].0..bad[0].1).contains(&at), "byte {at}: {bad:?}");
        }
    }

    /// Segment of version 2: a sync marker before each group but the first, if `marks`.
    fn old_segment(marks: bool) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = old::header(2, [7; 16], 3, 11);
        let mut starts = Vec::new();
        for i in 0..3 {
            if marks && i > 0 {
                let synced = bytes.len() as u64;
                old::sync_marker(&mut bytes, SyncMarker { synced, durable_length: 0 });
            }
            starts.push(bytes.len());
            let put = Put::new(format!("row{i}")).add_at("f", "q", 1, "value");
            old::cells(&mut bytes, 5, i, None, put.mutation().cells().bytes());
        }
        (bytes, starts)
    }

    #[test]
    fn damage_in_old_segments_is_classified_by_sync_markers() {
        for marks in [true, false] {
            let (whole, starts) = old_segment(marks);
            let (seen, end) = read(&whole, None);
            assert_eq!(
                (seen, end),
                (
                    vec![0, 1, 2],
                    SegmentEnd::Whole { at: whole.len(), counts_as: whole.len() as u64 }
                )
            );
            for (number, start) in starts.iter().enumerate() {
                let mut bytes = whole.clone();
                bytes[start + 10] ^= 1;
                let (seen, end) = read(&bytes, None);
                assert_eq!(seen.len(), number);
                let expected = match (number, marks) {
                    (2, _) => None,
                    (_, true) => Some(Damage::Synced),
                    (_, false) => Some(Damage::FollowedUnsynced),
                };
                let why = if let SegmentEnd::Damaged { why, .. } = end { Some(why) } else { None };
                assert_eq!(why, expected, "record {number}, marks {marks}");
            }
        }
    }

    #[test]
    fn search_through_invalid_lengths_terminates() {
        let mut bytes = old::header(2, [7; 16], 3, 11);
        // Every offset looks like the head of a record that reaches to the end.
        bytes.resize(1 << 20, 1);
        let (header, format) = SegmentHeader::decode(&bytes).unwrap();
        assert_eq!(
            SegmentBytes::new(&bytes, &header, format, None).search(48),
            LaterRecords::default()
        );
    }
}
