//! Aggregates of the rows of a scan, by the endpoints of their regions, one after the other.
//!
//! Halite's regions add up what is requested, a part of a region per call. HBase's count rows where
//! a table has HBase's `AggregateImplementation`, a region per call. A part that is answered is
//! added and left behind at once: a failure repeats the part that was not answered, in whatever
//! region it is by then, so no row counts twice.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use halite_types::{
    Aggregates, Aggregation, Bytes, Error, ErrorKind, RegionInfo, Result, RowRange,
};
use halite_wire::convert::aggregate::{self, RegionAggregates};
use halite_wire::convert::scan::ScanQuery;
use halite_wire::proto as pb;
use halite_wire::service::ClientExecService;

use super::RemoteTable;
use crate::deadline::Deadline;
use crate::error::{RpcError, RpcErrorKind};
use crate::meta::{LocateType, Location, TableLocations, locate};
use crate::retry::{self, Retryable};
use crate::shared::ClientInner;

/// HBase's endpoint.
const HBASE_ENDPOINT: &str = "org.apache.hadoop.hbase.coprocessor.AggregateImplementation";

/// Endpoint that adds up the rows of a region.
#[derive(Clone, Copy, PartialEq)]
enum Endpoint {
    Halite,
    HBase,
}

/// Aggregation of the rest of a range.
struct Aggregating<'a> {
    shared: &'a ClientInner,
    locations: &'a Arc<TableLocations>,
    aggregation: Aggregation,
    endpoint: Endpoint,
    /// Range without the parts that are added.
    rest: RowRange,
    is_over: bool,
    sum: Aggregates,
    /// Region of the last answer, and the read point of it.
    read_point: Option<(String, u64)>,
    answers: usize,
}

/// Adds up the rows of an aggregation; `None` if the cluster has no endpoint that can.
///
/// # Errors
/// As a scan.
pub(super) async fn aggregate(
    table: &RemoteTable,
    aggregation: Aggregation,
) -> Result<Option<Aggregates>> {
    aggregation.check()?;
    let shared = &table.shared;
    if *table.locations.name() == halite_wire::convert::region::meta().table {
        return Ok(None);
    }
    let mut work = Aggregating {
        shared,
        locations: &table.locations,
        rest: aggregation.scan.range.clone(),
        is_over: aggregation.scan.range.is_empty(),
        sum: aggregation.of_nothing(),
        aggregation,
        endpoint: Endpoint::Halite,
        read_point: None,
        answers: 0,
    };
    if !shared.lacks_aggregates.load(Ordering::Relaxed) {
        match work.run().await {
            Err(error) if error.kind() == ErrorKind::Unsupported && work.answers == 0 => {
                shared.lacks_aggregates.store(true, Ordering::Relaxed);
            }
            sum => return sum.map(Some),
        }
    }
    // HBase's endpoint knows no keys, and its numbers wrap around.
    if !work.aggregation.columns.is_empty() || work.aggregation.keys.is_some() {
        return Ok(None);
    }
    let descriptor = crate::admin::descriptor(shared, table.locations.name()).await?;
    if !descriptor.attributes.values().any(|value| value.contains(HBASE_ENDPOINT)) {
        return Ok(None);
    }
    work.endpoint = Endpoint::HBase;
    match work.run().await {
        // A region may take longer than a call.
        Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Io) => Ok(None),
        sum => sum.map(Some),
    }
}

impl Aggregating<'_> {
    async fn run(&mut self) -> Result<Aggregates> {
        let config = &self.shared.config;
        while !self.is_over {
            // Each answer has a separate time limit, as those of a scan.
            let deadline = self.shared.deadline();
            retry::retry(config, &deadline, self).await.map_err(RpcError::into_error)?;
        }
        Ok(std::mem::take(&mut self.sum))
    }

    fn start(&self) -> &[u8] {
        match &self.rest.start {
            Bound::Unbounded => b"",
            Bound::Included(row) | Bound::Excluded(row) => row,
        }
    }

    fn request(&self, region: &RegionInfo) -> Result<Bytes> {
        let point = self.read_point.as_ref().filter(|(name, _)| *name == region.encoded_name);
        let scan = halite_types::Scan { range: self.rest.clone(), ..self.aggregation.scan.clone() };
        let query =
            ScanQuery { mvcc_read_point: point.map(|(_, point)| *point), ..ScanQuery::from(scan) };
        match self.endpoint {
            Endpoint::Halite => aggregate::request_to_bytes(&self.aggregation, &query),
            Endpoint::HBase => aggregate::hbase_request_to_bytes(&query),
        }
    }

    async fn call(
        &self,
        location: &Arc<Location>,
        deadline: &Deadline,
    ) -> Result<RegionAggregates, RpcError> {
        let call = pb::CoprocessorServiceCall {
            row: Bytes::copy_from_slice(self.start()),
            service_name: aggregate::SERVICE.to_owned(),
            method_name: match self.endpoint {
                Endpoint::Halite => aggregate::METHOD.to_owned(),
                Endpoint::HBase => aggregate::HBASE_METHOD.to_owned(),
            },
            request: self.request(&location.region)?,
        };
        let request = pb::CoprocessorServiceRequest { region: location.specifier.clone(), call };
        let (answer, _) = location
            .server
            .call::<ClientExecService>(
                &self.shared.config,
                &request,
                self.locations.priority(),
                deadline.call(),
            )
            .await?;
        let bytes = answer.value.value.unwrap_or_default();
        match self.endpoint {
            Endpoint::Halite => {
                Ok(aggregate::answer_from_bytes(bytes, self.aggregation.columns.len())?)
            }
            Endpoint::HBase => rows_of(bytes),
        }
    }

    /// Adds an answer of a region, and leaves its part of the range behind.
    fn add(&mut self, region: &RegionInfo, answer: &RegionAggregates) -> Result<(), RpcError> {
        let next = answer.rest.as_ref().unwrap_or(&region.end);
        if !next.is_empty() && next[..] <= *self.start() {
            // It would be asked forever.
            return Err(RpcError::lost("the server says that the rest begins before its part"));
        }
        self.answers += 1;
        self.sum.add(&answer.aggregates);
        self.read_point = Some((region.encoded_name.clone(), answer.read_point));
        self.is_over = next.is_empty();
        self.rest.start = Bound::Included(next.clone());
        self.is_over |= self.rest.is_empty();
        Ok(())
    }
}

impl Retryable for Aggregating<'_> {
    type Output = ();

    async fn attempt(&mut self, deadline: &Deadline) -> Result<(), RpcError> {
        let at = LocateType::Containing(self.start());
        let location = locate(self.shared, self.locations, at, deadline).await?;
        let answer = self.call(&location, deadline).await.map_err(|failure| {
            self.shared.meta_cache.record_failure(
                &failure,
                self.locations,
                &location,
                &self.shared.connections,
            );
            failure.at(&*location)
        })?;
        self.add(&location.region, &answer)?;
        match &self.aggregation.scan.meter {
            Some(meter) => {
                meter.add_calls(1);
                if answer.rest.is_none() {
                    meter.add_region();
                }
                Ok(meter.add(answer.rows_examined)?)
            }
            None => Ok(()),
        }
    }

    fn progress(&self) -> usize {
        self.answers
    }
}

/// Returns the answer of HBase's method.
fn rows_of(bytes: Bytes) -> Result<RegionAggregates, RpcError> {
    let Some(rows) = aggregate::hbase_rows_from_bytes(bytes) else {
        let text = "the answer of AggregateService is no number of rows";
        return Err(RpcErrorKind::Final(Error::new(ErrorKind::Unsupported, text)).into());
    };
    let aggregates = Aggregates { rows, ..Aggregates::default() };
    Ok(RegionAggregates { aggregates, rows_examined: rows, ..RegionAggregates::default() })
}
