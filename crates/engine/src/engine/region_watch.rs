//! Regular look at the open regions: compactions that time makes necessary, and compactions of
//! regions without writes.
//!
//! A flush requests the compaction that its file makes necessary. This covers what happens without
//! one: files expire and grow old, and a region without writes has time for a compaction that would
//! otherwise cost too much, as HBase has in its off-peak hours.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::Engine;
use crate::ranked_lock::RankedMutex;

/// Time between two looks.
pub(super) const PERIOD: Duration = Duration::from_secs(2);

/// Time after which the policy is asked about a region again although nothing has happened in it,
/// in nanoseconds.
const POLICY_PERIOD_NS: u64 = 60_000_000_000;

/// Number of idle regions whose compaction one look requests, at most. The others are next: many
/// queued compactions would lift the rate limit.
const MAX_IDLE_REQUESTS: usize = 2;

/// What is remembered between two looks.
#[derive(Debug, Default)]
pub(crate) struct RegionWatch {
    state: RankedMutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Time of the last look.
    looked_ns: u64,
    /// Regions by number.
    regions: HashMap<u64, Seen>,
}

/// Region at the last look.
#[derive(Debug)]
struct Seen {
    /// Sequence id of its last write, and when it was first seen.
    sequence: u64,
    since_ns: u64,
    /// When the policy was last asked.
    asked_ns: u64,
    is_idle: bool,
    /// `true` if it has become idle and the policy has not been asked since.
    is_to_be_asked: bool,
}

impl Engine {
    /// Looks at the regions if it is time, and requests the compactions that they need. The
    /// engine's threads call it; for environments without threads.
    pub fn watch_regions(&self) {
        let now = self.shared.env.clock.monotonic_ns();
        let period_ns = u64::try_from(PERIOD.as_nanos()).unwrap_or(u64::MAX);
        let due = {
            let mut state = self.region_watch.state.lock();
            let is_due = now.saturating_sub(state.looked_ns) >= period_ns;
            if is_due {
                state.looked_ns = now;
            }
            is_due
        };
        if due {
            self.look_at_regions(now);
        }
    }

    /// Determines which regions are idle, and requests compactions where the policy wants them.
    pub(super) fn look_at_regions(&self, now: u64) {
        let idle_ns = self.shared.options.idle_compaction_ms.saturating_mul(1_000_000);
        let regions = self.shared.scheduler.regions();
        let mut state = self.region_watch.state.lock();
        let mut before = std::mem::take(&mut state.regions);
        let mut to_ask = Vec::new();
        for region in regions {
            let sequence = region.read_point();
            let mut seen = match before.remove(&region.number) {
                Some(seen) if seen.sequence == sequence => seen,
                _ => Seen {
                    sequence,
                    since_ns: now,
                    asked_ns: now,
                    is_idle: false,
                    is_to_be_asked: false,
                },
            };
            let becomes_idle =
                !seen.is_idle && idle_ns > 0 && now.saturating_sub(seen.since_ns) >= idle_ns;
            if becomes_idle || seen.since_ns == now {
                seen.is_idle = becomes_idle;
                seen.is_to_be_asked = becomes_idle;
                region.set_idle(becomes_idle);
            }
            if seen.is_to_be_asked || now.saturating_sub(seen.asked_ns) >= POLICY_PERIOD_NS {
                to_ask.push(Arc::clone(&region));
            }
            state.regions.insert(region.number, seen);
        }
        drop(state);
        let mut requests = 0;
        for region in to_ask {
            let is_idle = region.is_idle();
            if is_idle && requests >= MAX_IDLE_REQUESTS {
                continue;
            }
            if let Some(seen) = self.region_watch.state.lock().regions.get_mut(&region.number) {
                (seen.is_to_be_asked, seen.asked_ns) = (false, now);
            }
            if region.check_open().is_ok() && region.needs_compaction() {
                requests += usize::from(is_idle);
                self.shared.scheduler.request_compaction(&region);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use halite_types::{FamilyDescriptor, Put, RowOp, TableDescriptor, TableName};

    use crate::env::sim::SimEnv;
    use crate::{Engine, Options};

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn idle_region_is_compacted_and_busy_one_not() {
        let sim = SimEnv::new(1);
        let engine = Engine::open(sim.env(), Options::default()).unwrap();
        let name: TableName = "t".parse().unwrap();
        let table = TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f"));
        engine.create_table(table, vec![]).unwrap();
        let table = engine.table(&name).unwrap();
        let put = |row: String| {
            let put = Put::new(row).add("f", "q", "v");
            drop(table.batch(vec![RowOp::Put(put)]).unwrap());
        };
        let region = table.region_for_row(b"").unwrap();
        for row in 0..2 {
            put(format!("row{row}"));
            region.flush().unwrap();
        }
        let files = || region.origins().len() / 2;
        let look = |seconds: u64| {
            engine.look_at_regions(seconds * SECOND_NS);
            while engine.run_one_job().unwrap() {}
        };
        look(100);
        assert_eq!(files(), 2, "two files are too few for the policy");
        look(105);
        put("row2".to_owned());
        look(111);
        look(120);
        assert_eq!(files(), 2, "the last write was not long enough ago");
        look(122);
        assert_eq!(files(), 1, "the region was idle for ten seconds");
        region.flush().unwrap();
        look(130);
        look(200);
        assert_eq!(files(), 1, "the flushed file is compacted once it is idle again");
    }

    #[test]
    fn idle_compaction_can_be_switched_off() {
        let sim = SimEnv::new(1);
        let options = Options { idle_compaction_ms: 0, ..Options::default() };
        let engine = Engine::open(sim.env(), options).unwrap();
        let name: TableName = "t".parse().unwrap();
        let table = TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f"));
        engine.create_table(table, vec![]).unwrap();
        let region = engine.table(&name).unwrap().region_for_row(b"").unwrap();
        for row in 0..2 {
            let put = Put::new(format!("row{row}")).add("f", "q", "v");
            drop(engine.table(&name).unwrap().batch(vec![RowOp::Put(put)]).unwrap());
            region.flush().unwrap();
        }
        engine.look_at_regions(SECOND_NS);
        engine.look_at_regions(1000 * SECOND_NS);
        assert!(!engine.run_one_job().unwrap());
        assert_eq!(region.origins().len() / 2, 2);
    }
}
