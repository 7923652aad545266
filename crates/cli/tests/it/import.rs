//! `halite import` of a root directory that HBase 2.6.4 wrote: tables, a clone with links, a split
//! table with references, and snapshots of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use halite::Scan;

use crate::program::{halite, output};

/// Copies the sample into a directory, for a test that changes it.
fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn sample(folder: &Path) -> PathBuf {
    let root = folder.join("root");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/hbase-root");
    copy_tree(Path::new(path), &root);
    root
}

/// Returns all files of a directory with their contents.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

/// Runs the command and returns whether it succeeded, and everything it printed.
fn import(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let mut command = halite();
    command.args(["import", "root", "--data", "store"]).args(arguments).current_dir(folder);
    let output = output(&mut command);
    let printed = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(printed).unwrap())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// Returns all cells of a table, with versions and markers, as in the lists of the sample.
fn raw_cells(folder: &Path, table: &str) -> Vec<String> {
    let store = halite::open(folder.join("store")).unwrap();
    let rows = store.table(table).unwrap().scan(Scan::all().raw(true).all_versions());
    let mut cells = Vec::new();
    for row in rows {
        for cell in row.unwrap().cells() {
            let (family, qualifier) = (hex(cell.family()), hex(cell.qualifier()));
            let (row, value) = (hex(cell.row()), hex(cell.value()));
            let (time, kind) = (cell.timestamp(), cell.type_code());
            cells.push(format!("{row}\t{family}\t{qualifier}\t{time}\t{kind}\t{value}"));
        }
    }
    store.close().unwrap();
    cells
}

/// Returns the cells that a raw scan of HBase returned.
fn listed(folder: &Path, list: &str) -> Vec<String> {
    let text = fs::read_to_string(folder.join("root").join(list)).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn imported_tables_have_the_cells_of_hbase() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let before = contents(&sample(folder));
    let (ok, printed) = import(folder, &["--dry-run"]);
    assert!(ok && printed.contains("table hf_sp: families f; 2 regions"), "{printed}");
    assert!(!folder.join("store").exists());
    let (ok, printed) = import(folder, &[]);
    assert!(ok, "{printed}");
    for (table, list) in [
        ("hf_a", "hf_snap1.raw.tsv"),
        ("hf_clone", "hf_snap_links.raw.tsv"),
        ("hf_sp", "hf_snap_refs.raw.tsv"),
    ] {
        assert_eq!(raw_cells(folder, table), listed(folder, list), "{table}");
    }
    assert_eq!(contents(&folder.join("root")), before);
    let (ok, printed) = import(folder, &["hf_a"]);
    assert!(!ok && printed.contains("table hf_a exists already"), "{printed}");
}

#[test]
fn imported_snapshots_have_the_cells_of_hbase() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sample(folder);
    for snapshot in ["hf_snap1", "hf_snap_links", "hf_snap_refs"] {
        let table = format!("new:{snapshot}");
        let (ok, printed) = import(folder, &["--snapshot", snapshot, &table]);
        assert!(ok, "{printed}");
        let list = listed(folder, &format!("{snapshot}.raw.tsv"));
        assert_eq!(raw_cells(folder, &table), list, "{snapshot}");
    }
    let (ok, printed) = import(folder, &["--snapshot", "../data"]);
    assert!(!ok && printed.contains("snapshot name"), "{printed}");
}

#[test]
fn bare_files_are_loaded_into_new_and_existing_tables() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let root = sample(folder);
    let region = root.join("data/default/hf_a/f1398270e8056b2c10668848e20f759b");
    fs::rename(region, folder.join("bare")).unwrap();
    fs::remove_dir_all(&root).unwrap();
    fs::remove_dir_all(folder.join("bare/recovered.edits")).unwrap();
    fs::rename(folder.join("bare"), &root).unwrap();
    let before = contents(&root);
    let mut cells = Vec::new();
    for expected in ["1 files linked", "1 copied"] {
        let (ok, printed) = import(folder, &["--hfiles", "t"]);
        assert!(ok && printed.contains(expected), "{printed}");
        cells.push(raw_cells(folder, "t"));
    }
    // Loading the files again adds equal cells only.
    cells[1].dedup();
    assert!(!cells[0].is_empty() && cells[1] == cells[0]);
    assert_eq!(contents(&root), before);
}

#[test]
fn crashed_or_damaged_directory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let root = sample(folder);
    let refused = |path: &str, bytes: &[u8], message: &str| {
        let path = root.join(path);
        let old = fs::read(&path).ok();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        let (ok, printed) = import(folder, &[]);
        assert!(!ok && printed.contains(message), "{printed}");
        assert!(printed.contains(path.parent().unwrap().to_str().unwrap()), "{printed}");
        match old {
            Some(old) => fs::write(&path, old).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
    };
    let cleanly = "start and stop HBase cleanly, or import a snapshot";
    refused("WALs/s,1,2/s.3", b"PWAL\x02\x08\x00entry", cleanly);
    let edits = "data/default/hf_a/91040b6b7fec03ab55bb4cdab9afc5d9/recovered.edits";
    refused(&format!("{edits}/0000000000000000012"), b"PWAL", cleanly);
    let region = "data/default/hf_sp/727ff881236755e282cf668d2763e616";
    let half =
        format!("{region}/f/b8d8eff8cdb243e2845cc6a95f83fef4.3d733c4f291b8fd11a80602986174d12");
    refused(&half, b"PBUF\x0a\x02\xff\xff\x10\x00", "the reference has no row");
    refused(&half, b"PBUF\x0a\xff\xff\xff\xff\x0f", "");
    refused(&format!("{region}/f/t=..-ab"), b"", "not the name of a store file");
    refused(&format!("{region}/f/abcd.ef"), b"PBUF\x0a\x03\x00\x01a\x10\x00", "neither in data");
    refused(&format!("{region}/.regioninfo"), b"PBUF\x7f", "regioninfo");
    refused("data/default/hf_a/.tabledesc/.tableinfo.0000000002", b"", "PBUF");
    // A log without an entry was closed by a server that had flushed everything.
    fs::write(root.join("WALs/s,1,2/s.3"), b"PWAL\x02\x08\x00\0\0\0\0LAWP").unwrap();
    let (ok, printed) = import(folder, &["hf_a"]);
    assert!(ok, "{printed}");
    fs::create_dir(root.join("halite")).unwrap();
    let (ok, printed) = import(folder, &[]);
    assert!(!ok && printed.contains("is a store of Halite"), "{printed}");
}
