//! Offline inspection of a store: finding damage ([`check`]), and rebuilding the manifest from the
//! directory's contents ([`repair`]).
//!
//! ```text
//! state.rs           manifest, its copies, store id
//! scan.rs            every file below data, archive and the quarantine
//! check.rs           findings
//! plan.rs            manifest that matches the directory's contents
//! planner.rs         its tables and regions
//! planned_files.rs   its store files
//! regions.rs         regions of a table
//! renames.rs         original names of renamed directories
//! metadata_files.rs  small files, and entries of the wrong kind
//! apply.rs           execution of a plan
//! ```

mod apply;
mod check;
mod metadata_files;
mod plan;
mod planned_files;
mod planner;
mod regions;
mod renames;
mod scan;
mod state;

use std::fmt;

use halite_types::{Error, Result};

use crate::catalog::layout;
use crate::engine::directory::{self, DirectoryContent};
use crate::env::{Env, FileKind, Lock};

pub use check::{CheckReport, check};
pub use plan::{Certainty, RepairReport, repair};

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The next opening resolves it, or no action is required.
    Note,
    /// The store opens, and an operator should examine it.
    Warning,
    /// The store does not open, or data is damaged or missing.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// Finding of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Severity.
    pub severity: Severity,
    /// Description of the problem, with the path and the fix.
    pub text: String,
}

/// Locks a directory without changing it: a missing lock file is not created. `None` if locking is
/// impossible because the disk is read-only.
fn lock(env: &Env) -> Result<Option<Box<dyn Lock>>> {
    let root = env.fs.root();
    // Something else with the lock file's name is reported as a finding, and the directory itself
    // can be locked.
    let is_file = metadata_files::kind(env, layout::LOCK)? == Some(FileKind::File);
    match env.fs.lock(if is_file { layout::LOCK } else { "" }, "") {
        Ok(Some(lock)) => Ok(Some(lock)),
        Ok(None) => {
            let text = format!(
                "{root} is in use by another process; stop that process, or examine a copy of the \
                 directory"
            );
            Err(Error::new(halite_types::ErrorKind::Locked, text))
        }
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(Error::io(format!("locking {root}"), error)),
    }
}

/// Checks that the directory is, or was, a store: one that has lost its manifest or all of
/// `halite/` counts while it has copies of the manifest or tables.
fn expect_store(env: &Env) -> Result<()> {
    match directory::examine(env) {
        Ok(DirectoryContent::Store) => Ok(()),
        Ok(DirectoryContent::Nothing) => Err(Error::invalid(format!(
            "no store in {}; pass the directory of a store",
            env.fs.root()
        ))),
        Err(error) if error.kind() == halite_types::ErrorKind::Corrupt => Ok(()),
        Err(error) => {
            let is_there = |path: &str| env.fs.exists(path).unwrap_or(false);
            let was_store = is_there(layout::MANIFESTS)
                || is_there(layout::HALITE)
                || (is_there(layout::ID) && scan::has_own_file(env)?);
            if was_store { Ok(()) } else { Err(error) }
        }
    }
}
