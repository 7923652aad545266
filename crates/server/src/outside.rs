//! The one door to the outside: sockets, the clock of deadlines, and the threads on which work may block.
//!
//! A server that was started by [`Server::start`](crate::Server::start) has the operating system behind it. A simulation gives an
//! [`Outside`] of its own and owns the network and the order in which everything happens, in one thread:
//!
//! ```text
//!                        operating system                      simulation
//! Listener, Stream       tokio's sockets                       what Outside::listen gives
//! Machine                the pools of lanes.rs, threads for    Outside::run, for one piece of work after the other;
//!                        procedures, tokio's blocking threads  nothing that is run there waits for anything
//! Instant                tokio's, which is the system's        tokio's, which a paused runtime governs
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

/// The clock of deadlines, leases and pauses.
pub(crate) use tokio::time::Instant;

/// A network and a schedule other than those of the operating system.
pub trait Outside: Send + Sync {
    /// Listens on an address; port 0 is any that is free.
    ///
    /// # Errors
    /// As the operating system's.
    fn listen(&self, address: SocketAddr) -> io::Result<Box<dyn Listening>>;

    /// Runs work later, never before this returns; it never waits for other work.
    fn run(&self, work: Box<dyn FnOnce() + Send>);
}

/// A connection that is waited for.
pub type Accepting<'a> = Pin<Box<dyn Future<Output = io::Result<Box<dyn Socket>>> + Send + 'a>>;

/// A socket that connections come to.
pub trait Listening: Send + Sync {
    /// Where it listens.
    ///
    /// # Errors
    /// As the operating system's.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// The next connection.
    fn accept(&self) -> Accepting<'_>;
}

/// One connection.
pub trait Socket: Send + Sync {
    /// The address of this end.
    fn local_addr(&self) -> SocketAddr;

    /// The address of the other end.
    fn peer_addr(&self) -> SocketAddr;

    /// Reads what is there; nothing is the end.
    fn poll_read(&self, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>>;

    /// Writes what there is room for now.
    ///
    /// # Errors
    /// `WouldBlock` where that is nothing; as the operating system's.
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Whether there may be room to write.
    fn poll_writable(&self, task: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Says that nothing more will be written.
    fn poll_shutdown(&self, task: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// A listening socket of either kind.
pub(crate) enum Listener {
    Os(TcpListener),
    Given(Box<dyn Listening>),
}

/// A connection of either kind.
pub(crate) enum Stream {
    Os(TcpStream),
    Given(Box<dyn Socket>),
}

/// The half of a connection that is read.
pub(crate) enum Reader<'a> {
    Os(tcp::ReadHalf<'a>),
    Given(&'a dyn Socket),
}

/// The half of a connection that is written.
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

    /// The next connection. What is dropped while it waits has taken none.
    pub(crate) async fn accept(&self) -> io::Result<(Stream, SocketAddr)> {
        match self {
            Self::Os(listener) => listener.accept().await.map(|(stream, peer)| (Stream::Os(stream), peer)),
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

    /// Lets small answers go out at once.
    pub(crate) fn set_nodelay(&self) -> io::Result<()> {
        match self {
            Self::Os(stream) => stream.set_nodelay(true),
            Self::Given(_) => Ok(()),
        }
    }

    /// Notices a peer that has vanished, some day.
    pub(crate) fn set_keepalive(&self) -> io::Result<()> {
        match self {
            Self::Os(stream) => Ok(rustix::net::sockopt::set_socket_keepalive(stream, true)?),
            Self::Given(_) => Ok(()),
        }
    }

    /// Writes of these pieces what there is room for now.
    ///
    /// # Errors
    /// `WouldBlock` where that is nothing; as the operating system's.
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
    /// Returns when there may be room to write.
    pub(crate) async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Os(writer) => writer.writable().await,
            Self::Given(socket) => std::future::poll_fn(|task| socket.poll_writable(task)).await,
        }
    }
}

impl AsyncRead for Reader<'_> {
    fn poll_read(self: Pin<&mut Self>, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Os(reader) => Pin::new(reader).poll_read(task, buffer),
            Self::Given(socket) => socket.poll_read(task, buffer),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Os(stream) => Pin::new(stream).poll_read(task, buffer),
            Self::Given(socket) => socket.poll_read(task, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, task: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Os(stream) => Pin::new(stream).poll_write(task, bytes),
            Self::Given(socket) => loop {
                match socket.try_write(bytes) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready!(socket.poll_writable(task))?,
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

/// What the server runs on: whose sockets it has, and who does work that may block.
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

    /// Does work that may block, and waits for it without blocking; `None` if it has panicked, which was reported where it happened.
    pub(crate) async fn block<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
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
