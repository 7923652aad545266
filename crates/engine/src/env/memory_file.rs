//! File in memory, for writers whose bytes are measured, compared or placed elsewhere.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::{FileReader, FileWriter};

/// File in memory that is written. Its clones are the same file, so that its bytes outlive a writer
/// that takes it.
///
/// ```
/// use std::sync::Arc;
/// use halite_engine::env::{FileReader as _, FileWriter as _, MemoryFile, MemoryReader};
///
/// let file = MemoryFile::default();
/// file.clone().write_all(b"bytes").unwrap();
/// assert_eq!(MemoryReader::new(file.take_bytes()).read_at(3, 1).unwrap(), b"yte");
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryFile(Arc<Mutex<Vec<u8>>>);

impl MemoryFile {
    /// Returns the bytes of the file, which is empty afterwards.
    pub fn take_bytes(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
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

/// File in memory that is read.
#[derive(Clone, Debug)]
pub struct MemoryReader(Vec<u8>);

impl MemoryReader {
    /// Returns a file of these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl FileReader for MemoryReader {
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
