//! The one door to the outside: files, time, chance and threads.
//!
//! The engine takes an [`Env`] and touches nothing else, so a simulation can own the disk, the clock and the order of
//! events. Paths are relative to the root the file system was opened on, with `/` between the parts; the root is `""`. Only
//! bulk loading reaches out of it, by calls of their own.

use std::fmt;
use std::io;
use std::sync::Arc;

pub mod chance;
mod file_lock;
pub mod os;
pub mod sim;

/// Everything outside the engine.
#[derive(Clone)]
pub struct Env {
    /// The disk.
    pub fs: Arc<dyn Fs>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance: file names and the like.
    pub rng: Arc<dyn Rng>,
    /// Threads; a simulation has none and steps the engine's jobs itself.
    pub threads: Arc<dyn Threads>,
}

/// A directory tree. Nothing is durable until it is synced: a file's bytes by [`FileWriter::sync`], its name by
/// [`Fs::sync_dir`] on its directory.
pub trait Fs: Send + Sync {
    /// What to call the root in messages: its path on a real disk.
    fn root(&self) -> String;
    /// Creates a file to write, which must not exist.
    ///
    /// # Errors
    /// As the operating system's.
    fn create(&self, path: &str) -> io::Result<Box<dyn FileWriter>>;
    /// Opens a file to append to, which must exist.
    ///
    /// # Errors
    /// As the operating system's.
    fn append(&self, path: &str) -> io::Result<Box<dyn FileWriter>>;
    /// Opens a file to read. It does not wait for anybody.
    ///
    /// # Errors
    /// As the operating system's; [`is_not_a_file`] for a directory, a pipe and the like.
    fn open(&self, path: &str) -> io::Result<Arc<dyn FileReader>>;
    /// Gives a file another name in one step, in place of what had that name.
    ///
    /// # Errors
    /// As the operating system's.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Takes a file's name away; open readers go on.
    ///
    /// # Errors
    /// As the operating system's.
    fn remove_file(&self, path: &str) -> io::Result<()>;
    /// Takes an empty directory away.
    ///
    /// # Errors
    /// As the operating system's.
    fn remove_dir(&self, path: &str) -> io::Result<()>;
    /// Makes a directory and those above it; it may exist.
    ///
    /// # Errors
    /// As the operating system's.
    fn create_dir_all(&self, path: &str) -> io::Result<()>;
    /// The entries of a directory, by name.
    ///
    /// # Errors
    /// As the operating system's.
    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>>;
    /// Whether a file or directory of that name exists.
    ///
    /// # Errors
    /// As the operating system's.
    fn exists(&self, path: &str) -> io::Result<bool>;
    /// What has that name, without following a symbolic link; `None` if nothing has.
    ///
    /// # Errors
    /// As the operating system's.
    fn kind(&self, path: &str) -> io::Result<Option<Kind>>;
    /// Which file has that name; `None` if none has.
    ///
    /// # Errors
    /// As the operating system's.
    fn identity(&self, path: &str) -> io::Result<Option<FileIdentity>>;
    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// As the operating system's.
    fn sync_dir(&self, path: &str) -> io::Result<()>;
    /// The run of the operating system, which another one after a restart of the machine differs from: while it is the same,
    /// all bytes that were written can be read. `None` where that is not known.
    fn boot_id(&self) -> Option<[u8; 16]> {
        None
    }
    /// Room on the disk that the root is on. `None` where that is not known.
    ///
    /// # Errors
    /// As the operating system's.
    fn space(&self) -> io::Result<Option<DiskSpace>> {
        Ok(None)
    }
    /// Opens a file to read that may lie anywhere on the machine: `path` is whole, from the machine's own root.
    ///
    /// # Errors
    /// As the operating system's; `InvalidInput` for a relative path, for anything but a regular file, and for a file below
    /// the root, unless it is below `staging` there.
    fn open_outside(&self, path: &str) -> io::Result<Arc<dyn FileReader>>;
    /// Gives a file that may lie anywhere on the machine another name below the root: one file with two names, no bytes
    /// are copied.
    ///
    /// # Errors
    /// As the operating system's; `CrossesDevices` if it lies on another disk, `Unsupported` if it is a symbolic link. As
    /// [`Fs::open_outside`].
    fn link_outside(&self, path: &str, to: &str) -> io::Result<()>;
    /// Takes the name of a file away that may lie anywhere on the machine.
    ///
    /// # Errors
    /// As the operating system's; as [`Fs::open_outside`].
    fn remove_outside(&self, path: &str) -> io::Result<()>;
    /// Locks the root for this process, and the lock file `path`, which is created; both are held until the returned value is
    /// dropped. `None` if another process holds one of them. Of an empty `path` only the root is locked. The file contains `owner` for people to read;
    /// without an `owner` one that is there stays as it is.
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

/// Room on a disk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// What this process may still write.
    pub free_bytes: u64,
    /// The size of the file system.
    pub total_bytes: u64,
}

/// A lock that is held until it is dropped.
pub trait Lock: Send + Sync {
    /// Returns `true` if no other process can have taken the lock: what is locked is still what its path leads to.
    ///
    /// # Errors
    /// As the operating system's.
    fn is_held(&self) -> io::Result<bool>;
}

/// What has a name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, wherever it leads.
    Link,
    /// Something else: what to call it.
    Other(&'static str),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Link => "a symbolic link",
            Self::Other(what) => what,
        })
    }
}

/// The error that something other than a file has a name.
pub(crate) fn not_a_file(what: impl fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("this is {what}, not a file; move it away"))
}

/// Whether an error of [`Fs::open`] or [`Fs::lock`] says that something other than a file has the name.
pub fn is_not_a_file(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory)
}

/// A file among all of the machine, whatever its name, and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// The same for two names of one file, and for it and whoever has it open.
    pub id: u128,
    /// Its length in bytes.
    pub bytes: u64,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirEntry {
    /// Its name, without the directory. One that is not UTF-8 has its other bytes as `\xNN`, and leads nowhere.
    pub name: String,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Its length in bytes; 0 for a directory.
    pub bytes: u64,
    /// What it is if it can be neither read as a file nor listed as a directory.
    pub odd: Option<&'static str>,
}

/// A file that is being written, from the end it had when it was opened on.
pub trait FileWriter: Send {
    /// Appends all of `bytes`.
    ///
    /// # Errors
    /// As the operating system's; some of the bytes may have been written.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes the bytes written so far durable (`fdatasync`).
    ///
    /// # Errors
    /// As the operating system's; what is durable is unknown then, and trying again proves nothing.
    fn sync(&mut self) -> io::Result<()>;
    /// Gets room on the disk for the next `bytes` bytes, which the file has from now on, as zeros, until they are written:
    /// then a sync need not make a new length durable, too.
    ///
    /// # Errors
    /// As the operating system's; `Unsupported` where it has no such call. The file can be written as before, and may have a part of
    /// the room.
    fn reserve(&mut self, _bytes: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Goes back to `bytes` bytes from the file's start, where the next are written. What stands behind stays until then.
    ///
    /// # Errors
    /// As the operating system's; `InvalidInput` behind the end of the file, `Unsupported` where only whole files are made.
    fn rewind(&mut self, _bytes: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Cuts the file to `bytes` bytes, behind which it is written from then on.
    ///
    /// # Errors
    /// As the operating system's.
    fn truncate(&mut self, bytes: u64) -> io::Result<()>;
    /// Which file it is; `None` where files have no names to be found under.
    ///
    /// # Errors
    /// As the operating system's.
    fn identity(&self) -> io::Result<Option<FileIdentity>> {
        Ok(None)
    }
}

/// A file that is being read, from anywhere and by several threads.
#[expect(clippy::len_without_is_empty, reason = "a file is asked for its length only")]
pub trait FileReader: Send + Sync {
    /// Its length in bytes.
    ///
    /// # Errors
    /// As the operating system's.
    fn len(&self) -> io::Result<u64>;
    /// Fills `buffer` from `offset` on.
    ///
    /// # Errors
    /// As the operating system's; `UnexpectedEof` if the file ends before.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

/// How far ahead of the clock a time may be that somebody waits for, in milliseconds.
pub const CLOCK_WAIT_MS_MAX: i64 = 20;

/// The time.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970, UTC. It may jump either way.
    fn now_ms(&self) -> i64;
    /// Nanoseconds since some moment; it never goes back.
    fn monotonic_ns(&self) -> u64;
    /// Waits until [`Clock::now_ms`] is past `ms`, which is [`CLOCK_WAIT_MS_MAX`] ahead of it at most. False if it is not then,
    /// because somebody sets the clock, as in a simulation, or it was set back.
    fn wait_past(&self, _ms: i64) -> bool {
        false
    }
}

/// Chance.
pub trait Rng: Send + Sync {
    /// 64 random bits.
    fn next_u64(&self) -> u64;
}

/// Threads.
pub trait Threads: Send + Sync {
    /// Runs `work` on a thread of its own. `None` means that there are no threads here: whoever owns this environment
    /// steps the work by other means, and `work` is dropped.
    ///
    /// # Errors
    /// As the operating system's.
    fn spawn(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> io::Result<Option<Box<dyn JoinHandle>>>;
}

/// A running thread.
pub trait JoinHandle: Send + Sync {
    /// Waits for its end.
    fn join(self: Box<Self>);
}
