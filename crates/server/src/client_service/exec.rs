//! `ExecService`: built-in endpoints, called for one region.

use std::sync::Arc;

use halite_types::RowMutations;
use halite_wire::convert;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use halite_wire::rpc;
use halite_wire::service::{Method, Service};
use prost::Message;

use super::aggregate::Aggregate;
use super::mutate;
use super::region::{self, RequestTarget};
use super::region_aggregates;
use super::row_mutations;
use crate::base::call::{Call, CallError, Peer, Reply};
use crate::base::call_step::{CallOutcome, CallStep};
use crate::base::context::Context;
use crate::base::nonces::to_nonce;

/// Java package of the response classes; clients use the bytes only.
const PACKAGE: &str = "org.apache.hadoop.hbase.protobuf.generated";

/// Answers an `ExecService`.
pub(super) fn exec(context: &Arc<Context>, call: &Arc<Call>) -> Result<CallStep, CallError> {
    let request: pb::CoprocessorServiceRequest = call.message()?;
    let target = region::find(context, &call.peer, &request.region)?;
    if region_aggregates::is_called(&request.call) {
        let begun = region_aggregates::begin(context, &call.peer, &target, &request.call.request)?;
        let class = region_aggregates::RESPONSE;
        return Ok(begun.run(move |bytes| answer(request.region, named(class, bytes))));
    }
    match endpoint(&request.call, &request.region)? {
        Method::MultiRowMutationMutateRows => {
            let applied = mutate_rows(context, &call.peer, &target, &request.call.request)?;
            let response = pb::MutateRowsResponse { processed: Some(applied.result.processed) };
            let reply = Reply::new(answer(request.region, value("MutateRowsResponse", &response)));
            Ok(CallStep::Done(CallOutcome::AfterCommit(applied.ticket, reply)))
        }
        method => {
            let aggregate =
                Aggregate::new(method, context, &call.peer, &target, &request.call.request)?;
            Ok(run(aggregate, request.region))
        }
    }
}

/// Answers `ExecRegionServerService`: no such endpoint is registered.
pub(super) fn exec_region_server(call: &Call) -> Result<CallStep, CallError> {
    let request: pb::CoprocessorServiceRequest = call.message()?;
    let text = format!(
        "No registered coprocessor executorService found for {}",
        request.call.service_name
    );
    Err(CallError::new(ExceptionKind::UnknownProtocol, text))
}

/// Outcome of an endpoint called as an action of a multi.
pub(super) enum EndpointOutcome {
    Done(pb::NameBytesPair),
    /// The endpoint has done one slice of its work; other calls run before it continues.
    InProgress(Box<Aggregate>),
}

/// Calls an endpoint as an action of a multi, or continues the call.
pub(super) fn serve(
    context: &Context,
    peer: &Peer,
    target: &RequestTarget,
    call: &pb::CoprocessorServiceCall,
    begun: Option<Box<Aggregate>>,
) -> Result<EndpointOutcome, CallError> {
    let specifier = match target {
        RequestTarget::Region(region) => convert::region::specifier(region.info()),
        RequestTarget::Meta => convert::region::specifier(&halite_engine::MetaView::region()),
    };
    match endpoint(call, &specifier)? {
        Method::MultiRowMutationMutateRows => {
            let applied = mutate_rows(context, peer, target, &call.request)?;
            applied.ticket.wait()?;
            let response = pb::MutateRowsResponse { processed: Some(applied.result.processed) };
            Ok(EndpointOutcome::Done(value("MutateRowsResponse", &response)))
        }
        method => {
            let mut aggregate = match begun {
                Some(aggregate) => aggregate,
                None => Box::new(Aggregate::new(method, context, peer, target, &call.request)?),
            };
            let is_done = aggregate.work()?;
            Ok(if is_done {
                EndpointOutcome::Done(value("AggregateResponse", &aggregate.response()))
            } else {
                EndpointOutcome::InProgress(aggregate)
            })
        }
    }
}

/// Returns the method of a built-in endpoint.
fn endpoint(
    call: &pb::CoprocessorServiceCall,
    region: &pb::RegionSpecifier,
) -> Result<Method, CallError> {
    // Newer clients may send the package too.
    let name = call.service_name.rsplit('.').next().unwrap_or_default();
    let service = Service::from_name(name)
        .filter(|service| matches!(service, Service::Aggregate | Service::MultiRowMutation));
    let Some(service) = service else {
        let (name, region) = (
            convert::display_bytes(call.service_name.as_bytes()),
            convert::display_bytes(&region.value),
        );
        let text = format!("No registered coprocessor service found for {name} in region {region}");
        return Err(CallError::new(ExceptionKind::UnknownProtocol, text));
    };
    service.method(&call.method_name).ok_or_else(|| {
        let (method, service) = (
            convert::display_bytes(call.method_name.as_bytes()),
            convert::display_bytes(call.service_name.as_bytes()),
        );
        let text = format!("Unknown method {method} called on coprocessor service {service}");
        CallError::new(ExceptionKind::UnknownProtocol, text)
    })
}

/// Works in slices, so that other calls get a turn on the handler threads.
fn run(mut aggregate: Aggregate, region: pb::RegionSpecifier) -> CallStep {
    match aggregate.work() {
        Ok(false) => CallStep::Deferred(Box::new(move || run(aggregate, region))),
        Ok(true) => Ok::<_, CallError>(Reply::new(answer(
            region,
            value("AggregateResponse", &aggregate.response()),
        )))
        .into(),
        Err(fault) => fault.into(),
    }
}

fn mutate_rows(
    context: &Context,
    peer: &Peer,
    target: &RequestTarget,
    request: &bytes::Bytes,
) -> Result<mutate::AppliedOp, CallError> {
    rpc::check_decoded_size(
        Method::MultiRowMutationMutateRows,
        request,
        &context.config.limits.rpc_limits(),
    )?;
    let request =
        pb::MutateRowsRequest::decode(request.clone()).map_err(|error| damaged(&error))?;
    convert::mutate::check_inside(
        request
            .mutation_request
            .iter()
            .map(convert::mutate::inside_bytes)
            .fold(0, usize::saturating_add),
    )?;
    let region = region::to_write(context, peer, target)?;
    let cells = &mut halite_types::Cells::default();
    let ops = request
        .mutation_request
        .iter()
        .map(|mutation| convert::mutate::from_proto(mutation, cells))
        .collect::<Result<Vec<_>, _>>()?;
    // The client located the region by its first row, which may have moved. If another row is
    // outside the region, a retry does not help.
    if let Some(op) = ops.iter().skip(1).find(|op| !region.info().contains(op.row())) {
        return Err(CallError::do_not_retry(format!(
            "row {} is not in the region of the others",
            halite_types::key::to_string_binary(op.row())
        )));
    }
    let check = |condition: &pb::Condition| {
        convert::condition::from_proto(condition, RowMutations::new(condition.row.clone()))
    };
    let conditions = request.condition.iter().map(check).collect::<Result<Vec<_>, _>>()?;
    row_mutations::apply_rows(
        context,
        peer,
        &region,
        &ops,
        &conditions,
        to_nonce(request.nonce_group(), request.nonce()),
    )
}

pub(super) fn damaged(error: &prost::DecodeError) -> CallError {
    CallError::new(
        ExceptionKind::InvalidProtocolBuffer,
        format!("the request of an endpoint is damaged: {error}"),
    )
}

fn value(class: &str, message: &impl Message) -> pb::NameBytesPair {
    named(class, message.encode_to_vec().into())
}

fn named(class: &str, bytes: bytes::Bytes) -> pb::NameBytesPair {
    pb::NameBytesPair { name: format!("{PACKAGE}.{class}"), value: Some(bytes) }
}

fn answer(region: pb::RegionSpecifier, value: pb::NameBytesPair) -> pb::CoprocessorServiceResponse {
    pb::CoprocessorServiceResponse { region, value }
}
