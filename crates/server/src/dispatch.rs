//! Which lane a call takes, and how its answer comes back to its connection.
//!
//! What is served from memory is served where it was read from the socket: a hop to another thread costs several times the
//! work. What must wait for the disk or runs long goes to the reader lane, and what the master and the administrator ask to
//! a lane of their own. An attempt in memory that turns out to need the disk hands the rest of its work to the reader lane.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use halite_engine::CommitTicket;
use halite_wire::exception::ExceptionKind;
use halite_wire::rpc::encode_exception;
use halite_wire::service::{Method, Service};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::buffers::Held;
use crate::call::{Call, Fault, Reply};
use crate::config::Lanes;
use crate::context::Context;
use crate::lanes::{Next, Pool};
use crate::metrics::Thrown;
use crate::operations::Operations;
use crate::outside::{Instant, Machine};
use crate::{admin_service, client_service, master_service, registry};

/// Where a call is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// On the connection's own task, from memory only.
    Inline,
    /// On a reader thread.
    Readers,
    /// On an administration thread.
    Admin,
}

/// Longest wait of a call for network buffers, after which its client is told to come again.
const ROOM_WAIT: Duration = Duration::from_secs(10);
/// Bytes of cells that are compressed where the call was read: about a tenth of a millisecond.
const INLINE_COMPRESSED_BYTES_MAX: usize = 8 << 10;
/// A multi of more bytes than this is not worth keeping its connection's task busy for.
const INLINE_BYTES_MAX: usize = 64 << 10;
/// Bytes that a call may unfold to where it was read: with all of them it may have to wait for a reader thread. One that unfolds
/// to more waits as it came, and takes the memory when its turn has come, so that no more do so at once than there are threads.
pub(crate) const INLINE_UNFOLDED_BYTES_MAX: usize = 1 << 20;

/// Where a call is answered, as far as its header tells.
pub(crate) fn lane(method: Method, bytes: usize) -> Lane {
    match (method.service(), method) {
        (Service::Client, Method::ClientGet | Method::ClientMutate | Method::ClientMulti | Method::ClientScan) if bytes <= INLINE_BYTES_MAX => {
            Lane::Inline
        }
        (Service::Client, Method::ClientBulkLoadHFile | Method::ClientPrepareBulkLoad | Method::ClientCleanupBulkLoad) => Lane::Admin,
        (Service::Client, _) => Lane::Readers,
        (Service::ClientMeta | Service::BootstrapNode | Service::ConnectionRegistry, _) => Lane::Inline,
        _ => Lane::Admin,
    }
}

/// How far a call has come.
pub(crate) enum Step {
    /// It is answered.
    Done(Outcome),
    /// It goes on, on a reader thread.
    Later(Box<dyn FnOnce() -> Step + Send>),
}

/// How a call ends.
pub(crate) enum Outcome {
    Now(Result<Reply, Fault>),
    /// The reply may be given when the ticket is fulfilled.
    After(CommitTicket, Reply),
}

impl<E: Into<Fault>> From<Result<Reply, E>> for Step {
    fn from(result: Result<Reply, E>) -> Self {
        Self::Done(Outcome::Now(result.map_err(Into::into)))
    }
}

impl Step {
    /// What is left to do, elsewhere; where it fails that is the answer.
    pub(crate) fn later(rest: impl FnOnce() -> Result<Self, Fault> + Send + 'static) -> Self {
        Self::Later(Box::new(move || rest().unwrap_or_else(Self::from)))
    }
}

impl From<Fault> for Step {
    fn from(fault: Fault) -> Self {
        Self::Done(Outcome::Now(Err(fault)))
    }
}

/// An answer on its way to the connection.
pub(crate) struct Answer {
    pub(crate) call_id: u32,
    pub(crate) method: Method,
    pub(crate) received: Instant,
    /// Bytes of the call, which are free now.
    pub(crate) call_bytes: usize,
    /// Empty if the client has stopped waiting.
    pub(crate) frame: BytesMut,
    /// Network buffers of the frame.
    pub(crate) held: Held,
    /// What it says, if it is an exception.
    pub(crate) thrown: Option<Thrown>,
    pub(crate) operations: Operations,
    /// How long the call waited for a thread.
    pub(crate) queued: Duration,
    /// To be fulfilled before the frame may go.
    pub(crate) ticket: Option<CommitTicket>,
}

/// Where answers go.
#[derive(Clone)]
pub(crate) struct Answers {
    sender: UnboundedSender<Answer>,
}

impl Answers {
    pub(crate) fn new() -> (Self, UnboundedReceiver<Answer>) {
        let (sender, receiver) = unbounded_channel();
        (Self { sender }, receiver)
    }

    /// Gives an answer to the connection. It may have ended; then nobody wants the answer.
    fn send(&self, answer: Answer) {
        let _ = self.sender.send(answer);
    }

    /// Whether the connection has ended.
    fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Waits until the connection has ended.
    async fn closed(&self) {
        self.sender.closed().await;
    }
}

/// Answers a call now or gives it to a lane, which answers through `answers`.
pub(crate) fn dispatch(context: &Arc<Context>, call: &Arc<Call>, answers: &Answers) -> Option<Answer> {
    let is_client = call.method.service() == Service::Client;
    match (lane(call.method, call.bytes), context.config.lanes) {
        (Lane::Inline | Lane::Readers, Lanes::Inline) if is_client => {
            let mut progress = advance(call, || attempt(context, call, Lane::Readers));
            loop {
                match progress {
                    Progress::Answered(answer) => return Some(answer),
                    Progress::Later(work) => progress = advance(call, work),
                }
            }
        }
        (Lane::Inline, lanes) if !(is_client && lanes == Lanes::Hop) => match advance(call, || attempt_inline(context, call)) {
            Progress::Answered(answer) => Some(answer),
            Progress::Later(work) => queue(context, Lane::Readers, call, answers, work),
        },
        (lane, _) => {
            // A call that could have stayed waits with those that may not.
            let lane = if lane == Lane::Inline { Lane::Readers } else { lane };
            let (shared, again) = (Arc::clone(context), Arc::clone(call));
            queue(context, lane, call, answers, Box::new(move || attempt(&shared, &again, lane)))
        }
    }
}

/// Attempts a call where it was read; leaves the compression of a large answer to a reader thread.
fn attempt_inline(context: &Arc<Context>, call: &Arc<Call>) -> Step {
    let is_compressed = call.peer.format.is_some_and(|format| format.compressor.is_some());
    match attempt(context, call, Lane::Inline) {
        Step::Done(Outcome::Now(Ok(reply))) if is_compressed && reply.cell_bytes() > INLINE_COMPRESSED_BYTES_MAX => {
            Step::Later(Box::new(move || Step::Done(Outcome::Now(Ok(reply)))))
        }
        Step::Done(Outcome::After(ticket, reply)) if is_compressed && reply.cell_bytes() > INLINE_COMPRESSED_BYTES_MAX => {
            Step::Later(Box::new(move || Step::Done(Outcome::After(ticket, reply))))
        }
        step => step,
    }
}

fn attempt(context: &Arc<Context>, call: &Arc<Call>, lane: Lane) -> Step {
    match call.method.service() {
        Service::Client => client_service::call(context, call, lane),
        Service::ClientMeta | Service::BootstrapNode | Service::ConnectionRegistry => registry::call(context, call).into(),
        Service::Admin => admin_service::call(context, call).into(),
        _ => master_service::call(context, call).into(),
    }
}

/// How far a call has come after a piece of its work.
enum Progress {
    Answered(Answer),
    Later(Box<dyn FnOnce() -> Step + Send>),
}

/// Does a piece of work for a call. A defect in it must not take the connection's other calls with it, nor leave this one without
/// an answer.
fn advance(call: &Call, work: impl FnOnce() -> Step) -> Progress {
    let done = catch_unwind(AssertUnwindSafe(|| match work() {
        Step::Done(outcome) => Progress::Answered(encode(call, outcome)),
        Step::Later(rest) => Progress::Later(rest),
    }));
    done.unwrap_or_else(|_| {
        tracing::error!(method = call.method.name(), "a call panicked");
        let fault = Fault::do_not_retry(format!("{} failed for a defect of the server, which its log describes", call.method.name()));
        Progress::Answered(encode(call, Outcome::Now(Err(fault))))
    })
}

/// Gives work to a lane; the answer if the lane is full.
fn queue(context: &Arc<Context>, lane: Lane, call: &Arc<Call>, answers: &Answers, work: Box<dyn FnOnce() -> Step + Send>) -> Option<Answer> {
    let pool = match lane {
        Lane::Admin => &context.admin_pool,
        Lane::Inline | Lane::Readers => &context.reader_pool,
    };
    let bytes = call.bytes_held() as u64;
    let is_over = context.metrics.queue_bytes.get() + bytes > context.config.limits.queue_bytes_max as u64;
    context.metrics.queue_bytes.add(bytes);
    let queued = Queued {
        context: Arc::clone(context),
        call: Arc::clone(call),
        answers: answers.clone(),
        bytes,
        since: Instant::now(),
        waited: Duration::ZERO,
        lane,
        runtime: tokio::runtime::Handle::current(),
    };
    if !is_over && pool.submit(Box::new(move || queued.run(work))).is_ok() {
        return None;
    }
    context.metrics.queue_bytes.subtract(bytes);
    context.metrics.calls_refused.add(1);
    Some(encode(call, Outcome::Now(Err(queue_full(call)))))
}

fn queue_full(call: &Call) -> Fault {
    let text = format!("Call queue is full on {}, too many items queued; come again later", call.peer.identity.region_server_text());
    Fault::new(ExceptionKind::CallQueueTooBig, text)
}

/// A call that waits for a thread.
struct Queued {
    context: Arc<Context>,
    call: Arc<Call>,
    answers: Answers,
    /// What it holds of the memory for all calls that wait.
    bytes: u64,
    since: Instant,
    /// How long it has waited.
    waited: Duration,
    lane: Lane,
    /// Where it waits for network buffers.
    runtime: tokio::runtime::Handle,
}

impl Queued {
    /// Runs the call unless nobody waits for it any more.
    fn run(mut self, work: Box<dyn FnOnce() -> Step + Send>) -> Option<Next> {
        let account = &self.call.peer.account;
        if account.unsent() > self.context.config.limits.connection_bytes_max {
            let text = "this connection has not taken the answers to its earlier calls; read those first";
            self.refuse(Fault::new(ExceptionKind::CallQueueTooBig, text));
            return None;
        }
        if account.share_left() == 0 && !self.answers.is_closed() {
            // They have left the queue of their lane, which limits their number; many of one client must not be without a limit.
            if let Ok(permit) = Arc::clone(&self.context.waiting_calls).try_acquire_owned() {
                self.wait(work, permit);
            } else {
                let fault = queue_full(&self.call);
                self.refuse(fault);
            }
            return None;
        }
        self.context.metrics.queue_bytes.subtract(self.bytes);
        self.waited = self.since.elapsed();
        self.context.metrics.method(self.call.method).queued_us.record(self.waited);
        if self.call.deadline().is_some_and(|deadline| deadline < Instant::now()) {
            self.context.metrics.calls_expired.add(1);
            let mut answer = encode(&self.call, Outcome::Now(Err(Fault::do_not_retry(""))));
            answer.frame.clear();
            answer.held.set(0);
            self.answers.send(answer);
            return None;
        }
        self.go_on(work)
    }

    /// Answers a call that has not begun.
    fn refuse(self, fault: Fault) {
        self.context.metrics.queue_bytes.subtract(self.bytes);
        self.context.metrics.calls_refused.add(1);
        self.answers.send(encode(&self.call, Outcome::Now(Err(fault))));
    }

    /// Waits, without a thread, until the connection may hold a response; then queues again.
    fn wait(self, work: Box<dyn FnOnce() -> Step + Send>, permit: OwnedSemaphorePermit) {
        let runtime = self.runtime.clone();
        runtime.spawn(async move {
            let _permit = permit;
            let room = tokio::time::timeout(self.room_wait(), self.call.peer.account.share());
            tokio::select! {
                biased;
                result = room => match result {
                    Ok(()) => self.submit(work),
                    Err(_) => self.refuse(no_room()),
                },
                () = self.answers.closed() => self.context.metrics.queue_bytes.subtract(self.bytes),
            }
        });
    }

    /// How long to wait for network buffers.
    fn room_wait(&self) -> Duration {
        let left = ROOM_WAIT.saturating_sub(self.since.elapsed());
        self.call.deadline().map_or(left, |deadline| left.min(deadline.saturating_duration_since(Instant::now())))
    }

    /// Puts a call that has waited back into the queue of its lane.
    fn submit(self, work: Box<dyn FnOnce() -> Step + Send>) {
        let (context, lane) = (Arc::clone(&self.context), self.lane);
        let (refusal, answers, bytes) = (encode(&self.call, Outcome::Now(Err(queue_full(&self.call)))), self.answers.clone(), self.bytes);
        let pool = if lane == Lane::Admin { &context.admin_pool } else { &context.reader_pool };
        if pool.submit(Box::new(move || self.run(work))).is_err() {
            context.metrics.queue_bytes.subtract(bytes);
            context.metrics.calls_refused.add(1);
            answers.send(refusal);
        }
    }

    fn go_on(self, work: Box<dyn FnOnce() -> Step + Send>) -> Option<Next> {
        if self.answers.is_closed() {
            return None;
        }
        match advance(&self.call, work) {
            Progress::Answered(answer) => {
                let mut answer = Answer { queued: self.waited, ..answer };
                // Better written here than by the task that serves the connection.
                if matches!(answer.ticket.as_ref().and_then(CommitTicket::try_finish), Some(Ok(()))) {
                    answer.ticket = None;
                }
                self.answers.send(answer);
            }
            Progress::Later(rest) => return Some(Next(Box::new(move || self.go_on(rest)))),
        }
        None
    }
}

/// The frame of an outcome.
fn encode(call: &Call, outcome: Outcome) -> Answer {
    let (result, ticket) = match outcome {
        Outcome::Now(result) => (result, None),
        Outcome::After(ticket, reply) => (Ok(reply), Some(ticket)),
    };
    let mut held = None;
    let encoded = result.and_then(|mut reply| {
        held = reply.take_held();
        reply.encode(call.id, call.peer.format).map_err(Fault::from)
    });
    let thrown = encoded.as_ref().err().map(|fault| Thrown::of(fault.exception().kind()));
    let frame = encoded.unwrap_or_else(|fault| exception_frame(call.id, &fault));
    let mut held = held.unwrap_or_else(|| Held::new(&call.peer.account));
    held.set(frame.len());
    Answer {
        call_id: call.id,
        method: call.method,
        received: call.received,
        call_bytes: call.bytes,
        frame,
        held,
        thrown,
        operations: call.operations.get().copied().unwrap_or_default(),
        queued: Duration::ZERO,
        ticket,
    }
}

/// The frame that says why a call is refused.
pub(crate) fn exception_frame(call_id: u32, fault: &Fault) -> BytesMut {
    let mut out = BytesMut::new();
    encode_exception(call_id, fault.exception(), &mut out);
    out
}

/// Tells a client that its response found no room in time.
fn no_room() -> Fault {
    let text = "no network buffers are left for the answer, since clients do not read theirs (max-network-buffer-size); come again later";
    Fault::new(ExceptionKind::CallQueueTooBig, text)
}

/// The lanes' threads.
pub(crate) fn start_pools(machine: &Machine, limits: &crate::Limits) -> halite_types::Result<(Pool, Pool)> {
    let readers = Pool::start(machine, "reader", limits.reader_threads, limits.reader_queue_max)?;
    Ok((readers, Pool::start(machine, "admin", limits.admin_threads, limits.admin_queue_max)?))
}

#[cfg(test)]
mod tests {
    use halite_wire::exception::Exception;
    use halite_wire::proto as pb;
    use halite_wire::rpc::{Limits, Next, decode_response, next_frame};
    use halite_wire::service;

    use super::*;
    use crate::master_service::tests::rig::Rig;
    use crate::testing;

    fn refusal(mut answer: Answer) -> (u32, Exception) {
        let Next::Frame(frame) = next_frame(&mut answer.frame, &Limits::default()).unwrap() else { panic!("no frame") };
        let response = decode_response(&frame).unwrap();
        (response.call_id, response.answer.unwrap_err())
    }

    #[test]
    fn a_call_that_panics_is_answered_where_it_was_read_too() {
        let rig = Rig::new();
        let call = testing::call::<service::ClientGet>(&rig.peer, &pb::GetRequest::default());
        let progress = advance(&call, || std::panic::resume_unwind(Box::new("expected by this test")));
        let Progress::Answered(answer) = progress else { panic!("it is not answered") };
        let (call_id, refused) = refusal(answer);
        assert_eq!((call_id, refused.is_do_not_retry()), (1, true));
        assert_eq!(refused.message(), "Get failed for a defect of the server, which its log describes");
    }

    #[test]
    fn what_memory_can_answer_stays_and_what_may_wait_goes_to_a_thread() {
        assert_eq!(lane(Method::ClientGet, 60), Lane::Inline);
        assert_eq!(lane(Method::ClientMulti, 60_000), Lane::Inline);
        assert_eq!(lane(Method::ClientMulti, 2 << 20), Lane::Readers);
        assert_eq!(lane(Method::ClientScan, 60), Lane::Inline);
        assert_eq!(lane(Method::ClientExecService, 60), Lane::Readers);
        assert_eq!(lane(Method::ClientMetaGetClusterId, 0), Lane::Inline);
        assert_eq!(lane(Method::MasterCreateTable, 600), Lane::Admin);
        assert_eq!(lane(Method::AdminFlushRegion, 60), Lane::Admin);
    }
}
