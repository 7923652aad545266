//! Distinction of IPv4 addresses from other four numbers with dots, such as versions, chapters and
//! object identifiers.

use std::collections::HashSet;

use super::column::number;

/// Maximum usual part of versions and object identifiers.
const SMALL: u64 = 29;
/// Minimum greatest value of a spread part: half of its range.
const HALF: u64 = 128;
/// Minimum number of different values of a spread part.
const MIN_SPREAD_PARTS: usize = 20;
/// Minimum number of different first parts of public addresses.
const MIN_FIRST_PARTS: usize = 3;

/// Returns `true` if values, all in dotted decimal, have a spread last part and are from private
/// blocks or from many public ones.
pub(super) fn look_like_addresses(values: &[&[u8]]) -> bool {
    let parts: Vec<Vec<u64>> = values
        .iter()
        .map(|value| value.split(|byte| *byte == b'.').filter_map(number).collect())
        .collect();
    let place =
        |at: usize| parts.iter().filter_map(|parts| parts.get(at).copied()).collect::<HashSet<_>>();
    let most = |at: usize| place(at).into_iter().max().unwrap_or(0);
    let is_spread = most(3) >= HALF && place(3).len() >= MIN_SPREAD_PARTS.min(values.len() / 3);
    let is_private = parts.iter().filter(|parts| is_private(parts)).count() * 10 >= parts.len() * 9;
    let is_public = place(0).len() >= MIN_FIRST_PARTS && most(0) >= HALF && most(1) >= HALF;
    is_spread
        && (is_private && (most(0) > SMALL || most(1) > SMALL || most(2) > SMALL) || is_public)
}

fn is_private(parts: &[u64]) -> bool {
    matches!(parts, [10, ..] | [192, 168, ..] | [172, 16..=31, ..])
}
