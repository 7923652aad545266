//! Attributes of HBase's tables that cannot be imported, and those that do not matter elsewhere.

use std::path::Path;

use halite_types::key::to_string_binary;
use halite_types::{Result, TableDescriptor};

use crate::file_list::TRACKER;
use crate::small_file::unsupported;

/// Refuses families whose large values are outside their store files.
///
/// # Errors
/// `Unsupported`, with the family.
pub(crate) fn check_families(path: &Path, table: &TableDescriptor) -> Result<()> {
    let is_mob = |value: &String| value.eq_ignore_ascii_case("true");
    let mob = table.families().find(|family| family.attributes.get("IS_MOB").is_some_and(is_mob));
    mob.map_or(Ok(()), |family| {
        let (table, family) = (table.name(), to_string_binary(family.name()));
        Err(unsupported(
            path,
            format_args!(
                "family {family} of table {table} has IS_MOB, which is not supported; have HBase \
                 set IS_MOB to false and run a major compaction first"
            ),
        ))
    })
}

/// Removes what describes HBase's directory: where it lists the store files of the table.
pub(crate) fn without_tracker(mut table: TableDescriptor) -> TableDescriptor {
    table.attributes.remove(TRACKER);
    table.configuration.remove(TRACKER);
    let families: Vec<_> = table.families().cloned().collect();
    for mut family in families {
        let removed = [family.configuration.remove(TRACKER), family.attributes.remove(TRACKER)];
        if removed.iter().any(Option::is_some) {
            table.set_family(family);
        }
    }
    table
}
