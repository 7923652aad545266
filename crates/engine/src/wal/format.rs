//! The bytes of a log segment: header, records, and how a torn end is told from damage. Drawn in `docs/formats/wal.md`.
//!
//! ```text
//! segment  header | record ...
//! header   "HALWAL\r\n" | version u32 | store id 16 bytes | number u64 | length of the segment before u64 | CRC32C u32
//! record   body length u32 | CRC32C of the body u32 | body
//! body     kind u8 = 1 | region number u64 | sequence id u64 | encoded cells      a write
//!          kind u8 = 2 | offset u64                                            a mark: synced up to here
//!          kind u8 = 3 | region number u64 | sequence id u64 | nonce group u64 | nonce u64 | encoded cells
//!                                                                              a write under a nonce
//! ```
//! All integers are big-endian. A mark says how much of this segment had been synced when it was written. It tells
//! apart a torn end, which was never acknowledged, from damage to what was.

use halite_types::cell::read_cell;

/// First bytes of a segment.
pub(crate) const MAGIC: &[u8; 8] = b"HALWAL\r\n";
/// Version this code writes. It reads the first as well, which has no nonces.
pub(crate) const VERSION: u32 = 2;
/// Bytes of a segment's header.
pub(crate) const HEADER_BYTES: usize = 8 + 4 + 16 + 8 + 8 + 4;
const CELLS_HEADER_BYTES: usize = 1 + 8 + 8;
/// Bytes of a whole mark.
pub(crate) const MARK_BYTES: usize = 8 + 1 + 8;
const KIND_CELLS: u8 = 1;
const KIND_MARK: u8 = 2;
const KIND_CELLS_UNDER_NONCE: u8 = 3;
const NONCE_BYTES: usize = 8 + 8;
/// No record is larger: a batch is split before it comes near.
pub(crate) const MAX_BODY_BYTES: usize = 1 << 30;

/// The most bytes of a body that are not cells.
pub(crate) const BODY_HEADER_BYTES: usize = CELLS_HEADER_BYTES + NONCE_BYTES;

/// What a segment's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) store_id: [u8; 16],
    pub(crate) number: u64,
    /// Length in bytes of the segment with the number before, 0 if there was none.
    pub(crate) previous_bytes: u64,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_be_bytes());
        out.extend_from_slice(&self.store_id);
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(&self.previous_bytes.to_be_bytes());
        let crc = crc32c::crc32c(&out);
        out.extend_from_slice(&crc.to_be_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let (head, _) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or(HeaderError::Short)?;
        let (checked, crc) = head.split_at(HEADER_BYTES - 4);
        if !checked.starts_with(MAGIC) {
            return Err(HeaderError::Damaged);
        }
        let version = u32::from_be_bytes(field(checked, 8));
        if crc32c::crc32c(checked) != u32::from_be_bytes(field(crc, 0)) {
            return Err(HeaderError::Damaged);
        }
        if !(1..=VERSION).contains(&version) {
            return Err(HeaderError::Version(version));
        }
        Ok(Self {
            store_id: field(checked, 12),
            number: u64::from_be_bytes(field(checked, 28)),
            previous_bytes: u64::from_be_bytes(field(checked, 36)),
        })
    }
}

/// Why bytes are not a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderError {
    /// The file ends inside it.
    Short,
    /// Magic or checksum are wrong.
    Damaged,
    /// Written by another version.
    Version(u32),
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..at.saturating_add(N)).and_then(|part| part.try_into().ok()).unwrap_or([0; N])
}

/// What a client calls an operation, so that it counts once however often it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Nonce {
    /// The client, more or less.
    pub group: u64,
    /// The operation within the group.
    pub number: u64,
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    /// Cells of one region under one sequence id.
    Cells(Write<'a>),
    /// The segment had been synced up to this offset.
    Mark(u64),
}

/// A write as it stands in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Write<'a> {
    pub(crate) region: u64,
    pub(crate) sequence: u64,
    pub(crate) nonce: Option<Nonce>,
    /// Encoded cells, checked.
    pub(crate) cells: &'a [u8],
}

/// Appends a write to `out`. The cells come in pieces, so that a batch is copied once.
pub(crate) fn write_cells<'a>(out: &mut Vec<u8>, region: u64, sequence: u64, nonce: Option<Nonce>, cells: impl Iterator<Item = &'a [u8]>) {
    let start = out.len();
    out.extend_from_slice(&[0; 8]);
    out.push(if nonce.is_some() { KIND_CELLS_UNDER_NONCE } else { KIND_CELLS });
    out.extend_from_slice(&region.to_be_bytes());
    out.extend_from_slice(&sequence.to_be_bytes());
    if let Some(Nonce { group, number }) = nonce {
        out.extend_from_slice(&group.to_be_bytes());
        out.extend_from_slice(&number.to_be_bytes());
    }
    for piece in cells {
        out.extend_from_slice(piece);
    }
    seal(&mut out[start..]);
}

/// A mark.
pub(crate) fn mark(durable_offset: u64) -> [u8; MARK_BYTES] {
    let mut out = [0; MARK_BYTES];
    out[8] = KIND_MARK;
    out[9..].copy_from_slice(&durable_offset.to_be_bytes());
    seal(&mut out);
    out
}

/// Fills in the length and the checksum of a record.
fn seal(record: &mut [u8]) {
    let (head, body) = record.split_at_mut(8);
    assert!(body.len() <= MAX_BODY_BYTES, "a record is limited by the caller");
    let length = u32::try_from(body.len()).expect("limited above");
    head[..4].copy_from_slice(&length.to_be_bytes());
    head[4..].copy_from_slice(&crc32c::crc32c(body).to_be_bytes());
}

/// Why no record stands at an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordError {
    /// The segment ends inside the record, or the length makes no sense.
    Short,
    /// The checksum does not fit: `(stored, computed)`.
    Checksum(u32, u32),
    /// The checksum fits but the content does not: written by something else.
    Content,
}

/// Reads the record at the front of `bytes` and says how long it is.
pub(crate) fn read_record(bytes: &[u8]) -> Result<(Record<'_>, usize), RecordError> {
    let (head, rest) = bytes.split_first_chunk::<8>().ok_or(RecordError::Short)?;
    let length = u32::from_be_bytes(field(head, 0)) as usize;
    let stored = u32::from_be_bytes(field(head, 4));
    // Zeros are what a file reads as where its length reached the disk and its bytes did not; the checksum of no bytes
    // is zero too.
    if length == 0 {
        return Err(RecordError::Short);
    }
    let body = rest.get(..length).ok_or(RecordError::Short)?;
    let computed = crc32c::crc32c(body);
    if computed != stored {
        return Err(RecordError::Checksum(stored, computed));
    }
    let record = match body.first() {
        Some(&KIND_CELLS) if length >= CELLS_HEADER_BYTES => Record::Cells(read_write(body, CELLS_HEADER_BYTES)?),
        Some(&KIND_CELLS_UNDER_NONCE) if length >= CELLS_HEADER_BYTES + NONCE_BYTES => {
            let nonce = Nonce { group: u64::from_be_bytes(field(body, 17)), number: u64::from_be_bytes(field(body, 25)) };
            Record::Cells(Write { nonce: Some(nonce), ..read_write(body, CELLS_HEADER_BYTES + NONCE_BYTES)? })
        }
        Some(&KIND_MARK) if length == MARK_BYTES - 8 => Record::Mark(u64::from_be_bytes(field(body, 1))),
        _ => return Err(RecordError::Content),
    };
    Ok((record, length.saturating_add(8)))
}

/// Reads a write whose cells begin at `cells_at`.
fn read_write(body: &[u8], cells_at: usize) -> Result<Write<'_>, RecordError> {
    let (head, cells) = body.split_at(cells_at);
    let mut unread = cells;
    while !unread.is_empty() {
        unread = read_cell(unread, 0).map_err(|_| RecordError::Content)?.1;
    }
    Ok(Write { region: u64::from_be_bytes(field(head, 1)), sequence: u64::from_be_bytes(field(head, 9)), nonce: None, cells })
}

/// How the records of a segment end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SegmentEnd {
    /// With the last byte.
    Clean,
    /// With a torn write at this offset; nothing behind it was ever acknowledged.
    Torn(usize),
    /// With damage at this offset to what had been synced.
    Damaged(usize, RecordError),
}

/// Calls `each` with the writes of a whole segment and says how they end.
pub(crate) fn read_segment<E>(bytes: &[u8], mut each: impl FnMut(Write<'_>) -> Result<(), E>) -> Result<SegmentEnd, E> {
    let mut at = HEADER_BYTES;
    while at < bytes.len() {
        match read_record(bytes.get(at..).unwrap_or_default()) {
            Ok((record, length)) => {
                if let Record::Cells(write) = record {
                    each(write)?;
                }
                at = at.saturating_add(length);
            }
            Err(error) => {
                let damaged = error == RecordError::Content || synced_behind(bytes, at);
                return Ok(if damaged { SegmentEnd::Damaged(at, error) } else { SegmentEnd::Torn(at) });
            }
        }
    }
    Ok(SegmentEnd::Clean)
}

/// Whether some whole mark behind `bad` says that what stands at `bad` had been synced before.
fn synced_behind(bytes: &[u8], bad: usize) -> bool {
    (bad.saturating_add(1)..bytes.len()).any(|at| {
        // Length and kind rule out nearly every offset before a checksum is computed, and keep it short.
        bytes.get(at.saturating_add(8)) == Some(&KIND_MARK)
            && u32::from_be_bytes(field(bytes, at)) as usize == MARK_BYTES - 8
            && matches!(read_record(bytes.get(at..).unwrap_or_default()), Ok((Record::Mark(durable), _)) if durable > bad as u64)
    })
}

#[cfg(test)]
mod tests {
    use halite_types::Put;

    use super::*;

    /// Three writes, each with a mark before it that says `durable`.
    fn segment(durable: &[u64]) -> Vec<u8> {
        let mut bytes = SegmentHeader { store_id: [7; 16], number: 3, previous_bytes: 11 }.encode();
        for (i, &durable) in durable.iter().enumerate() {
            let put = Put::new(format!("row{i}")).add_at("f", "q", 1, "value");
            bytes.extend_from_slice(&mark(durable));
            write_cells(&mut bytes, 5, i as u64, None, std::iter::once(put.mutation().cells().bytes()));
        }
        bytes
    }

    fn read(bytes: &[u8]) -> (Vec<u64>, SegmentEnd) {
        let mut seen = Vec::new();
        let end = read_segment::<()>(bytes, |record| {
            seen.push(record.sequence);
            Ok(())
        });
        (seen, end.unwrap())
    }

    #[test]
    fn records_read_back() {
        let bytes = segment(&[0, 0, 0]);
        assert_eq!(SegmentHeader::decode(&bytes).unwrap(), SegmentHeader { store_id: [7; 16], number: 3, previous_bytes: 11 });
        assert_eq!(read(&bytes), (vec![0, 1, 2], SegmentEnd::Clean));
    }

    #[test]
    fn a_cut_anywhere_leaves_the_whole_records_before_it() {
        let bytes = segment(&[0, 0, 0]);
        let record = (bytes.len() - HEADER_BYTES) / 3;
        for end in HEADER_BYTES..bytes.len() {
            let whole = (end - HEADER_BYTES) / record;
            let (seen, how) = read(&bytes[..end]);
            assert_eq!(seen.len(), whole);
            let boundary = HEADER_BYTES + whole * record;
            let boundary = if end >= boundary + MARK_BYTES { boundary + MARK_BYTES } else { boundary };
            assert_eq!(how, if boundary == end { SegmentEnd::Clean } else { SegmentEnd::Torn(boundary) });
        }
    }

    #[test]
    fn a_flipped_bit_in_a_synced_record_is_damage_and_in_an_unsynced_one_a_torn_end() {
        let whole = segment(&[0, 0, 0]);
        let record = (whole.len() - HEADER_BYTES) / 3;
        let second = HEADER_BYTES + record + MARK_BYTES;
        let record = record - MARK_BYTES;
        for at in second..second + record {
            let mut unsynced = whole.clone();
            unsynced[at] ^= 1;
            assert_eq!(read(&unsynced), (vec![0], SegmentEnd::Torn(second)), "byte {at}");
            let mut synced = segment(&[0, 0, (second + record) as u64]);
            synced[at] ^= 1;
            let (seen, end) = read(&synced);
            assert_eq!(seen, [0]);
            assert!(matches!(end, SegmentEnd::Damaged(offset, _) if offset == second), "byte {at}: {end:?}");
        }
    }

    #[test]
    fn zeros_behind_the_records_are_a_torn_end() {
        let mut bytes = segment(&[0, 0, 0]);
        let end = bytes.len();
        bytes.resize(end + 700, 0);
        assert_eq!(read(&bytes), (vec![0, 1, 2], SegmentEnd::Torn(end)));
    }

    #[test]
    fn a_nonce_is_read_back_with_its_write_and_a_cut_or_flipped_one_is_not() {
        let put = Put::new("row").add_at("f", "q", 1, "value");
        let nonce = Nonce { group: 7, number: u64::MAX };
        let mut bytes = Vec::new();
        write_cells(&mut bytes, 5, 6, Some(nonce), std::iter::once(put.mutation().cells().bytes()));
        let write = Write { region: 5, sequence: 6, nonce: Some(nonce), cells: put.mutation().cells().bytes() };
        assert_eq!(read_record(&bytes), Ok((Record::Cells(write), bytes.len())));
        for at in 0..bytes.len() {
            assert!(read_record(&bytes[..at]).is_err());
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(read_record(&flipped).is_err(), "byte {at}");
        }
        let mut short = bytes[..8 + CELLS_HEADER_BYTES + NONCE_BYTES - 1].to_vec();
        seal(&mut short);
        assert_eq!(read_record(&short), Err(RecordError::Content));
    }

    #[test]
    fn segments_of_the_version_before_are_read() {
        let mut bytes = segment(&[0, 0, 0]);
        bytes[11] = 1;
        let crc = crc32c::crc32c(&bytes[..HEADER_BYTES - 4]);
        bytes[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&crc.to_be_bytes());
        assert!(SegmentHeader::decode(&bytes).is_ok());
        assert_eq!(read(&bytes), (vec![0, 1, 2], SegmentEnd::Clean));
    }

    #[test]
    fn headers_of_other_versions_are_told_from_damage() {
        let mut bytes = segment(&[]);
        bytes[11] = 9;
        assert_eq!(SegmentHeader::decode(&bytes), Err(HeaderError::Damaged));
        let crc = crc32c::crc32c(&bytes[..HEADER_BYTES - 4]);
        bytes[HEADER_BYTES - 4..].copy_from_slice(&crc.to_be_bytes());
        assert_eq!(SegmentHeader::decode(&bytes), Err(HeaderError::Version(9)));
        assert_eq!(SegmentHeader::decode(&bytes[..20]), Err(HeaderError::Short));
    }
}
