//! Handlers that split, merge and truncate regions, and those for assignment, which is fixed.

use std::collections::HashSet;
use std::sync::Arc;

use halite_engine::Engine;
use halite_types::{RegionInfo, TableName};
use halite_wire::convert::region;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;

use super::lookup::{check_enabled, check_exists};
use super::request_context::{Failure, RequestContext, nonce};
use super::servers::check_destination;
use super::state::namespace_limits::NewResource;
use crate::base::call::CallError;
use crate::base::errors::unknown_region;
use crate::base::names::{encoded_name, encoded_names, is_meta, meta_table, table_name};

/// Number of unassigned regions from which regions that no longer exist are removed.
const UNASSIGNED_CLEANUP_THRESHOLD: usize = 1_000;

/// Finds the region with an encoded name, of an enabled or a disabled table.
fn find(engine: &Engine, encoded: &str) -> Result<RegionInfo, CallError> {
    engine.region_info(encoded).map_err(|_| unknown_region(encoded))
}

/// Returns the region of a specifier, or `None` for that of `hbase:meta`.
fn specified(
    engine: &Engine,
    specifier: &pb::RegionSpecifier,
) -> Result<Option<RegionInfo>, CallError> {
    let encoded = encoded_name(specifier)?;
    if encoded == region::meta().encoded_name { Ok(None) } else { find(engine, &encoded).map(Some) }
}

/// Finds the region of a full `RegionInfo` message.
fn described(engine: &Engine, message: &pb::RegionInfo) -> Result<RegionInfo, CallError> {
    find(engine, &region::from_proto(message)?.encoded_name)
}

/// Handles `SplitRegion`: splits a region in two, at the given row or at the middle (HBase:
/// `SplitTableRegionProcedure`).
pub(super) fn split(
    request_context: &RequestContext<'_>,
    request: &pb::SplitTableRegionRequest,
) -> Result<pb::SplitTableRegionResponse, CallError> {
    let nonce = nonce(request.nonce_group(), request.nonce());
    if let Some(id) = request_context.repeated(nonce) {
        return Ok(pb::SplitTableRegionResponse { proc_id: Some(id) });
    }
    let table = table_name(&request.region_info.table_name)?;
    refuse_meta(&table, "split")?;
    if request.region_info.replica_id() != 0 {
        return Err(CallError::do_not_retry("Can't invoke split on non-default regions directly"));
    }
    check_exists(request_context.engine(), &table)?;
    let region = described(request_context.engine(), &request.region_info)?;
    check_may_split(request_context, &region)?;
    let split_row = request.split_row.clone().filter(|row| !row.is_empty());
    check_splittable(request_context.engine(), &region, split_row.as_deref())?;
    let master = Arc::clone(request_context.state);
    let id = request_context.start(
        "SplitTableRegionProcedure",
        Some(&table),
        nonce,
        Failure::InResult,
        move |engine| {
            let name = &region.encoded_name;
            master.with_room(&region.table, NewResource::Split(name), || {
                Ok(engine.split_region(name, split_row)?)
            })
        },
    )?;
    Ok(pb::SplitTableRegionResponse { proc_id: Some(id) })
}

fn check_may_split(
    request_context: &RequestContext<'_>,
    region: &RegionInfo,
) -> Result<(), CallError> {
    let name = region.display_name();
    if !request_context.state.switches.split.get() {
        return Err(CallError::do_not_retry(format!(
            "Split region {name} failed due to split switch off"
        )));
    }
    if !request_context.engine().descriptor(&region.table)?.split_enabled() {
        return Err(CallError::do_not_retry(format!(
            "Split region {name} failed as region split is disabled for the table"
        )));
    }
    check_enabled(request_context.engine(), &region.table)
}

/// Checks a split before it begins (HBase: `SplitTableRegionProcedure.checkSplittable`). Unlike
/// there, a region with references is compacted instead of refused.
fn check_splittable(
    engine: &Engine,
    region: &RegionInfo,
    split_row: Option<&[u8]>,
) -> Result<(), CallError> {
    let open = engine.region(&region.encoded_name)?;
    if !open.allows_splits() {
        return Err(CallError::do_not_retry(format!(
            "{} NOT splittable: its table's split policy is DisabledRegionSplitPolicy",
            region.encoded_name
        )));
    }
    let Some(split_row) = split_row else {
        // Cells in memory may have a middle row once they are in a file.
        if open.middle_row()?.is_none() {
            open.flush()?;
        }
        if open.middle_row()?.is_some() {
            return Ok(());
        }
        let text = "Region not splittable because bestSplitPoint = null, maybe table is too small \
                    for auto split. For force split, try specifying split row";
        return Err(CallError::do_not_retry(text));
    };
    let shown = halite_types::key::to_string_binary(split_row);
    if *split_row == region.start[..] {
        return Err(CallError::do_not_retry(format!("Split row is equal to startkey: {shown}")));
    }
    if !region.contains(split_row) {
        let text = format!(
            "Split row is not inside region key range splitKey:{shown} region: {}",
            region.display_name()
        );
        return Err(CallError::do_not_retry(text));
    }
    Ok(())
}

/// Handles `MergeTableRegions`: merges two or more regions of one table (HBase:
/// `MergeTableRegionsProcedure`).
pub(super) fn merge(
    request_context: &RequestContext<'_>,
    request: &pb::MergeTableRegionsRequest,
) -> Result<pb::MergeTableRegionsResponse, CallError> {
    let nonce = nonce(request.nonce_group(), request.nonce());
    if let Some(id) = request_context.repeated(nonce) {
        return Ok(pb::MergeTableRegionsResponse { proc_id: Some(id) });
    }
    let distinct =
        request.region.iter().map(encoded_name).collect::<Result<HashSet<_>, _>>()?.len();
    if distinct < request.region.len() {
        return Err(duplicate(request.region.len(), distinct));
    }
    let mut regions = Vec::new();
    for specifier in &request.region {
        regions.push(
            specified(request_context.engine(), specifier)?
                .ok_or_else(|| refused(&meta_table(), "merged"))?,
        );
    }
    let table = check_mergeable(&mut regions, request.forcible())?;
    check_may_merge(request_context, &table, &regions)?;
    let forcible = request.forcible();
    let id = request_context.start(
        "MergeTableRegionsProcedure",
        Some(&table),
        nonce,
        Failure::InResult,
        move |engine| merge_all(engine, &regions, forcible),
    )?;
    Ok(pb::MergeTableRegionsResponse { proc_id: Some(id) })
}

/// Merges adjacent regions. Merging the first and the last includes those between them.
fn merge_all(engine: &Engine, regions: &[RegionInfo], forcible: bool) -> Result<(), CallError> {
    let [first, .., last] = regions else { return Ok(()) };
    Ok(engine.merge_regions(
        &first.encoded_name,
        &last.encoded_name,
        forcible || regions.len() > 2,
    )?)
}

/// Sorts the regions and checks that they can be merged. Returns their table.
fn check_mergeable(regions: &mut [RegionInfo], forcible: bool) -> Result<TableName, CallError> {
    let refuse = |text: String| Err(CallError::new(ExceptionKind::MergeRegion, text));
    regions.sort_by(|a, b| (&a.table, &a.start).cmp(&(&b.table, &b.start)));
    let Some((first, rest)) = regions.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return refuse(format!(
            "Need two Regions at least to run a Merge: {}",
            encoded_names(regions)
        ));
    };
    if let Some(other) = rest.iter().find(|other| other.table != first.table) {
        return refuse(format!(
            "Can't merge regions from different tables: {}, {}",
            first.display_name(),
            other.display_name()
        ));
    }
    let gap = regions.windows(2).find(|pair| pair[0].end != pair[1].start);
    match gap {
        Some([a, b]) if !forcible => {
            let (a, b) = (a.display_name(), b.display_name());
            refuse(format!(
                "Unable to merge non-adjacent or non-overlapping regions '{a}', '{b}' when \
                 force=false"
            ))
        }
        _ => Ok(first.table.clone()),
    }
}

fn duplicate(given: usize, distinct: usize) -> CallError {
    let text = "Duplicate regions specified; cannot merge a region to itself. Passed in";
    CallError::new(
        ExceptionKind::MergeRegion,
        format!("{text} {given} but only {distinct} unique."),
    )
}

fn check_may_merge(
    request_context: &RequestContext<'_>,
    table: &TableName,
    regions: &[RegionInfo],
) -> Result<(), CallError> {
    let names = encoded_names(regions);
    if !request_context.state.switches.merge.get() {
        return Err(CallError::do_not_retry(format!(
            "Merge of [{names}] failed because merge switch is off"
        )));
    }
    if !request_context.engine().descriptor(table)?.merge_enabled() {
        return Err(CallError::do_not_retry(format!(
            "Merge of [{names}] failed as region merge is disabled for the table"
        )));
    }
    match regions
        .iter()
        .find(|region| request_context.engine().region(&region.encoded_name).is_err())
    {
        Some(region) => {
            let text =
                format!("Unable to merge regions that are NOT online: {}", region.display_name());
            Err(CallError::new(ExceptionKind::MergeRegion, text))
        }
        None => Ok(()),
    }
}

/// Handles `TruncateRegion`: deletes the region's rows and keeps its range (HBase:
/// `TruncateRegionProcedure`).
pub(super) fn truncate(
    request_context: &RequestContext<'_>,
    request: &pb::TruncateRegionRequest,
) -> Result<pb::TruncateRegionResponse, CallError> {
    let nonce = nonce(request.nonce_group(), request.nonce());
    if let Some(id) = request_context.repeated(nonce) {
        return Ok(pb::TruncateRegionResponse { proc_id: Some(id) });
    }
    let table = table_name(&request.region_info.table_name)?;
    if is_meta(&table) {
        // The procedure fails, so that clients receive the text without a class inside it.
        let refused = |_: &Engine| {
            Err(CallError::new(ExceptionKind::Io, "Can't truncate region in catalog tables"))
        };
        let id = request_context.start(
            "TruncateRegionProcedure",
            Some(&table),
            nonce,
            Failure::InResult,
            refused,
        )?;
        return Ok(pb::TruncateRegionResponse { proc_id: Some(id) });
    }
    if request.region_info.replica_id() != 0 {
        let text = "Can't truncate replicas directly. Replicas are auto-truncated when their \
                    primary is truncated.";
        return Err(CallError::do_not_retry(text));
    }
    check_enabled(request_context.engine(), &table)?;
    let region = described(request_context.engine(), &request.region_info)?;
    let id = request_context.start(
        "TruncateRegionProcedure",
        Some(&table),
        nonce,
        Failure::InCall,
        move |engine| Ok(engine.truncate_region(&region.encoded_name)?),
    )?;
    Ok(pb::TruncateRegionResponse { proc_id: Some(id) })
}

/// Handles `MoveRegion`: the only destination is the current server, so nothing changes.
pub(super) fn move_region(
    request_context: &RequestContext<'_>,
    request: &pb::MoveRegionRequest,
) -> Result<pb::MoveRegionResponse, CallError> {
    specified(request_context.engine(), &request.region)?;
    check_destination(request_context, request.dest_server_name.as_ref())?;
    Ok(pb::MoveRegionResponse {})
}

/// Handles `AssignRegion`. As in HBase, it fails for a region that is served, unless it was
/// unassigned before.
pub(super) fn assign(
    request_context: &RequestContext<'_>,
    request: &pb::AssignRegionRequest,
) -> Result<pb::AssignRegionResponse, CallError> {
    let region = specified(request_context.engine(), &request.region)?;
    let Some(region) = region else { return Err(in_state("hbase:meta", "OPEN")) };
    if !request_context.engine().is_enabled(&region.table)? {
        return Err(CallError::do_not_retry(format!(
            "{} is disabled for {}",
            region.table,
            region.display_name()
        )));
    }
    if request_context.state.unassigned.change(|regions| regions.remove(&region.encoded_name))
        || request.r#override()
    {
        return Ok(pb::AssignRegionResponse {});
    }
    Err(in_state(&region.display_name(), "OPEN"))
}

/// Handles `UnassignRegion`. HBase closes the region until it is assigned again. Halite has no
/// other server to open it, so the region is flushed, stays open, and may be assigned.
pub(super) fn unassign(
    request_context: &RequestContext<'_>,
    request: &pb::UnassignRegionRequest,
) -> Result<pb::UnassignRegionResponse, CallError> {
    let region = specified(request_context.engine(), &request.region)?;
    let Some(region) = region else { return Err(in_state("hbase:meta", "OPEN")) };
    let open = request_context
        .engine()
        .region(&region.encoded_name)
        .map_err(|_| in_state(&region.display_name(), "CLOSED"))?;
    open.flush()?;
    request_context.state.unassigned.change(|regions| {
        if regions.len() >= UNASSIGNED_CLEANUP_THRESHOLD {
            regions.retain(|name| request_context.engine().region(name).is_ok());
        }
        regions.insert(region.encoded_name)
    });
    Ok(pb::UnassignRegionResponse {})
}

/// Handles `OfflineRegion`: clears the master's state of a region. The master has none.
pub(super) fn offline(
    request_context: &RequestContext<'_>,
    request: &pb::OfflineRegionRequest,
) -> Result<pb::OfflineRegionResponse, CallError> {
    specified(request_context.engine(), &request.region)?;
    Ok(pb::OfflineRegionResponse {})
}

/// Handles `getLastMajorCompactionTimestamp`: returns the oldest one of a table's regions, or 0 if
/// a region has had none.
pub(super) fn table_compacted(
    request_context: &RequestContext<'_>,
    request: &pb::MajorCompactionTimestampRequest,
) -> Result<pb::MajorCompactionTimestampResponse, CallError> {
    let table = table_name(&request.table_name)?;
    let regions = request_context.engine().regions(&table).unwrap_or_default();
    let of = |region: &RegionInfo| {
        request_context
            .engine()
            .region(&region.encoded_name)
            .map_or(0, |region| region.last_major_compaction_ms())
    };
    Ok(pb::MajorCompactionTimestampResponse {
        compaction_timestamp: regions.iter().map(of).min().unwrap_or(0),
    })
}

/// Handles `getLastMajorCompactionTimestampForRegion`.
pub(super) fn region_compacted(
    request_context: &RequestContext<'_>,
    request: &pb::MajorCompactionTimestampForRegionRequest,
) -> Result<pb::MajorCompactionTimestampResponse, CallError> {
    let region = request_context.engine().region(&encoded_name(&request.region)?);
    Ok(pb::MajorCompactionTimestampResponse {
        compaction_timestamp: region.map_or(0, |region| region.last_major_compaction_ms()),
    })
}

fn in_state(region: &str, state: &str) -> CallError {
    CallError::new(
        ExceptionKind::DoNotRetryRegion,
        format!("Unexpected state for state={state}, region={region}"),
    )
}

fn refuse_meta(table: &TableName, what: &str) -> Result<(), CallError> {
    if is_meta(table) { Err(refused(table, what)) } else { Ok(()) }
}

fn refused(table: &TableName, what: &str) -> CallError {
    CallError::do_not_retry(format!("{table} is a view of the catalog and cannot be {what}"))
}
