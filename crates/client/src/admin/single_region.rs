//! Administration of one region: flush, compaction and move.

use std::sync::Arc;

use halite_types::{CompactionKind, RegionInfo, Result, ServerName};
use halite_wire::convert::meta;
use halite_wire::proto as pb;
use halite_wire::service as call;

use super::master;
use super::region_call::on_region;
use super::regions::{encoded, find, wait_for_compaction};
use crate::shared::ClientInner;
use crate::table::region_rows;

async fn region_of(shared: &Arc<ClientInner>, encoded_name: &str) -> Result<RegionInfo> {
    let rows = region_rows(shared, meta::all_regions()).await?;
    find(&rows, encoded_name).cloned()
}

/// Flushes all families of a region on its server.
pub(crate) async fn flush(shared: &Arc<ClientInner>, encoded_name: &str) -> Result<()> {
    let found = region_of(shared, encoded_name).await?;
    let known = shared.meta_cache.table(&found.table);
    let request = |region| pb::FlushRegionRequest { region, ..pb::FlushRegionRequest::default() };
    on_region::<call::AdminFlushRegion>(shared, &known, &found, request).await.map(drop)
}

/// Compacts all families of a region on its server, and waits for the end.
pub(crate) async fn compact(
    shared: &Arc<ClientInner>,
    encoded_name: &str,
    kind: CompactionKind,
) -> Result<()> {
    let found = region_of(shared, encoded_name).await?;
    let known = shared.meta_cache.table(&found.table);
    let major = Some(kind == CompactionKind::Major);
    let request = |region| pb::CompactRegionRequest { region, major, family: None };
    on_region::<call::AdminCompactRegion>(shared, &known, &found, request).await?;
    wait_for_compaction(shared, &known, &found, shared.deadline()).await
}

/// Moves a region to a server. The master answers when it is open there, or with the reason that it
/// is not moved.
pub(crate) async fn move_to(
    shared: &Arc<ClientInner>,
    encoded_name: &str,
    server: &ServerName,
) -> Result<()> {
    let found = region_of(shared, encoded_name).await?;
    let request = pb::MoveRegionRequest {
        // The master takes the bytes for the encoded name, whatever their type.
        region: encoded(&found.encoded_name),
        dest_server_name: Some(server.into()),
    };
    master::call::<call::MasterMoveRegion>(shared, &request).await.map(drop)
}
