//! Creation of a store file: written in the region's `.tmp`, synced, renamed, and only then added
//! to the manifest.

use std::sync::Arc;

use halite_types::{CellRef, Error, RegionInfo, Result};

use super::StoreFile;
use super::file_label::{GENERATION_KEY, NAME_KEY, REGION_KEY, STORE_ID_KEY};
use crate::catalog::{FileEntry, layout};
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
}

/// Bytes of cells after which the free disk space is checked again.
const DISK_CHECK_INTERVAL_BYTES: u64 = 4 << 20;

/// Writes the cells that `fill` passes, in order, and opens the file. Leaves no file if there is no
/// cell, or on failure. The manifest does not reference the file yet.
pub(crate) fn write_file(
    shared: &EngineInner,
    new: &NewFile<'_>,
    fill: impl FnOnce(&mut dyn FnMut(CellRef<'_>) -> Result<()>) -> Result<()>,
) -> Result<Option<Arc<StoreFile>>> {
    shared.lock.check()?;
    let (table, region) = (&new.region.table, &new.region.encoded_name);
    let name = layout::new_file_name(&shared.env);
    let temporary = format!("{}/{name}", layout::temporary_directory(table, region));
    let directory = layout::family_directory(table, region, &new.family.name);
    let path = format!("{directory}/{name}");
    let result = fill_file(shared, new, &temporary, fill);
    let cells = match result {
        Ok(cells) => cells,
        Err(error) => {
            let _ = shared.env.fs.remove_file(&temporary);
            return Err(error);
        }
    };
    let fs = &shared.env.fs;
    let failed =
        |error| Error::io(format!("moving the new store file to {}/{path}", fs.root()), error);
    if cells == 0 {
        fs.remove_file(&temporary).map_err(failed)?;
        return Ok(None);
    }
    if let Err(error) = fs.rename(&temporary, &path) {
        let _ = fs.remove_file(&temporary);
        return Err(failed(error));
    }
    let opened = fs
        .sync_dir(&directory)
        .map_err(failed)
        .and_then(|()| shared.files.open(new.region, &new.family.name, FileEntry::local(name)));
    if opened.is_err() {
        let _ = fs.remove_file(&path);
    }
    if let Ok(file) = &opened {
        new.fill_cache(file);
    }
    opened.map(Some)
}

impl NewFile<'_> {
    /// Puts the blocks of the written file into the cache that the family wants there.
    fn fill_cache(&self, file: &StoreFile) {
        let cache = &self.family.cache;
        let wanted =
            if self.compacted_from.is_empty() { cache.on_flush } else { cache.on_compaction };
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

fn fill_file(
    shared: &EngineInner,
    new: &NewFile<'_>,
    path: &str,
    fill: impl FnOnce(&mut dyn FnMut(CellRef<'_>) -> Result<()>) -> Result<()>,
) -> Result<u64> {
    let name = format!("{}/{path}", shared.env.fs.root());
    let file = shared
        .env
        .fs
        .create(path)
        .map_err(|error| Error::io(format!("creating store file {name}"), error))?;
    let options = writer_options(shared, new.family, new.compression(), new.tags);
    let mut writer = Writer::create(file, &name, options)?;
    let (mut cells, mut bytes, mut look_at) = (0, 0, DISK_CHECK_INTERVAL_BYTES);
    fill(&mut |cell| {
        cells += 1;
        bytes += cell.encoded_len() as u64;
        if bytes >= look_at {
            look_at = bytes + DISK_CHECK_INTERVAL_BYTES;
            shared.lock.check_if_due()?;
            shared
                .disk
                .check_file(new.compacted_from.is_empty())
                .map_err(|error| error.at(format_args!("store file {name}")))?;
        }
        writer.append(cell)
    })?;
    assert_eq!(cells, writer.cells_written(), "a file has every cell that was passed");
    let catalog = shared.manifest.current();
    writer.set_info(STORE_ID_KEY, catalog.store_id.to_vec());
    writer.set_info(GENERATION_KEY, catalog.generation.to_be_bytes().to_vec());
    writer.set_info(NAME_KEY, path.rsplit('/').next().unwrap_or(path).as_bytes().to_vec());
    writer.set_info(REGION_KEY, new.number.to_be_bytes().to_vec());
    writer.finish(StoreFileInfo::compacted(
        new.max_sequence,
        new.major,
        new.compacted_from.clone(),
    ))?;
    Ok(cells)
}
