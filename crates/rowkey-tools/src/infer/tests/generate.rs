//! Keys of the tutorials' designs, generated from one seed.

use bytes::Bytes;
use fastrand::Rng;
use md5::Digest as _;

/// 2024-03-15T00:00:00Z.
pub(super) const T0: u64 = 1_710_460_800_000;
const ROWS: usize = 1_000;

/// Returns a thousand keys.
pub(super) fn rows(seed: u64, mut key: impl FnMut(&mut Rng, u64) -> Vec<u8>) -> Vec<Bytes> {
    let mut rng = Rng::with_seed(seed);
    (0..ROWS as u64).map(|at| Bytes::from(key(&mut rng, at))).collect()
}

/// Returns a thousand text keys.
pub(super) fn text_rows(seed: u64, mut key: impl FnMut(&mut Rng, u64) -> String) -> Vec<Bytes> {
    rows(seed, |rng, at| key(rng, at).into_bytes())
}

/// Returns the first `digits` hexadecimal digits of MD5, as the tutorials'
/// `MD5Hash.getMD5AsHex(..).substring(0, n)`.
pub(super) fn md5_hex(text: &str, digits: usize) -> String {
    halite_types::key::to_hex(&md5::Md5::digest(text.as_bytes()))[..digits].to_owned()
}

/// Returns Java's `String.hashCode` of ASCII text.
pub(super) fn java(text: &str) -> i32 {
    text.bytes().fold(0, |hash: i32, byte| hash.wrapping_mul(31).wrapping_add(byte.into()))
}

/// Returns `Long.MAX_VALUE - time`.
pub(super) fn reversed(time: u64) -> u64 {
    i64::MAX.unsigned_abs() - time
}

/// Returns a time in the ten days after [`T0`], in milliseconds.
pub(super) fn some_time(rng: &mut Rng) -> u64 {
    T0 + rng.u64(0..10 * 86_400_000)
}

/// Returns a random element.
pub(super) fn one<'a>(rng: &mut Rng, of: &[&'a str]) -> &'a str {
    of[rng.usize(0..of.len())]
}

/// Returns a time in May 2015 as `yyyyMMddHHmmss`.
pub(super) fn calendar(rng: &mut Rng) -> String {
    format!(
        "201505{:02}{:02}{:02}{:02}",
        rng.u8(1..=31),
        rng.u8(0..24),
        rng.u8(0..60),
        rng.u8(0..60)
    )
}

/// Returns text as a key.
pub(super) fn text(text: String) -> Vec<u8> {
    text.into_bytes()
}
