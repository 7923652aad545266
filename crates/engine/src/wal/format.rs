//! Format of a log segment: header and records. The diagram is in `docs/formats/wal.md`;
//! [`super::segment`] reads whole segments.
//!
//! ```text
//! segment  header | record ...
//! header   "HALWAL\r\n" | version u32 | store id 16 bytes | number u64 | length of the segment before u64 | flags u32
//!          | durable length u64 | boot id 16 bytes | salt u64 | CRC32C u32
//! record   body length u32 | CRC32C of the body u32 | CRC32C of the record's head u32 | body
//! body     kind u8 = 1 | region number u64 | sequence id u64 | encoded cells      a write
//!          kind u8 = 2 | synced offset u64 | durable length u64                a sync marker, at the end of each group
//!          kind u8 = 3 | region number u64 | sequence id u64 | nonce group u64 | nonce u64 | encoded cells
//!                                                                              a write under a nonce
//!          kind u8 = 4 | length u64                                            the end of a closed segment
//! ```
//! All integers are big-endian. The checksum of a record's head continues that of the segment's
//! header and covers the offset of the record. Bytes are therefore a record only in the segment and
//! at the offset they were written for. A record is recognizable after damaged bytes, whatever
//! these contain and whatever clients store in cells.

use halite_types::cell::read_cell;

/// First bytes of a segment.
pub(crate) const MAGIC: &[u8; 8] = b"HALWAL\r\n";
/// Version that this code writes. It also reads 1, which has no nonces, and 2, whose records have
/// no checksum of their heads.
pub(crate) const VERSION: u32 = 3;
/// Newest version with the short header and the short record heads.
const OLD_VERSION: u32 = 2;
/// Bytes of a segment's header.
pub(crate) const HEADER_BYTES: usize = 84;
/// Bytes of the header of versions 1 and 2.
pub(crate) const OLD_HEADER_BYTES: usize = 48;
/// Bytes of a record's head, before its body.
pub(crate) const RECORD_HEAD_BYTES: usize = 12;
const OLD_RECORD_HEAD_BYTES: usize = 8;
const CELLS_HEADER_BYTES: usize = 1 + 8 + 8;
/// Bytes of a whole sync marker.
#[cfg(test)]
pub(crate) const SYNC_MARKER_BYTES: usize = RECORD_HEAD_BYTES + SYNC_MARKER_BODY_BYTES;
const SYNC_MARKER_BODY_BYTES: usize = 1 + 8 + 8;
const OLD_SYNC_MARKER_BODY_BYTES: usize = 1 + 8;
const END_BODY_BYTES: usize = 1 + 8;
const KIND_CELLS: u8 = 1;
const KIND_SYNC_MARKER: u8 = 2;
const KIND_CELLS_UNDER_NONCE: u8 = 3;
const KIND_END: u8 = 4;
const NONCE_BYTES: usize = 8 + 8;
/// Maximum bytes of a record's body. A batch is split before it reaches this limit.
pub(crate) const MAX_BODY_BYTES: usize = 1 << 30;
/// Bytes of a record that are copied before their checksum is computed.
const CHECKSUM_CHUNK_BYTES: usize = 16 << 10;
const FLAG_FSYNC: u32 = 1;
const FLAG_SEALED: u32 = 2;

/// Maximum bytes of a body that are not cells.
pub(crate) const BODY_HEADER_BYTES: usize = CELLS_HEADER_BYTES + NONCE_BYTES;

/// Fields of a segment header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) store_id: [u8; 16],
    pub(crate) number: u64,
    /// Length in bytes of the previous segment, 0 if there was none.
    pub(crate) previous_bytes: u64,
    /// `true` if records are synced before they are acknowledged.
    pub(crate) fsync: bool,
    /// `true` if the segment was written and synced as a whole, with its end record, before it was
    /// renamed.
    pub(crate) is_sealed: bool,
    /// Durable length of the file before its first record, 0 if nothing was preallocated.
    pub(crate) durable_length: u64,
    /// Boot id of the machine when the segment was written; `None` if unknown.
    pub(crate) boot_id: Option<[u8; 16]>,
    /// Random number that prevents clients from storing bytes that are records of the segment.
    pub(crate) salt: u64,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_be_bytes());
        out.extend_from_slice(&self.store_id);
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(&self.previous_bytes.to_be_bytes());
        let flags =
            if self.fsync { FLAG_FSYNC } else { 0 } | if self.is_sealed { FLAG_SEALED } else { 0 };
        out.extend_from_slice(&flags.to_be_bytes());
        out.extend_from_slice(&self.durable_length.to_be_bytes());
        out.extend_from_slice(&self.boot_id.unwrap_or_default());
        out.extend_from_slice(&self.salt.to_be_bytes());
        let crc = crc32c::crc32c(&out);
        out.extend_from_slice(&crc.to_be_bytes());
        assert_eq!(out.len(), HEADER_BYTES, "the length of a header is fixed");
        out
    }

    /// Reads a header. Returns it and the format of the records after it.
    pub(crate) fn decode(bytes: &[u8]) -> Result<(Self, RecordFormat), HeaderError> {
        if bytes.len() < OLD_HEADER_BYTES {
            return Err(HeaderError::Short);
        }
        let version = u32::from_be_bytes(field(bytes, 8));
        let header_bytes = if version <= OLD_VERSION { OLD_HEADER_BYTES } else { HEADER_BYTES };
        let (head, _) = bytes.split_at_checked(header_bytes).ok_or(HeaderError::Short)?;
        let (checked, stored) = head.split_at(header_bytes - 4);
        let crc = crc32c::crc32c(checked);
        if !checked.starts_with(MAGIC) || crc != u32::from_be_bytes(field(stored, 0)) {
            return Err(HeaderError::Damaged);
        }
        if !(1..=VERSION).contains(&version) {
            return Err(HeaderError::Version(version));
        }
        // The later fields do not exist in an old segment and are read as zeros.
        let is_old = version <= OLD_VERSION;
        let later = if is_old { &[][..] } else { checked };
        let header = Self {
            store_id: field(checked, 12),
            number: u64::from_be_bytes(field(checked, 28)),
            previous_bytes: u64::from_be_bytes(field(checked, 36)),
            fsync: u32::from_be_bytes(field(later, 44)) & FLAG_FSYNC != 0,
            is_sealed: u32::from_be_bytes(field(later, 44)) & FLAG_SEALED != 0,
            durable_length: u64::from_be_bytes(field(later, 48)),
            boot_id: Some(field(later, 56)).filter(|id| *id != [0; 16]),
            salt: u64::from_be_bytes(field(later, 72)),
        };
        Ok((header, if is_old { RecordFormat::Old } else { RecordFormat::Chained(crc) }))
    }
}

/// Reason that bytes are not a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderError {
    /// The file ends inside the header.
    Short,
    /// Magic or checksum are wrong.
    Damaged,
    /// Unsupported version.
    Version(u32),
}

/// Format of the records of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordFormat {
    /// Versions 1 and 2: no checksum of the record's head.
    Old,
    /// Version 3, with the checksum of the segment's header.
    Chained(u32),
    /// Version 3 with a damaged header: the checksums of the heads cannot be verified.
    Unchained,
}

impl RecordFormat {
    /// Returns the bytes of the segment's header.
    pub(crate) fn header_bytes(self) -> usize {
        if self == Self::Old { OLD_HEADER_BYTES } else { HEADER_BYTES }
    }

    fn record_head_bytes(self) -> usize {
        if self == Self::Old { OLD_RECORD_HEAD_BYTES } else { RECORD_HEAD_BYTES }
    }
}

pub(crate) fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..at.saturating_add(N)).and_then(|part| part.try_into().ok()).unwrap_or([0; N])
}

/// Identifier that a client assigns to an operation, so that it counts once however often it is
/// sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Nonce {
    /// Identifies the client, approximately.
    pub group: u64,
    /// Operation within the group.
    pub number: u64,
}

/// Record of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    /// Cells of one region under one sequence id.
    Cells(Write<'a>),
    /// Sync marker at the end of a group.
    SyncMarker(SyncMarker),
    /// End record of a closed segment, with the length that the next segment's header contains.
    End(u64),
}

/// Synced state when a group was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SyncMarker {
    /// Offset before which everything had been synced.
    pub(crate) synced: u64,
    /// Length of the file, including its preallocated end. It is durable if records are synced
    /// before they are acknowledged. 0 in versions 1 and 2.
    pub(crate) durable_length: u64,
}

/// Write as stored in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Write<'a> {
    pub(crate) region: u64,
    pub(crate) sequence: u64,
    pub(crate) nonce: Option<Nonce>,
    /// Encoded cells, validated.
    pub(crate) cells: &'a [u8],
}

/// Appends a write to `out`. The cells are passed in parts, so that a batch is copied once.
/// [`chain`] fills in the checksum of its head.
pub(crate) fn write_cells<'a>(
    out: &mut Vec<u8>,
    region: u64,
    sequence: u64,
    nonce: Option<Nonce>,
    cells: impl Iterator<Item = &'a [u8]>,
) {
    let start =
        begin_record(out, if nonce.is_some() { KIND_CELLS_UNDER_NONCE } else { KIND_CELLS });
    out.extend_from_slice(&region.to_be_bytes());
    out.extend_from_slice(&sequence.to_be_bytes());
    if let Some(Nonce { group, number }) = nonce {
        out.extend_from_slice(&group.to_be_bytes());
        out.extend_from_slice(&number.to_be_bytes());
    }
    debug_assert_eq!(
        out.len() - start,
        RECORD_HEAD_BYTES + CELLS_HEADER_BYTES + nonce.map_or(0, |_| NONCE_BYTES),
        "the cells of a record begin where a reader expects them"
    );
    // The checksum of the bytes is computed while they are in the processor's cache.
    let (mut crc, mut checked) = (0, start + RECORD_HEAD_BYTES);
    for part in cells.flat_map(|part| part.chunks(CHECKSUM_CHUNK_BYTES)) {
        out.extend_from_slice(part);
        if out.len() - checked >= CHECKSUM_CHUNK_BYTES {
            crc = crc32c::crc32c_append(crc, &out[checked..]);
            checked = out.len();
        }
    }
    crc = crc32c::crc32c_append(crc, &out[checked..]);
    seal_with(&mut out[start..], crc);
}

/// Appends a sync marker, without the checksum of its head.
pub(crate) fn write_sync_marker(out: &mut Vec<u8>, mark: SyncMarker) {
    let start = begin_record(out, KIND_SYNC_MARKER);
    out.extend_from_slice(&mark.synced.to_be_bytes());
    out.extend_from_slice(&mark.durable_length.to_be_bytes());
    seal(&mut out[start..]);
}

/// Appends the end record of a segment, without the checksum of its head.
pub(crate) fn write_end(out: &mut Vec<u8>, length: u64) {
    let start = begin_record(out, KIND_END);
    out.extend_from_slice(&length.to_be_bytes());
    seal(&mut out[start..]);
}

/// Bytes of the end record of a segment.
pub(crate) const END_BYTES: usize = RECORD_HEAD_BYTES + END_BODY_BYTES;

fn begin_record(out: &mut Vec<u8>, kind: u8) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; RECORD_HEAD_BYTES]);
    out.push(kind);
    start
}

/// Fills in the length and the checksum of a record's body.
fn seal(record: &mut [u8]) {
    let crc = crc32c::crc32c(&record[RECORD_HEAD_BYTES..]);
    seal_with(record, crc);
}

fn seal_with(record: &mut [u8], crc: u32) {
    let (head, body) = record.split_at_mut(RECORD_HEAD_BYTES);
    assert!(body.len() <= MAX_BODY_BYTES, "a record is limited by the caller");
    let length = u32::try_from(body.len()).expect("limited above");
    head[..4].copy_from_slice(&length.to_be_bytes());
    head[4..8].copy_from_slice(&crc.to_be_bytes());
}

/// Fills in the checksums of the heads of `records`, which will be written at `offset` of the
/// segment whose header has the checksum `seed`.
pub(crate) fn chain(records: &mut [u8], seed: u32, offset: u64) {
    let end = offset + records.len() as u64;
    let (mut rest, mut at) = (records, offset);
    while let Some((head, behind)) = rest.split_first_chunk_mut::<RECORD_HEAD_BYTES>() {
        let crc = head_checksum(seed, at, &head[..8]);
        head[8..].copy_from_slice(&crc.to_be_bytes());
        let length = u32::from_be_bytes(field(head, 0)) as usize;
        at += (RECORD_HEAD_BYTES + length) as u64;
        rest = behind.split_at_mut(length).1;
    }
    assert_eq!(at, end, "a group has whole records");
}

fn head_checksum(seed: u32, offset: u64, lengths: &[u8]) -> u32 {
    let mut covered = [0; 16];
    covered[..8].copy_from_slice(&offset.to_be_bytes());
    covered[8..].copy_from_slice(lengths);
    crc32c::crc32c_append(seed, &covered)
}

/// Reason that there is no record at an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordError {
    /// The segment ends inside the record, or the length is invalid.
    Short,
    /// The checksum of its head does not match.
    Head,
    /// The checksum of its body does not match: `(stored, computed)`.
    Checksum(u32, u32),
    /// The checksum matches but the content is invalid: written by other software.
    Content,
}

/// Reads the record at `offset` of a segment. Returns it and its length.
pub(crate) fn read_record(
    segment: &[u8],
    offset: usize,
    format: RecordFormat,
) -> Result<(Record<'_>, usize), RecordError> {
    let head_bytes = format.record_head_bytes();
    let (head, rest) = segment
        .get(offset..)
        .and_then(|bytes| bytes.split_at_checked(head_bytes))
        .ok_or(RecordError::Short)?;
    let length = u32::from_be_bytes(field(head, 0)) as usize;
    let stored = u32::from_be_bytes(field(head, 4));
    // A file reads as zeros where its length reached the disk and its bytes did not. The checksum
    // of no bytes is also zero.
    if length == 0 {
        return Err(RecordError::Short);
    }
    if let RecordFormat::Chained(seed) = format
        && head_checksum(seed, offset as u64, &field::<8>(head, 0))
            != u32::from_be_bytes(field(head, 8))
    {
        return Err(RecordError::Head);
    }
    let body = rest.get(..length).ok_or(RecordError::Short)?;
    let computed = crc32c::crc32c(body);
    if computed != stored {
        return Err(RecordError::Checksum(stored, computed));
    }
    Ok((read_body(body, format)?, length.saturating_add(head_bytes)))
}

fn read_body(body: &[u8], format: RecordFormat) -> Result<Record<'_>, RecordError> {
    let is_old = format == RecordFormat::Old;
    let (&kind, length) = (body.first().ok_or(RecordError::Content)?, body.len());
    match kind {
        KIND_CELLS if length >= CELLS_HEADER_BYTES => {
            read_write(body, CELLS_HEADER_BYTES).map(Record::Cells)
        }
        KIND_CELLS_UNDER_NONCE if length >= CELLS_HEADER_BYTES + NONCE_BYTES => {
            let nonce = Nonce {
                group: u64::from_be_bytes(field(body, 17)),
                number: u64::from_be_bytes(field(body, 25)),
            };
            Ok(Record::Cells(Write {
                nonce: Some(nonce),
                ..read_write(body, CELLS_HEADER_BYTES + NONCE_BYTES)?
            }))
        }
        KIND_SYNC_MARKER
            if length
                == if is_old { OLD_SYNC_MARKER_BODY_BYTES } else { SYNC_MARKER_BODY_BYTES } =>
        {
            let durable_length = if is_old { 0 } else { u64::from_be_bytes(field(body, 9)) };
            Ok(Record::SyncMarker(SyncMarker {
                synced: u64::from_be_bytes(field(body, 1)),
                durable_length,
            }))
        }
        KIND_END if length == END_BODY_BYTES && !is_old => {
            Ok(Record::End(u64::from_be_bytes(field(body, 1))))
        }
        _ => Err(RecordError::Content),
    }
}

/// Returns `true` if the byte after a record's head may begin a body. This excludes nearly every
/// offset before a checksum is computed.
pub(crate) fn may_begin(segment: &[u8], offset: usize, format: RecordFormat) -> bool {
    let kind = segment.get(offset.saturating_add(format.record_head_bytes()));
    kind.is_some_and(|kind| (KIND_CELLS..=KIND_END).contains(kind))
}

/// Reads a write whose cells begin at `cells_at`.
fn read_write(body: &[u8], cells_at: usize) -> Result<Write<'_>, RecordError> {
    let (head, cells) = body.split_at(cells_at);
    let mut unread = cells;
    while !unread.is_empty() {
        unread = read_cell(unread, 0).map_err(|_| RecordError::Content)?.1;
    }
    Ok(Write {
        region: u64::from_be_bytes(field(head, 1)),
        sequence: u64::from_be_bytes(field(head, 9)),
        nonce: None,
        cells,
    })
}

/// Encoder of versions 1 and 2, for tests of reading them.
#[cfg(test)]
pub(crate) mod old {
    use super::{MAGIC, Nonce, RECORD_HEAD_BYTES, SyncMarker, write_cells};

    pub(crate) fn header(
        version: u32,
        store_id: [u8; 16],
        number: u64,
        previous_bytes: u64,
    ) -> Vec<u8> {
        let mut out = [
            &MAGIC[..],
            &version.to_be_bytes(),
            &store_id,
            &number.to_be_bytes(),
            &previous_bytes.to_be_bytes(),
        ]
        .concat();
        let crc = crc32c::crc32c(&out);
        out.extend_from_slice(&crc.to_be_bytes());
        out
    }

    pub(crate) fn cells(
        out: &mut Vec<u8>,
        region: u64,
        sequence: u64,
        nonce: Option<Nonce>,
        cells: &[u8],
    ) {
        let mut record = Vec::new();
        write_cells(&mut record, region, sequence, nonce, std::iter::once(cells));
        out.extend_from_slice(&record[..8]);
        out.extend_from_slice(&record[RECORD_HEAD_BYTES..]);
    }

    pub(crate) fn sync_marker(out: &mut Vec<u8>, mark: SyncMarker) {
        let body = [&[super::KIND_SYNC_MARKER][..], &mark.synced.to_be_bytes()].concat();
        out.extend_from_slice(&u32::try_from(body.len()).unwrap().to_be_bytes());
        out.extend_from_slice(&crc32c::crc32c(&body).to_be_bytes());
        out.extend_from_slice(&body);
    }
}

#[cfg(test)]
mod tests {
    use halite_types::Put;

    use super::*;

    const HEADER: SegmentHeader = SegmentHeader {
        store_id: [7; 16],
        number: 3,
        previous_bytes: 11,
        fsync: true,
        is_sealed: true,
        durable_length: 4096,
        boot_id: Some([9; 16]),
        salt: 77,
    };

    #[test]
    fn header_round_trips_unless_damaged_or_truncated() {
        let bytes = HEADER.encode();
        let crc = u32::from_be_bytes(field(&bytes, HEADER_BYTES - 4));
        assert_eq!(SegmentHeader::decode(&bytes), Ok((HEADER, RecordFormat::Chained(crc))));
        let unknown = SegmentHeader { boot_id: None, fsync: false, is_sealed: false, ..HEADER };
        assert_eq!(SegmentHeader::decode(&unknown.encode()).unwrap().0, unknown);
        for at in 0..bytes.len() {
            assert!(SegmentHeader::decode(&bytes[..at]).is_err());
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                assert!(SegmentHeader::decode(&flipped).is_err(), "byte {at}");
            }
        }
    }

    #[test]
    fn headers_of_other_versions_are_distinguished_from_damage() {
        let mut bytes = HEADER.encode();
        bytes[11] = 9;
        assert_eq!(SegmentHeader::decode(&bytes), Err(HeaderError::Damaged));
        let crc = crc32c::crc32c(&bytes[..HEADER_BYTES - 4]);
        bytes[HEADER_BYTES - 4..].copy_from_slice(&crc.to_be_bytes());
        assert_eq!(SegmentHeader::decode(&bytes), Err(HeaderError::Version(9)));
        assert_eq!(SegmentHeader::decode(&bytes[..20]), Err(HeaderError::Short));
        for version in [1, 2] {
            let (header, format) =
                SegmentHeader::decode(&old::header(version, [7; 16], 3, 11)).unwrap();
            assert_eq!(
                (
                    header.number,
                    header.previous_bytes,
                    header.durable_length,
                    header.boot_id,
                    format
                ),
                (3, 11, 0, None, RecordFormat::Old)
            );
        }
    }

    #[test]
    fn record_is_valid_only_at_its_offset_and_segment() {
        let put = Put::new("row").add_at("f", "q", 1, "value");
        let nonce = Nonce { group: 7, number: u64::MAX };
        let mut records = Vec::new();
        write_cells(
            &mut records,
            5,
            6,
            Some(nonce),
            std::iter::once(put.mutation().cells().bytes()),
        );
        let second = records.len();
        write_sync_marker(&mut records, SyncMarker { synced: 4, durable_length: 5 });
        write_end(&mut records, 6);
        chain(&mut records, 1234, 100);
        let mut bytes = vec![0; 100];
        bytes.extend_from_slice(&records);
        let write = Write {
            region: 5,
            sequence: 6,
            nonce: Some(nonce),
            cells: put.mutation().cells().bytes(),
        };
        let format = RecordFormat::Chained(1234);
        assert_eq!(read_record(&bytes, 100, format), Ok((Record::Cells(write), second)));
        let (_, mark_bytes) = read_record(&bytes, 100 + second, format).unwrap();
        assert_eq!(mark_bytes, SYNC_MARKER_BYTES);
        let end = read_record(&bytes, 100 + second + mark_bytes, format);
        assert_eq!(end, Ok((Record::End(6), END_BYTES)));
        assert_eq!(read_record(&bytes, 100, RecordFormat::Chained(1235)), Err(RecordError::Head));
        assert_eq!(read_record(&bytes[1..], 99, format), Err(RecordError::Head));
        assert!(read_record(&bytes[1..], 99, RecordFormat::Unchained).is_ok());
        for at in 100..100 + second {
            assert!(read_record(&bytes[..at], 100, format).is_err());
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(read_record(&flipped, 100, format).is_err(), "byte {at}");
        }
    }

    #[test]
    fn content_of_wrong_length_is_rejected_despite_valid_checksums() {
        for body in [
            &[KIND_CELLS; 3][..],
            &[KIND_CELLS_UNDER_NONCE; 20],
            &[KIND_SYNC_MARKER; 9],
            &[KIND_END; 3],
            &[9; 30],
            &[KIND_CELLS; 40],
        ] {
            let mut record = vec![0; RECORD_HEAD_BYTES];
            record.extend_from_slice(body);
            seal(&mut record);
            chain(&mut record, 1, 0);
            assert_eq!(
                read_record(&record, 0, RecordFormat::Chained(1)),
                Err(RecordError::Content),
                "{body:?}"
            );
        }
    }
}
