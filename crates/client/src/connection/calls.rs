//! Calls in progress: a table of slots by call id, and the future that waits at one.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use halite_types::{Cells, Error, ErrorKind};
use halite_wire::rpc::ResponseBody;
use halite_wire::service::RpcMethod;
use rustc_hash::FxHashMap;
use tokio::time::Instant;

use super::Connection;
use crate::deadline::CallDeadline;
use crate::error::{RpcError, RpcErrorKind};

/// Slots of calls that have a waiting future. The client assigns the ids.
#[derive(Default)]
pub(super) struct PendingCalls {
    slots: FxHashMap<u32, Slot>,
    next_id: u32,
}

enum Slot {
    /// Sent, with the waker of the future once it has been polled.
    Waiting(Option<Waker>),
    /// Answered, and not read yet.
    Done(Result<ResponseBody, RpcError>),
}

impl PendingCalls {
    /// Returns an unused id. Ids go up to 2^31, since HBase reserves the numbers from there on, and
    /// then restart at 0.
    pub(super) fn next_id(&mut self) -> u32 {
        loop {
            let id = self.next_id;
            self.next_id = (id + 1) & (u32::MAX >> 1);
            if !self.slots.contains_key(&id) {
                return id;
            }
        }
    }

    pub(super) fn add(&mut self, id: u32) {
        self.slots.insert(id, Slot::Waiting(None));
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Stores a response in its slot. Returns whether the call was pending, and the waker. The slot
    /// is absent if the future has been dropped.
    pub(super) fn complete(
        &mut self,
        id: u32,
        answer: Result<ResponseBody, RpcError>,
    ) -> (bool, Option<Waker>) {
        match self.slots.get_mut(&id).map(|slot| std::mem::replace(slot, Slot::Done(answer))) {
            Some(Slot::Waiting(waker)) => (true, waker),
            Some(Slot::Done(_)) | None => (false, None),
        }
    }

    /// Completes every pending call with an error.
    pub(super) fn fail_all(&mut self, why: &RpcError) -> Vec<Waker> {
        let mut wakers = Vec::new();
        for slot in self.slots.values_mut() {
            if let Slot::Waiting(waker) = slot {
                wakers.extend(waker.take());
                *slot = Slot::Done(Err(why.clone()));
            }
        }
        wakers
    }
}

/// Future of a response. Dropping it stops waiting; the server may still execute the call.
pub(crate) struct ResponseFuture {
    connection: Arc<Connection>,
    id: u32,
    sent: Instant,
    deadline: CallDeadline,
}

impl ResponseFuture {
    pub(super) fn new(connection: Arc<Connection>, id: u32, deadline: CallDeadline) -> Self {
        let sent = deadline.at - std::time::Duration::from_millis(deadline.ms);
        Self { connection, id, sent, deadline }
    }

    /// Returns the undecoded response, within the deadline.
    ///
    /// # Errors
    /// An exception of the server, the end of the connection, or a timeout.
    pub(crate) async fn body(mut self) -> Result<ResponseBody, RpcError> {
        let (at, deadline) = (self.deadline.at, self.deadline);
        if let Ok(answer) = tokio::time::timeout_at(at, &mut self).await {
            return answer;
        }
        self.connection.call_timed_out(self.sent, deadline);
        Err(RpcErrorKind::TimedOut(deadline.ms).into())
    }

    /// Returns the decoded response message and its cells.
    ///
    /// # Errors
    /// As [`ResponseFuture::body`]; the connection ends if the response cannot be decoded.
    pub(crate) async fn response<C: RpcMethod>(self) -> Result<(C::Response, Cells), RpcError> {
        let connection = Arc::clone(&self.connection);
        let answer = self.body().await?;
        if let Err(fault) = answer.check_decoded_size(C::METHOD, connection.limits()) {
            // Another attempt would get the same answer.
            let failure = Error::new(ErrorKind::InvalidRequest, fault.to_string());
            connection.end(&RpcError::from(fault));
            return Err(RpcErrorKind::Final(failure).into());
        }
        let read = || {
            Ok((
                answer.message()?,
                answer.cells(connection.format(), connection.limits())?.unwrap_or_default(),
            ))
        };
        read().map_err(|fault: halite_wire::rpc::ProtocolError| {
            let failure = RpcError::from(fault);
            connection.end(&failure);
            failure
        })
    }
}

impl Future for ResponseFuture {
    type Output = Result<ResponseBody, RpcError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.connection.lock();
        if let Some(Slot::Waiting(waker)) = state.calls.slots.get_mut(&self.id) {
            if !waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
                *waker = Some(context.waker().clone());
            }
            return Poll::Pending;
        }
        match state.calls.slots.remove(&self.id) {
            Some(Slot::Done(answer)) => Poll::Ready(answer),
            _ => Poll::Ready(Err(RpcError::lost("the answer was fetched already"))),
        }
    }
}

impl Drop for ResponseFuture {
    fn drop(&mut self) {
        // A late response finds no slot. An arrived one released its permit on arrival, even if it
        // has not been read yet.
        let slot = self.connection.lock().calls.slots.remove(&self.id);
        if let Some(Slot::Waiting(_)) = slot {
            self.connection.call_permits.add_permits(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_ids_are_nonnegative_and_skip_pending_calls() {
        let mut calls = PendingCalls { next_id: u32::MAX >> 1, ..PendingCalls::default() };
        calls.add(0);
        assert_eq!([calls.next_id(), calls.next_id()], [u32::MAX >> 1, 1]);
    }

    #[test]
    fn response_without_pending_call_is_ignored() {
        let mut calls = PendingCalls::default();
        assert!(!calls.complete(3, Err(RpcError::lost("x"))).0);
        assert_eq!(calls.len(), 0);
    }
}
