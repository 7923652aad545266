//! Manifests older than the store, and the handling of files that they do not name.

use std::collections::BTreeMap;
use std::io;

use halite::{Builder, CompactionKind, Error, ErrorKind, Put, Scan, Store, TableDescriptor};
use halite_engine::env::sim::{FsCall, InjectedFault, SimEnv};
use halite_engine::inspect::{Severity, check, repair};

use crate::{reopen, small, store};

fn open(sim: &SimEnv) -> Result<Store, Error> {
    Builder::new().options(small()).open_with_env(sim.env())
}

fn put(store: &Store, table: &str, row: &str) {
    store.table(table).unwrap().put(Put::new(row.to_owned()).add("f", "q", "v")).unwrap();
}

fn rows(store: &Store, table: &str) -> usize {
    store.table(table).unwrap().scan(Scan::all()).count()
}

fn without_lock(sim: &SimEnv) -> BTreeMap<String, Vec<u8>> {
    sim.fs.files().into_iter().filter(|(path, _)| path != "halite/LOCK").collect()
}

/// Changes to a store between a copy of its manifest and the end of its process.
const CHANGES: [(&str, fn(&Store)); 6] = [
    ("a flush", |store| store.flush("t").unwrap()),
    ("flushes and a compaction", |store| {
        store.flush("t").unwrap();
        put(store, "t", "r9");
        store.flush("t").unwrap();
        store.compact("t", None, CompactionKind::Major).unwrap();
    }),
    ("a table", |store| {
        store
            .create_table(
                TableDescriptor::new("u".parse().unwrap())
                    .family(halite::FamilyDescriptor::new("f")),
                &[],
            )
            .unwrap();
        put(store, "u", "r1");
    }),
    ("a split", |store| {
        let region = store.engine().regions(&"t".parse().unwrap()).unwrap().remove(0);
        store.engine().split_region(&region.encoded_name, Some("r2".into())).unwrap();
    }),
    ("a snapshot", |store| {
        store
            .engine()
            .create_snapshot(&halite::SnapshotDescriptor::new("s", "t".parse().unwrap()))
            .unwrap();
    }),
    ("an altered table", |store| {
        let table = TableDescriptor::new("t".parse().unwrap())
            .family(halite::FamilyDescriptor::new("f"))
            .family(halite::FamilyDescriptor::new("g"));
        store.alter_table(table.set("OWNER", "me")).unwrap();
    }),
];

/// Returns a store after a change, ended cleanly or not, and its manifest from before.
fn changed(change: fn(&Store), clean: bool) -> (SimEnv, Vec<u8>) {
    let sim = SimEnv::new(3);
    let store = store(&sim);
    put(&store, "t", "r1");
    store.flush("t").unwrap();
    put(&store, "t", "r2");
    let manifest = sim.fs.read("halite/MANIFEST").unwrap();
    change(&store);
    put(&store, "t", "r3");
    if clean {
        store.close().unwrap();
    } else {
        drop(store);
    }
    sim.fs.kill();
    (sim, manifest)
}

#[test]
fn older_manifest_is_rejected_and_no_file_changes() {
    for (name, change) in CHANGES {
        for clean in [true, false] {
            let (sim, manifest) = changed(change, clean);
            let newest = sim.fs.read("halite/MANIFEST").unwrap();
            sim.fs.write("halite/MANIFEST", manifest).unwrap();
            let before = without_lock(&sim);
            let error = open(&sim).err().unwrap_or_else(|| panic!("opened after {name}"));
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}: {error}");
            assert!(
                error.message().contains("older than the store")
                    && error.message().contains("halite repair"),
                "{name}: {error}"
            );
            sim.fs.kill();
            assert!(without_lock(&sim) == before, "{name}");
            sim.fs.write("halite/MANIFEST", newest).unwrap();
            assert_eq!(rows(&reopen(&sim), "t"), if name.contains("compaction") { 4 } else { 3 });
        }
    }
}

#[test]
fn files_and_log_reveal_older_manifest_without_copies() {
    let mut refused = 0;
    for (name, change) in CHANGES {
        for clean in [true, false] {
            let (sim, manifest) = changed(change, clean);
            sim.fs.write("halite/MANIFEST", manifest).unwrap();
            let env = sim.env();
            sim.fs
                .files()
                .into_keys()
                .filter(|path| path.starts_with("manifests/"))
                .for_each(|path| env.fs.remove_file(&path).unwrap());
            let before = without_lock(&sim);
            match open(&sim) {
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}: {error}");
                    sim.fs.kill();
                    assert!(without_lock(&sim) == before, "{name}");
                }
                // One change back: equivalent to a crash during that change. No store file is
                // deleted.
                Ok(store) => {
                    drop(store);
                    sim.fs.kill();
                    let after = sim.fs.files();
                    let names = |files: &BTreeMap<String, Vec<u8>>| {
                        let is_file = |path: &&String| {
                            path.contains("data/default/")
                                && (path.contains("/f/") || path.contains("/g/"))
                        };
                        files
                            .keys()
                            .filter(is_file)
                            .map(|path| path.rsplit('/').next().unwrap().to_owned())
                            .collect::<Vec<_>>()
                    };
                    let after = names(&after);
                    assert!(
                        names(&before).iter().all(|name| after.contains(name)),
                        "{name}, {clean}"
                    );
                }
            }
        }
    }
    assert!(refused >= 7, "{refused}");
}

#[test]
fn manifest_one_flush_old_is_detected_by_unlogged_cells() {
    let (sim, manifest) = changed(|store| store.flush("t").unwrap(), false);
    // Without the copies, without the log, exactly one change old.
    let later = sim.fs.files();
    sim.fs.write("halite/MANIFEST", manifest).unwrap();
    let env = sim.env();
    later
        .keys()
        .filter(|path| path.starts_with("manifests/") || path.ends_with(".wal"))
        .for_each(|path| env.fs.remove_file(path).unwrap());
    sim.fs.kill();
    let store = reopen(&sim);
    let report = store.open_report().clone();
    assert_eq!((report.quarantined_files, report.unlogged_files), (1, 1));
    let kept = report.quarantine.unwrap();
    assert!(sim.fs.files().keys().any(|path| path.starts_with(&kept)), "{kept}");
}

/// The later log begins after the cells that only the file contains.
#[test]
fn unlogged_file_is_reported_and_kept_despite_later_log() {
    let sim = SimEnv::new(3);
    let opened = store(&sim);
    (0..20).for_each(|row| put(&opened, "t", &format!("r{row:02}")));
    let manifest = sim.fs.read("halite/MANIFEST").unwrap();
    opened.close().unwrap();
    let opened = reopen(&sim);
    put(&opened, "t", "r20");
    drop(opened);
    sim.fs.kill();
    sim.fs.write("halite/MANIFEST", manifest).unwrap();
    let env = sim.env();
    sim.fs
        .files()
        .into_keys()
        .filter(|path| path.starts_with("manifests/"))
        .for_each(|path| env.fs.remove_file(&path).unwrap());
    let set_aside = || {
        sim.fs
            .files()
            .into_keys()
            .filter(|path| path.starts_with("halite/quarantine/") && path.contains("/f/"))
            .count()
    };
    for (opening, unlogged) in [1, 0, 0].into_iter().enumerate() {
        let opened = reopen(&sim);
        while opened.engine().run_one_job().unwrap() {}
        assert_eq!(
            (opened.open_report().unlogged_files, rows(&opened, "t"), set_aside()),
            (unlogged, 1, 1),
            "opening {opening}"
        );
        opened.close().unwrap();
        sim.fs.kill();
        let found = check(&sim.env()).unwrap().findings;
        assert!(
            found.iter().any(|finding| finding.severity == Severity::Warning
                && finding.text.contains("nowhere else")),
            "{found:?}"
        );
    }
    let done = repair(&sim.env(), true).unwrap();
    assert!(
        done.steps.iter().any(|(_, text)| text.contains("is restored from the quarantine")),
        "{:?}",
        done.steps
    );
    let opened = reopen(&sim);
    while opened.engine().run_one_job().unwrap() {}
    assert_eq!((rows(&opened, "t"), set_aside()), (21, 0));
    drop(opened);
    sim.fs.kill();
    assert_eq!(
        (repair(&sim.env(), false).unwrap().steps, check(&sim.env()).unwrap().findings),
        (vec![], vec![])
    );
}

#[test]
fn crash_leftover_is_quarantined_and_removed_after_clean_close() {
    let sim = SimEnv::new(1);
    let opened = store(&sim);
    put(&opened, "t", "r1");
    // The change of the manifest fails, and so does the removal of the file it was to name.
    sim.fs.inject(InjectedFault::next(FsCall::Rename, "MANIFEST", io::ErrorKind::Other));
    sim.fs.inject(InjectedFault::next(FsCall::RemoveFile, "/f/", io::ErrorKind::Other));
    assert!(opened.flush("t").is_err());
    drop(opened);
    sim.fs.kill();
    sim.fs.clear_faults();
    let quarantined = || {
        sim.fs
            .files()
            .into_keys()
            .filter(|path| path.starts_with("halite/quarantine/"))
            .collect::<Vec<_>>()
    };
    let opened = reopen(&sim);
    assert_eq!(
        (
            opened.open_report().quarantined_files,
            opened.open_report().unlogged_files,
            opened.open_report().removed_files
        ),
        (1, 0, 0)
    );
    assert!(opened.open_report().quarantined_bytes > 100);
    let kept = quarantined();
    assert!(
        kept.len() == 1
            && kept[0].contains("/data/default/t/")
            && kept[0].starts_with(opened.open_report().quarantine.as_deref().unwrap()),
        "{kept:?}"
    );
    assert_eq!(rows(&opened, "t"), 1);
    drop(opened);
    sim.fs.kill();
    // A crash is no checkpoint.
    let opened = reopen(&sim);
    while opened.engine().run_one_job().unwrap() {}
    assert_eq!((quarantined(), opened.open_report().quarantined_files), (kept.clone(), 0));
    opened.close().unwrap();
    assert_eq!(quarantined(), kept, "the checkpoint is complete");
    sim.fs.kill();
    let opened = reopen(&sim);
    while opened.engine().run_one_job().unwrap() {}
    assert!(quarantined().is_empty());
    assert_eq!(rows(&opened, "t"), 1);
}

#[test]
fn leftovers_of_tables_named_with_underscore_are_quarantined() {
    for (name, family) in [("_x", "f"), ("t", "_f"), ("_n:_x", "_f")] {
        let table = TableDescriptor::new(format!("{name}2").parse().unwrap())
            .family(halite::FamilyDescriptor::new(family));
        let full = table.name().clone();
        let directory = format!("data/{}/{}", full.namespace(), full.qualifier());
        let left = |sim: &SimEnv| {
            sim.fs.files().into_keys().filter(|path| path.starts_with(&directory)).count()
        };
        // The process ends at each call of the creation, the last before the manifest names the
        // table among them.
        let max_calls = (0..)
            .map_while(|calls| {
                let sim = SimEnv::new(1);
                let opened = store(&sim);
                if name.contains(':') {
                    opened.create_namespace("_n", halite::Attributes::new()).unwrap();
                }
                sim.fs.crash_at_call(sim.fs.calls() + calls);
                let created = opened.create_table(table.clone(), &[b"m"]).is_ok();
                drop(opened);
                sim.fs.kill();
                let files = left(&sim);
                let opened = reopen(&sim);
                if opened.list_tables().unwrap().iter().any(|table| *table.name() == full) {
                    return (!created).then_some(0);
                }
                assert_eq!(
                    (left(&sim), opened.open_report().quarantined_files),
                    (0, files as u64),
                    "{name}, call {calls}"
                );
                assert!(!sim.env().fs.exists(&directory).unwrap(), "{name}, call {calls}");
                Some(files)
            })
            .max();
        assert_eq!(max_calls, Some(3), "{name}: a descriptor and two regions");
    }
    // A hidden file that Halite did not write remains and is not reported.
    let sim = SimEnv::new(1);
    drop(store(&sim));
    sim.fs.kill();
    sim.fs.write("data/default/_notes/a/b", "foreign").unwrap();
    assert_eq!(reopen(&sim).open_report().quarantined_files, 0);
    assert_eq!(sim.fs.read("data/default/_notes/a/b").unwrap(), b"foreign");
}

/// With 98,000 leftover files it matters whether they are deleted one by one.
#[test]
fn leftover_table_directory_is_quarantined_as_a_whole() {
    let sim = SimEnv::new(1);
    let opened = store(&sim);
    let table =
        TableDescriptor::new("many".parse().unwrap()).family(halite::FamilyDescriptor::new("f"));
    let splits: Vec<Vec<u8>> = (1..200_u32).map(|region| region.to_be_bytes().to_vec()).collect();
    sim.fs.inject(InjectedFault::next(FsCall::Rename, "halite/MANIFEST", io::ErrorKind::Other));
    sim.fs.inject(
        InjectedFault::next(FsCall::RemoveFile, "data/default/many", io::ErrorKind::Other)
            .forever(),
    );
    opened.create_table(table, &splits.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap_err();
    drop(opened);
    sim.fs.kill();
    let before = sim.fs.calls();
    let listed =
        sim.fs.files().keys().filter(|path| path.starts_with("data/default/many/")).count();
    assert_eq!(listed, 201, "a descriptor and 200 regions");
    sim.fs.inject(InjectedFault::next(FsCall::Rename, "data/default/many/", io::ErrorKind::Other));
    let opened = reopen(&sim);
    assert_eq!(opened.open_report().quarantined_files, 201);
    assert!(!sim.env().fs.exists("data/default/many").unwrap());
    // Each region and its family are listed, and not much more than that.
    assert!(sim.fs.calls() - before < 4 * 200, "{} calls", sim.fs.calls() - before);
}

#[test]
fn manifest_copies_are_separate_and_torn_copy_is_rewritten() {
    let sim = SimEnv::new(1);
    let opened = store(&sim);
    for i in 0..20 {
        put(&opened, "t", &format!("r{i}"));
        opened.flush("t").unwrap();
    }
    opened.close().unwrap();
    sim.fs.kill();
    let copies = || {
        sim.fs
            .files()
            .into_iter()
            .filter(|(path, _)| path.starts_with("manifests/"))
            .collect::<Vec<_>>()
    };
    let kept = copies();
    let manifest = sim.fs.read("halite/MANIFEST").unwrap();
    assert_eq!(kept.len(), 8);
    assert!(kept.last().unwrap().1 == manifest);
    let newest = kept.last().unwrap().0.clone();
    sim.fs.cut(&newest, 30).unwrap();
    drop(reopen(&sim));
    sim.fs.drop_unsynced();
    assert!(sim.fs.read(&newest).unwrap() == manifest, "written again, durably");
    // The manifest copies of another store do not describe this one.
    let other = SimEnv::new(99);
    let opened = store(&other);
    (0..30).for_each(|i| {
        put(&opened, "t", &format!("r{i}"));
        opened.flush("t").unwrap();
    });
    drop(opened);
    let (path, bytes) =
        other.fs.files().into_iter().rfind(|(path, _)| path.starts_with("manifests/")).unwrap();
    sim.fs.write(&path, bytes).unwrap();
    drop(reopen(&sim));
}
