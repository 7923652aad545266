//! Frequent beginnings of rows, in several lengths.
//!
//! The lengths are those of the declared fields of a key, or a few numbers of bytes. In a quiet
//! region each operation counts in all lengths; in a busy one the sampled operations count in the
//! lengths by turns, with as much more weight, so that a sample costs as much as one length.

use std::sync::Arc;

use halite_types::KeyParts;

use crate::space_saving::{FrequentRow, SpaceSaving};

/// Lengths of prefixes.
const MAX_LEVELS: usize = 3;
/// Counted prefixes of each length.
pub(crate) const PREFIX_COUNTERS: usize = 32;
/// Lengths in bytes where no key is declared.
pub const PREFIX_BYTES: [u16; MAX_LEVELS] = [4, 8, 16];

/// What a prefix ends after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PrefixLevel {
    /// A number of declared fields.
    Fields(u8),
    /// A number of bytes.
    Bytes(u16),
}

/// Frequent prefixes of one length in one span of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrequentPrefixes {
    /// Length.
    pub level: PrefixLevel,
    /// Most frequent prefixes, in falling order.
    pub top: Vec<FrequentRow>,
    /// Upper bound of the weight of a prefix that is not among them.
    pub missed: u64,
}

/// Counts of prefixes.
#[derive(Debug)]
pub(crate) struct Prefixes {
    parts: Option<Arc<dyn KeyParts>>,
    levels: Vec<(PrefixLevel, SpaceSaving)>,
    /// Number of the next sampled operation.
    turn: usize,
}

impl Default for Prefixes {
    fn default() -> Self {
        Self::new(None, PREFIX_COUNTERS)
    }
}

impl Prefixes {
    fn new(parts: Option<Arc<dyn KeyParts>>, counters: usize) -> Self {
        let levels: Vec<PrefixLevel> = match &parts {
            Some(parts) => {
                let fields = parts.fields().iter().take(MAX_LEVELS);
                fields
                    .filter_map(|count| u8::try_from(*count).ok().map(PrefixLevel::Fields))
                    .collect()
            }
            None => PREFIX_BYTES.map(PrefixLevel::Bytes).into(),
        };
        let levels = levels.into_iter().map(|level| (level, SpaceSaving::new(counters)));
        Self { parts, levels: levels.collect(), turn: 0 }
    }

    /// Adds an operation. One that `is_sampled` is in one of the lengths only.
    pub(crate) fn add(
        &mut self,
        row: &[u8],
        (weight, bytes): (u64, u64),
        is_write: bool,
        is_sampled: bool,
    ) {
        let mut lengths = PREFIX_BYTES.map(usize::from);
        // A row that is no key of the declaration has none of its prefixes.
        if self.parts.as_ref().is_some_and(|parts| !parts.prefix_lengths(row, &mut lengths)) {
            return;
        }
        let levels = self.levels.len();
        let (first, count, times) =
            if is_sampled { (self.turn % levels.max(1), 1, levels as u64) } else { (0, levels, 1) };
        self.turn = self.turn.wrapping_add(1);
        let chosen = self.levels.iter_mut().zip(lengths).skip(first).take(count);
        for ((_, counted), length) in chosen {
            // A whole row is no prefix.
            if let Some(prefix) = row.get(..length).filter(|_| length < row.len()) {
                counted.add(
                    prefix,
                    weight.saturating_mul(times),
                    is_write,
                    bytes.saturating_mul(times),
                );
            }
        }
    }

    /// Returns at most `most` prefixes of each length, and starts again with other parts and
    /// numbers.
    pub(crate) fn take(
        &mut self,
        most: usize,
        parts: Option<&Arc<dyn KeyParts>>,
        counters: usize,
    ) -> Vec<FrequentPrefixes> {
        let next = Self::new(parts.cloned(), counters);
        let levels = std::mem::replace(self, next).levels.into_iter();
        let taken = levels.filter(|(_, counted)| counted.total() > 0).map(|(level, counted)| {
            let mut top = counted.top(most + 1);
            let missed = top.get(most).map_or_else(|| counted.missed(), |next| next.count);
            top.truncate(most);
            FrequentPrefixes { level, top, missed }
        });
        taken.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of two fields of two bytes each, and a rest.
    #[derive(Debug)]
    struct Pairs;

    impl KeyParts for Pairs {
        fn fields(&self) -> &[usize] {
            &[1, 2]
        }

        fn prefix_lengths(&self, row: &[u8], lengths: &mut [usize]) -> bool {
            (lengths[0], lengths[1]) = (2, 4);
            row.len() >= 4
        }
    }

    #[test]
    fn prefixes_of_fields_have_exact_counts_when_quiet() {
        let parts: Arc<dyn KeyParts> = Arc::new(Pairs);
        let mut prefixes = Prefixes::new(Some(Arc::clone(&parts)), PREFIX_COUNTERS);
        for number in 0..300_u32 {
            let row = format!("{}b{number:04}", if number % 3 == 0 { "aa" } else { "cc" });
            prefixes.add(row.as_bytes(), (1, 10), true, false);
        }
        prefixes.add(b"x", (1, 1), true, false);
        let taken = prefixes.take(16, None, PREFIX_COUNTERS);
        assert_eq!(taken[0].level, PrefixLevel::Fields(1));
        let counts: Vec<_> =
            taken[0].top.iter().map(|row| (row.row.as_slice(), row.count, row.error)).collect();
        assert_eq!(counts, [(&b"cc"[..], 200, 0), (&b"aa"[..], 100, 0)]);
        assert_eq!((taken[0].missed, taken[1].level), (0, PrefixLevel::Fields(2)));
        assert!(prefixes.take(16, None, 8).is_empty());
    }

    #[test]
    fn sampled_operations_count_by_turns_without_bias() {
        let mut prefixes = Prefixes::default();
        for number in 0..30_000_u32 {
            let row = format!("{:04}{number:020}", number / 7 % 2);
            prefixes.add(row.as_bytes(), (16, 160), false, true);
        }
        let taken = prefixes.take(16, None, 8);
        assert_eq!(taken.len(), 3);
        for (level, bytes) in taken.iter().zip(PREFIX_BYTES) {
            assert_eq!(level.level, PrefixLevel::Bytes(bytes));
        }
        for row in &taken[0].top {
            assert!(row.count.abs_diff(240_000) < 2400, "{row:?}");
        }
        // A row of exactly the length is not a prefix of one.
        prefixes.add(b"0123", (1, 1), false, false);
        assert!(prefixes.take(16, None, 8).is_empty());
    }
}
