//! Run of one seed: a world is drawn, simulated, healed and checked.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use fastrand::Rng;
use halite_client::RegistryKind;
use halite_engine::{Options, PartReads, WalSync};
use halite_server::Config;
use halite_types::Bytes;

use crate::admin;
use crate::history::SharedHistory;
use crate::server::{
    self, HOST, MASTER_PORT, Machine, REGION_PORT, ServerSettings, ZOOKEEPER_PORT,
};
use crate::workload::{self, Client, ClientKind};

/// Smallest step of the network's time.
const TICK: Duration = Duration::from_millis(4);
/// Maximum duration of a world, far above the usual one.
const DURATION: Duration = Duration::from_mins(20);
/// Maximum number of segments in transit on a connection, far above the usual number.
const MAX_SEGMENTS: usize = 1 << 14;

/// Parameters of a world.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Random seed.
    pub seed: u64,
    /// Settings of the server and its engine.
    pub settings: ServerSettings,
    /// Kinds of the clients.
    pub clients: Vec<ClientKind>,
    /// Simulated time during which they work.
    pub duration: Duration,
    /// Includes power losses in the faults. Only a synced log survives them.
    pub loses_power: bool,
    /// Enables faults.
    pub has_faults: bool,
}

/// Result of a world.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Impossible results.
    pub violations: Vec<String>,
    /// Digest, equal for equal plans.
    pub digest: u64,
    /// Events in order.
    pub log: Vec<String>,
    /// Calls of callers.
    pub calls: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Rows created.
    pub rows: usize,
    /// Checked operations and reads of single rows.
    pub ops: usize,
    /// Scans that completed.
    pub scans: u64,
    /// Rows returned by scans.
    pub scanned_rows: u64,
    /// Changes by the administrator.
    pub changes: u64,
    /// Processes that were killed or lost power.
    pub deaths: u64,
    /// Processes that stopped on request.
    pub stops: u64,
    /// Background jobs of the engine.
    pub jobs: u64,
}

/// World in progress.
pub struct World {
    pub(crate) sim: turmoil::Sim<'static>,
    pub(crate) machine: Rc<Machine>,
    pub(crate) history: SharedHistory,
    pub(crate) rng: Rng,
    /// Host names of the clients.
    pub(crate) clients: Vec<String>,
    /// Scheduled events, by time in milliseconds and order.
    scheduled: BTreeMap<(u64, u64), Event>,
    planned: u64,
    pub(crate) loses_power: bool,
    pub(crate) latency_ms: u64,
    pub(crate) deaths: u64,
    pub(crate) stops: u64,
}

type Event = Box<dyn FnOnce(&mut World)>;

impl Plan {
    /// Returns the plan of a seed.
    pub fn from_seed(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let wal_sync = if rng.u8(..3) == 0 { WalSync::Flush } else { WalSync::Fsync };
        let mut clients = vec![ClientKind::Once, ClientKind::Patient];
        if rng.bool() {
            clients.push(if rng.bool() { ClientKind::Once } else { ClientKind::Patient });
        }
        Self {
            seed,
            settings: settings(&mut rng, wal_sync),
            clients,
            duration: Duration::from_millis(rng.u64(6_000..12_000)),
            loses_power: wal_sync == WalSync::Fsync,
            has_faults: true,
        }
    }
}

fn settings(rng: &mut Rng, wal_sync: WalSync) -> ServerSettings {
    let mut options = Options::default();
    options.wal_sync = wal_sync;
    options.wal_segment_bytes = rng.u64(4..64) << 10;
    options.max_wal_segments = rng.usize(1..8);
    options.memstore_flush_bytes = rng.u64(4..96) << 10;
    options.in_memory_compaction_bytes = rng.usize(..16) << 10;
    options.global_memstore_bytes = 8 << 20;
    options.memstore_chunk_bytes = 16 << 10;
    options.block_cache_bytes = rng.u64(..256) << 10;
    options.part_bytes = rng.usize(..1000);
    options.idle_compaction_ms = 500;
    options.part_reads = PartReads::Always;
    options.min_compaction_files = rng.usize(2..4);
    let mut config = Config::default();
    config.listen_addr = std::net::Ipv4Addr::UNSPECIFIED.into();
    (config.master_port, config.regionserver_port) = (MASTER_PORT, REGION_PORT);
    (config.http_port, config.zookeeper_port) = (None, Some(ZOOKEEPER_PORT));
    config.limits.scanner_timeout_ms = rng.u64(400..4_000);
    (
        config.limits.connection_idle_timeout_ms,
        config.limits.receive_timeout_ms,
        config.limits.send_timeout_ms,
    ) = (20_000, 3_000, 3_000);
    config.limits.handshake_timeout_ms = 2_000;
    config.catalog_janitor_interval_ms = rng.u64(200..3_000);
    let splits = ["d", "j", "p", "u"]
        .iter()
        .filter(|_| rng.bool())
        .map(|split| Bytes::from(*split))
        .collect();
    ServerSettings { options, config, splits }
}

/// Returns a configuration with deadlines and limits of an impatient user.
fn client_config(rng: &mut Rng, kind: ClientKind) -> halite_client::Config {
    let lookup = if rng.bool() {
        RegistryKind::ZooKeeper {
            quorum: vec![format!("{HOST}:{ZOOKEEPER_PORT}")],
            znode_parent: "/hbase".to_string(),
        }
    } else {
        RegistryKind::Rpc {
            servers: vec![format!("{HOST}:{MASTER_PORT}"), format!("{HOST}:{REGION_PORT}")],
        }
    };
    let mut config = halite_client::Config::new(lookup);
    config.rpc_timeout_ms = rng.u64(200..1_000);
    config.operation_timeout_ms = rng.u64(2_000..6_000);
    config.scanner_timeout_ms = rng.u64(300..2_000);
    config.connect_timeout_ms = rng.u64(200..1_500);
    config.failed_server_expiry_ms = rng.u64(..200);
    config.pause_ms = rng.u64(5..60);
    config.max_retries = if kind == ClientKind::Once { 0 } else { 60 };
    config.scanner_caching = rng.u32(1..6);
    config.scan_prefetch_regions = rng.usize(..3);
    config.max_multi_actions = rng.usize(1..8);
    config.meta_prefetch = rng.u32(1..6);
    config
}

/// Simulates a world.
///
/// # Errors
/// Returns an error if the simulation itself fails.
pub fn play(plan: &Plan) -> turmoil::Result<Report> {
    fastrand::seed(plan.seed);
    let mut world = World::new(plan);
    world.run()?;
    let World { history, machine, deaths, stops, .. } = world;
    let mut history = std::mem::take(&mut *history.borrow_mut());
    history.violations.append(&mut machine.violations.borrow_mut());
    if !history.is_over && history.violations.is_empty() {
        history.violations.push("the auditor did not finish".to_owned());
    }
    history.check();
    let (rows, ops) = history.counts();
    Ok(Report {
        digest: history.digest(),
        calls: history.calls,
        failed: history.failed,
        rows,
        ops,
        scans: history.scans,
        scanned_rows: history.scanned_rows,
        changes: history.changes,
        deaths,
        stops,
        jobs: machine.jobs.get(),
        violations: history.violations,
        log: history.log,
    })
}

impl World {
    fn new(plan: &Plan) -> Self {
        let mut rng = Rng::with_seed(plan.seed ^ 0x0077_6f72_6c64);
        let latency_ms = rng.u64(2..30);
        let mut builder = turmoil::Builder::new();
        builder
            .rng_seed(plan.seed)
            .tick_duration(TICK)
            .simulation_duration(DURATION)
            .tcp_capacity(MAX_SEGMENTS);
        builder
            .min_message_latency(Duration::from_millis(1))
            .max_message_latency(Duration::from_millis(latency_ms));
        let mut sim = builder.build();
        let history = SharedHistory::default();
        let machine = Rc::new(Machine::new(plan.seed, plan.settings.clone(), Rc::clone(&history)));
        let of_host = Rc::clone(&machine);
        sim.host(HOST, move || server::run(Rc::clone(&of_host)));
        let rows = rng.usize(2..8);
        let mut clients = Vec::new();
        let client = |name: &str, kind, rng: &mut Rng| Client {
            name: name.to_owned(),
            kind,
            config: client_config(rng, kind),
            duration: plan.duration,
            rows,
            seed: rng.u64(..),
        };
        for (number, kind) in plan.clients.iter().enumerate() {
            let name = format!("c{number}");
            sim.client(
                name.clone(),
                workload::run(client(&name, *kind, &mut rng), Rc::clone(&history)),
            );
            clients.push(name);
        }
        sim.client(
            "admin",
            admin::run(client("admin", ClientKind::Patient, &mut rng), Rc::clone(&history)),
        );
        clients.push("admin".to_owned());
        sim.client(
            "auditor",
            workload::audit(client("auditor", ClientKind::Patient, &mut rng), Rc::clone(&history)),
        );
        let (agenda, planned, loses_power) = (BTreeMap::new(), 0, plan.loses_power);
        let mut world = Self {
            sim,
            machine,
            history,
            rng,
            clients,
            scheduled: agenda,
            planned,
            loses_power,
            latency_ms,
            deaths: 0,
            stops: 0,
        };
        if plan.has_faults {
            world.schedule(300..1_500, Self::inject_faults);
        }
        world
    }

    fn run(&mut self) -> turmoil::Result {
        while !self.step()? {
            if self.is_quiet() && self.scheduled.is_empty() && self.machine.is_up.get() {
                self.heal();
            }
            if !self.machine.violations.borrow().is_empty() {
                // No server is running.
                return Ok(());
            }
        }
        Ok(())
    }

    /// Advances the time a little. Returns `true` when all clients have finished.
    fn step(&mut self) -> turmoil::Result<bool> {
        let is_done = self.sim.step()?;
        self.check_process();
        let now_ms = self.now_ms();
        while let Some(entry) = self.scheduled.first_entry().filter(|entry| entry.key().0 <= now_ms)
        {
            entry.remove()(self);
        }
        Ok(is_done)
    }

    /// Returns `true` if the callers have finished.
    pub(crate) fn is_quiet(&self) -> bool {
        self.history.borrow().finished == self.clients.len()
    }

    /// Ends all faults.
    fn heal(&mut self) {
        let mut history = self.history.borrow_mut();
        if !history.is_healed {
            history.is_healed = true;
            // Cancels a planned death that has not happened.
            if let Some(calls) = self.machine.disk.fs.planned_crash() {
                history.record(format!("the server will not die at call {calls}"));
                self.machine.disk.fs.crash_at_call(u64::MAX);
            }
            self.machine.behavior.cuts.store(0, std::sync::atomic::Ordering::Relaxed);
        }
    }

    /// Schedules an event after a random number of milliseconds in the range.
    pub(crate) fn schedule(&mut self, range: Range<u64>, event: impl FnOnce(&mut Self) + 'static) {
        let at = self.now_ms() + self.rng.u64(range);
        self.planned += 1;
        self.scheduled.insert((at, self.planned), Box::new(event));
    }

    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.sim.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn record(&self, what: impl Into<String>) {
        let text = format!("{:5} simulated ms: {}", self.now_ms(), what.into());
        self.history.borrow_mut().record(text);
    }
}
