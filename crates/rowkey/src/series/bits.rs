//! Bit streams, most significant bit first, and Rice codes.
#![expect(
    clippy::cast_possible_truncation,
    reason = "every cast takes the low bits of a number, and what is left was masked or cannot be \
              more"
)]

/// After this many ones, the number itself follows in 64 bits instead of the rest of a Rice code.
/// One outlier therefore takes 11 bytes, not millions.
const ESCAPE: u32 = 24;

/// Writer that collects bits in bytes.
#[derive(Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    /// Bits not yet in `bytes`, at the low end.
    pending: u128,
    pending_bits: u32,
}

impl BitWriter {
    /// Creates a writer that appends to existing bytes.
    pub(super) fn after(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Appends the low `bits` of `value`, at most 64.
    pub(super) fn put(&mut self, value: u64, bits: u32) {
        debug_assert!(bits <= 64, "a number has 64 bits");
        if bits == 0 {
            return;
        }
        self.pending = self.pending << bits | u128::from(value & (u64::MAX >> (64 - bits)));
        self.pending_bits += bits;
        while self.pending_bits >= 8 {
            self.pending_bits -= 8;
            self.bytes.push((self.pending >> self.pending_bits & 0xff) as u8);
        }
        self.pending &= (1 << self.pending_bits) - 1;
    }

    /// Appends `value` with its low `k` bits unchanged and the rest in unary.
    pub(super) fn put_rice(&mut self, value: u64, k: u32) {
        let quotient = value >> k;
        if quotient >= u64::from(ESCAPE) {
            self.put((1 << ESCAPE) - 1, ESCAPE);
            self.put(value, 64);
            return;
        }
        // The quotient is below 24, so the shift is in range; the last bit is the zero that ends
        // it.
        self.put(((1u64 << quotient) - 1) << 1, quotient as u32 + 1);
        self.put(value, k);
    }

    /// Returns the bytes, the last one padded with zeros.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.pending_bits > 0 {
            self.put(0, 8 - self.pending_bits);
        }
        self.bytes
    }
}

/// Returns the number of bits of [`BitWriter::put_rice`] for `value`.
pub(super) fn rice_bits(value: u64, k: u32) -> u64 {
    let quotient = value >> k;
    if quotient >= u64::from(ESCAPE) { u64::from(ESCAPE) + 64 } else { quotient + 1 + u64::from(k) }
}

/// Returns the `k` that encodes `values` in the fewest bits, and that number of bits.
pub(super) fn best_rice(values: &(impl Iterator<Item = u64> + Clone)) -> (u32, u64) {
    let (count, sum) = values
        .clone()
        .fold((0u64, 0u128), |(count, sum), value| (count + 1, sum + u128::from(value)));
    let mean = sum / u128::from(count.max(1));
    // The best value is near the logarithm of the mean, unless outliers distort the mean, so all
    // smaller ones are tried too.
    let most = mean.checked_ilog2().map_or(0, |log| log + 1).min(63);
    (0..=most)
        .map(|k| (k, values.clone().map(|value| rice_bits(value, k)).sum::<u64>()))
        .min_by_key(|&(_, bits)| bits)
        .unwrap_or((0, 0))
}

/// Reader of the output of [`BitWriter`]; returns `None` at the end of the bytes.
#[derive(Clone)]
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    /// Offset of the next bit.
    next_bit: usize,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, next_bit: 0 }
    }

    /// Returns the next `bits`, at most 64.
    pub(super) fn take(&mut self, bits: u32) -> Option<u64> {
        if bits == 0 {
            return Some(0);
        }
        let end = self.next_bit.checked_add(bits as usize)?;
        let bytes = self.bytes.get(self.next_bit / 8..end.div_ceil(8))?;
        let all = bytes.iter().fold(0u128, |all, &byte| all << 8 | u128::from(byte));
        let behind = bytes.len() * 8 - self.next_bit % 8 - bits as usize;
        self.next_bit = end;
        Some((all >> behind) as u64 & (u64::MAX >> (64 - bits)))
    }

    /// Returns a number written with [`BitWriter::put_rice`].
    pub(super) fn take_rice(&mut self, k: u32) -> Option<u64> {
        let mut quotient = 0;
        while self.take(1)? == 1 {
            quotient += 1;
            if quotient == ESCAPE {
                return self.take(64);
            }
        }
        Some(u64::from(quotient).checked_shl(k)? | self.take(k)?)
    }

    /// Returns the number of bytes of which at least one bit was read.
    pub(super) fn bytes_begun(&self) -> usize {
        self.next_bit.div_ceil(8)
    }
}

/// Converts a signed number to an unsigned one that is small if the signed one is near zero.
pub(super) fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

/// Returns the reverse of [`zigzag`].
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

/// Appends a varint: seven bits per byte, the lowest first.
pub(super) fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Splits a varint of [`put_varint`] off the front of `bytes`; returns `None` if they end early or
/// are too many.
pub(super) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if shift == 63 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_round_trip() {
        let numbers = [(5, 3), (0, 1), (u64::MAX, 64), (1, 64), (0x1234, 13), (0, 0), (1, 1)];
        let mut writer = BitWriter::after(vec![7]);
        numbers.iter().for_each(|&(value, bits)| writer.put(value, bits));
        let bytes = writer.finish();
        assert_eq!(bytes[0], 7);
        let mut reader = BitReader::new(&bytes[1..]);
        for (value, bits) in numbers {
            let kept = if bits == 0 { 0 } else { value & (u64::MAX >> (64 - bits)) };
            assert_eq!(reader.take(bits), Some(kept), "{value} in {bits}");
        }
        assert_eq!(reader.take(16), None);
    }

    #[test]
    fn rice_codes_round_trip_with_the_predicted_length() {
        for k in [0, 1, 5, 31, 63] {
            for value in [0, 1, 2, 23, 24, 1 << 20, u64::MAX] {
                let mut writer = BitWriter::default();
                writer.put_rice(value, k);
                let bytes = writer.finish();
                assert_eq!(bytes.len() as u64, rice_bits(value, k).div_ceil(8), "{value} with {k}");
                assert_eq!(BitReader::new(&bytes).take_rice(k), Some(value), "{value} with {k}");
            }
        }
        assert_eq!(best_rice(&[0, 0, 0, 0].into_iter()), (0, 4));
        assert_eq!(best_rice(&[1000, 1001, 1002, 998].into_iter()).0, 9);
    }

    #[test]
    fn zigzag_varints_round_trip() {
        for value in [0, -1, 1, i64::MAX, i64::MIN, 300] {
            let mut bytes = Vec::new();
            put_varint(zigzag(value), &mut bytes);
            assert_eq!(take_varint(&mut &bytes[..]).map(unzigzag), Some(value));
        }
        assert_eq!(take_varint(&mut &[0xff; 10][..]), None);
        assert_eq!(take_varint(&mut &[0x80][..]), None);
    }
}
