//! Sockets of the simulated network for the client's `Network` trait. They are counted, and writes
//! are randomly cut.

use std::cell::Cell;
use std::future::Future;
use std::io::Result;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use turmoil::net::TcpStream;

use crate::net::{Connecting, Connector, Network, Socket};

thread_local! {
    static OPEN: Cell<usize> = const { Cell::new(0) };
}

/// Returns the number of open sockets of this thread's clients.
pub(super) fn open_sockets() -> usize {
    OPEN.get()
}

/// Returns the connector to the simulated network.
pub(super) fn connector() -> Connector {
    Connector::Custom(Arc::new(SimNetwork))
}

struct SimNetwork;

impl Network for SimNetwork {
    fn connect(&self, host: &str, port: u16) -> Connecting {
        let host = host.to_string();
        Box::pin(async move {
            let stream = TcpStream::connect((host, port)).await?;
            OPEN.set(OPEN.get() + 1);
            Ok(Arc::new(CountedSocket(Mutex::new(stream))) as Arc<dyn Socket>)
        })
    }
}

struct CountedSocket(Mutex<TcpStream>);

impl CountedSocket {
    fn lock(&self) -> MutexGuard<'_, TcpStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CountedSocket {
    fn drop(&mut self) {
        OPEN.set(OPEN.get() - 1);
    }
}

impl Socket for CountedSocket {
    fn poll_read(&self, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut *self.lock()).poll_read(task, buffer)
    }

    /// Writes all bytes or, at random, only some of them, if there is room.
    fn try_write(&self, bytes: &[u8]) -> Result<usize> {
        let most = if fastrand::u8(..8) == 0 {
            fastrand::usize(..=bytes.len()).max(1).min(bytes.len())
        } else {
            bytes.len()
        };
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
