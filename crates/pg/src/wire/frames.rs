//! Messages from a socket, within limits of size and time.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of a first message.
const MAX_STARTUP_BYTES: usize = 10_000;
/// Bytes of a message that count toward the memory of no one.
const FREE_BYTES: usize = 16 << 10;
/// Bytes that are read at a time, so that memory grows with what has come.
const PIECE_BYTES: usize = 64 << 10;

/// Limits of the messages of one connection.
#[derive(Clone)]
pub(crate) struct FrameLimits {
    /// Bytes of a message.
    pub(crate) max_bytes: usize,
    /// Time in which the rest of a message that has begun has to come.
    pub(crate) stall: Duration,
    /// Time for which a message waits for memory before it is passed over.
    pub(crate) memory_wait: Duration,
    /// KiB of large messages of all connections.
    pub(crate) budget: Arc<Semaphore>,
}

/// Message as bytes.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) body: Bytes,
    /// Share of the memory for large messages, given back when the message has been worked off.
    _share: Option<OwnedSemaphorePermit>,
}

/// What came from a socket.
#[derive(Debug)]
pub(crate) enum Received {
    /// A message.
    Frame(Frame),
    /// A message over the limit, which was passed over: its type and its bytes.
    TooLarge(u8, usize),
    /// A message for which there was no memory, and which was passed over: its type.
    NoMemory(u8),
    /// The end.
    End,
}

/// Reads one message.
///
/// # Errors
/// `InvalidData` for a length that cannot be, `TimedOut` for a message that does not go on,
/// otherwise the error of the socket.
pub(crate) async fn read(
    socket: &mut (impl AsyncRead + Unpin),
    limits: &FrameLimits,
) -> io::Result<Received> {
    let mut kind = [0u8];
    // A client may be silent as long as it likes between two messages.
    if socket.read(&mut kind).await? == 0 {
        return Ok(Received::End);
    }
    let length = within(limits.stall, read_length(socket)).await?;
    if length > limits.max_bytes {
        pass_over(socket, length, limits.stall).await?;
        return Ok(Received::TooLarge(kind[0], length));
    }
    read_shared(socket, limits, kind[0], length).await
}

/// Reads a body, and takes its share of the memory for large messages as the bytes come. Waiting
/// for memory does not count toward the time of the client.
async fn read_shared(
    socket: &mut (impl AsyncRead + Unpin),
    limits: &FrameLimits,
    kind: u8,
    length: usize,
) -> io::Result<Received> {
    let mut body = BytesMut::new();
    let mut share: Option<OwnedSemaphorePermit> = None;
    let mut left = limits.stall;
    while body.len() < length {
        let at = body.len();
        body.resize(length.min(at + PIECE_BYTES), 0);
        let started = Instant::now();
        within(left, async { socket.read_exact(&mut body[at..]).await.map(drop) }).await?;
        left = left.saturating_sub(started.elapsed());
        if length <= FREE_BYTES {
            break;
        }
        let kib = u32::try_from((body.len() - at).div_ceil(1024)).unwrap_or(u32::MAX);
        let more = Arc::clone(&limits.budget).acquire_many_owned(kib);
        // Those that wait for each other's shares all give up.
        let Ok(Ok(more)) = tokio::time::timeout(limits.memory_wait, more).await else {
            let rest = length - body.len();
            drop((share, body));
            pass_over(socket, rest, limits.stall).await?;
            return Ok(Received::NoMemory(kind));
        };
        match &mut share {
            Some(share) => share.merge(more),
            None => share = Some(more),
        }
    }
    Ok(Received::Frame(Frame { kind, body: body.freeze(), _share: share }))
}

/// Reads the body of a first message; `None` at the end of the connection.
///
/// # Errors
/// As [`read`], without a limit of time.
pub(crate) async fn read_startup(
    socket: &mut (impl AsyncRead + Unpin),
) -> io::Result<Option<Bytes>> {
    let length = match read_length(socket).await {
        Ok(length) => length,
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    };
    if length > MAX_STARTUP_BYTES {
        return Err(invalid("this is not PostgreSQL's protocol, or its first message is too long"));
    }
    read_body(socket, length).await.map(Some)
}

/// Reads the length of a body: the length of the message without its own four bytes.
async fn read_length(socket: &mut (impl AsyncRead + Unpin)) -> io::Result<usize> {
    let length = i64::from(socket.read_i32().await?) - 4;
    usize::try_from(length).map_err(|_| invalid("a message has an impossible length"))
}

async fn read_body(socket: &mut (impl AsyncRead + Unpin), length: usize) -> io::Result<Bytes> {
    let mut body = BytesMut::new();
    while body.len() < length {
        let at = body.len();
        body.resize(length.min(at + PIECE_BYTES), 0);
        socket.read_exact(&mut body[at..]).await?;
    }
    Ok(body.freeze())
}

/// Reads a body and forgets it. A client that keeps sending is not stalled.
async fn pass_over(
    socket: &mut (impl AsyncRead + Unpin),
    length: usize,
    stall: Duration,
) -> io::Result<()> {
    let mut piece = vec![0u8; PIECE_BYTES];
    let mut rest = length;
    while rest > 0 {
        let next = rest.min(PIECE_BYTES);
        within(stall, async { socket.read_exact(&mut piece[..next]).await.map(drop) }).await?;
        rest -= next;
    }
    Ok(())
}

async fn within<T>(limit: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(limit, work)
        .await
        .unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "a message did not go on")))
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> FrameLimits {
        FrameLimits {
            max_bytes: 100_000,
            stall: Duration::from_millis(50),
            memory_wait: Duration::from_millis(100),
            budget: Arc::new(Semaphore::new(100)),
        }
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        // Time passes only while everything waits for it.
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.expect("a runtime").block_on(work)
    }

    #[test]
    fn messages_are_read_one_after_the_other() {
        let mut bytes = &b"S\0\0\0\x04Q\0\0\0\x06a\0"[..];
        run(async {
            let Received::Frame(sync) = read(&mut bytes, &limits()).await.unwrap() else {
                panic!("no message")
            };
            assert_eq!((sync.kind, sync.body.len()), (b'S', 0));
            let Received::Frame(query) = read(&mut bytes, &limits()).await.unwrap() else {
                panic!("no message")
            };
            assert_eq!((query.kind, query.body.as_ref()), (b'Q', &b"a\0"[..]));
            assert!(matches!(read(&mut bytes, &limits()).await.unwrap(), Received::End));
        });
    }

    #[test]
    fn message_over_the_limit_is_passed_over() {
        let mut bytes = b"Q".to_vec();
        bytes.extend_from_slice(&200_004u32.to_be_bytes());
        bytes.extend_from_slice(&vec![b'x'; 200_000]);
        bytes.extend_from_slice(b"S\0\0\0\x04");
        let mut bytes = bytes.as_slice();
        run(async {
            let first = read(&mut bytes, &limits()).await.unwrap();
            assert!(matches!(first, Received::TooLarge(b'Q', 200_000)), "{first:?}");
            assert!(matches!(read(&mut bytes, &limits()).await.unwrap(), Received::Frame(_)));
        });
    }

    #[test]
    fn lengths_that_cannot_be_are_errors() {
        for bytes in [&b"Q\0\0\0\x03"[..], b"Q\xff\xff\xff\xff", b"Q\0\0\0\x09ab", b"Q\0"] {
            let mut bytes = bytes;
            assert!(run(read(&mut bytes, &limits())).is_err());
        }
        let mut http = &b"GET / HTTP/1.1"[..];
        assert!(run(read_startup(&mut http)).is_err());
    }

    #[test]
    fn memory_is_taken_as_bytes_come_and_waiting_is_no_stall() {
        let large = |length: u32| {
            [b"Q".as_slice(), &(length + 4).to_be_bytes(), &vec![b'x'; length as usize]].concat()
        };
        run(async {
            let limits = limits();
            // A length alone takes nothing.
            let (mut client, mut server) = tokio::io::duplex(64);
            tokio::io::AsyncWriteExt::write_all(&mut client, &large(90_000)[..5]).await.unwrap();
            let reading =
                tokio::time::timeout(Duration::from_millis(20), read(&mut server, &limits));
            assert!(reading.await.is_err());
            assert_eq!(limits.budget.available_permits(), 100);
            // Memory that comes after the time for stalls, but soon enough.
            let held = limits.budget.clone().acquire_many_owned(100).await.unwrap();
            let bytes = large(90_000);
            let mut bytes = bytes.as_slice();
            let (received, ()) = tokio::join!(read(&mut bytes, &limits), async {
                tokio::time::sleep(Duration::from_millis(75)).await;
                drop(held);
            });
            assert!(matches!(received.unwrap(), Received::Frame(_)));
            // None at all: what follows is read.
            let _held = limits.budget.clone().acquire_many_owned(50).await.unwrap();
            let bytes = [large(90_000), b"S\0\0\0\x04".to_vec()].concat();
            let mut bytes = bytes.as_slice();
            let received = read(&mut bytes, &limits).await.unwrap();
            assert!(matches!(received, Received::NoMemory(b'Q')), "{received:?}");
            assert!(matches!(read(&mut bytes, &limits).await.unwrap(), Received::Frame(_)));
            assert_eq!(limits.budget.available_permits(), 50);
        });
    }

    #[test]
    fn message_that_does_not_go_on_ends_the_connection() {
        run(async {
            let (mut client, mut server) = tokio::io::duplex(64);
            tokio::io::AsyncWriteExt::write_all(&mut client, b"Q\0\0\0\x20abc").await.unwrap();
            let error = read(&mut server, &limits()).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        });
    }
}
