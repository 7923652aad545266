//! The switches of the master: balancer, normalizer, splits and merges, chores.
//!
//! One server has nothing to balance, and most of what HBase's chores clean up never comes about here; the switches are
//! remembered and told, and those for splits, merges and the catalog janitor are obeyed.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use halite_engine::Engine;
use halite_types::TableDescriptor;
use halite_wire::proto as pb;
use pb::MasterSwitchType;

use super::asked::Asked;
use crate::call::Fault;
use crate::context::Context;

/// On or off.
#[derive(Debug)]
pub(crate) struct Switch {
    on: AtomicBool,
    /// Its name among the settings of the store, for one that outlives the process.
    setting: Option<&'static str>,
}

impl Switch {
    /// One that is on whenever the process starts.
    const fn passing() -> Self {
        Self { on: AtomicBool::new(true), setting: None }
    }

    /// One that is as it was left, and on at first.
    fn durable(engine: &Engine, setting: &'static str) -> Self {
        let on = engine.setting(setting).is_none_or(|value| value[..] != OFF);
        Self { on: AtomicBool::new(on), setting: Some(setting) }
    }

    pub(crate) fn get(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    /// Sets it and gives what it was.
    ///
    /// # Errors
    /// If it cannot be kept; it is as it was then.
    pub(crate) fn set(&self, engine: &Engine, on: bool) -> Result<bool, Fault> {
        if let Some(setting) = self.setting.filter(|_| on != self.get()) {
            engine.change_settings(|settings| {
                let value = Bytes::from_static(if on { &ON } else { &OFF });
                settings.insert(setting.to_owned(), value);
                Ok(())
            })?;
        }
        Ok(self.on.swap(on, Ordering::AcqRel))
    }
}

const ON: [u8; 1] = [1];
const OFF: [u8; 1] = [0];

/// All of them. Those that HBase keeps over a restart are kept.
#[derive(Debug)]
pub(crate) struct Switches {
    pub(crate) balancer: Switch,
    pub(crate) normalizer: Switch,
    pub(crate) split: Switch,
    pub(crate) merge: Switch,
    pub(crate) catalog_janitor: Switch,
    pub(crate) cleaner: Switch,
    pub(crate) snapshot_cleanup: Switch,
    pub(crate) peer_modification: Switch,
    pub(crate) rpc_throttle: Switch,
}

impl Switches {
    /// As they were left.
    pub(crate) fn load(engine: &Engine) -> Self {
        let switches = Self {
            balancer: Switch::durable(engine, "switch/balancer"),
            normalizer: Switch::durable(engine, "switch/normalizer"),
            split: Switch::durable(engine, "switch/split"),
            merge: Switch::durable(engine, "switch/merge"),
            catalog_janitor: Switch::passing(),
            cleaner: Switch::passing(),
            snapshot_cleanup: Switch::durable(engine, "switch/snapshot-cleanup"),
            peer_modification: Switch::durable(engine, "switch/peer-modification"),
            rpc_throttle: Switch::durable(engine, "switch/rpc-throttle"),
        };
        engine.allow_splits(switches.split.get());
        switches
    }
}

fn all<'a>(asked: &Asked<'a>) -> &'a Switches {
    &asked.context.master.switches
}

/// `Balance`: with one server there is never a move to make.
pub(super) fn balance(asked: &Asked<'_>, request: &pb::BalanceRequest) -> Result<pb::BalanceResponse, Fault> {
    let balancer_ran = all(asked).balancer.get() || request.dry_run();
    Ok(pb::BalanceResponse { balancer_ran, moves_calculated: Some(0), moves_executed: Some(0) })
}

/// `SetBalancerRunning`.
pub(super) fn set_balancer(asked: &Asked<'_>, request: &pb::SetBalancerRunningRequest) -> Result<pb::SetBalancerRunningResponse, Fault> {
    Ok(pb::SetBalancerRunningResponse { prev_balance_value: Some(all(asked).balancer.set(asked.engine(), request.on)?) })
}

/// `IsBalancerEnabled`.
pub(super) fn is_balancer_on(asked: &Asked<'_>, _: &pb::IsBalancerEnabledRequest) -> Result<pb::IsBalancerEnabledResponse, Fault> {
    Ok(pb::IsBalancerEnabledResponse { enabled: all(asked).balancer.get() })
}

fn by_type<'a>(asked: &Asked<'a>, switch: i32) -> Result<&'a Switch, Fault> {
    match MasterSwitchType::try_from(switch) {
        Ok(MasterSwitchType::Split) => Ok(&all(asked).split),
        Ok(MasterSwitchType::Merge) => Ok(&all(asked).merge),
        Err(_) => Err(Fault::do_not_retry(format!("there is no switch of the type {switch}; 0 is that of splits, 1 that of merges"))),
    }
}

/// `SetSplitOrMergeEnabled`: the previous values come in the order of the switches in the request.
pub(super) fn set_split_or_merge(
    asked: &Asked<'_>,
    request: &pb::SetSplitOrMergeEnabledRequest,
) -> Result<pb::SetSplitOrMergeEnabledResponse, Fault> {
    let switches = request.switch_types.iter().map(|switch| by_type(asked, *switch)).collect::<Result<Vec<_>, _>>()?;
    let prev_value = switches.into_iter().map(|switch| switch.set(asked.engine(), request.enabled)).collect::<Result<_, _>>()?;
    asked.engine().allow_splits(all(asked).split.get());
    Ok(pb::SetSplitOrMergeEnabledResponse { prev_value })
}

/// `IsSplitOrMergeEnabled`.
pub(super) fn is_split_or_merge_on(
    asked: &Asked<'_>,
    request: &pb::IsSplitOrMergeEnabledRequest,
) -> Result<pb::IsSplitOrMergeEnabledResponse, Fault> {
    Ok(pb::IsSplitOrMergeEnabledResponse { enabled: by_type(asked, request.switch_type)?.get() })
}

/// `Normalize`: when it is on it looks at the tables that want it, which none does unless it says so. Regions are not
/// normalized here, so a request that is for such a table is refused.
pub(super) fn normalize(asked: &Asked<'_>, request: &pb::NormalizeRequest) -> Result<pb::NormalizeResponse, Fault> {
    let normalizer_ran = all(asked).normalizer.get();
    if normalizer_ran && let Some(table) = super::describe::asked_for(asked, request)?.into_iter().find(wants_normalizing) {
        let text = "its regions are not normalized by Halite; split and merge them, or take NORMALIZATION_ENABLED off the table";
        return Err(Fault::do_not_retry(format!("table {}: {text}", table.name())));
    }
    Ok(pb::NormalizeResponse { normalizer_ran })
}

fn wants_normalizing(table: &TableDescriptor) -> bool {
    table.attributes.get("NORMALIZATION_ENABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// `SetNormalizerRunning`.
pub(super) fn set_normalizer(asked: &Asked<'_>, request: &pb::SetNormalizerRunningRequest) -> Result<pb::SetNormalizerRunningResponse, Fault> {
    Ok(pb::SetNormalizerRunningResponse { prev_normalizer_value: Some(all(asked).normalizer.set(asked.engine(), request.on)?) })
}

/// `IsNormalizerEnabled`.
pub(super) fn is_normalizer_on(asked: &Asked<'_>, _: &pb::IsNormalizerEnabledRequest) -> Result<pb::IsNormalizerEnabledResponse, Fault> {
    Ok(pb::IsNormalizerEnabledResponse { enabled: all(asked).normalizer.get() })
}

/// `RunCatalogScan`: the number of regions it cleaned up, whether the janitor comes by itself or not.
pub(super) fn run_catalog_scan(asked: &Asked<'_>, _: &pb::RunCatalogScanRequest) -> Result<pb::RunCatalogScanResponse, Fault> {
    let cleaned = asked.engine().forget_merged_regions()?;
    Ok(pb::RunCatalogScanResponse { scan_result: Some(i32::try_from(cleaned).unwrap_or(i32::MAX)) })
}

/// What HBase's catalog janitor does when it comes by and is switched on.
pub(crate) fn clean_catalog(context: &Context) {
    if !context.master.switches.catalog_janitor.get() {
        return;
    }
    match context.engine.forget_merged_regions() {
        Ok(0) => {}
        Ok(cleaned) => tracing::debug!("{cleaned} merged regions have let go of those they were merged from"),
        Err(error) => tracing::warn!("merged regions could not let go of those they were merged from: {error}"),
    }
}

/// `EnableCatalogJanitor`.
pub(super) fn set_catalog_janitor(asked: &Asked<'_>, request: &pb::EnableCatalogJanitorRequest) -> Result<pb::EnableCatalogJanitorResponse, Fault> {
    Ok(pb::EnableCatalogJanitorResponse { prev_value: Some(all(asked).catalog_janitor.set(asked.engine(), request.enable)?) })
}

/// `IsCatalogJanitorEnabled`.
pub(super) fn is_catalog_janitor_on(asked: &Asked<'_>, _: &pb::IsCatalogJanitorEnabledRequest) -> Result<pb::IsCatalogJanitorEnabledResponse, Fault> {
    Ok(pb::IsCatalogJanitorEnabledResponse { value: all(asked).catalog_janitor.get() })
}

/// `RunCleanerChore`: files go with their last reader, so there is nothing left to clean.
pub(super) fn run_cleaner(_: &Asked<'_>, _: &pb::RunCleanerChoreRequest) -> Result<pb::RunCleanerChoreResponse, Fault> {
    Ok(pb::RunCleanerChoreResponse { cleaner_chore_ran: true })
}

/// `SetCleanerChoreRunning`.
pub(super) fn set_cleaner(asked: &Asked<'_>, request: &pb::SetCleanerChoreRunningRequest) -> Result<pb::SetCleanerChoreRunningResponse, Fault> {
    Ok(pb::SetCleanerChoreRunningResponse { prev_value: Some(all(asked).cleaner.set(asked.engine(), request.on)?) })
}

/// `IsCleanerChoreEnabled`.
pub(super) fn is_cleaner_on(asked: &Asked<'_>, _: &pb::IsCleanerChoreEnabledRequest) -> Result<pb::IsCleanerChoreEnabledResponse, Fault> {
    Ok(pb::IsCleanerChoreEnabledResponse { value: all(asked).cleaner.get() })
}

/// `SwitchSnapshotCleanup`: whether snapshots whose time to live is over are deleted.
pub(super) fn set_snapshot_cleanup(asked: &Asked<'_>, request: &pb::SetSnapshotCleanupRequest) -> Result<pb::SetSnapshotCleanupResponse, Fault> {
    Ok(pb::SetSnapshotCleanupResponse { prev_snapshot_cleanup: all(asked).snapshot_cleanup.set(asked.engine(), request.enabled)? })
}

/// `IsSnapshotCleanupEnabled`.
pub(super) fn is_snapshot_cleanup_on(
    asked: &Asked<'_>,
    _: &pb::IsSnapshotCleanupEnabledRequest,
) -> Result<pb::IsSnapshotCleanupEnabledResponse, Fault> {
    Ok(pb::IsSnapshotCleanupEnabledResponse { enabled: all(asked).snapshot_cleanup.get() })
}
