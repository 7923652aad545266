//! Bytes cut from the log during recovery: retained next to it for the operator, reported, and
//! limited.

use std::fmt;

use halite_types::Result;

use super::names::{Listing, read_whole, torn_path, write_whole};
use crate::env::Env;

/// Maximum number of files with cut bytes to retain, the newest.
pub(crate) const MAX_RETAINED_FILES: usize = 8;
/// Maximum total bytes to retain; of a single larger cut, its start.
pub(crate) const MAX_RETAINED_BYTES: u64 = 256 << 20;

/// Bytes of the log that recovery excluded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalTruncation {
    /// Path of the segment, or of a nonce file.
    pub segment: String,
    /// Offset in the segment.
    pub offset: u64,
    /// Length in bytes, without zeros at the end.
    pub bytes: u64,
    /// Number of whole writes in them.
    pub writes: u64,
    /// Path of the file that retains the bytes; empty if they are missing, so there is nothing to
    /// retain.
    pub kept: String,
    /// `false` for a torn end, which was never acknowledged as durable.
    pub is_damage: bool,
}

impl fmt::Display for WalTruncation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { segment, offset, bytes, writes, kept, is_damage } = self;
        let of = if segment.ends_with(".nonces") { "nonces" } else { "log segment" };
        if kept.is_empty() {
            return write!(
                f,
                "{of} {segment}: what it held from byte {offset} on is missing and left out"
            );
        }
        let what = if *is_damage { "damaged bytes left out of" } else { "torn end cut from" };
        write!(
            f,
            "{what} {of} {segment}: {bytes} bytes with {writes} whole writes from byte {offset}, \
             kept in {kept}"
        )
    }
}

/// Writes cut bytes to a file next to the segment and returns its path. The caller makes the name
/// durable.
pub(super) fn keep(env: &Env, number: u64, offset: u64, bytes: &[u8]) -> Result<String> {
    let most = usize::try_from(MAX_RETAINED_BYTES).unwrap_or(usize::MAX);
    let bytes = bytes.get(..most).unwrap_or(bytes);
    for copy in 0.. {
        let path = torn_path(number, offset, copy);
        let exists = env.fs.exists(&path).map_err(|error| {
            halite_types::Error::io(format!("looking for {}/{path}", env.fs.root()), error)
        })?;
        // After a crash during recovery the next open repeats it.
        if exists && read_whole(env, &path)? == bytes {
            return Ok(path);
        }
        if !exists {
            write_whole(env, &path, [bytes.to_vec()])?;
            return Ok(path);
        }
    }
    unreachable!("the loop has no end")
}

/// Removes the oldest files of cut bytes beyond the limits. A file that stays by mistake does no
/// harm.
pub(super) fn limit_retained(env: &Env) -> Result<()> {
    let torn = Listing::read(env)?.torn;
    let (mut files, mut total) = (0, 0_u64);
    for (path, bytes) in torn.iter().rev() {
        files += 1;
        total = total.saturating_add(*bytes);
        if files > MAX_RETAINED_FILES || (files > 1 && total > MAX_RETAINED_BYTES) {
            let _ = env.fs.remove_file(path);
        }
    }
    Ok(())
}
