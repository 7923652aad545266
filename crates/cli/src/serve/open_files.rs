//! The limit of open files, which sockets count against, too.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that the store may have open beside the sockets of clients.
const FILES: u64 = 1_000;

/// Lets this process open as many files as it may without asking the administrator. Many systems begin with 1,024, which clients use up: then
/// neither they nor the log get any.
pub(crate) fn raise_limit(connections_max: usize) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
    {
        tracing::warn!("the limit of open files stays as it is: {error}");
    }
    let wanted = FILES.saturating_add(connections_max as u64);
    // None is no limit.
    if let Some(limit) = getrlimit(Resource::Nofile).current.filter(|limit| *limit < wanted) {
        tracing::warn!(
            "this process may open {limit} files, and max-connections = {connections_max} asks for {wanted}: raise the limit (ulimit -n), or lower the option"
        );
    }
}
