//! Sample of keys in their order of arrival.
//!
//! Where the keys lie tells where half of the load is; in which order they came tells whether they
//! grow. Counters per key range tell neither.

use halite_types::rng::SplitMix64;

/// Keys of a sample.
pub(crate) const MAX_KEYS: usize = 128;
/// Bytes of a key that are kept.
pub(crate) const MAX_KEY_BYTES: usize = 256;

/// Uniform sample of the operations of one span of time (Algorithm R).
#[derive(Clone, Debug)]
pub struct KeySample {
    /// Maximum number of keys.
    most: usize,
    keys: Vec<SampledKey>,
    /// Operations since the begin.
    arrived: u64,
    /// Operations of which the keys are a sample: those before the rate fell count less.
    seen: u64,
    random: SplitMix64,
}

/// Operation of a sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampledKey {
    /// Row, or its first 256 bytes.
    pub row: Vec<u8>,
    /// Number of the operation among the sampled ones of its region, from 0.
    pub arrival: u64,
    /// `true` for a write.
    pub is_write: bool,
    /// `true` if it is one row of many that a scan returned.
    pub is_scan: bool,
}

impl Default for KeySample {
    fn default() -> Self {
        Self::new(MAX_KEYS)
    }
}

impl KeySample {
    /// Returns a sample of at most `most` keys.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most, keys: Vec::new(), arrived: 0, seen: 0, random: SplitMix64::new(0) }
    }

    /// Adds an operation.
    pub fn add(&mut self, row: &[u8], is_write: bool, is_scan: bool) {
        let arrival = self.arrived;
        self.arrived += 1;
        self.seen += 1;
        let random = self.random.next_u64();
        let row = &row[..row.len().min(MAX_KEY_BYTES)];
        if self.keys.len() < self.most {
            self.keys.push(SampledKey { row: row.to_vec(), arrival, is_write, is_scan });
            return;
        }
        // The product's high half is uniform below the count.
        let place = (u128::from(random) * u128::from(self.seen)) >> 64;
        if let Some(key) = usize::try_from(place).ok().and_then(|at| self.keys.get_mut(at)) {
            (key.arrival, key.is_write, key.is_scan) = (arrival, is_write, is_scan);
            key.row.clear();
            key.row.extend_from_slice(row);
        }
    }

    /// Changes the maximum number of keys of an empty sample.
    pub fn limit(&mut self, most: usize) {
        self.most = most;
    }

    /// Gives the operations so far half of their weight: each of those that follow represents
    /// twice as many.
    pub fn halve(&mut self) {
        self.seen /= 2;
        let most = usize::try_from(self.seen).unwrap_or(usize::MAX);
        while self.keys.len() > most {
            let place = (u128::from(self.random.next_u64()) * self.keys.len() as u128) >> 64;
            self.keys.swap_remove(usize::try_from(place).unwrap_or(0));
        }
    }

    /// Returns the sample in the order of arrival and begins a new one.
    pub fn take(&mut self) -> Vec<SampledKey> {
        (self.arrived, self.seen) = (0, 0);
        let mut keys = std::mem::take(&mut self.keys);
        keys.sort_by_key(|key| key.arrival);
        keys
    }

    /// Returns the number of operations of which this is a sample, in units of the last one's
    /// weight.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_is_uniform_and_ordered() {
        let mut thirds = [0_usize; 3];
        let mut sample = KeySample::default();
        for _ in 0..50 {
            for number in 0..3000_u32 {
                sample.add(&number.to_be_bytes(), true, false);
            }
            assert_eq!(sample.seen(), 3000);
            let keys = sample.take();
            assert_eq!((keys.len(), sample.seen()), (MAX_KEYS, 0));
            assert!(keys.is_sorted_by(|one, next| one.arrival < next.arrival));
            for key in keys {
                let number = u32::from_be_bytes(key.row.try_into().unwrap());
                assert_eq!(u64::from(number), key.arrival);
                thirds[number as usize / 1000] += 1;
            }
        }
        let expected = 50 * MAX_KEYS / 3;
        assert!(thirds.iter().all(|count| count.abs_diff(expected) < expected / 8), "{thirds:?}");
    }
    /// Every second operation of the later half arrives here, and its keys are half of the sample.
    #[test]
    fn sample_is_uniform_over_a_change_of_rate() {
        let mut later = 0;
        let mut sample = KeySample::default();
        for _ in 0..50 {
            for number in 0..3000_u32 {
                if number == 2000 {
                    sample.halve();
                }
                sample.add(&number.to_be_bytes(), true, false);
            }
            assert_eq!(sample.seen(), 2000);
            let keys = sample.take();
            assert!(keys.is_sorted_by(|one, next| one.arrival < next.arrival));
            later += keys.iter().filter(|key| key.arrival >= 2000).count();
        }
        let expected = 50 * MAX_KEYS / 2;
        assert!(later.abs_diff(expected) < expected / 8, "{later}, not {expected}");
    }

    #[test]
    fn small_sample_is_halved() {
        let mut sample = KeySample::new(100);
        (0..50_u32).for_each(|number| sample.add(&number.to_be_bytes(), true, false));
        sample.halve();
        assert_eq!(sample.take().len(), 25);
    }
}
