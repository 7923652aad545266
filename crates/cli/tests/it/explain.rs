//! `halite explain get`: what a read does, before and after the rows are in store files.

use std::path::Path;

use halite::{FamilyDescriptor, Put, TableDescriptor};

use crate::program::{halite, output, output_of};

fn explain(data: &Path, row: &str) -> String {
    let output = output(halite().args(["explain", "get", "t", row, "--data"]).arg(data));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the lines of a store.
fn store_of<'t>(text: &'t str, family: &str) -> &'t str {
    let begin = text.find(&format!("store {family}: ")).unwrap();
    let rest = &text[begin..];
    rest[1..].find("store ").map_or(rest, |end| &rest[..end])
}

#[test]
fn m04_path_of_a_row_is_region_store_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let store = halite::open(data).unwrap();
    let table = TableDescriptor::new("t".parse().unwrap())
        .family(FamilyDescriptor::new("f"))
        .family(FamilyDescriptor::new("g"));
    store.create_table(table, &[b"m"]).unwrap();
    store.table("t").unwrap().put(Put::new("k").add("f", "q", "v")).unwrap();
    // Not closed: the row is in the log and, when the store is opened again, in a memstore.
    drop(store);
    let text = explain(data, "k");
    assert!(text.contains("region   t,,") && text.contains("one of 2"), "{text}");
    assert!(text.contains("rows   from the first row to m"), "{text}");
    assert!(text.contains(&format!("server   {}", data.display())), "{text}");
    let in_memory = store_of(&text, "f");
    for line in ["1 cells returned", "memstores  1 read", "files      0 read", "blocks     0 read"]
    {
        assert!(in_memory.contains(line), "{line}: {text}");
    }
    // The command closed the store, which flushed the memstore.
    let text = explain(data, "k");
    let in_file = store_of(&text, "f");
    assert!(in_file.contains("files      1 read") && in_file.contains("memstores  0"), "{text}");
    assert!(store_of(&text, "g").contains("0 cells returned"), "{text}");
    let text = explain(data, "k0");
    let absent = store_of(&text, "f");
    assert!(absent.contains("files      0 read"), "{text}");
    assert!(absent.contains("1 skipped: "), "{text}");
    assert!(explain(data, "z").contains("rows   from m to the last"));
}

#[test]
fn c03_files_of_a_family_with_snappy_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let script = "create 'mytable', {NAME => 'cf1', COMPRESSION => 'SNAPPY'}\n\
                  put 'mytable', 'r', 'cf1:q', 'v'\nflush 'mytable'\n";
    let ran = output_of(halite().args(["shell", "--data"]).arg(data), script);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    let mut folders = vec![data.join("data/default/mytable")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.parent().is_some_and(|parent| parent.ends_with("cf1")) {
                files.push(path);
            }
        }
    }
    let [file] = &files[..] else { panic!("{files:?}") };
    let shown = output(halite().args(["hfile", "info"]).arg(file));
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(text.to_ascii_lowercase().contains("snappy"), "{text}");
}
