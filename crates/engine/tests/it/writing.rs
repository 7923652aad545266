//! Writes as a server submits them: several rows at once, without waiting for memory.

use halite_engine::env::sim::SimEnv;
use halite_engine::{BatchResult, Engine, Nonce, Options, WalSync};
use halite_types::{
    CheckAndMutate, Delete, ErrorKind, FamilyDescriptor, Get, Increment, Put, ReadTier, RowOp,
    TableDescriptor,
};

use crate::support::{engine, name, put, region};

fn value(engine: &Engine, row: &'static str) -> Option<String> {
    let row = engine.table(&name()).unwrap().get(&Get::new(row), ReadTier::Disk).unwrap();
    row.value("f", "q").map(|value| String::from_utf8_lossy(value).into_owned())
}

#[test]
fn operations_on_several_rows_are_applied_all_or_none() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &["m"]);
    put(&engine, "a", "old");
    let ops = |last: RowOp| {
        vec![
            Put::new("b").add("f", "q", "new").into(),
            Delete::new("a").newest("f", "q").into(),
            last,
        ]
    };

    let refused = region(&engine).apply_atomically(
        &ops(Put::new("z").add("f", "q", "elsewhere").into()),
        &[],
        None,
    );
    assert_eq!(refused.err().map(|error| error.kind()), Some(ErrorKind::WrongRegion));
    assert_eq!((value(&engine, "a"), value(&engine, "b")), (Some("old".into()), None));

    let (done, ticket) = region(&engine)
        .apply_atomically(&ops(Increment::new("c").add("f", "n", 2).into()), &[], None)
        .unwrap();
    ticket.wait().unwrap();
    assert!(done);
    assert_eq!((value(&engine, "a"), value(&engine, "b")), (None, Some("new".into())));
}

#[test]
fn every_condition_must_hold() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    put(&engine, "a", "1");
    let is = |row: &'static str, given: &'static str| {
        CheckAndMutate::if_equals(row, "f", "q", given, Put::new(row))
    };
    let ops: Vec<RowOp> = vec![Put::new("b").add("f", "q", "done").into()];
    let (done, ticket) =
        region(&engine).apply_atomically(&ops, &[is("a", "1"), is("x", "1")], None).unwrap();
    ticket.wait().unwrap();
    assert_eq!((done, value(&engine, "b")), (false, None));
    let (done, ticket) = region(&engine).apply_atomically(&ops, &[is("a", "1")], None).unwrap();
    ticket.wait().unwrap();
    assert_eq!((done, value(&engine, "b")), (true, Some("done".into())));
}

#[test]
fn full_region_returns_busy_instead_of_waiting() {
    let sim = SimEnv::new(1);
    let mut options = Options::default();
    (
        options.memstore_flush_bytes,
        options.memstore_block_multiplier,
        options.memstore_chunk_bytes,
    ) = (64 << 10, 1, 4096);
    let engine = Engine::open(sim.env(), options).unwrap();
    engine
        .create_table(TableDescriptor::new(name()).family(FamilyDescriptor::new("f")), Vec::new())
        .unwrap();
    region(&engine).try_admit().unwrap();
    put(&engine, "a", &"x".repeat(100 << 10));
    assert_eq!(region(&engine).try_admit().err().map(|error| error.kind()), Some(ErrorKind::Busy));
    // The rejection has requested the flush that frees memory.
    while engine.run_one_job().unwrap() {}
    region(&engine).try_admit().unwrap();
    assert_eq!(engine.id().len(), 36);
}

#[test]
fn write_without_sync_completes_in_try_finish() {
    for (wal_sync, finished) in [(WalSync::Flush, true), (WalSync::Fsync, false)] {
        let sim = SimEnv::new(1);
        let mut options = Options::default();
        options.wal_sync = wal_sync;
        let engine = Engine::open(sim.env(), options).unwrap();
        engine
            .create_table(
                TableDescriptor::new(name()).family(FamilyDescriptor::new("f")),
                Vec::new(),
            )
            .unwrap();
        // The first write begins a segment of the log, which takes a sync.
        put(&engine, "a", "1");
        let applied = region(&engine).apply(vec![Put::new("b").add("f", "q", "2").into()]);
        assert_eq!(applied.ticket.try_finish().is_some(), finished);
        assert_eq!(value(&engine, "b").is_some(), finished);
        applied.ticket.wait().unwrap();
        assert_eq!(
            (applied.ticket.try_finish(), value(&engine, "b")),
            (Some(Ok(())), Some("2".into()))
        );
    }
}

#[test]
fn write_needing_disk_read_is_not_applied_from_memory() {
    let sim = SimEnv::new(1);
    let written = engine(&sim, &[]);
    put(&written, "a", "old");
    written.flush(&name()).unwrap();
    written.close().unwrap();
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    let exchange = || {
        RowOp::from(CheckAndMutate::if_equals(
            "a",
            "f",
            "q",
            "old",
            Put::new("a").add("f", "q", "new"),
        ))
    };

    assert!(
        region(&engine).try_apply_cached(&exchange(), None).is_none(),
        "no block has been read yet"
    );
    assert_eq!(value(&engine, "a"), Some("old".into()));

    // Now the block is in the cache.
    let mut applied = region(&engine).try_apply_cached(&exchange(), None).expect("memory has it");
    applied.ticket.wait().unwrap();
    assert!(applied.results.pop().unwrap().unwrap().processed);
    assert_eq!(value(&engine, "a"), Some("new".into()));

    let mut refused = region(&engine)
        .try_apply_cached(&Increment::new("a").add("f", "q", 1).into(), None)
        .expect("memory has it");
    assert_eq!(refused.results.pop().unwrap().unwrap_err().kind(), ErrorKind::InvalidRequest);
}

#[test]
fn nonces_are_recovered_after_crash() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    let nonce = |number| Some(Nonce { group: 1, number });
    let add = || RowOp::from(Increment::new("a").add("f", "n", 1));
    let done = |mut applied: BatchResult| {
        applied.ticket.wait().unwrap();
        applied.results.pop().unwrap().unwrap().processed
    };
    assert!(done(region(&engine).apply_with_nonce(add(), nonce(1))));
    assert!(done(region(&engine).try_apply_cached(&add(), nonce(2)).expect("memory has it")));
    assert!(done(region(&engine).apply_with_nonce(add(), None)));
    let never =
        CheckAndMutate::if_equals("a", "f", "q", "something", Increment::new("a").add("f", "n", 1));
    assert!(!done(region(&engine).apply_with_nonce(never.into(), nonce(3))), "nothing was written");
    region(&engine)
        .apply_atomically(&[add(), Put::new("b").add("f", "q", "v").into()], &[], nonce(4))
        .unwrap()
        .1
        .wait()
        .unwrap();

    drop(engine);
    sim.fs.crash(1);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    assert_eq!(engine.take_replayed_nonces(), [4, 2, 1].map(|number| Nonce { group: 1, number }));
    assert_eq!(engine.take_replayed_nonces(), [], "nonces are returned once");
    let row = engine.table(&name()).unwrap().get(&Get::new("a"), ReadTier::Disk).unwrap();
    assert_eq!(row.value("f", "n"), Some(&4_i64.to_be_bytes()[..]));

    engine.close().unwrap();
    sim.fs.kill();
    let after = Engine::open(sim.env(), Options::default()).unwrap().take_replayed_nonces();
    assert_eq!(after, [4, 2, 1].map(|number| Nonce { group: 1, number }), "nonces outlive the log");
}

#[test]
fn batch_of_task_leaves_what_needs_disk() {
    let sim = SimEnv::new(1);
    let ops = || -> Vec<RowOp> {
        vec![
            Increment::new("x").add("f", "q", 1).into(),
            Put::new("b").add("f", "q", "2").into(),
            Delete::new("c").family("f").into(),
        ]
    };
    let before = engine(&sim, &["m"]);
    let in_memory = before.table(&name()).unwrap().try_submit(ops());
    assert_eq!(in_memory.unrouted.len(), 0);
    in_memory.ticket.wait().unwrap();
    drop(in_memory);
    before.flush(&name()).unwrap();
    before.close().unwrap();

    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    let table = engine.table(&name()).unwrap();
    let tried = table.try_submit(ops());
    assert_eq!(tried.unrouted.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0]);
    tried.ticket.clone().wait().unwrap();
    assert_eq!(value(&engine, "b"), Some("2".into()), "the others have been applied");
    let done = table.submit_rest(tried);
    done.ticket.wait().unwrap();
    let counter = done.results[0].as_ref().unwrap().row.value("f", "q").unwrap().to_vec();
    assert_eq!(counter, 2_u64.to_be_bytes());
}
