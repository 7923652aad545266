//! Values that HBase keeps outside the store files of a family (MOB), taken into them.
//!
//! ```text
//! cell of a store file: key, value: length of the real value i32 | name of the MOB file
//!                       tags: 5 (reference), 6 (name of the table whose MOB file it is), others
//! cell of the MOB file: the same key, the real value
//! ```
//! Store files with references are written again, with the real values and without these tags. One
//! cell at a time is in memory.
//!
//! A family may have references without `IS_MOB`: if that was set to false, its older store files
//! keep them until a major compaction. Only files with tags can have some, and since 2.6 HBase
//! records in them which MOB files they refer to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use halite::{CellRef, FamilyDescriptor, TableDescriptor, TableName, to_string_binary};
use halite_engine::env::Env;
use halite_engine::hfile::{
    Cursor, DirectBlocks, Reader, StoreFileInfo, Writer, WriterOptions, info_key,
};
use halite_hbase_dir::{HbaseFile, mob_file};
use halite_types::cell::{tags, write_tag};

use super::file_marks::FileMarks;
use super::progress::progress;
use super::remark::Remark;
use super::source::ImportSource;
use crate::hfile;
use crate::hfile::marked_cells::TAG_MOB_REFERENCE;
use crate::text_table::grouped;

/// Tag of the table whose MOB file a reference names, as HBase's `TagType` numbers it.
const TAG_TABLE: u8 = 6;

/// MOB files that are open at a time. Their indexes are in memory.
const MAX_OPEN_FILES: usize = 32;

/// Replaces the store files that refer to MOB files by ones with the values, written into a
/// directory; without one, the references are only checked. `note` is called with the families that
/// had values in MOB files. `root` is the directory that the sources were read from.
///
/// # Errors
/// Returns an error with the cell and the MOB file if one is missing or damaged, or if a file
/// cannot be written. No source has changed then.
pub(crate) fn inline_mob(
    root: &Path,
    sources: &mut [ImportSource],
    marks: &FileMarks,
    into: Option<&Path>,
    mut note: impl FnMut(Remark),
) -> anyhow::Result<()> {
    sources
        .iter()
        .filter(|source| source.is_bare)
        .try_for_each(|source| check_bare(source, marks))?;
    let env = into.map(Env::os).transpose()?;
    let bytes = sources.iter().filter(|source| !source.is_bare).map(ImportSource::bytes);
    let bar = progress("reading MOB values", bytes.sum());
    let mut written = Vec::new();
    for source in &*sources {
        let mut files = InlinedFiles::new(root, source, marks, env.as_ref());
        for file in source.files().filter(|_| !source.is_bare) {
            files.add(file, written.len()).with_context(|| format!("table {}", source.name()))?;
            bar.inc(file.bytes);
        }
        written.push((files.by_path, files.sums, files.bytes, files.inlined));
    }
    bar.finish_and_clear();
    for (source, (files, sums, inlined_bytes, inlined)) in sources.iter_mut().zip(written) {
        (source.inlined_bytes, source.inlined_files) = (inlined_bytes, inlined);
        for file in source.regions.iter_mut().flat_map(|region| &mut region.files) {
            if let Some(Some((path, bytes))) = files.get(&file.path) {
                file.path.clone_from(path);
                file.bytes = *bytes;
            }
        }
        for family in source.descriptor.families().map(FamilyDescriptor::name) {
            let (values, bytes) = sums.get(family).copied().unwrap_or_default();
            let had = if source.mob_families.contains(family) {
                "had IS_MOB and is without it here"
            } else if values > 0 {
                "is without IS_MOB, and had references of a time with it"
            } else {
                continue;
            };
            note(Remark::Note(format!(
                "table {}: family {} {had}: {} values ({} bytes) of MOB files are in its store \
                 files",
                source.name(),
                to_string_binary(family),
                grouped(values),
                grouped(bytes)
            )));
        }
    }
    Ok(())
}

/// Refuses bare files with references: where their MOB files are is unknown.
fn check_bare(source: &ImportSource, marks: &FileMarks) -> anyhow::Result<()> {
    let mut marked = source.files().filter_map(|file| Some((file, marks.get(&file.path)?)));
    marked.try_for_each(|(file, marks)| marks.check_bare(&file.path))
}

fn is_reference(cell: CellRef<'_>) -> bool {
    tags(cell.tags()).any(|(kind, _)| kind == TAG_MOB_REFERENCE)
}

/// Files of a table written with their values.
struct InlinedFiles<'a> {
    source: &'a ImportSource,
    marks: &'a FileMarks,
    env: Option<&'a Env>,
    mob: MobFiles<'a>,
    /// New path and bytes by old path; `None` for a file without references.
    by_path: BTreeMap<PathBuf, Option<(PathBuf, u64)>>,
    /// Values and their bytes, by family.
    sums: BTreeMap<halite::Bytes, (u64, u64)>,
    /// Files with references.
    inlined: BTreeSet<PathBuf>,
    /// Bytes of them, and of their values.
    bytes: u64,
}

impl<'a> InlinedFiles<'a> {
    fn new(
        root: &'a Path,
        source: &'a ImportSource,
        marks: &'a FileMarks,
        env: Option<&'a Env>,
    ) -> Self {
        Self {
            source,
            marks,
            env,
            mob: MobFiles { root, open: Vec::new() },
            by_path: BTreeMap::new(),
            sums: BTreeMap::new(),
            inlined: BTreeSet::new(),
            bytes: 0,
        }
    }

    /// Reads a file, unless another region has referred to it. `table` distinguishes the new files
    /// of tables.
    fn add(&mut self, file: &HbaseFile, table: usize) -> anyhow::Result<()> {
        if self.by_path.contains_key(&file.path) {
            return Ok(());
        }
        let reader = hfile::open(&file.path)?;
        let new = if self.may_refer(file, &reader) {
            let new = self.env.map(|env| -> anyhow::Result<NewFile<'_>> {
                // The name counts for the order of files with equal sequence ids.
                let directory = format!("mob-{table}-{}", self.by_path.len());
                let name = file.path.file_name().unwrap_or_default().to_string_lossy();
                env.fs.create_dir_all(&directory).context("making a directory")?;
                let family = self.family_of(file)?;
                let table = &self.source.descriptor;
                NewFile::create(env, format!("{directory}/{name}"), (table, family), &reader)
            });
            self.copy(file, reader, new.transpose()?)?
        } else {
            None
        };
        self.by_path.insert(file.path.clone(), new);
        Ok(())
    }

    /// Returns whether the cells of a file are to be examined for references. Files of a family
    /// without `IS_MOB` are not written again for nothing.
    fn may_refer(&self, file: &HbaseFile, reader: &Reader) -> bool {
        if self.source.mob_families.contains(&file.family) {
            return reader.has_tags();
        }
        self.marks.get(&file.path).is_some_and(|marks| marks.refers_to_mob)
    }

    fn family_of(&self, file: &HbaseFile) -> anyhow::Result<&'a FamilyDescriptor> {
        self.source.descriptor.find_family(&file.family).context("no such family")
    }

    /// Copies the cells of a file with their values. Returns the path and bytes of the new file;
    /// `None` if there were no references.
    fn copy(
        &mut self,
        file: &HbaseFile,
        reader: Arc<Reader>,
        mut new: Option<NewFile<'_>>,
    ) -> anyhow::Result<Option<(PathBuf, u64)>> {
        let family = self.family_of(file)?;
        let mut cursor = Cursor::new(reader, DirectBlocks);
        let (mut values, mut bytes, mut other_tags) = (0_u64, 0_u64, Vec::new());
        cursor.seek_to_first()?;
        while let Some(cell) = cursor.peek() {
            let mut copied = cell;
            let cell_name = || {
                let [row, family, qualifier] =
                    [cell.row(), cell.family(), cell.qualifier()].map(to_string_binary);
                format!(
                    "store file {}: cell of row '{row}', column {family}:{qualifier}",
                    file.path.display()
                )
            };
            if is_reference(cell) {
                let reference =
                    MobReference::of(cell, &self.source.original_name).with_context(cell_name)?;
                let value = self.mob.value(&reference, family, cell).with_context(cell_name)?;
                other_tags.clear();
                tags(cell.tags())
                    .filter(|(kind, _)| ![TAG_MOB_REFERENCE, TAG_TABLE].contains(kind))
                    .for_each(|(kind, data)| write_tag(&mut other_tags, kind, data));
                copied = CellRef::new(cell.key(), value, &other_tags, cell.sequence_id());
                values += 1;
                bytes += value.len() as u64;
            }
            if let Some(new) = &mut new {
                new.writer.append(copied)?;
            }
            cursor.advance()?;
        }
        let sum = self.sums.entry(file.family.clone()).or_default();
        *sum = (sum.0 + values, sum.1 + bytes);
        if values > 0 {
            self.bytes += file.bytes + bytes;
            self.inlined.insert(file.path.clone());
        }
        let Some(new) = new else { return Ok(None) };
        if values == 0 {
            return new.discard().map(|()| None);
        }
        new.finish().map(Some)
    }
}

/// Store file that is being written.
struct NewFile<'a> {
    env: &'a Env,
    writer: Writer,
    name: String,
    info: StoreFileInfo,
}

impl<'a> NewFile<'a> {
    fn create(
        env: &'a Env,
        name: String,
        (table, family): (&TableDescriptor, &FamilyDescriptor),
        reader: &Reader,
    ) -> anyhow::Result<Self> {
        let options = WriterOptions {
            include_tags: true,
            include_sequence_ids: reader.has_sequence_ids(),
            created_ms: reader.created_ms().unwrap_or(0),
            ..WriterOptions::for_bulk_load(table, family)
        };
        let info = StoreFileInfo {
            max_sequence_id: reader.max_sequence_id(),
            major_compaction: Some(reader.is_major()),
            compacted_from: Some(Vec::new()),
        };
        let path = format!("{}/{name}", env.fs.root());
        let created = env.fs.create(&name).with_context(|| format!("creating {path}"))?;
        let mut writer = Writer::create(created, &path, options)?;
        // What the import decides by: whose sequence ids count, those of the cells or the file's.
        for key in [info_key::BULK_LOAD_TIME, info_key::KEEP_SEQUENCE_IDS] {
            if let Some(value) = reader.info().get(key) {
                writer.set_info(key, value.to_vec());
            }
        }
        Ok(Self { env, writer, name, info })
    }

    fn finish(self) -> anyhow::Result<(PathBuf, u64)> {
        let path = format!("{}/{}", self.env.fs.root(), self.name);
        let written = self.writer.finish(self.info)?;
        Ok((PathBuf::from(path), written.bytes))
    }

    fn discard(self) -> anyhow::Result<()> {
        drop(self.writer);
        self.env.fs.remove_file(&self.name).with_context(|| format!("removing {}", self.name))
    }
}

/// Value of a cell that refers to a MOB file.
struct MobReference<'a> {
    table: TableName,
    file: &'a str,
    value_bytes: usize,
}

impl<'a> MobReference<'a> {
    /// Reads the reference in a cell; `table` is that of references that name none.
    fn of(cell: CellRef<'a>, table: &TableName) -> anyhow::Result<Self> {
        let (length, file) =
            cell.value().split_first_chunk::<4>().context("its reference to a MOB file is cut")?;
        let value_bytes = usize::try_from(i32::from_be_bytes(*length))
            .context("its reference to a MOB file has a negative length")?;
        let file = std::str::from_utf8(file).context("the name of its MOB file is not UTF-8")?;
        let table = match tags(cell.tags()).find(|(kind, _)| *kind == TAG_TABLE) {
            None => table.clone(),
            Some((_, name)) => std::str::from_utf8(name)
                .context("the name of the table of its MOB file is not UTF-8")?
                .parse()?,
        };
        Ok(Self { table, file, value_bytes })
    }
}

/// Open MOB files, the one used last first.
struct MobFiles<'a> {
    root: &'a Path,
    open: Vec<(PathBuf, Cursor<DirectBlocks>)>,
}

impl MobFiles<'_> {
    /// Returns the value of a cell.
    fn value(
        &mut self,
        reference: &MobReference<'_>,
        family: &FamilyDescriptor,
        cell: CellRef<'_>,
    ) -> anyhow::Result<&[u8]> {
        let MobReference { table, file, value_bytes } = reference;
        let path = mob_file(self.root, table, family, file)?;
        if let Some(place) = self.open.iter().position(|(open, _)| *open == path) {
            self.open[..=place].rotate_right(1);
        } else {
            let cursor = Cursor::new(hfile::open(&path)?, DirectBlocks);
            self.open.truncate(MAX_OPEN_FILES - 1);
            self.open.insert(0, (path, cursor));
        }
        let (path, cursor) = &mut self.open[0];
        cursor.seek(cell.key())?;
        // HBase has one cell with this key in the file.
        let found = cursor.peek().filter(|found| found.key() == cell.key());
        let Some(found) = found else {
            bail!("MOB file {} does not have its value; restore the right file", path.display());
        };
        let bytes = found.value().len();
        ensure!(
            bytes == *value_bytes,
            "MOB file {} has a value of {bytes} bytes, and the reference says {value_bytes}; restore \
             the right file",
            path.display()
        );
        Ok(found.value())
    }
}
