//! `ExecService`: the endpoints that are built in, called for one region.

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
use super::region::{self, Target};
use super::row_mutations;
use crate::call::{Call, Fault, Peer, Reply};
use crate::context::Context;
use crate::dispatch::{Outcome, Step};
use crate::nonces::nonce_of;

/// Java's package for the classes of answers; clients look at the bytes only.
const PACKAGE: &str = "org.apache.hadoop.hbase.protobuf.generated";

/// Answers an `ExecService`.
pub(super) fn exec(context: &Arc<Context>, call: &Arc<Call>) -> Result<Step, Fault> {
    let request: pb::CoprocessorServiceRequest = call.message()?;
    let target = region::find(context, &call.peer, &request.region)?;
    match endpoint(&request.call, &request.region)? {
        Method::MultiRowMutationMutateRows => {
            let applied = mutate_rows(context, &call.peer, &target, &request.call.request)?;
            let response = pb::MutateRowsResponse { processed: Some(applied.result.processed) };
            let reply = Reply::new(answer(request.region, value("MutateRowsResponse", &response)));
            Ok(Step::Done(Outcome::After(applied.ticket, reply)))
        }
        method => {
            let aggregate = Aggregate::new(method, context, &call.peer, &target, &request.call.request)?;
            Ok(run(aggregate, request.region))
        }
    }
}

/// Answers `ExecRegionServerService`: there is none of these here.
pub(super) fn exec_region_server(call: &Call) -> Result<Step, Fault> {
    let request: pb::CoprocessorServiceRequest = call.message()?;
    let text = format!("No registered coprocessor executorService found for {}", request.call.service_name);
    Err(Fault::new(ExceptionKind::UnknownProtocol, text))
}

/// What an endpoint that was called as an action of a multi has come to.
pub(super) enum Served {
    Done(pb::NameBytesPair),
    /// It has done its slice, and others get their turn.
    Begun(Box<Aggregate>),
}

/// Calls an endpoint as an action of a multi, or goes on with one.
pub(super) fn serve(
    context: &Context,
    peer: &Peer,
    target: &Target,
    call: &pb::CoprocessorServiceCall,
    begun: Option<Box<Aggregate>>,
) -> Result<Served, Fault> {
    let specifier = match target {
        Target::Region(region) => convert::region::specifier(region.info()),
        Target::Meta => convert::region::specifier(&halite_engine::MetaView::region()),
    };
    match endpoint(call, &specifier)? {
        Method::MultiRowMutationMutateRows => {
            let applied = mutate_rows(context, peer, target, &call.request)?;
            applied.ticket.wait()?;
            let response = pb::MutateRowsResponse { processed: Some(applied.result.processed) };
            Ok(Served::Done(value("MutateRowsResponse", &response)))
        }
        method => {
            let mut aggregate = match begun {
                Some(aggregate) => aggregate,
                None => Box::new(Aggregate::new(method, context, peer, target, &call.request)?),
            };
            let is_done = aggregate.work()?;
            Ok(if is_done { Served::Done(value("AggregateResponse", &aggregate.response())) } else { Served::Begun(aggregate) })
        }
    }
}

/// The endpoint's method, if it is one of those that are built in.
fn endpoint(call: &pb::CoprocessorServiceCall, region: &pb::RegionSpecifier) -> Result<Method, Fault> {
    // Newer clients may say the package too.
    let name = call.service_name.rsplit('.').next().unwrap_or_default();
    let service = Service::from_name(name).filter(|service| matches!(service, Service::Aggregate | Service::MultiRowMutation));
    let Some(service) = service else {
        let (name, region) = (convert::shown(call.service_name.as_bytes()), convert::shown(&region.value));
        let text = format!("No registered coprocessor service found for {name} in region {region}");
        return Err(Fault::new(ExceptionKind::UnknownProtocol, text));
    };
    service.method(&call.method_name).ok_or_else(|| {
        let (method, service) = (convert::shown(call.method_name.as_bytes()), convert::shown(call.service_name.as_bytes()));
        let text = format!("Unknown method {method} called on coprocessor service {service}");
        Fault::new(ExceptionKind::UnknownProtocol, text)
    })
}

/// Works in slices, so that others get their turn on the reader threads.
fn run(mut aggregate: Aggregate, region: pb::RegionSpecifier) -> Step {
    match aggregate.work() {
        Ok(false) => Step::Later(Box::new(move || run(aggregate, region))),
        Ok(true) => Ok::<_, Fault>(Reply::new(answer(region, value("AggregateResponse", &aggregate.response())))).into(),
        Err(fault) => fault.into(),
    }
}

fn mutate_rows(context: &Context, peer: &Peer, target: &Target, request: &bytes::Bytes) -> Result<mutate::AppliedOne, Fault> {
    rpc::check_unfolded(Method::MultiRowMutationMutateRows, request, &context.config.limits.of_calls())?;
    let request = pb::MutateRowsRequest::decode(request.clone()).map_err(|error| damaged(&error))?;
    convert::mutate::check_inside(request.mutation_request.iter().map(convert::mutate::inside_bytes).fold(0, usize::saturating_add))?;
    let region = region::to_write(context, peer, target)?;
    let cells = &mut halite_types::Cells::default();
    let ops = request.mutation_request.iter().map(|mutation| convert::mutate::from_proto(mutation, cells)).collect::<Result<Vec<_>, _>>()?;
    // The caller found the region by its first row, which may have moved; where the others lie no repetition changes.
    if let Some(op) = ops.iter().skip(1).find(|op| !region.info().contains(op.row())) {
        return Err(Fault::do_not_retry(format!("row {} is not in the region of the others", halite_types::key::print_bytes(op.row()))));
    }
    let check = |condition: &pb::Condition| convert::condition::from_proto(condition, RowMutations::new(condition.row.clone()));
    let conditions = request.condition.iter().map(check).collect::<Result<Vec<_>, _>>()?;
    row_mutations::apply_rows(context, peer, &region, &ops, &conditions, nonce_of(request.nonce_group(), request.nonce()))
}

pub(super) fn damaged(error: &prost::DecodeError) -> Fault {
    Fault::new(ExceptionKind::InvalidProtocolBuffer, format!("the request of an endpoint is damaged: {error}"))
}

fn value(class: &str, message: &impl Message) -> pb::NameBytesPair {
    pb::NameBytesPair { name: format!("{PACKAGE}.{class}"), value: Some(message.encode_to_vec().into()) }
}

fn answer(region: pb::RegionSpecifier, value: pb::NameBytesPair) -> pb::CoprocessorServiceResponse {
    pb::CoprocessorServiceResponse { region, value }
}
