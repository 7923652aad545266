//! Lookups of region locations in `hbase:meta`.

use std::fmt;
use std::sync::Arc;

use halite_types::{Error, ErrorKind, Scan};
use halite_wire::convert::meta::RegionRow;
use halite_wire::convert::{get, meta, region, result, scan};
use halite_wire::exception::{Exception, ExceptionKind};
use halite_wire::proto as pb;
use halite_wire::service::{ClientGet, ClientScan, Service};
use pb::scan::ReadType;
use pb::table_state::State;
use tokio::time::Instant;

use super::{LocateType, Location, TableLocations};
use crate::deadline::Deadline;
use crate::error::{RpcError, RpcErrorKind, no_such_table};
use crate::shared::ClientInner;

/// Returns the location of a region, from the cache or by one lookup shared by all waiting callers.
///
/// # Errors
/// `NoSuchTable`, `TableDisabled`, or the reason why the lookup fails.
pub(crate) async fn locate(
    shared: &ClientInner,
    table: &TableLocations,
    at: LocateType<'_>,
    deadline: &Deadline,
) -> Result<Arc<Location>, RpcError> {
    if let Some(location) = table.find(at) {
        return Ok(location);
    }
    if *table.name() == region::meta().table {
        return locate_meta(shared, table, deadline)
            .await
            .map_err(|failure| failure.with_context(LookupContext(table)));
    }
    let located =
        single_flight(table, at, deadline, || query_meta(shared, table, at, deadline)).await;
    located.map_err(|failure| match &failure.kind {
        RpcErrorKind::Final(_) => failure,
        _ => with_meta_location(shared, failure).with_context(LookupContext(table)),
    })
}

/// Adds the location of `hbase:meta`, or of the registry, to an error. A caller that waited for
/// another's lookup has an error without it.
fn with_meta_location(shared: &ClientInner, failure: RpcError) -> RpcError {
    match shared.meta_cache.table(&region::meta().table).find(LocateType::Last) {
        Some(meta) => failure.at(&*meta),
        None => failure.at(&shared.registry),
    }
}

/// Runs a lookup while other callers with the same miss wait. Its error is returned to all waiting
/// callers: they do not repeat the lookup one after another.
async fn single_flight<F>(
    table: &TableLocations,
    at: LocateType<'_>,
    deadline: &Deadline,
    ask: impl FnOnce() -> F,
) -> Result<Arc<Location>, RpcError>
where
    F: Future<Output = Result<Arc<Location>, RpcError>>,
{
    let (limit, since) = (deadline.call(), Instant::now());
    let asking = tokio::time::timeout_at(limit.at, table.lookup_lock.lock()).await;
    let mut asking = asking.map_err(|_| RpcErrorKind::TimedOut(limit.ms))?;
    if let Some(location) = table.find(at) {
        return Ok(location);
    }
    if let Some((failed, failure)) = &*asking
        && *failed > since
    {
        return Err(failure.clone());
    }
    let answer = ask().await;
    // An error of one region does not concern the others.
    *asking = answer
        .as_ref()
        .err()
        .filter(|failure| !is_region_error(failure))
        .map(|failure| (Instant::now(), failure.clone()));
    answer
}

fn is_region_error(failure: &RpcError) -> bool {
    matches!(&failure.kind, RpcErrorKind::Exception(exception) if exception.kind() == Some(ExceptionKind::NotServingRegion))
}

/// Text of a failed lookup, for error messages.
struct LookupContext<'a>(&'a TableLocations);

impl fmt::Display for LookupContext<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "table {}, looking a region up", self.0.name())
    }
}

/// Returns the location in a row of meta.
pub(crate) fn region_location(shared: &ClientInner, row: RegionRow) -> Option<Arc<Location>> {
    let name = row.server.filter(|_| !row.is_offline)?;
    Some(Arc::new(Location::new(
        row.region,
        shared.connections.get(&name, Service::Client),
        row.open_sequence,
    )))
}

/// Returns the location of `hbase:meta`; `table` is its cache.
async fn locate_meta(
    shared: &ClientInner,
    table: &TableLocations,
    deadline: &Deadline,
) -> Result<Arc<Location>, RpcError> {
    if let Some(location) = table.find(LocateType::Last) {
        return Ok(location);
    }
    single_flight(table, LocateType::Last, deadline, || query_registry(shared, table, deadline))
        .await
        .map_err(|failure| failure.at(&shared.registry))
}

async fn query_registry(
    shared: &ClientInner,
    table: &TableLocations,
    deadline: &Deadline,
) -> Result<Arc<Location>, RpcError> {
    let name = shared.registry.meta_server(&shared.config, &shared.connections, deadline).await?;
    let location =
        Arc::new(Location::new(region::meta(), shared.connections.get(&name, Service::Client), 0));
    table.insert(Arc::clone(&location));
    Ok(location)
}

async fn query_meta(
    shared: &ClientInner,
    table: &TableLocations,
    at: LocateType<'_>,
    deadline: &Deadline,
) -> Result<Arc<Location>, RpcError> {
    let question = match at {
        LocateType::Containing(row) => meta::containing(table.name(), row),
        LocateType::Before(start) => meta::before(table.name(), start),
        LocateType::Last => meta::last(table.name()),
    };
    let meta = MetaRegion::locate(shared, deadline).await?;
    let found = meta.regions(question, deadline).await?;
    found
        .into_iter()
        .filter_map(|row| region_location(shared, row))
        .for_each(|location| table.insert(location));
    let location = table.find(at);
    if location.is_none() || table.take_suspect_disabled() {
        meta.check_table(table, deadline).await?;
    }
    location.ok_or_else(|| {
        let text = "the region is on no server now, or hbase:meta has a hole there; look at it \
                    with status 'detailed' or hbck";
        Exception::new(ExceptionKind::NotServingRegion, text).into()
    })
}

/// Region of `hbase:meta`, to be queried.
struct MetaRegion<'a> {
    shared: &'a ClientInner,
    table: Arc<TableLocations>,
    location: Arc<Location>,
}

impl<'a> MetaRegion<'a> {
    async fn locate(shared: &'a ClientInner, deadline: &Deadline) -> Result<Self, RpcError> {
        let table = shared.meta_cache.table(&region::meta().table);
        let location = locate_meta(shared, &table, deadline).await?;
        Ok(Self { shared, table, location })
    }

    /// Returns the region rows among the first rows of a scan.
    async fn regions(
        &self,
        question: Scan,
        deadline: &Deadline,
    ) -> Result<Vec<RegionRow>, RpcError> {
        let rows = self.shared.config.meta_prefetch;
        let query =
            scan::ScanQuery { read_type: ReadType::Pread, caching: Some(rows), ..question.into() };
        let request = pb::ScanRequest {
            region: Some(self.location.specifier.clone()),
            scan: Some(scan::to_proto(&query)?),
            number_of_rows: Some(rows),
            close_scanner: Some(true),
            ..pb::ScanRequest::default()
        };
        let (response, mut cells) = self.call::<ClientScan>(&request, deadline).await?;
        let rows = result::rows_from_response(&response, &mut cells)?;
        // Rows of replicas and other rows that cannot be parsed are skipped, so that the others are
        // found.
        Ok(rows.iter().filter_map(|row| meta::region_row(row).ok().flatten()).collect())
    }

    /// Checks that the table exists and is not disabled.
    async fn check_table(
        &self,
        table: &TableLocations,
        deadline: &Deadline,
    ) -> Result<(), RpcError> {
        let request = pb::GetRequest {
            region: self.location.specifier.clone(),
            get: get::to_proto(&meta::table_get(table.name()))?,
        };
        let (response, mut cells) = self.call::<ClientGet>(&request, deadline).await?;
        let row = response
            .result
            .map(|row| result::from_proto(&row, &mut cells))
            .transpose()?
            .unwrap_or_default();
        let name = table.name();
        match meta::table_state(&row)? {
            None => Err(no_such_table(name).into()),
            Some(State::Disabled | State::Disabling) => Err(Error::new(
                ErrorKind::TableDisabled,
                format!("table {name} is disabled; enable it first"),
            )
            .into()),
            Some(State::Enabled | State::Enabling) => Ok(()),
        }
    }

    async fn call<C: halite_wire::service::RpcMethod>(
        &self,
        request: &C::Request,
        deadline: &Deadline,
    ) -> Result<(C::Response, halite_types::Cells), RpcError> {
        let answered = self
            .location
            .server
            .call::<C>(&self.shared.config, request, self.table.priority(), deadline.call())
            .await;
        answered.map_err(|failure| {
            self.shared.meta_cache.record_failure(
                &failure,
                &self.table,
                &self.location,
                &self.shared.connections,
            );
            failure.at(&*self.location)
        })
    }
}
