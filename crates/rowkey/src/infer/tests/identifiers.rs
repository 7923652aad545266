//! Identifiers as the libraries make them, and digits drawn from their alphabets.

use fastrand::Rng;

use super::generate::{some_time, text};

/// Crockford's base 32.
pub(super) const BASE32: &[u8] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
pub(super) const BASE62: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
pub(super) const BASE64_URL: &[u8] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
pub(super) const HEX: &[u8] = b"0123456789abcdef";
pub(super) const DECIMAL: &[u8] = b"0123456789";
/// Units of 100 ns from 1582-10-15 to 1970.
const GREGORIAN: u64 = 0x01b2_1dd2_1381_4000;

/// `before`, and so many digits of an alphabet drawn after it.
pub(super) fn drawn(rng: &mut Rng, front: &str, digits: usize, of: &[u8]) -> Vec<u8> {
    front.bytes().chain((0..digits).map(|_| of[rng.usize(0..of.len())])).collect()
}

pub(super) fn hyphened(bits: u128) -> Vec<u8> {
    let hex = format!("{bits:032x}");
    text(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

/// Returns a UUID of a version; those of versions 1 and 6 are of one of three machines.
pub(super) fn uuid(rng: &mut Rng, version: u128) -> u128 {
    let marked = |bits: u128| bits & !(0xf << 76) & !(3 << 62) | version << 76 | 2 << 62;
    let random = rng.u128(..);
    if version == 7 {
        return marked(random & (u128::MAX >> 48) | u128::from(some_time(rng)) << 80);
    }
    if version != 1 && version != 6 {
        return marked(random);
    }
    let ticks = u128::from(some_time(rng) * 10_000 + rng.u64(0..10_000) + GREGORIAN);
    let node =
        [0x1ab0_0242_ac11_0002, 0x0c4e_0242_ac11_0003, 0x33f1_0242_ac11_0007][rng.usize(0..3)];
    let time = if version == 1 {
        (ticks & 0xffff_ffff) << 32 | (ticks >> 32 & 0xffff) << 16 | ticks >> 48
    } else {
        (ticks >> 12) << 16 | ticks & 0xfff
    };
    marked(time << 64 | node)
}

pub(super) fn snowflake(rng: &mut Rng) -> u64 {
    (some_time(rng) - 1_288_834_974_657) << 22 | rng.u64(0..8) << 12 | rng.u64(0..4)
}

pub(super) fn ulid(rng: &mut Rng) -> String {
    let time = some_time(rng);
    ulid_at(rng, time)
}

pub(super) fn ulid_at(rng: &mut Rng, time: u64) -> String {
    let bits = u128::from(time) << 80 | rng.u128(..) >> 48;
    (0..26).rev().map(|at| char::from(BASE32[(bits >> (5 * at) & 31) as usize])).collect()
}

/// Returns an `ObjectId` of one of so many processes, which count up.
pub(super) fn object_id(rng: &mut Rng, at: u64, processes: u64) -> String {
    let process = rng.u64(0..processes);
    let id = (process + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
    format!("{:08x}{id:010x}{:06x}", some_time(rng) / 1000, (process * 7919 + at) & 0xff_ffff)
}
