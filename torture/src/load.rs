//! Callers that write over the wire and track the possible states of each row: one state if every
//! call on it was answered, several after a call with an unknown outcome.
//!
//! A row belongs to one caller, so that the order of its writes is known. The counters shared by
//! all callers are verified by their sums.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use halite::{
    Append, CheckAndMutate, ClientConfig, Cluster, CompactionKind, Delete, FamilyDescriptor, Get,
    Increment, Put, RemoteCluster, Row, RowMutations, RowOp, Scan, Table, TableDescriptor,
    TableExt as _, TableName,
};
use tokio::time::timeout;

/// Maximum duration of a call, including retries over a restart of the server.
const CALL_LIMIT: Duration = Duration::from_secs(90);
/// Rows per caller.
const ROWS: usize = 48;
/// Counters shared by all callers.
const SHARED: usize = 4;
/// Maximum size of an appended value before it is replaced.
const MAX_TEXT_BYTES: usize = 1500;
/// Maximum number of writes printed for an incorrect row.
const MAX_HISTORY: usize = 12;

const TABLE: &str = "torture";

/// Value of a row; `None` if it does not exist.
type State = Option<Bytes>;

/// Use of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowUse {
    /// Put, deleted, checked and replaced; two families always have the same value.
    Register,
    /// Incremented.
    Counter,
    /// Appended to.
    Text,
}

struct TrackedRow {
    key: Bytes,
    row_use: RowUse,
    possible_states: Vec<State>,
    history: VecDeque<String>,
}

impl TrackedRow {
    fn record(&mut self, description: String) {
        if self.history.len() == MAX_HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(description);
    }

    fn history_text(&self) -> String {
        self.history.iter().map(String::as_str).collect::<Vec<_>>().join("; ")
    }
}

/// Counters and complaints of the callers.
#[derive(Debug, Default)]
pub(crate) struct LoadMetrics {
    pub(crate) acknowledged: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) reads: AtomicU64,
    pub(crate) failed_reads: AtomicU64,
    /// Incorrect results and calls that did not end.
    pub(crate) complaints: std::sync::Mutex<Vec<Complaint>>,
    /// Newest error of the failed calls.
    pub(crate) error: std::sync::Mutex<String>,
}

/// Failed expectation of a call.
#[derive(Clone, Debug)]
pub(crate) enum Complaint {
    /// It did not end.
    Hung(String),
    /// Its result is incorrect.
    Wrong(String),
}

impl LoadMetrics {
    fn complain(&self, complaint: Complaint) {
        self.complaints.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(complaint);
    }

    fn fail(&self, error: &halite::Error) {
        self.failed.fetch_add(1, Relaxed);
        *self.error.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = error.to_string();
    }
}

/// Returns the configuration of a client that tolerates repeated kills of the server.
pub(crate) fn config(uri: &str) -> halite::Result<ClientConfig> {
    let mut config = ClientConfig::from_uri(uri)?;
    (config.pause_ms, config.max_retries, config.failed_server_expiry_ms) = (20, 200, 20);
    (config.rpc_timeout_ms, config.operation_timeout_ms, config.connect_timeout_ms) =
        (20_000, 60_000, 2_000);
    Ok(config)
}

/// Returns the configuration of a client that gives up early.
pub(crate) fn impatient(uri: &str) -> halite::Result<ClientConfig> {
    let mut config = config(uri)?;
    (config.max_retries, config.operation_timeout_ms) = (2, 10_000);
    Ok(config)
}

fn name() -> TableName {
    TABLE.parse().expect("a name")
}

/// Returns the table of the load.
pub(crate) fn table(cluster: &RemoteCluster) -> Arc<dyn Table> {
    cluster.table(&name())
}

/// Creates the table with some regions.
///
/// # Errors
/// Returns an error of the cluster.
pub(crate) async fn create(cluster: &RemoteCluster, rng: &mut fastrand::Rng) -> halite::Result<()> {
    let compression = ["NONE", "SNAPPY", "ZSTD"][rng.usize(..3)];
    let encoding = ["NONE", "FAST_DIFF", "ROW_INDEX_V1"][rng.usize(..3)];
    let family = |name: &'static str| {
        FamilyDescriptor::new(name)
            .set("COMPRESSION", compression)
            .set("DATA_BLOCK_ENCODING", encoding)
            .set("BLOCKSIZE", 4096)
    };
    let table = TableDescriptor::new(name()).family(family("a")).family(family("b").versions(3));
    let splits = (1..=rng.u32(..4)).map(|at| Bytes::from(format!("{:x}", at * 4 - 1))).collect();
    cluster.admin().create_table(table, splits).await
}

/// Caller with its rows.
struct Caller {
    table: Arc<dyn Table>,
    rng: fastrand::Rng,
    rows: Vec<TrackedRow>,
    /// Acknowledged and uncertain sums of each shared counter.
    shared: [(u64, u64); SHARED],
    number: usize,
    sequence: u64,
    max_value_bytes: usize,
}

/// Several callers that write until they are stopped.
pub(crate) struct Load {
    callers: Vec<Caller>,
    /// Shared counters at the last read.
    counted: [u64; SHARED],
    pub(crate) metrics: Arc<LoadMetrics>,
}

/// Load in progress.
pub(crate) struct RunningLoad {
    stop: Arc<AtomicBool>,
    tasks: Vec<tokio::task::JoinHandle<Caller>>,
    counted: [u64; SHARED],
    metrics: Arc<LoadMetrics>,
}

impl Load {
    /// Creates callers on these clients of one cluster.
    pub(crate) fn new(
        clusters: &[RemoteCluster],
        callers: usize,
        max_value_bytes: usize,
        rng: &mut fastrand::Rng,
    ) -> Self {
        let callers = (0..callers).map(|number| {
            Caller::new(
                clusters[number % clusters.len()].table(&name()),
                number,
                max_value_bytes,
                rng.fork(),
            )
        });
        Self { callers: callers.collect(), counted: [0; SHARED], metrics: Arc::default() }
    }

    /// Starts the callers.
    pub(crate) fn start(self) -> RunningLoad {
        let stop = Arc::new(AtomicBool::new(false));
        let begin = |mut caller: Caller| {
            let (stop, metrics) = (Arc::clone(&stop), Arc::clone(&self.metrics));
            tokio::spawn(async move {
                while !stop.load(Relaxed) && caller.step(&metrics).await {}
                caller
            })
        };
        let tasks = self.callers.into_iter().map(begin).collect();
        RunningLoad { stop, tasks, counted: self.counted, metrics: self.metrics }
    }

    /// Reads everything and compares it with the acknowledged writes. The values read become the
    /// known state, unless the same process may still have a failed write that no reader sees and
    /// that the next process replays from the log.
    ///
    /// # Errors
    /// Returns the error of a failed read.
    pub(crate) async fn compare(
        &mut self,
        table: &Arc<dyn Table>,
        is_settled: bool,
    ) -> halite::Result<Vec<String>> {
        let mut found = BTreeMap::new();
        let mut stream = table.scan(Scan::all().max_result_bytes(100_000));
        while let Some(row) = stream.next().await? {
            found.insert(Bytes::copy_from_slice(row.key()), row);
        }
        let mut faults = Vec::new();
        self.compare_shared(&mut found, is_settled, &mut faults);
        for known in self.callers.iter_mut().flat_map(|caller| &mut caller.rows) {
            let row = found.remove(&known.key).unwrap_or_default();
            match state(known.row_use, &row) {
                Ok(state) if known.possible_states.contains(&state) && is_settled => {
                    if known.possible_states.len() > 1 {
                        known.record(format!("found to be {}", format_state(&state)));
                    }
                    known.possible_states = vec![state];
                }
                Ok(state) if known.possible_states.contains(&state) => {}
                Ok(state) => {
                    let may_be = known
                        .possible_states
                        .iter()
                        .map(format_state)
                        .collect::<Vec<_>>()
                        .join(" or ");
                    faults.push(format!(
                        "row {} is {}, expected {may_be}; its last writes: {}",
                        text(&known.key),
                        format_state(&state),
                        known.history_text()
                    ));
                    known.possible_states = vec![state];
                }
                Err(why) => faults.push(format!(
                    "row {}: {why}; its last writes: {}",
                    text(&known.key),
                    known.history_text()
                )),
            }
        }
        faults.extend(found.keys().map(|key| format!("row {} was never written", text(key))));
        Ok(faults)
    }

    fn compare_shared(
        &mut self,
        found: &mut BTreeMap<Bytes, Row>,
        is_settled: bool,
        faults: &mut Vec<String>,
    ) {
        for (index, counted) in self.counted.iter_mut().enumerate() {
            let row = found.remove(&shared_key(index)).unwrap_or_default();
            let value = row
                .value("a", "n")
                .and_then(|value| value.try_into().ok())
                .map_or(0, u64::from_be_bytes);
            let (mut min, mut unknown) = (*counted, 0);
            for caller in &mut self.callers {
                let (acknowledged, open) = caller.shared[index];
                if is_settled {
                    caller.shared[index] = (0, 0);
                }
                (min, unknown) = (min + acknowledged, unknown + open);
            }
            if !(min..=min + unknown).contains(&value) {
                faults.push(format!(
                    "counter {} is {value}; {min} were acknowledged, and {unknown} may have been \
                     applied",
                    text(&shared_key(index))
                ));
            }
            if is_settled {
                *counted = value;
            }
        }
    }

    /// Returns `true` if most states are unknown, so that few writes are possible.
    pub(crate) fn is_stuck(&self) -> bool {
        self.uncertain_rows() * 2 > self.callers.len() * ROWS
    }

    /// Returns the number of rows with an unknown state.
    pub(crate) fn uncertain_rows(&self) -> usize {
        self.callers
            .iter()
            .flat_map(|caller| &caller.rows)
            .filter(|row| row.possible_states.len() > 1)
            .count()
    }
}

impl RunningLoad {
    /// Stops the callers and waits for each of them.
    ///
    /// # Errors
    /// Returns an error if one of them does not stop.
    pub(crate) async fn stop(self) -> Result<Load, String> {
        self.stop.store(true, Relaxed);
        let mut callers = Vec::new();
        for task in self.tasks {
            let joined =
                timeout(2 * CALL_LIMIT, task).await.map_err(|_| "a caller does not stop")?;
            callers.push(joined.map_err(|error| format!("a caller panicked: {error}"))?);
        }
        Ok(Load { callers, counted: self.counted, metrics: self.metrics })
    }
}

/// Operation on a row, and its effect on each state.
struct PlannedOp {
    row: usize,
    op: RowOp,
    /// Returns the state of the row after the operation.
    after: Box<dyn Fn(&State) -> State + Send>,
    /// Expected outcome of a check-and-mutate.
    holds: Option<bool>,
    description: String,
}

impl Caller {
    fn new(
        table: Arc<dyn Table>,
        number: usize,
        max_value_bytes: usize,
        mut rng: fastrand::Rng,
    ) -> Self {
        let rows = (0..ROWS).map(|index| {
            let used =
                [RowUse::Register, RowUse::Register, RowUse::Counter, RowUse::Text][index % 4];
            let key = Bytes::from(format!("{:x}-{number}-{index:03}", rng.u32(..16)));
            TrackedRow { key, row_use: used, possible_states: vec![None], history: VecDeque::new() }
        });
        Self {
            table,
            rows: rows.collect(),
            rng,
            shared: [(0, 0); SHARED],
            number,
            sequence: 0,
            max_value_bytes,
        }
    }

    /// Executes one step. Returns `false` if no further step is possible, because no state is known
    /// or a call did not end.
    async fn step(&mut self, metrics: &LoadMetrics) -> bool {
        match self.rng.u32(..20) {
            0..3 => self.read(metrics).await,
            3 | 4 => self.count(metrics).await,
            _ => self.write(metrics).await,
        }
    }

    async fn read(&mut self, metrics: &LoadMetrics) -> bool {
        let known = &self.rows[self.rng.usize(..ROWS)];
        let key = known.key.clone();
        let Ok(answer) = timeout(CALL_LIMIT, self.table.get(Get::new(key))).await else {
            metrics.complain(Complaint::Hung(format!(
                "a get of {} did not finish within {CALL_LIMIT:?}",
                text(&known.key)
            )));
            return false;
        };
        metrics.reads.fetch_add(1, Relaxed);
        match answer.map(|row| state(known.row_use, &row)) {
            Ok(Ok(state)) if known.possible_states.contains(&state) => {}
            Ok(Ok(state)) => {
                let text = format!(
                    "a get of {} returned {}; its last writes: {}",
                    text(&known.key),
                    format_state(&state),
                    known.history_text()
                );
                metrics.complain(Complaint::Wrong(text));
            }
            Ok(Err(why)) => {
                metrics.complain(Complaint::Wrong(format!("row {}: {why}", text(&known.key))));
            }
            Err(error) => {
                metrics.failed_reads.fetch_add(1, Relaxed);
                *metrics.error.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
                    error.to_string();
            }
        }
        true
    }

    /// Increments a counter that other callers increment, too.
    async fn count(&mut self, metrics: &LoadMetrics) -> bool {
        let (index, delta) = (self.rng.usize(..SHARED), self.rng.u64(1..5));
        let op = Increment::new(shared_key(index)).add("a", "n", delta.cast_signed());
        let Ok(answer) = timeout(CALL_LIMIT, self.table.mutate(op.into())).await else {
            self.shared[index].1 += delta;
            metrics.complain(Complaint::Hung(format!(
                "an increment did not finish within {CALL_LIMIT:?}"
            )));
            return false;
        };
        match answer {
            Ok(_) => {
                self.shared[index].0 += delta;
                metrics.acknowledged.fetch_add(1, Relaxed);
            }
            Err(error) => {
                self.shared[index].1 += delta;
                metrics.fail(&error);
            }
        }
        true
    }

    async fn write(&mut self, metrics: &LoadMetrics) -> bool {
        let mut rows: Vec<usize> =
            (0..ROWS).filter(|row| self.rows[*row].possible_states.len() == 1).collect();
        self.rng.shuffle(&mut rows);
        let several = if self.rng.u32(..4) == 0 { self.rng.usize(2..9) } else { 1 };
        let planned: Vec<PlannedOp> =
            rows.into_iter().take(several).map(|row| self.plan(row)).collect();
        if planned.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
            return true;
        }
        let ops = planned.iter().map(|planned| planned.op.clone()).collect();
        let Ok(answers) = timeout(CALL_LIMIT, self.table.batch(ops)).await else {
            metrics
                .complain(Complaint::Hung(format!("a write did not finish within {CALL_LIMIT:?}")));
            planned
                .into_iter()
                .for_each(|planned| self.apply_result(planned, Err("hung"), metrics));
            return false;
        };
        match answers {
            Ok(answers) => {
                for (planned, answer) in planned.into_iter().zip(answers) {
                    match answer {
                        Ok(answer) => self.apply_result(planned, Ok(&answer), metrics),
                        Err(error) => {
                            metrics.fail(&error);
                            self.apply_result(planned, Err("failed"), metrics);
                        }
                    }
                }
            }
            Err(error) => {
                metrics.fail(&error);
                planned
                    .into_iter()
                    .for_each(|planned| self.apply_result(planned, Err("failed"), metrics));
            }
        }
        true
    }

    /// Updates the known state with the result of an operation.
    fn apply_result(
        &mut self,
        planned: PlannedOp,
        answer: Result<&halite::OpResult, &str>,
        metrics: &LoadMetrics,
    ) {
        let PlannedOp { row, after, holds, description, .. } = planned;
        let known = &mut self.rows[row];
        let afterwards = after(&known.possible_states[0]);
        match answer {
            Ok(answer) => {
                metrics.acknowledged.fetch_add(1, Relaxed);
                known.record(format!("{description}: done"));
                // The result of one whose condition held may differ: it was applied, the server
                // died, and it was sent again.
                if holds == Some(false) && answer.processed {
                    metrics.complain(Complaint::Wrong(format!(
                        "row {}: {description} was done; its last writes: {}",
                        text(&known.key),
                        known.history_text()
                    )));
                }
                let new =
                    answer.row.value("a", if known.row_use == RowUse::Counter { "n" } else { "t" });
                if let (Some(new), Some(wanted)) = (new, &afterwards)
                    && new != wanted
                {
                    let (is, was) = (
                        format_state(&Some(Bytes::copy_from_slice(new))),
                        format_state(&afterwards),
                    );
                    metrics.complain(Complaint::Wrong(format!(
                        "row {}: {description} returned {is}, expected {was}",
                        text(&known.key)
                    )));
                }
                known.possible_states = vec![afterwards];
            }
            Err(why) => {
                known.record(format!("{description}: {why}"));
                if !known.possible_states.contains(&afterwards) {
                    known.possible_states.push(afterwards);
                }
            }
        }
    }

    fn plan(&mut self, row: usize) -> PlannedOp {
        self.sequence += 1;
        let (key, used, now) = (
            self.rows[row].key.clone(),
            self.rows[row].row_use,
            self.rows[row].possible_states[0].clone(),
        );
        match used {
            RowUse::Register => self.plan_register(row, key, &now),
            RowUse::Counter => {
                let delta = self.rng.i64(-3..100);
                let after = move |state: &State| {
                    Some(Bytes::copy_from_slice(&(number(state) + delta).to_be_bytes()))
                };
                let op = Increment::new(key).add("a", "n", delta).into();
                PlannedOp {
                    row,
                    op,
                    after: Box::new(after),
                    holds: None,
                    description: format!("increment by {delta}"),
                }
            }
            RowUse::Text if now.as_ref().is_some_and(|text| text.len() > MAX_TEXT_BYTES) => {
                let op = Delete::new(key).into();
                PlannedOp {
                    row,
                    op,
                    after: Box::new(|_| None),
                    holds: None,
                    description: "delete".to_owned(),
                }
            }
            RowUse::Text => {
                let piece = format!("{}.{};", self.number, self.sequence);
                let description = format!("append {piece}");
                let op = Append::new(key).add("a", "t", &piece).into();
                let after = move |state: &State| {
                    Some(Bytes::from(
                        [state.as_deref().unwrap_or_default(), piece.as_bytes()].concat(),
                    ))
                };
                PlannedOp { row, op, after: Box::new(after), holds: None, description }
            }
        }
    }

    fn plan_register(&mut self, row: usize, key: Bytes, now: &State) -> PlannedOp {
        let padding = self.rng.usize(..=self.max_value_bytes);
        let value =
            Bytes::from(format!("{}.{}.{}", self.number, self.sequence, "x".repeat(padding)));
        let put = Put::new(key.clone()).add("a", "v", &value).add("b", "v", &value);
        let put_it = move |value: Bytes| -> Box<dyn Fn(&State) -> State + Send> {
            Box::new(move |_| Some(value.clone()))
        };
        let named = |description: &str| format!("{description} {}.{}", self.number, self.sequence);
        match (self.rng.u32(..10), now) {
            (0, _) => PlannedOp {
                row,
                op: Delete::new(key).into(),
                after: Box::new(|_| None),
                holds: None,
                description: named("delete"),
            },
            (1 | 2, Some(now)) => {
                let op = CheckAndMutate::if_equals(key, "a", "v", now.clone(), put).into();
                PlannedOp {
                    row,
                    op,
                    after: put_it(value),
                    holds: Some(true),
                    description: named("check and put"),
                }
            }
            (1 | 2, None) => {
                let op = CheckAndMutate::if_not_exists(key, "a", "v", put).into();
                PlannedOp {
                    row,
                    op,
                    after: put_it(value),
                    holds: Some(true),
                    description: named("check and put"),
                }
            }
            (3, _) => {
                let op = CheckAndMutate::if_equals(key, "a", "v", "another client's", put).into();
                PlannedOp {
                    row,
                    op,
                    after: Box::new(Clone::clone),
                    holds: Some(false),
                    description: named("check of another value and put"),
                }
            }
            (4, _) => {
                let op = RowMutations::new(key.clone())
                    .add(Delete::new(key.clone()).column("b", "old"))
                    .add(put)
                    .into();
                PlannedOp {
                    row,
                    op,
                    after: put_it(value),
                    holds: None,
                    description: named("mutate row"),
                }
            }
            _ => PlannedOp {
                row,
                op: put.into(),
                after: put_it(value),
                holds: None,
                description: named("put"),
            },
        }
    }
}

/// Returns the state of a row by its use, or an error if no sequence of writes could produce it.
fn state(used: RowUse, row: &Row) -> Result<State, String> {
    let value =
        |family: &str, qualifier: &str| row.value(family, qualifier).map(Bytes::copy_from_slice);
    match used {
        RowUse::Register if value("a", "v") != value("b", "v") => Err(format!(
            "its families differ: {} and {}",
            format_state(&value("a", "v")),
            format_state(&value("b", "v"))
        )),
        RowUse::Register => Ok(value("a", "v")),
        RowUse::Counter => Ok(value("a", "n")),
        RowUse::Text => Ok(value("a", "t")),
    }
}

fn number(state: &State) -> i64 {
    state.as_deref().and_then(|value| value.try_into().ok()).map_or(0, i64::from_be_bytes)
}

fn shared_key(index: usize) -> Bytes {
    Bytes::from(format!("{:x}-shared-{index}", index * 5))
}

fn text(key: &[u8]) -> String {
    halite::to_string_binary(key)
}

/// Formats the start and the end of a state.
fn format_state(state: &State) -> String {
    match state {
        None => "absent".to_owned(),
        Some(value) if value.len() <= 40 => halite::to_string_binary(value),
        Some(value) => format!(
            "{}...{} ({} bytes)",
            text(&value[..24]),
            text(&value[value.len() - 16..]),
            value.len()
        ),
    }
}

/// Flushes, compacts, splits and merges occasionally, until it is stopped.
pub(crate) async fn disturb(
    cluster: RemoteCluster,
    stop: Arc<AtomicBool>,
    mut rng: fastrand::Rng,
) -> Result<u64, String> {
    let (admin, name) = (cluster.admin(), name());
    let mut done = 0;
    while !stop.load(Relaxed) {
        tokio::time::sleep(Duration::from_millis(rng.u64(5..80))).await;
        let description = rng.u32(..8);
        let work = async {
            match description {
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
                    let Some(pair) = regions.windows(2).nth(rng.usize(..regions.len())) else {
                        return Ok(());
                    };
                    admin.merge_regions(&pair[0].encoded_name, &pair[1].encoded_name, false).await
                }
            }
        };
        // A failure is allowed: the server is killed, regions change, there is nothing to split.
        match timeout(CALL_LIMIT, work).await {
            Ok(result) => done += u64::from(result.is_ok()),
            Err(_) => {
                return Err(format!(
                    "administrative call {description} did not finish within {CALL_LIMIT:?}"
                ));
            }
        }
    }
    Ok(done)
}
