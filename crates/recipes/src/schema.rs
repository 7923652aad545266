//! Tables of a recipe: created from their statements, and dropped.

use std::io::Write;

use anyhow::{Context as _, Result, anyhow};
use halite::rowkey::language::{Statement, statements};
use halite::{BlockingCluster, ErrorKind};

use crate::recipe::{Recipe, Site};

/// Prints the statements of a recipe, and creates those of its tables that do not exist.
///
/// # Errors
/// A table that exists with another schema: then none is created. Errors of the cluster and of the
/// output.
pub fn init(recipe: &dyn Recipe, site: &Site, out: &mut dyn Write) -> Result<()> {
    let text = recipe.statements();
    writeln!(out, "{}", text.trim())?;
    let tables = crate::generate::prepare(recipe, site)?;
    writeln!(out)?;
    for table in tables {
        let regions = site.cluster.regions(&table.name)?.len();
        let state = match (table.created, table.gz_instead) {
            (true, true) => "created with GZ, as the cluster does not have the codec",
            (true, false) => "created",
            (false, _) => "exists with this schema",
        };
        writeln!(out, "table {}: {state}, {regions} regions", table.name)?;
    }
    Ok(())
}

/// Drops the tables of a recipe in a namespace, and the namespace if it has no others. Returns the
/// number of dropped tables.
///
/// # Errors
/// Errors of the cluster.
pub fn drop_tables(
    recipe: &dyn Recipe,
    cluster: &BlockingCluster,
    namespace: &str,
) -> Result<usize> {
    let declared = declared_names(recipe)?;
    let (mut dropped, mut others) = (0, 0);
    for table in cluster.list_tables()? {
        let name = table.name();
        if name.namespace() != namespace {
            continue;
        }
        if !declared.iter().any(|declared| declared == name.qualifier()) {
            others += 1;
            continue;
        }
        if cluster.is_enabled(name)? {
            cluster.disable_table(name)?;
        }
        cluster.drop_table(name).with_context(|| format!("dropping table {name}"))?;
        dropped += 1;
    }
    if others > 0 {
        return Ok(dropped);
    }
    match cluster.drop_namespace(namespace) {
        Err(error) if error.kind() != ErrorKind::NoSuchNamespace => Err(error.into()),
        _ => Ok(dropped),
    }
}

/// Drops the tables of a recipe and forgets its generated data. Returns the number of tables.
///
/// # Errors
/// Errors of the cluster.
pub fn reset(recipe: &dyn Recipe, site: &Site) -> Result<usize> {
    let dropped = drop_tables(recipe, &site.cluster, &site.namespace)?;
    crate::generate::clear(site)?;
    Ok(dropped)
}

/// Returns the names of the tables of a recipe that do not exist, without the namespace.
///
/// # Errors
/// Errors of the cluster.
pub fn missing_tables(recipe: &dyn Recipe, site: &Site) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    for table in declared_names(recipe)? {
        if !site.cluster.table_exists(&format!("{}:{table}", site.namespace))? {
            missing.push(table);
        }
    }
    Ok(missing)
}

/// Returns the names of the tables of a recipe, without a namespace.
pub(crate) fn declared_names(recipe: &dyn Recipe) -> Result<Vec<String>> {
    let declared = statements(&recipe.statements())
        .map_err(|error| anyhow!("the statements of {}: {error}", recipe.about().name))?;
    let name = |statement: &Statement| match statement {
        Statement::CreateTable(table) => Some(table.descriptor.name().qualifier().to_owned()),
        _ => None,
    };
    Ok(declared.iter().filter_map(name).collect())
}
