//! Numbers that look random, and are a function of what they are drawn for.

/// What is drawn of a visit, hit, user or page: each draw is independent of the others.
#[derive(Clone, Copy)]
pub(super) enum Drawn {
    Watch,
    Counter,
    UserHigh,
    UserLow,
    Source,
    Phrase,
    Domain,
    Advertiser,
    Page,
    Address,
    Pause,
    Flags,
    User,
    Region,
    Phone,
    Screen,
    Window,
}

/// Returns a number that is drawn of a subject; another one for each subject.
pub(super) fn draw(of: Drawn, subject: u64) -> u64 {
    // Steele, Lea and Flood's SplitMix64, which maps no two numbers to one.
    let mut mixed = subject.wrapping_add((of as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Returns a rank below 2^`doublings` - 1. Each doubling of the rank has an equal share of the draws, as
/// under Zipf's law.
pub(super) fn rank(drawn: u64, doublings: u64) -> u64 {
    let size = 1 << (drawn % doublings);
    size - 1 + (drawn >> 8) % size
}

pub(super) fn percent(drawn: u64) -> u64 {
    (drawn >> 16) % 100
}

/// Returns a number below `end`, which is at most 32,768.
pub(super) fn small(drawn: u64, end: u64) -> i16 {
    i16::try_from(drawn % end).unwrap_or(i16::MAX)
}
