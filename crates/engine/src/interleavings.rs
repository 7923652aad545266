//! Loom models of a writer, readers and the log. Loom runs each in every interleaving that Rust's
//! memory model allows. `cargo xtask loom` builds and runs them; no other test runs in that build.

use std::sync::Arc;

use halite_types::CellRef;
use halite_types::cell::{CellType, make_key};
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use crate::commit::Mvcc;
use crate::memstore::MemTable;
use crate::wal::turns::model::Log;

/// Maximum preemptions per execution. Every race of two threads over two insertions needs fewer.
const MAX_PREEMPTIONS: usize = 3;

fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(MAX_PREEMPTIONS);
    builder.check(model);
}

fn key(row: &str) -> Vec<u8> {
    make_key(row.as_bytes(), b"f", b"q", 1, CellType::Put.code())
}

/// Inserts a cell whose value repeats its row, so that reading a partially written cell is
/// detected.
fn insert(table: &MemTable, row: &str, sequence: u64) {
    table.insert(CellRef::new(&key(row), row.as_bytes(), b"", sequence));
}

/// Returns the sequence ids of the cells that a reader iterates over. Checks that each cell is
/// whole and that the cells are in key order.
fn walk(table: &MemTable) -> Vec<u64> {
    let (mut cursor, mut rows, mut sequences) = (table.cursor(), Vec::new(), Vec::new());
    cursor.seek_to_first();
    while let Some(cell) = cursor.peek() {
        assert_eq!(cell.value(), cell.row(), "a cell is visible before it is whole");
        rows.push(cell.row().to_vec());
        sequences.push(cell.sequence_id());
        cursor.next();
    }
    assert!(rows.is_sorted(), "cells are out of order: {rows:?}");
    sequences
}

/// Runs `write` concurrently with a reader and checks that the reader finds at least the cells
/// announced before it began.
fn explore_with_reader(write: fn(&MemTable, &dyn Fn(usize))) {
    explore(move || {
        let (table, announced) = (Arc::new(MemTable::new(4096)), Arc::new(AtomicUsize::new(0)));
        let reader = {
            let (table, announced) = (Arc::clone(&table), Arc::clone(&announced));
            thread::spawn(move || {
                let before = announced.load(Ordering::Acquire);
                let seen = walk(&table);
                assert!(
                    (1..=before as u64).all(|sequence| seen.contains(&sequence)),
                    "{before} announced, seen {seen:?}"
                );
            })
        };
        write(&table, &|count| announced.store(count, Ordering::Release));
        reader.join().unwrap();
    });
}

#[test]
fn reader_sees_whole_ordered_cells_during_single_insertions() {
    explore_with_reader(|table, announce| {
        insert(table, "b", 1);
        announce(1);
        insert(table, "a", 2);
        announce(2);
    });
}

#[test]
fn reader_sees_whole_ordered_cells_during_group_insertion() {
    explore_with_reader(|table, announce| {
        let keys = [key("a"), key("c")];
        let cells = [CellRef::new(&keys[0], b"a", b"", 1), CellRef::new(&keys[1], b"c", b"", 2)];
        table.writer().insert_all(cells.into_iter());
        announce(2);
    });
}

#[test]
fn search_finds_announced_cell_with_any_visible_tower() {
    explore(|| {
        let (table, announced) = (Arc::new(MemTable::new(4096)), Arc::new(AtomicUsize::new(0)));
        insert(&table, "m", 1);
        let reader = {
            let (table, announced) = (Arc::clone(&table), Arc::clone(&announced));
            thread::spawn(move || {
                let before = announced.load(Ordering::Acquire);
                let mut cursor = table.cursor();
                cursor.seek(&key("c"));
                let found = cursor.peek().map(|cell| cell.row().to_vec());
                let expected: &[&[u8]] = if before == 0 { &[b"c", b"m"] } else { &[b"c"] };
                assert!(
                    expected.iter().any(|row| Some(*row) == found.as_deref()),
                    "{before} announced, found {found:?}"
                );
            })
        };
        insert(&table, "c", 2);
        announced.store(1, Ordering::Release);
        reader.join().unwrap();
    });
}

/// The log may complete before or after the memstore has the last cell. At any read point, all
/// cells up to it are found.
#[test]
fn reader_finds_every_cell_up_to_read_point() {
    explore(|| {
        let (table, mvcc) = (Arc::new(MemTable::new(4096)), Arc::new(Mvcc::new(0)));
        let log = {
            let mvcc = Arc::clone(&mvcc);
            thread::spawn(move || mvcc.advance(2))
        };
        let reader = {
            let (table, mvcc) = (Arc::clone(&table), Arc::clone(&mvcc));
            thread::spawn(move || {
                let read_point = mvcc.read_point();
                let seen = walk(&table);
                assert!(
                    (1..=read_point).all(|sequence| seen.contains(&sequence)),
                    "read point {read_point}, seen {seen:?}"
                );
            })
        };
        for (row, sequence) in [("b", 1), ("a", 2)] {
            insert(&table, row, sequence);
            mvcc.apply(sequence);
        }
        log.join().unwrap();
        reader.join().unwrap();
        assert_eq!(mvcc.read_point(), 2);
    });
}

/// No caller sleeps forever, returns before its record is written, or writes beside another one.
#[test]
fn callers_of_the_log_take_turns() {
    explore(|| {
        let log = Arc::new(Log::default());
        let others: Vec<_> = [true, false]
            .map(|fsync| {
                let log = Arc::clone(&log);
                thread::spawn(move || log.append(fsync))
            })
            .into();
        log.append(true);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}
