//! What a region server answers about its regions: figures, flushes, compactions.

use std::sync::Arc;

use crate::call::{Call, Fault, Reply};
use crate::context::Context;

/// Answers a call of `AdminService`. May take its time: it has a thread of its own.
pub(crate) fn call(_: &Arc<Context>, call: &Call) -> Result<Reply, Fault> {
    Err(Fault::unknown_method(call.method))
}
