//! Sockets of the simulated network with the face of tokio's, counted, and with writes that are cut where chance wants it.

use std::cell::Cell;
use std::io::{ErrorKind, Result};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use turmoil::net::tcp;

thread_local! {
    static OPEN: Cell<usize> = const { Cell::new(0) };
}

/// Sockets of this thread's clients that are open now, a half counting as a half.
pub(super) fn open_halves() -> usize {
    OPEN.get()
}

/// Counts one half of a socket for as long as it is there.
struct Half;

impl Half {
    fn new() -> Self {
        OPEN.set(OPEN.get() + 1);
        Self
    }
}

impl Drop for Half {
    fn drop(&mut self) {
        OPEN.set(OPEN.get() - 1);
    }
}

pub(crate) struct TcpStream {
    read: OwnedReadHalf,
    write: OwnedWriteHalf,
}

pub(crate) struct OwnedReadHalf(tcp::OwnedReadHalf, #[allow(dead_code, reason = "counts")] Half);

pub(crate) struct OwnedWriteHalf(Mutex<tcp::OwnedWriteHalf>, #[allow(dead_code, reason = "counts")] Half);

impl TcpStream {
    pub(crate) async fn connect(address: (&str, u16)) -> Result<Self> {
        let (read, write) = turmoil::net::TcpStream::connect(address).await?.into_split();
        Ok(Self { read: OwnedReadHalf(read, Half::new()), write: OwnedWriteHalf(Mutex::new(write), Half::new()) })
    }

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as tokio's")]
    pub(crate) fn set_nodelay(&self, _: bool) -> Result<()> {
        Ok(())
    }

    pub(crate) fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        (self.read, self.write)
    }
}

impl OwnedWriteHalf {
    /// Writes as much as chance wants, if there is room.
    pub(crate) fn try_write(&self, bytes: &[u8]) -> Result<usize> {
        match self.poll(&mut Context::from_waker(Waker::noop()), bytes) {
            Poll::Ready(written) => written,
            Poll::Pending => Err(ErrorKind::WouldBlock.into()),
        }
    }

    /// Returns when it may be worth while to write again.
    pub(crate) async fn writable(&self) -> Result<()> {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Ok(())
    }

    fn poll(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let mut half = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let most = if fastrand::u8(..8) == 0 { fastrand::usize(..=bytes.len()).max(1).min(bytes.len()) } else { bytes.len() };
        Pin::new(&mut *half).poll_write(context, &bytes[..most])
    }
}

impl AsyncRead for OwnedReadHalf {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncRead for TcpStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.read).poll_read(context, buffer)
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        self.write.poll(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let mut half = self.write.0.lock().unwrap_or_else(PoisonError::into_inner);
        Pin::new(&mut *half).poll_shutdown(context)
    }
}
