//! The only access to the network: tokio's sockets, or those of a custom [`Network`] passed to
//! [`connect_over`](crate::connect_over), as in a simulation.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, tcp};

/// Future of a new connection.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Arc<dyn Socket>>> + Send>>;

/// Network other than that of the operating system.
pub trait Network: Send + Sync {
    /// Connects to a port of a host, which is a name or an address.
    fn connect(&self, host: &str, port: u16) -> Connecting;
}

/// One connection.
pub trait Socket: Send + Sync {
    /// Reads the available bytes; an empty read is the end of the stream.
    fn poll_read(&self, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>>;

    /// Writes as many bytes as there is room for now.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; errors of the operating system.
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Returns ready when there may be room to write.
    fn poll_writable(&self, task: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Closes the writing half.
    fn poll_shutdown(&self, task: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// Source of connections.
#[derive(Clone, Default)]
pub(crate) enum Connector {
    #[default]
    Os,
    Custom(Arc<dyn Network>),
}

/// Connection of either kind.
pub(crate) enum Stream {
    Os(TcpStream),
    Custom(Arc<dyn Socket>),
}

/// Reading half of a connection.
pub(crate) enum Reader {
    Os(tcp::OwnedReadHalf),
    Custom(Arc<dyn Socket>),
}

/// Writing half of a connection; dropping it closes the writing half.
pub(crate) enum Writer {
    Os(tcp::OwnedWriteHalf),
    Custom(ShutdownOnDrop),
}

/// Socket whose writing half is closed on drop.
pub(crate) struct ShutdownOnDrop(Arc<dyn Socket>);

impl Drop for ShutdownOnDrop {
    fn drop(&mut self) {
        // As with tokio's half, errors are ignored.
        let _ = self.0.poll_shutdown(&mut Context::from_waker(Waker::noop()));
    }
}

impl Connector {
    /// Connects to a port of a host.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub(crate) async fn connect(&self, host: &str, port: u16) -> io::Result<Stream> {
        match self {
            Self::Os => TcpStream::connect((host, port)).await.map(Stream::Os),
            Self::Custom(network) => network.connect(host, port).await.map(Stream::Custom),
        }
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Os => "the operating system's network",
            Self::Custom(_) => "a network that was given",
        })
    }
}

impl Stream {
    /// Disables Nagle's algorithm, so that small calls are sent at once.
    pub(crate) fn set_nodelay(&self) -> io::Result<()> {
        match self {
            Self::Os(stream) => stream.set_nodelay(true),
            Self::Custom(_) => Ok(()),
        }
    }

    pub(crate) fn into_split(self) -> (Reader, Writer) {
        match self {
            Self::Os(stream) => {
                let (reader, writer) = stream.into_split();
                (Reader::Os(reader), Writer::Os(writer))
            }
            Self::Custom(socket) => {
                (Reader::Custom(Arc::clone(&socket)), Writer::Custom(ShutdownOnDrop(socket)))
            }
        }
    }
}

impl Writer {
    /// Writes as many bytes as there is room for now.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; errors of the operating system.
    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Os(writer) => writer.try_write(bytes),
            Self::Custom(ShutdownOnDrop(socket)) => socket.try_write(bytes),
        }
    }

    /// Returns when there may be room to write.
    pub(crate) async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Os(writer) => writer.writable().await,
            Self::Custom(ShutdownOnDrop(socket)) => {
                poll_fn(|task| socket.poll_writable(task)).await
            }
        }
    }
}

impl AsyncRead for Reader {
    fn poll_read(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Os(reader) => Pin::new(reader).poll_read(task, buffer),
            Self::Custom(socket) => socket.poll_read(task, buffer),
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
            Self::Custom(socket) => socket.poll_read(task, buffer),
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
            Self::Custom(socket) => loop {
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
            Self::Custom(_) => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Os(stream) => Pin::new(stream).poll_shutdown(task),
            Self::Custom(socket) => socket.poll_shutdown(task),
        }
    }
}
