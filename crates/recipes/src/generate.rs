//! Generated data, written in batches and resumed after an interruption.

use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result, bail, ensure};
use halite::{BlockingTable, CheckAndMutate, DeclaredTable, Get, Put, Row, declare_tables};

use crate::recipe::{Application, Load, Recipe, Site};
use crate::schema::{declared_names, missing_tables};

/// Table with a row for each namespace: its load, the digest of its real data, and the number of
/// written items.
const LOADS: &str = "CREATE TABLE loads (
  seed U64 FAMILY p, items U64 FAMILY p, data U64 FAMILY p, written U64 FAMILY p,
  ROW KEY (recipe STRING)
)";
const NAMESPACE: &str = "recipes";
const LOADS_TABLE: &str = "loads";
const FAMILY: &str = "p";
/// Column of the first item that no measurement has written.
const NEXT: &str = "next";
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
/// written ones after each batch. A call after an interruption repeats at most one batch, and
/// completes at the end what was interrupted. Tables that were all dropped since are filled from
/// the beginning.
///
/// # Errors
/// More items than a file has; a namespace that contains the items of another load or of another
/// file, or only some of its tables; tables that another program fills or drops during the call;
/// errors of the cluster.
pub fn generate(
    recipe: &dyn Recipe,
    site: &Site,
    load: Load,
    progress: &mut dyn FnMut(u64),
) -> Result<Generated> {
    check_items(recipe, load)?;
    prepare(recipe, site)?;
    let application = recipe.open(site, load)?;
    let table = loads_table(site)?;
    let about = recipe.about();
    let found = read(recipe, &table, &site.namespace)?;
    if let Some(there) = &found {
        check_load(recipe, site, load, there)?;
    }
    let mut reached = found.unwrap_or(Progress { load, data: recipe.data_digest(), written: 0 });
    if found.is_none() {
        advance(recipe, site, &table, None, reached)?;
    }
    let existing = reached.written.min(load.items);
    let is_resumed = found.is_some() && existing < load.items;
    progress(existing);
    while reached.written < load.items {
        let next = reached.written;
        let end = load.items.min(next + about.batch_items);
        application
            .write(next..end)
            .with_context(|| format!("writing {} {next} to {end}; run gen again", about.items))?;
        if is_resumed && end == load.items {
            // What has a first part is there to the writer, and its other parts are not written
            // again. Before it is recorded that all are written, or an end now would leave it so.
            application.repair().context("completing what was interrupted; run gen again")?;
        }
        let further = Progress { written: end, ..reached };
        advance(recipe, site, &table, Some(reached), further)?;
        reached = further;
        progress(end);
    }
    Ok(Generated { existing, written: load.items - existing })
}

/// Checks that a file has the items of a load: measurements repeat its items when they are all
/// written, and a load does not.
pub(crate) fn check_items(recipe: &dyn Recipe, load: Load) -> Result<()> {
    let (items, about) = (recipe.file_items().unwrap_or(u64::MAX), recipe.about());
    ensure!(
        load.items <= items,
        "the file has {items} {}, fewer than --scale {}; use --scale {items} or leave it out",
        about.items,
        load.items
    );
    Ok(())
}

/// Creates the tables that do not exist, if that loses nothing: where all of them were dropped, the
/// load is forgotten first.
///
/// # Errors
/// Some of the tables of a load were dropped, and others were not; tables with another schema;
/// errors of the cluster.
pub fn prepare(recipe: &dyn Recipe, site: &Site) -> Result<Vec<DeclaredTable>> {
    let missing = missing_tables(recipe, site)?;
    if !missing.is_empty() && recorded(recipe, site)?.is_some() {
        ensure!(
            missing.len() == declared_names(recipe)?.len(),
            "the tables {} of {} were dropped, and the others have the items: start again with: \
             halite recipe {} init --drop, and --data, --connect and --from as here",
            missing.join(", "),
            site.namespace,
            recipe.about().name
        );
        // Before there are tables, so that no interruption leaves empty ones that count as full.
        clear(site)?;
    }
    Ok(declare_tables(&site.cluster, &site.namespace, &recipe.statements())?)
}

/// Lets a measurement write other items than those before it did.
///
/// # Errors
/// Errors of the cluster.
pub fn begin_load(application: &dyn Application, site: &Site) -> Result<()> {
    let row = loads_table(site)?.get(Get::new(site.namespace.clone()))?;
    let next = row.array(FAMILY, NEXT).with_context(|| {
        format!("table {NAMESPACE}:{LOADS_TABLE}, row {}; delete that column", site.namespace)
    })?;
    if let Some(next) = next {
        application.next_item().fetch_max(u64::from_be_bytes(next), Ordering::Relaxed);
    }
    Ok(())
}

/// Remembers which items a measurement wrote.
///
/// # Errors
/// Errors of the cluster.
pub fn end_load(application: &dyn Application, site: &Site) -> Result<()> {
    let next = application.next_item().load(Ordering::Relaxed).to_be_bytes();
    let put = Put::new(site.namespace.clone()).add(FAMILY, NEXT, next);
    Ok(loads_table(site)?.put(put)?)
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
    if !missing_tables(recipe, site)?.is_empty() {
        return Ok(None);
    }
    let Some(there) = recorded(recipe, site)? else { return Ok(None) };
    check_load(recipe, site, there.load, &there)?;
    Ok(Some((there.load, there.written)))
}

/// Returns the row of a namespace. A question creates no table.
fn recorded(recipe: &dyn Recipe, site: &Site) -> Result<Option<Progress>> {
    if !site.cluster.table_exists(&format!("{NAMESPACE}:{LOADS_TABLE}"))? {
        return Ok(None);
    }
    read(recipe, &loads_table(site)?, &site.namespace)
}

fn loads_table(site: &Site) -> Result<BlockingTable> {
    let declared = declare_tables(&site.cluster, NAMESPACE, LOADS)?;
    let table = declared.first().context("one statement is one table")?;
    Ok(site.cluster.table(&table.name)?)
}

fn read(recipe: &dyn Recipe, table: &BlockingTable, namespace: &str) -> Result<Option<Progress>> {
    let row = table.get(Get::new(namespace.to_owned()))?;
    let number = |row: &Row, column: &str| {
        row.value(FAMILY, column)
            .and_then(|value| Some(u64::from_be_bytes(value.try_into().ok()?)))
            .with_context(|| {
                format!(
                    "table {}, row {namespace}: column {column} is no U64; start again with: halite \
                     recipe {} init --drop, and --data, --connect and --from as here",
                    table.name(),
                    recipe.about().name
                )
            })
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
