//! Reader of integers and slices in untrusted bytes, and Hadoop's variable-length integers.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
#![expect(
    clippy::inline_always,
    reason = "a reader stays in registers only if nothing gets a reference to it"
)]

/// Position in bytes read from a disk. Every step is checked, and `None` means that the bytes end
/// early.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteReader<'a> {
    /// Remaining bytes: a step compares their number with what it needs, and nothing else.
    rest: &'a [u8],
    /// Length of all bytes.
    bytes: usize,
}

impl<'a> ByteReader<'a> {
    /// Returns a reader at the start of `bytes`.
    #[inline]
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, bytes: bytes.len() }
    }

    /// Returns a reader at `position`, which may be past the end: then nothing can be read.
    #[inline]
    pub(super) fn starting_at(bytes: &'a [u8], position: usize) -> Self {
        Self { rest: bytes.get(position..).unwrap_or_default(), bytes: bytes.len() }
    }

    /// Returns the position of the next byte.
    #[inline]
    pub(super) fn position(&self) -> usize {
        self.bytes.wrapping_sub(self.rest.len())
    }

    /// Returns the number of remaining bytes.
    #[inline]
    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Reads `count` bytes.
    #[inline(always)]
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (part, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(part)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (part, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*part)
    }

    /// Returns the next `N` bytes without reading them; `None` if there are fewer.
    #[inline(always)]
    pub(super) fn chunk<const N: usize>(&self) -> Option<&'a [u8; N]> {
        self.rest.first_chunk::<N>()
    }

    /// Returns the byte `distance` after the next one without reading it.
    #[inline(always)]
    pub(super) fn peek(&self, distance: usize) -> Option<u8> {
        self.rest.get(distance).copied()
    }

    /// Passes `count` bytes.
    #[inline(always)]
    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        self.rest = self.rest.get(count..)?;
        Some(())
    }

    /// Returns the length of the Hadoop vlong that begins here; `None` at the end, or if it is
    /// negative.
    #[inline(always)]
    pub(super) fn vlong_bytes(&self) -> Option<usize> {
        let first = self.peek(0)?;
        if first < 0x80 {
            return Some(1);
        }
        let is_negative = match first {
            0x89..=0x8f => false,
            // Eight bytes may have the bit of the sign, which 0x80 inverts.
            0x88 => self.peek(1)? >= 0x80,
            0x80 => self.peek(1)? < 0x80,
            _ => true,
        };
        (!is_negative).then(|| 9_usize.wrapping_sub(usize::from(first & 7)))
    }

    /// Reads one byte.
    #[inline(always)]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    /// Reads two bytes, big-endian.
    #[inline]
    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// Reads a length or count: four bytes, big-endian, not negative as a signed number.
    #[inline]
    pub(super) fn length(&mut self) -> Option<usize> {
        usize::try_from(self.array().map(i32::from_be_bytes)?).ok()
    }

    /// Reads four bytes, big-endian, signed.
    pub(super) fn i32(&mut self) -> Option<i32> {
        self.array().map(i32::from_be_bytes)
    }

    /// Reads eight bytes, big-endian, signed.
    #[inline]
    pub(super) fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// Reads a Hadoop vlong.
    #[inline]
    pub(super) fn vlong(&mut self) -> Option<i64> {
        let first = self.byte()?.cast_signed();
        if first >= -112 {
            return Some(i64::from(first));
        }
        self.vlong_tail(first)
    }

    /// Reads a number in groups of seven bits, the lowest first; every byte but the last has its
    /// highest bit set.
    #[inline(always)]
    pub(super) fn compressed_int(&mut self) -> Option<usize> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(usize::from(first));
        }
        let (value, rest) = compressed_int_tail(first, self.rest)?;
        self.rest = rest;
        Some(value)
    }

    #[inline]
    fn vlong_tail(&mut self, first: i8) -> Option<i64> {
        let (is_negative, count) = vlong_form(first);
        let magnitude = match self.chunk::<8>() {
            // One load instead of a loop. At most 8 bytes are taken, which are there.
            Some(word) => {
                self.skip(count)?;
                u64::from_be_bytes(*word) >> (64_usize.wrapping_sub(count << 3) & 63)
            }
            None => self.vlong_at_end(count)?,
        }
        .cast_signed();
        Some(if is_negative { !magnitude } else { magnitude })
    }

    #[cold]
    fn vlong_at_end(&mut self, count: usize) -> Option<u64> {
        let part = self.take(count)?;
        Some(part.iter().fold(0_u64, |value, &byte| (value << 8) | u64::from(byte)))
    }
}

/// Returns a number in groups of seven bits after its first byte, and what follows it. It gets no
/// reference to the reader, which therefore need not be in memory.
fn compressed_int_tail(first: u8, mut rest: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = u64::from(first & 0x7f);
    for shift in [7, 14, 21, 28] {
        let (byte, after) = rest.split_first()?;
        rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some((u32::try_from(value).ok()?.try_into().ok()?, rest));
        }
    }
    None
}

/// Returns the sign of a Hadoop vlong and the number of bytes after its first one, 1 to 8. The
/// first one is -128 to -121 for negative numbers, -120 to -113 for the others, the longest first.
#[inline]
fn vlong_form(first: i8) -> (bool, usize) {
    debug_assert!(first < -112, "the first byte is the number itself");
    (first < -120, 8_usize.wrapping_sub(usize::from(first.cast_unsigned() & 7)))
}

/// Appends a Hadoop vlong in the fewest bytes.
pub(super) fn write_vlong(out: &mut Vec<u8>, value: i64) {
    if (-112..=127).contains(&value) {
        out.extend_from_slice(&value.to_be_bytes()[7..]);
        return;
    }
    let (magnitude, bias) = if value < 0 { (!value, -120_i8) } else { (value, -112) };
    let skip = usize::try_from(magnitude.leading_zeros() >> 3).unwrap_or(0).min(7);
    let bytes = magnitude.to_be_bytes();
    let count = i8::try_from(8_usize.saturating_sub(skip)).unwrap_or(8);
    out.push(bias.wrapping_sub(count).cast_unsigned());
    out.extend_from_slice(bytes.get(skip..).unwrap_or_default());
}

/// Appends a number in groups of seven bits, as [`ByteReader::compressed_int`] reads it.
#[inline]
pub(super) fn write_compressed_int(out: &mut Vec<u8>, value: usize) {
    debug_assert!(u32::try_from(value).is_ok(), "a length is below 4 GiB");
    let mut rest = value;
    while rest >= 0x80 {
        out.push(low_byte(rest) | 0x80);
        rest >>= 7;
    }
    out.push(low_byte(rest));
}

#[inline]
fn low_byte(value: usize) -> u8 {
    let [low, ..] = (value as u64).to_le_bytes();
    low
}

/// Returns the bytes that [`write_vlong`] writes for a length.
pub(super) fn vlong_len(value: usize) -> usize {
    if value <= 127 {
        1
    } else {
        9_usize.saturating_sub(usize::try_from((value as u64).leading_zeros() >> 3).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vlong_encoding_equals_hadoops() {
        for (value, hex) in [
            (0_i64, &[0x00_u8][..]),
            (127, &[0x7f]),
            (128, &[0x8f, 0x80]),
            (300, &[0x8e, 0x01, 0x2c]),
            (65_536, &[0x8d, 1, 0, 0]),
            (-112, &[0x90]),
            (-113, &[0x87, 0x70]),
        ] {
            let mut out = Vec::new();
            write_vlong(&mut out, value);
            assert_eq!(out, hex, "{value}");
        }
    }

    #[test]
    fn compressed_ints_of_every_width_round_trip() {
        for shift in 0..32 {
            for value in [1_usize << shift, (1 << shift) - 1, u32::MAX as usize >> shift] {
                let mut out = Vec::new();
                write_compressed_int(&mut out, value);
                let mut input = ByteReader::new(&out);
                assert_eq!((input.compressed_int(), input.remaining()), (Some(value), 0));
                assert_eq!(
                    out.len(),
                    (usize::BITS - value.leading_zeros()).div_ceil(7).max(1) as usize
                );
            }
        }
        let mut out = Vec::new();
        write_compressed_int(&mut out, 300);
        assert_eq!(out, [0xac, 0x02]);
    }

    #[test]
    fn vlongs_of_every_width_round_trip_unless_truncated() {
        for shift in 0..64 {
            for value in [
                1_i64 << shift,
                (1_i64 << shift).wrapping_sub(1),
                !(1_i64 << shift),
                i64::MIN,
                i64::MAX,
            ] {
                let mut out = Vec::new();
                write_vlong(&mut out, value);
                let mut input = ByteReader::new(&out);
                assert_eq!(input.vlong_bytes(), (value >= 0).then_some(out.len()));
                assert_eq!((input.vlong(), input.remaining()), (Some(value), 0));
                let longer = [&out[..], &[0xa5; 9]].concat();
                assert_eq!(ByteReader::new(&longer).vlong(), Some(value));
                assert_eq!(ByteReader::new(&out[..out.len().saturating_sub(1)]).vlong(), None);
                if let Ok(length) = usize::try_from(value) {
                    assert_eq!(vlong_len(length), out.len(), "{value}");
                }
            }
        }
    }

    #[test]
    fn length_is_that_of_reading_for_all_first_bytes() {
        for first in 0..=u8::MAX {
            for second in [0, 1, 0x7f, 0x80, 0xff] {
                let bytes = [first, second, 0, 1, 2, 3, 4, 5, 6];
                let mut input = ByteReader::new(&bytes);
                let length = input.vlong_bytes();
                let value = input.vlong().unwrap();
                assert_eq!(length, (value >= 0).then_some(input.position()), "{bytes:x?}");
            }
        }
    }
}
