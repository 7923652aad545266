//! Bulk load: adds store files that were created elsewhere to a region, bypassing the log and the
//! memstores.
//!
//! 1. Every file is checked: it is readable here, contains cells of its family, and all its rows
//!    belong to the region. Unless verification is disabled, it is also undamaged.
//! 2. Each file gets a second name in the region's `.tmp`, or is copied if it is on another disk,
//!    and is synced. If a file also has rows of other regions, the rows of this region are written
//!    to a new file. A copied or written file is checked again, because the original may have
//!    changed. The original stays until the end, so a crash never deletes it before it is loaded.
//! 3. The memstores are flushed as of a new sequence id. The cells of the files count as written at
//!    that id: newer than all earlier writes and older than all later ones, whatever ids they
//!    contain.
//! 4. The files move to their stores, and one change of the manifest adds them all.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::cell::first_on_row;
use halite_types::key::to_string_binary;
use halite_types::{BulkLoad, CellRef, Error, ErrorKind, Result};

use super::flush::LoadedFile;
use super::snapshot::Family;
use super::{Region, directories};
use crate::catalog::{FileEntry, layout};
use crate::disk_room::{CHECK_INTERVAL_BYTES, Claim};
use crate::hfile::{
    Comparator, Cursor, DirectBlocks, Reader, StoreFileInfo, Writer, WriterOptions, check_storable,
};
use crate::shared::EngineInner;
use crate::store::{external_file, writer_options};

fn empty_file(path: &str) -> Error {
    Error::invalid(format!("store file {path} holds no cell; leave it out"))
}

/// File to be loaded into a region, or its rows that belong there.
#[derive(Clone, Debug)]
pub(crate) struct BulkLoadFile {
    pub(crate) family: Bytes,
    pub(crate) path: String,
    /// First row (inclusive) and end row (exclusive, empty for none); `None` for the whole file.
    pub(crate) rows: Option<(Bytes, Bytes)>,
}

impl BulkLoadFile {
    /// Returns a load of the whole file.
    pub(crate) fn whole((family, path): &(Bytes, String)) -> Self {
        Self { family: family.clone(), path: path.clone(), rows: None }
    }

    /// Returns the first and last row; `None` if the file contains none of the rows.
    pub(crate) fn ends(&self, shared: &EngineInner) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let mut cursor = Cursor::new(external_file::open(&shared.env, &self.path)?, DirectBlocks);
        self.seek_to_first(&mut cursor)?;
        let row_at = |cursor: &Cursor<DirectBlocks>| cursor.peek().map(|cell| cell.row().to_vec());
        let first = match row_at(&cursor) {
            None if self.rows.is_none() => return Err(empty_file(&self.path)),
            first => first.filter(|row| !self.ends_before(row)),
        };
        let Some(first) = first else { return Ok(None) };
        match &self.rows {
            Some((_, end)) if !end.is_empty() => cursor.seek_before(&first_on_row(end))?,
            _ => cursor.seek_to_last()?,
        }
        let last = row_at(&cursor).unwrap_or_else(|| first.clone());
        Ok(Some((first, last)))
    }

    fn seek_to_first(&self, cursor: &mut Cursor<DirectBlocks>) -> Result<()> {
        match &self.rows {
            Some((start, _)) => cursor.seek(&first_on_row(start)),
            None => cursor.seek_to_first(),
        }
    }

    fn check_family(&self, cell: CellRef<'_>) -> Result<()> {
        if cell.family() == self.family {
            return Ok(());
        }
        let (path, wanted) = (&self.path, to_string_binary(&self.family));
        Err(Error::invalid(format!(
            "store file {path} is to be loaded into family {wanted} and holds cells of another; \
             name the family it was made for"
        )))
    }

    fn ends_before(&self, row: &[u8]) -> bool {
        self.rows.as_ref().is_some_and(|(_, end)| !end.is_empty() && row >= &end[..])
    }
}

/// Claims the space of the files that a load copies or cuts, each once, before the first region has
/// any of them.
///
/// # Errors
/// `DiskFull`, or the file system's.
pub(crate) fn claim_room<'a, 'p>(
    shared: &'a EngineInner,
    paths: impl Iterator<Item = &'p str>,
) -> Result<Claim<'a>> {
    let paths: BTreeSet<&str> = paths.collect();
    let lengths = paths.into_iter().map(|path| external_file::length(&shared.env, path));
    let bytes = lengths.sum::<Result<u64>>()?;
    shared.disk.claim(bytes, || "copying the files of the bulk load".to_owned())
}

/// Verifies that a file that is loaded into several regions is undamaged, once for all of them.
pub(crate) fn verify(shared: &EngineInner, path: &str) -> Result<()> {
    external_file::open(&shared.env, path)?.verify().map(|_| ())
}

/// Verifies that the cells of a family are not merged: the server stamps those, and the cells of a
/// file that is loaded twice would count twice.
fn check_not_merged(family: &Family, path: &str) -> Result<()> {
    if family.merge.is_none() {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{path}: family {} merges its cells (MERGE), and files cannot be loaded into it; put the \
         contributions instead",
        to_string_binary(&family.name)
    )))
}

/// File under its name in the region's `.tmp`.
struct StagedFile {
    family: Bytes,
    name: String,
}

impl Region {
    /// Adds store files to the region, visible at once in all families. Files of HBase and of
    /// Halite can be loaded, with or without the file info of store files.
    ///
    /// # Errors
    /// Nothing has changed in that case, and the originals are in place. `WrongRegion` if rows of a
    /// file are outside the region: split the file, or look the region up again. `NoSuchFamily`;
    /// `InvalidRequest` for a file that cannot be opened, has no cells or is of another family;
    /// `Unsupported` for a codec or block encoding that is not supported, with its name; `Corrupt`;
    /// `NoSuchRegion`; a full disk or failed write. A read-only table accepts bulk loads, as in
    /// HBase.
    pub fn bulk_load(self: &Arc<Self>, load: &BulkLoad) -> Result<()> {
        let parts: Vec<BulkLoadFile> = load.files.iter().map(BulkLoadFile::whole).collect();
        // A copied file is verified as a copy, which no other process changes.
        self.check_load(&parts, load.verify && !load.copy)?;
        let copied = if load.copy { &parts[..] } else { &[] };
        let mut room = claim_room(&self.shared, copied.iter().map(|part| &part.path[..]))?;
        self.load_checked(&parts, load, &mut room)
    }

    /// Verifies that the files can be loaded here, by all checks of [`Region::bulk_load`].
    pub(crate) fn check_load(&self, parts: &[BulkLoadFile], verify: bool) -> Result<()> {
        self.check_open()?;
        parts.iter().try_for_each(|part| self.check_file(part, verify))
    }

    /// Loads files that have been checked. Files that are also loaded into other regions stay. Only
    /// the options of `load` are used. What is copied or cut is written to the space of `room`.
    pub(crate) fn load_checked(
        self: &Arc<Self>,
        parts: &[BulkLoadFile],
        load: &BulkLoad,
        room: &mut Claim<'_>,
    ) -> Result<()> {
        if parts.is_empty() {
            return Ok(());
        }
        self.shared.lock.check()?;
        let copy = load.copy;
        let mut staged = Vec::new();
        let loaded = parts.iter().try_for_each(|part| match &part.rows {
            None => self.stage(part, load, &mut staged, room),
            Some(_) => self.stage_rows(part, &mut staged, room),
        });
        if let Err(error) = loaded.and_then(|()| self.load_staged(&staged)) {
            // Files that have already moved to their stores are deleted by the failed step.
            staged.iter().for_each(|file| {
                drop(self.shared.env.fs.remove_file(&self.staged_path(&file.name)));
            });
            return Err(error);
        }
        let _ = self.counters.add_writes(1, 0);
        if !copy {
            // A file that cannot be deleted is loaded all the same.
            let whole = parts.iter().filter(|part| part.rows.is_none());
            whole.for_each(|part| drop(self.shared.env.fs.remove_external(&part.path)));
        }
        self.request_needed_compaction();
        Ok(())
    }

    /// Verifies that the file can be loaded, from its first and last cell or, with `verify`, from
    /// all of it.
    fn check_file(&self, part: &BulkLoadFile, verify: bool) -> Result<()> {
        let snapshot = self.snapshot_ref();
        let family = &snapshot.families[snapshot.family_index(&part.family)?];
        check_not_merged(family, &part.path)?;
        self.check_content(part, &external_file::open(&self.shared.env, &part.path)?, verify)
    }

    /// As [`Region::check_file`] for a copied or written file. Errors name the original.
    fn check_staged(&self, part: &BulkLoadFile, name: &str, verify: bool) -> Result<()> {
        let path = self.staged_path(name);
        let file = self.shared.env.fs.open(&path).map_err(|error| {
            Error::io(format!("opening {}/{path}", self.shared.env.fs.root()), error)
        })?;
        self.check_content(
            &BulkLoadFile { rows: None, ..part.clone() },
            &Arc::new(Reader::open(file, &part.path)?),
            verify,
        )
    }

    fn check_content(&self, part: &BulkLoadFile, reader: &Arc<Reader>, verify: bool) -> Result<()> {
        let path = &part.path[..];
        if reader.comparator() != Comparator::Cell {
            return Err(Error::invalid(format!(
                "store file {path} is ordered as HBase's own catalog; load files of tables only"
            )));
        }
        let mut cursor = Cursor::new(Arc::clone(reader), DirectBlocks);
        cursor.seek_to_first()?;
        self.check_end(part, cursor.peek())?;
        cursor.seek_to_last()?;
        self.check_end(part, cursor.peek())?;
        self.check_rows_taken(part, &mut cursor)?;
        if verify && part.rows.is_none() { reader.verify().map(|_| ()) } else { Ok(()) }
    }

    /// Verifies that the table accepts all rows of a file that adds cells to them. Reads the file
    /// only if the table has a row check. The error does not quote the file's content.
    fn check_rows_taken(
        &self,
        part: &BulkLoadFile,
        cursor: &mut Cursor<DirectBlocks>,
    ) -> Result<()> {
        let snapshot = self.snapshot_ref();
        if !snapshot.has_row_check() {
            return Ok(());
        }
        let mut last: Option<Vec<u8>> = None;
        part.seek_to_first(cursor)?;
        while let Some(cell) = cursor.peek().filter(|cell| !part.ends_before(cell.row())) {
            if !cell.is_delete() && last.as_deref() != Some(cell.row()) {
                if let Err(error) = snapshot.check_row_taken(cell.row()) {
                    self.counters.add_refused_row();
                    return Err(error.at(format_args!("store file {} is not loaded", part.path)));
                }
                last = Some(cell.row().to_vec());
            }
            cursor.advance()?;
        }
        Ok(())
    }

    /// Verifies that the first or last cell of a file belongs here.
    fn check_end(&self, part: &BulkLoadFile, cell: Option<CellRef<'_>>) -> Result<()> {
        let cell = cell.ok_or_else(|| empty_file(&part.path))?;
        part.check_family(cell)?;
        // The sort order of a file allows an empty row only at its start.
        check_storable(cell).map_err(|why| {
            Error::invalid(format!("store file {} is not loaded: a cell {why}", part.path))
        })?;
        if part.rows.is_none() { self.check_fits(cell.row(), &part.path) } else { Ok(()) }
    }

    fn check_fits(&self, row: &[u8], path: &str) -> Result<()> {
        if self.info.contains(row) {
            return Ok(());
        }
        let (row, region) = (to_string_binary(row), self.info.display_name());
        let text = format!(
            "bulk load file {path} does not fit inside region {region}: it holds row {row}; split \
             it at the region's ends"
        );
        Err(Error::new(ErrorKind::WrongRegion, text))
    }

    fn staged_path(&self, name: &str) -> String {
        format!("{}/{name}", layout::temporary_directory(&self.info.table, &self.info.encoded_name))
    }

    /// Links or copies a file to `.tmp`, whole and durable.
    fn stage(
        &self,
        part: &BulkLoadFile,
        load: &BulkLoad,
        staged: &mut Vec<StagedFile>,
        room: &mut Claim<'_>,
    ) -> Result<()> {
        let path = &part.path[..];
        let name = layout::new_file_name(&self.shared.env);
        let to = self.staged_path(&name);
        staged.push(StagedFile { family: part.family.clone(), name: name.clone() });
        if load.copy {
            room.spend(external_file::copy_claimed(&self.shared, path, &to)?);
        } else if external_file::link(&self.shared.env, path, &to)? {
            return Ok(());
        } else {
            external_file::copy(&self.shared, path, &to)?;
        }
        self.check_staged(part, &name, load.verify)
    }

    /// Writes the rows of a file that belong here to `.tmp`, or no file if there are none.
    fn stage_rows(
        &self,
        part: &BulkLoadFile,
        staged: &mut Vec<StagedFile>,
        room: &mut Claim<'_>,
    ) -> Result<()> {
        let snapshot = self.snapshot();
        let family = &snapshot.families[snapshot.family_index(&part.family)?];
        let reader = external_file::open(&self.shared.env, &part.path)?;
        let tags = reader.has_tags();
        let mut cursor = Cursor::new(reader, DirectBlocks);
        part.seek_to_first(&mut cursor)?;
        if cursor.peek().is_none_or(|cell| part.ends_before(cell.row())) {
            return Ok(());
        }
        let name = layout::new_file_name(&self.shared.env);
        let to = self.staged_path(&name);
        staged.push(StagedFile { family: part.family.clone(), name: name.clone() });
        let options = WriterOptions {
            include_sequence_ids: false,
            ..writer_options(&self.shared, family, family.codecs.flush, tags)
        };
        let shown = format!("{}/{to}", self.shared.env.fs.root());
        let file = self
            .shared
            .env
            .fs
            .create(&to)
            .map_err(|error| Error::io(format!("creating store file {shown}"), error))?;
        let mut writer = Writer::create(file, &shown, options)?;
        // The rows may need more than in the file that they are from.
        let mut unchecked = CHECK_INTERVAL_BYTES;
        while let Some(cell) = cursor.peek().filter(|cell| !part.ends_before(cell.row())) {
            part.check_family(cell)?;
            unchecked += cell.encoded_len() as u64;
            if unchecked >= CHECK_INTERVAL_BYTES {
                self.shared.disk.check_file(false)?;
                unchecked = 0;
            }
            writer.append(cell)?;
            cursor.advance()?;
        }
        room.spend(writer.finish(StoreFileInfo::default())?.bytes);
        self.check_staged(part, &name, false)
    }

    fn load_staged(&self, staged: &[StagedFile]) -> Result<()> {
        if staged.is_empty() {
            return Ok(());
        }
        let _maintenance = self.lock_maintenance();
        // The region may have been split or altered while the files were staged.
        self.check_open()?;
        self.flush_and_add(|sequence| self.move_to_stores(staged, sequence))
    }

    /// Moves the files to their stores under names that contain their sequence id, and opens them.
    fn move_to_stores(&self, staged: &[StagedFile], sequence: u64) -> Result<Vec<LoadedFile>> {
        let mut placed = Vec::new();
        let entry = |file: &StagedFile| FileEntry {
            loaded_sequence: Some(sequence),
            ..FileEntry::local(layout::loaded_name(&file.name, sequence))
        };
        let done = staged.iter().try_for_each(|file| {
            let home = entry(file).local_origin(&self.info, &file.family);
            assert_eq!(
                layout::loaded_sequence_of(&home.name),
                Some(sequence),
                "the name of a loaded file has the sequence id of its cells"
            );
            let failed = |error| {
                Error::io(
                    format!(
                        "moving the file to be loaded to {}/{}",
                        self.shared.env.fs.root(),
                        home.path()
                    ),
                    error,
                )
            };
            self.shared
                .env
                .fs
                .rename(&self.staged_path(&file.name), &home.path())
                .map_err(failed)?;
            placed.push(home);
            Ok(())
        });
        let opened = done.and_then(|()| {
            let families: BTreeSet<&Bytes> = staged.iter().map(|file| &file.family).collect();
            for family in families {
                let directory =
                    layout::family_directory(&self.info.table, &self.info.encoded_name, family);
                let failed = |error| {
                    Error::io(format!("syncing {}/{directory}", self.shared.env.fs.root()), error)
                };
                self.shared.env.fs.sync_dir(&directory).map_err(failed)?;
            }
            let snapshot = self.snapshot();
            if snapshot.stores.iter().any(|store| store.files.is_empty()) {
                directories::sync_names(&self.shared.env, &self.info)?;
            }
            let open = |file: &StagedFile| {
                Ok((
                    snapshot.family_index(&file.family)?,
                    self.shared.files.open(&self.info, &file.family, entry(file))?,
                ))
            };
            staged.iter().map(open).collect()
        });
        opened.inspect_err(|_| {
            self.shared.archive_or_delete(placed);
        })
    }
}

#[cfg(test)]
mod tests {
    use halite_types::{FamilyDescriptor, Get, Put, ReadTier, TableDescriptor, TableName};

    use super::*;
    use crate::env::sim::SimEnv;
    use crate::{Engine, Options};

    /// Places a file of such rows where the process finds it as `/in/file`, replacing any existing
    /// file.
    fn write(sim: &SimEnv, rows: &[&'static str]) {
        let fs = sim.env().fs;
        fs.create_dir_all("outside/in").unwrap();
        let _ = fs.remove_file("outside/in/file");
        // One block per row.
        let options = WriterOptions { block_bytes: 16, ..WriterOptions::default() };
        let mut writer =
            Writer::create(fs.create("outside/in/file").unwrap(), "file", options).unwrap();
        for row in rows {
            let put = Put::new(*row).add_at("f", "q", 5, "v");
            put.mutation().cells().iter().for_each(|cell| writer.append(cell).unwrap());
        }
        writer.finish(StoreFileInfo::default()).unwrap();
    }

    /// Returns the result of a load whose file changes after it was checked, and the rows that
    /// exist afterwards.
    fn load_changed_file(
        part: Option<(&'static str, &'static str)>,
        change: impl FnOnce(&SimEnv),
    ) -> (Result<()>, Vec<&'static str>) {
        let sim = SimEnv::new(1);
        let engine = Engine::open(sim.env(), Options::default()).unwrap();
        let name: TableName = "t".parse().unwrap();
        engine
            .create_table(
                TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f")),
                vec!["m".into()],
            )
            .unwrap();
        let table = engine.table(&name).unwrap();
        write(&sim, &["a", "bb", "c"]);
        let rows = part.map(|(start, end)| (start.into(), end.into()));
        let parts = [BulkLoadFile { family: "f".into(), path: "/in/file".to_owned(), rows }];
        let region = Arc::clone(&table.regions()[0]);
        region.check_load(&parts, true).unwrap();
        change(&sim);
        let mut room = claim_room(&region.shared, ["/in/file"].into_iter()).unwrap();
        let loaded = region.load_checked(&parts, &BulkLoad::default().copied(), &mut room);
        let is_there =
            |row: &&'static str| !table.get(&Get::new(*row), ReadTier::Disk).unwrap().is_empty();
        let left: Vec<String> =
            sim.fs.files().into_keys().filter(|path| path.contains(".tmp/")).collect();
        assert_eq!(left, [""; 0]);
        (loaded, ["a", "bb", "c", "z"].into_iter().filter(is_there).collect())
    }

    #[test]
    fn bulk_load_verifies_the_copied_file() {
        let damage = |sim: &SimEnv| {
            let bytes = sim.fs.files().remove("outside/in/file").unwrap();
            let at = bytes.windows(2).position(|row| row == b"bb").unwrap();
            sim.fs.corrupt("outside/in/file", at, 1).unwrap();
        };
        let (loaded, rows) = load_changed_file(None, damage);
        let error = loaded.unwrap_err();
        assert_eq!((error.kind(), rows), (ErrorKind::Corrupt, vec![]), "{error}");
        assert!(error.message().contains("/in/file"), "{error}");
        let (loaded, rows) = load_changed_file(None, |sim| write(sim, &["a", "z"]));
        assert_eq!((loaded.unwrap_err().kind(), rows), (ErrorKind::WrongRegion, vec![]));
        let (loaded, rows) = load_changed_file(None, |sim| write(sim, &["a", "c"]));
        assert_eq!((loaded, rows), (Ok(()), vec!["a", "c"]), "it is as good as the first");
        // Of a file that is loaded into several regions only the rows of this one are loaded,
        // whatever it contains by then.
        let (loaded, rows) = load_changed_file(Some(("", "m")), |sim| write(sim, &["c", "z"]));
        assert_eq!((loaded, rows), (Ok(()), vec!["c"]));
    }
}
