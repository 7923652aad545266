//! Creation of a store file: written in the region's `.tmp`, synced, renamed, and only then added
//! to the manifest.

use std::sync::Arc;

use halite_types::{CellRef, Error, RegionInfo, Result};

use super::file_label::{GENERATION_KEY, NAME_KEY, REGION_KEY, STORE_ID_KEY};
use super::{StoreFile, StripeBounds};
use crate::catalog::{FileEntry, layout};
use crate::disk_room::CHECK_INTERVAL_BYTES;
use crate::hfile::{Compression, StoreFileInfo, Writer, WriterOptions};
use crate::region::Family;
use crate::shared::EngineInner;

/// Parameters of a new file.
pub(crate) struct NewFile<'a> {
    pub(crate) region: &'a RegionInfo,
    /// Number of the region in the log.
    pub(crate) number: u64,
    pub(crate) family: &'a Family,
    /// `true` if any cell may have tags, which changes the layout of every cell of the file.
    pub(crate) tags: bool,
    pub(crate) max_sequence: u64,
    /// `true` if all files of the store are merged into it.
    pub(crate) major: bool,
    /// Names of the files merged into it; none for a flush.
    pub(crate) compacted_from: Vec<String>,
    /// Bytes of these files.
    pub(crate) compacted_bytes: u64,
}

/// Writes the cells that `fill` passes, in order, and opens the file. Leaves no file if there is no
/// cell, or on failure. The manifest does not reference the file yet.
pub(crate) fn write_file(
    shared: &EngineInner,
    new: &NewFile<'_>,
    fill: impl FnOnce(&mut dyn FnMut(CellRef<'_>) -> Result<()>) -> Result<()>,
) -> Result<Option<Arc<StoreFile>>> {
    let mut file = UnfinishedFile::create(shared, new)?;
    fill(&mut |cell| file.append(cell))?;
    file.finish(&FileLabels::of(new))
}

/// Properties of a file that are recorded when it is complete.
pub(super) struct FileLabels<'a> {
    pub(super) max_sequence: u64,
    /// Rows of its stripe.
    pub(super) stripe: Option<&'a StripeBounds>,
    /// `true` if it is kept even without cells.
    pub(super) is_required: bool,
}

impl FileLabels<'_> {
    /// Returns those of a file that is not divided by rows.
    pub(super) fn of(new: &NewFile<'_>) -> Self {
        Self { max_sequence: new.max_sequence, stripe: None, is_required: false }
    }
}

/// File below the region's `.tmp`, which is removed unless it is finished.
pub(super) struct UnfinishedFile<'a> {
    shared: &'a EngineInner,
    new: &'a NewFile<'a>,
    name: String,
    /// Path of the file, and its name in errors.
    temporary: String,
    shown: String,
    /// `None` once it is finished.
    writer: Option<Writer>,
    cells: u64,
    bytes: u64,
    /// Bytes at which the free disk space is checked again.
    check_at: u64,
    /// `true` while the file is in `.tmp`.
    is_temporary: bool,
    /// `true` if it is kept even without cells.
    is_required: bool,
}

impl<'a> UnfinishedFile<'a> {
    pub(super) fn create(shared: &'a EngineInner, new: &'a NewFile<'a>) -> Result<Self> {
        shared.lock.check()?;
        let (table, region) = (&new.region.table, &new.region.encoded_name);
        let name = layout::new_file_name(&shared.env);
        let temporary = format!("{}/{name}", layout::temporary_directory(table, region));
        let shown = format!("{}/{temporary}", shared.env.fs.root());
        let file = shared
            .env
            .fs
            .create(&temporary)
            .map_err(|error| Error::io(format!("creating store file {shown}"), error))?;
        let mut unfinished = Self {
            shared,
            new,
            name,
            temporary,
            shown,
            writer: None,
            cells: 0,
            bytes: 0,
            check_at: CHECK_INTERVAL_BYTES,
            is_temporary: true,
            is_required: false,
        };
        let options = writer_options(shared, new.family, new.compression(), new.tags);
        unfinished.writer = Some(Writer::create(file, &unfinished.shown, options)?);
        Ok(unfinished)
    }

    /// Returns the number of cells so far.
    pub(super) fn cells(&self) -> u64 {
        self.cells
    }

    pub(super) fn append(&mut self, cell: CellRef<'_>) -> Result<()> {
        self.cells += 1;
        self.bytes += cell.encoded_len() as u64;
        if self.bytes >= self.check_at {
            self.check_at = self.bytes + CHECK_INTERVAL_BYTES;
            self.shared.lock.check_if_due()?;
            self.shared
                .disk
                .check_file(self.new.compacted_from.is_empty())
                .map_err(|error| error.at(format_args!("store file {}", self.shown)))?;
        }
        self.writer.as_mut().map_or(Ok(()), |writer| writer.append(cell))
    }

    /// Completes the file, moves it to its store and opens it. `None` if it has no cell and is not
    /// required.
    pub(super) fn finish(mut self, labels: &FileLabels<'_>) -> Result<Option<Arc<StoreFile>>> {
        self.complete(labels)?;
        self.place()
    }

    /// Writes the end of the file, which stays in `.tmp`.
    pub(super) fn complete(&mut self, labels: &FileLabels<'_>) -> Result<()> {
        self.is_required = labels.is_required;
        if let Some(mut writer) = self.writer.take() {
            assert_eq!(self.cells, writer.cells_written(), "a file has every cell that was passed");
            let catalog = self.shared.manifest.current();
            writer.set_info(STORE_ID_KEY, catalog.store_id.to_vec());
            writer.set_info(GENERATION_KEY, catalog.generation.to_be_bytes().to_vec());
            writer.set_info(NAME_KEY, self.name.as_bytes().to_vec());
            writer.set_info(REGION_KEY, self.new.number.to_be_bytes().to_vec());
            if let Some(stripe) = labels.stripe {
                stripe.record(&mut writer);
            }
            writer.finish(StoreFileInfo::compacted(
                labels.max_sequence,
                self.new.major,
                self.new.compacted_from.clone(),
            ))?;
        }
        Ok(())
    }

    /// Moves the completed file to its store and opens it. `None` if it has no cell and is not
    /// required.
    pub(super) fn place(mut self) -> Result<Option<Arc<StoreFile>>> {
        debug_assert!(self.writer.is_none(), "the file is complete");
        let (shared, fs) = (self.shared, &self.shared.env.fs);
        let (table, region) = (&self.new.region.table, &self.new.region.encoded_name);
        let directory = layout::family_directory(table, region, &self.new.family.name);
        let path = format!("{directory}/{}", self.name);
        let failed =
            |error| Error::io(format!("moving the new store file to {}/{path}", fs.root()), error);
        if self.cells == 0 && !self.is_required {
            self.is_temporary = false;
            fs.remove_file(&self.temporary).map_err(failed)?;
            return Ok(None);
        }
        fs.rename(&self.temporary, &path).map_err(failed)?;
        self.is_temporary = false;
        let entry = FileEntry::local(std::mem::take(&mut self.name));
        let opened = fs
            .sync_dir(&directory)
            .map_err(failed)
            .and_then(|()| shared.files.open(self.new.region, &self.new.family.name, entry));
        match &opened {
            Ok(file) => self.new.fill_cache(file),
            Err(_) => drop(fs.remove_file(&path)),
        }
        opened.map(Some)
    }
}

impl Drop for UnfinishedFile<'_> {
    fn drop(&mut self) {
        drop(self.writer.take());
        if self.is_temporary {
            let _ = self.shared.env.fs.remove_file(&self.temporary);
        }
    }
}

impl NewFile<'_> {
    /// Puts the blocks of the written file into the cache that the family wants there.
    fn fill_cache(&self, file: &StoreFile) {
        let cache = &self.family.cache;
        let wanted = if self.compacted_from.is_empty() {
            cache.on_flush
        } else {
            cache.on_compaction(self.compacted_bytes)
        };
        if !wanted.is_empty() {
            file.fill_cache(wanted, cache.in_memory, || true);
        }
    }

    fn compression(&self) -> Compression {
        let codecs = &self.family.codecs;
        match (self.major, self.compacted_from.is_empty()) {
            (true, _) => codecs.major_compaction,
            (false, false) => codecs.minor_compaction,
            (false, true) => codecs.flush,
        }
    }
}

/// Returns the writer options of a family's files; `tags` is `true` if any cell may have tags.
pub(crate) fn writer_options(
    shared: &EngineInner,
    family: &Family,
    compression: Compression,
    tags: bool,
) -> WriterOptions {
    WriterOptions {
        block_bytes: family.block_bytes,
        encoded_block_bytes: family.encoded_block_bytes,
        bloom: family.bloom,
        compression,
        codec_settings: family.codecs.settings,
        encoding: family.encoding,
        part_bytes: Some(shared.options.part_bytes).filter(|&bytes| bytes > 0),
        compress_tags: family.compress_tags,
        include_tags: tags,
        include_sequence_ids: true,
        created_ms: shared.env.clock.now_ms(),
        ..WriterOptions::default()
    }
}
