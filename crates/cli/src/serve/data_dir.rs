//! Data directory of a server: persistent or temporary.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::TempDir;

use super::config::ServeConfig;

/// Mode of store directories; other users must not read their contents.
const MODE: u32 = 0o700;

pub(crate) enum DataDir {
    Persistent(PathBuf),
    /// Deleted when dropped, and by the signal that exits the server immediately; remains only
    /// after `kill -9` and the like.
    Temporary(TempDir),
}

impl DataDir {
    /// Returns the configured directory, or creates a temporary one.
    ///
    /// # Errors
    /// Returns an error if the temporary directory cannot be created.
    pub(crate) fn from_config(settings: &ServeConfig) -> anyhow::Result<Self> {
        if !settings.ephemeral {
            return Ok(Self::Persistent(settings.data.clone()));
        }
        let made = tempfile::Builder::new()
            .prefix("halite-")
            .permissions(Permissions::from_mode(MODE))
            .tempdir();
        Ok(Self::Temporary(made.with_context(|| {
            format!("making a temporary directory in {}", std::env::temp_dir().display())
        })?))
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Persistent(path) => path,
            Self::Temporary(folder) => folder.path(),
        }
    }

    pub(crate) fn is_temporary(&self) -> bool {
        matches!(self, Self::Temporary(_))
    }

    /// Deletes a temporary directory.
    ///
    /// # Errors
    /// Returns an error if an entry in it cannot be deleted.
    pub(crate) fn remove(self) -> anyhow::Result<()> {
        match self {
            Self::Persistent(_) => Ok(()),
            Self::Temporary(folder) => {
                let path = folder.path().to_owned();
                folder.close().with_context(|| format!("removing {}", path.display()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_directory_is_private() {
        let place =
            DataDir::from_config(&ServeConfig { ephemeral: true, ..ServeConfig::default() })
                .unwrap();
        assert_eq!(std::fs::metadata(place.path()).unwrap().permissions().mode() & 0o777, 0o700);
        place.remove().unwrap();
    }
}
