//! The file system as one simulated process sees it: every call is counted, may fail, and is dead after its life.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use rustix::io::Errno;

use super::disk::{Disk, SharedFile, locked};
use super::fault::Call;
use crate::env::{DirEntry, DiskSpace, FileIdentity, FileReader, FileWriter, Fs, Kind, Lock as HeldLock};

/// The disk in one process life.
#[derive(Clone)]
pub(super) struct ProcessFs {
    disk: Arc<Mutex<Disk>>,
    life: u64,
}

impl ProcessFs {
    pub(super) fn new(disk: Arc<Mutex<Disk>>) -> Self {
        let life = locked(&disk).life;
        Self { disk, life }
    }

    fn enter(&self, call: Call, path: &str) -> io::Result<MutexGuard<'_, Disk>> {
        let mut disk = locked(&self.disk);
        disk.enter(self.life, call, path)?;
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
        let file = self.enter(Call::Create, path)?.create(path)?;
        Ok(Box::new(self.handle(path, file)))
    }

    fn append(&self, path: &str) -> io::Result<Box<dyn FileWriter>> {
        let file = self.enter(Call::Append, path)?.file(path)?;
        locked(&file).keep_reserved();
        Ok(Box::new(self.handle(path, file)))
    }

    fn open(&self, path: &str) -> io::Result<Arc<dyn FileReader>> {
        let file = self.enter(Call::Open, path)?.file(path)?;
        Ok(Arc::new(self.handle(path, file)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.enter(Call::Rename, to)?.rename(from, to)
    }

    fn remove_file(&self, path: &str) -> io::Result<()> {
        self.enter(Call::RemoveFile, path)?.remove_file(path)
    }

    fn remove_dir(&self, path: &str) -> io::Result<()> {
        self.enter(Call::RemoveDir, path)?.remove_dir(path)
    }

    fn create_dir_all(&self, path: &str) -> io::Result<()> {
        self.enter(Call::CreateDir, path)?.create_dir_all(path)
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        self.enter(Call::List, path)?.list(path)
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.enter(Call::Exists, path)?.exists(path)
    }

    fn kind(&self, path: &str) -> io::Result<Option<Kind>> {
        self.enter(Call::Exists, path)?.kind(path)
    }

    fn identity(&self, path: &str) -> io::Result<Option<FileIdentity>> {
        let disk = self.enter(Call::Exists, path)?;
        if disk.exists(path)? { disk.file(path).map(|file| Some(identity_of(&file))) } else { Ok(None) }
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.enter(Call::SyncDir, path)?.sync_dir(path)
    }

    fn boot_id(&self) -> Option<[u8; 16]> {
        Some(u128::from(locked(&self.disk).boot).to_be_bytes())
    }

    fn space(&self) -> io::Result<Option<DiskSpace>> {
        let disk = locked(&self.disk);
        if !disk.is_alive(self.life) {
            return Ok(None);
        }
        Ok(disk.capacity.map(|total_bytes| DiskSpace { free_bytes: disk.free_bytes(), total_bytes }))
    }

    fn open_outside(&self, path: &str) -> io::Result<Arc<dyn FileReader>> {
        self.open(&outside(path)?)
    }

    fn link_outside(&self, path: &str, to: &str) -> io::Result<()> {
        self.enter(Call::Link, to)?.link(&outside(path)?, to)
    }

    fn remove_outside(&self, path: &str) -> io::Result<()> {
        self.remove_file(&outside(path)?)
    }

    fn lock(&self, path: &str, owner: &str) -> io::Result<Option<Box<dyn HeldLock>>> {
        let mut disk = self.enter(Call::Lock, path)?;
        // The root is locked, whatever the file is called.
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

/// Where on the simulated disk the rest of the machine is.
fn outside(path: &str) -> io::Result<String> {
    let relative = || io::Error::new(io::ErrorKind::InvalidInput, format!("{path} is not a whole path; begin it with /"));
    path.strip_prefix('/').map(|path| format!("outside/{path}")).ok_or_else(relative)
}

struct Lock {
    process: ProcessFs,
    path: String,
}

/// The lock is on the root: it stays whatever becomes of the file.
impl HeldLock for Lock {
    fn is_held(&self) -> io::Result<bool> {
        if !locked(&self.process.disk).is_alive(self.process.life) {
            return Ok(false);
        }
        Ok(self.process.enter(Call::Examine, &self.path)?.locks.contains(&self.path))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut disk = locked(&self.process.disk);
        // The lock of a life that is over was given back when it ended, and may be another's now.
        if disk.life == self.process.life {
            disk.locks.remove(&self.path);
        }
    }
}

/// An open file.
struct Handle {
    process: ProcessFs,
    path: String,
    file: SharedFile,
}

impl Handle {
    /// Bytes that can be written: those reserved, and what is free.
    fn room(&self, disk: &Disk) -> u64 {
        let free = disk.free_bytes();
        free.saturating_add(locked(&self.file).reserved() as u64)
    }

    /// How much is done of a call that takes `wanted` bytes of the disk, and what comes of it. One that fails half-way has done a
    /// part of its work, and on a full disk it has taken what there was, as on ext4.
    fn take(&self, disk: &mut Disk, call: Call, wanted: usize) -> (usize, io::Result<()>) {
        let alive = disk.is_alive(self.process.life);
        match disk.enter(self.process.life, call, &self.path) {
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
        let (written, result) = self.take(&mut disk, Call::Write, bytes.len());
        locked(&self.file).append(&bytes[..written]);
        result
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut disk = locked(&self.process.disk);
        let result = disk.enter(self.process.life, Call::Sync, &self.path);
        let mut file = locked(&self.file);
        match &result {
            Ok(()) => file.sync(),
            Err(_) if disk.is_alive(self.process.life) => file.fail_sync(),
            Err(_) => {}
        }
        result
    }

    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        let mut disk = locked(&self.process.disk);
        let (reserved, result) = self.take(&mut disk, Call::Reserve, usize::try_from(bytes).map_err(|_| Errno::FBIG)?);
        locked(&self.file).reserve(reserved);
        result
    }

    fn rewind(&mut self, bytes: u64) -> io::Result<()> {
        let _disk = self.process.enter(Call::Rewind, &self.path)?;
        let mut file = locked(&self.file);
        let length = usize::try_from(bytes).ok().filter(|length| *length <= file.bytes().len()).ok_or(Errno::INVAL)?;
        file.rewind(length);
        Ok(())
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        let _disk = self.process.enter(Call::Truncate, &self.path)?;
        let mut file = locked(&self.file);
        let length = usize::try_from(bytes).ok().filter(|length| *length <= file.bytes().len()).ok_or(Errno::INVAL)?;
        file.truncate(length);
        Ok(())
    }

    fn identity(&self) -> io::Result<Option<FileIdentity>> {
        Ok(Some(identity_of(&self.file)))
    }
}

fn identity_of(file: &SharedFile) -> FileIdentity {
    FileIdentity { id: Arc::as_ptr(file) as usize as u128, bytes: locked(file).bytes().len() as u64 }
}

impl FileReader for Handle {
    fn len(&self) -> io::Result<u64> {
        let _disk = self.process.enter(Call::Length, &self.path)?;
        Ok(locked(&self.file).bytes().len() as u64)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let _disk = self.process.enter(Call::Read, &self.path)?;
        let file = locked(&self.file);
        let rest = usize::try_from(offset).ok().and_then(|offset| file.bytes().get(offset..));
        match rest.and_then(|rest| rest.get(..buffer.len())) {
            Some(bytes) => buffer.copy_from_slice(bytes),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        Ok(())
    }
}
