//! One cell, one byte layout: HBase's `KeyValue`, its accessors and its order.
//!
//! ```text
//! flat key    rowLength u16 | row | familyLength u8 | family | qualifier | timestamp i64 | type u8
//! cell        total u32 | keyLength u32 | valueLength u32 | key | value [ | tagsLength u16 | tags ]
//! ```
//! All integers are big-endian. `total` is the number of bytes after it. The tags part exists only
//! if `total` includes it. This is the layout of a `KeyValueCodecWithTags` cell block, so
//! operations, the write-ahead log, the memstore and responses use the same bytes. The sequence id
//! of a cell is not part of the layout: the owner of the cells stores it separately.

use std::cmp::Ordering;

use bytes::Bytes;

use crate::error::{Error, Result};

/// Longest row key in bytes (a signed 16-bit length, as in HBase: `HConstants.MAX_ROW_LENGTH`).
pub const MAX_ROW_BYTES: usize = i16::MAX as usize;
/// Longest family name in bytes (a signed 8-bit length, as in HBase).
pub const MAX_FAMILY_BYTES: usize = i8::MAX as usize;
/// Longest tags part of one cell in bytes.
pub const MAX_TAGS_BYTES: usize = u16::MAX as usize;
/// Timestamp that means "the current time of the server".
pub const LATEST_TIMESTAMP: i64 = i64::MAX;
/// Tag type of a cell's time to live; its data is an `i64` of milliseconds.
pub const TAG_TTL: u8 = 8;

/// Bytes of a flat key other than row, family and qualifier.
pub const KEY_OVERHEAD: usize = 2 + 1 + 8 + 1;
/// Bytes of an encoded cell before its key.
pub const CELL_HEADER: usize = 4 + 4 + 4;

/// Type of a cell. The numbers are HBase's type codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum CellType {
    /// A value.
    Put = 4,
    /// Hides one version of a column: the one with exactly this timestamp.
    Delete = 8,
    /// Hides all cells of the family that carry exactly this timestamp.
    DeleteFamilyVersion = 10,
    /// Hides all versions of a column up to this timestamp.
    DeleteColumn = 12,
    /// Hides all cells of the family up to this timestamp.
    DeleteFamily = 14,
}

impl CellType {
    /// Returns the type of a stored code; `None` for codes that are never stored.
    pub fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            4 => Self::Put,
            8 => Self::Delete,
            10 => Self::DeleteFamilyVersion,
            12 => Self::DeleteColumn,
            14 => Self::DeleteFamily,
            _ => return None,
        })
    }

    /// Returns the type code stored in the key.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Returns `true` for the four delete markers.
    pub fn is_delete(self) -> bool {
        self != Self::Put
    }

    /// Returns HBase's name of the type, as its shell prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Put => "Put",
            Self::Delete => "Delete",
            Self::DeleteFamilyVersion => "DeleteFamilyVersion",
            Self::DeleteColumn => "DeleteColumn",
            Self::DeleteFamily => "DeleteFamily",
        }
    }
}

/// Type code that sorts before every real type; it only occurs in search and index keys.
pub const TYPE_MAXIMUM: u8 = 255;
/// Type code that sorts after every real type; it only occurs in search keys.
pub const TYPE_MINIMUM: u8 = 0;

/// View of one cell. Cheap to copy; it borrows its bytes.
#[derive(Clone, Copy, Debug)]
pub struct CellRef<'a> {
    key: &'a [u8],
    value: &'a [u8],
    tags: &'a [u8],
    sequence_id: u64,
}

impl<'a> CellRef<'a> {
    /// Creates a view of parts that are known to be well formed, such as a key made by
    /// [`write_key`].
    ///
    /// # Panics
    /// The accessors panic later if `key` is not a flat key; check bytes from outside with
    /// [`check_key`].
    #[inline]
    pub fn new(key: &'a [u8], value: &'a [u8], tags: &'a [u8], sequence_id: u64) -> Self {
        debug_assert!(check_key(key), "not a flat key");
        Self { key, value, tags, sequence_id }
    }

    /// Returns the flat key.
    #[inline]
    pub fn key(&self) -> &'a [u8] {
        self.key
    }

    /// Returns the row key.
    #[inline]
    pub fn row(&self) -> &'a [u8] {
        key_row(self.key)
    }

    /// Returns the family name.
    #[inline]
    pub fn family(&self) -> &'a [u8] {
        key_family(self.key)
    }

    /// The qualifier; may be empty.
    #[inline]
    pub fn qualifier(&self) -> &'a [u8] {
        key_qualifier(self.key)
    }

    /// Returns the timestamp, by convention in milliseconds since the epoch; any `i64` is legal in
    /// a stored cell.
    #[inline]
    pub fn timestamp(&self) -> i64 {
        key_timestamp(self.key)
    }

    /// Returns the type code as stored.
    #[inline]
    pub fn type_code(&self) -> u8 {
        self.key[self.key.len() - 1]
    }

    /// Returns the type; `None` for the codes of search keys.
    pub fn cell_type(&self) -> Option<CellType> {
        CellType::from_code(self.type_code())
    }

    /// Returns `true` if this is a delete marker.
    #[inline]
    pub fn is_delete(&self) -> bool {
        let code = self.type_code();
        (CellType::Delete as u8..=CellType::DeleteFamily as u8).contains(&code)
    }

    /// Returns the value; empty for delete markers.
    #[inline]
    pub fn value(&self) -> &'a [u8] {
        self.value
    }

    /// Returns the raw tags: repeated `length u16 | type u8 | data`, where the length counts type
    /// and data.
    #[inline]
    pub fn tags(&self) -> &'a [u8] {
        self.tags
    }

    /// Returns the sequence id (HBase's mvcc); 0 if the source stores none.
    #[inline]
    pub fn sequence_id(&self) -> u64 {
        self.sequence_id
    }

    /// Returns the same cell with another sequence id.
    #[must_use]
    pub fn with_sequence_id(self, sequence: u64) -> Self {
        Self { sequence_id: sequence, ..self }
    }

    /// Returns the same cell with another value.
    #[must_use]
    pub fn with_value(self, value: &'a [u8]) -> Self {
        Self { value, ..self }
    }

    /// Returns the cell's time to live in milliseconds, if it has one.
    pub fn ttl_ms(&self) -> Option<i64> {
        if self.tags.is_empty() {
            return None;
        }
        tags(self.tags)
            .find(|(kind, data)| *kind == TAG_TTL && data.len() == 8)
            .map(|(_, data)| i64::from_be_bytes(data.try_into().expect("length was checked")))
    }

    /// Returns the number of bytes of the encoded cell.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        let tags = if self.tags.is_empty() { 0 } else { 2 + self.tags.len() };
        CELL_HEADER + self.key.len() + self.value.len() + tags
    }

    /// Returns the number of bytes of key, value and tags.
    #[inline]
    pub fn payload_len(&self) -> usize {
        self.key.len() + self.value.len() + self.tags.len()
    }
}

/// Returns the tags of a cell as `(type, data)`; stops at the first tag that does not fit.
pub fn tags(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (tag, rest) = rest.split_at_checked(length)?;
        bytes = rest;
        tag.split_first().map(|(kind, data)| (*kind, data))
    })
}

/// Appends one tag to `out`.
///
/// # Panics
/// If `data` is longer than 65,534 bytes.
pub fn write_tag(out: &mut Vec<u8>, kind: u8, data: &[u8]) {
    let length = u16::try_from(data.len() + 1).expect("a tag is shorter than 64 KiB");
    out.extend_from_slice(&length.to_be_bytes());
    out.push(kind);
    out.extend_from_slice(data);
}

/// Returns `true` if `key` is a well-formed flat key: long enough for the lengths it specifies.
#[inline]
pub fn check_key(key: &[u8]) -> bool {
    if key.len() < KEY_OVERHEAD {
        return false;
    }
    let row = usize::from(u16::from_be_bytes([key[0], key[1]]));
    match key.get(2 + row) {
        Some(&family) => key.len() >= KEY_OVERHEAD + row + usize::from(family),
        None => false,
    }
}

/// Returns the number of bytes of the row in a well-formed key.
#[inline]
pub fn key_row_len(key: &[u8]) -> usize {
    usize::from(u16::from_be_bytes([key[0], key[1]]))
}

/// Returns the row of a well-formed key.
#[inline]
pub fn key_row(key: &[u8]) -> &[u8] {
    &key[2..2 + key_row_len(key)]
}

/// Returns the family of a well-formed key.
#[inline]
pub fn key_family(key: &[u8]) -> &[u8] {
    let offset = 2 + key_row_len(key);
    let length = usize::from(key[offset]);
    &key[offset + 1..offset + 1 + length]
}

/// Returns the qualifier of a well-formed key.
#[inline]
pub fn key_qualifier(key: &[u8]) -> &[u8] {
    let offset = 2 + key_row_len(key);
    let start = offset + 1 + usize::from(key[offset]);
    &key[start..key.len() - 9]
}

/// Returns the timestamp of a well-formed key.
#[inline]
pub fn key_timestamp(key: &[u8]) -> i64 {
    let end = key.len() - 1;
    i64::from_be_bytes(key[end - 8..end].try_into().expect("eight bytes"))
}

/// Sets the timestamp and type of a well-formed key.
pub fn set_key_timestamp(key: &mut [u8], timestamp: i64, type_code: u8) {
    let (_, end) =
        key.split_last_chunk_mut::<9>().expect("a well-formed key ends with timestamp and type");
    end[..8].copy_from_slice(&timestamp.to_be_bytes());
    end[8] = type_code;
}

/// Appends a flat key to `out`. A real key has a row of at most [`MAX_ROW_BYTES`] and a family of
/// at most [`MAX_FAMILY_BYTES`]; search keys may have both empty.
///
/// # Panics
/// If the row or the family do not fit their length fields.
pub fn write_key(
    out: &mut Vec<u8>,
    row: &[u8],
    family: &[u8],
    qualifier: &[u8],
    timestamp: i64,
    type_code: u8,
) {
    let row_length = u16::try_from(row.len()).expect("row length is checked by the caller");
    let family_length = u8::try_from(family.len()).expect("family length is checked by the caller");
    out.reserve(KEY_OVERHEAD + row.len() + family.len() + qualifier.len());
    out.extend_from_slice(&row_length.to_be_bytes());
    out.extend_from_slice(row);
    out.push(family_length);
    out.extend_from_slice(family);
    out.extend_from_slice(qualifier);
    out.extend_from_slice(&timestamp.to_be_bytes());
    out.push(type_code);
}

/// Returns a new flat key; see [`write_key`].
pub fn make_key(
    row: &[u8],
    family: &[u8],
    qualifier: &[u8],
    timestamp: i64,
    type_code: u8,
) -> Vec<u8> {
    let mut key = Vec::new();
    write_key(&mut key, row, family, qualifier, timestamp, type_code);
    key
}

/// Returns the part of a row that determines its position among all possible rows: the first
/// `MAX_ROW_BYTES + 1` bytes. No stored row is that long, so the rest changes no comparison.
pub fn searched_row(row: &[u8]) -> &[u8] {
    &row[..row.len().min(MAX_ROW_BYTES + 1)]
}

/// Returns the search key that sorts before every cell of `row`, which may be longer than stored
/// rows (HBase: `createFirstOnRow`).
pub fn first_on_row(row: &[u8]) -> Vec<u8> {
    make_key(searched_row(row), b"", b"", LATEST_TIMESTAMP, TYPE_MAXIMUM)
}

/// Returns the search key that sorts after every cell of `row` and before the next row, with the
/// same limits as [`first_on_row`] (HBase: `createLastOnRow`).
pub fn last_on_row(row: &[u8]) -> Vec<u8> {
    make_key(searched_row(row), b"", b"", i64::MIN, TYPE_MINIMUM)
}

/// Returns the search key that sorts before every cell of a column.
pub fn first_on_column(row: &[u8], family: &[u8], qualifier: &[u8]) -> Vec<u8> {
    make_key(row, family, qualifier, LATEST_TIMESTAMP, TYPE_MAXIMUM)
}

/// Returns the search key that sorts after every cell of a column and before the next column.
pub fn last_on_column(row: &[u8], family: &[u8], qualifier: &[u8]) -> Vec<u8> {
    make_key(row, family, qualifier, i64::MIN, TYPE_MINIMUM)
}

/// Compares two well-formed flat keys, as HBase's `CellComparator` without the sequence id: row,
/// family and qualifier ascending by unsigned bytes, timestamp descending, type code descending. A
/// key with empty family, empty qualifier and type Minimum sorts after everything else in its row.
#[inline]
pub fn compare_keys(a: &[u8], b: &[u8]) -> Ordering {
    let (a_row, b_row) = (key_row_len(a), key_row_len(b));
    match a[2..2 + a_row].cmp(&b[2..2 + b_row]) {
        Ordering::Equal => compare_after_row(a, b, a_row),
        order => order,
    }
}

/// Compares two keys whose rows, of `row` bytes, are known to be equal.
#[inline]
fn compare_after_row(a: &[u8], b: &[u8], row: usize) -> Ordering {
    let (a_family, b_family) = (usize::from(a[2 + row]), usize::from(b[2 + row]));
    let (a_end, b_end) = (a.len() - 9, b.len() - 9);
    let start = 3 + row;
    if a_family == 0 || b_family == 0 {
        let a_last = a_family == 0 && a_end == start && a[a.len() - 1] == TYPE_MINIMUM;
        let b_last = b_family == 0 && b_end == start && b[b.len() - 1] == TYPE_MINIMUM;
        if a_last || b_last {
            return a_last.cmp(&b_last);
        }
    }
    // Family and qualifier are adjacent: if the families have equal lengths, one comparison is
    // sufficient.
    let order = if a_family == b_family {
        a[start..a_end].cmp(&b[start..b_end])
    } else {
        a[start..start + a_family].cmp(&b[start..start + b_family])
    };
    match order {
        Ordering::Equal => compare_stamps(&a[a_end..], &b[b_end..]),
        order => order,
    }
}

/// Compares the last nine bytes of two keys: timestamp descending, then type code descending.
#[inline]
fn compare_stamps(a: &[u8], b: &[u8]) -> Ordering {
    let stamp = |bytes: &[u8]| i64::from_be_bytes(bytes[..8].try_into().expect("eight bytes"));
    stamp(b).cmp(&stamp(a)).then_with(|| b[8].cmp(&a[8]))
}

/// Compares two cells in storage order: [`compare_keys`], then the higher sequence id first.
#[inline]
pub fn compare_cells(a: &CellRef<'_>, b: &CellRef<'_>) -> Ordering {
    compare_keys(a.key, b.key).then_with(|| b.sequence_id.cmp(&a.sequence_id))
}

/// Returns the first eight bytes as a number, padded with zeros. Strings with different prefixes
/// sort in the order of the prefixes: if the first difference is a padding byte, the shorter string
/// is a prefix of the other. Equal prefixes do not determine an order.
#[inline]
fn bytes_prefix(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(prefix) => u64::from_be_bytes(*prefix),
        None => bytes
            .iter()
            .enumerate()
            .fold(0, |prefix, (at, byte)| prefix | u64::from(*byte) << (56 - 8 * at)),
    }
}

/// Common prefix of the rows in a sorted list. The eight bytes after it distinguish most rows: they
/// form a number for each row, which a search compares before the keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowPrefix(Box<[u8]>);

impl RowPrefix {
    /// Returns the common prefix of all rows from `first` to `last`, without the bytes that fit in
    /// the number anyway.
    pub fn from_bounds(first: &[u8], last: &[u8]) -> Self {
        let shared = first.iter().zip(last).take_while(|(one, other)| one == other).count();
        let shorter = first.len().min(last.len());
        Self(first[..shared.min(shorter.saturating_sub(size_of::<u64>()))].into())
    }

    /// Creates a prefix for rows most of which are expected to begin with `shared`. Comparisons of
    /// other rows only take longer.
    pub fn expecting(shared: &[u8]) -> Self {
        Self(shared.into())
    }

    /// Returns the abbreviated key of the row in a well-formed key: the eight bytes after the
    /// shared ones, 0 for rows before all that share them, the highest number for rows after those.
    /// Rows with different numbers sort in that order; equal numbers do not determine an order.
    #[inline]
    pub fn abbreviated_key(&self, key: &[u8]) -> u64 {
        let row = key_row(key);
        match row.strip_prefix(&*self.0) {
            Some(rest) => bytes_prefix(rest),
            None if row < &*self.0 => 0,
            None => u64::MAX,
        }
    }

    /// Returns the heap memory in bytes, without the struct itself.
    pub fn memory_bytes(&self) -> usize {
        self.0.len()
    }
}

/// Returns `true` if two well-formed keys have the same row, family and qualifier.
#[inline]
pub fn same_column(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a[..a.len() - 9] == b[..b.len() - 9]
}

/// Appends an encoded cell to `out`.
///
/// # Panics
/// If key and value together do not fit a `u32`, or the tags a `u16`.
pub fn write_cell(out: &mut Vec<u8>, cell: CellRef<'_>) {
    let total = u32::try_from(cell.encoded_len() - 4).expect("cell size is limited by the caller");
    let key = u32::try_from(cell.key.len()).expect("smaller than the total");
    let value = u32::try_from(cell.value.len()).expect("smaller than the total");
    out.reserve(cell.encoded_len());
    out.extend_from_slice(&total.to_be_bytes());
    out.extend_from_slice(&key.to_be_bytes());
    out.extend_from_slice(&value.to_be_bytes());
    out.extend_from_slice(cell.key);
    out.extend_from_slice(cell.value);
    if !cell.tags.is_empty() {
        let tags = u16::try_from(cell.tags.len()).expect("tags are limited to 64 KiB");
        out.extend_from_slice(&tags.to_be_bytes());
        out.extend_from_slice(cell.tags);
    }
}

/// Appends an encoded Put or delete marker assembled from its parts; see [`write_key`] for the
/// limits.
pub fn write_cell_parts(out: &mut Vec<u8>, parts: CellParts<'_>) {
    let key = KEY_OVERHEAD + parts.row.len() + parts.family.len() + parts.qualifier.len();
    let tags = if parts.tags.is_empty() { 0 } else { 2 + parts.tags.len() };
    let total = u32::try_from(8 + key + parts.value.len() + tags)
        .expect("cell size is limited by the caller");
    out.reserve(4 + 8 + key + parts.value.len() + tags);
    out.extend_from_slice(&total.to_be_bytes());
    out.extend_from_slice(&u32::try_from(key).expect("smaller than the total").to_be_bytes());
    out.extend_from_slice(
        &u32::try_from(parts.value.len()).expect("smaller than the total").to_be_bytes(),
    );
    write_key(
        out,
        parts.row,
        parts.family,
        parts.qualifier,
        parts.timestamp,
        parts.cell_type.code(),
    );
    out.extend_from_slice(parts.value);
    if !parts.tags.is_empty() {
        out.extend_from_slice(
            &u16::try_from(parts.tags.len()).expect("tags are limited to 64 KiB").to_be_bytes(),
        );
        out.extend_from_slice(parts.tags);
    }
}

/// Parts of a cell for [`write_cell_parts`].
#[derive(Clone, Copy, Debug)]
pub struct CellParts<'a> {
    /// Row key, at most [`MAX_ROW_BYTES`].
    pub row: &'a [u8],
    /// Family name, at most [`MAX_FAMILY_BYTES`].
    pub family: &'a [u8],
    /// Qualifier; may be empty.
    pub qualifier: &'a [u8],
    /// Timestamp; [`LATEST_TIMESTAMP`] is replaced by the store's clock.
    pub timestamp: i64,
    /// Put or one of the delete markers.
    pub cell_type: CellType,
    /// Value; empty for delete markers.
    pub value: &'a [u8],
    /// Raw tags, at most [`MAX_TAGS_BYTES`].
    pub tags: &'a [u8],
}

/// Reads the encoded cell at the front of `bytes` and returns it with the bytes after it.
///
/// # Errors
/// The length that does not fit; no input causes an allocation or a panic.
pub fn read_cell(
    bytes: &[u8],
    sequence: u64,
) -> std::result::Result<(CellRef<'_>, &[u8]), CellFormatError> {
    let (header, body) =
        bytes.split_first_chunk::<CELL_HEADER>().ok_or(CellFormatError::Truncated)?;
    let [t0, t1, t2, t3, k0, k1, k2, k3, v0, v1, v2, v3] = *header;
    let total = u32::from_be_bytes([t0, t1, t2, t3]) as usize;
    let key_length = u32::from_be_bytes([k0, k1, k2, k3]) as usize;
    let value_length = u32::from_be_bytes([v0, v1, v2, v3]) as usize;
    let body_length = total.checked_sub(8).ok_or(CellFormatError::Lengths)?;
    let (body, rest) = body.split_at_checked(body_length).ok_or(CellFormatError::Truncated)?;
    let (key, body) = body.split_at_checked(key_length).ok_or(CellFormatError::Lengths)?;
    let (value, body) = body.split_at_checked(value_length).ok_or(CellFormatError::Lengths)?;
    let tags = match body.split_first_chunk::<2>() {
        None if body.is_empty() => body,
        Some((length, tags)) if usize::from(u16::from_be_bytes(*length)) == tags.len() => tags,
        _ => return Err(CellFormatError::Lengths),
    };
    if !check_key(key) {
        return Err(CellFormatError::Key);
    }
    Ok((CellRef { key, value, tags, sequence_id: sequence }, rest))
}

/// Reason why bytes are not an encoded cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellFormatError {
    /// The bytes end before the cell does.
    Truncated,
    /// The length fields contradict each other.
    Lengths,
    /// The row or family length inside the key does not fit the key.
    Key,
}

impl std::fmt::Display for CellFormatError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the bytes end inside a cell",
            Self::Lengths => "the lengths of a cell contradict each other",
            Self::Key => "the row or family length of a cell does not fit its key",
        })
    }
}

impl std::error::Error for CellFormatError {}

/// Sequence of encoded, well-formed cells; cloning and slicing share the bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells {
    bytes: Bytes,
    count: usize,
}

impl Cells {
    /// Verifies bytes from an external source and returns them as cells.
    ///
    /// # Errors
    /// `InvalidRequest` with the cell and offset of the first invalid byte.
    pub fn from_bytes(bytes: Bytes) -> Result<Self> {
        let mut rest: &[u8] = &bytes;
        let mut count = 0;
        while !rest.is_empty() {
            match read_cell(rest, 0) {
                Ok((_, tail)) => rest = tail,
                Err(why) => {
                    return Err(Error::invalid(format!(
                        "cell {count} at byte {}: {why}",
                        bytes.len() - rest.len()
                    )));
                }
            }
            count += 1;
        }
        Ok(Self { bytes, count })
    }

    /// Returns the encoded bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns the number of cells.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns `true` if there are no cells.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the cells in the order in which they were written.
    pub fn iter(&self) -> CellIter<'_> {
        CellIter { rest: &self.bytes }
    }

    /// Returns the first cell.
    pub fn first(&self) -> Option<CellRef<'_>> {
        self.iter().next()
    }

    /// Splits off the first `count` cells, sharing their bytes; returns `None` and changes nothing
    /// if there are fewer.
    pub fn split_to(&mut self, count: usize) -> Option<Self> {
        if count > self.count {
            return None;
        }
        let mut cells = self.iter();
        cells.by_ref().take(count).for_each(drop);
        let end = self.bytes.len() - cells.rest.len();
        self.count -= count;
        Some(Self { bytes: self.bytes.split_to(end), count })
    }
}

impl<'a> IntoIterator for &'a Cells {
    type Item = CellRef<'a>;
    type IntoIter = CellIter<'a>;

    fn into_iter(self) -> CellIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a CellsBuilder {
    type Item = CellRef<'a>;
    type IntoIter = CellIter<'a>;

    fn into_iter(self) -> CellIter<'a> {
        self.iter()
    }
}

/// Iterator over the cells of a [`Cells`] or [`CellsBuilder`].
#[derive(Clone, Debug)]
pub struct CellIter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for CellIter<'a> {
    type Item = CellRef<'a>;

    #[inline]
    fn next(&mut self) -> Option<CellRef<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let (cell, rest) =
            read_cell(self.rest, 0).expect("cells are checked when they are taken in");
        self.rest = rest;
        Some(cell)
    }
}

/// Builder that collects encoded cells in one buffer.
#[derive(Clone, Debug, Default)]
pub struct CellsBuilder {
    bytes: Vec<u8>,
    count: usize,
}

impl CellsBuilder {
    /// Creates an empty builder with capacity for `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), count: 0 }
    }

    /// Appends a cell.
    #[inline]
    pub fn push(&mut self, cell: CellRef<'_>) {
        write_cell(&mut self.bytes, cell);
        self.count += 1;
    }

    /// Appends a sequence of cells in one copy.
    pub fn extend(&mut self, cells: &Cells) {
        self.bytes.extend_from_slice(&cells.bytes);
        self.count += cells.count;
    }

    /// Appends a cell specified by its parts.
    pub fn push_parts(&mut self, parts: CellParts<'_>) {
        write_cell_parts(&mut self.bytes, parts);
        self.count += 1;
    }

    /// Returns the number of cells.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns `true` if there are no cells.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the encoded bytes so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the cells so far.
    pub fn iter(&self) -> CellIter<'_> {
        CellIter { rest: &self.bytes }
    }

    /// Removes the cells after the first `count`, which end at byte `bytes`.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn truncate(&mut self, count: usize, bytes: usize) {
        assert!(
            count <= self.count && bytes <= self.bytes.len(),
            "cannot truncate to more than there is"
        );
        self.bytes.truncate(bytes);
        self.count = count;
    }

    /// Replaces each cell's timestamp with the result of `change`.
    pub fn map_timestamps(&mut self, mut change: impl FnMut(i64) -> i64) {
        let mut offset = 0;
        while offset < self.bytes.len() {
            let field = |field_offset: usize| {
                u32::from_be_bytes(
                    self.bytes[offset + field_offset..offset + field_offset + 4]
                        .try_into()
                        .expect("four bytes"),
                ) as usize
            };
            let (total, key) = (field(0), field(4));
            let stamp_offset = offset + CELL_HEADER + key - 9;
            let stamp: &mut [u8; 8] =
                (&mut self.bytes[stamp_offset..stamp_offset + 8]).try_into().expect("eight bytes");
            *stamp = change(i64::from_be_bytes(*stamp)).to_be_bytes();
            offset += 4 + total;
        }
    }

    /// As [`CellsBuilder::map_timestamps`], for callers that examine the cells in the same pass.
    /// `change` receives each cell and the offset of its end, and returns its timestamp.
    ///
    /// # Errors
    /// The first error of `change`. The cells before it have their new timestamps.
    #[inline]
    pub fn try_map_timestamps<E>(
        &mut self,
        mut change: impl FnMut(CellRef<'_>, usize) -> std::result::Result<i64, E>,
    ) -> std::result::Result<(), E> {
        let mut at = 0;
        while at < self.bytes.len() {
            let (cell, rest) =
                read_cell(&self.bytes[at..], 0).expect("cells are checked when they are taken in");
            let end = self.bytes.len() - rest.len();
            let (stamp_at, old) = (at + CELL_HEADER + cell.key.len() - 9, cell.timestamp());
            let new = change(cell, end)?;
            if new != old {
                self.bytes[stamp_at..stamp_at + 8].copy_from_slice(&new.to_be_bytes());
            }
            at = end;
        }
        Ok(())
    }

    /// Returns the cells, ready to be shared.
    pub fn finish(self) -> Cells {
        Cells { bytes: Bytes::from(self.bytes), count: self.count }
    }

    /// Releases unused capacity if it exceeds the used bytes.
    pub fn shrink(&mut self) {
        if self.bytes.capacity() / 2 > self.bytes.len() {
            self.bytes.shrink_to_fit();
        }
    }

    /// Returns the cells, split into parts that share their bytes: each part has an end offset and
    /// a number of cells.
    ///
    /// # Panics
    /// If an end is past the end of the cells.
    pub fn finish_split(self, pieces: impl IntoIterator<Item = (usize, usize)>) -> Vec<Cells> {
        let whole = Bytes::from(self.bytes);
        let mut start = 0;
        let piece = |(end, count)| {
            let bytes = whole.slice(start..end);
            start = end;
            Cells { bytes, count }
        };
        pieces.into_iter().map(piece).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(row: &str, family: &str, qualifier: &str, timestamp: i64, code: u8) -> Vec<u8> {
        make_key(row.as_bytes(), family.as_bytes(), qualifier.as_bytes(), timestamp, code)
    }

    #[test]
    fn timestamps_change_up_to_the_first_error() {
        let mut cells = CellsBuilder::default();
        for (row, stamp) in [("a", LATEST_TIMESTAMP), ("b", 5), ("c", LATEST_TIMESTAMP)] {
            cells.push(CellRef::new(&key(row, "f", "q", stamp, 4), b"value", b"", 0));
        }
        let (mut ends, before) = (Vec::new(), cells.clone());
        let stamps =
            |cells: &CellsBuilder| cells.iter().map(|cell| cell.timestamp()).collect::<Vec<_>>();
        let stamp = |old: i64| if old == LATEST_TIMESTAMP { 9 } else { old };
        let done: std::result::Result<(), ()> = cells.try_map_timestamps(|cell, end| {
            ends.push((cell.row().to_vec(), end));
            Ok(stamp(cell.timestamp()))
        });
        assert_eq!((done, stamps(&cells)), (Ok(()), vec![9, 5, 9]));
        let third = before.bytes().len() / 3;
        let expected = [(b"a", third), (b"b", 2 * third), (b"c", 3 * third)];
        assert_eq!(ends, expected.map(|(row, end)| (row.to_vec(), end)));

        let mut mapped = before.clone();
        mapped.map_timestamps(stamp);
        assert_eq!(mapped.bytes(), cells.bytes());

        let mut cells = before;
        let failed = cells.try_map_timestamps(|cell, _| {
            if cell.row() == b"b" { Err("b") } else { Ok(stamp(cell.timestamp())) }
        });
        assert_eq!((failed, stamps(&cells)), (Err("b"), vec![9, 5, LATEST_TIMESTAMP]));
    }

    #[test]
    fn keys_sort_as_hbase_sorts_them() {
        let sorted = [
            first_on_row(b"a"),
            key("a", "f", "", 9, 14),
            key("a", "f", "", 9, 4),
            first_on_column(b"a", b"f", b"p"),
            key("a", "f", "p", 7, 12),
            key("a", "f", "p", 7, 8),
            key("a", "f", "p", 7, 4),
            key("a", "f", "p", -1, 4),
            last_on_column(b"a", b"f", b"p"),
            key("a", "f", "pp", 9, 4),
            key("a", "g", "", 9, 4),
            last_on_row(b"a"),
            key("a\0", "f", "p", 9, 4),
            key("b", "f", "", 1, 4),
            key("\u{7f}", "f", "", 1, 4),
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(compare_keys(a, b), i.cmp(&j), "{i} and {j}");
            }
        }
    }

    #[test]
    fn newer_sequence_id_sorts_first() {
        let key = key("a", "f", "q", 1, 4);
        let cell = |sequence| CellRef::new(&key, b"", b"", sequence);
        assert_eq!(compare_cells(&cell(2), &cell(1)), Ordering::Less);
    }

    #[test]
    fn cells_round_trip_through_encoding() {
        let mut tags = Vec::new();
        write_tag(&mut tags, TAG_TTL, &500i64.to_be_bytes());
        let mut builder = CellsBuilder::default();
        for (qualifier, tags) in [("", &[][..]), ("q", &tags[..])] {
            builder.push_parts(CellParts {
                row: b"r",
                family: b"f",
                qualifier: qualifier.as_bytes(),
                timestamp: LATEST_TIMESTAMP,
                cell_type: CellType::Put,
                value: b"v",
                tags,
            });
        }
        builder.map_timestamps(|stamp| if stamp == LATEST_TIMESTAMP { 7 } else { stamp });
        let cells = Cells::from_bytes(builder.finish().bytes().clone()).expect("own encoding");
        let seen: Vec<_> = cells
            .iter()
            .map(|c| (c.qualifier().to_vec(), c.timestamp(), c.value().to_vec(), c.ttl_ms()))
            .collect();
        assert_eq!(
            seen,
            [(b"".to_vec(), 7, b"v".to_vec(), None), (b"q".to_vec(), 7, b"v".to_vec(), Some(500))]
        );
    }

    #[test]
    fn cell_run_splits_between_cells_and_rejoins() {
        let mut builder = CellsBuilder::default();
        for value in ["a", "bb", "ccc"] {
            let value = value.as_bytes();
            builder.push_parts(CellParts {
                row: b"r",
                family: b"f",
                qualifier: b"q",
                timestamp: 1,
                cell_type: CellType::Put,
                value,
                tags: b"",
            });
        }
        let whole = builder.finish();
        let mut rest = whole.clone();
        let front = rest.split_to(2).unwrap();
        assert_eq!((front.len(), rest.len()), (2, 1));
        assert_eq!(rest.first().unwrap().value(), b"ccc");
        assert_eq!(front.bytes().as_ptr(), whole.bytes().as_ptr(), "no copy");
        assert_eq!(rest.split_to(2), None);
        assert_eq!((rest.len(), rest.split_to(0).unwrap().len()), (1, 0));
        let mut again = CellsBuilder::default();
        again.extend(&front);
        again.extend(&rest);
        assert_eq!(again.finish(), whole);
    }

    #[test]
    fn truncated_or_flipped_cell_bytes_never_panic() {
        let key = key("row", "f", "q", 1, 4);
        let mut good = Vec::new();
        write_cell(&mut good, CellRef::new(&key, b"value", &[0, 2, 8, 1], 0));
        for end in 0..good.len() {
            assert!(Cells::from_bytes(Bytes::copy_from_slice(&good[..end])).is_err() || end == 0);
        }
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                if let Ok(cells) = Cells::from_bytes(Bytes::from(bad)) {
                    for cell in &cells {
                        let _ = (
                            cell.row(),
                            cell.family(),
                            cell.qualifier(),
                            cell.timestamp(),
                            cell.ttl_ms(),
                        );
                    }
                }
            }
        }
    }
}
