//! Writer of tags in a dictionary; `tags.rs` has the format.

use std::ops::Range;

use super::tag_slots::TagSlots;
use super::tags::NOT_IN_DICTIONARY;
use crate::hfile::vint::write_compressed_int;

/// Dictionary of a block that is encoded. The bodies are in the payload, where they were written.
#[derive(Default)]
pub(super) struct TagWriter {
    /// Position of the body of each filled slot in the payload.
    bodies: Vec<Range<usize>>,
    /// Fingerprint of each of them, so that few are compared.
    fingerprints: Vec<u64>,
    slots: TagSlots,
}

impl TagWriter {
    /// Appends well-formed tags to the payload of the block.
    pub(super) fn write(&mut self, payload: &mut Vec<u8>, mut tags: &[u8]) {
        while let Some((body, rest)) = split_tag(tags) {
            tags = rest;
            self.write_body(payload, body);
        }
    }

    fn write_body(&mut self, payload: &mut Vec<u8>, body: &[u8]) {
        let fingerprint = fingerprint(body);
        if let Some(slot) = self.find(payload, body, fingerprint) {
            self.slots.touch(slot);
            let slot = u16::try_from(slot).expect("there are 127 slots");
            payload.extend_from_slice(&slot.to_be_bytes());
            return;
        }
        payload.push(NOT_IN_DICTIONARY);
        write_compressed_int(payload, body.len());
        let start = payload.len();
        payload.extend_from_slice(body);
        // HBase never finds an empty body.
        if !body.is_empty() {
            self.add(start..payload.len(), fingerprint);
        }
    }

    fn find(&self, payload: &[u8], body: &[u8], fingerprint: u64) -> Option<usize> {
        let alike = |known: &(usize, &u64)| *known.1 == fingerprint;
        let mut slots = self.fingerprints.iter().enumerate().filter(alike).map(|(slot, _)| slot);
        slots.find(|&slot| {
            self.bodies.get(slot).is_some_and(|place| payload.get(place.clone()) == Some(body))
        })
    }

    fn add(&mut self, place: Range<usize>, fingerprint: u64) {
        let slot = self.slots.claim();
        let known = (self.bodies.get_mut(slot), self.fingerprints.get_mut(slot));
        if let (Some(body), Some(known)) = known {
            (*body, *known) = (place, fingerprint);
        } else {
            self.bodies.push(place);
            self.fingerprints.push(fingerprint);
        }
    }

    /// Empties the dictionary for the next block.
    pub(super) fn clear(&mut self) {
        self.bodies.clear();
        self.fingerprints.clear();
        self.slots.clear();
    }
}

/// Returns the tags without bytes after them that are no tag. Clients may write such bytes, no
/// reader of tags returns them, and the dictionary has no form for them.
pub(super) fn whole_tags(tags: &[u8]) -> &[u8] {
    let mut rest = tags;
    while let Some((_, after)) = split_tag(rest) {
        rest = after;
    }
    tags.get(..tags.len().saturating_sub(rest.len())).unwrap_or_default()
}

/// Returns the body of the first tag and what follows it.
#[inline]
fn split_tag(tags: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = tags.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

/// Returns a number that mostly differs for different bodies: both ends and the length.
fn fingerprint(body: &[u8]) -> u64 {
    let (start, end) = match (body.first_chunk::<8>(), body.last_chunk::<8>()) {
        (Some(start), Some(end)) => (u64::from_le_bytes(*start), u64::from_le_bytes(*end)),
        _ => (body.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)), 0),
    };
    start ^ end.rotate_left(29) ^ (body.len() as u64).rotate_left(56)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_tags_are_two_bytes_and_incomplete_ones_dropped() {
        let mut tags = b"\0\x04\x08ttl\0\0\0\x04\x08ttl\0\0".to_vec();
        assert_eq!(whole_tags(&tags), tags);
        let whole = tags.len();
        tags.extend_from_slice(b"\0\x09\x08ttl");
        assert_eq!(whole_tags(&tags), &tags[..whole]);
        let (mut writer, mut payload) = (TagWriter::default(), Vec::new());
        writer.write(&mut payload, whole_tags(&tags));
        assert_eq!(payload, b"\xff\x04\x08ttl\xff\0\0\0\xff\0");
        writer.clear();
        payload.clear();
        writer.write(&mut payload, b"\0\x01\x02");
        assert_eq!(payload, b"\xff\x01\x02");
    }
}
