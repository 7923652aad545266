//! `halite export` of tables with references and links, read again by `halite import`.

use std::fs;
use std::path::Path;

use halite::schema::table_attribute;
use halite::{Delete, FamilyDescriptor, Put, Scan, TableDescriptor};

use crate::program::{halite, output};

const TABLE: &str = "space:t";

/// Creates a store with a table of two regions, which share store files after a split; newer cells
/// are only in memory until the store is closed.
fn fill(store: &Path) {
    let store = halite::open(store).unwrap();
    store.create_namespace("space", halite::Attributes::new()).unwrap();
    let family = FamilyDescriptor::new("f").versions(3);
    let table = TableDescriptor::new(TABLE.parse().unwrap()).family(family);
    let table = table.set(table_attribute::COMPACTION_ENABLED, "false");
    store.create_table(table, &[]).unwrap();
    let table = store.table(TABLE).unwrap();
    let put = |row: &str, at: i64, value: &str| {
        table.put(Put::new(row.to_owned()).add_at("f", "q", at, value)).unwrap();
    };
    ["a", "b", "n", "o"].into_iter().for_each(|row| put(row, 1, "first"));
    store.flush(TABLE).unwrap();
    let region = table.regions().unwrap().remove(0);
    store.engine().split_region(&region.encoded_name, Some("m".into())).unwrap();
    put("b", 2, "second");
    table.delete(Delete::new("n").column_up_to("f", "q", 1)).unwrap();
    store.close().unwrap();
}

/// Returns all cells of the table, with versions and markers.
fn raw_cells(store: &Path, table: &str) -> Vec<String> {
    let store = halite::open(store).unwrap();
    let mut cells = Vec::new();
    for row in store.table(table).unwrap().scan(Scan::all().raw(true).all_versions()) {
        let row = row.unwrap();
        cells.extend(row.cells().iter().map(|cell| {
            let (key, value) = (cell.key().to_vec(), cell.value().to_vec());
            format!("{} {}", halite::to_string_binary(&key), halite::to_string_binary(&value))
        }));
    }
    store.close().unwrap();
    cells
}

fn run(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let output = output(halite().args(arguments).current_dir(folder));
    let printed = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(printed).unwrap())
}

fn export(folder: &Path, more: &[&str]) -> (bool, String) {
    let arguments = ["export", "--hbase-snapshot", TABLE, "--to", "out", "--data", "store"];
    run(folder, &[&arguments[..], more].concat())
}

#[test]
fn exported_snapshot_has_the_cells_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fill(&folder.join("store"));
    let cells = raw_cells(&folder.join("store"), TABLE);
    assert_eq!(cells.len(), 6);
    let (ok, printed) = export(folder, &["--dry-run"]);
    assert!(ok && printed.contains("space-t in out: 2 regions; 3 files"), "{printed}");
    assert!(!folder.join("out").exists());
    let (ok, printed) = export(folder, &[]);
    assert!(ok && printed.contains("2 regions, 3 files"), "{printed}");
    let (ok, printed) = export(folder, &["--name", "again"]);
    assert!(ok && printed.contains("3 were there"), "{printed}");
    let (ok, printed) = export(folder, &["--name", "own", "--copy"]);
    assert!(ok && printed.contains("3 files"), "links are replaced by copies: {printed}");
    let (ok, printed) = export(folder, &[]);
    assert!(!ok && printed.contains("snapshot space-t exists already"), "{printed}");
    fs::remove_dir_all(folder.join("out")).unwrap();
    let (ok, printed) = export(folder, &["--copy", "--name", "copied"]);
    assert!(
        ok && printed.contains("3 files") && printed.contains("0 files (0 bytes) linked"),
        "{printed}"
    );
    for name in ["one", "two"] {
        let import = ["import", "out", "--snapshot", "copied", name, "--data", "other"];
        let (ok, printed) = run(folder, &import);
        assert!(ok, "{printed}");
        assert_eq!(raw_cells(&folder.join("other"), name), cells);
    }
    // The table that was imported has files with other names, links and references.
    let again = ["export", "--hbase-snapshot", "one", "--to", "more", "--data", "other"];
    let (ok, printed) = run(folder, &again);
    assert!(ok, "{printed}");
    let (ok, printed) = run(folder, &["import", "more", "--snapshot", "one", "--data", "third"]);
    assert!(ok, "{printed}");
    assert_eq!(raw_cells(&folder.join("third"), "one"), cells);
    let snapshots = halite::open(folder.join("store")).unwrap().engine().snapshots();
    assert_eq!(snapshots, [], "those of exports are deleted");
}

#[test]
fn file_that_was_there_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fill(&folder.join("store"));
    let (ok, printed) = export(folder, &["--copy", "--name", "one"]);
    assert!(ok, "{printed}");
    let mut paths = vec![folder.join("out/archive")];
    while let Some(directory) = paths.pop_if(|path| path.is_dir()) {
        paths.extend(fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()));
    }
    let file = paths.pop().unwrap();
    let mut bytes = fs::read(&file).unwrap();
    bytes[40] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let (ok, printed) = export(folder, &["--name", "two"]);
    let expected = format!("{}: the file that is there", file.file_name().unwrap().display());
    assert!(!ok && printed.contains(&expected), "{printed}");
    assert!(!folder.join("out/.hbase-snapshot/two").exists());
    let (ok, printed) = export(folder, &["--name", "two", "--no-verify"]);
    assert!(ok && printed.contains("3 were there"), "{printed}");
}

#[test]
fn only_snapshots_of_exports_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fill(&folder.join("store"));
    {
        let store = halite::open(folder.join("store")).unwrap();
        let of = |name: &str| halite::SnapshotDescriptor::new(name, TABLE.parse().unwrap());
        store.engine().create_snapshot(&of("halite-export-mine")).unwrap();
        let killed = halite::SnapshotDescriptor {
            owner: "halite export".to_owned(),
            ..of("halite-export-killed")
        };
        store.engine().create_snapshot(&killed).unwrap();
        store.close().unwrap();
    }
    let (ok, printed) = export(folder, &["--name", "mine"]);
    assert!(ok, "{printed}");
    let left = halite::open(folder.join("store")).unwrap().engine().snapshots();
    let left: Vec<_> = left.iter().map(|snapshot| snapshot.name.as_str()).collect();
    assert_eq!(left, ["halite-export-mine"]);
}

#[test]
fn damaged_file_is_not_exported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fill(&folder.join("store"));
    let table = folder.join("store/data/space/t");
    let mut directories = vec![table];
    let mut files = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.parent().unwrap().ends_with("f") {
                files.push(path);
            }
        }
    }
    for file in &files {
        let mut bytes = fs::read(file).unwrap();
        // In the first data block, behind its header.
        if bytes.len() > 60 {
            bytes[50] ^= 1;
            fs::write(file, bytes).unwrap();
        }
    }
    let (ok, printed) = export(folder, &[]);
    assert!(!ok && printed.contains("--no-verify exports the file as it is"), "{printed}");
    assert!(!folder.join("out/.hbase-snapshot").exists());
    let (ok, printed) = export(folder, &["--no-verify"]);
    assert!(ok, "{printed}");
}

#[test]
fn failed_export_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fill(&folder.join("store"));
    let (ok, printed) = export(folder, &[]);
    assert!(ok, "{printed}");
    fs::remove_dir_all(folder.join("out/.hbase-snapshot")).unwrap();
    let table = folder.join("out/archive/data/space/t");
    let regions: Vec<_> = fs::read_dir(&table).unwrap().map(|it| it.unwrap().path()).collect();
    let mut last = regions.into_iter().max().unwrap().join("f");
    last = fs::read_dir(last).unwrap().map(|it| it.unwrap().path()).max().unwrap();
    fs::remove_dir_all(folder.join("out")).unwrap();
    fs::create_dir_all(last.parent().unwrap()).unwrap();
    fs::write(&last, "other").unwrap();
    let (ok, printed) = export(folder, &[]);
    assert!(!ok && printed.contains("another file is where a store file"), "{printed}");
    assert!(!folder.join("out/.hbase-snapshot").exists());
    let left: Vec<_> = fs::read_dir(&table).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(left, [last.parent().unwrap().parent().unwrap()]);
    let (ok, printed) =
        run(folder, &["export", "--hbase-snapshot", TABLE, "--to", "store", "--data", "store"]);
    assert!(!ok && printed.contains("store of Halite"), "{printed}");
}

#[test]
fn snapshot_that_hbase_creates_refuses_the_dry_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fill(&folder.join("store"));
    let temporary = folder.join("out/.hbase-snapshot/.tmp/space-t");
    fs::create_dir_all(&temporary).unwrap();
    for more in [&["--dry-run"][..], &[]] {
        let (ok, printed) = export(folder, more);
        assert!(!ok && printed.contains("HBase is creating a snapshot"), "{more:?}: {printed}");
    }
    // The mark of an export that was killed.
    fs::write(temporary.join("halite.export"), "").unwrap();
    for more in [&["--dry-run"][..], &[]] {
        let (ok, printed) = export(folder, more);
        assert!(ok, "{more:?}: {printed}");
        assert_eq!(temporary.exists(), more.len() == 1);
    }
}

#[test]
fn export_into_a_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fill(&folder.join("store"));
    fs::create_dir_all(folder.join("store/archive")).unwrap();
    std::os::unix::fs::symlink(folder.join("store/archive"), folder.join("link")).unwrap();
    for to in ["store/archive", "store/staging/new", "link"] {
        for more in [&["--dry-run"][..], &[]] {
            let export = ["export", "--hbase-snapshot", TABLE, "--to", to, "--data", "store"];
            let (ok, printed) = run(folder, &[&export[..], more].concat());
            assert!(!ok && printed.contains("store of Halite"), "{to}: {printed}");
            assert!(printed.contains("give another directory"), "{to}: {printed}");
        }
        assert!(!folder.join(to).join(".hbase-snapshot").exists(), "{to}");
    }
}
