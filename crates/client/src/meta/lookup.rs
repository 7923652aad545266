//! Asking `hbase:meta` where a region is.

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

use super::{At, Location, TableRegions};
use crate::deadline::Deadline;
use crate::failure::{Cause, Failure};
use crate::shared::Shared;
use crate::table::no_such_table;

/// Where a region is: from memory, or by one question that all who miss it wait for.
///
/// # Errors
/// `NoSuchTable`, `TableDisabled`, or why it cannot be found out now.
pub(crate) async fn locate(shared: &Shared, table: &TableRegions, at: At<'_>, deadline: &Deadline) -> Result<Arc<Location>, Failure> {
    if let Some(location) = table.find(at) {
        return Ok(location);
    }
    if *table.name() == region::meta().table {
        return locate_meta(shared, table, deadline).await.map_err(|failure| failure.under(LookUp(table)));
    }
    let located = by_one(table, at, deadline, || ask(shared, table, at, deadline)).await;
    located.map_err(|failure| match &failure.cause {
        Cause::Final(_) => failure,
        _ => of_meta(shared, failure).under(LookUp(table)),
    })
}

/// Says where `hbase:meta` is asked, or whoever knows where it is: one who has only waited for another's question was not told.
fn of_meta(shared: &Shared, failure: Failure) -> Failure {
    match shared.locations.table(&region::meta().table).find(At::Last) {
        Some(meta) => failure.at(&*meta),
        None => failure.at(&shared.registry),
    }
}

/// Asks, while others who miss the same wait. What went wrong with a question is the answer to all who waited for it: they do not ask
/// the same again, one after the other.
async fn by_one<F>(table: &TableRegions, at: At<'_>, deadline: &Deadline, ask: impl FnOnce() -> F) -> Result<Arc<Location>, Failure>
where
    F: Future<Output = Result<Arc<Location>, Failure>>,
{
    let (limit, since) = (deadline.call(), Instant::now());
    let asking = tokio::time::timeout_at(limit.at, table.asking.lock()).await;
    let mut asking = asking.map_err(|_| Cause::Late(limit.ms))?;
    if let Some(location) = table.find(at) {
        return Ok(location);
    }
    if let Some((failed, failure)) = &*asking
        && *failed > since
    {
        return Err(failure.clone());
    }
    let answer = ask().await;
    // That one region is nowhere says nothing of the others.
    *asking = answer.as_ref().err().filter(|failure| !is_of_one_region(failure)).map(|failure| (Instant::now(), failure.clone()));
    answer
}

fn is_of_one_region(failure: &Failure) -> bool {
    matches!(&failure.cause, Cause::Exception(exception) if exception.kind() == Some(ExceptionKind::NotServingRegion))
}

/// What is done when a region is not known, for the text of a failure.
struct LookUp<'a>(&'a TableRegions);

impl fmt::Display for LookUp<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "table {}, looking a region up", self.0.name())
    }
}

/// The location that a row of meta speaks of.
pub(crate) fn region_location(shared: &Shared, row: RegionRow) -> Option<Arc<Location>> {
    let name = row.server.filter(|_| !row.is_offline)?;
    Some(Arc::new(Location::new(row.region, shared.servers.get(&name, Service::Client), row.open_sequence)))
}

/// Where `hbase:meta` is; `table` is what is known of it.
async fn locate_meta(shared: &Shared, table: &TableRegions, deadline: &Deadline) -> Result<Arc<Location>, Failure> {
    if let Some(location) = table.find(At::Last) {
        return Ok(location);
    }
    by_one(table, At::Last, deadline, || ask_registry(shared, table, deadline)).await.map_err(|failure| failure.at(&shared.registry))
}

async fn ask_registry(shared: &Shared, table: &TableRegions, deadline: &Deadline) -> Result<Arc<Location>, Failure> {
    let name = shared.registry.meta_server(&shared.config, &shared.servers, deadline).await?;
    let location = Arc::new(Location::new(region::meta(), shared.servers.get(&name, Service::Client), 0));
    table.learn(Arc::clone(&location));
    Ok(location)
}

async fn ask(shared: &Shared, table: &TableRegions, at: At<'_>, deadline: &Deadline) -> Result<Arc<Location>, Failure> {
    let question = match at {
        At::Containing(row) => meta::containing(table.name(), row),
        At::Before(start) => meta::before(table.name(), start),
        At::Last => meta::last(table.name()),
    };
    let meta = Meta::locate(shared, deadline).await?;
    let found = meta.regions(question, deadline).await?;
    found.into_iter().filter_map(|row| region_location(shared, row)).for_each(|location| table.learn(location));
    let location = table.find(at);
    if location.is_none() || table.take_doubt() {
        meta.check_table(table, deadline).await?;
    }
    location.ok_or_else(|| {
        let text = "the region is on no server now, or hbase:meta has a hole there; look at it with status 'detailed' or hbck";
        Exception::new(ExceptionKind::NotServingRegion, text).into()
    })
}

/// The region of `hbase:meta`, to be asked.
struct Meta<'a> {
    shared: &'a Shared,
    table: Arc<TableRegions>,
    location: Arc<Location>,
}

impl<'a> Meta<'a> {
    async fn locate(shared: &'a Shared, deadline: &Deadline) -> Result<Self, Failure> {
        let table = shared.locations.table(&region::meta().table);
        let location = locate_meta(shared, &table, deadline).await?;
        Ok(Self { shared, table, location })
    }

    /// The first rows of a scan, as far as they are of regions.
    async fn regions(&self, question: Scan, deadline: &Deadline) -> Result<Vec<RegionRow>, Failure> {
        let rows = self.shared.config.meta_prefetch;
        let query = scan::ScanQuery { read_type: ReadType::Pread, caching: Some(rows), ..question.into() };
        let request = pb::ScanRequest {
            region: Some(self.location.specifier.clone()),
            scan: Some(scan::to_proto(&query)?),
            number_of_rows: Some(rows),
            close_scanner: Some(true),
            ..pb::ScanRequest::default()
        };
        let (response, mut cells) = self.call::<ClientScan>(&request, deadline).await?;
        let rows = result::rows_of_response(&response, &mut cells)?;
        // Replicas and whatever else cannot be read is of no use, and no reason not to find the others.
        Ok(rows.iter().filter_map(|row| meta::region_row(row).ok().flatten()).collect())
    }

    /// Whether the table is there and not disabled.
    async fn check_table(&self, table: &TableRegions, deadline: &Deadline) -> Result<(), Failure> {
        let request = pb::GetRequest { region: self.location.specifier.clone(), get: get::to_proto(&meta::table_get(table.name()))? };
        let (response, mut cells) = self.call::<ClientGet>(&request, deadline).await?;
        let row = response.result.map(|row| result::from_proto(&row, &mut cells)).transpose()?.unwrap_or_default();
        let name = table.name();
        match meta::table_state(&row)? {
            None => Err(no_such_table(name).into()),
            Some(State::Disabled | State::Disabling) => {
                Err(Error::new(ErrorKind::TableDisabled, format!("table {name} is disabled; enable it first")).into())
            }
            Some(State::Enabled | State::Enabling) => Ok(()),
        }
    }

    async fn call<C: halite_wire::service::Call>(
        &self,
        request: &C::Request,
        deadline: &Deadline,
    ) -> Result<(C::Response, halite_types::Cells), Failure> {
        let answered = self.location.server.ask::<C>(&self.shared.config, request, self.table.priority(), deadline.call()).await;
        answered.map_err(|failure| {
            self.shared.locations.note(&failure, &self.table, &self.location, &self.shared.servers);
            failure.at(&*self.location)
        })
    }
}
