//! Placement of the files of an imported table in the store, and the change of the manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use halite_types::{Error, RegionInfo, Result, TableDescriptor};

use super::ImportReport;
use super::examined::{Examined, NameKey};
use super::original::Original;
use crate::catalog::{FileEntry, FileOrigin, LinkTarget, RegionEntry, TableEntry, layout};
use crate::engine::Engine;
use crate::engine::small_file::write_small;
use crate::engine::split::{BOTTOM, TOP, reference};
use crate::store::{StoreFile, external_file};

/// Table that is being imported.
pub(super) struct Import<'a> {
    engine: &'a Engine,
    descriptor: &'a Arc<TableDescriptor>,
    verify: bool,
    infos: Vec<Arc<RegionInfo>>,
    regions: Vec<RegionEntry>,
    /// Region that no table has; its directory in the archive has the files of which regions have
    /// parts.
    shared_region: String,
    /// Families and originals of the files in that directory.
    shared_files: BTreeSet<(Bytes, String)>,
    names: BTreeMap<NameKey<'a>, String>,
    /// Files of the table, held open until its regions open them.
    open_files: Vec<Arc<StoreFile>>,
    pub(super) report: ImportReport,
}

impl<'a> Import<'a> {
    pub(super) fn new(
        engine: &'a Engine,
        descriptor: &'a Arc<TableDescriptor>,
        verify: bool,
    ) -> Self {
        Self {
            engine,
            descriptor,
            verify,
            infos: Vec::new(),
            regions: Vec::new(),
            shared_region: layout::new_file_name(&engine.shared.env),
            shared_files: BTreeSet::new(),
            names: BTreeMap::new(),
            open_files: Vec::new(),
            report: ImportReport::default(),
        }
    }

    /// Creates the directories of the table and its regions with all files, durable on return.
    pub(super) fn place(
        &mut self,
        examined: &Examined<'a>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let engine = self.engine;
        let name = self.descriptor.name();
        self.names = examined.new_names(engine);
        self.report.empty_files = examined.empty_files;
        engine.make_table_directory(self.descriptor, 1)?;
        for (number, region) in (engine.next_region_number()..).zip(&examined.regions) {
            let info = Arc::clone(&region.info);
            self.infos.push(Arc::clone(&info));
            self.regions.push(RegionEntry::new(Arc::clone(&info), number));
            engine.make_region_directory(&info, number, self.descriptor)?;
            for (family, originals) in &region.stores {
                self.place_store(&info, family, originals, progress)?;
            }
        }
        self.sync_archive()?;
        engine.sync_directory(&layout::table_directory(name))
    }

    fn place_store(
        &mut self,
        info: &Arc<RegionInfo>,
        family: &Bytes,
        originals: &[Original<'a>],
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        for original in originals {
            let region = self.regions.len() - 1;
            let name = &self.names[&original.name_key(family, region)];
            let name = layout::loaded_name(name, original.sequence);
            if original.is_part {
                self.place_part(info, original, name)?;
            } else {
                self.place_whole(info, original, name)?;
            }
            let verified = if self.verify { original.first_half() } else { 0 };
            progress(original.bytes - verified);
        }
        let directory = layout::family_directory(&info.table, &info.encoded_name, family);
        self.engine.sync_directory(&directory)
    }

    fn place_whole(
        &mut self,
        info: &Arc<RegionInfo>,
        original: &Original<'_>,
        name: String,
    ) -> Result<()> {
        let entry = original.entry(name);
        let to = entry.local_origin(info, &original.file.family).path();
        // Recorded first: a failed import removes it.
        self.add(original, entry.clone());
        self.link_or_copy(original, &to)?;
        self.open(info, original, entry)
    }

    /// Places a file of which the region has some rows, unless another region has done so, and the
    /// region's reference to it.
    fn place_part(
        &mut self,
        info: &Arc<RegionInfo>,
        original: &Original<'_>,
        name: String,
    ) -> Result<()> {
        let family = &original.file.family;
        let key = (family.clone(), original.file.path.clone());
        let target = LinkTarget {
            table: info.table.clone(),
            region: self.shared_region.clone(),
            name: name.clone(),
            whole: false,
        };
        let link = layout::link_name(&info.table, &self.shared_region, &name);
        let entry = original.entry(name).linked(format!("{link}.{}", target.region), target);
        self.add(original, entry.clone());
        if self.shared_files.insert(key) {
            let home = entry.origin(info, family);
            self.engine.make_directory(&home.archive_directory())?;
            self.link_or_copy(original, &home.archive_path())?;
        }
        let half = if original.ends_outside {
            reference(&info.end, BOTTOM)
        } else {
            reference(&info.start, TOP)
        };
        write_small(&self.engine.shared.env, &entry.local_origin(info, family).path(), &half)?;
        self.open(info, original, entry)
    }

    fn add(&mut self, original: &Original<'_>, entry: FileEntry) {
        let region = self.regions.last_mut().expect("files are placed in the newest region");
        region.flushed_sequence = region.flushed_sequence.max(original.sequence);
        region.families.entry(original.file.family.clone()).or_default().push(entry);
    }

    fn link_or_copy(&mut self, original: &Original<'_>, to: &str) -> Result<()> {
        let shared = &self.engine.shared;
        if external_file::link(&shared.env, &original.file.path, to)? {
            self.report.linked_files += 1;
            return Ok(());
        }
        external_file::copy(shared, &original.file.path, to)?;
        self.report.copied_files += 1;
        self.report.copied_bytes += original.bytes;
        Ok(())
    }

    /// Opens a placed file. Any defect must be detected before the table exists.
    fn open(
        &mut self,
        info: &Arc<RegionInfo>,
        original: &Original<'_>,
        entry: FileEntry,
    ) -> Result<()> {
        let open = self.engine.shared.files.open(info, &original.file.family, entry)?;
        let newest = open.max_sequence().max(open.max_cell_sequence());
        if newest > original.sequence {
            return Err(Error::corrupt(format!(
                "store file {}: it changed while it was imported",
                original.file.path
            )));
        }
        self.open_files.push(open);
        Ok(())
    }

    /// Makes the names in the archive durable.
    fn sync_archive(&self) -> Result<()> {
        let mut directories = BTreeSet::new();
        for (family, _) in &self.shared_files {
            let home = FileOrigin {
                table: self.descriptor.name().clone(),
                region: self.shared_region.clone(),
                family: family.clone(),
                name: String::new(),
            };
            let directory = home.archive_directory();
            let ends = directory.match_indices('/').map(|(at, _)| at).chain([0, directory.len()]);
            directories.extend(ends.map(|end| directory[..end].to_owned()));
        }
        directories.iter().try_for_each(|directory| self.engine.sync_directory(directory))
    }

    /// Records the table with its files in the manifest. Returns its regions.
    pub(super) fn record(&self) -> Result<Vec<RegionEntry>> {
        self.engine.shared.manifest.change(|catalog| {
            let mut regions = self.regions.clone();
            for region in &mut regions {
                region.number = catalog.allocate_region_number();
            }
            let entry = TableEntry {
                descriptor: Arc::clone(self.descriptor),
                enabled: true,
                disabled_for: String::new(),
                version: 1,
                regions: regions.clone(),
            };
            catalog.tables.insert(self.descriptor.name().clone(), entry);
            Ok(regions)
        })
    }

    /// Removes everything that was created, unless the manifest of the next opening may name it.
    /// After a crash that opening moves it aside.
    pub(super) fn abort(&self) {
        let settled = self.engine.retire_regions(
            self.infos.iter().map(|info| &**info),
            self.regions.iter().flat_map(RegionEntry::origins),
        );
        if settled {
            self.engine.abort_table_creation(self.descriptor.name());
        }
    }
}
