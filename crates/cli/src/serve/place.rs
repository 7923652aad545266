//! The directory a store lies in: one that stays, or one that goes with the server.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::TempDir;

use super::settings::Settings;

/// As of directories of stores: what is in one is nobody else's to read.
const MODE: u32 = 0o700;

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
        let made = tempfile::Builder::new().prefix("halite-").permissions(Permissions::from_mode(MODE)).tempdir();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_directory_is_closed_to_others() {
        let place = Place::of(&Settings { ephemeral: true, ..Settings::default() }).unwrap();
        assert_eq!(std::fs::metadata(place.path()).unwrap().permissions().mode() & 0o777, 0o700);
        place.remove().unwrap();
    }
}
