//! Quotas in force: who may do how much in a time, and what may not be done where too much is stored.
//!
//! | file | duty |
//! |---|---|
//! | `rate.rs` | so much in a time |
//! | `limiter.rs` | all the limits of one holder |
//! | `rules.rs` | whose limits there are, and which hold for a call |
//! | `charge.rs` | what a call is charged before and after |
//! | `space.rs` | what may not be done where too much is stored |
//!
//! What is set stands in `hbase:quota`, which the master keeps (`master_service/quotas.rs`) and gives here whenever it
//! changes. While nothing is limited a call costs one load.

mod charge;
mod limiter;
mod rate;
mod rules;
mod space;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use halite_engine::{Engine, Region};
use halite_types::schema::SYSTEM_NAMESPACE;
use halite_types::{FamilyDescriptor, RowOp, TableName};

use crate::call::{Fault, Peer};
use crate::outside::Instant;
pub(crate) use charge::{Charge, Demand, ScanEstimate};
use rules::Rules;
pub(crate) use rules::Stored;
use space::Space;

/// There are limits of requests.
const REQUESTS: u8 = 1;
/// There are limits of space.
const SPACE: u8 = 2;

/// On whose behalf tables are disabled here, as the store remembers it.
const HOLDER: &str = "space quota";

/// All limits in force.
pub(crate) struct Enforcement {
    /// What kinds of limits there are.
    kinds: AtomicU8,
    rules: RwLock<Arc<Rules>>,
    space: RwLock<Arc<Space>>,
    /// The sizes of tables when they were measured last, or of those that are disabled when they were disabled. Held while tables are
    /// measured, disabled and enabled.
    measured: Mutex<BTreeMap<TableName, u64>>,
    began: Instant,
}

impl Default for Enforcement {
    fn default() -> Self {
        Self { kinds: AtomicU8::new(0), rules: RwLock::default(), space: RwLock::default(), measured: Mutex::default(), began: Instant::now() }
    }
}

impl Enforcement {
    fn has(&self, kind: u8) -> bool {
        self.kinds.load(Relaxed) & kind != 0
    }

    fn set(&self, kind: u8, there_is: bool) {
        if there_is {
            self.kinds.fetch_or(kind, Relaxed)
        } else {
            self.kinds.fetch_and(!kind, Relaxed)
        };
    }

    /// Whether there are limits of space.
    pub(crate) fn has_space_limits(&self) -> bool {
        self.has(SPACE)
    }

    /// Whether tables have to be measured: there are limits of space, or tables that one has taken out of service.
    pub(crate) fn wants_sizes(&self, engine: &Engine) -> bool {
        self.has(SPACE) || !engine.tables_disabled_for(HOLDER).is_empty()
    }

    /// Puts what is stored in force. `is_on` is the switch for limits of requests, `may_exceed` that for exceeding them while
    /// the server has room.
    pub(crate) fn change(&self, engine: &Engine, stored: &[Stored], is_on: bool, may_exceed: bool) {
        {
            let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
            *rules = Arc::new(Rules::new(stored, may_exceed, &rules));
            self.set(REQUESTS, is_on && !rules.is_empty());
        }
        // The last limit may have gone with tables disabled for it.
        if space::has_limits(stored) || self.wants_sizes(engine) {
            self.measure(engine, stored);
        }
    }

    /// Charges a call to a region; `None` if nothing is limited for it. The tables of the system have no limits.
    ///
    /// # Errors
    /// `RpcThrottlingException` with how long to wait.
    pub(crate) fn charge(&self, peer: &Peer, region: &Region, demand: Demand) -> Result<Option<Charge>, Fault> {
        if !self.has(REQUESTS) {
            return Ok(None);
        }
        let table = &region.info().table;
        if table.namespace() == SYSTEM_NAMESPACE {
            return Ok(None);
        }
        let rules = Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner));
        let applying = rules.applying(&peer.user, table);
        if applying.limiters.is_empty() && applying.instead.is_none() {
            return Ok(None);
        }
        let now_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Some(Charge::new(applying, demand, block_bytes(region), now_ms)?))
    }

    /// The same for a call that goes on with a scan, whose number is this.
    ///
    /// # Errors
    /// `RpcThrottlingException` with how long to wait.
    pub(crate) fn charge_scan(
        &self,
        peer: &Peer,
        region: &Region,
        estimate: &ScanEstimate,
        call: u64,
        bytes_max: usize,
    ) -> Result<Option<Charge>, Fault> {
        if !self.has(REQUESTS) {
            return Ok(None);
        }
        let block = u64::try_from(block_bytes(region)).unwrap_or(0);
        self.charge(peer, region, estimate.demand(call, block, u64::try_from(bytes_max).unwrap_or(u64::MAX)))
    }

    /// Whether an operation may be done as far as space goes.
    ///
    /// # Errors
    /// `SpaceLimitingException`.
    pub(crate) fn check_space(&self, region: &Region, op: &RowOp) -> Result<(), Fault> {
        if !self.has(SPACE) {
            return Ok(());
        }
        self.space().check(&region.info().table, op)
    }

    /// Whether so many bytes of files may be loaded into a region as far as space goes.
    ///
    /// # Errors
    /// `SpaceLimitingException`.
    pub(crate) fn check_load(&self, region: &Region, bytes: u64, paths: &[String]) -> Result<(), Fault> {
        if !self.has(SPACE) {
            return Ok(());
        }
        self.space().check_load(&region.info().table, bytes, paths)
    }

    /// Whether a table is out of service for its size, and has to stay so.
    pub(crate) fn is_disabled_for_space(&self, table: &TableName) -> bool {
        self.has(SPACE) && self.space().to_disable().contains(table)
    }

    fn space(&self) -> Arc<Space> {
        Arc::clone(&self.space.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Measures all tables, and takes those out of service that have passed a limit which says so; puts those back that
    /// have not any more. A table that is not in service keeps the size it had.
    pub(crate) fn measure(&self, engine: &Engine, stored: &[Stored]) {
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        note_sizes(engine, &mut measured, space::has_limits(stored));
        let space = Space::new(stored, &measured);
        let to_disable = space.to_disable();
        self.set(SPACE, space::has_limits(stored));
        *self.space.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(space);
        for name in &to_disable {
            if engine.is_enabled(name).is_ok_and(|is_enabled| is_enabled) {
                report(name, "disabled, since it has passed its limit of space", engine.disable_table_for(name, HOLDER));
            }
        }
        // One that somebody else has disabled is not ours to enable.
        for name in engine.tables_disabled_for(HOLDER).iter().filter(|name| !to_disable.contains(name)) {
            report(name, "enabled again, since no limit of space is passed any more", engine.enable_table(name));
        }
    }
}

/// Brings the sizes up to what there is.
fn note_sizes(engine: &Engine, measured: &mut BTreeMap<TableName, u64>, has_limits: bool) {
    let (now, disabled) = (sizes(engine), engine.disabled_tables());
    measured.retain(|name, _| disabled.binary_search(name).is_ok());
    measured.extend(now);
    // Those change, too, by the restoring of a snapshot.
    for name in disabled.into_iter().filter(|_| has_limits) {
        match engine.store_file_bytes(&name) {
            Ok(bytes) => drop(measured.insert(name, bytes)),
            Err(error) => tracing::warn!("table {name} keeps the size it had for limits of space: {error}"),
        }
    }
}

fn report(name: &TableName, what: &str, result: halite_types::Result<()>) {
    match result {
        Ok(()) => tracing::info!("table {name} is {what}"),
        Err(error) => tracing::warn!("table {name} should be {what}, and cannot: {error}"),
    }
}

/// Bytes of the store files of each table that is in service.
pub(crate) fn sizes(engine: &Engine) -> BTreeMap<TableName, u64> {
    let mut sizes = BTreeMap::<TableName, u64>::new();
    for load in engine.status().regions {
        *sizes.entry(load.region.table).or_default() += load.store_file_bytes;
    }
    sizes
}

/// The smallest block of the region's families: what any read looks through at least.
fn block_bytes(region: &Region) -> i64 {
    let descriptor = region.descriptor();
    descriptor.families().map(FamilyDescriptor::block_size_bytes).min().unwrap_or(0).into()
}
