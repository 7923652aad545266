//! Connection task: reads frames, dispatches calls, sends responses in the order in which they are
//! ready.
//!
//! One task does all of it, so responses that are ready together are sent in one write. The server
//! stops reading while the client has too many unanswered calls or does not read its responses. The
//! memory that a connection holds is therefore bounded, whatever the client does.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::Poll;
use std::time::Duration;

use bytes::{BufMut, BytesMut};
use halite_engine::CommitTicket;
use halite_types::Result as StoreResult;
use halite_wire::rpc::{self, FrameStatus, ProtocolError as PeerFault};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::UnboundedReceiver;

use super::handshake::{self, HandshakeError, HandshakeResult};
use super::port::Port;
use super::read_buffer::ReadBuffer;
use super::send_queue::SendQueue;
use super::stall_detector::StallDetector;
use crate::base::buffers::{Account, FLOOR_BYTES, MemoryReservation};
use crate::base::call::{Call, CallError, Peer};
use crate::base::context::Context;
use crate::base::metrics::ExceptionClass;
use crate::base::shutdown::Shutdown;
use crate::base::slow_calls::CallCost;
use crate::dispatch::{self, CallResponse, ResponseSender};
use crate::outside::{Instant, Stream};
use crate::services::Services;

/// Bytes of unsent responses at which the server stops reading from the client.
const SEND_QUEUE_PAUSE_BYTES: usize = 4 << 20;
/// Maximum calls, and bytes of calls, executed before their responses are sent.
const BURST_CALLS: usize = 128;
const BURST_BYTES: usize = 256 << 10;
/// Maximum bytes read before the thread serves its other connections.
const MAX_READ_BYTES: usize = 256 << 10;
const MIN_READ_BYTES: usize = 16 << 10;
/// Buffer space for the header of a frame that is too big.
const TOO_BIG_READ_BYTES: usize = 1 << 10;
/// Minimum bytes per second of a request that holds the turn, because other connections wait for
/// it.
const TURN_BYTES_PER_SECOND: u64 = 1 << 20;
/// Time, and bytes, for which the server drains a rejected client so that the client can read the
/// error.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 16 << 20;

/// Serves one client until it disconnects, makes an error that ends the connection, or the server
/// shuts down.
pub(crate) async fn serve(
    mut stream: Stream,
    port: Port,
    services: &Arc<Services>,
    account: Arc<Account>,
    mut shutdown: Shutdown,
) {
    let context = &services.context;
    let limit = Duration::from_millis(context.config.limits.handshake_timeout_ms);
    let begun = tokio::select! {
        biased;
        begun = tokio::time::timeout(limit, handshake::begin(&mut stream, port, context, &account)) => begun,
        () = shutdown.requested() => return,
    };
    match begun {
        Ok(Ok(HandshakeResult::Calls(peer, input))) => {
            Task::new(stream, services, peer, input).run(shutdown).await;
        }
        Ok(Ok(HandshakeResult::Answered)) => linger(stream).await,
        Ok(Err(HandshakeError::Protocol(fault))) => {
            context.metrics.protocol_errors.add(1);
            let address = stream.peer_addr().ok();
            tracing::warn!(?port, ?address, %fault, "a connection is closed before it has begun");
            if let Some((call_id, exception)) = fault.exception() {
                let mut out = BytesMut::new();
                rpc::encode_exception(call_id, exception, &mut out);
                if stream.write_all(&out).await.is_ok() {
                    linger(stream).await;
                }
            }
        }
        Ok(Err(HandshakeError::Io(error))) => {
            tracing::debug!(?port, %error, "a connection ended before it had begun");
        }
        Err(_) => tracing::debug!(?port, "a connection did not say in time who it is"),
    }
}

/// Closes a connection so that the client receives the data already sent. Closing a socket with
/// unread data would discard it.
async fn linger(mut stream: Stream) {
    let mut rest = BytesMut::with_capacity(4 << 10);
    let drain = async {
        stream.shutdown().await?;
        let mut read = 0;
        while read < LINGER_BYTES {
            rest.clear();
            match stream.read_buf(&mut rest).await? {
                0 => break,
                bytes => read += bytes,
            }
        }
        io::Result::Ok(())
    };
    // The connection ends whether or not the drain succeeds.
    let _ = tokio::time::timeout(LINGER, drain).await;
}

/// State of one connection.
struct Task<'a> {
    stream: Stream,
    services: &'a Arc<Services>,
    context: &'a Context,
    peer: Arc<Peer>,
    limits: rpc::RpcLimits,
    read_buffer: ReadBuffer,
    send_queue: SendQueue,
    responses: ResponseSender,
    response_receiver: UnboundedReceiver<CallResponse>,
    /// Responses that wait for the log, in log order.
    undurable: VecDeque<CallResponse>,
    scanners: ConnectionScanners<'a>,
    /// Unanswered calls, and their bytes.
    calls: usize,
    call_bytes: usize,
    /// `true` if no more is read: the client has finished or made an error, or the server shuts
    /// down.
    ending: bool,
    /// `true` if the client made an error and must be able to read the response.
    is_refused: bool,
    /// `true` if data was read or sent since the last check of the time; `active` is the time of
    /// the last such check.
    has_moved: bool,
    active: Instant,
    /// Progress of requests and of responses.
    received: StallDetector,
    sent: StallDetector,
    /// Turn to receive a request beyond the connection's share of the network buffers.
    turn: Option<OwnedSemaphorePermit>,
    /// Time by which the request that holds the turn must be complete.
    turn_until: Instant,
    /// Time since which the rest of a request has waited for network buffers, and the connection
    /// for nothing else.
    starved: Option<Instant>,
}

/// Scanners of a connection; notifies the registry on drop that the connection has ended.
struct ConnectionScanners<'a> {
    services: &'a Services,
    connection: u64,
}

impl Drop for ConnectionScanners<'_> {
    fn drop(&mut self) {
        self.services.client.scanners.connection_ended(self.connection);
    }
}

/// Event that woke the task of a connection.
enum Event {
    /// Bytes were read; 0 is the end of the stream.
    Read(io::Result<usize>),
    Writable(io::Result<()>),
    Answered(CallResponse),
    Durable(StoreResult<()>),
    /// Network buffers are available again.
    Room,
    /// The connection may receive a request beyond its share.
    Turn(Option<OwnedSemaphorePermit>),
    Tick,
    Shutdown,
}

impl<'a> Task<'a> {
    fn new(stream: Stream, services: &'a Arc<Services>, peer: Arc<Peer>, input: BytesMut) -> Self {
        let context = &*services.context;
        let (responses, response_receiver) = ResponseSender::new();
        let scanners = ConnectionScanners { services, connection: peer.connection };
        Self {
            stream,
            services,
            context,
            limits: context.config.limits.rpc_limits(),
            read_buffer: ReadBuffer::new(input, &peer.account),
            send_queue: SendQueue::new(&peer.account),
            peer,
            responses,
            response_receiver,
            undurable: VecDeque::new(),
            scanners,
            calls: 0,
            call_bytes: 0,
            ending: false,
            is_refused: false,
            has_moved: true,
            active: Instant::now(),
            received: StallDetector::default(),
            sent: StallDetector::default(),
            turn: None,
            turn_until: Instant::now(),
            starved: None,
        }
    }

    async fn run(mut self, mut shutdown: Shutdown) {
        tracing::debug!(
            address = %self.peer.address,
            service = self.peer.header.service.name(),
            user = self.peer.user,
            "connected"
        );
        let mut stop = pin!(shutdown.requested());
        let mut tick = pin!(tokio::time::sleep(self.tick_period()));
        let mut stopping = false;
        let result = loop {
            self.take_calls();
            self.finish_durable();
            self.count_received();
            let sends_on = match self.send() {
                Ok(sends_on) => sends_on,
                Err(error) => break Err(error),
            };
            if self.ending && self.calls == 0 && self.send_queue.is_empty() {
                break Ok(());
            }
            if sends_on || self.has_frames() {
                // Lets the other connections of this thread run first.
                tokio::task::yield_now().await;
                continue;
            }
            let (may_read, has_output) =
                (!self.ending && self.may_receive(), !self.send_queue.is_empty());
            let account = &self.peer.account;
            let waits_for_room = !self.ending && self.turn.is_none() && !account.has_room();
            let waits_in_turn =
                !self.ending && self.turn.is_some() && !may_read && !account.has_room_in_turn();
            let waits_for_turn = waits_for_room && self.is_starved();
            let max_read_bytes = self.max_read_bytes();
            let mut space = self.read_buffer.buffer().limit(max_read_bytes);
            let (mut reader, writer) = self.stream.split();
            let event = tokio::select! {
                // Fixed order, so that a simulation is repeatable: a client that sends without
                // pause delays neither shutdown nor its own responses.
                biased;
                () = &mut stop, if !stopping => Event::Shutdown,
                () = &mut tick => Event::Tick,
                ready = writer.writable(), if has_output => Event::Writable(ready),
                Some(answer) = self.response_receiver.recv() => Event::Answered(answer),
                result = durable(&mut self.undurable) => Event::Durable(result),
                read = reader.read_buf(&mut space), if may_read => Event::Read(read),
                () = account.room(), if waits_for_room => Event::Room,
                () = account.room_in_turn(), if waits_in_turn => Event::Room,
                turn = account.turn(), if waits_for_turn => Event::Turn(turn),
            };
            match event {
                Event::Answered(answer) => self.handle_response(answer),
                Event::Durable(result) => self.durable(&result),
                Event::Read(Ok(bytes)) => {
                    self.read(bytes);
                    if bytes >= MAX_READ_BYTES / 2 {
                        tokio::task::yield_now().await;
                    }
                }
                Event::Turn(turn) => {
                    self.turn = turn;
                    self.turn_until = Instant::now()
                        + turn_span(self.read_buffer.missing(), self.receive_timeout());
                }
                Event::Writable(Ok(())) | Event::Room => {}
                Event::Read(Err(error)) | Event::Writable(Err(error)) => break Err(error),
                Event::Shutdown => (stopping, self.ending) = (true, true),
                Event::Tick => {
                    if let Err(error) = self.check_time() {
                        break Err(error);
                    }
                    tick.as_mut().reset(Instant::now() + self.tick_period());
                }
            }
        };
        self.end(result).await;
    }

    async fn end(self, result: io::Result<()>) {
        let address = self.peer.address;
        drop(self.scanners);
        match result {
            Ok(()) if self.is_refused => linger(self.stream).await,
            Ok(()) => {}
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::TimedOut | io::ErrorKind::QuotaExceeded
                ) =>
            {
                tracing::info!(%address, %error, "a connection is closed");
            }
            Err(error) => tracing::debug!(%address, %error, "a connection is broken"),
        }
    }

    /// Returns `true` if the client may have more unanswered calls.
    fn has_room(&self) -> bool {
        let limits = &self.context.config.limits;
        self.calls < limits.max_calls_per_connection
            && self.call_bytes + self.send_queue.len() < limits.max_bytes_per_connection
            && self.send_queue.len() < SEND_QUEUE_PAUSE_BYTES
            && (self.peer.account.has_room() || self.turn.is_some())
    }

    /// Returns `true` if more may be received: the connection has room, or the turn to exceed its
    /// share.
    fn may_receive(&self) -> bool {
        let account = &self.peer.account;
        self.has_room() && (account.has_room() || account.has_room_in_turn())
    }

    /// Returns the maximum bytes of one read: the rest of the connection's share. For a small
    /// request, and for one that holds the turn, it is [`MAX_READ_BYTES`].
    fn max_read_bytes(&self) -> usize {
        let is_small = self.read_buffer.len() < FLOOR_BYTES || self.turn.is_some();
        if is_small {
            MAX_READ_BYTES
        } else {
            self.peer.account.share_left().clamp(MIN_READ_BYTES, MAX_READ_BYTES)
        }
    }

    /// Returns `true` if the connection holds a partial request and waits only for network buffers.
    fn is_starved(&self) -> bool {
        self.read_buffer.missing() > 0
            && self.calls == 0
            && self.send_queue.is_empty()
            && !self.peer.account.has_room()
    }

    /// Returns `true` if the next frame is complete and may be taken.
    fn has_frames(&self) -> bool {
        self.read_buffer.has_frame() && !self.ending && self.has_room()
    }

    fn read(&mut self, bytes: usize) {
        self.ending |= bytes == 0;
        self.has_moved = true;
        self.received.record_progress(bytes);
        self.context.metrics.received_bytes.add(bytes as u64);
    }

    /// Takes complete frames from the input, up to the limit of unanswered calls, and reserves
    /// space for the rest of the next frame.
    fn take_calls(&mut self) {
        let mut bytes = 0;
        for _ in 0..BURST_CALLS {
            if self.ending || bytes > BURST_BYTES || !self.has_room() {
                return;
            }
            match self.read_buffer.next(&self.limits) {
                Ok(FrameStatus::Frame(frame)) => {
                    bytes += frame.len();
                    if let Err(fault) = self.call(&frame) {
                        self.refuse(&fault);
                    }
                }
                Ok(FrameStatus::Ping) => {}
                Ok(FrameStatus::Need(bytes)) => {
                    self.read_buffer.reserve(bytes);
                    return;
                }
                Ok(FrameStatus::TooBig(length)) => {
                    let Some(fault) = rpc::refuse_too_big(
                        self.read_buffer.bytes(),
                        length,
                        &self.limits,
                        &self.peer.header,
                    ) else {
                        self.read_buffer.reserve(TOO_BIG_READ_BYTES);
                        return;
                    };
                    self.refuse(&fault);
                }
                Err(fault) => self.refuse(&fault),
            }
        }
    }

    /// Counts the received part of the next request. The turn ends with the request that it was
    /// acquired for.
    fn count_received(&mut self) {
        if self.read_buffer.missing() == 0 {
            self.turn = None;
        }
        self.read_buffer.count();
    }

    fn call(&mut self, frame: &bytes::Bytes) -> Result<(), PeerFault> {
        let mut request = rpc::decode_request(frame)?;
        // The server does not use attributes, and they may take far more memory than the frame.
        request.header.attribute = Vec::new();
        let call = Arc::new(Call {
            id: request.call_id,
            method: request.method(self.peer.header.service)?,
            timeout_ms: request.header.timeout.filter(|timeout| *timeout > 0),
            bytes: frame.len(),
            received: Instant::now(),
            peer: Arc::clone(&self.peer),
            limits: self.limits,
            message_bytes: std::sync::OnceLock::new(),
            decoded_bytes: AtomicUsize::default(),
            operations: std::sync::OnceLock::new(),
            scanned: std::sync::OnceLock::new(),
            #[cfg(test)]
            messages_decoded: AtomicUsize::default(),
            request,
        });
        self.calls += 1;
        self.call_bytes += call.bytes;
        if let Some(answer) = dispatch::dispatch(self.services, &call, &self.responses) {
            self.handle_response(answer);
        }
        Ok(())
    }

    /// Sends the client the error in its request, and ends the connection if nothing more can be
    /// read from it.
    fn refuse(&mut self, fault: &PeerFault) {
        if fault.closes_connection() {
            self.context.metrics.protocol_errors.add(1);
            tracing::warn!(
                address = %self.peer.address,
                user = self.peer.user,
                %fault,
                "a connection is closed for what it sent"
            );
            (self.ending, self.is_refused) = (true, true);
        } else {
            self.peer.log_protocol_error(fault);
        }
        if let Some((call_id, exception)) = fault.exception() {
            self.context
                .metrics
                .rejected(self.peer.header.service)
                .add(ExceptionClass::from_kind(exception.kind()));
            let frame = dispatch::exception_frame(call_id, &CallError::from(exception.clone()));
            self.send_queue.push(frame, MemoryReservation::new(&self.peer.account));
        }
    }

    fn handle_response(&mut self, answer: CallResponse) {
        if answer.ticket.is_some() {
            self.undurable.push_back(answer);
        } else {
            self.finish(answer);
        }
    }

    /// Finishes the responses that no longer wait for the log. The log is written once for all
    /// calls of a burst.
    fn finish_durable(&mut self) {
        while let Some(result) = self
            .undurable
            .front()
            .and_then(|answer| answer.ticket.as_ref())
            .and_then(CommitTicket::try_finish)
        {
            self.durable(&result);
        }
    }

    /// Finishes the first response that waits for the log, with the result of the log write.
    fn durable(&mut self, result: &StoreResult<()>) {
        let Some(mut answer) = self.undurable.pop_front() else { return };
        if let Err(error) = result {
            let fault = CallError::from(error);
            answer.frame = dispatch::exception_frame(answer.call_id, &fault);
            answer.exception_class = Some(ExceptionClass::from_kind(fault.exception().kind()));
        }
        self.finish(answer);
    }

    fn finish(&mut self, answer: CallResponse) {
        self.calls -= 1;
        self.call_bytes -= answer.call_bytes;
        let metrics = self.context.metrics.method(answer.method);
        let total = answer.received.elapsed();
        let work = total.saturating_sub(answer.queued);
        metrics.total_us.record(total);
        metrics.process_us.record(work);
        metrics.request_bytes.record_value(answer.call_bytes as u64);
        metrics.response_bytes.record_value(answer.frame.len() as u64);
        self.context.metrics.operations.record(answer.operations, work);
        let cost = CallCost {
            processing: work,
            queued: answer.queued,
            response_bytes: answer.frame.len(),
        };
        self.context.slow_calls.add(&answer.call, cost, || self.context.engine.now_ms());
        if let Some(thrown) = answer.exception_class {
            metrics.exceptions.add(thrown);
        }
        self.send_queue.push(answer.frame, answer.reservation);
    }

    /// Sends up to one burst. Returns `true` if the socket may accept more.
    fn send(&mut self) -> io::Result<bool> {
        if self.send_queue.is_empty() {
            return Ok(false);
        }
        let sent = self.send_queue.write_to(&self.stream)?;
        if sent.bytes > 0 {
            self.sent.record_progress(sent.bytes);
            self.context.metrics.sent_bytes.add(sent.bytes as u64);
            self.has_moved = true;
        }
        Ok(sent.continues)
    }

    fn receive_timeout(&self) -> Duration {
        Duration::from_millis(self.context.config.limits.receive_timeout_ms)
    }

    fn tick_period(&self) -> Duration {
        let limits = &self.context.config.limits;
        Duration::from_millis(
            limits
                .connection_idle_timeout_ms
                .min(limits.send_timeout_ms)
                .min(limits.receive_timeout_ms)
                .div_ceil(4),
        )
    }

    /// Returns an error if the client does not read, does not send the rest of its request, or has
    /// been idle for too long.
    fn check_time(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.has_moved) {
            self.active = Instant::now();
        }
        let limits = &self.context.config.limits;
        let (idle, now) = (self.active.elapsed(), Instant::now());
        let timed_out = |text: &str| Err(io::Error::new(io::ErrorKind::TimedOut, text));
        if self.sent.is_stalled(
            self.send_queue.len(),
            now,
            Duration::from_millis(limits.send_timeout_ms),
        ) {
            return timed_out("the client does not read its answers");
        }
        // The client is not responsible for data that the server does not read.
        let missing =
            if self.ending || !self.may_receive() { 0 } else { self.read_buffer.missing() };
        if self.received.is_stalled(missing, now, self.receive_timeout()) {
            return timed_out("the client does not send the rest of its request");
        }
        if missing == 0 {
            self.turn_until += self.tick_period();
        } else if self.turn.is_some() && now > self.turn_until {
            return timed_out(
                "the client is too slow in sending a request beyond its share, while others wait \
                 to do the same",
            );
        }
        self.starved = self.is_starved().then(|| self.starved.unwrap_or(now));
        if self.starved.is_some_and(|since| now.duration_since(since) > self.receive_timeout())
            && self.turn.is_none()
        {
            let text = format!(
                "no network buffers for the rest of its request, of which {} bytes were received \
                 (max-network-buffer-size, max-address-buffer-size)",
                self.read_buffer.len()
            );
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, text));
        }
        if self.calls == 0 && idle > Duration::from_millis(limits.connection_idle_timeout_ms) {
            return timed_out("the client has been silent for too long");
        }
        Ok(())
    }
}

/// Returns the time that a client may hold the turn to send `missing` bytes beyond its share.
fn turn_span(missing: usize, read_stall: Duration) -> Duration {
    read_stall.saturating_add(Duration::from_secs(missing as u64 / TURN_BYTES_PER_SECOND))
}

/// Waits until the first response is durable; indefinitely if there is none. The log is written in
/// order, so no other response is durable earlier.
async fn durable(undurable: &mut VecDeque<CallResponse>) -> StoreResult<()> {
    poll_fn(|task| match undurable.front_mut().and_then(|answer| answer.ticket.as_mut()) {
        Some(ticket) => Pin::new(ticket).poll(task),
        None => Poll::Pending,
    })
    .await
}
