//! Nonces of operations outlive the log: flushes, deletion of a segment, closing, crashes.

use std::collections::BTreeSet;
use std::sync::Arc;

use halite::{Builder, FamilyDescriptor, Increment, Options, Store, TableDescriptor, TableName};
use halite_engine::Nonce;
use halite_engine::env::sim::{FsCall, InjectedFault, SimEnv};

use crate::small;

fn name() -> TableName {
    "t".parse().unwrap()
}

fn options() -> Options {
    let mut options = small();
    options.wal_segment_bytes = 4096;
    options.nonce_grace_period_ms = 60_000;
    options
}

fn open(sim: &SimEnv) -> halite::Result<Store> {
    let store = Builder::new().options(options()).open_with_env(sim.env())?;
    if !store.table_exists(name()).unwrap() {
        store.create_table(TableDescriptor::new(name()).family(FamilyDescriptor::new("f")), &[])?;
    }
    Ok(store)
}

fn increment(store: &Store, number: u64) -> halite::Result<()> {
    let region = Arc::clone(&store.engine().table(&name())?.regions()[0]);
    let op = Increment::new("row").add("f", "n", 1);
    let mut applied = region.apply_with_nonce(op.into(), Some(Nonce { group: 7, number }));
    applied.results.remove(0)?;
    applied.ticket.wait()
}

fn known_nonces(store: &Store) -> Vec<u64> {
    store.engine().take_replayed_nonces().into_iter().map(|nonce| nonce.number).collect()
}

fn files(sim: &SimEnv) -> Vec<String> {
    sim.fs.files().into_keys().filter(|path| path.starts_with("halite/wal/")).collect()
}

#[test]
fn nonces_survive_flush_and_clean_close_until_expiry() {
    let sim = SimEnv::new(1);
    let store = open(&sim).unwrap();
    (1..=3).for_each(|number| increment(&store, number).unwrap());
    store.close().unwrap();
    assert_eq!(files(&sim), ["halite/wal/0000000000000001.nonces"]);
    sim.fs.drop_unsynced();
    sim.clock.advance_ms(50_000);
    let store = open(&sim).unwrap();
    assert_eq!(known_nonces(&store), [3, 2, 1], "newest first");
    assert_eq!(known_nonces(&store), [0_u64; 0], "once");
    (4..=5).for_each(|number| increment(&store, number).unwrap());
    store.flush(name()).unwrap();
    store.close().unwrap();
    sim.clock.advance_ms(20_000);
    assert_eq!(
        known_nonces(&open(&sim).unwrap()),
        [5, 4],
        "those of the first segment are too old"
    );
    assert_eq!(files(&sim), ["halite/wal/0000000000000002.nonces"]);
    sim.fs.kill();
    sim.clock.advance_ms(50_000);
    assert_eq!(known_nonces(&open(&sim).unwrap()), [0_u64; 0]);
    assert_eq!(files(&sim), [""; 0]);
}

#[test]
fn store_without_nonces_has_no_nonce_file() {
    let sim = SimEnv::new(1);
    let store = open(&sim).unwrap();
    let table = store.table("t").unwrap();
    (0..100).for_each(|row| {
        table.put(halite::Put::new(format!("k{row}")).add("f", "q", vec![0; 200])).unwrap();
    });
    store.flush(name()).unwrap();
    drop(table);
    store.close().unwrap();
    assert_eq!(files(&sim), [""; 0]);
}

#[test]
fn segment_is_retained_until_its_nonces_are_stored() {
    let sim = SimEnv::new(1);
    let store = open(&sim).unwrap();
    (1..=3).for_each(|number| increment(&store, number).unwrap());
    sim.fs.inject(
        InjectedFault::next(FsCall::Create, ".nonces", std::io::ErrorKind::StorageFull).forever(),
    );
    assert!(store.close().is_err());
    sim.fs.kill();
    sim.fs.clear_faults();
    assert_eq!(known_nonces(&open(&sim).unwrap()), [3, 2, 1]);
}

#[test]
fn damaged_nonces_are_rejected() {
    let sim = SimEnv::new(1);
    let store = open(&sim).unwrap();
    increment(&store, 1).unwrap();
    store.close().unwrap();
    let file = files(&sim).remove(0);
    sim.fs.corrupt(&file, 20, 1).unwrap();
    let error = open(&sim).err().unwrap();
    assert!(
        error.kind() == halite::ErrorKind::Corrupt && error.message().contains(&file),
        "{error}"
    );
}

#[test]
fn acknowledged_nonces_survive_crash_at_any_call() {
    let calls = {
        let sim = SimEnv::new(1);
        workload_until(&sim, u64::MAX, &mut BTreeSet::new()).unwrap();
        sim.fs.calls()
    };
    assert!(calls > 300, "{calls}");
    for at in 0..calls {
        let sim = SimEnv::new(1);
        let mut acknowledged = BTreeSet::new();
        // The crash causes the failures.
        let _ = workload_until(&sim, at, &mut acknowledged);
        match at % 3 {
            0 => sim.fs.kill(),
            1 => sim.fs.drop_unsynced(),
            _ => sim.fs.crash(at),
        }
        let store = open(&sim).unwrap_or_else(|error| panic!("call {at}: {error}"));
        let known: BTreeSet<u64> = known_nonces(&store).into_iter().collect();
        assert!(
            known.is_superset(&acknowledged),
            "call {at}: nonces {:?} are unknown",
            acknowledged.difference(&known)
        );
        let row = store.table("t").unwrap().get(halite::Get::new("row")).unwrap();
        let count =
            row.value("f", "n").map_or(0, |value| u64::from_be_bytes(value.try_into().unwrap()));
        assert_eq!(
            count,
            known.len() as u64,
            "call {at}: exactly the nonces of applied increments are known"
        );
    }
}

/// Increments under nonces with flushes, closings and openings between them, until the process dies
/// at a call.
fn workload_until(sim: &SimEnv, at: u64, acknowledged: &mut BTreeSet<u64>) -> halite::Result<()> {
    for round in 0..3 {
        // A kill ends a planned crash, so it is planned again for each process.
        sim.fs.crash_at_call(at);
        let store = open(sim)?;
        for number in round * 40 + 1..=round * 40 + 40 {
            increment(&store, number)?;
            acknowledged.insert(number);
            if number % 15 == 0 {
                store.flush(name())?;
            }
        }
        if round == 1 {
            drop(store);
        } else {
            store.close()?;
        }
        if sim.fs.is_gone() {
            return Ok(());
        }
        sim.fs.kill();
    }
    Ok(())
}
