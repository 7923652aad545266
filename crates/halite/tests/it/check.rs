//! `check` reports in advance whatever makes opening fail; data skipped on request is reported.

use halite::{
    Builder, Error, ErrorKind, FamilyDescriptor, Increment, Options, Put, Scan, Store,
    TableDescriptor, WalRecovery,
};
use halite_engine::Nonce;
use halite_engine::env::sim::SimEnv;
use halite_engine::inspect::{Certainty, Severity, check, repair};

use crate::small;

fn options(mode: WalRecovery) -> Options {
    let mut options = small();
    options.wal_segment_bytes = 4096;
    options.wal_recovery = mode;
    options
}

fn open(sim: &SimEnv, mode: WalRecovery) -> Result<Store, Error> {
    Builder::new().options(options(mode)).open_with_env(sim.env())
}

fn put(store: &Store, table: &str, rows: std::ops::Range<u32>) {
    let table = store.table(table).unwrap();
    rows.for_each(|row| {
        table.put(Put::new(format!("r{row:03}")).add("f", "q", vec![b'v'; 200])).unwrap();
    });
}

/// Returns a store with tables `t` and `u`, each with a store file, and `rows` more rows of `t` in
/// the log.
fn killed(rows: u32) -> SimEnv {
    let sim = SimEnv::new(1);
    let store = open(&sim, WalRecovery::Strict).unwrap();
    for name in ["t", "u"] {
        store
            .create_table(
                TableDescriptor::new(name.parse().unwrap()).family(FamilyDescriptor::new("f")),
                &[],
            )
            .unwrap();
        put(&store, name, if name == "t" { 0..10 } else { 100..105 });
        store.flush(name).unwrap();
    }
    put(&store, "t", 200..200 + rows);
    drop(store);
    sim.fs.kill();
    sim
}

fn rows(store: &Store) -> usize {
    store.table("t").unwrap().scan(Scan::all()).count()
}

/// Asserts that opening fails with these words and that `check` reports them as an error.
#[track_caller]
fn refused(sim: &SimEnv, words: &[&str]) {
    let report = check(&sim.env()).unwrap();
    let found = |finding: &&halite_engine::inspect::Finding| {
        words.iter().all(|word| finding.text.contains(word))
    };
    assert_eq!(
        report.findings.iter().find(found).map(|finding| finding.severity),
        Some(Severity::Error),
        "{words:?}: {:?}",
        report.findings
    );
    let error = open(sim, WalRecovery::Strict).err().unwrap();
    sim.fs.kill();
    assert!(
        error.kind() == ErrorKind::Corrupt
            && words.iter().all(|word| error.message().contains(word)),
        "{error}"
    );
}

fn segments(sim: &SimEnv) -> Vec<String> {
    sim.fs.files().into_keys().filter(|path| path.strip_suffix(".wal").is_some()).collect()
}

#[test]
fn scan_over_gap_between_regions_ends_with_error() {
    let sim = SimEnv::new(1);
    let store = open(&sim, WalRecovery::Strict).unwrap();
    store
        .create_table(
            TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f")),
            &[b"r5"],
        )
        .unwrap();
    put(&store, "t", 400..410);
    put(&store, "t", 500..510);
    store.close().unwrap();
    sim.fs.kill();
    let mut manifest = sim.fs.read("halite/MANIFEST").unwrap();
    // Moves the end of the first region before its rows.
    let end = manifest.windows(4).position(|bytes| bytes == b"\x22\x02r5").unwrap();
    manifest[end + 3] = b'1';
    let checked = manifest.len() - 4;
    let crc = crc32c::crc32c(&manifest[..checked]);
    manifest[checked..].copy_from_slice(&crc.to_be_bytes());
    sim.fs.write("halite/MANIFEST", manifest).unwrap();
    let store = open(&sim, WalRecovery::Strict).unwrap();
    let error = store.table("t").unwrap().scan(Scan::all()).find_map(Result::err).unwrap();
    assert!(
        error.kind() == ErrorKind::Corrupt
            && error.message().contains("no region contains the row r1"),
        "{error}"
    );
}

#[test]
fn check_and_damage_skipping_open_report_missing_segment() {
    let sim = killed(60);
    let missing = segments(&sim).remove(1);
    sim.env().fs.remove_file(&missing).unwrap();
    refused(&sim, &[&missing, "is missing"]);
    let store = open(&sim, WalRecovery::SkipDamaged).unwrap();
    assert!((20..70).contains(&rows(&store)), "{}", rows(&store));
    let cuts = &store.open_report().wal_truncations;
    assert!(
        cuts.len() == 1 && cuts[0].is_damage && cuts[0].segment.ends_with(&missing),
        "{cuts:?}"
    );
    assert!(cuts[0].to_string().contains("is missing and left out"), "{}", cuts[0]);
}

#[test]
fn damage_skipping_open_reports_truncated_segment() {
    let sim = killed(60);
    let cut = segments(&sim).remove(1);
    // Cut after the header, as if the segment had never contained a record.
    sim.fs.cut(&cut, 84).unwrap();
    refused(&sim, &[&cut]);
    let store = open(&sim, WalRecovery::SkipDamaged).unwrap();
    let cuts = &store.open_report().wal_truncations;
    assert!(!cuts.is_empty() && cuts.iter().all(|of| of.segment.ends_with(&cut)), "{cuts:?}");
}

#[test]
fn check_finds_damaged_nonces_and_skipping_open_keeps_them() {
    let sim = SimEnv::new(1);
    let store = open(&sim, WalRecovery::Strict).unwrap();
    store
        .create_table(
            TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f")),
            &[],
        )
        .unwrap();
    let region = store.engine().table(&"t".parse().unwrap()).unwrap().regions()[0].clone();
    let applied = region.apply_with_nonce(
        Increment::new("r").add("f", "n", 1).into(),
        Some(Nonce { group: 1, number: 2 }),
    );
    applied.ticket.wait().unwrap();
    drop(region);
    store.close().unwrap();
    sim.fs.kill();
    let path = "halite/wal/0000000000000001.nonces";
    sim.fs.corrupt(path, 60, 1).unwrap();
    let damaged = sim.fs.read(path).unwrap();
    refused(&sim, &[path, "checksum"]);
    let store = open(&sim, WalRecovery::SkipDamaged).unwrap();
    let cuts = &store.open_report().wal_truncations;
    assert!(
        cuts.len() == 1 && cuts[0].segment.ends_with(path) && cuts[0].bytes == damaged.len() as u64,
        "{cuts:?}"
    );
    assert_eq!(
        sim.fs.read(cuts[0].kept.strip_prefix("simulated disk/").unwrap()).unwrap(),
        damaged
    );
    assert!(cuts[0].to_string().starts_with("damaged bytes left out of nonces "), "{}", cuts[0]);
    assert!(!sim.fs.files().contains_key(path));
}

#[test]
fn check_finds_and_repair_ignores_misnamed_manifest_copy() {
    let sim = killed(5);
    let copies: Vec<String> =
        sim.fs.files().into_keys().filter(|path| path.starts_with("manifests/")).collect();
    let renamed = "manifests/0000000000000099.manifest";
    sim.env().fs.rename(&copies[0], renamed).unwrap();
    refused(&sim, &["halite/MANIFEST", renamed]);
    repair(&sim.env(), true).unwrap();
    let store = open(&sim, WalRecovery::Strict).unwrap();
    assert_eq!(rows(&store), 15);
    store.close().unwrap();
    assert_eq!(rows(&open(&sim, WalRecovery::Strict).unwrap()), 15);
}

#[test]
fn swapped_store_file_is_rejected_and_identified_by_check() {
    let sim = killed(0);
    let files: Vec<(String, Vec<u8>)> =
        sim.fs.files().into_iter().filter(|(path, _)| path.contains("/f/")).collect();
    let [(one, of_one), (other, of_other)] = &files[..] else { panic!("two files: {files:?}") };
    sim.fs.write(one, of_other.clone()).unwrap();
    sim.fs.write(other, of_one.clone()).unwrap();
    let name = |path: &str| path.rsplit_once('/').unwrap().1.to_owned();
    refused(&sim, &[one, "was written as", &name(other)]);
    let done = repair(&sim.env(), true).unwrap();
    let goes_back = |(certainty, text): &(Certainty, String)| {
        *certainty == Certainty::Certain && text.contains("is moved back to")
    };
    assert!(done.steps.len() == 2 && done.steps.iter().all(goes_back), "{:?}", done.steps);
    assert!(sim.fs.read(one).unwrap() == *of_one && sim.fs.read(other).unwrap() == *of_other);
    let store = open(&sim, WalRecovery::Strict).unwrap();
    assert_eq!(rows(&store), 10);
    store.close().unwrap();
    sim.fs.kill();
    assert_eq!(check(&sim.env()).unwrap().worst(), None);
}

#[test]
fn check_reports_files_replacing_directories_or_segments() {
    let sim = killed(5);
    let env = sim.env();
    sim.fs
        .files()
        .into_keys()
        .filter(|path| path.starts_with("manifests/"))
        .for_each(|path| env.fs.remove_file(&path).unwrap());
    env.fs.remove_dir("manifests").unwrap();
    sim.fs.write("manifests", "foreign").unwrap();
    sim.fs.write("halite/wal/foo.wal", "foreign").unwrap();
    env.fs.remove_file("hbase.version").unwrap();
    let report = check(&sim.env()).unwrap();
    for words in [
        "manifests is a file, expected a directory",
        "foo.wal is not a log segment",
        "hbase.version is missing",
    ] {
        assert!(
            report.findings.iter().any(|finding| finding.text.contains(words)),
            "{words}: {:?}",
            report.findings
        );
    }
    assert!(report.findings.len() == 3 && report.files == 2, "{report:?}");
}
