//! Bytes of a log: buffered, with their offset and an end that is known before.

use std::io::{self, BufRead as _, BufReader, Read, Seek, SeekFrom};

use prost::Message;

/// Last bytes of a log that was closed.
const TRAILER_MAGIC: &[u8; 4] = b"LAWP";
/// Bytes read from the disk at a time.
const BUFFER_BYTES: usize = 256 << 10;
/// Bytes of the length and the magic after a trailer.
const TRAILER_END_BYTES: usize = 8;
/// Maximum bytes of a varint of 64 bits.
const MAX_VARINT_BYTES: u32 = 10;

/// Reason why an entry cannot be read.
pub(super) enum Fault {
    /// The log ends before the entry does.
    Incomplete,
    /// The bytes contradict the format.
    Damaged(String),
    Io(io::Error),
}

impl Fault {
    pub(super) fn damaged(why: impl Into<String>) -> Self {
        Self::Damaged(why.into())
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            Self::Incomplete
        } else {
            Self::Io(error)
        }
    }
}

/// Part of an entry, or the reason why there is none.
pub(super) type Parsed<T> = Result<T, Fault>;

/// Bytes of a log up to its trailer.
pub(super) struct Input<R> {
    source: BufReader<R>,
    offset: u64,
    end: u64,
}

impl<R: Read + Seek> Input<R> {
    /// Starts at the first byte; also returns whether the log has a trailer.
    pub(super) fn new(mut source: R) -> io::Result<(Self, bool)> {
        let bytes = source.seek(SeekFrom::End(0))?;
        let mut end = bytes;
        let mut last = [0; TRAILER_END_BYTES];
        if let Some(before) = bytes.checked_sub(TRAILER_END_BYTES as u64) {
            source.seek(SeekFrom::Start(before))?;
            source.read_exact(&mut last)?;
            let [a, b, c, d, magic @ ..] = last;
            let trailer = u64::from(u32::from_be_bytes([a, b, c, d]));
            if magic == *TRAILER_MAGIC {
                // A length that does not fit is found as damage of the last entry.
                end = before.checked_sub(trailer).unwrap_or(before);
            }
        }
        source.seek(SeekFrom::Start(0))?;
        let source = BufReader::with_capacity(BUFFER_BYTES, source);
        Ok((Self { source, offset: 0, end }, end != bytes))
    }
}

impl<R: Read + Seek> Input<R> {
    /// Returns the source from an offset on, up to the end. Nothing else can be read afterwards.
    pub(super) fn rest(&mut self, offset: u64) -> io::Result<impl Read> {
        self.source.seek(SeekFrom::Start(offset))?;
        Ok(self.source.by_ref().take(self.end.saturating_sub(offset)))
    }
}

impl<R: Read> Input<R> {
    /// Starts at the first byte of a source of as many bytes.
    pub(super) fn whole(source: R, bytes: u64) -> Self {
        Self { source: BufReader::with_capacity(0, source), offset: 0, end: bytes }
    }

    /// Returns the offset of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the offset after the last entry.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    fn advance(&mut self, bytes: u64) -> Parsed<()> {
        let offset = self.offset.checked_add(bytes).filter(|offset| *offset <= self.end);
        self.offset = offset.ok_or(Fault::Incomplete)?;
        Ok(())
    }

    pub(super) fn read_array<const N: usize>(&mut self) -> Parsed<[u8; N]> {
        self.advance(N as u64)?;
        let mut bytes = [0; N];
        self.source.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Appends bytes; memory grows with the bytes of the log, not with the stated length.
    pub(super) fn read_into(&mut self, out: &mut Vec<u8>, bytes: u64) -> Parsed<()> {
        self.advance(bytes)?;
        let read = self.source.by_ref().take(bytes).read_to_end(out)?;
        if read as u64 == bytes { Ok(()) } else { Err(Fault::Incomplete) }
    }

    /// Returns as many bytes.
    pub(super) fn read_bytes(&mut self, bytes: u64) -> Parsed<Vec<u8>> {
        let mut out = Vec::new();
        self.read_into(&mut out, bytes)?;
        Ok(out)
    }

    /// Reads protobuf's varint, which is also that of the cells of a compressed log.
    pub(super) fn read_varint(&mut self) -> Parsed<u64> {
        let mut value = 0_u64;
        for place in 0..MAX_VARINT_BYTES {
            let [byte] = self.read_array()?;
            let bits = u64::from(byte & 0x7f);
            let shift = place.saturating_mul(7);
            if bits.leading_zeros() < shift {
                break;
            }
            value |= bits.checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Fault::damaged("a length has more than 64 bits"))
    }

    /// Reads a varint that is the length of something in the same file, at most `max`.
    pub(super) fn read_length(&mut self, max: u64, what: &str) -> Parsed<u64> {
        let length = self.read_varint()?;
        if length > max {
            return Err(Fault::Damaged(format!("a {what} has {length} bytes; at most {max}")));
        }
        Ok(length)
    }

    /// Reads a message after its length.
    pub(super) fn read_message<M: Message + Default>(&mut self, max: u64, what: &str) -> Parsed<M> {
        let length = self.read_length(max, what)?;
        let bytes = self.read_bytes(length)?;
        M::decode(&bytes[..]).map_err(|why| Fault::Damaged(format!("a {what}: {why}")))
    }

    /// Reads the rest. Returns whether it consists of zeros.
    pub(super) fn is_zero_to_the_end(&mut self) -> Parsed<bool> {
        loop {
            let buffer = self.source.fill_buf()?;
            let length = buffer.len();
            if length == 0 {
                return Ok(true);
            }
            if buffer.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            self.source.consume(length);
        }
    }
}
