//! Operations since the last write to the disk: a few parts, of which each thread uses one.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use halite_heat::operations::Call;

use crate::ranked_lock::RankedMutex;

/// Parts of the buffer.
const PARTS: usize = 8;
/// Memory of a part: 16 MiB in all. One has room for the most operations of half a second.
const MAX_PART_BYTES: usize = 2 << 20;

/// Operations that wait for the disk.
#[derive(Default)]
pub(super) struct CallBuffer {
    parts: [RankedMutex<Part>; PARTS],
    dropped: AtomicU64,
    /// Current second, and the operations that it has.
    second: AtomicI64,
    in_second: AtomicU32,
}

#[derive(Default)]
struct Part {
    calls: Vec<Call>,
    bytes: usize,
}

impl CallBuffer {
    /// Adds an operation, or counts it as dropped: if its second has `max_per_second` already, if
    /// there is no room, or if another thread uses the part at this moment.
    pub(super) fn add(&self, call: Call, max_per_second: u32) {
        if !self.is_in_rate(call.time_ms.div_euclid(1000), max_per_second) || !self.push(call) {
            self.dropped.fetch_add(1, Relaxed);
        }
    }

    fn push(&self, call: Call) -> bool {
        let Some(mut part) = self.parts[part_of_thread()].try_lock() else { return false };
        let bytes = part.bytes + call.memory_bytes();
        let fits = bytes <= MAX_PART_BYTES;
        if fits {
            part.bytes = bytes;
            part.calls.push(call);
        }
        fits
    }

    /// Counts an operation of a second. Threads that change the second at the same time may let a
    /// few more in.
    fn is_in_rate(&self, second: i64, max_per_second: u32) -> bool {
        if self.second.swap(second, Relaxed) != second {
            self.in_second.store(0, Relaxed);
        }
        self.in_second.fetch_add(1, Relaxed) < max_per_second
    }

    /// Takes all operations, in the order of their times, and the number of those dropped. Without
    /// operations this number stays: a batch has it for the time of its operations.
    pub(super) fn take(&self) -> (Vec<Call>, u64) {
        let mut calls = Vec::new();
        for part in &self.parts {
            calls.extend(std::mem::take(&mut *part.lock()).calls);
        }
        calls.sort_by_key(|call: &Call| call.time_ms);
        let dropped = if calls.is_empty() { 0 } else { self.dropped.swap(0, Relaxed) };
        (calls, dropped)
    }
}

/// Returns the part that the thread uses.
fn part_of_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static PART: Cell<Option<usize>> = const { Cell::new(None) };
    }
    PART.with(|part| {
        let number = part.get().unwrap_or_else(|| NEXT.fetch_add(1, Relaxed) % PARTS);
        part.set(Some(number));
        number
    })
}
