//! `halite copy` between stores and a server, including resumption after an interruption.

use std::path::Path;
use std::process::{Command, Output};

use halite::{Delete, FamilyDescriptor, Increment, Put, Row, Scan, Store, TableDescriptor};
use halite_patience::Program;
use rustix::process::Signal;

use crate::program::{await_that, ended, output};
use crate::serve::TestServer;

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = crate::program::halite();
    command.arg("copy").args(arguments).current_dir(folder);
    command
}

fn copy(folder: &Path, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = output(&mut command(folder, arguments));
    let (stdout, errors) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(status.success(), "{stdout}{errors}");
    stdout
}

fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = output(&mut command(folder, arguments));
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

/// A store with versions, counters, all kinds of delete markers, a wide row and a value with a time
/// to live.
fn create_store(folder: &Path) {
    let store = halite::open(folder).unwrap();
    let families = [FamilyDescriptor::new("f").versions(3), FamilyDescriptor::new("g")];
    let table = families
        .into_iter()
        .fold(TableDescriptor::new("t".parse().unwrap()), TableDescriptor::family);
    store.create_table(table, &[b"h", b"q \xff\""]).unwrap();
    let table = store.table("t").unwrap();
    for row in ["a", "h", "m", "z"] {
        for version in 1..=4_i64 {
            table
                .put(Put::new(row).add_at("f", "q", version, version.to_string()).add_at(
                    "g",
                    "",
                    version,
                    [0xff, 0],
                ))
                .unwrap();
        }
        table.increment(Increment::new(row).add("f", "n", 7)).unwrap();
    }
    table.delete(Delete::new("a").column_up_to("f", "q", 2)).unwrap();
    table.delete(Delete::new("h").family_up_to("f", 3)).unwrap();
    table.delete(Delete::new("m").version("f", "q", 4).family_version("g", 4)).unwrap();
    let wide = (0..2500)
        .fold(Put::new("w"), |put, column| put.add_at("f", format!("{column:05}"), 1, "v"));
    table.put(wide).unwrap();
    table
        .put(Put::new("x").ttl_ms(3_600_000).add_at(
            "f",
            "q",
            i64::MAX / 1_000_000,
            "kept for an hour",
        ))
        .unwrap();
    store.close().unwrap();
}

/// Returns all cells of a table in a store, including delete markers.
fn raw(store: &Store, table: &str) -> Vec<Row> {
    store
        .table(table)
        .unwrap()
        .scan(Scan::all().raw(true).all_versions())
        .collect::<halite::Result<_>>()
        .unwrap()
}

fn keys_and_values(rows: &[Row]) -> Vec<(Vec<u8>, Vec<u8>)> {
    rows.iter()
        .flat_map(Row::iter)
        .map(|cell| (cell.key().to_vec(), cell.value().to_vec()))
        .collect()
}

#[test]
fn copy_round_trip_preserves_versions_and_delete_markers() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    create_store(&folder.join("one"));
    let served = TestServer::start(&["--ephemeral"]);
    let uri = format!("zk://{}", served.address("zookeeper"));
    let there = copy(folder, &["one", "t", &uri, "--new-name", "copied"]);
    let shown = |stdout: &str| {
        stdout
            .lines()
            .find(|line| line.starts_with("both sides show 6 rows"))
            .unwrap_or_else(|| panic!("{stdout}"))
            .to_owned()
    };
    let back = copy(folder, &[&uri, "copied", "two", "--new-name", "t", "--threads", "1"]);
    assert_eq!(shown(&there), shown(&back));
    let (one, two) =
        (halite::open(folder.join("one")).unwrap(), halite::open(folder.join("two")).unwrap());
    assert_eq!(keys_and_values(&raw(&one, "t")), keys_and_values(&raw(&two, "t")));
    let starts = |store: &Store| {
        store
            .table("t")
            .unwrap()
            .regions()
            .unwrap()
            .into_iter()
            .map(|region| region.start)
            .collect::<Vec<_>>()
    };
    assert_eq!(starts(&one), starts(&two));
    assert_eq!(
        two.table("t")
            .unwrap()
            .descriptor()
            .unwrap()
            .find_family("f".as_bytes())
            .unwrap()
            .max_versions(),
        3
    );
    drop((one, two));
    // Within one store the copy has everything, times to live too.
    copy(folder, &["one", "t", "one", "--new-name", "u"]);
    let one = halite::open(folder.join("one")).unwrap();
    assert_eq!(raw(&one, "t").len(), raw(&one, "u").len());
    assert!(raw(&one, "u").iter().flat_map(Row::iter).any(|cell| cell.ttl_ms() == Some(3_600_000)));
    assert!(
        std::fs::read_dir(folder).unwrap().all(|entry| !entry
            .unwrap()
            .file_name()
            .to_string_lossy()
            .ends_with(".state"))
    );
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn rejected_copy_states_reason_and_fix() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    create_store(&folder.join("one"));
    assert!(refused(folder, &["one", "t", "one"]).contains("--new-name"));
    assert!(refused(folder, &["oen", "t", "two"]).contains("there is no store oen"));
    assert!(refused(folder, &["one", "none", "two"]).contains("none at one"));
    let store = halite::open(folder.join("two")).unwrap();
    store
        .create_table(
            TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f")),
            &[],
        )
        .unwrap();
    let old = TableDescriptor::new("old".parse().unwrap())
        .family(FamilyDescriptor::new("f").versions(3))
        .family(FamilyDescriptor::new("g"));
    store.create_table(old, &[]).unwrap();
    store.table("old").unwrap().put(Put::new("b").add("f", "q", "left over")).unwrap();
    store.close().unwrap();
    assert!(refused(folder, &["one", "t", "two"]).contains("has no family g"));
    let differ = refused(folder, &["one", "t", "two", "--new-name", "old"]);
    assert!(differ.contains("row 'b' is in the copy and not in the source"), "{differ}");
}

#[test]
fn interrupted_copy_resumes_at_last_position() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let store = halite::open(folder.join("one")).unwrap();
    store
        .create_table(
            TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f")),
            &[b"3", b"6"],
        )
        .unwrap();
    let table = store.table("t").unwrap();
    for batch in 0..30 {
        let puts = (0..1000).map(|row| {
            Put::new(format!("{:06}", (batch * 1000 + row) * 32))
                .add("f", "q", vec![7; 1000])
                .into()
        });
        table.batch(puts.collect()).unwrap().into_iter().for_each(|result| drop(result.unwrap()));
    }
    drop(table);
    store.close().unwrap();
    let mut copying =
        Program::start(&mut command(folder, &["one", "t", "two", "--threads", "1"])).unwrap();
    let notes = folder.join("halite-copy-t.state");
    let arrived = || std::fs::read_to_string(&notes).is_ok_and(|notes| notes.contains("arrived"));
    await_that("rows have arrived", || arrived() || copying.child().try_wait().unwrap().is_some());
    copying.child().kill().unwrap();
    let output = ended(copying);
    assert!(notes.exists(), "it ended before it could be killed: {output:?}");
    let stdout = copy(folder, &["one", "t", "two"]);
    assert!(stdout.contains("went on where an earlier run stopped"), "{stdout}");
    assert!(stdout.contains("both sides show 30,000 rows, 30,000 cells"), "{stdout}");
    let copied: u64 = stdout
        .split("copied ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .unwrap()
        .replace(',', "")
        .parse()
        .unwrap();
    assert!(copied < 30_000, "{stdout}");
}
