//! Calls that are under way: a table of slots by call id, and the future that waits at one.

use std::collections::HashMap;
use std::future::Future;
use std::hash::{BuildHasherDefault, Hasher};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use halite_types::Cells;
use halite_wire::rpc::Answer;
use halite_wire::service::Call;
use tokio::time::Instant;

use super::Connection;
use crate::deadline::CallDeadline;
use crate::failure::{Cause, Failure};

/// The slots of calls that somebody waits for.
#[derive(Default)]
pub(super) struct Calls {
    slots: HashMap<u32, Slot, BuildHasherDefault<ById>>,
    next_id: u32,
}

enum Slot {
    /// Sent; whom to wake, once somebody has asked.
    Waiting(Option<Waker>),
    /// Answered, and not fetched yet.
    Done(Result<Answer, Failure>),
}

impl Calls {
    /// An id that no call has. They go up, and HBase reads those from 2^31 on as its own words, so they begin again there.
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

    /// Puts an answer into its slot; gives whether it was waited for, and whom to wake. There is no slot if nobody waits any more.
    pub(super) fn complete(&mut self, id: u32, answer: Result<Answer, Failure>) -> (bool, Option<Waker>) {
        match self.slots.get_mut(&id).map(|slot| std::mem::replace(slot, Slot::Done(answer))) {
            Some(Slot::Waiting(waker)) => (true, waker),
            Some(Slot::Done(_)) | None => (false, None),
        }
    }

    /// Answers every call that waits with a failure.
    pub(super) fn fail_all(&mut self, why: &Failure) -> Vec<Waker> {
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

/// Call ids are dense numbers: spreading them over the high bits is all the table needs.
#[derive(Default)]
pub(super) struct ById(u64);

impl Hasher for ById {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, id: u32) {
        self.0 = (self.0 ^ u64::from(id)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The answer to come. Dropping it means that nobody waits any more; the server may serve the call all the same.
pub(crate) struct Pending {
    connection: Arc<Connection>,
    id: u32,
    sent: Instant,
    deadline: CallDeadline,
}

impl Pending {
    pub(super) fn new(connection: Arc<Connection>, id: u32, deadline: CallDeadline) -> Self {
        let sent = deadline.at - std::time::Duration::from_millis(deadline.ms);
        Self { connection, id, sent, deadline }
    }

    /// The answer as it came, within the deadline.
    ///
    /// # Errors
    /// What the server says, the end of the connection, or that no answer came.
    pub(crate) async fn answer(mut self) -> Result<Answer, Failure> {
        let (at, deadline) = (self.deadline.at, self.deadline);
        if let Ok(answer) = tokio::time::timeout_at(at, &mut self).await {
            return answer;
        }
        self.connection.late(self.sent, deadline);
        Err(Cause::Late(deadline.ms).into())
    }

    /// The message of the answer and its cells.
    ///
    /// # Errors
    /// As [`Pending::answer`]; the connection ends if the answer cannot be read.
    pub(crate) async fn response<C: Call>(self) -> Result<(C::Response, Cells), Failure> {
        let connection = Arc::clone(&self.connection);
        let answer = self.answer().await?;
        let read = || {
            answer.check_unfolded(C::METHOD, connection.limits())?;
            Ok((answer.message()?, answer.cells(connection.format(), connection.limits())?.unwrap_or_default()))
        };
        read().map_err(|fault: halite_wire::rpc::Fault| {
            let failure = Failure::from(fault);
            connection.end(&failure);
            failure
        })
    }
}

impl Future for Pending {
    type Output = Result<Answer, Failure>;

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
            _ => Poll::Ready(Err(Failure::lost("the answer was fetched already"))),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // A late answer finds no slot. One that has come made room when it came: whoever has it to fetch may do so at leisure.
        let slot = self.connection.lock().calls.slots.remove(&self.id);
        if let Some(Slot::Waiting(_)) = slot {
            self.connection.room.add_permits(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_not_negative_for_java_and_never_those_of_a_call_under_way() {
        let mut calls = Calls { next_id: u32::MAX >> 1, ..Calls::default() };
        calls.add(0);
        assert_eq!([calls.next_id(), calls.next_id()], [u32::MAX >> 1, 1]);
    }

    #[test]
    fn an_answer_nobody_waits_for_is_skipped() {
        let mut calls = Calls::default();
        assert!(!calls.complete(3, Err(Failure::lost("x"))).0);
        assert_eq!(calls.len(), 0);
    }
}
