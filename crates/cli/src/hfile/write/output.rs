//! Store files for a bulk load: one directory per family, a new file at each boundary of a region
//! and at a maximum size.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use halite::{Bytes, RegionInfo, TableDescriptor};
use halite_engine::env::Fs as _;
use halite_engine::env::os::OsFs;
use halite_engine::hfile::{StoreFileInfo, Writer, WriterOptions, info_key};
use halite_types::CellRef;
use halite_types::cell::key_row;

use crate::hfile::loadable_family;

/// Task name in the file info.
const TASK: &str = "halite hfile write";

/// Counts of what was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutputCounts {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
    pub(crate) cells: u64,
    /// Regions that have cells.
    pub(crate) regions: u64,
}

/// Writer of all files. Cells arrive in key order.
pub(super) struct Output {
    directory: PathBuf,
    /// Start keys of the regions after the first.
    boundaries: Vec<Bytes>,
    /// Number of the region of the last cell.
    region: usize,
    families: BTreeMap<Bytes, FamilyOutput>,
    max_file_bytes: u64,
    now_ms: i64,
    last_row: Vec<u8>,
    counts: OutputCounts,
}

/// Files of one family.
struct FamilyOutput {
    fs: OsFs,
    directory: PathBuf,
    options: WriterOptions,
    writer: Option<Writer>,
    files: u64,
}

impl Output {
    /// Creates the directories of the families below `directory`.
    ///
    /// # Errors
    /// Returns an error for a family that the table has not, or that cannot be a directory.
    pub(super) fn create<'f>(
        directory: &Path,
        table: &TableDescriptor,
        families: impl IntoIterator<Item = &'f Bytes>,
        regions: &[RegionInfo],
        max_file_bytes: u64,
        now_ms: i64,
    ) -> anyhow::Result<Self> {
        let mut outputs = BTreeMap::new();
        for name in families {
            outputs.insert(name.clone(), FamilyOutput::create(directory, table, name, now_ms)?);
        }
        Ok(Self {
            directory: directory.to_owned(),
            boundaries: regions.iter().skip(1).map(|region| region.start.clone()).collect(),
            region: 0,
            families: outputs,
            max_file_bytes,
            now_ms,
            last_row: Vec::new(),
            counts: OutputCounts::default(),
        })
    }

    /// Adds the next cell.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) -> anyhow::Result<()> {
        let cell = CellRef::new(key, value, b"", 0);
        let row = key_row(key);
        let is_new_row = self.counts.cells == 0 || row != self.last_row;
        if is_new_row {
            self.enter_row(row)?;
        }
        let max = self.max_file_bytes;
        let family = self.families.get_mut(cell.family()).context("a family without an output")?;
        if is_new_row && family.writer.as_ref().is_some_and(|open| open.bytes_written() >= max) {
            family.finish(&mut self.counts, self.now_ms)?;
        }
        family.writer()?.append(cell)?;
        self.counts.cells += 1;
        Ok(())
    }

    /// Finishes the files of a region when the first row of another one arrives.
    fn enter_row(&mut self, row: &[u8]) -> anyhow::Result<()> {
        let before = self.region;
        while self.boundaries.get(self.region).is_some_and(|boundary| row >= &boundary[..]) {
            self.region += 1;
        }
        if self.region != before {
            self.finish_files()?;
        }
        self.counts.regions += u64::from(self.counts.cells == 0 || self.region != before);
        self.counts.rows += 1;
        self.last_row.clear();
        self.last_row.extend_from_slice(row);
        Ok(())
    }

    fn finish_files(&mut self) -> anyhow::Result<()> {
        let Self { families, counts, now_ms, .. } = self;
        families.values_mut().try_for_each(|family| family.finish(counts, *now_ms))
    }

    /// Finishes all files and makes their names durable.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub(super) fn finish(mut self) -> anyhow::Result<OutputCounts> {
        self.finish_files()?;
        for family in self.families.values() {
            // A bulk load rejects nothing for an empty directory, but a reader wonders.
            if family.files == 0 {
                fs::remove_dir(&family.directory)
                    .with_context(|| family.directory.display().to_string())?;
            } else {
                sync(&family.directory)?;
            }
        }
        sync(&self.directory)?;
        Ok(self.counts)
    }
}

impl FamilyOutput {
    fn create(
        directory: &Path,
        table: &TableDescriptor,
        name: &Bytes,
        now_ms: i64,
    ) -> anyhow::Result<Self> {
        let shown = halite::to_string_binary(name);
        let family = loadable_family(table, name)?;
        let text = std::str::from_utf8(name)
            .ok()
            .filter(|text| !text.is_empty() && !text.contains('/') && !text.starts_with(['.', '_']))
            .with_context(|| {
                format!("family {shown} cannot be a directory, so that no bulk load takes it")
            })?;
        let directory = directory.join(text);
        fs::create_dir(&directory).with_context(|| directory.display().to_string())?;
        let fs = OsFs::new(&directory).with_context(|| directory.display().to_string())?;
        let options =
            WriterOptions { created_ms: now_ms, ..WriterOptions::for_bulk_load(table, family) };
        Ok(Self { fs, directory, options, writer: None, files: 0 })
    }

    /// Returns the writer of the current file, which is created if there is none.
    fn writer(&mut self) -> anyhow::Result<&mut Writer> {
        if self.writer.is_none() {
            let name = file_name(self.files);
            let shown = self.directory.join(&name).display().to_string();
            let file = self.fs.create(&name).with_context(|| shown.clone())?;
            self.writer = Some(Writer::create(file, &shown, self.options.clone())?);
            self.files += 1;
        }
        self.writer.as_mut().context("a writer was created")
    }

    /// Finishes the current file, if there is one.
    fn finish(&mut self, counts: &mut OutputCounts, now_ms: i64) -> anyhow::Result<()> {
        let Some(mut writer) = self.writer.take() else { return Ok(()) };
        writer.set_info(info_key::BULK_LOAD_TIME, now_ms.to_be_bytes().to_vec());
        writer.set_info(info_key::BULK_LOAD_TASK, TASK.as_bytes().to_vec());
        counts.bytes += writer.finish(StoreFileInfo::default())?.bytes;
        counts.files += 1;
        let path = self.directory.join(file_name(self.files.saturating_sub(1)));
        // A store's own files are for its user only; these are for servers that run as another.
        fs::metadata(&self.directory)
            .and_then(|about| {
                let mode = about.permissions().mode() & 0o666;
                fs::set_permissions(&path, Permissions::from_mode(mode))
            })
            .with_context(|| path.display().to_string())
    }
}

fn file_name(number: u64) -> String {
    format!("part-{number:05}")
}

/// Makes the names in a directory durable.
pub(super) fn sync(directory: &Path) -> anyhow::Result<()> {
    fs::File::open(directory)
        .and_then(|opened| opened.sync_all())
        .with_context(|| format!("directory {}", directory.display()))
}
