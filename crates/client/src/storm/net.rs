//! Sockets of the simulated network behind the client's own door, counted, and with writes that are cut where chance wants it.

use std::cell::Cell;
use std::future::Future;
use std::io::Result;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use turmoil::net::TcpStream;

use crate::net::{Connecting, Door, Network, Socket};

thread_local! {
    static OPEN: Cell<usize> = const { Cell::new(0) };
}

/// Sockets of this thread's clients that are open now.
pub(super) fn open_sockets() -> usize {
    OPEN.get()
}

/// The way to the simulated network.
pub(super) fn door() -> Door {
    Door::Given(Arc::new(Simulated))
}

struct Simulated;

impl Network for Simulated {
    fn connect(&self, host: &str, port: u16) -> Connecting {
        let host = host.to_string();
        Box::pin(async move {
            let stream = TcpStream::connect((host, port)).await?;
            OPEN.set(OPEN.get() + 1);
            Ok(Arc::new(Counted(Mutex::new(stream))) as Arc<dyn Socket>)
        })
    }
}

struct Counted(Mutex<TcpStream>);

impl Counted {
    fn lock(&self) -> MutexGuard<'_, TcpStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        OPEN.set(OPEN.get() - 1);
    }
}

impl Socket for Counted {
    fn poll_read(&self, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut *self.lock()).poll_read(task, buffer)
    }

    /// Writes as much as chance wants, if there is room.
    fn try_write(&self, bytes: &[u8]) -> Result<usize> {
        let most = if fastrand::u8(..8) == 0 { fastrand::usize(..=bytes.len()).max(1).min(bytes.len()) } else { bytes.len() };
        self.lock().try_write(&bytes[..most])
    }

    fn poll_writable(&self, task: &mut Context<'_>) -> Poll<Result<()>> {
        let stream = self.lock();
        std::pin::pin!(stream.writable()).poll(task)
    }

    fn poll_shutdown(&self, task: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut *self.lock()).poll_shutdown(task)
    }
}
