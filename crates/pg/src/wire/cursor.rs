//! Fields of a message, in order.

use std::fmt;

use bytes::{Buf as _, Bytes};

/// Message whose bytes are not what its type says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0)
    }
}

/// Reads the fields of one message.
pub(crate) struct Cursor {
    rest: Bytes,
}

impl Cursor {
    pub(crate) fn new(body: Bytes) -> Self {
        Self { rest: body }
    }

    /// Returns the number of bytes that are left.
    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.rest.try_get_u8().map_err(|_| Malformed("the message ends within a byte"))
    }

    pub(crate) fn i16(&mut self) -> Result<i16, Malformed> {
        self.rest.try_get_i16().map_err(|_| Malformed("the message ends within a number"))
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        self.rest.try_get_u16().map_err(|_| Malformed("the message ends within a number"))
    }

    pub(crate) fn i32(&mut self) -> Result<i32, Malformed> {
        self.rest.try_get_i32().map_err(|_| Malformed("the message ends within a number"))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.rest.try_get_u32().map_err(|_| Malformed("the message ends within a number"))
    }

    /// Reads bytes of a length that the message states.
    pub(crate) fn bytes(&mut self, length: usize) -> Result<Bytes, Malformed> {
        if length > self.rest.len() {
            return Err(Malformed("a length in the message is beyond its end"));
        }
        Ok(self.rest.split_to(length))
    }

    /// Reads a value: its length, which is -1 for null, and its bytes.
    pub(crate) fn value(&mut self) -> Result<Option<Bytes>, Malformed> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length)
                    .map_err(|_| Malformed("the message has a negative length"))?;
                self.bytes(length).map(Some)
            }
        }
    }

    /// Reads text up to its zero byte.
    pub(crate) fn text(&mut self) -> Result<String, Malformed> {
        let end = self.rest.iter().position(|byte| *byte == 0);
        let end = end.ok_or(Malformed("text in the message has no end"))?;
        let text = self.rest.split_to(end);
        self.rest.advance(1);
        String::from_utf8(text.to_vec()).map_err(|_| Malformed("text in the message is not UTF-8"))
    }

    /// Reads a count of 16 bits, and as many fields of at least `least_bytes` each.
    pub(crate) fn list<T>(
        &mut self,
        least_bytes: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let count = usize::from(self.u16()?);
        if count * least_bytes > self.remaining() {
            return Err(Malformed("a count in the message is beyond its end"));
        }
        (0..count).map(|_| read(self)).collect()
    }

    /// Checks that nothing is left.
    pub(crate) fn end(&self) -> Result<(), Malformed> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(Malformed("the message continues after its last field"))
    }
}
