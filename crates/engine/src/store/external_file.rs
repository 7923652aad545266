//! Files that may be anywhere on the machine: opened in place, and linked or copied into the store.

use std::io::ErrorKind as Io;
use std::sync::Arc;

use halite_types::{Error, Result};

use crate::disk_room::CHECK_INTERVAL_BYTES;
use crate::env::Env;
use crate::hfile::Reader;
use crate::shared::EngineInner;

/// Bytes copied at a time.
const COPY_BYTES: usize = 1 << 20;

/// Opens a store file at an absolute path.
///
/// # Errors
/// `InvalidRequest` for a path that this process cannot read, `Corrupt`, `Unsupported`, or the file
/// system's error.
pub(crate) fn open(env: &Env, path: &str) -> Result<Arc<Reader>> {
    let file = env.fs.open_external(path).map_err(|error| match error.kind() {
        Io::NotFound | Io::NotADirectory | Io::InvalidInput | Io::PermissionDenied => {
            Error::invalid(format!(
                "the file to be loaded cannot be opened: {path}: {error}; name one that this \
                 process can read"
            ))
        }
        _ => Error::io(format!("opening {path}, which is to be loaded"), error),
    })?;
    Ok(Arc::new(Reader::open(file, path)?))
}

/// Creates a second name in the store for a file, and syncs its bytes. Returns `false` without any
/// change if the file can only be copied: it is on another disk, or the system forbids the link.
///
/// # Errors
/// The file system's.
pub(crate) fn link(env: &Env, path: &str, to: &str) -> Result<bool> {
    let fs = &env.fs;
    // The creator of the file need not have synced it; syncing requires permission to write to it.
    match fs.link_external(path, to).and_then(|()| fs.append(to)?.sync()) {
        Err(error)
            if matches!(
                error.kind(),
                Io::CrossesDevices | Io::PermissionDenied | Io::TooManyLinks | Io::Unsupported
            ) =>
        {
            let _ = fs.remove_file(to);
            Ok(false)
        }
        linked => linked
            .map(|()| true)
            .map_err(|error| Error::io(format!("linking {path} to {}/{to}", fs.root()), error)),
    }
}

/// Returns the number of bytes of a file.
///
/// # Errors
/// The file system's.
pub(crate) fn length(env: &Env, path: &str) -> Result<u64> {
    let length = env.fs.open_external(path).and_then(|file| file.len());
    length.map_err(|error| Error::io(format!("opening {path}, which is to be loaded"), error))
}

/// Copies a file into the store and syncs the copy.
///
/// # Errors
/// The file system's, or `DiskFull`.
pub(crate) fn copy(shared: &EngineInner, path: &str, to: &str) -> Result<()> {
    let length = length(&shared.env, path)?;
    let _room = shared.disk.claim(length, || format!("a copy of {path}"))?;
    copy_claimed(shared, path, to).map(|_| ())
}

/// As [`copy`], for a file whose space is claimed. Returns its number of bytes.
///
/// # Errors
/// The file system's, or `DiskFull` if others have used the space.
pub(crate) fn copy_claimed(shared: &EngineInner, path: &str, to: &str) -> Result<u64> {
    let fs = &shared.env.fs;
    let failed = |error| Error::io(format!("copying {path} to {}/{to}", fs.root()), error);
    let from = fs.open_external(path).map_err(failed)?;
    let (mut at, end) = (0, from.len().map_err(failed)?);
    let mut file = fs.create(to).map_err(failed)?;
    let mut buffer = vec![0; COPY_BYTES];
    while at < end {
        if at % CHECK_INTERVAL_BYTES == 0 {
            shared.disk.check_file(false)?;
        }
        let bytes = usize::try_from(end - at).unwrap_or(COPY_BYTES).min(COPY_BYTES);
        from.read_exact_at(&mut buffer[..bytes], at).map_err(failed)?;
        file.write_all(&buffer[..bytes]).map_err(failed)?;
        at += bytes as u64;
    }
    file.sync().map(|()| end).map_err(failed)
}
