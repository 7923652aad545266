//! Directories of earlier releases open as they are. `testdata/directory_of_format_1` is one as a
//! kill of the process left it, with the zeros that follow the log's last record cut off.

use std::fs;
use std::path::Path;

use halite::{ErrorKind, Put, Scan, Store};
use halite_engine::env::Env;
use halite_engine::inspect::{Severity, check};

use crate::format_row;

/// Bytes that a segment of the log reserves.
const SEGMENT_BYTES: u64 = 4 << 20;

/// Returns a copy of the directory.
fn directory_of_format_1() -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let original =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join("directory_of_format_1");
    copy_directory(&original, copy.path());
    let segment = copy.path().join("halite/wal/0000000000000001.wal");
    fs::OpenOptions::new().write(true).open(segment).unwrap().set_len(SEGMENT_BYTES).unwrap();
    copy
}

fn copy_directory(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy_directory(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// Returns the rows of a table, each as its key and cells.
fn rows(store: &Store, table: &str) -> Vec<String> {
    let rows = store.table(table).unwrap().scan(Scan::all());
    rows.map(|row| {
        let row = row.unwrap();
        // The counter and the append have the time of their writing.
        let cells = format_row(&row).join(" ");
        format!("{} {cells}", halite::to_string_binary(row.key()))
    })
    .collect()
}

fn assert_contents(store: &Store) {
    let users = rows(store, "users");
    assert_eq!(users.len(), 3, "{users:?}");
    assert!(users[0].starts_with("ada info:name@2000=Ada Lovelace info:visits@"), "{users:?}");
    assert!(users[0].ends_with("=\0\0\0\0\0\0\0*"), "{users:?}");
    assert_eq!(users[1], "bob info:name@1500=Bob log:seen@1000=yes");
    assert!(users[2].starts_with("kim info:name@") && users[2].ends_with("=Kim Lee"), "{users:?}");
    let copy = rows(store, "old:copy");
    assert_eq!(copy.len(), 4, "{copy:?}");
    assert!(copy[0].ends_with("=\0\0\0\0\0\0\0)"), "{copy:?}");
    assert_eq!(copy[2..], ["new info:name@1000=New", "zoe info:name@1000=Zoe"]);
    assert_eq!(store.table("users").unwrap().regions().unwrap().len(), 3);
    let readings = store.table("readings").unwrap().descriptor().unwrap();
    assert!(readings.attributes.keys().any(|key| key.contains("ROW_KEY")), "{readings:?}");
    let disabled = store.table("empty").err().unwrap();
    assert_eq!(disabled.kind(), ErrorKind::TableDisabled);
}

#[test]
fn older_directory_opens_with_all_its_data() {
    let directory = directory_of_format_1();
    let store = halite::open(directory.path()).unwrap();
    let report = store.open_report();
    assert_eq!((report.replayed_writes, report.created), (5, false), "{report:?}");
    assert_eq!(report.quarantine, None, "{report:?}");
    assert_contents(&store);
    assert_eq!(store.list_snapshots().unwrap()[0].name, "before");
    store.table("readings").unwrap().put(Put::new("\0s2\0x").add("d", "t", "21")).unwrap();
    store.close().unwrap();
    let store = halite::open(directory.path()).unwrap();
    assert_contents(&store);
    assert_eq!(rows(&store, "readings").len(), 2);
    store.disable_table("users").unwrap();
    store.restore_snapshot("before").unwrap();
    store.enable_table("users").unwrap();
    assert_eq!(rows(&store, "users").last().unwrap(), "zoe info:name@1000=Zoe");
}

#[test]
fn older_directory_passes_the_check() {
    let directory = directory_of_format_1();
    let report = check(&Env::os(directory.path()).unwrap()).unwrap();
    let errors: Vec<_> =
        report.findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:?}");
}
