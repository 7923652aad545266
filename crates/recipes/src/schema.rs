//! Tables of a recipe: created from their statements, and dropped.

use std::io::Write;

use anyhow::{Context as _, Result};
use halite::{BlockingCluster, ErrorKind, declare_tables};

use crate::recipe::{Recipe, Site};

/// Prints the statements of a recipe, and creates those of its tables that do not exist.
///
/// # Errors
/// A table that exists with another schema: then none is created. Errors of the cluster and of the
/// output.
pub fn init(recipe: &dyn Recipe, site: &Site, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{}", recipe.statements().trim())?;
    let tables = declare_tables(&site.cluster, &site.namespace, recipe.statements())?;
    writeln!(out)?;
    for table in tables {
        let regions = site.cluster.regions(&table.name)?.len();
        let state = if table.created { "created" } else { "exists with this schema" };
        writeln!(out, "table {}: {state}, {regions} regions", table.name)?;
    }
    Ok(())
}

/// Drops the tables of a namespace, and the namespace. Returns the number of tables.
///
/// # Errors
/// Errors of the cluster.
pub fn drop_tables(cluster: &BlockingCluster, namespace: &str) -> Result<usize> {
    let mut dropped = 0;
    for table in cluster.list_tables()? {
        let name = table.name();
        if name.namespace() != namespace {
            continue;
        }
        if cluster.is_enabled(name)? {
            cluster.disable_table(name)?;
        }
        cluster.drop_table(name).with_context(|| format!("dropping table {name}"))?;
        dropped += 1;
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
pub fn reset(site: &Site) -> Result<usize> {
    let dropped = drop_tables(&site.cluster, &site.namespace)?;
    crate::generate::clear(site)?;
    Ok(dropped)
}
