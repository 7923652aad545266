//! Procedures: work with an id that a client asks about until it is finished.
//!
//! A procedure waits for its turn in a list; whoever is free takes the first whose table nobody is working on, so the
//! procedures of one table run one after the other in the order they came, and those of different tables side by side. The
//! call that submits one waits a moment for it, since most take milliseconds, and answers with the id in any case.
//!
//! What a procedure came to is kept for [`KEPT`] after its end, as HBase does (`hbase.procedure.cleaner.evict.ttl`), and a
//! request that comes twice with the same nonce finds the procedure of the first.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use halite_engine::env::Clock;
use halite_types::TableName;
use halite_wire::exception::{Exception, ExceptionKind};

use crate::call::Fault;
use crate::metrics::Histogram;
use crate::outside::{Instant, Machine};

/// How long the outcome of a procedure is kept.
const KEPT: Duration = Duration::from_mins(15);
/// Outcomes kept at most; the oldest go first.
const FINISHED_MAX: usize = 10_000;
/// Bytes of the text of a failure that are kept: some of it is the client's own.
const FAILURE_BYTES_MAX: usize = 4 << 10;
/// Procedures that may wait for their turn, and bytes of the requests that asked for them, which have been answered and are kept by nobody
/// else.
const WAITING_MAX: usize = 1_000;
const WAITING_BYTES_MAX: usize = 64 << 20;
/// Threads that work on procedures.
const WORKERS_MAX: usize = 4;
/// How long a call that submits a procedure waits for it. A test waits until it is done, however slow the machine.
pub(crate) const MOMENT: Duration = if cfg!(test) { Duration::from_mins(10) } else { Duration::from_millis(300) };

/// What a procedure does; gives the bytes that HBase calls its result, empty for most.
type Work = Box<dyn FnOnce() -> Result<Bytes, Fault> + Send>;

/// The group and number that make a repeated request known; a number of 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Nonce {
    pub(crate) group: u64,
    pub(crate) number: u64,
}

/// What is submitted.
pub(crate) struct Submission {
    /// HBase's name of the class.
    pub(crate) name: &'static str,
    /// The table it works on, if it is one.
    pub(crate) table: Option<TableName>,
    pub(crate) nonce: Nonce,
    /// Who asked for it.
    pub(crate) owner: String,
    /// Bytes of what the work holds.
    pub(crate) bytes: usize,
}

/// Where a procedure stands.
#[derive(Clone, Debug)]
pub(crate) struct Procedure {
    pub(crate) name: &'static str,
    pub(crate) owner: String,
    /// Milliseconds since 1970.
    pub(crate) submitted_ms: u64,
    /// When its state changed last, in milliseconds since 1970.
    pub(crate) updated_ms: u64,
    /// `None` while it waits or runs.
    pub(crate) outcome: Option<Result<Bytes, Exception>>,
    nonce: Nonce,
    finished: Option<Instant>,
}

/// All procedures, and the threads that work on them. Cheap to share.
#[derive(Clone)]
pub(crate) struct Procedures(Arc<Inner>);

struct Inner {
    machine: Machine,
    clock: Arc<dyn Clock>,
    /// How long a call that submits a procedure waits for it.
    moment: Duration,
    state: Mutex<State>,
    /// A procedure was submitted, or one has ended, or everything ends.
    changed: Condvar,
    times: Arc<[ProcedureTimes]>,
}

/// The procedures that HBase's dashboards time, with what their attributes begin with.
const TIMED: [(&str, &str); 2] = [("SplitTableRegionProcedure", "Split"), ("MergeTableRegionsProcedure", "Merge")];

/// How the procedures of one name went.
pub(crate) struct ProcedureTimes {
    /// What HBase's attributes begin with.
    pub(crate) prefix: &'static str,
    pub(crate) submitted: AtomicU64,
    pub(crate) failed: AtomicU64,
    /// From the submission of one that did not fail to its end, in microseconds.
    pub(crate) us: Histogram,
}

/// One that has not begun.
struct Waiting {
    id: u64,
    table: Option<TableName>,
    work: Work,
    bytes: usize,
}

struct State {
    next_id: u64,
    procedures: BTreeMap<u64, Procedure>,
    nonces: HashMap<Nonce, u64>,
    waiting: VecDeque<Waiting>,
    /// Tables that somebody works on.
    busy: HashSet<TableName>,
    workers: usize,
    idle: usize,
    closed: bool,
}

impl Procedures {
    /// No procedures. Ids go up from the time, so that they are higher than those of an earlier process and nobody takes the
    /// outcome of another's procedure for that of his own. A call that submits one waits `moment` for it where there are threads.
    pub(crate) fn new(machine: &Machine, clock: Arc<dyn Clock>, moment: Duration) -> Self {
        let first_id = now_ms(&*clock);
        let moment = if matches!(machine, Machine::Os) { moment } else { Duration::ZERO };
        let state = State {
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
        Self(Arc::new(Inner { machine: machine.clone(), clock, moment, state: Mutex::new(state), changed: Condvar::new(), times: times.collect() }))
    }

    /// Submits a procedure, waits a moment for it, and gives its id. One with a nonce that is known already is not done
    /// again.
    ///
    /// # Errors
    /// When too many wait, or the server is stopping.
    pub(crate) fn submit(&self, submission: Submission, work: impl FnOnce() -> Result<Bytes, Fault> + Send + 'static) -> Result<u64, Fault> {
        let mut state = self.0.lock();
        state.forget_old();
        if let Some(&id) = state.nonces.get(&submission.nonce) {
            drop(self.0.wait_a_moment(state, id));
            return Ok(id);
        }
        if state.closed {
            return Err(Fault::new(ExceptionKind::MasterStopped, "the master is stopping"));
        }
        if state.waiting.len() >= WAITING_MAX {
            let text = format!("{WAITING_MAX} procedures wait for their turn already; try again when some of them are done");
            return Err(Fault::new(ExceptionKind::CallQueueTooBig, text));
        }
        let waiting_bytes = state.waiting.iter().map(|waiting| waiting.bytes).fold(submission.bytes, usize::saturating_add);
        // One alone may be as large as a request can be.
        if waiting_bytes > WAITING_BYTES_MAX && !state.waiting.is_empty() {
            let text = format!("procedures with {WAITING_BYTES_MAX} bytes wait for their turn already; try again when some of them are done");
            return Err(Fault::new(ExceptionKind::CallQueueTooBig, text));
        }
        if matches!(self.0.machine, Machine::Os) && state.waiting.len() >= state.idle && state.workers < WORKERS_MAX {
            self.start_worker(&mut state)?;
        }
        let times = TIMED.iter().position(|(name, _)| *name == submission.name);
        let work: Work = match times {
            Some(at) => timed(&self.0.times, at, work),
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

    /// How the procedures went that dashboards ask for.
    pub(crate) fn times(&self) -> &[ProcedureTimes] {
        &self.0.times
    }

    /// An id for something that clients ask about as if it were a procedure.
    pub(crate) fn take_id(&self) -> u64 {
        let mut state = self.0.lock();
        let id = state.next_id;
        state.next_id += 1;
        id
    }

    /// The procedure that a request with this nonce has started before.
    pub(crate) fn started_by(&self, nonce: Nonce) -> Option<u64> {
        self.0.lock().nonces.get(&nonce).copied()
    }

    /// Where a procedure stands; `None` if there never was one of this id or it is too long ago.
    pub(crate) fn find(&self, id: u64) -> Option<Procedure> {
        self.0.lock().procedures.get(&id).cloned()
    }

    /// Those that wait or run, and what is remembered of those that ended.
    pub(crate) fn all(&self) -> Vec<(u64, Procedure)> {
        self.0.lock().procedures.iter().map(|(id, procedure)| (*id, procedure.clone())).collect()
    }

    /// Whether something is being done, or is to be done, on a table.
    #[cfg(test)]
    pub(crate) fn is_busy(&self, table: &TableName) -> bool {
        let state = self.0.lock();
        state.busy.contains(table) || state.waiting.iter().any(|waiting| waiting.table.as_ref() == Some(table))
    }

    /// Takes no more, and lets the threads end after what they are at. What waits is not done.
    pub(crate) fn close(&self) {
        let mut state = self.0.lock();
        state.closed = true;
        let waiting: Vec<u64> = state.waiting.drain(..).map(|waiting| waiting.id).collect();
        let stopped = Exception::new(ExceptionKind::MasterStopped, "the master stopped before it came to this procedure");
        let now = now_ms(&*self.0.clock);
        waiting.into_iter().for_each(|id| state.finish(id, Err(stopped.clone()), now));
        self.0.changed.notify_all();
        while state.workers > 0 {
            state = self.0.wait(state);
        }
    }

    fn start_worker(&self, state: &mut State) -> Result<(), Fault> {
        let inner = Arc::clone(&self.0);
        let thread = std::thread::Builder::new().name("halite-procedure".to_owned());
        match thread.spawn(move || inner.work()) {
            Ok(_) => state.workers += 1,
            // One of the others will come to it.
            Err(_) if state.workers > 0 => {}
            Err(error) => return Err(Fault::new(ExceptionKind::Io, format!("starting a thread for a procedure: {error}"))),
        }
        Ok(())
    }
}

/// Milliseconds since 1970.
fn now_ms(clock: &dyn Clock) -> u64 {
    u64::try_from(clock.now_ms()).unwrap_or(0)
}

/// The work of a procedure whose time is taken.
fn timed(times: &Arc<[ProcedureTimes]>, at: usize, work: impl FnOnce() -> Result<Bytes, Fault> + Send + 'static) -> Work {
    let (times, began) = (Arc::clone(times), Instant::now());
    times[at].submitted.fetch_add(1, Relaxed);
    Box::new(move || {
        let outcome = work();
        match &outcome {
            Ok(_) => times[at].us.record(began.elapsed()),
            Err(_) => drop(times[at].failed.fetch_add(1, Relaxed)),
        }
        outcome
    })
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_a_moment<'a>(&self, mut state: MutexGuard<'a, State>, id: u64) -> MutexGuard<'a, State> {
        let end = Instant::now() + self.moment;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let is_open = state.procedures.get(&id).is_some_and(|procedure| procedure.outcome.is_none());
            if !is_open || left.is_zero() {
                return state;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Does the first procedure that may be done now; whether there was one.
    fn run_one<'a>(&'a self, mut state: MutexGuard<'a, State>) -> (MutexGuard<'a, State>, bool) {
        let Some((id, table, work)) = state.take(now_ms(&*self.clock)) else { return (state, false) };
        drop(state);
        // A panic is a fault of ours; the client is told and the worker goes on.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
            .unwrap_or_else(|_| Err(Fault::do_not_retry("the procedure failed for a fault of the server; see its log")));
        state = self.lock();
        state.finish(id, outcome.map_err(|fault| fault.exception().clone()), now_ms(&*self.clock));
        if let Some(table) = table {
            state.busy.remove(&table);
        }
        self.changed.notify_all();
        (state, true)
    }

    /// What a worker does until everything ends.
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

impl State {
    fn add(&mut self, submission: Submission, work: Work, now: u64) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        if submission.nonce.number != 0 {
            self.nonces.insert(submission.nonce, id);
        }
        let Submission { name, table, nonce, owner, bytes } = submission;
        self.procedures.insert(id, Procedure { name, owner, submitted_ms: now, updated_ms: now, outcome: None, nonce, finished: None });
        self.waiting.push_back(Waiting { id, table, work, bytes });
        id
    }

    /// The first that may run now.
    fn take(&mut self, now: u64) -> Option<(u64, Option<TableName>, Work)> {
        let at = self.waiting.iter().position(|waiting| waiting.table.as_ref().is_none_or(|table| !self.busy.contains(table)))?;
        let Waiting { id, table, work, .. } = self.waiting.remove(at)?;
        self.busy.extend(table.clone());
        if let Some(procedure) = self.procedures.get_mut(&id) {
            procedure.updated_ms = now;
        }
        Some((id, table, work))
    }

    fn finish(&mut self, id: u64, outcome: Result<Bytes, Exception>, now: u64) {
        if let Some(procedure) = self.procedures.get_mut(&id) {
            procedure.outcome = Some(outcome.map_err(|exception| exception.shortened(FAILURE_BYTES_MAX)));
            procedure.updated_ms = now;
            procedure.finished = Some(Instant::now());
        }
    }

    fn forget_old(&mut self) {
        let finished = self.procedures.values().filter(|procedure| procedure.finished.is_some()).count();
        let mut surplus = finished.saturating_sub(FINISHED_MAX);
        let nonces = &mut self.nonces;
        self.procedures.retain(|_, procedure| {
            let Some(finished) = procedure.finished else { return true };
            let is_kept = surplus == 0 && finished.elapsed() < KEPT;
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
        Submission { name: "TestProcedure", table, nonce: Nonce { group: 1, number: nonce }, owner: "me".to_owned(), bytes: 0 }
    }

    fn wait_for(procedures: &Procedures, id: u64) {
        while procedures.find(id).unwrap().outcome.is_none() {
            std::thread::yield_now();
        }
    }

    /// What the simulated clock says at first.
    const FIRST_ID: u64 = 1_000_000_000_000;

    fn procedures(moment: Duration) -> Procedures {
        Procedures::new(&Machine::Os, Arc::new(SimClock::default()), moment)
    }

    fn outcome(procedures: &Procedures, id: u64) -> Option<Result<Bytes, Exception>> {
        procedures.find(id).unwrap().outcome
    }

    #[test]
    fn what_is_quick_is_finished_when_its_id_is_known() {
        let procedures = procedures(MOMENT);
        let id = procedures.submit(submission(None, 0), || Ok(Bytes::from_static(b"done"))).unwrap();
        assert_eq!((id, outcome(&procedures, id)), (FIRST_ID, Some(Ok(Bytes::from_static(b"done")))));
        let id = procedures.submit(submission(None, 0), || Err(Fault::do_not_retry("no"))).unwrap();
        assert_eq!(outcome(&procedures, id).unwrap().unwrap_err().message(), "no");
        assert!(procedures.find(99).is_none());
        procedures.close();
    }

    #[test]
    fn a_request_that_comes_twice_is_done_once() {
        let procedures = procedures(MOMENT);
        let first = procedures.submit(submission(None, 5), || Ok(Bytes::new())).unwrap();
        assert_eq!(procedures.submit(submission(None, 5), || panic!("done twice")).unwrap(), first);
        assert_ne!(procedures.submit(submission(None, 6), || Ok(Bytes::new())).unwrap(), first);
        assert_ne!(procedures.submit(submission(None, 0), || Ok(Bytes::new())).unwrap(), first);
        procedures.close();
    }

    #[test]
    fn of_a_failure_no_more_is_kept_than_somebody_reads() {
        let procedures = procedures(MOMENT);
        let id = procedures.submit(submission(None, 0), || Err(Fault::do_not_retry("\u{e9}".repeat(1 << 20)))).unwrap();
        assert_eq!(outcome(&procedures, id).unwrap().unwrap_err().message().len(), FAILURE_BYTES_MAX + 2);
        procedures.close();
    }

    #[test]
    fn what_waits_has_a_limit_in_bytes() {
        let procedures = procedures(Duration::ZERO);
        let (go, wait) = mpsc::channel::<()>();
        let (begins, begun) = mpsc::channel::<()>();
        let first = move || {
            begins.send(()).unwrap();
            wait.recv().map(|()| Bytes::new()).map_err(|_| Fault::do_not_retry("gone"))
        };
        procedures.submit(submission(Some("t"), 0), first).unwrap();
        begun.recv().unwrap();
        let submit = |bytes| procedures.submit(Submission { bytes, ..submission(Some("t"), 0) }, || Ok(Bytes::new()));
        let ids = [WAITING_BYTES_MAX / 2, WAITING_BYTES_MAX / 2].map(|bytes| submit(bytes).unwrap());
        assert_eq!(submit(1).unwrap_err().exception().kind(), Some(ExceptionKind::CallQueueTooBig));
        go.send(()).unwrap();
        ids.into_iter().for_each(|id| wait_for(&procedures, id));
        submit(1).unwrap();
        procedures.close();
    }

    #[test]
    fn procedures_of_one_table_keep_their_order_and_others_pass_them() {
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
        let slow = procedures.submit(submission(Some("t"), 0), move || wait.recv().map_or_else(|_| Ok(Bytes::new()), |()| first())).unwrap();
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
    fn a_panic_ends_the_procedure_and_not_the_worker() {
        let procedures = procedures(MOMENT);
        let id = procedures.submit(submission(Some("t"), 0), || panic!("ours")).unwrap();
        assert!(outcome(&procedures, id).unwrap().unwrap_err().is_do_not_retry());
        let id = procedures.submit(submission(Some("t"), 0), || Ok(Bytes::new())).unwrap();
        assert_eq!(outcome(&procedures, id), Some(Ok(Bytes::new())));
        procedures.close();
    }

    #[test]
    fn what_waits_at_the_end_is_told_so_and_nothing_more_is_taken() {
        let procedures = procedures(Duration::ZERO);
        let (go, wait) = mpsc::channel::<()>();
        let (begins, begun) = mpsc::channel::<()>();
        let first = move || {
            begins.send(()).unwrap();
            wait.recv().map(|()| Bytes::new()).map_err(|_| Fault::do_not_retry("gone"))
        };
        procedures.submit(submission(Some("t"), 0), first).unwrap();
        begun.recv().unwrap();
        let waiting = procedures.submit(submission(Some("t"), 0), || Ok(Bytes::new())).unwrap();
        let closing = procedures.clone();
        let thread = std::thread::spawn(move || closing.close());
        while procedures.submit(submission(None, 0), || Ok(Bytes::new())).is_ok() {
            std::thread::yield_now();
        }
        assert_eq!(outcome(&procedures, waiting).unwrap().unwrap_err().kind(), Some(ExceptionKind::MasterStopped));
        go.send(()).unwrap();
        thread.join().unwrap();
    }
}
