//! ZooKeeper connection: a session, or a four-letter word and its response.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use halite_engine::StoreState;
use halite_types::{Error, Result};
use halite_wire::zk::{
    ConnectRequest, ErrorCode, PacketStatus, Reply, Request, decode_request, encode_reply,
    next_packet,
};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::OwnedSemaphorePermit;

use super::four_letter_words::{self, ServerStats};
use super::handlers::{ZXID, answer, waits};
use super::state::ZooKeeperState;
use super::znode_tree::ZnodeTree;
use crate::base::buffers::{Account, MemoryReservation};

/// Maximum time for a client's first packet.
const FIRST_PACKET: Duration = Duration::from_secs(10);

/// Packet size in bytes above which a packet needs one of a few permits; clients that only read
/// never send such a packet.
const LARGE_BYTES: usize = 16 << 10;

/// Maximum growth of the buffer for bytes that have not arrived yet.
const READ_BYTES: usize = 4 << 10;

pub(super) struct Connection<S> {
    stream: S,
    state: Arc<ZooKeeperState>,
    /// Address that the client connected to.
    local: SocketAddr,
    received: BytesMut,
    /// Maximum time without packets from the client, and maximum time to read a response.
    timeout: Duration,
    account: Arc<Account>,
    /// Network buffers of the response.
    reservation: MemoryReservation,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(super) fn new(
        stream: S,
        local: SocketAddr,
        state: Arc<ZooKeeperState>,
        account: &Arc<Account>,
    ) -> Self {
        let (account, reservation) = (Arc::clone(account), MemoryReservation::new(account));
        Self {
            stream,
            state,
            local,
            received: BytesMut::new(),
            timeout: FIRST_PACKET,
            account,
            reservation,
        }
    }

    /// Serves the client until it disconnects, is silent for too long or sends an invalid packet.
    ///
    /// # Errors
    /// `InvalidRequest` for an invalid packet, `Io` for a broken connection.
    pub(super) async fn serve(mut self) -> Result<()> {
        match self.next().await? {
            None => Ok(()),
            Some(PacketStatus::Word(word)) => self.answer_word(word).await,
            Some(PacketStatus::Packet(packet)) => {
                let request = ConnectRequest::decode(&packet)?;
                let response = self.state.sessions.open(&request);
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
            Some(PacketStatus::Need(_)) => {
                Err(Error::invalid("half a packet was taken for a whole one"))
            }
        }
    }

    async fn serve_session(&mut self) -> Result<()> {
        let mut out = BytesMut::new();
        while let Some(next) = self.next().await? {
            let PacketStatus::Packet(packet) = next else {
                return Err(Error::invalid("a word of four letters within a session"));
            };
            let (xid, request) = decode_request(&packet)?;
            within(self.timeout, self.has_room()).await?;
            let reply = self.reply(&request).await;
            encode_reply(xid, ZXID, reply.as_ref().map_err(|code| *code), &mut out);
            self.reservation.set(out.len());
            self.send(&out).await?;
            if request == Request::CloseSession {
                return Ok(());
            }
            // The memory of a large response is released.
            out = BytesMut::new();
            self.reservation.set(0);
        }
        Ok(())
    }

    /// Waits until the connection may hold a response.
    async fn has_room(&self) -> std::io::Result<()> {
        self.account.room().await;
        Ok(())
    }

    async fn reply(&self, request: &Request) -> Result<Reply, ErrorCode> {
        let (shared, local) = (Arc::clone(&self.state), self.local);
        let reply = move |request: &Request| {
            let context = &shared.context;
            answer(&ZnodeTree { context, identity: context.identity(local) }, request)
        };
        if !waits(request) {
            return reply(request);
        }
        let request = request.clone();
        // A panic has already been reported.
        self.state
            .context
            .machine
            .block(move || reply(&request))
            .await
            .unwrap_or(Err(ErrorCode::SYSTEM_ERROR))
    }

    async fn answer_word(&mut self, word: [u8; 4]) -> Result<()> {
        let (shared, local) = (Arc::clone(&self.state), self.local);
        // Some words read every table.
        let text = self.state.context.machine.block(move || word_reply(&shared, local, word)).await;
        self.send(text.unwrap_or_default().as_bytes()).await
    }

    /// Returns the next packet or word; `None` if the client has closed or was silent for too long.
    async fn next(&mut self) -> Result<Option<PacketStatus>> {
        match tokio::time::timeout(self.timeout, self.read()).await {
            Ok(next) => next,
            Err(_) => Ok(None),
        }
    }

    async fn read(&mut self) -> Result<Option<PacketStatus>> {
        let mut permit: Option<OwnedSemaphorePermit> = None;
        loop {
            match next_packet(&mut self.received)? {
                PacketStatus::Need(bytes) => {
                    if permit.is_none() && self.received.len().saturating_add(bytes) > LARGE_BYTES {
                        let few = |_| {
                            Error::invalid(format!(
                                "a packet of more than {LARGE_BYTES} bytes while too many of them \
                                 are on their way"
                            ))
                        };
                        permit = Some(
                            Arc::clone(&self.state.large_packets)
                                .try_acquire_owned()
                                .map_err(few)?,
                        );
                    }
                    self.received.reserve(bytes.min(READ_BYTES));
                    let read = self
                        .stream
                        .read_buf(&mut self.received)
                        .await
                        .map_err(|error| Error::io("reading from a ZooKeeper client", error))?;
                    if read == 0 {
                        return Ok(None);
                    }
                }
                whole => {
                    self.state.context.metrics.zookeeper.packets_received.add(1);
                    return Ok(Some(whole));
                }
            }
        }
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.state.context.metrics.zookeeper.packets_sent.add(1);
        within(self.timeout, self.stream.write_all(bytes)).await
    }
}

/// Returns the response to a word.
fn word_reply(shared: &ZooKeeperState, local: SocketAddr, word: [u8; 4]) -> String {
    let context = &shared.context;
    let tree = ZnodeTree { context, identity: context.identity(local) };
    let is_ok = context.health.state() == StoreState::Open;
    let nodes = || tree.count();
    four_letter_words::answer(
        word,
        &ServerStats {
            metrics: &context.metrics.zookeeper,
            uptime: shared.started.elapsed(),
            nodes: &nodes,
            is_ok,
        },
    )
}

async fn within(limit: Duration, writing: impl Future<Output = std::io::Result<()>>) -> Result<()> {
    let failed = |error| Error::io("writing to a ZooKeeper client", error);
    tokio::time::timeout(limit, writing)
        .await
        .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
        .map_err(failed)
}
