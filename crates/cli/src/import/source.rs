//! What is to be imported: a table with its regions and files.

use std::path::Path;

use anyhow::Context as _;
use halite::{Bytes, FamilyDescriptor, TableDescriptor, TableName};
use halite_engine::{ImportFile, ImportRegion};
use halite_hbase_dir::{
    HbaseFile, HbaseTable, check_clean_stop, list_tables, read_bare_files, read_snapshot,
    read_table,
};

/// Table to import.
pub(crate) struct ImportSource {
    pub(crate) descriptor: TableDescriptor,
    pub(crate) regions: Vec<ImportRegion>,
    /// Length of each file in bytes, in the order of [`ImportSource::files`].
    pub(crate) file_bytes: Vec<u64>,
    /// True for bare files, which may be loaded into an existing table.
    pub(crate) is_bare: bool,
}

impl ImportSource {
    /// Reads tables of a root directory; all of them if none is named.
    ///
    /// # Errors
    /// Returns an error if HBase did not stop cleanly, or the directory is damaged.
    pub(crate) fn read_tables(root: &Path, wanted: &[TableName]) -> anyhow::Result<Vec<Self>> {
        let all = list_tables(root)?;
        let tables = if wanted.is_empty() { &all[..] } else { wanted };
        check_clean_stop(root, tables)?;
        tables
            .iter()
            .map(|name| Self::new(read_table(root, name).with_context(|| table_text(name))?))
            .collect()
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
        let files = read_bare_files(directory)?;
        let mut descriptor = TableDescriptor::new(table);
        for file in &files {
            descriptor.set_family(FamilyDescriptor::new(file.family.clone()));
        }
        let file_bytes = files.iter().map(|file| file.bytes).collect();
        // As in a bulk load, the cells of all files count as written at one time.
        let files = files
            .into_iter()
            .map(|file| import_file(HbaseFile { loaded_sequence: Some(1), ..file }))
            .collect::<anyhow::Result<_>>()?;
        let regions = vec![ImportRegion { start: Bytes::new(), end: Bytes::new(), files }];
        Ok(Self { descriptor, regions, file_bytes, is_bare: true })
    }

    fn new(table: HbaseTable) -> anyhow::Result<Self> {
        let mut file_bytes = Vec::new();
        let mut regions = Vec::new();
        for region in table.regions {
            file_bytes.extend(region.files.iter().map(|file| file.bytes));
            let files = region.files.into_iter().map(import_file).collect::<anyhow::Result<_>>()?;
            regions.push(ImportRegion { start: region.start, end: region.end, files });
        }
        Ok(Self { descriptor: table.descriptor, regions, file_bytes, is_bare: false })
    }

    pub(crate) fn name(&self) -> &TableName {
        self.descriptor.name()
    }

    /// Returns the files of all regions.
    pub(crate) fn files(&self) -> impl Iterator<Item = &ImportFile> {
        self.regions.iter().flat_map(|region| &region.files)
    }

    /// Returns the bytes of all files; a file that two regions share counts twice.
    pub(crate) fn bytes(&self) -> u64 {
        self.file_bytes.iter().sum()
    }
}

fn table_text(name: &TableName) -> String {
    format!("table {name}")
}

fn import_file(file: HbaseFile) -> anyhow::Result<ImportFile> {
    let HbaseFile { family, path, loaded_sequence, rows, .. } = file;
    let path = path
        .into_os_string()
        .into_string()
        .map_err(|path| anyhow::anyhow!("the path {} is not UTF-8", path.display()))?;
    Ok(ImportFile { family, path, loaded_sequence, rows })
}
