//! Dictionaries of a compressed log.
//!
//! ```text
//! item      0xff | length varint | bytes, which take a slot     or     slot u16
//! ```
//! A new item takes the next free slot, or that of the least recently used item. An empty item
//! takes none.

use std::collections::BTreeMap;
use std::io::Read;

use super::input::{Fault, Input, Parsed};

/// First byte of an item that is not in the dictionary; no slot's number starts with it.
pub(super) const NEW_ITEM: u8 = 0xff;
/// Slots of most dictionaries.
pub(super) const MANY_SLOTS: usize = i16::MAX as usize;
/// Slots of the dictionaries of families and qualifiers.
pub(super) const FEW_SLOTS: usize = i8::MAX as usize;

/// Items by slot.
pub(super) struct Dictionary {
    capacity: usize,
    items: Vec<Item>,
    /// Slots by the time of their last use.
    by_use: BTreeMap<u64, usize>,
    now: u64,
}

struct Item {
    bytes: Vec<u8>,
    last_use: u64,
}

impl Dictionary {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, items: Vec::new(), by_use: BTreeMap::new(), now: 0 }
    }

    /// Reads an item of at most `max` bytes.
    pub(super) fn read<R: Read>(
        &mut self,
        input: &mut Input<R>,
        max: u64,
        what: &str,
    ) -> Parsed<&[u8]> {
        let [first] = input.read_array()?;
        if first == NEW_ITEM {
            let length = input.read_length(max, what)?;
            let bytes = input.read_bytes(length)?;
            return Ok(self.add(bytes));
        }
        let [second] = input.read_array()?;
        let slot = usize::from(u16::from_be_bytes([first, second]));
        self.find(slot, max)
            .ok_or_else(|| Fault::Damaged(format!("a {what} is in slot {slot}, which has none")))
    }

    fn find(&mut self, slot: usize, max: u64) -> Option<&[u8]> {
        self.now = self.now.saturating_add(1);
        let item = self.items.get_mut(slot)?;
        self.by_use.remove(&item.last_use);
        item.last_use = self.now;
        self.by_use.insert(self.now, slot);
        (item.bytes.len() as u64 <= max).then_some(&item.bytes)
    }

    fn add(&mut self, bytes: Vec<u8>) -> &[u8] {
        if bytes.is_empty() {
            return &[];
        }
        self.now = self.now.saturating_add(1);
        let item = Item { bytes, last_use: self.now };
        let slot = if self.items.len() < self.capacity {
            self.items.push(item);
            self.items.len().saturating_sub(1)
        } else {
            let slot = self.by_use.pop_first().map_or(0, |(_, slot)| slot);
            if let Some(place) = self.items.get_mut(slot) {
                *place = item;
            }
            slot
        };
        self.by_use.insert(self.now, slot);
        self.items.get(slot).map_or(&[], |item| &item.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// Reads items until the end, and returns them joined.
    fn items(dictionary: &mut Dictionary, bytes: &[u8]) -> Option<Vec<String>> {
        let (mut input, _) = Input::new(Cursor::new(bytes)).unwrap();
        let mut found = Vec::new();
        while input.offset() < input.end() {
            let item = dictionary.read(&mut input, 100, "item").ok()?;
            found.push(String::from_utf8(item.to_vec()).unwrap());
        }
        Some(found)
    }

    #[test]
    fn least_recently_used_item_loses_its_slot() {
        let mut dictionary = Dictionary::new(2);
        // a and b are new, a is used, c takes the slot of b; an empty item takes none.
        let bytes = b"\xff\x01a\xff\x01b\0\0\xff\0\xff\x01c\0\x01\0\0";
        assert_eq!(items(&mut dictionary, bytes).unwrap(), ["a", "b", "a", "", "c", "c", "a"]);
        assert_eq!(items(&mut dictionary, b"\0\x02"), None, "no such slot");
        assert_eq!(items(&mut dictionary, b"\xff\x65"), None, "over 100 bytes");
    }
}
