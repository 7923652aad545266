//! Tags in a dictionary, which restarts in each block: `ff | cint length | body` for one that is
//! not in it, else its slot as a big-endian i16. A body is a tag's type and data.

use super::tag_slots::TagSlots;
use crate::hfile::vint::ByteReader;

/// Byte before a body that is not in the dictionary.
pub(super) const NOT_IN_DICTIONARY: u8 = 0xff;

/// Dictionary of a block that is decoded.
#[derive(Default)]
pub(super) struct TagDictionary<'a> {
    bodies: Vec<&'a [u8]>,
    slots: TagSlots,
}

impl<'a> TagDictionary<'a> {
    /// Appends the tags of a cell, which are `bytes` long, to `out` as they are stored in a plain
    /// block; `None` if they are damaged.
    pub(super) fn read(
        &mut self,
        input: &mut ByteReader<'a>,
        bytes: usize,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let mut rest = bytes;
        while rest > 0 {
            let body = self.body(input)?;
            rest = rest.checked_sub(body.len())?.checked_sub(2)?;
            out.extend_from_slice(&u16::try_from(body.len()).ok()?.to_be_bytes());
            out.extend_from_slice(body);
        }
        Some(())
    }

    fn body(&mut self, input: &mut ByteReader<'a>) -> Option<&'a [u8]> {
        let first = input.byte()?;
        if first == NOT_IN_DICTIONARY {
            let bytes = input.compressed_int()?;
            let body = input.take(bytes)?;
            if !body.is_empty() {
                self.add(body);
            }
            return Some(body);
        }
        let slot = usize::from(u16::from_be_bytes([first, input.byte()?]));
        self.slots.touch(slot)?;
        self.bodies.get(slot).copied()
    }

    fn add(&mut self, body: &'a [u8]) {
        let slot = self.slots.claim();
        match self.bodies.get_mut(slot) {
            Some(old) => *old = body,
            None => self.bodies.push(body),
        }
    }
}
