//! What clients read and write with: gets, mutations, multis, scans, endpoints.
//!
//! | file | duty |
//! |---|---|
//! | `get.rs`, `mutate.rs`, `multi.rs`, `scan.rs`, `exec.rs`, `bulk_load.rs` | the methods, by what they do |
//! | `region.rs` | the region a request names, and how failures of it are told |
//! | `aggregate.rs`, `row_mutations.rs` | the endpoints |
//!
//! A call is tried in memory first ([`Tier::Memory`](halite_types::Tier)). What has to wait for the disk, looks at many
//! cells, or reads before it writes, goes on as [`Step::Later`](crate::dispatch::Step) on a reader thread.

mod aggregate;
mod bulk_load;
mod exec;
mod get;
mod multi;
mod mutate;
mod region;
mod row_mutations;
pub(crate) mod scan;
mod scan_metrics;

use std::sync::Arc;

use halite_wire::service::Method;

use crate::call::{Call, Reply};
use crate::context::Context;
use crate::dispatch::{Lane, Step};

pub(crate) use region::is_meta_replica;

/// Answers a call of `ClientService`; `lane` is where this is called.
pub(crate) fn call(context: &Arc<Context>, call: &Arc<Call>, lane: Lane) -> Step {
    let result = match call.method {
        Method::ClientGet => get::get(context, call, lane),
        Method::ClientMutate => mutate::mutate(context, call, lane),
        Method::ClientMulti => multi::multi(context, call, lane),
        Method::ClientScan => scan::scan(context, call, lane),
        Method::ClientExecService => exec::exec(context, call),
        Method::ClientExecRegionServerService => exec::exec_region_server(call),
        Method::ClientPrepareBulkLoad => bulk_load::prepare(context, call),
        Method::ClientBulkLoadHFile => bulk_load::load(context, call),
        Method::ClientCleanupBulkLoad => bulk_load::clean_up(context, call),
        _ => Err(call.unknown_method()),
    };
    result.unwrap_or_else(|fault| Step::from(Err::<Reply, _>(fault)))
}
