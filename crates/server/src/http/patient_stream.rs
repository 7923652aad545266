//! Connection that is given up when its client does not read: an unsent answer takes memory, and
//! there are few connections.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::outside::Stream;

/// Time in which a client must read some of what is sent to it.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// Connection with a limit on the time in which none of the unsent bytes are accepted.
pub(super) struct PatientStream {
    stream: Stream,
    /// End of the wait for a client that accepts no bytes.
    limit: Option<Pin<Box<Sleep>>>,
}

impl PatientStream {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, limit: None }
    }
}

impl AsyncRead for PatientStream {
    fn poll_read(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(task, buffer)
    }
}

impl AsyncWrite for PatientStream {
    fn poll_write(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(task, bytes);
        if written.is_ready() {
            this.limit = None;
            return written;
        }
        let limit = this.limit.get_or_insert_with(|| Box::pin(sleep(SEND_TIMEOUT)));
        if limit.as_mut().poll(task).is_ready() {
            let text = format!("the client read nothing for {} s", SEND_TIMEOUT.as_secs());
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, text)));
        }
        Poll::Pending
    }

    fn poll_flush(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(task)
    }

    fn poll_shutdown(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(task)
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::AsyncWriteExt as _;
    use tokio::time::Instant;

    use super::*;
    use crate::outside::Socket;

    /// Socket that accepts one byte every 20 seconds, and a number of them.
    struct Slow {
        left: AtomicUsize,
    }

    impl Socket for Slow {
        fn local_addr(&self) -> SocketAddr {
            ([127, 0, 0, 1], 1).into()
        }

        fn peer_addr(&self) -> SocketAddr {
            ([127, 0, 0, 1], 2).into()
        }

        fn poll_read(&self, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }

        fn try_write(&self, _: &[u8]) -> io::Result<usize> {
            let left = self.left.load(Ordering::Relaxed);
            if left.is_multiple_of(2) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.left.store(left - 1, Ordering::Relaxed);
            Ok(1)
        }

        fn poll_writable(&self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
            let left = self.left.load(Ordering::Relaxed);
            if left > 0 {
                self.left.store(left - 1, Ordering::Relaxed);
                let waker = task.waker().clone();
                tokio::spawn(async move {
                    sleep(Duration::from_secs(20)).await;
                    waker.wake();
                });
            }
            Poll::Pending
        }

        fn poll_shutdown(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn client_that_reads_nothing_is_given_up() {
        let socket = Slow { left: AtomicUsize::new(4) };
        let mut stream = PatientStream::new(Stream::Given(Box::new(socket)));
        let began = Instant::now();
        // Two bytes are accepted after 20 seconds each, and none after that.
        let error = stream.write_all(b"abc").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed().as_secs(), 70);
    }
}
