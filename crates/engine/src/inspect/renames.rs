//! Directories of tables and regions that were renamed: what is in them belongs to what they say they are.

use std::collections::BTreeSet;

use halite_types::TableName;

use super::scan::{DiskRegion, DiskTable, Kind, Scan};

impl Scan {
    /// Counts what lies in a directory that was renamed as lying in its own, if there is no such one.
    pub(super) fn follow_renames(&mut self) {
        let renamed: Vec<(TableName, TableName)> = self
            .tables
            .iter()
            .filter_map(|(name, table)| Some((name.clone(), table.calls_itself()?.clone())))
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
        self.namespaces
            .retain(|namespace| !left.contains(namespace) || tables.iter().any(|(name, table)| table.is_there && name.namespace() == namespace));
        self.tables.iter_mut().for_each(|(name, table)| table.follow_renames(name));
    }
}

impl DiskTable {
    /// The name in its descriptor; without one that in the files of its regions.
    fn calls_itself(&self) -> Option<&TableName> {
        let of_regions = || self.regions.values().find_map(|region| region.info.as_ref().map(|info| &info.table));
        self.descriptor.as_ref().map(|(descriptor, _)| descriptor.name()).or_else(of_regions).filter(|_| self.is_there)
    }

    fn take_in(&mut self, other: Self) {
        (self.is_there, self.descriptor) = (true, other.descriptor);
        for (encoded, region) in other.regions {
            self.regions.entry(encoded).or_default().take_in(region);
        }
    }

    /// As [`Scan::follow_renames`], for the regions; of what is said of regions only what fits their directories stays.
    fn follow_renames(&mut self, name: &TableName) {
        let of_table = |region: &DiskRegion| region.info.as_ref().filter(|info| info.table == *name).map(|info| info.encoded_name.clone());
        let renamed: Vec<(String, String)> =
            self.regions.iter().filter_map(|(encoded, region)| Some((encoded.clone(), of_table(region)?))).filter(|(is, was)| is != was).collect();
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

    /// References name only the region of their file, which is one of the same table.
    fn retarget(&mut self, is: &TableName, was: &TableName) {
        for file in &mut self.files {
            if let Kind::StandIn(target) = &mut file.kind
                && target.table == *is
            {
                target.table = was.clone();
            }
        }
    }
}
