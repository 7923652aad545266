//! Procedure executor: work with an id that a client polls until it is finished.
//!
//! A procedure waits in a queue. An idle worker takes the first one whose table has no running
//! procedure. So the procedures of one table run in order of submission, and those of different
//! tables run concurrently. The call that submits a procedure waits a moment for it, since most
//! take milliseconds, and returns the id in any case.
//!
//! The outcome of a procedure is retained for [`EVICT_TTL`] after its end, as in HBase
//! (`hbase.procedure.cleaner.evict.ttl`). A request that repeats a nonce finds the procedure of the
//! first request.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use halite_engine::env::Clock;
use halite_types::TableName;
use halite_wire::exception::{Exception, ExceptionKind};

use crate::base::call::CallError;
use crate::base::metrics::Histogram;
use crate::outside::{Instant, Machine};

/// Retention time of the outcome of a procedure.
const EVICT_TTL: Duration = Duration::from_mins(15);
/// Maximum number of retained outcomes; the oldest are evicted first.
const MAX_FINISHED_PROCEDURES: usize = 10_000;
/// Retained bytes of the text of a failure: part of it is supplied by the client.
const MAX_FAILURE_BYTES: usize = 4 << 10;
/// Maximum number of waiting procedures, and maximum bytes of the requests that submitted them.
/// These requests have been answered and are held only by the procedures.
const MAX_WAITING_PROCEDURES: usize = 1_000;
const MAX_WAITING_BYTES: usize = 64 << 20;
/// Maximum number of worker threads.
const MAX_WORKERS: usize = 4;
/// Time that a call waits for the procedure it submits. A test waits until it is done, however slow
/// the machine.
pub(crate) const SUBMIT_WAIT: Duration =
    if cfg!(test) { Duration::from_mins(10) } else { Duration::from_millis(300) };

/// Work of a procedure. Returns the bytes that HBase calls its result, empty for most.
type ProcedureBody = Box<dyn FnOnce() -> Result<Bytes, CallError> + Send>;

/// Group and number that identify a repeated request; a number of 0 means none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Nonce {
    pub(crate) group: u64,
    pub(crate) number: u64,
}

/// Description of a procedure to submit.
pub(crate) struct Submission {
    /// HBase's class name.
    pub(crate) name: &'static str,
    /// Table on which it works, if any.
    pub(crate) table: Option<TableName>,
    pub(crate) nonce: Nonce,
    /// User who submitted it.
    pub(crate) owner: String,
    /// Bytes held by the work.
    pub(crate) bytes: usize,
}

/// State of a procedure.
#[derive(Clone, Debug)]
pub(crate) struct Procedure {
    pub(crate) name: &'static str,
    pub(crate) owner: String,
    /// Milliseconds since 1970.
    pub(crate) submitted_ms: u64,
    /// Time of the last state change, in milliseconds since 1970.
    pub(crate) updated_ms: u64,
    /// `None` while it waits or runs.
    pub(crate) outcome: Option<Result<Bytes, Exception>>,
    nonce: Nonce,
    finished: Option<Instant>,
}

/// All procedures and their worker threads. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Procedures(Arc<Inner>);

struct Inner {
    machine: Machine,
    clock: Arc<dyn Clock>,
    /// Time that a call waits for the procedure it submits.
    submit_wait: Duration,
    state: Mutex<ProcedureQueue>,
    /// A procedure was submitted, one has ended, or the executor is closed.
    changed: Condvar,
    times: Arc<[ProcedureTimes]>,
}

/// Procedures that HBase's dashboards time, with the prefixes of their attributes.
const TIMED: [(&str, &str); 2] =
    [("SplitTableRegionProcedure", "Split"), ("MergeTableRegionsProcedure", "Merge")];

/// Counters and durations of the procedures of one name.
pub(crate) struct ProcedureTimes {
    /// Prefix of HBase's attributes.
    pub(crate) prefix: &'static str,
    pub(crate) submitted: AtomicU64,
    pub(crate) failed: AtomicU64,
    /// Time from submission to end of procedures that did not fail, in microseconds.
    pub(crate) us: Histogram,
}

/// Procedure that has not started.
struct QueuedProcedure {
    id: u64,
    table: Option<TableName>,
    work: ProcedureBody,
    bytes: usize,
}

struct ProcedureQueue {
    next_id: u64,
    procedures: BTreeMap<u64, Procedure>,
    nonces: HashMap<Nonce, u64>,
    waiting: VecDeque<QueuedProcedure>,
    /// Tables with a running procedure.
    busy: HashSet<TableName>,
    workers: usize,
    idle: usize,
    closed: bool,
}

impl Procedures {
    /// Creates an executor without procedures. Ids start at the current time. So they are higher
    /// than those of an earlier process, and no client mistakes another client's outcome for its
    /// own. A call that submits a procedure waits `moment` for it, unless the machine is simulated.
    pub(crate) fn new(machine: &Machine, clock: Arc<dyn Clock>, moment: Duration) -> Self {
        let first_id = now_ms(&*clock);
        let moment = if matches!(machine, Machine::Os) { moment } else { Duration::ZERO };
        let state = ProcedureQueue {
            next_id: first_id,
            procedures: BTreeMap::new(),
            nonces: HashMap::new(),
            waiting: VecDeque::new(),
            busy: HashSet::new(),
            workers: 0,
            idle: 0,
            closed: false,
        };
        let times = TIMED.iter().map(|(_, prefix)| ProcedureTimes {
            prefix,
            submitted: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            us: Histogram::default(),
        });
        Self(Arc::new(Inner {
            machine: machine.clone(),
            clock,
            submit_wait: moment,
            state: Mutex::new(state),
            changed: Condvar::new(),
            times: times.collect(),
        }))
    }

    /// Submits a procedure, waits a moment for it, and returns its id. A procedure with a known
    /// nonce is not run again.
    ///
    /// # Errors
    /// If too many procedures wait, or the server is stopping.
    pub(crate) fn submit(
        &self,
        submission: Submission,
        work: impl FnOnce() -> Result<Bytes, CallError> + Send + 'static,
    ) -> Result<u64, CallError> {
        let mut state = self.0.lock();
        state.evict_expired();
        if let Some(&id) = state.nonces.get(&submission.nonce) {
            drop(self.0.wait_a_moment(state, id));
            return Ok(id);
        }
        if state.closed {
            return Err(CallError::new(ExceptionKind::MasterStopped, "the master is stopping"));
        }
        if state.waiting.len() >= MAX_WAITING_PROCEDURES {
            let text = format!(
                "{MAX_WAITING_PROCEDURES} procedures wait for their turn already; try again when \
                 some of them are done"
            );
            return Err(CallError::new(ExceptionKind::CallQueueTooBig, text));
        }
        let waiting_bytes = state
            .waiting
            .iter()
            .map(|waiting| waiting.bytes)
            .fold(submission.bytes, usize::saturating_add);
        // A single one may be as large as a request can be.
        if waiting_bytes > MAX_WAITING_BYTES && !state.waiting.is_empty() {
            let text = format!(
                "procedures with {MAX_WAITING_BYTES} bytes wait for their turn already; try again \
                 when some of them are done"
            );
            return Err(CallError::new(ExceptionKind::CallQueueTooBig, text));
        }
        if matches!(self.0.machine, Machine::Os)
            && state.waiting.len() >= state.idle
            && state.workers < MAX_WORKERS
        {
            self.start_worker(&mut state)?;
        }
        let times = TIMED.iter().position(|(name, _)| *name == submission.name);
        let work: ProcedureBody = match times {
            Some(kind) => timed(&self.0.times, kind, work),
            None => Box::new(work),
        };
        let id = state.add(submission, work, now_ms(&*self.0.clock));
        match &self.0.machine {
            Machine::Os => self.0.changed.notify_all(),
            Machine::Given(outside) => {
                let inner = Arc::clone(&self.0);
                outside.run(Box::new(move || drop(inner.run_one(inner.lock()))));
            }
        }
        drop(self.0.wait_a_moment(state, id));
        Ok(id)
    }

    /// Returns the counters and durations of the procedures that HBase's dashboards display.
    pub(crate) fn times(&self) -> &[ProcedureTimes] {
        &self.0.times
    }

    /// Takes an id for an operation that clients poll as if it were a procedure.
    pub(crate) fn take_id(&self) -> u64 {
        let mut state = self.0.lock();
        let id = state.next_id;
        state.next_id += 1;
        id
    }

    /// Returns the procedure that an earlier request with this nonce started.
    pub(crate) fn started_by(&self, nonce: Nonce) -> Option<u64> {
        self.0.lock().nonces.get(&nonce).copied()
    }

    /// Returns the state of a procedure; `None` if the id was never used or its outcome was
    /// evicted.
    pub(crate) fn find(&self, id: u64) -> Option<Procedure> {
        self.0.lock().procedures.get(&id).cloned()
    }

    /// Returns the procedures that wait or run, and the retained ones that have ended.
    pub(crate) fn all(&self) -> Vec<(u64, Procedure)> {
        self.0.lock().procedures.iter().map(|(id, procedure)| (*id, procedure.clone())).collect()
    }

    /// Returns `true` if a procedure waits or runs on a table.
    #[cfg(test)]
    pub(crate) fn is_busy(&self, table: &TableName) -> bool {
        let state = self.0.lock();
        state.busy.contains(table)
            || state.waiting.iter().any(|waiting| waiting.table.as_ref() == Some(table))
    }

    /// Rejects further procedures and lets the threads exit after their current one. Waiting
    /// procedures fail.
    pub(crate) fn close(&self) {
        let mut state = self.0.lock();
        state.closed = true;
        let waiting: Vec<u64> = state.waiting.drain(..).map(|waiting| waiting.id).collect();
        let stopped = Exception::new(
            ExceptionKind::MasterStopped,
            "the master stopped before it came to this procedure",
        );
        let now = now_ms(&*self.0.clock);
        waiting.into_iter().for_each(|id| state.finish(id, Err(stopped.clone()), now));
        self.0.changed.notify_all();
        while state.workers > 0 {
            state = self.0.wait(state);
        }
    }

    fn start_worker(&self, state: &mut ProcedureQueue) -> Result<(), CallError> {
        let inner = Arc::clone(&self.0);
        let thread = std::thread::Builder::new().name("halite-procedure".to_owned());
        match thread.spawn(move || inner.work()) {
            Ok(_) => state.workers += 1,
            // One of the other workers will run it.
            Err(_) if state.workers > 0 => {}
            Err(error) => {
                return Err(CallError::new(
                    ExceptionKind::Io,
                    format!("starting a thread for a procedure: {error}"),
                ));
            }
        }
        Ok(())
    }
}

/// Returns the time in milliseconds since 1970.
fn now_ms(clock: &dyn Clock) -> u64 {
    u64::try_from(clock.now_ms()).unwrap_or(0)
}

/// Wraps the work of a procedure to measure its duration.
fn timed(
    times: &Arc<[ProcedureTimes]>,
    kind: usize,
    work: impl FnOnce() -> Result<Bytes, CallError> + Send + 'static,
) -> ProcedureBody {
    let (times, began) = (Arc::clone(times), Instant::now());
    times[kind].submitted.fetch_add(1, Relaxed);
    Box::new(move || {
        let outcome = work();
        match &outcome {
            Ok(_) => times[kind].us.record(began.elapsed()),
            Err(_) => drop(times[kind].failed.fetch_add(1, Relaxed)),
        }
        outcome
    })
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, ProcedureQueue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, ProcedureQueue>) -> MutexGuard<'a, ProcedureQueue> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_a_moment<'a>(
        &self,
        mut state: MutexGuard<'a, ProcedureQueue>,
        id: u64,
    ) -> MutexGuard<'a, ProcedureQueue> {
        let end = Instant::now() + self.submit_wait;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let is_open =
                state.procedures.get(&id).is_some_and(|procedure| procedure.outcome.is_none());
            if !is_open || left.is_zero() {
                return state;
            }
            state =
                self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Runs the first procedure that may run now. Returns `true` if there was one.
    fn run_one<'a>(
        &'a self,
        mut state: MutexGuard<'a, ProcedureQueue>,
    ) -> (MutexGuard<'a, ProcedureQueue>, bool) {
        let Some((id, table, work)) = state.take(now_ms(&*self.clock)) else {
            return (state, false);
        };
        drop(state);
        // A panic is a bug in the server; the client receives an error and the worker continues.
        let outcome =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|_| {
                Err(CallError::do_not_retry(
                    "the procedure failed for a fault of the server; see its log",
                ))
            });
        state = self.lock();
        state.finish(id, outcome.map_err(|fault| fault.exception().clone()), now_ms(&*self.clock));
        if let Some(table) = table {
            state.busy.remove(&table);
        }
        self.changed.notify_all();
        (state, true)
    }

    /// Runs procedures until the executor is closed.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            let is_done;
            (state, is_done) = self.run_one(state);
            if is_done {
                continue;
            }
            if state.closed {
                state.workers -= 1;
                self.changed.notify_all();
                return;
            }
            state.idle += 1;
            state = self.wait(state);
            state.idle -= 1;
        }
    }
}

impl ProcedureQueue {
    fn add(&mut self, submission: Submission, work: ProcedureBody, now: u64) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        if submission.nonce.number != 0 {
            self.nonces.insert(submission.nonce, id);
        }
        let Submission { name, table, nonce, owner, bytes } = submission;
        self.procedures.insert(
            id,
            Procedure {
                name,
                owner,
                submitted_ms: now,
                updated_ms: now,
                outcome: None,
                nonce,
                finished: None,
            },
        );
        self.waiting.push_back(QueuedProcedure { id, table, work, bytes });
        id
    }

    /// Removes and returns the first procedure that may run now.
    fn take(&mut self, now: u64) -> Option<(u64, Option<TableName>, ProcedureBody)> {
        let index = self.waiting.iter().position(|waiting| {
            waiting.table.as_ref().is_none_or(|table| !self.busy.contains(table))
        })?;
        let QueuedProcedure { id, table, work, .. } = self.waiting.remove(index)?;
        self.busy.extend(table.clone());
        if let Some(procedure) = self.procedures.get_mut(&id) {
            procedure.updated_ms = now;
        }
        Some((id, table, work))
    }

    fn finish(&mut self, id: u64, outcome: Result<Bytes, Exception>, now: u64) {
        if let Some(procedure) = self.procedures.get_mut(&id) {
            procedure.outcome =
                Some(outcome.map_err(|exception| exception.shortened(MAX_FAILURE_BYTES)));
            procedure.updated_ms = now;
            procedure.finished = Some(Instant::now());
        }
    }

    fn evict_expired(&mut self) {
        let finished =
            self.procedures.values().filter(|procedure| procedure.finished.is_some()).count();
        let mut surplus = finished.saturating_sub(MAX_FINISHED_PROCEDURES);
        let nonces = &mut self.nonces;
        self.procedures.retain(|_, procedure| {
            let Some(finished) = procedure.finished else { return true };
            let is_kept = surplus == 0 && finished.elapsed() < EVICT_TTL;
            if !is_kept {
                surplus = surplus.saturating_sub(1);
                nonces.remove(&procedure.nonce);
            }
            is_kept
        });
    }
}

#[cfg(test)]
mod tests {
    use halite_engine::env::sim::SimClock;

    use std::sync::mpsc;

    use super::*;

    fn submission(table: Option<&str>, nonce: u64) -> Submission {
        let table = table.map(|name| name.parse().unwrap());
        Submission {
            name: "TestProcedure",
            table,
            nonce: Nonce { group: 1, number: nonce },
            owner: "me".to_owned(),
            bytes: 0,
        }
    }

    fn wait_for(procedures: &Procedures, id: u64) {
        while procedures.find(id).unwrap().outcome.is_none() {
            std::thread::yield_now();
        }
    }

    /// Initial time of the simulated clock.
    const FIRST_ID: u64 = 1_000_000_000_000;

    fn procedures(moment: Duration) -> Procedures {
        Procedures::new(&Machine::Os, Arc::new(SimClock::default()), moment)
    }

    fn outcome(procedures: &Procedures, id: u64) -> Option<Result<Bytes, Exception>> {
        procedures.find(id).unwrap().outcome
    }

    #[test]
    fn quick_procedure_finishes_before_submit_returns() {
        let procedures = procedures(SUBMIT_WAIT);
        let id =
            procedures.submit(submission(None, 0), || Ok(Bytes::from_static(b"done"))).unwrap();
        assert_eq!(
            (id, outcome(&procedures, id)),
            (FIRST_ID, Some(Ok(Bytes::from_static(b"done"))))
        );
        let id =
            procedures.submit(submission(None, 0), || Err(CallError::do_not_retry("no"))).unwrap();
        assert_eq!(outcome(&procedures, id).unwrap().unwrap_err().message(), "no");
        assert!(procedures.find(99).is_none());
        procedures.close();
    }

    #[test]
    fn procedure_submitted_twice_with_nonce_runs_once() {
        let procedures = procedures(SUBMIT_WAIT);
        let first = procedures.submit(submission(None, 5), || Ok(Bytes::new())).unwrap();
        assert_eq!(procedures.submit(submission(None, 5), || panic!("done twice")).unwrap(), first);
        assert_ne!(procedures.submit(submission(None, 6), || Ok(Bytes::new())).unwrap(), first);
        assert_ne!(procedures.submit(submission(None, 0), || Ok(Bytes::new())).unwrap(), first);
        procedures.close();
    }

    #[test]
    fn procedure_failure_message_is_truncated() {
        let procedures = procedures(SUBMIT_WAIT);
        let id = procedures
            .submit(submission(None, 0), || Err(CallError::do_not_retry("\u{e9}".repeat(1 << 20))))
            .unwrap();
        assert_eq!(
            outcome(&procedures, id).unwrap().unwrap_err().message().len(),
            MAX_FAILURE_BYTES + 2
        );
        procedures.close();
    }

    #[test]
    fn waiting_procedures_have_byte_limit() {
        let procedures = procedures(Duration::ZERO);
        let (go, wait) = mpsc::channel::<()>();
        let (begins, begun) = mpsc::channel::<()>();
        let first = move || {
            begins.send(()).unwrap();
            wait.recv().map(|()| Bytes::new()).map_err(|_| CallError::do_not_retry("gone"))
        };
        procedures.submit(submission(Some("t"), 0), first).unwrap();
        begun.recv().unwrap();
        let submit = |bytes| {
            procedures.submit(Submission { bytes, ..submission(Some("t"), 0) }, || Ok(Bytes::new()))
        };
        let ids =
            [MAX_WAITING_BYTES / 2, MAX_WAITING_BYTES / 2].map(|bytes| submit(bytes).unwrap());
        assert_eq!(submit(1).unwrap_err().exception().kind(), Some(ExceptionKind::CallQueueTooBig));
        go.send(()).unwrap();
        ids.into_iter().for_each(|id| wait_for(&procedures, id));
        submit(1).unwrap();
        procedures.close();
    }

    #[test]
    fn procedures_of_one_table_run_in_order() {
        let procedures = procedures(Duration::ZERO);
        let (go, wait) = mpsc::channel::<()>();
        let (say, said) = mpsc::channel();
        let tell = |what: &'static str| {
            let say = say.clone();
            move || {
                say.send(what).unwrap();
                Ok(Bytes::new())
            }
        };
        let first = tell("first");
        let slow = procedures
            .submit(submission(Some("t"), 0), move || {
                wait.recv().map_or_else(|_| Ok(Bytes::new()), |()| first())
            })
            .unwrap();
        assert_eq!(outcome(&procedures, slow), None);
        assert!(procedures.is_busy(&"t".parse().unwrap()));
        let next = procedures.submit(submission(Some("t"), 0), tell("second")).unwrap();
        let other = procedures.submit(submission(Some("u"), 0), tell("other")).unwrap();
        wait_for(&procedures, other);
        assert_eq!(outcome(&procedures, next), None);
        go.send(()).unwrap();
        assert_eq!(said.iter().take(3).collect::<Vec<_>>(), ["other", "first", "second"]);
        procedures.close();
    }

    #[test]
    fn panic_fails_procedure_and_keeps_worker() {
        let procedures = procedures(SUBMIT_WAIT);
        let id = procedures.submit(submission(Some("t"), 0), || panic!("ours")).unwrap();
        assert!(outcome(&procedures, id).unwrap().unwrap_err().is_do_not_retry());
        let id = procedures.submit(submission(Some("t"), 0), || Ok(Bytes::new())).unwrap();
        assert_eq!(outcome(&procedures, id), Some(Ok(Bytes::new())));
        procedures.close();
    }

    #[test]
    fn close_fails_waiting_procedures_and_rejects_new_ones() {
        let procedures = procedures(Duration::ZERO);
        let (go, wait) = mpsc::channel::<()>();
        let (begins, begun) = mpsc::channel::<()>();
        let first = move || {
            begins.send(()).unwrap();
            wait.recv().map(|()| Bytes::new()).map_err(|_| CallError::do_not_retry("gone"))
        };
        procedures.submit(submission(Some("t"), 0), first).unwrap();
        begun.recv().unwrap();
        let waiting = procedures.submit(submission(Some("t"), 0), || Ok(Bytes::new())).unwrap();
        let closing = procedures.clone();
        let thread = std::thread::spawn(move || closing.close());
        while procedures.submit(submission(None, 0), || Ok(Bytes::new())).is_ok() {
            std::thread::yield_now();
        }
        assert_eq!(
            outcome(&procedures, waiting).unwrap().unwrap_err().kind(),
            Some(ExceptionKind::MasterStopped)
        );
        go.send(()).unwrap();
        thread.join().unwrap();
    }
}
