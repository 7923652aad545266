//! Files that may have nothing to read for a while, terminals and pipes: waiting for them can be
//! given up, as Ctrl-C does.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::AsFd as _;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot;

/// Bytes that are read at a time.
const PIECE_BYTES: usize = 64 << 10;

/// Opens a file. Of a named pipe that waits for a writer.
///
/// # Errors
/// As [`File::open`].
pub(super) async fn opened(path: String) -> io::Result<File> {
    let (sender, receiver) = oneshot::channel();
    // A thread of the runtime would be waited for at its end.
    std::thread::Builder::new().name("open".to_owned()).spawn(move || {
        let _ = sender.send(File::open(path));
    })?;
    receiver.await.unwrap_or_else(|_| Err(ErrorKind::Interrupted.into()))
}

/// Returns the next bytes of a file; none at its end. Given up before it returns, it has read
/// nothing.
///
/// # Errors
/// An error of the file.
pub(super) async fn read_piece(mut file: &File) -> io::Result<Vec<u8>> {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        wait_until_readable(file).await?;
        match file.read(&mut piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(length) => {
                piece.truncate(length);
                return Ok(piece);
            }
        }
    }
}

/// Waits until reading the file does not block.
async fn wait_until_readable(file: &File) -> io::Result<()> {
    // Registered again each time, a file that has bytes left is readable at once; one that stays
    // registered would tell of new bytes only.
    #[expect(deprecated, reason = "the file is open as long as it is waited for")]
    let registered = AsyncFd::with_interest(file.as_fd(), Interest::READABLE);
    match registered {
        Ok(waiting) => {
            waiting.readable().await?.retain_ready();
            Ok(())
        }
        // What cannot be waited for, such as a regular file, never blocks.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::OwnedFd;

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    #[test]
    fn waiting_for_a_pipe_is_given_up_and_takes_nothing_of_it() {
        let (reader, mut writer) = io::pipe().unwrap();
        let reader = File::from(OwnedFd::from(reader));
        runtime().block_on(async {
            let given_up = tokio::select! {
                biased;
                _ = read_piece(&reader) => false,
                () = std::future::ready(()) => true,
            };
            assert!(given_up);
            writer.write_all(b"a line\n").unwrap();
            assert_eq!(read_piece(&reader).await.unwrap(), b"a line\n");
            drop(writer);
            assert!(read_piece(&reader).await.unwrap().is_empty());
        });
    }

    #[test]
    fn bytes_that_a_piece_leaves_are_the_next_piece() {
        let (reader, mut writer) = io::pipe().unwrap();
        let reader = File::from(OwnedFd::from(reader));
        let written = std::thread::spawn(move || {
            writer.write_all(&vec![b'x'; 3 * PIECE_BYTES + 1]).unwrap();
        });
        let read = runtime().block_on(async {
            let mut read = 0;
            loop {
                match read_piece(&reader).await.unwrap().len() {
                    0 => break read,
                    bytes => read += bytes,
                }
            }
        });
        written.join().unwrap();
        assert_eq!(read, 3 * PIECE_BYTES + 1);
    }

    #[test]
    fn regular_file_is_read_to_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("rows");
        std::fs::write(&path, "a,b\n").unwrap();
        runtime().block_on(async {
            let file = opened(path.display().to_string()).await.unwrap();
            assert_eq!(read_piece(&file).await.unwrap(), b"a,b\n");
            assert!(read_piece(&file).await.unwrap().is_empty());
            assert!(opened("/nothing/here".to_owned()).await.is_err());
        });
    }
}
