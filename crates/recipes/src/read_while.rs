//! Reads while others write.

use anyhow::{Result, bail};

/// Runs a write, and meanwhile a read again and again: the last time after the end of the write, so
/// at least once, however fast it is.
///
/// # Errors
/// That of the write, or else of the first read that failed, which is the last.
pub(crate) fn read_while(
    write: impl FnOnce() -> Result<()> + Send,
    mut read: impl FnMut() -> Result<()>,
) -> Result<()> {
    std::thread::scope(|scope| {
        let writer = scope.spawn(write);
        let read = loop {
            let is_last = writer.is_finished();
            let read = read();
            if is_last || read.is_err() {
                break read;
            }
        };
        writer.join().unwrap_or_else(|_| bail!("a writer panicked")).and(read)
    })
}
