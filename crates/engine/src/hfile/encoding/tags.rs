//! Tags in a dictionary, which restarts in each block: `ff | cint length | body` for one that is
//! not in it, else its index as a big-endian i16. A body is a tag's type and data.

use crate::hfile::vint::ByteReader;

/// Maximum number of bodies; the least recently used one is evicted.
const CAPACITY: usize = 127;
const NOT_IN_DICTIONARY: u8 = 0xff;

/// Most recently used bodies.
#[derive(Default)]
pub(super) struct TagDictionary<'a> {
    /// Filled from the start, then in the order in which slots become free.
    entries: Vec<&'a [u8]>,
    /// Slots, the most recently used at the end.
    used: Vec<usize>,
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
        let place = usize::from(u16::from_be_bytes([first, input.byte()?]));
        let body = *self.entries.get(place)?;
        self.used.retain(|used| *used != place);
        self.used.push(place);
        Some(body)
    }

    fn add(&mut self, body: &'a [u8]) {
        let place =
            if self.entries.len() < CAPACITY { self.entries.len() } else { self.used.remove(0) };
        match self.entries.get_mut(place) {
            Some(old) => *old = body,
            None => self.entries.push(body),
        }
        self.used.push(place);
    }
}
