//! File in memory, so that the cost of a store file is that of its bytes and not of a disk.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crate::env::{FileReader, FileWriter};

/// Bytes of a file, shared by its writer and its reader.
#[derive(Clone, Default)]
pub(super) struct MemoryFile(Arc<Mutex<Vec<u8>>>);

impl MemoryFile {
    /// Returns a reader of the bytes. The file is empty afterwards.
    pub(super) fn into_reader(self) -> FileBytes {
        FileBytes(std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl FileWriter for MemoryFile {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).truncate(bytes);
        Ok(())
    }
}

/// Bytes of a finished file.
pub(super) struct FileBytes(Vec<u8>);

impl FileReader for FileBytes {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let end = start.checked_add(buffer.len());
        let part = end.and_then(|end| self.0.get(start..end));
        buffer.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}
