//! External inputs of a key besides its values: dictionaries and generated salts.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

use halite_types::rng::{SPLIT_MIX_INCREMENT, split_mix};

use crate::schema::{FieldId, HashFunction, MAX_SEGMENTS};

/// Resolver of the parts of a key that cannot be computed from its values. A result of `None` means
/// that the value is unknown.
pub trait KeyResolver {
    /// Returns the number of `value` in the dictionary of a field.
    fn dictionary_id(&self, _field: FieldId, _value: &[u8]) -> Option<u64> {
        None
    }

    /// Returns the value of a number in the dictionary of a field.
    fn dictionary_value(&self, _field: FieldId, _id: u64) -> Option<Vec<u8>> {
        None
    }

    /// Returns the next salt below `count` for a segment whose function is `random` or
    /// `round_robin`.
    fn next_salt(&self, _segment: usize, _function: HashFunction, _count: u32) -> Option<u32> {
        None
    }
}

/// Resolver without content: keys with dictionaries or generated salts are rejected.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoResolver;

impl KeyResolver for NoResolver {}

/// Generator of salts, sequential for each segment or random. All writers of a table in one process
/// share it.
#[derive(Debug)]
pub struct SaltGenerator {
    turns: [AtomicU64; MAX_SEGMENTS],
    state: AtomicU64,
}

impl SaltGenerator {
    /// Creates a generator with a random seed.
    pub fn new() -> Self {
        Self::seeded(RandomState::new().hash_one(0_u64))
    }

    /// Creates a generator that returns the same salts for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self { turns: [const { AtomicU64::new(0) }; MAX_SEGMENTS], state: AtomicU64::new(seed) }
    }

    /// Generates a number by `SplitMix64`: the state advances by a constant, so that no lock is
    /// required.
    fn generate(&self) -> u64 {
        split_mix(self.state.fetch_add(SPLIT_MIX_INCREMENT, Ordering::Relaxed))
    }
}

impl Default for SaltGenerator {
    fn default() -> Self {
        Self::new()
    }
}

impl KeyResolver for SaltGenerator {
    fn next_salt(&self, segment: usize, function: HashFunction, count: u32) -> Option<u32> {
        let word = match function {
            HashFunction::Random => self.generate(),
            HashFunction::RoundRobin => self.turns.get(segment)?.fetch_add(1, Ordering::Relaxed),
            _ => return None,
        };
        u32::try_from(word.checked_rem(count.into())?).ok()
    }
}
