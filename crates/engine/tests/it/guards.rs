//! What stands between an accident and a loss: the lock, the quarantine, nonces beside flushed cells, conditions of many
//! threads, the last millisecond of a cell.

use std::sync::atomic::{AtomicU64, Ordering};

use halite_engine::env::Clock as _;
use halite_engine::env::sim::SimEnv;
use halite_engine::{Engine, Nonce, Options, WalSync};
use halite_types::{CheckAndMutate, ErrorKind, FamilyDescriptor, Get, Increment, Put, RowOp, TableDescriptor, Tier};

use crate::support::{apply, engine, name, put, region, store_file};

#[test]
fn a_process_that_has_lost_its_lock_changes_nothing() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    put(&engine, "row", "value");
    let before = sim.fs.read("halite/MANIFEST").unwrap();
    sim.fs.lose_lock();
    assert_eq!(engine.flush(&name()).unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(sim.fs.read("halite/MANIFEST").unwrap(), before);
}

#[test]
fn what_is_set_aside_stays_until_a_clean_end() {
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
        while opened.step().unwrap() {}
        assert!(is_aside() && sim.fs.read(&unnamed).is_err());
        // The process ends, and it is not a clean end.
        sim.fs.kill();
    }
    Engine::open(sim.env(), Options::default()).unwrap().close().unwrap();
    assert!(is_aside());
    let opened = Engine::open(sim.env(), Options::default()).unwrap();
    while opened.step().unwrap() {}
    assert!(!is_aside());
}

#[test]
fn a_nonce_is_kept_as_long_as_the_cell_that_was_written_under_it() {
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
    let applied = region(&second).apply_once(Increment::new("row").add("f", "n", 1).into(), Some(nonce));
    applied.ticket.wait().unwrap();
    second.flush(&name()).unwrap();
    sim.fs.lose_unsynced();
    let third = open();
    let row = third.table(&name()).unwrap().get(&Get::new("row"), Tier::Disk).unwrap();
    assert_eq!((row.len(), third.take_replayed_nonces()), (1, vec![nonce]));
}

#[test]
fn conditions_of_many_threads_hold_one_at_a_time() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    put(&engine, "row", "0");
    let successes = AtomicU64::new(0);
    let swap = || {
        for _ in 0..500 {
            let table = engine.table(&name()).unwrap();
            let row = table.get(&Get::new("row"), Tier::Disk).unwrap();
            let old = String::from_utf8(row.cell(b"f", b"q").unwrap().value().to_vec()).unwrap();
            let new = (old.parse::<u64>().unwrap() + 1).to_string();
            let op: RowOp = CheckAndMutate::if_equals("row", "f", "q", old, Put::new("row").add("f", "q", new)).into();
            let result = table.apply(vec![op]).unwrap().pop().unwrap().unwrap();
            successes.fetch_add(u64::from(result.processed), Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(swap);
        }
    });
    let row = engine.table(&name()).unwrap().get(&Get::new("row"), Tier::Disk).unwrap();
    assert_eq!(row.cell(b"f", b"q").unwrap().value(), successes.into_inner().to_string().as_bytes());
}

#[test]
fn a_cell_is_there_through_the_last_millisecond_of_its_time() {
    let sim = SimEnv::new(1);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    engine.create_table(TableDescriptor::new(name()).family(FamilyDescriptor::new("f").ttl_seconds(1)), Vec::new()).unwrap();
    let now = sim.clock.now_ms();
    for (row, age) in [("last", 1000), ("over", 1001)] {
        apply(&engine, Put::new(row).add_at("f", "q", now - age, "value").into());
    }
    let cells = |row: &'static str| engine.table(&name()).unwrap().get(&Get::new(row), Tier::Disk).unwrap().len();
    assert_eq!((cells("last"), cells("over")), (1, 0));
    engine.flush(&name()).unwrap();
    assert_eq!((cells("last"), cells("over")), (1, 0));
}
