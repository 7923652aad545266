//! SHA-256, HMAC (RFC 2104), PBKDF2 (RFC 8018) with it, and random bytes.

use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest as _, Sha256};

/// Bytes of a block of SHA-256.
const BLOCK_BYTES: usize = 64;

/// Bytes of a digest.
pub(super) type Digest = [u8; 32];

pub(super) fn sha256(data: &[u8]) -> Digest {
    Sha256::digest(data).into()
}

pub(super) fn hmac(key: &[u8], parts: &[&[u8]]) -> Digest {
    let mut block = [0u8; BLOCK_BYTES];
    if key.len() > BLOCK_BYTES {
        block[..32].copy_from_slice(&sha256(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let keyed = |pad: u8| {
        let mut hash = Sha256::new();
        hash.update(block.map(|byte| byte ^ pad));
        hash
    };
    let mut inner = keyed(0x36);
    parts.iter().for_each(|part| inner.update(part));
    let mut outer = keyed(0x5c);
    outer.update(inner.finalize());
    outer.finalize().into()
}

/// The first block of PBKDF2, which is as long as a digest.
pub(super) fn pbkdf2(password: &[u8], salt: &[u8], iterations: u32) -> Digest {
    let mut last = hmac(password, &[salt, &1u32.to_be_bytes()]);
    let mut sum = last;
    for _ in 1..iterations {
        last = hmac(password, &[&last]);
        sum = xor(&sum, &last);
    }
    sum
}

pub(super) fn xor(one: &Digest, other: &Digest) -> Digest {
    let mut sum = *one;
    sum.iter_mut().zip(other).for_each(|(byte, other)| *byte ^= other);
    sum
}

/// Compares in a time that does not depend on the bytes.
pub(super) fn is_same(one: &Digest, other: &Digest) -> bool {
    one.iter().zip(other).fold(0, |differs, (byte, other)| differs | (byte ^ other)) == 0
}

/// Returns bytes that cannot be guessed.
///
/// # Errors
/// A system without randomness.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0u8; N];
    let mut filled = 0;
    while filled < N {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())
            .map_err(|error| format!("no random bytes from the system: {error}"))?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }

    #[test]
    fn hmac_is_that_of_rfc_4231() {
        let case_2 = hmac(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        assert_eq!(
            hex(&case_2),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        let case_6 =
            hmac(&[0xaa; 131], &[b"Test Using Larger Than Block-Size Key - Hash Key First"]);
        assert_eq!(
            hex(&case_6),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    #[test]
    fn pbkdf2_is_that_of_known_vectors() {
        // RFC 7914, section 11: the first 32 of 64 bytes.
        assert_eq!(
            hex(&pbkdf2(b"passwd", b"salt", 1)),
            "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
        );
    }

    #[test]
    fn random_bytes_differ() {
        assert_ne!(random::<16>(), random::<16>());
    }
}
