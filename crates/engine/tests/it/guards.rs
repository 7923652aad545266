//! Safeguards against data loss: the lock, the quarantine, nonces next to flushed cells, concurrent
//! conditions, the last millisecond of a cell.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};

use halite_engine::env::Clock as _;
use halite_engine::env::sim::{FsCall, InjectedFault, SimEnv};
use halite_engine::{Engine, Nonce, Options, StoreState, WalSync};
use halite_types::{
    CheckAndMutate, ErrorKind, FamilyDescriptor, Get, Increment, Put, ReadTier, RowOp,
    SnapshotDescriptor, TableDescriptor,
};

use crate::support::{apply, engine, name, put, region, store_file};

#[test]
fn process_that_lost_its_lock_changes_nothing() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    put(&engine, "row", "value");
    let before = sim.fs.read("halite/MANIFEST").unwrap();
    sim.fs.lose_lock();
    assert_eq!(engine.flush(&name()).unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(sim.fs.read("halite/MANIFEST").unwrap(), before);
}

/// Recovery would not find records written to such a segment.
#[test]
fn removed_replaced_or_truncated_active_segment_stops_writes() {
    for (change, by_health) in ["removed", "replaced", "cut"]
        .into_iter()
        .flat_map(|change| [(change, true), (change, false)])
    {
        let sim = SimEnv::new(1);
        let engine = engine(&sim, &[]);
        put(&engine, "row", "value");
        let (path, bytes) =
            sim.fs.files().into_iter().find(|(path, _)| path.starts_with("halite/wal/0")).unwrap();
        let fs = sim.env().fs;
        match change {
            "removed" => fs.remove_file(&path).unwrap(),
            "cut" => sim.fs.cut(&path, 100).unwrap(),
            _ => {
                let mut copy = fs.create("halite/copy").unwrap();
                copy.write_all(&bytes).unwrap();
                fs.rename("halite/copy", &path).unwrap();
            }
        }
        sim.clock.advance_ms(2000);
        if by_health {
            assert_eq!(engine.health().state, StoreState::Stopped);
        }
        let region = region(&engine);
        let mut applied = region.apply(vec![RowOp::Put(Put::new("late").add("f", "q", "v"))]);
        let error = applied.results.remove(0).and_then(|_| applied.ticket.wait()).unwrap_err();
        assert!(
            error.kind() == ErrorKind::Stopped
                && error.message().contains(&format!("{path} was {change}")),
            "{error}"
        );
        assert_eq!(engine.health().state, StoreState::Stopped);
        let get = |row: &'static str| {
            engine.table(&name()).unwrap().get(&Get::new(row), ReadTier::Disk).unwrap().len()
        };
        assert_eq!((get("row"), get("late")), (1, 0));
    }
}

#[test]
fn catalog_name_is_rejected_for_tables() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    let table =
        TableDescriptor::new("hbase:meta".parse().unwrap()).family(FamilyDescriptor::new("f"));
    assert_eq!(engine.create_table(table, Vec::new()).unwrap_err().kind(), ErrorKind::TableExists);
}

#[test]
fn server_table_has_required_families() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    let create = |name: &str, families: &[&'static str]| {
        let table = TableDescriptor::new(name.parse().unwrap());
        engine.create_table(
            families
                .iter()
                .fold(table, |table, family| table.family(FamilyDescriptor::new(*family))),
            Vec::new(),
        )
    };
    for (name, families) in
        [("hbase:quota", &["q"][..]), ("hbase:quota", &["f"]), ("hbase:namespace", &["f"])]
    {
        let error = create(name, families).unwrap_err();
        assert!(
            error.kind() == ErrorKind::InvalidRequest
                && error.message().contains("leave it to the server"),
            "{error}"
        );
    }
    create("hbase:quota", &["u", "q", "mine"]).unwrap();
    create("hbase:namespace", &["info"]).unwrap();
    create("quota", &["f"]).unwrap();
    engine.create_snapshot(&SnapshotDescriptor::new("mine", "quota".parse().unwrap())).unwrap();
    engine.disable_table(&"hbase:quota".parse().unwrap()).unwrap();
    engine.drop_table(&"hbase:quota".parse().unwrap()).unwrap();
    let error = engine.clone_snapshot("mine", &"hbase:quota".parse().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
}

/// A health check detects the lost lock; the check does not know the callers that wait for the log.
#[test]
fn wal_waiters_fail_when_lock_loss_is_found_elsewhere() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    engine.hold_wal();
    let ticket = region(&engine).apply(vec![RowOp::Put(Put::new("row").add("f", "q", "v"))]).ticket;
    let woken = Arc::new(Woken(AtomicU64::new(0)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut waiting = pin!(ticket);
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    sim.fs.lose_lock();
    assert_eq!(engine.health().state, StoreState::Stopped);
    engine.step_wal();
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    assert!(
        matches!(waiting.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Ready(Err(error)) if error.kind() == ErrorKind::Stopped)
    );
}

struct Woken(AtomicU64);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn unreadable_lock_blocks_writes_only_temporarily() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    sim.fs.inject(InjectedFault::next(FsCall::Examine, "halite/LOCK", std::io::ErrorKind::Other));
    let region = region(&engine);
    // The first write begins a segment.
    let put = || region.apply(vec![RowOp::Put(Put::new("row").add("f", "q", "v"))]).ticket.wait();
    assert_eq!(put().unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(engine.health().state, StoreState::Refusing);
    sim.clock.advance_ms(1000);
    put().unwrap();
    assert_eq!(engine.health().state, StoreState::Open);
}

#[test]
fn quarantined_files_are_kept_until_clean_close() {
    let sim = SimEnv::new(1);
    let first = engine(&sim, &[]);
    put(&first, "row", "value");
    first.flush(&name()).unwrap();
    first.close().unwrap();
    let (path, bytes) = store_file(&sim);
    let digits = path.rsplit_once('/').unwrap().1;
    let unnamed = path.replace(digits, &digits.chars().rev().collect::<String>());
    sim.fs.add(&unnamed, bytes).unwrap();
    let is_aside = || sim.fs.files().keys().any(|path| path.starts_with("halite/quarantine/"));
    for _ in 0..2 {
        let opened = Engine::open(sim.env(), Options::default()).unwrap();
        while opened.run_one_job().unwrap() {}
        assert!(is_aside() && sim.fs.read(&unnamed).is_err());
        // The process ends without a clean shutdown.
        sim.fs.kill();
    }
    Engine::open(sim.env(), Options::default()).unwrap().close().unwrap();
    assert!(is_aside());
    let opened = Engine::open(sim.env(), Options::default()).unwrap();
    while opened.run_one_job().unwrap() {}
    assert!(!is_aside());
}

#[test]
fn nonce_lives_as_long_as_its_cell() {
    let sim = SimEnv::new(1);
    let first = engine(&sim, &[]);
    first.close().unwrap();
    // Only the flush makes anything durable.
    let open = || {
        let mut options = Options::default();
        options.wal_sync = WalSync::Flush;
        Engine::open(sim.env(), options).unwrap()
    };
    let second = open();
    let nonce = Nonce { group: 7, number: 9 };
    let applied = region(&second)
        .apply_with_nonce(Increment::new("row").add("f", "n", 1).into(), Some(nonce));
    applied.ticket.wait().unwrap();
    second.flush(&name()).unwrap();
    sim.fs.drop_unsynced();
    let third = open();
    let row = third.table(&name()).unwrap().get(&Get::new("row"), ReadTier::Disk).unwrap();
    assert_eq!((row.len(), third.take_replayed_nonces()), (1, vec![nonce]));
}

#[test]
fn concurrent_conditions_on_one_row_are_serialized() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    put(&engine, "row", "0");
    let successes = AtomicU64::new(0);
    // Long enough that they meet however late each begins.
    let begin = Barrier::new(4);
    let swap = || {
        begin.wait();
        for _ in 0..5000 {
            let table = engine.table(&name()).unwrap();
            let row = table.get(&Get::new("row"), ReadTier::Disk).unwrap();
            let old = String::from_utf8(row.cell(b"f", b"q").unwrap().value().to_vec()).unwrap();
            let new = (old.parse::<u64>().unwrap() + 1).to_string();
            let op: RowOp =
                CheckAndMutate::if_equals("row", "f", "q", old, Put::new("row").add("f", "q", new))
                    .into();
            let result = table.batch(vec![op]).unwrap().pop().unwrap().unwrap();
            successes.fetch_add(u64::from(result.processed), Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(swap);
        }
    });
    let row = engine.table(&name()).unwrap().get(&Get::new("row"), ReadTier::Disk).unwrap();
    assert_eq!(
        row.cell(b"f", b"q").unwrap().value(),
        successes.into_inner().to_string().as_bytes()
    );
}

#[test]
fn cell_is_visible_until_last_millisecond_of_its_ttl() {
    let sim = SimEnv::new(1);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    engine
        .create_table(
            TableDescriptor::new(name()).family(FamilyDescriptor::new("f").ttl_seconds(1)),
            Vec::new(),
        )
        .unwrap();
    let now = sim.clock.now_ms();
    for (row, age) in [("last", 1000), ("over", 1001)] {
        apply(&engine, Put::new(row).add_at("f", "q", now - age, "value").into());
    }
    let cells = |row: &'static str| {
        engine.table(&name()).unwrap().get(&Get::new(row), ReadTier::Disk).unwrap().len()
    };
    assert_eq!((cells("last"), cells("over")), (1, 0));
    engine.flush(&name()).unwrap();
    assert_eq!((cells("last"), cells("over")), (1, 0));
}
