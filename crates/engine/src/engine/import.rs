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
//!    are assigned in this order.
//!
//! Writes continue after the newest id of the region's files.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use halite_types::cell::first_on_row;
use halite_types::key::to_string_binary;
use halite_types::{Error, ErrorKind, RegionInfo, Result, TableDescriptor};

use super::Engine;
use super::small_file::write_small;
use super::split::{BOTTOM, TOP, reference};
use super::table_checks::{
    check_descriptor_bytes, check_family_directories, check_is_new, check_promises,
    check_region_count, check_served_families,
};
use super::table_info;
use crate::catalog::{FileEntry, FileOrigin, LinkTarget, RegionEntry, TableEntry, layout};
use crate::hfile::{Comparator, Cursor, DirectBlocks, Reader, check_storable, info_key};
use crate::store::{StoreFile, external_file};

/// Largest sequence id of a file that is taken. A region assigns the ids after it.
const MAX_SEQUENCE: u64 = i64::MAX as u64 / 2;

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
    /// called with the bytes of each file that is in the store. Tables cannot be created or altered
    /// meanwhile.
    ///
    /// # Errors
    /// Nothing has changed in that case. As [`Engine::create_table`]; `InvalidRequest` if the
    /// regions leave a gap or overlap, or a file cannot be read, or has cells of another family;
    /// `Unsupported` for a codec or block encoding that is not supported, with its name; `Corrupt`.
    pub fn import_table(
        &self,
        descriptor: TableDescriptor,
        regions: &[ImportRegion],
        verify: bool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<ImportReport> {
        descriptor.check()?;
        check_descriptor_bytes(&descriptor)?;
        self.shared.options.check_table(&descriptor)?;
        check_family_directories(&descriptor)?;
        check_promises(&descriptor, None)?;
        check_region_count(&self.shared.options, descriptor.name(), regions.len())?;
        check_regions(&descriptor, regions)?;
        let _ddl = self.lock_ddl()?;
        check_is_new(&self.shared.manifest.current(), descriptor.name())?;
        check_served_families(&descriptor)?;
        self.shared.disk.admit()?;
        let descriptor = Arc::new(descriptor);
        let mut import = Import::new(self, &descriptor, verify);
        let placed = import.place(regions, progress).and_then(|()| import.record());
        let entries = placed.inspect_err(|_| import.abort())?;
        table_info::remove_others(&self.shared.env, &descriptor, 1);
        self.open_table(&descriptor, true, &entries)?;
        Ok(import.report)
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
        let text = format!("table {table}: {what}; have HBase mend the table first");
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

/// Facts about an original file with cells.
struct Original<'a> {
    file: &'a ImportFile,
    /// Sequence id of the file, which its new name contains.
    sequence: u64,
    bytes: u64,
    loaded_ms: i64,
    /// `true` if rows of it are outside the region.
    is_part: bool,
    /// `true` if rows at or after the region's end are in it.
    ends_outside: bool,
}

impl Original<'_> {
    fn entry(&self, name: String) -> FileEntry {
        FileEntry {
            loaded_sequence: self.file.loaded_sequence.map(|_| self.sequence),
            ..FileEntry::local(name)
        }
    }
}

/// Table that is being imported.
struct Import<'a> {
    engine: &'a Engine,
    descriptor: &'a Arc<TableDescriptor>,
    verify: bool,
    infos: Vec<Arc<RegionInfo>>,
    regions: Vec<RegionEntry>,
    /// Region that no table has; its directory in the archive has the files of which regions have
    /// parts.
    shared_region: String,
    /// Names in that directory, by family and original.
    shared_files: BTreeMap<(Bytes, String), String>,
    /// Files of the table, held open until its regions open them.
    open_files: Vec<Arc<StoreFile>>,
    report: ImportReport,
}

impl<'a> Import<'a> {
    fn new(engine: &'a Engine, descriptor: &'a Arc<TableDescriptor>, verify: bool) -> Self {
        Self {
            engine,
            descriptor,
            verify,
            infos: Vec::new(),
            regions: Vec::new(),
            shared_region: layout::new_file_name(&engine.shared.env),
            shared_files: BTreeMap::new(),
            open_files: Vec::new(),
            report: ImportReport::default(),
        }
    }

    /// Creates the directories of the table and its regions with all files, durable on return.
    fn place(&mut self, regions: &[ImportRegion], progress: &mut dyn FnMut(u64)) -> Result<()> {
        let engine = self.engine;
        let name = self.descriptor.name();
        engine.make_table_directory(self.descriptor, 1)?;
        let region_id = engine.new_region_id(name);
        for (number, region) in (engine.next_region_number()..).zip(regions) {
            let (start, end) = (region.start.clone(), region.end.clone());
            let info = Arc::new(layout::new_region(name, start, end, region_id));
            self.infos.push(Arc::clone(&info));
            self.regions.push(RegionEntry {
                info: Arc::clone(&info),
                number,
                flushed_sequence: 0,
                families: BTreeMap::new(),
                parents: Vec::new(),
            });
            engine.make_region_directory(&info, number, self.descriptor)?;
            for family in self.descriptor.families() {
                self.place_store(&info, family.name(), region, progress)?;
            }
        }
        self.sync_archive()?;
        engine.sync_directory(&layout::table_directory(name))
    }

    fn place_store(
        &mut self,
        info: &Arc<RegionInfo>,
        family: &Bytes,
        region: &ImportRegion,
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let mut originals = Vec::new();
        let mut paths = BTreeSet::new();
        for file in region.files.iter().filter(|file| file.family == *family) {
            if !paths.insert(&file.path) {
                return Err(Error::corrupt(format!(
                    "store file {}: region {} names it twice",
                    file.path,
                    info.display_name()
                )));
            }
            match self.examine(info, file)? {
                Some(original) => originals.push(original),
                None => self.report.empty_files += 1,
            }
        }
        originals.sort_by(|a, b| {
            let key = |one: &Original<'_>| (one.sequence, Reverse(one.bytes), one.loaded_ms);
            key(a).cmp(&key(b)).then_with(|| base_name(a).cmp(base_name(b)))
        });
        let mut names: Vec<String> =
            originals.iter().map(|_| layout::new_file_name(&self.engine.shared.env)).collect();
        names.sort_by(|a, b| b.cmp(a));
        for (original, name) in originals.iter().zip(names) {
            let name = layout::loaded_name(&name, original.sequence);
            if original.is_part {
                self.place_part(info, original, name)?;
            } else {
                self.place_whole(info, original, name)?;
            }
            progress(original.bytes);
        }
        let directory = layout::family_directory(&info.table, &info.encoded_name, family);
        self.engine.sync_directory(&directory)
    }

    /// Returns the facts about a file; `None` if no cell of it belongs to the region.
    fn examine<'b>(&self, info: &RegionInfo, file: &'b ImportFile) -> Result<Option<Original<'b>>> {
        let path = &file.path[..];
        let reader = external_file::open(&self.engine.shared.env, path)?;
        if reader.comparator() != Comparator::Cell {
            return Err(Error::invalid(format!(
                "store file {path} is ordered as HBase's own catalog; import files of tables only"
            )));
        }
        let Some((first, last)) = ends(&reader, file)? else { return Ok(None) };
        if self.verify && !self.shared_files.contains_key(&(file.family.clone(), path.to_owned())) {
            reader.verify()?;
        }
        let is_before = |row: &[u8], end: &[u8]| end.is_empty() || row < end;
        let (starts_outside, ends_outside) =
            (first[..] < info.start[..], !is_before(&last, &info.end));
        if let Some((start, end)) = &file.rows {
            // A reference to one half takes all rows of it that the region has.
            let covers_start = info.start >= *start || first[..] >= start[..];
            let covers_end = is_before(&last, end)
                || (!info.end.is_empty() && (end.is_empty() || info.end <= *end));
            if !covers_start || !covers_end {
                return Err(Error::invalid(format!(
                    "store file {path}: region {} refers to a part of it that ends inside the \
                     region; have HBase compact the table first",
                    info.display_name()
                )));
            }
        }
        if starts_outside || ends_outside {
            let mut cursor = Cursor::new(Arc::clone(&reader), DirectBlocks);
            cursor.seek(&first_on_row(&info.start))?;
            if cursor.peek().is_none_or(|cell| !is_before(cell.row(), &info.end)) {
                return Ok(None);
            }
        }
        if file.loaded_sequence.is_some() && reader.keeps_sequence_ids() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "store file {path}: it was bulk-loaded with {}, so that its cells keep their \
                     own sequence ids; have HBase run a major compaction of the table first",
                    info_key::KEEP_SEQUENCE_IDS
                ),
            ));
        }
        let newest = reader.max_sequence_id().unwrap_or(0).max(reader.max_cell_sequence_id());
        let sequence = file.loaded_sequence.unwrap_or(newest);
        if sequence > MAX_SEQUENCE {
            return Err(Error::corrupt(format!(
                "store file {path}: its sequence id {sequence} is over {MAX_SEQUENCE}"
            )));
        }
        Ok(Some(Original {
            file,
            sequence,
            bytes: reader.bytes(),
            loaded_ms: reader.info().long(info_key::BULK_LOAD_TIME).unwrap_or(-1),
            is_part: starts_outside || ends_outside,
            ends_outside,
        }))
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
        let known = self.shared_files.get(&key).cloned();
        let shared_name = known.clone().unwrap_or(name);
        let target = LinkTarget {
            table: info.table.clone(),
            region: self.shared_region.clone(),
            name: shared_name.clone(),
            whole: false,
        };
        let link = layout::link_name(&info.table, &self.shared_region, &shared_name);
        let entry =
            original.entry(shared_name.clone()).linked(format!("{link}.{}", target.region), target);
        self.add(original, entry.clone());
        if known.is_none() {
            let home = entry.origin(info, family);
            self.shared_files.insert(key, shared_name);
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
        for (family, _) in self.shared_files.keys() {
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
    fn record(&self) -> Result<Vec<RegionEntry>> {
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
    fn abort(&self) {
        let settled = self.engine.retire_regions(
            self.infos.iter().map(|info| &**info),
            self.regions.iter().flat_map(RegionEntry::origins),
        );
        if settled {
            self.engine.abort_table_creation(self.descriptor.name());
        }
    }
}

fn base_name<'a>(original: &Original<'a>) -> &'a str {
    original.file.path.rsplit('/').next().unwrap_or_default()
}

/// Returns the first and the last row of a file after checking these cells; `None` if there are
/// none.
fn ends(reader: &Arc<Reader>, file: &ImportFile) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut cursor = Cursor::new(Arc::clone(reader), DirectBlocks);
    let row = |cursor: &Cursor<DirectBlocks>| {
        let Some(cell) = cursor.peek() else { return Ok(None) };
        let path = &file.path;
        check_storable(cell)
            .map_err(|why| Error::corrupt(format!("store file {path}: a cell {why}")))?;
        if cell.family() != file.family {
            let wanted = to_string_binary(&file.family);
            return Err(Error::invalid(format!(
                "store file {path} is in the directory of family {wanted} and has cells of another"
            )));
        }
        Ok(Some(cell.row().to_vec()))
    };
    cursor.seek_to_first()?;
    let Some(first) = row(&cursor)? else { return Ok(None) };
    cursor.seek_to_last()?;
    Ok(row(&cursor)?.map(|last| (first, last)))
}
