//! `HyperLogLog` sketches: how many distinct items, in at most 12,289 bytes.
//!
//! ```text
//! sparse  0x01 | entry ..      entries ascending by register, each register once, of 3 bytes,
//!                              big-endian: register << 6 | rank
//! dense   0x02 | 12,288 bytes  16,384 ranks of 6 bits, from the highest bit of the first byte on
//! ```
//! An item is hashed to 64 bits ([`hash`]). The highest 14 bits are its register; the rank is the
//! position of the first 1 among the others, from 1 on, and 51 if all 50 are 0. A sketch with up to
//! 4,095 registers in use is sparse, otherwise dense: equal sketches have equal bytes.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "there are 2^14 registers of ranks below 64"
)]

use crate::error::{Error, Result};

/// Bits of a hash that choose its register.
pub const PRECISION: u32 = 14;
/// Number of registers.
pub const REGISTERS: usize = 1 << PRECISION;

const SPARSE: u8 = 1;
const DENSE: u8 = 2;
const RANK_BITS: u32 = 6;
const RANK_MASK: u32 = (1 << RANK_BITS) - 1;
const MAX_RANK: u8 = (64 - PRECISION + 1) as u8;
const ENTRY_BYTES: usize = 3;
const DENSE_BYTES: usize = REGISTERS * RANK_BITS as usize / 8;
const MAX_SPARSE: usize = DENSE_BYTES / ENTRY_BYTES - 1;

/// `HyperLogLog` sketch of precision 14. The standard error of [`Hll::estimate`] is 0.81 %.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hll(Registers);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Registers {
    /// Registers in use with their ranks, ascending.
    Sparse(Vec<u32>),
    /// Ranks of all registers.
    Dense(Box<[u8]>),
}

impl Default for Registers {
    fn default() -> Self {
        Self::Sparse(Vec::new())
    }
}

/// Returns the 64-bit hash of an item: FNV-1a with the finalizer of `MurmurHash3`.
#[must_use]
pub fn hash(item: &[u8]) -> u64 {
    let fnv = item.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mixed = (fnv ^ (fnv >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    mixed ^ (mixed >> 33)
}

impl Hll {
    /// Returns the sketch of one item: a contribution of 4 bytes.
    #[must_use]
    pub fn of(item: &[u8]) -> Self {
        let mut sketch = Self::default();
        sketch.insert(item);
        sketch
    }

    /// Adds an item.
    pub fn insert(&mut self, item: &[u8]) {
        let hash = hash(item);
        let rank = ((hash << PRECISION).leading_zeros() + 1).min(u32::from(MAX_RANK));
        self.raise((hash >> (64 - PRECISION)) as u32, rank as u8);
    }

    /// Adds the items of another sketch.
    pub fn merge(&mut self, other: &Self) {
        match &other.0 {
            Registers::Sparse(entries) => {
                for entry in entries {
                    self.raise(entry >> RANK_BITS, (entry & RANK_MASK) as u8);
                }
            }
            Registers::Dense(theirs) => {
                let ours = self.make_dense();
                for (our, their) in ours.iter_mut().zip(theirs.iter()) {
                    *our = (*our).max(*their);
                }
            }
        }
    }

    /// Returns the estimated number of distinct items (Ertl 2017, algorithm 6: unbiased over the
    /// whole range, without tables).
    #[must_use]
    pub fn estimate(&self) -> f64 {
        let mut counts = [0_u32; MAX_RANK as usize + 1];
        let mut count = |rank: u8, more: u32| {
            if let Some(count) = counts.get_mut(usize::from(rank)) {
                *count += more;
            }
        };
        match &self.0 {
            Registers::Sparse(entries) => {
                count(0, (REGISTERS - entries.len()) as u32);
                entries.iter().for_each(|entry| count((entry & RANK_MASK) as u8, 1));
            }
            Registers::Dense(ranks) => ranks.iter().for_each(|rank| count(*rank, 1)),
        }
        estimate_from(&counts)
    }

    /// Returns the bytes of the cell.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match &self.0 {
            Registers::Sparse(entries) => {
                let entries = entries.iter().flat_map(|entry| {
                    let [_, a, b, c] = entry.to_be_bytes();
                    [a, b, c]
                });
                std::iter::once(SPARSE).chain(entries).collect()
            }
            Registers::Dense(ranks) => {
                let mut out = Vec::with_capacity(1 + DENSE_BYTES);
                out.push(DENSE);
                for four in ranks.as_chunks::<4>().0 {
                    let packed =
                        four.iter().fold(0, |bits, rank| bits << RANK_BITS | u32::from(*rank));
                    let [_, a, b, c] = packed.to_be_bytes();
                    out.extend([a, b, c]);
                }
                out
            }
        }
    }

    /// Returns the sketch in a cell.
    ///
    /// # Errors
    /// `InvalidRequest` unless the bytes are those of [`Hll::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        match bytes.split_first() {
            Some((&SPARSE, entries)) => sparse_from(entries).ok_or_else(|| {
                invalid("its sparse entries are not ascending registers with ranks from 1 to 51")
            }),
            Some((&DENSE, packed)) if packed.len() == DENSE_BYTES => dense_from(packed)
                .ok_or_else(|| invalid("it is dense with a rank over 51 or too few registers")),
            Some((&DENSE, packed)) => Err(invalid(&format!(
                "it is dense with {} bytes instead of {DENSE_BYTES}",
                packed.len()
            ))),
            Some((form, _)) => Err(invalid(&format!("its first byte is {form}, not 1 or 2"))),
            None => Err(invalid("it is empty")),
        }
    }

    fn raise(&mut self, register: u32, rank: u8) {
        match &mut self.0 {
            Registers::Dense(ranks) => {
                if let Some(known) = ranks.get_mut(register as usize) {
                    *known = rank.max(*known);
                }
            }
            Registers::Sparse(entries) => {
                let at = entries.partition_point(|entry| entry >> RANK_BITS < register);
                let new = register << RANK_BITS | u32::from(rank);
                match entries.get_mut(at).filter(|entry| **entry >> RANK_BITS == register) {
                    Some(entry) => *entry = new.max(*entry),
                    None => entries.insert(at, new),
                }
                if entries.len() > MAX_SPARSE {
                    self.make_dense();
                }
            }
        }
    }

    fn make_dense(&mut self) -> &mut [u8] {
        if let Registers::Sparse(entries) = &self.0 {
            let mut ranks = vec![0; REGISTERS].into_boxed_slice();
            for entry in entries {
                if let Some(rank) = ranks.get_mut((entry >> RANK_BITS) as usize) {
                    *rank = (entry & RANK_MASK) as u8;
                }
            }
            self.0 = Registers::Dense(ranks);
        }
        match &mut self.0 {
            Registers::Dense(ranks) => ranks,
            Registers::Sparse(_) => unreachable!("it was made dense"),
        }
    }
}

fn sparse_from(bytes: &[u8]) -> Option<Hll> {
    let (chunks, rest) = bytes.as_chunks::<ENTRY_BYTES>();
    if !rest.is_empty() || chunks.len() > MAX_SPARSE {
        return None;
    }
    let entries: Vec<u32> =
        chunks.iter().map(|[a, b, c]| u32::from_be_bytes([0, *a, *b, *c])).collect();
    let is_valid = |entry: &u32| {
        entry >> RANK_BITS < REGISTERS as u32
            && (1..=u32::from(MAX_RANK)).contains(&(entry & RANK_MASK))
    };
    let ascending = entries.is_sorted_by(|a, b| a >> RANK_BITS < b >> RANK_BITS);
    (ascending && entries.iter().all(is_valid)).then_some(Hll(Registers::Sparse(entries)))
}

fn dense_from(packed: &[u8]) -> Option<Hll> {
    let unpack = |[a, b, c]: &[u8; 3]| {
        let bits = u32::from_be_bytes([0, *a, *b, *c]);
        [18, 12, 6, 0].map(|shift| (bits >> shift & RANK_MASK) as u8)
    };
    let ranks: Box<[u8]> = packed.as_chunks::<3>().0.iter().flat_map(unpack).collect();
    let used = ranks.iter().filter(|rank| **rank > 0).count();
    let is_valid = used > MAX_SPARSE && ranks.iter().all(|rank| *rank <= MAX_RANK);
    is_valid.then_some(Hll(Registers::Dense(ranks)))
}

/// Returns the estimate for the number of registers of each rank.
fn estimate_from(counts: &[u32; MAX_RANK as usize + 1]) -> f64 {
    let registers = REGISTERS as f64;
    let [zeros, middle @ .., full] = counts;
    let mut z = registers * tau((registers - f64::from(*full)) / registers);
    for count in middle.iter().rev() {
        z = 0.5 * (z + f64::from(*count));
    }
    z += registers * sigma(f64::from(*zeros) / registers);
    let alpha = 0.5 / std::f64::consts::LN_2;
    alpha * registers * registers / z
}

fn sigma(x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut x, mut y, mut z) = (x, 1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z <= before {
            return z;
        }
    }
}

fn tau(x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    let (mut x, mut y, mut z) = (x, 1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x).powi(2) * y;
        if z >= before {
            return z / 3.0;
        }
    }
}

fn invalid(what: &str) -> Error {
    Error::invalid(format!(
        "the value is not a HyperLogLog sketch of precision {PRECISION}: {what}; make it with \
         Hll::to_bytes"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(items: std::ops::Range<u64>) -> Hll {
        let mut sketch = Hll::default();
        items.for_each(|item| sketch.insert(&item.to_be_bytes()));
        sketch
    }

    #[test]
    fn estimates_are_within_two_percent() {
        for items in [0, 1, 10, 1_000, 5_000, 20_000, 50_000, 100_000, 1_000_000] {
            let estimate = sketch(0..items).estimate();
            let error = (estimate - items as f64).abs();
            assert!(error <= 0.02 * items as f64, "{items} items are estimated as {estimate}");
        }
    }

    #[test]
    fn union_is_the_sketch_of_all_items_in_any_order() {
        for size in [10, 3_000, 40_000] {
            let (a, b) = (sketch(0..size), sketch(size / 2..2 * size));
            let (mut ab, mut ba) = (a.clone(), b.clone());
            ab.merge(&b);
            ba.merge(&a);
            assert_eq!((ab.to_bytes(), &ab), (ba.to_bytes(), &sketch(0..2 * size)));
        }
    }

    #[test]
    fn bytes_are_read_back_and_bounded() {
        for size in [0, 1, 4_000, 5_000, 100_000] {
            let sketch = sketch(0..size);
            let bytes = sketch.to_bytes();
            assert!(bytes.len() <= 1 + DENSE_BYTES);
            assert_eq!(Hll::from_bytes(&bytes).unwrap(), sketch);
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        let dense = sketch(0..100_000).to_bytes();
        let hostile: [&[u8]; 8] = [
            b"",
            b"\x03",
            b"\x01\x00",
            b"\x01\x00\x00\x00",             // rank 0
            b"\x01\x10\x00\x01",             // register 16384
            b"\x01\x00\x00\x41\x00\x00\x41", // twice the same register
            &dense[..dense.len() - 1],
            &[&[DENSE][..], &[0; DENSE_BYTES]].concat(), // must be sparse
        ];
        for bytes in hostile {
            assert!(Hll::from_bytes(bytes).is_err(), "{bytes:02x?}");
        }
    }
}
