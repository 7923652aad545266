//! Servers that must receive no more regions.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use halite_types::ServerName;
use halite_wire::proto as pb;

/// Servers that must receive no more regions.
#[derive(Debug, Default)]
pub(crate) struct DecommissionedServers(Mutex<BTreeSet<ServerName>>);

impl DecommissionedServers {
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut BTreeSet<ServerName>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns their names.
    pub(crate) fn names(&self) -> Vec<pb::ServerName> {
        self.change(|servers| servers.iter().map(pb::ServerName::from).collect())
    }
}
