//! The only interface to the outside: files, time, randomness and threads.
//!
//! The engine takes an [`Env`] and accesses nothing else, so a simulation can control the disk, the
//! clock and the order of events. Paths are relative to the root that the file system was opened
//! on, with `/` between the components; the root is `""`. Only bulk loading accesses files outside
//! the root, through separate methods.

use std::fmt;
use std::io;
use std::sync::Arc;

mod file_lock;
mod listing;
mod memory_file;
pub mod os;
mod os_reader;
pub mod rng;
pub mod sim;
#[cfg(target_os = "linux")]
mod writeback;

pub use memory_file::{MemoryFile, MemoryReader};

pub(crate) use listing::{list, list_if_exists, sync_directory};

/// Environment of an engine.
#[derive(Clone)]
pub struct Env {
    /// File system.
    pub fs: Arc<dyn Fs>,
    /// Clock.
    pub clock: Arc<dyn Clock>,
    /// Random numbers, for file names and the like.
    pub rng: Arc<dyn Rng>,
    /// Threads; a simulation has none and runs the engine's jobs itself.
    pub threads: Arc<dyn Threads>,
}

/// Directory tree. Nothing is durable until it is synced: a file's bytes by [`FileWriter::sync`],
/// its name by [`Fs::sync_dir`] on its directory.
pub trait Fs: Send + Sync {
    /// Returns the name of the root in messages: its path on a real disk.
    fn root(&self) -> String;
    /// Creates a file for writing; the file must not exist.
    ///
    /// # Errors
    /// As the operating system's.
    fn create(&self, path: &str) -> io::Result<Box<dyn FileWriter>>;
    /// Opens a file for appending; the file must exist.
    ///
    /// # Errors
    /// As the operating system's.
    fn append(&self, path: &str) -> io::Result<Box<dyn FileWriter>>;
    /// Opens a file for reading, without blocking.
    ///
    /// # Errors
    /// As the operating system's; [`is_not_a_file`] for a directory, a pipe and the like.
    fn open(&self, path: &str) -> io::Result<Arc<dyn FileReader>>;
    /// Renames a file atomically, replacing an existing file.
    ///
    /// # Errors
    /// As the operating system's.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file's name; open readers can continue.
    ///
    /// # Errors
    /// As the operating system's.
    fn remove_file(&self, path: &str) -> io::Result<()>;
    /// Removes an empty directory.
    ///
    /// # Errors
    /// As the operating system's.
    fn remove_dir(&self, path: &str) -> io::Result<()>;
    /// Creates a directory and its missing parents; it may exist.
    ///
    /// # Errors
    /// As the operating system's.
    fn create_dir_all(&self, path: &str) -> io::Result<()>;
    /// Returns the entries of a directory, by name.
    ///
    /// # Errors
    /// As the operating system's.
    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>>;
    /// Returns `true` if a file or directory with this name exists.
    ///
    /// # Errors
    /// As the operating system's.
    fn exists(&self, path: &str) -> io::Result<bool>;
    /// Returns the kind of file with this name, without following a symbolic link; `None` if there
    /// is none.
    ///
    /// # Errors
    /// As the operating system's.
    fn kind(&self, path: &str) -> io::Result<Option<FileKind>>;
    /// Returns the identity of the file with this name; `None` if there is none.
    ///
    /// # Errors
    /// As the operating system's.
    fn identity(&self, path: &str) -> io::Result<Option<FileIdentity>>;
    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// As the operating system's.
    fn sync_dir(&self, path: &str) -> io::Result<()>;
    /// Returns the boot id of the operating system, which changes when the machine restarts: while
    /// it is equal, all written bytes can be read. `None` if it is unknown.
    fn boot_id(&self) -> Option<[u8; 16]> {
        None
    }
    /// Returns the space of the disk that contains the root. `None` if it is unknown.
    ///
    /// # Errors
    /// As the operating system's.
    fn space(&self) -> io::Result<Option<DiskSpace>> {
        Ok(None)
    }
    /// Opens a file for reading that may be anywhere on the machine: `path` is absolute.
    ///
    /// # Errors
    /// As the operating system's; `InvalidInput` for a relative path, for anything but a regular
    /// file, and for a file below the root, unless it is below the root's `staging` directory.
    fn open_external(&self, path: &str) -> io::Result<Arc<dyn FileReader>>;
    /// Creates a second name below the root for a file that may be anywhere on the machine. No
    /// bytes are copied.
    ///
    /// # Errors
    /// As the operating system's; `CrossesDevices` if the file is on another disk, `Unsupported` if
    /// it is a symbolic link. As [`Fs::open_external`].
    fn link_external(&self, path: &str, to: &str) -> io::Result<()>;
    /// Removes the name of a file that may be anywhere on the machine.
    ///
    /// # Errors
    /// As the operating system's; as [`Fs::open_external`].
    fn remove_external(&self, path: &str) -> io::Result<()>;
    /// Locks the root for this process, and the lock file `path`, which is created. Both are held
    /// until the returned value is dropped. `None` if another process holds one of them. If `path`
    /// is empty, only the root is locked. The file contains `owner` as human-readable text; if
    /// `owner` is empty, existing content stays.
    ///
    /// # Errors
    /// As the operating system's; [`is_not_a_file`] for anything but a file at `path`.
    fn lock(&self, path: &str, owner: &str) -> io::Result<Option<Box<dyn Lock>>>;
    /// Returns `true` if only the owner may enter this directory.
    ///
    /// # Errors
    /// As the operating system's.
    fn is_private(&self, _path: &str) -> io::Result<bool> {
        Ok(true)
    }
}

/// Disk space, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// Bytes that this process may still write.
    pub free_bytes: u64,
    /// Size of the file system.
    pub total_bytes: u64,
}

/// Lock, released on drop.
pub trait Lock: Send + Sync {
    /// Returns `true` if no other process can have acquired the lock: the path still refers to the
    /// locked file.
    ///
    /// # Errors
    /// As the operating system's.
    fn is_held(&self) -> io::Result<bool>;
}

/// Kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Regular file.
    File,
    /// Directory.
    Directory,
    /// Symbolic link, with any target.
    Link,
    /// Other kind, with its name in messages.
    Other(&'static str),
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Link => "a symbolic link",
            Self::Other(what) => what,
        })
    }
}

/// Returns the error for a name that belongs to something other than a file.
pub(crate) fn not_a_file(what: impl fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("this is {what}, not a file; move it away"))
}

/// Returns `true` if an error of [`Fs::open`] or [`Fs::lock`] means that the name belongs to
/// something other than a file.
pub fn is_not_a_file(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory)
}

/// Identity of a file on the machine, independent of its name, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// Equal for two names of one file, and for the file and its open handles.
    pub id: u128,
    /// Length in bytes.
    pub bytes: u64,
}

/// Directory entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirEntry {
    /// Name, without the directory. Bytes that are not UTF-8 are shown as `\xNN`; such a name
    /// cannot be opened.
    pub name: String,
    /// True for a directory.
    pub is_dir: bool,
    /// Length in bytes; 0 for a directory.
    pub bytes: u64,
    /// Description of an entry that can be neither read as a file nor listed as a directory.
    pub unexpected: Option<&'static str>,
}

/// File open for writing, starting at the end that it had when opened.
pub trait FileWriter: Send {
    /// Appends all of `bytes`.
    ///
    /// # Errors
    /// As the operating system's; some of the bytes may have been written.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes the bytes written so far durable (`fdatasync`).
    ///
    /// # Errors
    /// As the operating system's; it is then unknown which bytes are durable, and a successful
    /// retry proves nothing.
    fn sync(&mut self) -> io::Result<()>;
    /// Hint that these bytes are synced later: the system may begin to write them. It does not wait
    /// for that, makes nothing durable, and keeps them in its page cache.
    fn begin_writeback(&self, _offset: u64, _bytes: u64) {}
    /// Allocates disk space for the next `bytes` bytes. The file contains them as zeros until they
    /// are written, so a sync need not also make a new length durable.
    ///
    /// # Errors
    /// As the operating system's; `Unsupported` if it has no such call. The file can be written as
    /// before, and may have a part of the space.
    fn preallocate(&mut self, _bytes: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Moves the write position to `bytes` bytes from the file's start. The bytes after it stay
    /// until they are overwritten.
    ///
    /// # Errors
    /// As the operating system's; `InvalidInput` past the end of the file, `Unsupported` if only
    /// whole files can be written.
    fn rewind(&mut self, _bytes: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Truncates the file to `bytes` bytes and moves the write position to its end.
    ///
    /// # Errors
    /// As the operating system's.
    fn truncate(&mut self, bytes: u64) -> io::Result<()>;
    /// Returns the identity of the file; `None` if files cannot be found by name.
    ///
    /// # Errors
    /// As the operating system's.
    fn identity(&self) -> io::Result<Option<FileIdentity>> {
        Ok(None)
    }
}

/// Bytes of free capacity after what is read from a file, so that a decoder can extend it without
/// a copy and then read beyond its end.
pub const PADDING_BYTES: usize = 64;

/// File open for reading, at any offset and by several threads.
#[expect(clippy::len_without_is_empty, reason = "callers need only the length")]
pub trait FileReader: Send + Sync {
    /// Returns the length in bytes.
    ///
    /// # Errors
    /// As the operating system's.
    fn len(&self) -> io::Result<u64>;
    /// Fills `buffer` with the bytes at `offset`.
    ///
    /// # Errors
    /// As the operating system's; `UnexpectedEof` if the file is too short.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
    /// Returns the `count` bytes at `offset`, with a free capacity of [`PADDING_BYTES`]. The caller
    /// limits `count`, for example by the length.
    ///
    /// # Errors
    /// As [`FileReader::read_exact_at`].
    fn read_at(&self, count: usize, offset: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(count.saturating_add(PADDING_BYTES));
        bytes.resize(count, 0);
        self.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }
    /// As [`FileReader::read_exact_at`], for bytes that are read once: they do not stay in the
    /// system's page cache unless they were there before.
    ///
    /// # Errors
    /// As [`FileReader::read_exact_at`].
    fn read_once_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }
    /// Hint that reads are short and at random offsets, so that the system reads nothing beyond
    /// them.
    fn expect_random_reads(&self) {}
    /// Hint that these bytes are read soon. It does not wait for them.
    fn will_need(&self, _offset: u64, _bytes: u64) {}
}

/// Maximum distance of the argument of [`Clock::wait_until_after`] ahead of the clock, in
/// milliseconds.
pub const MAX_CLOCK_WAIT_MS: i64 = 20;

/// Clock.
pub trait Clock: Send + Sync {
    /// Returns the milliseconds since 1970, UTC. They may jump in either direction.
    fn now_ms(&self) -> i64;
    /// Returns the nanoseconds since an arbitrary start; they never decrease.
    fn monotonic_ns(&self) -> u64;
    /// Waits until [`Clock::now_ms`] is past `ms`, which is at most [`MAX_CLOCK_WAIT_MS`] ahead.
    /// Returns `false` if it is not past `ms` then, because the clock is set manually, as in a
    /// simulation, or was set back.
    fn wait_until_after(&self, _ms: i64) -> bool {
        false
    }
}

/// Random number generator.
pub trait Rng: Send + Sync {
    /// Returns 64 random bits.
    fn next_u64(&self) -> u64;
}

/// Thread factory.
pub trait Threads: Send + Sync {
    /// Runs `work` on a new thread. `None` means that this environment has no threads: its owner
    /// runs the work by other means, and `work` is dropped.
    ///
    /// # Errors
    /// As the operating system's.
    fn spawn(
        &self,
        name: &str,
        work: Box<dyn FnOnce() + Send>,
    ) -> io::Result<Option<Box<dyn JoinHandle>>>;
}

/// Handle of a running thread.
pub trait JoinHandle: Send + Sync {
    /// Waits until the thread ends.
    fn join(self: Box<Self>);
}
