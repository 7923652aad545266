//! Servers that must receive no more regions.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use halite_types::ServerName;
use halite_wire::proto as pb;

/// Master's state of servers.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    /// Servers that must receive no more regions.
    decommissioned: Mutex<BTreeSet<ServerName>>,
}

impl Servers {
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut BTreeSet<ServerName>) -> T) -> T {
        change(&mut self.decommissioned.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the servers that must receive no more regions.
    pub(crate) fn decommissioned(&self) -> Vec<pb::ServerName> {
        self.change(|servers| servers.iter().map(pb::ServerName::from).collect())
    }
}
