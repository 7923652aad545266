//! Reading the log without changing it, for checks.

use halite_types::{Error, Result};

use super::format::{HEADER_BYTES, HeaderError, SegmentEnd, SegmentHeader, Write, read_segment};
use super::{DIRECTORY, segment_path};
use crate::catalog::manifest::read_whole;
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
/// The file system's.
pub(crate) fn inspect(env: &Env, store_id: [u8; 16], mut each: impl FnMut(Write<'_>)) -> Result<Vec<SegmentState>> {
    let failed = |error| Error::io(format!("reading {}/{DIRECTORY}", env.fs.root()), error);
    if !env.fs.exists(DIRECTORY).map_err(failed)? {
        return Ok(Vec::new());
    }
    let mut numbers: Vec<u64> =
        env.fs.list(DIRECTORY).map_err(failed)?.iter().filter_map(|entry| entry.name.strip_suffix(".wal")?.parse().ok()).collect();
    numbers.sort_unstable();
    let mut segments = Vec::new();
    let mut before: Option<(u64, u64)> = None;
    for (i, &number) in numbers.iter().enumerate() {
        let path = segment_path(number);
        let bytes = env.fs.open(&path).and_then(|file| read_whole(&*file)).map_err(failed)?;
        let mut segment = SegmentState { path, writes: 0, damage: None, torn: None };
        let is_last = i + 1 == numbers.len();
        match SegmentHeader::decode(&bytes) {
            Err(HeaderError::Short | HeaderError::Damaged) if is_last && bytes.len() <= HEADER_BYTES => {
                segment.torn = Some("it was being begun".into());
            }
            Err(error) => segment.damage = Some(format!("its header cannot be read ({error:?})")),
            Ok(header) if header.store_id != store_id => segment.damage = Some("it belongs to another store".into()),
            Ok(header) if header.number != number => segment.damage = Some(format!("it calls itself number {}", header.number)),
            Ok(header) => {
                if let Some((last, length)) = before
                    && last + 1 == number
                    && length != header.previous_bytes
                {
                    segment.damage = Some(format!("the segment before it has {length} bytes and should have {}", header.previous_bytes));
                }
                let end = read_segment::<std::convert::Infallible>(&bytes, |write| {
                    segment.writes += 1;
                    each(write);
                    Ok(())
                });
                let end = end.unwrap_or_else(|never| match never {});
                match end {
                    SegmentEnd::Clean => {}
                    // Room that was reserved reads as zeros.
                    SegmentEnd::Torn(at) if is_last && bytes.get(at..).unwrap_or_default().iter().all(|&byte| byte == 0) => {}
                    SegmentEnd::Torn(at) if is_last => segment.torn = Some(format!("a torn end of {} bytes", bytes.len() - at)),
                    SegmentEnd::Torn(at) => segment.damage = Some(format!("damaged at byte {at}, and later segments follow")),
                    SegmentEnd::Damaged(at, why) => segment.damage = Some(format!("damaged at byte {at} ({why:?})")),
                }
            }
        }
        before = Some((number, bytes.len() as u64));
        segments.push(segment);
    }
    Ok(segments)
}
