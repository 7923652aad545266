//! Abstraction of the environment: sockets, the clock of deadlines, and the threads on which work
//! may block.
//!
//! A server started by [`Server::start`](crate::Server::start) uses the operating system. A
//! simulation passes an implementation of [`Outside`] and controls the network and the order of all
//! events, in one thread:
//!
//! ```text
//!                   operating system                  simulation
//! Listener, Stream  tokio's sockets                   the sockets of Outside::listen
//! Machine           handler pools, procedure threads, Outside::run, one unit of work at a
//!                   tokio's blocking threads          time; it never blocks
//! Instant           tokio's, the system clock         tokio's, controlled by a paused runtime
//! ```
//! The time of day is the engine's, [`halite_engine::Engine::now_ms`].

use std::future::Future;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, tcp};

/// Clock of deadlines, leases and pauses.
pub(crate) use tokio::time::Instant;

/// Network and scheduler that replace those of the operating system.
pub trait Outside: Send + Sync {
    /// Listens on an address; port 0 is any free port.
    ///
    /// # Errors
    /// As the operating system's.
    fn listen(&self, address: SocketAddr) -> io::Result<Box<dyn Listening>>;

    /// Runs work later, never before this returns. The work never waits for other work.
    fn run(&self, work: Box<dyn FnOnce() + Send>);
}

/// Future of an accepted connection.
pub type Accepting<'a> = Pin<Box<dyn Future<Output = io::Result<Box<dyn Socket>>> + Send + 'a>>;

/// Listening socket.
pub trait Listening: Send + Sync {
    /// Returns the local address.
    ///
    /// # Errors
    /// As the operating system's.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// Accepts the next connection.
    fn accept(&self) -> Accepting<'_>;
}

/// Connection.
pub trait Socket: Send + Sync {
    /// Returns the local address.
    fn local_addr(&self) -> SocketAddr;

    /// Returns the address of the peer.
    fn peer_addr(&self) -> SocketAddr;

    /// Reads the available bytes; no bytes is the end of the stream.
    fn poll_read(&self, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>>;

    /// Writes as many bytes as fit now.
    ///
    /// # Errors
    /// `WouldBlock` if none fit; otherwise as the operating system's.
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Polls until the socket may be writable.
    fn poll_writable(&self, task: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Shuts down the write half: nothing more is written.
    fn poll_shutdown(&self, task: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// Listening socket of the operating system or of a simulation.
pub(crate) enum Listener {
    Os(TcpListener),
    Given(Box<dyn Listening>),
}

/// Connection of the operating system or of a simulation.
pub(crate) enum Stream {
    Os(TcpStream),
    Given(Box<dyn Socket>),
}

/// Read half of a connection.
pub(crate) enum Reader<'a> {
    Os(tcp::ReadHalf<'a>),
    Given(&'a dyn Socket),
}

/// Write half of a connection.
pub(crate) enum Writer<'a> {
    Os(tcp::WriteHalf<'a>),
    Given(&'a dyn Socket),
}

impl Listener {
    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Os(listener) => listener.local_addr(),
            Self::Given(listener) => listener.local_addr(),
        }
    }

    /// Accepts the next connection. Cancel safe: a dropped future has accepted no connection.
    pub(crate) async fn accept(&self) -> io::Result<(Stream, SocketAddr)> {
        match self {
            Self::Os(listener) => {
                listener.accept().await.map(|(stream, peer)| (Stream::Os(stream), peer))
            }
            Self::Given(listener) => listener.accept().await.map(|socket| {
                let peer = socket.peer_addr();
                (Stream::Given(socket), peer)
            }),
        }
    }
}

impl Stream {
    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Os(stream) => stream.local_addr(),
            Self::Given(socket) => Ok(socket.local_addr()),
        }
    }

    pub(crate) fn peer_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Os(stream) => stream.peer_addr(),
            Self::Given(socket) => Ok(socket.peer_addr()),
        }
    }

    /// Disables Nagle's algorithm, so that small responses are sent at once.
    pub(crate) fn set_nodelay(&self) -> io::Result<()> {
        match self {
            Self::Os(stream) => stream.set_nodelay(true),
            Self::Given(_) => Ok(()),
        }
    }

    /// Enables keep-alive, which eventually detects a vanished peer.
    pub(crate) fn set_keepalive(&self) -> io::Result<()> {
        match self {
            Self::Os(stream) => Ok(rustix::net::sockopt::set_socket_keepalive(stream, true)?),
            Self::Given(_) => Ok(()),
        }
    }

    /// Writes as much of these slices as fits now.
    ///
    /// # Errors
    /// `WouldBlock` if nothing fits; otherwise as the operating system's.
    pub(crate) fn try_write_vectored(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Os(stream) => stream.try_write_vectored(pieces),
            Self::Given(socket) => socket.try_write(pieces.first().map_or(&[], |piece| piece)),
        }
    }

    pub(crate) fn split(&mut self) -> (Reader<'_>, Writer<'_>) {
        match self {
            Self::Os(stream) => {
                let (reader, writer) = stream.split();
                (Reader::Os(reader), Writer::Os(writer))
            }
            Self::Given(socket) => (Reader::Given(&**socket), Writer::Given(&**socket)),
        }
    }
}

impl Writer<'_> {
    /// Waits until the socket may be writable.
    pub(crate) async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Os(writer) => writer.writable().await,
            Self::Given(socket) => std::future::poll_fn(|task| socket.poll_writable(task)).await,
        }
    }
}

impl AsyncRead for Reader<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Os(reader) => Pin::new(reader).poll_read(task, buffer),
            Self::Given(socket) => socket.poll_read(task, buffer),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Os(stream) => Pin::new(stream).poll_read(task, buffer),
            Self::Given(socket) => socket.poll_read(task, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Os(stream) => Pin::new(stream).poll_write(task, bytes),
            Self::Given(socket) => loop {
                match socket.try_write(bytes) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        ready!(socket.poll_writable(task))?;
                    }
                    written => return Poll::Ready(written),
                }
            },
        }
    }

    fn poll_flush(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Os(stream) => Pin::new(stream).poll_flush(task),
            Self::Given(_) => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Os(stream) => Pin::new(stream).poll_shutdown(task),
            Self::Given(socket) => socket.poll_shutdown(task),
        }
    }
}

/// Environment of the server: its sockets, and the threads for work that may block.
#[derive(Clone, Default)]
pub(crate) enum Machine {
    /// The operating system, and threads of this process.
    #[default]
    Os,
    Given(Arc<dyn Outside>),
}

impl Machine {
    /// Listens on an address.
    ///
    /// # Errors
    /// As the operating system's.
    pub(crate) async fn listen(&self, address: SocketAddr) -> io::Result<Listener> {
        match self {
            #[expect(clippy::disallowed_methods, reason = "this is the door")]
            Self::Os => TcpListener::bind(address).await.map(Listener::Os),
            Self::Given(outside) => outside.listen(address).map(Listener::Given),
        }
    }

    /// Runs work that may block, and waits for it without blocking. Returns `None` if it panicked;
    /// the panic has already been reported.
    pub(crate) async fn block<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        match self {
            #[expect(clippy::disallowed_methods, reason = "this is the door")]
            Self::Os => tokio::task::spawn_blocking(work).await.ok(),
            Self::Given(outside) => {
                let (sender, receiver) = tokio::sync::oneshot::channel();
                outside.run(Box::new(move || drop(sender.send(work()))));
                receiver.await.ok()
            }
        }
    }
}
