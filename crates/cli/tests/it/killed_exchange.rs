//! Exports and imports whose process is killed at some moment, and which are called again.

use std::path::Path;
use std::time::Duration;

use halite::{FamilyDescriptor, Put, Scan, TableDescriptor};
use halite_patience::Program;

use crate::program::{ended, halite, output};

const TABLE: &str = "t";
const ROWS: u32 = 160;
/// Kills of either, at times that cover the whole run on a slow machine and on a fast one.
const KILLS: u32 = 8;

/// Creates a store with a table of 5 regions and some 10 MB.
fn fill(store: &Path) {
    let opened = halite::open(store).unwrap();
    let table = TableDescriptor::new(TABLE.parse().unwrap()).family(FamilyDescriptor::new("f"));
    let splits = ["0040", "0080", "0120", "0150"].map(str::as_bytes);
    opened.create_table(table, &splits).unwrap();
    let table = opened.table(TABLE).unwrap();
    for row in 0..ROWS {
        let value = vec![row.to_be_bytes()[3]; 64 << 10];
        table.put(Put::new(format!("{row:04}")).add("f", "q", value)).unwrap();
    }
    opened.close().unwrap();
}

/// Returns the table's rows and what their values begin with.
fn cells(store: &Path) -> Vec<String> {
    let store = halite::open(store).unwrap();
    let rows = store.table(TABLE).unwrap().scan(Scan::all());
    let cells = rows
        .map(|row| {
            let row = row.unwrap();
            let cell = row.iter().next().unwrap();
            let key = String::from_utf8_lossy(row.key()).into_owned();
            format!("{key} {} {:?}", cell.value().len(), cell.value().first())
        })
        .collect();
    store.close().unwrap();
    cells
}

/// Starts a command and kills it after a time; returns `true` if it had not ended.
fn kill_after(folder: &Path, arguments: &[&str], time: Duration) -> bool {
    let mut program = Program::start(halite().args(arguments).current_dir(folder)).unwrap();
    std::thread::sleep(time);
    // The test needs a kill, not a clean shutdown. A kill has no effect on a process that has
    // exited.
    program.child().kill().unwrap();
    ended(program).status.code().is_none()
}

fn run(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = output(halite().args(arguments).current_dir(folder));
    let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    if output.status.success() { Ok(printed) } else { Err(printed) }
}

/// Calls `arguments` with kills in between, each after a longer time.
fn call_with_kills(folder: &Path, arguments: &[&str]) {
    let kills = (0..KILLS)
        .take_while(|kill| kill_after(folder, arguments, Duration::from_millis(2 << kill)))
        .count();
    assert!(kills > 0, "{arguments:?}");
}

#[test]
fn killed_export_goes_on_and_leaves_the_table_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fill(&folder.join("store"));
    let expected = cells(&folder.join("store"));
    let export = ["export", "--hbase-snapshot", TABLE, "--to", "out", "--data", "store", "--copy"];
    call_with_kills(folder, &export);
    match run(folder, &export) {
        Ok(printed) => assert!(printed.contains("5 regions"), "{printed}"),
        // The kill came after the last step.
        Err(printed) => assert!(printed.contains("snapshot t exists already"), "{printed}"),
    }
    assert_eq!(cells(&folder.join("store")), expected);
    let snapshots = halite::open(folder.join("store")).unwrap().engine().snapshots();
    assert_eq!(snapshots, [], "those of killed exports are deleted by the next");
    run(folder, &["import", "out", "--snapshot", TABLE, TABLE, "--data", "other"]).unwrap();
    assert_eq!(cells(&folder.join("other")), expected);
}

#[test]
fn killed_import_goes_on_and_leaves_the_source_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fill(&folder.join("store"));
    let expected = cells(&folder.join("store"));
    let export = ["export", "--hbase-snapshot", TABLE, "--to", "out", "--data", "store", "--copy"];
    run(folder, &export).unwrap();
    let import =
        ["import", "out", "--snapshot", TABLE, TABLE, "--data", "other", "--skip-existing"];
    call_with_kills(folder, &import);
    run(folder, &import).unwrap();
    assert_eq!(cells(&folder.join("other")), expected);
    // What is exported is whole, and can be imported into another store.
    run(folder, &["import", "out", "--snapshot", TABLE, TABLE, "--data", "third"]).unwrap();
    assert_eq!(cells(&folder.join("third")), expected);
}
