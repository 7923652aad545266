//! Builds without the feature `pg`, whose `halite serve` has no SQL port.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::anyhow;
use halite::Store;

use super::config::ServeConfig;
use crate::wrong_arguments::WrongArguments;

/// Port that is never there.
pub(super) enum ServerHandle {}

impl ServerHandle {
    pub(super) fn address(&self) -> SocketAddr {
        match *self {}
    }

    pub(super) fn shutdown(self) {
        match self {}
    }
}

/// Refuses to start the port.
///
/// # Errors
/// What to do, if the port is wanted.
pub(super) fn start(
    _: &Store,
    _: &Path,
    settings: &ServeConfig,
) -> anyhow::Result<Option<ServerHandle>> {
    match settings.pg.port {
        None => Ok(None),
        Some(_) => Err(WrongArguments(anyhow!(
            "--pg-port: this build has no SQL port; make one with: cargo build --release \
             --features pg"
        ))
        .into()),
    }
}
