//! ZSTD: frames in Hadoop's framing, or without it.
//!
//! HBase has both: the codecs of its own modules (`org.apache.hadoop.hbase.io.compress`) write and
//! read the framing only, Hadoop's `ZStandardCodec`, which requires Hadoop's native library, bare
//! frames only. Both are read here, and the framing is written unless the setting
//! `hbase.io.compress.zstd.codec` names Hadoop's class.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::cell::RefCell;
use std::io::{Cursor, Error, ErrorKind, Result};

use halite_compression::{ChunkCompressor, ChunkDecompressor};
use zstd::bulk;
use zstd::zstd_safe::{DCtx, compress_bound, get_error_name};

use super::block_codec::Compressor;
use super::framed::{self, Framed};

/// First bytes of a frame. As the length of a framed block they would be 683 million bytes.
const FRAME_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The library's error for a target that is too small (`ZSTD_error_dstSize_tooSmall`).
const TARGET_TOO_SMALL: usize = 70_usize.wrapping_neg();
/// Maximum bytes of output per byte of a frame: the format's blocks have at most 128 KiB, in at
/// least four bytes. The library takes runs of 2 MiB in four bytes too.
const MAX_EXPANSION: usize = (128 << 10) / 4;

/// Returns a compressor of a level that the library has: to Hadoop's framing, or to a bare frame.
///
/// # Errors
/// If the library has no memory.
pub(super) fn compressor(level: i32, is_bare: bool) -> Result<Box<dyn Compressor>> {
    let frames = FrameCompressor(bulk::Compressor::new(level)?);
    Ok(if is_bare { Box::new(Bare(frames)) } else { Box::new(Framed(frames)) })
}

/// Compressor to one frame, whose tables serve one frame after the other.
struct FrameCompressor(bulk::Compressor<'static>);

impl ChunkCompressor for FrameCompressor {
    fn compress(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.reserve(compress_bound(chunk.len()));
        let mut target = behind(out);
        self.0.compress_to_buffer(chunk, &mut target).map(drop)
    }
}

struct Bare(FrameCompressor);

impl Compressor for Bare {
    fn compress(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.0.compress(payload, out)
    }
}

thread_local! {
    /// Decompressor of the blocks that this thread reads. A new one for each block would allocate
    /// 160 kB.
    static DECOMPRESSOR: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

pub(super) fn decompress(compressed: &[u8], expected: usize, out: &mut Vec<u8>) -> Result<()> {
    DECOMPRESSOR.with_borrow_mut(|context| {
        let mut frames = Frames(context);
        if compressed.starts_with(&FRAME_MAGIC) {
            return frames.decompress(compressed, expected, out);
        }
        framed::decompress(frames, compressed, expected, out)
    })
}

/// Consecutive frames as a chunk.
///
/// They are decompressed in one call to their place, which requires no window: a frame that states
/// a large one causes no allocation. If the place is too small, it grows and the call is repeated,
/// so that memory grows with the actual output and not with the sizes that frames state.
struct Frames<'a>(&'a mut DCtx<'static>);

impl ChunkDecompressor for Frames<'_> {
    fn decompress(&mut self, frames: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let max_bytes = max_bytes.min(frames.len().saturating_mul(MAX_EXPANSION));
        let mut room = frames.len().saturating_mul(16).saturating_add(4096).min(max_bytes);
        loop {
            out.reserve(room);
            let result = self.0.decompress(&mut behind(out), frames);
            match result {
                Ok(bytes) if bytes <= max_bytes => return Ok(()),
                Err(TARGET_TOO_SMALL) if room < max_bytes => {
                    out.truncate(start);
                    room = room.saturating_mul(4).min(max_bytes);
                }
                Ok(_) | Err(TARGET_TOO_SMALL) => {
                    return Err(Error::new(ErrorKind::InvalidData, "its frames give more"));
                }
                Err(code) => return Err(Error::new(ErrorKind::InvalidData, get_error_name(code))),
            }
        }
    }
}

/// Returns the spare capacity of a buffer as a target.
fn behind(out: &mut Vec<u8>) -> Cursor<&mut Vec<u8>> {
    let position = u64::try_from(out.len()).unwrap_or(u64::MAX);
    let mut target = Cursor::new(out);
    target.set_position(position);
    target
}
