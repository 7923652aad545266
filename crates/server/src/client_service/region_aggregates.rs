//! Halite's own method of `AggregateService`: all aggregates of a part of a region in one answer.
//!
//! A call works for [`MAX_SLICES`] slices at most; its client then asks for the rest of the region
//! as of the same read point. So a client that goes away leaves little work behind, and no call
//! takes as long as its region is large.

use std::sync::Arc;

use bytes::Bytes;
use halite_engine::scan::{ReadAt, RegionScanner, ScanLimits};
use halite_rowkey::KeySchema;
use halite_types::key::successor_of_row;
use halite_types::{Aggregates, Aggregation, ReadTier};
use halite_wire::convert::aggregate::{self, METHOD, RegionAggregates, SERVICE};
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use halite_wire::rpc;
use halite_wire::service::Method;
use prost::Message;

use super::exec::damaged;
use super::region::{self, RequestTarget};
use crate::base::call::{CallError, Peer, Reply};
use crate::base::call_step::CallStep;
use crate::base::context::Context;

/// Name of the message of the answer.
pub(super) const RESPONSE: &str = "HaliteAggregateResponse";
/// Duration of one slice of work in milliseconds. Other calls run between two slices.
const SLICE_MS: u64 = 10;
/// Slices of one call.
const MAX_SLICES: usize = 20;

/// Aggregation of a part of a region, in progress.
pub(super) struct Begun {
    aggregation: Aggregation,
    scanner: RegionScanner,
    to_call_error: Box<dyn Fn(&halite_types::Error) -> CallError + Send>,
    aggregates: Aggregates,
    slices: usize,
}

/// Returns `true` if a call of a region's endpoint is one of this method.
pub(super) fn is_called(call: &pb::CoprocessorServiceCall) -> bool {
    call.service_name == SERVICE && call.method_name == METHOD
}

/// Begins the call.
pub(super) fn begin(
    context: &Context,
    peer: &Peer,
    target: &RequestTarget,
    request: &Bytes,
) -> Result<Begun, CallError> {
    // The message is HBase's.
    let (method, limits) = (Method::AggregateGetRowNum, context.config.limits.rpc_limits());
    rpc::check_decoded_size(method, request, &limits)?;
    let request = pb::AggregateRequest::decode(request.clone()).map_err(|error| damaged(&error))?;
    let request = aggregate::request_from_proto(&request)?;
    let RequestTarget::Region(region) = target else {
        let text = "the regions of hbase:meta add up no rows; scan them";
        return Err(CallError::new(ExceptionKind::UnknownProtocol, text));
    };
    let refused = |error: &dyn std::fmt::Display| {
        CallError::do_not_retry(format!("the keys of an aggregation cannot be read: {error}"))
    };
    let keys = request.keys.map(|text| text.parse::<KeySchema>()).transpose();
    let keys = keys.map_err(|error| refused(&error))?.map(|schema| {
        Arc::new(schema).counted_keys().ok_or_else(|| refused(&"they have a dictionary"))
    });
    let aggregation =
        Aggregation { scan: request.query.scan, columns: request.columns, keys: keys.transpose()? };
    aggregation.check()?;
    let at = request.query.mvcc_read_point.map_or(ReadAt::Committed, ReadAt::Point);
    let (region, peer) = (Arc::clone(region), peer.clone());
    let scanner = region.scan_at(&aggregation.scan, ReadTier::Disk, at);
    let fault = move |error: &halite_types::Error| region::read_error(&peer, &region, error);
    let scanner = scanner.map_err(|error| fault(&error))?;
    let aggregates = aggregation.of_nothing();
    Ok(Begun { aggregation, scanner, to_call_error: Box::new(fault), aggregates, slices: 0 })
}

impl Begun {
    /// Works in slices, and answers with the message that `to_message` makes of the answer.
    pub(super) fn run<M: Message + 'static>(
        mut self,
        to_message: impl FnOnce(Bytes) -> M + Send + 'static,
    ) -> CallStep {
        match self.work() {
            Ok(None) => CallStep::Deferred(Box::new(move || self.run(to_message))),
            Ok(Some(answer)) => {
                let message = to_message(aggregate::answer_to_bytes(&answer));
                Ok::<_, CallError>(Reply::new(message)).into()
            }
            Err(fault) => fault.into(),
        }
    }

    /// Runs one slice. Returns the answer after the last one.
    fn work(&mut self) -> Result<Option<RegionAggregates>, CallError> {
        let Self { aggregation, aggregates, .. } = self;
        let budget = ScanLimits { time_ms: Some(SLICE_MS), ..ScanLimits::default() };
        let stopped = self
            .scanner
            .visit_rows(budget, |key, cells| aggregation.add_row(key, cells, aggregates))
            .map_err(|error| (self.to_call_error)(&error))?;
        self.slices += 1;
        if !stopped.is_end() && self.slices < MAX_SLICES {
            return Ok(None);
        }
        let rest = self.scanner.last_row().filter(|_| !stopped.is_end());
        Ok(Some(RegionAggregates {
            aggregates: std::mem::take(&mut self.aggregates),
            rows_examined: self.scanner.stats().rows_examined(),
            rest: rest.map(|row| successor_of_row(row).into()),
            read_point: self.scanner.read_point(),
        }))
    }
}
