//! Servers that must receive no more regions.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use halite_wire::proto as pb;

/// Host, port and start code of a server.
pub(crate) type ServerKey = (String, u32, u64);

/// Servers that must receive no more regions.
#[derive(Debug, Default)]
pub(crate) struct DecommissionedServers(Mutex<BTreeSet<ServerKey>>);

impl DecommissionedServers {
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut BTreeSet<ServerKey>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns their names.
    pub(crate) fn names(&self) -> Vec<pb::ServerName> {
        let message = |(host, port, code): &ServerKey| pb::ServerName {
            host_name: host.clone(),
            port: Some(*port),
            start_code: Some(*code),
        };
        self.change(|servers| servers.iter().map(message).collect())
    }
}

/// Returns the key of a server.
pub(crate) fn key(server: &pb::ServerName) -> ServerKey {
    (server.host_name.clone(), server.port(), server.start_code())
}
