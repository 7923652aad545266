//! `check` and `repair` on every kind of damage to a store.

use std::collections::BTreeMap;

use halite::{
    BulkLoad, CompactionKind, ErrorKind, FamilyDescriptor, Put, Scan, SnapshotDescriptor, Store,
    TableDescriptor,
};
use halite_engine::env::sim::{FsCall, InjectedFault, SimEnv};
use halite_engine::inspect::{Certainty, CheckReport, RepairReport, Severity, check, repair};

use crate::damage::{find, make_manifest_newer};
use crate::{reopen, small, store};

type Files = BTreeMap<String, Vec<u8>>;
/// Cells by table and row.
type StoreContents = BTreeMap<String, Vec<String>>;

fn put(store: &Store, table: &str, rows: std::ops::Range<u32>) {
    let table = store.table(table).unwrap();
    for i in rows {
        table
            .put(Put::new(format!("r{i:03}")).add("f", "q", format!("v{i}")).add("g", "q", "w"))
            .unwrap();
    }
}

fn rows(store: &Store) -> StoreContents {
    let tables = store
        .list_tables()
        .unwrap()
        .into_iter()
        .map(|table| table.name().to_string())
        .filter(|name| !name.starts_with("hbase:"));
    tables
        .map(|name| {
            (
                name.clone(),
                store
                    .table(&name)
                    .unwrap()
                    .scan(Scan::all())
                    .flat_map(|row| crate::format_row(&row.unwrap()))
                    .collect(),
            )
        })
        .collect()
}

/// Runs all kinds of changes on a store: flushes, compactions, a split, a merge, a second table, a
/// snapshot and a clone of it.
const STEPS: [fn(&Store); 9] = [
    |store| store.flush("t").unwrap(),
    |store| {
        put(store, "t", 10..20);
        store.flush("t").unwrap();
    },
    |store| store.compact("t", None, CompactionKind::Major).unwrap(),
    |store| {
        let region = store.engine().regions(&"t".parse().unwrap()).unwrap().remove(0);
        store.engine().split_region(&region.encoded_name, Some("r005".into())).unwrap();
    },
    |store| {
        put(store, "t", 20..30);
        store.flush("t").unwrap();
    },
    |store| {
        let table = TableDescriptor::new("u".parse().unwrap())
            .family(FamilyDescriptor::new("f"))
            .family(FamilyDescriptor::new("g"));
        store.create_table(table, &[b"r603"]).unwrap();
        put(store, "u", 600..606);
    },
    |store| store.flush("u").unwrap(),
    |store| store.compact("t", None, CompactionKind::Major).unwrap(),
    |store| put(store, "t", 30..33),
];

/// A store that has ended, with its former manifests and its contents.
struct Ended {
    sim: SimEnv,
    manifests: Vec<Vec<u8>>,
    rows: StoreContents,
}

fn ended(steps: usize, clean: bool) -> Ended {
    let sim = SimEnv::new(5);
    let opened = store(&sim);
    put(&opened, "t", 0..10);
    let mut manifests = vec![sim.fs.read("halite/MANIFEST").unwrap()];
    for step in &STEPS[..steps] {
        step(&opened);
        let manifest = sim.fs.read("halite/MANIFEST").unwrap();
        if manifests.last() != Some(&manifest) {
            manifests.push(manifest);
        }
    }
    let rows = rows(&opened);
    if clean {
        opened.close().unwrap();
    } else {
        drop(opened);
    }
    sim.fs.kill();
    Ended { sim, manifests, rows }
}

/// Returns a copy of the disk with the test's changes to its files.
fn disk(files: &Files, change: impl FnOnce(&mut Files)) -> SimEnv {
    let mut files = files.clone();
    change(&mut files);
    let sim = SimEnv::new(6);
    // Directories without files are there as well.
    sim.env().fs.create_dir_all("halite/wal").unwrap();
    files.into_iter().for_each(|(path, bytes)| sim.fs.write(&path, bytes).unwrap());
    sim
}

fn checked(sim: &SimEnv) -> CheckReport {
    let before = sim.fs.files();
    let report = check(&sim.env()).unwrap();
    assert!(same(&before, &sim.fs.files()), "a check changes nothing");
    report
}

fn same(a: &Files, b: &Files) -> bool {
    let but_lock = |files: &Files| {
        files
            .iter()
            .filter(|(path, _)| *path != "halite/LOCK")
            .map(|(path, bytes)| (path.clone(), bytes.clone()))
            .collect::<Vec<_>>()
    };
    but_lock(a) == but_lock(b)
}

/// Repairs a disk on which a check reports findings; afterwards it must open and be sound. Returns
/// the repair report.
#[track_caller]
fn repaired(sim: &SimEnv, case: &str) -> (RepairReport, StoreContents) {
    let found = checked(sim);
    assert_eq!(found.worst(), Some(Severity::Error), "{case}: {:?}", found.findings);
    let before = sim.fs.files();
    let planned = repair(&sim.env(), false).unwrap_or_else(|error| panic!("{case}: {error}"));
    assert!(same(&before, &sim.fs.files()), "{case}: only a plan");
    assert!(!planned.steps.is_empty() && !planned.is_applied, "{case}");
    let done = repair(&sim.env(), true).unwrap();
    assert!(
        done.is_applied && done.steps == planned.steps,
        "{case}: {:?} {:?}",
        done.steps,
        planned.steps
    );
    let again = repair(&sim.env(), false).unwrap();
    assert_eq!(again.steps, [], "{case}: {:?}", done.steps);
    let opened = halite::Builder::new()
        .options(small())
        .open_with_env(sim.env())
        .unwrap_or_else(|error| panic!("{case}: {error}; {:?}", done.steps));
    let rows = rows(&opened);
    opened.close().unwrap();
    sim.fs.kill();
    let left: Vec<_> = checked(sim)
        .findings
        .into_iter()
        .filter(|finding| finding.severity > Severity::Note)
        .collect();
    assert_eq!(left, [], "{case}: {:?}", done.steps);
    (done, rows)
}

#[test]
fn undamaged_store_passes_check_and_needs_no_repair() {
    for clean in [true, false] {
        let Ended { sim, .. } = ended(STEPS.len(), clean);
        let report = checked(&sim);
        assert_eq!(report.findings, [], "{clean}");
        assert_eq!((report.tables, report.regions), (2, 4));
        assert!(report.files > 2 && report.cells > 40 && report.generation > Some(10));
        assert_eq!(report.wal_writes > 0, !clean);
        assert_eq!(
            repair(&sim.env(), true).unwrap(),
            RepairReport {
                based_on: repair(&sim.env(), false).unwrap().based_on,
                ..RepairReport::default()
            }
        );
        sim.env().fs.remove_file("halite/LOCK").unwrap();
        let report = checked(&sim);
        assert!(
            report.worst() == Some(Severity::Note) && report.findings[0].text.contains("LOCK"),
            "{:?}",
            report.findings
        );
        assert!(!sim.env().fs.exists("halite/LOCK").unwrap(), "a check makes nothing");
    }
}

#[test]
fn check_rejects_store_in_use_and_empty_directory() {
    let sim = SimEnv::new(1);
    let opened = store(&sim);
    for error in [check(&sim.env()).unwrap_err(), repair(&sim.env(), true).unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Locked);
    }
    drop(opened);
    let sim = SimEnv::new(1);
    assert_eq!(check(&sim.env()).unwrap_err().kind(), ErrorKind::InvalidRequest);
    sim.fs.write("photos/holiday.jpg", "...").unwrap();
    assert_eq!(repair(&sim.env(), true).unwrap_err().kind(), ErrorKind::InvalidRequest);
    assert_eq!(sim.fs.files().len(), 1);
}

#[test]
fn damaged_manifest_is_restored_from_its_copy() {
    let Ended { sim, rows, .. } = ended(STEPS.len(), false);
    let files = sim.fs.files();
    let manifest = files["halite/MANIFEST"].clone();
    let whole = |case: &str, change: &dyn Fn(&mut Files)| {
        let sim = disk(&files, change);
        let (done, found) = repaired(&sim, case);
        assert!(found == rows, "{case}: {:?}", done.steps);
        assert!(
            done.steps.iter().all(|(certainty, _)| *certainty == Certainty::Certain),
            "{case}: {:?}",
            done.steps
        );
        let kept = format!("{}/MANIFEST", done.kept_in.unwrap());
        assert_eq!(
            sim.fs.read(&kept).ok(),
            disk(&files, change).fs.read("halite/MANIFEST").ok(),
            "{case}"
        );
    };
    whole("missing", &|files| drop(files.remove("halite/MANIFEST")));
    whole("all of halite missing but the log", &|files| {
        files.retain(|path, _| !path.starts_with("halite/") || path.ends_with(".wal"));
    });
    for at in (0..manifest.len()).step_by(if cfg!(debug_assertions) { 7 } else { 1 }) {
        whole(&format!("cut to {at}"), &|files| {
            files.get_mut("halite/MANIFEST").unwrap().truncate(at);
        });
        whole(&format!("flipped at {at}"), &|files| {
            files.get_mut("halite/MANIFEST").unwrap()[at] ^= 1 << (at % 8);
        });
    }
}

#[test]
fn older_manifest_is_replaced_by_newest_copy() {
    let Ended { sim, rows, manifests } = ended(STEPS.len(), false);
    let files = sim.fs.files();
    for (back, manifest) in manifests.iter().rev().enumerate().skip(1) {
        let sim =
            disk(&files, |files| drop(files.insert("halite/MANIFEST".into(), manifest.clone())));
        let (done, found) = repaired(&sim, &format!("{back} back"));
        assert!(found == rows, "{back}: {:?}", done.steps);
    }
}

/// All acknowledged rows are present, for every number of steps, from every older manifest or none.
#[test]
fn repair_rebuilds_manifest_without_copies() {
    let mut repairs = 0;
    for steps in 1..=STEPS.len() {
        for clean in [true, false] {
            let Ended { sim, rows, manifests } = ended(steps, clean);
            let files = sim.fs.files();
            let newest = files["halite/MANIFEST"].clone();
            let older = manifests
                .iter()
                .rev()
                .filter(|manifest| **manifest != newest)
                .map(Some)
                .chain([None]);
            for (back, manifest) in older.enumerate() {
                let sim = disk(&files, |files| {
                    files.retain(|path, _| !path.starts_with("manifests/"));
                    match manifest {
                        Some(manifest) => {
                            drop(files.insert("halite/MANIFEST".into(), manifest.clone()));
                        }
                        None => drop(files.remove("halite/MANIFEST")),
                    }
                });
                let case = format!(
                    "{steps} steps, clean: {clean}, manifest {back} back of {}",
                    manifests.len()
                );
                if checked(&sim).worst() != Some(Severity::Error) && manifest.is_some() {
                    // One change back is equivalent to a crash during that change; no acknowledged
                    // row may be missing.
                    let plan = repair(&sim.env(), true).unwrap();
                    let opened = halite::Builder::new()
                        .options(small())
                        .open_with_env(sim.env())
                        .unwrap_or_else(|error| panic!("{case}: {error}; {:?}", plan.steps));
                    assert!(crate::repair::rows(&opened) == rows, "{case}: {:?}", plan.steps);
                    continue;
                }
                let (done, found) = repaired(&sim, &case);
                assert!(
                    found == rows,
                    "{case}: {:#?}\n{:#?}",
                    done.steps,
                    found.iter().map(|(name, rows)| (name, rows.len())).collect::<Vec<_>>()
                );
                repairs += 1;
            }
        }
    }
    assert!(repairs > 60, "{repairs}");
}

#[test]
fn manifest_of_other_store_is_rejected_and_replaced() {
    let Ended { sim, rows, .. } = ended(4, false);
    let other = SimEnv::new(77);
    drop(store(&other));
    let theirs = other.fs.read("halite/MANIFEST").unwrap();
    let sim = disk(&sim.fs.files(), |files| drop(files.insert("halite/MANIFEST".into(), theirs)));
    let error = halite::Builder::new().open_with_env(sim.env()).err().unwrap();
    assert!(
        error.kind() == ErrorKind::Corrupt && error.message().contains("another store"),
        "{error}"
    );
    sim.fs.kill();
    let (done, found) = repaired(&sim, "another store's");
    assert!(found == rows, "{:?}", done.steps);
}

#[test]
fn missing_or_damaged_store_file_is_reported_rest_readable() {
    let Ended { sim, rows, .. } = ended(STEPS.len(), true);
    let files = sim.fs.files();
    let is_store_file = |path: &&String| {
        path.starts_with("data/") && (path.contains("/f/") || path.contains("/g/"))
    };
    let paths: Vec<String> = files.keys().filter(is_store_file).cloned().collect();
    assert!(paths.len() > 4);
    for path in &paths {
        for damage in ["missing", "cut"] {
            let sim = disk(&files, |files| match damage {
                "missing" => drop(files.remove(path)),
                _ => files.get_mut(path).unwrap().truncate(100),
            });
            let case = format!("{path} {damage}");
            let found = checked(&sim);
            assert!(
                found.findings.iter().any(|finding| finding.severity == Severity::Error
                    && finding.text.contains(path.as_str())),
                "{case}: {found:?}"
            );
            let (done, left) = repaired(&sim, &case);
            assert!(
                done.steps.iter().any(|(certainty, text)| *certainty == Certainty::Lost
                    && text.contains(path.as_str())),
                "{case}: {:?}",
                done.steps
            );
            let count = |rows: &StoreContents| rows.values().map(Vec::len).sum::<usize>();
            assert!(count(&left) < count(&rows) && count(&left) > 0, "{case}");
            assert!(
                left.iter()
                    .all(|(table, cells)| cells.iter().all(|cell| rows[table].contains(cell))),
                "{case}"
            );
            let kept = format!("{}/{path}", done.kept_in.unwrap());
            assert_eq!(sim.fs.read(&kept).is_ok(), damage == "cut", "{case}");
        }
    }
    // A flipped byte in a block: the file opens, so it stays, and the check names it.
    let path = paths.iter().max_by_key(|path| files[*path].len()).unwrap();
    let sim = disk(&files, |files| files.get_mut(path).unwrap()[50] ^= 4);
    let found = checked(&sim);
    assert!(
        found.findings.len() == 1 && found.findings[0].text.contains(path.as_str()),
        "{found:?}"
    );
    assert_eq!(repair(&sim.env(), true).unwrap().steps, []);
}

#[test]
fn recreated_log_loses_unflushed_cells() {
    let Ended { sim, .. } = ended(2, false);
    let env = sim.env();
    sim.fs
        .files()
        .into_keys()
        .filter(|path| path.starts_with("halite/wal/"))
        .for_each(|path| env.fs.remove_file(&path).unwrap());
    env.fs.remove_dir("halite/wal").unwrap();
    let (done, _) = repaired(&sim, "no log");
    assert!(
        matches!(&done.steps[..], [(Certainty::Lost, text)] if text.contains("only in the log")),
        "{:?}",
        done.steps
    );
}

#[test]
fn repair_moves_files_back_from_renamed_directory() {
    let Ended { sim, rows, .. } = ended(STEPS.len(), true);
    let files = sim.fs.files();
    let region = files
        .keys()
        .find(|path| path.contains("/u/") && path.contains("/f/"))
        .unwrap()
        .split('/')
        .nth(3)
        .unwrap();
    let moved = "0123456789abcdef0123456789abcdef";
    for (from, to) in
        [("data/default/u/", "data/default/u2/"), ("data/default/", "data/other/"), (region, moved)]
    {
        let sim = disk(&files, |files| {
            *files = std::mem::take(files)
                .into_iter()
                .map(|(path, bytes)| (path.replacen(from, to, 1), bytes))
                .collect();
        });
        let (done, found) = repaired(&sim, from);
        assert!(found == rows, "{from}: {:?}", done.steps);
        assert!(
            done.steps.iter().all(|(certainty, _)| *certainty == Certainty::Certain),
            "{from}: {:?}",
            done.steps
        );
        // No file of the store is removed later.
        for _ in 0..2 {
            let opened = reopen(&sim);
            while opened.engine().run_one_job().unwrap() {}
            assert!(crate::repair::rows(&opened) == rows, "{from}");
            opened.close().unwrap();
            sim.fs.kill();
        }
    }
}

#[test]
fn repair_of_swapped_names_is_repeatable_after_any_crash() {
    let Ended { sim, rows, .. } = ended(STEPS.len(), true);
    let mut files = sim.fs.files();
    let paths: Vec<String> =
        files.keys().filter(|path| path.contains("/u/") && path.contains("/f/")).cloned().collect();
    let (one, other) = (files[&paths[0]].clone(), files[&paths[1]].clone());
    files.extend([(paths[0].clone(), other), (paths[1].clone(), one)]);
    for at in 0.. {
        let sim = disk(&files, |_| {});
        repair(&sim.env(), false).unwrap();
        sim.fs.crash_at_call(sim.fs.calls() + at);
        let is_done = repair(&sim.env(), true).is_ok();
        sim.fs.crash(at);
        repair(&sim.env(), true).unwrap_or_else(|error| panic!("died at call {at}: {error}"));
        assert!(crate::repair::rows(&reopen(&sim)) == rows, "died at call {at}");
        if is_done {
            break;
        }
    }
}

#[test]
fn repair_reports_damaged_log_and_leaves_it() {
    let Ended { sim, .. } = ended(2, false);
    let files = sim.fs.files();
    let log = files.keys().find(|path| path.ends_with(".wal")).unwrap();
    let sim = disk(&files, |files| files.get_mut(log).unwrap()[200] ^= 1);
    let before = sim.fs.files();
    let found = checked(&sim);
    assert!(
        found.worst() == Some(Severity::Error) && found.findings[0].text.contains(log.as_str()),
        "{found:?}"
    );
    let done = repair(&sim.env(), true).unwrap();
    assert!(
        done.steps
            .iter()
            .any(|(certainty, text)| *certainty == Certainty::Lost && text.contains(log.as_str())),
        "{done:?}"
    );
    assert_eq!(sim.fs.read(log).unwrap(), before[log]);
}

#[test]
fn snapshots_and_clones_are_restored_with_manifest() {
    let sim = SimEnv::new(8);
    let opened = store(&sim);
    put(&opened, "t", 0..10);
    opened.engine().create_snapshot(&SnapshotDescriptor::new("s", "t".parse().unwrap())).unwrap();
    opened.engine().clone_snapshot("s", &"c".parse().unwrap()).unwrap();
    put(&opened, "t", 5..15);
    opened.flush("t").unwrap();
    opened.compact("t", None, CompactionKind::Major).unwrap();
    let all = rows(&opened);
    drop(opened);
    sim.fs.kill();
    let files = sim.fs.files();
    assert!(files.keys().any(|path| path.starts_with("archive/")));
    assert_eq!(checked(&sim).findings, []);
    let without = disk(&files, |files| drop(files.remove("halite/MANIFEST")));
    assert!(repaired(&without, "with copies").1 == all);
    // Without any manifest the clone's links lead to its rows; the snapshot is lost, and the repair
    // reports it.
    let without = disk(&files, |files| {
        files.retain(|path, _| path != "halite/MANIFEST" && !path.starts_with("manifests/"));
    });
    let (done, found) = repaired(&without, "without copies");
    assert!(found == all, "{:?}", done.steps);
    assert!(
        done.steps
            .iter()
            .any(|(certainty, text)| *certainty == Certainty::Lost && text.contains("snapshots")),
        "{:?}",
        done.steps
    );
    let archived = files.keys().find(|path| path.starts_with("archive/")).unwrap();
    let without = disk(&files, |files| drop(files.remove(archived)));
    assert!(checked(&without).findings.iter().any(|finding| finding.severity == Severity::Error
        && finding.text.contains("a link or a snapshot needs it")));
}

#[test]
fn quarantined_file_of_older_manifest_is_restored() {
    let Ended { sim, rows, manifests } = ended(1, false);
    // One flush back, without copies and without the log that had the rows.
    let sim = disk(&sim.fs.files(), |files| {
        files.retain(|path, _| !path.starts_with("manifests/") && !path.ends_with(".wal"));
        files.insert("halite/MANIFEST".into(), manifests[0].clone());
    });
    let opened = reopen(&sim);
    assert!(
        opened.open_report().unlogged_files > 0 && crate::repair::rows(&opened)["t"].is_empty()
    );
    opened.close().unwrap();
    sim.fs.kill();
    let done = repair(&sim.env(), true).unwrap();
    assert!(
        done.steps.iter().any(|(_, text)| text.contains("is restored from the quarantine")),
        "{:?}",
        done.steps
    );
    assert!(crate::repair::rows(&reopen(&sim)) == rows);
}

#[test]
fn logged_writes_of_lost_region_are_kept_separately() {
    let sim = SimEnv::new(9);
    let opened = store(&sim);
    put(&opened, "t", 0..3);
    let rows = rows(&opened);
    drop(opened);
    sim.fs.kill();
    let files = sim.fs.files();
    let (log, info) = (
        files.keys().find(|path| path.ends_with(".wal")).unwrap(),
        files.keys().find(|path| path.ends_with(".regioninfo")).unwrap(),
    );
    let without = |files: &mut Files| {
        files.retain(|path, _| path != "halite/MANIFEST" && !path.starts_with("manifests/"));
    };
    // Only directories and the log remain: the region's own file contains its id.
    assert!(repaired(&disk(&files, without), "nothing but a log").1 == rows);
    let sim = disk(&files, |files| {
        without(files);
        files.get_mut(info).unwrap().truncate(9);
    });
    let (done, found) = repaired(&sim, "no region either");
    assert!(found["t"].is_empty());
    let lost = |(certainty, text): &(Certainty, String)| {
        *certainty == Certainty::Lost && text.contains("writes of region 1 in the log")
    };
    assert!(done.steps.iter().any(lost), "{:?}", done.steps);
    let kept = format!("{}/{}", done.kept_in.unwrap(), log.strip_prefix("halite/").unwrap());
    assert_eq!(sim.fs.read(&kept).unwrap(), files[log]);
}

#[test]
fn repair_is_repeatable_after_crash_at_any_call() {
    let Ended { sim, rows, manifests } = ended(STEPS.len(), false);
    let mut files = sim.fs.files();
    files.retain(|path, _| !path.starts_with("manifests/"));
    files.insert("halite/MANIFEST".into(), manifests[2].clone());
    let calls = |sim: &SimEnv| sim.fs.calls();
    let (before, after) = {
        let sim = disk(&files, |_| {});
        repair(&sim.env(), false).unwrap();
        let before = calls(&sim);
        repair(&sim.env(), true).unwrap();
        (before, calls(&sim))
    };
    assert!(after > before + 40, "{before} {after}");
    for at in before..after {
        let sim = disk(&files, |_| {});
        repair(&sim.env(), false).unwrap();
        sim.fs.crash_at_call(at);
        assert!(repair(&sim.env(), true).is_err());
        match at % 3 {
            0 => sim.fs.kill(),
            1 => sim.fs.drop_unsynced(),
            _ => sim.fs.crash(at),
        }
        repair(&sim.env(), true).unwrap_or_else(|error| panic!("died at call {at}: {error}"));
        let opened = reopen(&sim);
        assert!(crate::repair::rows(&opened) == rows, "died at call {at}");
    }
}

#[test]
fn newer_formats_and_read_errors_are_not_damage() {
    let unchanged = |sim: &SimEnv, kind: ErrorKind, before: &Files| {
        assert_eq!(repair(&sim.env(), true).unwrap_err().kind(), kind);
        assert_eq!(sim.fs.files(), *before);
    };
    let Ended { sim, .. } = ended(STEPS.len(), true);
    make_manifest_newer(&sim);
    unchanged(&sim, ErrorKind::NewerFormat, &sim.fs.files());
    let report = check(&sim.env()).unwrap();
    let errors: Vec<&str> = report
        .findings
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .map(|found| &found.text[..])
        .collect();
    assert!(
        matches!(errors[..], [only] if only.contains("newer") && !only.contains("halite repair")),
        "{errors:#?}"
    );

    let Ended { sim, .. } = ended(STEPS.len(), true);
    let file = find(&sim, "/f/", "halite/");
    let mut bytes = sim.fs.read(&file).unwrap();
    *bytes.last_mut().unwrap() = 4;
    sim.fs.write(&file, bytes).unwrap();
    unchanged(&sim, ErrorKind::NewerFormat, &sim.fs.files());

    let Ended { sim, .. } = ended(STEPS.len(), true);
    let file = find(&sim, "/f/", "halite/");
    sim.fs.inject(InjectedFault::next(FsCall::Open, &file, std::io::ErrorKind::Other));
    unchanged(&sim, ErrorKind::Io, &sim.fs.files());
    assert_eq!(
        repair(&sim.env(), true).unwrap(),
        RepairReport {
            based_on: repair(&sim.env(), false).unwrap().based_on,
            ..RepairReport::default()
        }
    );
}

#[test]
fn foreign_file_may_contain_later_generation() {
    let Ended { sim: other, .. } = ended(STEPS.len(), true);
    let loaded = find(&other, "/f/", "halite/");
    let sim = SimEnv::new(7);
    let young = store(&sim);
    sim.env().fs.create_dir_all("outside/in").unwrap();
    sim.fs.write("outside/in/x", other.fs.read(&loaded).unwrap()).unwrap();
    young
        .bulk_load(
            "t",
            BulkLoad { files: vec![("f".into(), "/in/x".into())], ..BulkLoad::default() },
        )
        .unwrap();
    young.close().unwrap();
    assert_eq!(check(&sim.env()).unwrap().worst(), None);
}
