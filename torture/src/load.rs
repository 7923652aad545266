//! Callers that write over the wire and remember what each row may hold: one state if every call on it was answered, more after a
//! call whose outcome is not known.
//!
//! A row belongs to one caller, so that the order of its writes is known. Counters that all callers share are known by their sums.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use halite::{
    Append, CheckAndMutate, ClientConfig, Cluster, CompactionKind, Delete, FamilyDescriptor, Get, Increment, Put, RemoteCluster, Row, RowMutations,
    RowOp, Scan, Table, TableDescriptor, TableExt as _, TableName,
};
use tokio::time::timeout;

/// No call takes longer, retries over a restart of the server included.
const CALL_LIMIT: Duration = Duration::from_secs(90);
/// Rows of one caller.
const ROWS: usize = 48;
/// Counters that all callers share.
const SHARED: usize = 4;
/// What an appended value may grow to before it is put anew.
const TEXT_BYTES_MAX: usize = 1500;
/// Writes of a row that are told when it is wrong.
const HISTORY: usize = 12;

const TABLE: &str = "torture";

/// What a row holds: `None` if it is not there.
type State = Option<Bytes>;

/// What a row is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// Put, deleted, checked and replaced; two families have the same value at any time.
    Register,
    /// Incremented.
    Counter,
    /// Appended to.
    Text,
}

struct Known {
    key: Bytes,
    used: Use,
    may_be: Vec<State>,
    history: VecDeque<String>,
}

impl Known {
    fn note(&mut self, what: String) {
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(what);
    }

    fn told(&self) -> String {
        self.history.iter().map(String::as_str).collect::<Vec<_>>().join("; ")
    }
}

/// What callers have done.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) acknowledged: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) reads: AtomicU64,
    pub(crate) failed_reads: AtomicU64,
    /// Wrong answers and calls that did not end.
    pub(crate) complaints: std::sync::Mutex<Vec<Complaint>>,
    /// Of calls that failed, the newest error.
    pub(crate) error: std::sync::Mutex<String>,
}

/// A call that went wrong.
#[derive(Clone, Debug)]
pub(crate) enum Complaint {
    /// It did not end.
    Hung(String),
    /// Its answer is not right.
    Wrong(String),
}

impl Figures {
    fn complain(&self, complaint: Complaint) {
        self.complaints.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(complaint);
    }

    fn fail(&self, error: &halite::Error) {
        self.failed.fetch_add(1, Relaxed);
        *self.error.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = error.to_string();
    }
}

/// A client that bears a server which is killed again and again.
pub(crate) fn config(uri: &str) -> halite::Result<ClientConfig> {
    let mut config = ClientConfig::from_uri(uri)?;
    (config.pause_ms, config.retries_max, config.failed_server_ms) = (20, 200, 20);
    (config.rpc_timeout_ms, config.operation_timeout_ms, config.connect_timeout_ms) = (20_000, 60_000, 2_000);
    Ok(config)
}

/// One that gives up soon.
pub(crate) fn impatient(uri: &str) -> halite::Result<ClientConfig> {
    let mut config = config(uri)?;
    (config.retries_max, config.operation_timeout_ms) = (2, 10_000);
    Ok(config)
}

fn name() -> TableName {
    TABLE.parse().expect("a name")
}

/// The table of the load.
pub(crate) fn table(cluster: &RemoteCluster) -> Arc<dyn Table> {
    cluster.table(&name())
}

/// Makes the table with some regions.
///
/// # Errors
/// The cluster's.
pub(crate) async fn create(cluster: &RemoteCluster, rng: &mut fastrand::Rng) -> halite::Result<()> {
    let compression = ["NONE", "SNAPPY", "ZSTD"][rng.usize(..3)];
    let encoding = ["NONE", "FAST_DIFF", "ROW_INDEX_V1"][rng.usize(..3)];
    let family =
        |name: &'static str| FamilyDescriptor::new(name).set("COMPRESSION", compression).set("DATA_BLOCK_ENCODING", encoding).set("BLOCKSIZE", 4096);
    let table = TableDescriptor::new(name()).family(family("a")).family(family("b").versions(3));
    let splits = (1..=rng.u32(..4)).map(|at| Bytes::from(format!("{:x}", at * 4 - 1))).collect();
    cluster.admin().create_table(table, splits).await
}

/// One caller with its rows.
struct Caller {
    table: Arc<dyn Table>,
    rng: fastrand::Rng,
    rows: Vec<Known>,
    /// Of each shared counter: what was acknowledged, and what is not known.
    shared: [(u64, u64); SHARED],
    number: usize,
    sequence: u64,
    value_bytes_max: usize,
}

/// Several callers, who write while they are told to.
pub(crate) struct Load {
    callers: Vec<Caller>,
    /// Shared counters as they were read last.
    counted: [u64; SHARED],
    pub(crate) figures: Arc<Figures>,
}

/// A load that is being carried out.
pub(crate) struct Running {
    stop: Arc<AtomicBool>,
    tasks: Vec<tokio::task::JoinHandle<Caller>>,
    counted: [u64; SHARED],
    figures: Arc<Figures>,
}

impl Load {
    /// Callers on these clusters, which are one.
    pub(crate) fn new(clusters: &[RemoteCluster], callers: usize, value_bytes_max: usize, rng: &mut fastrand::Rng) -> Self {
        let callers = (0..callers).map(|number| Caller::new(clusters[number % clusters.len()].table(&name()), number, value_bytes_max, rng.fork()));
        Self { callers: callers.collect(), counted: [0; SHARED], figures: Arc::default() }
    }

    /// Lets them begin.
    pub(crate) fn start(self) -> Running {
        let stop = Arc::new(AtomicBool::new(false));
        let begin = |mut caller: Caller| {
            let (stop, figures) = (Arc::clone(&stop), Arc::clone(&self.figures));
            tokio::spawn(async move {
                while !stop.load(Relaxed) && caller.step(&figures).await {}
                caller
            })
        };
        let tasks = self.callers.into_iter().map(begin).collect();
        Running { stop, tasks, counted: self.counted, figures: self.figures }
    }

    /// Reads everything and compares it with what was acknowledged. What was found is what is known from now on, unless the same process may
    /// still have a failed write that no reader sees and the next process finds in the log.
    ///
    /// # Errors
    /// A read that failed.
    pub(crate) async fn compare(&mut self, table: &Arc<dyn Table>, is_settled: bool) -> halite::Result<Vec<String>> {
        let mut found = BTreeMap::new();
        let mut stream = table.scan(Scan::all().max_result_bytes(100_000));
        while let Some(row) = stream.next().await? {
            found.insert(Bytes::copy_from_slice(row.key()), row);
        }
        let mut faults = Vec::new();
        self.compare_shared(&mut found, is_settled, &mut faults);
        for known in self.callers.iter_mut().flat_map(|caller| &mut caller.rows) {
            let row = found.remove(&known.key).unwrap_or_default();
            match state(known.used, &row) {
                Ok(state) if known.may_be.contains(&state) && is_settled => {
                    if known.may_be.len() > 1 {
                        known.note(format!("found to be {}", shown(&state)));
                    }
                    known.may_be = vec![state];
                }
                Ok(state) if known.may_be.contains(&state) => {}
                Ok(state) => {
                    let may_be = known.may_be.iter().map(shown).collect::<Vec<_>>().join(" or ");
                    faults.push(format!("row {} is {}, and was to be {may_be}; its last writes: {}", text(&known.key), shown(&state), known.told()));
                    known.may_be = vec![state];
                }
                Err(why) => faults.push(format!("row {}: {why}; its last writes: {}", text(&known.key), known.told())),
            }
        }
        faults.extend(found.keys().map(|key| format!("row {} was never written", text(key))));
        Ok(faults)
    }

    fn compare_shared(&mut self, found: &mut BTreeMap<Bytes, Row>, is_settled: bool, faults: &mut Vec<String>) {
        for (index, counted) in self.counted.iter_mut().enumerate() {
            let row = found.remove(&shared_key(index)).unwrap_or_default();
            let value = row.value("a", "n").and_then(|value| value.try_into().ok()).map_or(0, u64::from_be_bytes);
            let (mut least, mut unknown) = (*counted, 0);
            for caller in &mut self.callers {
                let (acknowledged, open) = caller.shared[index];
                if is_settled {
                    caller.shared[index] = (0, 0);
                }
                (least, unknown) = (least + acknowledged, unknown + open);
            }
            if !(least..=least + unknown).contains(&value) {
                faults.push(format!("counter {} is {value}; {least} were acknowledged, and {unknown} may be there", text(&shared_key(index))));
            }
            if is_settled {
                *counted = value;
            }
        }
    }

    /// Whether so many states are not known that little can be written.
    pub(crate) fn is_stuck(&self) -> bool {
        self.open_rows() * 2 > self.callers.len() * ROWS
    }

    /// Rows whose state is not known.
    pub(crate) fn open_rows(&self) -> usize {
        self.callers.iter().flat_map(|caller| &caller.rows).filter(|row| row.may_be.len() > 1).count()
    }
}

impl Running {
    /// Tells the callers to stop and waits until each has done so.
    ///
    /// # Errors
    /// One of them does not.
    pub(crate) async fn stop(self) -> Result<Load, String> {
        self.stop.store(true, Relaxed);
        let mut callers = Vec::new();
        for task in self.tasks {
            let joined = timeout(2 * CALL_LIMIT, task).await.map_err(|_| "a caller does not stop")?;
            callers.push(joined.map_err(|error| format!("a caller broke off: {error}"))?);
        }
        Ok(Load { callers, counted: self.counted, figures: self.figures })
    }
}

/// An operation on a row, and what it makes of each state.
struct Planned {
    row: usize,
    op: RowOp,
    /// What the row is afterwards, of what it was.
    after: Box<dyn Fn(&State) -> State + Send>,
    /// What a check-and-mutate has to answer.
    holds: Option<bool>,
    what: String,
}

impl Caller {
    fn new(table: Arc<dyn Table>, number: usize, value_bytes_max: usize, mut rng: fastrand::Rng) -> Self {
        let rows = (0..ROWS).map(|index| {
            let used = [Use::Register, Use::Register, Use::Counter, Use::Text][index % 4];
            let key = Bytes::from(format!("{:x}-{number}-{index:03}", rng.u32(..16)));
            Known { key, used, may_be: vec![None], history: VecDeque::new() }
        });
        Self { table, rows: rows.collect(), rng, shared: [(0, 0); SHARED], number, sequence: 0, value_bytes_max }
    }

    /// Does something; false if nothing more can be done, because no state is known or a call did not end.
    async fn step(&mut self, figures: &Figures) -> bool {
        match self.rng.u32(..20) {
            0..3 => self.read(figures).await,
            3 | 4 => self.count(figures).await,
            _ => self.write(figures).await,
        }
    }

    async fn read(&mut self, figures: &Figures) -> bool {
        let known = &self.rows[self.rng.usize(..ROWS)];
        let key = known.key.clone();
        let Ok(answer) = timeout(CALL_LIMIT, self.table.get_one(Get::new(key))).await else {
            figures.complain(Complaint::Hung(format!("a get of {} did not end within {CALL_LIMIT:?}", text(&known.key))));
            return false;
        };
        figures.reads.fetch_add(1, Relaxed);
        match answer.map(|row| state(known.used, &row.unwrap_or_default())) {
            Ok(Ok(state)) if known.may_be.contains(&state) => {}
            Ok(Ok(state)) => {
                let text = format!("a get of {} answered {}; its last writes: {}", text(&known.key), shown(&state), known.told());
                figures.complain(Complaint::Wrong(text));
            }
            Ok(Err(why)) => figures.complain(Complaint::Wrong(format!("row {}: {why}", text(&known.key)))),
            Err(error) => {
                figures.failed_reads.fetch_add(1, Relaxed);
                *figures.error.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = error.to_string();
            }
        }
        true
    }

    /// Increments a counter that others increment, too.
    async fn count(&mut self, figures: &Figures) -> bool {
        let (index, delta) = (self.rng.usize(..SHARED), self.rng.u64(1..5));
        let op = Increment::new(shared_key(index)).add("a", "n", delta.cast_signed());
        let Ok(answer) = timeout(CALL_LIMIT, self.table.apply_one(op.into())).await else {
            self.shared[index].1 += delta;
            figures.complain(Complaint::Hung(format!("an increment did not end within {CALL_LIMIT:?}")));
            return false;
        };
        match answer {
            Ok(_) => {
                self.shared[index].0 += delta;
                figures.acknowledged.fetch_add(1, Relaxed);
            }
            Err(error) => {
                self.shared[index].1 += delta;
                figures.fail(&error);
            }
        }
        true
    }

    async fn write(&mut self, figures: &Figures) -> bool {
        let mut rows: Vec<usize> = (0..ROWS).filter(|row| self.rows[*row].may_be.len() == 1).collect();
        self.rng.shuffle(&mut rows);
        let several = if self.rng.u32(..4) == 0 { self.rng.usize(2..9) } else { 1 };
        let planned: Vec<Planned> = rows.into_iter().take(several).map(|row| self.plan(row)).collect();
        if planned.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
            return true;
        }
        let ops = planned.iter().map(|planned| planned.op.clone()).collect();
        let Ok(answers) = timeout(CALL_LIMIT, self.table.apply(ops)).await else {
            figures.complain(Complaint::Hung(format!("a write did not end within {CALL_LIMIT:?}")));
            planned.into_iter().for_each(|planned| self.settle(planned, Err("hung"), figures));
            return false;
        };
        match answers {
            Ok(answers) => {
                for (planned, answer) in planned.into_iter().zip(answers) {
                    match answer {
                        Ok(answer) => self.settle(planned, Ok(&answer), figures),
                        Err(error) => {
                            figures.fail(&error);
                            self.settle(planned, Err("failed"), figures);
                        }
                    }
                }
            }
            Err(error) => {
                figures.fail(&error);
                planned.into_iter().for_each(|planned| self.settle(planned, Err("failed"), figures));
            }
        }
        true
    }

    /// Takes what came of an operation into what is known.
    fn settle(&mut self, planned: Planned, answer: Result<&halite::OpResult, &str>, figures: &Figures) {
        let Planned { row, after, holds, what, .. } = planned;
        let known = &mut self.rows[row];
        let afterwards = after(&known.may_be[0]);
        match answer {
            Ok(answer) => {
                figures.acknowledged.fetch_add(1, Relaxed);
                known.note(format!("{what}: done"));
                // One whose condition held may be told otherwise: it was applied, the server died, and it was sent again.
                if holds == Some(false) && answer.processed {
                    figures.complain(Complaint::Wrong(format!("row {}: {what} was done; its last writes: {}", text(&known.key), known.told())));
                }
                let new = answer.row.value("a", if known.used == Use::Counter { "n" } else { "t" });
                if let (Some(new), Some(wanted)) = (new, &afterwards)
                    && new != wanted
                {
                    let (is, was) = (shown(&Some(Bytes::copy_from_slice(new))), shown(&afterwards));
                    figures.complain(Complaint::Wrong(format!("row {}: {what} answered {is} and not {was}", text(&known.key))));
                }
                known.may_be = vec![afterwards];
            }
            Err(why) => {
                known.note(format!("{what}: {why}"));
                if !known.may_be.contains(&afterwards) {
                    known.may_be.push(afterwards);
                }
            }
        }
    }

    fn plan(&mut self, row: usize) -> Planned {
        self.sequence += 1;
        let (key, used, now) = (self.rows[row].key.clone(), self.rows[row].used, self.rows[row].may_be[0].clone());
        match used {
            Use::Register => self.plan_register(row, key, &now),
            Use::Counter => {
                let delta = self.rng.i64(-3..100);
                let after = move |state: &State| Some(Bytes::copy_from_slice(&(number(state) + delta).to_be_bytes()));
                let op = Increment::new(key).add("a", "n", delta).into();
                Planned { row, op, after: Box::new(after), holds: None, what: format!("increment by {delta}") }
            }
            Use::Text if now.as_ref().is_some_and(|text| text.len() > TEXT_BYTES_MAX) => {
                let op = Delete::new(key).into();
                Planned { row, op, after: Box::new(|_| None), holds: None, what: "delete".to_owned() }
            }
            Use::Text => {
                let piece = format!("{}.{};", self.number, self.sequence);
                let what = format!("append {piece}");
                let op = Append::new(key).add("a", "t", &piece).into();
                let after = move |state: &State| Some(Bytes::from([state.as_deref().unwrap_or_default(), piece.as_bytes()].concat()));
                Planned { row, op, after: Box::new(after), holds: None, what }
            }
        }
    }

    fn plan_register(&mut self, row: usize, key: Bytes, now: &State) -> Planned {
        let padding = self.rng.usize(..=self.value_bytes_max);
        let value = Bytes::from(format!("{}.{}.{}", self.number, self.sequence, "x".repeat(padding)));
        let put = Put::new(key.clone()).add("a", "v", &value).add("b", "v", &value);
        let put_it = move |value: Bytes| -> Box<dyn Fn(&State) -> State + Send> { Box::new(move |_| Some(value.clone())) };
        let named = |what: &str| format!("{what} {}.{}", self.number, self.sequence);
        match (self.rng.u32(..10), now) {
            (0, _) => Planned { row, op: Delete::new(key).into(), after: Box::new(|_| None), holds: None, what: named("delete") },
            (1 | 2, Some(now)) => {
                let op = CheckAndMutate::if_equals(key, "a", "v", now.clone(), put).into();
                Planned { row, op, after: put_it(value), holds: Some(true), what: named("check and put") }
            }
            (1 | 2, None) => {
                let op = CheckAndMutate::if_absent(key, "a", "v", put).into();
                Planned { row, op, after: put_it(value), holds: Some(true), what: named("check and put") }
            }
            (3, _) => {
                let op = CheckAndMutate::if_equals(key, "a", "v", "somebody else's", put).into();
                Planned { row, op, after: Box::new(Clone::clone), holds: Some(false), what: named("check of another value and put") }
            }
            (4, _) => {
                let op = RowMutations::new(key.clone()).then(Delete::new(key.clone()).column("b", "old")).then(put).into();
                Planned { row, op, after: put_it(value), holds: None, what: named("mutate row") }
            }
            _ => Planned { row, op: put.into(), after: put_it(value), holds: None, what: named("put") },
        }
    }
}

/// What a row holds by its use; an error if that cannot be, whatever was written.
fn state(used: Use, row: &Row) -> Result<State, String> {
    let value = |family: &str, qualifier: &str| row.value(family, qualifier).map(Bytes::copy_from_slice);
    match used {
        Use::Register if value("a", "v") != value("b", "v") => {
            Err(format!("its families differ: {} and {}", shown(&value("a", "v")), shown(&value("b", "v"))))
        }
        Use::Register => Ok(value("a", "v")),
        Use::Counter => Ok(value("a", "n")),
        Use::Text => Ok(value("a", "t")),
    }
}

fn number(state: &State) -> i64 {
    state.as_deref().and_then(|value| value.try_into().ok()).map_or(0, i64::from_be_bytes)
}

fn shared_key(index: usize) -> Bytes {
    Bytes::from(format!("{:x}-shared-{index}", index * 5))
}

fn text(key: &[u8]) -> String {
    halite::print_bytes(key)
}

/// A state by its beginning and its end.
fn shown(state: &State) -> String {
    match state {
        None => "absent".to_owned(),
        Some(value) if value.len() <= 40 => halite::print_bytes(value),
        Some(value) => format!("{}...{} ({} bytes)", text(&value[..24]), text(&value[value.len() - 16..]), value.len()),
    }
}

/// Flushes, compacts, splits and merges now and then, until it is told to stop.
pub(crate) async fn disturb(cluster: RemoteCluster, stop: Arc<AtomicBool>, mut rng: fastrand::Rng) -> Result<u64, String> {
    let (admin, name) = (cluster.admin(), name());
    let mut done = 0;
    while !stop.load(Relaxed) {
        tokio::time::sleep(Duration::from_millis(rng.u64(5..80))).await;
        let what = rng.u32(..8);
        let work = async {
            match what {
                0..3 => admin.flush(&name).await,
                3 => admin.compact(&name, None, CompactionKind::Minor).await,
                4 => admin.compact(&name, None, CompactionKind::Major).await,
                5 | 6 => {
                    let regions = cluster.table(&name).regions().await?;
                    let region = regions[rng.usize(..regions.len())].encoded_name.clone();
                    if regions.len() < 8 { admin.split_region(&region, None).await } else { Ok(()) }
                }
                _ => {
                    let regions = cluster.table(&name).regions().await?;
                    let Some(pair) = regions.windows(2).nth(rng.usize(..regions.len())) else { return Ok(()) };
                    admin.merge_regions(&pair[0].encoded_name, &pair[1].encoded_name, false).await
                }
            }
        };
        // That it fails is no fault: the server is killed, regions change, there is nothing to split.
        match timeout(CALL_LIMIT, work).await {
            Ok(result) => done += u64::from(result.is_ok()),
            Err(_) => return Err(format!("administrative call {what} did not end within {CALL_LIMIT:?}")),
        }
    }
    Ok(done)
}
