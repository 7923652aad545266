//! Buffer of the bytes of one key, inline for short keys.

use std::fmt;
use std::ops::{Deref, DerefMut};

use bytes::Bytes;
use smallvec::SmallVec;

/// Maximum bytes of a row key: HBase's `HConstants.MAX_ROW_LENGTH`.
pub const MAX_KEY_BYTES: usize = 32_767;

/// Bytes of a key that require no allocation.
pub const INLINE_BYTES: usize = 48;

/// The digits of hexadecimal numbers in keys.
pub(crate) const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Bytes of a key, or of a part of one: up to [`INLINE_BYTES`] without an allocation.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyBuf(SmallVec<[u8; INLINE_BYTES]>);

impl KeyBuf {
    /// Creates an empty buffer.
    #[inline]
    pub fn new() -> Self {
        Self(SmallVec::new())
    }

    /// Appends one byte.
    #[inline]
    pub fn push(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// Appends bytes.
    #[inline]
    pub fn extend(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Appends bytes as lower-case hexadecimal digits, two per byte.
    pub fn extend_hex(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.extend(&[HEX_DIGITS[usize::from(byte >> 4)], HEX_DIGITS[usize::from(byte & 15)]]);
        }
    }

    /// Removes all bytes after the first `bytes`.
    pub fn truncate(&mut self, bytes: usize) {
        self.0.truncate(bytes);
    }

    /// Removes all bytes and retains the capacity.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns `true` if the bytes exceed the inline capacity.
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
