//! Tables created from store files that HBase wrote, with HBase's regions.
//!
//! No cell is rewritten: every file gets a second name in the store, or is copied if it is on
//! another disk, and one change of the manifest adds the table with all files. Until then a crash
//! leaves only unreferenced files, which the next opening moves aside, like those of an interrupted
//! bulk load: it recognizes them by their names, `name_SeqId_N_`.
//!
//! A file of which a region has only some rows, such as the halves of a split, is placed in the
//! archive below a region that does not exist, and the regions refer to it through a link's name,
//! like a clone of a region that had been split.
//!
//! The order of the files of a store is that of HBase:
//!
//! 1. Each file counts as of its sequence id: the newest id that its writer recorded in it, or, for
//!    a file that HBase bulk-loaded, the id in its name. The cells of the latter have this id too;
//!    all others keep their own ids.
//! 2. Of files with equal ids the smaller one is newer, then the one loaded later, then the one
//!    with the greater name. Halite takes the one with the smaller name as newer, so the new names
//!    of all files of the table are assigned in this order: a file has one name in all regions that
//!    have parts of it.
//!
//! Writes continue after the newest id of the region's files.
//!
//! `original.rs` examines a file, `examined.rs` all of them; `placing.rs` places them and records
//! the table.

mod examined;
mod original;
mod placing;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use halite_types::key::to_string_binary;
use halite_types::{Error, Result, TableDescriptor};

use self::examined::examine_all;
use self::placing::Import;
use super::table_checks::{
    check_descriptor_bytes, check_family_directories, check_is_new, check_name, check_promises,
    check_region_count, check_served_families,
};
use super::{Engine, table_info};
use crate::catalog::layout;

/// Region of a table to import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportRegion {
    /// First row (inclusive); empty for the first region.
    pub start: Bytes,
    /// End row (exclusive); empty for the last region.
    pub end: Bytes,
    /// Store files, in any order.
    pub files: Vec<ImportFile>,
}

/// Store file of a region to import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportFile {
    /// Family of its cells.
    pub family: Bytes,
    /// Absolute path. The file is only read.
    pub path: String,
    /// Sequence id that a bulk load gave to all its cells; `None` if the cells have their own.
    pub loaded_sequence: Option<u64>,
    /// Rows that belong to the region, from the first (inclusive) to the end (exclusive, empty for
    /// none), if they are not all rows: one half of a file. Only the rows inside the region count.
    pub rows: Option<(Bytes, Bytes)>,
}

/// Result of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Files that are second names of the originals.
    pub linked_files: u64,
    /// Files that were copied.
    pub copied_files: u64,
    /// Bytes of the copied files.
    pub copied_bytes: u64,
    /// Files without a cell, which were left out.
    pub empty_files: u64,
}

impl Engine {
    /// Creates an enabled table from store files, visible at once with all of them. The originals
    /// stay as they are, and no process may write to them afterwards: linked files share their
    /// bytes with the store. With `verify`, every byte is read and verified first. `progress` is
    /// called with the bytes of each file that is in the store, half of them when it is verified.
    /// Tables cannot be created or altered meanwhile.
    ///
    /// # Errors
    /// Nothing has changed in that case, unless the message says that the table is imported. As
    /// [`Engine::create_table`]; `InvalidRequest` if the regions leave a gap or overlap, or a file
    /// cannot be read, or has cells of another family; `Unsupported` for a codec or block encoding
    /// that is not supported, with its name; `Corrupt`.
    pub fn import_table(
        &self,
        descriptor: TableDescriptor,
        regions: &[ImportRegion],
        verify: bool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<ImportReport> {
        self.check_table_to_import(&descriptor, regions)?;
        let _ddl = self.lock_ddl()?;
        check_is_new(&self.shared.manifest.current(), descriptor.name())?;
        self.shared.disk.admit()?;
        let descriptor = Arc::new(descriptor);
        let examined = examine_all(self, &descriptor, regions, verify, progress)?;
        let mut import = Import::new(self, &descriptor, verify);
        let placed = import.place(&examined, progress).and_then(|()| import.record());
        let entries = placed.inspect_err(|_| import.abort())?;
        table_info::remove_others(&self.shared.env, &descriptor, 1);
        self.open_table(&descriptor, true, &entries).map_err(|error| {
            error.at(format_args!(
                "table {} is imported, and is served when the store is opened again",
                descriptor.name()
            ))
        })?;
        self.record_schema(descriptor.name(), "table created from files of HBase");
        Ok(import.report)
    }

    /// Makes the checks of [`Engine::import_table`] without verifying every byte, and changes
    /// nothing. Whether the table and its namespace exist is not checked. Returns the number of
    /// files without a cell.
    ///
    /// # Errors
    /// As [`Engine::import_table`].
    pub fn check_import(
        &self,
        descriptor: &TableDescriptor,
        regions: &[ImportRegion],
    ) -> Result<u64> {
        self.check_table_to_import(descriptor, regions)?;
        Ok(examine_all(self, descriptor, regions, false, &mut |_| {})?.empty_files)
    }

    fn check_table_to_import(
        &self,
        descriptor: &TableDescriptor,
        regions: &[ImportRegion],
    ) -> Result<()> {
        descriptor.check()?;
        check_name(descriptor.name())?;
        check_descriptor_bytes(descriptor)?;
        self.shared.options.check_table(descriptor)?;
        check_family_directories(descriptor)?;
        check_promises(descriptor, None)?;
        check_region_count(&self.shared.options, descriptor.name(), regions.len())?;
        check_regions(descriptor, regions)?;
        check_served_families(descriptor)
    }
}

/// Checks that regions cover all rows once, in order, and have files of the table's families.
fn check_regions(descriptor: &TableDescriptor, regions: &[ImportRegion]) -> Result<()> {
    let table = descriptor.name();
    let mut files = regions.iter().flat_map(|region| &region.files);
    if let Some(file) = files.find(|file| descriptor.find_family(&file.family).is_none()) {
        let family = to_string_binary(&file.family);
        let text = format!("table {table}: it has no family {family}, which {} is of", file.path);
        return Err(Error::invalid(text));
    }
    let refuse = |what: String| {
        let text = format!("table {table}: {what}; repair the table with HBase first");
        Err(Error::invalid(text))
    };
    let mut next = Some(Bytes::new());
    for region in regions {
        let (start, end) = (to_string_binary(&region.start), to_string_binary(&region.end));
        match next {
            Some(next) if next == region.start => {}
            _ => return refuse(format!("its regions overlap or leave a gap before '{start}'")),
        }
        if !region.start.is_empty() {
            layout::check_region_start(table, &region.start)?;
        }
        if !region.end.is_empty() && region.end <= region.start {
            return refuse(format!("the region that starts at '{start}' ends at '{end}'"));
        }
        next = (!region.end.is_empty()).then(|| region.end.clone());
    }
    if let Some(next) = next {
        return refuse(format!("no region has the rows from '{}' on", to_string_binary(&next)));
    }
    Ok(())
}
