//! The bytes of one key, inline while they are few.

use std::fmt;
use std::ops::{Deref, DerefMut};

use bytes::Bytes;
use smallvec::SmallVec;

/// Bytes of a key that need no allocation.
pub const INLINE_BYTES: usize = 48;

/// The digits of hexadecimal numbers in keys.
pub(crate) const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The bytes of a key, or of a part of one: up to [`INLINE_BYTES`] without an allocation.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyBuf(SmallVec<[u8; INLINE_BYTES]>);

impl KeyBuf {
    /// No bytes yet.
    #[inline]
    pub fn new() -> Self {
        Self(SmallVec::new())
    }

    /// Adds one byte.
    #[inline]
    pub fn push(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// Adds bytes.
    #[inline]
    pub fn extend(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Adds bytes as lower-case hexadecimal digits, two for each.
    pub fn extend_hex(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.extend(&[HEX_DIGITS[usize::from(byte >> 4)], HEX_DIGITS[usize::from(byte & 15)]]);
        }
    }

    /// Takes away what stands behind the first `bytes`.
    pub fn truncate(&mut self, bytes: usize) {
        self.0.truncate(bytes);
    }

    /// Takes all bytes away and keeps their room.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether it has grown beyond what stands inline.
    pub fn is_allocated(&self) -> bool {
        self.0.spilled()
    }
}

impl Deref for KeyBuf {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for KeyBuf {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl AsRef<[u8]> for KeyBuf {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<&[u8]> for KeyBuf {
    fn from(bytes: &[u8]) -> Self {
        Self(SmallVec::from_slice(bytes))
    }
}

impl From<KeyBuf> for Bytes {
    fn from(key: KeyBuf) -> Self {
        Self::from(key.0.into_vec())
    }
}

impl fmt::Debug for KeyBuf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "b\"{}\"", self.escape_ascii())
    }
}
