//! Switches of the master: balancer, normalizer, splits and merges, chores.
//!
//! One server has nothing to balance, and most of what HBase's chores clean up never occurs in
//! Halite. The switches are stored and reported. Those for splits, merges and the catalog janitor
//! have an effect.

use halite_types::TableDescriptor;
use halite_wire::proto as pb;
use pb::MasterSwitchType;

use super::request_context::RequestContext;
use super::state::stored_switches::{Switch, Switches};
use crate::base::call::CallError;

fn all<'a>(request_context: &RequestContext<'a>) -> &'a Switches {
    &request_context.state.switches
}

/// Handles `Balance`. With one server there is never a region to move.
pub(super) fn balance(
    request_context: &RequestContext<'_>,
    request: &pb::BalanceRequest,
) -> Result<pb::BalanceResponse, CallError> {
    let balancer_ran = all(request_context).balancer.get() || request.dry_run();
    Ok(pb::BalanceResponse { balancer_ran, moves_calculated: Some(0), moves_executed: Some(0) })
}

/// Handles `SetBalancerRunning`.
pub(super) fn set_balancer(
    request_context: &RequestContext<'_>,
    request: &pb::SetBalancerRunningRequest,
) -> Result<pb::SetBalancerRunningResponse, CallError> {
    Ok(pb::SetBalancerRunningResponse {
        prev_balance_value: Some(
            all(request_context).balancer.set(request_context.engine(), request.on)?,
        ),
    })
}

/// Handles `IsBalancerEnabled`.
pub(super) fn is_balancer_on(
    request_context: &RequestContext<'_>,
    _: &pb::IsBalancerEnabledRequest,
) -> Result<pb::IsBalancerEnabledResponse, CallError> {
    Ok(pb::IsBalancerEnabledResponse { enabled: all(request_context).balancer.get() })
}

fn by_type<'a>(request_context: &RequestContext<'a>, switch: i32) -> Result<&'a Switch, CallError> {
    match MasterSwitchType::try_from(switch) {
        Ok(MasterSwitchType::Split) => Ok(&all(request_context).split),
        Ok(MasterSwitchType::Merge) => Ok(&all(request_context).merge),
        Err(_) => Err(CallError::do_not_retry(format!(
            "there is no switch of the type {switch}; 0 is that of splits, 1 that of merges"
        ))),
    }
}

/// Handles `SetSplitOrMergeEnabled`. Previous values are in the order of the request's switches.
pub(super) fn set_split_or_merge(
    request_context: &RequestContext<'_>,
    request: &pb::SetSplitOrMergeEnabledRequest,
) -> Result<pb::SetSplitOrMergeEnabledResponse, CallError> {
    let switches = request
        .switch_types
        .iter()
        .map(|switch| by_type(request_context, *switch))
        .collect::<Result<Vec<_>, _>>()?;
    let prev_value = switches
        .into_iter()
        .map(|switch| switch.set(request_context.engine(), request.enabled))
        .collect::<Result<_, _>>()?;
    request_context.engine().set_splits_enabled(all(request_context).split.get());
    Ok(pb::SetSplitOrMergeEnabledResponse { prev_value })
}

/// Handles `IsSplitOrMergeEnabled`.
pub(super) fn is_split_or_merge_on(
    request_context: &RequestContext<'_>,
    request: &pb::IsSplitOrMergeEnabledRequest,
) -> Result<pb::IsSplitOrMergeEnabledResponse, CallError> {
    Ok(pb::IsSplitOrMergeEnabledResponse {
        enabled: by_type(request_context, request.switch_type)?.get(),
    })
}

/// Handles `Normalize`. If the switch is on, it selects the tables that enable normalization, which
/// is off by default. Halite does not normalize regions, so a request for such a table fails.
pub(super) fn normalize(
    request_context: &RequestContext<'_>,
    request: &pb::NormalizeRequest,
) -> Result<pb::NormalizeResponse, CallError> {
    let normalizer_ran = all(request_context).normalizer.get();
    if normalizer_ran
        && let Some(table) = super::describe::requested_tables(request_context, request)?
            .into_iter()
            .find(should_normalize)
    {
        let text = "its regions are not normalized by Halite; split and merge them, or take \
                    NORMALIZATION_ENABLED off the table";
        return Err(CallError::do_not_retry(format!("table {}: {text}", table.name())));
    }
    Ok(pb::NormalizeResponse { normalizer_ran })
}

fn should_normalize(table: &TableDescriptor) -> bool {
    table
        .attributes
        .get("NORMALIZATION_ENABLED")
        .is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// Handles `SetNormalizerRunning`.
pub(super) fn set_normalizer(
    request_context: &RequestContext<'_>,
    request: &pb::SetNormalizerRunningRequest,
) -> Result<pb::SetNormalizerRunningResponse, CallError> {
    Ok(pb::SetNormalizerRunningResponse {
        prev_normalizer_value: Some(
            all(request_context).normalizer.set(request_context.engine(), request.on)?,
        ),
    })
}

/// Handles `IsNormalizerEnabled`.
pub(super) fn is_normalizer_on(
    request_context: &RequestContext<'_>,
    _: &pb::IsNormalizerEnabledRequest,
) -> Result<pb::IsNormalizerEnabledResponse, CallError> {
    Ok(pb::IsNormalizerEnabledResponse { enabled: all(request_context).normalizer.get() })
}

/// Handles `RunCatalogScan`: returns the number of regions cleaned up, whether or not the janitor
/// is enabled.
pub(super) fn run_catalog_scan(
    request_context: &RequestContext<'_>,
    _: &pb::RunCatalogScanRequest,
) -> Result<pb::RunCatalogScanResponse, CallError> {
    let cleaned = request_context.engine().clear_merge_parents()?;
    Ok(pb::RunCatalogScanResponse { scan_result: Some(i32::try_from(cleaned).unwrap_or(i32::MAX)) })
}

/// Handles `EnableCatalogJanitor`.
pub(super) fn set_catalog_janitor(
    request_context: &RequestContext<'_>,
    request: &pb::EnableCatalogJanitorRequest,
) -> Result<pb::EnableCatalogJanitorResponse, CallError> {
    Ok(pb::EnableCatalogJanitorResponse {
        prev_value: Some(
            all(request_context).catalog_janitor.set(request_context.engine(), request.enable)?,
        ),
    })
}

/// Handles `IsCatalogJanitorEnabled`.
pub(super) fn is_catalog_janitor_on(
    request_context: &RequestContext<'_>,
    _: &pb::IsCatalogJanitorEnabledRequest,
) -> Result<pb::IsCatalogJanitorEnabledResponse, CallError> {
    Ok(pb::IsCatalogJanitorEnabledResponse { value: all(request_context).catalog_janitor.get() })
}

/// Handles `RunCleanerChore`. Files are deleted with their last reader, so nothing is left to
/// clean.
pub(super) fn run_cleaner(
    _: &RequestContext<'_>,
    _: &pb::RunCleanerChoreRequest,
) -> Result<pb::RunCleanerChoreResponse, CallError> {
    Ok(pb::RunCleanerChoreResponse { cleaner_chore_ran: true })
}

/// Handles `SetCleanerChoreRunning`.
pub(super) fn set_cleaner(
    request_context: &RequestContext<'_>,
    request: &pb::SetCleanerChoreRunningRequest,
) -> Result<pb::SetCleanerChoreRunningResponse, CallError> {
    Ok(pb::SetCleanerChoreRunningResponse {
        prev_value: Some(all(request_context).cleaner.set(request_context.engine(), request.on)?),
    })
}

/// Handles `IsCleanerChoreEnabled`.
pub(super) fn is_cleaner_on(
    request_context: &RequestContext<'_>,
    _: &pb::IsCleanerChoreEnabledRequest,
) -> Result<pb::IsCleanerChoreEnabledResponse, CallError> {
    Ok(pb::IsCleanerChoreEnabledResponse { value: all(request_context).cleaner.get() })
}

/// Handles `SwitchSnapshotCleanup`: enables or disables deletion of expired snapshots.
pub(super) fn set_snapshot_cleanup(
    request_context: &RequestContext<'_>,
    request: &pb::SetSnapshotCleanupRequest,
) -> Result<pb::SetSnapshotCleanupResponse, CallError> {
    Ok(pb::SetSnapshotCleanupResponse {
        prev_snapshot_cleanup: all(request_context)
            .snapshot_cleanup
            .set(request_context.engine(), request.enabled)?,
    })
}

/// Handles `IsSnapshotCleanupEnabled`.
pub(super) fn is_snapshot_cleanup_on(
    request_context: &RequestContext<'_>,
    _: &pb::IsSnapshotCleanupEnabledRequest,
) -> Result<pb::IsSnapshotCleanupEnabledResponse, CallError> {
    Ok(pb::IsSnapshotCleanupEnabledResponse {
        enabled: all(request_context).snapshot_cleanup.get(),
    })
}
