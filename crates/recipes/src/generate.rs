//! Generated data, written in batches and resumed after an interruption.

use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail, ensure};
use halite::{BlockingTable, CheckAndMutate, DeclaredTable, Get, Put, Row, Scan, declare_tables};

use crate::recipe::{Application, Load, Recipe, Site};
use crate::schema::declared_names;

/// Table with a row for each namespace: its load, the digest of its real data, the number of
/// written items, and the number of the run that writes them; when all are written, the tables that
/// have rows, and after a measurement the first item that none has written.
const LOADS: &str = "CREATE TABLE loads (
  seed U64 FAMILY p, items U64 FAMILY p, data U64 FAMILY p, written U64 FAMILY p, run U64 FAMILY p,
  filled STRING FAMILY p, next U64 FAMILY p,
  ROW KEY (recipe STRING)
)";
const NAMESPACE: &str = "recipes";
const LOADS_TABLE: &str = "loads";
const FAMILY: &str = "p";
/// Column of the first item that no measurement has written.
const NEXT: &str = "next";
/// Column of the tables that had rows when all items were written, separated by spaces.
const FILLED: &str = "filled";

/// Load of a row, and how far it is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Progress {
    load: Load,
    /// Digest of the real data.
    data: u64,
    written: u64,
    /// Number of the call that writes the items. A later call takes over, and the earlier one ends
    /// with an error at its next batch, so that only the last one decides what is complete.
    run: u64,
}

/// Row of the table as it was read.
struct Recorded {
    progress: Progress,
    /// Tables that had rows when all items were written, separated by spaces.
    filled: String,
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
/// completes at the end what was interrupted; an earlier call that is still in progress then ends
/// with an error. Tables that were all dropped or emptied since are filled from the beginning.
///
/// # Errors
/// More items than a file has; a namespace that contains the items of another load or of another
/// file, or rows of which no load is recorded; tables some of which were dropped or emptied, before
/// or during the call; errors of the cluster.
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
    let found = read(recipe, &table, &site.namespace)?.map(|there| there.progress);
    match &found {
        Some(there) => check_load(recipe, site, load, there)?,
        None => ensure_empty(recipe, site)?,
    }
    let existing = found.as_ref().map_or(0, |there| there.written.min(load.items));
    let is_resumed = found.is_some() && existing < load.items;
    let mut reached = match found {
        Some(there) if !is_resumed => there,
        // From here on an earlier call that is not finished writes at most its batch.
        Some(there) => {
            let mine = Progress { run: new_run(), ..there };
            advance(recipe, site, &table, Some(there), mine, None)?;
            mine
        }
        None => {
            let (data, run) = (recipe.data_digest(), new_run());
            let first = Progress { load, data, written: 0, run };
            advance(recipe, site, &table, None, first, None)?;
            first
        }
    };
    progress(existing);
    while reached.written < load.items {
        let next = reached.written;
        let end = load.items.min(next + about.batch_items);
        application
            .write(next..end)
            .with_context(|| format!("writing {} {next} to {end}; run gen again", about.items))?;
        let is_last = end == load.items;
        if is_resumed && is_last {
            // What has a first part is there to the writer, and its other parts are not written
            // again. Before it is recorded that all are written, or an end now would leave it so.
            application.repair().context("completing what was interrupted; run gen again")?;
        }
        let filled = if is_last { Some(filled_of(recipe, site)?.join(" ")) } else { None };
        let further = Progress { written: end, ..reached };
        advance(recipe, site, &table, Some(reached), further, filled)?;
        reached = further;
        progress(end);
    }
    Ok(Generated { existing, written: load.items - existing })
}

/// Returns a number that no other call has, also none of a load that was dropped: the time.
fn new_run() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
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

/// Creates the tables that do not exist, if that loses nothing: where all of them were dropped or
/// emptied, the load is forgotten first.
///
/// # Errors
/// Some of the tables of a load were dropped or emptied, and others were not; tables with another
/// schema; errors of the cluster.
pub fn prepare(recipe: &dyn Recipe, site: &Site) -> Result<Vec<DeclaredTable>> {
    if let Some(there) = recorded(recipe, site)? {
        match lost_of(recipe, site, &there)? {
            Lost::Nothing => {}
            // Before there are tables, so that no interruption leaves empty ones that count as
            // full.
            Lost::All => clear(site)?,
            Lost::Tables(names) => bail!(
                "the tables {} of {} were dropped or emptied, and the others have the items: {}",
                names.join(", "),
                site.namespace,
                start_again(recipe)
            ),
        }
    }
    Ok(declare_tables(&site.cluster, &site.namespace, &recipe.statements())?)
}

/// What has been dropped or emptied of the tables of a load.
enum Lost {
    Nothing,
    /// Every row.
    All,
    /// Tables that do not exist, or had rows when the load was complete.
    Tables(Vec<String>),
}

/// Returns what a load has lost since it was recorded. While it is not complete, a single table
/// that was emptied is not noticed.
fn lost_of(recipe: &dyn Recipe, site: &Site, there: &Recorded) -> Result<Lost> {
    let had_rows: Vec<&str> = there.filled.split_whitespace().collect();
    let (mut lost, mut has_rows) = (Vec::new(), false);
    for name in declared_names(recipe)? {
        match state_of(&name, site)? {
            TableState::Filled => has_rows = true,
            TableState::Empty if !had_rows.contains(&name.as_str()) => {}
            TableState::Empty | TableState::Missing => lost.push(name),
        }
    }
    Ok(match (has_rows, lost.is_empty()) {
        (false, false) => Lost::All,
        (false, true) if there.progress.written > 0 => Lost::All,
        (_, true) => Lost::Nothing,
        (true, false) => Lost::Tables(lost),
    })
}

/// What a recipe finds of one of its tables.
#[derive(PartialEq, Eq)]
enum TableState {
    Missing,
    Empty,
    Filled,
}

fn state_of(table: &str, site: &Site) -> Result<TableState> {
    let name = format!("{}:{table}", site.namespace);
    if !site.cluster.table_exists(&name)? {
        return Ok(TableState::Missing);
    }
    let first = site.cluster.table(&name)?.scan(Scan::all().limit(1)).next().transpose()?;
    Ok(if first.is_some() { TableState::Filled } else { TableState::Empty })
}

/// Returns the tables that have rows.
fn filled_of(recipe: &dyn Recipe, site: &Site) -> Result<Vec<String>> {
    let mut filled = Vec::new();
    for name in declared_names(recipe)? {
        if state_of(&name, site)? == TableState::Filled {
            filled.push(name);
        }
    }
    Ok(filled)
}

/// Checks that tables of which no load is recorded have no rows, which would be taken for items of
/// the load.
fn ensure_empty(recipe: &dyn Recipe, site: &Site) -> Result<()> {
    let filled = filled_of(recipe, site)?;
    ensure!(
        filled.is_empty(),
        "the tables {} of {} have rows, and no load of them is recorded in \
         {NAMESPACE}:{LOADS_TABLE}: {}",
        filled.join(", "),
        site.namespace,
        start_again(recipe)
    );
    Ok(())
}

/// Returns the number of items in the tables: those of the load and of measurements after it.
///
/// # Errors
/// Errors of the cluster.
pub fn written_items(site: &Site, load: Load) -> Result<u64> {
    let row = loads_table(site)?.get(Get::new(site.namespace.clone()))?;
    Ok(row.array(FAMILY, NEXT)?.map_or(load.items, |next| load.items.max(u64::from_be_bytes(next))))
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
            "the tables of {namespace} contain {} {} of seed {}; use --scale {} --seed {}, or {}",
            there.load.items,
            about.items,
            there.load.seed,
            there.load.items,
            there.load.seed,
            start_again(recipe)
        );
    }
    if there.data != recipe.data_digest() {
        bail!(
            "the tables of {namespace} contain the {} of another file; use that one, or {}",
            about.items,
            start_again(recipe)
        );
    }
    Ok(())
}

/// Returns the load that the tables of a namespace contain, and how many of its items; `None`
/// before [`generate`], and if a table has been dropped or emptied.
///
/// # Errors
/// Items of another file than the recipe's; errors of the cluster.
pub fn load_of(recipe: &dyn Recipe, site: &Site) -> Result<Option<(Load, u64)>> {
    let Some(there) = recorded(recipe, site)? else { return Ok(None) };
    if !matches!(lost_of(recipe, site, &there)?, Lost::Nothing) {
        return Ok(None);
    }
    let Progress { load, written, .. } = there.progress;
    check_load(recipe, site, load, &there.progress)?;
    Ok(Some((load, written)))
}

/// Returns the row of a namespace. A question creates no table.
fn recorded(recipe: &dyn Recipe, site: &Site) -> Result<Option<Recorded>> {
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

fn read(recipe: &dyn Recipe, table: &BlockingTable, namespace: &str) -> Result<Option<Recorded>> {
    let row: Row = table.get(Get::new(namespace.to_owned()))?;
    let number = |column: &str| {
        row.value(FAMILY, column)
            .and_then(|value| Some(u64::from_be_bytes(value.try_into().ok()?)))
            .with_context(|| {
                format!(
                    "table {NAMESPACE}:{LOADS_TABLE}, row {namespace}: column {column} is no U64; {}",
                    start_again(recipe)
                )
            })
    };
    if row.is_empty() {
        return Ok(None);
    }
    let load = Load { seed: number("seed")?, items: number("items")? };
    let (data, written, run) = (number("data")?, number("written")?, number("run")?);
    let filled = row.text(FAMILY, FILLED).unwrap_or_default();
    Ok(Some(Recorded { progress: Progress { load, data, written, run }, filled }))
}

/// Returns what to do with tables that a load cannot continue on.
fn start_again(recipe: &dyn Recipe) -> String {
    format!(
        "start again with: halite recipe {} init --drop, and --data, --connect and --from as here",
        recipe.about().name
    )
}

/// Writes the row of a namespace, if it is of the same run as it was read or written before.
fn advance(
    recipe: &dyn Recipe,
    site: &Site,
    table: &BlockingTable,
    from: Option<Progress>,
    to: Progress,
    filled: Option<String>,
) -> Result<()> {
    let row = site.namespace.clone();
    let mut put = Put::new(row.clone())
        .add(FAMILY, "seed", to.load.seed.to_be_bytes())
        .add(FAMILY, "items", to.load.items.to_be_bytes())
        .add(FAMILY, "data", to.data.to_be_bytes())
        .add(FAMILY, "written", to.written.to_be_bytes())
        .add(FAMILY, "run", to.run.to_be_bytes());
    if let Some(filled) = filled {
        put = put.add(FAMILY, FILLED, filled);
    }
    let check = match from {
        None => CheckAndMutate::if_not_exists(row, FAMILY, "run", put),
        Some(from) => {
            CheckAndMutate::if_equals(row, FAMILY, "run", from.run.to_be_bytes().to_vec(), put)
        }
    };
    ensure!(
        table.check_and_mutate(check)?,
        "another program filled or dropped the tables of {} meanwhile; when it has ended, run gen \
         again if it fills them with the same items, or {}",
        site.namespace,
        start_again(recipe)
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
