//! Search for entries after a place where a log cannot be read further.
//!
//! Entries have neither a magic nor a checksum, but they begin alike:
//!
//! ```text
//! length varint | 0x0a | length | region | 0x12 | length | table | 0x18 | sequence id | 0x20 | time
//! | other fields of the key | cell ...
//! ```
//! with the encoded name of a region and the name of a table, or, in a compressed log, items of
//! dictionaries. This is enough to tell a log that ends inside its last entry from one that is
//! damaged before further entries, not to read them: whether an entry is missing is unknown. What
//! is not as HBase's writer writes it is no entry, because a value of the last entry may be of any
//! form.

use std::io::{self, Read};

use halite_types::TableName;
use halite_types::cell::{KEY_OVERHEAD, MAX_FAMILY_BYTES, MAX_ROW_BYTES, MAX_TAGS_BYTES};
use prost::Message as _;
use prost::encoding::decode_varint;

use super::dictionary::{FEW_SLOTS, MANY_SLOTS, NEW_ITEM};
use super::key::WalKeyMessage;
use crate::meta;
use crate::store_file_name::is_hex;

/// Bytes that are searched at a time.
const WINDOW_BYTES: usize = 1 << 20;
/// Minimum and maximum bytes of a key that is recognized.
const KEY_BYTES: std::ops::RangeInclusive<u64> = 12..=4096;
/// Bytes that decide about a place: a key with its length, and another one, or the lengths, the row
/// and the family of a cell.
const DECIDING_BYTES: usize = 128 << 10;
/// First byte of a key: its field 1, the region.
const REGION_FIELD: u8 = 0x0a;
/// Times of entries in milliseconds: the years 2000 to 2200.
const TIMES: std::ops::Range<u64> = 946_684_800_000..7_258_118_400_000;
/// Digits of the encoded name of a region, except that of `hbase:meta`.
const REGION_DIGITS: usize = 32;
/// Maximum bytes of a cell, and of each part of it.
const MAX_CELL_BYTES: u64 = i32::MAX as u64;

/// Form of the entries that are searched.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LogForm {
    Plain,
    Compressed,
    /// The header that tells is damaged.
    Unknown,
}

/// Returns how many bytes of a source are before the first entry in it; `None` if there is none.
pub(super) fn find_entry(mut source: impl Read, form: LogForm) -> io::Result<Option<u64>> {
    let mut window = Vec::new();
    let mut before = 0_u64;
    loop {
        let read = source.by_ref().take(WINDOW_BYTES as u64).read_to_end(&mut window)?;
        let decided =
            if read == 0 { window.len() } else { window.len().saturating_sub(DECIDING_BYTES) };
        let mut places = 0..decided;
        let is_entry = |bytes: &[u8]| match form {
            LogForm::Plain => is_entry(bytes, false),
            LogForm::Compressed => is_entry(bytes, true),
            LogForm::Unknown => is_entry(bytes, false) || is_entry(bytes, true),
        };
        if let Some(place) = places.find(|place| window.get(*place..).is_some_and(is_entry)) {
            return Ok(Some(before.saturating_add(place as u64)));
        }
        if read == 0 {
            return Ok(None);
        }
        window.drain(..decided);
        before = before.saturating_add(decided as u64);
    }
}

/// Returns whether the bytes begin with a key, and go on with a cell, or, after a key without
/// cells, with another key or not at all.
fn is_entry(bytes: &[u8], is_compressed: bool) -> bool {
    let Some((cells, rest)) = split_key(bytes, is_compressed) else { return false };
    match cells {
        0 => rest.is_empty() || split_key(rest, is_compressed).is_some(),
        _ if is_compressed => begins_compressed_cell(rest).is_some(),
        _ => begins_plain_cell(rest).is_some(),
    }
}

/// Returns the number of cells of the entry whose key the bytes begin with, and the bytes after the
/// key. Most places are decided by a few bytes: only a whole begin of a key, which does not overlap
/// another one, is worth decoding.
fn split_key(mut bytes: &[u8], is_compressed: bool) -> Option<(u32, &[u8])> {
    let length = decode_varint(&mut bytes).ok().filter(|length| KEY_BYTES.contains(length))?;
    if bytes.first() != Some(&REGION_FIELD) {
        return None;
    }
    let (key, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    let mut fields = key;
    let region = take_field(&mut fields, REGION_FIELD)?;
    let table = take_field(&mut fields, 0x12)?;
    let names_fit = if is_compressed {
        is_item(region, is_region) && is_item(table, is_table)
    } else {
        is_region(region) && is_table(table)
    };
    let sequence = names_fit.then(|| take_number(&mut fields, 0x18)).flatten()?;
    let time = take_number(&mut fields, 0x20)?;
    if sequence == 0 || !TIMES.contains(&time) {
        return None;
    }
    Some((WalKeyMessage::decode(key).ok()?.following_kv_count?, rest))
}

fn take_tag(bytes: &mut &[u8], tag: u8) -> Option<()> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    (*first == tag).then_some(())
}

/// Takes a field of bytes with its tag.
fn take_field<'a>(bytes: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    take_tag(bytes, tag)?;
    let length = usize::try_from(decode_varint(bytes).ok()?).ok()?;
    let (field, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(field)
}

/// Takes a number with its tag.
fn take_number(bytes: &mut &[u8], tag: u8) -> Option<u64> {
    take_tag(bytes, tag)?;
    decode_varint(bytes).ok()
}

fn is_region(name: &[u8]) -> bool {
    let name = std::str::from_utf8(name).unwrap_or_default();
    (name.len() == REGION_DIGITS && is_hex(name)) || name == meta::REGION
}

fn is_table(name: &[u8]) -> bool {
    std::str::from_utf8(name).is_ok_and(|name| name.parse::<TableName>().is_ok())
}

/// Returns whether a field of a key may be an item of a dictionary: a slot, or a new item.
fn is_item(field: &[u8], is_name: fn(&[u8]) -> bool) -> bool {
    match field {
        [NEW_ITEM, rest @ ..] => {
            let mut item = rest;
            let length = decode_varint(&mut item).ok();
            length == Some(item.len() as u64) && is_name(item)
        }
        [high, low] => usize::from(u16::from_be_bytes([*high, *low])) < MANY_SLOTS,
        _ => false,
    }
}

/// Returns `None` unless the lengths in a plain cell fit each other.
fn begins_plain_cell(mut bytes: &[u8]) -> Option<()> {
    let total = take_length(&mut bytes)?;
    let key = take_length(&mut bytes)?;
    let value = take_length(&mut bytes)?;
    let row = u64::from(u16::from_be_bytes(*bytes.first_chunk::<2>()?));
    // The lengths of the key and the value, and that of the tags, which may be missing.
    let tags = total.checked_sub(key.saturating_add(value).saturating_add(8))?;
    let names = key.checked_sub(KEY_OVERHEAD as u64)?;
    let fits = total <= MAX_CELL_BYTES
        && tags.saturating_sub(2) <= MAX_TAGS_BYTES as u64
        && (1..=names).contains(&row);
    fits.then_some(())
}

fn take_length(bytes: &mut &[u8]) -> Option<u64> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    Some(u64::from(u32::from_be_bytes(*length)))
}

/// Returns `None` unless a compressed cell begins with possible lengths, and the items of a row and
/// a family.
fn begins_compressed_cell(mut bytes: &[u8]) -> Option<()> {
    let [key, value, tags] = [(); 3].map(|()| decode_varint(&mut bytes).ok());
    let names = key?.checked_sub(KEY_OVERHEAD as u64)?;
    let lengths_fit =
        key? <= MAX_CELL_BYTES && value? <= MAX_CELL_BYTES && tags? <= MAX_TAGS_BYTES as u64;
    take_item(&mut bytes, names.min(MAX_ROW_BYTES as u64), MANY_SLOTS)?;
    take_item(&mut bytes, names.min(MAX_FAMILY_BYTES as u64), FEW_SLOTS)?;
    lengths_fit.then_some(())
}

/// Takes an item of a dictionary: of at most `max` bytes, or in one of `slots`.
fn take_item(bytes: &mut &[u8], max: u64, slots: usize) -> Option<()> {
    if bytes.first() == Some(&NEW_ITEM) {
        *bytes = bytes.get(1..)?;
        let length = decode_varint(bytes).ok().filter(|length| (1..=max).contains(length))?;
        *bytes = bytes.get(usize::try_from(length).ok()?..)?;
        return Some(());
    }
    let (slot, rest) = bytes.split_first_chunk::<2>()?;
    *bytes = rest;
    (usize::from(u16::from_be_bytes(*slot)) < slots).then_some(())
}
