//! Making a store file: in the region's `.tmp`, synced, moved to its place, and only then named by the manifest.

use std::sync::Arc;

use halite_types::{CellRef, Error, RegionInfo, Result};

use super::StoreFile;
use crate::catalog::{FileEntry, layout};
use crate::hfile::{Compression, FileInfo, StoreFileInfo, Writer, WriterOptions};
use crate::region::Family;
use crate::shared::Shared;

/// The key of the file info entry that marks a file as written by a certain store.
pub(crate) const STORE_ID_KEY: &str = "HALITE_STORE_ID";

/// The key of the file info entry with the generation of the manifest under which a file was written: a number of eight bytes,
/// big-endian. The manifest that names the file is of a later one.
const GENERATION_KEY: &str = "HALITE_GENERATION";

/// The key of the file info entry with the number that the file's region has in the log: eight bytes, big-endian.
const REGION_KEY: &str = "HALITE_REGION";

/// The key of the file info entry with the name that a file was given when it was written.
const NAME_KEY: &str = "HALITE_NAME";

/// Refuses a file that is in the place of another one: a store file that this store wrote under another name.
///
/// # Errors
/// `Corrupt`, naming both.
pub(crate) fn check_name(info: &FileInfo, store_id: &[u8; 16], name: &str, path: &str) -> Result<()> {
    // Files of other writers have no name in them, and loaded ones are given a new one.
    let own = info.get(STORE_ID_KEY).filter(|id| *id == store_id).and_then(|_| info.get(NAME_KEY));
    match own {
        Some(own) if own != name.as_bytes() && layout::loaded_sequence_of(name).is_none() => {
            let own = String::from_utf8_lossy(own);
            Err(Error::corrupt(format!("store file {path} is the file that was written as {own}; put back the file that belongs there")))
        }
        _ => Ok(()),
    }
}

/// The name that a file was given when it was written, if it says so.
pub(crate) fn name_of(info: &FileInfo) -> Option<String> {
    String::from_utf8(info.get(NAME_KEY)?.to_vec()).ok()
}

/// The number that the region a file was written in has in the log, if the file says so.
pub(crate) fn region_number_of(info: &FileInfo) -> Option<u64> {
    info.get(REGION_KEY).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes)
}

/// The generation of the manifest under which a file was written; 0 if it does not say.
pub(crate) fn generation_of(info: &FileInfo) -> u64 {
    info.get(GENERATION_KEY).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes)
}

/// What is to be written.
pub(crate) struct NewFile<'a> {
    pub(crate) region: &'a RegionInfo,
    /// The region's number in the log.
    pub(crate) number: u64,
    pub(crate) family: &'a Family,
    /// Whether any cell may carry tags: it changes the layout of every cell of the file.
    pub(crate) tags: bool,
    pub(crate) max_sequence: u64,
    /// Whether all files of the store go into it.
    pub(crate) major: bool,
    /// Names of the files merged into it; none for a flush.
    pub(crate) compacted_from: Vec<String>,
}

/// Bytes of cells after which the disk is looked at again.
const LOOK_BYTES: u64 = 4 << 20;

/// Writes the cells that `fill` hands on, in order, and opens the file. Nothing is left behind if there is no cell, or
/// on failure. The manifest does not name the file yet.
pub(crate) fn write_file(
    shared: &Shared,
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
    let failed = |error| Error::io(format!("moving the new store file to {}/{path}", fs.root()), error);
    if cells == 0 {
        fs.remove_file(&temporary).map_err(failed)?;
        return Ok(None);
    }
    if let Err(error) = fs.rename(&temporary, &path) {
        let _ = fs.remove_file(&temporary);
        return Err(failed(error));
    }
    let opened = fs.sync_dir(&directory).map_err(failed).and_then(|()| shared.files.open(new.region, &new.family.name, FileEntry::own(name)));
    if opened.is_err() {
        let _ = fs.remove_file(&path);
    }
    opened.map(Some)
}

/// How the files of a family are written; `tags` says whether any cell may carry tags.
pub(crate) fn writer_options(shared: &Shared, family: &Family, tags: bool) -> WriterOptions {
    WriterOptions {
        block_bytes: family.block_bytes,
        bloom: family.bloom,
        // A codec that is not written yet is kept in the descriptor and its files are plain.
        compression: if family.compression == "GZ" { Compression::Gz } else { Compression::None },
        include_tags: tags,
        include_sequence_ids: true,
        created_ms: shared.env.clock.now_ms(),
        ..WriterOptions::default()
    }
}

fn fill_file(
    shared: &Shared,
    new: &NewFile<'_>,
    path: &str,
    fill: impl FnOnce(&mut dyn FnMut(CellRef<'_>) -> Result<()>) -> Result<()>,
) -> Result<u64> {
    let name = format!("{}/{path}", shared.env.fs.root());
    let file = shared.env.fs.create(path).map_err(|error| Error::io(format!("creating store file {name}"), error))?;
    let mut writer = Writer::create(file, &name, writer_options(shared, new.family, new.tags))?;
    let (mut cells, mut bytes, mut look_at) = (0, 0, LOOK_BYTES);
    fill(&mut |cell| {
        cells += 1;
        bytes += cell.encoded_len() as u64;
        if bytes >= look_at {
            look_at = bytes + LOOK_BYTES;
            shared.lock.check_if_due()?;
            shared.disk.check_file(new.compacted_from.is_empty()).map_err(|error| error.at(format_args!("store file {name}")))?;
        }
        writer.append(cell)
    })?;
    let catalog = shared.manifest.current();
    writer.set_info(STORE_ID_KEY, catalog.store_id.to_vec());
    writer.set_info(GENERATION_KEY, catalog.generation.to_be_bytes().to_vec());
    writer.set_info(NAME_KEY, path.rsplit('/').next().unwrap_or(path).as_bytes().to_vec());
    writer.set_info(REGION_KEY, new.number.to_be_bytes().to_vec());
    writer.finish(StoreFileInfo::compacted(new.max_sequence, new.major, new.compacted_from.clone()))?;
    Ok(cells)
}
