//! Copies of the newest manifest generations, in a separate directory: evidence that a manifest is
//! older than the store, and the starting point of a repair.
//!
//! ```text
//! manifests/<generation, 16 digits>.manifest      the bytes of halite/MANIFEST of that generation
//! ```
//! A copy is written when its generation is durable, and is not synced itself: the next opening
//! rewrites a copy that a power loss tore. The name of a copy alone therefore proves that its
//! generation was reached.

use std::collections::BTreeSet;
use std::io;

use halite_types::{Error, Result};

use super::layout::MANIFESTS;
use crate::env::{Env, Fs};

/// Number of generations that have a copy.
pub(crate) const MAX_GENERATIONS: usize = 8;

/// Returns the path of a copy.
pub(crate) fn path(generation: u64) -> String {
    format!("{MANIFESTS}/{generation:016}.manifest")
}

/// Existing copies.
#[derive(Debug, Default)]
pub(crate) struct History {
    generations: BTreeSet<u64>,
    is_made: bool,
    /// Names of copies that belong to something other than a file, with its description.
    pub(crate) unexpected: Vec<(String, &'static str)>,
}

impl History {
    /// Lists the copies. Other files in their directory stay as they are.
    ///
    /// # Errors
    /// The file system's error.
    pub(crate) fn list(env: &Env) -> Result<Self> {
        let failed = |error| Error::io(format!("listing {}/{MANIFESTS}", env.fs.root()), error);
        if !env.fs.exists(MANIFESTS).map_err(failed)? {
            return Ok(Self::default());
        }
        let entries = env.fs.list(MANIFESTS).map_err(failed)?;
        let number = |name: &str| {
            name.strip_suffix(".manifest").filter(|number| number.len() == 16)?.parse().ok()
        };
        let mut history = Self { is_made: true, ..Self::default() };
        for entry in entries {
            match (
                number(&entry.name),
                if entry.is_dir { Some("a directory") } else { entry.unexpected },
            ) {
                (None, _) => {}
                (Some(_), Some(what)) => {
                    history.unexpected.push((format!("{MANIFESTS}/{}", entry.name), what));
                }
                (Some(generation), None) => drop(history.generations.insert(generation)),
            }
        }
        Ok(history)
    }

    /// Returns the generations, oldest first.
    pub(crate) fn generations(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        self.generations.iter().copied()
    }

    /// Writes a copy of a generation whose manifest is durable, and removes the oldest copies. With
    /// `durable`, the copy is synced, too.
    ///
    /// # Errors
    /// The file system's error; the manifest itself is unchanged.
    pub(crate) fn keep(
        &mut self,
        fs: &dyn Fs,
        generation: u64,
        bytes: &[u8],
        durable: bool,
    ) -> io::Result<()> {
        if !self.is_made {
            fs.create_dir_all(MANIFESTS)?;
            self.is_made = true;
        }
        let path = path(generation);
        if self.generations.contains(&generation) {
            fs.remove_file(&path)?;
        }
        let mut file = fs.create(&path)?;
        self.generations.insert(generation);
        file.write_all(bytes)?;
        if durable {
            file.sync()?;
            fs.sync_dir(MANIFESTS)?;
            fs.sync_dir("")?;
        }
        while self.generations.len() > MAX_GENERATIONS {
            let Some(oldest) = self.generations.pop_first() else { break };
            // A remaining copy is harmless.
            let _ = fs.remove_file(&self::path(oldest));
        }
        debug_assert!(self.generations.len() <= MAX_GENERATIONS, "old copies are removed");
        Ok(())
    }
}
