//! Tables and snapshots in the form in which HBase's `ExportSnapshot` writes them.
//!
//! ```text
//! .hbase-snapshot/<name>/.snapshotinfo                     description
//! .hbase-snapshot/<name>/data.manifest                     table, regions, names of store files
//! archive/data/<namespace>/<table>/<region>/<family>/<store file>
//! ```
//! Here the messages are made, and the names of the files; the caller writes them.
//!
//! HBase reads facts from names, so that the names of the store are not always those of the export.
//! The cells of a file `name_SeqId_N_` all have the sequence id N for HBase, which is true
//! of bulk-loaded files, and not of those that were imported. A link becomes a file of the region
//! itself, so that the export needs no other table. A reference stays one, to a file of the region
//! that its own name contains, unless it contains all of the file.

use std::collections::BTreeMap;

use bytes::Bytes;
use halite_types::cell::key_row;
use halite_types::{Error, ErrorKind, Result, SnapshotType, TableName};
use prost::Message as _;

use super::Engine;
use super::split::{BOTTOM, TOP, reference_message};
use crate::catalog::messages::TableSchema;
use crate::catalog::snapshot_messages::{
    MANIFEST_LAYOUT, SnapshotDataManifest, SnapshotDescription, SnapshotFamilyFiles, SnapshotFile,
    SnapshotRegionManifest,
};
use crate::catalog::{FileEntry, RegionEntry, TableEntry, layout};

/// Store file of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportFile {
    /// Where it is: one of two absolute paths. A file moves from the first to the second when
    /// nothing but snapshots needs it any more.
    pub paths: [String; 2],
    /// Path below the directory of the export.
    pub target: String,
    /// Length in bytes.
    pub bytes: u64,
}

/// Contents of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotExport {
    /// Table.
    pub table: TableName,
    /// Number of its regions.
    pub regions: usize,
    /// Store files by target.
    pub files: Vec<ExportFile>,
    /// Content of `.snapshotinfo`.
    pub description: Vec<u8>,
    /// Content of `data.manifest`.
    pub manifest: Vec<u8>,
}

impl Engine {
    /// Returns what an export of a snapshot consists of, under a name for HBase. Its files stay as
    /// long as the snapshot exists.
    ///
    /// # Errors
    /// `NoSuchSnapshot`; `Unsupported` for a table that must be compacted first; `Corrupt`.
    pub fn export_snapshot(&self, snapshot: &str, name: &str) -> Result<SnapshotExport> {
        let snapshot = self.shared.manifest.current().snapshot(snapshot)?.clone();
        let kind = match snapshot.descriptor.kind {
            SnapshotType::Disabled => 0,
            SnapshotType::Flush => 1,
            SnapshotType::SkipFlush => 2,
        };
        let description = SnapshotDescription {
            name: name.to_owned(),
            table: Some(snapshot.descriptor.table.to_string()),
            creation_time: Some(snapshot.descriptor.created_ms),
            kind: Some(kind),
            version: Some(MANIFEST_LAYOUT),
            owner: Some(snapshot.descriptor.owner.clone()).filter(|owner| !owner.is_empty()),
        };
        self.export_of(&snapshot.table, &description)
    }

    /// As [`Engine::export_snapshot`] of a snapshot that would skip the flush, for an estimate: the
    /// files may go at any time.
    ///
    /// # Errors
    /// `NoSuchTable`; `Unsupported` for a table that must be compacted first; `Corrupt`.
    pub fn export_table(&self, table: &TableName) -> Result<SnapshotExport> {
        let entry = self.shared.manifest.current().table(table)?.clone();
        self.export_of(&entry, &SnapshotDescription::default())
    }

    fn export_of(
        &self,
        table: &TableEntry,
        description: &SnapshotDescription,
    ) -> Result<SnapshotExport> {
        let mut files = BTreeMap::new();
        let mut manifest = SnapshotDataManifest {
            table_schema: Some(TableSchema::from(&*table.descriptor)),
            region_manifests: Vec::new(),
        };
        for region in &table.regions {
            let mut family_files = Vec::new();
            for family in table.descriptor.families() {
                let mut store_files = Vec::new();
                for file in region.families.get(family.name()).into_iter().flatten() {
                    let (entry, export) = self.export_file(region, family.name(), file)?;
                    store_files.push(entry);
                    files.insert(export.target.clone(), export);
                }
                let family_name = family.name().to_vec();
                family_files.push(SnapshotFamilyFiles { family_name, store_files });
            }
            let region_info = (&*region.info).into();
            manifest.region_manifests.push(SnapshotRegionManifest { region_info, family_files });
        }
        Ok(SnapshotExport {
            table: table.descriptor.name().clone(),
            regions: table.regions.len(),
            files: files.into_values().collect(),
            description: description.encode_to_vec(),
            manifest: manifest.encode_to_vec(),
        })
    }

    fn export_file(
        &self,
        region: &RegionEntry,
        family: &Bytes,
        file: &FileEntry,
    ) -> Result<(SnapshotFile, ExportFile)> {
        let info = &region.info;
        let origin = file.origin(info, family);
        let open = self.shared.files.open(info, family, file.clone())?;
        let mut entry = SnapshotFile {
            name: exported_name(&origin.name, file.loaded_sequence.is_some()).to_owned(),
            reference: None,
            file_size: Some(open.reader().bytes()),
        };
        let name = entry.name.clone();
        let mut home = &info.encoded_name[..];
        if let Some(target) = file.target.as_ref().filter(|target| !target.whole) {
            let (first, last) = (open.reader().first_key(), open.reader().last_key());
            let starts_inside = first.is_some_and(|first| key_row(first) < &info.start[..]);
            let ends_inside =
                !info.end.is_empty() && last.is_some_and(|last| key_row(last) >= &info.end[..]);
            let half = match (starts_inside, ends_inside) {
                (false, false) => None,
                (true, false) => Some(reference_message(&info.start, TOP)),
                (false, true) => Some(reference_message(&info.end, BOTTOM)),
                (true, true) => {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        format!(
                            "region {} has the middle of store file {}, which HBase has no form \
                             for; run a major compaction of the table first",
                            info.display_name(),
                            origin.path()
                        ),
                    ));
                }
            };
            if let Some(half) = half {
                home = &target.region;
                entry.name = format!("{name}.{home}");
                entry.reference = Some(half);
            }
        }
        let directory = layout::family_directory(&info.table, home, family);
        let target = format!("{}/{directory}/{name}", layout::ARCHIVE);
        let root = self.shared.env.fs.root();
        let paths = [origin.path(), origin.archive_path()].map(|path| format!("{root}/{path}"));
        Ok((entry, ExportFile { paths, target, bytes: open.reader().bytes() }))
    }
}

/// Returns the name of a file for HBase.
fn exported_name(name: &str, is_loaded: bool) -> &str {
    if is_loaded { name } else { layout::plain_name(name) }
}

#[cfg(test)]
mod tests {
    use halite_types::{FamilyDescriptor, Put, RowOp, SnapshotDescriptor, TableDescriptor};

    use super::*;
    use crate::Options;
    use crate::env::sim::SimEnv;

    fn put(engine: &Engine, name: &TableName, rows: &[&'static str]) {
        let ops = rows.iter().map(|row| RowOp::Put(Put::new(*row).add("f", "q", "value")));
        engine.table(name).unwrap().batch(ops.collect()).unwrap();
    }

    fn export(engine: &Engine, table: &TableName) -> (SnapshotDataManifest, Vec<ExportFile>) {
        let snapshot = format!("of-{}", table.qualifier());
        engine.create_snapshot(&SnapshotDescriptor::new(&snapshot[..], table.clone())).unwrap();
        let export = engine.export_snapshot(&snapshot, "exported").unwrap();
        let about = SnapshotDescription::decode(&export.description[..]).unwrap();
        assert_eq!((&about.name[..], about.version), ("exported", Some(2)));
        assert_eq!(about.table, Some(table.to_string()));
        (SnapshotDataManifest::decode(&export.manifest[..]).unwrap(), export.files)
    }

    fn files(manifest: &SnapshotDataManifest) -> Vec<Vec<&SnapshotFile>> {
        let regions = manifest.region_manifests.iter();
        let of_region = |region: &'_ SnapshotRegionManifest| region.family_files.len();
        assert!(manifest.region_manifests.iter().all(|region| of_region(region) == 1));
        regions.map(|region| region.family_files[0].store_files.iter().collect()).collect()
    }

    #[test]
    fn halves_are_references_and_links_are_files() {
        let sim = SimEnv::new(1);
        let engine = Engine::open(sim.env(), Options::default()).unwrap();
        let name: TableName = "t".parse().unwrap();
        let table = TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f"));
        engine.create_table(table, Vec::new()).unwrap();
        put(&engine, &name, &["a", "z"]);
        let (manifest, exported) = export(&engine, &name);
        assert_eq!(files(&manifest).len(), 1);
        assert!(exported[0].target.starts_with("archive/data/default/t/"), "{exported:?}");
        let parent = engine.regions(&name).unwrap()[0].encoded_name.clone();
        engine.delete_snapshot("of-t").unwrap();
        engine.split_region(&parent, Some("m".into())).unwrap();
        let (manifest, halves) = export(&engine, &name);
        let found = files(&manifest);
        assert_eq!(halves, exported, "both regions have a half of the one file");
        for (of_region, range) in found.iter().zip([BOTTOM, TOP]) {
            assert_eq!(of_region[0].reference, Some(reference_message(b"m", range)));
            assert!(of_region[0].name.ends_with(&format!(".{parent}")));
            assert_eq!(of_region[0].file_size, Some(exported[0].bytes));
        }
        let clone: TableName = "n:copy".parse().unwrap();
        engine.create_namespace("n", halite_types::Attributes::new()).unwrap();
        engine.clone_snapshot("of-t", &clone).unwrap();
        let (manifest, of_clone) = export(&engine, &clone);
        assert_eq!(of_clone.len(), 1);
        assert!(of_clone[0].target.starts_with("archive/data/n/copy/"), "{of_clone:?}");
        for (of_region, known) in files(&manifest).iter().zip(&found) {
            assert_eq!(of_region, known, "the clone names the file as the original does");
        }
        for file in of_clone {
            let [live, archived] = file.paths;
            let is_there = |path: &str| sim.fs.files().keys().any(|known| path.ends_with(known));
            assert!(is_there(&live) || is_there(&archived), "{live}");
        }
    }
}
