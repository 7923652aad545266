//! Concurrent threads: rows are read whole, a thread reads its own writes, memory is freed for all
//! waiting writers, and no call waits indefinitely.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use halite::{
    BlockingTable, Builder, CompactionKind, ErrorKind, FamilyDescriptor, Get, Increment, Put, Scan,
    Store, StoreState, TableDescriptor, TableName,
};
use halite_engine::env::Env;
use halite_engine::env::sim::{FsCall, InjectedFault, SimEnv};

use crate::{small, store};

fn name() -> TableName {
    "t".parse().unwrap()
}

/// Returns the result of `work`; panics if it takes longer than 30 seconds.
fn with_timeout<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, answer) = mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    answer
        .recv_timeout(Duration::from_secs(30))
        .expect("the thread waits indefinitely or has panicked")
}

#[test]
fn row_larger_than_log_buffer_is_atomic() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    let written = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let columns = 0..40_000;
            let put = columns
                .fold(Put::new("r"), |put, i| put.add("f", format!("{i:05}"), "v".repeat(420)));
            table.put(put).unwrap();
            written.store(true, Ordering::Release);
        });
        loop {
            let last_look = written.load(Ordering::Acquire);
            let row = table.get(Get::new("r").column("f", "00000").column("f", "39999")).unwrap();
            assert_ne!(row.len(), 1, "half a row");
            if last_look {
                assert_eq!(row.len(), 2);
                break;
            }
        }
    });
}

#[test]
fn writer_resumes_after_failed_flush_of_other_region() {
    let directory = tempfile::tempdir().unwrap();
    let sim = SimEnv::new(1);
    let mut options = small();
    options.memstore_flush_bytes = 64 << 20;
    options.global_memstore_bytes = 1 << 20;
    let env = Env { threads: Env::os(directory.path()).unwrap().threads, ..sim.env() };
    let store = Builder::new().options(options).open_with_env(env).unwrap();
    store
        .create_table(TableDescriptor::new(name()).family(FamilyDescriptor::new("f")), &[b"m"])
        .unwrap();
    let table = store.table("t").unwrap();
    sim.fs.inject(InjectedFault::next(FsCall::Create, ".tmp", std::io::ErrorKind::StorageFull));
    let large =
        (0..2000).fold(Put::new("a"), |put, i| put.add("f", i.to_string(), "v".repeat(1000)));
    table.put(large).unwrap();
    let failed = store.clone();
    with_timeout(move || {
        while failed.engine().flush_failure().is_none() {
            std::thread::yield_now();
        }
    });
    with_timeout(move || {
        while let Err(error) = table.put(Put::new("z").add("f", "q", "v")) {
            assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        }
    });
    drop(store);
}

#[test]
fn stalled_writes_are_logged_by_background_thread_after_space() {
    let directory = tempfile::tempdir().unwrap();
    let sim = SimEnv::new(1);
    let mut options = small();
    options.disk_reserve_bytes = Some(0);
    let env = Env { threads: Env::os(directory.path()).unwrap().threads, ..sim.env() };
    let store = Builder::new().options(options).open_with_env(env).unwrap();
    store
        .create_table(TableDescriptor::new(name()).family(FamilyDescriptor::new("f")), &[])
        .unwrap();
    let table = store.table("t").unwrap();
    sim.fs.set_capacity(Some(sim.fs.used_bytes() + 5000));
    let mut rows = 0;
    let error = loop {
        // As tasks do, which leave the log to its thread.
        let put = Put::new(format!("k{rows:04}")).add("f", "q", vec![0; 300]);
        match halite::block_on(store.cluster().table(&name()).batch(vec![put.into()]))
            .and_then(|mut results| results.remove(0))
        {
            Ok(_) => rows += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert_eq!(
        (store.health().state, table.scan(Scan::all()).count()),
        (StoreState::Refusing, rows)
    );
    sim.fs.set_capacity(None);
    let stalled = store.clone();
    with_timeout(move || {
        while stalled.health().state != StoreState::Open {
            std::thread::yield_now();
        }
    });
    assert_eq!(table.scan(Scan::all()).count(), rows + 1);
    drop(table);
    store.close().unwrap();
}

#[test]
fn task_completes_without_threads() {
    let store = store(&SimEnv::new(1));
    let answer = with_timeout(move || {
        halite::block_on(
            store.cluster().table(&name()).batch(vec![Put::new("r").add("f", "q", "v").into()]),
        )
    });
    assert!(answer.unwrap()[0].is_ok());
}

const WRITERS: usize = 3;
const ROUNDS: usize = 150;

/// Writes the thread's own rows, its own counter and a shared one, and reads each back immediately.
fn write(table: &BlockingTable, writer: usize) {
    for i in 0..ROUNDS {
        let (row, value) = (format!("row{writer}{:02}", i % 20), format!("{i:04}").repeat(40));
        table.put(Put::new(row.clone()).add("f", "a", &value).add("g", "b", &value)).unwrap();
        let read = table.get(Get::new(row)).unwrap();
        assert_eq!(
            read.value("g", "b"),
            Some(value.as_bytes()),
            "writer {writer} does not see its own write"
        );
        for counter in [format!("counter{writer}"), "counter-of-all".to_owned()] {
            table.increment(Increment::new(counter).add("f", "n", 1)).unwrap();
        }
    }
}

/// Forward and backward: rows whole, in order, and none missing that was there from the start.
fn read(table: &BlockingTable, done: &AtomicBool) {
    while !done.load(Ordering::Acquire) {
        for reverse in [false, true] {
            let mut keys: Vec<Vec<u8>> = Vec::new();
            for row in table.scan(Scan::all().reverse(reverse)) {
                let row = row.unwrap();
                if row.key().starts_with(b"row") {
                    assert_eq!(row.value("f", "a"), row.value("g", "b"), "half a row");
                }
                keys.push(row.key().to_vec());
            }
            if reverse {
                keys.reverse();
            }
            assert!(keys.is_sorted_by(|a, b| a < b), "rows out of order or twice");
            assert_eq!(
                keys.iter().filter(|key| key.starts_with(b"fixed")).count(),
                100,
                "reverse {reverse}"
            );
        }
    }
}

/// Flushes, compacts, splits and merges at random.
fn maintain(store: &Store, seed: u64, done: &AtomicBool) {
    let mut chance = seed;
    while !done.load(Ordering::Acquire) {
        chance =
            chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let regions = store.table("t").unwrap().regions().unwrap();
        let region = &regions[usize::try_from(chance >> 33).unwrap() % regions.len()];
        let result = match (chance >> 60) % 4 {
            0 => store.flush(name()),
            1 => store.compact(
                name(),
                None,
                if chance & 1 << 40 == 0 { CompactionKind::Minor } else { CompactionKind::Major },
            ),
            2 if regions.len() < 6 => store.engine().split_region(&region.encoded_name, None),
            _ if regions.len() > 1 => store.engine().merge_regions(
                &regions[0].encoded_name,
                &regions[1].encoded_name,
                false,
            ),
            _ => Ok(()),
        };
        if let Err(error) = result {
            // The region was split or merged concurrently, or is too small to split.
            assert!(
                matches!(error.kind(), ErrorKind::NoSuchRegion | ErrorKind::InvalidRequest),
                "seed {seed}: {error}"
            );
        }
    }
}

#[test]
fn writers_readers_and_maintenance_run_concurrently_and_after_reopen() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = small();
    options.memstore_flush_bytes = 64 << 10;
    options.max_region_file_bytes = 256 << 10;
    for seed in 1..=3u64 {
        println!("seed {seed}");
        let store = Builder::new().options(options.clone()).open(directory.path()).unwrap();
        if seed == 1 {
            let table = TableDescriptor::new(name())
                .family(FamilyDescriptor::new("f"))
                .family(FamilyDescriptor::new("g"));
            store.create_table(table, &[b"fixed50"]).unwrap();
            let table = store.table("t").unwrap();
            (0..100).for_each(|i| {
                table.put(Put::new(format!("fixed{i:02}")).add("f", "q", "v")).unwrap();
            });
        }
        let table = store.table("t").unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    scope.spawn({
                        let table = &table;
                        move || write(table, writer)
                    })
                })
                .collect();
            scope.spawn(|| read(&table, &done));
            scope.spawn(|| maintain(&store, seed, &done));
            let ended: Vec<_> =
                writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            done.store(true, Ordering::Release);
            ended.into_iter().for_each(|ended| ended.unwrap());
        });
        let rounds = i64::try_from(seed * ROUNDS as u64).unwrap();
        let count = |row: String| {
            i64::from_be_bytes(
                table.get(Get::new(row)).unwrap().value("f", "n").unwrap().try_into().unwrap(),
            )
        };
        (0..WRITERS).for_each(|writer| {
            assert_eq!(count(format!("counter{writer}")), rounds, "seed {seed}");
        });
        assert_eq!(count("counter-of-all".to_owned()), rounds * 3, "seed {seed}");
        drop(table);
        // Once closed, otherwise dropped.
        if seed == 2 { store.close().unwrap() } else { drop(store) }
    }
}

#[test]
fn in_memory_compaction_runs_beside_writers_and_readers() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = small();
    options.memstore_flush_bytes = 1 << 30;
    let store = Builder::new().options(options.clone()).open(directory.path()).unwrap();
    store
        .create_table(
            TableDescriptor::new(name())
                .family(FamilyDescriptor::new("f"))
                .family(FamilyDescriptor::new("g")),
            &[],
        )
        .unwrap();
    let table = store.table("t").unwrap();
    (0..100).for_each(|i| table.put(Put::new(format!("fixed{i:02}")).add("f", "q", "v")).unwrap());
    let done = AtomicBool::new(false);
    let mut rounds = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| read(&table, &done));
        // Repeats until in-memory compaction has run many times, however slow its thread is
        // compared with the others.
        while store.engine().status().regions[0].in_memory_compactions < 200 && rounds < 2000 {
            rounds += 1;
            let table = &table;
            std::thread::scope(|scope| {
                (0..WRITERS).for_each(|writer| drop(scope.spawn(move || write(table, writer))));
            });
        }
        done.store(true, Ordering::Release);
    });
    assert!(rounds < 2000, "no memstore is compacted");
    let writes = i64::from(rounds) * i64::try_from(ROUNDS).unwrap();
    let check = |table: &BlockingTable| {
        let count = |row: String| {
            i64::from_be_bytes(
                table.get(Get::new(row)).unwrap().value("f", "n").unwrap().try_into().unwrap(),
            )
        };
        (0..WRITERS).for_each(|writer| assert_eq!(count(format!("counter{writer}")), writes));
        assert_eq!(count("counter-of-all".to_owned()), writes * 3);
    };
    check(&table);
    // The log contains all cells in memory.
    drop((table, store));
    check(&Builder::new().options(options).open(directory.path()).unwrap().table("t").unwrap());
}
