//! Calls that may be answered on the connection's task, and the limits of their work.

use halite_wire::service::{Method, Service};

use crate::base::call_step::Executor;

/// Maximum bytes of cells compressed on the connection's task: about a tenth of a millisecond.
pub(crate) const MAX_INLINE_COMPRESSED_BYTES: usize = 8 << 10;
/// Maximum bytes of a multi executed on the connection's task; a larger one would block it for too
/// long.
pub(crate) const MAX_INLINE_BYTES: usize = 64 << 10;
/// Maximum decoded bytes of a call decoded on the connection's task. Such a call may then have to
/// wait for a handler thread while it holds them. A larger call waits undecoded and is decoded when
/// a thread runs it, so that no more are decoded at once than there are threads.
pub(crate) const MAX_INLINE_DECODED_BYTES: usize = 1 << 20;

/// Maximum decompressed bytes of a cell block on the connection's task: a fraction of a
/// millisecond.
pub(crate) const MAX_INLINE_DECOMPRESSED_BYTES: usize = 128 << 10;

/// Maximum cost of passing one byte to a filter ([`Filter::cost`]) on the connection's task. The
/// key of a row may have 32 KB.
pub(crate) const MAX_INLINE_FILTER_COST: usize = 100;

/// Returns the executor of a call, as far as its header determines it.
pub(crate) fn executor(method: Method, bytes: usize) -> Executor {
    match (method.service(), method) {
        (
            Service::Client,
            Method::ClientGet | Method::ClientMutate | Method::ClientMulti | Method::ClientScan,
        ) if bytes <= MAX_INLINE_BYTES => Executor::Inline,
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
