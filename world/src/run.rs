//! One seed: a world is drawn, lived through, healed and looked at.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use fastrand::Rng;
use halite_client::Lookup;
use halite_engine::{Options, WalSync};
use halite_server::Config;
use halite_types::Bytes;

use crate::admin;
use crate::callers::{self, Client, Kind};
use crate::history::Told;
use crate::server::{self, HOST, MASTER_PORT, Machine, REGION_PORT, Settings, ZOOKEEPER_PORT};

/// The smallest step of the network's time.
const TICK: Duration = Duration::from_millis(4);
/// Longest time of a whole world; it is over long before.
const DURATION: Duration = Duration::from_mins(20);
/// Segments that are on their way on a connection at most: more than ever are.
const SEGMENTS_MAX: usize = 1 << 14;

/// What a world is made of.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What all chance begins with.
    pub seed: u64,
    /// The server and its engine.
    pub settings: Settings,
    /// The clients' kinds.
    pub clients: Vec<Kind>,
    /// How long they work, in simulated time.
    pub lasts: Duration,
    /// Whether power losses are among the troubles. Only a log that is synced survives them.
    pub loses_power: bool,
    /// Whether there is any trouble.
    pub has_trouble: bool,
}

/// What came of a world.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What cannot be.
    pub wrong: Vec<String>,
    /// The same for the same plan.
    pub digest: u64,
    /// What happened, in order.
    pub log: Vec<String>,
    /// Calls of callers, and those of them that failed.
    pub calls: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Rows that there were.
    pub rows: usize,
    /// Operations and reads of single rows that were checked.
    pub ops: usize,
    /// Scans that came to their end.
    pub scans: u64,
    /// Rows that scans gave.
    pub scanned: u64,
    /// What the administrator did.
    pub changes: u64,
    /// Processes that were killed or lost their power.
    pub deaths: u64,
    /// Processes that ended as they were asked to.
    pub stops: u64,
    /// Pieces of work that the engine did in the background.
    pub jobs: u64,
}

/// A world under way.
pub struct World {
    pub(crate) sim: turmoil::Sim<'static>,
    pub(crate) machine: Rc<Machine>,
    pub(crate) told: Told,
    pub(crate) rng: Rng,
    /// Names of the clients' hosts.
    pub(crate) clients: Vec<String>,
    /// What is to happen, by time in milliseconds and order.
    agenda: BTreeMap<(u64, u64), Event>,
    planned: u64,
    pub(crate) loses_power: bool,
    pub(crate) latency_ms: u64,
    pub(crate) deaths: u64,
    pub(crate) stops: u64,
}

type Event = Box<dyn FnOnce(&mut World)>;

impl Plan {
    /// What a seed makes of it.
    pub fn of(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let wal_sync = if rng.u8(..3) == 0 { WalSync::Flush } else { WalSync::Fsync };
        let mut clients = vec![Kind::Once, Kind::Patient];
        if rng.bool() {
            clients.push(if rng.bool() { Kind::Once } else { Kind::Patient });
        }
        Self {
            seed,
            settings: settings(&mut rng, wal_sync),
            clients,
            lasts: Duration::from_millis(rng.u64(6_000..12_000)),
            loses_power: wal_sync == WalSync::Fsync,
            has_trouble: true,
        }
    }
}

fn settings(rng: &mut Rng, wal_sync: WalSync) -> Settings {
    let mut options = Options::default();
    options.wal_sync = wal_sync;
    options.wal_segment_bytes = rng.u64(4..64) << 10;
    options.wal_segments_max = rng.usize(1..8);
    options.memstore_flush_bytes = rng.u64(4..96) << 10;
    options.memstore_condense_bytes = rng.usize(..16) << 10;
    options.memstore_total_bytes = 8 << 20;
    options.memstore_chunk_bytes = 16 << 10;
    options.block_cache_bytes = rng.u64(..256) << 10;
    options.compaction_files_min = rng.usize(2..4);
    let mut config = Config::default();
    config.listen = std::net::Ipv4Addr::UNSPECIFIED.into();
    (config.master_port, config.region_port) = (MASTER_PORT, REGION_PORT);
    (config.web_port, config.zookeeper_port) = (None, Some(ZOOKEEPER_PORT));
    config.limits.scanner_lease_ms = rng.u64(400..4_000);
    (config.limits.idle_ms_max, config.limits.read_stall_ms_max, config.limits.write_stall_ms_max) = (20_000, 3_000, 3_000);
    config.limits.handshake_ms_max = 2_000;
    config.catalog_janitor_ms = rng.u64(200..3_000);
    let splits = ["d", "j", "p", "u"].iter().filter(|_| rng.bool()).map(|split| Bytes::from(*split)).collect();
    Settings { options, config, splits }
}

/// Deadlines and limits such as a user in a hurry might set.
fn client_config(rng: &mut Rng, kind: Kind) -> halite_client::Config {
    let lookup = if rng.bool() {
        Lookup::ZooKeeper { quorum: vec![format!("{HOST}:{ZOOKEEPER_PORT}")], znode_parent: "/hbase".to_string() }
    } else {
        Lookup::Rpc { servers: vec![format!("{HOST}:{MASTER_PORT}"), format!("{HOST}:{REGION_PORT}")] }
    };
    let mut config = halite_client::Config::new(lookup);
    config.rpc_timeout_ms = rng.u64(200..1_000);
    config.operation_timeout_ms = rng.u64(2_000..6_000);
    config.scanner_timeout_ms = rng.u64(300..2_000);
    config.connect_timeout_ms = rng.u64(200..1_500);
    config.failed_server_ms = rng.u64(..200);
    config.pause_ms = rng.u64(5..60);
    config.retries_max = if kind == Kind::Once { 0 } else { 60 };
    config.scanner_caching = rng.u32(1..6);
    config.scan_regions_ahead = rng.usize(..3);
    config.multi_actions_max = rng.usize(1..8);
    config.meta_prefetch = rng.u32(1..6);
    config
}

/// Lives through a world.
///
/// # Errors
/// If the simulation itself fails.
pub fn play(plan: &Plan) -> turmoil::Result<Report> {
    fastrand::seed(plan.seed);
    let mut world = World::new(plan);
    world.live()?;
    let World { told, machine, deaths, stops, .. } = world;
    let mut history = std::mem::take(&mut *told.borrow_mut());
    history.wrong.append(&mut machine.wrong.borrow_mut());
    if !history.is_over && history.wrong.is_empty() {
        history.wrong.push("the auditor did not come to its end".to_owned());
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
        scanned: history.scanned,
        changes: history.changes,
        deaths,
        stops,
        jobs: machine.jobs.get(),
        wrong: history.wrong,
        log: history.log,
    })
}

impl World {
    fn new(plan: &Plan) -> Self {
        let mut rng = Rng::with_seed(plan.seed ^ 0x0077_6f72_6c64);
        let latency_ms = rng.u64(2..30);
        let mut builder = turmoil::Builder::new();
        builder.rng_seed(plan.seed).tick_duration(TICK).simulation_duration(DURATION).tcp_capacity(SEGMENTS_MAX);
        builder.min_message_latency(Duration::from_millis(1)).max_message_latency(Duration::from_millis(latency_ms));
        let mut sim = builder.build();
        let told = Told::default();
        let machine = Rc::new(Machine::new(plan.seed, plan.settings.clone(), Rc::clone(&told)));
        let of_host = Rc::clone(&machine);
        sim.host(HOST, move || server::run(Rc::clone(&of_host)));
        let rows = rng.usize(2..8);
        let mut clients = Vec::new();
        let client = |name: &str, kind, rng: &mut Rng| Client {
            name: name.to_owned(),
            kind,
            config: client_config(rng, kind),
            lasts: plan.lasts,
            rows,
            seed: rng.u64(..),
        };
        for (number, kind) in plan.clients.iter().enumerate() {
            let name = format!("c{number}");
            sim.client(name.clone(), callers::run(client(&name, *kind, &mut rng), Rc::clone(&told)));
            clients.push(name);
        }
        sim.client("admin", admin::run(client("admin", Kind::Patient, &mut rng), Rc::clone(&told)));
        clients.push("admin".to_owned());
        sim.client("auditor", callers::audit(client("auditor", Kind::Patient, &mut rng), Rc::clone(&told)));
        let (agenda, planned, loses_power) = (BTreeMap::new(), 0, plan.loses_power);
        let mut world = Self { sim, machine, told, rng, clients, agenda, planned, loses_power, latency_ms, deaths: 0, stops: 0 };
        if plan.has_trouble {
            world.after(300..1_500, Self::trouble);
        }
        world
    }

    fn live(&mut self) -> turmoil::Result {
        while !self.step()? {
            if self.is_quiet() && self.agenda.is_empty() && self.machine.is_up.get() {
                self.heal();
            }
            if !self.machine.wrong.borrow().is_empty() {
                // Nobody serves any more.
                return Ok(());
            }
        }
        Ok(())
    }

    /// Lets a little time pass; true when all clients have finished.
    fn step(&mut self) -> turmoil::Result<bool> {
        let is_done = self.sim.step()?;
        self.look_after();
        let now_ms = self.now_ms();
        while let Some(entry) = self.agenda.first_entry().filter(|entry| entry.key().0 <= now_ms) {
            entry.remove()(self);
        }
        Ok(is_done)
    }

    /// Whether the callers have finished.
    pub(crate) fn is_quiet(&self) -> bool {
        self.told.borrow().finished == self.clients.len()
    }

    /// Everything goes again.
    fn heal(&mut self) {
        let mut told = self.told.borrow_mut();
        if !told.is_healed {
            told.is_healed = true;
            // A death that was planned and has not come will not come.
            if let Some(calls) = self.machine.disk.fs.planned_crash() {
                told.note(format!("the server will not die at call {calls}"));
                self.machine.disk.fs.crash_at_call(u64::MAX);
            }
            self.machine.mood.cuts.store(0, std::sync::atomic::Ordering::Relaxed);
        }
    }

    /// Plans something for some milliseconds from now.
    pub(crate) fn after(&mut self, range: Range<u64>, event: impl FnOnce(&mut Self) + 'static) {
        let at = self.now_ms() + self.rng.u64(range);
        self.planned += 1;
        self.agenda.insert((at, self.planned), Box::new(event));
    }

    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.sim.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn note(&self, what: impl Into<String>) {
        let text = format!("{:5} ms of the world: {}", self.now_ms(), what.into());
        self.told.borrow_mut().note(text);
    }
}
