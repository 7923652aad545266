//! Call dispatch: selects the thread of each call and returns its response to the connection.
//!
//! A call that memory can answer is executed on the connection's task, because a hop to another
//! thread costs several times the work. A call that waits for the disk or runs long goes to the
//! handler pool; master and administration calls go to a separate pool. If an inline attempt needs
//! the disk, the handler pool runs the rest of its work.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use halite_engine::{CommitTicket, with_caller};
use halite_wire::exception::ExceptionKind;
use halite_wire::rpc::encode_exception;
use halite_wire::service::{Method, Service};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::base::buffers::MemoryReservation;
use crate::base::call::{Call, CallError};
use crate::base::call_step::{CallOutcome, CallStep, Executor};
use crate::base::context::Context;
use crate::base::handler_pool::Continuation;
use crate::base::inline;
use crate::base::metrics::ExceptionClass;
use crate::base::operations::Operations;
use crate::config::DispatchMode;
use crate::outside::Instant;
use crate::services::Services;

/// Response on its way to the connection.
pub(crate) struct CallResponse {
    pub(crate) call: Arc<Call>,
    pub(crate) call_id: u32,
    pub(crate) method: Method,
    pub(crate) received: Instant,
    /// Bytes of the call, now released.
    pub(crate) call_bytes: usize,
    /// Empty if the client has stopped waiting.
    pub(crate) frame: BytesMut,
    /// Network buffers of the frame.
    pub(crate) reservation: MemoryReservation,
    /// Class of the exception, if the response is one.
    pub(crate) exception_class: Option<ExceptionClass>,
    pub(crate) operations: Operations,
    /// Time that the call waited for a thread.
    pub(crate) queued: Duration,
    /// Ticket that must be complete before the frame is sent.
    pub(crate) ticket: Option<CommitTicket>,
}

/// Sender of responses to a connection.
#[derive(Clone)]
pub(crate) struct ResponseSender {
    sender: UnboundedSender<CallResponse>,
}

impl ResponseSender {
    pub(crate) fn new() -> (Self, UnboundedReceiver<CallResponse>) {
        let (sender, receiver) = unbounded_channel();
        (Self { sender }, receiver)
    }

    /// Sends a response to the connection. If the connection has ended, the response is dropped.
    fn send(&self, answer: CallResponse) {
        let _ = self.sender.send(answer);
    }

    /// Returns `true` if the connection has ended.
    fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Waits until the connection has ended.
    async fn closed(&self) {
        self.sender.closed().await;
    }
}

/// Answers a call at once, or queues it for a pool, which answers through `responses`.
pub(crate) fn dispatch(
    services: &Arc<Services>,
    call: &Arc<Call>,
    responses: &ResponseSender,
) -> Option<CallResponse> {
    let context = &services.context;
    let is_client = call.method.service() == Service::Client;
    match (inline::executor(call.method, call.bytes), context.config.dispatch_mode) {
        (Executor::Inline | Executor::Handler, DispatchMode::Inline) if is_client => {
            let mut progress = advance(call, || services.answer(call, Executor::Handler));
            loop {
                match progress {
                    Progress::Answered(answer) => return Some(answer),
                    Progress::Deferred(work) => progress = advance(call, work),
                }
            }
        }
        (Executor::Inline, mode) if !(is_client && mode == DispatchMode::Hop) => {
            match advance(call, || attempt_inline(services, call)) {
                Progress::Answered(answer) => Some(answer),
                Progress::Deferred(work) => {
                    queue(context, Executor::Handler, call, responses, work)
                }
            }
        }
        (executor, _) => {
            // A call that could run inline waits in the handler queue with the others.
            let executor = if executor == Executor::Inline { Executor::Handler } else { executor };
            let (services, again) = (Arc::clone(services), Arc::clone(call));
            queue(
                context,
                executor,
                call,
                responses,
                Box::new(move || services.answer(&again, executor)),
            )
        }
    }
}

/// Attempts a call on the connection's task; defers the compression of a large reply to a handler
/// thread.
fn attempt_inline(services: &Services, call: &Arc<Call>) -> CallStep {
    match services.answer(call, Executor::Inline) {
        CallStep::Done(CallOutcome::Ready(Ok(reply))) if !inline::allows_reply(call, &reply) => {
            CallStep::Deferred(Box::new(move || CallStep::Done(CallOutcome::Ready(Ok(reply)))))
        }
        CallStep::Done(CallOutcome::AfterCommit(ticket, reply))
            if !inline::allows_reply(call, &reply) =>
        {
            CallStep::Deferred(Box::new(move || {
                CallStep::Done(CallOutcome::AfterCommit(ticket, reply))
            }))
        }
        step => step,
    }
}

/// Progress of a call after one step of its work.
enum Progress {
    Answered(CallResponse),
    Deferred(Box<dyn FnOnce() -> CallStep + Send>),
}

/// Runs one step of a call. A panic in it must not end the other calls of the connection, nor leave
/// this call without a response.
fn advance(call: &Arc<Call>, work: impl FnOnce() -> CallStep) -> Progress {
    let done = catch_unwind(AssertUnwindSafe(|| match with_caller(&call.peer.caller, work) {
        CallStep::Done(outcome) => Progress::Answered(encode(call, outcome)),
        CallStep::Deferred(rest) => Progress::Deferred(rest),
    }));
    done.unwrap_or_else(|_| {
        tracing::error!(method = call.method.name(), "a call panicked");
        let fault = CallError::do_not_retry(format!(
            "{} failed for a defect of the server, which its log describes",
            call.method.name()
        ));
        Progress::Answered(encode(call, CallOutcome::Ready(Err(fault))))
    })
}

/// Queues work for a pool. Returns the error response if the queue is full.
fn queue(
    context: &Arc<Context>,
    executor: Executor,
    call: &Arc<Call>,
    responses: &ResponseSender,
    work: Box<dyn FnOnce() -> CallStep + Send>,
) -> Option<CallResponse> {
    let pool = match executor {
        Executor::Admin => &context.admin_pool,
        Executor::Inline | Executor::Handler => &context.handler_pool,
    };
    let bytes = call.held_bytes() as u64;
    let is_over = context.metrics.queued_bytes.get() + bytes
        > context.config.limits.max_call_queue_bytes as u64;
    context.metrics.queued_bytes.add(bytes);
    let queued = QueuedCall {
        context: Arc::clone(context),
        call: Arc::clone(call),
        responses: responses.clone(),
        bytes,
        since: Instant::now(),
        waited: Duration::ZERO,
        executor,
        runtime: tokio::runtime::Handle::current(),
    };
    if !is_over && pool.submit(Box::new(move || queued.run(work))).is_ok() {
        return None;
    }
    context.metrics.queued_bytes.subtract(bytes);
    context.metrics.calls_rejected.add(1);
    Some(encode(call, CallOutcome::Ready(Err(queue_full(call)))))
}

fn queue_full(call: &Call) -> CallError {
    let text = format!(
        "Call queue is full on {}, too many items queued; come again later",
        call.peer.identity.region_server_text()
    );
    CallError::new(ExceptionKind::CallQueueTooBig, text)
}

/// Call that waits for a thread.
struct QueuedCall {
    context: Arc<Context>,
    call: Arc<Call>,
    responses: ResponseSender,
    /// Bytes counted in the memory of all waiting calls.
    bytes: u64,
    since: Instant,
    /// Time that it has waited.
    waited: Duration,
    executor: Executor,
    /// Runtime on which it waits for network buffers.
    runtime: tokio::runtime::Handle,
}

impl QueuedCall {
    /// Runs the call unless its client has disconnected or timed out.
    fn run(mut self, work: Box<dyn FnOnce() -> CallStep + Send>) -> Option<Continuation> {
        let account = &self.call.peer.account;
        if account.unsent() > self.context.config.limits.max_bytes_per_connection {
            let text =
                "this connection has not taken the answers to its earlier calls; read those first";
            self.reject(CallError::new(ExceptionKind::CallQueueTooBig, text));
            return None;
        }
        if account.share_left() == 0 && !self.responses.is_closed() {
            // These calls have left the queue of their pool, which limits their number; the calls
            // of one client must not be unlimited.
            if let Ok(permit) = Arc::clone(&self.context.waiting_calls).try_acquire_owned() {
                self.wait(work, permit);
            } else {
                let fault = queue_full(&self.call);
                self.reject(fault);
            }
            return None;
        }
        self.context.metrics.queued_bytes.subtract(self.bytes);
        self.waited = self.since.elapsed();
        self.context.metrics.method(self.call.method).queued_us.record(self.waited);
        if self.call.deadline().is_some_and(|deadline| deadline < Instant::now()) {
            self.context.metrics.calls_timed_out.add(1);
            let mut answer =
                encode(&self.call, CallOutcome::Ready(Err(CallError::do_not_retry(""))));
            answer.frame.clear();
            answer.reservation.set(0);
            self.responses.send(answer);
            return None;
        }
        self.resume(work)
    }

    /// Answers a call with an error instead of running the rest of it. An attempt on the
    /// connection's task may have done a part of its work, which stays done.
    fn reject(self, fault: CallError) {
        self.context.metrics.queued_bytes.subtract(self.bytes);
        self.context.metrics.calls_rejected.add(1);
        self.responses.send(encode(&self.call, CallOutcome::Ready(Err(fault))));
    }

    /// Waits, without a thread, until the connection may hold a response; then queues again.
    fn wait(self, work: Box<dyn FnOnce() -> CallStep + Send>, permit: OwnedSemaphorePermit) {
        let runtime = self.runtime.clone();
        runtime.spawn(async move {
            let _permit = permit;
            let room = tokio::time::timeout(self.room_wait(), self.call.peer.account.share());
            tokio::select! {
                biased;
                result = room => match result {
                    Ok(()) => self.submit(work),
                    Err(_) => self.reject(no_room()),
                },
                () = self.responses.closed() => self.context.metrics.queued_bytes.subtract(self.bytes),
            }
        });
    }

    /// Returns the maximum wait for network buffers.
    fn room_wait(&self) -> Duration {
        let limit = Duration::from_millis(self.context.config.limits.buffer_wait_timeout_ms);
        let left = limit.saturating_sub(self.since.elapsed());
        self.call
            .deadline()
            .map_or(left, |deadline| left.min(deadline.saturating_duration_since(Instant::now())))
    }

    /// Puts a call that has waited back into the queue of its pool.
    fn submit(self, work: Box<dyn FnOnce() -> CallStep + Send>) {
        let (context, executor) = (Arc::clone(&self.context), self.executor);
        let (refusal, responses, bytes) = (
            encode(&self.call, CallOutcome::Ready(Err(queue_full(&self.call)))),
            self.responses.clone(),
            self.bytes,
        );
        let pool =
            if executor == Executor::Admin { &context.admin_pool } else { &context.handler_pool };
        if pool.submit(Box::new(move || self.run(work))).is_err() {
            context.metrics.queued_bytes.subtract(bytes);
            context.metrics.calls_rejected.add(1);
            responses.send(refusal);
        }
    }

    fn resume(self, work: Box<dyn FnOnce() -> CallStep + Send>) -> Option<Continuation> {
        if self.responses.is_closed() {
            return None;
        }
        match advance(&self.call, work) {
            Progress::Answered(answer) => {
                let mut answer = CallResponse { queued: self.waited, ..answer };
                // The log is written here rather than by the task that serves the connection.
                if matches!(answer.ticket.as_ref().and_then(CommitTicket::try_finish), Some(Ok(())))
                {
                    answer.ticket = None;
                }
                self.responses.send(answer);
            }
            Progress::Deferred(rest) => {
                return Some(Continuation(Box::new(move || self.resume(rest))));
            }
        }
        None
    }
}

/// Encodes the response frame of an outcome.
fn encode(call: &Arc<Call>, outcome: CallOutcome) -> CallResponse {
    let (result, ticket) = match outcome {
        CallOutcome::Ready(result) => (result, None),
        CallOutcome::AfterCommit(ticket, reply) => (Ok(reply), Some(ticket)),
    };
    let mut reservation = None;
    let encoded = result.and_then(|mut reply| {
        reservation = reply.take_reservation();
        reply.encode(call.id, call.peer.format).map_err(CallError::from)
    });
    let exception_class =
        encoded.as_ref().err().map(|fault| ExceptionClass::from_kind(fault.exception().kind()));
    let frame = encoded.unwrap_or_else(|fault| exception_frame(call.id, &fault));
    let mut reservation = reservation.unwrap_or_else(|| MemoryReservation::new(&call.peer.account));
    reservation.set(frame.len());
    CallResponse {
        call: Arc::clone(call),
        call_id: call.id,
        method: call.method,
        received: call.received,
        call_bytes: call.bytes,
        frame,
        reservation,
        exception_class,
        operations: call.operations.get().copied().unwrap_or_default(),
        queued: Duration::ZERO,
        ticket,
    }
}

/// Encodes the frame of the error of a rejected call.
pub(crate) fn exception_frame(call_id: u32, fault: &CallError) -> BytesMut {
    let mut out = BytesMut::new();
    encode_exception(call_id, fault.exception(), &mut out);
    out
}

/// Returns the error for a response that did not get network buffers in time.
fn no_room() -> CallError {
    let text = "no network buffers are left for the answer, since clients do not read theirs \
                (max-network-buffer-size); come again later";
    CallError::new(ExceptionKind::CallQueueTooBig, text)
}

#[cfg(test)]
mod tests {
    use halite_wire::exception::Exception;
    use halite_wire::proto as pb;
    use halite_wire::rpc::{FrameStatus, RpcLimits, decode_response, next_frame};
    use halite_wire::service;

    use super::*;
    use crate::testing;
    use crate::testing::test_server::TestServer;

    fn refusal(mut answer: CallResponse) -> (u32, Exception) {
        let FrameStatus::Frame(frame) =
            next_frame(&mut answer.frame, &RpcLimits::default()).unwrap()
        else {
            panic!("no frame")
        };
        let response = decode_response(&frame).unwrap();
        (response.call_id, response.result.unwrap_err())
    }

    #[test]
    fn inline_call_panic_is_returned_as_do_not_retry() {
        let rig = TestServer::new();
        let call = testing::call::<service::ClientGet>(&rig.peer, &pb::GetRequest::default());
        let progress = advance(&Arc::new(call), || {
            std::panic::resume_unwind(Box::new("expected by this test"))
        });
        let Progress::Answered(answer) = progress else { panic!("it is not answered") };
        let (call_id, refused) = refusal(answer);
        assert_eq!((call_id, refused.is_do_not_retry()), (1, true));
        assert_eq!(
            refused.message(),
            "Get failed for a defect of the server, which its log describes"
        );
    }
}
