//! Names of the store files of a family: the listing of its directory, or, with the store file
//! tracker `FILE`, a list beside them.
//!
//! ```text
//! .filelist/f1.<number>  .filelist/f2.<number>
//! length of the message i32 | StoreFileList | CRC32 of the message i32
//! ```
//! HBase writes the two in turns, so one of them may be incomplete; the newer whole one counts.

use std::path::Path;

use halite_types::{FamilyDescriptor, Result, TableDescriptor};
use prost::Message as _;

use crate::message_count::has_more_messages;
use crate::messages::StoreFileList;
use crate::small_file::{damaged, list, read, unsupported};

/// Maximum store files of a family in a region that are read.
const MAX_FILES: usize = 1_000_000;
/// Name of the setting.
pub(crate) const TRACKER: &str = "hbase.store.file-tracker.impl";

/// Removes what describes HBase's directory: where it lists the store files of the table.
pub(crate) fn without_tracker(mut table: TableDescriptor) -> TableDescriptor {
    table.attributes.remove(TRACKER);
    table.configuration.remove(TRACKER);
    change_families(&mut table, |family| {
        let removed = [family.configuration.remove(TRACKER), family.attributes.remove(TRACKER)];
        removed.iter().any(Option::is_some)
    });
    table
}

/// Calls `change` for each family, and keeps what it did to those for which it returns `true`.
pub(crate) fn change_families(
    table: &mut TableDescriptor,
    mut change: impl FnMut(&mut FamilyDescriptor) -> bool,
) {
    let families: Vec<_> = table.families().cloned().collect();
    for mut family in families {
        if change(&mut family) {
            table.set_family(family);
        }
    }
}

/// Returns the names in a family's directory.
///
/// # Errors
/// `Corrupt` if it contains a directory, or the file list is damaged or missing; `Unsupported` for
/// a tracker that is not built into HBase, and for a table on its way to another one.
pub(crate) fn file_names(
    directory: &Path,
    table: &TableDescriptor,
    family: &FamilyDescriptor,
) -> Result<Vec<String>> {
    let settings =
        [&family.configuration, &family.attributes, &table.configuration, &table.attributes];
    let setting = settings.into_iter().find_map(|settings| settings.get(TRACKER));
    match &setting.map_or("DEFAULT", String::as_str).to_ascii_uppercase()[..] {
        "DEFAULT" => names_of_listing(directory),
        "FILE" => names_of_file_list(directory),
        other => Err(unsupported(
            directory,
            format_args!(
                "the store file tracker of the table is {other}; have HBase change it to DEFAULT \
                 or FILE first"
            ),
        )),
    }
}

fn names_of_listing(directory: &Path) -> Result<Vec<String>> {
    let entries = list(directory, false)?;
    if let Some(entry) = entries.iter().find(|entry| entry.is_directory) {
        return Err(damaged(&entry.path, "this is a directory among store files; move it away"));
    }
    Ok(entries.into_iter().map(|entry| entry.name).collect())
}

fn names_of_file_list(directory: &Path) -> Result<Vec<String>> {
    let lists = directory.join(".filelist");
    let mut newest: Option<StoreFileList> = None;
    let mut is_damaged = false;
    for entry in list(&lists, false)? {
        if entry.is_directory || !["f1", "f2"].iter().any(|name| entry.name.starts_with(name)) {
            continue;
        }
        match read(&entry.path)?.as_deref().and_then(decode) {
            Some(list) if newest.as_ref().is_none_or(|other| other.timestamp < list.timestamp) => {
                newest = Some(list);
            }
            Some(_) => {}
            None => is_damaged = true,
        }
    }
    match newest {
        Some(list) => Ok(list.store_file.into_iter().map(|file| file.name).collect()),
        None if is_damaged => Err(damaged(&lists, "no list of store files in it is whole")),
        // HBase writes the first list with the first file.
        None if names_of_listing(directory)?.is_empty() => Ok(Vec::new()),
        None => Err(damaged(&lists, "the list of the store files beside it is missing")),
    }
}

fn decode(bytes: &[u8]) -> Option<StoreFileList> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (message, rest) = rest.split_at_checked(u32::from_be_bytes(*length).try_into().ok()?)?;
    let (crc, _) = rest.split_first_chunk::<4>()?;
    (crc32fast::hash(message) == u32::from_be_bytes(*crc)).then_some(())?;
    (!has_more_messages::<StoreFileList>(message, MAX_FILES)).then_some(())?;
    StoreFileList::decode(message).ok()
}
