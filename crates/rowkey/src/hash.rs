//! Functions of salts and hashes, over the combined input of their fields.

use halite_types::hash::murmur3;
use md5::Digest;

use crate::schema::HashFunction;
use crate::value::Value;

/// Input of a salt or a hash.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// UTF-8 of one text field.
    Text(&'a str),
    /// One integer, hashed as its eight bytes in little-endian order, as in Iceberg. Unsigned
    /// integers above `i64::MAX` are distinguished by `negative` being `false`.
    Integer {
        /// Two's complement.
        bits: u64,
        /// `true` if the number is negative.
        negative: bool,
    },
    /// Bytes of one field, or of several encoded fields.
    Bytes(&'a [u8]),
}

impl<'a> Input<'a> {
    /// Returns the input for a single text, bytes or integer; `None` for other values.
    #[inline]
    pub fn from_value(value: &'a Value<'_>) -> Option<Self> {
        Some(match *value {
            Value::Text(ref text) => Self::Text(text),
            Value::Bytes(ref bytes) => Self::Bytes(bytes),
            Value::Unsigned(bits) => Self::Integer { bits, negative: false },
            Value::Signed(number) => {
                Self::Integer { bits: number.cast_unsigned(), negative: number < 0 }
            }
            _ => return None,
        })
    }

    #[inline]
    fn with_bytes<R>(self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            Self::Text(text) => use_bytes(text.as_bytes()),
            Self::Integer { bits, .. } => use_bytes(&bits.to_le_bytes()),
            Self::Bytes(bytes) => use_bytes(bytes),
        }
    }

    fn integer(self) -> Option<i128> {
        match self {
            Self::Integer { bits, negative: true } => Some(bits.cast_signed().into()),
            Self::Integer { bits, negative: false } => Some(bits.into()),
            _ => None,
        }
    }
}

/// Returns the salt below `count`. `None` if `count` is 0, if the function generates salts, or if
/// it computes the remainder of a value that is not an integer.
#[inline]
pub(crate) fn salt(function: HashFunction, input: Input<'_>, count: u32) -> Option<u32> {
    match function {
        _ if count == 0 => None,
        // This is the most frequent function, and a division of 128 bits is slow.
        HashFunction::Murmur3 => Some(murmur3_of(input) % count),
        _ => u32::try_from(number(function, input)?.rem_euclid(count.into())).ok(),
    }
}

/// Returns the number whose remainder is the salt. `None` for generated salts, and for the
/// remainder of a value that is not an integer.
pub fn number(function: HashFunction, input: Input<'_>) -> Option<i128> {
    Some(match function {
        HashFunction::Murmur3 => murmur3_of(input).into(),
        HashFunction::Java => java(input).into(),
        HashFunction::Phoenix => input.with_bytes(phoenix).into(),
        HashFunction::Modulo => input.integer()?,
        HashFunction::Crc32
        | HashFunction::Md5
        | HashFunction::Sha1
        | HashFunction::Sha256
        | HashFunction::Sha512 => {
            let mut room = [0; MAX_DIGEST_BYTES];
            digest(function, input, &mut room)?
                .first_chunk()
                .map(|bytes| u32::from_be_bytes(*bytes))?
                .into()
        }
        HashFunction::Random | HashFunction::RoundRobin => return None,
    })
}

/// Returns the hash without its sign bit, as in Iceberg's bucket transform.
#[inline]
fn murmur3_of(input: Input<'_>) -> u32 {
    input.with_bytes(|bytes| murmur3(bytes, 0)) & 0x7fff_ffff
}

/// Bytes of the longest digest, SHA-512.
pub const MAX_DIGEST_BYTES: usize = 64;

/// Returns the digest, stored in `room`; numbers are big-endian. `None` for functions that only
/// compute salts.
pub fn digest<'r>(
    function: HashFunction,
    input: Input<'_>,
    room: &'r mut [u8; MAX_DIGEST_BYTES],
) -> Option<&'r [u8]> {
    let mut fill = |bytes: &[u8]| {
        room[..bytes.len()].copy_from_slice(bytes);
        bytes.len()
    };
    let length = input.with_bytes(|bytes| {
        Some(match function {
            HashFunction::Murmur3 => fill(&murmur3(bytes, 0).to_be_bytes()),
            HashFunction::Java => fill(&java(input).to_be_bytes()),
            HashFunction::Crc32 => fill(&crc32fast::hash(bytes).to_be_bytes()),
            HashFunction::Md5 => fill(&md5::Md5::digest(bytes)),
            HashFunction::Sha1 => fill(&sha1::Sha1::digest(bytes)),
            HashFunction::Sha256 => fill(&sha2::Sha256::digest(bytes)),
            HashFunction::Sha512 => fill(&sha2::Sha512::digest(bytes)),
            HashFunction::Phoenix
            | HashFunction::Modulo
            | HashFunction::Random
            | HashFunction::RoundRobin => return None,
        })
    })?;
    Some(&room[..length])
}

/// Returns `String.hashCode` of the text, of an integer's decimal digits, or of bytes, each as one
/// character (ISO-8859-1).
fn java(input: Input<'_>) -> i32 {
    let next = |hash: i32, unit: u16| hash.wrapping_mul(31).wrapping_add(unit.into());
    match input {
        Input::Text(text) => text.encode_utf16().fold(0, next),
        Input::Integer { .. } => {
            input.integer().unwrap_or(0).to_string().encode_utf16().fold(0, next)
        }
        Input::Bytes(bytes) => bytes.iter().fold(0, |hash, &byte| next(hash, byte.into())),
    }
}

/// Returns the number whose remainder is Phoenix's `SaltingUtil.getSaltingByte`: a polynomial that
/// begins with 1, over signed bytes, without its sign.
fn phoenix(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(1_i32, |hash, &byte| hash.wrapping_mul(31).wrapping_add(byte.cast_signed().into()))
        .unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn salts_match_reference_implementations() {
        let of = |function, text, count| salt(function, Input::Text(text), count);
        assert_eq!(of(HashFunction::Murmur3, "iceberg", u32::MAX), Some(1_210_000_089));
        assert_eq!(of(HashFunction::Murmur3, "user_001", 16), Some(6));
        assert_eq!(of(HashFunction::Murmur3, "sensor_00001", 16), Some(1));
        assert_eq!(
            salt(HashFunction::Murmur3, Input::Integer { bits: 34, negative: false }, u32::MAX),
            Some(2_017_239_379)
        );
        assert_eq!(of(HashFunction::Phoenix, "user_001", 16), Some(2));
        assert_eq!(of(HashFunction::Java, "20150524002300_1232", 1000), Some(797));
        assert_eq!(
            of(HashFunction::Java, "polygenelubricants", 1000),
            Some(352),
            "the one whose hash is Integer.MIN_VALUE"
        );
    }

    #[test]
    fn modulo_salt_is_nonnegative_and_requires_an_integer() {
        assert_eq!(
            salt(HashFunction::Modulo, Input::Integer { bits: 17, negative: false }, 5),
            Some(2)
        );
        assert_eq!(
            salt(
                HashFunction::Modulo,
                Input::Integer { bits: (-1_i64).cast_unsigned(), negative: true },
                5
            ),
            Some(4)
        );
        assert_eq!(
            salt(HashFunction::Modulo, Input::Integer { bits: u64::MAX, negative: false }, 10),
            Some(5)
        );
        assert_eq!(salt(HashFunction::Modulo, Input::Text("17"), 5), None);
    }

    #[test]
    fn digests_match_published_values() {
        let hex = |function| {
            let mut room = [0; MAX_DIGEST_BYTES];
            let digest = digest(function, Input::Text("abc"), &mut room).expect("a digest");
            format!("{}/{}", crate::codec::tests::hex(&digest[..digest.len().min(8)]), digest.len())
        };
        assert_eq!(hex(HashFunction::Md5), "900150983cd24fb0/16");
        assert_eq!(hex(HashFunction::Sha1), "a9993e364706816a/20");
        assert_eq!(hex(HashFunction::Sha256), "ba7816bf8f01cfea/32");
        assert_eq!(hex(HashFunction::Sha512), "ddaf35a193617aba/64");
        assert_eq!(hex(HashFunction::Crc32), "352441c2/4");
        assert_eq!(hex(HashFunction::Java), "00017862/4");
        assert_eq!(hex(HashFunction::Murmur3), "b3dd93fa/4");
    }
}
