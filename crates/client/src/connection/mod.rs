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

use bytes::BytesMut;
use halite_types::{Cells, Scan};
use halite_wire::cellblock::Format;
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
        // The answer gives it back, or whoever stops waiting for it.
        room.forget();
        self.send::<C>(request, cells, priority, deadline).inspect_err(|_| self.room.add_permits(1))
    }

    fn send<C: Call>(
        self: &Arc<Self>,
        request: &C::Request,
        cells: &[Cells],
        priority: Option<u32>,
        deadline: CallDeadline,
    ) -> Result<Pending, Failure> {
        let block = if cells.is_empty() { None } else { Some(self.format.block(cells)?) };
        let options = RequestOptions { priority, timeout_ms: Some(u32::try_from(deadline.ms).unwrap_or(u32::MAX)), attributes: Vec::new() };
        let mut state = self.lock();
        if let Some(ended) = &state.ended {
            return Err(ended.clone());
        }
        let id = state.calls.next_id();
        encode_request::<C>(id, request, options, block.as_ref(), &mut state.out)?;
        state.calls.add(id);
        self.flush(&mut state);
        drop(state);
        Ok(Pending::new(Arc::clone(self), id, deadline))
    }

    /// Sends a call whose answer nobody waits for; nothing happens if the connection has ended or is full.
    pub(crate) fn send_and_forget<C: Call>(self: &Arc<Self>, request: &C::Request) {
        let Ok(room) = self.room.try_acquire() else { return };
        let mut state = self.lock();
        if state.ended.is_some() {
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
