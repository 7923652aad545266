//! The small files that HBase reads, which the manifest does not contain, and renamed directories.

use std::collections::BTreeMap;

use halite::{FamilyDescriptor, Put, Scan, Store, TableDescriptor};
use halite_engine::env::sim::{FsCall, InjectedFault, SimEnv};
use halite_engine::inspect::{Severity, check, repair};

use crate::reopen;

type Files = BTreeMap<String, Vec<u8>>;

fn create(store: &Store, table: &str, splits: &[&[u8]]) {
    store
        .create_table(
            TableDescriptor::new(table.parse().unwrap()).family(FamilyDescriptor::new("f")),
            splits,
        )
        .unwrap();
}

fn put(store: &Store, table: &str, row: &str) {
    store.table(table).unwrap().put(Put::new(row.to_owned()).add("f", "q", "v")).unwrap();
}

fn rows(store: &Store, table: &str) -> usize {
    store.table(table).unwrap().scan(Scan::all()).map(Result::unwrap).count()
}

/// Returns a closed store with tables `a` of one region and `b` of two, each region with a row in a
/// file.
fn closed() -> SimEnv {
    let sim = SimEnv::new(11);
    let store = reopen(&sim);
    create(&store, "a", &[]);
    create(&store, "b", &[b"m"]);
    for (table, row) in [("a", "r"), ("b", "c"), ("b", "r")] {
        put(&store, table, row);
    }
    store.close().unwrap();
    sim.fs.kill();
    sim
}

/// Returns the first path that contains all `parts`.
fn find_path(files: &Files, parts: &[&str]) -> String {
    files.keys().find(|path| parts.iter().all(|part| path.contains(part))).unwrap().clone()
}

/// Returns a simulated disk with these files.
fn disk(files: Files) -> SimEnv {
    let sim = SimEnv::new(12);
    sim.env().fs.create_dir_all("halite/wal").unwrap();
    files.into_iter().for_each(|(path, bytes)| sim.fs.write(&path, bytes).unwrap());
    sim
}

/// Repairs the store, verifies that a second repair has no steps, and opens the sound store.
#[track_caller]
fn repaired(sim: &SimEnv) -> Store {
    let done = repair(&sim.env(), true).unwrap();
    assert!(done.is_applied, "{done:?}");
    assert_eq!(repair(&sim.env(), true).unwrap().steps, [], "{:?}", done.steps);
    let store = reopen(sim);
    store.close().unwrap();
    sim.fs.kill();
    let store = reopen(sim);
    store.close().unwrap();
    sim.fs.kill();
    assert!(check(&sim.env()).unwrap().worst() <= Some(Severity::Note), "{:?}", done.steps);
    reopen(sim)
}

#[test]
fn damaged_small_hbase_files_are_reported_and_rewritten() {
    let files = closed().fs.files();
    assert_eq!(check(&disk(files.clone()).env()).unwrap().findings, []);
    let kinds: [(&[&str], Option<&[&str]>); 4] = [
        (&["hbase.id"], None),
        (&["hbase.version"], Some(&["hbase.id"])),
        (&["/a/.tabledesc/"], Some(&["/b/.tabledesc/"])),
        (&["/b/", ".regioninfo"], Some(&["/a/", ".regioninfo"])),
    ];
    for (parts, other) in kinds {
        let path = find_path(&files, parts);
        let whole = files[&path].clone();
        let cut = whole[..whole.len() / 2].to_vec();
        let wrong = [
            None,
            Some(Vec::new()),
            Some(b"PBUF".to_vec()),
            Some(b"what is this".to_vec()),
            Some(cut),
        ];
        let other = other.map(|parts| files[&find_path(&files, parts)].clone());
        for bytes in wrong.into_iter().chain(other.map(Some)) {
            let case = format!("{path}: {bytes:?}");
            let mut files = files.clone();
            match bytes {
                Some(bytes) => drop(files.insert(path.clone(), bytes)),
                None => drop(files.remove(&path)),
            }
            let sim = disk(files);
            let findings = check(&sim.env()).unwrap().findings;
            assert!(
                findings.len() == 1 && findings[0].severity == Severity::Warning,
                "{case}: {findings:?}"
            );
            assert!(
                findings[0].text.contains(&path) && findings[0].text.contains("halite repair"),
                "{case}: {findings:?}"
            );
            let steps = repair(&sim.env(), false).unwrap().steps;
            assert!(
                steps.len() == 1 && steps[0].1.starts_with(&format!("{path} is recreated: it ")),
                "{case}: {steps:?}"
            );
            let store = repaired(&sim);
            assert!(
                (rows(&store, "a"), rows(&store, "b")) == (1, 2)
                    && sim.fs.read(&path).unwrap() == whole,
                "{case}"
            );
        }
    }
}

#[test]
fn equivalent_file_of_other_program_is_accepted() {
    let mut files = closed().fs.files();
    let path = find_path(&files, &["/a/", ".regioninfo"]);
    // Omits the number at the end of the message, which HBase does not write; the message's length
    // precedes the message.
    let info = files.get_mut(&path).unwrap();
    assert_eq!(info[info.len() - 4..info.len() - 1], [0x88, 0xe2, 0x09]);
    info.truncate(info.len() - 4);
    info[4] -= 4;
    assert_eq!(check(&disk(files).env()).unwrap().findings, []);
}

#[test]
fn newer_looking_descriptor_is_reported_or_removed_after_crash() {
    let files = closed().fs.files();
    let (one, other) =
        (find_path(&files, &["/a/.tabledesc/"]), find_path(&files, &["/b/.tabledesc/"]));
    let newer = |version: u32| one.replace("0000000001", &format!("{version:010}"));
    for (version, bytes, severity) in [
        (2, &files[&one], Severity::Note),
        (9, &files[&one], Severity::Warning),
        (2, &files[&other], Severity::Warning),
    ] {
        let mut files = files.clone();
        files.insert(newer(version), bytes.clone());
        let sim = disk(files);
        let findings = check(&sim.env()).unwrap().findings;
        assert!(
            findings.len() == 1
                && findings[0].severity == severity
                && findings[0].text.contains(&newer(version)),
            "{version}: {findings:?}"
        );
        reopen(&sim).close().unwrap();
        sim.fs.kill();
        // A file that no crash leaves may be the only trace of a newer manifest.
        let left = if version > 2 { findings } else { Vec::new() };
        assert_eq!(check(&sim.env()).unwrap().findings, left);
    }
}

#[test]
fn files_not_named_like_descriptors_are_kept() {
    let mut files = closed().fs.files();
    let one = find_path(&files, &["/a/.tabledesc/"]);
    let copy = format!("{one}.bak");
    files.insert(copy.clone(), b"kept".to_vec());
    let sim = disk(files);
    reopen(&sim).close().unwrap();
    assert_eq!(sim.fs.read(&copy).unwrap(), b"kept");
}

#[test]
fn foreign_lock_file_is_reported_and_kept() {
    let sim = closed();
    sim.fs.write("halite/LOCK", "").unwrap();
    sim.fs.inject(InjectedFault::next(
        FsCall::Open,
        "halite/LOCK",
        std::io::ErrorKind::PermissionDenied,
    ));
    let findings = check(&sim.env()).unwrap().findings;
    assert!(
        findings.len() == 1
            && findings[0].severity == Severity::Warning
            && findings[0].text.contains("cannot be opened"),
        "{findings:?}"
    );
    sim.fs.write("halite/LOCK", "a manifest").unwrap();
    let findings = check(&sim.env()).unwrap().findings;
    assert!(
        findings.len() == 1
            && findings[0].severity == Severity::Warning
            && findings[0].text.contains("is not empty"),
        "{findings:?}"
    );
    assert_eq!(sim.fs.read("halite/LOCK").unwrap(), b"a manifest");
}

/// Two generations of a store: no remaining manifest contains the changes between them.
fn with_an_older_manifest(change: fn(&Store)) -> Files {
    let sim = closed();
    let older = sim.fs.read("halite/MANIFEST").unwrap();
    let store = reopen(&sim);
    change(&store);
    store.close().unwrap();
    sim.fs.kill();
    let mut files = sim.fs.files();
    files.retain(|path, _| !path.starts_with("manifests/"));
    files.insert("halite/MANIFEST".into(), older);
    files
}

#[test]
fn older_manifest_does_not_drop_renamed_table_or_region() {
    // The row is written before the compaction that removes the files named by the older manifest.
    let files = with_an_older_manifest(|store| {
        put(store, "b", "d");
        store.flush("b").unwrap();
        store.compact("b", None, halite::CompactionKind::Major).unwrap();
    });
    let region = find_path(&files, &["/b/", ".regioninfo"]).split('/').nth(3).unwrap().to_owned();
    let moved = "0123456789abcdef0123456789abcdef".to_owned();
    for (from, to) in [
        ("data/default/b/", "data/default/b2/"),
        ("data/default/b/", "data/other/b/"),
        (&*region, &*moved),
    ] {
        let sim = disk(
            files
                .clone()
                .into_iter()
                .map(|(path, bytes)| (path.replacen(from, to, 1), bytes))
                .collect(),
        );
        let store = repaired(&sim);
        assert_eq!((rows(&store, "a"), rows(&store, "b")), (1, 3), "{from} to {to}");
        let names: Vec<String> = store
            .list_tables()
            .unwrap()
            .into_iter()
            .map(|table| table.name().to_string())
            .collect();
        assert!(!names.contains(&"b2".to_owned()), "{names:?}");
    }
}

#[test]
fn dropped_table_stays_dropped_with_older_manifest() {
    let files = with_an_older_manifest(|store| {
        store.disable_table("b").unwrap();
        store.drop_table("b").unwrap();
        put(store, "a", "s");
    });
    let store = repaired(&disk(files));
    assert!(rows(&store, "a") == 2 && !store.table_exists("b").unwrap());
}

#[test]
fn misplaced_store_file_is_kept_and_returned_to_region() {
    // A store file that neither a manifest nor the log contains, in a directory of an unknown
    // region.
    let mut files = with_an_older_manifest(|store| {
        put(store, "a", "s");
        store.flush("a").unwrap();
    });
    let named = closed().fs.files();
    let file = files
        .keys()
        .find(|path| path.contains("/a/") && path.contains("/f/") && !named.contains_key(*path))
        .unwrap()
        .clone();
    let region = file.split('/').nth(3).unwrap().to_owned();
    let bytes = files.remove(&file).unwrap();
    let unnamed = file.replace(&region, "0123456789abcdef0123456789abcdef");
    files.insert(unnamed.clone(), bytes);
    files.retain(|path, _| !path.contains("halite/wal/"));
    let sim = disk(files);
    let store = reopen(&sim);
    assert_eq!((store.open_report().unlogged_files, rows(&store, "a")), (1, 1));
    store.close().unwrap();
    sim.fs.kill();
    assert!(
        sim.fs.files().keys().any(|path| path.contains("-unlogged/") && path.ends_with(&unnamed)),
        "it is kept"
    );
    let store = repaired(&sim);
    assert_eq!(rows(&store, "a"), 2);
    assert!(sim.fs.files().contains_key(&file));
}
