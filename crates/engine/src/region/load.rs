//! Bulk loading: store files that were made elsewhere become part of a region, past the log and the memstores.
//!
//! 1. Every file is looked at: it can be read here, holds cells of its family, and all its rows belong to the region.
//! 2. Each gets a second name in the region's `.tmp`, or is copied if it lies on another disk, and is synced. The
//!    original stays until the end, so a crash never takes it away without having loaded it.
//! 3. What is in memory is flushed as of a sequence id of its own. That is what the cells of the files count as: newer
//!    than all that was written before, older than all that comes, whatever ids they carry.
//! 4. The files move to their stores, and one change of the manifest names them all.

use std::collections::BTreeSet;
use std::io::ErrorKind as Io;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::key::print_bytes;
use halite_types::{Error, ErrorKind, Result};

use super::Region;
use super::flush::LoadedFile;
use crate::catalog::{FileEntry, layout};
use crate::hfile::{Comparator, Cursor, DirectBlocks, Reader};
use crate::shared::Shared;
use crate::store::{StoreFile, StoreSnapshot};

/// Bytes that are copied at once.
const COPY_BYTES: usize = 1 << 20;

/// Files to be loaded into one region, all or none.
#[derive(Clone, Debug, Default)]
pub struct BulkLoad {
    /// Each with its family and its path, which is whole, from the machine's own root. Of one family there may be several.
    pub files: Vec<(Bytes, String)>,
    /// Whether the cells count as written now; if not they are older than everything, as with HBase's
    /// `assign_seq_num = false`.
    pub assign_sequence: bool,
    /// Whether the originals stay.
    pub copy: bool,
}

fn open_original(shared: &Shared, path: &str) -> Result<Arc<Reader>> {
    let file = shared.env.fs.open_outside(path).map_err(|error| Error::io(format!("opening {path}, which is to be loaded"), error))?;
    Ok(Arc::new(Reader::open(file, path)?))
}

fn no_cell(path: &str) -> Error {
    Error::invalid(format!("store file {path} holds no cell; leave it out"))
}

/// The first row of a file that is to be loaded.
pub(crate) fn first_row(shared: &Shared, path: &str) -> Result<Vec<u8>> {
    let mut cursor = Cursor::new(open_original(shared, path)?, DirectBlocks);
    cursor.seek_to_first()?;
    cursor.peek().map(|cell| cell.row().to_vec()).ok_or_else(|| no_cell(path))
}

/// A file under its name in the region's `.tmp`.
struct Staged {
    family: Bytes,
    name: String,
}

impl Region {
    /// Makes store files part of the region, visible at once in all families. HBase's own files and ours can be loaded,
    /// with or without the facts of a store file.
    ///
    /// # Errors
    /// Nothing has changed then, and the originals are where they were. `WrongRegion` if rows of a file lie outside the
    /// region: split the file, or look the region up again. `NoSuchFamily`; `InvalidRequest` for a file without cells or
    /// of another family; `Unsupported` for a codec or block encoding that cannot be read here, naming it; `Corrupt`;
    /// `NoSuchRegion`, `ReadOnly`, a full disk or failed write.
    pub fn bulk_load(self: &Arc<Self>, load: &BulkLoad) -> Result<()> {
        self.check_open()?;
        if self.snapshot_ref().descriptor.read_only() {
            let text = format!("table {} is read-only; alter it with READONLY => 'false' to load files", self.info.table);
            return Err(Error::new(ErrorKind::ReadOnly, text));
        }
        if load.files.is_empty() {
            return Ok(());
        }
        load.files.iter().try_for_each(|(family, path)| self.check_file(family, path))?;
        let mut staged = Vec::new();
        let loaded = load.files.iter().try_for_each(|(family, path)| self.stage(family, path, load.copy, &mut staged));
        if let Err(error) = loaded.and_then(|()| self.load_staged(&staged, load.assign_sequence)) {
            // What has moved on to its store is taken away where that failed.
            staged.iter().for_each(|file| drop(self.shared.env.fs.remove_file(&self.staged_path(&file.name))));
            return Err(error);
        }
        self.counters.add_writes(1, 0);
        if !load.copy {
            // One that stays is loaded all the same.
            load.files.iter().for_each(|(_, path)| drop(self.shared.env.fs.remove_outside(path)));
        }
        if self.wants_compaction() {
            self.shared.background.request_compaction(self);
        }
        Ok(())
    }

    /// Whether the file can be loaded, as far as its ends tell.
    fn check_file(&self, family: &Bytes, path: &str) -> Result<()> {
        self.snapshot_ref().family_index(family)?;
        let reader = open_original(&self.shared, path)?;
        if reader.comparator() != Comparator::Cell {
            return Err(Error::invalid(format!("store file {path} is ordered as HBase's own catalog; load files of tables only")));
        }
        let mut cursor = Cursor::new(reader, DirectBlocks);
        for at_end in [false, true] {
            if at_end {
                cursor.seek_to_last()?
            } else {
                cursor.seek_to_first()?
            }
            let Some(cell) = cursor.peek() else { return Err(no_cell(path)) };
            if cell.family() != family {
                let text = format!(
                    "store file {path} is to be loaded into family {} and holds cells of {}",
                    print_bytes(family),
                    print_bytes(cell.family())
                );
                return Err(Error::invalid(text));
            }
            self.check_fits(cell.row(), path)?;
        }
        Ok(())
    }

    fn check_fits(&self, row: &[u8], path: &str) -> Result<()> {
        if self.info.contains(row) {
            return Ok(());
        }
        let (row, region) = (print_bytes(row), self.info.display_name());
        let text = format!("store file {path} does not fit inside region {region}: it holds row {row}; split it at the region's ends");
        Err(Error::new(ErrorKind::WrongRegion, text))
    }

    fn staged_path(&self, name: &str) -> String {
        format!("{}/{name}", layout::temporary_directory(&self.info.table, &self.info.encoded_name))
    }

    /// Brings a file to `.tmp`, whole and durable.
    fn stage(&self, family: &Bytes, path: &str, copy: bool, staged: &mut Vec<Staged>) -> Result<()> {
        let fs = &self.shared.env.fs;
        let name = layout::new_file_name(&self.shared.env);
        let to = self.staged_path(&name);
        staged.push(Staged { family: family.clone(), name });
        if !copy {
            // Whoever made the file need not have synced it; that takes the right to write to it.
            match fs.link_outside(path, &to).and_then(|()| fs.append(&to)?.sync()) {
                Err(error) if matches!(error.kind(), Io::CrossesDevices | Io::PermissionDenied | Io::TooManyLinks | Io::Unsupported) => {
                    let _ = fs.remove_file(&to);
                }
                linked => return linked.map_err(|error| Error::io(format!("linking {path} to {}/{to}", fs.root()), error)),
            }
        }
        self.copy_file(path, &to).map_err(|error| Error::io(format!("copying {path} to {}/{to}", fs.root()), error))
    }

    fn copy_file(&self, path: &str, to: &str) -> std::io::Result<()> {
        let fs = &self.shared.env.fs;
        let from = fs.open_outside(path)?;
        let mut file = fs.create(to)?;
        let (mut at, end) = (0, from.len()?);
        let mut buffer = vec![0; COPY_BYTES];
        while at < end {
            let bytes = usize::try_from(end - at).unwrap_or(COPY_BYTES).min(COPY_BYTES);
            from.read_exact_at(&mut buffer[..bytes], at)?;
            file.write_all(&buffer[..bytes])?;
            at += bytes as u64;
        }
        file.sync()
    }

    fn load_staged(&self, staged: &[Staged], assign_sequence: bool) -> Result<()> {
        let _maintenance = self.lock_maintenance();
        // It may have been split, or altered, while the files were brought here.
        self.check_open()?;
        if assign_sequence {
            return self.flush_and_add(|sequence| self.place(staged, sequence));
        }
        let mut files: Vec<Vec<Arc<StoreFile>>> = self.snapshot_ref().stores.iter().map(|_| Vec::new()).collect();
        self.place(staged, 0)?.into_iter().for_each(|(index, file)| files[index].push(file));
        self.add_files(&files, None).inspect_err(|_| {
            self.shared.settle(files.iter().flatten().flat_map(|file| file.homes()));
        })?;
        self.swap(|current| {
            let mut stores = current.stores.clone();
            for (store, files) in stores.iter_mut().zip(files) {
                store.files.extend(files);
                StoreSnapshot::sort_files(&mut store.files);
            }
            current.with_stores(stores)
        });
        Ok(())
    }

    /// Moves the files to their stores under names that say their sequence id, and opens them.
    fn place(&self, staged: &[Staged], sequence: u64) -> Result<Vec<LoadedFile>> {
        let mut placed = Vec::new();
        let entry = |file: &Staged| FileEntry { loaded_sequence: Some(sequence), ..FileEntry::own(layout::loaded_name(&file.name, sequence)) };
        let done = staged.iter().try_for_each(|file| {
            let home = entry(file).place(&self.info, &file.family);
            let failed = |error| Error::io(format!("moving the file to be loaded to {}/{}", self.shared.env.fs.root(), home.path()), error);
            self.shared.env.fs.rename(&self.staged_path(&file.name), &home.path()).map_err(failed)?;
            placed.push(home);
            Ok(())
        });
        let opened = done.and_then(|()| {
            let families: BTreeSet<&Bytes> = staged.iter().map(|file| &file.family).collect();
            for family in families {
                let directory = layout::family_directory(&self.info.table, &self.info.encoded_name, family);
                let failed = |error| Error::io(format!("syncing {}/{directory}", self.shared.env.fs.root()), error);
                self.shared.env.fs.sync_dir(&directory).map_err(failed)?;
            }
            let snapshot = self.snapshot();
            let open = |file: &Staged| Ok((snapshot.family_index(&file.family)?, self.shared.files.open(&self.info, &file.family, entry(file))?));
            staged.iter().map(open).collect()
        });
        opened.inspect_err(|_| {
            self.shared.settle(placed);
        })
    }
}
