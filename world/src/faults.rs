//! Faults while callers work: at any time, of any kind, for a while.

use std::sync::atomic::Ordering::Relaxed;

use crate::run::World;
use crate::server::HOST;

/// Duration of most faults, in milliseconds.
const FAULT_MS: std::ops::Range<u64> = 30..2_000;
/// Downtime of a machine, in milliseconds.
const DOWNTIME_MS: std::ops::Range<u64> = 5..1_200;
/// Maximum number of disk calls of the server until it dies.
const MAX_CALLS_BEFORE_DEATH: u64 = 60;

/// Unrequested end of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// The process is killed; everything it has written stays.
    Kill,
    /// The machine loses power; the seed determines which unsynced data stays.
    PowerLoss(u64),
}

impl World {
    /// Injects a fault and schedules the next, until the callers have finished.
    pub(crate) fn inject_faults(&mut self) {
        if self.is_quiet() {
            return;
        }
        match self.rng.u8(..20) {
            0 | 1 => {
                let death = self.death();
                self.die(death);
            }
            2 | 3 => {
                let calls = self.machine.disk.fs.calls() + self.rng.u64(..MAX_CALLS_BEFORE_DEATH);
                self.record(format!("the server will die at call {calls}"));
                self.machine.disk.fs.crash_at_call(calls);
            }
            4 => self.stop(),
            5..=8 => {
                self.record("a response is truncated");
                self.machine.behavior.cuts.store(self.rng.u32(1..3), Relaxed);
            }
            9 | 10 => {
                let until = self.now_ms() + self.rng.u64(FAULT_MS);
                self.record(format!("the server stalls until {until} ms"));
                self.machine.behavior.stalled_until_ms.store(until, Relaxed);
            }
            11 | 12 => self.hold(),
            13..=15 => self.partition(),
            16 => self.isolate(),
            17 | 18 => self.drop_one_way(),
            _ => self.slow_link(),
        }
        self.schedule(50..1_500, Self::inject_faults);
    }

    fn death(&mut self) -> Death {
        if self.loses_power && self.rng.bool() {
            Death::PowerLoss(self.rng.u64(..))
        } else {
            Death::Kill
        }
    }

    /// Ends the server's process, which restarts some time later.
    pub(crate) fn die(&mut self, death: Death) {
        if !self.machine.is_up.get() {
            return;
        }
        self.record(format!("the server ends with {death:?}"));
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

    /// Ends the process. Its machine closes its connections immediately if it continues, and
    /// otherwise when it is switched on again.
    fn end(&mut self, machine_goes_on: bool) {
        self.machine.is_up.set(false);
        self.machine.orphans.replace(self.machine.behavior.hold_connections());
        self.sim.crash(HOST);
        self.machine.behavior.cuts.store(0, Relaxed);
        let begins_ms = self.now_ms() + self.rng.u64(DOWNTIME_MS);
        self.machine.next_start_ms.set(begins_ms);
        let down_ms = if machine_goes_on { 0 } else { begins_ms - self.now_ms() };
        self.schedule(down_ms..down_ms + 1, |world| world.sim.bounce(HOST));
    }

    /// Checks if the process has died in a call, or has stopped on request.
    pub(crate) fn check_process(&mut self) {
        if !self.machine.is_up.get() {
            return;
        }
        if self.machine.disk.fs.is_gone() {
            let death = self.death();
            self.die(death);
        } else if self.machine.has_stopped.get() {
            self.record("the server has stopped after the request");
            self.stops += 1;
            // After a clean shutdown nothing is lost, even if the machine fails.
            if self.loses_power {
                self.machine.disk.fs.drop_unsynced();
            } else {
                self.machine.disk.fs.kill();
            }
            self.end(true);
        }
    }

    /// Requests a shutdown of the server.
    fn stop(&mut self) {
        self.record("the server is requested to stop");
        self.machine.is_stop_requested.set(true);
    }

    fn any_client(&mut self) -> String {
        self.clients[self.rng.usize(..self.clients.len())].clone()
    }

    /// Holds messages, which are later delivered together.
    fn hold(&mut self) {
        let client = self.any_client();
        self.record(format!("messages of {client} are delayed"));
        self.sim.hold(client.clone(), HOST);
        self.schedule(FAULT_MS, move |world| world.sim.release(client, HOST));
    }

    /// Drops messages in both directions.
    fn partition(&mut self) {
        let client = self.any_client();
        self.record(format!("messages of {client} are lost"));
        self.sim.partition(client.clone(), HOST);
        self.schedule(FAULT_MS, move |world| world.sim.repair(client, HOST));
    }

    /// Drops all messages of the server.
    fn isolate(&mut self) {
        self.record("all messages are lost");
        let lasts = self.rng.u64(FAULT_MS);
        for client in self.clients.clone() {
            self.sim.partition(client.clone(), HOST);
            self.schedule(lasts..lasts + 1, move |world| world.sim.repair(client, HOST));
        }
    }

    /// Drops messages in one direction.
    fn drop_one_way(&mut self) {
        let (from, to) = (self.any_client(), HOST.to_owned());
        let (from, to) = if self.rng.bool() { (from, to) } else { (to, from) };
        self.record(format!("messages from {from} to {to} are lost"));
        self.sim.partition_oneway(from.clone(), to.clone());
        self.schedule(FAULT_MS, move |world| world.sim.repair_oneway(from, to));
    }

    fn slow_link(&mut self) {
        let (client, latency) = (self.any_client(), self.rng.u64(50..600));
        self.record(format!("messages of {client} take up to {latency} ms"));
        self.sim.set_link_max_message_latency(
            client.clone(),
            HOST,
            std::time::Duration::from_millis(latency),
        );
        let usual = self.latency_ms;
        self.schedule(FAULT_MS, move |world| {
            world.sim.set_link_max_message_latency(
                client,
                HOST,
                std::time::Duration::from_millis(usual),
            );
        });
    }
}
