//! Copies of the newest generations of the manifest, in a directory of their own: evidence that a manifest is older than the
//! store, and what a repair begins with.
//!
//! ```text
//! manifests/<generation, 16 digits>.manifest      the bytes of halite/MANIFEST of that generation
//! ```
//! A copy is written when its generation is durable, and is not synced by itself: one that a power loss tore is written again
//! by the next opening. So the name of a copy alone proves that its generation was reached.

use std::collections::BTreeSet;
use std::io;

use halite_types::{Error, Result};

use super::layout::MANIFESTS;
use crate::env::{Env, Fs};

/// Copies of this many generations are kept.
pub(crate) const KEPT_GENERATIONS: usize = 8;

/// The path of a copy.
pub(crate) fn path(generation: u64) -> String {
    format!("{MANIFESTS}/{generation:016}.manifest")
}

/// The copies there are.
#[derive(Debug, Default)]
pub(crate) struct History {
    kept: BTreeSet<u64>,
    is_made: bool,
    /// Names of copies that something other than a file has, with what that is.
    pub(crate) odd: Vec<(String, &'static str)>,
}

impl History {
    /// Lists the copies. Other files in their directory stay as they are.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) fn list(env: &Env) -> Result<Self> {
        let failed = |error| Error::io(format!("listing {}/{MANIFESTS}", env.fs.root()), error);
        if !env.fs.exists(MANIFESTS).map_err(failed)? {
            return Ok(Self::default());
        }
        let entries = env.fs.list(MANIFESTS).map_err(failed)?;
        let number = |name: &str| name.strip_suffix(".manifest").filter(|number| number.len() == 16)?.parse().ok();
        let mut history = Self { is_made: true, ..Self::default() };
        for entry in entries {
            match (number(&entry.name), if entry.is_dir { Some("a directory") } else { entry.odd }) {
                (None, _) => {}
                (Some(_), Some(what)) => history.odd.push((format!("{MANIFESTS}/{}", entry.name), what)),
                (Some(generation), None) => drop(history.kept.insert(generation)),
            }
        }
        Ok(history)
    }

    /// The generations, oldest first.
    pub(crate) fn generations(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        self.kept.iter().copied()
    }

    /// Keeps a copy of a generation whose manifest is durable, and removes the oldest. `durable` makes the copy so, too.
    ///
    /// # Errors
    /// The file system's; the manifest itself is as it was.
    pub(crate) fn keep(&mut self, fs: &dyn Fs, generation: u64, bytes: &[u8], durable: bool) -> io::Result<()> {
        if !self.is_made {
            fs.create_dir_all(MANIFESTS)?;
            self.is_made = true;
        }
        let path = path(generation);
        if self.kept.contains(&generation) {
            fs.remove_file(&path)?;
        }
        let mut file = fs.create(&path)?;
        self.kept.insert(generation);
        file.write_all(bytes)?;
        if durable {
            file.sync()?;
            fs.sync_dir(MANIFESTS)?;
            fs.sync_dir("")?;
        }
        while self.kept.len() > KEPT_GENERATIONS {
            let Some(oldest) = self.kept.pop_first() else { break };
            // One that stays does no harm.
            let _ = fs.remove_file(&self::path(oldest));
        }
        Ok(())
    }
}
