//! Connections: one to each service of each server, shared by all callers.
//!
//! ```text
//! caller      encodes its call into the buffer of the connection (one copy), and waits at its slot
//! writer      swaps the buffer and writes it: calls from many callers are sent in one system call
//! reader      reads the available bytes, splits them into frames, and completes the call of each by its id
//! caller      decodes its own response; cells and byte fields share the frame
//! ```
//! A single get costs three system calls (`send`, `epoll_wait`, `recv`), one copy of the request
//! and none of the response. Concurrent gets share these costs. A call needs no task, channel or
//! allocation in addition to its message and the boxed future of the `Cluster` API: it is an entry
//! in the connection's table. A single caller writes directly, without waking the writer. A caller
//! that stops waiting removes its slot, and a response without a slot is skipped.

mod calls;
mod handshake;
mod io;
mod server;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::BytesMut;
use halite_types::{Cells, Scan};
use halite_wire::cellblock::{CellBlock, CellBlockFormat};
use halite_wire::rpc::{RequestOptions, RpcLimits, encode_request};
use halite_wire::service::RpcMethod;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use crate::config::Config;
use crate::deadline::CallDeadline;
use crate::error::{RpcError, RpcErrorKind};
use crate::net::Writer;
use calls::PendingCalls;
pub(crate) use calls::ResponseFuture;
pub(crate) use server::{ConnectionPool, ServerConnection};

/// Maximum announced size for which memory is allocated at once: twice the default size of scan
/// results, so that such a response is read without copies.
const TRUSTED_BYTES: usize = 2 * Scan::DEFAULT_MAX_RESULT_BYTES;

/// Connection and its pending calls.
pub(crate) struct Connection {
    format: CellBlockFormat,
    limits: RpcLimits,
    socket: Writer,
    state: Mutex<ConnectionState>,
    /// Wakes the writer: data is waiting, or the connection has ended.
    write: Notify,
    /// Wakes the reader: the connection has ended.
    closed: Notify,
    /// Permits for calls without a response.
    call_permits: Semaphore,
    /// Maximum bytes waiting for the writer, plus one call; further callers wait.
    max_out_bytes: usize,
    /// Wakes callers: the writer has taken the waiting data.
    taken: Notify,
    /// Maximum time in which the server receives none of the data sent to it.
    send_timeout: Duration,
}

struct ConnectionState {
    /// Data that the writer has not taken yet.
    out: BytesMut,
    calls: PendingCalls,
    /// `true` if the writer is running or woken; it will write the buffer.
    writing: bool,
    /// Reason for the end of the connection.
    ended: Option<RpcError>,
    /// Time of the last read.
    last_received: Option<Instant>,
}

impl Connection {
    fn new(config: &Config, socket: Writer, out: BytesMut) -> Self {
        let state = ConnectionState {
            out,
            calls: PendingCalls::default(),
            writing: false,
            ended: None,
            last_received: None,
        };
        Self {
            format: config.format(),
            limits: RpcLimits {
                max_frame_bytes: config.max_frame_bytes,
                max_cell_block_bytes: config.max_frame_bytes,
                trusted_bytes: TRUSTED_BYTES,
                ..RpcLimits::default()
            },
            socket,
            state: Mutex::new(state),
            write: Notify::new(),
            closed: Notify::new(),
            call_permits: Semaphore::new(config.max_calls_in_flight),
            max_out_bytes: config.max_multi_bytes.saturating_mul(2),
            taken: Notify::new(),
            send_timeout: config.rpc_timeout(),
        }
    }

    /// Sends a call as soon as a permit is available, and returns the future of its response.
    ///
    /// # Errors
    /// If the connection has ended, or the call is too large for a frame.
    pub(crate) async fn call<C: RpcMethod>(
        self: &Arc<Self>,
        request: &C::Request,
        cells: &[Cells],
        priority: Option<u32>,
        deadline: CallDeadline,
    ) -> Result<ResponseFuture, RpcError> {
        let room = if let Ok(room) = self.call_permits.try_acquire() {
            room
        } else {
            let room = tokio::time::timeout_at(deadline.at, self.call_permits.acquire()).await;
            room.map_err(|_| RpcErrorKind::TimedOut(deadline.ms))?.map_err(|_| self.end_reason())?
        };
        let block = if cells.is_empty() { None } else { Some(self.format.block(cells)?) };
        loop {
            let taken = self.taken.notified();
            if let Some(pending) = self.send::<C>(request, block.as_ref(), priority, deadline)? {
                // The response releases it, or the future when it is dropped.
                room.forget();
                return Ok(pending);
            }
            tokio::time::timeout_at(deadline.at, taken)
                .await
                .map_err(|_| RpcErrorKind::TimedOut(deadline.ms))?;
        }
    }

    /// Appends a call to the buffer; `None` if too much data waits there.
    fn send<C: RpcMethod>(
        self: &Arc<Self>,
        request: &C::Request,
        block: Option<&CellBlock<'_>>,
        priority: Option<u32>,
        deadline: CallDeadline,
    ) -> Result<Option<ResponseFuture>, RpcError> {
        let mut state = self.lock();
        if let Some(ended) = &state.ended {
            return Err(ended.clone());
        }
        if state.out.len() > self.max_out_bytes {
            return Ok(None);
        }
        let options = RequestOptions {
            priority,
            timeout_ms: Some(u32::try_from(deadline.ms).unwrap_or(u32::MAX)),
            attributes: Vec::new(),
        };
        let id = state.calls.next_id();
        encode_request::<C>(id, request, options, block, &mut state.out)?;
        state.calls.add(id);
        self.flush(&mut state);
        drop(state);
        Ok(Some(ResponseFuture::new(Arc::clone(self), id, deadline)))
    }

    /// Sends a call and ignores its response. Does nothing if the connection has ended or is full.
    pub(crate) fn send_oneway<C: RpcMethod>(self: &Arc<Self>, request: &C::Request) {
        let Ok(room) = self.call_permits.try_acquire() else { return };
        let mut state = self.lock();
        if state.ended.is_some() || state.out.len() > self.max_out_bytes {
            return;
        }
        let id = state.calls.next_id();
        if encode_request::<C>(id, request, RequestOptions::default(), None, &mut state.out).is_ok()
        {
            // A response to an id without a slot is skipped.
            drop(room);
            self.flush(&mut state);
        }
    }

    /// Makes sure that the buffer is written. The writer does it if it is running or several calls
    /// are pending, so that they are sent together; otherwise it is written at once.
    fn flush(&self, state: &mut ConnectionState) {
        if state.writing {
            return;
        }
        if state.calls.len() <= 1
            && let Ok(written) = self.socket.try_write(&state.out)
        {
            if written == state.out.len() {
                state.out.clear();
                return;
            }
            bytes::Buf::advance(&mut state.out, written);
        }
        state.writing = true;
        self.write.notify_one();
    }

    /// Returns `true` if calls can be sent.
    pub(crate) fn is_open(&self) -> bool {
        self.lock().ended.is_none()
    }

    /// Returns `true` if a call can be sent without waiting for responses to others.
    pub(crate) fn has_capacity(&self) -> bool {
        self.call_permits.available_permits() > 0 && self.is_open()
    }

    /// Ends the connection. All pending and later calls fail with this error.
    pub(crate) fn end(&self, why: &RpcError) {
        let mut state = self.lock();
        if state.ended.is_some() {
            return;
        }
        state.ended = Some(why.clone());
        let waiting = state.calls.fail_all(why);
        drop(state);
        self.call_permits.close();
        self.write.notify_one();
        self.closed.notify_one();
        self.taken.notify_waiters();
        waiting.into_iter().for_each(std::task::Waker::wake);
    }

    fn end_reason(&self) -> RpcError {
        let ended = self.lock().ended.clone();
        ended.unwrap_or_else(|| RpcError::lost("the connection has ended"))
    }

    /// Handles a timeout. If nothing at all has been received since the call was sent, the server
    /// is considered dead.
    fn call_timed_out(&self, sent: Instant, deadline: CallDeadline) {
        if self.lock().last_received.is_none_or(|heard| heard < sent) {
            self.end(&RpcError::lost(format!(
                "nothing came from the server in {} ms",
                deadline.ms
            )));
        }
    }

    pub(crate) fn format(&self) -> CellBlockFormat {
        self.format
    }

    pub(crate) fn limits(&self) -> &RpcLimits {
        &self.limits
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Result};
    use std::task::{Context, Poll};

    use halite_types::Put;
    use halite_wire::convert::mutate;
    use halite_wire::proto as pb;
    use halite_wire::service::ClientMutate;
    use tokio::io::ReadBuf;

    use super::*;
    use crate::config::RegistryKind;
    use crate::net::{Connector, Network, Socket, Stream};

    /// Socket whose peer never reads.
    struct Full;

    impl Socket for Full {
        fn poll_read(&self, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<Result<()>> {
            Poll::Pending
        }

        fn try_write(&self, _: &[u8]) -> Result<usize> {
            Err(ErrorKind::WouldBlock.into())
        }

        fn poll_writable(&self, _: &mut Context<'_>) -> Poll<Result<()>> {
            Poll::Pending
        }

        fn poll_shutdown(&self, _: &mut Context<'_>) -> Poll<Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    impl Network for Full {
        fn connect(&self, _: &str, _: u16) -> crate::net::Connecting {
            Box::pin(async { Ok(Arc::new(Full) as Arc<dyn Socket>) })
        }
    }

    async fn connection(change: impl FnOnce(&mut Config)) -> Arc<Connection> {
        let mut config = Config::new(RegistryKind::Rpc { servers: Vec::new() });
        (config.max_multi_bytes, config.connector) = (1 << 20, Connector::Custom(Arc::new(Full)));
        change(&mut config);
        let (_, writer) = config.connector.connect("", 0).await.map(Stream::into_split).unwrap();
        let connection = Arc::new(Connection::new(&config, writer, BytesMut::new()));
        tokio::spawn(io::write(Arc::clone(&connection)));
        connection
    }

    fn within(ms: u64) -> CallDeadline {
        CallDeadline { at: Instant::now() + Duration::from_millis(ms), ms }
    }

    fn put(bytes: usize) -> pb::MutateRequest {
        let put = Put::new("r").add("f", "q", vec![0; bytes]);
        pb::MutateRequest {
            mutation: mutate::to_proto(&put.into()).unwrap(),
            ..pb::MutateRequest::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn calls_to_stalled_server_do_not_accumulate() {
        let connection = connection(|_| ()).await;
        let request = put(512 << 10);
        for _ in 0..100 {
            // Data was received in the meantime, so the server is not considered dead.
            connection.lock().last_received = Some(Instant::now());
            match connection.call::<ClientMutate>(&request, &[], None, within(50)).await {
                Ok(pending) => drop(pending.body().await.unwrap_err()),
                Err(failure) => {
                    assert!(matches!(failure.kind, RpcErrorKind::TimedOut(50)), "{failure:?}");
                }
            }
            connection.lock().last_received = Some(Instant::now());
        }
        assert!(connection.is_open());
        let (waiting, room) =
            (connection.lock().out.len(), connection.call_permits.available_permits());
        assert!((1 << 20..4 << 20).contains(&waiting), "{waiting} bytes");
        assert_eq!(room, 1_000);
    }

    #[tokio::test(start_paused = true)]
    async fn connection_that_cannot_send_is_closed() {
        let connection = connection(|config| config.rpc_timeout_ms = 2_000).await;
        let pending =
            connection.call::<ClientMutate>(&put(1), &[], None, within(60_000)).await.unwrap();
        let failure = pending.body().await.unwrap_err();
        assert!(
            matches!(&failure.kind, RpcErrorKind::Lost(why) if why.contains("does not read")),
            "{failure:?}"
        );
        assert!(!connection.is_open());
    }
}
