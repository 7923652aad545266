//! Generated data, written in batches and resumed after an interruption.

use anyhow::{Context as _, Result, bail, ensure};
use halite::{BlockingTable, CheckAndMutate, Get, Put, Row, declare_tables};

use crate::recipe::{Load, Recipe, Site};
use crate::schema::declared_names;

/// Table with a row for each namespace: its load, the digest of its real data, and the number of
/// written items.
const LOADS: &str = "CREATE TABLE loads (
  seed U64 FAMILY p, items U64 FAMILY p, data U64 FAMILY p, written U64 FAMILY p,
  ROW KEY (recipe STRING)
)";
const NAMESPACE: &str = "recipes";
const LOADS_TABLE: &str = "loads";
const FAMILY: &str = "p";
/// Items of one batch.
const BATCH_ITEMS: u64 = 1000;

/// Row of the table.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Progress {
    load: Load,
    /// Digest of the real data.
    data: u64,
    written: u64,
}

/// Result of [`generate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Items that had been written before.
    pub existing: u64,
    /// Items written by this call.
    pub written: u64,
}

/// Writes the items of a load that have not been written, and calls `progress` with the number of
/// written ones after each batch. A call after an interruption repeats at most one batch, which has
/// no effect. Tables that were dropped since are filled from the beginning.
///
/// # Errors
/// A namespace that contains the items of another load or of another file; tables that another
/// program fills or drops during the call; errors of the cluster.
pub fn generate(
    recipe: &dyn Recipe,
    site: &Site,
    load: Load,
    progress: &mut dyn FnMut(u64),
) -> Result<Generated> {
    let is_new = declare_tables(&site.cluster, &site.namespace, &recipe.statements())?
        .iter()
        .any(|table| table.created);
    let application = recipe.open(site, load)?;
    let table = loads_table(site)?;
    let about = recipe.about();
    let mut found = read(&table, &site.namespace)?;
    if is_new && found.is_some() {
        clear(site)?;
        found = None;
    }
    if let Some(there) = &found {
        check_load(recipe, site, load, there)?;
    }
    let mut reached = found.unwrap_or(Progress { load, data: recipe.data_digest(), written: 0 });
    if found.is_none() {
        advance(recipe, site, &table, None, reached)?;
    }
    let existing = reached.written.min(load.items);
    progress(existing);
    while reached.written < load.items {
        let next = reached.written;
        let end = load.items.min(next + BATCH_ITEMS);
        application
            .write(next..end)
            .with_context(|| format!("writing {} {next} to {end}; run gen again", about.items))?;
        let further = Progress { written: end, ..reached };
        advance(recipe, site, &table, Some(reached), further)?;
        reached = further;
        progress(end);
    }
    Ok(Generated { existing, written: load.items - existing })
}

/// Checks that a namespace contains the items of this load.
fn check_load(recipe: &dyn Recipe, site: &Site, load: Load, there: &Progress) -> Result<()> {
    let (about, namespace) = (recipe.about(), &site.namespace);
    if there.load != load {
        bail!(
            "the tables of {namespace} contain {} {} of seed {}; use --scale {} --seed {}, or start \
             again with: halite recipe {} init --drop, and --data, --connect and --from as here",
            there.load.items,
            about.items,
            there.load.seed,
            there.load.items,
            there.load.seed,
            about.name
        );
    }
    if there.data != recipe.data_digest() {
        bail!(
            "the tables of {namespace} contain the {} of another file; use that one, or start again \
             with: halite recipe {} init --drop, and --data, --connect and --from as here",
            about.items,
            about.name
        );
    }
    Ok(())
}

/// Returns the load that the tables of a namespace contain, and how many of its items; `None`
/// before [`generate`], and if a table has been dropped.
///
/// # Errors
/// Items of another file than the recipe's; errors of the cluster.
pub fn load_of(recipe: &dyn Recipe, site: &Site) -> Result<Option<(Load, u64)>> {
    let tables = declared_names(recipe)?.into_iter();
    let tables = tables.map(|table| format!("{}:{table}", site.namespace));
    // A question creates no table.
    for table in tables.chain([format!("{NAMESPACE}:{LOADS_TABLE}")]) {
        if !site.cluster.table_exists(&table)? {
            return Ok(None);
        }
    }
    let Some(there) = read(&loads_table(site)?, &site.namespace)? else { return Ok(None) };
    check_load(recipe, site, there.load, &there)?;
    Ok(Some((there.load, there.written)))
}

fn loads_table(site: &Site) -> Result<BlockingTable> {
    let declared = declare_tables(&site.cluster, NAMESPACE, LOADS)?;
    let table = declared.first().context("one statement is one table")?;
    Ok(site.cluster.table(&table.name)?)
}

fn read(table: &BlockingTable, namespace: &str) -> Result<Option<Progress>> {
    let row = table.get(Get::new(namespace.to_owned()))?;
    let number = |row: &Row, column: &str| {
        row.value(FAMILY, column)
            .and_then(|value| Some(u64::from_be_bytes(value.try_into().ok()?)))
            .with_context(|| format!("table {}: column {column} is no U64", table.name()))
    };
    if row.is_empty() {
        return Ok(None);
    }
    let load = Load { seed: number(&row, "seed")?, items: number(&row, "items")? };
    Ok(Some(Progress { load, data: number(&row, "data")?, written: number(&row, "written")? }))
}

/// Writes the row of a namespace, if it is as it was read or written before.
fn advance(
    recipe: &dyn Recipe,
    site: &Site,
    table: &BlockingTable,
    from: Option<Progress>,
    to: Progress,
) -> Result<()> {
    let row = site.namespace.clone();
    let put = Put::new(row.clone())
        .add(FAMILY, "seed", to.load.seed.to_be_bytes())
        .add(FAMILY, "items", to.load.items.to_be_bytes())
        .add(FAMILY, "data", to.data.to_be_bytes())
        .add(FAMILY, "written", to.written.to_be_bytes());
    let check = match from {
        None => CheckAndMutate::if_not_exists(row, FAMILY, "written", put),
        Some(from) => {
            let before = from.written.to_be_bytes().to_vec();
            CheckAndMutate::if_equals(row, FAMILY, "written", before, put)
        }
    };
    ensure!(
        table.check_and_mutate(check)?,
        "another program filled or dropped the tables of {} meanwhile; when it has ended, run gen \
         again if it fills them with the same items, or start again with: halite recipe {} init \
         --drop, and --data, --connect and --from as here",
        site.namespace,
        recipe.about().name
    );
    Ok(())
}

/// Removes the row of a namespace, whose tables were dropped.
///
/// # Errors
/// Errors of the cluster.
pub(crate) fn clear(site: &Site) -> Result<()> {
    Ok(loads_table(site)?.delete(halite::Delete::new(site.namespace.clone()))?)
}
