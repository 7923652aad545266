//! Timestamps assigned by the clock: a write after a delete of its row in the same millisecond is
//! not hidden by it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use halite_engine::env::sim::SimEnv;
use halite_engine::env::{Clock, Env};
use halite_engine::{Engine, Options};
use halite_types::{
    Append, Bytes, CheckAndMutate, CompareOp, Condition, Delete, FamilyDescriptor, Get, Increment,
    Put, ReadTier, RowOp, TableDescriptor,
};

use crate::support::{apply, name};

/// Clock that advances only when a thread waits for it, and counts the waits.
#[derive(Default)]
struct WaitingClock {
    now_ms: AtomicI64,
    waits: AtomicU64,
}

impl Clock for WaitingClock {
    fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    fn monotonic_ns(&self) -> u64 {
        0
    }

    fn wait_until_after(&self, ms: i64) -> bool {
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.now_ms.store(ms + 1, Ordering::Relaxed);
        true
    }
}

struct World {
    clock: Arc<WaitingClock>,
    engine: Arc<Engine>,
}

impl World {
    fn new() -> Self {
        let clock =
            Arc::new(WaitingClock { now_ms: AtomicI64::new(1000), ..WaitingClock::default() });
        let engine = Engine::open(
            Env { clock: Arc::clone(&clock) as _, ..SimEnv::new(1).env() },
            Options::default(),
        )
        .unwrap();
        let families = TableDescriptor::new(name()).family(FamilyDescriptor::new("f").versions(5));
        engine.create_table(families, Vec::new()).unwrap();
        Self { clock, engine }
    }

    fn apply(&self, op: impl Into<RowOp>) {
        apply(&self.engine, op.into());
    }

    /// Returns the values of a row with their timestamps.
    fn row(&self, row: &'static str) -> Vec<String> {
        let row = self.engine.table(&name()).unwrap().get(&Get::new(row), ReadTier::Disk).unwrap();
        row.iter()
            .map(|cell| format!("{}@{}", String::from_utf8_lossy(cell.value()), cell.timestamp()))
            .collect()
    }

    fn waits(&self) -> u64 {
        self.clock.waits.load(Ordering::Relaxed)
    }
}

fn put(row: &'static str, value: &'static str) -> Put {
    Put::new(row).add("f", "q", value)
}

#[test]
fn put_after_row_delete_has_later_timestamp() {
    for delete in [
        Delete::new("r"),
        Delete::new("r").family("f"),
        Delete::new("r").column("f", "q"),
        Delete::new("r").newest("f", "q"),
    ] {
        let world = World::new();
        world.apply(put("r", "old"));
        world.apply(delete);
        assert_eq!((world.row("r"), world.waits()), (vec![], 0));
        world.apply(put("s", "other row"));
        assert_eq!(world.waits(), 0);
        world.apply(put("r", "new"));
        assert_eq!((world.row("r"), world.waits()), (vec!["new@1001".into()], 1));
        // The next ones are in a millisecond without deletes, and a delete that follows a put hides
        // it.
        world.apply(put("r", "newer"));
        assert_eq!((world.row("r"), world.waits()), (vec!["newer@1001".into()], 1));
        world.apply(Delete::new("r"));
        assert_eq!(world.row("r"), [""; 0]);
    }
}

#[test]
fn writes_with_explicit_timestamps_do_not_wait() {
    let world = World::new();
    world.apply(Delete::new("r").column_up_to("f", "q", 990));
    world.apply(put("r", "after an older delete"));
    world.apply(Delete::new("r"));
    world.apply(Put::new("r").add_at("f", "q", 2000, "in the future"));
    world.apply(Put::new("r").add_at("f", "q", 900, "hidden"));
    assert_eq!((world.row("r"), world.waits()), (vec!["in the future@2000".into()], 0));
}

#[test]
fn operations_of_one_batch_are_applied_in_order() {
    let world = World::new();
    let table = world.engine.table(&name()).unwrap();
    let batch: Vec<RowOp> = vec![
        put("a", "1").into(),
        Delete::new("a").into(),
        put("b", "1").into(),
        put("a", "2").into(),
        Delete::new("b").into(),
        put("c", "1").into(),
        Delete::new("a").into(),
        put("a", "3").into(),
    ];
    assert!(table.batch(batch).unwrap().iter().all(Result::is_ok));
    assert_eq!(
        (world.row("a"), world.row("b"), world.row("c"), world.waits()),
        (vec!["3@1002".into()], vec![], vec!["1@1001".into()], 2)
    );
}

#[test]
fn increments_appends_and_checked_puts_follow_deletes_too() {
    let world = World::new();
    for round in 1..=3 {
        world.apply(Delete::new("r"));
        match round {
            1 => world.apply(Increment::new("r").add("f", "q", 1)),
            2 => world.apply(Append::new("r").add("f", "q", "a")),
            _ => world.apply(CheckAndMutate::if_not_exists("r", "f", "q", put("r", "checked"))),
        }
        assert_eq!((world.row("r").len(), world.waits()), (1, round));
    }
    // And puts follow a delete that was made on a condition.
    world.apply(CheckAndMutate::if_equals("r", "f", "q", "checked", Delete::new("r")));
    assert_eq!(world.row("r"), [""; 0]);
    world.apply(put("r", "new"));
    assert_eq!(world.row("r"), ["new@1004"]);
}

#[test]
fn timestamps_never_exceed_system_clock() {
    let directory = tempfile::tempdir().unwrap();
    let env = Env::os(directory.path()).unwrap();
    let clock = Arc::clone(&env.clock);
    let engine = Engine::open(env, Options::default()).unwrap();
    engine
        .create_table(TableDescriptor::new(name()).family(FamilyDescriptor::new("f")), Vec::new())
        .unwrap();
    let table = engine.table(&name()).unwrap();
    for _ in 0..50 {
        apply(&engine, Delete::new("r").into());
        apply(&engine, put("r", "v").into());
        let row = table.get(&Get::new("r"), ReadTier::Disk).unwrap();
        assert!(
            row.cells().first().is_some_and(|cell| cell.timestamp() <= clock.now_ms()),
            "{row:?}"
        );
    }
}

#[test]
fn value_at_max_timestamp_rejects_successor() {
    let world = World::new();
    let last = i64::MAX - 1;
    let increment_text = |op: RowOp| {
        let refused = world
            .engine
            .table(&name())
            .unwrap()
            .batch(vec![op])
            .unwrap()
            .pop()
            .unwrap()
            .unwrap_err();
        assert_eq!(refused.kind(), halite_types::ErrorKind::InvalidRequest);
        refused.message().to_owned()
    };
    world.apply(Put::new("n").add_at("f", "q", last - 1, 10_i64.to_be_bytes()));
    world.apply(Increment::new("n").add("f", "q", 1));
    for _ in 0..2 {
        let text = increment_text(Increment::new("n").add("f", "q", 1).into());
        assert!(
            text.contains("row n, column f:q")
                && text.contains(&last.to_string())
                && text.contains("delete that version"),
            "{text}"
        );
    }
    world.apply(Put::new("a").add_at("f", "q", last, "x"));
    increment_text(Append::new("a").add("f", "q", "y").into());
    assert_eq!(world.row("a"), [format!("x@{last}")]);
    // A rejected mutation has no effect; an increment without an older value succeeds.
    let equals = Condition::Column {
        family: "f".into(),
        qualifier: "q".into(),
        op: CompareOp::Equal,
        value: Some(Bytes::copy_from_slice(&11_i64.to_be_bytes())),
    };
    let counted = |row: &'static str| RowOp::from(Increment::new(row).add("f", "q", 1));
    increment_text(CheckAndMutate::new("n", equals, counted("n")).into());
    world.apply(Delete::new("n").version("f", "q", last));
    world.apply(Delete::new("n").version("f", "q", last - 1));
    world.apply(Increment::new("n").add("f", "q", 3));
    assert_eq!(world.row("n").len(), 1);
}

/// Found by killing servers: of two appends within a millisecond and a delete the second append
/// stayed.
#[test]
fn cells_ahead_of_clock_are_superseded_in_write_order() {
    let append = || Append::new("r").add("f", "q", "a");
    for delete in
        [Delete::new("r"), Delete::new("r").family("f"), Delete::new("r").column("f", "q")]
    {
        let world = World::new();
        (0..5).for_each(|_| world.apply(append()));
        assert_eq!((world.row("r"), world.waits()), (vec!["aaaaa@1004".into()], 0));
        world.apply(put("s", "other row"));
        world.apply(Delete::new("s"));
        assert_eq!(world.waits(), 0);
        world.apply(put("r", "seen"));
        assert_eq!((world.row("r"), world.waits()), (vec!["seen@1004".into()], 1));
        (0..3).for_each(|_| world.apply(append()));
        world.apply(delete.clone());
        assert_eq!((world.row("r"), world.waits()), (vec![], 2));
        world.apply(append());
        assert_eq!((world.row("r"), world.waits()), (vec!["a@1008".into()], 3));
        (0..3).for_each(|_| world.apply(append()));
        world.apply(CheckAndMutate::if_equals("r", "f", "q", "aaaa", delete.clone()));
        assert_eq!((world.row("r"), world.waits()), (vec![], 4));
        world.apply(CheckAndMutate::if_not_exists("r", "f", "q", put("r", "checked")));
        assert_eq!(world.row("r"), ["checked@1012"]);
        // In one batch, in its order.
        let table = world.engine.table(&name()).unwrap();
        let batch: Vec<RowOp> =
            vec![append().into(), append().into(), delete.into(), put("r", "1").into()];
        assert!(table.batch(batch).unwrap().iter().all(Result::is_ok));
        assert_eq!(world.row("r"), ["1@1015"]);
    }
}

/// The same holds for atomic changes of several rows: increments of two rows and later operations.
#[test]
fn atomic_operations_are_stamped_after_existing_cells() {
    let world = World::new();
    let region = world.engine.table(&name()).unwrap().region_for_row(b"").unwrap();
    let count = |row: &'static str| RowOp::from(Increment::new(row).add("f", "n", 1));
    let as_one = |ops: &[RowOp]| region.apply_atomically(ops, &[], None).unwrap().1.wait().unwrap();
    (0..3).for_each(|_| as_one(&[count("r"), count("s")]));
    world.apply(Delete::new("s"));
    assert_eq!((world.row("s"), world.waits()), (vec![], 1));
    as_one(&[RowOp::from(put("s", "new")), RowOp::from(Delete::new("r"))]);
    assert_eq!(
        (world.row("r"), world.row("s"), world.waits()),
        (vec![], vec!["new@1003".into()], 2)
    );
    world.apply(put("r", "after"));
    assert_eq!(world.row("r"), ["after@1004"]);
}

/// A thread that reads calls from a connection must not wait.
#[test]
fn nonblocking_write_is_returned_if_it_must_wait() {
    let world = World::new();
    let region = world.engine.table(&name()).unwrap().region_for_row(b"").unwrap();
    let count = RowOp::from(Increment::new("r").add("f", "n", 1));
    (0..3).for_each(|_| drop(region.try_apply_cached(&count, None).unwrap()));
    assert!(region.try_apply(vec![put("r", "v").into()]).is_ok());
    let of_column = Put::new("r").add("f", "n", 1_i64.to_be_bytes());
    assert_eq!(region.try_apply(vec![of_column.into()]).err().map(|ops| ops.len()), Some(1));
    assert!(region.try_apply(vec![put("s", "v").into()]).is_ok());
    world.apply(Delete::new("r"));
    assert_eq!(world.waits(), 1);
    assert!(region.try_apply_cached(&count, None).is_none());
    world.apply(count);
    assert_eq!((world.row("r").len(), world.waits()), (1, 2));
}

/// A thousand increments take less than a thousand milliseconds, and later operations must still
/// take effect.
#[test]
fn writes_after_burst_of_increments_take_effect() {
    let count = || RowOp::from(Increment::new("r").add("f", "q", 1));
    let append = || RowOp::from(Append::new("r").add("f", "q", "12345678"));
    let own = || RowOp::from(Put::new("r").add_at("f", "q", 1_000_000, 1_i64.to_be_bytes()));
    for (make, bytes) in [(&count as &dyn Fn() -> RowOp, 8), (&append, 8000)] {
        let world = World::new();
        (0..1000).for_each(|_| world.apply(make()));
        let table = world.engine.table(&name()).unwrap();
        let row = table.get(&Get::new("r").versions(5), ReadTier::Disk).unwrap();
        assert_eq!(
            row.iter().map(|cell| cell.timestamp()).collect::<Vec<_>>(),
            [1020, 1019, 1018, 1017, 1016]
        );
        assert_eq!((row.cells().first().unwrap().value().len(), world.waits()), (bytes, 0));
        world.apply(put("r", "after"));
        assert_eq!((world.row("r"), world.waits()), (vec!["after@1020".into()], 1));
        (0..1000).for_each(|_| world.apply(Append::new("r").add("f", "q", "a")));
        world.apply(Delete::new("r"));
        assert_eq!((world.row("r"), world.waits()), (vec![], 2));
        // A timestamp supplied by the caller does not depend on the clock.
        world.apply(own());
        (0..3).for_each(|_| world.apply(count()));
        let newest = table.get(&Get::new("r"), ReadTier::Disk).unwrap();
        assert_eq!(newest.cells().first().map(|cell| cell.timestamp()), Some(1_000_003));
    }
}

/// Increments of a counter do not slow down puts of other columns in the same row.
#[test]
fn put_of_other_column_does_not_wait_for_counter() {
    let world = World::new();
    for _ in 0..10 {
        world.apply(Increment::new("r").add("f", "n", 1));
        world.apply(put("r", "seen"));
        world.apply(Delete::new("r").column("f", "other"));
    }
    assert_eq!((world.row("r").len(), world.waits()), (2, 0));
    world.apply(Delete::new("r").column("f", "n"));
    assert_eq!((world.row("r").len(), world.waits()), (1, 1));
}

#[test]
fn cells_ahead_of_clock_are_known_after_split() {
    let world = World::new();
    (0..5).for_each(|_| world.apply(Append::new("r").add("f", "q", "a")));
    let region = world.engine.regions(&name()).unwrap()[0].encoded_name.clone();
    world.engine.split_region(&region, Some("k".into())).unwrap();
    world.apply(put("r", "after"));
    assert_eq!((world.row("r"), world.waits()), (vec!["after@1004".into()], 1));
}

/// A condition on one row does not affect the timestamps of another.
#[test]
fn condition_on_other_row_does_not_affect_timestamp() {
    let world = World::new();
    let region = world.engine.table(&name()).unwrap().region_for_row(b"").unwrap();
    (0..10).for_each(|_| world.apply(Append::new("x").add("f", "q", "a")));
    let check = CheckAndMutate::if_equals("x", "f", "q", "aaaaaaaaaa", put("x", "not applied"));
    let (held, ticket) = region.apply_atomically(&[put("y", "v1").into()], &[check], None).unwrap();
    ticket.wait().unwrap();
    assert_eq!((held, world.row("y")), (true, vec!["v1@1000".into()]));
    world.apply(put("y", "v2"));
    assert_eq!(world.row("y"), ["v2@1000"]);
}

/// Each would wait for a millisecond.
#[test]
fn nonblocking_deletes_followed_by_puts_are_returned() {
    let world = World::new();
    let region = world.engine.table(&name()).unwrap().region_for_row(b"").unwrap();
    let pairs = || {
        ["a", "b", "c"]
            .into_iter()
            .flat_map(|row| [RowOp::from(Delete::new(row)), RowOp::from(put(row, "v"))])
            .collect::<Vec<_>>()
    };
    assert_eq!((region.try_apply(pairs()).err().map(|ops| ops.len()), world.waits()), (Some(6), 0));
    assert!(region.try_apply(pairs().into_iter().step_by(2).collect()).is_ok());
}

#[test]
fn no_write_waits_for_value_far_ahead() {
    let world = World::new();
    world.apply(Put::new("r").add_at("f", "n", 1_000_000, 1_i64.to_be_bytes()));
    world.apply(Increment::new("r").add("f", "n", 1));
    world.apply(Delete::new("r"));
    assert_eq!((world.row("r").len(), world.waits()), (1, 0));
}
