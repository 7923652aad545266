//! Decoding of calls. A message is decoded once: a deferred call either waits undecoded, or
//! continues with its decoded message.

use std::sync::Arc;

use halite_types::Cells;
use prost::Message;

use crate::base::call::{Call, CallError};
use crate::base::call_step::{CallStep, Executor};
use crate::base::inline;

/// Returns the message of a call. Returns `None` on the connection's task if it is too large to
/// decode there.
pub(super) fn message<M: Message + Default>(
    call: &Call,
    executor: Executor,
) -> Result<Option<M>, CallError> {
    match executor {
        Executor::Inline if inline::allows_message(call) => call.measured_message().map(Some),
        Executor::Inline => Ok(None),
        Executor::Handler | Executor::Admin => call.message().map(Some),
    }
}

/// Returns the message of a call and the cells after it. Returns `None` on the connection's task if
/// one of them is too large to decode there, or if the cells are damaged, which a handler thread
/// reports. The size of compressed cells is not known before, so their decompression may end at the
/// limit and be done again. The message has not been decoded then.
pub(super) fn message_and_cells<M: Message + Default>(
    call: &Call,
    executor: Executor,
) -> Result<Option<(M, Cells)>, CallError> {
    match executor {
        Executor::Inline if inline::allows_message(call) => {
            let max_bytes = inline::max_cell_block_bytes(call);
            let Ok(cells) = call.cells_within(max_bytes) else { return Ok(None) };
            Ok(Some((call.measured_message()?, cells)))
        }
        Executor::Inline => Ok(None),
        Executor::Handler | Executor::Admin => Ok(Some((call.message()?, call.cells()?))),
    }
}

/// Returns the bytes of decoded cells in addition to the frame, which uncompressed cells share.
pub(super) fn decompressed_bytes(call: &Call, cells: &Cells) -> usize {
    if call.peer.has_compressor() { cells.bytes().len() } else { 0 }
}

/// Handler of a method of a service with the state `S`.
type CallHandler<S> = fn(&Arc<S>, &Arc<Call>, Executor) -> Result<CallStep, CallError>;

/// Defers an undecoded call to a handler thread.
pub(super) fn defer_undecoded<S: Send + Sync + 'static>(
    state: &Arc<S>,
    call: &Arc<Call>,
    method: CallHandler<S>,
) -> CallStep {
    let (state, call) = (Arc::clone(state), Arc::clone(call));
    CallStep::defer(move || method(&state, &call, Executor::Handler))
}

/// Defers the rest of a decoded call to a handler thread. While the call waits, it holds its
/// decoded message and `bytes` more.
pub(super) fn defer_decoded(
    call: &Call,
    bytes: usize,
    rest: impl FnOnce() -> Result<CallStep, CallError> + Send + 'static,
) -> CallStep {
    call.hold_decoded(bytes);
    CallStep::defer(rest)
}
