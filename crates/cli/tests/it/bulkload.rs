//! `halite hfile write` and `halite bulkload`: from a CSV file to the rows of a store and of a
//! server, and `halite hfile cost` of the result.

use std::path::Path;

use rustix::process::Signal;

use crate::program::{halite, output, output_of};
use crate::serve::TestServer;

/// Runs a command in a directory: whether it succeeded, and its outputs.
fn run(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let output = output(halite().args(arguments).current_dir(folder));
    let (out, errors) = (output.stdout, output.stderr);
    (output.status.success(), String::from_utf8([out, errors].concat()).unwrap())
}

#[track_caller]
fn done(folder: &Path, arguments: &[&str]) -> String {
    let (is_done, text) = run(folder, arguments);
    assert!(is_done, "{arguments:?}: {text}");
    text
}

fn shell(place: &[&str], folder: &Path, lines: &str) -> String {
    let mut command = halite();
    command.arg("shell").args(place).arg("-n").current_dir(folder);
    let output = output_of(&mut command, lines);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Writes a CSV file with 1000 rows.
fn write_csv(folder: &Path) {
    let rows = (0..1000).map(|row| format!("row-{row:03},{row},on"));
    let lines: Vec<String> = std::iter::once("id,n,state".to_owned()).chain(rows).collect();
    std::fs::write(folder.join("in.csv"), lines.join("\n")).unwrap();
}

const WRITE: [&str; 11] = [
    "hfile",
    "write",
    "--table",
    "t",
    "--to",
    "out",
    "--csv",
    "in.csv",
    "--key",
    "id",
    "--family=f",
];

#[test]
fn csv_becomes_rows_of_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_csv(folder);
    shell(&["--data", "store"], folder, "create 't', 'f', SPLITS => ['row-5']\n");
    let data = ["--data", "store"];
    let text = done(folder, &[&WRITE[..], &data].concat());
    assert!(text.contains("1,000 rows, 2,000 cells in 2 files for 2 regions"), "{text}");
    assert!(text.contains("halite bulkload out t --data store"), "{text}");
    let text = done(folder, &["bulkload", "out", "t", "--dry-run", "--data", "store"]);
    assert!(text.contains("'row-5'") && text.contains("nothing was changed"), "{text}");
    let text = done(folder, &["bulkload", "out", "t", "--data", "store"]);
    assert!(text.starts_with("loaded 2 files with 2,000 cells"), "{text}");
    assert!(shell(&data, folder, "count 't'\n").contains("1000 row(s)"));
    let text = done(folder, &["hfile", "cost", "--table", "t", "--rounds", "1", "--data", "store"]);
    assert!(text.contains("family f: all 2,000 cells"), "{text}");
    assert!(text.contains("FAST_DIFF") && text.contains("certainty"), "{text}");
    let (is_done, text) = run(folder, &["bulkload", "out", "u", "--data", "store"]);
    assert!(!is_done && text.contains("table u"), "{text}");
}

/// Regression: both commands damaged the store that they were pointed at.
#[test]
fn files_of_a_store_are_neither_moved_nor_added_to() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_csv(folder);
    let table = "create 't', 'f'\n";
    shell(&["--data", "store"], folder, table);
    shell(&["--data", "other"], folder, table);
    done(folder, &[&WRITE[..], &["--data", "store"]].concat());
    let text = done(folder, &["bulkload", "out", "t", "--move", "--data", "store"]);
    assert!(text.starts_with("loaded 1 files"), "{text}");
    assert!(!folder.join("out/f/part-00000").exists(), "the file was moved");
    let tables = std::fs::read_dir(folder.join("store/data/default/t")).unwrap();
    let region =
        tables.map(|entry| entry.unwrap().path()).find(|path| path.join("f").is_dir()).unwrap();
    let region = region.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
    let load = ["bulkload", region.as_str(), "t", "--move", "--data", "other"];
    let (is_done, text) = run(folder, &load);
    assert!(!is_done && text.contains("is a store of Halite") && text.contains("leave --move out"));
    std::fs::write(folder.join("more.csv"), "key,v\na,1\n").unwrap();
    let inside = format!("{region}/evil");
    let write =
        ["hfile", "write", "--table", "t", "--csv", "more.csv", "--key", "key", "--column", "f:v"];
    let (is_done, text) =
        run(folder, &[&write[..], &["--to", &inside, "--data", "other"]].concat());
    assert!(!is_done && text.contains("is a store of Halite"), "{text}");
    assert!(shell(&["--data", "store"], folder, "count 't'\n").contains("1000 row(s)"));
}

#[test]
fn files_are_staged_and_cut_for_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_csv(folder);
    let store = folder.join("served");
    let served = TestServer::start(&["--data", store.to_str().unwrap()]);
    let uri = format!("rpc://{}", served.address("master"));
    let place = ["--connect", uri.as_str()];
    shell(&place, folder, "create 't', 'f'\n");
    done(folder, &[&WRITE[..], &place].concat());
    // The files were written for one region, and there are three by now.
    shell(&place, folder, "disable 't'\ndrop 't'\ncreate 't', 'f', SPLITS => ['row-3', 'row-6']\n");
    let text = done(folder, &[&["bulkload", "out", "t"], &place[..]].concat());
    assert!(text.contains("into 3 regions of t") && text.contains("1 files cut"), "{text}");
    assert!(shell(&place, folder, "count 't'\n").contains("1000 row(s)"));
    let staging = std::fs::read_dir(store.join("staging")).unwrap().count();
    assert_eq!(staging, 0, "nothing is left in the staging directory");
    assert!(folder.join("out/f/part-00000").exists());
    // The server may not read elsewhere.
    let source = folder.join("out").display().to_string();
    let load = ["bulkload", "out", "t", "--server-path", source.as_str()];
    let (is_done, text) = run(folder, &[&load, &place[..]].concat());
    assert!(!is_done && text.contains("nothing is loaded"), "{text}");
    assert!(text.contains("with --server-path no file is cut"), "{text}");
    shell(&place, folder, "create 'u', 'f'\n");
    let load = ["bulkload", "out", "u", "--server-path", source.as_str()];
    let (is_done, text) = run(folder, &[&load, &place[..]].concat());
    assert!(!is_done && text.contains("outside of the directories"), "{text}");
    assert_eq!(std::fs::read_dir(store.join("staging")).unwrap().count(), 0);
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}
