//! Calls that are answered on the connection's task, and the limits of their work there.
//!
//! The thread of the task also serves other connections, so such a call uses memory only and ends
//! within a fraction of a millisecond. A call beyond a limit continues on a thread. All limits are
//! in this module; those of single reads are the engine's ([`MAX_MEMORY_CELLS`], [`MAX_MEMORY_BYTES`]).

use halite_engine::scan::{MAX_MEMORY_BYTES, MAX_MEMORY_CELLS, ReadStats, ScanLimits};
use halite_types::{Condition, Filter, RowOp};
use halite_wire::proto as pb;
use halite_wire::service::{Method, Service};

use crate::base::call::{Call, Reply};
use crate::base::call_step::Executor;

/// Maximum bytes of the frame of a call; a larger multi would block the task for too long.
const MAX_FRAME_BYTES: usize = 64 << 10;
/// Maximum bytes of a decoded message, of the cells after it, and of the cells inside it. Such a
/// call may then have to wait for a handler thread while it holds them. A larger call waits
/// undecoded and is decoded when a thread runs it, so that no more are decoded at once than there
/// are threads.
const MAX_DECODED_BYTES: usize = 1 << 20;
/// Maximum decompressed bytes of a cell block: a fraction of a millisecond.
const MAX_DECOMPRESSED_BYTES: usize = 128 << 10;
/// Maximum bytes of cells to compress: about a tenth of a millisecond.
const MAX_COMPRESSED_BYTES: usize = 8 << 10;
/// Maximum cost of passing one byte to a filter ([`Filter::cost`]). The key of a row may have
/// 32 KB.
const MAX_FILTER_COST: usize = 100;
/// Estimated bytes of a decoded filter per byte of its message.
const FILTER_FACTOR: usize = 32;

/// Returns the executor of a call, as far as its header determines it.
pub(crate) fn executor(method: Method, bytes: usize) -> Executor {
    match (method.service(), method) {
        (
            Service::Client,
            Method::ClientGet | Method::ClientMutate | Method::ClientMulti | Method::ClientScan,
        ) if bytes <= MAX_FRAME_BYTES => Executor::Inline,
        (
            Service::Client,
            Method::ClientBulkLoadHFile
            | Method::ClientPrepareBulkLoad
            | Method::ClientCleanupBulkLoad,
        ) => Executor::Admin,
        (Service::Client, _) => Executor::Handler,
        (Service::ClientMeta | Service::BootstrapNode | Service::ConnectionRegistry, _) => {
            Executor::Inline
        }
        _ => Executor::Admin,
    }
}

/// Returns `true` if the message of a call may be decoded.
pub(crate) fn allows_message(call: &Call) -> bool {
    call.is_decoded_within(MAX_DECODED_BYTES)
}

/// Returns `true` if `bytes` of cells inside messages may be decoded.
pub(crate) fn allows_inside(bytes: usize) -> bool {
    bytes <= MAX_DECODED_BYTES
}

/// Returns the maximum bytes of the cells after the message of a call.
pub(crate) fn max_cell_block_bytes(call: &Call) -> usize {
    if call.peer.has_compressor() { MAX_DECOMPRESSED_BYTES } else { MAX_DECODED_BYTES }
}

/// Returns `true` if the reply of a call may be encoded, with its cells compressed if the client
/// requests that.
pub(crate) fn allows_reply(call: &Call, reply: &Reply) -> bool {
    !call.peer.has_compressor() || reply.cell_bytes() <= MAX_COMPRESSED_BYTES
}

/// Returns `true` if a filter needs little work before the first cell is read. Compiling regular
/// expressions may take a tenth of a second, and a filter may make hundreds of comparisons per key.
pub(crate) fn allows_filter(filter: Option<&Filter>) -> bool {
    filter.is_none_or(|filter| filter.regex_count() == 0 && filter.cost() <= MAX_FILTER_COST)
}

/// Returns `true` if the condition of an operation needs little work before the first cell is read.
pub(crate) fn allows_condition(op: &RowOp) -> bool {
    match op {
        RowOp::CheckAndMutate(check) => match &check.condition {
            Condition::Filter(filter) => allows_filter(Some(filter)),
            Condition::Column { .. } => true,
        },
        _ => true,
    }
}

/// Returns `true` if a scan that did this work in one call may begin its next call on the
/// connection's task.
pub(crate) fn allows_next(cells_examined: u64, blocks_read: u64) -> bool {
    blocks_read == 0 && cells_examined <= MAX_MEMORY_CELLS
}

/// Returns the limits of a scan on the connection's task. Its time is limited by its cells.
pub(crate) fn limit_scan(limits: ScanLimits) -> ScanLimits {
    ScanLimits { cells_examined: MAX_MEMORY_CELLS, time_ms: None, ..limits }
}

/// Returns the estimated memory in bytes of a filter once it is decoded. A call that waits for a
/// thread may hold one.
pub(crate) fn filter_bytes(filter: Option<&pb::Filter>) -> usize {
    filter
        .and_then(|filter| filter.serialized_filter.as_ref())
        .map_or(0, |message| message.len().saturating_mul(FILTER_FACTOR))
}

/// Work of the reads of one call on the connection's task.
#[derive(Debug, Default)]
pub(crate) struct InlineBudget {
    /// Cells that they have examined.
    cells: u64,
    /// Bytes that they have passed to filters.
    filter_bytes: usize,
}

impl InlineBudget {
    /// Counts the work of a read.
    pub(crate) fn record_read(&mut self, stats: &ReadStats) {
        self.cells += stats.cells_examined();
        self.filter_bytes = self
            .filter_bytes
            .saturating_add(usize::try_from(stats.filter_work()).unwrap_or(usize::MAX));
    }

    /// Returns `true` if a call that has copied `bytes` of cells may begin another read.
    pub(crate) fn allows_read(&self, bytes: usize) -> bool {
        self.cells <= MAX_MEMORY_CELLS && bytes.max(self.filter_bytes) <= MAX_MEMORY_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executor_is_chosen_by_method_and_size() {
        assert_eq!(executor(Method::ClientGet, 60), Executor::Inline);
        assert_eq!(executor(Method::ClientMulti, 60_000), Executor::Inline);
        assert_eq!(executor(Method::ClientMulti, 2 << 20), Executor::Handler);
        assert_eq!(executor(Method::ClientScan, 60), Executor::Inline);
        assert_eq!(executor(Method::ClientExecService, 60), Executor::Handler);
        assert_eq!(executor(Method::ClientMetaGetClusterId, 0), Executor::Inline);
        assert_eq!(executor(Method::MasterCreateTable, 600), Executor::Admin);
        assert_eq!(executor(Method::AdminFlushRegion, 60), Executor::Admin);
    }

    #[test]
    fn each_budget_limit_ends_inline_reads() {
        let allows =
            |cells, filter_bytes, copied| InlineBudget { cells, filter_bytes }.allows_read(copied);
        assert!(allows(MAX_MEMORY_CELLS, MAX_MEMORY_BYTES, MAX_MEMORY_BYTES));
        assert!(!allows(MAX_MEMORY_CELLS + 1, 0, 0));
        assert!(!allows(0, MAX_MEMORY_BYTES + 1, 0));
        assert!(!allows(0, 0, MAX_MEMORY_BYTES + 1));
        assert!(allows_next(MAX_MEMORY_CELLS, 0));
        assert!(!allows_next(MAX_MEMORY_CELLS + 1, 0));
        assert!(!allows_next(0, 1), "it has waited for the disk");
    }
}
