//! Sets of 32-bit numbers as compressed bitmaps, in the portable format of Roaring bitmaps
//! (<https://github.com/RoaringBitmap/RoaringFormatSpec>), which libraries of many languages read.

use roaring::RoaringBitmap;

use crate::error::{Error, Result};

/// Maximum bytes of a bitmap that is decoded. A bitmap of all 32-bit numbers with every container
/// as bits has 537 MB; one that a cell may have by default has at most 10 MB.
const MAX_BYTES: usize = 64 << 20;

/// Set of 32-bit numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bitmap(RoaringBitmap);

impl Bitmap {
    /// Returns the set of one number: a contribution of 18 bytes.
    #[must_use]
    pub fn of(number: u32) -> Self {
        Self(RoaringBitmap::from_iter([number]))
    }

    /// Adds a number. Returns `true` if it was not in the set.
    pub fn insert(&mut self, number: u32) -> bool {
        self.0.insert(number)
    }

    /// Returns `true` if the set has the number.
    #[must_use]
    pub fn contains(&self, number: u32) -> bool {
        self.0.contains(number)
    }

    /// Returns the size of the set.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Returns `true` if the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter()
    }

    /// Returns how many numbers both sets have.
    #[must_use]
    pub fn intersection_len(&self, other: &Self) -> u64 {
        self.0.intersection_len(&other.0)
    }

    /// Returns the numbers that both sets have.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self(&self.0 & &other.0)
    }

    /// Adds the numbers of another set.
    pub fn merge(&mut self, other: &Self) {
        self.0 |= &other.0;
    }

    /// Returns the bytes of the cell.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.0.serialized_size());
        self.0.serialize_into(&mut out).expect("a vector takes all bytes");
        out
    }

    /// Returns the set in a cell. Memory is bounded by the length of the bytes: at most 8 KiB for
    /// each of the containers, which take 4 bytes at least.
    ///
    /// # Errors
    /// `InvalidRequest` if they are not a bitmap, are followed by others, or are over 64 MiB.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let invalid = |what: &str| {
            Error::invalid(format!(
                "the value of {} bytes is not a bitmap in the portable format of Roaring: {what}; \
                 make it with Bitmap::to_bytes",
                bytes.len()
            ))
        };
        if bytes.len() > MAX_BYTES {
            return Err(invalid("it is over 64 MiB"));
        }
        let mut rest = bytes;
        let bitmap = RoaringBitmap::deserialize_from(&mut rest)
            .map_err(|error| invalid(&error.to_string()))?;
        if rest.is_empty() { Ok(Self(bitmap)) } else { Err(invalid("further bytes follow it")) }
    }
}

impl FromIterator<u32> for Bitmap {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        Self(RoaringBitmap::from_iter(numbers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_back() {
        for numbers in [0..0, 7..8, 0..100_000] {
            let bitmap: Bitmap = numbers.collect();
            assert_eq!(Bitmap::from_bytes(&bitmap.to_bytes()).unwrap(), bitmap);
        }
        assert_eq!(Bitmap::of(9).to_bytes().len(), 18);
    }

    #[test]
    fn sets_merge_and_intersect() {
        let (mut a, b): (Bitmap, Bitmap) = ((0..10).collect(), (5..20).collect());
        assert_eq!((a.intersection_len(&b), a.intersection(&b).len()), (5, 5));
        a.merge(&b);
        assert_eq!(a, (0..20).collect());
    }

    #[test]
    fn other_bytes_are_refused() {
        let good = (0..5_000).step_by(3).collect::<Bitmap>().to_bytes();
        assert!(Bitmap::from_bytes(&good[..good.len() - 1]).is_err());
        assert!(Bitmap::from_bytes(&[&good[..], b"x"].concat()).is_err());
        for bytes in [&b""[..], b"text", &[0xff; 64], &[0x3a, 0x30, 0, 0, 0xff, 0xff, 0xff, 0xff]] {
            assert!(Bitmap::from_bytes(bytes).is_err(), "{bytes:02x?}");
        }
    }
}
