//! Server machine: a disk and a clock that outlive its processes, and the lifecycle of one process.

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
use crate::history::SharedHistory;
use crate::model::FAMILIES;
use crate::net::{OrphanedConnections, ServerBehavior, SimOutside};

/// Host name of the machine.
pub const HOST: &str = "server";
/// Port of the master's services.
pub const MASTER_PORT: u16 = 16_000;
/// Port of the region server's services.
pub const REGION_PORT: u16 = 16_020;
/// Port of the ZooKeeper endpoint.
pub const ZOOKEEPER_PORT: u16 = 2181;
/// Name of the table.
pub const TABLE: &str = "t";

/// Settings of a server and its engine.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Options of the engine.
    pub options: Options,
    /// Configuration of the server.
    pub config: Config,
    /// Initial split keys of the table.
    pub splits: Vec<Bytes>,
}

/// Server machine.
pub struct Machine {
    /// Simulated disk.
    pub disk: SimEnv,
    clock: Arc<WorldClock>,
    /// Faults of its sockets and threads.
    pub behavior: Arc<ServerBehavior>,
    settings: ServerSettings,
    history: SharedHistory,
    /// Processes so far; the last may have ended.
    process_count: Cell<u32>,
    /// `true` while there is a process.
    pub is_up: Cell<bool>,
    /// Requests a clean shutdown of the process.
    pub is_stop_requested: Cell<bool>,
    /// The process has shut down cleanly.
    pub has_stopped: Cell<bool>,
    /// Connections of the previous process.
    pub orphans: RefCell<OrphanedConnections>,
    /// Start time of the next process, in milliseconds of the simulation.
    pub next_start_ms: Cell<u64>,
    /// Completed background jobs, such as flushes and compactions.
    pub jobs: Cell<u64>,
    /// Violations found on the machine.
    pub violations: RefCell<Vec<String>>,
}

impl Machine {
    /// Creates a machine with an empty disk.
    pub fn new(seed: u64, settings: ServerSettings, history: SharedHistory) -> Self {
        Self {
            disk: SimEnv::new(seed),
            clock: Arc::default(),
            behavior: Arc::default(),
            settings,
            history,
            process_count: Cell::new(0),
            is_up: Cell::new(false),
            is_stop_requested: Cell::new(false),
            has_stopped: Cell::new(false),
            orphans: RefCell::default(),
            next_start_ms: Cell::new(0),
            jobs: Cell::new(0),
            violations: RefCell::default(),
        }
    }

    /// Returns `true` if everything acknowledged is synced and so survives a power loss.
    pub fn is_synced(&self) -> bool {
        self.settings.options.wal_sync == WalSync::Fsync
    }

    /// Returns the number of started processes.
    pub fn process_count(&self) -> u32 {
        self.process_count.get()
    }

    fn env(&self) -> Env {
        Env { clock: Arc::clone(&self.clock) as _, ..self.disk.env() }
    }
}

/// Runs the machine from power-on, or from the death of its process. Its host ends it.
///
/// # Errors
/// Never returns an error: failures are recorded.
pub async fn run(machine: Rc<Machine>) -> turmoil::Result {
    machine.orphans.take().close();
    let now_ms =
        u64::try_from(turmoil::sim_elapsed().unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
    tokio::time::sleep(Duration::from_millis(machine.next_start_ms.get().saturating_sub(now_ms)))
        .await;
    machine.is_up.set(true);
    machine.process_count.set(machine.process_count.get() + 1);
    machine.is_stop_requested.set(false);
    machine.has_stopped.set(false);
    machine
        .history
        .borrow_mut()
        .record(format!("incarnation {} of the server starts", machine.process_count()));
    if let Err(error) = run_process(&machine).await
        && !machine.disk.fs.is_gone()
    {
        machine
            .violations
            .borrow_mut()
            .push(format!("incarnation {} of the server: {error}", machine.process_count()));
    }
    std::future::pending().await
}

async fn run_process(machine: &Rc<Machine>) -> Result<()> {
    let engine = Engine::open(machine.env(), machine.settings.options.clone())?;
    engine.hold_wal();
    let table = FAMILIES.iter().fold(TableDescriptor::new(TABLE.parse()?), |table, family| {
        table.family(FamilyDescriptor::new(*family))
    });
    match engine.descriptor(table.name()) {
        Err(error) if error.kind() == ErrorKind::NoSuchTable => {
            engine.create_table(table, machine.settings.splits.clone())?;
        }
        found => drop(found?),
    }
    let outside = Arc::new(SimOutside(Arc::clone(&machine.behavior)));
    let server =
        Server::start_in(outside, Arc::clone(&engine), machine.settings.config.clone()).await?;
    let log = spawn_local(run_wal_steps(Rc::clone(machine), Arc::clone(&engine)));
    while !machine.is_stop_requested.get() {
        tokio::time::sleep(Duration::from_millis(fastrand::u64(5..60))).await;
        machine.behavior.wait_for_disk().await;
        engine.watch_regions();
        if engine.run_one_job()? {
            machine.jobs.set(machine.jobs.get() + 1);
        }
    }
    server.shutdown().await;
    log.abort();
    engine.close()?;
    machine.has_stopped.set(true);
    Ok(())
}

/// Executes the steps of the writer thread of the log, some time after each request.
async fn run_wal_steps(machine: Rc<Machine>, engine: Arc<Engine>) {
    loop {
        machine.behavior.wait_for_disk().await;
        tokio::time::sleep(Duration::from_millis(fastrand::u64(1..6))).await;
        engine.step_wal();
    }
}
