//! One connection: a session, or a word and its answer.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use halite_engine::StoreState;
use halite_types::{Error, Result};
use halite_wire::zk::{Code, ConnectRequest, Next, Reply, Request, decode_request, encode_reply, next_packet};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::OwnedSemaphorePermit;

use super::Shared;
use super::answers::{ZXID, answer, waits};
use super::tree::Tree;
use super::words::{self, Facts};
use crate::buffers::{Account, Held};

/// How long a client may take for its first packet.
const FIRST_PACKET: Duration = Duration::from_secs(10);

/// A packet of more bytes needs a permit, of which there are few; no client that only reads sends such a one.
const LARGE_BYTES: usize = 16 << 10;

/// Memory grows by so much at most for bytes that have not come yet.
const READ_BYTES: usize = 4 << 10;

pub(super) struct Connection<S> {
    stream: S,
    shared: Arc<Shared>,
    /// The address the client has connected to.
    local: SocketAddr,
    received: BytesMut,
    /// How long the client may be silent, and how long it may take to read an answer.
    timeout: Duration,
    account: Arc<Account>,
    /// Network buffers of the answer.
    held: Held,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(super) fn new(stream: S, local: SocketAddr, shared: Arc<Shared>, account: &Arc<Account>) -> Self {
        let (account, held) = (Arc::clone(account), Held::new(account));
        Self { stream, shared, local, received: BytesMut::new(), timeout: FIRST_PACKET, account, held }
    }

    /// Serves the client until it leaves, is silent for too long or sends what cannot be.
    ///
    /// # Errors
    /// `InvalidRequest` for what cannot be, `Io` for a connection that broke.
    pub(super) async fn serve(mut self) -> Result<()> {
        match self.next().await? {
            None => Ok(()),
            Some(Next::Word(word)) => self.answer_word(word).await,
            Some(Next::Packet(packet)) => {
                let request = ConnectRequest::decode(&packet)?;
                let response = self.shared.sessions.open(&request);
                let mut out = BytesMut::new();
                response.encode(&mut out);
                self.send(&out).await?;
                match u64::try_from(response.timeout_ms) {
                    Ok(timeout_ms @ 1..) => {
                        self.timeout = Duration::from_millis(timeout_ms);
                        self.serve_session().await
                    }
                    _ => Ok(()),
                }
            }
            Some(Next::Need(_)) => Err(Error::invalid("half a packet was taken for a whole one")),
        }
    }

    async fn serve_session(&mut self) -> Result<()> {
        let mut out = BytesMut::new();
        while let Some(next) = self.next().await? {
            let Next::Packet(packet) = next else { return Err(Error::invalid("a word of four letters within a session")) };
            let (xid, request) = decode_request(&packet)?;
            within(self.timeout, self.has_room()).await?;
            let reply = self.reply(&request).await;
            encode_reply(xid, ZXID, reply.as_ref().map_err(|code| *code), &mut out);
            self.held.set(out.len());
            self.send(&out).await?;
            if request == Request::CloseSession {
                return Ok(());
            }
            // Large answers leave nothing behind.
            out = BytesMut::new();
            self.held.set(0);
        }
        Ok(())
    }

    /// Waits until the connection may hold an answer.
    async fn has_room(&self) -> std::io::Result<()> {
        self.account.room().await;
        Ok(())
    }

    async fn reply(&self, request: &Request) -> Result<Reply, Code> {
        let (shared, local) = (Arc::clone(&self.shared), self.local);
        let reply = move |request: &Request| {
            let context = &shared.context;
            answer(&Tree { context, identity: context.identity(local) }, request)
        };
        if !waits(request) {
            return reply(request);
        }
        let request = request.clone();
        // A panic was reported where it happened.
        self.shared.context.machine.block(move || reply(&request)).await.unwrap_or(Err(Code::SYSTEM_ERROR))
    }

    async fn answer_word(&mut self, word: [u8; 4]) -> Result<()> {
        let (shared, local) = (Arc::clone(&self.shared), self.local);
        // Some of them look at every table.
        let text = self.shared.context.machine.block(move || said(&shared, local, word)).await;
        self.send(text.unwrap_or_default().as_bytes()).await
    }

    /// The next packet or word; `None` when the client has closed or has been silent for too long.
    async fn next(&mut self) -> Result<Option<Next>> {
        match tokio::time::timeout(self.timeout, self.read()).await {
            Ok(next) => next,
            Err(_) => Ok(None),
        }
    }

    async fn read(&mut self) -> Result<Option<Next>> {
        let mut permit: Option<OwnedSemaphorePermit> = None;
        loop {
            match next_packet(&mut self.received)? {
                Next::Need(bytes) => {
                    if permit.is_none() && self.received.len().saturating_add(bytes) > LARGE_BYTES {
                        let few = |_| Error::invalid(format!("a packet of more than {LARGE_BYTES} bytes while too many of them are on their way"));
                        permit = Some(Arc::clone(&self.shared.large_packets).try_acquire_owned().map_err(few)?);
                    }
                    self.received.reserve(bytes.min(READ_BYTES));
                    let read = self.stream.read_buf(&mut self.received).await.map_err(|error| Error::io("reading from a ZooKeeper client", error))?;
                    if read == 0 {
                        return Ok(None);
                    }
                }
                whole => {
                    self.shared.context.metrics.zookeeper.packets_received.add(1);
                    return Ok(Some(whole));
                }
            }
        }
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.shared.context.metrics.zookeeper.packets_sent.add(1);
        within(self.timeout, self.stream.write_all(bytes)).await
    }
}

/// The answer to a word.
fn said(shared: &Shared, local: SocketAddr, word: [u8; 4]) -> String {
    let context = &shared.context;
    let tree = Tree { context, identity: context.identity(local) };
    let is_ok = context.health.state() == StoreState::Open;
    let nodes = || tree.count();
    words::answer(word, &Facts { metrics: &context.metrics.zookeeper, uptime: shared.started.elapsed(), nodes: &nodes, is_ok })
}

async fn within(limit: Duration, writing: impl Future<Output = std::io::Result<()>>) -> Result<()> {
    let failed = |error| Error::io("writing to a ZooKeeper client", error);
    tokio::time::timeout(limit, writing).await.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into())).map_err(failed)
}
