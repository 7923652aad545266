//! Resolution of the key that a command refers to: as text, in a file, or in a table descriptor.

use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use halite::rowkey::language::TableDeclaration;
use halite::rowkey::plan::PlanOptions;
use halite::rowkey::{Dictionary, KeyResolver, KeySchema, SaltGenerator};
use halite::{Cluster, RegionInfo, TableDescriptor, TableName, block_on};

use crate::backend::Backend;
use crate::key::arguments::KeySpecArgs;

/// Key, and the regions of its table if it belongs to one.
pub(crate) struct ResolvedKey {
    pub(crate) key: KeySchema,
    pub(crate) regions: Vec<RegionInfo>,
    /// Dictionaries of its table, if it has any.
    pub(crate) dictionary: Option<Arc<Dictionary>>,
}

impl ResolvedKey {
    /// Returns the resolver for values that the key does not contain.
    pub(crate) fn resolver(&self) -> Arc<dyn KeyResolver + Send + Sync> {
        resolver_of(self.dictionary.clone())
    }

    /// Returns the options for planning queries on the key.
    pub(crate) fn plan_options(&self) -> PlanOptions {
        PlanOptions {
            resolver: self.dictionary.clone().map(|dictionary| dictionary as _),
            ..PlanOptions::default()
        }
    }
}

impl KeySpecArgs {
    /// Resolves the key.
    ///
    /// # Errors
    /// Returns an error if the text is invalid (with the position), the table does not declare a
    /// key, or the backend cannot be opened.
    pub(crate) fn resolve(&self) -> anyhow::Result<ResolvedKey> {
        self.resolve_with(false, |_| Ok(()))
    }

    /// As [`Self::resolve`]. The table's store stays open while `then` runs. If `then` adds to the
    /// dictionaries of the table, missing ones are created.
    pub(crate) fn resolve_with(
        &self,
        adds: bool,
        then: impl FnOnce(&ResolvedKey) -> anyhow::Result<()>,
    ) -> anyhow::Result<ResolvedKey> {
        let Some(table) = &self.table else {
            let text = self.key.as_ref().context("give --key with a declaration, or --table")?;
            let found = ResolvedKey { key: read_key(text)?, regions: Vec::new(), dictionary: None };
            then(&found)?;
            return Ok(found);
        };
        let place = self.backend.open_existing()?;
        let mut found = resolve_in(&place, table)?;
        if adds && found.dictionary.is_some() {
            found.dictionary =
                Some(Arc::new(block_on(Dictionary::open(&**place.cluster(), table, &found.key))?));
        }
        then(&found)?;
        place.close()?;
        Ok(found)
    }
}

/// Returns `true` if a table declares its key.
pub(crate) fn declares_key(table: &TableDescriptor) -> bool {
    KeySchema::from_descriptor(table).is_some()
}

/// Returns the key of a table, with its regions and dictionaries.
pub(crate) fn resolve_in(place: &Backend, table: &TableName) -> anyhow::Result<ResolvedKey> {
    let cluster = place.cluster();
    let handle = cluster.table(table);
    let key = key_for_table(&*block_on(handle.descriptor())?)?;
    let regions = block_on(handle.regions())?;
    let dictionary = dictionary_of(&**cluster, table, &key)?;
    Ok(ResolvedKey { key, regions, dictionary })
}

/// Returns the dictionaries of a table, if its key has any.
pub(crate) fn dictionary_of(
    cluster: &dyn Cluster,
    table: &TableName,
    key: &KeySchema,
) -> halite::Result<Option<Arc<Dictionary>>> {
    if !Dictionary::is_needed(key) {
        return Ok(None);
    }
    block_on(Dictionary::open_existing(cluster, table, key)).map(|found| Some(Arc::new(found)))
}

/// Returns the resolver for values that a key does not contain.
pub(crate) fn resolver_of(
    dictionary: Option<Arc<Dictionary>>,
) -> Arc<dyn KeyResolver + Send + Sync> {
    match dictionary {
        Some(dictionary) => dictionary,
        None => Arc::new(SaltGenerator::default()),
    }
}

/// Parses a key declaration, or the one in a file given as `@FILE`.
pub(super) fn read_key(text: &str) -> anyhow::Result<KeySchema> {
    let text = match text.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file).with_context(|| format!("file {file}"))?,
        None => text.to_owned(),
    };
    text.parse().map_err(|error: halite::rowkey::LanguageError| {
        anyhow!("the row key cannot be read\n{}", error.render(&text))
    })
}

/// Returns the declaration of a table, or `None` if it declares nothing.
///
/// # Errors
/// Returns an error if the declaration is invalid.
pub(super) fn table_declaration(
    table: &TableDescriptor,
) -> anyhow::Result<Option<TableDeclaration>> {
    TableDeclaration::from_descriptor(table)
        .transpose()
        .map_err(|error| anyhow!("what table {} declares: {error}", table.name()))
}

/// Returns the key that a table declares.
///
/// # Errors
/// Returns an error if the table does not declare a key or the declaration is invalid.
pub(super) fn key_for_table(table: &TableDescriptor) -> anyhow::Result<KeySchema> {
    let name = table.name();
    let declared = KeySchema::from_descriptor(table);
    let key = declared.with_context(|| {
        format!(
            "table {name} declares no row key; declare one with ALTER TABLE {name} ADOPT ROW KEY \
             (...) in the shell, or give it with --key"
        )
    })?;
    key.map_err(|error| anyhow!("the attribute ROW_KEY of table {name}: {error}"))
}
