//! What Halite records in the file info of its files: which store, region and manifest wrote them,
//! and under which name.

use halite_types::{Error, Result};

use crate::catalog::layout;
use crate::hfile::FileInfo;

/// File info key that marks a file as written by a certain store.
pub(crate) const STORE_ID_KEY: &str = "HALITE_STORE_ID";

/// File info key of the generation of the manifest under which a file was written: a number of
/// eight bytes, big-endian. The manifest that references the file is of a later generation.
pub(super) const GENERATION_KEY: &str = "HALITE_GENERATION";

/// File info key of the region number of the file in the log: eight bytes, big-endian.
pub(super) const REGION_KEY: &str = "HALITE_REGION";

/// File info key of the name of a file when it was written.
pub(super) const NAME_KEY: &str = "HALITE_NAME";

/// Rejects a file that replaces another one: a store file that this store wrote under another name.
///
/// # Errors
/// `Corrupt`, with both names.
pub(crate) fn check_name(
    info: &FileInfo,
    store_id: &[u8; 16],
    name: &str,
    path: &str,
) -> Result<()> {
    // Files of other writers contain no name, and loaded ones get a new one.
    let own = info.get(STORE_ID_KEY).filter(|id| *id == store_id).and_then(|_| info.get(NAME_KEY));
    match own {
        Some(own) if own != name.as_bytes() && layout::loaded_sequence_of(name).is_none() => {
            let own = String::from_utf8_lossy(own);
            Err(Error::corrupt(format!(
                "store file {path} is the file that was written as {own}; put back the file that \
                 belongs there"
            )))
        }
        _ => Ok(()),
    }
}

/// Returns the name of a file when it was written, if the file contains it.
pub(crate) fn name_of(info: &FileInfo) -> Option<String> {
    String::from_utf8(info.get(NAME_KEY)?.to_vec()).ok()
}

/// Returns the log number of the region that a file was written in, if the file contains it.
pub(crate) fn region_number_of(info: &FileInfo) -> Option<u64> {
    info.get(REGION_KEY).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes)
}

/// Returns the generation of the manifest under which a file was written; 0 if it is not recorded.
pub(crate) fn generation_of(info: &FileInfo) -> u64 {
    info.get(GENERATION_KEY).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes)
}
