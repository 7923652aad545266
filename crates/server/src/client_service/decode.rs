//! Cells of a call.

use std::sync::Arc;

use halite_types::Cells;

use crate::base::call::{Call, CallError};
use crate::base::call_step::{CallStep, Executor};
use crate::base::context::Context;
use crate::base::inline::{MAX_INLINE_DECODED_BYTES, MAX_INLINE_DECOMPRESSED_BYTES};

/// Returns the cells of a call. Returns `None` on the connection's task if they are damaged or too
/// large to decode there; a handler thread decodes them again and reports damage.
pub(super) fn cells(call: &Call, lane: Executor) -> Result<Option<Cells>, CallError> {
    match lane {
        Executor::Inline => {
            let is_compressed = call.peer.format.is_some_and(|format| format.compressor.is_some());
            Ok(call
                .cells_within(if is_compressed {
                    MAX_INLINE_DECOMPRESSED_BYTES
                } else {
                    MAX_INLINE_DECODED_BYTES
                })
                .ok())
        }
        Executor::Handler | Executor::Admin => call.cells().map(Some),
    }
}

/// Handler of a method.
type CallHandler = fn(&Arc<Context>, &Arc<Call>, Executor) -> Result<CallStep, CallError>;

/// Defers an undecoded call to a handler thread.
pub(super) fn on_handler(
    context: &Arc<Context>,
    call: &Arc<Call>,
    method: CallHandler,
) -> CallStep {
    let (context, call) = (Arc::clone(context), Arc::clone(call));
    CallStep::defer(move || method(&context, &call, Executor::Handler))
}
