//! Slots of the dictionary of tags: which one a new body takes. Reader and writer of a block must
//! choose the same ones.

/// Maximum number of bodies; the least recently used one is evicted.
const CAPACITY: usize = 127;

/// Use of the slots, which are filled from the first on.
#[derive(Default)]
pub(super) struct TagSlots {
    /// Time of the last use of each filled slot.
    last_uses: Vec<u64>,
    now: u64,
}

impl TagSlots {
    /// Makes a filled slot the most recently used one; `None` if it is not filled.
    #[inline]
    pub(super) fn touch(&mut self, slot: usize) -> Option<()> {
        self.now = self.now.saturating_add(1);
        *self.last_uses.get_mut(slot)? = self.now;
        Some(())
    }

    /// Returns the slot of a new body, which becomes the most recently used one.
    pub(super) fn claim(&mut self) -> usize {
        self.now = self.now.saturating_add(1);
        if self.last_uses.len() < CAPACITY {
            self.last_uses.push(self.now);
            return self.last_uses.len().saturating_sub(1);
        }
        let oldest = self.last_uses.iter_mut().enumerate().min_by_key(|(_, last_use)| **last_use);
        oldest.map_or(0, |(slot, last_use)| {
            *last_use = self.now;
            slot
        })
    }

    /// Empties all slots.
    pub(super) fn clear(&mut self) {
        self.last_uses.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_recently_used_slot_is_claimed() {
        let mut slots = TagSlots::default();
        assert!((0..CAPACITY).all(|slot| slots.claim() == slot));
        assert!(slots.touch(0).is_some() && slots.touch(CAPACITY).is_none());
        assert_eq!((slots.claim(), slots.claim()), (1, 2));
        slots.clear();
        assert_eq!((slots.touch(0), slots.claim()), (None, 0));
    }
}
