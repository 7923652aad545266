//! Search for entries after a place where a log cannot be read further.
//!
//! Entries have neither a magic nor a checksum, but their keys begin alike:
//!
//! ```text
//! length varint | 0x0a | length | region | 0x12 | length | table | 0x18 | sequence id | 0x20 | time
//! ```
//! with the encoded name of a region and the name of a table, or, in a compressed log, items of
//! dictionaries. This is enough to tell a log that ends inside its last entry from one that is
//! damaged before further entries, not to read them: whether an entry is missing is unknown.

use std::io::{self, Read};

use halite_types::TableName;
use prost::Message as _;
use prost::encoding::decode_varint;

use super::dictionary::NEW_ITEM;
use super::key::WalKeyMessage;
use crate::store_file_name::is_hex;

/// Bytes that are searched at a time.
const WINDOW_BYTES: usize = 1 << 20;
/// Minimum and maximum bytes of a key that is recognized.
const KEY_BYTES: std::ops::RangeInclusive<u64> = 12..=4096;
/// Bytes that decide about a place: a key and its length.
const DECIDING_BYTES: usize = 4096 + 10;
/// First byte of a key: its field 1, the region.
const REGION_FIELD: u8 = 0x0a;
/// Times of entries in compressed logs, in milliseconds: the years 2000 to 2200.
const TIMES: std::ops::Range<u64> = 946_684_800_000..7_258_118_400_000;

/// Returns how many bytes of a source are before the first entry in it; `None` if there is none.
pub(super) fn find_entry(mut source: impl Read) -> io::Result<Option<u64>> {
    let mut window = Vec::new();
    let mut before = 0_u64;
    loop {
        let read = source.by_ref().take(WINDOW_BYTES as u64).read_to_end(&mut window)?;
        let decided =
            if read == 0 { window.len() } else { window.len().saturating_sub(DECIDING_BYTES) };
        let mut places = 0..decided;
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

/// Returns whether the bytes begin with the key of an entry.
fn is_entry(mut bytes: &[u8]) -> bool {
    let key = decode_varint(&mut bytes)
        .ok()
        .filter(|length| KEY_BYTES.contains(length) && bytes.first() == Some(&REGION_FIELD))
        .and_then(|length| bytes.get(..usize::try_from(length).ok()?));
    let Some(key) = key.and_then(|key| WalKeyMessage::decode(key).ok()) else { return false };
    let (region, table) = (&key.encoded_region_name[..], &key.table_name[..]);
    let is_plain = std::str::from_utf8(region).is_ok_and(is_hex)
        && std::str::from_utf8(table).is_ok_and(|name| name.parse::<TableName>().is_ok());
    let is_compressed = is_item(region) && is_item(table) && TIMES.contains(&key.write_time);
    key.log_sequence_number > 0 && (is_plain || is_compressed)
}

/// Returns whether a field of a key may be an item of a dictionary: a slot, or a new item.
fn is_item(field: &[u8]) -> bool {
    match field {
        [NEW_ITEM, length, item @ ..] => usize::from(*length) == item.len(),
        [_, _] => true,
        _ => false,
    }
}
