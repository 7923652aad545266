//! Finds the key a command is about: as text, in a file, or in a table's descriptor.

use anyhow::{Context as _, anyhow};
use halite::rowkey::KeySchema;
use halite::{RegionInfo, TableDescriptor};

use crate::cmd::key::Declared;

/// A key, and the regions of its table if it is one of a table.
pub(crate) struct Found {
    pub(crate) key: KeySchema,
    pub(crate) regions: Vec<RegionInfo>,
}

impl Declared {
    /// # Errors
    /// Text that is no key, shown where it is wrong; a table without one; nobody there.
    pub(crate) fn find(&self) -> anyhow::Result<Found> {
        match (&self.key, &self.table) {
            (Some(text), _) => Ok(Found { key: read_key(text)?, regions: Vec::new() }),
            (None, Some(table)) => {
                let place = self.place.open()?;
                let handle = place.table(&table.to_string())?;
                let key = key_of(&*handle.descriptor()?)?;
                let regions = handle.regions()?;
                place.close()?;
                Ok(Found { key, regions })
            }
            (None, None) => Err(anyhow!("give --key with a declaration, or --table")),
        }
    }
}

/// A key as it is declared, or `@FILE` with one.
pub(super) fn read_key(text: &str) -> anyhow::Result<KeySchema> {
    let text = match text.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file).with_context(|| format!("file {file}"))?,
        None => text.to_owned(),
    };
    text.parse().map_err(|error: halite::rowkey::LanguageError| anyhow!("the row key cannot be read\n{}", error.render(&text)))
}

/// The key a table declares.
///
/// # Errors
/// If it declares none, or one that cannot be read.
pub(super) fn key_of(table: &TableDescriptor) -> anyhow::Result<KeySchema> {
    let name = table.name();
    let declared = KeySchema::of_table(table);
    let key = declared.with_context(|| {
        format!("table {name} declares no row key; declare one with ALTER TABLE {name} ADOPT ROW KEY (...) in the shell, or give it with --key")
    })?;
    key.map_err(|error| anyhow!("the attribute ROW_KEY of table {name}: {error}"))
}
