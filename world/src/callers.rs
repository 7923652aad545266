//! The programs of a client: they change rows in every way, read them and scan them, and note what they are told.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use halite_client::{Config, RemoteCluster, connect_over};
use halite_types::{Append, CheckAndMutate, Cluster, Delete, Get, Increment, OpResult, Put, Result, Row, RowMutations, RowOp, Scan, Table, TableExt};
use tokio::time::Instant;

use crate::history::{Ticket, Told};
use crate::model::{Answer, Asked, Change, State, counter_of, list_of};
use crate::net::Network;
use crate::server::TABLE;

/// What a call may take beyond its deadline: a step of the simulation and what is rounded.
const SLACK: Duration = Duration::from_millis(200);
/// Answers without a row that come in a row at most; each may take as long as an operation.
const ANSWERS: u32 = 4;

/// How a client deals with failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It tries everything once.
    Once,
    /// It tries again as long as it may.
    Patient,
}

/// A client and how it works.
#[derive(Clone, Debug)]
pub struct Client {
    /// Its name in the history.
    pub name: String,
    /// How it deals with failures.
    pub kind: Kind,
    /// Its deadlines and limits.
    pub config: Config,
    /// How long its programs work, in simulated time.
    pub lasts: Duration,
    /// Rows that all clients work on at a time.
    pub rows: usize,
    /// What its own chance begins with.
    pub seed: u64,
}

/// A program.
struct Caller {
    client: Rc<Client>,
    table: Arc<dyn Table>,
    told: Told,
    rng: Rng,
}

/// All programs of a client.
///
/// # Errors
/// None: what goes wrong is noted.
pub async fn run(client: Client, told: Told) -> turmoil::Result {
    let until = Instant::now() + client.lasts;
    let client = Rc::new(client);
    if let Some(cluster) = connected(&client, &told, until).await {
        let programs = (0..4).map(|number| {
            let rng = Rng::with_seed(client.seed ^ number << 40);
            let caller = Caller { client: Rc::clone(&client), table: cluster.table(&TABLE.parse().expect("a name")), told: Rc::clone(&told), rng };
            tokio::task::spawn_local(caller.live(number, until))
        });
        for program in programs.collect::<Vec<_>>() {
            program.await?;
        }
    }
    told.borrow_mut().finished += 1;
    Ok(())
}

/// Connects, as soon as that can be done.
async fn connected(client: &Client, told: &Told, until: Instant) -> Option<RemoteCluster> {
    while Instant::now() < until {
        match connect_over(Arc::new(Network), client.config.clone()).await {
            Ok(cluster) => return Some(cluster),
            Err(error) => told.borrow_mut().note(format!("{}: no cluster: {error}", client.name)),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    None
}

impl Caller {
    async fn live(mut self, number: u64, until: Instant) {
        while Instant::now() < until {
            match number {
                1 if self.rng.u8(..3) == 0 => self.give_up_early().await,
                0 | 1 => self.one().await,
                2 if self.rng.bool() => self.batch().await,
                2 => self.read().await,
                _ => self.scan().await,
            }
            tokio::time::sleep(Duration::from_millis(self.rng.u64(..80))).await;
        }
    }

    fn is_patient(&self) -> bool {
        self.client.kind == Kind::Patient
    }

    fn key(&mut self) -> String {
        self.told.borrow_mut().key(&mut self.rng, self.client.rows)
    }

    /// Waits for a call, and notes what came of it.
    async fn timed<T>(&self, what: &str, answers: u32, call: impl Future<Output = Result<T>>) -> Result<T> {
        let begun = Instant::now();
        let result = call.await;
        let (took, most) = (begun.elapsed(), Duration::from_millis(self.client.config.operation_timeout_ms) * answers + SLACK);
        let mut told = self.told.borrow_mut();
        let outcome = result.as_ref().map_or_else(|error| format!("fails: {error}"), |_| "is answered".to_owned());
        told.note(format!("{}: {what} {outcome} in {} ms", self.client.name, took.as_millis()));
        told.calls += 1;
        told.failed += u64::from(result.is_err());
        if took > most {
            let text = format!("{}: {what} took {took:?}, and {most:?} are allowed", self.client.name);
            told.wrong.push(text);
        }
        result
    }

    async fn one(&mut self) {
        let key = self.key();
        let (op, asked) = self.change(&key);
        let (what, ticket) = (format!("{key} {:?}", asked.changes), self.told.borrow_mut().ask(&key, asked));
        if let Ok(result) = self.timed(&what, 1, self.table.apply_one(op)).await {
            self.answered(&ticket, &key, &result);
        }
    }

    /// A change that nobody waits for to the end.
    async fn give_up_early(&mut self) {
        let key = self.key();
        let (op, asked) = self.change(&key);
        let ticket = self.told.borrow_mut().ask(&key, asked);
        let patience = Duration::from_millis(self.rng.u64(..150));
        if let Ok(Ok(result)) = tokio::time::timeout(patience, self.table.apply_one(op)).await {
            self.answered(&ticket, &key, &result);
        }
    }

    /// Changes of several rows in one call.
    async fn batch(&mut self) {
        let mut keys: Vec<String> = (0..self.rng.usize(1..6)).map(|_| self.key()).collect();
        keys.sort_unstable();
        keys.dedup();
        let (ops, asked): (Vec<RowOp>, Vec<Asked>) = keys.iter().map(|key| self.change(key)).unzip();
        let what = format!("batch of {}", keys.join(" "));
        let tickets: Vec<Ticket> = keys.iter().zip(asked).map(|(key, asked)| self.told.borrow_mut().ask(key, asked)).collect();
        let Ok(results) = self.timed(&what, 1, self.table.apply(ops)).await else { return };
        for ((key, ticket), result) in keys.iter().zip(tickets).zip(results) {
            if let Ok(result) = result {
                self.answered(&ticket, key, &result);
            }
        }
    }

    fn answered(&self, ticket: &Ticket, key: &str, result: &OpResult) {
        let mut told = self.told.borrow_mut();
        match told.asked(ticket).map(|asked| answer(asked, result)) {
            Some(Ok(answer)) => told.answer(ticket, answer, self.is_patient()),
            Some(Err(text)) => told.wrong.push(format!("row {key}: {text}")),
            None => {}
        }
    }

    async fn read(&mut self) {
        let mut keys: Vec<String> = (0..self.rng.usize(1..4)).map(|_| self.key()).collect();
        keys.dedup();
        let called = self.told.borrow_mut().moment();
        let gets = keys.iter().map(|key| Get::new(key.clone())).collect();
        let Ok(rows) = self.timed(&format!("get of {}", keys.join(" ")), 1, self.table.get(gets)).await else { return };
        for (key, row) in keys.iter().zip(&rows) {
            self.saw(key, called, row);
        }
    }

    fn saw(&self, key: &str, called: u64, row: &Row) {
        let mut told = self.told.borrow_mut();
        match State::of(row) {
            _ if !row.is_empty() && row.key() != key.as_bytes() => {
                told.wrong.push(format!("row {key} was asked for, and {} came", row.key().escape_ascii()));
            }
            Ok(state) => told.read(key, called, state),
            Err(text) => told.wrong.push(format!("row {key}: {text}")),
        }
    }

    async fn scan(&mut self) {
        let mut letter = || char::from(b'a' + self.rng.u8(..27)).to_string();
        let (first, second) = (letter(), letter());
        let scan = if self.rng.u8(..3) == 0 { Scan::range(first.clone().min(second.clone()), first.max(second)) } else { Scan::all() };
        let scan = scan.reverse(self.rng.u8(..4) == 0);
        let scan = if self.rng.u8(..5) == 0 { scan.limit(self.rng.usize(1..10)) } else { scan };
        let pauses = self.rng.u8(..3) == 0;
        let _ = self.scan_through(scan, pauses).await;
    }

    /// Scans, and notes of every row that was passed what it held.
    async fn scan_through(&mut self, scan: Scan, pauses: bool) -> Result<()> {
        let (range, is_reverse, limit) = (scan.range.clone(), scan.reverse, scan.limit);
        let what = format!("scan of {range:?}{}{limit:?}", if is_reverse { " reversed, " } else { ", " });
        let called = self.told.borrow_mut().moment();
        let mut stream = self.table.scan(scan);
        let mut seen: Vec<String> = Vec::new();
        let outcome = loop {
            let row = match self.timed(&what, ANSWERS, stream.next()).await {
                Ok(Some(row)) => row,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            let key = String::from_utf8_lossy(row.key()).into_owned();
            let is_behind = seen.last().is_none_or(|last| if is_reverse { key < *last } else { key > *last });
            if !is_behind || !range.contains(row.key()) {
                self.told.borrow_mut().wrong.push(format!("{what}: {key} comes after {:?}", seen.last()));
            }
            self.saw(&key, called, &row);
            seen.push(key);
            if pauses && self.rng.u8(..4) == 0 {
                tokio::time::sleep(Duration::from_millis(self.rng.u64(..3_000))).await;
            }
        };
        let last = seen.last().cloned();
        let is_cut = limit.is_some_and(|limit| seen.len() >= limit) || outcome.is_err();
        if limit.is_some_and(|limit| seen.len() > limit) {
            self.told.borrow_mut().wrong.push(format!("{what}: {} rows", seen.len()));
        }
        let is_passed = |key: &String| match &last {
            Some(last) if is_reverse => key > last,
            Some(last) => key < last,
            None => false,
        };
        let keys = self.told.borrow().keys();
        for key in keys.iter().filter(|key| range.contains(key.as_bytes()) && !seen.contains(key) && (!is_cut || is_passed(key))) {
            self.told.borrow_mut().read(key, called, State::default());
        }
        let mut told = self.told.borrow_mut();
        told.scanned += seen.len() as u64;
        told.scans += u64::from(outcome.is_ok());
        outcome
    }

    /// A change of a row, as the client is asked for it and as it is to be understood.
    fn change(&mut self, key: &str) -> (RowOp, Asked) {
        let asked = |changes, condition| Asked { changes, condition, answer: Answer::None };
        let value = self.told.borrow_mut().value();
        let delta = i64::from(value % 7) + 1;
        // What has no timestamp of its own may be done twice by who tries again, the second time late.
        let put = if self.is_patient() { Change::PutAt(value) } else { Change::Put(value) };
        let changes = match self.rng.u8(..10) {
            0..=2 => vec![put],
            3 if !self.is_patient() => vec![Change::Delete],
            3 | 4 => vec![Change::PutAt(value)],
            5 => vec![Change::Append(value)],
            6 => vec![put, Change::Add(delta), Change::Append(value)],
            7 | 8 => {
                let before = self.told.borrow().seen(key).mark;
                let mut changes = vec![Change::Mark(value)];
                if self.rng.bool() {
                    changes.push(Change::Add(delta));
                }
                let then = all_of(key, &changes);
                let op = match before {
                    Some(mark) => CheckAndMutate::if_equals(key.to_owned(), "g", "k", mark.to_string(), then),
                    None => CheckAndMutate::if_absent(key.to_owned(), "g", "k", then),
                };
                return (op.into(), asked(changes, Some(before)));
            }
            _ => vec![Change::Add(delta)],
        };
        (all_of(key, &changes), asked(changes, None))
    }
}

/// The operation that makes these changes as one.
fn all_of(key: &str, changes: &[Change]) -> RowOp {
    let mut ops = changes.iter().map(|change| one_of(key, change));
    match (ops.next(), changes.len()) {
        (Some(op), 1) => op,
        (first, _) => first.into_iter().chain(ops).fold(RowMutations::new(key.to_owned()), RowMutations::then).into(),
    }
}

fn one_of(key: &str, change: &Change) -> RowOp {
    let row = key.to_owned();
    match change {
        Change::Put(value) => Put::new(row).add("f", "r", value.to_string()).add("g", "r", value.to_string()).into(),
        Change::PutAt(value) => Put::new(row).add_at("f", "t", i64::from(*value), value.to_string()).into(),
        Change::Delete => Delete::new(row).column("f", "r").column("g", "r").into(),
        Change::Add(delta) => Increment::new(row).add("f", "c", *delta).into(),
        Change::Append(value) => Append::new(row).add("f", "l", format!("{value};")).into(),
        Change::Mark(value) => Put::new(row).add("g", "k", value.to_string()).into(),
    }
}

/// What the answer to an operation says.
fn answer(asked: &Asked, result: &OpResult) -> std::result::Result<Answer, String> {
    if asked.condition.is_some() {
        return Ok(Answer::Held(result.processed));
    }
    let has = |wanted: fn(&Change) -> bool| asked.changes.iter().any(wanted);
    let value = |column: &str| result.row.value("f", column).ok_or_else(|| format!("the answer to {:?} has no f:{column}", asked.changes));
    let counter =
        has(|change| matches!(change, Change::Add(_))).then(|| counter_of(value("c")?).ok_or_else(|| "a counter without 8 bytes".to_owned()));
    let list = has(|change| matches!(change, Change::Append(_))).then(|| list_of(value("l")?));
    let (counter, list) = (counter.transpose()?, list.transpose()?);
    Ok(if counter.is_none() && list.is_none() { Answer::Done } else { Answer::Values(counter, list) })
}

/// When everything is well again every call must succeed: reads every row in every way.
///
/// # Errors
/// None: what goes wrong is noted.
pub async fn audit(client: Client, told: Told) -> turmoil::Result {
    while !told.borrow().is_healed {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let until = Instant::now() + Duration::from_mins(2);
    let cluster = connected(&client, &told, until).await;
    let Some(cluster) = cluster else {
        told.borrow_mut().wrong.push("a cluster that is well cannot be connected to".to_owned());
        return Ok(());
    };
    let name = TABLE.parse().expect("a name");
    let admin = cluster.admin();
    if !matches!(admin.is_enabled(&name).await, Ok(true))
        && let Err(error) = admin.enable_table(&name).await
        && !matches!(admin.is_enabled(&name).await, Ok(true))
    {
        told.borrow_mut().wrong.push(format!("the table cannot be enabled any more: {error}"));
    }
    let rng = Rng::with_seed(client.seed);
    let mut auditor = Caller { client: Rc::new(client), table: cluster.table(&name), told: Rc::clone(&told), rng };
    for is_reverse in [false, true] {
        if let Err(error) = auditor.scan_through(Scan::all().reverse(is_reverse), false).await {
            told.borrow_mut().wrong.push(format!("scan of a cluster that is well: {error}"));
        }
    }
    let keys = told.borrow().keys();
    for key in keys {
        let called = told.borrow_mut().moment();
        match auditor.timed("last get", 1, auditor.table.get(vec![Get::new(key.clone())])).await {
            Ok(rows) => rows.iter().for_each(|row| auditor.saw(&key, called, row)),
            Err(error) => told.borrow_mut().wrong.push(format!("get of a cluster that is well: {error}")),
        }
    }
    told.borrow_mut().is_over = true;
    Ok(())
}
