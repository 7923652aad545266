//! What the catalog says: tables, regions, store files and snapshots, and which store files all of them need.
//!
//! A store file is made in a table's region and keeps that identity, its [`Home`], for ever. Others may stand for it
//! without a copy: links (the whole file), references (a part of it), and the entries of snapshots.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::{Attributes, Error, ErrorKind, RegionInfo, Result, SnapshotDescriptor, TableDescriptor, TableName};

use super::layout;

/// Everything that is live.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Catalog {
    /// Marks every file of this store as its own.
    pub(crate) store_id: [u8; 16],
    /// Counts the changes of the manifest.
    pub(crate) generation: u64,
    /// The generation of the last clean end after files had been set aside.
    pub(crate) checkpoint: u64,
    /// The number the next region gets in the log.
    pub(crate) next_region: u64,
    pub(crate) namespaces: BTreeMap<String, NamespaceEntry>,
    pub(crate) tables: BTreeMap<TableName, TableEntry>,
    pub(crate) snapshots: BTreeMap<String, Arc<SnapshotEntry>>,
    /// What whoever runs the store keeps in it, by name.
    pub(crate) settings: BTreeMap<String, Bytes>,
}

/// A namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NamespaceEntry {
    pub(crate) settings: Attributes,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableEntry {
    pub(crate) descriptor: Arc<TableDescriptor>,
    pub(crate) enabled: bool,
    /// On whose behalf it is disabled; empty if its owner's, or if it is enabled.
    pub(crate) disabled_for: String,
    /// Counts the changes of the descriptor, for the name of HBase's file.
    pub(crate) version: u32,
    /// By start key.
    pub(crate) regions: Vec<RegionEntry>,
}

/// A region.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RegionEntry {
    pub(crate) info: Arc<RegionInfo>,
    /// Its number in the log; never used again.
    pub(crate) number: u64,
    /// Everything up to this sequence id is in store files.
    pub(crate) flushed_sequence: u64,
    pub(crate) families: BTreeMap<Bytes, FamilyFiles>,
    /// The regions it was merged from, in the order of their keys, until they are forgotten: what HBase calls merge qualifiers.
    pub(crate) parents: Vec<Arc<RegionInfo>>,
}

/// The store files of one family of a region.
pub(crate) type FamilyFiles = Vec<FileEntry>;

/// A table as it was when a snapshot of it was taken.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SnapshotEntry {
    pub(crate) descriptor: SnapshotDescriptor,
    pub(crate) table: TableEntry,
}

/// A store file of a region, or what stands for a file made elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileEntry {
    /// The name in the store's own directory.
    pub(crate) name: String,
    /// For a link or a reference: the file it stands for.
    pub(crate) target: Option<Target>,
    /// For a file that was bulk-loaded: the sequence id of all its cells, whatever they carry.
    pub(crate) loaded_sequence: Option<u64>,
}

/// The file of the same family that a link or a reference stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) table: TableName,
    pub(crate) region: String,
    pub(crate) name: String,
    /// Whether all of it belongs to the region (a link) or only the rows that lie in the region (a reference).
    pub(crate) whole: bool,
}

/// A store file by where it was made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Home {
    pub(crate) table: TableName,
    pub(crate) region: String,
    pub(crate) family: Bytes,
    pub(crate) name: String,
}

/// Where a file that is needed has to lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// In its home or in the archive: a link or a snapshot needs it, and they look in both.
    Anywhere,
    /// In its home: its own region, or a reference that looks only there, needs it.
    Home,
}

impl Home {
    fn directory(&self) -> String {
        layout::family_directory(&self.table, &self.region, &self.family)
    }

    /// Its path while a region of its table needs it.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.directory(), self.name)
    }

    /// The directory for it in the archive.
    pub(crate) fn archive_directory(&self) -> String {
        format!("{}/{}", layout::ARCHIVE, self.directory())
    }

    /// Its path when only links and snapshots need it.
    pub(crate) fn archive_path(&self) -> String {
        format!("{}/{}", layout::ARCHIVE, self.path())
    }
}

impl FileEntry {
    /// A file of the region itself.
    pub(crate) fn own(name: String) -> Self {
        Self { name, target: None, loaded_sequence: None }
    }

    /// What stands for the whole of this file, or for a part of it, under a name in another region.
    pub(crate) fn stand_in(&self, name: String, target: Target) -> Self {
        Self { name, target: Some(target), loaded_sequence: self.loaded_sequence }
    }

    /// Whether only a part of a file belongs to the region.
    pub(crate) fn is_part(&self) -> bool {
        self.target.as_ref().is_some_and(|target| !target.whole)
    }

    /// What lies under its own name in the region: the file, the link or the reference.
    pub(crate) fn place(&self, region: &RegionInfo, family: &Bytes) -> Home {
        Home { table: region.table.clone(), region: region.encoded_name.clone(), family: family.clone(), name: self.name.clone() }
    }

    /// The file that its cells are in.
    pub(crate) fn home(&self, region: &RegionInfo, family: &Bytes) -> Home {
        match &self.target {
            None => self.place(region, family),
            Some(target) => Home { table: target.table.clone(), region: target.region.clone(), family: family.clone(), name: target.name.clone() },
        }
    }

    /// The file it stands for, named as a target of others: links and references never stand for each other.
    pub(crate) fn as_target(&self, region: &RegionInfo, whole: bool) -> Target {
        match &self.target {
            None => Target { table: region.table.clone(), region: region.encoded_name.clone(), name: self.name.clone(), whole },
            Some(target) => Target { whole, ..target.clone() },
        }
    }

    /// Where the file that a link or reference stands for has to lie. Only a reference that is not made through a link's
    /// name looks nowhere but in the home.
    fn need_of_target(&self) -> Need {
        if self.is_part() && !layout::is_link_name(&self.name) { Need::Home } else { Need::Anywhere }
    }
}

impl RegionEntry {
    /// Its files with their families.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Bytes, &FileEntry)> {
        self.families.iter().flat_map(|(family, files)| files.iter().map(move |file| (family, file)))
    }

    /// Whether it was merged from others, which are still named, and reads none of their files any more.
    pub(crate) fn may_forget_parents(&self) -> bool {
        !self.parents.is_empty() && !self.files().any(|(_, file)| file.is_part())
    }

    /// Everything that its files are and stand for.
    pub(crate) fn homes(&self) -> impl Iterator<Item = Home> {
        self.files().flat_map(|(family, file)| [file.place(&self.info, family), file.home(&self.info, family)])
    }
}

impl Catalog {
    /// The tables that are in lists: all but what the engine keeps for itself.
    pub(crate) fn listed(&self) -> impl Iterator<Item = (&TableName, &TableEntry)> {
        self.tables.iter().filter(|(name, _)| !layout::is_hidden(name))
    }

    /// Up to which sequence id the cells of each region are in store files, by its number.
    pub(crate) fn flushed_sequences(&self) -> BTreeMap<u64, u64> {
        self.tables.values().flat_map(|table| &table.regions).map(|region| (region.number, region.flushed_sequence)).collect()
    }

    /// The table, or the error that it does not exist.
    pub(crate) fn table(&self, name: &TableName) -> Result<&TableEntry> {
        self.tables.get(name).ok_or_else(|| no_table(name))
    }

    /// As [`Catalog::table`], to change it.
    pub(crate) fn table_mut(&mut self, name: &TableName) -> Result<&mut TableEntry> {
        self.tables.get_mut(name).ok_or_else(|| no_table(name))
    }

    /// The region of that number.
    pub(crate) fn region_mut(&mut self, table: &TableName, number: u64) -> Result<&mut RegionEntry> {
        let regions = &mut self.table_mut(table)?.regions;
        regions
            .iter_mut()
            .find(|region| region.number == number)
            .ok_or_else(|| Error::new(ErrorKind::NoSuchRegion, format!("table {table} has no such region any more")))
    }

    /// Whether the table has a region of that encoded name.
    pub(crate) fn has_region(&self, table: &TableName, encoded_name: &str) -> bool {
        self.tables.get(table).is_some_and(|table| table.regions.iter().any(|region| region.info.encoded_name == encoded_name))
    }

    /// The snapshot, or the error that it does not exist.
    pub(crate) fn snapshot(&self, name: &str) -> Result<&Arc<SnapshotEntry>> {
        self.snapshots
            .get(name)
            .ok_or_else(|| Error::new(ErrorKind::NoSuchSnapshot, format!("snapshot {name} does not exist; take it, or list the snapshots there are")))
    }

    /// A number for a new region.
    pub(crate) fn take_region_number(&mut self) -> u64 {
        self.next_region += 1;
        self.next_region
    }

    /// Every file whose name is `wanted` and that somebody needs. What nobody needs is not in it.
    pub(crate) fn needs(&self, wanted: impl Fn(&str) -> bool) -> BTreeMap<Home, Need> {
        let mut needs = BTreeMap::new();
        let mut add = |home: Home, need: Need| {
            let known = needs.entry(home).or_insert(need);
            *known = need.max(*known);
        };
        for region in self.tables.values().flat_map(|table| &table.regions) {
            for (family, file) in region.files() {
                if wanted(&file.name) {
                    add(file.place(&region.info, family), Need::Home);
                }
                if file.target.as_ref().is_some_and(|target| wanted(&target.name)) {
                    add(file.home(&region.info, family), file.need_of_target());
                }
            }
        }
        for region in self.snapshots.values().flat_map(|snapshot| &snapshot.table.regions) {
            for (family, file) in region.files() {
                if wanted(file.target.as_ref().map_or(&file.name, |target| &target.name)) {
                    add(file.home(&region.info, family), Need::Anywhere);
                }
            }
        }
        needs
    }
}

/// The error that a table does not exist.
pub(crate) fn no_table(name: &TableName) -> Error {
    Error::new(ErrorKind::NoSuchTable, format!("table {name} does not exist; create it, or list the tables there are"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(table: &str, files: Vec<FileEntry>) -> RegionEntry {
        let info = layout::new_region(&table.parse().unwrap(), Bytes::new(), Bytes::new(), 7);
        RegionEntry {
            info: Arc::new(info),
            number: 1,
            flushed_sequence: 0,
            families: BTreeMap::from([(Bytes::from_static(b"f"), files)]),
            parents: Vec::new(),
        }
    }

    fn table(name: &str, files: Vec<FileEntry>) -> TableEntry {
        let descriptor = Arc::new(TableDescriptor::new(name.parse().unwrap()));
        TableEntry { descriptor, enabled: true, disabled_for: String::new(), version: 1, regions: vec![region(name, files)] }
    }

    fn target(name: &str, whole: bool) -> Target {
        Target { table: "t".parse().unwrap(), region: "old".into(), name: name.into(), whole }
    }

    #[test]
    fn what_a_file_is_needed_for_says_where_it_has_to_lie() {
        let files = vec![
            FileEntry::own("own".into()),
            FileEntry::own("half".into()).stand_in("half.old".into(), target("half", false)),
            FileEntry::own("linked".into()).stand_in("t=old-linked".into(), target("linked", true)),
            FileEntry::own("part".into()).stand_in("t=old-part.old".into(), target("part", false)),
        ];
        let mut catalog = Catalog { tables: BTreeMap::from([("t".parse().unwrap(), table("t", files))]), ..Catalog::default() };
        let taken = SnapshotEntry {
            descriptor: SnapshotDescriptor::new("s", "t".parse().unwrap()),
            table: table("t", vec![FileEntry::own("own".into()), FileEntry::own("before".into())]),
        };
        catalog.snapshots.insert("s".into(), Arc::new(taken));
        let needs = catalog.needs(|name| !name.contains('.') && !name.contains('='));
        let found: Vec<_> = needs.iter().map(|(home, need)| (home.name.as_str(), *need)).collect();
        let right = [("before", Need::Anywhere), ("own", Need::Home), ("half", Need::Home), ("linked", Need::Anywhere), ("part", Need::Anywhere)];
        assert!(right.iter().all(|each| found.contains(each)) && found.len() == right.len(), "{found:?}");
        assert!(catalog.needs(|name| name == "nobody").is_empty());
    }
}
