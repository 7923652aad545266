//! What is to be imported: a table with its regions and files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use halite::{BulkLoad, Bytes, FamilyDescriptor, TableDescriptor, TableName};
use halite_engine::{ImportFile, ImportRegion};
use halite_hbase_dir::{HbaseFile, HbaseRegion, HbaseTable, read_bare_files, read_snapshot};

use super::compacted::drop_compacted;

/// What the logs had of a table.
#[derive(Clone, Copy, Default)]
pub(crate) struct Recovered {
    /// Entries with cells that no store file has.
    pub(crate) entries: u64,
    /// Those cells.
    pub(crate) cells: u64,
    /// Regions with such entries.
    pub(crate) regions: u64,
    /// Store files that a compaction had replaced.
    pub(crate) replaced_files: u64,
    /// Bytes that the files with the cells take at most.
    pub(crate) bytes: u64,
}

/// Table to import.
pub(crate) struct ImportSource {
    pub(crate) descriptor: TableDescriptor,
    pub(crate) regions: Vec<HbaseRegion>,
    /// Families whose store files have references to MOB files.
    pub(super) mob_families: Vec<Bytes>,
    /// Name of the table in HBase, whose MOB files are those of references without a table.
    pub(super) original_name: TableName,
    /// True for bare files, which may be loaded into an existing table.
    pub(crate) is_bare: bool,
    /// Regions that were left out without knowledge of `hbase:meta`.
    pub(super) replaced_regions: usize,
    /// What the logs of HBase had of it.
    pub(crate) recovered: Recovered,
    /// Bytes of store files that are written again with the values of MOB files.
    pub(super) inlined_bytes: u64,
    /// Those files, by the paths in HBase's directory.
    pub(super) inlined_files: BTreeSet<PathBuf>,
    /// True if its bare files are loaded into a table that exists.
    pub(super) loads_into_existing: bool,
}

impl ImportSource {
    /// Takes a table without the files that compactions have replaced.
    ///
    /// # Errors
    /// Returns an error if a store file cannot be read.
    pub(super) fn new(table: HbaseTable) -> anyhow::Result<Self> {
        let mut source = Self {
            original_name: table.descriptor.name().clone(),
            descriptor: table.descriptor,
            mob_families: table.mob_families,
            regions: table.regions,
            replaced_regions: table.replaced_regions,
            is_bare: false,
            recovered: Recovered::default(),
            inlined_bytes: 0,
            inlined_files: BTreeSet::new(),
            loads_into_existing: false,
        };
        for region in &mut source.regions {
            source.recovered.replaced_files += drop_compacted(region)?;
        }
        Ok(source)
    }

    /// Reads the table of a snapshot.
    ///
    /// # Errors
    /// Returns an error if there is no such snapshot, or it is damaged.
    pub(crate) fn read_snapshot(
        root: &Path,
        snapshot: &str,
        new_name: Option<TableName>,
    ) -> anyhow::Result<Self> {
        let read = read_snapshot(root, snapshot).with_context(|| format!("snapshot {snapshot}"))?;
        let mut source = Self::new(read)?;
        if let Some(name) = new_name {
            source.descriptor = source.descriptor.renamed(name);
        }
        Ok(source)
    }

    /// Reads bare files; a new table for them has one region, and families with default settings.
    ///
    /// # Errors
    /// Returns an error if there are none, or the directory has other contents.
    pub(crate) fn read_bare_files(directory: &Path, table: TableName) -> anyhow::Result<Self> {
        let mut files = read_bare_files(directory)?;
        let original_name = table.clone();
        let mut descriptor = TableDescriptor::new(table);
        for file in &mut files {
            descriptor.set_family(FamilyDescriptor::new(file.family.clone()));
            // As in a bulk load, the cells of all files count as written at one time.
            file.loaded_sequence = Some(1);
        }
        let (start, end) = (Bytes::new(), Bytes::new());
        let regions = vec![HbaseRegion { start, end, encoded_name: String::new(), files }];
        let recovered = Recovered::default();
        Ok(Self {
            descriptor,
            regions,
            mob_families: Vec::new(),
            original_name,
            is_bare: true,
            replaced_regions: 0,
            recovered,
            inlined_bytes: 0,
            inlined_files: BTreeSet::new(),
            loads_into_existing: false,
        })
    }

    pub(crate) fn name(&self) -> &TableName {
        self.descriptor.name()
    }

    /// Returns the files of all regions.
    pub(crate) fn files(&self) -> impl Iterator<Item = &HbaseFile> {
        self.regions.iter().flat_map(|region| &region.files)
    }

    /// Returns the bytes of all files; a file that two regions share counts twice.
    pub(crate) fn bytes(&self) -> u64 {
        self.files().map(|file| file.bytes).sum()
    }

    /// Returns the load of bare files. They are copied: a bulk load that links files takes them
    /// away from where they are.
    ///
    /// # Errors
    /// Returns an error if a path is not UTF-8.
    pub(super) fn bulk_load(&self, verify: bool) -> anyhow::Result<BulkLoad> {
        let path =
            |file: &HbaseFile| anyhow::Ok((file.family.clone(), path_text(&file.path)?.into()));
        let files = self.files().map(path).collect::<anyhow::Result<_>>()?;
        Ok(BulkLoad { files, copy: true, verify })
    }

    /// Returns the regions as the engine takes them.
    ///
    /// # Errors
    /// Returns an error if a path is not UTF-8.
    pub(crate) fn import_regions(&self) -> anyhow::Result<Vec<ImportRegion>> {
        let region = |region: &HbaseRegion| {
            let (start, end) = (region.start.clone(), region.end.clone());
            let files = region.files.iter().map(import_file).collect::<anyhow::Result<_>>()?;
            Ok(ImportRegion { start, end, files })
        };
        self.regions.iter().map(region).collect()
    }
}

fn import_file(file: &HbaseFile) -> anyhow::Result<ImportFile> {
    Ok(ImportFile {
        family: file.family.clone(),
        path: path_text(&file.path)?.to_owned(),
        loaded_sequence: file.loaded_sequence,
        rows: file.rows.clone(),
    })
}

/// Returns a path as text.
///
/// # Errors
/// Returns an error if it is not UTF-8.
fn path_text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().with_context(|| format!("the path {} is not UTF-8", path.display()))
}
