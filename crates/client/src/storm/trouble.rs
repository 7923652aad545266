//! What goes wrong while callers work: at any time, of any kind, for a while.

use super::Storm;

/// How long most troubles last, in milliseconds.
const WHILE: std::ops::Range<u64> = 50..3_000;

impl Storm {
    /// Makes some trouble, and more later, until the callers have finished.
    pub(super) fn trouble(&mut self) {
        if self.told.borrow().is_quiet {
            return;
        }
        match self.rng.u8(..19) {
            0..=2 => self.move_region(),
            3 | 4 => self.split_region(),
            5 => self.merge_regions(),
            6 => self.move_meta(),
            7 | 8 => self.crash(),
            9 => self.mood(|mood| mood.is_mute = true, |mood| mood.is_mute = false),
            10 => self.mood(|mood| mood.is_busy = true, |mood| mood.is_busy = false),
            11 => self.mood(|mood| mood.is_slow = true, |mood| mood.is_slow = false),
            12 | 13 => self.mood(|mood| mood.halves = 1, |_| ()),
            14 => self.hold(),
            15 | 16 => self.partition(),
            17 => self.isolate(),
            _ => self.drop_one_way(),
        }
        self.after(50..1_200, Storm::trouble);
    }

    fn mood(&mut self, begin: fn(&mut super::cluster::Mood), end: fn(&mut super::cluster::Mood)) {
        let server = self.rng.usize(..self.cluster.borrow().nodes.len());
        begin(&mut self.cluster.borrow_mut().nodes[server].mood);
        self.after(WHILE, move |storm| end(&mut storm.cluster.borrow_mut().nodes[server].mood));
    }

    fn hosts(&self) -> Vec<String> {
        self.names().into_iter().chain(["zk".to_string()]).collect()
    }

    /// A host that the client talks to: a server, or now and then ZooKeeper.
    fn any_host(&mut self) -> String {
        let hosts = self.hosts();
        self.rng.choice(hosts).unwrap()
    }

    /// Messages wait on the way, and come later all at once.
    fn hold(&mut self) {
        let host = self.any_host();
        self.sim.hold("client", host.clone());
        self.after(WHILE, move |storm| storm.sim.release("client", host));
    }

    /// Messages are lost both ways.
    fn partition(&mut self) {
        let host = self.any_host();
        self.sim.partition("client", host.clone());
        self.after(WHILE, move |storm| storm.sim.repair("client", host));
    }

    /// The client reaches nobody.
    fn isolate(&mut self) {
        for host in self.hosts() {
            self.sim.partition("client", host.clone());
            self.after(WHILE, move |storm| storm.sim.repair("client", host));
        }
    }

    /// Messages are lost one way.
    fn drop_one_way(&mut self) {
        let (from, to) = (self.any_host(), "client".to_string());
        let (from, to) = if self.rng.bool() { (from, to) } else { (to, from) };
        self.sim.partition_oneway(from.clone(), to.clone());
        self.after(WHILE, move |storm| storm.sim.repair_oneway(from, to));
    }

    /// Everything goes again: messages flow, servers are up and in a good mood.
    pub(super) fn heal(&mut self) {
        for host in self.hosts() {
            self.sim.release("client", host);
        }
        self.cluster.borrow_mut().nodes.iter_mut().for_each(|node| node.mood = super::cluster::Mood::default());
    }
}
