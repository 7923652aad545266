//! Regions: flushing, compacting, splitting and merging.

use std::sync::Arc;
use std::time::Duration;

use halite_types::{Bytes, CompactionKind, Error, ErrorKind, RegionInfo, Result, Table, TableName};
use halite_wire::convert::meta::{self, RegionRow};
use halite_wire::convert::{region, schema};
use halite_wire::proto as pb;
use halite_wire::service::{self as call, Call, Service};
use pb::get_region_info_response::CompactionState;
use pb::region_specifier::RegionSpecifierType;

use super::procedure::{self, Pauses, Waiting};
use super::{master, tables};
use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::meta::{At, TableRegions, locate};
use crate::retry::{self, Work};
use crate::shared::Shared;
use crate::table::{RemoteTable, region_rows};

/// How long to wait before a region is asked about again: this, and then twice as long each time.
const PAUSES: Pauses = Pauses { first: Duration::from_millis(10), most: Duration::from_secs(2) };
/// How masters before 2.6 call the flush of a table.
const FLUSH_PROCEDURE: &str = "flush-table-proc";

pub(super) async fn flush(shared: &Shared, table: &TableName) -> Result<()> {
    tables::descriptor(shared, table).await?;
    let (nonce_group, nonce) = procedure::nonces(shared);
    let request = pb::FlushTableRequest { table_name: schema::table_name_to_proto(table), nonce_group, nonce, ..pb::FlushTableRequest::default() };
    match master::call::<call::MasterFlushTable>(shared, &request).await {
        Ok(response) => procedure::finish(shared, response.proc_id, &format!("flushing table {table}")).await,
        Err(error) if error.message().contains("UnsupportedOperationException") => flush_as_before(shared, table).await,
        Err(error) => Err(error),
    }
}

async fn flush_as_before(shared: &Shared, table: &TableName) -> Result<()> {
    let instance = Some(table.to_string());
    let procedure = pb::ProcedureDescription { signature: FLUSH_PROCEDURE.to_string(), instance, ..pb::ProcedureDescription::default() };
    master::call::<call::MasterExecProcedure>(shared, &pb::ExecProcedureRequest { procedure: procedure.clone() }).await?;
    let mut waiting = Waiting::new(shared.deadline(), PAUSES);
    let request = pb::IsProcedureDoneRequest { procedure: Some(procedure) };
    while !master::call::<call::MasterIsProcedureDone>(shared, &request).await?.done() {
        waiting.pause(|ms| format!("flushing table {table}: not done after {ms} ms; it goes on, look again later")).await?;
    }
    Ok(())
}

pub(super) async fn compact(shared: &Arc<Shared>, table: &TableName, family: Option<Bytes>, kind: CompactionKind) -> Result<()> {
    let descriptor = tables::descriptor(shared, table).await?;
    if let Some(family) = &family
        && descriptor.find_family(family).is_none()
    {
        let name = halite_types::key::print_bytes(family);
        return Err(Error::new(ErrorKind::NoSuchFamily, format!("table {table} has no family {name}; look at describe '{table}'")));
    }
    let handle = RemoteTable::new(Arc::clone(shared), table);
    let regions = handle.regions().await?;
    let known = shared.locations.table(table);
    let major = Some(kind == CompactionKind::Major);
    for region in &regions {
        let request = |region| pb::CompactRegionRequest { region, major, family: family.clone() };
        on_region::<call::AdminCompactRegion>(shared, &known, region, request).await?;
    }
    let deadline = shared.deadline();
    for region in &regions {
        let mut waiting = Waiting::new(deadline, PAUSES);
        while is_compacting(shared, &known, region).await? {
            let name = region.display_name();
            waiting.pause(|ms| format!("compacting table {table}, region {name}: not done after {ms} ms; it goes on, look again later")).await?;
        }
    }
    Ok(())
}

async fn is_compacting(shared: &Shared, known: &Arc<TableRegions>, region: &RegionInfo) -> Result<bool> {
    let request = |region| pb::GetRegionInfoRequest { region, compaction_state: Some(true), ..pb::GetRegionInfoRequest::default() };
    match on_region::<call::AdminGetRegionInfo>(shared, known, region, request).await {
        Ok(response) => Ok(response.compaction_state() != CompactionState::None),
        // It was split or merged meanwhile.
        Err(error) if error.kind() == ErrorKind::NoSuchRegion => Ok(false),
        Err(error) => Err(error),
    }
}

/// Calls the administration of a region's server.
async fn on_region<C: Call>(
    shared: &Shared,
    known: &Arc<TableRegions>,
    region: &RegionInfo,
    request: impl Fn(pb::RegionSpecifier) -> C::Request + Send + Sync,
) -> Result<C::Response>
where
    C::Request: Send + Sync,
    C::Response: Send,
{
    let mut work = RegionCall::<C> { shared, known, region, request: request(region::specifier(region)) };
    retry::run(&shared.config, &shared.deadline(), &mut work).await.map_err(Failure::into_error)
}

struct RegionCall<'a, C: Call> {
    shared: &'a Shared,
    known: &'a Arc<TableRegions>,
    region: &'a RegionInfo,
    request: C::Request,
}

impl<C: Call> Work for RegionCall<'_, C>
where
    C::Request: Send + Sync,
    C::Response: Send,
{
    type Output = C::Response;

    async fn attempt(&mut self, deadline: &Deadline) -> Result<C::Response, Failure> {
        let location = locate(self.shared, self.known, At::Containing(&self.region.start), deadline).await?;
        if location.region.encoded_name != self.region.encoded_name {
            return Err(Error::new(ErrorKind::NoSuchRegion, format!("region {} is there no longer", self.region.display_name())).into());
        }
        let server = self.shared.servers.get(location.server.name(), Service::Admin);
        let answered = server.ask::<C>(&self.shared.config, &self.request, None, deadline.call()).await;
        let (response, _) = answered.map_err(|failure| {
            self.shared.locations.note(&failure, self.known, &location, &self.shared.servers);
            failure.at(format!("{location}, {}", C::METHOD.name()))
        })?;
        Ok(response)
    }
}

/// The region of an encoded name among those that `hbase:meta` tells of.
fn find<'r>(rows: &'r [RegionRow], encoded_name: &str) -> Result<&'r RegionInfo> {
    let found = rows.iter().find(|row| row.region.encoded_name == encoded_name && !row.is_offline);
    let missing = || Error::new(ErrorKind::NoSuchRegion, format!("there is no region {encoded_name}; look at list_regions for its name now"));
    found.map(|row| &row.region).ok_or_else(missing)
}

pub(super) async fn split(shared: &Arc<Shared>, encoded_name: &str, at: Option<Bytes>) -> Result<()> {
    let rows = region_rows(shared, meta::all_regions()).await?;
    let region = find(&rows, encoded_name)?;
    if let Some(key) = &at
        && (!region.contains(key) || *key == region.start)
    {
        let key = halite_types::key::print_bytes(key);
        let name = region.display_name();
        return Err(Error::invalid(format!("region {name} cannot be split at {key}; give a key inside it, behind its start")));
    }
    let (nonce_group, nonce) = procedure::nonces(shared);
    let request = pb::SplitTableRegionRequest { region_info: region::to_proto(region), split_row: at, nonce_group, nonce };
    let response = master::call::<call::MasterSplitRegion>(shared, &request).await?;
    procedure::finish(shared, response.proc_id, &format!("splitting region {}", region.display_name())).await
}

pub(super) async fn merge(shared: &Arc<Shared>, names: &[String; 2], forcible: bool) -> Result<()> {
    let rows = region_rows(shared, meta::all_regions()).await?;
    for name in names {
        find(&rows, name)?;
    }
    let (nonce_group, nonce) = procedure::nonces(shared);
    let encoded =
        |name: &String| pb::RegionSpecifier { r#type: RegionSpecifierType::EncodedRegionName.into(), value: Bytes::copy_from_slice(name.as_bytes()) };
    let request = pb::MergeTableRegionsRequest { region: names.iter().map(encoded).collect(), forcible: Some(forcible), nonce_group, nonce };
    let response = master::call::<call::MasterMergeTableRegions>(shared, &request).await?;
    procedure::finish(shared, response.proc_id, &format!("merging regions {} and {}", names[0], names[1])).await
}
