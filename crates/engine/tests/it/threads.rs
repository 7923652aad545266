//! Writers, readers and maintenance on real threads and a real disk, all at once.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use halite_engine::env::Env;
use halite_engine::{Engine, Options, WalSync};
use halite_types::{
    Bytes, CompactionKind, ErrorKind, FamilyDescriptor, Get, Increment, Put, ReadTier, RowOp, Scan,
    TableDescriptor,
};

use crate::support::{apply, name};

const WRITERS: usize = 3;
const ROUNDS: u64 = 300;

fn open(path: &Path, wal_sync: WalSync) -> Arc<Engine> {
    let mut options = Options::default();
    (options.memstore_flush_bytes, options.memstore_chunk_bytes, options.wal_segment_bytes) =
        (64 << 10, 4096, 32 << 10);
    (options.in_memory_compaction_bytes, options.block_cache_bytes) = (16 << 10, 64 << 10);
    options.wal_sync = wal_sync;
    Engine::open(Env::os(path).unwrap(), options).unwrap()
}

/// Writes both families of a row under one number, and counts the round in a row of all writers.
fn write(engine: &Engine, writer: usize) {
    for round in 0..ROUNDS {
        let (row, value) =
            (format!("row-{:02}", (round * 7 + writer as u64) % 40), format!("{writer}-{round}"));
        let put = |row: &str| {
            RowOp::Put(Put::new(row.to_owned()).add("f", "q", &value).add("g", "q", &value).add(
                "f",
                "fill",
                [b'x'; 100],
            ))
        };
        let own = format!("own-{writer}-{round:04}");
        let results = engine.table(&name()).unwrap().batch(vec![put(&row), put(&own)]).unwrap();
        assert!(results.iter().all(Result::is_ok));
        apply(engine, RowOp::Increment(Increment::new("count").add("f", "n", 1)));
        let row = engine.table(&name()).unwrap().get(&Get::new(own), ReadTier::Disk).unwrap();
        assert_eq!(row.value("f", "q"), Some(value.as_bytes()), "a writer reads its own write");
    }
}

/// Reads whole rows until the writers have ended: both families of a row always have the same
/// value.
fn read(engine: &Engine, ended: &AtomicBool) {
    let mut count = 0;
    while !ended.load(Ordering::Acquire) {
        let mut scanner = engine.table(&name()).unwrap().scan(Scan::all(), ReadTier::Disk);
        loop {
            let rows = scanner.next_rows().unwrap();
            if rows.is_empty() {
                break;
            }
            for row in rows.iter().filter(|row| row.key() != b"count") {
                assert_eq!(
                    row.value("f", "q"),
                    row.value("g", "q"),
                    "a reader sees half of a write"
                );
            }
        }
        let row = engine.table(&name()).unwrap().get(&Get::new("count"), ReadTier::Disk).unwrap();
        let now =
            row.value("f", "n").map_or(0, |value| i64::from_be_bytes(value.try_into().unwrap()));
        assert!(now >= count, "a counter went back from {count} to {now}");
        count = now;
    }
}

/// Flushes, compacts and splits concurrently with the writers.
fn maintain(engine: &Engine, ended: &AtomicBool) {
    let mut rows = ["own-1", "row-20"].into_iter();
    while !ended.load(Ordering::Acquire) {
        for done in [engine.flush(&name()), engine.compact(&name(), None, CompactionKind::Major)] {
            // A region that was split concurrently has successors.
            assert!(
                done.as_ref().is_ok()
                    || done.is_err_and(|error| error.kind() == ErrorKind::NoSuchRegion)
            );
        }
        if let Some(row) = rows.next() {
            let region = engine.table(&name()).unwrap().region_for_row(row.as_bytes()).unwrap();
            engine.split_region(&region.info().encoded_name, Some(Bytes::from(row))).unwrap();
        }
    }
}

fn everything_at_once(wal_sync: WalSync) {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(directory.path(), wal_sync);
    let table = TableDescriptor::new(name())
        .family(FamilyDescriptor::new("f"))
        .family(FamilyDescriptor::new("g"));
    engine.create_table(table, Vec::new()).unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| read(&engine, &ended));
        scope.spawn(|| maintain(&engine, &ended));
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn({
                    let engine = &engine;
                    move || write(engine, writer)
                })
            })
            .collect();
        // The other threads end even if a writer panics, so that the test fails instead of waiting.
        let results: Vec<_> =
            writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        ended.store(true, Ordering::Release);
        results.into_iter().for_each(|result| result.unwrap());
    });
    check(&engine);
    engine.close().unwrap();
    let engine = open(directory.path(), wal_sync);
    check(&engine);
    engine.close().unwrap();
}

/// Every acknowledged write is present, and every increment is applied once.
fn check(engine: &Engine) {
    let table = engine.table(&name()).unwrap();
    let row = table.get(&Get::new("count"), ReadTier::Disk).unwrap();
    assert_eq!(row.value("f", "n"), Some(&(WRITERS as u64 * ROUNDS).to_be_bytes()[..]));
    let mut scanner = table.scan(Scan::all(), ReadTier::Disk);
    let batches =
        std::iter::from_fn(|| Some(scanner.next_rows().unwrap()).filter(|rows| !rows.is_empty()));
    let own = batches.flatten().filter(|row| row.key().starts_with(b"own-")).count();
    assert_eq!(own as u64, WRITERS as u64 * ROUNDS);
}

#[test]
fn writers_readers_and_maintenance_agree_with_syncs() {
    everything_at_once(WalSync::Fsync);
}

#[test]
fn writers_readers_and_maintenance_agree_without_syncs() {
    everything_at_once(WalSync::Flush);
}

#[test]
fn table_whose_descriptor_is_known_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), WalSync::Flush);
    let splits: Vec<Bytes> = (0_u8..30).map(|split| Bytes::from(vec![split + 1])).collect();
    for round in 0..20 {
        let created = format!("t{round}").parse().unwrap();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                while engine.descriptor(&created).is_err() {
                    std::hint::spin_loop();
                }
                engine.table(&created).map(|table| table.regions().len())
            });
            let table = TableDescriptor::new(created.clone()).family(FamilyDescriptor::new("f"));
            engine.create_table(table, splits.clone()).unwrap();
            assert_eq!(reader.join().unwrap().unwrap(), splits.len() + 1);
        });
    }
}
