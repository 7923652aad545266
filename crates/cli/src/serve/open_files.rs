//! Limit of open files, which includes sockets.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that the store may open in addition to client sockets.
const FILES: u64 = 1_000;

/// Raises the limit of open files as far as the process may without privileges. Many systems start
/// with 1,024, which clients can exhaust, so that neither clients nor the log can open more.
pub(crate) fn raise_limit(max_connections: usize) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
    {
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
