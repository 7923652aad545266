//! Generated data, written in batches and resumed after an interruption.

use anyhow::{Context as _, Result, bail};
use halite::{BlockingTable, Get, Put, Row, declare_tables};

use crate::recipe::{Load, Recipe, Site};

/// Table with a row for each recipe: its load, and the number of written items.
const PROGRESS: &str = "CREATE TABLE progress (
  seed U64 FAMILY p, items U64 FAMILY p, written U64 FAMILY p,
  ROW KEY (recipe STRING)
)";
const NAMESPACE: &str = "recipes";
const FAMILY: &str = "p";
/// Items of one batch.
const BATCH_ITEMS: u64 = 1000;

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
/// no effect.
///
/// # Errors
/// A namespace that contains the items of another load, and errors of the cluster.
pub fn generate(
    recipe: &dyn Recipe,
    site: &Site,
    load: Load,
    progress: &mut dyn FnMut(u64),
) -> Result<Generated> {
    let application = recipe.open(site, load)?;
    let table = progress_table(site)?;
    let about = recipe.about();
    let existing = match read(&table, &site.namespace)? {
        Some((there, written)) if there == load => written.min(load.items),
        Some((there, _)) => bail!(
            "the tables of {} contain {} {} of seed {}; use --scale {} --seed {}, or start again \
             with: halite recipe {} init --drop, and --data, --connect and --from as here",
            site.namespace,
            there.items,
            about.items,
            there.seed,
            there.items,
            there.seed,
            about.name
        ),
        None => 0,
    };
    write(&table, &site.namespace, load, existing)?;
    let mut next = existing;
    progress(next);
    while next < load.items {
        let end = load.items.min(next + BATCH_ITEMS);
        application
            .write(next..end)
            .with_context(|| format!("writing {} {next} to {end}; run gen again", about.items))?;
        write(&table, &site.namespace, load, end)?;
        next = end;
        progress(next);
    }
    Ok(Generated { existing, written: load.items - existing })
}

/// Returns the load that the tables of a namespace contain, and how many of its items; `None`
/// before [`generate`].
///
/// # Errors
/// Errors of the cluster.
pub fn load_of(site: &Site) -> Result<Option<(Load, u64)>> {
    read(&progress_table(site)?, &site.namespace)
}

fn progress_table(site: &Site) -> Result<BlockingTable> {
    let declared = declare_tables(&site.cluster, NAMESPACE, PROGRESS)?;
    let table = declared.first().context("one statement is one table")?;
    Ok(site.cluster.table(&table.name)?)
}

fn read(table: &BlockingTable, namespace: &str) -> Result<Option<(Load, u64)>> {
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
    Ok(Some((load, number(&row, "written")?)))
}

fn write(table: &BlockingTable, namespace: &str, load: Load, written: u64) -> Result<()> {
    let put = Put::new(namespace.to_owned())
        .add(FAMILY, "seed", load.seed.to_be_bytes())
        .add(FAMILY, "items", load.items.to_be_bytes())
        .add(FAMILY, "written", written.to_be_bytes());
    Ok(table.put(put)?)
}

/// Removes the row of a namespace, whose tables were dropped.
///
/// # Errors
/// Errors of the cluster.
pub(crate) fn clear(site: &Site) -> Result<()> {
    Ok(progress_table(site)?.delete(halite::Delete::new(site.namespace.clone()))?)
}
