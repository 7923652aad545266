//! Writer of blocks: headers, compression, checksums, and links to previous blocks.

use std::{io, mem};

use super::block_header::{BlockHandle, BlockKind, HEADER_BYTES, MAX_PAYLOAD_BYTES};
use super::checksum::{ChecksumType, checksum_bytes};
use super::codec::Compressor;
use super::encoding::DataBlockEncoding;
use super::trailer::TRAILER_BYTES;
use crate::env::FileWriter;
use halite_types::{Error, Result};

/// Writer of consecutive blocks.
pub(super) struct BlockWriter {
    file: Box<dyn FileWriter>,
    path: String,
    compressor: Box<dyn Compressor>,
    checksum: ChecksumType,
    bytes_per_checksum: u32,
    offset: u64,
    total_uncompressed_bytes: u64,
    /// Offset of the last block of each kind written so far.
    previous: [Option<u64>; 9],
    /// Last block, with its header and checksums.
    buffer: Vec<u8>,
    /// Bytes of it before its checksums.
    covered: usize,
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
            covered: 0,
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
        let payload = &self.buffer[HEADER_BYTES..self.covered];
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
        let mut block = mem::take(&mut self.buffer);
        block.clear();
        let written = self
            .build(&mut block, kind, magic, payload, boundaries)
            .and_then(|()| self.append(&block));
        let on_disk_bytes = u32::try_from(block.len()).unwrap_or(u32::MAX);
        self.buffer = block;
        let pointer = BlockHandle { offset: self.offset, on_disk_bytes };
        written?;
        debug_assert!(
            self.previous[kind as usize].is_none_or(|previous| previous < pointer.offset),
            "blocks are written in the order of their offsets"
        );
        debug_assert_eq!(self.buffer.len(), on_disk_bytes as usize, "a block is below 4 GiB");
        self.previous[kind as usize] = Some(pointer.offset);
        self.offset += u64::from(on_disk_bytes);
        Ok(pointer)
    }

    fn build(
        &mut self,
        block: &mut Vec<u8>,
        kind: BlockKind,
        magic: [u8; 8],
        payload: &[u8],
        boundaries: &[usize],
    ) -> Result<()> {
        block.resize(HEADER_BYTES, 0);
        self.compress(payload, boundaries, block)
            .map_err(|error| Error::io("compressing a block", error))?;
        if payload.len().max(block.len()) > MAX_PAYLOAD_BYTES {
            return Err(self.oversized(kind, payload.len()));
        }
        let covered = block.len();
        self.covered = covered;
        let body =
            covered - HEADER_BYTES + checksum_bytes(covered, self.bytes_per_checksum as usize);
        let number =
            |value: usize| u32::try_from(value).expect("a block is far below 4 GiB").to_be_bytes();
        let previous = self.previous[kind as usize].unwrap_or(u64::MAX);
        block[..8].copy_from_slice(&magic);
        block[8..12].copy_from_slice(&number(body));
        block[12..16].copy_from_slice(&number(payload.len()));
        block[16..24].copy_from_slice(&previous.to_be_bytes());
        block[24] = self.checksum.code();
        block[25..29].copy_from_slice(&self.bytes_per_checksum.to_be_bytes());
        block[29..33].copy_from_slice(&number(covered));
        self.checksum.append(block, self.bytes_per_checksum as usize);
        assert_eq!(block.len(), HEADER_BYTES + body, "a header states the length of its block");
        Ok(())
    }

    fn compress(
        &mut self,
        payload: &[u8],
        boundaries: &[usize],
        block: &mut Vec<u8>,
    ) -> io::Result<()> {
        if boundaries.is_empty() {
            return self.compressor.compress(payload, block);
        }
        let mut start = 0;
        for &end in boundaries.iter().chain([&payload.len()]) {
            self.compressor.compress_part(&payload[start..end], block)?;
            if end < payload.len() {
                self.part_starts.push(block.len() - HEADER_BYTES);
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

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| {
            Error::io(format_args!("store file {}: writing at {}", self.path, self.offset), error)
        })
    }

    /// Writes the trailer, makes the file durable and returns its length in bytes.
    pub(super) fn finish(mut self, trailer: &[u8]) -> Result<u64> {
        assert_eq!(trailer.len(), TRAILER_BYTES, "the length of a trailer is fixed");
        self.append(trailer)?;
        self.file.sync().map_err(|error| {
            Error::io(format_args!("store file {}: making it durable", self.path), error)
        })?;
        Ok(self.offset + trailer.len() as u64)
    }
}
