//! Items written by several threads, whose waits for the log are shared.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::Result;

/// Threads that write a batch of items.
const WRITERS: u64 = 16;

/// Writes items by several threads. Those of one part, by `part_of`, are written by one thread, in
/// order.
pub(crate) fn write_in_parts(
    items: Range<u64>,
    part_of: impl Fn(u64) -> u64,
    write: impl Fn(u64) -> Result<()> + Sync,
) -> Result<()> {
    let mut parts: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for number in items {
        parts.entry(part_of(number) % WRITERS).or_default().push(number);
    }
    let write = |part: Vec<u64>| part.into_iter().try_for_each(&write);
    if parts.len() < 2 {
        return parts.into_values().try_for_each(write);
    }
    std::thread::scope(|scope| {
        let write = &write;
        let writers: Vec<_> =
            parts.into_values().map(|part| scope.spawn(move || write(part))).collect();
        writers.into_iter().try_for_each(|writer| {
            writer.join().unwrap_or_else(|_| anyhow::bail!("a writer panicked"))
        })
    })
}
