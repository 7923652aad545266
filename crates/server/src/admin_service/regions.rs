//! Which regions there are, and what they are.

use std::sync::Arc;

use halite_engine::Region;
use halite_types::schema::META_ENCODED_NAME;
use halite_types::{CompactionState, RegionInfo, TableName};
use halite_wire::convert::region::{encoded_name, meta, to_proto};
use halite_wire::convert::schema::table_name_from_proto;
use halite_wire::convert::status::compaction_state_to_proto;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;

use crate::call::Fault;
use crate::client_service::is_meta_replica;
use crate::master_service::asked::Asked;
use crate::master_service::load::{meta_load, region_loads};
use crate::master_service::schema;

/// What a request about a region means.
pub(super) enum Meant {
    /// A region that is served.
    Region(Arc<Region>),
    /// That of `hbase:meta`, which is computed.
    Meta,
    /// That which stands for the large values of a table. They lie among the others here, so it is all of the table's.
    LargeValues(TableName),
}

/// The start key of the region that stands for the large values of a table (HBase: `MobUtils.getMobRegionInfo`).
const LARGE_VALUES_START: &[u8] = b".mob";

/// What a request about a region means.
///
/// # Errors
/// `NotServingRegionException` for one that is not here.
pub(super) fn meant(asked: &Asked<'_>, specifier: &pb::RegionSpecifier) -> Result<Meant, Fault> {
    if is_meta_replica(&specifier.value) {
        return Ok(Meant::Meta);
    }
    let encoded = encoded_name(specifier)?;
    if encoded == META_ENCODED_NAME {
        return Ok(Meant::Meta);
    }
    if let Ok(region) = asked.engine().region(encoded).or_else(|_| asked.engine().region_named(&specifier.value)) {
        return Ok(Meant::Region(region));
    }
    if let Some(table) = table_of_large_values(&specifier.value).filter(|table| asked.engine().is_enabled(table).is_ok()) {
        return Ok(Meant::LargeValues(table));
    }
    let name = halite_types::key::print_bytes(&specifier.value);
    let text = format!("{name} is not online on {}", asked.peer.identity.region_server_text());
    Err(Fault::new(ExceptionKind::NotServingRegion, text))
}

/// `table,.mob,0.encoded.`
fn table_of_large_values(name: &[u8]) -> Option<TableName> {
    let mut parts = name.splitn(3, |byte| *byte == b',');
    let (table, start, id) = (parts.next()?, parts.next()?, parts.next()?);
    let is_meant = start == LARGE_VALUES_START && id.starts_with(b"0.");
    std::str::from_utf8(table).ok().filter(|_| is_meant)?.parse().ok()
}

/// Under which compactions of large values are noted.
pub(super) fn large_values_key(table: &TableName) -> String {
    format!("{table},.mob")
}

/// `GetRegionInfo`, with the state of its compactions and the row it would be split at if they are asked for.
pub(super) fn info(asked: &Asked<'_>, request: &pb::GetRegionInfoRequest) -> Result<pb::GetRegionInfoResponse, Fault> {
    let wants_state = request.compaction_state();
    let none = pb::get_region_info_response::CompactionState::None;
    match meant(asked, &request.region)? {
        Meant::Meta => Ok(pb::GetRegionInfoResponse {
            region_info: to_proto(&meta()),
            compaction_state: wants_state.then_some(none.into()),
            splittable: Some(false),
            mergeable: Some(false),
            best_split_row: None,
        }),
        Meant::LargeValues(table) => {
            let start = bytes::Bytes::from_static(LARGE_VALUES_START);
            let region = RegionInfo { table, start, end: bytes::Bytes::new(), region_id: 0, encoded_name: String::new() };
            let state = asked.context.requested_compactions.state(&large_values_key(&region.table), CompactionState::None);
            let compaction_state = wants_state.then(|| compaction_state_to_proto(state).into());
            Ok(pb::GetRegionInfoResponse { region_info: to_proto(&region), compaction_state, ..Default::default() })
        }
        Meant::Region(region) => {
            let may = region.is_splittable();
            // The two enumerations have the same numbers.
            let state = asked.context.requested_compactions.state(&region.info().encoded_name, region.compaction_state());
            let compaction_state = wants_state.then(|| compaction_state_to_proto(state).into());
            let best_split_row = if request.best_split_row() { best_split_row(&region)? } else { None };
            let region_info = to_proto(region.info());
            Ok(pb::GetRegionInfoResponse { region_info, compaction_state, splittable: Some(may), mergeable: Some(may), best_split_row })
        }
    }
}

/// The row in the middle, after a flush if everything is in memory (HBase: `RSRpcServices.getRegionInfo`).
fn best_split_row(region: &Arc<Region>) -> Result<Option<bytes::Bytes>, Fault> {
    if let Some(row) = region.middle_row()? {
        return Ok(Some(row));
    }
    region.flush()?;
    Ok(region.middle_row()?)
}

/// The regions of all enabled tables, or of one, in their order.
pub(super) fn all(asked: &Asked<'_>, table: Option<&TableName>) -> Vec<RegionInfo> {
    let names = asked.engine().descriptors().into_iter().map(|descriptor| descriptor.name().clone());
    let served = names.filter(|name| table.is_none_or(|table| table == name)).filter_map(|name| asked.engine().table(&name).ok());
    served.flat_map(|table| table.region_infos()).collect()
}

/// `GetOnlineRegion`: all that are served, `hbase:meta` among them, with the further replicas they are said to have.
pub(super) fn online(asked: &Asked<'_>, _: &pb::GetOnlineRegionRequest) -> Result<pb::GetOnlineRegionResponse, Fault> {
    let regions = std::iter::once(meta()).chain(all(asked, None));
    let replicas = |region: RegionInfo| {
        let count = schema::replicas(asked.engine(), &region.table);
        (0..count).map(move |replica| pb::RegionInfo { replica_id: replica.try_into().ok(), ..to_proto(&region) })
    };
    Ok(pb::GetOnlineRegionResponse { region_info: regions.flat_map(replicas).collect() })
}

/// `GetRegionLoad`: the figures of all regions, or of those of one table.
pub(super) fn loads(asked: &Asked<'_>, request: &pb::GetRegionLoadRequest) -> Result<pb::GetRegionLoadResponse, Fault> {
    let table = request.table_name.as_ref().map(table_name_from_proto).transpose()?;
    let mut loads = region_loads(asked.context, |load| table.as_ref().is_none_or(|table| load.region.table == *table));
    if table.is_none_or(|table| table == meta().table) {
        loads.push(meta_load());
    }
    Ok(pb::GetRegionLoadResponse { region_loads: loads })
}

/// `GetStoreFile`: the paths of a region's files, of all families or of those named.
pub(super) fn store_files(asked: &Asked<'_>, request: &pb::GetStoreFileRequest) -> Result<pb::GetStoreFileResponse, Fault> {
    let store_file = match meant(asked, &request.region)? {
        Meant::Region(region) => asked.engine().store_files(&region.info().encoded_name, &request.family)?,
        Meant::Meta | Meant::LargeValues(_) => Vec::new(),
    };
    Ok(pb::GetStoreFileResponse { store_file })
}
