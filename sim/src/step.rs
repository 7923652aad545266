//! Steps of a simulation: their kinds, and how one ends.

use bytes::Bytes;
use halite_engine::env::sim::FsCall;
use halite_types::{Error, Get, Put, RowOp, Scan};

use crate::check::Mismatch;

/// Step of a simulation.
#[derive(Clone, Debug)]
pub enum Step {
    /// A write.
    Write(RowOp),
    /// Writes of several rows in one call.
    Batch(Vec<RowOp>),
    /// A write with a nonce, which the log stores.
    WriteOnce(RowOp, u64),
    /// Concurrent callers, and the outcome of their writes.
    Burst(Vec<BurstAction>, BurstEnd),
    /// A read of one row.
    Get(Get),
    /// A read of a range.
    Scan(Scan),
    /// Flushes the memstores to files.
    Flush,
    /// Flushes the memstores of the families whose bits, by their order, are set.
    FlushFamilies(u64),
    /// Compacts some files into one.
    CompactMinor,
    /// Flushes, and then compacts all files of each store into one.
    CompactMajor,
    /// Splits a region at this row.
    Split(Bytes),
    /// Merges a region, counted modulo their number, with its neighbor.
    Merge(u64),
    /// Loads cells of one row, with timestamps, from files, one for each family.
    Load(Put),
    /// Takes the snapshot of this number, counted modulo a few, or deletes it if it exists.
    Snapshot(u64),
    /// Creates the clone of this number from a snapshot, or drops it if it exists.
    Clone(u64),
    /// A write to a clone, counted modulo their number.
    WriteClone(u64, RowOp),
    /// Flushes a clone and then compacts all files of each of its stores into one.
    CompactClone(u64),
    /// Splits a region of a clone.
    SplitClone(u64, Bytes),
    /// Restores the table from a snapshot, counted modulo their number.
    Restore(u64),
    /// Checks every snapshot.
    CheckSnapshots,
    /// Stores or deletes the setting of this number, counted modulo a few.
    Property(u64),
    /// Deletes all snapshots and drops all clones.
    RemoveAll,
    /// Closes the store and opens it again.
    Reopen,
    /// The process is killed; the machine continues.
    Kill,
    /// The power fails; the seed determines the remaining data.
    PowerLoss(u64),
    /// The process dies after this number of further file-system calls; then the power fails.
    CrashSoon(u64, u64),
    /// A fault starts or ends.
    Fault(DiskFault),
    /// Time passes.
    Advance(u32),
    /// The clock is set.
    Jump(i64),
}

/// Action of one of the callers.
#[derive(Clone, Debug)]
pub enum BurstAction {
    /// Writes in one call, without waiting.
    Submit(Vec<RowOp>),
    /// A write with a nonce.
    SubmitOnce(RowOp, u64),
    /// A read of one row.
    Get(Get),
    /// A read of a range, without limits.
    Scan(Scan),
    /// Waits for one of the pending writes, counted modulo their number.
    Wait(u64),
    /// Polls one of them as a task does.
    Poll(u64),
    /// Polls one of them as an immediate reply does.
    Try(u64),
}

/// Outcome of the writes that are still pending.
#[derive(Clone, Copy, Debug)]
pub enum BurstEnd {
    /// Waits for each, starting with one of them, counted modulo their number.
    Wait(u64),
    /// Waits for the newest first, which completes those before it.
    Backwards,
    /// The process is killed.
    Kill,
    /// The power fails; the seed determines the remaining data.
    PowerLoss(u64),
}

/// Disk fault.
#[derive(Clone, Copy, Debug)]
pub enum DiskFault {
    /// Calls of this kind fail: the first number of calls succeed, the second number then fail.
    FailCalls(FsCall, u64, u64),
    /// The disk is full after this number of bytes.
    FullDisk(u64),
    /// The disk has free space again, and calls no longer fail.
    Cleared,
    /// A bit of a file, chosen by this seed, is flipped.
    FlipBit(u64),
}

/// Reason why a step ended early.
pub(crate) enum StepError {
    /// The engine's behavior is incorrect.
    Wrong(Mismatch),
    /// A call failed; the operation in progress may or may not have been applied.
    Failed(Error),
}

impl From<Error> for StepError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Mismatch> for StepError {
    fn from(mismatch: Mismatch) -> Self {
        Self::Wrong(mismatch)
    }
}

pub(crate) type StepResult<T = ()> = Result<T, StepError>;
