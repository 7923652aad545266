//! Writer of blocks: headers, compression, checksums, and links to previous blocks.

use std::{io, mem};

use super::block_header::{BlockHandle, BlockKind, HEADER_BYTES, MAX_PAYLOAD_BYTES};
use super::checksum::{ChecksumType, checksum_bytes};
use super::codec::Compressor;
use super::encoding::DataBlockEncoding;
use super::trailer::TRAILER_BYTES;
use crate::env::FileWriter;
use halite_types::{Error, ErrorKind, Result};

/// Bytes that are written to the file at once, or up to a block more. The system's page cache keeps
/// such a write in larger pieces than single blocks, which saves a tenth to a sixth of the time of
/// writing the file, and of reading it from there (ext4 of Linux 6.18).
const WRITE_BYTES: usize = 512 << 10;

/// Writer of consecutive blocks.
pub(super) struct BlockWriter {
    file: Box<dyn FileWriter>,
    path: String,
    compressor: Box<dyn Compressor>,
    checksum: ChecksumType,
    bytes_per_checksum: u32,
    /// Bytes so far, with those of `buffer`.
    offset: u64,
    total_uncompressed_bytes: u64,
    /// Offset of the last block of each kind written so far.
    previous: [Option<u64>; 9],
    /// Blocks that are not in the file yet, with their headers and checksums, up to the last one.
    buffer: Vec<u8>,
    /// Where the last block begins in it.
    block_start: usize,
    /// Where the checksums of the last block begin in it.
    covered_end: usize,
    /// `true` once a write failed, so that the file lacks bytes.
    has_failed: bool,
    /// Where the parts of the last data block begin on disk after its header, without the first.
    part_starts: Vec<usize>,
}

/// Data block that was written.
pub(super) struct WrittenData<'a> {
    pub(super) handle: BlockHandle,
    /// Its payload as it is on disk.
    pub(super) payload: &'a [u8],
    /// Where its parts begin in it, without the first.
    pub(super) part_starts: &'a [usize],
}

impl BlockWriter {
    pub(super) fn new(
        file: Box<dyn FileWriter>,
        path: &str,
        compressor: Box<dyn Compressor>,
        checksum: ChecksumType,
        bytes_per_checksum: u32,
    ) -> Self {
        Self {
            file,
            path: path.to_owned(),
            compressor,
            checksum,
            bytes_per_checksum,
            offset: 0,
            total_uncompressed_bytes: 0,
            previous: [None; 9],
            buffer: Vec::new(),
            block_start: 0,
            covered_end: 0,
            has_failed: false,
            part_starts: Vec::new(),
        }
    }

    /// Returns the length of the file so far, in bytes.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the name of the file for errors.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Returns HBase's sum over headers and uncompressed payloads. It excludes the upper levels of
    /// the data index.
    pub(super) fn total_uncompressed_bytes(&self) -> u64 {
        self.total_uncompressed_bytes
    }

    /// Writes a block and returns its location.
    pub(super) fn write(&mut self, kind: BlockKind, payload: &[u8]) -> Result<BlockHandle> {
        let pointer = self.write_upper_index(kind, payload)?;
        self.total_uncompressed_bytes += (HEADER_BYTES + payload.len()) as u64;
        Ok(pointer)
    }

    /// Returns `true` if data blocks can be written in parts that decompress by themselves.
    pub(super) fn compresses_parts(&self) -> bool {
        self.compressor.compresses_parts()
    }

    /// Writes a data block with the payload of an encoder, compressed in parts that begin at
    /// `boundaries` of the payload. Without boundaries, it is compressed as a whole.
    pub(super) fn write_data(
        &mut self,
        encoding: DataBlockEncoding,
        payload: &[u8],
        boundaries: &[usize],
    ) -> Result<WrittenData<'_>> {
        self.part_starts.clear();
        let handle = self.write_block(BlockKind::Data, *encoding.magic(), payload, boundaries)?;
        self.total_uncompressed_bytes += (HEADER_BYTES + payload.len()) as u64;
        let payload = &self.buffer[self.block_start + HEADER_BYTES..self.covered_end];
        Ok(WrittenData { handle, payload, part_starts: &self.part_starts })
    }

    /// Writes a block that HBase does not include in the total of uncompressed bytes.
    pub(super) fn write_upper_index(
        &mut self,
        kind: BlockKind,
        payload: &[u8],
    ) -> Result<BlockHandle> {
        self.write_block(kind, *kind.magic(), payload, &[])
    }

    fn write_block(
        &mut self,
        kind: BlockKind,
        magic: [u8; 8],
        payload: &[u8],
        boundaries: &[usize],
    ) -> Result<BlockHandle> {
        if self.buffer.len() >= WRITE_BYTES || self.has_failed {
            self.write_buffer()?;
        }
        let mut buffer = mem::take(&mut self.buffer);
        self.block_start = buffer.len();
        let built = self.build(&mut buffer, kind, magic, payload, boundaries);
        if built.is_err() {
            buffer.truncate(self.block_start);
        }
        self.buffer = buffer;
        built?;
        let on_disk_bytes = u32::try_from(self.buffer.len() - self.block_start)
            .expect("a block is far below 4 GiB");
        let pointer = BlockHandle { offset: self.offset, on_disk_bytes };
        debug_assert!(
            self.previous[kind as usize].is_none_or(|previous| previous < pointer.offset),
            "blocks are written in the order of their offsets"
        );
        self.previous[kind as usize] = Some(pointer.offset);
        self.offset += u64::from(on_disk_bytes);
        Ok(pointer)
    }

    /// Builds a block at the end of the buffer.
    fn build(
        &mut self,
        buffer: &mut Vec<u8>,
        kind: BlockKind,
        magic: [u8; 8],
        payload: &[u8],
        boundaries: &[usize],
    ) -> Result<()> {
        let start = buffer.len();
        let payload_start = start + HEADER_BYTES;
        buffer.resize(payload_start, 0);
        self.compress(payload, boundaries, buffer)
            .map_err(|error| Error::io("compressing a block", error))?;
        let covered = buffer.len() - start;
        if payload.len().max(covered) > MAX_PAYLOAD_BYTES {
            return Err(self.oversized(kind, payload.len()));
        }
        self.covered_end = buffer.len();
        let body =
            covered - HEADER_BYTES + checksum_bytes(covered, self.bytes_per_checksum as usize);
        let number =
            |value: usize| u32::try_from(value).expect("a block is far below 4 GiB").to_be_bytes();
        let previous = self.previous[kind as usize].unwrap_or(u64::MAX);
        let header = &mut buffer[start..payload_start];
        header[..8].copy_from_slice(&magic);
        header[8..12].copy_from_slice(&number(body));
        header[12..16].copy_from_slice(&number(payload.len()));
        header[16..24].copy_from_slice(&previous.to_be_bytes());
        header[24] = self.checksum.code();
        header[25..29].copy_from_slice(&self.bytes_per_checksum.to_be_bytes());
        header[29..33].copy_from_slice(&number(covered));
        self.checksum.append(buffer, start, self.bytes_per_checksum as usize);
        let bytes = buffer.len() - start;
        assert_eq!(bytes, HEADER_BYTES + body, "a header states the length of its block");
        Ok(())
    }

    fn compress(
        &mut self,
        payload: &[u8],
        boundaries: &[usize],
        buffer: &mut Vec<u8>,
    ) -> io::Result<()> {
        if boundaries.is_empty() {
            return self.compressor.compress(payload, buffer);
        }
        let payload_start = buffer.len();
        let mut start = 0;
        for &end in boundaries.iter().chain([&payload.len()]) {
            self.compressor.compress_part(&payload[start..end], buffer)?;
            if end < payload.len() {
                self.part_starts.push(buffer.len() - payload_start);
            }
            start = end;
        }
        Ok(())
    }

    /// Returns the error for a block that is too large to be read again.
    pub(super) fn oversized(&self, kind: BlockKind, bytes: usize) -> Error {
        Error::invalid(format!(
            "store file {}: a {} of {bytes} bytes is over the limit of {MAX_PAYLOAD_BYTES}; write \
             smaller cells",
            self.path,
            kind.name(),
        ))
    }

    /// Writes the blocks of the buffer to the file.
    fn write_buffer(&mut self) -> Result<()> {
        if self.has_failed {
            let path = &self.path;
            return Err(Error::new(
                ErrorKind::Io,
                format!(
                    "store file {path}: an earlier write failed; write it again from its start"
                ),
            ));
        }
        let written = self.file.write_all(&self.buffer);
        let start = self.offset - self.buffer.len() as u64;
        self.buffer.clear();
        self.has_failed = written.is_err();
        written.map_err(|error| {
            Error::io(format_args!("store file {}: writing at {start}", self.path), error)
        })
    }

    /// Writes the trailer, makes the file durable and returns its length in bytes.
    pub(super) fn finish(mut self, trailer: &[u8]) -> Result<u64> {
        assert_eq!(trailer.len(), TRAILER_BYTES, "the length of a trailer is fixed");
        self.buffer.extend_from_slice(trailer);
        self.offset += trailer.len() as u64;
        self.write_buffer()?;
        self.file.sync().map_err(|error| {
            Error::io(format_args!("store file {}: making it durable", self.path), error)
        })?;
        Ok(self.offset)
    }
}
