//! Cell blocks: the cells of a message, stored contiguously after it.
//!
//! ```text
//! KeyValueCodec           total u32 | keyLength u32 | valueLength u32 | key | value             per cell
//! KeyValueCodecWithTags   the same | tagsLength u16 | tags                                      if the cell has tags
//! CellCodec               row, family, qualifier: length u32 | bytes each | timestamp i64 | type u8 | value: length u32 | bytes
//!                         | sequence i64
//! CellCodecWithTags       the same with tags: length u32 | bytes before the sequence
//! ```
//! All integers are big-endian. The `KeyValue` codecs are the layout of [`halite_types::cell`], so
//! such a block becomes [`Cells`] by being checked, without a copy, and cells become a block by
//! being appended. A connection with a compressor compresses every block, including one without
//! cells.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod cell_codec;
mod compressor;
mod key_value;

use bytes::{Bytes, BytesMut};
use halite_types::{Cells, Error, Result};

pub use compressor::Compressor;

/// Encoding of single cells in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Codec {
    /// `KeyValueCodec`, used by every client; tags are omitted.
    #[default]
    KeyValue,
    /// `KeyValueCodecWithTags`, for replication and export.
    KeyValueWithTags,
    /// `CellCodec`.
    Cell,
    /// `CellCodecWithTags`.
    CellWithTags,
}

impl Codec {
    /// All codecs.
    pub const ALL: [Self; 4] =
        [Self::KeyValue, Self::KeyValueWithTags, Self::Cell, Self::CellWithTags];

    /// Returns the name of the Java class, as in a connection header.
    pub fn class(self) -> &'static str {
        match self {
            Self::KeyValue => "org.apache.hadoop.hbase.codec.KeyValueCodec",
            Self::KeyValueWithTags => "org.apache.hadoop.hbase.codec.KeyValueCodecWithTags",
            Self::Cell => "org.apache.hadoop.hbase.codec.CellCodec",
            Self::CellWithTags => "org.apache.hadoop.hbase.codec.CellCodecWithTags",
        }
    }

    /// Returns the codec of a class name.
    pub fn from_class(class: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| codec.class() == class)
    }
}

/// Format of the blocks of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CellBlockFormat {
    /// Codec of the cells.
    pub codec: Codec,
    /// Compressor of the block, if any.
    pub compressor: Option<Compressor>,
}

impl CellBlockFormat {
    /// Prepares the block of `cells`.
    ///
    /// # Errors
    /// If the block would not fit in a frame, or compression fails.
    pub fn block<'a>(&self, cells: &'a [Cells]) -> Result<CellBlock<'a>> {
        let plain = CellBlock::plain(self.codec, cells);
        match self.compressor {
            None => Ok(plain),
            Some(compressor) => {
                let packed = Bytes::from(compressor.compress(&plain.to_bytes())?);
                Ok(CellBlock { len: packed.len(), content: Content::Packed(packed) })
            }
        }
    }
}

/// Encoded cells of a block, in a `KeyValue` layout or compressed, ready to be appended to a frame.
#[derive(Clone, Debug)]
pub struct CellBlock<'a> {
    len: usize,
    content: Content<'a>,
}

#[derive(Clone, Debug)]
enum Content<'a> {
    Cells { codec: Codec, cells: &'a [Cells] },
    Packed(Bytes),
}

impl<'a> CellBlock<'a> {
    fn plain(codec: Codec, cells: &'a [Cells]) -> Self {
        let len = cells.iter().map(|run| encoded_len(codec, run)).fold(0, usize::saturating_add);
        Self { len, content: Content::Cells { codec, cells } }
    }

    /// Returns the number of bytes of the block, for the header that announces it.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if the block has no bytes, which is legal.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the block in a new buffer.
    pub fn to_bytes(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(self.len);
        self.write(&mut out);
        out.freeze()
    }

    /// Appends the block, exactly [`CellBlock::len`] bytes.
    pub fn write(&self, out: &mut BytesMut) {
        match &self.content {
            Content::Packed(bytes) => out.extend_from_slice(bytes),
            Content::Cells { codec, cells } => {
                cells.iter().for_each(|run| encode(*codec, run, out));
            }
        }
    }
}

fn encoded_len(codec: Codec, cells: &Cells) -> usize {
    match codec {
        Codec::KeyValue => key_value::len_without_tags(cells),
        Codec::KeyValueWithTags => cells.bytes().len(),
        Codec::Cell => cell_codec::encoded_len(cells, false),
        Codec::CellWithTags => cell_codec::encoded_len(cells, true),
    }
}

fn encode(codec: Codec, cells: &Cells, out: &mut BytesMut) {
    match codec {
        Codec::KeyValue => key_value::write_without_tags(cells, out),
        Codec::KeyValueWithTags => out.extend_from_slice(cells.bytes()),
        Codec::Cell => cell_codec::encode(cells, false, out),
        Codec::CellWithTags => cell_codec::encode(cells, true, out),
    }
}

/// Decodes a block from an external source. `max_bytes` limits the decompressed size.
///
/// The cells of an uncompressed `KeyValue` block share `block`.
///
/// # Errors
/// `InvalidRequest` with the invalid cell, its offset and the reason, or the error of the
/// decompression.
pub fn decode(block: &Bytes, format: CellBlockFormat, max_bytes: usize) -> Result<Cells> {
    let plain = match format.compressor {
        None => block.clone(),
        Some(compressor) => Bytes::from(compressor.decompress(block, max_bytes)?),
    };
    let cells = match format.codec {
        Codec::KeyValue => key_value::decode_without_tags(plain)?,
        Codec::KeyValueWithTags => Cells::from_bytes(plain)?,
        Codec::Cell => cell_codec::decode(&plain, false)?,
        Codec::CellWithTags => cell_codec::decode(&plain, true)?,
    };
    check(&cells)?;
    Ok(cells)
}

/// Rejects well-formed but invalid cells: a length that exceeds HBase's signed fields, or a type of
/// search keys.
fn check(cells: &Cells) -> Result<()> {
    for (index, cell) in cells.iter().enumerate() {
        let wrong = if cell.row().len() > halite_types::cell::MAX_ROW_BYTES {
            format!("its row has {} bytes, more than 32767", cell.row().len())
        } else if cell.family().len() > halite_types::cell::MAX_FAMILY_BYTES {
            format!("its family has {} bytes, more than 127", cell.family().len())
        } else if cell.cell_type().is_none() {
            format!("{} is not a cell type", cell.type_code())
        } else {
            continue;
        };
        return Err(Error::invalid(format!("cell {index} of the cell block: {wrong}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
