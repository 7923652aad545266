//! Turmoil's sockets behind the doors of client and server, with writes that are cut where chance wants it, and tasks in the place of
//! threads.

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

/// How long work that may block waits for its turn, in milliseconds: hardly, as a rule, and for the disk now and then.
const SOON_MS: u64 = 2;
const SLOW_MS: u64 = 40;

/// What goes wrong with sockets and threads of the server at present.
#[derive(Debug, Default)]
pub struct Mood {
    /// So many answers are cut in the middle, and their connections break.
    pub cuts: AtomicU32,
    /// Until then nothing is done that may block, in milliseconds of the simulation.
    pub stalled_until_ms: AtomicU64,
    /// The server's connections, in the order they came.
    connections: Mutex<Vec<Weak<Mutex<TcpStream>>>>,
}

/// Connections of a process that is dead, which its machine has not closed yet.
///
/// A runtime that ends drops its tasks in any order, and the network would follow from that. So they are held until the machine
/// closes them, one after the other.
#[derive(Default)]
pub struct Orphans(Vec<Arc<Mutex<TcpStream>>>);

impl Orphans {
    /// Closes them in the order they came. Only on the machine whose they are.
    pub fn close(self) {
        self.0.into_iter().for_each(drop);
    }
}

impl Mood {
    /// The connections there are, so that they outlive the process.
    pub fn hold_connections(&self) -> Orphans {
        let connections = std::mem::take(&mut *self.connections.lock().unwrap_or_else(PoisonError::into_inner));
        Orphans(connections.iter().filter_map(Weak::upgrade).collect())
    }

    fn add_connection(&self, stream: &Arc<Mutex<TcpStream>>) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.retain(|known| known.strong_count() > 0);
        connections.push(Arc::downgrade(stream));
    }

    /// Waits as long as whatever needs the disk waits now.
    pub async fn disk(&self) {
        let wait = if fastrand::u8(..12) == 0 { fastrand::u64(..SLOW_MS) } else { fastrand::u64(..SOON_MS) };
        tokio::time::sleep(Duration::from_millis(wait)).await;
        loop {
            let now = u64::try_from(turmoil::sim_elapsed().unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
            let left = self.stalled_until_ms.load(Relaxed).saturating_sub(now);
            if left == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(left)).await;
        }
    }
}

/// The network as the server sees it.
pub struct Outside(pub Arc<Mood>);

impl server::Outside for Outside {
    fn listen(&self, address: SocketAddr) -> Result<Box<dyn server::Listening>> {
        let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port()));
        // It is ready at once: nothing there waits.
        let bound = pin!(TcpListener::bind(address)).poll(&mut Context::from_waker(std::task::Waker::noop()));
        let Poll::Ready(listener) = bound else { return Err(ErrorKind::WouldBlock.into()) };
        Ok(Box::new(Listener { listener: listener?, mood: Arc::clone(&self.0) }))
    }

    fn run(&self, work: Box<dyn FnOnce() + Send>) {
        let mood = Arc::clone(&self.0);
        tokio::spawn(async move {
            mood.disk().await;
            work();
        });
    }
}

struct Listener {
    listener: TcpListener,
    mood: Arc<Mood>,
}

impl server::Listening for Listener {
    fn local_addr(&self) -> Result<SocketAddr> {
        self.listener.local_addr()
    }

    fn accept(&self) -> server::Accepting<'_> {
        Box::pin(async {
            let (stream, _) = self.listener.accept().await?;
            Ok(Box::new(Socket::new(stream, Some(Arc::clone(&self.mood)))?) as Box<dyn server::Socket>)
        })
    }
}

/// The network as a client sees it.
pub struct Network;

impl client::Network for Network {
    fn connect(&self, host: &str, port: u16) -> client::Connecting {
        let host = host.to_owned();
        Box::pin(async move { Ok(Arc::new(Socket::new(TcpStream::connect((host, port)).await?, None)?) as Arc<dyn client::Socket>) })
    }
}

struct Socket {
    stream: Arc<Mutex<TcpStream>>,
    local: SocketAddr,
    peer: SocketAddr,
    /// The server's mood, on its side.
    mood: Option<Arc<Mood>>,
    /// It broke in the middle of an answer.
    is_broken: AtomicBool,
}

impl Socket {
    fn new(stream: TcpStream, mood: Option<Arc<Mood>>) -> Result<Self> {
        let (local, peer) = (stream.local_addr()?, stream.peer_addr()?);
        let stream = Arc::new(Mutex::new(stream));
        if let Some(mood) = &mood {
            mood.add_connection(&stream);
        }
        Ok(Self { stream, local, peer, mood, is_broken: AtomicBool::new(false) })
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

    /// Writes a part now and then, and of an answer that is to be cut the first half.
    fn write(&self, bytes: &[u8]) -> Result<usize> {
        self.check()?;
        let is_cut = |mood: &Arc<Mood>| mood.cuts.fetch_update(Relaxed, Relaxed, |cuts| cuts.checked_sub(1)).is_ok();
        if self.mood.as_ref().is_some_and(is_cut) {
            self.is_broken.store(true, Relaxed);
            let mut stream = self.stream();
            // What becomes of it the other side sees.
            let _ = stream.try_write(&bytes[..bytes.len() / 2]);
            let _ = Pin::new(&mut *stream).poll_shutdown(&mut Context::from_waker(std::task::Waker::noop()));
            return Err(ErrorKind::ConnectionReset.into());
        }
        let most = if fastrand::u8(..8) == 0 { fastrand::usize(..=bytes.len()).max(1).min(bytes.len()) } else { bytes.len() };
        self.stream().try_write(&bytes[..most])
    }

    fn writable(&self, task: &mut Context<'_>) -> Poll<Result<()>> {
        self.check()?;
        let stream = self.stream();
        pin!(stream.writable()).poll(task)
    }

    fn shutdown(&self, task: &mut Context<'_>) -> Poll<Result<()>> {
        if turmoil::sim_elapsed().is_none() {
            // The world is over.
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
