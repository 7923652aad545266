//! Traffic of `halite serve --demo`: a gentle mixture over the demo's tables, so that the pages of
//! a new server show something. It changes no result of a query: observations that are written
//! again have the same values and timestamps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use halite::{BlockingTable, ErrorKind, Get, Scan, Store};

use super::keys::row_key;
use super::load::{DAILY, SENSORS, day_key, put_observation};
use super::weather::{self, Observation};
use crate::bench::SeededRng;
use crate::traffic::Schedule;

/// Longest sleep before the thread looks whether it must stop.
const MAX_SLEEP: Duration = Duration::from_millis(50);
/// Time between two operations after one has failed.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(1);
/// Observations of one scan: a night.
const SCANNED_ROWS: usize = 8;

/// Operation on the demo's tables; numbers are those of observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DemoOperation {
    /// Reads an observation.
    Get(usize),
    /// Reads an observation and some that are older.
    Scan(usize),
    /// Reads the counters of the day of an observation.
    GetCounters(usize),
    /// Writes an observation again.
    Put(usize),
}

/// Endless operations from a seed.
struct Mixture {
    chance: SeededRng,
    observations: usize,
}

impl Mixture {
    fn next(&mut self) -> DemoOperation {
        let at = self.chance.below(self.observations as u64);
        let at = usize::try_from(at).unwrap_or(0);
        match self.chance.below(100) {
            0..55 => DemoOperation::Get(at),
            55..65 => DemoOperation::Scan(at),
            65..80 => DemoOperation::GetCounters(at),
            _ => DemoOperation::Put(at),
        }
    }
}

/// Running traffic. It ends when this is dropped.
pub(crate) struct DemoTraffic {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl DemoTraffic {
    /// Starts traffic of `rate` operations per second on a store with the demo's tables, until
    /// `is_stopped` returns `true` or a table is dropped.
    ///
    /// # Errors
    /// Returns an error if the tables do not exist or the thread cannot be started.
    pub(crate) fn start(
        store: &Store,
        rate: u64,
        is_stopped: impl Fn() -> bool + Send + 'static,
    ) -> anyhow::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let requested = stop.clone();
        let worker = Worker {
            sensors: store.table(SENSORS)?,
            daily: store.table(DAILY)?,
            observations: weather::observations()?,
            is_stopped: Box::new(move || requested.load(Ordering::Relaxed) || is_stopped()),
            start: Instant::now(),
        };
        let thread = std::thread::Builder::new()
            .name("demo-traffic".into())
            .spawn(move || worker.run(rate))
            .context("starting the thread of the demo's traffic")?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for DemoTraffic {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::warn!("demo: the thread of the traffic panicked");
        }
    }
}

struct Worker {
    sensors: BlockingTable,
    daily: BlockingTable,
    observations: Vec<Observation>,
    is_stopped: Box<dyn Fn() -> bool + Send>,
    start: Instant,
}

impl Worker {
    fn run(&self, rate: u64) {
        let mut mixture =
            Mixture { chance: SeededRng::new(1), observations: self.observations.len() };
        let mut schedule = Schedule::new(rate, None);
        let mut has_failed = false;
        loop {
            let due = schedule.take(self.start.elapsed(), 1);
            if !self.wait_until(due) {
                return;
            }
            let Err(error) = self.execute(mixture.next()) else { continue };
            if error.kind() == ErrorKind::NoSuchTable {
                tracing::info!("demo: the traffic ends: {error}");
                return;
            }
            if !std::mem::replace(&mut has_failed, true) {
                tracing::warn!("demo: an operation of the traffic failed: {error}");
            }
            if !self.wait_until(self.start.elapsed() + PAUSE_AFTER_ERROR) {
                return;
            }
        }
    }

    fn execute(&self, operation: DemoOperation) -> halite::Result<()> {
        let observation = |at: usize| &self.observations[at];
        let key = |at: usize| row_key(&observation(at).station, observation(at).time_ms);
        match operation {
            DemoOperation::Get(at) => self.sensors.get(Get::new(key(at))).map(drop),
            DemoOperation::Scan(at) => {
                let scan = Scan::all().start(key(at)).limit(SCANNED_ROWS);
                self.sensors.scan(scan).try_for_each(|row| row.map(drop))
            }
            DemoOperation::GetCounters(at) => {
                let observation = observation(at);
                let time =
                    jiff::Timestamp::from_millisecond(observation.time_ms).unwrap_or_default();
                let day = time.strftime("%Y-%m-%d").to_string();
                let get = Get::new(day_key(&observation.station, &day)).family("count");
                self.daily.get(get).map(drop)
            }
            DemoOperation::Put(at) => self.sensors.put(put_observation(observation(at))),
        }
    }

    /// Sleeps until a time. Returns `false` if the traffic is stopped before.
    fn wait_until(&self, due: Duration) -> bool {
        loop {
            if (self.is_stopped)() {
                return false;
            }
            let wait = due.saturating_sub(self.start.elapsed());
            if wait.is_zero() {
                return true;
            }
            std::thread::sleep(wait.min(MAX_SLEEP));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;

    fn all_rows(store: &Store) -> Vec<halite::Row> {
        [SENSORS, DAILY]
            .into_iter()
            .flat_map(|table| store.table(table).unwrap().scan(Scan::all().all_versions()))
            .collect::<halite::Result<_>>()
            .unwrap()
    }

    #[test]
    fn traffic_reads_and_writes_without_changing_results() {
        let folder = tempfile::tempdir().unwrap();
        let store = halite::open(folder.path()).unwrap();
        let observations = weather::observations().unwrap()[..600].to_vec();
        let backend = Backend::from(store.clone());
        super::super::load::load(&backend, &observations, None, &|| false).unwrap();
        let before = all_rows(&store);
        let worker = Worker {
            sensors: store.table(SENSORS).unwrap(),
            daily: store.table(DAILY).unwrap(),
            observations,
            is_stopped: Box::new(|| false),
            start: Instant::now(),
        };
        let mut mixture = Mixture { chance: SeededRng::new(1), observations: 600 };
        let operations: Vec<DemoOperation> = (0..400).map(|_| mixture.next()).collect();
        let puts = operations.iter().filter(|one| matches!(one, DemoOperation::Put(_))).count();
        assert!((50..120).contains(&puts), "{puts}");
        operations.into_iter().for_each(|operation| worker.execute(operation).unwrap());
        assert_eq!(all_rows(&store), before);
        drop(worker);
        drop(backend);
        store.close().unwrap();
    }

    #[test]
    fn traffic_ends_when_table_is_dropped_or_stop_requested() {
        let folder = tempfile::tempdir().unwrap();
        let store = halite::open(folder.path()).unwrap();
        assert!(DemoTraffic::start(&store, 1000, || false).is_err());
        let backend = Backend::from(store.clone());
        let few = weather::observations().unwrap()[..10].to_vec();
        super::super::load::load(&backend, &few, None, &|| false).unwrap();
        drop(DemoTraffic::start(&store, 1000, || false).unwrap());
        let mut stopped = DemoTraffic::start(&store, 1000, || true).unwrap();
        stopped.thread.take().unwrap().join().unwrap();
        let mut dropped = DemoTraffic::start(&store, 1000, || false).unwrap();
        for table in [SENSORS, DAILY] {
            crate::traffic::drop_table(&backend, &table.parse().unwrap()).unwrap();
        }
        dropped.thread.take().unwrap().join().unwrap();
        drop(backend);
        store.close().unwrap();
    }
}
