//! Procedures that clients before 2.6 start and poll by a signature.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::procedures::Procedures;
use crate::base::call::CallError;

/// Signature of flushes (HBase: `MasterFlushTableProcedureManager`).
pub(crate) const FLUSH: &str = "flush-table-proc";
/// Signature of snapshots (HBase: `SnapshotManager.ONLINE_SNAPSHOT_CONTROLLER_DESCRIPTION`).
pub(crate) const SNAPSHOT: &str = "online-snapshot";

/// Procedures that clients poll by signature and instance, the newest of each.
#[derive(Debug, Default)]
pub(crate) struct SignedProcedures(Mutex<HashMap<(&'static str, String), u64>>);

impl SignedProcedures {
    fn lock(&self) -> MutexGuard<'_, HashMap<(&'static str, String), u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a procedure.
    pub(crate) fn record(
        &self,
        procedures: &Procedures,
        signature: &'static str,
        instance: &str,
        id: u64,
    ) {
        let mut known = self.lock();
        known.retain(|_, id| procedures.find(*id).is_some());
        known.insert((signature, instance.to_owned()), id);
    }

    /// Returns `true` if the procedure is done. An unknown one is: it was started long ago, or by
    /// an earlier process.
    ///
    /// # Errors
    /// The error of the procedure.
    pub(crate) fn is_done(
        &self,
        procedures: &Procedures,
        signature: &'static str,
        instance: &str,
    ) -> Result<bool, CallError> {
        let key = (signature, instance.to_owned());
        let id = self.lock().get(&key).copied();
        match id.and_then(|id| procedures.find(id)).map(|procedure| procedure.outcome) {
            Some(None) => Ok(false),
            Some(Some(Err(exception))) => {
                self.lock().remove(&key);
                Err(exception.into())
            }
            Some(Some(Ok(_))) | None => Ok(true),
        }
    }
}
