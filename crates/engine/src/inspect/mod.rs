//! Looking into a store that is not open: what is wrong with it ([`check`]), and a manifest made anew of what there is
//! ([`repair`]).
//!
//! ```text
//! state.rs   the manifest, its copies, whose store it is          scan.rs   every file below data, archive and the quarantine
//! check.rs   what is wrong                                        plan.rs   the manifest that fits what is there
//! regions.rs which regions a table has                            apply.rs  carrying a plan out
//! renames.rs what a renamed directory belongs to                  beside.rs small files, and what is in the place of files
//! ```

mod apply;
mod beside;
mod check;
mod plan;
mod regions;
mod renames;
mod scan;
mod state;

use std::fmt;

use halite_types::{Error, Result};

use crate::catalog::layout;
use crate::engine::directory::{self, Found};
use crate::env::{Env, Kind, Lock};

pub use check::{CheckReport, check};
pub use plan::{Certainty, RepairReport, repair};

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The next opening deals with it, or nothing has to be done.
    Note,
    /// The store opens, and a person should look at it.
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

/// Something that a check has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, with the path, and what to do.
    pub text: String,
}

/// Locks a directory without changing it: a lock file that is missing is not made. `None` where nothing can be locked, because
/// the disk is read-only.
fn lock(env: &Env) -> Result<Option<Box<dyn Lock>>> {
    let root = env.fs.root();
    // What is in the place of the file is a finding like others, and the directory itself can be locked.
    let is_file = beside::kind(env, layout::LOCK)? == Some(Kind::File);
    match env.fs.lock(if is_file { layout::LOCK } else { "" }, "") {
        Ok(Some(lock)) => Ok(Some(lock)),
        Ok(None) => {
            let text = format!("{root} is in use by another process; end that one, or examine a copy of the directory");
            Err(Error::new(halite_types::ErrorKind::Locked, text))
        }
        Err(error) if matches!(error.kind(), std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied) => Ok(None),
        Err(error) => Err(Error::io(format!("locking {root}"), error)),
    }
}

/// Whether the directory is, or was, a store: one that has lost its manifest or all of `halite/` counts as long as copies of the
/// manifest or tables are there.
fn expect_store(env: &Env) -> Result<()> {
    match directory::examine(env) {
        Ok(Found::Store) => Ok(()),
        Ok(Found::Nothing) => Err(Error::invalid(format!("there is no store in {}; give the directory of one", env.fs.root()))),
        Err(error) if error.kind() == halite_types::ErrorKind::Corrupt => Ok(()),
        Err(error) => {
            let is_there = |path: &str| env.fs.exists(path).unwrap_or(false);
            let was_store = is_there(layout::MANIFESTS) || is_there(layout::HALITE) || (is_there(layout::ID) && scan::has_own_file(env)?);
            if was_store { Ok(()) } else { Err(error) }
        }
    }
}
