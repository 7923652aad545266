//! Log of sampled operations, for `halite key simulate --trace` and for the causes of a load.
//!
//! ```text
//! statement.rs    kind, families, columns and filter of a call as text
//! buffer.rs       operations since the last write to the disk
//! ring.rs         files with a bound of their bytes
//! ```
//!
//! The number of an operation in its region decides whether it is recorded, as for the other
//! samples of the heat map ([`halite_heat::sampler`]): one that is not costs a multiplication and a
//! comparison. One that is goes to a bounded buffer in memory; if that has no room, or another
//! thread has it at hand, the operation is dropped and counted. No caller waits for a lock or the
//! disk. The heat thread writes the buffer to the files.

mod buffer;
mod ring;
mod statement;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use halite_heat::operations::{Call, Client, LoggedCalls, MAX_BATCH_BYTES, OperationBatch};
use halite_heat::sampler;
use halite_types::Result;

use self::buffer::CallBuffer;
use self::ring::Ring;
use crate::caller::current_caller;
use crate::env::{Clock, Env};
use crate::options::{HeatLevel, Options};
use crate::ranked_lock::RankedMutex;

pub(crate) use statement::{of_cells, of_selection};

/// Operations per second that the log takes at most, at [`HeatLevel::Full`] too.
pub const MAX_CALLS_PER_SECOND: u32 = 10_000;

/// Address of the embedded library.
const EMBEDDED: &str = "embedded";

/// Log of a store.
pub(crate) struct OperationLog {
    /// Operations at positions below this are recorded; 0 for none.
    limit: u64,
    /// Operations of which each recorded one is the sample.
    rate: u64,
    max_bytes: u64,
    clock: Arc<dyn Clock>,
    buffer: CallBuffer,
    ring: RankedMutex<Ring>,
}

impl OperationLog {
    pub(crate) fn new(options: &Options, env: &Env) -> Self {
        let rate = match options.heat_level {
            _ if options.operation_log_bytes == 0 => 0,
            HeatLevel::Off | HeatLevel::Region => 0,
            HeatLevel::Sub => options.operation_log_rate,
            HeatLevel::Full => 1,
        };
        Self {
            limit: u64::MAX.checked_div(rate).unwrap_or(0),
            rate,
            max_bytes: options.operation_log_bytes,
            clock: Arc::clone(&env.clock),
            buffer: CallBuffer::default(),
            ring: RankedMutex::default(),
        }
    }

    /// Returns `true` if operations are recorded.
    pub(crate) fn is_on(&self) -> bool {
        self.limit > 0
    }

    /// Returns `true` if the buffer should be written before the column of the heat map ends.
    pub(crate) fn is_busy(&self) -> bool {
        self.rate == 1
    }

    /// Returns `true` if an operation is recorded. `number` counts the operations of its kind in a
    /// region; `offset` is that of the region.
    #[inline]
    pub(crate) fn is_due(&self, number: u64, offset: u64) -> bool {
        sampler::position(number).wrapping_sub(offset) < self.limit
    }

    /// Returns the position at which the sample of a region begins, from any number: it differs
    /// from region to region, so that not the first operation of each is recorded. The sample is a
    /// part of that of one operation in `2^max_shift`.
    pub(crate) fn offset_of(&self, number: u64) -> u64 {
        let room = (u64::MAX >> self.max_shift()).saturating_sub(self.limit);
        if room == 0 { 0 } else { number % room }
    }

    /// Returns the binary logarithm of the operations of which one may be recorded: half of the
    /// rate, so that the samples of regions may begin at different positions.
    pub(crate) fn max_shift(&self) -> u32 {
        self.rate.checked_ilog2().map_or(u32::MAX, |shift| shift.saturating_sub(1)).min(63)
    }

    /// Records an operation. The time, weight and client are set here.
    #[cold]
    pub(crate) fn record(&self, mut call: Call) {
        call.time_ms = self.clock.now_ms();
        call.weight = self.rate;
        self.buffer.add(call, MAX_CALLS_PER_SECOND);
    }

    /// Returns the client of the operations of this thread.
    pub(crate) fn client() -> Client {
        match current_caller() {
            None => Client { address: EMBEDDED.into(), ..Client::default() },
            Some(caller) => Client {
                address: Arc::clone(&caller.address),
                user: Arc::clone(&caller.user),
                version: Arc::clone(&caller.version),
            },
        }
    }

    /// Writes the operations since the last call to the files. A failure loses them, and nothing
    /// else.
    ///
    /// # Errors
    /// As the file system's.
    pub(crate) fn write(&self, env: &Env) -> Result<()> {
        self.write_with(env, None)
    }

    /// Writes that a table was dropped: a new one of its name has none of its operations.
    ///
    /// # Errors
    /// As the file system's.
    pub(crate) fn forget(&self, env: &Env, table: &str) -> Result<()> {
        let has_files = || {
            let mut ring = self.ring.lock();
            ring.restore(env, self.max_bytes);
            ring.since_ms().is_some()
        };
        // Without a log now there may be one of an earlier process.
        if self.max_bytes == 0 || !self.is_on() && !has_files() {
            return Ok(());
        }
        self.write_with(env, Some(Call::of_drop(table, self.clock.now_ms())))
    }

    fn write_with(&self, env: &Env, last: Option<Call>) -> Result<()> {
        let (mut calls, mut dropped) = self.buffer.take();
        calls.extend(last);
        if calls.is_empty() {
            return Ok(());
        }
        let mut ring = self.ring.lock();
        ring.restore(env, self.max_bytes);
        loop {
            let batch = OperationBatch { dropped, calls };
            let (bytes, taken) = batch.encode(ring.max_batch_bytes().min(MAX_BATCH_BYTES));
            ring.append(env, &bytes, &batch.calls[..taken])?;
            calls = batch.calls;
            calls.drain(..taken);
            dropped = 0;
            if calls.is_empty() {
                return Ok(());
            }
        }
    }

    /// Returns the operations of a table in a span of time in milliseconds since 1970, the newest
    /// `limit` of them.
    pub(crate) fn calls(
        &self,
        env: &Env,
        table: &str,
        (from_ms, to_ms): (i64, i64),
        limit: usize,
    ) -> LoggedCalls {
        let (places, since_ms) = {
            let mut ring = self.ring.lock();
            ring.restore(env, self.max_bytes);
            (ring.places(table, from_ms, to_ms), ring.since_ms())
        };
        let mut found = LoggedCalls { since_ms, rate: self.rate, ..LoggedCalls::default() };
        let is_asked = |call: &Call| (from_ms..to_ms).contains(&call.time_ms);
        for batch in places.into_iter().filter_map(|place| place.read(env)) {
            found.dropped = found.dropped.saturating_add(batch.dropped);
            for call in batch.calls.into_iter().filter(|call| *call.table == *table) {
                if call.is_drop() {
                    found.calls.clear();
                } else if is_asked(&call) {
                    found.calls.push(call);
                }
            }
            // The log may have far more operations than were requested.
            if found.calls.len() / 2 > limit {
                keep_newest(&mut found.calls, limit);
            }
        }
        keep_newest(&mut found.calls, limit);
        found
    }
}

/// Sorts operations by their times, and removes all but the newest.
fn keep_newest(calls: &mut Vec<Call>, limit: usize) {
    calls.sort_by_key(|call| call.time_ms);
    calls.drain(..calls.len().saturating_sub(limit));
}
