//! Begin of the write of a file's bytes to the disk, without waiting for its end.
//!
//! `posix_fadvise`, which has a safe interface, begins it only together with removing the bytes
//! from the page cache, where the next open of a killed store finds the log.

use std::fs::File;
use std::os::fd::AsRawFd as _;

/// Has the system begin to write these bytes. Nothing is known of them until a sync, which also
/// reports a failed write.
pub(super) fn begin(file: &File, offset: u64, bytes: u64) {
    let (Ok(offset), Ok(bytes)) = (i64::try_from(offset), i64::try_from(bytes)) else { return };
    let flags = libc::SYNC_FILE_RANGE_WRITE;
    // SAFETY: the call takes no pointer, and the descriptor is open as long as `file` is borrowed.
    let _ = unsafe { libc::sync_file_range(file.as_raw_fd(), offset, bytes, flags) };
}
