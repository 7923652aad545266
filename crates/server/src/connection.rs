//! The life of a connection: frames in, calls to their lanes, answers out in the order in which they are ready.
//!
//! One task does all of it, so answers that are ready together leave in one write. Nothing is read while the client has
//! too many calls in hand or does not read its answers, so what a connection holds is bounded whatever the client does.

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
use halite_wire::rpc::{self, Fault as PeerFault, Next};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::buffers::{Account, FLOOR_BYTES, Held};
use crate::call::{Call, Fault, Peer};
use crate::context::Context;
use crate::dispatch::{self, Answer, Answers};
use crate::handshake::{self, Begun, Refused};
use crate::input::Input;
use crate::listener::Port;
use crate::metrics::Thrown;
use crate::output::Output;
use crate::outside::{Instant, Stream};
use crate::pace::Pace;
use crate::shutdown::Shutdown;

/// Bytes of answers the client has not read from which on nothing more is read from it.
const OUTPUT_PAUSE_BYTES: usize = 4 << 20;
/// Calls, and bytes of calls, that are answered in a row before what they answered is sent.
const BURST_CALLS: usize = 128;
const BURST_BYTES: usize = 256 << 10;
/// Bytes read in a row before the thread serves its other connections.
const READ_BYTES_MAX: usize = 256 << 10;
const READ_BYTES_MIN: usize = 16 << 10;
/// Room for the header of a frame that is too big.
const TOO_BIG_READ_BYTES: usize = 1 << 10;
/// Bytes a second that a client has to send of the request for which it has the turn: others wait for it.
const TURN_BYTES_PER_SECOND: u64 = 1 << 20;
/// How long, and for how many bytes, a client that was refused is listened to, so that it can read why.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 16 << 20;

/// Serves one client until it goes, makes a mistake that ends a connection, or everything is to end.
pub(crate) async fn serve(mut stream: Stream, port: Port, context: &Arc<Context>, account: Arc<Account>, mut shutdown: Shutdown) {
    let limit = Duration::from_millis(context.config.limits.handshake_ms_max);
    let begun = tokio::select! {
        biased;
        begun = tokio::time::timeout(limit, handshake::begin(&mut stream, port, context, &account)) => begun,
        () = shutdown.requested() => return,
    };
    match begun {
        Ok(Ok(Begun::Calls(peer, input))) => Task::new(stream, context, peer, input).run(shutdown).await,
        Ok(Ok(Begun::Answered)) => linger(stream).await,
        Ok(Err(Refused::Fault(fault))) => {
            context.metrics.connections_faulty.add(1);
            let address = stream.peer_addr().ok();
            tracing::warn!(?port, ?address, %fault, "a connection is closed before it has begun");
            if let Some((call_id, exception)) = fault.answer() {
                let mut out = BytesMut::new();
                rpc::encode_exception(call_id, exception, &mut out);
                if stream.write_all(&out).await.is_ok() {
                    linger(stream).await;
                }
            }
        }
        Ok(Err(Refused::Broken(error))) => tracing::debug!(?port, %error, "a connection ended before it had begun"),
        Err(_) => tracing::debug!(?port, "a connection did not say in time who it is"),
    }
}

/// Ends a connection so that the client gets what was sent: a socket closed with something unread takes that back.
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
    // Whatever comes of it, the connection ends.
    let _ = tokio::time::timeout(LINGER, drain).await;
}

/// What one connection holds.
struct Task<'a> {
    stream: Stream,
    context: &'a Arc<Context>,
    peer: Arc<Peer>,
    limits: rpc::Limits,
    input: Input,
    output: Output,
    answers: Answers,
    answered: UnboundedReceiver<Answer>,
    /// Answers that wait for the log, in the order of their place in it.
    undurable: VecDeque<Answer>,
    scanners: Scanners<'a>,
    /// Calls that are not answered, and their bytes.
    calls: usize,
    call_bytes: usize,
    /// No more is read: the client has finished, made a mistake, or everything ends.
    ending: bool,
    /// The client made a mistake, and is to read what.
    is_refused: bool,
    /// Something was read or sent since the last look at the time, and when it was so last.
    has_moved: bool,
    active: Instant,
    /// How fast requests come and answers go.
    received: Pace,
    sent: Pace,
    /// The turn to receive a request beyond the connection's share of the network buffers.
    turn: Option<OwnedSemaphorePermit>,
    /// Until when the request for which it is has to be there.
    turn_until: Instant,
    /// Since when the rest of a request has waited for network buffers, and the connection for nothing else.
    starved: Option<Instant>,
}

/// The scanners of a connection, which are told that it has ended, however it ends.
struct Scanners<'a> {
    context: &'a Context,
    connection: u64,
}

impl Drop for Scanners<'_> {
    fn drop(&mut self) {
        self.context.scanners.connection_ended(self.connection);
    }
}

/// Why a connection's task woke up.
enum Event {
    /// Bytes were read; none are the end.
    Read(io::Result<usize>),
    Writable(io::Result<()>),
    Answered(Answer),
    Durable(StoreResult<()>),
    /// There are network buffers again.
    Room,
    /// The connection may receive a request beyond its share.
    Turn(Option<OwnedSemaphorePermit>),
    Tick,
    Shutdown,
}

impl<'a> Task<'a> {
    fn new(stream: Stream, context: &'a Arc<Context>, peer: Arc<Peer>, input: BytesMut) -> Self {
        let (answers, answered) = Answers::new();
        let scanners = Scanners { context, connection: peer.connection };
        Self {
            stream,
            context,
            limits: context.config.limits.of_calls(),
            input: Input::new(input, &peer.account),
            output: Output::new(&peer.account),
            peer,
            answers,
            answered,
            undurable: VecDeque::new(),
            scanners,
            calls: 0,
            call_bytes: 0,
            ending: false,
            is_refused: false,
            has_moved: true,
            active: Instant::now(),
            received: Pace::default(),
            sent: Pace::default(),
            turn: None,
            turn_until: Instant::now(),
            starved: None,
        }
    }

    async fn run(mut self, mut shutdown: Shutdown) {
        tracing::debug!(address = %self.peer.address, service = self.peer.header.service.name(), user = self.peer.user, "connected");
        let mut stop = pin!(shutdown.requested());
        let mut tick = pin!(tokio::time::sleep(self.tick_period()));
        let mut stopping = false;
        let result = loop {
            self.take_calls();
            self.settle();
            self.count_input();
            let sends_on = match self.send() {
                Ok(sends_on) => sends_on,
                Err(error) => break Err(error),
            };
            if self.ending && self.calls == 0 && self.output.is_empty() {
                break Ok(());
            }
            if sends_on || self.has_frames() {
                // Others on this thread get their turn first.
                tokio::task::yield_now().await;
                continue;
            }
            let (may_read, has_output) = (!self.ending && self.may_receive(), !self.output.is_empty());
            let account = &self.peer.account;
            let waits_for_room = !self.ending && self.turn.is_none() && !account.has_room();
            let waits_in_turn = !self.ending && self.turn.is_some() && !may_read && !account.has_room_in_turn();
            let waits_for_turn = waits_for_room && self.is_starved();
            let read_bytes_max = self.read_bytes_max();
            let mut space = self.input.buffer().limit(read_bytes_max);
            let (mut reader, writer) = self.stream.split();
            let event = tokio::select! {
                // In an order of its own, so that a simulation can repeat it: a client that sends without end holds up neither the end nor
                // its own answers.
                biased;
                () = &mut stop, if !stopping => Event::Shutdown,
                () = &mut tick => Event::Tick,
                ready = writer.writable(), if has_output => Event::Writable(ready),
                Some(answer) = self.answered.recv() => Event::Answered(answer),
                result = durable(&mut self.undurable) => Event::Durable(result),
                read = reader.read_buf(&mut space), if may_read => Event::Read(read),
                () = account.room(), if waits_for_room => Event::Room,
                () = account.room_in_turn(), if waits_in_turn => Event::Room,
                turn = account.turn(), if waits_for_turn => Event::Turn(turn),
            };
            match event {
                Event::Answered(answer) => self.answered(answer),
                Event::Durable(result) => self.durable(&result),
                Event::Read(Ok(bytes)) => {
                    self.read(bytes);
                    if bytes >= READ_BYTES_MAX / 2 {
                        tokio::task::yield_now().await;
                    }
                }
                Event::Turn(turn) => {
                    self.turn = turn;
                    self.turn_until = Instant::now() + turn_span(self.input.missing(), self.read_stall());
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
            Err(error) if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::QuotaExceeded) => {
                tracing::info!(%address, %error, "a connection is closed");
            }
            Err(error) => tracing::debug!(%address, %error, "a connection is broken"),
        }
    }

    /// Whether the client may have more calls in hand.
    fn has_room(&self) -> bool {
        let limits = &self.context.config.limits;
        self.calls < limits.connection_calls_max
            && self.call_bytes + self.output.len() < limits.connection_bytes_max
            && self.output.len() < OUTPUT_PAUSE_BYTES
            && (self.peer.account.has_room() || self.turn.is_some())
    }

    /// Whether more may be received: the connection has room, or the turn to go beyond its share.
    fn may_receive(&self) -> bool {
        let account = &self.peer.account;
        self.has_room() && (account.has_room() || account.has_room_in_turn())
    }

    /// Bytes that one read may take: what is left of the connection's share, of a request that exceeds it in its turn any.
    fn read_bytes_max(&self) -> usize {
        let is_small = self.input.len() < FLOOR_BYTES || self.turn.is_some();
        if is_small { READ_BYTES_MAX } else { self.peer.account.share_left().clamp(READ_BYTES_MIN, READ_BYTES_MAX) }
    }

    /// Whether the connection waits with a part of a request for network buffers, and for nothing that it holds itself.
    fn is_starved(&self) -> bool {
        self.input.missing() > 0 && self.calls == 0 && self.output.is_empty() && !self.peer.account.has_room()
    }

    /// Whether the next frame is there and may be taken.
    fn has_frames(&self) -> bool {
        self.input.has_frame() && !self.ending && self.has_room()
    }

    fn read(&mut self, bytes: usize) {
        self.ending |= bytes == 0;
        self.has_moved = true;
        self.received.moved(bytes);
        self.context.metrics.bytes_received.add(bytes as u64);
    }

    /// Takes whole frames from the input, as many as may be in hand, and makes room for the rest of the next.
    fn take_calls(&mut self) {
        let mut bytes = 0;
        for _ in 0..BURST_CALLS {
            if self.ending || bytes > BURST_BYTES || !self.has_room() {
                return;
            }
            match self.input.next(&self.limits) {
                Ok(Next::Frame(frame)) => {
                    bytes += frame.len();
                    if let Err(fault) = self.call(&frame) {
                        self.refuse(&fault);
                    }
                }
                Ok(Next::Ping) => {}
                Ok(Next::Need(bytes)) => {
                    self.input.reserve(bytes);
                    return;
                }
                Ok(Next::TooBig(length)) => {
                    let Some(fault) = rpc::refuse_too_big(self.input.bytes(), length, &self.limits, &self.peer.header) else {
                        self.input.reserve(TOO_BIG_READ_BYTES);
                        return;
                    };
                    self.refuse(&fault);
                }
                Err(fault) => self.refuse(&fault),
            }
        }
    }

    /// Counts the received part of the next request. The turn ends with the request it was taken for.
    fn count_input(&mut self) {
        if self.input.missing() == 0 {
            self.turn = None;
        }
        self.input.count();
    }

    fn call(&mut self, frame: &bytes::Bytes) -> Result<(), PeerFault> {
        let mut request = rpc::decode_request(frame)?;
        // Nobody asks for them, and they may take far more memory than the frame.
        request.header.attribute = Vec::new();
        let call = Arc::new(Call {
            id: request.call_id,
            method: request.method(self.peer.header.service)?,
            timeout_ms: request.header.timeout.filter(|timeout| *timeout > 0),
            bytes: frame.len(),
            received: Instant::now(),
            peer: Arc::clone(&self.peer),
            limits: self.limits,
            unfolded: AtomicUsize::default(),
            operations: std::sync::OnceLock::new(),
            request,
        });
        self.calls += 1;
        self.call_bytes += call.bytes;
        if let Some(answer) = dispatch::dispatch(self.context, &call, &self.answers) {
            self.answered(answer);
        }
        Ok(())
    }

    /// Tells the client what is wrong with what it sent, and ends the connection if nothing more can be read from it.
    fn refuse(&mut self, fault: &PeerFault) {
        if fault.ends_connection() {
            self.context.metrics.connections_faulty.add(1);
            tracing::warn!(address = %self.peer.address, user = self.peer.user, %fault, "a connection is closed for what it sent");
            (self.ending, self.is_refused) = (true, true);
        } else {
            self.peer.note_mistake(fault);
        }
        if let Some((call_id, exception)) = fault.answer() {
            self.context.metrics.refused(self.peer.header.service).add(Thrown::of(exception.kind()));
            let frame = dispatch::exception_frame(call_id, &Fault::from(exception.clone()));
            self.output.push(frame, Held::new(&self.peer.account));
        }
    }

    fn answered(&mut self, answer: Answer) {
        if answer.ticket.is_some() {
            self.undurable.push_back(answer);
        } else {
            self.finish(answer);
        }
    }

    /// Gives the answers that need not wait for the log any more. For all calls of a burst the log is written once.
    fn settle(&mut self) {
        while let Some(result) = self.undurable.front().and_then(|answer| answer.ticket.as_ref()).and_then(CommitTicket::try_finish) {
            self.durable(&result);
        }
    }

    /// The first of the answers that wait for the log need not wait any more.
    fn durable(&mut self, result: &StoreResult<()>) {
        let Some(mut answer) = self.undurable.pop_front() else { return };
        if let Err(error) = result {
            let fault = Fault::from(error);
            answer.frame = dispatch::exception_frame(answer.call_id, &fault);
            answer.thrown = Some(Thrown::of(fault.exception().kind()));
        }
        self.finish(answer);
    }

    fn finish(&mut self, answer: Answer) {
        self.calls -= 1;
        self.call_bytes -= answer.call_bytes;
        let figures = self.context.metrics.method(answer.method);
        let total = answer.received.elapsed();
        let work = total.saturating_sub(answer.queued);
        figures.total_us.record(total);
        figures.process_us.record(work);
        figures.request_bytes.record_value(answer.call_bytes as u64);
        figures.answer_bytes.record_value(answer.frame.len() as u64);
        self.context.metrics.operations.record(answer.operations, work);
        if let Some(thrown) = answer.thrown {
            figures.exceptions.add(thrown);
        }
        self.output.push(answer.frame, answer.held);
    }

    /// Sends what one turn allows; whether there is more that the socket may take.
    fn send(&mut self) -> io::Result<bool> {
        if self.output.is_empty() {
            return Ok(false);
        }
        let sent = self.output.write_to(&self.stream)?;
        if sent.bytes > 0 {
            self.sent.moved(sent.bytes);
            self.context.metrics.bytes_sent.add(sent.bytes as u64);
            self.has_moved = true;
        }
        Ok(sent.continues)
    }

    fn read_stall(&self) -> Duration {
        Duration::from_millis(self.context.config.limits.read_stall_ms_max)
    }

    fn tick_period(&self) -> Duration {
        let limits = &self.context.config.limits;
        Duration::from_millis(limits.idle_ms_max.min(limits.write_stall_ms_max).min(limits.read_stall_ms_max).div_ceil(4))
    }

    /// Ends a connection whose client does not read, does not go on with what it has begun to send, or has not been heard of
    /// for long.
    fn check_time(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.has_moved) {
            self.active = Instant::now();
        }
        let limits = &self.context.config.limits;
        let (idle, now) = (self.active.elapsed(), Instant::now());
        let timed_out = |text: &str| Err(io::Error::new(io::ErrorKind::TimedOut, text));
        if self.sent.is_stalled(self.output.len(), now, Duration::from_millis(limits.write_stall_ms_max)) {
            return timed_out("the client does not read its answers");
        }
        // What the server does not read is not the client's fault.
        let missing = if self.ending || !self.may_receive() { 0 } else { self.input.missing() };
        if self.received.is_stalled(missing, now, self.read_stall()) {
            return timed_out("the client does not send the rest of its request");
        }
        if missing == 0 {
            self.turn_until += self.tick_period();
        } else if self.turn.is_some() && now > self.turn_until {
            return timed_out("the client is too slow in sending a request beyond its share, while others wait to do the same");
        }
        self.starved = self.is_starved().then(|| self.starved.unwrap_or(now));
        if self.starved.is_some_and(|since| now.duration_since(since) > self.read_stall()) && self.turn.is_none() {
            let text = format!(
                "no network buffers for the rest of its request, of which {} bytes were received (max-network-buffer-size, max-address-buffer-size)",
                self.input.len()
            );
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, text));
        }
        if self.calls == 0 && idle > Duration::from_millis(limits.idle_ms_max) {
            return timed_out("the client has been silent for too long");
        }
        Ok(())
    }
}

/// How long a client may have the turn to send so many bytes beyond its share.
fn turn_span(missing: usize, read_stall: Duration) -> Duration {
    read_stall.saturating_add(Duration::from_secs(missing as u64 / TURN_BYTES_PER_SECOND))
}

/// Waits until the first of the answers is durable; for ever if there is none. The log is written in order, so none of
/// the others is before it.
async fn durable(undurable: &mut VecDeque<Answer>) -> StoreResult<()> {
    poll_fn(|task| match undurable.front_mut().and_then(|answer| answer.ticket.as_mut()) {
        Some(ticket) => Pin::new(ticket).poll(task),
        None => Poll::Pending,
    })
    .await
}
