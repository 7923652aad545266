//! Real environment: files below a directory, the system's clock, randomness and threads.
//!
//! Files are read with `pread`, so readers share one handle. A file has one writer, whose position
//! is its handle's.
#![expect(
    clippy::disallowed_methods,
    reason = "this file is the door that everything else goes through"
)]

use std::collections::btree_map::{BTreeMap, Entry};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, FileType, Metadata, OpenOptions, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _,
    PermissionsExt as _,
};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::file_lock::FileLock;
use super::os_reader::OsReader;
use super::rng::SeededRng;
use super::{
    Clock, DirEntry, DiskSpace, Env, FileIdentity, FileKind, FileReader, FileWriter, Fs,
    JoinHandle, Lock, MAX_CLOCK_WAIT_MS, Threads, not_a_file,
};
use halite_types::{Error, Result};
use rustix::fs::{OFlags, StatVfs};

/// Modes of the directories and files of a store: accessible only by the owner.
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

impl Env {
    /// Returns the operating system's environment, with files below `root`. The directory is
    /// created, durably, if it does not exist.
    ///
    /// # Errors
    /// `ReadOnly`, `DiskFull` or `Io` if `root` cannot be created; `InvalidRequest` if it is not a
    /// directory.
    pub fn os(root: impl AsRef<Path>) -> Result<Self> {
        let root = root.as_ref();
        make_root(root).map_err(|error| {
            Error::io(format!("store directory {}: cannot be made", root.display()), error)
        })?;
        if !root.is_dir() {
            return Err(Error::invalid(format!(
                "store directory {}: this is not a directory; give the path of one",
                root.display()
            )));
        }
        let fs = OsFs::new(root).map_err(|error| {
            Error::io(format!("store directory {}: cannot be opened", root.display()), error)
        })?;
        Ok(Self {
            fs: Arc::new(fs),
            clock: Arc::new(OsClock::default()),
            rng: Arc::new(system_rng()),
            threads: Arc::new(OsThreads),
        })
    }
}

/// Creates `root`, for its owner only, and its missing parents, each durable before the next is
/// created in it.
fn make_root(root: &Path) -> io::Result<()> {
    make_path(root, make_private_directory)
}

fn make_path(path: &Path, make: fn(&Path) -> io::Result<()>) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Ok(()),
    };
    make_path(parent, |parent| fs::create_dir(parent))?;
    match make(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => other?,
    }
    File::open(parent)?.sync_all()
}

fn make_private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(DIRECTORY_MODE).create(path)?;
    // A restrictive umask may have cleared bits that the owner needs.
    fs::set_permissions(path, Permissions::from_mode(DIRECTORY_MODE))
}

/// Directories that are opened once: a failed sync for lack of a file descriptor would stop the
/// store permanently.
const KEPT_OPEN: [&str; 2] = ["halite", "halite/wal"];

/// Files below one directory of the operating system.
#[derive(Debug)]
pub struct OsFs {
    root: PathBuf,
    kept_open: Mutex<BTreeMap<String, Arc<File>>>,
}

impl OsFs {
    /// Returns the files below `root`, even if the process changes its current directory later.
    ///
    /// # Errors
    /// If the current directory is needed to find `root` and no longer exists.
    pub fn new(root: &Path) -> io::Result<Self> {
        Ok(Self { root: std::path::absolute(root)?, kept_open: Mutex::default() })
    }

    fn path(&self, path: &str) -> io::Result<PathBuf> {
        let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        if inside {
            Ok(self.root.join(path))
        } else {
            Err(invalid(format!("{path:?} does not lie below the store directory")))
        }
    }

    /// Returns the path of a file outside the store's own files, with symbolic links resolved.
    fn external_path(&self, path: &str) -> io::Result<PathBuf> {
        if !Path::new(path).is_absolute() {
            return Err(invalid(format!("{path} is not a whole path; begin it with /")));
        }
        let real = fs::canonicalize(path)?;
        let inside = fs::canonicalize(&self.root)
            .is_ok_and(|root| real.starts_with(&root) && !real.starts_with(root.join("staging")));
        if inside {
            return Err(invalid(format!(
                "{path} lies in the store directory; only what is below {}/staging may be taken \
                 from there",
                self.root.display()
            )));
        }
        // Opening anything else might block indefinitely, or affect a device.
        if fs::metadata(&real)?.is_file() {
            Ok(real)
        } else {
            Err(invalid(format!("{path} is not a file")))
        }
    }
}

fn flags(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

/// Opens a regular file for reading. Anything else is not opened, or opened without blocking: a
/// pipe would have no process at its other end.
fn open_file(path: &Path) -> io::Result<File> {
    let not_a_file = |metadata: Metadata| {
        (!metadata.is_file()).then(|| not_a_file(kind_of(metadata.file_type())))
    };
    match OpenOptions::new().read(true).custom_flags(flags(OFlags::NONBLOCK)).open(path) {
        Ok(file) => not_a_file(file.metadata()?).map_or(Ok(file), Err),
        Err(error) => Err(fs::metadata(path).ok().and_then(not_a_file).unwrap_or(error)),
    }
}

/// Opens a directory for syncing; fails for anything else.
pub(super) fn open_directory(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(flags(OFlags::DIRECTORY)).open(path)
}

/// Returns the kind of a file type.
pub(super) fn kind_of(file_type: FileType) -> FileKind {
    match file_type {
        of if of.is_file() => FileKind::File,
        of if of.is_dir() => FileKind::Directory,
        of if of.is_symlink() => FileKind::Link,
        of if of.is_fifo() => FileKind::Other("a named pipe"),
        of if of.is_socket() => FileKind::Other("a socket"),
        _ => FileKind::Other("a device"),
    }
}

/// Returns a name with its bytes that are not UTF-8 as `\xNN`.
fn escaped(name: &OsStr) -> String {
    let chunks = name.as_encoded_bytes().utf8_chunks();
    chunks
        .flat_map(|chunk| [chunk.valid().to_owned(), chunk.invalid().escape_ascii().to_string()])
        .collect()
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

impl Fs for OsFs {
    fn root(&self) -> String {
        self.root.display().to_string()
    }

    fn create(&self, path: &str) -> io::Result<Box<dyn FileWriter>> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(FILE_MODE)
            .open(self.path(path)?)?;
        file.set_permissions(Permissions::from_mode(FILE_MODE))?;
        Ok(Box::new(OsWriter { file }))
    }

    fn append(&self, path: &str) -> io::Result<Box<dyn FileWriter>> {
        let mut file = OpenOptions::new()
            .write(true)
            .custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK))
            .open(self.path(path)?)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Box::new(OsWriter { file }))
    }

    fn open(&self, path: &str) -> io::Result<Arc<dyn FileReader>> {
        Ok(Arc::new(OsReader { file: open_file(&self.path(path)?)? }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from)?, self.path(to)?)
    }

    fn remove_file(&self, path: &str) -> io::Result<()> {
        fs::remove_file(self.path(path)?)
    }

    fn remove_dir(&self, path: &str) -> io::Result<()> {
        fs::remove_dir(self.path(path)?)
    }

    fn create_dir_all(&self, path: &str) -> io::Result<()> {
        let mut made = self.root.clone();
        for part in
            self.path(path)?.strip_prefix(&self.root).map_err(io::Error::other)?.components()
        {
            made.push(part);
            match make_private_directory(&made) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && made.is_dir() => {}
                done => done?,
            }
        }
        Ok(())
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(self.path(path)?)? {
            let entry = entry?;
            let name = match entry.file_name().into_string() {
                Ok(name) => name,
                Err(name) => {
                    entries.push(DirEntry {
                        name: escaped(&name),
                        is_dir: false,
                        bytes: 0,
                        unexpected: Some("something whose name is not UTF-8"),
                    });
                    continue;
                }
            };
            // The directory entry contains its type, so no further call is needed.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                entries.push(DirEntry { name, is_dir: true, bytes: 0, unexpected: None });
                continue;
            }
            // A link counts as its target, so that a table may be on another disk.
            let metadata = match fs::metadata(entry.path()).or_else(|_| entry.metadata()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            let (is_dir, odd) = match kind_of(metadata.file_type()) {
                FileKind::File => (false, None),
                FileKind::Directory => (true, None),
                FileKind::Link => (false, Some("a symbolic link without a target")),
                FileKind::Other(what) => (false, Some(what)),
            };
            entries.push(DirEntry {
                name,
                is_dir,
                bytes: if is_dir { 0 } else { metadata.len() },
                unexpected: odd,
            });
        }
        entries.sort_unstable();
        Ok(entries)
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        match self.path(path)?.try_exists() {
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
            exists => exists,
        }
    }

    fn kind(&self, path: &str) -> io::Result<Option<FileKind>> {
        match fs::symlink_metadata(self.path(path)?) {
            Ok(metadata) => Ok(Some(kind_of(metadata.file_type()))),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn identity(&self, path: &str) -> io::Result<Option<FileIdentity>> {
        match fs::metadata(self.path(path)?) {
            Ok(metadata) => Ok(Some(identity_of(&metadata))),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        if !KEPT_OPEN.contains(&path) {
            return open_directory(&self.path(path)?)?.sync_all();
        }
        // A sync of one directory need not wait for that of the other.
        let directory = match self
            .kept_open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(path.to_owned())
        {
            Entry::Occupied(kept) => Arc::clone(kept.get()),
            Entry::Vacant(place) => {
                Arc::clone(place.insert(Arc::new(open_directory(&self.path(path)?)?)))
            }
        };
        directory.sync_all()
    }

    #[cfg(target_os = "linux")]
    fn boot_id(&self) -> Option<[u8; 16]> {
        boot_id_of(&fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?)
    }

    fn space(&self) -> io::Result<Option<DiskSpace>> {
        Ok(space_of(&rustix::fs::statvfs(&self.root)?))
    }

    fn open_external(&self, path: &str) -> io::Result<Arc<dyn FileReader>> {
        Ok(Arc::new(OsReader { file: File::open(self.external_path(path)?)? }))
    }

    fn link_external(&self, path: &str, to: &str) -> io::Result<()> {
        let real = self.external_path(path)?;
        // Removing the original later would remove only the symbolic link, and the file would keep
        // a second name.
        if fs::symlink_metadata(path)?.is_symlink() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!("{path} is a symbolic link"),
            ));
        }
        fs::hard_link(real, self.path(to)?)
    }

    fn remove_external(&self, path: &str) -> io::Result<()> {
        self.external_path(path)?;
        fs::remove_file(path)
    }

    fn lock(&self, path: &str, owner: &str) -> io::Result<Option<Box<dyn Lock>>> {
        let file = (!path.is_empty()).then(|| self.path(path)).transpose()?;
        Ok(FileLock::take(&self.root, file.as_deref(), owner, FILE_MODE)?
            .map(|lock| Box::new(lock) as _))
    }

    fn is_private(&self, path: &str) -> io::Result<bool> {
        let of_others = fs::metadata(self.path(path)?)?.permissions().mode() & 0o077;
        Ok(of_others == 0)
    }
}

/// Returns the space of a file system; `None` if it is not reported. File systems without such a
/// call return zeros, which does not mean a full disk.
fn space_of(of: &StatVfs) -> Option<DiskSpace> {
    let bytes = |blocks: u64| {
        blocks.saturating_mul(if of.f_frsize == 0 { of.f_bsize } else { of.f_frsize })
    };
    let space = DiskSpace { free_bytes: bytes(of.f_bavail), total_bytes: bytes(of.f_blocks) };
    (space.total_bytes > 0).then_some(space)
}

/// Returns the bytes of a UUID in text form.
#[cfg(target_os = "linux")]
fn boot_id_of(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.trim().chars().filter(|&digit| digit != '-').collect();
    if digits.len() != 32 {
        return None;
    }
    u128::from_str_radix(&digits, 16).ok().map(u128::to_be_bytes)
}

/// Writer at the file's own cursor, so that space can be reserved after it.
struct OsWriter {
    file: File,
}

impl FileWriter for OsWriter {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    #[cfg(target_os = "linux")]
    fn begin_writeback(&self, offset: u64, bytes: u64) {
        super::writeback::begin(&self.file, offset, bytes);
    }

    #[cfg(target_os = "linux")]
    fn preallocate(&mut self, bytes: u64) -> io::Result<()> {
        let end = self.file.stream_position()?;
        Ok(rustix::fs::fallocate(&self.file, rustix::fs::FallocateFlags::empty(), end, bytes)?)
    }

    fn rewind(&mut self, bytes: u64) -> io::Result<()> {
        self.check_within(bytes)?;
        self.file.seek(SeekFrom::Start(bytes)).map(|_| ())
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.check_within(bytes)?;
        self.file.set_len(bytes)?;
        self.file.seek(SeekFrom::Start(bytes)).map(|_| ())
    }

    fn identity(&self) -> io::Result<Option<FileIdentity>> {
        Ok(Some(identity_of(&self.file.metadata()?)))
    }
}

fn identity_of(metadata: &Metadata) -> FileIdentity {
    FileIdentity {
        id: u128::from(metadata.dev()) << 64 | u128::from(metadata.ino()),
        bytes: metadata.len(),
    }
}

impl OsWriter {
    fn check_within(&self, bytes: u64) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        if bytes <= length {
            Ok(())
        } else {
            Err(invalid(format!("byte {bytes} is past the end of a file of {length} bytes")))
        }
    }
}

/// [`MAX_CLOCK_WAIT_MS`] and the rest of the current millisecond.
const MAX_CLOCK_WAIT: Duration = Duration::from_millis(MAX_CLOCK_WAIT_MS.unsigned_abs() + 1);

/// System clock.
#[derive(Debug)]
pub struct OsClock {
    start: Instant,
}

impl Default for OsClock {
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for OsClock {
    fn now_ms(&self) -> i64 {
        let milliseconds =
            |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => milliseconds(since),
            Err(before) => -milliseconds(before.duration()),
        }
    }

    fn wait_until_after(&self, ms: i64) -> bool {
        let target = Duration::from_millis(u64::try_from(ms.saturating_add(1)).unwrap_or(0));
        // A sleep may end slightly early by the wall clock; three are more than enough.
        for _ in 0..3 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            match target.checked_sub(now) {
                None | Some(Duration::ZERO) => return true,
                // The clock was set back.
                Some(missing) if missing > MAX_CLOCK_WAIT => return false,
                Some(missing) => std::thread::sleep(missing),
            }
        }
        self.now_ms() > ms
    }

    fn monotonic_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Returns a generator seeded by the system.
fn system_rng() -> SeededRng {
    // The standard library seeds its hash maps with the system's randomness, which avoids a
    // separate system call.
    SeededRng::new(RandomState::new().hash_one(std::process::id()))
}

/// System threads.
#[derive(Clone, Copy, Debug)]
pub struct OsThreads;

impl Threads for OsThreads {
    fn spawn(
        &self,
        name: &str,
        work: Box<dyn FnOnce() + Send>,
    ) -> io::Result<Option<Box<dyn JoinHandle>>> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Some(Box::new(OsJoinHandle(thread))))
    }
}

struct OsJoinHandle(std::thread::JoinHandle<()>);

impl JoinHandle for OsJoinHandle {
    fn join(self: Box<Self>) {
        // The thread's panic hook has reported a panic; only the end matters here.
        let _ = self.0.join();
    }
}

#[cfg(test)]
mod tests {
    use super::super::is_not_a_file;
    use super::*;

    #[test]
    fn external_file_is_opened_linked_and_removed() {
        let (directory, env) = env();
        let path = directory.path().join("outside");
        fs::write(&path, "cells").unwrap();
        let link = directory.path().join("symbolic");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let name = |path: &Path| path.to_str().unwrap().to_owned();
        assert_eq!(env.fs.open_external(&name(&link)).unwrap().len().unwrap(), 5);
        assert_eq!(
            env.fs.link_external(&name(&link), "inside").unwrap_err().kind(),
            io::ErrorKind::Unsupported
        );
        env.fs.link_external(&name(&path), "inside").unwrap();
        env.fs.remove_external(&name(&path)).unwrap();
        assert!(!path.exists());
        assert_eq!(env.fs.open("inside").unwrap().len().unwrap(), 5);
        let own = directory.path().join("a/b/inside");
        for odd in
            ["relative".to_owned(), name(directory.path()), "/dev/null".to_owned(), name(&own)]
        {
            assert_eq!(
                env.fs.open_external(&odd).err().map(|error| error.kind()),
                Some(io::ErrorKind::InvalidInput),
                "{odd}"
            );
            assert!(
                env.fs.link_external(&odd, "other").is_err()
                    && env.fs.remove_external(&odd).is_err(),
                "{odd}"
            );
        }
    }

    fn env() -> (tempfile::TempDir, Env) {
        let directory = tempfile::tempdir().unwrap();
        let env = Env::os(directory.path().join("a/b")).unwrap();
        (directory, env)
    }

    fn read(env: &Env, path: &str) -> Vec<u8> {
        let file = env.fs.open(path).unwrap();
        let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
        file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }

    #[test]
    fn truncated_file_appends_at_its_new_end() {
        let (_directory, env) = env();
        let mut writer = env.fs.create("f").unwrap();
        writer.write_all(b"hello world").unwrap();
        writer.truncate(5).unwrap();
        writer.write_all(b"!").unwrap();
        writer.sync().unwrap();
        assert_eq!(writer.truncate(100).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        env.fs.append("f").unwrap().write_all(b"?").unwrap();
        assert_eq!(read(&env, "f"), b"hello!?");
        let mut writer = env.fs.append("f").unwrap();
        writer.rewind(5).unwrap();
        assert_eq!(read(&env, "f"), b"hello!?");
        writer.write_all(b", w").unwrap();
        assert_eq!(read(&env, "f"), b"hello, w");
        assert_eq!(writer.rewind(9).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(env.fs.create("f").err().unwrap().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(env.fs.append("g").err().unwrap().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn file_system_without_reported_size_is_not_full() {
        let of = |f_frsize, f_blocks, f_bavail| StatVfs {
            f_bsize: 512,
            f_frsize,
            f_blocks,
            f_bfree: f_bavail,
            f_bavail,
            f_files: 0,
            f_ffree: 0,
            f_favail: 0,
            f_fsid: 0,
            f_flag: rustix::fs::StatVfsMountFlags::empty(),
            f_namemax: 255,
        };
        assert_eq!(space_of(&of(4096, 0, 0)), None);
        assert_eq!(space_of(&StatVfs { f_bsize: 0, ..of(0, 0, 0) }), None);
        assert_eq!(
            space_of(&of(4096, 10, 0)),
            Some(DiskSpace { free_bytes: 0, total_bytes: 40_960 }),
            "this one is full"
        );
        assert_eq!(
            space_of(&of(0, 10, 1)),
            Some(DiskSpace { free_bytes: 512, total_bytes: 5_120 })
        );
    }

    #[test]
    fn disk_space_is_reported() {
        let (_directory, env) = env();
        let space = env.fs.space().unwrap().unwrap();
        assert!(space.total_bytes > 0 && space.free_bytes <= space.total_bytes, "{space:?}");
    }

    #[test]
    fn read_past_the_end_fails() {
        let (_directory, env) = env();
        env.fs.create("f").unwrap().write_all(b"abc").unwrap();
        let file = env.fs.open("f").unwrap();
        assert_eq!(
            file.read_exact_at(&mut [0; 4], 0).unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
        let mut two = [0; 2];
        file.read_exact_at(&mut two, 1).unwrap();
        assert_eq!(&two, b"bc");
    }

    #[test]
    fn directory_listing_is_sorted_by_name() {
        let (_directory, env) = env();
        env.fs.create_dir_all("d/c").unwrap();
        env.fs.create_dir_all("d/c").unwrap();
        env.fs.create("d/b").unwrap().write_all(b"xy").unwrap();
        env.fs.create("d/t").unwrap();
        env.fs.rename("d/t", "d/a").unwrap();
        env.fs.sync_dir("d").unwrap();
        let entry = |name: &str, is_dir, bytes| DirEntry {
            name: name.to_owned(),
            is_dir,
            bytes,
            unexpected: None,
        };
        assert_eq!(
            env.fs.list("d").unwrap(),
            [entry("a", false, 0), entry("b", false, 2), entry("c", true, 0)]
        );
        env.fs.remove_file("d/a").unwrap();
        env.fs.remove_dir("d/c").unwrap();
        assert!(
            env.fs.exists("d/b").unwrap()
                && !env.fs.exists("d/a").unwrap()
                && !env.fs.exists("d/c").unwrap()
        );
        assert_eq!(env.fs.list("").unwrap(), [entry("d", true, 0)]);
    }

    #[test]
    fn special_files_are_rejected_with_their_type_without_blocking() {
        use std::os::unix::ffi::OsStrExt as _;
        let (directory, env) = env();
        let root = directory.path().join("a/b");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("pipe"),
            rustix::fs::FileType::Fifo,
            mode,
            0,
        )
        .unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
        fs::create_dir(root.join("folder")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("link")).unwrap();
        fs::write(root.join(OsStr::from_bytes(b"\xffx")), "").unwrap();
        let odd: Vec<(String, Option<&str>)> = env
            .fs
            .list("")
            .unwrap()
            .into_iter()
            .map(|entry| (entry.name, entry.unexpected))
            .collect();
        let expected = [
            ("\\xffx", Some("something whose name is not UTF-8")),
            ("folder", None),
            ("link", Some("a symbolic link without a target")),
            ("pipe", Some("a named pipe")),
            ("socket", Some("a socket")),
        ];
        assert_eq!(odd, expected.map(|(name, odd)| (name.to_owned(), odd)));
        for (name, what) in
            [("pipe", "a named pipe"), ("socket", "a socket"), ("folder", "a directory")]
        {
            let error = env.fs.open(name).err().unwrap();
            assert!(is_not_a_file(&error) && error.to_string().contains(what), "{error}");
            assert_eq!(env.fs.kind(name).unwrap().unwrap().to_string(), what);
            let error = env.fs.lock(name, "me").err().unwrap();
            assert!(is_not_a_file(&error) && error.to_string().contains(what), "{error}");
        }
        assert_eq!(
            (env.fs.kind("link").unwrap(), env.fs.kind("nothing").unwrap()),
            (Some(FileKind::Link), None)
        );
        assert!(
            env.fs.lock("link", "me").err().unwrap().to_string().contains("a symbolic link")
                && !root.join("nowhere").exists()
        );
        assert!(
            env.fs.sync_dir("pipe").is_err()
                && !env.fs.exists("pipe/below").unwrap()
                && env.fs.kind("pipe/below").unwrap().is_none()
        );
    }

    #[test]
    fn lock_without_owner_does_not_change_lock_file() {
        let (directory, env) = env();
        let path = directory.path().join("a/b/LOCK");
        fs::write(&path, "foreign").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        drop(env.fs.lock("LOCK", "").unwrap().unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"foreign");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn lock_file_contains_its_owner() {
        let (_directory, env) = env();
        let held = env.fs.lock("LOCK", "process 17").unwrap();
        assert!(held.is_some());
        assert!(env.fs.lock("LOCK", "process 4").unwrap().is_none());
        assert_eq!(read(&env, "LOCK"), b"process 17");
        drop(held);
        assert!(env.fs.lock("LOCK", "4").unwrap().is_some());
        assert_eq!(read(&env, "LOCK"), b"4");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn boot_id_is_stable_and_validated() {
        let (_directory, env) = env();
        assert!(env.fs.boot_id().is_some() && env.fs.boot_id() == env.fs.boot_id());
        let bytes = *b"\x8b\x0e\x1c\x5f\x5a\x5a\x4a\x5e\x9c\x0d\x1d\x2e\x3f\x40\x51\x62";
        assert_eq!(boot_id_of("8b0e1c5f-5a5a-4a5e-9c0d-1d2e3f405162\n"), Some(bytes));
        assert!(
            boot_id_of("").is_none()
                && boot_id_of("8b0e1c5f").is_none()
                && boot_id_of(&"x".repeat(32)).is_none()
        );
    }

    #[test]
    fn paths_outside_the_root_are_rejected() {
        let (_directory, env) = env();
        for path in ["/etc/passwd", "../x", "a/../../x"] {
            assert_eq!(
                env.fs.open(path).err().unwrap().kind(),
                io::ErrorKind::InvalidInput,
                "{path}"
            );
        }
    }

    #[test]
    fn file_as_root_is_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        fs::write(&path, b"").unwrap();
        let error = Env::os(&path).err().unwrap();
        assert_eq!(error.kind(), halite_types::ErrorKind::InvalidRequest);
        assert!(Env::os(path.join("below")).is_err());
    }

    #[test]
    fn files_and_directories_are_private_to_their_owner() {
        let (directory, env) = env();
        env.fs.create_dir_all("c/d").unwrap();
        drop(env.fs.create("c/d/f").unwrap());
        drop(env.fs.lock("LOCK", "me").unwrap().unwrap());
        let mode = |path: &str| {
            fs::metadata(directory.path().join("a/b").join(path)).unwrap().permissions().mode()
                & 0o777
        };
        assert_eq!(
            ["", "c", "c/d", "c/d/f", "LOCK"].map(mode),
            [0o700, 0o700, 0o700, 0o600, 0o600]
        );
        assert!(env.fs.is_private("c").unwrap());
        fs::set_permissions(directory.path().join("a/b/c"), Permissions::from_mode(0o750)).unwrap();
        assert!(!env.fs.is_private("c").unwrap());
    }

    #[test]
    fn unwritable_directory_error_names_write_permission() {
        use std::os::unix::fs::PermissionsExt as _;
        let (directory, env) = env();
        let root = directory.path().join("a/b");
        fs::set_permissions(&root, Permissions::from_mode(0o555)).unwrap();
        let created = env.fs.create("f").map(drop);
        fs::set_permissions(&root, Permissions::from_mode(0o755)).unwrap();
        // The superuser may write anywhere; for other users the error kind and the message must
        // name the fix.
        if let Err(error) = created {
            let error = Error::io("file f", error);
            assert_eq!(error.kind(), halite_types::ErrorKind::ReadOnly);
            assert!(error.message().contains("write permission"), "{error}");
        } else {
            assert!(rustix::process::geteuid().is_root());
        }
    }

    #[test]
    fn threads_clock_and_random_numbers_work() {
        let (_directory, env) = env();
        let (sender, receiver) = std::sync::mpsc::channel();
        let rng = Arc::clone(&env.rng);
        let handle = env.threads.spawn(
            "worker",
            Box::new(move || {
                sender
                    .send((std::thread::current().name().map(str::to_owned), rng.next_u64()))
                    .unwrap();
            }),
        );
        handle.unwrap().unwrap().join();
        let (name, number) = receiver.recv().unwrap();
        assert_eq!(name.as_deref(), Some("worker"));
        assert_ne!(number, env.rng.next_u64());
        let before = env.clock.monotonic_ns();
        assert!(env.clock.monotonic_ns() >= before && env.clock.now_ms() > 1_700_000_000_000);
    }
}
