//! Finds the key a command is about: as text, in a file, or in a table's descriptor.

use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use halite::rowkey::language::TableDeclaration;
use halite::rowkey::plan::PlanOptions;
use halite::rowkey::{Dictionary, KeyHelper, KeySchema, SaltDrawer};
use halite::{RegionInfo, TableDescriptor, TableName, block_on};

use crate::cmd::key::Declared;
use crate::place::Place;

/// A key, and the regions of its table if it is one of a table.
pub(crate) struct Found {
    pub(crate) key: KeySchema,
    pub(crate) regions: Vec<RegionInfo>,
    /// The dictionaries of its table, if it is one of a table and has some.
    pub(crate) dictionary: Option<Arc<Dictionary>>,
}

impl Found {
    /// What a key needs from outside its values.
    pub(crate) fn helper(&self) -> Arc<dyn KeyHelper + Send + Sync> {
        match &self.dictionary {
            Some(dictionary) => Arc::clone(dictionary) as _,
            None => Arc::new(SaltDrawer::default()),
        }
    }

    /// How to plan questions of it.
    pub(crate) fn plan_options(&self) -> PlanOptions {
        PlanOptions { helper: self.dictionary.clone().map(|dictionary| dictionary as _), ..PlanOptions::default() }
    }
}

impl Declared {
    /// # Errors
    /// Text that is no key, shown where it is wrong; a table without one; nobody there.
    pub(crate) fn find(&self) -> anyhow::Result<Found> {
        self.find_with(false, |_| Ok(()))
    }

    /// As [`Self::find`]; the table's store is open while `then` looks at what was found. If `then` adds to the dictionaries of the table
    /// they are made where there are none.
    pub(crate) fn find_with(&self, adds: bool, then: impl FnOnce(&Found) -> anyhow::Result<()>) -> anyhow::Result<Found> {
        let Some(table) = &self.table else {
            let text = self.key.as_ref().context("give --key with a declaration, or --table")?;
            let found = Found { key: read_key(text)?, regions: Vec::new(), dictionary: None };
            then(&found)?;
            return Ok(found);
        };
        let place = self.place.open_existing()?;
        let mut found = found_in(&place, table)?;
        if adds && found.dictionary.is_some() {
            found.dictionary = Some(Arc::new(block_on(Dictionary::open(&*place.cluster(), table, &found.key))?));
        }
        then(&found)?;
        place.close()?;
        Ok(found)
    }
}

/// The key of a table, with its regions and dictionaries.
pub(super) fn found_in(place: &Place, table: &TableName) -> anyhow::Result<Found> {
    let cluster = place.cluster();
    let handle = cluster.table(table);
    let key = key_of(&*block_on(handle.descriptor())?)?;
    let regions = block_on(handle.regions())?;
    let dictionary = if Dictionary::is_needed(&key) { Some(Arc::new(block_on(Dictionary::open_existing(&*cluster, table, &key))?)) } else { None };
    Ok(Found { key, regions, dictionary })
}

/// A key as it is declared, or `@FILE` with one.
pub(super) fn read_key(text: &str) -> anyhow::Result<KeySchema> {
    let text = match text.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file).with_context(|| format!("file {file}"))?,
        None => text.to_owned(),
    };
    text.parse().map_err(|error: halite::rowkey::LanguageError| anyhow!("the row key cannot be read\n{}", error.render(&text)))
}

/// What a table declares; `None` if it declares nothing.
///
/// # Errors
/// A declaration that cannot be read.
pub(super) fn declared_by(table: &TableDescriptor) -> anyhow::Result<Option<TableDeclaration>> {
    TableDeclaration::of_table(table).transpose().map_err(|error| anyhow!("what table {} declares: {error}", table.name()))
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
