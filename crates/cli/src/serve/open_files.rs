//! Limit of open files for a server.

use rustix::process::{Resource, getrlimit};

/// Files that the store may open in addition to client sockets.
const FILES: u64 = 1_000;

/// Raises the limit of open files: clients can exhaust a low one, so that neither clients nor the
/// log can open more.
pub(crate) fn raise_limit(max_connections: usize) {
    if let Err(error) = crate::open_files::raise_limit() {
        tracing::warn!("the limit of open files stays as it is: {error}");
    }
    let needed = FILES.saturating_add(max_connections as u64);
    // `None` is unlimited.
    if let Some(limit) = getrlimit(Resource::Nofile).current.filter(|limit| *limit < needed) {
        tracing::warn!(
            "this process may open {limit} files, and max-connections = {max_connections} asks for \
             {needed}: raise the limit (ulimit -n), or lower the option"
        );
    }
}
