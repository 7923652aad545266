//! Verification that a store really compresses its files: some accept the name of a codec that they
//! cannot write, and write uncompressed files.

use std::path::Path;

use super::{Compression, Durability, Settings, open};
use crate::Result;
use crate::data::Rows;
use crate::usage::folder_bytes;

/// Rows written for the verification, in batches of `BATCH_ROWS`.
const PROBE_ROWS: u64 = 8_000;
const BATCH_ROWS: u64 = 100;
const VALUE_BYTES: usize = 1_000;

/// Returns the reason why a store does not compress its files as asked, or `None` if it does.
///
/// Writes the same very compressible rows with and without the codec to stores in `folder`, which
/// are deleted afterwards, and compares their sizes.
///
/// # Errors
/// Errors of the uncompressed store.
pub(crate) fn why_not_compressed(
    name: &str,
    folder: &Path,
    compression: Compression,
) -> Result<Option<String>> {
    if compression == Compression::None {
        return Ok(None);
    }
    let plain = stored_bytes(name, &folder.join("plain"), Compression::None)?;
    let compressed = match stored_bytes(name, &folder.join("compressed"), compression) {
        Ok(bytes) => bytes,
        Err(error) => return Ok(Some(error)),
    };
    // Both sizes include the log, which is not compressed.
    let payload = PROBE_ROWS * VALUE_BYTES as u64;
    let codec = compression.name();
    Ok((compressed + payload / 2 > plain).then(|| {
        format!(
            "{name} accepts {codec} but does not compress with it: {payload} bytes of equal values \
             use {compressed} bytes with {codec} and {plain} bytes without"
        )
    }))
}

/// Returns the disk usage in bytes of a store with the rows of the verification.
fn stored_bytes(name: &str, folder: &Path, compression: Compression) -> Result<u64> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let store = open(name, folder, Settings { compression, ..Settings::new(Durability::Flush) })?;
    let value = [b'v'; VALUE_BYTES];
    for first in (0..PROBE_ROWS).step_by(usize::try_from(BATCH_ROWS).unwrap_or(1)) {
        let keys: Vec<_> = (first..first + BATCH_ROWS).map(Rows::key).collect();
        let batch: Vec<_> = keys.iter().map(|key| (&key[..], &value[..])).collect();
        store.put_batch(&batch)?;
    }
    store.flush()?;
    store.close()?;
    let bytes = folder_bytes(folder)?;
    std::fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(bytes)
}
