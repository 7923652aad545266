//! Tests of where calls of the client service are answered.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use halite_engine::env::Clock;
use halite_engine::{Engine, Options};
use halite_types::{
    CheckAndMutate, Comparator, CompareOp, Condition, FamilyDescriptor, Filter, Increment, Put,
    RegexString, RegionInfo, TableDescriptor,
};
use halite_wire::convert;
use halite_wire::proto as pb;
use halite_wire::service;

use super::{answer, mutate};
use crate::base::call_step::{CallOutcome, CallStep, Executor};
use crate::base::inline;
use crate::config::{Addresses, Config};
use crate::outside::Machine;
use crate::services::Services;
use crate::testing;
use crate::testing::test_server::TestServer;

fn is_answered_inline<C: service::RpcMethod>(rig: &TestServer, request: &C::Request) -> bool {
    let call = Arc::new(testing::call::<C>(&rig.peer, request));
    matches!(answer(&rig.services.client, &call, Executor::Inline), CallStep::Done(_))
}

#[test]
fn large_memory_reads_run_on_reader_threads() {
    let rig = TestServer::new();
    let table = TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f"));
    rig.context.engine.create_table(table, Vec::new()).unwrap();
    let region =
        convert::region::specifier(&rig.context.engine.regions(&"t".parse().unwrap()).unwrap()[0]);
    for (row, bytes) in [("large", 9 << 20), ("middle", 100 << 10), ("small", 10)] {
        let put = Put::new(row).add("f", "q", vec![7; bytes]).into();
        rig.context.engine.table(&"t".parse().unwrap()).unwrap().batch(vec![put]).unwrap();
    }
    let get = |row: &'static str| pb::Get { row: row.into(), ..pb::Get::default() };
    for (row, inline) in [("large", false), ("middle", true), ("small", true)] {
        let request = pb::GetRequest { region: region.clone(), get: get(row) };
        assert_eq!(is_answered_inline::<service::ClientGet>(&rig, &request), inline, "{row}");
        let scan = pb::Scan {
            start_row: Some(row.into()),
            stop_row: Some(row.into()),
            include_stop_row: Some(true),
            ..pb::Scan::default()
        };
        let open = pb::ScanRequest {
            region: Some(region.clone()),
            scan: Some(scan),
            number_of_rows: Some(5),
            ..pb::ScanRequest::default()
        };
        assert_eq!(is_answered_inline::<service::ClientScan>(&rig, &open), inline, "{row}");
    }
    // Together they are large.
    for (count, inline) in [(2, true), (5, false)] {
        let action = (0..count)
            .map(|index| pb::Action {
                index: Some(index),
                get: Some(get("middle")),
                ..pb::Action::default()
            })
            .collect();
        let actions =
            pb::RegionAction { region: region.clone(), action, ..pb::RegionAction::default() };
        let multi =
            pb::MultiRequest { region_action: vec![actions], ..pb::MultiRequest::default() };
        assert_eq!(is_answered_inline::<service::ClientMulti>(&rig, &multi), inline, "{count}");
    }
    // An operation that first reads a large cell.
    let append =
        convert::mutate::to_proto(&halite_types::Append::new("large").add("f", "q", "more").into())
            .unwrap();
    let request = pb::MutateRequest { region, mutation: append, ..pb::MutateRequest::default() };
    assert!(!is_answered_inline::<service::ClientMutate>(&rig, &request));
}

/// Clock that stops a thread named `holder`, once it has locked a row, until the gate opens.
struct Gate {
    clock: Arc<dyn Clock>,
    reads: AtomicU32,
    reached: Barrier,
    passed: Barrier,
}

impl Clock for Gate {
    fn now_ms(&self) -> i64 {
        // The earlier reads of the clock happen without the row lock.
        if std::thread::current().name() == Some("holder") && self.reads.fetch_add(1, Relaxed) == 2
        {
            self.reached.wait();
            self.passed.wait();
        }
        self.clock.now_ms()
    }

    fn monotonic_ns(&self) -> u64 {
        self.clock.monotonic_ns()
    }
}

/// A thread that has locked a row may be waiting for the disk, and the connection's task also
/// serves other connections.
#[test]
fn write_to_locked_row_does_not_block_connection_task() {
    let directory = tempfile::tempdir().unwrap();
    let mut env = halite_engine::env::Env::os(directory.path()).unwrap();
    let gate = Gate {
        clock: Arc::clone(&env.clock),
        reads: AtomicU32::new(0),
        reached: Barrier::new(2),
        passed: Barrier::new(2),
    };
    let gate = Arc::new(gate);
    env.clock = Arc::<Gate>::clone(&gate);
    let engine = Engine::open(env, Options::default()).unwrap();
    let address = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let addresses = Addresses {
        master: address(16_000),
        regionserver: address(16_020),
        http: None,
        zookeeper: None,
    };
    let services =
        Services::new(Machine::Os, Arc::clone(&engine), Config::default(), addresses).unwrap();
    let context = Arc::clone(&services.context);
    engine
        .create_table(
            TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f")),
            Vec::new(),
        )
        .unwrap();
    let region = engine.table(&"t".parse().unwrap()).unwrap().region_for_row(b"").unwrap();
    let holder = std::thread::Builder::new().name("holder".to_owned());
    let holding = Arc::clone(&region);
    let holder = holder
        .spawn(move || {
            holding.apply(vec![Increment::new("r").add("f", "n", 1).into()]).ticket.wait()
        })
        .unwrap();
    gate.reached.wait();
    assert!(
        region.try_apply_cached(&Increment::new("r").add("f", "n", 1).into(), None).is_none(),
        "the row is not held"
    );

    let specifier = convert::region::specifier(region.info());
    let put = |row: &'static str| {
        convert::mutate::to_proto(&Put::new(row).add("f", "q", "v").into()).unwrap()
    };
    let actions = |rows: &[&'static str], atomic| pb::MultiRequest {
        region_action: vec![pb::RegionAction {
            region: specifier.clone(),
            atomic: Some(atomic),
            action: rows
                .iter()
                .map(|row| pb::Action { mutation: Some(put(row)), ..pb::Action::default() })
                .collect(),
            ..pb::RegionAction::default()
        }],
        ..pb::MultiRequest::default()
    };
    let peer = Arc::new(testing::peer(&context, service::Service::Client, Some((2, 6))));
    let single = pb::MutateRequest {
        region: specifier.clone(),
        mutation: put("r"),
        ..pb::MutateRequest::default()
    };
    let calls = [
        testing::call::<service::ClientMutate>(&peer, &single),
        testing::call::<service::ClientMulti>(&peer, &actions(&["a", "r"], false)),
        testing::call::<service::ClientMulti>(&peer, &actions(&["r", "r"], true)),
        testing::call::<service::ClientMulti>(&peer, &actions(&["a", "r"], true)),
    ];
    let (sender, tried) = std::sync::mpsc::channel();
    let trying = Arc::clone(&services.client);
    let tries = std::thread::spawn(move || {
        for call in calls {
            sender.send(answer(&trying, &Arc::new(call), Executor::Inline)).unwrap();
        }
    });
    let steps: Vec<_> =
        (0..4).map_while(|_| tried.recv_timeout(Duration::from_mins(2)).ok()).collect();
    gate.passed.wait();
    holder.join().unwrap().unwrap();
    tries.join().unwrap();
    let waits: Vec<_> = steps.iter().map(|step| matches!(step, CallStep::Deferred(_))).collect();
    assert_eq!(waits, [true; 4], "a task stood still, or was answered");
    // The deferred work is done once the row is unlocked.
    for step in steps {
        let CallStep::Deferred(rest) = step else { continue };
        let CallStep::Done(CallOutcome::AfterCommit(ticket, _)) = rest() else {
            panic!("it is not done")
        };
        ticket.wait().unwrap();
    }
    for row in ["a", "r"] {
        let row = engine
            .table(&"t".parse().unwrap())
            .unwrap()
            .get(&halite_types::Get::new(row), halite_types::ReadTier::Disk)
            .unwrap();
        assert_eq!(row.value("f", "q"), Some(&b"v"[..]));
    }
    services.master.close();
    engine.stop_threads();
}

#[test]
fn costly_filter_comparison_is_not_run_inline() {
    let rig = TestServer::new();
    let table = TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f"));
    rig.context.engine.create_table(table, Vec::new()).unwrap();
    let specifier =
        convert::region::specifier(&rig.context.engine.regions(&"t".parse().unwrap()).unwrap()[0]);
    let substring = |text: String| Filter::Value(CompareOp::Equal, Comparator::Substring(text));
    let decimal =
        || Filter::Value(CompareOp::NotEqual, Comparator::BigDecimal(vec![1; 1028].into()));
    let numbers = |row: &'static str, count| {
        (0..count).fold(Put::new(row), |put, at| put.add("f", format!("{at:03}"), vec![7; 1028]))
    };
    let puts = [
        Put::new("small").add("f", "q", "v"),
        Put::new("ascii").add("f", "q", vec![b'a'; 200 << 10]),
        Put::new("text").add("f", "q", "\u{e4}".repeat(100 << 10)),
        numbers("numbers", 200),
        numbers("few", 20),
    ];
    rig.context
        .engine
        .table(&"t".parse().unwrap())
        .unwrap()
        .batch(puts.map(Into::into).to_vec())
        .unwrap();
    let get = |row: &'static str, filter: &Filter| pb::Get {
        row: row.into(),
        filter: Some(convert::filter::to_proto(filter).unwrap()),
        ..pb::Get::default()
    };
    let long = substring("a".repeat(50_000) + "b");
    let many = Filter::All((0..400).map(|at| substring(format!("x{at}"))).collect());
    let both = Filter::One(vec![
        substring("x".to_owned()),
        Filter::Value(CompareOp::Equal, Comparator::Binary("v".into())),
    ]);
    for (row, filter, inline) in [
        ("ascii", &long, false),
        ("numbers", &decimal(), false),
        ("text", &many, false),
        ("small", &long, true),
        ("small", &both, true),
        ("small", &decimal(), true),
    ] {
        let request = pb::GetRequest { region: specifier.clone(), get: get(row, filter) };
        assert_eq!(is_answered_inline::<service::ClientGet>(&rig, &request), inline, "{row}");
    }
    // Nor many cells that are individually small.
    let action = |index| pb::Action {
        index: Some(index),
        get: Some(get("few", &both)),
        ..pb::Action::default()
    };
    for (count, inline) in [(1, true), (10, false)] {
        let actions = pb::RegionAction {
            region: specifier.clone(),
            action: (0..count).map(action).collect(),
            ..pb::RegionAction::default()
        };
        let multi =
            pb::MultiRequest { region_action: vec![actions], ..pb::MultiRequest::default() };
        assert_eq!(is_answered_inline::<service::ClientMulti>(&rig, &multi), inline, "{count}");
    }
}

/// Compiling regular expressions takes a tenth of a second, and the connection's task also
/// serves other connections.
#[test]
fn regex_compilation_is_not_run_inline() {
    let rig = TestServer::new();
    let table = TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f"));
    rig.context.engine.create_table(table, Vec::new()).unwrap();
    let region = |info: &RegionInfo| convert::region::specifier(info);
    let region = region(&rig.context.engine.regions(&"t".parse().unwrap()).unwrap()[0]);
    let prefix = Filter::Prefix("r".into());
    let regex = Filter::Skip(Box::new(Filter::Row(
        CompareOp::Equal,
        Comparator::Regex(RegexString::new("^r")),
    )));
    for (filter, inline) in [(&prefix, true), (&regex, false)] {
        let filter_message = convert::filter::to_proto(filter).unwrap();
        let get =
            pb::Get { row: "r".into(), filter: Some(filter_message.clone()), ..pb::Get::default() };
        assert_eq!(
            is_answered_inline::<service::ClientGet>(
                &rig,
                &pb::GetRequest { region: region.clone(), get: get.clone() }
            ),
            inline
        );
        let action = pb::Action { index: Some(0), get: Some(get), ..pb::Action::default() };
        let actions = pb::RegionAction {
            region: region.clone(),
            action: vec![action],
            ..pb::RegionAction::default()
        };
        let multi =
            pb::MultiRequest { region_action: vec![actions], ..pb::MultiRequest::default() };
        assert_eq!(is_answered_inline::<service::ClientMulti>(&rig, &multi), inline);
        let scan = pb::Scan { filter: Some(filter_message), ..pb::Scan::default() };
        let open = pb::ScanRequest {
            region: Some(region.clone()),
            scan: Some(scan),
            number_of_rows: Some(0),
            ..pb::ScanRequest::default()
        };
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

/// Returns the number of times that the message of a call was decoded when it was first tried, and
/// when it had been answered.
fn count_decodings<C: service::RpcMethod>(
    rig: &TestServer,
    request: &C::Request,
) -> (usize, usize) {
    let call = Arc::new(testing::call::<C>(&rig.peer, request));
    let mut step = answer(&rig.services.client, &call, Executor::Inline);
    assert!(matches!(step, CallStep::Deferred(_)), "{} is not deferred", C::METHOD.name());
    let tried = call.messages_decoded.load(Relaxed);
    while let CallStep::Deferred(rest) = step {
        step = rest();
    }
    match step {
        CallStep::Done(CallOutcome::Ready(Ok(_)) | CallOutcome::AfterCommit(..)) => {}
        CallStep::Done(CallOutcome::Ready(Err(fault))) => panic!("{:?}", fault.exception()),
        CallStep::Deferred(_) => panic!("it is not done"),
    }
    (tried, call.messages_decoded.load(Relaxed))
}

#[test]
fn deferred_call_continues_with_decoded_message() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    let region =
        convert::region::specifier(&rig.context.engine.regions(&"t".parse().unwrap()).unwrap()[0]);
    // Compiling it takes long.
    let regex = Filter::Row(CompareOp::Equal, Comparator::Regex(RegexString::new("a+")));
    let filter = Some(convert::filter::to_proto(&regex).unwrap());
    let get = pb::Get { row: "r".into(), filter: filter.clone(), ..pb::Get::default() };
    let request = pb::GetRequest { region: region.clone(), get: get.clone() };
    assert_eq!(count_decodings::<service::ClientGet>(&rig, &request), (1, 1));

    let scan = pb::Scan { filter, ..pb::Scan::default() };
    let request = pb::ScanRequest {
        region: Some(region.clone()),
        scan: Some(scan),
        number_of_rows: Some(5),
        ..pb::ScanRequest::default()
    };
    assert_eq!(count_decodings::<service::ClientScan>(&rig, &request), (1, 1));

    // Writes of hbase:meta create a region first.
    let meta = convert::region::specifier(&halite_engine::MetaView::region());
    let put = Put::new("t,,1").add("info", "q", "v").into();
    let request = pb::MutateRequest {
        region: meta,
        mutation: convert::mutate::to_proto(&put).unwrap(),
        ..pb::MutateRequest::default()
    };
    assert_eq!(count_decodings::<service::ClientMutate>(&rig, &request), (1, 1));

    let action = pb::Action { get: Some(get), ..pb::Action::default() };
    let multi = |actions: Vec<pb::Action>| pb::MultiRequest {
        region_action: vec![pb::RegionAction {
            region: region.clone(),
            action: actions,
            ..pb::RegionAction::default()
        }],
        ..pb::MultiRequest::default()
    };
    assert_eq!(count_decodings::<service::ClientMulti>(&rig, &multi(vec![action])), (1, 1));

    // A message that is large when decoded waits undecoded.
    let plain = pb::Action {
        get: Some(pb::Get { row: "r".into(), ..pb::Get::default() }),
        ..pb::Action::default()
    };
    let large = multi(vec![plain; 10_000]);
    assert_eq!(count_decodings::<service::ClientMulti>(&rig, &large), (0, 1));
}

/// Returns the bytes that a call holds in addition to its frame while it waits for a thread.
fn waiting_bytes<C: service::RpcMethod>(rig: &TestServer, request: &C::Request) -> usize {
    let call = Arc::new(testing::call::<C>(&rig.peer, request));
    let step = answer(&rig.services.client, &call, Executor::Inline);
    assert!(matches!(step, CallStep::Deferred(_)), "{} is not deferred", C::METHOD.name());
    call.held_bytes() - call.bytes
}

#[test]
fn waiting_call_holds_its_decoded_data() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    let region =
        convert::region::specifier(&rig.context.engine.regions(&"t".parse().unwrap()).unwrap()[0]);
    let pattern = RegexString::new("a".repeat(1000));
    let filter =
        convert::filter::to_proto(&Filter::Row(CompareOp::Equal, Comparator::Regex(pattern)))
            .unwrap();
    let filter_bytes = inline::filter_bytes(Some(&filter));
    assert!(filter_bytes > 16 * 1000, "a decoded filter is larger than its message");

    let get = pb::Get {
        row: "r".into(),
        filter: Some(filter.clone()),
        column: vec![pb::Column { family: "f".into(), qualifier: vec!["q".into()] }],
        ..pb::Get::default()
    };
    let column_bytes = size_of::<pb::Column>() + size_of::<bytes::Bytes>();
    let request = pb::GetRequest { region: region.clone(), get: get.clone() };
    let held = waiting_bytes::<service::ClientGet>(&rig, &request);
    assert_eq!(held, column_bytes + filter_bytes);

    let scan = pb::Scan { filter: Some(filter.clone()), ..pb::Scan::default() };
    let request = pb::ScanRequest {
        region: Some(region.clone()),
        scan: Some(scan.clone()),
        number_of_rows: Some(5),
        ..pb::ScanRequest::default()
    };
    let held = waiting_bytes::<service::ClientScan>(&rig, &request);
    assert_eq!(held, prost::Message::encoded_len(&scan) + filter_bytes);

    // Its message has been dropped.
    let put = Put::new("r").add("f", "q", vec![7; 500]);
    let check = CheckAndMutate::new("r", Condition::Filter(Filter::KeyOnly(false)), put.clone());
    let condition = convert::condition::to_proto(&check).unwrap();
    let request = pb::MutateRequest {
        region: region.clone(),
        mutation: convert::mutate::to_proto(&put.clone().into()).unwrap(),
        condition: Some(pb::Condition { filter: Some(filter), ..condition }),
        ..pb::MutateRequest::default()
    };
    let held = waiting_bytes::<service::ClientMutate>(&rig, &request);
    assert_eq!(held, mutate::op_bytes(&put.into()) + filter_bytes);

    let action = pb::Action { get: Some(get), ..pb::Action::default() };
    let multi = |action: Vec<pb::Action>| pb::MultiRequest {
        region_action: vec![pb::RegionAction {
            region: region.clone(),
            action,
            ..pb::RegionAction::default()
        }],
        ..pb::MultiRequest::default()
    };
    let held = waiting_bytes::<service::ClientMulti>(&rig, &multi(vec![action]));
    let action_bytes = size_of::<pb::RegionAction>() + size_of::<pb::Action>();
    assert_eq!(held, action_bytes + column_bytes + filter_bytes);

    // A message that waits undecoded holds its frame only.
    let plain = pb::Action {
        get: Some(pb::Get { row: "r".into(), ..pb::Get::default() }),
        ..pb::Action::default()
    };
    assert_eq!(waiting_bytes::<service::ClientMulti>(&rig, &multi(vec![plain; 10_000])), 0);
}

/// While a scan waits for a thread, its query counts as memory of the call.
#[test]
fn waiting_scan_reserves_no_scanner_memory() {
    let rig = TestServer::new();
    let open = pb::ScanRequest {
        region: Some(convert::region::specifier(&halite_engine::MetaView::region())),
        scan: Some(pb::Scan::default()),
        number_of_rows: Some(0),
        ..pb::ScanRequest::default()
    };
    let call = Arc::new(testing::call::<service::ClientScan>(&rig.peer, &open));
    let CallStep::Deferred(rest) = answer(&rig.services.client, &call, Executor::Inline) else {
        panic!("it does not wait")
    };
    assert_eq!(rig.peer.scanner_memory.used(), 0);
    assert!(matches!(rest(), CallStep::Done(CallOutcome::Ready(Ok(_)))));
    assert!(rig.peer.scanner_memory.used() > 0);
}

/// A limit of the scanners of a connection holds for scans that wait for a thread too.
#[test]
fn queued_scans_count_toward_scanner_limit() {
    let mut config = Config::default();
    config.limits.max_scanners_per_connection = 1;
    let rig = TestServer::with(config);
    let open = pb::ScanRequest {
        region: Some(convert::region::specifier(&halite_engine::MetaView::region())),
        scan: Some(pb::Scan::default()),
        number_of_rows: Some(0),
        ..pb::ScanRequest::default()
    };
    let steps = [(); 2].map(|()| {
        let call = Arc::new(testing::call::<service::ClientScan>(&rig.peer, &open));
        answer(&rig.services.client, &call, Executor::Inline)
    });
    let results = steps.map(|step| {
        let CallStep::Deferred(rest) = step else { panic!("it does not wait") };
        let CallStep::Done(CallOutcome::Ready(result)) = rest() else { panic!("it is not done") };
        result.is_ok()
    });
    assert_eq!(results, [true, false]);
    assert_eq!(rig.services.client.scanners.len(), 1);
}
