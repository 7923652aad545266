//! Connections: one to each service of each server, shared by everybody who calls there.
//!
//! ```text
//! caller      encodes its call into the buffer of the connection (one copy), and waits at its slot
//! writer      takes the buffer whole and writes it: what many callers sent meanwhile goes out in one system call
//! reader      reads as much as there is, takes frame after frame, and completes the call of each by its id
//! caller      decodes its own answer; cells and byte fields share the frame
//! ```
//! A get that is alone costs three system calls (`send`, `epoll_wait`, `recv`), one copy of the request and none of the answer; of
//! many at once each costs a part of one. There is no task, no channel and no allocation for a call beside what its message
//! needs and the future that the seam boxes: it is an entry in the connection's table. A caller who is alone writes itself, without waking the writer. Whoever stops waiting takes
//! his slot away, and an answer that nobody waits for is skipped.

mod calls;
mod handshake;
mod io;
mod server;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::BytesMut;
use halite_types::{Cells, Scan};
use halite_wire::cellblock::{Block, Format};
use halite_wire::rpc::{Limits, RequestOptions, encode_request};
use halite_wire::service::Call;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use crate::config::Config;
use crate::deadline::CallDeadline;
use crate::failure::{Cause, Failure};
use crate::net::Writer;
use calls::Calls;
pub(crate) use calls::Pending;
pub(crate) use server::{Server, Servers};

/// What a server announces gets its memory at once up to twice what scans ask for, so that an answer is read without copies.
const TRUSTED_BYTES: usize = 2 * Scan::RESULT_BYTES_DEFAULT;

/// A connection and what is under way on it.
pub(crate) struct Connection {
    format: Format,
    limits: Limits,
    socket: Writer,
    state: Mutex<State>,
    /// The writer has something to do, or the connection has ended.
    write: Notify,
    /// The connection has ended, for the reader.
    over: Notify,
    /// Room for calls that are not answered yet.
    room: Semaphore,
    /// Bytes that may wait for the writer, and a call more; callers wait beyond that.
    out_bytes_max: usize,
    /// The writer has taken what waited for it.
    taken: Notify,
    /// How long the server may read nothing of what is sent to it.
    write_stall: Duration,
}

struct State {
    /// What is to be written and nobody has taken yet.
    out: BytesMut,
    calls: Calls,
    /// The writer is at work or woken; what is in the buffer goes along.
    writing: bool,
    /// Why nothing goes any more.
    ended: Option<Failure>,
    /// When anything was read last.
    heard: Option<Instant>,
}

impl Connection {
    fn new(config: &Config, socket: Writer, out: BytesMut) -> Self {
        let state = State { out, calls: Calls::default(), writing: false, ended: None, heard: None };
        Self {
            format: config.format(),
            limits: Limits {
                frame_bytes_max: config.frame_bytes_max,
                cell_block_bytes_max: config.frame_bytes_max,
                trusted_bytes: TRUSTED_BYTES,
                ..Limits::default()
            },
            socket,
            state: Mutex::new(state),
            write: Notify::new(),
            over: Notify::new(),
            room: Semaphore::new(config.outstanding_calls_max),
            out_bytes_max: config.multi_bytes_max.saturating_mul(2),
            taken: Notify::new(),
            write_stall: config.rpc_timeout(),
        }
    }

    /// Sends a call as soon as there is room for one more and gives what waits for its answer.
    ///
    /// # Errors
    /// If the connection has ended, or the call fits no frame.
    pub(crate) async fn call<C: Call>(
        self: &Arc<Self>,
        request: &C::Request,
        cells: &[Cells],
        priority: Option<u32>,
        deadline: CallDeadline,
    ) -> Result<Pending, Failure> {
        let room = if let Ok(room) = self.room.try_acquire() {
            room
        } else {
            let room = tokio::time::timeout_at(deadline.at, self.room.acquire()).await;
            room.map_err(|_| Cause::Late(deadline.ms))?.map_err(|_| self.why_ended())?
        };
        let block = if cells.is_empty() { None } else { Some(self.format.block(cells)?) };
        loop {
            let taken = self.taken.notified();
            if let Some(pending) = self.send::<C>(request, block.as_ref(), priority, deadline)? {
                // The answer gives it back, or whoever stops waiting for it.
                room.forget();
                return Ok(pending);
            }
            tokio::time::timeout_at(deadline.at, taken).await.map_err(|_| Cause::Late(deadline.ms))?;
        }
    }

    /// Puts a call into the buffer; `None` if too much waits there.
    fn send<C: Call>(
        self: &Arc<Self>,
        request: &C::Request,
        block: Option<&Block<'_>>,
        priority: Option<u32>,
        deadline: CallDeadline,
    ) -> Result<Option<Pending>, Failure> {
        let mut state = self.lock();
        if let Some(ended) = &state.ended {
            return Err(ended.clone());
        }
        if state.out.len() > self.out_bytes_max {
            return Ok(None);
        }
        let options = RequestOptions { priority, timeout_ms: Some(u32::try_from(deadline.ms).unwrap_or(u32::MAX)), attributes: Vec::new() };
        let id = state.calls.next_id();
        encode_request::<C>(id, request, options, block, &mut state.out)?;
        state.calls.add(id);
        self.flush(&mut state);
        drop(state);
        Ok(Some(Pending::new(Arc::clone(self), id, deadline)))
    }

    /// Sends a call whose answer nobody waits for; nothing happens if the connection has ended or is full.
    pub(crate) fn send_and_forget<C: Call>(self: &Arc<Self>, request: &C::Request) {
        let Ok(room) = self.room.try_acquire() else { return };
        let mut state = self.lock();
        if state.ended.is_some() || state.out.len() > self.out_bytes_max {
            return;
        }
        let id = state.calls.next_id();
        if encode_request::<C>(id, request, RequestOptions::default(), None, &mut state.out).is_ok() {
            // An answer to an id without a slot is skipped.
            drop(room);
            self.flush(&mut state);
        }
    }

    /// Sees to it that the buffer is written: by the writer if it is at work or several calls are under way, so that they go
    /// together; at once if this is the only one.
    fn flush(&self, state: &mut State) {
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

    /// Whether calls can be sent.
    pub(crate) fn is_open(&self) -> bool {
        self.lock().ended.is_none()
    }

    /// Whether a call can be sent without waiting for the answers to others.
    pub(crate) fn has_room(&self) -> bool {
        self.room.available_permits() > 0 && self.is_open()
    }

    /// Ends the connection: everybody who waits is told why, and so is everybody who comes.
    pub(crate) fn end(&self, why: &Failure) {
        let mut state = self.lock();
        if state.ended.is_some() {
            return;
        }
        state.ended = Some(why.clone());
        let waiting = state.calls.fail_all(why);
        drop(state);
        self.room.close();
        self.write.notify_one();
        self.over.notify_one();
        self.taken.notify_waiters();
        waiting.into_iter().for_each(std::task::Waker::wake);
    }

    fn why_ended(&self) -> Failure {
        let ended = self.lock().ended.clone();
        ended.unwrap_or_else(|| Failure::lost("the connection has ended"))
    }

    /// A call was not answered in time. If nothing at all has come since it was sent, the server is taken for dead.
    fn late(&self, sent: Instant, deadline: CallDeadline) {
        if self.lock().heard.is_none_or(|heard| heard < sent) {
            self.end(&Failure::lost(format!("nothing came from the server in {} ms", deadline.ms)));
        }
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    fn lock(&self) -> MutexGuard<'_, State> {
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
    use crate::config::Lookup;
    use crate::net::{Door, Network, Socket, Stream};

    /// A socket whose peer never reads.
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
        let mut config = Config::new(Lookup::Rpc { servers: Vec::new() });
        (config.multi_bytes_max, config.door) = (1 << 20, Door::Given(Arc::new(Full)));
        change(&mut config);
        let (_, writer) = config.door.connect("", 0).await.map(Stream::into_split).unwrap();
        let connection = Arc::new(Connection::new(&config, writer, BytesMut::new()));
        tokio::spawn(io::write(Arc::clone(&connection)));
        connection
    }

    fn within(ms: u64) -> CallDeadline {
        CallDeadline { at: Instant::now() + Duration::from_millis(ms), ms }
    }

    fn put(bytes: usize) -> pb::MutateRequest {
        let put = Put::new("r").add("f", "q", vec![0; bytes]);
        pb::MutateRequest { mutation: mutate::to_proto(&put.into()).unwrap(), ..pb::MutateRequest::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn calls_of_a_server_that_does_not_read_do_not_pile_up() {
        let connection = connection(|_| ()).await;
        let request = put(512 << 10);
        for _ in 0..100 {
            // Something came meanwhile, so the server is not taken for dead.
            connection.lock().heard = Some(Instant::now());
            match connection.call::<ClientMutate>(&request, &[], None, within(50)).await {
                Ok(pending) => drop(pending.answer().await.unwrap_err()),
                Err(failure) => assert!(matches!(failure.cause, Cause::Late(50)), "{failure:?}"),
            }
            connection.lock().heard = Some(Instant::now());
        }
        assert!(connection.is_open());
        let (waiting, room) = (connection.lock().out.len(), connection.room.available_permits());
        assert!((1 << 20..4 << 20).contains(&waiting), "{waiting} bytes");
        assert_eq!(room, 1_000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_on_which_nothing_can_be_written_ends() {
        let connection = connection(|config| config.rpc_timeout_ms = 2_000).await;
        let pending = connection.call::<ClientMutate>(&put(1), &[], None, within(60_000)).await.unwrap();
        let failure = pending.answer().await.unwrap_err();
        assert!(matches!(&failure.cause, Cause::Lost(why) if why.contains("does not read")), "{failure:?}");
        assert!(!connection.is_open());
    }
}
