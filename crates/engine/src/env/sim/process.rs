//! File system as seen by one simulated process: every call is counted, may fail, and fails after
//! the end of the process.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use rustix::io::Errno;

use super::disk::{Disk, SharedFile, locked};
use super::fault::FsCall;
use crate::env::{
    DirEntry, DiskSpace, FileIdentity, FileKind, FileReader, FileWriter, Fs, Lock as HeldLock,
};

/// Disk during one process lifetime.
#[derive(Clone)]
pub(super) struct ProcessFs {
    disk: Arc<Mutex<Disk>>,
    generation: u64,
}

impl ProcessFs {
    pub(super) fn new(disk: Arc<Mutex<Disk>>) -> Self {
        let generation = locked(&disk).generation;
        Self { disk, generation }
    }

    fn enter(&self, call: FsCall, path: &str) -> io::Result<MutexGuard<'_, Disk>> {
        let mut disk = locked(&self.disk);
        disk.enter(self.generation, call, path)?;
        Ok(disk)
    }

    fn handle(&self, path: &str, file: SharedFile) -> Handle {
        Handle { process: self.clone(), path: path.to_owned(), file }
    }
}

impl Fs for ProcessFs {
    fn root(&self) -> String {
        "simulated disk".to_owned()
    }

    fn create(&self, path: &str) -> io::Result<Box<dyn FileWriter>> {
        let file = self.enter(FsCall::Create, path)?.create(path)?;
        Ok(Box::new(self.handle(path, file)))
    }

    fn append(&self, path: &str) -> io::Result<Box<dyn FileWriter>> {
        let file = self.enter(FsCall::Append, path)?.file(path)?;
        locked(&file).keep_preallocated();
        Ok(Box::new(self.handle(path, file)))
    }

    fn open(&self, path: &str) -> io::Result<Arc<dyn FileReader>> {
        let file = self.enter(FsCall::Open, path)?.file(path)?;
        Ok(Arc::new(self.handle(path, file)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.enter(FsCall::Rename, to)?.rename(from, to)
    }

    fn remove_file(&self, path: &str) -> io::Result<()> {
        self.enter(FsCall::RemoveFile, path)?.remove_file(path)
    }

    fn remove_dir(&self, path: &str) -> io::Result<()> {
        self.enter(FsCall::RemoveDir, path)?.remove_dir(path)
    }

    fn create_dir_all(&self, path: &str) -> io::Result<()> {
        self.enter(FsCall::CreateDir, path)?.create_dir_all(path)
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        self.enter(FsCall::List, path)?.list(path)
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.enter(FsCall::Exists, path)?.exists(path)
    }

    fn kind(&self, path: &str) -> io::Result<Option<FileKind>> {
        self.enter(FsCall::Exists, path)?.kind(path)
    }

    fn identity(&self, path: &str) -> io::Result<Option<FileIdentity>> {
        let disk = self.enter(FsCall::Exists, path)?;
        if disk.exists(path)? {
            disk.file(path).map(|file| Some(identity_of(&file)))
        } else {
            Ok(None)
        }
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.enter(FsCall::SyncDir, path)?.sync_dir(path)
    }

    fn boot_id(&self) -> Option<[u8; 16]> {
        Some(u128::from(locked(&self.disk).boot).to_be_bytes())
    }

    fn space(&self) -> io::Result<Option<DiskSpace>> {
        let disk = locked(&self.disk);
        if !disk.is_alive(self.generation) {
            return Ok(None);
        }
        Ok(disk
            .capacity
            .map(|total_bytes| DiskSpace { free_bytes: disk.free_bytes(), total_bytes }))
    }

    fn open_external(&self, path: &str) -> io::Result<Arc<dyn FileReader>> {
        self.open(&external_path(path)?)
    }

    fn link_external(&self, path: &str, to: &str) -> io::Result<()> {
        self.enter(FsCall::Link, to)?.link(&external_path(path)?, to)
    }

    fn remove_external(&self, path: &str) -> io::Result<()> {
        self.remove_file(&external_path(path)?)
    }

    fn lock(&self, path: &str, owner: &str) -> io::Result<Option<Box<dyn HeldLock>>> {
        let mut disk = self.enter(FsCall::Lock, path)?;
        // The lock is on the root, regardless of the file name.
        if !disk.locks.is_empty() {
            return Ok(None);
        }
        if !path.is_empty() {
            let file = if disk.exists(path)? { disk.file(path)? } else { disk.create(path)? };
            if !owner.is_empty() {
                let mut data = locked(&file);
                data.truncate(0);
                data.append(owner.as_bytes());
            }
        }
        disk.locks.insert(path.to_owned());
        Ok(Some(Box::new(Lock { process: self.clone(), path: path.to_owned() })))
    }
}

/// Returns the path on the simulated disk of a file outside the root.
fn external_path(path: &str) -> io::Result<String> {
    let relative = || {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{path} is not a whole path; begin it with /"),
        )
    };
    path.strip_prefix('/').map(|path| format!("outside/{path}")).ok_or_else(relative)
}

struct Lock {
    process: ProcessFs,
    path: String,
}

/// The lock is on the root: it remains if the file is replaced or removed.
impl HeldLock for Lock {
    fn is_held(&self) -> io::Result<bool> {
        if !locked(&self.process.disk).is_alive(self.process.generation) {
            return Ok(false);
        }
        Ok(self.process.enter(FsCall::Examine, &self.path)?.locks.contains(&self.path))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut disk = locked(&self.process.disk);
        // The lock of an ended process was released when it ended, and another process may hold it
        // now.
        if disk.generation == self.process.generation {
            disk.locks.remove(&self.path);
        }
    }
}

/// Open file.
struct Handle {
    process: ProcessFs,
    path: String,
    file: SharedFile,
}

impl Handle {
    /// Returns the bytes that can be written: preallocated and free space.
    fn room(&self, disk: &Disk) -> u64 {
        let free = disk.free_bytes();
        free.saturating_add(locked(&self.file).preallocated() as u64)
    }

    /// Returns the completed part of a call that uses `wanted` bytes of the disk, and its result. A
    /// call that fails midway has done a part of its work. On a full disk it has used all free
    /// space, as on ext4.
    fn take(&self, disk: &mut Disk, call: FsCall, wanted: usize) -> (usize, io::Result<()>) {
        let alive = disk.is_alive(self.process.generation);
        match disk.enter(self.process.generation, call, &self.path) {
            Ok(()) => match usize::try_from(self.room(disk)) {
                Ok(room) if room < wanted => (room, Err(Errno::NOSPC.into())),
                _ => (wanted, Ok(())),
            },
            Err(error) if alive && !disk.read_only => (disk.rng.up_to(wanted), Err(error)),
            Err(error) => (0, Err(error)),
        }
    }
}

impl FileWriter for Handle {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut disk = locked(&self.process.disk);
        let (written, result) = self.take(&mut disk, FsCall::Write, bytes.len());
        locked(&self.file).append(&bytes[..written]);
        result
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut disk = locked(&self.process.disk);
        let result = disk.enter(self.process.generation, FsCall::Sync, &self.path);
        let mut file = locked(&self.file);
        match &result {
            Ok(()) => file.sync(),
            Err(_) if disk.is_alive(self.process.generation) => file.fail_sync(),
            Err(_) => {}
        }
        result
    }

    fn preallocate(&mut self, bytes: u64) -> io::Result<()> {
        let mut disk = locked(&self.process.disk);
        let (reserved, result) = self.take(
            &mut disk,
            FsCall::Preallocate,
            usize::try_from(bytes).map_err(|_| Errno::FBIG)?,
        );
        locked(&self.file).preallocate(reserved);
        result
    }

    fn rewind(&mut self, bytes: u64) -> io::Result<()> {
        let _disk = self.process.enter(FsCall::Rewind, &self.path)?;
        let mut file = locked(&self.file);
        let length = usize::try_from(bytes)
            .ok()
            .filter(|length| *length <= file.bytes().len())
            .ok_or(Errno::INVAL)?;
        file.rewind(length);
        Ok(())
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        let _disk = self.process.enter(FsCall::Truncate, &self.path)?;
        let mut file = locked(&self.file);
        let length = usize::try_from(bytes)
            .ok()
            .filter(|length| *length <= file.bytes().len())
            .ok_or(Errno::INVAL)?;
        file.truncate(length);
        Ok(())
    }

    fn identity(&self) -> io::Result<Option<FileIdentity>> {
        Ok(Some(identity_of(&self.file)))
    }
}

fn identity_of(file: &SharedFile) -> FileIdentity {
    FileIdentity {
        id: Arc::as_ptr(file) as usize as u128,
        bytes: locked(file).bytes().len() as u64,
    }
}

impl FileReader for Handle {
    fn len(&self) -> io::Result<u64> {
        let _disk = self.process.enter(FsCall::Length, &self.path)?;
        Ok(locked(&self.file).bytes().len() as u64)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let _disk = self.process.enter(FsCall::Read, &self.path)?;
        let file = locked(&self.file);
        let rest = usize::try_from(offset).ok().and_then(|offset| file.bytes().get(offset..));
        match rest.and_then(|rest| rest.get(..buffer.len())) {
            Some(bytes) => buffer.copy_from_slice(bytes),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        Ok(())
    }
}
