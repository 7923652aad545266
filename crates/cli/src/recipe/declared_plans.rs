//! Plans of a recipe whose tables do not exist: those that the tables would have.

use std::io::Write;

use anyhow::Context as _;
use halite_recipes::{Load, Recipe, Site, explain};

use crate::backend::Backend;

/// Prints the plans of the queries on the tables of the statements, without an effect on the store
/// that `name` names: the tables are created in a temporary one.
pub(crate) fn explain_declared(
    recipe: &dyn Recipe,
    load: Load,
    name: &str,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let about = recipe.about();
    writeln!(
        out,
        "{name} has not all tables of namespace {}; plans of those that halite recipe {} init \
         creates:\n",
        about.namespace, about.name
    )?;
    let directory = tempfile::tempdir().context("temporary directory")?;
    let backend = Backend::open(&directory.path().to_string_lossy())?;
    let site = Site { cluster: (*backend).clone(), namespace: about.namespace.to_owned() };
    explain(&*recipe.open(&site, load)?, &site, out)?;
    Ok(backend.close()?)
}
