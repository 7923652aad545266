//! Quotas in force: rates per user, table, namespace and server, and space limits of tables.
//!
//! | file | purpose |
//! |---|---|
//! | `rate_limiter.rs` | one rate limit |
//! | `quota_limiter.rs` | all limits of one subject |
//! | `rpc_quotas.rs` | limits of all subjects, and those that apply to a call |
//! | `operation_quota.rs` | charges of a call, estimated before and corrected after |
//! | `space.rs` | operations disallowed in tables over a space limit |
//!
//! Settings are stored in `hbase:quota`. The master maintains that table
//! (`master_service/quotas.rs`) and passes the settings to this module when they change. While no
//! limit is set a call costs one load.

mod operation_quota;
mod quota_limiter;
mod rate_limiter;
mod rpc_quotas;
mod space;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use halite_engine::{Engine, Region};
use halite_types::schema::SYSTEM_NAMESPACE;
use halite_types::{FamilyDescriptor, RowOp, TableName};

use crate::base::call::{CallError, Peer};
use crate::outside::Instant;
pub(crate) use operation_quota::{EstimatedUsage, OperationQuota, ScanEstimate};
use rpc_quotas::RpcQuotas;
pub(crate) use rpc_quotas::StoredQuota;
use space::SpaceQuotas;

/// Flag for limits of requests.
const REQUESTS: u8 = 1;
/// Flag for limits of space.
const SPACE: u8 = 2;

/// Reason under which the store records tables disabled by this module.
const HOLDER: &str = "space quota";

/// All limits in force.
pub(crate) struct QuotaManager {
    /// Flags of the kinds of limits in force.
    kinds: AtomicU8,
    rpc_quotas: RwLock<Arc<RpcQuotas>>,
    space_quotas: RwLock<Arc<SpaceQuotas>>,
    /// Sizes of tables at the last measurement; of disabled tables, the size when they were
    /// disabled. Held while tables are measured, disabled and enabled.
    table_sizes: Mutex<BTreeMap<TableName, u64>>,
    began: Instant,
}

impl Default for QuotaManager {
    fn default() -> Self {
        Self {
            kinds: AtomicU8::new(0),
            rpc_quotas: RwLock::default(),
            space_quotas: RwLock::default(),
            table_sizes: Mutex::default(),
            began: Instant::now(),
        }
    }
}

impl QuotaManager {
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

    /// Returns `true` if there are limits of space.
    pub(crate) fn has_space_limits(&self) -> bool {
        self.has(SPACE)
    }

    /// Returns `true` if tables have to be measured: there are limits of space, or tables that such
    /// a limit has disabled.
    pub(crate) fn needs_table_sizes(&self, engine: &Engine) -> bool {
        self.has(SPACE) || !engine.tables_disabled_for(HOLDER).is_empty()
    }

    /// Applies the stored settings. `is_on` enables limits of requests; `may_exceed` allows
    /// exceeding them while the server limit has room.
    pub(crate) fn change(
        &self,
        engine: &Engine,
        stored: &[StoredQuota],
        is_on: bool,
        may_exceed: bool,
    ) {
        {
            let mut rules = self.rpc_quotas.write().unwrap_or_else(PoisonError::into_inner);
            *rules = Arc::new(RpcQuotas::new(stored, may_exceed, &rules));
            self.set(REQUESTS, is_on && !rules.is_empty());
        }
        // The last limit may have been removed while tables are disabled for it.
        if space::has_limits(stored) || self.needs_table_sizes(engine) {
            self.measure(engine, stored);
        }
    }

    /// Charges a call to a region. Returns `None` if no limit applies to it. System tables have no
    /// limits.
    ///
    /// # Errors
    /// `RpcThrottlingException` with the time to wait.
    pub(crate) fn check_quota(
        &self,
        peer: &Peer,
        region: &Region,
        demand: EstimatedUsage,
    ) -> Result<Option<OperationQuota>, CallError> {
        if !self.has(REQUESTS) {
            return Ok(None);
        }
        let table = &region.info().table;
        if table.namespace() == SYSTEM_NAMESPACE {
            return Ok(None);
        }
        let rules = Arc::clone(&self.rpc_quotas.read().unwrap_or_else(PoisonError::into_inner));
        let applying = rules.applicable(&peer.user, table);
        if applying.limiters.is_empty() && applying.instead.is_none() {
            return Ok(None);
        }
        let now_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Some(OperationQuota::new(applying, demand, block_bytes(region), now_ms)?))
    }

    /// Charges a call that continues a scan. `call` is its sequence number.
    ///
    /// # Errors
    /// `RpcThrottlingException` with the time to wait.
    pub(crate) fn check_scan_quota(
        &self,
        peer: &Peer,
        region: &Region,
        estimate: &ScanEstimate,
        call: u64,
        max_bytes: usize,
    ) -> Result<Option<OperationQuota>, CallError> {
        if !self.has(REQUESTS) {
            return Ok(None);
        }
        let block = u64::try_from(block_bytes(region)).unwrap_or(0);
        self.check_quota(
            peer,
            region,
            estimate.next_usage(call, block, u64::try_from(max_bytes).unwrap_or(u64::MAX)),
        )
    }

    /// Checks that the space limits allow an operation.
    ///
    /// # Errors
    /// `SpaceLimitingException`.
    pub(crate) fn check_space(&self, region: &Region, op: &RowOp) -> Result<(), CallError> {
        if !self.has(SPACE) {
            return Ok(());
        }
        self.space_quotas().check(&region.info().table, op)
    }

    /// Checks that the space limits allow a bulk load of `bytes` into a region.
    ///
    /// # Errors
    /// `SpaceLimitingException`.
    pub(crate) fn check_load(
        &self,
        region: &Region,
        bytes: u64,
        paths: &[String],
    ) -> Result<(), CallError> {
        if !self.has(SPACE) {
            return Ok(());
        }
        self.space_quotas().check_load(&region.info().table, bytes, paths)
    }

    /// Returns `true` if a table is over a space limit and must stay disabled.
    pub(crate) fn is_disabled_for_space(&self, table: &TableName) -> bool {
        self.has(SPACE) && self.space_quotas().to_disable().contains(table)
    }

    fn space_quotas(&self) -> Arc<SpaceQuotas> {
        Arc::clone(&self.space_quotas.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Measures all tables, disables those over a limit with the policy `DISABLE`, and enables
    /// those no longer over a limit. A disabled table keeps its last size.
    pub(crate) fn measure(&self, engine: &Engine, stored: &[StoredQuota]) {
        let mut measured = self.table_sizes.lock().unwrap_or_else(PoisonError::into_inner);
        record_sizes(engine, &mut measured, space::has_limits(stored));
        let space = SpaceQuotas::new(stored, &measured);
        let to_disable = space.to_disable();
        self.set(SPACE, space::has_limits(stored));
        *self.space_quotas.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(space);
        for name in &to_disable {
            if engine.is_enabled(name).is_ok_and(|is_enabled| is_enabled) {
                report(
                    name,
                    "disabled, since it has passed its limit of space",
                    engine.disable_table_for(name, HOLDER),
                );
            }
        }
        // A table disabled by a client is not enabled here.
        for name in
            engine.tables_disabled_for(HOLDER).iter().filter(|name| !to_disable.contains(name))
        {
            report(
                name,
                "enabled again, since no limit of space is passed any more",
                engine.enable_table(name),
            );
        }
    }
}

/// Updates the sizes to the current state.
fn record_sizes(engine: &Engine, measured: &mut BTreeMap<TableName, u64>, has_limits: bool) {
    let (now, disabled) = (sizes(engine), engine.disabled_tables());
    measured.retain(|name, _| disabled.binary_search(name).is_ok());
    measured.extend(now);
    // Sizes of disabled tables change too, when a snapshot is restored.
    for name in disabled.into_iter().filter(|_| has_limits) {
        match engine.store_file_bytes(&name) {
            Ok(bytes) => drop(measured.insert(name, bytes)),
            Err(error) => {
                tracing::warn!("table {name} keeps the size it had for limits of space: {error}");
            }
        }
    }
}

fn report(name: &TableName, what: &str, result: halite_types::Result<()>) {
    match result {
        Ok(()) => tracing::info!("table {name} is {what}"),
        Err(error) => tracing::warn!("table {name} should be {what}, and cannot: {error}"),
    }
}

/// Returns the bytes of the store files of each enabled table.
pub(crate) fn sizes(engine: &Engine) -> BTreeMap<TableName, u64> {
    let mut sizes = BTreeMap::<TableName, u64>::new();
    for load in engine.status().regions {
        *sizes.entry(load.region.table).or_default() += load.store_file_bytes;
    }
    sizes
}

/// Returns the smallest block size of the region's families, the minimum that a read scans.
fn block_bytes(region: &Region) -> i64 {
    let descriptor = region.descriptor();
    descriptor.families().map(FamilyDescriptor::block_size_bytes).min().unwrap_or(0).into()
}
