//! The client on a simulated network, with a simulated cluster that servers crash in and regions wander through.
//!
//! ```text
//! net.rs        the sockets the client gets here             cluster.rs    the one truth: servers, regions, rows, nonces
//! server.rs     a region server's process                    meta.rs       hbase:meta, which may be behind the truth
//! calls.rs      what it answers                              scans.rs      its scanners
//! registry.rs   ZooKeeper                                    master.rs     regions move, split, merge; servers crash
//! trouble.rs    what goes wrong, and for how long            callers.rs    the programs that use the client
//! history.rs    what they were told, and whether it can be true
//! scenes.rs     single troubles, told with the text of their errors
//! ```
//! All of it is one thread with a clock of its own, so what happens follows from the seed. The servers speak HBase's protocol
//! through `halite-wire` and keep its promises: what they acknowledged stays, a nonce counts once, scanners die with their process.
//! Halite's own server is simulated with the client in `world`, where it crashes; here there are several servers, and regions change hands.

mod callers;
mod calls;
mod cluster;
mod history;
mod master;
mod meta;
mod net;
mod registry;
mod scans;
mod scenes;
mod server;
#[path = "../../tests/it/speak.rs"]
mod speak;
mod trouble;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use fastrand::Rng;
use halite_types::Bytes;

use crate::{Config, Lookup};
use cluster::{Cluster, Shared};
use history::{History, Told};

/// How many seeds a run of the tests takes; `HALITE_CLIENT_SIM_SEEDS` says another number.
const SEEDS: u64 = 8;
/// The smallest step of simulated time.
const TICK: Duration = Duration::from_millis(5);

/// A simulation under way.
struct Storm {
    sim: turmoil::Sim<'static>,
    cluster: Shared,
    told: Told,
    rng: Rng,
    /// What is to happen, by time in milliseconds and order.
    agenda: BTreeMap<(u64, u64), Event>,
    planned: u64,
}

type Event = Box<dyn FnOnce(&mut Storm)>;

impl Storm {
    /// A cluster that is well, and no client yet.
    fn new(seed: u64) -> Self {
        fastrand::seed(seed);
        let mut rng = Rng::with_seed(seed);
        let mut builder = turmoil::Builder::new();
        builder.rng_seed(seed).tick_duration(TICK).simulation_duration(Duration::from_hours(1));
        builder.min_message_latency(Duration::from_millis(1)).max_message_latency(Duration::from_millis(rng.u64(2..60)));
        let mut sim = builder.build();
        let splits: Vec<Bytes> = ["d", "j", "p", "u"].iter().filter(|_| rng.bool()).map(|split| Bytes::from(*split)).collect();
        let cluster = Rc::new(RefCell::new(Cluster::new(rng.usize(2..5), &splits)));
        let names: Vec<String> = cluster.borrow().nodes.iter().map(|node| node.name.clone()).collect();
        for (index, name) in names.iter().enumerate() {
            let cluster = Rc::clone(&cluster);
            sim.host(name.clone(), move || server::run(Rc::clone(&cluster), index));
        }
        let known = Rc::clone(&cluster);
        sim.host("zk", move || registry::run(Rc::clone(&known)));
        let mut storm = Self { sim, cluster, told: Told::default(), rng, agenda: BTreeMap::new(), planned: 0 };
        let regions: Vec<String> = storm.cluster.borrow().regions.keys().cloned().collect();
        regions.into_iter().for_each(|name| storm.after(10..20, move |storm| storm.assign(name)));
        storm.after(10..20, Self::assign_meta);
        storm
    }

    fn names(&self) -> Vec<String> {
        self.cluster.borrow().nodes.iter().map(|node| node.name.clone()).collect()
    }

    /// Plans something for some milliseconds from now.
    fn after(&mut self, range: Range<u64>, event: impl FnOnce(&mut Self) + 'static) {
        let at = self.now_ms() + self.rng.u64(range);
        self.planned += 1;
        self.agenda.insert((at, self.planned), Box::new(event));
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.sim.elapsed().as_millis()).unwrap()
    }

    /// Lets a little time pass; false when all clients have finished.
    fn step(&mut self) -> bool {
        let is_done = self.sim.step().unwrap();
        let now_ms = self.now_ms();
        while let Some(entry) = self.agenda.first_entry().filter(|entry| entry.key().0 <= now_ms) {
            entry.remove()(self);
        }
        !is_done
    }

    /// Lets callers work in trouble and gives what they were told.
    fn run(mut self, seed: u64) -> Told {
        let names = self.names();
        let config = config(&mut self.rng, &names);
        self.sim.client("client", callers::run(Rc::clone(&self.told), config, seed, names.len()));
        self.after(500..2_000, Self::trouble);
        let mut is_healed = false;
        while self.step() {
            if self.told.borrow().is_quiet && self.agenda.is_empty() && !is_healed {
                self.heal();
                is_healed = true;
            }
            if is_healed && self.is_well() {
                self.told.borrow_mut().is_healed = true;
            }
        }
        self.told
    }
}

/// Deadlines and limits such as a user in a hurry might set.
fn config(rng: &mut Rng, servers: &[String]) -> Config {
    let lookup = if rng.bool() {
        Lookup::ZooKeeper { quorum: vec![format!("zk:{}", registry::PORT)], znode_parent: "/hbase".to_string() }
    } else {
        Lookup::Rpc { servers: servers.iter().map(|name| format!("{name}:{}", cluster::PORT)).collect() }
    };
    let mut config = Config::new(lookup);
    config.door = net::door();
    config.rpc_timeout_ms = rng.u64(300..1_500);
    config.operation_timeout_ms = rng.u64(1_000..8_000);
    config.scanner_timeout_ms = rng.u64(300..2_000);
    config.connect_timeout_ms = rng.u64(200..3_000);
    config.failed_server_ms = rng.u64(..1_000);
    config.pause_ms = rng.u64(5..100);
    config.retries_max = rng.u32(5..40);
    config.outstanding_calls_max = rng.usize(1..20);
    config.multi_actions_max = rng.usize(1..12);
    config.meta_prefetch = rng.u32(1..6);
    config
}

/// Runs one seed; says how to run it again if something was wrong.
fn run(seed: u64) -> History {
    println!("storm {seed:#x}");
    let told = Storm::new(seed).run(seed);
    let history = std::mem::take(&mut *told.borrow_mut());
    assert!(history.is_over, "seed {seed:#x}: the callers did not finish");
    if !history.wrong.is_empty() {
        let again = format!("HALITE_CLIENT_SIM_SEED={seed:#x} cargo test -p halite-client --lib storm");
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
    Some(number.unwrap_or_else(|_| panic!("{name} is {text:?}; give a number, or 0x and hex digits")))
}

#[test]
fn what_callers_are_told_is_true_whatever_happens_to_servers_and_messages() {
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
    assert!(failed > 0 && failed < calls / 4, "{failed} of {calls} calls failed: the storm is none, or nothing gets through it");
}

#[test]
fn the_same_seed_is_the_same_storm() {
    assert!(run(7).log == run(7).log, "two runs of seed 7 are not the same");
}
