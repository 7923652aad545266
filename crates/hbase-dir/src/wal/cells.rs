//! Cells of an entry.
//!
//! ```text
//! compressed cell   key length varint | value length varint | tags length varint
//!                   | row item | family item | qualifier item | timestamp i64 | type u8
//!                   | value | tags
//! compressed value  compressed length varint | compressed bytes
//! compressed tags   items of one tag each, until the tags have their length
//! ```

use std::io::Read;

use halite_types::cell::{
    KEY_OVERHEAD, MAX_FAMILY_BYTES, MAX_ROW_BYTES, MAX_TAGS_BYTES, check_key, read_cell,
};
use halite_types::{CellRef, CellType, Cells, CellsBuilder, Result};

use super::dictionary::{Dictionary, FEW_SLOTS, MANY_SLOTS};
use super::input::{Fault, Input, Parsed};

/// Maximum bytes of the cells of an entry, which are in memory together. A request has at most
/// 256 MiB by default.
const MAX_ENTRY_BYTES: usize = 512 << 20;

/// Decompresses a value: number of HBase's codec, compressed bytes, and expected length in bytes.
pub type DecompressValue = fn(u32, &[u8], usize) -> Result<Vec<u8>>;

/// Decoder of cells, with the dictionaries of their parts.
pub(super) struct CellDecoder {
    is_compressed: bool,
    /// Dictionary of tags if they are compressed.
    tags: Option<Dictionary>,
    /// Number of the codec of values, if they are compressed, and its decompressor.
    values: Option<(u32, DecompressValue)>,
    rows: Dictionary,
    qualifiers: Dictionary,
    /// Bytes of the current cell.
    buffer: Vec<u8>,
}

impl CellDecoder {
    pub(super) fn new(
        is_compressed: bool,
        has_compressed_tags: bool,
        values: Option<(u32, DecompressValue)>,
    ) -> Self {
        Self {
            is_compressed,
            tags: has_compressed_tags.then(|| Dictionary::new(MANY_SLOTS)),
            values,
            rows: Dictionary::new(MANY_SLOTS),
            qualifiers: Dictionary::new(FEW_SLOTS),
            buffer: Vec::new(),
        }
    }

    /// Reads as many cells.
    pub(super) fn read<R: Read>(
        &mut self,
        input: &mut Input<R>,
        count: u32,
        families: &mut Dictionary,
    ) -> Parsed<Cells> {
        let mut cells = CellsBuilder::default();
        for _ in 0..count {
            let room = MAX_ENTRY_BYTES.saturating_sub(cells.bytes().len()) as u64;
            if self.is_compressed {
                self.read_compressed(input, families, room, &mut cells)?;
            } else {
                self.read_plain(input, room, &mut cells)?;
            }
        }
        Ok(cells.finish())
    }

    fn read_plain<R: Read>(
        &mut self,
        input: &mut Input<R>,
        room: u64,
        cells: &mut CellsBuilder,
    ) -> Parsed<()> {
        let total: [u8; 4] = input.read_array()?;
        let length = u64::from(u32::from_be_bytes(total));
        check_room(length, room)?;
        self.buffer.clear();
        self.buffer.extend_from_slice(&total);
        input.read_into(&mut self.buffer, length)?;
        let (cell, _) =
            read_cell(&self.buffer, 0).map_err(|why| Fault::damaged(why.to_string()))?;
        push(cells, cell)
    }

    fn read_compressed<R: Read>(
        &mut self,
        input: &mut Input<R>,
        families: &mut Dictionary,
        room: u64,
        cells: &mut CellsBuilder,
    ) -> Parsed<()> {
        let key_length = input.read_length(room, "key of a cell")?;
        let value_length = input.read_length(room, "value")?;
        let tags_length = input.read_length(MAX_TAGS_BYTES as u64, "list of tags")?;
        check_room(key_length.saturating_add(value_length).saturating_add(tags_length), room)?;
        let key = &mut self.buffer;
        key.clear();
        let row = self.rows.read(input, MAX_ROW_BYTES as u64, "row")?;
        key.extend_from_slice(&u16::try_from(row.len()).unwrap_or(u16::MAX).to_be_bytes());
        key.extend_from_slice(row);
        let family = families.read(input, MAX_FAMILY_BYTES as u64, "family")?;
        key.push(u8::try_from(family.len()).unwrap_or(u8::MAX));
        key.extend_from_slice(family);
        key.extend_from_slice(self.qualifiers.read(input, key_length, "qualifier")?);
        input.read_into(key, 9)?;
        if key.len() as u64 != key_length || key.len() < KEY_OVERHEAD || !check_key(key) {
            return Err(Fault::damaged("the parts of a cell do not have the length of its key"));
        }
        let value = match self.values {
            None => input.read_bytes(value_length)?,
            Some(codec) => read_value(input, codec, value_length, room)?,
        };
        let tags = match &mut self.tags {
            None => input.read_bytes(tags_length)?,
            Some(dictionary) => read_tags(input, dictionary, tags_length)?,
        };
        push(cells, CellRef::new(key, &value, &tags, 0))
    }
}

fn check_room(bytes: u64, room: u64) -> Parsed<()> {
    if bytes <= room {
        return Ok(());
    }
    Err(Fault::Damaged(format!("its cells have more than {MAX_ENTRY_BYTES} bytes")))
}

fn push(cells: &mut CellsBuilder, cell: CellRef<'_>) -> Parsed<()> {
    if CellType::from_code(cell.type_code()).is_none() {
        return Err(Fault::Damaged(format!("a cell has the type {}", cell.type_code())));
    }
    if cell.row().is_empty() || cell.row().len() > MAX_ROW_BYTES {
        return Err(Fault::Damaged(format!("a row has {} bytes", cell.row().len())));
    }
    cells.push(cell);
    Ok(())
}

fn read_value<R: Read>(
    input: &mut Input<R>,
    (codec, decompress): (u32, DecompressValue),
    length: u64,
    room: u64,
) -> Parsed<Vec<u8>> {
    let packed_length = input.read_length(room, "compressed value")?;
    let packed = input.read_bytes(packed_length)?;
    // An empty value has compressed bytes, too.
    if length == 0 {
        return Ok(packed.get(..0).unwrap_or_default().to_vec());
    }
    let expected = usize::try_from(length).unwrap_or(usize::MAX);
    let value = decompress(codec, &packed, expected)
        .map_err(|why| Fault::Damaged(format!("a value: {}", why.message())))?;
    if value.len() == expected {
        Ok(value)
    } else {
        Err(Fault::damaged("a value has another length than its cell says"))
    }
}

fn read_tags<R: Read>(
    input: &mut Input<R>,
    dictionary: &mut Dictionary,
    length: u64,
) -> Parsed<Vec<u8>> {
    let mut tags = Vec::new();
    while (tags.len() as u64) < length {
        let tag = dictionary.read(input, length, "tag")?;
        tags.extend_from_slice(&u16::try_from(tag.len()).unwrap_or(u16::MAX).to_be_bytes());
        tags.extend_from_slice(tag);
    }
    if tags.len() as u64 == length {
        Ok(tags)
    } else {
        Err(Fault::damaged("the tags of a cell do not have their length"))
    }
}
