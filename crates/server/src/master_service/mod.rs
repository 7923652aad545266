//! What the master answers: tables, namespaces, snapshots, switches, procedures, the state of the cluster.

use std::sync::Arc;

use halite_engine::Engine;
use halite_types::Result as StoreResult;

use crate::call::{Call, Fault, Reply};
use crate::config::Config;
use crate::context::Context;

/// What the master keeps between calls.
pub(crate) struct Master {}

impl Master {
    pub(crate) fn new(_: &Arc<Engine>, _: &Config) -> StoreResult<Self> {
        Ok(Self {})
    }
}

/// Answers a call of `MasterService`, `HbckService` or `LockService`. May take its time: it has a thread of its own.
pub(crate) fn call(_: &Arc<Context>, call: &Call) -> Result<Reply, Fault> {
    Err(Fault::unknown_method(call.method))
}
