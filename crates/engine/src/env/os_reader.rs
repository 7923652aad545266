//! Reads of a file of the operating system, and hints about them to its page cache.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::unix::fs::FileExt as _;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;

use super::{FileReader, PADDING_BYTES};

/// Bytes of a read that leaves the page cache as it was, between two looks at the page cache.
const ONCE_STEP_BYTES: usize = 128 << 10;

/// File open for reading.
pub(super) struct OsReader {
    pub(super) file: File,
}

impl FileReader for OsReader {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    /// Does not zero the memory before the read, which would take as long as a quarter of a read
    /// from the page cache.
    fn read_at(&self, count: usize, offset: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(count.saturating_add(PADDING_BYTES));
        while bytes.len() < count {
            let at = offset + bytes.len() as u64;
            match rustix::io::pread(&self.file, spare_capacity(&mut bytes), at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // The capacity may be larger than the requested length.
        bytes.truncate(count);
        Ok(bytes)
    }

    #[cfg(target_os = "linux")]
    fn read_once_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut at = offset;
        for step in buffer.chunks_mut(ONCE_STEP_BYTES) {
            let resident = self.read_resident_at(step, at)?;
            let rest = &mut step[resident..];
            if !rest.is_empty() {
                let start = at + resident as u64;
                self.file.read_exact_at(rest, start)?;
                self.advise(start, rest.len() as u64, rustix::fs::Advice::DontNeed);
            }
            at += step.len() as u64;
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn expect_random_reads(&self) {
        self.advise(0, 0, rustix::fs::Advice::Random);
    }

    #[cfg(target_os = "linux")]
    fn will_need(&self, offset: u64, bytes: u64) {
        if bytes > 0 {
            self.advise(offset, bytes, rustix::fs::Advice::WillNeed);
        }
    }
}

#[cfg(target_os = "linux")]
impl OsReader {
    /// Reads the first bytes that are in the page cache, and returns their number.
    fn read_resident_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let flags = rustix::io::ReadWriteFlags::NOWAIT;
        match rustix::io::preadv2(&self.file, &mut [IoSliceMut::new(buffer)], offset, flags) {
            Ok(bytes) => Ok(bytes),
            // File systems that cannot look treat everything as not there.
            Err(Errno::AGAIN | Errno::INTR | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => {
                Ok(0)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Gives the system a hint (`length` 0 means to the end); a file system that takes none works
    /// as well without.
    fn advise(&self, offset: u64, length: u64, advice: rustix::fs::Advice) {
        let length = std::num::NonZeroU64::new(length);
        let _ = rustix::fs::fadvise(&self.file, offset, length, advice);
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests are about files of the system")]
mod tests {
    use super::*;

    fn file(bytes: &[u8]) -> (tempfile::TempDir, OsReader) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        (directory, OsReader { file: File::open(path).unwrap() })
    }

    #[test]
    fn every_kind_of_read_returns_the_same_bytes() {
        let bytes: Vec<u8> = (0..600_000_u32).map(|at| (at % 251) as u8).collect();
        let (_directory, reader) = file(&bytes);
        reader.expect_random_reads();
        reader.will_need(0, 300_000);
        for (offset, count) in [(0, 600_000), (1, 4096), (131_071, 300_001), (599_999, 1), (7, 0)] {
            let expected = &bytes[offset..offset + count];
            let offset = offset as u64;
            assert_eq!(reader.read_at(count, offset).unwrap(), expected);
            let mut once = vec![0; count];
            reader.read_once_at(&mut once, offset).unwrap();
            assert_eq!(once, expected);
        }
    }

    #[test]
    fn read_past_the_end_is_an_error() {
        let (_directory, reader) = file(&[1; 100]);
        for (count, offset) in [(101, 0), (1, 100), (10, 95)] {
            let mut once = vec![0; count];
            for error in [
                reader.read_at(count, offset).map(drop).unwrap_err(),
                reader.read_once_at(&mut once, offset).unwrap_err(),
            ] {
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
            }
        }
    }
}
