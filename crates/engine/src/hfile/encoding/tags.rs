//! Tags through a dictionary, which begins anew in each block: `ff | cint length | body` for one that is not in it, else the
//! number of its place as a big-endian i16. A body is a tag's type and data.

use crate::hfile::vint::Input;

/// How many bodies are kept; the one that was not used for the longest time makes room.
const CAPACITY: usize = 127;
const NOT_IN_DICTIONARY: u8 = 0xff;

/// The bodies seen last.
#[derive(Default)]
pub(super) struct TagDictionary<'a> {
    /// Filled from the front, then in the order in which places become free.
    places: Vec<&'a [u8]>,
    /// The places, the one used last at the end.
    used: Vec<usize>,
}

impl<'a> TagDictionary<'a> {
    /// Appends the tags of a cell, which come to `bytes`, to `out` as they stand in a plain block; `None` if they are damaged.
    pub(super) fn read(&mut self, input: &mut Input<'a>, bytes: usize, out: &mut Vec<u8>) -> Option<()> {
        let mut rest = bytes;
        while rest > 0 {
            let body = self.body(input)?;
            rest = rest.checked_sub(body.len())?.checked_sub(2)?;
            out.extend_from_slice(&u16::try_from(body.len()).ok()?.to_be_bytes());
            out.extend_from_slice(body);
        }
        Some(())
    }

    fn body(&mut self, input: &mut Input<'a>) -> Option<&'a [u8]> {
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
        let body = *self.places.get(place)?;
        self.used.retain(|used| *used != place);
        self.used.push(place);
        Some(body)
    }

    fn add(&mut self, body: &'a [u8]) {
        let place = if self.places.len() < CAPACITY { self.places.len() } else { self.used.remove(0) };
        match self.places.get_mut(place) {
            Some(old) => *old = body,
            None => self.places.push(body),
        }
        self.used.push(place);
    }
}
