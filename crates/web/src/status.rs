//! Statistics of all regions at one time, kept for a minute so that a list can be read in parts.
//!
//! A status is named by its time ([`Status::as_of`]). It also keeps the sorted and filtered lists
//! that were asked of it, as indexes, so that each further part of a list costs its own rows only.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use halite_types::{Error, RegionLoad, Result, TableName, block_on};

use crate::extension::WebSources;
use crate::samples::{Rates, Samples, Series};

/// Time for which a status can be requested by its name.
const KEPT: Duration = Duration::from_mins(1);

/// Maximum statuses that are kept, and maximum regions of all of them.
const MAX_KEPT: usize = 256;
const MAX_KEPT_REGIONS: usize = 400_000;

/// Multiple of the time that the cluster took to answer for which a status is used for further
/// requests: a small cluster is asked every time, so that a new table has regions at once.
const REUSE_FACTOR: u32 = 20;

/// The same for estimates, which the statistics of the last minute serve as well: an answer for a
/// cluster of very many regions does not wait for all of them.
const ESTIMATE_REUSE_FACTOR: u32 = 200;

/// Maximum sorted lists of one status.
const MAX_ORDERS: usize = 16;

/// Statistics of all regions at one time.
#[derive(Debug)]
pub(crate) struct Status {
    /// Milliseconds since 1970; no two statuses have the same.
    pub(crate) as_of: u64,
    taken: Instant,
    /// Time that the cluster took to answer.
    cost: Duration,
    /// All regions by table and start key.
    pub(crate) regions: Vec<RegionLoad>,
    /// Rates of each of them.
    pub(crate) rates: Vec<Rates>,
    tables: BTreeMap<TableName, Range<usize>>,
    orders: Mutex<VecDeque<(OrderKey, Arc<[u32]>)>>,
}

/// What distinguishes the lists of a status: the table, the text that is searched, the sort.
pub(crate) type OrderKey = (TableName, String, String);

impl Status {
    fn new(as_of: u64, asked: Instant, mut regions: Vec<RegionLoad>, samples: &Samples) -> Self {
        let place = |load: &RegionLoad| (load.region.table.clone(), load.region.start.clone());
        let is_sorted = regions.is_sorted_by(|a, b| {
            (&a.region.table, &a.region.start) <= (&b.region.table, &b.region.start)
        });
        if !is_sorted {
            regions.sort_by_cached_key(place);
        }
        let mut tables: BTreeMap<TableName, Range<usize>> = BTreeMap::new();
        for (at, load) in regions.iter().enumerate() {
            match tables.get_mut(&load.region.table) {
                Some(range) => range.end = at + 1,
                None => drop(tables.insert(load.region.table.clone(), at..at + 1)),
            }
        }
        let taken = Instant::now();
        let rates = samples.rates(taken, &regions);
        Self { as_of, taken, cost: taken - asked, regions, rates, tables, orders: Mutex::default() }
    }

    /// Returns the indexes of a table's regions, in key order.
    pub(crate) fn range(&self, table: &TableName) -> Range<usize> {
        self.tables.get(table).cloned().unwrap_or(0..0)
    }

    /// Returns the statistics and the rates of a table's regions, in key order.
    pub(crate) fn of_table(&self, table: &TableName) -> (&[RegionLoad], &[Rates]) {
        let range = self.range(table);
        (&self.regions[range.clone()], &self.rates[range])
    }

    /// Returns a sorted list of regions, made by `sort` unless it was requested before.
    pub(crate) fn order(&self, key: OrderKey, sort: impl FnOnce() -> Vec<u32>) -> Arc<[u32]> {
        let orders = || self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, order)) = orders().iter().find(|(known, _)| *known == key) {
            return Arc::clone(order);
        }
        let order: Arc<[u32]> = sort().into();
        let mut orders = orders();
        if orders.len() >= MAX_ORDERS {
            orders.pop_front();
        }
        orders.push_back((key, Arc::clone(&order)));
        order
    }
}

/// Present and recent statuses.
pub(crate) struct StatusHistory {
    sources: WebSources,
    max_age: Duration,
    samples: Mutex<Samples>,
    kept: Mutex<VecDeque<Arc<Status>>>,
    /// Held while the cluster is asked, so that requests that wait share the answer, also if it is
    /// an error.
    asking: Mutex<LastFailure>,
}

/// Time and error of the last answer that was none.
type LastFailure = Option<(Instant, Error)>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StatusHistory {
    pub(crate) fn new(sources: WebSources, max_age: Duration) -> Self {
        Self {
            sources,
            max_age,
            samples: Mutex::default(),
            kept: Mutex::default(),
            asking: Mutex::default(),
        }
    }

    /// Returns the newest status if it is young enough, or asks the cluster. Blocks.
    pub(crate) fn current(&self) -> Result<Arc<Status>> {
        let asked = Instant::now();
        let mut asking = lock(&self.asking);
        if let Some((at, error)) = &*asking
            && *at >= asked
        {
            return Err(error.clone());
        }
        if let Some(newest) = lock(&self.kept).back()
            && (newest.taken >= asked || newest.taken.elapsed() < self.max_age(newest))
        {
            return Ok(Arc::clone(newest));
        }
        self.ask(&mut asking)
    }

    /// Returns a status for estimates about a table, which may be a minute old if the cluster takes
    /// long to answer. Blocks.
    pub(crate) fn recent(&self, table: &TableName) -> Result<Arc<Status>> {
        let newest = lock(&self.kept).back().map(Arc::clone);
        let is_recent = |status: &Arc<Status>| {
            status.taken.elapsed() < KEPT.min(status.cost * ESTIMATE_REUSE_FACTOR)
                && !status.range(table).is_empty()
        };
        newest.filter(is_recent).map_or_else(|| self.current(), Ok)
    }

    fn max_age(&self, status: &Status) -> Duration {
        self.max_age.min(status.cost * REUSE_FACTOR)
    }

    /// Returns the status of that time, if it is still kept.
    pub(crate) fn named(&self, as_of: u64) -> Option<Arc<Status>> {
        let mut kept = lock(&self.kept);
        forget(&mut kept);
        kept.iter().find(|status| status.as_of == as_of).cloned()
    }

    /// Adds a sample of all regions to the series. Blocks.
    pub(crate) fn take_sample(&self) -> Result<()> {
        let status = self.ask(&mut lock(&self.asking))?;
        lock(&self.samples).add(status.taken, &status.regions);
        Ok(())
    }

    /// Returns the series of a region.
    pub(crate) fn series(&self, encoded_name: &str) -> Series {
        lock(&self.samples).series(encoded_name)
    }

    /// Returns the requests per second of all regions in the last ten minutes, oldest first.
    pub(crate) fn sums(&self) -> Vec<Option<f64>> {
        lock(&self.samples).sums()
    }

    fn ask(&self, failure: &mut LastFailure) -> Result<Arc<Status>> {
        let admin = self.sources.cluster.blocking_admin();
        let asked = Instant::now();
        let answer = block_on(admin.cluster_status())
            .inspect_err(|error| *failure = Some((Instant::now(), error.clone())))?;
        let mut kept = lock(&self.kept);
        let newest = kept.back().map_or(0, |status| status.as_of);
        let as_of = self.sources.extension.now_ms().max(newest + 1);
        let status = Status::new(as_of, asked, answer.regions, &lock(&self.samples));
        let status = Arc::new(status);
        kept.push_back(Arc::clone(&status));
        forget(&mut kept);
        Ok(status)
    }
}

/// Removes statuses that are too old or too many; the newest is kept.
fn forget(kept: &mut VecDeque<Arc<Status>>) {
    let mut regions: usize = kept.iter().map(|status| status.regions.len()).sum();
    while kept.len() > 1
        && let Some(oldest) = kept.front()
        && (oldest.taken.elapsed() > KEPT || kept.len() > MAX_KEPT || regions > MAX_KEPT_REGIONS)
    {
        regions -= oldest.regions.len();
        kept.pop_front();
    }
}
