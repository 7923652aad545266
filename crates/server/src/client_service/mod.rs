//! What clients read and write with: gets, mutations, multis, scans, endpoints.
//!
//! | file | duty |
//! |---|---|
//! | `get.rs`, `mutate.rs`, `multi.rs`, `scan.rs`, `exec.rs`, `bulk_load.rs` | the methods, by what they do |
//! | `load_paths.rs` | which files may be bulk-loaded |
//! | `region.rs` | the region a request names, and how failures of it are told |
//! | `aggregate.rs`, `row_mutations.rs` | the endpoints |
//!
//! A call is tried in memory first ([`Tier::Memory`](halite_types::Tier)). What has to wait for the disk, looks at many
//! cells, reads before it writes, or has regular expressions to compile, goes on as
//! [`Step::Later`](crate::dispatch::Step) on a reader thread.

mod aggregate;
mod bulk_load;
mod exec;
mod get;
mod load_paths;
mod multi;
mod mutate;
mod region;
mod row_mutations;
pub(crate) mod scan;
mod scan_metrics;

use std::sync::Arc;

use halite_types::Cells;
use halite_wire::service::Method;

use crate::call::{Call, Fault};
use crate::context::Context;
use crate::dispatch::{INLINE_UNFOLDED_BYTES_MAX, Lane, Step};

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
    result.unwrap_or_else(Step::from)
}

/// Bytes that a compressed block may have where it was read: a fraction of a millisecond.
const INLINE_DECOMPRESSED_BYTES_MAX: usize = 128 << 10;

/// The cells behind a call; `None` where it was read if they unfold to more than may be held there, or are damaged, which a
/// reader thread tells.
fn cells(call: &Call, lane: Lane) -> Result<Option<Cells>, Fault> {
    match lane {
        Lane::Inline => {
            let is_compressed = call.peer.format.is_some_and(|format| format.compressor.is_some());
            Ok(call.cells_within(if is_compressed { INLINE_DECOMPRESSED_BYTES_MAX } else { INLINE_UNFOLDED_BYTES_MAX }).ok())
        }
        Lane::Readers | Lane::Admin => call.cells().map(Some),
    }
}

/// What answers the calls of a method.
type Answering = fn(&Arc<Context>, &Arc<Call>, Lane) -> Result<Step, Fault>;

/// Leaves a call to a reader thread as it came.
fn on_a_reader(context: &Arc<Context>, call: &Arc<Call>, method: Answering) -> Step {
    let (context, call) = (Arc::clone(context), Arc::clone(call));
    Step::later(move || method(&context, &call, Lane::Readers))
}

#[cfg(test)]
mod tests {
    use halite_types::{CheckAndMutate, Comparator, CompareOp, Condition, FamilyDescriptor, Filter, Put, RegexString, RegionInfo, TableDescriptor};
    use halite_wire::convert;
    use halite_wire::proto as pb;
    use halite_wire::service;

    use super::*;
    use crate::master_service::tests::rig::Rig;
    use crate::testing;

    fn is_answered_inline<C: service::Call>(rig: &Rig, request: &C::Request) -> bool {
        let call = Arc::new(testing::call::<C>(&rig.peer, request));
        matches!(super::call(&rig.context, &call, Lane::Inline), Step::Done(_))
    }

    #[test]
    fn large_reads_from_memory_are_left_to_reader_threads() {
        let rig = Rig::new();
        let table = TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f"));
        rig.context.engine.create_table(table, Vec::new()).unwrap();
        let region = convert::region::specifier(&rig.context.engine.regions(&"t".parse().unwrap()).unwrap()[0]);
        for (row, bytes) in [("large", 9 << 20), ("middle", 100 << 10), ("small", 10)] {
            let put = Put::new(row).add("f", "q", vec![7; bytes]).into();
            rig.context.engine.table(&"t".parse().unwrap()).unwrap().apply(vec![put]).unwrap();
        }
        let get = |row: &'static str| pb::Get { row: row.into(), ..pb::Get::default() };
        for (row, inline) in [("large", false), ("middle", true), ("small", true)] {
            let request = pb::GetRequest { region: region.clone(), get: get(row) };
            assert_eq!(is_answered_inline::<service::ClientGet>(&rig, &request), inline, "{row}");
            let scan = pb::Scan { start_row: Some(row.into()), stop_row: Some(row.into()), include_stop_row: Some(true), ..pb::Scan::default() };
            let open = pb::ScanRequest { region: Some(region.clone()), scan: Some(scan), number_of_rows: Some(5), ..pb::ScanRequest::default() };
            assert_eq!(is_answered_inline::<service::ClientScan>(&rig, &open), inline, "{row}");
        }
        // Together they are large.
        for (count, inline) in [(2, true), (5, false)] {
            let action = (0..count).map(|index| pb::Action { index: Some(index), get: Some(get("middle")), ..pb::Action::default() }).collect();
            let actions = pb::RegionAction { region: region.clone(), action, ..pb::RegionAction::default() };
            let multi = pb::MultiRequest { region_action: vec![actions], ..pb::MultiRequest::default() };
            assert_eq!(is_answered_inline::<service::ClientMulti>(&rig, &multi), inline, "{count}");
        }
        // An operation that reads a large cell first.
        let append = convert::mutate::to_proto(&halite_types::Append::new("large").add("f", "q", "more").into()).unwrap();
        let request = pb::MutateRequest { region, mutation: append, ..pb::MutateRequest::default() };
        assert!(!is_answered_inline::<service::ClientMutate>(&rig, &request));
    }

    /// Regular expressions are compiled for a tenth of a second, and a connection's task serves other connections too.
    #[test]
    fn what_has_regular_expressions_to_compile_is_not_answered_where_it_was_read() {
        let rig = Rig::new();
        let table = TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f"));
        rig.context.engine.create_table(table, Vec::new()).unwrap();
        let region = |info: &RegionInfo| convert::region::specifier(info);
        let region = region(&rig.context.engine.regions(&"t".parse().unwrap()).unwrap()[0]);
        let prefix = Filter::Prefix("r".into());
        let regex = Filter::Skip(Box::new(Filter::Row(CompareOp::Equal, Comparator::Regex(RegexString::new("^r")))));
        for (filter, inline) in [(&prefix, true), (&regex, false)] {
            let filter_message = convert::filter::to_proto(filter).unwrap();
            let get = pb::Get { row: "r".into(), filter: Some(filter_message.clone()), ..pb::Get::default() };
            assert_eq!(is_answered_inline::<service::ClientGet>(&rig, &pb::GetRequest { region: region.clone(), get: get.clone() }), inline);
            let action = pb::Action { index: Some(0), get: Some(get), ..pb::Action::default() };
            let actions = pb::RegionAction { region: region.clone(), action: vec![action], ..pb::RegionAction::default() };
            let multi = pb::MultiRequest { region_action: vec![actions], ..pb::MultiRequest::default() };
            assert_eq!(is_answered_inline::<service::ClientMulti>(&rig, &multi), inline);
            let scan = pb::Scan { filter: Some(filter_message), ..pb::Scan::default() };
            let open = pb::ScanRequest { region: Some(region.clone()), scan: Some(scan), number_of_rows: Some(0), ..pb::ScanRequest::default() };
            assert_eq!(is_answered_inline::<service::ClientScan>(&rig, &open), inline);
            let put = Put::new("r").add("f", "q", "v");
            let check = CheckAndMutate::new("r", Condition::Filter(filter.clone()), put.clone());
            let request = pb::MutateRequest {
                region: region.clone(),
                mutation: convert::mutate::to_proto(&put.into()).unwrap(),
                condition: Some(convert::condition::to_proto(&check).unwrap()),
                ..pb::MutateRequest::default()
            };
            assert_eq!(is_answered_inline::<service::ClientMutate>(&rig, &request), inline);
        }
    }
}
