//! What a key needs from outside its values: dictionaries, and salts that are not computed.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::schema::{FieldId, HashFunction, SEGMENTS_MAX};

/// Answers what cannot be computed from the values of a key. Every answer may be `None`: it is not known here.
pub trait KeyHelper {
    /// The number that stands for `value` in the dictionary of a field.
    fn dictionary_id(&self, _field: FieldId, _value: &[u8]) -> Option<u64> {
        None
    }

    /// The value that a number of a field's dictionary stands for.
    fn dictionary_value(&self, _field: FieldId, _id: u64) -> Option<Vec<u8>> {
        None
    }

    /// The next salt below `count` for a segment whose function is `random` or `round_robin`.
    fn next_salt(&self, _segment: usize, _function: HashFunction, _count: u32) -> Option<u32> {
        None
    }
}

/// Knows nothing: keys with dictionaries or drawn salts are refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHelper;

impl KeyHelper for NoHelper {}

/// Draws salts: one after the other for each segment, or by chance. Shared by all writers of a table in one process.
#[derive(Debug)]
pub struct SaltDrawer {
    turns: [AtomicU64; SEGMENTS_MAX],
    state: AtomicU64,
}

impl SaltDrawer {
    /// With chance of its own.
    pub fn new() -> Self {
        Self::seeded(RandomState::new().hash_one(0_u64))
    }

    /// The same salts for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self { turns: [const { AtomicU64::new(0) }; SEGMENTS_MAX], state: AtomicU64::new(seed) }
    }

    /// `SplitMix64`: the state moves on by a constant, so that drawing needs no lock.
    fn draw(&self) -> u64 {
        let mut word = self.state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

impl Default for SaltDrawer {
    fn default() -> Self {
        Self::new()
    }
}

impl KeyHelper for SaltDrawer {
    fn next_salt(&self, segment: usize, function: HashFunction, count: u32) -> Option<u32> {
        let word = match function {
            HashFunction::Random => self.draw(),
            HashFunction::RoundRobin => self.turns.get(segment)?.fetch_add(1, Ordering::Relaxed),
            _ => return None,
        };
        u32::try_from(word.checked_rem(count.into())?).ok()
    }
}
