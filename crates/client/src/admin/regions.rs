//! Region administration: flush, compact, split and merge.

use std::sync::Arc;
use std::time::Duration;

use halite_types::{
    Bytes, CompactionKind, Error, ErrorKind, RegionInfo, Result, Table, TableDescriptor, TableName,
};
use halite_wire::convert::meta::{self, RegionRow};
use halite_wire::convert::{region, schema};
use halite_wire::proto as pb;
use halite_wire::service as call;
use pb::get_region_info_response::CompactionState;
use pb::region_specifier::RegionSpecifierType;

use super::procedure::{self, PollInterval, Poller};
use super::region_call::on_region;
use super::{master, tables};
use crate::deadline::Deadline;
use crate::meta::TableLocations;
use crate::shared::ClientInner;
use crate::table::{RemoteTable, region_rows};

/// Poll interval of regions: the initial one, which doubles up to the maximum.
const POLL_INTERVAL: PollInterval =
    PollInterval { first: Duration::from_millis(10), max: Duration::from_secs(2) };
/// Signature of table flushes in masters before 2.6.
const FLUSH_PROCEDURE: &str = "flush-table-proc";

/// Flushes all families of a table, or one.
pub(super) async fn flush(
    shared: &ClientInner,
    table: &TableName,
    family: Option<Bytes>,
) -> Result<()> {
    let descriptor = tables::descriptor(shared, table).await?;
    check_family(&descriptor, family.as_ref())?;
    let (nonce_group, nonce) = procedure::nonces(shared);
    let request = pb::FlushTableRequest {
        table_name: schema::table_name_to_proto(table),
        column_family: family.iter().cloned().collect(),
        nonce_group,
        nonce,
    };
    match master::call::<call::MasterFlushTable>(shared, &request).await {
        Ok(response) => {
            procedure::finish(shared, response.proc_id, &format!("flushing table {table}")).await
        }
        Err(error) if error.message().contains("UnsupportedOperationException") => {
            flush_legacy(shared, table, family).await
        }
        Err(error) => Err(error),
    }
}

async fn flush_legacy(
    shared: &ClientInner,
    table: &TableName,
    family: Option<Bytes>,
) -> Result<()> {
    let instance = Some(table.to_string());
    let family = family.map(|family| pb::NameStringPair {
        name: "family".to_owned(),
        value: String::from_utf8_lossy(&family).into_owned(),
    });
    let procedure = pb::ProcedureDescription {
        signature: FLUSH_PROCEDURE.to_string(),
        instance,
        configuration: family.into_iter().collect(),
        ..pb::ProcedureDescription::default()
    };
    master::call::<call::MasterExecProcedure>(
        shared,
        &pb::ExecProcedureRequest { procedure: procedure.clone() },
    )
    .await?;
    let mut waiting = Poller::new(shared.deadline(), POLL_INTERVAL);
    let request = pb::IsProcedureDoneRequest { procedure: Some(procedure) };
    while !master::call::<call::MasterIsProcedureDone>(shared, &request).await?.done() {
        waiting
            .pause(|ms| {
                format!(
                    "flushing table {table}: not finished after {ms} ms; it continues in the \
                     background"
                )
            })
            .await?;
    }
    Ok(())
}

/// Checks that a table has a family, if one is given.
fn check_family(table: &TableDescriptor, family: Option<&Bytes>) -> Result<()> {
    match family.filter(|family| table.find_family(family).is_none()) {
        None => Ok(()),
        Some(family) => {
            let (table, name) = (table.name(), halite_types::key::to_string_binary(family));
            Err(Error::new(
                ErrorKind::NoSuchFamily,
                format!("table {table} has no family {name}; look at describe '{table}'"),
            ))
        }
    }
}

pub(super) async fn compact(
    shared: &Arc<ClientInner>,
    table: &TableName,
    family: Option<Bytes>,
    kind: CompactionKind,
) -> Result<()> {
    let descriptor = tables::descriptor(shared, table).await?;
    check_family(&descriptor, family.as_ref())?;
    let handle = RemoteTable::new(Arc::clone(shared), table);
    let regions = handle.regions().await?;
    let known = shared.meta_cache.table(table);
    let major = Some(kind == CompactionKind::Major);
    for region in &regions {
        let request = |region| pb::CompactRegionRequest { region, major, family: family.clone() };
        on_region::<call::AdminCompactRegion>(shared, &known, region, request).await?;
    }
    let deadline = shared.deadline();
    for region in &regions {
        wait_for_compaction(shared, &known, region, deadline).await?;
    }
    Ok(())
}

/// Waits until the compaction of a region that was requested has ended.
pub(super) async fn wait_for_compaction(
    shared: &ClientInner,
    known: &Arc<TableLocations>,
    region: &RegionInfo,
    deadline: Deadline,
) -> Result<()> {
    let mut waiting = Poller::new(deadline, POLL_INTERVAL);
    while is_compacting(shared, known, region).await? {
        let (table, name) = (&region.table, region.display_name());
        waiting
            .pause(|ms| {
                format!(
                    "compacting table {table}, region {name}: not finished after {ms} ms; it \
                     continues in the background"
                )
            })
            .await?;
    }
    Ok(())
}

async fn is_compacting(
    shared: &ClientInner,
    known: &Arc<TableLocations>,
    region: &RegionInfo,
) -> Result<bool> {
    let request = |region| pb::GetRegionInfoRequest {
        region,
        compaction_state: Some(true),
        ..pb::GetRegionInfoRequest::default()
    };
    match on_region::<call::AdminGetRegionInfo>(shared, known, region, request).await {
        Ok(response) => Ok(response.compaction_state() != CompactionState::None),
        // The region was split or merged in the meantime.
        Err(error) if error.kind() == ErrorKind::NoSuchRegion => Ok(false),
        Err(error) => Err(error),
    }
}

/// Finds the region with an encoded name among the rows of `hbase:meta`.
pub(super) fn find<'r>(rows: &'r [RegionRow], encoded_name: &str) -> Result<&'r RegionInfo> {
    let found = rows.iter().find(|row| row.region.encoded_name == encoded_name && !row.is_offline);
    let missing = || {
        Error::new(
            ErrorKind::NoSuchRegion,
            format!("there is no region {encoded_name}; look at list_regions for its name now"),
        )
    };
    found.map(|row| &row.region).ok_or_else(missing)
}

pub(super) async fn split(
    shared: &Arc<ClientInner>,
    encoded_name: &str,
    at: Option<Bytes>,
) -> Result<()> {
    let rows = region_rows(shared, meta::all_regions()).await?;
    let region = find(&rows, encoded_name)?;
    if let Some(key) = &at
        && (!region.contains(key) || *key == region.start)
    {
        let key = halite_types::key::to_string_binary(key);
        let name = region.display_name();
        return Err(Error::invalid(format!(
            "region {name} cannot be split at {key}; give a key inside it, greater than its start"
        )));
    }
    let (nonce_group, nonce) = procedure::nonces(shared);
    let request = pb::SplitTableRegionRequest {
        region_info: region::to_proto(region),
        split_row: at,
        nonce_group,
        nonce,
    };
    let response = master::call::<call::MasterSplitRegion>(shared, &request).await?;
    procedure::finish(
        shared,
        response.proc_id,
        &format!("splitting region {}", region.display_name()),
    )
    .await
}

/// Returns the specifier of a region by its encoded name.
pub(super) fn encoded(name: &str) -> pb::RegionSpecifier {
    pb::RegionSpecifier {
        r#type: RegionSpecifierType::EncodedRegionName.into(),
        value: Bytes::copy_from_slice(name.as_bytes()),
    }
}

pub(super) async fn merge(
    shared: &Arc<ClientInner>,
    names: &[String; 2],
    forcible: bool,
) -> Result<()> {
    let rows = region_rows(shared, meta::all_regions()).await?;
    for name in names {
        find(&rows, name)?;
    }
    let (nonce_group, nonce) = procedure::nonces(shared);
    let request = pb::MergeTableRegionsRequest {
        region: names.iter().map(|name| encoded(name)).collect(),
        forcible: Some(forcible),
        nonce_group,
        nonce,
    };
    let response = master::call::<call::MasterMergeTableRegions>(shared, &request).await?;
    procedure::finish(
        shared,
        response.proc_id,
        &format!("merging regions {} and {}", names[0], names[1]),
    )
    .await
}
