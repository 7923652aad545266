//! Most frequent rows in bounded memory: the Space-Saving algorithm (Metwally, Agrawal, El Abbadi,
//! "Efficient Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005).

use std::hash::Hasher as _;

use rustc_hash::FxHasher;

/// Number of rows that are counted.
pub(crate) const COUNTERS: usize = 64;
/// Bytes of a row that are kept. Longer rows that begin equally are counted as one.
pub(crate) const MAX_ROW_BYTES: usize = 1024;

/// Counts of frequent rows. A row that has more than one part in `counters` of the weight is among
/// them.
#[derive(Clone, Debug)]
pub struct SpaceSaving {
    /// Maximum number of counted rows.
    counters: usize,
    /// A byte of the hash of each counted row, eight in a word: most rows of an even load are not
    /// counted, and eight comparisons of words show it.
    tags: Vec<u64>,
    rows: Vec<FrequentRow>,
    /// Weight of all rows.
    total: u64,
    /// Least count of a row when the search for the least frequent row began at the first one.
    least: u64,
    /// Place up to which that search has come. All counters before it have a larger count.
    searched: usize,
}

/// One in each byte of a word, and the highest bit of each.
const ONES: u64 = u64::MAX / 0xff;
const HIGHEST: u64 = ONES << 7;

/// Row with its estimated weight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrequentRow {
    /// Row, or its first 1,024 bytes.
    pub row: Vec<u8>,
    /// Upper bound of the weight.
    pub count: u64,
    /// The weight is at least `count - error`.
    pub error: u64,
    /// Weight of writes since the row was counted.
    pub writes: u64,
    /// Bytes of its operations since the row was counted.
    pub bytes: u64,
}

impl Default for SpaceSaving {
    fn default() -> Self {
        Self::new(COUNTERS)
    }
}

impl SpaceSaving {
    /// Returns counts of at most `counters` rows, at least 1.
    #[must_use]
    pub fn new(counters: usize) -> Self {
        Self {
            counters: counters.max(1),
            tags: Vec::new(),
            rows: Vec::new(),
            total: 0,
            least: 0,
            searched: 0,
        }
    }

    /// Adds an operation on a row. Only a row of unusual length allocates.
    pub fn add(&mut self, row: &[u8], weight: u64, is_write: bool, bytes: u64) {
        let row = &row[..row.len().min(MAX_ROW_BYTES)];
        let tag = tag(row);
        self.total = self.total.saturating_add(weight);
        let at = self.find(tag, row).unwrap_or_else(|| self.replace(tag, row));
        let counted = &mut self.rows[at];
        counted.count = counted.count.saturating_add(weight);
        counted.writes = counted.writes.saturating_add(if is_write { weight } else { 0 });
        counted.bytes = counted.bytes.saturating_add(bytes);
    }

    fn find(&self, tag: u8, row: &[u8]) -> Option<usize> {
        let wanted = ONES * u64::from(tag);
        for (word, tags) in self.tags.iter().enumerate() {
            let different = tags ^ wanted;
            // The highest bit of each byte without a difference; a byte above such a one may be
            // among them too.
            let mut equal = different.wrapping_sub(ONES) & !different & HIGHEST;
            while equal != 0 {
                let at = word * 8 + (equal.trailing_zeros() / 8) as usize;
                if self.rows.get(at).is_some_and(|counted| counted.row == row) {
                    return Some(at);
                }
                equal &= equal - 1;
            }
        }
        None
    }

    /// Returns a counter for a new row: an unused one, or that of the least frequent row.
    fn replace(&mut self, tag: u8, row: &[u8]) -> usize {
        let at = if self.rows.len() < self.counters {
            self.rows.push(FrequentRow { row: row.to_vec(), ..FrequentRow::default() });
            self.tags.resize(self.rows.len().div_ceil(8), 0);
            self.rows.len() - 1
        } else {
            let at = self.least_frequent();
            let counted = &mut self.rows[at];
            counted.error = counted.count;
            (counted.writes, counted.bytes) = (0, 0);
            counted.row.clear();
            counted.row.extend_from_slice(row);
            at
        };
        let (tags, shift) = (&mut self.tags[at / 8], at % 8 * 8);
        *tags = *tags & !(0xff << shift) | u64::from(tag) << shift;
        at
    }

    /// Returns the place of a least frequent row. Counts only rise, so that a search continues
    /// where the one before it ended.
    fn least_frequent(&mut self) -> usize {
        loop {
            let rest = self.rows.iter().enumerate().skip(self.searched);
            if let Some((at, _)) = rest.into_iter().find(|(_, row)| row.count <= self.least) {
                self.searched = at;
                return at;
            }
            self.least = self.rows.iter().map(|counted| counted.count).min().unwrap_or(0);
            self.searched = 0;
        }
    }

    /// Returns the upper bound of the weight of a row that is not counted.
    #[must_use]
    pub fn missed(&self) -> u64 {
        if self.rows.len() < self.counters {
            return 0;
        }
        self.rows.iter().map(|counted| counted.count).min().unwrap_or(0)
    }

    /// Returns the weight of all operations.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the most frequent rows, at most `limit`, in falling order.
    #[must_use]
    pub fn top(&self, limit: usize) -> Vec<FrequentRow> {
        let mut rows = self.rows.clone();
        rows.sort_by(|one, other| {
            other.count.cmp(&one.count).then_with(|| one.row.cmp(&other.row))
        });
        rows.truncate(limit);
        rows
    }
}

/// Byte of the hash of a row. Rows that were chosen to collide cost time, not correctness: the rows
/// themselves are compared.
fn tag(row: &[u8]) -> u8 {
    let mut hasher = FxHasher::default();
    hasher.write(row);
    hasher.finish().to_be_bytes()[0]
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Rows of which a few are frequent, by a square law.
    fn rows(seed: u64, count: usize) -> Vec<Vec<u8>> {
        let mut random = fastrand::Rng::with_seed(seed);
        let row = |random: &mut fastrand::Rng| {
            let number = 1000.0 * random.f64().powi(4);
            format!("user_{number:.0}").into_bytes()
        };
        (0..count).map(|_| row(&mut random)).collect()
    }

    #[test]
    fn counts_are_within_their_errors() {
        for seed in 0..20 {
            let mut exact: HashMap<Vec<u8>, u64> = HashMap::new();
            let mut counted = SpaceSaving::default();
            for row in rows(seed, 20_000) {
                counted.add(&row, 1, false, 0);
                *exact.entry(row).or_default() += 1;
            }
            assert_eq!(counted.total(), 20_000);
            let top = counted.top(COUNTERS);
            for frequent in &top {
                let real = exact[&frequent.row];
                assert!(frequent.count >= real && frequent.count - frequent.error <= real);
            }
            for (row, real) in exact {
                let is_known = top.iter().any(|frequent| frequent.row == row);
                assert!(is_known || real <= counted.missed(), "{real} of {}", counted.missed());
            }
        }
    }

    #[test]
    fn least_frequent_row_is_replaced() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut counted = SpaceSaving::new(9);
        for _ in 0..5000 {
            let row = [random.u8(..40)];
            let least = counted.missed();
            let before = counted.clone();
            counted.add(&row, random.u64(1..20), false, 0);
            let known = before.rows.iter().any(|frequent| frequent.row == row);
            let added = counted.rows.iter().find(|frequent| frequent.row == row).unwrap();
            assert!(known || added.error == least, "{before:?} and {row:?}");
            assert_eq!(known, before.find(tag(&row), &row).is_some());
        }
    }

    #[test]
    fn frequent_row_has_its_writes_and_bytes() {
        let mut counted = SpaceSaving::default();
        for number in 0..1000_u32 {
            counted.add(b"hot", 16, number % 4 == 0, 100);
            counted.add(&number.to_be_bytes(), 16, false, 1);
        }
        let hot = counted.top(1).remove(0);
        assert_eq!((hot.row.as_slice(), hot.count, hot.error), (&b"hot"[..], 16_000, 0));
        assert_eq!((hot.writes, hot.bytes), (4000, 100_000));
    }

    #[test]
    fn long_rows_are_cut() {
        let mut counted = SpaceSaving::default();
        counted.add(&vec![7; 32_767], 1, true, 1);
        counted.add(&vec![7; 32_766], 1, true, 1);
        let top = counted.top(9);
        assert_eq!((top.len(), top[0].row.len(), top[0].count), (1, MAX_ROW_BYTES, 2));
    }
}
