//! The one door to the network: tokio's sockets, or those of a simulation that gives a [`Network`] of its own to
//! [`connect_over`](crate::connect_over).

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, tcp};

/// A connection that is being made.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Arc<dyn Socket>>> + Send>>;

/// A network other than that of the operating system.
pub trait Network: Send + Sync {
    /// Connects to a port of a host, which is a name or an address.
    fn connect(&self, host: &str, port: u16) -> Connecting;
}

/// One connection.
pub trait Socket: Send + Sync {
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

/// Where connections come from.
#[derive(Clone, Default)]
pub(crate) enum Door {
    #[default]
    Os,
    Given(Arc<dyn Network>),
}

/// A connection of either kind.
pub(crate) enum Stream {
    Os(TcpStream),
    Given(Arc<dyn Socket>),
}

/// The half of a connection that is read.
pub(crate) enum Reader {
    Os(tcp::OwnedReadHalf),
    Given(Arc<dyn Socket>),
}

/// The half of a connection that is written; dropped, it says that nothing more comes.
pub(crate) enum Writer {
    Os(tcp::OwnedWriteHalf),
    Given(Last),
}

/// A socket whose writing ends with this.
pub(crate) struct Last(Arc<dyn Socket>);

impl Drop for Last {
    fn drop(&mut self) {
        // As tokio's half does, whose errors nobody hears of either.
        let _ = self.0.poll_shutdown(&mut Context::from_waker(Waker::noop()));
    }
}

impl Door {
    /// Connects to a port of a host.
    ///
    /// # Errors
    /// As the operating system's.
    pub(crate) async fn connect(&self, host: &str, port: u16) -> io::Result<Stream> {
        match self {
            Self::Os => TcpStream::connect((host, port)).await.map(Stream::Os),
            Self::Given(network) => network.connect(host, port).await.map(Stream::Given),
        }
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Os => "the operating system's network",
            Self::Given(_) => "a network that was given",
        })
    }
}

impl Stream {
    /// Lets small calls go out at once.
    pub(crate) fn set_nodelay(&self) -> io::Result<()> {
        match self {
            Self::Os(stream) => stream.set_nodelay(true),
            Self::Given(_) => Ok(()),
        }
    }

    pub(crate) fn into_split(self) -> (Reader, Writer) {
        match self {
            Self::Os(stream) => {
                let (reader, writer) = stream.into_split();
                (Reader::Os(reader), Writer::Os(writer))
            }
            Self::Given(socket) => (Reader::Given(Arc::clone(&socket)), Writer::Given(Last(socket))),
        }
    }
}

impl Writer {
    /// Writes what there is room for now.
    ///
    /// # Errors
    /// `WouldBlock` where that is nothing; as the operating system's.
    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Os(writer) => writer.try_write(bytes),
            Self::Given(Last(socket)) => socket.try_write(bytes),
        }
    }

    /// Returns when there may be room to write.
    pub(crate) async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Os(writer) => writer.writable().await,
            Self::Given(Last(socket)) => poll_fn(|task| socket.poll_writable(task)).await,
        }
    }
}

impl AsyncRead for Reader {
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
