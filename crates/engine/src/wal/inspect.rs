//! Reading the log without changing it, for checks.

use std::convert::Infallible;

use halite_types::Result;

use super::format::{HeaderError, SegmentHeader, Write};
use super::names::{DIRECTORY, Listing, read_whole, segment_path};
use super::segment::{SegmentBytes, SegmentEnd};
use crate::env::Env;

/// A segment of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentState {
    pub(crate) path: String,
    /// Writes that can be read.
    pub(crate) writes: u64,
    /// What an opening refuses.
    pub(crate) damage: Option<String>,
    /// What an opening cuts off without loss.
    pub(crate) torn: Option<String>,
}

/// Reads all segments in order and hands on the writes of each up to its end, or to where it is damaged.
///
/// # Errors
/// `Corrupt` for a file that is not the log's, or the file system's.
pub(crate) fn inspect(env: &Env, store_id: [u8; 16], mut each: impl FnMut(Write<'_>)) -> Result<Vec<SegmentState>> {
    if !env.fs.exists(DIRECTORY).unwrap_or(false) {
        return Ok(Vec::new());
    }
    let numbers = Listing::read(env)?.segments;
    let mut segments = Vec::new();
    let mut before: Option<(u64, u64)> = None;
    for (i, &number) in numbers.iter().enumerate() {
        let path = segment_path(number);
        let bytes = read_whole(env, &path)?;
        let mut segment = SegmentState { path, writes: 0, damage: None, torn: None };
        let is_last = i + 1 == numbers.len();
        let mut counts_as = bytes.len() as u64;
        match SegmentHeader::decode(&bytes) {
            Err(HeaderError::Short) if is_last => segment.torn = Some("it was being begun".into()),
            Err(error) => segment.damage = Some(format!("its header cannot be read ({error:?})")),
            Ok((header, _)) if header.store_id != store_id => segment.damage = Some("it belongs to another store".into()),
            Ok((header, _)) if header.number != number => segment.damage = Some(format!("it calls itself number {}", header.number)),
            Ok((header, format)) => {
                if let Some((_, length)) = before.filter(|(last, length)| last + 1 == number && *length != header.previous_bytes) {
                    segment.damage = Some(format!("the segment before it has {length} bytes and should have {}", header.previous_bytes));
                }
                let read = SegmentBytes::new(&bytes, &header, format, env.fs.boot_id());
                let end = read.read::<Infallible>(|write| {
                    segment.writes += 1;
                    each(write);
                    Ok(())
                });
                match end.unwrap_or_else(|never| match never {}) {
                    SegmentEnd::Whole { counts_as: length, .. } => counts_as = length,
                    SegmentEnd::Torn { at, .. } if is_last => segment.torn = Some(format!("a torn end after byte {at}")),
                    SegmentEnd::Torn { at, .. } => segment.damage = Some(format!("damaged at byte {at}, and later segments follow")),
                    SegmentEnd::Damaged { at, why, .. } => segment.damage = Some(format!("damaged at byte {at}: {why}")),
                }
            }
        }
        before = Some((number, counts_as));
        segments.push(segment);
    }
    Ok(segments)
}
