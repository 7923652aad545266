//! What goes wrong while callers work: at any time, of any kind, for a while.

use std::sync::atomic::Ordering::Relaxed;

use crate::run::World;
use crate::server::HOST;

/// How long most troubles last, in milliseconds.
const WHILE: std::ops::Range<u64> = 30..2_000;
/// How long a machine is down.
const DOWN: std::ops::Range<u64> = 5..1_200;
/// Calls of the server to its disk after which it may die, counted from now.
const CALLS: u64 = 60;

/// How a process ends that was not asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// The process dies; what it has written stays.
    Kill,
    /// The machine loses its power; of what was not synced the seed says what stays.
    PowerLoss(u64),
}

impl World {
    /// Makes some trouble, and more later, until the callers have finished.
    pub(crate) fn trouble(&mut self) {
        if self.is_quiet() {
            return;
        }
        match self.rng.u8(..20) {
            0 | 1 => {
                let death = self.death();
                self.die(death);
            }
            2 | 3 => {
                let calls = self.machine.disk.fs.calls() + self.rng.u64(..CALLS);
                self.note(format!("the server will die at call {calls}"));
                self.machine.disk.fs.crash_at_call(calls);
            }
            4 => self.stop(),
            5..=8 => {
                self.note("an answer is cut");
                self.machine.mood.cuts.store(self.rng.u32(1..3), Relaxed);
            }
            9 | 10 => {
                let until = self.now_ms() + self.rng.u64(WHILE);
                self.note(format!("the server stalls until {until} ms"));
                self.machine.mood.stalled_until_ms.store(until, Relaxed);
            }
            11 | 12 => self.hold(),
            13..=15 => self.partition(),
            16 => self.isolate(),
            17 | 18 => self.drop_one_way(),
            _ => self.slow_link(),
        }
        self.after(50..1_500, Self::trouble);
    }

    fn death(&mut self) -> Death {
        if self.loses_power && self.rng.bool() { Death::PowerLoss(self.rng.u64(..)) } else { Death::Kill }
    }

    /// Ends the server's process, which begins anew some time later.
    pub(crate) fn die(&mut self, death: Death) {
        if !self.machine.is_up.get() {
            return;
        }
        self.note(format!("the server ends by {death:?}"));
        self.deaths += 1;
        match death {
            Death::Kill => {
                self.machine.disk.fs.kill();
                self.end(true);
            }
            Death::PowerLoss(seed) => {
                self.machine.disk.fs.crash(seed);
                self.end(false);
            }
        }
    }

    /// Ends the process. Its machine closes its connections at once if it goes on, and otherwise when it is switched on again.
    fn end(&mut self, machine_goes_on: bool) {
        self.machine.is_up.set(false);
        self.machine.orphans.replace(self.machine.mood.hold_connections());
        self.sim.crash(HOST);
        self.machine.mood.cuts.store(0, Relaxed);
        let begins_ms = self.now_ms() + self.rng.u64(DOWN);
        self.machine.begins_ms.set(begins_ms);
        let down_ms = if machine_goes_on { 0 } else { begins_ms - self.now_ms() };
        self.after(down_ms..down_ms + 1, |world| world.sim.bounce(HOST));
    }

    /// Looks whether the process has died in a call, or ended as it was asked to.
    pub(crate) fn look_after(&mut self) {
        if !self.machine.is_up.get() {
            return;
        }
        if self.machine.disk.fs.is_gone() {
            let death = self.death();
            self.die(death);
        } else if self.machine.has_stopped.get() {
            self.note("the server has stopped as it was asked to");
            self.stops += 1;
            // After a clean end nothing is lost, whatever happens to the machine.
            if self.loses_power {
                self.machine.disk.fs.lose_unsynced();
            } else {
                self.machine.disk.fs.kill();
            }
            self.end(true);
        }
    }

    /// Asks the server to end.
    fn stop(&mut self) {
        self.note("the server is asked to stop");
        self.machine.is_asked_to_stop.set(true);
    }

    fn any_client(&mut self) -> String {
        self.clients[self.rng.usize(..self.clients.len())].clone()
    }

    /// Messages wait on the way, and come later all at once.
    fn hold(&mut self) {
        let client = self.any_client();
        self.note(format!("messages of {client} are held"));
        self.sim.hold(client.clone(), HOST);
        self.after(WHILE, move |world| world.sim.release(client, HOST));
    }

    /// Messages are lost both ways.
    fn partition(&mut self) {
        let client = self.any_client();
        self.note(format!("messages of {client} are lost"));
        self.sim.partition(client.clone(), HOST);
        self.after(WHILE, move |world| world.sim.repair(client, HOST));
    }

    /// The server reaches nobody.
    fn isolate(&mut self) {
        self.note("all messages are lost");
        let lasts = self.rng.u64(WHILE);
        for client in self.clients.clone() {
            self.sim.partition(client.clone(), HOST);
            self.after(lasts..lasts + 1, move |world| world.sim.repair(client, HOST));
        }
    }

    /// Messages are lost one way.
    fn drop_one_way(&mut self) {
        let (from, to) = (self.any_client(), HOST.to_owned());
        let (from, to) = if self.rng.bool() { (from, to) } else { (to, from) };
        self.note(format!("messages from {from} to {to} are lost"));
        self.sim.partition_oneway(from.clone(), to.clone());
        self.after(WHILE, move |world| world.sim.repair_oneway(from, to));
    }

    fn slow_link(&mut self) {
        let (client, latency) = (self.any_client(), self.rng.u64(50..600));
        self.note(format!("messages of {client} take up to {latency} ms"));
        self.sim.set_link_max_message_latency(client.clone(), HOST, std::time::Duration::from_millis(latency));
        let usual = self.latency_ms;
        self.after(WHILE, move |world| world.sim.set_link_max_message_latency(client, HOST, std::time::Duration::from_millis(usual)));
    }
}
