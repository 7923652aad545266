//! The server's machine: a disk and a clock that outlive its processes, and the life of one process.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use halite_engine::env::Env;
use halite_engine::env::sim::SimEnv;
use halite_engine::{Engine, Options, WalSync};
use halite_server::{Config, Server};
use halite_types::{Bytes, ErrorKind, FamilyDescriptor, Result, TableDescriptor};
use tokio::task::spawn_local;

use crate::clock::WorldClock;
use crate::history::Told;
use crate::model::FAMILIES;
use crate::net::{Mood, Orphans, Outside};

/// The name of the machine, its ports, and the table on it.
pub const HOST: &str = "server";
/// Port of the master's services.
pub const MASTER_PORT: u16 = 16_000;
/// Port of the region server's services.
pub const REGION_PORT: u16 = 16_020;
/// Port of the ZooKeeper endpoint.
pub const ZOOKEEPER_PORT: u16 = 2181;
/// The table.
pub const TABLE: &str = "t";

/// How a server and its engine are set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The engine's.
    pub options: Options,
    /// The server's.
    pub config: Config,
    /// Where the table is split at first.
    pub splits: Vec<Bytes>,
}

/// The machine.
pub struct Machine {
    /// The disk.
    pub disk: SimEnv,
    clock: Arc<WorldClock>,
    /// What goes wrong with its sockets and threads.
    pub mood: Arc<Mood>,
    settings: Settings,
    told: Told,
    /// Processes so far; the last may have ended.
    lives: Cell<u32>,
    /// There is a process.
    pub is_up: Cell<bool>,
    /// The process is to end as an operator ends it.
    pub is_asked_to_stop: Cell<bool>,
    /// The process has ended so.
    pub has_stopped: Cell<bool>,
    /// Connections of the process before.
    pub orphans: RefCell<Orphans>,
    /// When the next process begins, in milliseconds of the simulation.
    pub begins_ms: Cell<u64>,
    /// Flushes, compactions and so on that were done.
    pub jobs: Cell<u64>,
    /// What was wrong with it, if anything.
    pub wrong: RefCell<Vec<String>>,
}

impl Machine {
    /// A machine with an empty disk.
    pub fn new(seed: u64, settings: Settings, told: Told) -> Self {
        Self {
            disk: SimEnv::new(seed),
            clock: Arc::default(),
            mood: Arc::default(),
            settings,
            told,
            lives: Cell::new(0),
            is_up: Cell::new(false),
            is_asked_to_stop: Cell::new(false),
            has_stopped: Cell::new(false),
            orphans: RefCell::default(),
            begins_ms: Cell::new(0),
            jobs: Cell::new(0),
            wrong: RefCell::default(),
        }
    }

    /// Whether what is synced survives a power loss, and everything acknowledged is synced.
    pub fn is_synced(&self) -> bool {
        self.settings.options.wal_sync == WalSync::Fsync
    }

    /// Processes that were started.
    pub fn lives(&self) -> u32 {
        self.lives.get()
    }

    fn env(&self) -> Env {
        Env { clock: Arc::clone(&self.clock) as _, ..self.disk.env() }
    }
}

/// The life of the machine from where it is switched on, or its process has died. Its host ends it.
///
/// # Errors
/// None: what goes wrong is noted.
pub async fn run(machine: Rc<Machine>) -> turmoil::Result {
    machine.orphans.take().close();
    let now_ms = u64::try_from(turmoil::sim_elapsed().unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
    tokio::time::sleep(Duration::from_millis(machine.begins_ms.get().saturating_sub(now_ms))).await;
    machine.is_up.set(true);
    machine.lives.set(machine.lives.get() + 1);
    machine.is_asked_to_stop.set(false);
    machine.has_stopped.set(false);
    machine.told.borrow_mut().note(format!("life {} of the server begins", machine.lives()));
    if let Err(error) = live(&machine).await
        && !machine.disk.fs.is_gone()
    {
        machine.wrong.borrow_mut().push(format!("life {} of the server: {error}", machine.lives()));
    }
    std::future::pending().await
}

async fn live(machine: &Rc<Machine>) -> Result<()> {
    let engine = Engine::open(machine.env(), machine.settings.options.clone())?;
    engine.hold_log();
    let table = FAMILIES.iter().fold(TableDescriptor::new(TABLE.parse()?), |table, family| table.family(FamilyDescriptor::new(*family)));
    match engine.descriptor(table.name()) {
        Err(error) if error.kind() == ErrorKind::NoSuchTable => engine.create_table(table, machine.settings.splits.clone())?,
        found => drop(found?),
    }
    let outside = Arc::new(Outside(Arc::clone(&machine.mood)));
    let server = Server::start_in(outside, Arc::clone(&engine), machine.settings.config.clone()).await?;
    let log = spawn_local(turn_log(Rc::clone(machine), Arc::clone(&engine)));
    while !machine.is_asked_to_stop.get() {
        tokio::time::sleep(Duration::from_millis(fastrand::u64(5..60))).await;
        machine.mood.disk().await;
        if engine.step()? {
            machine.jobs.set(machine.jobs.get() + 1);
        }
    }
    server.shutdown().await;
    log.abort();
    engine.close()?;
    machine.has_stopped.set(true);
    Ok(())
}

/// Does what the log's thread does, some time after it was asked for.
async fn turn_log(machine: Rc<Machine>, engine: Arc<Engine>) {
    loop {
        machine.mood.disk().await;
        tokio::time::sleep(Duration::from_millis(fastrand::u64(1..6))).await;
        engine.step_log();
    }
}
