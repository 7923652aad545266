//! Values of families with `IS_MOB`, which HBase keeps in files of their own.
//!
//! ```text
//! mobdir/data/<namespace>/<table>/<region>/<family>/<file>, or below archive/data
//! ```
//! The region has no rows: it starts at `.mob`, and has the id 0 (HBase's
//! `MobUtils.getMobRegionInfo`). Snapshots list it as the others.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use halite_types::{FamilyDescriptor, RegionInfo, Result, TableDescriptor, TableName};

use crate::file_list::change_families;
use crate::locate::{directory_name, family_directory, place};
use crate::small_file::{damaged, length};

/// Attribute of families with such values, and those that have no meaning without it.
const IS_MOB: &str = "IS_MOB";
const SETTINGS: [&str; 3] = [IS_MOB, "MOB_THRESHOLD", "MOB_COMPACT_PARTITION_POLICY"];

/// Returns `true` if a family has its large values in MOB files.
pub fn is_mob(family: &FamilyDescriptor) -> bool {
    let value = family.attributes.get(IS_MOB);
    value.is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
}

/// Returns a table without the attributes, and the families that had [`IS_MOB`].
pub(crate) fn without_mob(mut table: TableDescriptor) -> (TableDescriptor, Vec<Bytes>) {
    let mut of_mob = Vec::new();
    change_families(&mut table, |family| {
        if is_mob(family) {
            of_mob.push(family.name().clone());
        }
        let removed = SETTINGS.map(|name| family.attributes.remove(name));
        removed.iter().any(Option::is_some)
    });
    (table, of_mob)
}

/// Returns the name of the directory of a table's MOB region.
pub(crate) fn mob_region(table: &TableName) -> String {
    directory_name(&RegionInfo {
        table: table.clone(),
        start: Bytes::from_static(b".mob"),
        end: Bytes::new(),
        region_id: 0,
        encoded_name: String::new(),
    })
}

/// Returns the path of a MOB file of a table, which a reference in a store file names.
///
/// # Errors
/// `Corrupt` if there is none, or the name is none of a file.
pub fn mob_file(
    root: &Path,
    table: &TableName,
    family: &FamilyDescriptor,
    name: &str,
) -> Result<PathBuf> {
    let region = mob_region(table);
    let directory = family_directory(family, root)?;
    let below = |tree: &str| place(&root.join(tree), table, &region, directory);
    let home = below("mobdir/data");
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || name.len() > 255 || !name.bytes().all(is_name) {
        let text = format!("a store file refers to {name:?}, which is not the name of a MOB file");
        return Err(damaged(&home, text));
    }
    for directory in [&home, &below("archive/data")] {
        let path = directory.join(name);
        if length(&path)?.is_some() {
            return Ok(path);
        }
    }
    let text = "the MOB file is missing there and in archive; restore it";
    Err(damaged(&home.join(name), text))
}
