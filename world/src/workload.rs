//! Client programs: they change rows in every way, read and scan them, and record the results.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use halite_client::{Config, RemoteCluster, connect_over};
use halite_types::{
    Append, CheckAndMutate, Cluster, Delete, Get, Increment, OpResult, Put, Result, Row,
    RowMutations, RowOp, Scan, Table, TableExt,
};
use tokio::time::Instant;

use crate::history::{SharedHistory, Ticket};
use crate::model::{Change, Observation, RowRequest, RowState, parse_counter, parse_list};
use crate::net::Network;
use crate::server::TABLE;

/// Time that a call may exceed its deadline by: a step of the simulation and rounding.
const SLACK: Duration = Duration::from_millis(200);
/// Maximum number of consecutive responses without a row; each may take as long as an operation.
const MAX_EMPTY_RESPONSES: u32 = 4;

/// Failure handling of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientKind {
    /// Tries everything once.
    Once,
    /// Retries within its limits.
    Patient,
}

/// Client and its workload.
#[derive(Clone, Debug)]
pub struct Client {
    /// Name in the history.
    pub name: String,
    /// Failure handling.
    pub kind: ClientKind,
    /// Deadlines and limits.
    pub config: Config,
    /// Simulated time during which its programs work.
    pub duration: Duration,
    /// Rows that all clients use at a time.
    pub rows: usize,
    /// Seed of its random numbers.
    pub seed: u64,
}

/// Client program.
struct Caller {
    client: Rc<Client>,
    table: Arc<dyn Table>,
    history: SharedHistory,
    rng: Rng,
}

/// Runs all programs of a client.
///
/// # Errors
/// Never returns an error: failures are recorded.
pub async fn run(client: Client, history: SharedHistory) -> turmoil::Result {
    let until = Instant::now() + client.duration;
    let client = Rc::new(client);
    if let Some(cluster) = connect(&client, &history, until).await {
        let programs = (0..4).map(|number| {
            let rng = Rng::with_seed(client.seed ^ number << 40);
            let caller = Caller {
                client: Rc::clone(&client),
                table: cluster.table(&TABLE.parse().expect("a name")),
                history: Rc::clone(&history),
                rng,
            };
            tokio::task::spawn_local(caller.run(number, until))
        });
        for program in programs.collect::<Vec<_>>() {
            program.await?;
        }
    }
    history.borrow_mut().finished += 1;
    Ok(())
}

/// Connects, as soon as that is possible.
async fn connect(
    client: &Client,
    history: &SharedHistory,
    until: Instant,
) -> Option<RemoteCluster> {
    while Instant::now() < until {
        match connect_over(Arc::new(Network), client.config.clone()).await {
            Ok(cluster) => return Some(cluster),
            Err(error) => {
                history.borrow_mut().record(format!("{}: no cluster: {error}", client.name));
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    None
}

impl Caller {
    async fn run(mut self, number: u64, until: Instant) {
        while Instant::now() < until {
            match number {
                1 if self.rng.u8(..3) == 0 => self.cancel_early().await,
                0 | 1 => self.change_one().await,
                2 if self.rng.bool() => self.batch().await,
                2 => self.read().await,
                _ => self.scan().await,
            }
            tokio::time::sleep(Duration::from_millis(self.rng.u64(..80))).await;
        }
    }

    fn is_patient(&self) -> bool {
        self.client.kind == ClientKind::Patient
    }

    fn key(&mut self) -> String {
        self.history.borrow_mut().random_key(&mut self.rng, self.client.rows)
    }

    /// Waits for a call, and records its outcome.
    async fn timed<T>(
        &self,
        description: &str,
        answers: u32,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let begun = Instant::now();
        let result = call.await;
        let (took, limit) = (
            begun.elapsed(),
            Duration::from_millis(self.client.config.operation_timeout_ms) * answers + SLACK,
        );
        let mut history = self.history.borrow_mut();
        let outcome = result
            .as_ref()
            .map_or_else(|error| format!("fails: {error}"), |_| "is answered".to_owned());
        history.record(format!(
            "{}: {description} {outcome} in {} ms",
            self.client.name,
            took.as_millis()
        ));
        history.calls += 1;
        history.failed += u64::from(result.is_err());
        if took > limit {
            let text = format!(
                "{}: {description} took {took:?}, and {limit:?} are allowed",
                self.client.name
            );
            history.violations.push(text);
        }
        result
    }

    async fn change_one(&mut self) {
        let key = self.key();
        let (op, request) = self.change(&key);
        let (description, ticket) = (
            format!("{key} {:?}", request.changes),
            self.history.borrow_mut().begin(&key, request),
        );
        if let Ok(result) = self.timed(&description, 1, self.table.mutate(op)).await {
            self.record_result(&ticket, &key, &result);
        }
    }

    /// Starts a change and cancels it early.
    async fn cancel_early(&mut self) {
        let key = self.key();
        let (op, request) = self.change(&key);
        let ticket = self.history.borrow_mut().begin(&key, request);
        let patience = Duration::from_millis(self.rng.u64(..150));
        if let Ok(Ok(result)) = tokio::time::timeout(patience, self.table.mutate(op)).await {
            self.record_result(&ticket, &key, &result);
        }
    }

    /// Changes several rows in one call.
    async fn batch(&mut self) {
        let mut keys: Vec<String> = (0..self.rng.usize(1..6)).map(|_| self.key()).collect();
        keys.sort_unstable();
        keys.dedup();
        let (ops, request): (Vec<RowOp>, Vec<RowRequest>) =
            keys.iter().map(|key| self.change(key)).unzip();
        let description = format!("batch of {}", keys.join(" "));
        let tickets: Vec<Ticket> = keys
            .iter()
            .zip(request)
            .map(|(key, request)| self.history.borrow_mut().begin(key, request))
            .collect();
        let Ok(results) = self.timed(&description, 1, self.table.batch(ops)).await else { return };
        for ((key, ticket), result) in keys.iter().zip(tickets).zip(results) {
            if let Ok(result) = result {
                self.record_result(&ticket, key, &result);
            }
        }
    }

    fn record_result(&self, ticket: &Ticket, key: &str, result: &OpResult) {
        let mut history = self.history.borrow_mut();
        match history.request(ticket).map(|request| observe(request, result)) {
            Some(Ok(answer)) => history.finish(ticket, answer, self.is_patient()),
            Some(Err(text)) => history.violations.push(format!("row {key}: {text}")),
            None => {}
        }
    }

    async fn read(&mut self) {
        let mut keys: Vec<String> = (0..self.rng.usize(1..4)).map(|_| self.key()).collect();
        keys.dedup();
        let called = self.history.borrow_mut().moment();
        let gets = keys.iter().map(|key| Get::new(key.clone())).collect();
        let Ok(rows) =
            self.timed(&format!("get of {}", keys.join(" ")), 1, self.table.get_all(gets)).await
        else {
            return;
        };
        for (key, row) in keys.iter().zip(&rows) {
            self.record_read(key, called, row);
        }
    }

    fn record_read(&self, key: &str, called: u64, row: &Row) {
        let mut history = self.history.borrow_mut();
        match RowState::from_row(row) {
            _ if !row.is_empty() && row.key() != key.as_bytes() => {
                history.violations.push(format!(
                    "requested row {key}, but {} was returned",
                    row.key().escape_ascii()
                ));
            }
            Ok(state) => history.read(key, called, state),
            Err(text) => history.violations.push(format!("row {key}: {text}")),
        }
    }

    async fn scan(&mut self) {
        let mut letter = || char::from(b'a' + self.rng.u8(..27)).to_string();
        let (first, second) = (letter(), letter());
        let scan = if self.rng.u8(..3) == 0 {
            Scan::range(first.clone().min(second.clone()), first.max(second))
        } else {
            Scan::all()
        };
        let scan = scan.reverse(self.rng.u8(..4) == 0);
        let scan = if self.rng.u8(..5) == 0 { scan.limit(self.rng.usize(1..10)) } else { scan };
        let pauses = self.rng.u8(..3) == 0;
        let _ = self.scan_through(scan, pauses).await;
    }

    /// Scans, and records the contents of every row passed.
    async fn scan_through(&mut self, scan: Scan, pauses: bool) -> Result<()> {
        let (range, is_reverse, limit) = (scan.range.clone(), scan.reverse, scan.limit);
        let description =
            format!("scan of {range:?}{}{limit:?}", if is_reverse { " reversed, " } else { ", " });
        let called = self.history.borrow_mut().moment();
        let mut stream = self.table.scan(scan);
        let mut seen: Vec<String> = Vec::new();
        let outcome = loop {
            let row = match self.timed(&description, MAX_EMPTY_RESPONSES, stream.next()).await {
                Ok(Some(row)) => row,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            let key = String::from_utf8_lossy(row.key()).into_owned();
            let is_behind =
                seen.last().is_none_or(|last| if is_reverse { key < *last } else { key > *last });
            if !is_behind || !range.contains(row.key()) {
                self.history
                    .borrow_mut()
                    .violations
                    .push(format!("{description}: {key} comes after {:?}", seen.last()));
            }
            self.record_read(&key, called, &row);
            seen.push(key);
            if pauses && self.rng.u8(..4) == 0 {
                tokio::time::sleep(Duration::from_millis(self.rng.u64(..3_000))).await;
            }
        };
        let last = seen.last().cloned();
        let is_cut = limit.is_some_and(|limit| seen.len() >= limit) || outcome.is_err();
        if limit.is_some_and(|limit| seen.len() > limit) {
            self.history
                .borrow_mut()
                .violations
                .push(format!("{description}: {} rows", seen.len()));
        }
        let is_passed = |key: &String| match &last {
            Some(last) if is_reverse => key > last,
            Some(last) => key < last,
            None => false,
        };
        let keys = self.history.borrow().keys();
        for key in keys.iter().filter(|key| {
            range.contains(key.as_bytes()) && !seen.contains(key) && (!is_cut || is_passed(key))
        }) {
            self.history.borrow_mut().read(key, called, RowState::default());
        }
        let mut history = self.history.borrow_mut();
        history.scanned_rows += seen.len() as u64;
        history.scans += u64::from(outcome.is_ok());
        outcome
    }

    /// Returns a change of a row, as an operation for the client and as a request for the model.
    fn change(&mut self, key: &str) -> (RowOp, RowRequest) {
        let request =
            |changes, condition| RowRequest { changes, condition, observation: Observation::None };
        let value = self.history.borrow_mut().value();
        let delta = i64::from(value % 7) + 1;
        // A put without explicit timestamp may be applied twice by a client that retries, the
        // second time late.
        let put = if self.is_patient() { Change::PutAt(value) } else { Change::Put(value) };
        let changes = match self.rng.u8(..10) {
            0..=2 => vec![put],
            3 if !self.is_patient() => vec![Change::Delete],
            3 | 4 => vec![Change::PutAt(value)],
            5 => vec![Change::Append(value)],
            6 => vec![put, Change::Add(delta), Change::Append(value)],
            7 | 8 => {
                let before = self.history.borrow().last_read(key).mark;
                let mut changes = vec![Change::Mark(value)];
                if self.rng.bool() {
                    changes.push(Change::Add(delta));
                }
                let then = combined_op(key, &changes);
                let op = match before {
                    Some(mark) => {
                        CheckAndMutate::if_equals(key.to_owned(), "g", "k", mark.to_string(), then)
                    }
                    None => CheckAndMutate::if_not_exists(key.to_owned(), "g", "k", then),
                };
                return (op.into(), request(changes, Some(before)));
            }
            _ => vec![Change::Add(delta)],
        };
        (combined_op(key, &changes), request(changes, None))
    }
}

/// Returns the operation that makes these changes atomically.
fn combined_op(key: &str, changes: &[Change]) -> RowOp {
    let mut ops = changes.iter().map(|change| single_op(key, change));
    match (ops.next(), changes.len()) {
        (Some(op), 1) => op,
        (first, _) => first
            .into_iter()
            .chain(ops)
            .fold(RowMutations::new(key.to_owned()), RowMutations::add)
            .into(),
    }
}

fn single_op(key: &str, change: &Change) -> RowOp {
    let row = key.to_owned();
    match change {
        Change::Put(value) => {
            Put::new(row).add("f", "r", value.to_string()).add("g", "r", value.to_string()).into()
        }
        Change::PutAt(value) => {
            Put::new(row).add_at("f", "t", i64::from(*value), value.to_string()).into()
        }
        Change::Delete => Delete::new(row).column("f", "r").column("g", "r").into(),
        Change::Add(delta) => Increment::new(row).add("f", "c", *delta).into(),
        Change::Append(value) => Append::new(row).add("f", "l", format!("{value};")).into(),
        Change::Mark(value) => Put::new(row).add("g", "k", value.to_string()).into(),
    }
}

/// Returns the observation in the reply to an operation.
fn observe(request: &RowRequest, result: &OpResult) -> std::result::Result<Observation, String> {
    if request.condition.is_some() {
        return Ok(Observation::Held(result.processed));
    }
    let has = |wanted: fn(&Change) -> bool| request.changes.iter().any(wanted);
    let value = |column: &str| {
        result
            .row
            .value("f", column)
            .ok_or_else(|| format!("the result of {:?} has no f:{column}", request.changes))
    };
    let counter = has(|change| matches!(change, Change::Add(_)))
        .then(|| parse_counter(value("c")?).ok_or_else(|| "a counter without 8 bytes".to_owned()));
    let list = has(|change| matches!(change, Change::Append(_))).then(|| parse_list(value("l")?));
    let (counter, list) = (counter.transpose()?, list.transpose()?);
    Ok(if counter.is_none() && list.is_none() {
        Observation::Done
    } else {
        Observation::Values(counter, list)
    })
}

/// After all faults are over, every call must succeed: reads every row in every way.
///
/// # Errors
/// Never returns an error: failures are recorded.
pub async fn audit(client: Client, history: SharedHistory) -> turmoil::Result {
    while !history.borrow().is_healed {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let until = Instant::now() + Duration::from_mins(2);
    let cluster = connect(&client, &history, until).await;
    let Some(cluster) = cluster else {
        history.borrow_mut().violations.push("a healthy cluster accepts connections".to_owned());
        return Ok(());
    };
    let name = TABLE.parse().expect("a name");
    let admin = cluster.admin();
    if !matches!(admin.is_enabled(&name).await, Ok(true))
        && let Err(error) = admin.enable_table(&name).await
        && !matches!(admin.is_enabled(&name).await, Ok(true))
    {
        history
            .borrow_mut()
            .violations
            .push(format!("the table can no longer be enabled: {error}"));
    }
    let rng = Rng::with_seed(client.seed);
    let mut auditor = Caller {
        client: Rc::new(client),
        table: cluster.table(&name),
        history: Rc::clone(&history),
        rng,
    };
    for is_reverse in [false, true] {
        if let Err(error) = auditor.scan_through(Scan::all().reverse(is_reverse), false).await {
            history.borrow_mut().violations.push(format!("scan of a healthy cluster: {error}"));
        }
    }
    let keys = history.borrow().keys();
    for key in keys {
        let called = history.borrow_mut().moment();
        match auditor.timed("last get", 1, auditor.table.get_all(vec![Get::new(key.clone())])).await
        {
            Ok(rows) => rows.iter().for_each(|row| auditor.record_read(&key, called, row)),
            Err(error) => {
                history.borrow_mut().violations.push(format!("get of a healthy cluster: {error}"));
            }
        }
    }
    history.borrow_mut().is_over = true;
    Ok(())
}
