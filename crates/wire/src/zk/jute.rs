//! Jute, ZooKeeper's record format.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{BufMut, Bytes, BytesMut};
use halite_types::{Error, Result};

/// Reader of the fields of a record.
pub(super) struct Reader {
    rest: Bytes,
}

impl Reader {
    pub(super) fn new(record: &Bytes) -> Self {
        Self { rest: record.clone() }
    }

    pub(super) fn i32(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64> {
        self.array().map(i64::from_be_bytes)
    }

    pub(super) fn bool(&mut self) -> Result<bool> {
        self.array().map(|[byte]| byte != 0)
    }

    /// Returns bytes that share the record; null is read as empty.
    pub(super) fn buffer(&mut self) -> Result<Bytes> {
        let length = self.i32()?;
        match usize::try_from(length) {
            Ok(length) if length <= self.rest.len() => Ok(self.rest.split_to(length)),
            Err(_) if length == -1 => Ok(Bytes::new()),
            _ => Err(truncated()),
        }
    }

    pub(super) fn string(&mut self) -> Result<String> {
        String::from_utf8(self.buffer()?.into())
            .map_err(|_| Error::invalid("a string of ZooKeeper's protocol is not UTF-8"))
    }

    /// Returns a list of texts; null is read as empty. The list grows with the texts that are
    /// present.
    pub(super) fn strings(&mut self) -> Result<Vec<String>> {
        let count = self.i32()?;
        (0..count.max(0)).map(|_| self.string()).collect()
    }

    /// Returns the unread bytes.
    pub(super) fn rest(self) -> Bytes {
        self.rest
    }

    /// Returns `true` if all bytes were read.
    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let array = *self.rest.first_chunk().ok_or_else(truncated)?;
        let _ = self.rest.split_to(N);
        Ok(array)
    }
}

fn truncated() -> Error {
    Error::invalid("a record of ZooKeeper's protocol ends too early")
}

pub(super) fn put_buffer(out: &mut BytesMut, bytes: &[u8]) {
    out.put_i32(count(bytes.len()));
    out.put_slice(bytes);
}

pub(super) fn put_string(out: &mut BytesMut, text: &str) {
    put_buffer(out, text.as_bytes());
}

pub(super) fn put_strings(out: &mut BytesMut, texts: &[String]) {
    out.put_i32(count(texts.len()));
    texts.iter().for_each(|text| put_string(out, text));
}

pub(super) fn put_bool(out: &mut BytesMut, value: bool) {
    out.put_u8(u8::from(value));
}

/// Appends a packet: a length and the output of `write`.
pub(super) fn put_packet(out: &mut BytesMut, write: impl FnOnce(&mut BytesMut)) {
    let start = out.len();
    out.put_i32(0);
    write(out);
    let length = count(out.len().saturating_sub(start).saturating_sub(4));
    if let Some(field) = out.get_mut(start..start.saturating_add(4)) {
        field.copy_from_slice(&length.to_be_bytes());
    }
}

fn count(number: usize) -> i32 {
    i32::try_from(number).expect("what is written here is far smaller than 2 GiB")
}
