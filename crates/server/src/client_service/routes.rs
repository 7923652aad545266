//! Dispatch of methods to their handlers.

use std::sync::Arc;

use halite_wire::service::Method;

use super::state::ClientService;
use super::{bulk_load, exec, get, multi, mutate, scan};
use crate::base::call::Call;
use crate::base::call_step::{CallStep, Executor};

/// Answers a call of `ClientService`; `executor` is the executor that runs this function.
pub(crate) fn answer(
    service: &Arc<ClientService>,
    call: &Arc<Call>,
    executor: Executor,
) -> CallStep {
    let context = &service.context;
    let result = match call.method {
        Method::ClientGet => get::get(context, call, executor),
        Method::ClientMutate => mutate::mutate(context, call, executor),
        Method::ClientMulti => multi::multi(context, call, executor),
        Method::ClientScan => scan::scan(service, call, executor),
        Method::ClientExecService => exec::exec(context, call),
        Method::ClientExecRegionServerService => exec::exec_region_server(call),
        Method::ClientPrepareBulkLoad => bulk_load::prepare(context, call),
        Method::ClientBulkLoadHFile => bulk_load::load(context, call),
        Method::ClientCleanupBulkLoad => bulk_load::clean_up(context, call),
        _ => Err(call.unknown_method()),
    };
    result.unwrap_or_else(CallStep::from)
}
