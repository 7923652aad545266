//! Sets of 32-bit numbers as compressed bitmaps, in the portable format of Roaring bitmaps
//! (<https://github.com/RoaringBitmap/RoaringFormatSpec>), which libraries of many languages read.

use roaring::RoaringBitmap;

use crate::error::{Error, Result};

/// Maximum bytes of memory of a bitmap that a cell contributes or a read returns. A bitmap of all
/// 32-bit numbers with every container as bits takes 537 MB, which a cell of 1 MB can ask for.
pub const MAX_BITMAP_BYTES: usize = 64 << 20;
/// Numbers that one container represents, as bits.
const CONTAINER_BYTES: usize = 8 << 10;
/// Cookies of the format: without and with run containers, the latter in the lower 16 bits.
const COOKIE: u32 = 12_346;
const COOKIE_OF_RUNS: u32 = 12_347;

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

    /// Returns the set in a cell.
    ///
    /// # Errors
    /// `InvalidRequest` if they are not a bitmap, are followed by others, or announce containers of
    /// more than [`MAX_BITMAP_BYTES`] of memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::within(bytes, MAX_BITMAP_BYTES).map(|(bitmap, _)| bitmap)
    }

    /// Returns the set in a cell and the most memory that it takes, which the head of its bytes
    /// tells before anything is allocated.
    fn within(bytes: &[u8], max_bytes: usize) -> Result<(Self, usize)> {
        let invalid = |what: &str| {
            Error::invalid(format!(
                "the value of {} bytes is not a bitmap in the portable format of Roaring: {what}; \
                 make it with Bitmap::to_bytes",
                bytes.len()
            ))
        };
        let memory = announced_bytes(bytes).ok_or_else(|| invalid("its head is damaged"))?;
        if memory > max_bytes {
            return Err(too_large(memory, max_bytes));
        }
        let mut rest = bytes;
        let bitmap = RoaringBitmap::deserialize_from(&mut rest)
            .map_err(|error| invalid(&error.to_string()))?;
        if !rest.is_empty() {
            return Err(invalid("further bytes follow it"));
        }
        Ok((Self(bitmap), memory))
    }

    /// Returns the most memory that the containers take.
    fn memory_bytes(&self) -> usize {
        let statistics = self.0.statistics();
        let full = u64::from(statistics.n_bitset_containers + statistics.n_run_containers);
        let bytes =
            full * CONTAINER_BYTES as u64 + 2 * u64::from(statistics.n_values_array_containers);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }
}

/// Union of bitmaps, within a bound of memory.
#[derive(Debug)]
pub(super) struct Union {
    bitmap: Bitmap,
    max_bytes: usize,
    /// The memory is this or less.
    at_most: usize,
}

impl Union {
    /// Begins with the bitmap in a cell.
    pub(super) fn new(value: &[u8], max_bytes: usize) -> Result<Self> {
        let (bitmap, at_most) = Bitmap::within(value, max_bytes)?;
        Ok(Self { bitmap, max_bytes, at_most })
    }

    /// Adds the bitmap in a cell.
    pub(super) fn add(&mut self, value: &[u8]) -> Result<()> {
        let (other, bytes) = Bitmap::within(value, self.max_bytes)?;
        self.bitmap.merge(&other);
        self.at_most = self.at_most.saturating_add(bytes);
        if self.at_most > self.max_bytes {
            // Numbers in both were counted twice.
            self.at_most = self.bitmap.memory_bytes();
        }
        if self.at_most > self.max_bytes {
            return Err(too_large(self.at_most, self.max_bytes));
        }
        Ok(())
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bitmap.to_bytes()
    }
}

fn too_large(bytes: usize, max_bytes: usize) -> Error {
    Error::invalid(format!(
        "the containers of the bitmap take up to {bytes} bytes of memory, and at most {max_bytes} \
         are merged; divide the set over several columns, such as one for each part of the numbers"
    ))
}

/// Returns the most memory that the containers take which the head of a bitmap announces; `None`
/// without such a head. A run may have any numbers, whatever the head says about their count.
fn announced_bytes(bytes: &[u8]) -> Option<usize> {
    let word = |rest: &[u8]| rest.first_chunk::<4>().map(|word| u32::from_le_bytes(*word));
    let cookie = word(bytes)?;
    let (count, flags, rest) = if cookie & 0xffff == COOKIE_OF_RUNS {
        let count = usize::try_from(cookie >> 16).ok()? + 1;
        let (flags, rest) = bytes.get(4..)?.split_at_checked(count.div_ceil(8))?;
        (count, flags, rest)
    } else if cookie == COOKIE {
        (usize::try_from(word(bytes.get(4..)?)?).ok()?, &[][..], bytes.get(8..)?)
    } else {
        return None;
    };
    let heads = rest.get(..count.checked_mul(4)?)?;
    let containers = heads.chunks_exact(4).enumerate().map(|(at, head)| {
        let is_run = flags.get(at / 8).is_some_and(|flags| flags >> (at % 8) & 1 == 1);
        let numbers = head.get(2..4).and_then(|count| count.try_into().ok());
        let array = numbers.map_or(0, |count| 2 * (usize::from(u16::from_le_bytes(count)) + 1));
        if is_run { CONTAINER_BYTES } else { array.min(CONTAINER_BYTES) }
    });
    Some(containers.sum())
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

    /// Returns a bitmap of containers of which each is a run of all numbers.
    fn runs(containers: u16) -> Vec<u8> {
        let count = usize::from(containers);
        let mut bytes = (COOKIE_OF_RUNS | (u32::from(containers) - 1) << 16).to_le_bytes().to_vec();
        bytes.extend(vec![0xff; count.div_ceil(8)]);
        for key in 0..containers {
            bytes.extend([key.to_le_bytes(), u16::MAX.to_le_bytes()].concat());
        }
        // Where each container begins, as in bitmaps with four containers or more.
        let first = bytes.len() + 4 * count;
        bytes
            .extend((0..count).flat_map(|at| u32::try_from(first + 6 * at).unwrap().to_le_bytes()));
        bytes.extend((0..count).flat_map(|_| [1, 0, 0, 0, 0xff, 0xff]));
        bytes
    }

    #[test]
    fn small_cell_that_asks_for_much_memory_is_refused() {
        let bytes = runs(60_000);
        assert!(bytes.len() < 1 << 20);
        let error = Bitmap::from_bytes(&bytes).unwrap_err();
        assert!(error.message().contains("take up to 491520000 bytes of memory"), "{error}");
        assert_eq!(Bitmap::from_bytes(&runs(8_000)).unwrap().len(), 8_000 << 16);
        // A head that announces containers which are not there.
        let head = [COOKIE.to_le_bytes(), u32::MAX.to_le_bytes()].concat();
        assert!(Bitmap::from_bytes(&head).is_err());
    }

    #[test]
    fn union_beyond_the_bound_is_refused_and_overlaps_count_once() {
        let evens = |container: u32| -> Vec<u8> {
            (0..1 << 15).map(|number| container << 16 | number << 1).collect::<Bitmap>().to_bytes()
        };
        let mut union = Union::new(&evens(0), 3 * CONTAINER_BYTES).unwrap();
        for container in [0, 1, 1, 2, 2, 0] {
            union.add(&evens(container)).unwrap();
        }
        let error = union.add(&evens(3)).unwrap_err();
        assert!(error.message().contains("at most 24576 are merged"), "{error}");
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
