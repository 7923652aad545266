//! The three calls of a bulk load: a staging directory, the files of one region, and the end.
//!
//! All go to servers of the table's regions, as HBase's `BulkLoadHFilesTool` sends them.

use std::sync::Arc;
use std::time::Duration;

use halite_types::{BulkLoad, Error, ErrorKind, RegionInfo, Result, Table, TableName};
use halite_wire::convert::{region, schema};
use halite_wire::proto as pb;
use halite_wire::service::{self as call, RpcMethod, Service};

use super::region_call::RegionCall;
use crate::deadline::Deadline;
use crate::shared::ClientInner;
use crate::table::RemoteTable;

/// Creates a staging directory and returns its URI, the bulk token.
pub(super) async fn prepare(shared: &Arc<ClientInner>, table: &TableName) -> Result<String> {
    let region = first_region(shared, table).await?;
    let request = pb::PrepareBulkLoadRequest {
        table_name: schema::table_name_to_proto(table),
        region: Some(region::specifier(&region)),
    };
    let prepared = on_client_service::<call::ClientPrepareBulkLoad>(shared, &region, request);
    Ok(prepared.await?.bulk_token)
}

/// Removes a staging directory.
pub(super) async fn clean_up(
    shared: &Arc<ClientInner>,
    table: &TableName,
    staging: &str,
) -> Result<()> {
    let region = first_region(shared, table).await?;
    let request = pb::CleanupBulkLoadRequest {
        bulk_token: staging.to_owned(),
        region: Some(region::specifier(&region)),
    };
    on_client_service::<call::ClientCleanupBulkLoad>(shared, &region, request).await.map(drop)
}

/// Loads files into a region. A call whose response is lost is repeated, which loads the same cells
/// twice; readers see them once.
pub(super) async fn load(
    shared: &Arc<ClientInner>,
    region: &RegionInfo,
    staging: &str,
    load: &BulkLoad,
) -> Result<bool> {
    let path = |(family, path): &(_, String)| pb::bulk_load_h_file_request::FamilyPath {
        family: halite_types::Bytes::clone(family),
        path: path.clone(),
    };
    let request = pb::BulkLoadHFileRequest {
        region: region::specifier(region),
        family_path: load.files.iter().map(path).collect(),
        assign_seq_num: Some(true),
        bulk_token: Some(staging.to_owned()),
        copy_file: Some(load.copy),
        ..pb::BulkLoadHFileRequest::default()
    };
    match on_client_service::<call::ClientBulkLoadHFile>(shared, region, request).await {
        Ok(response) => Ok(response.loaded),
        Err(error) if error.kind() == ErrorKind::NoSuchRegion => Ok(false),
        Err(error) => Err(error),
    }
}

async fn first_region(shared: &Arc<ClientInner>, table: &TableName) -> Result<RegionInfo> {
    let regions = RemoteTable::new(Arc::clone(shared), table).regions().await?;
    regions.into_iter().next().ok_or_else(|| {
        let text = format!("table {table} has no region that is online; enable it");
        Error::new(ErrorKind::TableDisabled, text)
    })
}

async fn on_client_service<C: RpcMethod>(
    shared: &ClientInner,
    region: &RegionInfo,
    request: C::Request,
) -> Result<C::Response>
where
    C::Request: Send + Sync,
    C::Response: Send,
{
    // A server copies and verifies the files during the call, which takes longer than other calls.
    let limit = shared.config.operation_timeout_ms;
    let deadline = Deadline::new(limit, Duration::from_millis(limit));
    let locations = &shared.meta_cache.table(&region.table);
    RegionCall::<C> { shared, locations, region, service: Service::Client, request }
        .run(&deadline)
        .await
}
