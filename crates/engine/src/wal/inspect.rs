//! Inspection of the log for checks, without changes to it.

use halite_types::{Error, ErrorKind, Result};

use super::format::{HeaderError, OLD_HEADER_BYTES, RecordFormat, SegmentHeader, Write};
use super::names::{Listing, not_the_logs, read_whole, segment_path};
use super::nonces;
use super::segment::{SegmentBytes, SegmentEnd, without_zeros};
use crate::env::Env;

/// Segment of the log and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentState {
    pub(crate) path: String,
    /// Number of readable writes.
    pub(crate) writes: u64,
    /// Damage that causes an open to fail.
    pub(crate) damage: Option<String>,
    /// Torn end that an open cuts off without loss.
    pub(crate) torn: Option<String>,
}

/// Previous segment: its number, its length, and `true` if it is of a version that names segments
/// before their header.
type PreviousSegment = (u64, u64, bool);

/// Reads all segments in order and passes on the writes of each up to its end or its damage.
///
/// # Errors
/// The file system's.
pub(crate) fn inspect(
    env: &Env,
    store_id: [u8; 16],
    mut each: impl FnMut(Write<'_>),
) -> Result<Vec<SegmentState>> {
    let numbers = Listing::survey(env)?.segments;
    let mut segments = Vec::new();
    let mut before: Option<PreviousSegment> = None;
    for (i, &number) in numbers.iter().enumerate() {
        let bytes = read_whole(env, &segment_path(number))?;
        let mut segment =
            SegmentState { path: segment_path(number), writes: 0, damage: None, torn: None };
        let is_last = i + 1 == numbers.len();
        let mut length = bytes.len() as u64;
        let mut is_old = false;
        match SegmentHeader::decode(&bytes) {
            Err(HeaderError::Short | HeaderError::Damaged)
                if is_last
                    && bytes.len() <= OLD_HEADER_BYTES
                    && before.is_some_and(|(_, _, is_old)| is_old) =>
            {
                segment.torn = Some("it was being begun".into());
            }
            Err(HeaderError::Short) => {
                let bytes = bytes.len();
                segment.damage = Some(format!("it ends inside its header, after {bytes} bytes"));
            }
            Err(HeaderError::Damaged) => segment.damage = Some("its header is damaged".into()),
            Err(HeaderError::Version(version)) => {
                segment.damage = Some(format!("it has format version {version}, a newer one"));
            }
            Ok((header, _)) if header.store_id != store_id => {
                segment.damage = Some("it belongs to another store".into());
            }
            Ok((header, _)) if header.number != number => {
                segment.damage = Some(format!("it calls itself number {}", header.number));
            }
            Ok((header, format)) => {
                is_old = format == RecordFormat::Old;
                segment.damage = before.and_then(|before| contradiction(&header, before));
                let read = SegmentBytes::new(&bytes, &header, format, env.fs.boot_id())
                    .read::<std::convert::Infallible>(|write| {
                    segment.writes += 1;
                    each(write);
                    Ok(())
                });
                match read.unwrap_or_else(|never| match never {}) {
                    SegmentEnd::Whole { counts_as, .. } => length = counts_as,
                    SegmentEnd::Torn { at, .. } if is_last => {
                        let torn = without_zeros(bytes.get(at..).unwrap_or_default());
                        segment.torn = Some(format!("a torn end of {torn} bytes"));
                    }
                    SegmentEnd::Torn { at, .. } => {
                        segment.damage =
                            Some(format!("damaged at byte {at}, and later segments follow"));
                    }
                    SegmentEnd::Damaged { at, why, .. } => {
                        segment.damage = Some(format!("damaged at byte {at}: {why}"));
                    }
                }
            }
        }
        before = Some((number, length, is_old));
        segments.push(segment);
    }
    Ok(segments)
}

/// Returns an error for each nonce file that would cause an open to fail.
///
/// # Errors
/// The file system's.
pub(crate) fn inspect_nonces(env: &Env, store_id: [u8; 16]) -> Result<Vec<Error>> {
    let numbers = Listing::survey(env)?.nonces;
    let wrong =
        numbers.into_iter().filter_map(|number| match nonces::read(env, &store_id, number) {
            Ok(_) => None,
            Err(error) if error.kind() == ErrorKind::Io => Some(Err(error)),
            Err(error) => Some(Ok(error)),
        });
    wrong.collect()
}

/// Returns the paths of foreign files in the log's directory, each with its message.
///
/// # Errors
/// The file system's.
pub(crate) fn inspect_foreign(env: &Env) -> Result<Vec<(String, String)>> {
    let foreign = Listing::survey(env)?.foreign;
    Ok(foreign
        .into_iter()
        .map(|(path, what)| (path.clone(), not_the_logs(env, &path, what)))
        .collect())
}

/// Returns the contradiction between a segment's header and the previous segment as read, if there
/// is one.
fn contradiction(header: &SegmentHeader, (number, length, _): PreviousSegment) -> Option<String> {
    if number + 1 < header.number {
        return Some(format!(
            "{} is missing in front of it, and there are segments before that",
            segment_path(number + 1)
        ));
    }
    let differs = number + 1 == header.number && length != header.previous_bytes;
    differs.then(|| {
        format!(
            "the segment before it has {length} bytes and should have {}",
            header.previous_bytes
        )
    })
}
