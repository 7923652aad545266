//! The directory a store lies in: one that stays, or one that goes with the server.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::TempDir;

use super::settings::Settings;

pub(crate) enum Place {
    Kept(PathBuf),
    /// Removed when dropped, and by the signal that ends the server at once; only `kill -9` and the like leave it.
    Temporary(TempDir),
}

impl Place {
    /// The directory that the settings ask for; a temporary one is made.
    ///
    /// # Errors
    /// The temporary directory cannot be made.
    pub(crate) fn of(settings: &Settings) -> anyhow::Result<Self> {
        if !settings.ephemeral {
            return Ok(Self::Kept(settings.data.clone()));
        }
        let made = tempfile::Builder::new().prefix("halite-").tempdir();
        Ok(Self::Temporary(made.with_context(|| format!("making a temporary directory in {}", std::env::temp_dir().display()))?))
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(folder) => folder.path(),
        }
    }

    pub(crate) fn is_temporary(&self) -> bool {
        matches!(self, Self::Temporary(_))
    }

    /// Removes a temporary directory.
    ///
    /// # Errors
    /// Something in it cannot be removed.
    pub(crate) fn remove(self) -> anyhow::Result<()> {
        match self {
            Self::Kept(_) => Ok(()),
            Self::Temporary(folder) => {
                let path = folder.path().to_owned();
                folder.close().with_context(|| format!("removing {}", path.display()))
            }
        }
    }
}
