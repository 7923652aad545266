//! Memory that the statements of a session share.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::Result;
use datafusion::execution::memory_pool::{
    FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};

/// Part of the memory that only those use that cannot spill.
const HEADROOM_SHARE: usize = 16;

/// DataFusion's fair pool, and a part of the memory beside it that sorts and groups do not get. In
/// the fair pool they may use all, and then what reads their rows fails by its first byte: a `max`
/// above a sort of many rows, or not, as the two happen to run.
#[derive(Debug)]
pub(super) struct SharedMemory {
    fair: FairSpillPool,
    headroom: usize,
    /// Bytes of the headroom that are in use.
    used: AtomicUsize,
}

impl SharedMemory {
    pub(super) fn new(bytes: usize) -> Self {
        let headroom = bytes / HEADROOM_SHARE;
        let fair = FairSpillPool::new(bytes - headroom);
        Self { fair, headroom, used: AtomicUsize::new(0) }
    }

    /// Takes bytes of the headroom; `false` if it has less.
    fn take(&self, bytes: usize) -> bool {
        let sum = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.headroom);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum).is_ok()
    }

    /// Returns bytes to the headroom, at most those in use; returns how many.
    fn give_back(&self, bytes: usize) -> usize {
        let less = |used: usize| Some(used.saturating_sub(bytes));
        let before = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        before.unwrap_or_else(|used| used).min(bytes)
    }
}

impl MemoryPool for SharedMemory {
    fn name(&self) -> &'static str {
        "shared"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.fair.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.fair.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.fair.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, bytes: usize) {
        // The fair pool counts those that cannot spill together, so it does not matter whose bytes
        // the headroom holds.
        let can_spill = reservation.consumer().can_spill();
        let returned = if can_spill { 0 } else { self.give_back(bytes) };
        self.fair.shrink(reservation, bytes - returned);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let grown = self.fair.try_grow(reservation, additional);
        if grown.is_err() && !reservation.consumer().can_spill() && self.take(additional) {
            return Ok(());
        }
        grown
    }

    fn reserved(&self) -> usize {
        self.fair.reserved() + self.used.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        match self.fair.memory_limit() {
            MemoryLimit::Finite(bytes) => MemoryLimit::Finite(bytes + self.headroom),
            other => other,
        }
    }
}

impl fmt::Display for SharedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} and a headroom of {} bytes", self.fair, self.headroom)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn sorts_leave_memory_to_what_reads_their_rows() {
        let pool: Arc<dyn MemoryPool> = Arc::new(SharedMemory::new(16 << 10));
        let sort = MemoryConsumer::new("sort").with_can_spill(true).register(&pool);
        sort.try_grow(15 << 10).expect("all but the headroom");
        sort.try_grow(1).expect_err("the headroom");
        let max = MemoryConsumer::new("max").register(&pool);
        max.try_grow(1000).expect("of the headroom");
        max.try_grow(25).expect_err("more than the headroom");
        assert_eq!(pool.reserved(), (15 << 10) + 1000);
        sort.shrink(1 << 10);
        max.try_grow(1 << 10).expect("what the sort gave back");
        max.shrink(2024);
        assert_eq!(pool.reserved(), 14 << 10);
        max.try_grow(1 << 10).expect("of the pool");
        max.try_grow(1 << 10).expect("of the headroom");
        drop((sort, max));
        assert_eq!(pool.reserved(), 0);
    }
}
