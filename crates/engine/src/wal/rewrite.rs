//! Rewrite of a segment from its whole writes.
//!
//! The recovered writes are used from then on: they are returned to clients and flushed to store
//! files. But bytes that the operating system read from its memory need not be on the disk. Syncing
//! the file again does not prove it, because after a failed sync the memory counts as written. The
//! bytes are therefore rewritten to a new file, which is synced.

use halite_types::{Error, Result};

use super::format::{RecordFormat, SegmentHeader, Write, chain, write_cells, write_end};
use super::names::{segment_path, temporary_path};
use crate::env::Env;

/// Bytes passed to the operating system at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// Segment that is being rewritten.
pub(super) struct Rewriter<'a> {
    env: &'a Env,
    number: u64,
    file: Box<dyn crate::env::FileWriter>,
    seed: u32,
    chunk: Vec<u8>,
    /// Bytes before the chunk.
    written: u64,
}

impl<'a> Rewriter<'a> {
    /// Begins with the header.
    pub(super) fn new(env: &'a Env, header: &SegmentHeader) -> Result<Self> {
        let number = header.number;
        let temporary = temporary_path(&segment_path(number));
        let chunk = header.encode();
        let (_, format) = SegmentHeader::decode(&chunk)
            .map_err(|_| Error::corrupt("a header that was just made cannot be read"))?;
        let RecordFormat::Chained(seed) = format else {
            return Err(Error::corrupt("a header that was just made is of an old version"));
        };
        let create = || {
            if env.fs.exists(&temporary)? {
                env.fs.remove_file(&temporary)?;
            }
            let mut file = env.fs.create(&temporary)?;
            file.write_all(&chunk)?;
            Ok(file)
        };
        let file = create().map_err(|error| failed(env, number, error))?;
        Ok(Self { env, number, file, seed, written: chunk.len() as u64, chunk: Vec::new() })
    }

    /// Adds a write.
    pub(super) fn add(&mut self, write: Write<'_>) -> Result<()> {
        write_cells(
            &mut self.chunk,
            write.region,
            write.sequence,
            write.nonce,
            std::iter::once(write.cells),
        );
        if self.chunk.len() >= CHUNK_BYTES { self.write_chunk() } else { Ok(()) }
    }

    fn write_chunk(&mut self) -> Result<()> {
        chain(&mut self.chunk, self.seed, self.written);
        self.file.write_all(&self.chunk).map_err(|error| failed(self.env, self.number, error))?;
        self.written += self.chunk.len() as u64;
        self.chunk.clear();
        self.chunk.shrink_to(2 * CHUNK_BYTES);
        Ok(())
    }

    /// Replaces the old segment by the new one and returns its length. The next segment, if there
    /// is one, contains the old length `counts_as`. The caller makes the name durable.
    pub(super) fn finish(mut self, counts_as: Option<u64>) -> Result<u64> {
        let length = self.written + (self.chunk.len() + super::format::END_BYTES) as u64;
        write_end(&mut self.chunk, counts_as.unwrap_or(length));
        self.write_chunk()?;
        assert_eq!(self.written, length, "the end record has the length of the segment");
        let path = segment_path(self.number);
        let replaced =
            self.file.sync().and_then(|()| self.env.fs.rename(&temporary_path(&path), &path));
        replaced.map_err(|error| failed(self.env, self.number, error))?;
        Ok(length)
    }
}

fn failed(env: &Env, number: u64, error: std::io::Error) -> Error {
    let path = segment_path(number);
    let _ = env.fs.remove_file(&temporary_path(&path));
    Error::io(
        format!(
            "writing log segment {}/{path} again before its writes count as durable",
            env.fs.root()
        ),
        error,
    )
}
