//! Turmoil's sockets behind the network interfaces of client and server, with randomly cut writes,
//! and tasks instead of threads.

use std::future::Future;
use std::io::{ErrorKind, Result};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use halite_client::net as client;
use halite_server::outside as server;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use turmoil::net::{TcpListener, TcpStream};

/// Delay of work that may block, in milliseconds: usually short, occasionally as slow as a disk.
const SOON_MS: u64 = 2;
const SLOW_MS: u64 = 40;

/// Current faults of the server's sockets and threads.
#[derive(Debug, Default)]
pub struct ServerBehavior {
    /// Number of replies to cut in the middle, which breaks their connections.
    pub cuts: AtomicU32,
    /// End of a stall of blocking work, in milliseconds of the simulation.
    pub stalled_until_ms: AtomicU64,
    /// Connections of the server, in order of arrival.
    connections: Mutex<Vec<Weak<Mutex<TcpStream>>>>,
}

/// Connections of a dead process that its machine has not closed yet.
///
/// A runtime that ends drops its tasks in any order, which would affect the network. So the
/// connections are held until the machine closes them one after the other.
#[derive(Default)]
pub struct OrphanedConnections(Vec<Arc<Mutex<TcpStream>>>);

impl OrphanedConnections {
    /// Closes them in order of arrival. Must be called on the machine that owns them.
    pub fn close(self) {
        self.0.into_iter().for_each(drop);
    }
}

impl ServerBehavior {
    /// Returns the current connections, so that they outlive the process.
    pub fn hold_connections(&self) -> OrphanedConnections {
        let connections =
            std::mem::take(&mut *self.connections.lock().unwrap_or_else(PoisonError::into_inner));
        OrphanedConnections(connections.iter().filter_map(Weak::upgrade).collect())
    }

    fn add_connection(&self, stream: &Arc<Mutex<TcpStream>>) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.retain(|known| known.strong_count() > 0);
        connections.push(Arc::downgrade(stream));
    }

    /// Waits as long as disk access currently takes.
    pub async fn wait_for_disk(&self) {
        let wait = if fastrand::u8(..12) == 0 {
            fastrand::u64(..SLOW_MS)
        } else {
            fastrand::u64(..SOON_MS)
        };
        tokio::time::sleep(Duration::from_millis(wait)).await;
        loop {
            let now = u64::try_from(turmoil::sim_elapsed().unwrap_or_default().as_millis())
                .unwrap_or(u64::MAX);
            let left = self.stalled_until_ms.load(Relaxed).saturating_sub(now);
            if left == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(left)).await;
        }
    }
}

/// Network interface of the server.
pub struct SimOutside(pub Arc<ServerBehavior>);

impl server::Outside for SimOutside {
    fn listen(&self, address: SocketAddr) -> Result<Box<dyn server::Listening>> {
        let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port()));
        // It is ready immediately: nothing in it waits.
        let bound = pin!(TcpListener::bind(address))
            .poll(&mut Context::from_waker(std::task::Waker::noop()));
        let Poll::Ready(listener) = bound else { return Err(ErrorKind::WouldBlock.into()) };
        Ok(Box::new(Listener { listener: listener?, behavior: Arc::clone(&self.0) }))
    }

    fn run(&self, work: Box<dyn FnOnce() + Send>) {
        let mood = Arc::clone(&self.0);
        tokio::spawn(async move {
            mood.wait_for_disk().await;
            work();
        });
    }
}

struct Listener {
    listener: TcpListener,
    behavior: Arc<ServerBehavior>,
}

impl server::Listening for Listener {
    fn local_addr(&self) -> Result<SocketAddr> {
        self.listener.local_addr()
    }

    fn accept(&self) -> server::Accepting<'_> {
        Box::pin(async {
            let (stream, _) = self.listener.accept().await?;
            Ok(Box::new(Socket::new(stream, Some(Arc::clone(&self.behavior)))?)
                as Box<dyn server::Socket>)
        })
    }
}

/// Network interface of a client.
pub struct Network;

impl client::Network for Network {
    fn connect(&self, host: &str, port: u16) -> client::Connecting {
        let host = host.to_owned();
        Box::pin(async move {
            Ok(Arc::new(Socket::new(TcpStream::connect((host, port)).await?, None)?)
                as Arc<dyn client::Socket>)
        })
    }
}

struct Socket {
    stream: Arc<Mutex<TcpStream>>,
    local: SocketAddr,
    peer: SocketAddr,
    /// Faults of the server, on its side.
    behavior: Option<Arc<ServerBehavior>>,
    /// Set if it broke in the middle of a reply.
    is_broken: AtomicBool,
}

impl Socket {
    fn new(stream: TcpStream, mood: Option<Arc<ServerBehavior>>) -> Result<Self> {
        let (local, peer) = (stream.local_addr()?, stream.peer_addr()?);
        let stream = Arc::new(Mutex::new(stream));
        if let Some(mood) = &mood {
            mood.add_connection(&stream);
        }
        Ok(Self { stream, local, peer, behavior: mood, is_broken: AtomicBool::new(false) })
    }

    fn stream(&self) -> MutexGuard<'_, TcpStream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self) -> Result<()> {
        if self.is_broken.load(Relaxed) { Err(ErrorKind::ConnectionReset.into()) } else { Ok(()) }
    }

    fn read(&self, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        self.check()?;
        Pin::new(&mut *self.stream()).poll_read(task, buffer)
    }

    /// Occasionally writes only a part, and the first half of a reply that is to be cut.
    fn write(&self, bytes: &[u8]) -> Result<usize> {
        self.check()?;
        let is_cut = |mood: &Arc<ServerBehavior>| {
            mood.cuts.fetch_update(Relaxed, Relaxed, |cuts| cuts.checked_sub(1)).is_ok()
        };
        if self.behavior.as_ref().is_some_and(is_cut) {
            self.is_broken.store(true, Relaxed);
            let mut stream = self.stream();
            // The other side observes the outcome.
            let _ = stream.try_write(&bytes[..bytes.len() / 2]);
            let _ = Pin::new(&mut *stream)
                .poll_shutdown(&mut Context::from_waker(std::task::Waker::noop()));
            return Err(ErrorKind::ConnectionReset.into());
        }
        let length = if fastrand::u8(..8) == 0 {
            fastrand::usize(..=bytes.len()).max(1).min(bytes.len())
        } else {
            bytes.len()
        };
        self.stream().try_write(&bytes[..length])
    }

    fn writable(&self, task: &mut Context<'_>) -> Poll<Result<()>> {
        self.check()?;
        let stream = self.stream();
        pin!(stream.writable()).poll(task)
    }

    fn shutdown(&self, task: &mut Context<'_>) -> Poll<Result<()>> {
        if turmoil::sim_elapsed().is_none() {
            // The simulation is over.
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut *self.stream()).poll_shutdown(task)
    }
}

impl server::Socket for Socket {
    fn local_addr(&self) -> SocketAddr {
        self.local
    }

    fn peer_addr(&self) -> SocketAddr {
        self.peer
    }

    fn poll_read(&self, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        self.read(task, buffer)
    }

    fn try_write(&self, bytes: &[u8]) -> Result<usize> {
        self.write(bytes)
    }

    fn poll_writable(&self, task: &mut Context<'_>) -> Poll<Result<()>> {
        self.writable(task)
    }

    fn poll_shutdown(&self, task: &mut Context<'_>) -> Poll<Result<()>> {
        self.shutdown(task)
    }
}

impl client::Socket for Socket {
    fn poll_read(&self, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        self.read(task, buffer)
    }

    fn try_write(&self, bytes: &[u8]) -> Result<usize> {
        self.write(bytes)
    }

    fn poll_writable(&self, task: &mut Context<'_>) -> Poll<Result<()>> {
        self.writable(task)
    }

    fn poll_shutdown(&self, task: &mut Context<'_>) -> Poll<Result<()>> {
        self.shutdown(task)
    }
}
