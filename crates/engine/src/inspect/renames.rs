//! Renamed directories of tables and regions: their contents belong to the names recorded inside
//! them.

use std::collections::BTreeSet;

use halite_types::TableName;

use super::scan::{DiskFileKind, DiskRegion, DiskScan, DiskTable};

impl DiskScan {
    /// Assigns the contents of a renamed directory to its original name, if no directory has that
    /// name.
    pub(super) fn follow_renames(&mut self) {
        let renamed: Vec<(TableName, TableName)> = self
            .tables
            .iter()
            .filter_map(|(name, table)| Some((name.clone(), table.recorded_name()?.clone())))
            .filter(|(is, was)| is != was)
            .collect();
        let mut left = BTreeSet::new();
        for (is, was) in renamed {
            if self.tables.get(&was).is_some_and(|table| table.is_there) {
                continue;
            }
            if let Some(mut table) = self.tables.remove(&is) {
                table.regions.values_mut().for_each(|region| region.retarget(&is, &was));
                self.tables.entry(was).or_default().take_in(table);
                left.insert(is.namespace().to_owned());
            }
        }
        let tables = &self.tables;
        self.namespaces.retain(|namespace| {
            !left.contains(namespace)
                || tables
                    .iter()
                    .any(|(name, table)| table.is_there && name.namespace() == namespace)
        });
        self.tables.iter_mut().for_each(|(name, table)| table.follow_renames(name));
    }
}

impl DiskTable {
    /// Returns the name in the table's descriptor, or else in the files of its regions.
    fn recorded_name(&self) -> Option<&TableName> {
        let of_regions = || {
            self.regions.values().find_map(|region| region.info.as_ref().map(|info| &info.table))
        };
        self.descriptor
            .as_ref()
            .map(|(descriptor, _)| descriptor.name())
            .or_else(of_regions)
            .filter(|_| self.is_there)
    }

    fn take_in(&mut self, other: Self) {
        (self.is_there, self.descriptor) = (true, other.descriptor);
        for (encoded, region) in other.regions {
            self.regions.entry(encoded).or_default().take_in(region);
        }
    }

    /// Assigns the contents of renamed region directories to their original names. Region infos
    /// that do not match their directories are cleared.
    fn follow_renames(&mut self, name: &TableName) {
        let of_table = |region: &DiskRegion| {
            region
                .info
                .as_ref()
                .filter(|info| info.table == *name)
                .map(|info| info.encoded_name.clone())
        };
        let renamed: Vec<(String, String)> = self
            .regions
            .iter()
            .filter_map(|(encoded, region)| Some((encoded.clone(), of_table(region)?)))
            .filter(|(is, was)| is != was)
            .collect();
        for (is, was) in renamed {
            if self.regions.get(&was).is_some_and(|region| region.is_there) {
                continue;
            }
            if let Some(region) = self.regions.remove(&is) {
                self.regions.entry(was).or_default().take_in(region);
            }
        }
        for (encoded, region) in &mut self.regions {
            if of_table(region).is_none_or(|was| was != *encoded) {
                (region.info, region.number) = (None, None);
            }
        }
    }
}

impl DiskRegion {
    fn take_in(&mut self, other: Self) {
        (self.is_there, self.info, self.number) = (other.is_there, other.info, other.number);
        self.files.extend(other.files);
    }

    /// Changes the table of references: they name only the region of their file, which belongs to
    /// the same table.
    fn retarget(&mut self, is: &TableName, was: &TableName) {
        for file in &mut self.files {
            if let DiskFileKind::Linked(target) = &mut file.kind
                && target.table == *is
            {
                target.table = was.clone();
            }
        }
    }
}
