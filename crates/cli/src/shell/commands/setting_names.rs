//! Warnings about settings of a table that misspell one of HBase's. HBase accepts any name, as a
//! coprocessor may read it, and so does the engine unless it acts on the other one.

use halite_types::suggest::did_you_mean;
use halite_types::{Attributes, TableDescriptor, hbase_names};

use crate::shell::session::{EvalResult, Session};

/// Prints a warning for each setting that `old`, the table until now, does not have and whose name
/// is near to one of HBase's.
pub(super) fn warn(
    session: &mut Session<'_>,
    new: &TableDescriptor,
    old: Option<&TableDescriptor>,
) -> EvalResult<()> {
    let known: Vec<&String> = old.into_iter().flat_map(names).collect();
    let mut new: Vec<&String> = names(new).filter(|name| !known.contains(name)).collect();
    new.sort_unstable();
    new.dedup();
    for name in new {
        if let Some(near) = hbase_names::nearest(name) {
            let hint = did_you_mean(Some(near));
            session.print_line(format!("WARNING: HBase has no setting {name}{hint}"))?;
        }
    }
    Ok(())
}

/// Returns the names of all settings; those of attributes have no dot.
fn names(table: &TableDescriptor) -> impl Iterator<Item = &String> {
    let of_families =
        table.families().flat_map(|family| [&family.attributes, &family.configuration]);
    [&table.attributes, &table.configuration]
        .into_iter()
        .chain(of_families)
        .flat_map(Attributes::keys)
        .filter(|name| name.contains('.'))
}
