//! Simulation of the client on a simulated network, with a cluster in which servers crash and
//! regions move.
//!
//! ```text
//! net.rs        sockets of the client                    cluster.rs    cluster state: servers, regions, rows, nonces
//! server.rs     process of a region server               meta.rs       hbase:meta, which may be outdated
//! calls.rs      replies of a region server               scans.rs      its scanners
//! registry.rs   ZooKeeper                                master.rs     regions move, split, merge; servers crash
//! faults.rs     faults and their durations               workload.rs   programs that use the client
//! history.rs    results that callers received, and checks of their consistency
//! scenarios.rs  single faults, with the text of their errors
//! ```
//! The simulation is single-threaded with a simulated clock, so events are determined by the seed.
//! The servers use HBase's protocol through `halite-wire` and have its guarantees: acknowledged
//! writes are durable, a nonce is applied once, scanners end with their process. `world` simulates
//! Halite's own server with the client, including crashes; here several servers exist, and regions
//! move.

mod calls;
mod cluster;
mod faults;
mod history;
mod master;
mod meta;
mod net;
mod registry;
#[path = "../../tests/it/rpc.rs"]
mod rpc;
mod scans;
mod scenarios;
mod server;
mod workload;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use fastrand::Rng;
use halite_types::Bytes;

use crate::{Config, RegistryKind};
use cluster::{Cluster, SharedCluster};
use history::{History, SharedHistory};

/// Number of seeds per test run; `HALITE_CLIENT_SIM_SEEDS` overrides it.
const SEEDS: u64 = 8;
/// Smallest step of simulated time.
const TICK: Duration = Duration::from_millis(5);

/// Simulation in progress.
struct Simulation {
    sim: turmoil::Sim<'static>,
    cluster: SharedCluster,
    history: SharedHistory,
    rng: Rng,
    /// Planned events, by time in milliseconds and order.
    agenda: BTreeMap<(u64, u64), Event>,
    planned: u64,
}

type Event = Box<dyn FnOnce(&mut Simulation)>;

impl Simulation {
    /// Creates a healthy cluster without clients.
    fn new(seed: u64) -> Self {
        fastrand::seed(seed);
        let mut rng = Rng::with_seed(seed);
        let mut builder = turmoil::Builder::new();
        builder.rng_seed(seed).tick_duration(TICK).simulation_duration(Duration::from_hours(1));
        builder
            .min_message_latency(Duration::from_millis(1))
            .max_message_latency(Duration::from_millis(rng.u64(2..60)));
        let mut sim = builder.build();
        let splits: Vec<Bytes> = ["d", "j", "p", "u"]
            .iter()
            .filter(|_| rng.bool())
            .map(|split| Bytes::from(*split))
            .collect();
        let cluster = Rc::new(RefCell::new(Cluster::new(rng.usize(2..5), &splits)));
        let names: Vec<String> =
            cluster.borrow().nodes.iter().map(|node| node.name.clone()).collect();
        for (index, name) in names.iter().enumerate() {
            let cluster = Rc::clone(&cluster);
            sim.host(name.clone(), move || server::run(Rc::clone(&cluster), index));
        }
        let known = Rc::clone(&cluster);
        sim.host("zk", move || registry::run(Rc::clone(&known)));
        let mut storm = Self {
            sim,
            cluster,
            history: SharedHistory::default(),
            rng,
            agenda: BTreeMap::new(),
            planned: 0,
        };
        let regions: Vec<String> = storm.cluster.borrow().regions.keys().cloned().collect();
        regions.into_iter().for_each(|name| storm.after(10..20, move |storm| storm.assign(name)));
        storm.after(10..20, Self::assign_meta);
        storm
    }

    fn names(&self) -> Vec<String> {
        self.cluster.borrow().nodes.iter().map(|node| node.name.clone()).collect()
    }

    /// Plans an event after a random delay in this range, in milliseconds.
    fn after(&mut self, range: Range<u64>, event: impl FnOnce(&mut Self) + 'static) {
        let at = self.now_ms() + self.rng.u64(range);
        self.planned += 1;
        self.agenda.insert((at, self.planned), Box::new(event));
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.sim.elapsed().as_millis()).unwrap()
    }

    /// Advances time by one tick. Returns `false` when all clients have finished.
    fn step(&mut self) -> bool {
        let is_done = self.sim.step().unwrap();
        let now_ms = self.now_ms();
        while let Some(entry) = self.agenda.first_entry().filter(|entry| entry.key().0 <= now_ms) {
            entry.remove()(self);
        }
        !is_done
    }

    /// Runs the workload with faults and returns the history.
    fn run(mut self, seed: u64) -> SharedHistory {
        let names = self.names();
        let config = config(&mut self.rng, &names);
        self.sim
            .client("client", workload::run(Rc::clone(&self.history), config, seed, names.len()));
        self.after(500..2_000, Self::inject_faults);
        let mut is_healed = false;
        while self.step() {
            if self.history.borrow().is_quiet && self.agenda.is_empty() && !is_healed {
                self.heal();
                is_healed = true;
            }
            if is_healed && self.is_well() {
                self.history.borrow_mut().is_healed = true;
            }
        }
        self.history
    }
}

/// Returns a configuration with random, rather short timeouts and small limits.
fn config(rng: &mut Rng, servers: &[String]) -> Config {
    let lookup = if rng.bool() {
        RegistryKind::ZooKeeper {
            quorum: vec![format!("zk:{}", registry::PORT)],
            znode_parent: "/hbase".to_string(),
        }
    } else {
        RegistryKind::Rpc {
            servers: servers.iter().map(|name| format!("{name}:{}", cluster::PORT)).collect(),
        }
    };
    let mut config = Config::new(lookup);
    config.connector = net::connector();
    config.rpc_timeout_ms = rng.u64(300..1_500);
    config.operation_timeout_ms = rng.u64(1_000..8_000);
    config.scanner_timeout_ms = rng.u64(300..2_000);
    config.connect_timeout_ms = rng.u64(200..3_000);
    config.failed_server_expiry_ms = rng.u64(..1_000);
    config.pause_ms = rng.u64(5..100);
    config.max_retries = rng.u32(5..40);
    config.max_calls_in_flight = rng.usize(1..20);
    config.max_multi_actions = rng.usize(1..12);
    config.meta_prefetch = rng.u32(1..6);
    config
}

/// Runs one seed; prints the command to repeat it if a check failed.
fn run(seed: u64) -> History {
    println!("storm {seed:#x}");
    let shared = Simulation::new(seed).run(seed);
    let history = std::mem::take(&mut *shared.borrow_mut());
    assert!(history.is_over, "seed {seed:#x}: the callers did not finish");
    if !history.wrong.is_empty() {
        let again =
            format!("HALITE_CLIENT_SIM_SEED={seed:#x} cargo test -p halite-client --lib sim");
        panic!(
            "seed {seed:#x}: {} things are wrong, the first:\n  {}\nrun it again: {again}",
            history.wrong.len(),
            history.wrong[..history.wrong.len().min(5)].join("\n  ")
        );
    }
    history
}

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    Some(
        number
            .unwrap_or_else(|_| panic!("{name} is {text:?}; give a number, or 0x and hex digits")),
    )
}

#[test]
fn results_are_correct_under_server_and_network_faults() {
    if let Some(seed) = variable("HALITE_CLIENT_SIM_SEED") {
        let history = run(seed);
        println!("{}", history.log.join("\n"));
        return;
    }
    let (mut calls, mut failed) = (0, 0);
    for seed in 0..variable("HALITE_CLIENT_SIM_SEEDS").unwrap_or(SEEDS) {
        let history = run(seed);
        (calls, failed) = (calls + history.calls, failed + history.failed);
    }
    println!("{calls} calls, {failed} of them failed");
    assert!(
        failed > 0 && failed < calls / 4,
        "{failed} of {calls} calls failed: the storm is none, or nothing gets through it"
    );
}

#[test]
fn simulation_is_determined_by_seed() {
    assert!(run(7).log == run(7).log, "two runs of seed 7 are not the same");
}
