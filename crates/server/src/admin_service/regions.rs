//! Handlers that list regions and return their details.

use std::sync::Arc;

use halite_engine::Region;
use halite_types::schema::META_ENCODED_NAME;
use halite_types::{CompactionState, RegionInfo, TableName};
use halite_wire::convert::region::{encoded_name, meta, to_proto};
use halite_wire::convert::schema::table_name_from_proto;
use halite_wire::convert::status::compaction_state_to_proto;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;

use super::state::RequestContext;
use crate::base::call::CallError;
use crate::base::names::is_meta_replica;
use crate::base::region_load::{meta_load, region_loads};
use crate::base::schema;

/// Target of a request about a region.
pub(super) enum RegionTarget {
    /// Region that is served.
    Region(Arc<Region>),
    /// Region of `hbase:meta`, which is computed.
    Meta,
    /// Region that represents the large values of a table. Halite stores them with the others, so
    /// the target is the whole table.
    LargeValues(TableName),
}

/// Start key of the region that represents the large values of a table (HBase:
/// `MobUtils.getMobRegionInfo`).
const LARGE_VALUES_START: &[u8] = b".mob";

/// Resolves the target of a request about a region.
///
/// # Errors
/// `NotServingRegionException` for a region that is not served.
pub(super) fn region_target(
    request_context: &RequestContext<'_>,
    specifier: &pb::RegionSpecifier,
) -> Result<RegionTarget, CallError> {
    if is_meta_replica(&specifier.value) {
        return Ok(RegionTarget::Meta);
    }
    let encoded = encoded_name(specifier)?;
    if encoded == META_ENCODED_NAME {
        return Ok(RegionTarget::Meta);
    }
    if let Ok(region) = request_context
        .engine()
        .region(encoded)
        .or_else(|_| request_context.engine().region_by_name(&specifier.value))
    {
        return Ok(RegionTarget::Region(region));
    }
    if let Some(table) = table_of_large_values(&specifier.value)
        .filter(|table| request_context.engine().is_enabled(table).is_ok())
    {
        return Ok(RegionTarget::LargeValues(table));
    }
    let name = halite_types::key::to_string_binary(&specifier.value);
    let text =
        format!("{name} is not online on {}", request_context.peer.identity.region_server_text());
    Err(CallError::new(ExceptionKind::NotServingRegion, text))
}

/// Parses `table,.mob,0.encoded.`, and returns the table.
fn table_of_large_values(name: &[u8]) -> Option<TableName> {
    let mut parts = name.splitn(3, |byte| *byte == b',');
    let (table, start, id) = (parts.next()?, parts.next()?, parts.next()?);
    let is_meant = start == LARGE_VALUES_START && id.starts_with(b"0.");
    std::str::from_utf8(table).ok().filter(|_| is_meant)?.parse().ok()
}

/// Returns the key under which compactions of large values are recorded.
pub(super) fn large_values_key(table: &TableName) -> String {
    format!("{table},.mob")
}

/// Handles `GetRegionInfo`, with the compaction state and the split row if requested.
pub(super) fn info(
    request_context: &RequestContext<'_>,
    request: &pb::GetRegionInfoRequest,
) -> Result<pb::GetRegionInfoResponse, CallError> {
    let wants_state = request.compaction_state();
    let none = pb::get_region_info_response::CompactionState::None;
    match region_target(request_context, &request.region)? {
        RegionTarget::Meta => Ok(pb::GetRegionInfoResponse {
            region_info: to_proto(&meta()),
            compaction_state: wants_state.then_some(none.into()),
            splittable: Some(false),
            mergeable: Some(false),
            best_split_row: None,
        }),
        RegionTarget::LargeValues(table) => {
            let start = bytes::Bytes::from_static(LARGE_VALUES_START);
            let region = RegionInfo {
                table,
                start,
                end: bytes::Bytes::new(),
                region_id: 0,
                encoded_name: String::new(),
            };
            let state = request_context
                .state
                .recent_compactions
                .state(&large_values_key(&region.table), CompactionState::None);
            let compaction_state = wants_state.then(|| compaction_state_to_proto(state).into());
            Ok(pb::GetRegionInfoResponse {
                region_info: to_proto(&region),
                compaction_state,
                ..Default::default()
            })
        }
        RegionTarget::Region(region) => {
            // Both enumerations have the same numbers.
            let state = request_context
                .state
                .recent_compactions
                .state(&region.info().encoded_name, region.compaction_state());
            let compaction_state = wants_state.then(|| compaction_state_to_proto(state).into());
            let best_split_row =
                if request.best_split_row() { best_split_row(&region)? } else { None };
            let region_info = to_proto(region.info());
            Ok(pb::GetRegionInfoResponse {
                region_info,
                compaction_state,
                splittable: Some(region.is_splittable()),
                mergeable: Some(region.is_mergeable()),
                best_split_row,
            })
        }
    }
}

/// Returns the middle row, after a flush if all cells are in memory (HBase:
/// `RSRpcServices.getRegionInfo`).
fn best_split_row(region: &Arc<Region>) -> Result<Option<bytes::Bytes>, CallError> {
    if let Some(row) = region.middle_row()? {
        return Ok(Some(row));
    }
    region.flush()?;
    Ok(region.middle_row()?)
}

/// Returns the regions of all enabled tables, or of one, in order.
pub(super) fn all(
    request_context: &RequestContext<'_>,
    table: Option<&TableName>,
) -> Vec<RegionInfo> {
    let names = request_context
        .engine()
        .descriptors()
        .into_iter()
        .map(|descriptor| descriptor.name().clone());
    let served = names
        .filter(|name| table.is_none_or(|table| table == name))
        .filter_map(|name| request_context.engine().table(&name).ok());
    served.flat_map(|table| table.region_infos()).collect()
}

/// Handles `GetOnlineRegion`: returns all served regions, including `hbase:meta`, with their
/// declared replicas.
pub(super) fn online(
    request_context: &RequestContext<'_>,
    _: &pb::GetOnlineRegionRequest,
) -> Result<pb::GetOnlineRegionResponse, CallError> {
    let regions = std::iter::once(meta()).chain(all(request_context, None));
    let replicas = |region: RegionInfo| {
        let count = schema::replicas(request_context.engine(), &region.table);
        (0..count).map(move |replica| pb::RegionInfo {
            replica_id: replica.try_into().ok(),
            ..to_proto(&region)
        })
    };
    Ok(pb::GetOnlineRegionResponse { region_info: regions.flat_map(replicas).collect() })
}

/// Handles `GetRegionLoad`: returns the load of all regions, or of those of one table.
pub(super) fn loads(
    request_context: &RequestContext<'_>,
    request: &pb::GetRegionLoadRequest,
) -> Result<pb::GetRegionLoadResponse, CallError> {
    let table = request.table_name.as_ref().map(table_name_from_proto).transpose()?;
    let mut loads = region_loads(request_context.context, |load| {
        table.as_ref().is_none_or(|table| load.region.table == *table)
    });
    if table.is_none_or(|table| table == meta().table) {
        loads.push(meta_load());
    }
    Ok(pb::GetRegionLoadResponse { region_loads: loads })
}

/// Handles `GetStoreFile`: returns the paths of a region's files, of all or of the named families.
pub(super) fn store_files(
    request_context: &RequestContext<'_>,
    request: &pb::GetStoreFileRequest,
) -> Result<pb::GetStoreFileResponse, CallError> {
    let store_file = match region_target(request_context, &request.region)? {
        RegionTarget::Region(region) => {
            request_context.engine().store_files(&region.info().encoded_name, &request.family)?
        }
        RegionTarget::Meta | RegionTarget::LargeValues(_) => Vec::new(),
    };
    Ok(pb::GetStoreFileResponse { store_file })
}
