//! Export of a table as a snapshot for HBase. The engine says what it consists of; here it is
//! written.
//!
//! `.hbase-snapshot/.tmp/NAME` with the description and the manifest comes first, as in HBase's own
//! export: a running HBase keeps the files that it names. Then come the store files, and a rename
//! makes the snapshot. A failure before the rename removes everything that was created; afterwards
//! HBase may use the snapshot, so that all of it stays. A killed export leaves store
//! files that the next one finds: their names are unique, and each is complete. It also leaves the
//! temporary directory, with a file that tells it from one of HBase. While an export runs, the
//! directory is locked: an export of another store to the same name would remove its files.

mod written;

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, bail};
use halite::{SnapshotDescriptor, Store, TableName};
use halite_engine::env::Env;
use halite_engine::{ExportFile, SnapshotExport, writable_bytes};
use indicatif::{ProgressBar, ProgressStyle};

use self::written::{Paths, Placed, Placing, Written};
use crate::store_place::check_is_outside;
use crate::text_table::grouped;

/// Directory of HBase's snapshots.
const SNAPSHOTS: &str = ".hbase-snapshot";
/// File in the temporary directory of an export.
const EXPORT_MARK: &str = "halite.export";
/// Prefix of the snapshots that exports take in the store, and delete.
const SNAPSHOT_PREFIX: &str = "halite-export-";
/// Bytes of the name of the snapshot for HBase in the names of these.
const MAX_NAME_PART: usize = 200;
/// Owner of these snapshots, which distinguishes them from those of users.
const SNAPSHOT_OWNER: &str = "halite export";

/// Export of one table.
pub(crate) struct ExportJob<'a> {
    pub(crate) table: &'a TableName,
    /// Name of the snapshot for HBase.
    pub(crate) name: &'a str,
    /// Directory of the export.
    pub(crate) to: &'a Path,
    /// Link files where possible.
    pub(crate) links: bool,
    /// Read and verify every byte of the store files first.
    pub(crate) verifies: bool,
}

/// What was exported, or would be.
#[derive(Default)]
pub(crate) struct Exported {
    pub(crate) regions: usize,
    pub(crate) linked_files: u64,
    pub(crate) linked_bytes: u64,
    pub(crate) copied_files: u64,
    pub(crate) copied_bytes: u64,
    /// Files of an earlier, interrupted export.
    pub(crate) known_files: u64,
    pub(crate) seconds: f64,
}

impl Exported {
    fn add(&mut self, placed: Placed, bytes: u64) {
        match placed {
            Placed::Linked => {
                self.linked_files += 1;
                self.linked_bytes += bytes;
            }
            Placed::Copied => {
                self.copied_files += 1;
                self.copied_bytes += bytes;
            }
            Placed::Known => self.known_files += 1,
        }
    }
}

/// Checks that a disk has room for the files that are copied to it.
fn check_room(copied: u64, writable: Option<u64>, disk: &Path) -> anyhow::Result<()> {
    match writable {
        Some(writable) if writable < copied => bail!(
            "the export copies {} bytes, and the disk of {} has {} to write to; make room, or \
             export to another disk. Files that an earlier export left there are not copied again",
            grouped(copied),
            disk.display(),
            grouped(writable)
        ),
        _ => Ok(()),
    }
}

impl ExportJob<'_> {
    /// Returns what an export would take now, apart from cells in memory.
    ///
    /// # Errors
    /// Returns an error if the export would be refused, or the disk has no room for its copies.
    pub(crate) fn estimate(&self, store: &Store) -> anyhow::Result<Exported> {
        self.check()?;
        let export = store.engine().export_table(self.table)?;
        let absolute = std::path::absolute(self.to)?;
        let existing = absolute.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
        let device = device(existing)?;
        let mut estimate = Exported { regions: export.regions, ..Exported::default() };
        for file in &export.files {
            let is_linked = self.links && device_of(file)? == device;
            estimate.add(if is_linked { Placed::Linked } else { Placed::Copied }, file.bytes);
        }
        check_room(estimate.copied_bytes, writable_bytes(&Env::os(existing)?), existing)?;
        Ok(estimate)
    }

    /// Exports the table.
    ///
    /// # Errors
    /// Returns an error if the directory has such a snapshot, is in a store of Halite, or cannot be
    /// written. Nothing remains of the export then, unless only its end could not be made durable.
    pub(crate) fn run(&self, store: &Store) -> anyhow::Result<Exported> {
        let began = Instant::now();
        let engine = store.engine();
        // One process at a time opens a store, so these are of exports that were killed. They go
        // before a refusal: one that was killed after its last step has made what is refused.
        for old in engine.snapshots().iter().filter(|old| old.owner == SNAPSHOT_OWNER) {
            engine.delete_snapshot(&old.name)?;
        }
        self.check()?;
        let snapshot = free_name(&engine.snapshots(), self.name);
        engine.create_snapshot(&SnapshotDescriptor {
            owner: SNAPSHOT_OWNER.to_owned(),
            ..SnapshotDescriptor::new(&snapshot[..], self.table.clone())
        })?;
        let written = engine
            .export_snapshot(&snapshot, self.name)
            .map_err(anyhow::Error::from)
            .and_then(|export| self.write(&export, sync_directory));
        let deleted = engine.delete_snapshot(&snapshot);
        let mut exported = written?;
        deleted?;
        exported.seconds = began.elapsed().as_secs_f64();
        Ok(exported)
    }

    fn check(&self) -> anyhow::Result<()> {
        // HBase has the same rule.
        SnapshotDescriptor::new(self.name, self.table.clone()).check()?;
        check_is_outside(self.to, "give another directory, or that of HBase")?;
        if self.to.join("halite").exists() {
            bail!(
                "{} is a store of Halite; give another directory, or that of HBase",
                self.to.display()
            );
        }
        let existing = self.to.join(SNAPSHOTS).join(self.name);
        if existing.exists() {
            bail!(
                "snapshot {} exists already: {}; choose another name with --name, or delete it \
                 with HBase",
                self.name,
                existing.display()
            );
        }
        self.check_temporary()
    }

    /// Returns the directory in which the snapshot is made.
    fn temporary(&self) -> PathBuf {
        self.to.join(SNAPSHOTS).join(".tmp").join(self.name)
    }

    /// Checks that no one else makes a snapshot of that name.
    fn check_temporary(&self) -> anyhow::Result<()> {
        let temporary = self.temporary();
        if temporary.exists() && !temporary.join(EXPORT_MARK).exists() {
            bail!(
                "{} exists: HBase is creating a snapshot of that name, or failed to; wait for it \
                 or remove the directory, or choose another name with --name",
                temporary.display()
            );
        }
        Ok(())
    }

    /// Takes the directory in which the snapshot is made, which is empty then but for the mark.
    /// Another export, of a store elsewhere to the same directory, is refused as long as `written`
    /// exists.
    fn take_temporary(&self, written: &mut Written) -> anyhow::Result<()> {
        let temporary = self.temporary();
        let is_new = !temporary.exists();
        written.make_parents(&temporary)?;
        if is_new {
            make_marked(&temporary).with_context(|| format!("creating {}", temporary.display()))?;
        }
        let failed = || format!("examining {}", temporary.display());
        let directory = fs::File::open(&temporary).with_context(failed)?;
        // Some network file systems have no locks; then two exports at once are not noticed.
        let is_taken = matches!(directory.try_lock(), Err(fs::TryLockError::WouldBlock));
        let opened = directory.metadata().with_context(failed)?;
        // An export that held the lock until now has given the directory its final name.
        let is_same = fs::metadata(&temporary)
            .is_ok_and(|found| (found.dev(), found.ino()) == (opened.dev(), opened.ino()));
        if is_taken || !is_same {
            bail!(
                "another export is writing snapshot {} to {}; wait for it, or choose another name \
                 with --name",
                self.name,
                self.to.display()
            );
        }
        if !is_new {
            self.check_temporary()?;
            // Of an export that was killed.
            let cleared = clear(&temporary);
            cleared.with_context(|| format!("clearing {}", temporary.display()))?;
        }
        written.own_directory(&temporary);
        written.lock = Some(directory);
        Ok(())
    }

    /// Writes the files, and makes the snapshot of them. `sync` makes the names in a directory
    /// durable.
    fn write(
        &self,
        export: &SnapshotExport,
        sync: fn(&Path) -> io::Result<()>,
    ) -> anyhow::Result<Exported> {
        let mut written = Written::default();
        let exported = self.write_all(export, &mut written).inspect_err(|_| written.remove())?;
        let snapshots = self.to.join(SNAPSHOTS);
        sync(&snapshots).with_context(|| {
            format!(
                "snapshot {} is in {} with all its files, and HBase can use it, but it may be gone \
                 after a power failure: delete it with HBase and repeat the export, or sync the \
                 disk",
                self.name,
                snapshots.display()
            )
        })?;
        Ok(exported)
    }

    fn write_all(
        &self,
        export: &SnapshotExport,
        written: &mut Written,
    ) -> anyhow::Result<Exported> {
        let snapshots = self.to.join(SNAPSHOTS);
        let temporary = self.temporary();
        self.take_temporary(written)?;
        written.write(&temporary.join(EXPORT_MARK), b"")?;
        written.write(&temporary.join(".snapshotinfo"), &export.description)?;
        written.write(&temporary.join("data.manifest"), &export.manifest)?;
        if self.verifies {
            verify(&export.files)?;
        }
        let bar = progress("exporting", export.files.iter().map(|file| file.bytes).sum());
        let mut exported = Exported { regions: export.regions, ..Exported::default() };
        let partial = temporary.join("partial");
        let placing = Placing { links: self.links, compares: self.verifies };
        for file in &export.files {
            let target = self.to.join(&file.target);
            let paths = Paths { target: &target, partial: &partial };
            let placed = written.place(file, paths, placing, |bytes| bar.inc(bytes))?;
            exported.add(placed, file.bytes);
        }
        bar.finish_and_clear();
        written.sync_directories()?;
        for file in &export.files {
            let target = self.to.join(&file.target);
            if !target.is_file() {
                bail!("{} was removed while the export ran; repeat it", target.display());
            }
        }
        // A snapshot that another process has created meanwhile is not empty, and stays.
        let last = snapshots.join(self.name);
        fs::rename(&temporary, &last).with_context(|| format!("creating {}", last.display()))?;
        // Without it a killed export could not be told from one of HBase, so it goes last. HBase
        // does not read it.
        drop(fs::remove_file(last.join(EXPORT_MARK)));
        Ok(exported)
    }
}

/// Returns a name that no snapshot has. The end of a long one is left out: its length is limited.
fn free_name(snapshots: &[SnapshotDescriptor], name: &str) -> String {
    let name = &name[..name.floor_char_boundary(MAX_NAME_PART)];
    let is_free = |name: &String| snapshots.iter().all(|snapshot| snapshot.name != *name);
    let numbered = (2..).map(|number| format!("{SNAPSHOT_PREFIX}{name}-{number}"));
    let mut names = std::iter::once(format!("{SNAPSHOT_PREFIX}{name}")).chain(numbered);
    names.find(is_free).expect("there are more names than snapshots")
}

/// Creates a directory that has the mark of exports from the beginning: without it, it would be
/// taken for one of HBase. A killed process may leave one of another name beside it.
fn make_marked(directory: &Path) -> io::Result<()> {
    let parent = directory.parent().unwrap_or(Path::new("."));
    let mut named = tempfile::Builder::new();
    let named = named.prefix("halite-export-").permissions(fs::Permissions::from_mode(0o777));
    let made = named.tempdir_in(parent)?;
    fs::File::create(made.path().join(EXPORT_MARK))?;
    fs::rename(made.path(), directory)?;
    let _ = made.keep();
    Ok(())
}

/// Removes what is in a directory but for the mark of exports.
fn clear(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name() == EXPORT_MARK {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn sync_directory(path: &Path) -> io::Result<()> {
    fs::File::open(path)?.sync_all()
}

fn device(path: &Path) -> anyhow::Result<u64> {
    Ok(fs::metadata(path).with_context(|| format!("examining {}", path.display()))?.dev())
}

fn device_of(file: &ExportFile) -> anyhow::Result<u64> {
    let [live, archived] = &file.paths;
    device(Path::new(live)).or_else(|_| device(Path::new(archived)))
}

/// Verifies that no store file is damaged: HBase would find out when it reads it.
fn verify(files: &[ExportFile]) -> anyhow::Result<()> {
    let bar = progress("verifying", files.iter().map(|file| file.bytes).sum());
    for file in files {
        let [live, archived] = &file.paths;
        let path = if Path::new(live).exists() { live } else { archived };
        let opened = crate::hfile::open(Path::new(path))?;
        opened.verify().context(
            "halite check finds all damage of the store; --no-verify exports the file as it is",
        )?;
        bar.inc(file.bytes);
    }
    bar.finish_and_clear();
    Ok(())
}

fn progress(what: &'static str, bytes: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes}, {binary_bytes_per_sec}, {eta}",
    )
    .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(bytes).with_style(style).with_message(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn export_over_the_free_space_is_refused() {
        let check = |copied, writable| check_room(copied, writable, Path::new("/mnt/out"));
        for (copied, writable) in [(0, Some(0)), (1000, Some(1000)), (1 << 60, None)] {
            check(copied, writable).unwrap();
        }
        let error = check(1001, Some(1000)).unwrap_err().to_string();
        for part in ["copies 1,001 bytes", "/mnt/out has 1,000", "make room"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn snapshot_of_long_name_has_a_valid_one() {
        let table: TableName = "t".parse().unwrap();
        for long in ["n".repeat(250), "\u{540d}".repeat(82)] {
            let name = free_name(&[], &long);
            SnapshotDescriptor::new(&name[..], table.clone()).check().unwrap();
            let taken = SnapshotDescriptor::new(&name[..], table.clone());
            assert_eq!(free_name(&[taken], &long), format!("{name}-2"));
        }
    }

    /// Store with an empty table, in `store` of a directory.
    fn store_with_table() -> (tempfile::TempDir, Store, TableName) {
        let folder = tempfile::tempdir().unwrap();
        let store = halite::open(folder.path().join("store")).unwrap();
        let table: TableName = "t".parse().unwrap();
        let families =
            halite::TableDescriptor::new(table.clone()).family(halite::FamilyDescriptor::new("f"));
        store.create_table(families, &[]).unwrap();
        (folder, store, table)
    }

    #[test]
    fn refused_export_deletes_the_snapshot_of_a_killed_one() {
        let (folder, store, table) = store_with_table();
        let to = folder.path().join("out");
        let job = ExportJob { table: &table, name: "s", to: &to, links: true, verifies: false };
        job.run(&store).unwrap();
        for (name, owner) in [("halite-export-s", SNAPSHOT_OWNER), ("daily", "ops")] {
            let snapshot = SnapshotDescriptor::new(name, table.clone());
            let engine = store.engine();
            engine
                .create_snapshot(&SnapshotDescriptor { owner: owner.into(), ..snapshot })
                .unwrap();
        }
        let error = job.run(&store).err().unwrap();
        assert!(error.to_string().starts_with("snapshot s exists already"), "{error}");
        let names: Vec<_> = store.engine().snapshots().into_iter().map(|left| left.name).collect();
        assert_eq!(names, ["daily"]);
    }

    #[test]
    fn export_that_another_one_is_writing_is_refused() {
        let (folder, store, table) = store_with_table();
        let to = folder.path().join("out");
        let job = ExportJob { table: &table, name: "s", to: &to, links: true, verifies: false };
        let temporary = job.temporary();
        let mut other = Written::default();
        job.take_temporary(&mut other).unwrap();
        fs::write(temporary.join("data.manifest"), "of the other").unwrap();
        let error = job.run(&store).err().unwrap().to_string();
        assert!(error.starts_with("another export is writing snapshot s"), "{error}");
        assert_eq!(fs::read_to_string(temporary.join("data.manifest")).unwrap(), "of the other");
        // It was killed.
        drop(other);
        job.run(&store).unwrap();
        let manifest = fs::read(to.join(".hbase-snapshot/s/data.manifest")).unwrap();
        assert_ne!(manifest, b"of the other");
        assert!(!temporary.exists());
    }

    #[test]
    fn failed_sync_keeps_the_snapshot_and_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        fs::write(&source, "cells").unwrap();
        let source = source.to_str().unwrap().to_owned();
        let target = "archive/data/default/t/ab/f/cd";
        let table: TableName = "t".parse().unwrap();
        let export = SnapshotExport {
            table: table.clone(),
            regions: 1,
            files: vec![ExportFile {
                paths: [source.clone(), source],
                target: target.to_owned(),
                bytes: 5,
            }],
            description: b"description".to_vec(),
            manifest: b"manifest".to_vec(),
        };
        let to = folder.path().join("out");
        let job = ExportJob { table: &table, name: "s", to: &to, links: true, verifies: false };
        let error = job.write(&export, |_| Err(io::Error::other("no"))).err().unwrap();
        assert!(error.to_string().starts_with("snapshot s is in"), "{error}");
        assert_eq!(fs::read_to_string(to.join(target)).unwrap(), "cells");
        for (file, text) in [(".snapshotinfo", "description"), ("data.manifest", "manifest")] {
            let path = to.join(".hbase-snapshot/s").join(file);
            assert_eq!(fs::read_to_string(path).unwrap(), text);
        }
    }
}
