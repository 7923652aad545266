//! Catalog entries: tables, regions, store files and snapshots, and the store files that they
//! require.
//!
//! A store file is created in a table's region and keeps that identity, its [`FileOrigin`],
//! permanently. Other entries may represent it without a copy: links (the whole file), references
//! (a part of it), and the entries of snapshots.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use halite_types::{
    Attributes, Error, ErrorKind, RegionInfo, Result, SnapshotDescriptor, TableDescriptor,
    TableName,
};

use super::layout;

/// All live objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Catalog {
    /// Store id, recorded in every file of this store.
    pub(crate) store_id: [u8; 16],
    /// Number of changes of the manifest.
    pub(crate) generation: u64,
    /// Generation of the last clean close after files had been quarantined.
    pub(crate) checkpoint: u64,
    /// Number of the newest region in the log; the next region gets the number after it.
    pub(crate) next_region: u64,
    pub(crate) namespaces: BTreeMap<String, NamespaceEntry>,
    pub(crate) tables: BTreeMap<TableName, TableEntry>,
    pub(crate) snapshots: BTreeMap<String, Arc<SnapshotEntry>>,
    /// Properties stored by the operator, by name.
    pub(crate) properties: BTreeMap<String, Bytes>,
}

/// Namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NamespaceEntry {
    pub(crate) settings: Attributes,
}

/// Table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableEntry {
    pub(crate) descriptor: Arc<TableDescriptor>,
    pub(crate) enabled: bool,
    /// Holder on whose behalf the table is disabled; empty if disabled by its owner, or if enabled.
    pub(crate) disabled_for: String,
    /// Number of changes of the descriptor, for the name of HBase's file.
    pub(crate) version: u32,
    /// Regions by start key.
    pub(crate) regions: Vec<RegionEntry>,
}

/// Region.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RegionEntry {
    pub(crate) info: Arc<RegionInfo>,
    /// Number of the region in the log; never reused.
    pub(crate) number: u64,
    /// Sequence id up to which everything is in store files.
    pub(crate) flushed_sequence: u64,
    /// Families whose cells are in store files beyond that, and up to which sequence id: those that
    /// a flush wrote while it left others in memory.
    pub(crate) family_flushed: BTreeMap<Bytes, u64>,
    pub(crate) families: BTreeMap<Bytes, FamilyFiles>,
    /// Regions that this one was merged from, in key order, until they are cleared: HBase's merge
    /// qualifiers.
    pub(crate) parents: Vec<Arc<RegionInfo>>,
}

/// Store files of one family of a region.
pub(crate) type FamilyFiles = Vec<FileEntry>;

/// Table at the time of a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SnapshotEntry {
    pub(crate) descriptor: SnapshotDescriptor,
    pub(crate) table: TableEntry,
}

/// Store file of a region, or a link or reference to a file created elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileEntry {
    /// File name in the store's own directory.
    pub(crate) name: String,
    /// Target file of a link or a reference.
    pub(crate) target: Option<LinkTarget>,
    /// Sequence id of all cells of a bulk-loaded file, which overrides the ids stored in them.
    pub(crate) loaded_sequence: Option<u64>,
}

/// Target file, of the same family, of a link or a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkTarget {
    pub(crate) table: TableName,
    pub(crate) region: String,
    pub(crate) name: String,
    /// True if the whole file belongs to the region (a link), false if only the rows in the region
    /// do (a reference).
    pub(crate) whole: bool,
}

/// Store file identified by the region that it was created in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileOrigin {
    pub(crate) table: TableName,
    pub(crate) region: String,
    pub(crate) family: Bytes,
    pub(crate) name: String,
}

/// Required location of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RequiredLocation {
    /// In its original directory or in the archive: required by a link or a snapshot, which search
    /// both.
    Anywhere,
    /// In its original directory: required by its own region, or by a reference that searches only
    /// there.
    Origin,
}

impl FileOrigin {
    fn directory(&self) -> String {
        layout::family_directory(&self.table, &self.region, &self.family)
    }

    /// Returns its path while a region of its table requires it.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.directory(), self.name)
    }

    /// Returns its directory in the archive.
    pub(crate) fn archive_directory(&self) -> String {
        format!("{}/{}", layout::ARCHIVE, self.directory())
    }

    /// Returns its path when only links and snapshots require it.
    pub(crate) fn archive_path(&self) -> String {
        format!("{}/{}", layout::ARCHIVE, self.path())
    }
}

impl FileEntry {
    /// Creates the entry of a file of the region itself.
    pub(crate) fn local(name: String) -> Self {
        Self { name, target: None, loaded_sequence: None }
    }

    /// Creates the entry that represents this file, or a part of it, under a name in another
    /// region.
    pub(crate) fn linked(&self, name: String, target: LinkTarget) -> Self {
        Self { name, target: Some(target), loaded_sequence: self.loaded_sequence }
    }

    /// Returns `true` if only a part of a file belongs to the region.
    pub(crate) fn is_part(&self) -> bool {
        self.target.as_ref().is_some_and(|target| !target.whole)
    }

    /// Returns the file, link or reference with the entry's own name in the region.
    pub(crate) fn local_origin(&self, region: &RegionInfo, family: &Bytes) -> FileOrigin {
        FileOrigin {
            table: region.table.clone(),
            region: region.encoded_name.clone(),
            family: family.clone(),
            name: self.name.clone(),
        }
    }

    /// Returns the file that contains the cells.
    pub(crate) fn origin(&self, region: &RegionInfo, family: &Bytes) -> FileOrigin {
        match &self.target {
            None => self.local_origin(region, family),
            Some(target) => FileOrigin {
                table: target.table.clone(),
                region: target.region.clone(),
                family: family.clone(),
                name: target.name.clone(),
            },
        }
    }

    /// Returns the underlying file as a target for other entries: links and references never point
    /// to each other.
    pub(crate) fn as_target(&self, region: &RegionInfo, whole: bool) -> LinkTarget {
        match &self.target {
            None => LinkTarget {
                table: region.table.clone(),
                region: region.encoded_name.clone(),
                name: self.name.clone(),
                whole,
            },
            Some(target) => LinkTarget { whole, ..target.clone() },
        }
    }

    /// Returns the required location of the target of a link or reference. Only a reference that is
    /// not made through a link's name searches solely the original directory.
    fn required_target_location(&self) -> RequiredLocation {
        if self.is_part() && !layout::is_link_name(&self.name) {
            RequiredLocation::Origin
        } else {
            RequiredLocation::Anywhere
        }
    }
}

impl RegionEntry {
    /// Returns the entry of a region without files.
    pub(crate) fn new(info: Arc<RegionInfo>, number: u64) -> Self {
        Self {
            info,
            number,
            flushed_sequence: 0,
            family_flushed: BTreeMap::new(),
            families: BTreeMap::new(),
            parents: Vec::new(),
        }
    }

    /// Returns the sequence id up to which all cells of a family are in store files.
    pub(crate) fn flushed_sequence_of(&self, family: &[u8]) -> u64 {
        self.family_flushed.get(family).copied().unwrap_or(self.flushed_sequence)
    }

    /// Returns the highest sequence id up to which the cells of any family are in store files.
    pub(crate) fn newest_flushed_sequence(&self) -> u64 {
        self.family_flushed.values().copied().max().unwrap_or(0).max(self.flushed_sequence)
    }

    /// Records up to which sequence id the cells of each family are in store files. Returns the
    /// lowest one: up to it, everything is.
    pub(crate) fn set_flushed_sequences(&mut self, families: BTreeMap<Bytes, u64>) -> u64 {
        let lowest = families.values().copied().min().unwrap_or(self.flushed_sequence);
        assert!(self.flushed_sequence <= lowest, "flushed cells stay flushed");
        assert!(
            families.iter().all(|(family, flushed)| self.flushed_sequence_of(family) <= *flushed),
            "flushed cells of a family stay flushed"
        );
        self.flushed_sequence = lowest;
        self.family_flushed = families;
        self.family_flushed.retain(|_, flushed| *flushed > lowest);
        for family in self.family_flushed.keys() {
            self.families.entry(family.clone()).or_default();
        }
        lowest
    }

    /// Returns the region's files with their families.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Bytes, &FileEntry)> {
        self.families
            .iter()
            .flat_map(|(family, files)| files.iter().map(move |file| (family, file)))
    }

    /// Returns `true` if the region still has merge parents and no longer reads any of their files.
    pub(crate) fn can_clear_parents(&self) -> bool {
        !self.parents.is_empty() && !self.files().any(|(_, file)| file.is_part())
    }

    /// Returns the files of the region and their targets.
    pub(crate) fn origins(&self) -> impl Iterator<Item = FileOrigin> {
        self.files().flat_map(|(family, file)| {
            [file.local_origin(&self.info, family), file.origin(&self.info, family)]
        })
    }
}

impl Catalog {
    /// Returns the visible tables: all except those of the engine itself.
    pub(crate) fn visible_tables(&self) -> impl Iterator<Item = (&TableName, &TableEntry)> {
        self.tables.iter().filter(|(name, _)| !layout::is_hidden(name))
    }

    /// Returns the flushed sequence id of each region, by region number.
    pub(crate) fn flushed_sequences(&self) -> BTreeMap<u64, u64> {
        self.tables
            .values()
            .flat_map(|table| &table.regions)
            .map(|region| (region.number, region.flushed_sequence))
            .collect()
    }

    /// Returns the table, or an error if it does not exist.
    pub(crate) fn table(&self, name: &TableName) -> Result<&TableEntry> {
        self.tables.get(name).ok_or_else(|| table_not_found(name))
    }

    /// Returns the table for changes, or an error if it does not exist.
    pub(crate) fn table_mut(&mut self, name: &TableName) -> Result<&mut TableEntry> {
        self.tables.get_mut(name).ok_or_else(|| table_not_found(name))
    }

    /// Returns the region with this number.
    pub(crate) fn region_mut(
        &mut self,
        table: &TableName,
        number: u64,
    ) -> Result<&mut RegionEntry> {
        let regions = &mut self.table_mut(table)?.regions;
        regions.iter_mut().find(|region| region.number == number).ok_or_else(|| {
            Error::new(
                ErrorKind::NoSuchRegion,
                format!("table {table} has no such region any more"),
            )
        })
    }

    /// Returns `true` if the table has a region with this encoded name.
    pub(crate) fn has_region(&self, table: &TableName, encoded_name: &str) -> bool {
        self.tables.get(table).is_some_and(|table| {
            table.regions.iter().any(|region| region.info.encoded_name == encoded_name)
        })
    }

    /// Returns the snapshot, or an error if it does not exist.
    pub(crate) fn snapshot(&self, name: &str) -> Result<&Arc<SnapshotEntry>> {
        self.snapshots.get(name).ok_or_else(|| {
            Error::new(
                ErrorKind::NoSuchSnapshot,
                format!("snapshot {name} does not exist; take it, or list the snapshots there are"),
            )
        })
    }

    /// Returns `true` if the regions of each table are in the order of their ranges, do not overlap
    /// and have numbers that were allocated.
    pub(crate) fn is_in_order(&self) -> bool {
        self.tables.values().all(|table| {
            table.regions.is_sorted_by(|a, b| {
                a.info.start < b.info.start && !a.info.end.is_empty() && a.info.end <= b.info.start
            }) && table.regions.iter().all(|region| region.number <= self.next_region)
        })
    }

    /// Returns `true` if no two regions have one number, and no region names a file twice.
    pub(crate) fn names_each_once(&self) -> bool {
        let regions = || self.tables.values().flat_map(|table| &table.regions);
        let numbers: BTreeSet<u64> = regions().map(|region| region.number).collect();
        numbers.len() == regions().count()
            && regions().all(|region| {
                let files: BTreeSet<_> =
                    region.files().map(|(family, file)| (family, &file.name)).collect();
                files.len() == region.files().count()
            })
    }

    /// Returns `true` if the regions that are also in an earlier state have at least its flushed
    /// sequence ids.
    pub(crate) fn is_flushed_like(&self, before: &Self) -> bool {
        let regions = || before.tables.values().flat_map(|table| &table.regions);
        let before: BTreeMap<u64, &RegionEntry> =
            regions().map(|region| (region.number, region)).collect();
        let is_like = |region: &RegionEntry, before: &RegionEntry| {
            before.flushed_sequence <= region.flushed_sequence
                && region.families.keys().all(|family| {
                    before.flushed_sequence_of(family) <= region.flushed_sequence_of(family)
                })
        };
        self.tables
            .values()
            .flat_map(|table| &table.regions)
            .all(|region| before.get(&region.number).is_none_or(|before| is_like(region, before)))
    }

    /// Allocates a number for a new region.
    pub(crate) fn allocate_region_number(&mut self) -> u64 {
        self.next_region += 1;
        self.next_region
    }

    /// Returns every required file whose name satisfies `wanted`, with its required location.
    pub(crate) fn required_files(
        &self,
        wanted: impl Fn(&str) -> bool,
    ) -> BTreeMap<FileOrigin, RequiredLocation> {
        let mut needs = BTreeMap::new();
        let mut add = |home: FileOrigin, need: RequiredLocation| {
            let known = needs.entry(home).or_insert(need);
            *known = need.max(*known);
        };
        for region in self.tables.values().flat_map(|table| &table.regions) {
            for (family, file) in region.files() {
                if wanted(&file.name) {
                    add(file.local_origin(&region.info, family), RequiredLocation::Origin);
                }
                if file.target.as_ref().is_some_and(|target| wanted(&target.name)) {
                    add(file.origin(&region.info, family), file.required_target_location());
                }
            }
        }
        for region in self.snapshots.values().flat_map(|snapshot| &snapshot.table.regions) {
            for (family, file) in region.files() {
                if wanted(file.target.as_ref().map_or(&file.name, |target| &target.name)) {
                    add(file.origin(&region.info, family), RequiredLocation::Anywhere);
                }
            }
        }
        needs
    }
}

/// Returns the error for a table that does not exist.
pub(crate) fn table_not_found(name: &TableName) -> Error {
    Error::new(
        ErrorKind::NoSuchTable,
        format!("table {name} does not exist; create it, or list the tables there are"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(table: &str, files: Vec<FileEntry>) -> RegionEntry {
        let info = layout::new_region(&table.parse().unwrap(), Bytes::new(), Bytes::new(), 7);
        RegionEntry {
            families: BTreeMap::from([(Bytes::from_static(b"f"), files)]),
            ..RegionEntry::new(Arc::new(info), 1)
        }
    }

    fn table(name: &str, files: Vec<FileEntry>) -> TableEntry {
        let descriptor = Arc::new(TableDescriptor::new(name.parse().unwrap()));
        TableEntry {
            descriptor,
            enabled: true,
            disabled_for: String::new(),
            version: 1,
            regions: vec![region(name, files)],
        }
    }

    fn target(name: &str, whole: bool) -> LinkTarget {
        LinkTarget { table: "t".parse().unwrap(), region: "old".into(), name: name.into(), whole }
    }

    #[test]
    fn lowest_flushed_sequence_of_families_is_the_regions() {
        let mut region = region("t", Vec::new());
        let mut set = |sequences: [(&'static str, u64); 3]| {
            let sequences = sequences.map(|(family, flushed)| (Bytes::from(family), flushed));
            let lowest = region.set_flushed_sequences(BTreeMap::from(sequences));
            assert_eq!(lowest, region.flushed_sequence);
            (["f", "g", "h"].map(|family| region.flushed_sequence_of(family.as_bytes())), lowest)
        };
        assert_eq!(set([("f", 7), ("g", 5), ("h", 5)]), ([7, 5, 5], 5));
        assert_eq!(set([("f", 7), ("g", 9), ("h", 8)]), ([7, 9, 8], 7));
        assert_eq!(set([("f", 9), ("g", 9), ("h", 9)]), ([9, 9, 9], 9));
        assert!(region.family_flushed.is_empty() && region.newest_flushed_sequence() == 9);
    }

    #[test]
    fn family_that_is_flushed_less_is_noticed() {
        let mut before = Catalog::default();
        before.tables.insert("t".parse().unwrap(), table("t", Vec::new()));
        let with = |flushed: &[(&'static str, u64)]| {
            let mut after = before.clone();
            let region = &mut after.tables.values_mut().next().unwrap().regions[0];
            for (family, flushed) in flushed {
                region.families.entry(Bytes::from(*family)).or_default();
                region.family_flushed.insert(Bytes::from(*family), *flushed);
            }
            after
        };
        assert!(with(&[("f", 6), ("g", 5)]).is_flushed_like(&with(&[("f", 5)])));
        assert!(!with(&[("f", 5), ("g", 6)]).is_flushed_like(&with(&[("f", 6)])));
        assert!(!with(&[]).is_flushed_like(&with(&[("f", 1)])));
    }

    #[test]
    fn catalog_requires_contiguous_regions() {
        let ranges = |ranges: &[(&'static str, &'static str)]| {
            let mut table = table("t", Vec::new());
            table.regions.clear();
            for (start, end) in ranges {
                let name = table.descriptor.name();
                let info = layout::new_region(name, (*start).into(), (*end).into(), 7);
                table.regions.push(RegionEntry { info: Arc::new(info), ..region("t", vec![]) });
            }
            let mut catalog = Catalog { next_region: 1, ..Catalog::default() };
            catalog.tables.insert("t".parse().unwrap(), table);
            catalog
        };
        let catalog = ranges(&[("", "b"), ("b", "d"), ("d", "")]);
        assert!(catalog.is_in_order());
        assert!(!Catalog { next_region: 0, ..catalog }.is_in_order());
        for wrong in [[("", "c"), ("b", "")], [("b", ""), ("", "b")], [("", ""), ("b", "")]] {
            assert!(!ranges(&wrong).is_in_order(), "{wrong:?}");
        }
    }

    #[test]
    fn required_files_specify_their_required_location() {
        let files = vec![
            FileEntry::local("own".into()),
            FileEntry::local("half".into()).linked("half.old".into(), target("half", false)),
            FileEntry::local("linked".into()).linked("t=old-linked".into(), target("linked", true)),
            FileEntry::local("part".into()).linked("t=old-part.old".into(), target("part", false)),
        ];
        let mut catalog = Catalog {
            tables: BTreeMap::from([("t".parse().unwrap(), table("t", files))]),
            ..Catalog::default()
        };
        let taken = SnapshotEntry {
            descriptor: SnapshotDescriptor::new("s", "t".parse().unwrap()),
            table: table(
                "t",
                vec![FileEntry::local("own".into()), FileEntry::local("before".into())],
            ),
        };
        catalog.snapshots.insert("s".into(), Arc::new(taken));
        let needs = catalog.required_files(|name| !name.contains('.') && !name.contains('='));
        let found: Vec<_> = needs.iter().map(|(home, need)| (home.name.as_str(), *need)).collect();
        let right = [
            ("before", RequiredLocation::Anywhere),
            ("own", RequiredLocation::Origin),
            ("half", RequiredLocation::Origin),
            ("linked", RequiredLocation::Anywhere),
            ("part", RequiredLocation::Anywhere),
        ];
        assert!(
            right.iter().all(|each| found.contains(each)) && found.len() == right.len(),
            "{found:?}"
        );
        assert!(catalog.required_files(|name| name == "missing").is_empty());
    }
}
