//! Files of an export, and what to remove if it fails.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind as Io, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use halite_engine::ExportFile;

/// Bytes copied at a time.
const COPY_BYTES: usize = 1 << 20;

/// How a file came to its place.
#[derive(Clone, Copy)]
pub(super) enum Placed {
    Linked,
    Copied,
    /// It was there.
    Known,
}

/// Paths of a store file of the export.
#[derive(Clone, Copy)]
pub(super) struct Paths<'a> {
    /// Its place.
    pub(super) target: &'a Path,
    /// Where it is while it is copied, in the same file system. HBase removes files with unknown
    /// names beside its own.
    pub(super) partial: &'a Path,
}

/// How files are placed.
#[derive(Clone, Copy)]
pub(super) struct Placing {
    /// Link them where possible. Otherwise even one that is a link already is copied.
    pub(super) links: bool,
    /// Compare one that is there already byte by byte, not only its length.
    pub(super) compares: bool,
}

/// Files and directories that were created.
#[derive(Default)]
pub(super) struct Written {
    files: Vec<PathBuf>,
    directories: Vec<PathBuf>,
    /// Directories with new names in them.
    changed: BTreeSet<PathBuf>,
    /// Lock on the directory in which the snapshot is made, until all of this is removed.
    pub(super) lock: Option<File>,
}

impl Written {
    /// Links or copies a store file to its target. `progress` is called with bytes that are there.
    ///
    /// # Errors
    /// Returns an error if another file has the target's name, or it cannot be written.
    pub(super) fn place(
        &mut self,
        file: &ExportFile,
        paths: Paths<'_>,
        placing: Placing,
        progress: impl Fn(u64),
    ) -> anyhow::Result<Placed> {
        let Paths { target, partial } = paths;
        if is_known(file, target, placing)? {
            progress(file.bytes);
            return Ok(Placed::Known);
        }
        let failed = || format!("writing {}", target.display());
        self.make_parents(target)?;
        if placing.links && link(file, target).with_context(failed)? {
            self.add(target);
            progress(file.bytes);
            return Ok(Placed::Linked);
        }
        // A killed export leaves no incomplete file under the final name.
        self.files.push(partial.to_owned());
        copy(file, partial, progress)
            .and_then(|()| fs::rename(partial, target))
            .with_context(failed)?;
        self.files.pop();
        self.add(target);
        Ok(Placed::Copied)
    }

    /// Writes a small file, durably.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub(super) fn write(&mut self, target: &Path, bytes: &[u8]) -> anyhow::Result<()> {
        self.make_parents(target)?;
        self.add(target);
        File::create(target)
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
            .with_context(|| format!("writing {}", target.display()))
    }

    /// Makes the new names durable.
    ///
    /// # Errors
    /// Returns an error if a directory cannot be synced.
    pub(super) fn sync_directories(&self) -> anyhow::Result<()> {
        for directory in self.changed.iter().rev() {
            File::open(directory)
                .and_then(|opened| opened.sync_all())
                .with_context(|| format!("syncing {}", directory.display()))?;
        }
        Ok(())
    }

    /// Removes everything that was created, as far as possible.
    pub(super) fn remove(&self) {
        self.files.iter().for_each(|file| drop(fs::remove_file(file)));
        self.directories.iter().rev().for_each(|directory| drop(fs::remove_dir(directory)));
    }

    /// Counts a directory that was there as one that was created.
    pub(super) fn own_directory(&mut self, directory: &Path) {
        self.directories.push(directory.to_owned());
    }

    fn add(&mut self, file: &Path) {
        self.files.push(file.to_owned());
        self.changed.extend(file.parent().map(Path::to_owned));
    }

    /// Creates the directories that a file is to be in.
    ///
    /// # Errors
    /// Returns an error if one cannot be created.
    pub(super) fn make_parents(&mut self, target: &Path) -> anyhow::Result<()> {
        let missing: Vec<&Path> =
            target.ancestors().skip(1).take_while(|directory| !directory.exists()).collect();
        for directory in missing.into_iter().rev() {
            if directory.as_os_str().is_empty() {
                continue;
            }
            fs::create_dir(directory)
                .with_context(|| format!("creating {}", directory.display()))?;
            self.directories.push(directory.to_owned());
            let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty());
            self.changed.insert(parent.unwrap_or(Path::new(".")).to_owned());
        }
        Ok(())
    }
}

/// Returns `true` if a file is at its target and may stay, and `false` if it is to be placed there.
///
/// # Errors
/// Returns an error if another file is there.
fn is_known(file: &ExportFile, target: &Path, placing: Placing) -> anyhow::Result<bool> {
    let Ok(about) = fs::symlink_metadata(target) else { return Ok(false) };
    if !about.is_file() || about.len() != file.bytes {
        bail!(
            "{}: another file is where a store file of {} bytes is to be; move it away",
            target.display(),
            file.bytes
        );
    }
    let source = at_either(file, |path| fs::metadata(path)).context("examining a store file")?;
    if (source.dev(), source.ino()) == (about.dev(), about.ino()) {
        return Ok(placing.links);
    }
    let compared =
        || at_either(file, |path| File::open(path)).and_then(|source| is_equal(source, target));
    if placing.compares && !compared().with_context(|| format!("reading {}", target.display()))? {
        bail!(
            "{}: the file that is there has the length and not the content of the store file; it \
             is damaged, and so are snapshots with it: move it away and repeat the export",
            target.display()
        );
    }
    Ok(true)
}

fn is_equal(mut left: File, right: &Path) -> io::Result<bool> {
    let mut right = File::open(right)?;
    let (mut a, mut b) = (vec![0; COPY_BYTES], vec![0; COPY_BYTES]);
    loop {
        let count = left.read(&mut a)?;
        if count == 0 {
            return Ok(right.read(&mut b)? == 0);
        }
        match right.read_exact(&mut b[..count]) {
            Err(error) if error.kind() == Io::UnexpectedEof => return Ok(false),
            read => read?,
        }
        if a[..count] != b[..count] {
            return Ok(false);
        }
    }
}

/// Calls `with` with the path that a file has; it may move to the second one at any time.
fn at_either<T>(file: &ExportFile, with: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
    let [live, archived] = &file.paths;
    match with(Path::new(live)) {
        Err(error) if error.kind() == Io::NotFound => with(Path::new(archived)),
        done => done,
    }
}

/// Returns `false` if the file can only be copied.
fn link(file: &ExportFile, target: &Path) -> io::Result<bool> {
    match at_either(file, |path| fs::hard_link(path, target)) {
        Err(error)
            if matches!(
                error.kind(),
                Io::CrossesDevices | Io::PermissionDenied | Io::TooManyLinks | Io::Unsupported
            ) =>
        {
            Ok(false)
        }
        linked => linked.map(|()| true),
    }
}

fn copy(file: &ExportFile, target: &Path, progress: impl Fn(u64)) -> io::Result<()> {
    let mut from = at_either(file, |path| File::open(path))?;
    let mut to = File::create(target)?;
    let mut buffer = vec![0; COPY_BYTES];
    let mut copied = 0;
    loop {
        let bytes = from.read(&mut buffer)?;
        if bytes == 0 {
            break;
        }
        to.write_all(&buffer[..bytes])?;
        copied += bytes as u64;
        progress(bytes as u64);
    }
    if copied != file.bytes {
        return Err(io::Error::new(
            Io::InvalidData,
            format!("the store file has {copied} bytes, and the store says {}", file.bytes),
        ));
    }
    to.sync_all()
}
