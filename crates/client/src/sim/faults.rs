//! Random faults during the workload, of any kind and of limited duration.

use super::Simulation;

/// Duration of most faults, in milliseconds.
const FAULT_MS: std::ops::Range<u64> = 50..3_000;

impl Simulation {
    /// Injects a fault, and plans the next one, until the callers have finished.
    pub(super) fn inject_faults(&mut self) {
        if self.history.borrow().is_quiet {
            return;
        }
        match self.rng.u8(..19) {
            0..=2 => self.move_region(),
            3 | 4 => self.split_region(),
            5 => self.merge_regions(),
            6 => self.move_meta(),
            7 | 8 => self.crash(),
            9 => self.change_behavior(|mood| mood.is_mute = true, |mood| mood.is_mute = false),
            10 => self.change_behavior(|mood| mood.is_busy = true, |mood| mood.is_busy = false),
            11 => self.change_behavior(|mood| mood.is_slow = true, |mood| mood.is_slow = false),
            12 | 13 => self.change_behavior(|mood| mood.halves = 1, |_| ()),
            14 => self.hold(),
            15 | 16 => self.partition(),
            17 => self.isolate(),
            _ => self.drop_one_way(),
        }
        self.after(50..1_200, Simulation::inject_faults);
    }

    fn change_behavior(
        &mut self,
        begin: fn(&mut super::cluster::ServerBehavior),
        end: fn(&mut super::cluster::ServerBehavior),
    ) {
        let server = self.rng.usize(..self.cluster.borrow().nodes.len());
        begin(&mut self.cluster.borrow_mut().nodes[server].behavior);
        self.after(FAULT_MS, move |storm| {
            end(&mut storm.cluster.borrow_mut().nodes[server].behavior);
        });
    }

    fn hosts(&self) -> Vec<String> {
        self.names().into_iter().chain(["zk".to_string()]).collect()
    }

    /// Returns a host that the client uses: a server, or rarely ZooKeeper.
    fn any_host(&mut self) -> String {
        let hosts = self.hosts();
        self.rng.choice(hosts).unwrap()
    }

    /// Holds messages and delivers them later, all at once.
    fn hold(&mut self) {
        let host = self.any_host();
        self.sim.hold("client", host.clone());
        self.after(FAULT_MS, move |storm| storm.sim.release("client", host));
    }

    /// Drops messages in both directions.
    fn partition(&mut self) {
        let host = self.any_host();
        self.sim.partition("client", host.clone());
        self.after(FAULT_MS, move |storm| storm.sim.repair("client", host));
    }

    /// Disconnects the client from all hosts.
    fn isolate(&mut self) {
        for host in self.hosts() {
            self.sim.partition("client", host.clone());
            self.after(FAULT_MS, move |storm| storm.sim.repair("client", host));
        }
    }

    /// Drops messages in one direction.
    fn drop_one_way(&mut self) {
        let (from, to) = (self.any_host(), "client".to_string());
        let (from, to) = if self.rng.bool() { (from, to) } else { (to, from) };
        self.sim.partition_oneway(from.clone(), to.clone());
        self.after(FAULT_MS, move |storm| storm.sim.repair_oneway(from, to));
    }

    /// Ends all faults: messages are delivered, servers run and behave normally.
    pub(super) fn heal(&mut self) {
        for host in self.hosts() {
            self.sim.release("client", host);
        }
        self.cluster
            .borrow_mut()
            .nodes
            .iter_mut()
            .for_each(|node| node.behavior = super::cluster::ServerBehavior::default());
    }
}
