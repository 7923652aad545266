//! Reader of integers and slices in untrusted bytes, and Hadoop's variable-length integers.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

/// Position in bytes read from a disk. Every step is checked, and `None` means that the bytes end
/// early.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteReader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> ByteReader<'a> {
    /// Returns a reader at the start of `bytes`.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// Returns a reader at `position`, which may be past the end: then nothing can be read.
    #[inline]
    pub(super) fn starting_at(bytes: &'a [u8], position: usize) -> Self {
        Self { bytes, position }
    }

    /// Returns the position of the next byte.
    #[inline]
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Returns the number of remaining bytes.
    pub(super) fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.position)
    }

    /// Reads `count` bytes.
    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.position.checked_add(count)?;
        let part = self.bytes.get(self.position..end)?;
        self.position = end;
        Some(part)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// Returns the next `N` bytes without reading them; `None` if there are fewer.
    #[inline]
    pub(super) fn chunk<const N: usize>(&self) -> Option<&'a [u8; N]> {
        self.bytes.get(self.position..)?.first_chunk::<N>()
    }

    /// Returns the length of the Hadoop vlong that begins here; `None` at the end.
    #[inline]
    pub(super) fn vlong_bytes(&self) -> Option<usize> {
        let first = self.bytes.get(self.position)?.cast_signed();
        Some(if first >= -112 { 1 } else { vlong_form(first).1.saturating_add(1) })
    }

    /// Reads one byte.
    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
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
    #[inline]
    pub(super) fn compressed_int(&mut self) -> Option<usize> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(usize::from(first));
        }
        self.compressed_int_tail(first)
    }

    fn compressed_int_tail(&mut self, first: u8) -> Option<usize> {
        let mut value = u64::from(first & 0x7f);
        for shift in [7, 14, 21, 28] {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return u32::try_from(value).ok()?.try_into().ok();
            }
        }
        None
    }

    #[inline]
    fn vlong_tail(&mut self, first: i8) -> Option<i64> {
        let (is_negative, count) = vlong_form(first);
        let magnitude = match self.chunk::<8>() {
            // One load instead of a loop. At most 8 bytes are taken, which are there.
            Some(word) => {
                self.position = self.position.wrapping_add(count);
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

/// Returns the sign of a Hadoop vlong and the number of bytes after its first one, 1 to 8. The
/// first one is below -112, otherwise it is the number itself.
#[inline]
fn vlong_form(first: i8) -> (bool, usize) {
    let (is_negative, bias) = if first < -120 { (true, -120_i8) } else { (false, -112) };
    (is_negative, usize::from(bias.wrapping_sub(first).unsigned_abs()))
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
                assert_eq!(input.vlong_bytes(), Some(out.len()));
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
}
